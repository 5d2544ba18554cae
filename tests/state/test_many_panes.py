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
