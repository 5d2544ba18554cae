"""Programs that may start more runs that no list names, by the process tables that shells, xargs and make give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.jobs import Job
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import CellState
from gpu_tui.core.unlisted import more_may_follow

NOW = 1_000_000.0
TRAIN = ("python3", "train.py", "--lr", "1e-3")
WHILE = 'while read -r a b; do python3 train.py $a $b > "$a.log" 2>&1; done < queue.txt'
FOR = "for lr in 1e-3 3e-3; do python3 train.py --lr $lr > $lr.log; done"


def process(pid: int, ppid: int, *argv: str, name: str = "", age: float = 500.0) -> Process:
    called = name or argv[0].lstrip("-").rsplit("/", 1)[-1]
    return Process(pid, ppid, called, argv, "S", age)


INIT = process(1, 0, "/sbin/init", name="systemd", age=9_000.0)
SSHD = process(20, 1, "sshd: root@pts/0", name="sshd")
TMUX = process(30, 1, "tmux", "new", "-s", "x", name="tmux: server")
PROMPT = process(40, 20, "-bash")


def run(pid: int, *above: int, **facts: object) -> Job:
    made = Job(str(pid), f"run{pid}", CellState.RUNNING, "running", pids=(pid, *above))
    return replace(made, started_at=NOW - 100, **facts)  # type: ignore[arg-type]


def gone(pid: int, *above: int, ago: float = 5.0, **facts: object) -> Job:
    return run(pid, *above, state=CellState.FINISHED, finished_at=NOW - ago, seen_at=None, **facts)


LOOPS: dict[str, tuple[Process, ...]] = {
    "while read in a script": (process(50, 1, "bash", "run_all.sh"),),
    "the same under dash": (process(50, 1, "/bin/sh", "./run_all.sh"),),
    "a script under nohup": (process(50, 1, "bash", "./sweep.sh", "queue.txt"),),
    "executable script": (process(50, 1, "/bin/bash", "/root/go"),),
    "bash -c while": (process(50, 1, "bash", "-c", WHILE),),
    "sh -c for": (process(50, 1, "sh", "-c", FOR),),
    "bash -lc for": (process(50, 1, "bash", "-lc", FOR),),
    "zsh -c for": (process(50, 1, "zsh", "-c", FOR),),
    "two in a row": (process(50, 1, "sh", "-c", "python a.py > a.log; python b.py > b.log"),),
    "cat list | while read": (process(50, 1, "bash", "run_pipe.sh"), process(51, 50, "bash", "run_pipe.sh")),
    "xargs -a": (process(50, 1, "xargs", "-a", "args.txt", "-n1", "python3", "train.py"),),
    "xargs sh -c": (
        process(49, 1, "xargs", "-a", "args.txt", "-I{}", "sh", "-c", "python3 train.py {}"),
        process(50, 49, "sh", "-c", "python3 train.py --lr 1"),
    ),
    "busybox": (process(50, 1, "busybox", "ash", "run_all.sh"),),
    "a driver in python": (process(50, 1, "python3", "sweep.py", "--grid", "g.yaml"),),
    "wandb agent": (process(50, 1, "/usr/bin/python3", "/usr/bin/wandb", "agent", "me/p/x1"),),
    "parallel": (process(50, 1, "perl", "/usr/bin/parallel", "-j1", "::::", "jobs.txt"),),
    "make": (process(49, 1, "make", "-j1", "all"), process(50, 49, "/bin/sh", "-c", "python3 train.py")),
    "a script in tmux": (TMUX, process(50, 30, "bash", "run_all.sh")),
    "a script in a prompt's background": (SSHD, PROMPT, process(50, 40, "bash", "run_all.sh")),
    "timeout in a loop": (process(49, 1, "bash", "run.sh"), process(50, 49, "timeout", "9h", *TRAIN)),
}  # fmt: skip
NO_LOOPS: dict[str, tuple[Process, ...]] = {
    "the shell is gone": (),
    "typed at a prompt": (SSHD, process(50, 20, "-bash")),
    "typed in tmux": (TMUX, process(50, 30, "-bash")),
    "a bare bash": (process(50, 1, "bash"),),
    "sh -c with one training": (process(50, 1, "sh", "-c", "cd /root && python3 train.py > a.log"),),
    "started by ssh HOST COMMAND": (SSHD, process(50, 20, "bash", "-c", "python3 train.py > a.log")),
    "jupyter below an entrypoint": (
        process(45, 1, "bash", "/init/boot/boot.sh"),
        process(46, 45, "/opt/conda/bin/python", "/opt/conda/bin/jupyter-lab", "--allow-root"),
        process(50, 46, "/bin/bash"),
    ),
    "sshd below an entrypoint": (
        process(45, 1, "bash", "/start.sh"), process(46, 45, "sshd: /usr/sbin/sshd -D [listener]", name="sshd"),
        process(47, 46, "sshd: root@notty", name="sshd"), process(50, 47, "-bash"),
    ),
    "a wrapper of one command": (process(50, 1, "timeout", "9h", *TRAIN),),
    "wandb's service": (process(50, 1, "/usr/bin/python3", "-m", "wandb", "service"),),
    "accelerate": (process(50, 1, "/usr/bin/python3", "/usr/bin/accelerate", "launch", "train.py"),),
    "torch.distributed": (process(50, 1, "python3", "-m", "torch.distributed.run", "train.py"),),
    "torchrun": (process(50, 1, "python3", "/usr/bin/torchrun", "train.py"),),
}  # fmt: skip


def above(table: tuple[Process, ...]) -> tuple[int, ...]:
    """The ancestors of a child of process 50."""
    rows, line, pid = (
        {one.pid: one for one in table},
        [],
        51 if any(p.pid == 51 for p in table) else 50,
    )
    while pid:
        line.append(pid)
        pid = rows[pid].ppid if pid in rows else (1 if pid == 50 else 0)
    return tuple(line)


@pytest.mark.parametrize("ended", [False, True], ids=["it runs", "between two"])
@pytest.mark.parametrize("table", LOOPS.values(), ids=LOOPS)
def test_a_loop_may_start_more(table: tuple[Process, ...], ended: bool) -> None:
    job = gone(60, *above(table)) if ended else run(60, *above(table))
    if ended and table[-1].argv[0] in ("timeout", "sh", "/bin/sh") and len(table) > 1:
        table = table[:-1]  # it ends with its command
    assert more_may_follow([job], (INIT, *table), NOW, NOW)


@pytest.mark.parametrize("ended", [False, True], ids=["it runs", "it ended"])
@pytest.mark.parametrize("table", NO_LOOPS.values(), ids=NO_LOOPS)
def test_nothing_follows_a_single_run(table: tuple[Process, ...], ended: bool) -> None:
    job = gone(60, *above(table), ago=500.0) if ended else run(60, *above(table))
    assert not more_may_follow([job], (INIT, *table), NOW, NOW)


def test_the_ranks_of_one_training_are_no_list() -> None:
    main = process(50, 1, "python3", "train.py")
    fork = process(
        60, 50, "python3", "-c", "from multiprocessing.spawn ...", "--multiprocessing-fork"
    )
    assert not more_may_follow([run(60, 50, 1)], (INIT, main, fork), NOW, NOW)
    again = process(60, 50, "python3", "train.py", "--local_rank=1")
    assert not more_may_follow([run(60, 50, 1)], (INIT, main, again), NOW, NOW)


def test_a_loop_that_was_typed_shows_in_its_second_run() -> None:
    table = (INIT, SSHD, PROMPT)
    second = run(61, 40, 20, 1)
    assert more_may_follow([gone(60, 40, 20, 1, then="run61"), second], table, NOW, NOW)
    # Side by side in the background, one ends first: nothing followed it.
    assert not more_may_follow([gone(60, 40, 20, 1, ago=90.0), second], table, NOW, NOW)
    # Its last run has just ended, so the next may be about to begin; a minute later it would have begun.
    assert more_may_follow([gone(60, 40, 20, 1, ago=5.0)], table, NOW, NOW)
    assert not more_may_follow([gone(60, 40, 20, 1, ago=60.0)], table, NOW, NOW)


def test_a_reused_pid_is_not_the_loop() -> None:
    later = process(50, 1, "bash", "other.sh", age=10.0)
    assert not more_may_follow([gone(60, 50, 1, ago=300.0)], (INIT, later), NOW, NOW)


def test_without_a_process_table_any_job_with_a_parent_may_be_followed() -> None:
    assert more_may_follow([run(60, 50, 1)], None, NOW, NOW)
    assert not more_may_follow([run(60, 1)], None, NOW, NOW)
    assert not more_may_follow([run(60)], None, NOW, NOW)
