"""Panes of tmux -> jobs: a pane in which something other than a shell or a tool for looking runs.

One line a pane, fields apart by a colon, which a session's name cannot hold: FORMAT. (A tab would come out
as `_` where the locale is C.) A pane that `remain-on-exit` kept tells how its
command ended; without it a session goes with its command, and nobody tells. Of a command that tmux itself lost
(before 3.5: https://github.com/tmux/tmux/issues/311) the kernel tells, as long as it is a zombie.
"""

from __future__ import annotations

from gpu_tui.core.job_names import name_of_command
from gpu_tui.core.jobs import JOBS_KEPT, SHELL, Job, JobTable
from gpu_tui.core.last_command import told_by
from gpu_tui.core.number import whole
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState

FORMAT = (
    "#{pane_id}:#{pane_pid}:#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}"  # the last since 3.3
    ":#{session_created}:#{session_name}:#{pane_current_command}:#{pane_start_command}"
)
FIELDS = FORMAT.count("}:") + 1
CODE_DIGITS, FATE_DIGITS = 4, 5  # of an exit code or a signal, a wait status
TIME_DIGITS, PID_DIGITS = 11, 10  # of epoch seconds, a pid
COMMAND = 400
KILLED = 128  # a shell's exit code of what was ended by a signal is this and the signal
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ash", "csh", "tcsh", "ksh", "login"})
LOOKERS = frozenset(
    {
        "tmux", "vim", "vi", "nvim", "nano", "emacs", "less", "more", "man", "tail", "watch", "top",
        "htop", "btop", "nvtop", "nvitop", "gpustat", "nvidia-smi", "ssh", "mosh-client", "ncdu", "git",
        "tensorboard", "jupyter-lab", "jupyter-notebook", "jupyter", "gpu-tui", "sleep", "cat",
    }
)  # fmt: skip


def parse_tmux(text: bytes, fates: bytes = b"") -> JobTable:
    """The panes that run or ran something, by their order in the list; a SHELL may be at a loop of programs, which
    the process table tells. Names may stand twice. `fates`: lines `PID WAIT-STATUS` of zombies.
    """
    told = (line.partition(" ") for line in fates.decode("ascii", "replace").split("\n"))
    ends = {pid: fate for pid, _, fate in told}
    jobs = []
    for line in text.decode("utf-8", "replace").split("\n"):
        parts = line.split(":", FIELDS - 1)
        if len(parts) == FIELDS and (job := _job(*parts, fate=ends.get(parts[1], ""))) is not None:
            jobs.append(job)
    return JobTable("tmux", tuple(jobs[:JOBS_KEPT]), max(0, len(jobs) - JOBS_KEPT))


def _job(
    pane: str,
    pid: str,
    dead: str,
    status: str,
    signal: str,
    created: str,
    session: str,
    current: str,
    start: str,
    *,
    fate: str,
) -> Job | None:
    ended = dead == "1"
    program = current.strip().lstrip("-")
    if not ended and (not program or program in LOOKERS):
        return None
    shell = not ended and program in SHELLS
    if ended and not start.strip():
        return None
    code, by = _end(status, signal, fate) if ended else (None, None)
    # A session that has only its number for a name is called by what it was started with.
    named = not session.isdigit()
    name = session if named else "" if shell else name_of_command(start.strip('"') or program)
    state, unsure = CellState.RUNNING, None
    if ended:
        state = CellState.CANNOT_TELL
        if code is not None:
            state = CellState.FINISHED if code == 0 else CellState.FAILED
        state, unsure = told_by(start, state)
    return Job(
        id=plain(pane, 12),
        name=plain(name, 60),
        state=state,
        word="ended" if ended else SHELL if shell else "running",
        why=unsure or _why(program, ended, by),
        submitted_at=None if (at := whole(created, TIME_DIGITS)) is None else float(at),
        exit_code=code,
        signal=by,
        pids=() if (found := whole(pid, PID_DIGITS)) is None else (found,),
        command=plain(start.strip().strip('"'), COMMAND) if ended else None,
    )


def _why(program: str, ended: bool, by: int | None) -> str | None:
    if ended:
        return None if by is None else f"by signal {by}"
    return f"{plain(program, 30)} in tmux"


def _end(status: str, signal: str, fate: str) -> tuple[int | None, int | None]:
    """Exit code and signal. A `fate` of 0 is no answer: it is what the kernel says to who may not know."""
    code, by = whole(status, CODE_DIGITS), whole(signal, CODE_DIGITS)
    if code is None and by is None and (waited := whole(fate, FATE_DIGITS)):
        # wait(2): the signal in the low seven bits, else the exit code above eight
        by = waited & 0x7F or None
        code = None if by else waited >> 8 & 0xFF
    return (KILLED + by, by) if by else (code, None)
