"""Finds the failed steps of a Slurm job whose batch script went on after the failure.

A batch script that does not stop at an error ends with 0 after a failed srun, and the job is COMPLETED. Only its steps
say what became of the work. Measured on Slurm 22.05.8; options of slurm.schedmd.com/srun.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from gpu_tui.parse.slurm_job import Step

OWN = frozenset({"batch", "extern", "interactive"})  # steps that no srun of the script made
# The kind of finding of each bad end; "" is a plain failure.
BAD = {
    "FAILED": "",
    "CANCELLED": "",
    "OUT_OF_MEMORY": "host_oom",
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "NODE_FAIL": "hardware",
    "BOOT_FAIL": "hardware",
}
GOES_ON = frozenset({"RUNNING", "PENDING", "COMPLETED"})
# Programs that only query something: their exit code is an answer, no failure.
QUERIES = frozenset({"[", "grep", "hostname", "ls", "nvidia-smi", "pgrep", "stat", "test", "which"})
# A step of this name may be any work: srun takes the name of the program.
RUN_ANYTHING = (
    "python",
    "bash",
    "sh",
    "dash",
    "torchrun",
    "accelerate",
    "deepspeed",
    "env",
    "time",
)
KEPT = 50  # failed steps of one job
ENDS_WITHIN = 60.0  # seconds after the end of the work within which the script ends its other steps
SECOND = 1.0  # sacct's times are whole seconds
# Options of srun that take no value, or one after "=" only; all others take the next word.
_BARE_SHORT = frozenset("EHIKOQVXZhklsuv")
_BARE = frozenset(
    {
        "bcast", "contiguous", "disable-status", "exact", "exclusive", "external", "hold", "immediate",
        "interactive", "kill-on-bad-exit", "label", "multi-prog", "nice", "no-allocate", "no-kill", "overcommit",
        "overlap", "oversubscribe", "preserve-env", "propagate", "pty", "quiet", "reboot", "send-libs", "slurmd-debug",
        "spread-job", "unbuffered", "use-min-nodes", "verbose", "whole",
    }
)  # fmt: skip
_BARE_BATCH = frozenset(
    {"get-user-env", "ignore-pbs", "no-requeue", "parsable", "requeue", "test-only", "wait"}
)


@dataclass(frozen=True, slots=True)
class Srun:
    """A submit line: its options under their long or short names without dashes, and the words of the command."""

    options: dict[str, str]
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The failed steps of a job. `says`: words for them; `finding`: its kind, "" for a plain failure.

    `by_user`: the last one was cancelled by a user; `runs`: another step runs.
    """

    says: str
    finding: str
    by_user: bool
    runs: bool


@lru_cache(maxsize=1_024)  # the accounts show the same steps again and again
def parse_srun(line: str) -> Srun:
    """The options and the command of a submit line of srun or sbatch. Its words are joined by spaces: a value with a
    space is cut.
    """
    words = line.split()
    batch = words[:1] != [] and words[0].endswith("sbatch")
    short, long = (_BARE_SHORT | {"W"}, _BARE | _BARE_BATCH) if batch else (_BARE_SHORT, _BARE)
    options: dict[str, str] = {}
    at = 1
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            name, given, attached = word[2:].partition("=")
            if not given and name not in long:
                attached, at = value, at + 1
            options[name] = attached
            continue
        letters = word[1:]
        while letters and letters[0] in short:
            options[letters[0]] = ""
            letters = letters[1:] if letters[0] not in "IKX" else ""
        if letters:
            attached = letters[1:].removeprefix("=")
            if not attached:
                attached, at = value, at + 1
            options[letters[0]] = attached
    return Srun(options, tuple(words[at:]))


def failed_steps(steps: Sequence[Step]) -> Failed | None:
    """The failures that no later step of the same work made good; None if there is none."""
    bad = unresolved(steps)
    if not bad:
        return None
    first = next((step for step in bad if BAD[step.word] == "host_oom"), bad[0])
    says = f"step {first.id} {_words(first)}"
    if more := len(bad) - 1:
        says += f" (and {more} more step{'s' if more > 1 else ''})"
    runs = any(step.word == "RUNNING" and step.id not in OWN for step in steps)
    return Failed(says, BAD[first.word], bad[-1].by is not None, runs)


def unresolved(steps: Sequence[Step]) -> list[Step]:
    """The newest KEPT steps that failed, in order, without those whose work a later step did or does again."""
    bad: list[tuple[Step, _Work]] = []
    for step in steps:
        if step.word in GOES_ON and step.id not in OWN:
            work = _work(step)
            bad = [(old, its) for old, its in bad if not _same(old, its, step, work)]
        elif step.word in BAD and not _excused(step, steps):
            bad = [*bad, (step, _work(step))][-KEPT:]
    return [step for step, _ in bad]


def _words(step: Step) -> str:
    if step.word == "OUT_OF_MEMORY":
        return "ran out of memory"
    if step.by is not None:
        return f"{step.word} by user {step.by}"
    if step.signal and step.word in ("FAILED", "CANCELLED"):
        return f"{step.word} signal {step.signal}"
    return f"{step.word} exit {step.exit_code}" if step.exit_code else step.word


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of a step: the name given to srun, and the command. Two steps with the same work are tries of it."""

    name: str | None
    command: frozenset[str]


def _work(step: Step) -> _Work:
    srun = parse_srun(step.submit_line or "")
    name = srun.options.get("J") or srun.options.get("job-name")
    return _Work(name, frozenset(srun.command))


def _same(old: Step, its: _Work, new: Step, work: _Work) -> bool:
    """Whether a later step does the work of a failed one: by its given name, or by its command, to which words like
    `--resume` may be added. Where sacct does not know the command, by a name that says which work it is.
    """
    if its.command and work.command:
        return its.command <= work.command or (its.name is not None and its.name == work.name)
    named = not old.name.startswith(RUN_ANYTHING)
    return named and (old.name, old.tasks) == (new.name, new.tasks)


def _excused(step: Step, steps: Sequence[Step]) -> bool:
    """Whether this end is no failure of the work: the step only queried something, or was ended when the work was over."""
    if step.word == "OUT_OF_MEMORY":
        return False
    if step.id in OWN or step.name in QUERIES:
        return True
    if step.word not in ("CANCELLED", "FAILED") or step.ends_at is None:
        return False
    script = next((one.ends_at for one in steps if one.id == "batch"), None)
    after = -inf if script is None else step.ends_at - script
    after_work = any(_ended_just_before(step.ends_at, step.started_at or 0.0, one) for one in steps)
    if step.word == "FAILED":  # the signal at the end of the script ended it
        return after >= SECOND and after_work
    if step.by is None and step.signal == 9:
        return after > 2 * SECOND  # it took no notice of that signal
    at_end = after >= -SECOND
    # srun ends the other tasks of a step for one that failed; a single task is ended with the script.
    if at_end and step.tasks == 1:
        return True
    return after_work and (step.by is not None or (at_end and not _ends_peers(step)))


def _ends_peers(step: Step) -> bool:
    """Whether srun was to end this step as soon as one task fails."""
    return not {"K", "kill-on-bad-exit"}.isdisjoint(parse_srun(step.submit_line or "").options)


def _ended_just_before(at: float, since: float, other: Step) -> bool:
    """Whether the other step did its work next to one that ran from `since` to `at`, and ended shortly before."""
    end = other.ends_at
    if other.word != "COMPLETED" or other.id in OWN or end is None or end <= since + SECOND:
        return False
    return at - ENDS_WITHIN <= end <= at + SECOND
