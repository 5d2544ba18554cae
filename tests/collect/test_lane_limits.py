"""How the main loop ends a command that hangs, and how many processes it looks at for that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shell_box import SHELLS

from gpu_tui.collect.program import script

LIMIT = 5  # beats
KILL, TERM = 9, 15


@pytest.fixture(params=sorted(SHELLS))
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def mind_a_lane(shell: str, lanes: str, beats: int) -> tuple[int, int, set[str]]:
    """Which signals ended the lane's command and a child that has its mark, fd 7; and whose `stat` was read.

    The shell is the lane and the main loop at once. What has lived until the last beat is ended by TERM.
    """
    counted = lanes.replace("child() {", 'child() {\nlooked="$looked $1"\n', 1)
    assert counted != lanes
    done = subprocess.run(
        SHELLS[shell],
        input=f"""
            {counted}
            exec 7</dev/null 2>/dev/null
            sleep 60 </dev/null 7<&- & command=$!
            sleep 60 </dev/null & marked=$!
            while [ -e "/proc/$command/fd/7" ]; do :; done
            beat=0 looked=
            while [ "$beat" -lt {beats} ]; do
                mind disk "$$" {LIMIT}
                beat=$((beat + 1))
            done
            kill -s TERM "$command" "$marked"
            for pid in "$command" "$marked"; do
                wait "$pid"
                echo $(($? % 128))
            done
            for pid in $looked; do
                case $pid in "$command") echo command ;; *) echo other ;; esac
            done
            exit
            """,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    command, marked, *looked = done.stdout.split()
    return int(command), int(marked), set(looked)


@pytest.mark.skipif(
    not Path("/proc/thread-self/children").exists(), reason="this kernel lists no children"
)
def test_a_command_that_hangs_is_ended_without_a_look_at_other_processes(shell: str):
    lanes = script("lanes")
    assert mind_a_lane(shell, lanes, (LIMIT + 1) // 2 - 1) == (TERM, TERM, set())
    assert mind_a_lane(shell, lanes, LIMIT) == (TERM, TERM, {"command"})
    assert mind_a_lane(shell, lanes, LIMIT + 1) == (KILL, TERM, {"command"})


def test_a_command_that_hangs_is_ended_where_the_kernel_lists_no_children(shell: str):
    lanes = script("lanes").replace("/children", "/none")
    assert mind_a_lane(shell, lanes, LIMIT + 1)[:2] == (KILL, TERM)
