"""The shell that runs a box's queue in the view of the box: dead, alive, remembered, not visible."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_store import BOX, OK, ROSTER, T0, Bench

from gpu_tui.core.events import LogOpened, Sampled
from gpu_tui.core.fleet import QueueFiles
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueDone, QueueOpened
from gpu_tui.core.readings import Process
from gpu_tui.core.sample import Absent
from gpu_tui.core.shells import Held, Shell, Stamp
from gpu_tui.core.speech import Catalogue, speak, told
from gpu_tui.core.sweep import CellState
from gpu_tui.language import speak_in
from gpu_tui.parse.command_list import parse_commands
from gpu_tui.state.history import NoHistory
from gpu_tui.state.runner_kept import LOOPS, Loop, Runner, RunnersKept
from gpu_tui.state.runner_kept import RUNNER as RUNNER_COUNTER

INIT = Process(1, 0, "systemd", ("/sbin/init",), "S", 9_000.0)
NIGHT = Process(7, 1, "bash", ("bash", "night.sh", "q.txt", "1"), "S", 300.0)
ONE = Process(8, 7, "sh", ("/bin/sh", "./run_one.sh", "a.yaml"), "S", 60.0)
TRAIN = Process(9, 8, "python", ("python", "train.py", "--config", "a.yaml"), "S", 60.0)
SHELL = Shell(
    7, "/root/w", (Held(255, "/root/w/night.sh", 9, Stamp((1, 2), 90, 0.0)),), ("/root/q.log",)
)
ALIVE = (INIT, NIGHT, ONE, TRAIN)
LEFT = (INIT, replace(ONE, ppid=1), TRAIN)


def bench_of(
    *processes: Process, shells: tuple[Shell, ...] | None = (), history: NoHistory | None = None
) -> Bench:
    """A box whose queue's log says that cell a of two runs."""
    bench = Bench(history=history)
    bench.link()
    bench.alive(*processes)
    bench.sample("roster", ROSTER)
    if shells is not None:
        bench.sample("shells", shells)
    bench.queue(
        QueueOpened("q.txt", 2, 1, "box"), CellStarted(T0 - 60, 1, 2, "a", "t", 4), backfill=True
    )
    bench.at += 5
    bench.alive(*processes)
    if shells is not None:
        bench.sample("shells", shells)
    return bench


def test_a_dead_runner_is_a_serious_finding_and_a_reason_of_the_verdict() -> None:
    view = bench_of(*LEFT).view()
    (gone,) = view.findings
    assert (gone.kind, gone.severity, gone.cell) == ("runner_gone", "serious", None)
    assert gone.evidence == (
        "the queue's runner is gone: a went on without it (PID 8, child of 1), and nothing starts b"
    )
    assert view.queue.eta_seconds is None
    assert view.because[1] == "the queue's own shell is gone: the cell that waits will not start"
    assert "while kill -0 8 " in gone.remedy
    speak_in("zh")
    try:
        assert told(gone.evidence).startswith("队列的运行器没了：a ")
        assert told(gone.remedy).startswith("PID 8 结束后")
    finally:
        speak(Catalogue())


def test_a_process_table_that_is_older_than_the_log_waits_for_the_next_one() -> None:
    bench = bench_of(*LEFT)
    bench.queue(CellStarted(bench.at, 1, 2, "a", "t", 4))
    assert (bench.view().settling, bench.kinds()) == (True, [])
    bench.at += 5
    bench.alive(*LEFT)
    bench.sample("shells", ())
    assert (bench.view().settling, bench.kinds()) == (False, ["runner_gone"])


@pytest.mark.parametrize(
    ("processes", "shells"),
    [
        (ALIVE, (SHELL,)),
        (LEFT, None),  # whether another shell reads the queue was not read
        ((*LEFT, replace(NIGHT, pid=20)), (replace(SHELL, pid=20),)),  # started again
        ((*LEFT, Process(20, 1, "python3", ("python3", "run.py", "/root/q.txt"), "S")), ()),
        ((replace(ONE, ppid=77), TRAIN), ()),
        ((INIT,), ()),
        (
            (
                INIT,
                replace(
                    TRAIN, ppid=1, argv=("python", "/usr/bin/tensorboard", "--logdir", "runs/a")
                ),
            ),
            (),
        ),
    ],
)
def test_a_runner_that_may_live_is_no_finding(
    processes: tuple[Process, ...], shells: tuple[Shell, ...] | None
) -> None:
    bench = bench_of(*processes, shells=shells)
    assert "runner_gone" not in bench.kinds()
    assert not any("shell is gone" in reason for reason in bench.view().because)


def test_a_dead_runner_without_cells_left_is_no_finding() -> None:
    bench = bench_of(*LEFT)
    last = replace(LEFT[2], argv=("python", "train.py", "--config", "b.yaml"))
    own = replace(LEFT[1], argv=("/bin/sh", "./run_one.sh", "b.yaml"))
    bench.queue(CellFinished(T0, 1, 2, "a", 0), CellStarted(T0, 2, 2, "b", "t", 4), backfill=True)
    bench.at += 5
    bench.alive(INIT, own, last)
    bench.sample("shells", ())
    assert bench.view().queue.cells[1].state is CellState.RUNNING
    assert "runner_gone" not in bench.kinds()
    bench.queue(QueueDone(T0, "box", 0, None), backfill=True)
    assert "runner_gone" not in bench.kinds()


@pytest.mark.parametrize(
    "shell",
    [
        Shell(7, "/root", (Held(0, "/root/q.txt", 9, None),)),  # done < q.txt
        replace(SHELL, cwd="/root"),  # bash night.sh > q.log
    ],
)
def test_a_runner_is_recognised_by_its_open_files(
    shell: Shell,
) -> None:
    night = replace(NIGHT, argv=("bash", "night.sh"))
    trainer = replace(TRAIN, ppid=7, argv=("python", "train.py", "--lr", "1e-3"))
    view = bench_of(INIT, night, trainer, shells=(shell,)).view()
    assert (view.verdict, view.findings) == ("running", ())
    assert view.queue.cells[0].state is CellState.RUNNING


def test_a_training_that_no_queue_started_has_no_dead_runner() -> None:
    bench = Bench()
    bench.link()
    bench.sample("roster", ROSTER)
    bench.alive(*LEFT)
    bench.sample("shells", ())
    assert bench.view().verdict == "running"
    assert "runner_gone" not in bench.kinds()


def test_the_runner_is_remembered_after_its_death_and_a_restart() -> None:
    history = NoHistory()
    bench_of(*ALIVE, shells=(SHELL,), history=history).view()
    (gone,) = bench_of(*LEFT, history=history).view().findings
    command = gone.remedy.partition("run on the box: ")[2]
    assert command.startswith("tmux new-session -d -s queue-2 -c ~/w ")
    assert "bash night.sh q.txt 2 </dev/null >>~/q.log" in command
    (other,) = bench_of(*LEFT).view().findings
    assert "bash SCRIPT ~/q.txt 2" in other.remedy


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "[1]", "[1, 2, 3]", "{}"),
        '["@box: ", [[], null, null]]',
        '["@box: ", [["sh"], 1, null]]',
        '["@box: ", [[["sh"], 1, null]]]',
        '["@box: ", [[[["sh"], null, null], "/l", "1", 2, "", 3, 4.0]]]',
        '["@other: ", [["sh"], null, null]]',
    ],
)
def test_invalid_history_gives_no_runner(text: str) -> None:
    history = NoHistory()
    for counter in (RUNNER_COUNTER, LOOPS):
        history.set_counter("box", counter, text, T0)
    kept = RunnersKept(history, BOX)
    assert (kept.runner, kept.loops) == (None, ())
    kept.keep(Runner(("sh", "x" * 50_000)), T0)
    assert RunnersKept(history, BOX).runner is None
    kept.keep(Runner(("sh", "x")), T0)
    loops = [Loop(Runner(("sh",), "/w"), f"/l{n}", 1, 2, "a", n, 4.0) for n in range(20)]
    kept.keep_loops(loops, T0)
    again = RunnersKept(history, BOX)
    assert (again.runner, again.loops) == (Runner(("sh", "x")), tuple(loops[:16]))


def test_a_discovered_queue_log_shows_its_dead_runner() -> None:
    bench = Bench(replace(BOX, queue=QueueFiles(), logs="/root/logs/{cell}.log"))
    master = LogSource("/root/logs/master.log", "master")
    bench.link()
    bench.store.apply(LogOpened("box", bench.at, master, 1, 0, 0, False))
    events = QueueOpened("q.txt", 4, 1, "box"), CellStarted(T0 - 60, 2, 4, "a", "t", 4)
    bench.lines(master, *(LogLine("q", OK, queue=one) for one in events))
    bench.at += 5
    bench.alive(*LEFT)
    bench.sample("shells", ())
    runs = Job("9", "a", CellState.RUNNING, "running", stdout="/root/logs/a.log", pids=(9, 8, 1))
    bench.sample("nohup", JobTable("nohup", (runs,)))
    (gone,) = [one for one in bench.view().findings if one.kind == "runner_gone"]
    assert gone.evidence.endswith("nothing starts [3/4] … [4/4]")
    bench.alive(*ALIVE)
    bench.sample("shells", (SHELL,))
    assert "runner_gone" not in bench.kinds()


LOOP = replace(
    SHELL,
    reads=(*SHELL.reads, Held(0, "/root/w/list", 4, Stamp((1, 3), 40, 0.0), before="a t\n")),
)


def loop_bench(history: NoHistory, *processes: Process, shells: tuple[Shell, ...] = ()) -> Bench:
    """A box without a queue or logs in the fleet file."""
    bench = Bench(replace(BOX, queue=QueueFiles()), history=history)
    bench.link()
    bench.alive(*processes)
    bench.sample("shells", shells)
    return bench


def test_a_dead_loop_with_lines_left_is_a_finding() -> None:
    history = NoHistory()
    assert "runner_gone" not in loop_bench(history, *ALIVE, shells=(LOOP,)).kinds()
    (gone,) = loop_bench(history, *LEFT).view().findings
    assert gone.evidence == (
        'the loop that read list is gone: "a t" went on without it (PID 8, child of 1), and nothing starts the lines '
        "after it"
    )
    command = gone.remedy.partition("run on the box: ")[2]
    assert (
        "cp ~/w/list ~/w/list.all && tail -c +5 ~/w/list.all >~/w/list && bash night.sh" in command
    )
    # Another training, with an unknown number of lines after it; a new shell; no orphan.
    later = (*LEFT[:2], replace(TRAIN, age_seconds=10.0))
    assert "runner_gone" not in loop_bench(history, *later).kinds()
    assert (
        "runner_gone"
        not in loop_bench(
            history, *LEFT, replace(NIGHT, pid=20), shells=(replace(LOOP, pid=20),)
        ).kinds()
    )
    assert "runner_gone" not in loop_bench(NoHistory(), *LEFT).kinds()
    assert "runner_gone" not in loop_bench(history, INIT).kinds()


def test_a_dead_loop_at_its_last_line_is_no_finding() -> None:
    history = NoHistory()
    last = replace(LOOP, reads=(replace(LOOP.reads[1], pos=40, before="z t\na t\n"),))
    assert "runner_gone" not in loop_bench(history, *ALIVE, shells=(last,)).kinds()
    assert "runner_gone" not in loop_bench(history, *LEFT).kinds()


def test_a_list_of_commands_without_a_runner() -> None:
    bench = Bench(replace(BOX, queue=QueueFiles(commands="~/c.txt")))
    bench.link()
    bench.sample(
        "commands", parse_commands("# all\npython train.py --name a\npython train.py --name b\n")
    )
    row = Process(9, 1, "python", ("python", "train.py", "--name", "a"), "S", 60.0)
    bench.alive(INIT, row)
    bench.sample("shells", ())
    (gone,) = [one for one in bench.view().findings if one.kind == "runner_gone"]
    assert "a went on without it (PID 9, child of 1), and nothing starts b" in gone.evidence
    assert gone.remedy.endswith("sed -n '3,$p' ~/c.txt | sh")
    for above in ("xargs -a c.txt", "bash c.sh", "-bash"):
        words = tuple(above.split())
        bench.alive(INIT, Process(5, 1, words[0], words, "S"), replace(row, ppid=5))
        assert "runner_gone" not in bench.kinds(), above
    bench.alive(INIT, row, Process(5, 1, "parallel", ("parallel", "-a", "/root/c.txt"), "S"))
    assert "runner_gone" not in bench.kinds()


@pytest.mark.parametrize("server", ["task-spooler", "pueue"])
def test_a_dead_job_server_with_waiting_jobs_is_a_finding(server: str) -> None:
    history = NoHistory()
    states = {"vit_a": CellState.RUNNING, **{f"vit_{n}": CellState.PENDING for n in range(12)}}
    jobs = tuple(Job(name, name, state, "") for name, state in states.items())
    train = Process(9, 5, "python", ("python", "train.py", "--name", "vit_a"), "S", 60.0)
    bench = loop_bench(history, INIT, Process(5, 1, "tsp", ("tsp", "python"), "S"), train)
    bench.sample(server, JobTable(server, jobs))
    assert "runner_gone" not in bench.kinds()
    bench = loop_bench(history, INIT, replace(train, ppid=1))
    assert "runner_gone" not in bench.kinds()  # it has not been asked yet
    bench.store.apply(Sampled("box", bench.at, server, Absent("no server", bench.at)))
    (gone,) = [one for one in bench.view().findings if one.kind == "runner_gone"]
    assert gone.evidence == (
        f"{server} is gone: vit_a went on without it (PID 9), and nothing starts vit_0, vit_1, vit_2 +9"
    )
    bench.alive(INIT, Process(5, 1, "tsp", ("tsp", "python"), "S"))
    assert "runner_gone" not in bench.kinds()
    done = JobTable(server, (replace(jobs[0], state=CellState.FINISHED),))
    again = loop_bench(history, INIT)
    again.sample(server, done)
    again.view()
    last = loop_bench(history, INIT, replace(train, ppid=1))
    last.store.apply(Sampled("box", last.at, server, Absent("no server", last.at)))
    assert "runner_gone" not in last.kinds()
