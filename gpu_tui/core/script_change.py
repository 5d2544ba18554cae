"""Detects scripts, lists and configs that were changed while a program uses them, and says what it does then. Pure.

A shell executes a script while it reads it. bash seeks back to the end of each command and reads on from that offset
(general.c and input.c: sync_buffered_stream); dash, busybox ash and zsh read a block ahead and go on after it. A loop
with `done < FILE` reads line by line and leaves its offset after the last line that it read. An edit in place changes
the text at that offset. A rename gives the name to another file, and the shell keeps the old one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from posixpath import basename, dirname, join, normpath

from gpu_tui.core.findings import Severity
from gpu_tui.core.liveness import MULTIPLEXERS, descendants
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.rules import Condition
from gpu_tui.core.shells import Held, Shell

SLACK = 2.0  # seconds: stamps have whole seconds, and a script may be saved just before its start
AHEAD = 120.0  # seconds: a time further ahead comes from another clock
WIDTH = 80
READS = 120.0  # seconds in which a program may read its config and write it again with its defaults
MOST = 16  # findings of one box
LONG = 3  # characters: shorter words occur inside others by chance
_WORDS = re.compile(r"[^0-9A-Za-z]+")
ANOTHER_TEXT = (
    "Do not edit a running script in place. Put the old text back (same bytes up to that offset), or stop the queue "
    "after this cell and start it again at the next. Next time write a copy and rename it."
)
NOT_READ = (
    "The running shell keeps the old text: the new one counts from the next start. For it to count now, stop the "
    "queue after this cell and start it again at the next."
)
OTHER_VALUES = (
    "Cells before and after the change may not be comparable, and a resume reads the new values. Give each cell a config "
    "of its own, and keep it as it is while the sweep runs."
)
LINES_ONLY = (
    "Only append whole lines to a list that a loop reads. Put the lines before that offset back as they were, or stop "
    "the queue after this cell and start it again at the next."
)


def above(pid: int, table: Mapping[int, Process]) -> tuple[int, ...]:
    """PIDs of the ancestors of a process, nearest first, as far as they are listed."""
    line: list[int] = []
    row = table.get(pid)
    while row is not None and row.ppid not in line and row.ppid in table:
        line.append(row.ppid)
        row = table[row.ppid]
    return tuple(line)


def changed_scripts(
    shells: Sequence[Shell],
    processes: Sequence[Process],
    trainers: Collection[int],
    runners: Collection[int],
    read_at: float,
) -> Iterator[Condition]:
    """One finding per file that was changed under a live run: by a shell above a trainer, or by a queue's own shell.

    `read_at` is when the process table was read, by the box's clock.
    """
    table = {process.pid: process for process in processes}
    live = {pid for trainer in trainers for pid in above(trainer, table)} | set(runners)
    reported: set[tuple[str, str]] = set()
    for shell in shells:
        process = table.get(shell.pid)
        if process is None or process.age_seconds is None:
            continue
        since, until = read_at - process.age_seconds, read_at + AHEAD
        if shell.pid in trainers:
            found = _of_trainer(shell, process, since, until)
        elif shell.pid in live and not process.name.lower().startswith(MULTIPLEXERS):
            found = _of_shell(shell, process, processes, since + SLACK, until)
        else:
            continue
        for condition in found:
            key = (condition.part or "", condition.evidence)
            if key not in reported and len(reported) < MOST:
                reported.add(key)
                yield condition


def _of_shell(
    shell: Shell, process: Process, processes: Sequence[Process], since: float, until: float
) -> Iterator[Condition]:
    word, held = shell.script(process.argv) or ("", None)
    if held is not None and (change := _script(shell, word, held, since, until)) is not None:
        yield _condition(held.path, *change)
    below = descendants(processes, {shell.pid})
    words = " ".join(" ".join(one.argv) for one in processes if one.pid in below)
    for one in shell.lists:
        if (change := _list(shell, one, words, since, until)) is not None:
            yield _condition(one.path, *change)


def _of_trainer(shell: Shell, process: Process, since: float, until: float) -> Iterator[Condition]:
    """Findings for configs that were changed in place after a program had read them. A config replaced since then is
    another file, by its birth time. Without a birth time there is no finding.
    """
    for part in process.argv[1:]:
        word = part.rpartition("=")[2]
        stamp = shell.named.get(word)
        if stamp is None or stamp.born is None or stamp.born > since:
            continue
        if since + READS < stamp.mtime <= until:
            name = plain(basename(word), WIDTH)
            yield _condition(
                word,
                f"{name} was changed in place after PID {shell.pid} had read it: that run goes on with the old values, and what starts from now on reads the new ones",
                OTHER_VALUES,
            )


def _condition(path: str, evidence: str, remedy: str) -> Condition:
    return Condition(
        "script_changed",
        Severity.WARN,
        evidence,
        f"file:{path}",
        part=f"file:{path}",
        remedy=remedy,
    )


def _script(
    shell: Shell, word: str, held: Held, since: float, until: float
) -> tuple[str, str] | None:
    """Evidence (what the script's shell does after the change) and remedy; None if nothing changed."""
    stamp = held.stamp
    if stamp is None:
        return None
    name, pid, pos, size = plain(basename(word), WIDTH), shell.pid, held.pos, stamp.size
    if _replaced(shell, word, held):
        evidence = f"{name} was replaced under its running shell (PID {pid}), which goes on with the old text"
        return evidence, NOT_READ
    if not since < stamp.mtime <= until:
        return None
    if pos < size:
        evidence = f"{name} was changed in place under its running shell (PID {pid}): it reads on at byte {pos} of the new {size}, which may be the middle of a command"
        return evidence, ANOTHER_TEXT
    if pos > size:
        evidence = f"{name} was changed in place under its running shell (PID {pid}): it reads on at byte {pos}, and the new text ends at {size}, so nothing more of it runs"
        return evidence, ANOTHER_TEXT
    evidence = f"{name} was changed in place under its running shell (PID {pid}): it has read all {size} bytes already, so the change has no effect"
    return evidence, NOT_READ


def _replaced(shell: Shell, word: str, held: Held) -> bool:
    """Whether the name by which the file was opened belongs to another file now."""
    stamp, there = held.stamp, shell.named.get(held.path if held.deleted else word)
    if stamp is None or there is None or there.id == stamp.id:
        return False
    if held.deleted:
        return True
    # A script may have left its directory. So a word counts only in the directory of the open file: editors that keep
    # a copy of the old text put it next to the new one.
    now = normpath(join(shell.cwd or "/", word))
    return dirname(now) == dirname(held.path) and now != held.path


def _list(
    shell: Shell, held: Held, below: str, since: float, until: float
) -> tuple[str, str] | None:
    """Evidence (what a loop reads after a change of its list) and remedy; None if nothing changed.

    Appended whole lines are read and are no finding.
    """
    stamp, name = held.stamp, plain(basename(held.path), WIDTH)
    if stamp is None or held.pos == 0:
        return None
    pid, pos = shell.pid, held.pos
    if _replaced(shell, held.path, held):
        evidence = f"{name} was replaced while a loop reads it (PID {pid}): it goes on with the old lines, and new ones are not run"
        return evidence, NOT_READ
    if not since < stamp.mtime <= until:
        return None
    if pos > stamp.size:
        evidence = f"{name} was changed in place while a loop reads it (PID {pid}): it reads on at byte {pos}, and the file ends at {stamp.size}, so no line is run any more"
        return evidence, LINES_ONLY
    if held.before is None:
        return None
    if not held.before.endswith("\n"):
        evidence = f"{name} was changed in place while a loop reads it (PID {pid}): it reads on at byte {pos}, the middle of a line"
        return evidence, LINES_ONLY
    last = held.before.rstrip("\n").rpartition("\n")[2]
    if below and last.split() and not any(occurs(part, below) for part in last.split()):
        evidence = f'{name} was changed in place while a loop reads it (PID {pid}): it reads on after "{plain(last, WIDTH)}", which is not what runs now'
        return evidence, LINES_ONLY
    return None


def occurs(word: str, text: str) -> bool:
    """Whether a word of a list occurs in the arguments of running programs; a short one only as a whole word."""
    stem = basename(word).rpartition(".")[0] or basename(word) or word
    return stem in text if len(stem) >= LONG else stem in _WORDS.split(text)
