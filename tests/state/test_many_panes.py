"""A login node, or a liar, lists thousands of panes and of processes: nobody waits for it."""

from __future__ import annotations

import time

from gpu_tui.core.readings import Process
from gpu_tui.parse.tmux import parse_tmux
from gpu_tui.state.panes import with_programs

MANY = 5_000
SOON = 1.0  # seconds of the processor; each pane by itself took 3.3


def test_each_process_is_looked_at_once_for_all_panes() -> None:
    listed = "\n".join(f"%{n}:{n + 10}:0:::1700000000:s{n}:bash:" for n in range(MANY))
    panes = parse_tmux(listed.encode())
    shells = [Process(n + 10, 1, "bash", ("bash",), "S") for n in range(MANY)]
    programs = [
        Process(n + 10 + MANY, n + 10, "python", ("python", "t.py"), "S", age_seconds=90.0)
        for n in range(MANY)
    ]
    began = time.process_time()
    table = with_programs(panes, [*shells, *programs])
    assert time.process_time() - began < SOON
    assert len(table.jobs) == MANY


def test_panes_of_one_session_are_called_by_what_they_run() -> None:
    lines = (
        "%1:10:0:::1700000000:sweep:python:\n"
        "%2:20:0:::1700000000:sweep:bash:\n"
        '%3:30:1:3::1700000000:sweep:python:"python train.py --name lr_3"\n'
        "%4:40:0:::1700000000:other:python:\n"
    )
    programs = [
        Process(11, 10, "python", ("python", "train.py", "--name", "lr_1"), "S", 5.0),
        Process(21, 20, "python", ("python", "train.py", "--name", "lr_2"), "S", 5.0),
        Process(41, 40, "python", ("python", "train.py", "--name", "lr_4"), "S", 5.0),
    ]
    table = with_programs(parse_tmux(lines.encode()), programs)
    assert [job.name for job in table.jobs] == ["lr_1", "lr_2", "lr_3", "other"]
    # Whose programs are not known yet
    table = with_programs(parse_tmux(lines.encode()), None)
    assert [job.name for job in table.jobs] == ["sweep", "lr_3", "other"]
