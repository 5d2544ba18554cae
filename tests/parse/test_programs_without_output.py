"""Programs whose output nobody keeps: found by what they hold open, named by their cell, one row for those that
belong together.
"""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import Job
from gpu_tui.parse.detached import parse_detached

Program = tuple[str, int, list[str], dict[int, str]]  # comm, ppid, argv, fd -> target
TRAIN = ["python", "train.py", "--lr", "3"]


def jobs(programs: dict[int, Program], logs: str | None = None) -> list[Job]:
    """What is told of these processes."""
    outputs, held, stat, cmdline = "", "", "", ""
    for pid, (name, ppid, argv, files) in programs.items():
        stat += f"{pid} ({name}) S {ppid} {pid}\n"
        cmdline += f"==> /proc/{pid}/cmdline <==\n" + "\x1f".join(argv) + "\n"
        for fd, target in files.items():
            line = f"'/proc/{pid}/fd/{fd}' -> '{target}'\n"
            plain = fd == 1 and target.startswith("/") and not target.startswith("/dev/")
            outputs, held = (outputs + line, held) if plain else (outputs, held + line)
    table = parse_detached(
        outputs.encode(), stat.encode(), cmdline.encode(), 500.0, 1_000.0,
        held=held.encode(), logs=logs,
    )  # fmt: skip
    return list(table.jobs)


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("/dev/null", "/dev/null"),
        ("pipe:[71]", "a pipe"),
        ("socket:[5]", "a socket"),
        ("/dev/pts/4", "a terminal"),
    ],
)
def test_a_training_that_writes_nowhere_is_a_row_of_its_own(target: str, where: str) -> None:
    (job,) = jobs({7: ("python", 1, TRAIN, {1: target})})
    assert (job.name, job.stdout, job.live) == ("train", None, True)
    assert job.why == f"python with its output to {where}"
    assert job.command == "python train.py --lr 3"  # its end without a word is a finding


def test_of_other_programs_only_those_are_runs_that_hold_what_a_run_holds() -> None:
    scripts = {
        7: {},
        8: {4: "/r/exp8/run8.log"},
        9: {4: "/r/tb/events.out.tfevents.1700.box.1"},
        10: {4: "/dev/nvidia0"},
        11: {4: "/root/.vscode-server/data/x.log"},
        12: {4: "/root/wandb/run-1/logs/debug.log"},
    }
    rows = {
        pid: ("python3", 1, ["python3", "fit.py", f"--name=n{pid}"], {1: "/dev/null", **files})
        for pid, files in scripts.items()
    }
    rows[13] = ("python3", 1, ["python3", "/usr/bin/train-dispatcher"], {1: "socket:[4]"})
    rows[14] = ("python3", 1, ["python3", "-m", "ipykernel_launcher", "train"], {1: "pipe:[4]"})
    assert [(job.name, job.stdout) for job in jobs(rows)] == [
        ("run8", "/r/exp8/run8.log"),
        ("n9", None),
        ("n10", None),
    ]


def test_who_holds_the_log_of_a_cell_is_that_cell() -> None:
    found = jobs(
        {
            7: ("python", 1, TRAIN, {1: "/root/nohup.out", 4: "/r/runs/a/train.log"}),
            8: ("python", 1, TRAIN, {1: "/dev/null", 3: "/r/x.log", 4: "/r/runs/b/train.log"}),
        },
        logs="/r/runs/{cell}/train.log",
    )
    assert [(job.name, job.stdout, job.stderr) for job in found] == [
        ("a", "/r/runs/a/train.log", "/root/nohup.out"),
        ("b", "/r/runs/b/train.log", None),
    ]


def test_ranks_and_their_launcher_are_one_and_the_runs_of_a_driver_are_many() -> None:
    ranks: dict[int, Program] = {
        10: ("accelerate", 1, ["python", "/usr/bin/accelerate", "launch", "train.py"], {1: "/dev/null"}),
        11: ("python", 10, TRAIN, {1: "/dev/null", 5: "/r/vit.log"}),
        12: ("python", 10, TRAIN, {1: "/dev/null"}),
        13: ("python", 11, TRAIN, {1: "pipe:[9]", 5: "/r/vit.log"}),
    }  # fmt: skip
    (job,) = jobs(ranks)
    assert (job.id, job.name, job.stdout) == ("10", "vit", "/r/vit.log")
    sweep: dict[int, Program] = {
        10: ("python", 1, ["python", "train_all.py"], {1: "/dev/null"}),
        11: ("python", 10, TRAIN, {1: "/dev/null", 5: "/r/lr1.log"}),
        12: ("python", 10, TRAIN, {1: "/dev/null", 5: "/r/lr2.log"}),
    }
    assert [job.name for job in jobs(sweep)] == ["lr1", "lr2"]


def test_in_a_session_of_screen_it_has_its_name() -> None:
    (job,) = jobs(
        {
            5: ("screen", 1, ["SCREEN", "-dmS", "night", "python", "train.py"], {1: "/dev/null"}),
            7: ("python", 5, TRAIN, {1: "/dev/pts/3"}),
        }
    )
    assert (job.name, job.why) == ("night", "python in screen")


def test_what_has_just_begun_is_a_persons_command_and_its_end_no_alarm() -> None:
    (job,) = jobs({49_000: ("python", 1, TRAIN, {1: "/dev/pts/4"})})
    assert job.command is None


def test_a_log_that_is_called_by_a_date_is_no_name() -> None:
    (job,) = jobs({7: ("python", 1, TRAIN, {1: "/r/2026-11-23_10-00-00.log"})})
    assert (job.name, job.stdout) == ("train", "/r/2026-11-23_10-00-00.log")


@pytest.mark.parametrize(
    ("starter", "rank"),
    [
        (["python3", "/usr/local/bin/torchrun", "main.py"], ["python3", "-u", "main.py"]),
        (["python", "main.py"], ["python", "-c", "spawn_main()", "--multiprocessing-fork"]),
        (["python", "-m", "serve"], ["python", "-m", "serve"]),
    ],
)
def test_ranks_whose_starter_holds_no_card_are_one_training(
    starter: list[str], rank: list[str]
) -> None:
    ranks = {
        30 + n: ("python", 20, rank, {1: "/dev/pts/0", 7: f"/dev/nvidia{n}"}) for n in range(4)
    }
    (job,) = jobs({20: ("python", 10, starter, {1: "/dev/pts/0"}), **ranks})
    assert job.id == "20"
