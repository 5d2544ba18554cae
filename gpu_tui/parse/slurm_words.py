"""Slurm's words and what they mean: the states of a job, and why one waits.

Source: slurm.schedmd.com/squeue.html ("JOB STATE CODES", "JOB REASON CODES"), releases 20.11 to 24.11,
and what a 22.05.8 really printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_tui.core.sweep import CellState

# Where sites put Slurm's programs when a login without a terminal loads no module.
PLACES = "/opt/slurm/bin:/usr/local/slurm/bin:/cm/shared/apps/slurm/current/bin:/usr/local/bin"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one state word says. `finding`: the kind of its bad end, None where it is none or a plain crash.

    `over`: the job has left, and this word is its last. `says`: what a person should read besides the word.
    """

    state: CellState
    finding: str | None = None
    over: bool = False
    says: str | None = None
    known: bool = True


_WAITS, _RUNS = Meaning(CellState.PENDING), Meaning(CellState.RUNNING)
HALTED = ("SUSPENDED", "STOPPED")  # they wait with all that they have computed in memory
STATES: Mapping[str, Meaning] = {
    "PENDING": _WAITS,
    "CONFIGURING": Meaning(CellState.PENDING, says="its nodes are being made ready"),
    "REQUEUED": Meaning(CellState.PENDING, says="it was put back into the queue"),
    "REQUEUE_FED": _WAITS,
    "REQUEUE_HOLD": Meaning(CellState.PENDING, says="put back and held: scontrol release"),
    "RESV_DEL_HOLD": Meaning(CellState.PENDING, says="held: its reservation was deleted"),
    "SPECIAL_EXIT": Meaning(
        CellState.PENDING, says="put back and held after a special exit: scontrol release"
    ),
    "POWER_UP_NODE": Meaning(CellState.PENDING, says="its nodes are being switched on"),
    "SUSPENDED": Meaning(CellState.PENDING, says="it does not run until it is resumed"),
    "STOPPED": Meaning(CellState.PENDING, says="its processes are stopped (SIGSTOP)"),
    "RUNNING": _RUNS,
    "COMPLETING": Meaning(CellState.RUNNING, says="its processes are ending"),
    "RESIZING": _RUNS,
    "SIGNALING": Meaning(CellState.RUNNING, says="it is being signalled"),
    "STAGE_OUT": Meaning(CellState.RUNNING, says="its files are being staged out"),
    "EXPEDITING": _WAITS,
    "COMPLETED": Meaning(CellState.FINISHED, over=True),
    "CANCELLED": Meaning(CellState.SKIPPED, over=True),
    "REVOKED": Meaning(CellState.SKIPPED, over=True, says="another cluster took it"),
    "FAILED": Meaning(CellState.FAILED, over=True),
    "LAUNCH_FAILED": Meaning(
        CellState.FAILED, "missing_cell", over=True, says="it could not be started"
    ),
    "RECONFIG_FAIL": Meaning(
        CellState.FAILED, "missing_cell", over=True, says="its node could not be set up"
    ),
    "TIMEOUT": Meaning(
        CellState.FAILED, "time_limit", over=True, says="its time limit ran out"
    ),
    "DEADLINE": Meaning(CellState.FAILED, "time_limit", over=True, says="its deadline passed"),
    "OUT_OF_MEMORY": Meaning(
        CellState.FAILED, "host_oom", over=True, says="it used more memory than it had asked for"
    ),
    "NODE_FAIL": Meaning(CellState.FAILED, "hardware", over=True, says="its node failed"),
    "BOOT_FAIL": Meaning(CellState.FAILED, "hardware", over=True, says="its node did not boot"),
    "PREEMPTED": Meaning(
        CellState.FAILED, "preempted", over=True, says="a job of higher priority took its place"
    ),
}  # fmt: skip

# Why a job waits, where the word alone helps nobody.
REASONS: Mapping[str, str] = {
    "JobArrayTaskLimit": "its array may run no more tasks at once",
    "Dependency": "it waits for another job",
    "DependencyNeverSatisfied": "will never run: what it waits for did not end as it must",
    "BadConstraints": "will never run: no node is as it asks for",
    "JobHeldUser": "held by its user: scontrol release lets it run",
    "JobHeldAdmin": "held by an administrator",
    "BeginTime": "its start time is not reached",
    "Resources": "waits for free nodes",
    "Priority": "others are before it",
    "PartitionTimeLimit": "asks for more time than its partition gives",
    "PartitionNodeLimit": "asks for more nodes than its partition has up",
    "ReqNodeNotAvail": "a node that it asks for is down or reserved",
    "JobHoldMaxRequeue": "held: it was put back too often",
    "launch failed requeued held": "held: it could not be started",
}
NEVER = frozenset({"DependencyNeverSatisfied", "BadConstraints"})
NO_REASON = frozenset({"", "None", "N/A", "(null)"})
# One reason is a sentence: "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions".
LONG, NODES_DOWN = "Nodes required for job", "NodesDown"
LONG_SAYS = "its nodes are down, drained or reserved for jobs in partitions of higher priority"
# Held after a failure of the cluster: a person must release it.
FAULTS = frozenset({"launch failed requeued held", "JobHoldMaxRequeue"})
NO_LAUNCH = "JobLaunchFailure"
NO_LAUNCH_SIGNAL = 53  # in place of a signal, where slurmd could not start the batch script
LAUNCH_SECONDS = (
    60.0  # for a launch that fails: the node may be slow, and both ends are whole seconds
)
MAKES_ROOM = "a job of higher priority takes its place"
REFUSED = "the cluster refused it, and it never started"
NOT_STARTED = "it could not be started: see that the directory of its log exists and can be written"
# The beginnings of words for limits that an administrator set.
QUOTAS = ("QOS", "Assoc", "MaxCpuPerAccount", "MaxMemPerLimit")


def meaning(word: str) -> Meaning:
    """What a state word says; of one that nobody here knows, that it cannot be told."""
    return STATES.get(
        word.upper(), Meaning(CellState.CANNOT_TELL, says="a state not known here", known=False)
    )


def code(word: str) -> str | None:
    """The short form of a reason, for a column; None where there is no reason to tell."""
    if word in NO_REASON:
        return None
    return NODES_DOWN if word.startswith(LONG) else word.partition(",")[0]


def spelled(reason: str) -> str:
    """A reason as squeue prints it; scontrol and newer releases write `_` for its spaces."""
    return reason.replace("_", " ") if reason.islower() else reason


def reason(word: str) -> str:
    """Why it waits, in a person's words with Slurm's own; "" where there is no reason to tell."""
    if word in NO_REASON:
        return ""
    if word.startswith(LONG):
        return LONG_SAYS
    word = spelled(word)
    if known := REASONS.get(word) or REASONS.get(word.partition(",")[0]):
        return f"{word}: {known}"
    return f"{word}: a quota" if word.startswith(QUOTAS) else word
