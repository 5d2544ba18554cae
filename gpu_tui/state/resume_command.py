"""Builds the shell line that starts a queue again on its box: with the runner that was seen there, in its directory,
detached as the platform advises. Pure.
"""

from __future__ import annotations

import shlex
from posixpath import basename

from gpu_tui.core.fleet import QueueFiles
from gpu_tui.core.mask import shell_path
from gpu_tui.core.profile import Profile
from gpu_tui.core.shells import script_of
from gpu_tui.state.runner_kept import Loop, Runner

SCRIPT = "SCRIPT"  # a placeholder: the name of the script is not known
DETACH = "tmux"  # where no profile says more


def when_ended(pid: int, command: str) -> str:
    """The remedy for a queue whose runner is gone."""
    return f"To go on when PID {pid} has ended, run on the box: {command}"


def command_of(remedy: str) -> str:
    """The command that such a remedy ends with."""
    return remedy.partition(" has ended, run on the box: ")[2]


def loop_command(profile: Profile | None, loop: Loop, after: int) -> str:
    """Restart a script whose loop reads a list: copy the list to LIST.all, cut it to the lines that are left, and run
    the script. For a loop that a person typed, only a command that prints these lines.
    """
    path, runner = shell_path(loop.path), loop.runner
    rest = f"tail -c +{loop.pos + 1} {path}"
    if runner.cwd is None or script_of(runner.argv) is None:
        return rest
    whole = shell_path(f"{loop.path}.all")
    words = " ".join(map(shell_path, runner.argv))
    line = f"cp {path} {whole} && tail -c +{loop.pos + 1} {whole} >{path} && {words}"
    return _detached(profile, "queue", runner.cwd, line, runner.log or "queue.log", after)


def resume_command(
    queue: QueueFiles,
    profile: Profile | None,
    runner: Runner | None,
    start: int,
    *,
    after: int | None = None,
) -> str:
    """Start `queue` at cell `start`; `after` is the PID of a training whose end it waits for."""
    words = _words(queue, runner, start)
    log = queue.log or (runner.log if runner else None) or "queue.log"
    return _detached(profile, f"queue-{start}", runner.cwd if runner else None, words, log, after)


def _detached(
    profile: Profile | None, name: str, cwd: str | None, words: str, log: str, after: int | None
) -> str:
    """A shell line that outlives the session in which it is typed, if the platform has a way to do that."""
    wait = f"while kill -0 {after} 2>/dev/null; do sleep 10; done; " if after else ""
    several = " && " in words
    part = f"{{ {words}; }}" if several else words
    line = f"{wait}{part} </dev/null >>{shell_path(log)} 2>&1"
    place = shell_path(cwd) if cwd else None
    way = str(profile.facts.get("detach_primitive", DETACH)) if profile else DETACH
    there = f"cd {place} && " if place else ""
    if way == "tmux":
        at = f" -c {place}" if place else ""
        return f"tmux new-session -d -s {name}{at} {shlex.quote(line)}"
    if way == "sbatch":
        at = f" --chdir={place}" if place else ""
        return f"sbatch{at} --output={shell_path(log)} --wrap {shlex.quote(words)}"
    if way == "nohup" and (after or several):
        return f"{there}nohup sh -c {shlex.quote(line)} </dev/null >/dev/null 2>&1 &"
    if way == "nohup":
        return f"{there}nohup {line} &"
    return f"{there}{line}"


def _words(queue: QueueFiles, runner: Runner | None, start: int) -> str:
    """The runner's own words, with the start index after its queue file."""
    file = queue.file or ""
    if runner is None:
        return f"bash {SCRIPT} {shell_path(file)} {start}"
    argv = list(runner.argv)
    argv[0] = argv[0].lstrip("-")
    at = next((n for n, word in enumerate(argv) if basename(word) == basename(file)), None)
    if at is None:
        return " ".join(map(shell_path, argv))
    rest = argv[at + 1 :]
    if rest and rest[0].isascii() and rest[0].isdigit():
        del rest[0]
    return " ".join([*map(shell_path, argv[: at + 1]), str(start), *map(shell_path, rest)])
