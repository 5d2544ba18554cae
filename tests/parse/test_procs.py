"""The process table: names and arguments are whatever a program wished."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.procs import parse_processes

STAT = b"""1 (bash) S 0 24
4127 (python) R 58 10000
58 (run queue) S 1 5000
99 (x) R 1
7 (y) S 1 9
100 (a) S 1 (b)) Z 1 7000
"""
CMDLINE = (
    b"==> /proc/1/cmdline <==\nbash\x1f/init/boot.sh\x1f\n"
    b"==> /proc/4127/cmdline <==\n/opt/conda/bin/python\x1ftrain.py\x1f--config\x1fconfigs/no aug.yaml\x1f"
    b"--empty=\x1f\x1f--multi\nline\x1f\n"
)


def test_rows_names_and_arguments():
    rows = {row.pid: row for row in parse_processes(STAT, CMDLINE, uptime=200.0)}
    trainer = rows[4127]
    assert (trainer.ppid, trainer.name, trainer.state) == (58, "python", "R")
    assert trainer.age_seconds == 100.0
    assert trainer.argv[:4] == (
        "/opt/conda/bin/python",
        "train.py",
        "--config",
        "configs/no aug.yaml",
    )
    assert trainer.argv[4:] == ("--empty=", "", "--multi\ufffdline")
    assert rows[58].name == "run queue"
    assert rows[58].argv == ()
    assert rows[1].argv == ("bash", "/init/boot.sh")
    assert rows[100].name == "a) S 1 (b)"
    assert rows[100].state == "Z"


def test_a_name_with_a_newline_cannot_be_taken_for_more_than_a_name():
    rows = parse_processes(b"5 (a\nb) S 1 700\n", b"", None)
    assert [(row.pid, row.name, row.age_seconds) for row in rows] == [(5, "a\ufffdb", None)]


def test_arguments_that_pretend_to_be_another_process_are_not_believed():
    forged = (
        b"==> /proc/5/cmdline <==\nevil\n==> /proc/6/cmdline <==\npython\x1ftrain.py\x1f\n"
        b"==> /proc/6/cmdline <==\nsleep\x1f1\x1f\n"
    )
    rows = parse_processes(b"5 (evil) S 1 1\n6 (sleep) S 1 1\n", forged)
    assert {row.pid: row.argv for row in rows} == {5: ("evil",), 6: ()}


def test_arguments_of_a_process_that_is_not_in_the_table_are_dropped():
    rows = parse_processes(b"5 (a) S 1 1\n", b"==> /proc/9/cmdline <==\npython\x1f\n")
    assert [row.argv for row in rows] == [()]


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_any_bytes(stat, cmdline):
    for row in parse_processes(STAT + stat, CMDLINE + cmdline, 1.0):
        assert row.name == "" or row.name.isprintable()
        assert all(word == "" or word.isprintable() for word in row.argv)
        assert row.age_seconds is not None
        assert row.age_seconds >= 0
