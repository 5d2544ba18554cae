"""Trainings that the death of their shell left to a reaper, by process tables of many kinds of box."""

from __future__ import annotations

import pytest

from gpu_tui.core.liveness import cells_named
from gpu_tui.core.orphan import may_start_next, orphans
from gpu_tui.core.readings import Process
from gpu_tui.core.shells import Held, Shell, Stamp

CELLS = {"a", "b"}
CONFIGS = {"a.yaml", "b.yaml"}
TRAIN = "python train.py --config conf/a.yaml"
SCRIPT = Held(255, "/q/night.sh", 40, Stamp((1, 1), 90, 0.0))


def table(*rows: tuple[int, int, str]) -> tuple[Process, ...]:
    """Processes from (PID, parent, command); the name is the program's."""
    made = []
    for pid, ppid, command in rows:
        words = tuple(command.split())
        made.append(Process(pid, ppid, words[0].rsplit("/", 1)[-1].lstrip("-"), words, "S"))
    return tuple(made)


def named(process: Process) -> int:
    return len(cells_named(process, CONFIGS, CELLS))


def heads(rows: tuple[Process, ...], *shells: Shell) -> list[int]:
    trainers = [row for row in rows if row.argv[:2] == ("python", "train.py")]
    found = orphans(trainers, rows, {shell.pid: shell for shell in shells}, named)
    return [head.pid for head in found]


@pytest.mark.parametrize(
    ("rows", "shells", "found"),
    [
        ([(1, 0, "/sbin/init"), (9, 1, TRAIN)], [], [9]),
        ([(1, 0, "sshd -D"), (9, 1, TRAIN)], [], [9]),
        ([(1, 0, "sleep infinity"), (9, 1, TRAIN)], [], [9]),
        ([(1, 0, "tini -- sshd -D"), (9, 1, TRAIN)], [], [9]),
        ([(9, 1, TRAIN)], [], [9]),  # PID 1 is hidden from this user
        ([(1, 0, "init"), (7, 1, "/lib/systemd/systemd --user"), (9, 7, TRAIN)], [], [9]),
        ([(1, 0, "init"), (7, 1, "containerd-shim-runc-v2 -id x"), (9, 7, TRAIN)], [], [9]),
        ([(1, 0, "init"), (8, 1, "/bin/sh ./run_one.sh conf/a.yaml t"), (9, 8, TRAIN)], [], [8]),
        ([(1, 0, "init"), (8, 1, "timeout 24h " + TRAIN), (9, 8, TRAIN)], [], [8]),
        ([(1, 0, "init"), (9, 1, TRAIN), (10, 9, TRAIN), (11, 1, "python train.py --config conf/b.yaml")], [], [9, 11]),
        # A subshell that a dead shell had forked: the script is not open in it.
        ([(1, 0, "init"), (8, 1, "bash night.sh"), (9, 8, TRAIN)], [Shell(8, "/q", (), ("/l",))], [8]),
        # An image's start-up script waits for a child of its own.
        ([(1, 0, "bash /start.sh"), (6, 1, "sleep infinity"), (9, 1, TRAIN)], [Shell(1, "/", (SCRIPT,))], [9]),
    ],
)  # fmt: skip
def test_trainings_left_to_a_reaper_are_orphans(
    rows: list[tuple[int, int, str]], shells: list[Shell], found: list[int]
) -> None:
    assert heads(table(*rows), *shells) == found


@pytest.mark.parametrize(
    ("rows", "shells"),
    [
        # The runner itself was detached: its parent is PID 1, and it lives.
        ([(1, 0, "init"), (8, 1, "bash night.sh"), (9, 8, TRAIN)], [Shell(8, "/q", (SCRIPT,))]),
        ([(1, 0, "init"), (8, 1, "bash night.sh"), (9, 8, TRAIN)], []),
        ([(1, 0, "init"), (8, 1, "python sweep.py conf/a.yaml conf/b.yaml"), (9, 8, TRAIN)], []),
        ([(1, 0, "init"), (8, 1, "python sweep.py"), (9, 8, TRAIN)], []),
        ([(1, 0, "init"), (7, 1, "tmux new -d"), (9, 7, TRAIN)], []),
        ([(1, 0, "init"), (7, 1, "tsp python train.py --config conf/a.yaml"), (9, 7, TRAIN)], []),
        ([(1, 0, "init"), (7, 1, "pueued -d"), (8, 7, "sh -c x"), (9, 8, TRAIN)], []),
        ([(1, 0, "init"), (7, 1, "SCREEN -dmS q"), (9, 7, TRAIN)], []),
        ([(1, 0, "init"), (7, 1, "-bash"), (9, 7, TRAIN)], []),  # typed by hand
        ([(1, 0, "init"), (8, 1, "bash /dev/fd/63"), (9, 8, TRAIN)], [Shell(8, "/q", (), ("/l",))]),
        ([(9, 7, TRAIN)], []),  # its parent is another user's, and not to be seen
        ([(9, 0, TRAIN)], []),  # docker exec: its parent is outside
        ([(1, 0, "bash night.sh"), (9, 1, TRAIN)], [Shell(1, "/q", (SCRIPT,))]),
        ([(1, 0, "tini -- " + TRAIN), (9, 1, TRAIN)], []),
        ([(1, 0, "init"), (9, 1, TRAIN), (8, 1, "bash n.sh"), (11, 8, "python train.py --config conf/b.yaml")], []),
        ([(1, 0, "init"), (8, 1, "bash x")], []),
    ],
)  # fmt: skip
def test_trainings_with_a_living_runner_are_no_orphans(
    rows: list[tuple[int, int, str]], shells: list[Shell]
) -> None:
    assert heads(table(*rows), *shells) == []


@pytest.mark.parametrize(
    ("command", "shell", "works"),
    [
        ("bash run_queue.sh queue.txt 2", Shell(5, "/q", (SCRIPT,)), True),
        ("bash run_queue.sh queue.txt 2", Shell(5, "/elsewhere", (SCRIPT,)), False),
        ("bash run_queue.sh queue.txt 2", Shell(5, "/q"), False),  # a part of a dead one
        ("bash run_queue.sh queue.txt 2", None, True),  # where it is cannot be seen
        ("python run_queue.py /q/queue.txt", None, True),
        ("xargs -a queue.txt -n1 python train.py", None, True),
        ("vim queue.txt", None, False),
        ("tail -f queue.log", None, False),
        ("bash night.sh", Shell(5, "/", (SCRIPT, Held(0, "/q/queue.txt", 3, None))), True),
        ("bash night.sh", Shell(5, "/", (SCRIPT,), ("/q/queue.log",)), True),
        ("bash -c follow", Shell(5, "/", (Held(4, "/q/queue.log", 3, None),)), False),
        ("bash night.sh", Shell(5, "/", (SCRIPT,), ("/q/other.log",)), False),
        ("-bash", Shell(5, "/q"), False),
    ],
)
def test_programs_that_may_start_the_next_cell(
    command: str, shell: Shell | None, works: bool
) -> None:
    rows = table((5, 1, command), (9, 1, TRAIN))
    shells = {shell.pid: shell} if shell else {}
    assert may_start_next(rows, shells, rows[1:], "/q/queue.txt", "/q/queue.log") is works


def test_a_process_below_a_training_starts_no_next_cell() -> None:
    rows = table((9, 1, TRAIN), (10, 9, "bash hook.sh queue.txt"))
    assert not may_start_next(rows, {}, rows[:1], "~/queue.txt", None)
