"""Alive is what a process is, not what a pattern matches."""

from __future__ import annotations

import pytest

from gpu_tui.core.liveness import (
    Run,
    find_run,
    find_trainers,
    is_tool,
    session_of,
    trainings_below,
    works,
)
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import Roster, RosterCell

ROSTER = Roster((RosterCell(1, "baseline", "conf/baseline.yaml", "t", 20),))
QUEUE = "~/q/queue_1.txt"


def process(pid: int, ppid: int, *argv: str, state: str = "S") -> Process:
    return Process(pid, ppid, argv[0], argv, state)


def test_the_runner_and_what_is_below_it() -> None:
    table = [
        process(10, 1, "bash", "run_queue.sh", "/root/q/queue_1.txt"),
        process(11, 10, "bash", "run_one.sh", "baseline.yaml"),
        process(12, 11, "/opt/conda/bin/python", "-u", "x.py"),
        process(13, 1, "/usr/bin/python3", "/usr/bin/networkd-dispatcher"),
    ]
    run = find_run(table, QUEUE, ROSTER)
    assert [p.pid for p in run.runners] == [10]
    assert [p.pid for p in run.trainers] == [12]


def test_an_editor_or_a_grep_on_the_queue_file_is_not_a_run() -> None:
    table = [
        process(10, 1, "vim", "/root/q/queue_1.txt"),
        process(11, 1, "grep", "-n", "baseline", "/root/q/queue_1.txt"),
        process(12, 1, "tail", "-f", "/root/logs/baseline.log"),
    ]
    assert not find_run(table, QUEUE, ROSTER).alive


def test_a_trainer_without_its_runner_still_counts_and_a_zombie_does_not() -> None:
    trainer = process(20, 1, "python", "train.py", "--config=conf/baseline.yaml")
    assert find_run([trainer], QUEUE, ROSTER).trainers == (trainer,)
    dead = process(21, 1, "python", "train.py", "conf/baseline.yaml", state="Z")
    assert not find_run([dead], QUEUE, ROSTER).alive


def test_without_a_queue_gpu_users_and_training_scripts_count() -> None:
    table = [
        process(30, 1, "python", "pretrain_gpt.py"),
        process(31, 1, "python", "-m", "http.server"),
        process(32, 1, "blender", "-b"),
    ]
    assert [p.pid for p in find_trainers(table, [32])] == [30, 32]


@pytest.mark.parametrize(
    "argv",
    [
        ("python", "pipeline.py"),
        ("python", "ray_train.py"),
        ("python", "aim_higher.py"),
        ("srun", "python", "train.py"),
        ("python", "/opt/conda/bin/conda", "run", "-n", "x", "python", "train.py"),
    ],
)
def test_a_name_that_begins_like_a_service_trains(argv: tuple[str, ...]) -> None:
    one = process(2, 1, *argv)
    assert works(one)
    assert not is_tool(one)


@pytest.mark.parametrize(
    "argv",
    [
        ("python3.11", "/usr/bin/pip3.11", "install", "torch"),
        ("python", "-m", "pip", "install", "torch"),
        ("python", "/usr/bin/jupyter-lab"),
        ("python", "-m", "ipykernel_launcher", "-f", "k.json"),
        ("python", "-u", "/o/lib/python3.11/site-packages/ray/_private/log_monitor.py"),
    ],
)
def test_who_serves_people_trains_nothing(argv: tuple[str, ...]) -> None:
    assert not works(process(2, 1, *argv))


@pytest.mark.parametrize(
    "argv",
    [
        ("python", "/usr/local/bin/ipython"),
        ("python", "/opt/conda/bin/conda", "create", "-n", "x"),
        ("python", "setup.py", "install"),
        ("python3", "/usr/local/bin/huggingface-cli", "download", "x/y"),
    ],
)
def test_a_tool_is_no_training_below_a_pane(argv: tuple[str, ...]) -> None:
    shell, tool = process(10, 1, "bash"), process(11, 10, *argv)
    assert trainings_below([shell, tool]) == {}
    below = process(12, 11, "python", "t.py")
    assert trainings_below([shell, tool, below])[10] is below


def test_the_topmost_training_is_found_for_each_above_it() -> None:
    shell, top, rank, other = (
        process(10, 1, "bash"),
        process(11, 10, "torchrun", "t.py"),
        process(12, 11, "python", "t.py"),
        process(13, 10, "python", "u.py"),
    )
    found = trainings_below([shell, other, rank, top])
    assert {pid: found[pid].pid for pid in (10, 11, 12, 13)} == {10: 13, 11: 11, 12: 12, 13: 13}


def test_processes_above_each_other_end_the_walk() -> None:
    loop = [
        process(10, 11, "bash"),
        process(11, 10, "python", "t.py"),
        process(12, 12, "python", "t.py"),
    ]
    assert trainings_below(loop) == {}


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([(1, 0, "sshd", "sshd: x [listener]"), (9, 1, "sshd", "sshd: root@pts/0")], "ssh"),
        ([(1, 0, "init", "init"), (9, 1, "sshd", "sshd: root@pts/0")], "ssh"),  # sshd -i
        (
            [(1, 0, "sshd", "sshd: x [listener]"), (9, 1, "sshd-session", "sshd-session: a@pts/0")],
            "ssh",
        ),
        ([(1, 0, "dropbear", "dropbear -F"), (9, 1, "dropbear", "dropbear -F -2 7")], "ssh"),
        ([(1, 0, "init", "init"), (9, 1, "dropbear", "dropbear -i")], "ssh"),
        ([(9, 0, "sshd", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups")], "none"),
        ([(9, 0, "dropbear", "dropbear -F")], "none"),
        ([(9, 0, "python3", "sshd: root@pts/0")], "none"),
    ],
)
def test_a_run_hangs_on_the_session_of_any_ssh_server(
    rows: list[tuple[int, int, str, str]], kind: str
) -> None:
    table = [Process(pid, ppid, name, tuple(title.split()), "S") for pid, ppid, name, title in rows]
    run = Run(trainers=(Process(20, 9, "python3", ("python3", "train.py"), "R"),))
    assert session_of([*table, *run.trainers], run).kind == kind
