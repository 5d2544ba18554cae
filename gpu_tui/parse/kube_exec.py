"""Parses the output of `kubectl exec` in a container: the GPUs that nvidia-smi lists, and the process table.

kubectl ends with the exit code of the program and then says `command terminated with exit code N`; otherwise it was
kubectl, the API server, the kubelet or the runtime that failed. Shapes: kubectl 1.20 to 1.36; containerd, CRI-O, Docker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import basename

from gpu_tui.core.command import Completed
from gpu_tui.core.fleet import SchedulerScope
from gpu_tui.core.liveness import find_trainers
from gpu_tui.core.readings import Gpu, Process
from gpu_tui.parse.kubectl import Refusal, describe, kubectl, said
from gpu_tui.parse.nvidia_smi import FORMAT, GPU_QUERY, parse_gpus

CARDS_MOST = 32  # of one container
PROCESSES_MOST, WORDS_MOST = 512, 64  # of one container, and of one command line
NO_PROGRAM = "no nvidia-smi in its image"
ENDED = b"command terminated with exit code "
_MISSING = re.compile(
    rb"executable file not found|not found in \$?PATH|error finding executable|no such file or directory|"
    rb"command terminated with exit code 12[67]",
    re.IGNORECASE,
)
_GONE = re.compile(
    rb"\(NotFound\)|container not found|completed pod|container .{0,80}(?:is not valid|not running|is not running)"
    rb"|task .{0,120}not found|cannot exec in a stopped",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    rb"\(Forbidden\).{0,400}pods/exec|\(Forbidden\).{0,400}subresource", re.DOTALL
)
# Builtins of sh, and cat: an image without them has no process table for us.
_TABLE = (
    'for p in /proc/[0-9]*; do printf "\\n@%s\\n" "${p#/proc/}"; cat "$p/cmdline"; done 2>/dev/null'
)
_PROCESS = re.compile(rb"\n@(\d{1,10})\n")


@dataclass(frozen=True, slots=True)
class Shown:
    """The answer of one container. `why`: the reason that no card is known, or what nvidia-smi warns of.

    `final`: it will not be another one in this attempt of the container. `gone`: the container does not run any more.
    """

    gpus: tuple[Gpu, ...] = ()
    why: str | None = None
    final: bool = False
    gone: bool = False


def nvidia_smi(scope: SchedulerScope, pod: str, container: str) -> tuple[str, ...]:
    """Ask for the cards of one container."""
    return _in(scope, pod, container, "nvidia-smi", GPU_QUERY, FORMAT)


def process_table(scope: SchedulerScope, pod: str, container: str) -> tuple[str, ...]:
    """Ask for the command lines of one container."""
    return _in(scope, pod, container, "sh", "-c", _TABLE)


def _in(scope: SchedulerScope, pod: str, container: str, *words: str) -> tuple[str, ...]:
    return kubectl(scope, "exec", f"pod/{pod}", f"--container={container}", "--", *words)


def not_allowed(done: Completed, scope: SchedulerScope) -> Refusal | None:
    """The refusal where this user may run nothing in any container of the namespace."""
    if done.exit == 0 or not _FORBIDDEN.search(done.stderr):
        return None
    return Refusal(
        "auth",
        f"kubectl exec is forbidden ({describe(scope)})",
        "Ask for a role with create and get on pods/exec, or remove scheduler.vitals.",
    )


def cards_of(done: Completed) -> Shown:
    """The cards that nvidia-smi shows in one container."""
    ran = done.exit == 0 or ENDED in done.stderr
    if done.exit != 0 and _MISSING.search(done.stderr + (b"" if ran else done.stdout)):
        return Shown(why=NO_PROGRAM, final=True)
    if not ran:
        if _GONE.search(done.stderr):
            return Shown(gone=True)
        words = said(done.stderr.decode("utf-8", "replace")) or f"exit {done.exit}"
        return Shown(why=f"kubectl exec: {words}")
    table = parse_gpus(done.stdout, done.exit or 0, b"", 0)
    why = table.error.text if table.error else next(iter(table.notes), None)
    return Shown(table.gpus[:CARDS_MOST], why)


def processes_of(data: bytes) -> tuple[Process, ...]:
    """The processes of one container by their command lines; kernel threads and zombies have none."""
    parts = _PROCESS.split(data)
    found = []
    for pid, line in zip(parts[1::2][:PROCESSES_MOST], parts[2::2], strict=False):
        argv = tuple(
            word.decode("utf-8", "replace") for word in line.rstrip(b"\0").split(b"\0", WORDS_MOST)
        )
        if argv[0]:
            found.append(Process(int(pid), 0, basename(argv[0]), argv, "?"))
    return tuple(found)


def trains_in(tables: Mapping[str, Iterable[Process]]) -> str | None:
    """The only container in which a trainer runs; None if there is none, or several (one process namespace for all)."""
    found = [name for name, table in tables.items() if find_trainers(tuple(table), ())]
    return found[0] if len(found) == 1 else None
