"""The table of scenarios: facts in, verdict, cause and findings out. Time is frozen, text is real.

`findings` is the whole list that a person would see, as kind:severity, so a false alarm fails as a
missing one does. Each scenario is a function of a fresh scene.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from judgement.scene import (
    BOX,
    INIT,
    QUEUE_LOG,
    ROOT,
    SHELL,
    TRAINER,
    Scene,
    cell_log,
    gpu,
    memory,
    mount,
    no_gpu,
)

from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import Instance, QueueFiles, Results
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.readings import GpuProcess, GpuTable, Memory, Process
from gpu_tui.core.sample import Absent
from gpu_tui.core.sweep import CellState

ROSTER = "a.yaml task 20\nb.yaml task 20\n"
RUN = (INIT, SHELL, TRAINER)
NOBODY = (INIT,)
A, B = cell_log("a"), cell_log("b")
RULE = "=" * 64


@dataclass(frozen=True)
class Scenario:
    """One row. `story` plays it; `box` may be another instance than the usual one."""

    name: str
    story: Callable[[Scene], None]
    verdict: str
    cause: str | None
    findings: tuple[str, ...]
    because: tuple[str, ...] = ()  # words that some reason must hold
    evidence: tuple[str, ...] = ()  # words that some finding's evidence must hold
    box: Instance = BOX


SCENARIOS: list[Scenario] = []
NO_QUEUE = replace(BOX, queue=QueueFiles())
NAMELESS = replace(NO_QUEUE, logs=None, results=Results())
LOGIN_NODE = replace(NO_QUEUE, scheduler="slurm", logs=None)


def scenario(
    verdict: str,
    *findings: str,
    cause: str | None = None,
    because: tuple[str, ...] = (),
    evidence: tuple[str, ...] = (),
    box: Instance = BOX,
) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Enter a story into the table."""

    def enter(story: Callable[[Scene], None]) -> Callable[[Scene], None]:
        name = story.__name__.replace("_", " ").strip()
        row = Scenario(name, story, verdict, cause, tuple(sorted(findings)), because, evidence, box)
        SCENARIOS.append(row)
        return story

    return enter


# --- words for what is common ------------------------------------------------------------------------


def opened(s: Scene, ago: float = 600.0, *, history: bool = True) -> None:
    """The queue was started `ago` and is in its first cell."""
    s.roster = ROSTER
    text = (
        f"=== Queue {ROOT}/q.txt: 2 ablations, starting from 1 on box ===\n{RULE}\n"
        f"[{s.stamp(ago)}] [1/2] STARTING a (task, 20ep)\n"
    )
    s.write(QUEUE_LOG, text, history=history, ago=ago)


def running(s: Scene, *, kills: int | None = 0, ago: float = 600.0) -> None:
    """A healthy run that is watched for half a minute."""
    s.link("live")
    opened(s, ago)
    s.write(A, "Epoch 3/20 train_loss: 0.81\n", history=True, ago=4)
    s.processes, s.gpus, s.memory = RUN, gpu(0.97), memory(kills)
    s.look()
    s.watch(30, lambda s, _: s.touch(A))


def ended(s: Scene, cell: str, code: int, ago: float = 0.0) -> str:
    """The end line of a cell."""
    index = 1 if cell == "a" else 2
    return f"[{s.stamp(ago)}] [{index}/2] FINISHED {cell} (exit={code})\n"


def began(s: Scene, cell: str, ago: float = 0.0) -> str:
    """The start line of a cell."""
    return f"[{s.stamp(ago)}] [{1 if cell == 'a' else 2}/2] STARTING {cell} (task, 20ep)\n"


def done(s: Scene, failed: str = "", ago: float = 0.0) -> str:
    """The closing line of the queue."""
    how = f"{len(failed.split())} cell(s) FAILED: {failed}" if failed else "all 2 cell(s) exited 0"
    return f"[{s.stamp(ago)}] === QUEUE DONE on box -- {how} ===\n"


def gone(s: Scene, after: float = 60.0) -> None:
    """No process of the run is left, and that is watched."""
    s.processes, s.gpus = NOBODY, gpu(0.0)
    s.watch(after)


def both_done(s: Scene, ago: float = 0.0) -> None:
    """Both cells ended well, their artifacts are there."""
    s.roster = ROSTER
    opened(s, ago + 1200)
    s.write(
        QUEUE_LOG, ended(s, "a", 0, ago + 600) + began(s, "b", ago + 600), history=True, ago=ago
    )
    s.write(QUEUE_LOG, ended(s, "b", 0, ago) + done(s, ago=ago), history=True, ago=ago)
    for cell in "ab":
        s.touch(f"{ROOT}/out/{cell}/best.pth", ago)


def steps(s: Scene, path: str, first: int, last: int, loss: str = "0.5") -> None:
    """Progress lines."""
    s.write(path, "".join(f"step {n}/1000 loss {loss}\n" for n in range(first, last)))


# --- connection ---------------------------------------------------------------------------------------


@scenario("cannot-tell", because=("not connected",))
def before_the_first_connection(s: Scene) -> None:
    s.link("connecting")


@scenario("unreachable", "unreachable:serious", because=("timeout",))
def a_box_that_does_not_answer_is_not_dead(s: Scene) -> None:
    s.link("timeout")


@scenario("unreachable", "unreachable:warn")
def a_blip_in_a_healthy_run_wakes_nobody(s: Scene) -> None:
    running(s)
    s.link("timeout")
    s.wait(5)


@scenario("unreachable", "unreachable:serious")
def a_run_behind_a_lost_link_is_neither_dead_nor_idle(s: Scene) -> None:
    running(s)
    s.link("timeout")
    s.wait(7200)


@scenario("unreachable", "host_key:serious")
def another_host_key(s: Scene) -> None:
    s.link("host-key")


@scenario("off", because=("stopped",))
def the_provider_says_stopped(s: Scene) -> None:
    s.provider("stopped")
    s.link("refused")


@scenario(
    "off",
    "unlisted_instance:warn",  # the file names what the provider has no more: off, and no alarm
    evidence=("no longer has", "take it out of the fleet file"),
)
def the_provider_says_gone(s: Scene) -> None:
    running(s)
    s.provider("gone")
    s.link("timeout")


@scenario(
    "off",
    "unlisted_instance:warn",
    because=("ended",),
    evidence=("ended for ever", "once it is gone there"),
)
def the_provider_says_ended_and_lists_it_still(s: Scene) -> None:
    running(s)
    s.provider("ended")
    s.link("timeout")


@scenario("off")
def a_box_that_was_marked_as_stopped(s: Scene) -> None:
    s.history.set_anchor("box", "stopped_at", s.at - 60, "manual")
    s.link("refused")


# --- running ------------------------------------------------------------------------------------------


@scenario("running")
def a_healthy_run(s: Scene) -> None:
    running(s)


@scenario("running", because=("python -u",))
def block_buffered_stdout_with_moving_checkpoints(s: Scene) -> None:
    running(s)
    s.watch(1800, lambda s, t: s.touch(f"{ROOT}/out/a/best.pth") if t % 300 == 0 else None)


def saved(s: Scene, *paths: str, seconds: float = 1800.0) -> None:
    """These are written every five minutes; the log stands still."""

    def each(s: Scene, t: float) -> None:
        for path in paths if t % 300 == 0 else ():
            s.touch(f"{ROOT}/out/{path}")

    s.watch(seconds, each)


@scenario("running", because=("a checkpoint moved", "python -u"))
def block_buffered_stdout_with_a_checkpoint_that_is_no_artifact(s: Scene) -> None:
    running(s)
    saved(s, "a/latest.pth")


@scenario("running", because=("a checkpoint moved", "python -u"))
def block_buffered_stdout_with_checkpoints_in_folders_of_their_own(s: Scene) -> None:
    running(s)
    saved(s, "a-20261103T101500Z/checkpoint-10/model.safetensors")


@scenario("running", because=("a checkpoint moved", "python -u"), box=NO_QUEUE)
def block_buffered_stdout_where_only_logs_and_results_are_named(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = (INIT, TRAINER), gpu(0.0)
    s.write(A, "Epoch 1/20 train_loss: 2.1\n", history=True)
    saved(s, "a/ckpts/epoch.pt")


@scenario("running", because=("1 job runs", "a checkpoint moved"), box=NO_QUEUE)
def block_buffered_stdout_where_only_logs_and_artifacts_are_named(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = (INIT, TRAINER), gpu(0.0)
    s.write(A, "Epoch 1/20 train_loss: 2.1\n", history=True)
    saved(s, "a/best.pth")


@scenario("stalled", "stalled:serious", because=("nothing moved for 30 min",))
def a_checkpoint_that_nobody_can_call_its_own_is_no_sign_of_life(s: Scene) -> None:
    """What several cells share, what another box writes into the same file system, and a clock that is ahead."""
    running(s)
    s.gpus = gpu(0.0)
    s.touch(f"{ROOT}/out/a/latest.pth", ago=-7200.0)
    saved(s, "latest.pth", "shared/latest.pth", "c/latest.pth", "b/checkpoint-10/model.safetensors")


@scenario("stalled", "stalled:serious")
def a_checkpoint_of_before_does_not_hide_a_hang(s: Scene) -> None:
    running(s)
    s.gpus = gpu(0.0)
    saved(s, "a/latest.pth", seconds=600)
    s.watch(1200)


@scenario("running", because=("bound by data or CPU",))
def a_card_at_zero_while_the_log_moves_is_data_bound_not_idle(s: Scene) -> None:
    running(s)
    s.gpus = gpu(0.0)
    s.watch(900, lambda s, _: s.touch(A))


@scenario("running", "throttle:warn")
def a_hot_card_is_throttled_not_idle(s: Scene) -> None:
    running(s)
    s.gpus = gpu(0.6, temperature=88, clock=0.5)
    s.watch(900, lambda s, _: s.touch(A))


@scenario("running", "throttle:warn", evidence=("runs at 30% of its clock: hw_power_brake",))
def a_cool_card_that_the_machine_brakes(s: Scene) -> None:
    running(s)
    s.gpus = braked(gpu(0.97, clock=0.3), "sw_power_cap", "hw_power_brake")
    s.watch(60, lambda s, _: s.touch(A))


@scenario("running")
def a_card_at_its_power_cap_or_braked_a_little_or_at_rest_is_no_finding(s: Scene) -> None:
    running(s)
    for card in (
        braked(gpu(0.97, clock=0.3), "sw_power_cap"),
        braked(gpu(0.97, clock=0.8), "hw_slowdown"),
        braked(gpu(0.0, clock=0.1), "hw_slowdown"),
    ):
        s.gpus = card
        s.watch(60, lambda s, _: s.touch(A))
        assert not s.view().findings


def braked(table: GpuTable, *reasons: str) -> GpuTable:
    """The same card, and why its clock is lower than it could be."""
    return replace(table, gpus=(replace(table.gpus[0], throttle=reasons),))


@scenario("running", because=("own shell is gone",))
def the_queue_shell_died_but_its_trainer_lives(s: Scene) -> None:
    running(s)
    s.processes = (INIT, replace(TRAINER, ppid=1))
    s.watch(60, lambda s, _: s.touch(A))


@scenario("running", because=("no process table was read",))
def a_hidden_process_table_is_outvoted_by_log_and_card(s: Scene) -> None:
    s.processes = None
    s.link("live")
    opened(s)
    s.gpus, s.memory = gpu(0.9), memory()
    s.watch(60, lambda s, _: s.touch(A))


@scenario("running")
def long_gaps_are_normal_for_a_slow_run(s: Scene) -> None:
    running(s)
    s.watch(6000, lambda s, t: s.touch(A) if t % 1200 == 0 else None)
    s.watch(1500)


@scenario("running")
def a_file_server_whose_clock_is_ahead_and_that_moves(s: Scene) -> None:
    running(s)
    s.watch(1200, lambda s, t: s.touch(A, ago=-3600 - 5))


@scenario("running")
def more_cells_than_the_header_counted(s: Scene) -> None:
    running(s)
    s.roster = ROSTER + "c.yaml task 20\n"
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b") + ended(s, "b", 0))
    s.write(QUEUE_LOG, f"[{s.stamp()}] [3/2] STARTING c (task, 20ep)\n")
    s.touch(f"{ROOT}/out/a/best.pth")
    s.touch(f"{ROOT}/out/b/best.pth")
    s.watch(30, lambda s, _: s.touch(cell_log("c")))


@scenario("running")
def a_resumed_queue_speaks_for_itself(s: Scene) -> None:
    s.link("live")
    opened(s, 7200)
    old = (
        ended(s, "a", 1, 7000)
        + began(s, "b", 7000)
        + "torch.OutOfMemoryError: CUDA out of memory.\n"
    )
    s.write(QUEUE_LOG, old + ended(s, "b", 1, 6900) + done(s, "a b", ago=6900), history=True)
    opened(s, 300)
    s.processes, s.gpus, s.memory = RUN, gpu(0.9), memory()
    s.watch(30, lambda s, _: s.touch(A))


@scenario("running", "crashed:fatal")
def one_cell_failed_and_the_next_one_runs(s: Scene) -> None:
    running(s)
    s.write(A, 'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: bad\n')
    s.write(QUEUE_LOG, ended(s, "a", 1) + began(s, "b"))
    s.watch(30, lambda s, _: s.touch(B))


@scenario("running", because=("no queue is known",))
def a_trainer_without_any_queue(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = (INIT, replace(TRAINER, ppid=1)), gpu(0.9)
    s.watch(30)


def alone(s: Scene) -> None:
    """A trainer that no queue started, watched for half a minute."""
    s.link("live")
    s.processes, s.gpus, s.memory = (INIT, replace(TRAINER, ppid=1)), gpu(0.9), memory()
    s.watch(30, lambda s, _: s.touch(A))


def jobs(s: Scene, *states: CellState) -> None:
    """What task-spooler lists, on a box where no process looks like a training."""
    s.link("live")
    codes = {CellState.FINISHED: 0, CellState.FAILED: 1}
    listed = (
        Job(str(n), f"job{n}", state, state.value, exit_code=codes.get(state))
        for n, state in enumerate(states)
    )
    gone(s)
    s.say("task-spooler", JobTable("task-spooler", tuple(listed)))


@scenario(
    "crashed", "crashed:fatal", cause="exception", evidence=("ValueError: bad",), box=NO_QUEUE
)
def a_trainer_without_any_queue_raised(s: Scene) -> None:
    alone(s)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n')
    gone(s)


@scenario("crashed", "crashed:fatal", cause="exception", box=NO_QUEUE)
def a_trainer_without_any_queue_raised_before_we_came(s: Scene) -> None:
    s.link("live")
    text = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n'
    s.write(A, text, history=True, ago=60)
    gone(s)


def beside_a_crash(s: Scene) -> None:
    s.link("live")
    text = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n'
    s.write(B, text, history=True, ago=4_000)


@scenario("finished", "crashed:fatal", because=("1 of 2 failed",), box=NO_QUEUE)
def a_run_that_ended_well_beside_the_log_of_an_old_crash(s: Scene) -> None:
    beside_a_crash(s)
    s.processes, s.gpus, s.memory = (INIT, replace(TRAINER, ppid=1)), gpu(0.9), memory()
    s.watch(40, lambda s, _: s.write(A, "step 99/100 loss 0.5\n"))
    s.write(A, "step 100/100 loss 0.5\n")
    gone(s)


@scenario("finished", "crashed:fatal", because=("1 of 2 failed",), box=NO_QUEUE)
def a_run_that_had_ended_well_beside_the_log_of_an_old_crash(s: Scene) -> None:
    beside_a_crash(s)
    s.write(A, "step 99/100 loss 0.5\nstep 100/100 loss 0.5\n", history=True, ago=60)
    gone(s)


@scenario("idle", because=("nothing says how",), box=NO_QUEUE)
def a_trainer_without_any_queue_ended_without_a_word(s: Scene) -> None:
    alone(s)
    gone(s)


def logged(s: Scene, *lines: str) -> None:
    """A trainer of which only its log tells, watched until it is gone."""
    s.write(B, "step 12/90 loss 0.7\n", history=True, ago=2_000)  # somebody gave it up long ago
    s.link("live")
    s.processes, s.gpus, s.memory = (INIT, replace(TRAINER, ppid=1)), gpu(0.9), memory()
    s.watch(40, lambda s, _: s.write(A, f"{lines[0]}\n"))
    s.write(A, "".join(f"{line}\n" for line in lines[1:]))
    gone(s)


@scenario(
    "idle",
    "suspicious_end:warn",
    evidence=("is gone at 72% of its way, and nothing",),
    box=NO_QUEUE,
)
def a_run_of_which_only_its_log_tells_was_killed(s: Scene) -> None:
    logged(s, "step 72/100 loss 0.5")


@scenario(
    "idle",
    "suspicious_end:warn",
    evidence=("gone at step 72: its log shows no total",),
    box=NO_QUEUE,
)
def a_run_whose_log_shows_no_total_was_killed(s: Scene) -> None:
    logged(s, "step 72 loss 0.5")


@scenario(
    "idle",
    "suspicious_end:warn",
    evidence=("gone at step 72: its log shows no total",),
    box=NO_QUEUE,
)
def a_run_that_was_killed_within_its_bar(s: Scene) -> None:
    s.write(A, "start\n")
    s.link("live")
    s.processes, s.gpus, s.memory = (INIT, replace(TRAINER, ppid=1)), gpu(0.9), memory()
    s.watch(40, lambda s, _: s.write(A, "\r71it [00:10, 2.00it/s]\r72it [00:11, 2.00it/s]"))
    gone(s)


@scenario("idle", box=NO_QUEUE)
def a_run_that_stopped_early_and_said_so(s: Scene) -> None:
    logged(s, "step 72/100 loss 0.5", "Early stopping at step 72", "saved to out/best.pth")


@scenario("idle", box=NO_QUEUE)
def a_run_without_a_total_that_ended_with_its_last_words(s: Scene) -> None:
    logged(s, "step 72 loss 0.5", "Training finished in 3.2 h")


@scenario("running", "suspicious_end:warn", box=NO_QUEUE)
def a_log_that_was_cut_off_stays_so_beside_the_next_run(s: Scene) -> None:
    logged(s, "step 72/100 loss 0.5")
    s.processes, s.gpus = (INIT, replace(TRAINER, ppid=1)), gpu(0.9)
    s.watch(40, lambda s, _: s.write(cell_log("c"), "step 1/100 loss 0.9\n"))


@scenario("running", because=("1 job runs",), box=NO_QUEUE)
def a_log_that_is_older_than_every_training_that_lives(s: Scene) -> None:
    s.write(A, "step 72/100 loss 0.5\n", history=True, ago=300)
    s.link("live")
    trainer = replace(TRAINER, ppid=1, argv=("python", "train.py"), age_seconds=120.0)
    s.processes, s.gpus, s.memory = (INIT, trainer), gpu(0.9), memory()
    s.watch(40, lambda s, _: s.write(B, "step 1/100 loss 0.9\n"))


@scenario("running", box=NO_QUEUE)
def a_log_that_was_cut_off_and_moves_again(s: Scene) -> None:
    logged(s, "step 72/100 loss 0.5")
    s.processes, s.gpus = (INIT, replace(TRAINER, ppid=1)), gpu(0.9)
    s.watch(40, lambda s, _: s.write(A, "step 73/100 loss 0.4\n"))


@scenario("running", "crashed:serious", because=("2 jobs run by the list",), box=NO_QUEUE)
def a_runner_knows_its_jobs_better_than_the_process_table(s: Scene) -> None:
    jobs(s, CellState.RUNNING, CellState.RUNNING, CellState.PENDING, CellState.FAILED)


@scenario("idle", "crashed:serious", because=("no job runs; 1 job in the queue",), box=NO_QUEUE)
def between_two_jobs_of_a_runner_nothing_has_crashed(s: Scene) -> None:
    alone(s)
    jobs(s, CellState.FAILED, CellState.PENDING)


@scenario(
    "finished", "crashed:serious", because=("1 of 2 failed",), box=replace(NO_QUEUE, logs=None)
)
def a_runner_that_has_nothing_left_says_what_failed(s: Scene) -> None:
    alone(s)
    jobs(s, CellState.FINISHED, CellState.FAILED)


def detached(s: Scene, share: float) -> None:
    """A job that nohup keeps and that looks like no training: its log says a step, then nothing for half an hour."""
    s.link("live")
    s.processes, s.gpus = NOBODY, gpu(share)
    listed = JobTable("nohup", (Job("40", "a", CellState.RUNNING, "running", stdout=A),))
    s.write(A, "Epoch 1/20 train_loss: 2.1\n")
    s.watch(1_800, lambda s, _: s.say("nohup", listed))


@scenario("stalled", "stalled:serious", because=("yet nothing moved for",), box=NO_QUEUE)
def a_listed_job_whose_log_stands_still(s: Scene) -> None:
    detached(s, 0.0)


@scenario("running", because=("1 job runs", "python -u"), box=NO_QUEUE)
def a_listed_job_whose_log_stands_still_while_the_card_computes(s: Scene) -> None:
    detached(s, 0.97)


def beside(
    s: Scene,
    cards: GpuTable | None,
    processes: tuple[Process, ...] = NOBODY,
    saves: tuple[str, ...] = (),
) -> None:
    """Two detached jobs: the log of one moves, that of the other stands still for half an hour."""
    s.link("live")
    s.processes, s.gpus = processes, cards
    listed = JobTable(
        "nohup",
        (
            Job("40", "a", CellState.RUNNING, "running", stdout=A, pids=(40, 1)),
            Job("50", "b", CellState.RUNNING, "running", stdout=B, pids=(50, 1)),
        ),
    )
    for log in (A, B):
        s.write(log, "Epoch 1/20 train_loss: 2.1\n")

    def each(s: Scene, _: float) -> None:
        s.write(A, "Epoch 1/20 train_loss: 2.0\n")
        s.say("nohup", listed)
        for path in saves:
            s.touch(f"{ROOT}/out/{path}")

    s.watch(1_800, each)


def cards(*shares: tuple[float, int]) -> GpuTable:
    """One card per (share, the process on it)."""
    return GpuTable(
        tuple(
            replace(gpu(share).gpus[0], index=n, processes=(GpuProcess(pid, "python", 1 << 30),))
            for n, (share, pid) in enumerate(shares)
        )
    )


WORKERS = (
    INIT,
    *(
        Process(pid, above, "t", ("t",), "S")
        for pid, above in ((40, 1), (41, 40), (50, 1), (51, 50))
    ),
)


@scenario("running", "stalled:serious", evidence=("no card of it computes",), box=NO_QUEUE)
def a_job_that_hangs_beside_one_that_moves(s: Scene) -> None:
    beside(s, cards((0.97, 41), (0.0, 51)), WORKERS)


@scenario("running", "stalled:serious", evidence=("no card of it computes",), box=NO_QUEUE)
def a_job_that_hangs_while_no_card_computes(s: Scene) -> None:
    beside(s, cards((0.0, 41)))


@scenario("running", "stalled:warn", evidence=("nothing tells whether",), box=NO_QUEUE)
def a_job_that_is_silent_on_a_card_that_another_one_may_use(s: Scene) -> None:
    beside(s, gpu(0.97))


@scenario("running", "stalled:serious", evidence=("no card of it computes",), box=NO_QUEUE)
def a_job_that_hangs_beside_one_that_saves(s: Scene) -> None:
    beside(s, cards((0.97, 41), (0.0, 51)), WORKERS, ("a/latest.pth", "shared/latest.pth"))


@scenario("running", box=NO_QUEUE)
def a_job_that_saves_beside_one_that_prints(s: Scene) -> None:
    beside(s, cards((0.97, 41), (0.0, 51)), WORKERS, ("b/last/latest.pth",))


@scenario("running", box=NO_QUEUE)
def a_job_with_buffered_stdout_beside_one_that_moves(s: Scene) -> None:
    beside(s, cards((0.97, 41), (0.9, 51)), WORKERS)


def slurm(s: Scene, *listed: Job) -> None:
    """What Slurm lists, asked on its login node: no job is a process there."""
    s.link("live")
    s.processes = NOBODY
    s.watch(60)
    s.say("slurm", JobTable("slurm", listed))


def pending(s: Scene) -> Job:
    """A job that waits, and why."""
    return Job("18", "vit-b", CellState.PENDING, "PENDING", "Resources", submitted_at=s.box_now)


def over(s: Scene, name: str, state: CellState, word: str, ago: float) -> Job:
    """A job that ended so long ago."""
    end = s.box_now - ago
    job = Job(name, name, state, word, started_at=end - 600, finished_at=end)
    return replace(job, preempted=True, finding="preempted") if word == "PREEMPTED" else job


@scenario("cannot-tell", because=("Slurm does not say what runs",), box=LOGIN_NODE)
def a_scheduler_that_was_not_asked_yet(s: Scene) -> None:
    s.link("live")
    s.processes = NOBODY
    s.watch(60)


@scenario("running", because=("1 job runs and 1 wait",), box=LOGIN_NODE)
def a_job_runs_on_another_machine(s: Scene) -> None:
    slurm(s, Job("17", "vit-a", CellState.RUNNING, "RUNNING", started_at=s.box_now), pending(s))


@scenario("idle", because=("no job runs; 1 job in the queue (Resources)",), box=LOGIN_NODE)
def all_that_a_scheduler_has_waits(s: Scene) -> None:
    slurm(s, over(s, "17", CellState.FINISHED, "COMPLETED", 90), pending(s))


@scenario(
    "preempted",
    "preempted:serious",  # nothing follows it; one finding, of the job
    because=("17 was preempted",),
    box=LOGIN_NODE,
)
def the_last_job_of_a_scheduler_was_preempted(s: Scene) -> None:
    slurm(
        s,
        over(s, "16", CellState.FINISHED, "COMPLETED", 900),
        over(s, "17", CellState.FAILED, "PREEMPTED", 90),
    )


@scenario("finished", "crashed:serious", because=("1 of 2 failed",), box=LOGIN_NODE)
def all_jobs_of_a_scheduler_are_over(s: Scene) -> None:
    slurm(
        s,
        over(s, "16", CellState.FINISHED, "COMPLETED", 900),
        over(s, "17", CellState.FAILED, "FAILED", 90),
    )


@scenario("idle", because=("Slurm lists no job",), box=LOGIN_NODE)
def a_scheduler_that_has_nothing(s: Scene) -> None:
    slurm(s)


@scenario("cannot-tell", because=("was not read to its end yet",))
def a_run_that_is_over_while_the_log_of_its_queue_is_on_the_way(s: Scene) -> None:
    s.link("live")
    s.roster = ROSTER
    s.touch(QUEUE_LOG, ago=60)
    gone(s, after=20)


@scenario("idle", because=("nothing says how",), box=NO_QUEUE)
def a_detached_run_that_left_without_a_word_has_not_crashed(s: Scene) -> None:
    alone(s)
    job = Job("41", "vit", CellState.RUNNING, "running", started_at=s.box_now - 60)
    s.say("nohup", JobTable("nohup", (job,)))
    s.say("nohup", JobTable("nohup"))
    gone(s)


def listed(s: Scene, *ids: str, at: float = 40.0, command: str = "python t.py") -> None:
    """What nohup keeps, watched for a while; each has the log of its name, but for what stands behind a colon."""
    s.link("live")
    s.processes, s.gpus, s.memory = NOBODY, gpu(0.0), memory()
    jobs = []
    for id in ids:
        name, _, program = id.partition(":")
        pid = 40 + int(program or 0) + ord(name)
        path = cell_log(name)
        jobs.append(
            Job(
                str(pid), name, CellState.RUNNING, "running", stdout=path, pids=(pid, 30, 1),
                command=f"{command} {name}",
            )
        )  # fmt: skip
    s.watch(at, lambda s, _: s.say("nohup", JobTable("nohup", tuple(jobs))))


@scenario(
    "idle",
    "suspicious_end:warn",
    evidence=("gone at step 7: its log shows no total",),
    box=NAMELESS,
)
def a_detached_run_without_a_total_was_killed(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 6 loss 0.5\nstep 7 loss 0.5\n")
    listed(s)


@scenario(
    "crashed",
    "crashed:fatal",
    cause="unknown",
    because=("gone at 7% of its way, and nothing says",),
    box=NAMELESS,
)
def a_detached_run_that_went_long_before_its_end(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 6/100 loss 0.5\nstep 7/100 loss 0.5\n")
    listed(s)


@scenario(
    "crashed", "crashed:fatal", cause="unknown", because=("gone at 12% of its way",), box=NO_QUEUE
)
def a_run_of_which_only_its_log_tells_went_long_before_its_end(s: Scene) -> None:
    logged(s, "step 12/100 loss 0.5")


@scenario("crashed", "crashed:fatal", "crashed:fatal", cause="unknown", box=NO_QUEUE)
def a_run_that_went_without_a_word_beside_the_log_of_an_old_crash(s: Scene) -> None:
    beside_a_crash(s)
    s.processes, s.gpus, s.memory = (INIT, replace(TRAINER, ppid=1)), gpu(0.9), memory()
    s.watch(40, lambda s, _: s.write(A, "step 12/100 loss 0.5\n"))
    gone(s)


@scenario("running", "suspicious_end:serious", evidence=("gone at 7% of its way",), box=NAMELESS)
def a_run_that_went_long_before_its_end_beside_one_that_goes_on(s: Scene) -> None:
    listed(s, "a", "b")
    s.write(A, "step 7/100 loss 0.5\n")
    listed(s, "b")


@scenario("crashed", "host_oom:fatal", cause="oom-kill", because=("oom_kill rose",), box=NAMELESS)
def a_detached_run_without_a_total_went_as_the_kernel_killed(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 7 loss 0.5\n")
    s.memory = memory(1)
    s.watch(30, lambda s, _: s.say("nohup", JobTable("nohup")))


@scenario("crashed", "host_oom:fatal", cause="oom-kill", box=NAMELESS)
def the_kernel_killed_a_run_and_the_list_of_what_runs_is_older_than_that(s: Scene) -> None:
    listed(s, "a")
    s.processes = (INIT, Process(137, 1, "python", ("python", "t.py", "a"), "S", age_seconds=90.0))
    s.watch(10)
    s.memory, s.processes = memory(1), NOBODY
    s.watch(10)


@scenario("running", because=("1 job runs by the list",), box=NAMELESS)
def a_listed_run_that_no_table_of_processes_ever_showed(s: Scene) -> None:
    listed(s, "a")
    s.watch(20)


@scenario("idle", "suspicious_end:warn", box=NAMELESS)
def a_run_that_went_before_the_kernel_killed_somebody_else(s: Scene) -> None:
    listed(s, "a")
    listed(s)
    s.memory = memory(1)
    s.watch(30)


@scenario("crashed", "crashed:fatal", cause="reboot", because=("rebooted",), box=NAMELESS)
def a_detached_run_without_a_total_went_with_a_reboot(s: Scene) -> None:
    listed(s, "a")
    s.link("timeout")
    s.wait(60)
    s.boot_id, s.uptime = "boot-0002", 20.0
    s.processes = (replace(INIT, age_seconds=20.0),)
    s.link("live")
    s.watch(30, lambda s, _: s.say("nohup", JobTable("nohup")))


@scenario("finished", box=NAMELESS)
def a_detached_run_that_was_complete_before_a_reboot(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 99/100 loss 0.5\nstep 100/100 loss 0.5\n")
    s.link("timeout")
    s.wait(60)
    s.boot_id, s.uptime = "boot-0002", 20.0
    s.processes = (replace(INIT, age_seconds=20.0),)
    s.link("live")
    s.watch(30, lambda s, _: s.say("nohup", JobTable("nohup")))


@scenario(
    "idle", "suspicious_end:warn", evidence=("its process is gone, and nothing says",), box=NAMELESS
)
def a_detached_run_that_never_said_a_word_was_killed(s: Scene) -> None:
    listed(s, "a")
    listed(s)


@scenario("idle", box=NAMELESS)
def a_run_that_is_gone_while_its_last_words_are_on_the_way(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 6 loss 0.5\n")
    s.say("nohup", JobTable("nohup"))
    s.watch(5)


@scenario("finished", because=("0 of 1 failed",), box=NAMELESS)
def a_detached_run_that_says_that_it_is_complete(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 6 loss 0.5\nstep 7 loss 0.5\nTraining completed.\nmodel saved to out\n")
    listed(s)


@scenario("idle", "suspicious_end:warn", evidence=("gone at step 2",), box=NAMELESS)
def a_word_of_an_earlier_attempt_ends_nothing(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 7 loss 0.5\nTraining completed.\nstep 1 loss 0.9\nstep 2 loss 0.8\n")
    listed(s)


@scenario("idle", box=NAMELESS)
def a_detached_run_that_says_that_it_stopped(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 6 loss 0.5\nstep 7 loss 0.5\nTraining stopped\n")
    listed(s)


@scenario(
    "running",
    "suspicious_end:warn",
    evidence=("gone at step 7", "what started it went on with b"),
    box=NAMELESS,
)
def a_cell_that_was_killed_in_a_loop_that_went_on(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 7 loss 0.5\n")
    listed(s, "b")
    s.write(B, "step 1 loss 0.9\n")


@scenario(
    "running", "suspicious_end:warn", evidence=("was started again, 2 times so far",), box=NAMELESS
)
def a_wrapper_starts_what_dies_again_and_again(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 1 loss 0.9\n")
    for number in (1, 2):
        listed(s, f"a:{number}")
    s.write(A, "step 1 loss 0.9\n")
    s.watch(5)


@scenario("running", box=NAMELESS)
def a_person_starts_a_run_anew(s: Scene) -> None:
    listed(s, "a")
    s.write(A, "step 1 loss 0.9\n")
    listed(s)
    listed(s, "a:1")
    s.write(A, "step 1 loss 0.9\n")
    s.watch(5)
    (cell,) = s.view().queue.cells
    assert "it ended and was started again, 1 time so far" in (cell.why or "")


@scenario("running", box=NAMELESS)
def a_file_that_one_cell_after_another_writes_is_no_restart(s: Scene) -> None:
    for number in (0, 1, 2):
        listed(s, f"a:{number}", command=f"python t.py {number}")


def pane(s: Scene, *seen: Process) -> None:
    """A pane of tmux in which a shell runs, and what is below it."""
    s.link("live")
    s.gpus, s.memory = gpu(0.0), memory()
    s.processes = (INIT, Process(29, 1, "tmux: server", ("tmux",), "S"), *seen)
    shell = Job("%1", "sweep", CellState.RUNNING, "shell", "sh in tmux", pids=(30,))
    s.look()
    s.watch(40, lambda s, _: s.say("tmux", JobTable("tmux", (shell,))))


PANE = Process(30, 29, "bash", ("bash", "sweep.sh"), "S", age_seconds=500.0)
BELOW = Process(41, 30, "python", ("python", "run.py", "a"), "S", age_seconds=90.0)


@scenario("running", because=("1 job runs by the list",), box=NAMELESS)
def a_loop_in_a_pane_of_tmux_whose_program_writes_to_the_pane(s: Scene) -> None:
    pane(s, PANE, BELOW)


@scenario("idle", box=NAMELESS)
def a_shell_in_a_pane_of_tmux_is_no_job(s: Scene) -> None:
    pane(s, PANE)


def at_its_prompt(s: Scene) -> None:
    """The shell of the pane is still there, and nothing below it."""
    s.processes = (INIT, PANE)
    s.watch(60)
    s.say("tmux", JobTable("tmux", (Job("%1", "sweep", CellState.RUNNING, "shell", pids=(30,)),)))
    s.watch(60)


@scenario("idle", box=NAMELESS)
def a_command_of_a_moment_in_a_pane_of_tmux(s: Scene) -> None:
    pane(s, PANE, Process(41, 30, "python", ("python", "-c", "1"), "S", age_seconds=20.0))
    at_its_prompt(s)


@scenario("idle", box=NAMELESS)
def somebody_made_an_environment_in_a_pane_of_tmux(s: Scene) -> None:
    conda = ("/opt/conda/bin/python", "/opt/conda/bin/conda", "create", "-n", "x")
    pane(s, PANE, Process(41, 30, "conda", conda, "S", age_seconds=90.0))
    at_its_prompt(s)


@scenario("idle", "suspicious_end:warn", evidence=("its process is gone",), box=NAMELESS)
def a_training_ended_below_the_shell_of_a_pane(s: Scene) -> None:
    pane(s, PANE, BELOW)
    at_its_prompt(s)


@scenario("running", because=("1 job runs by the list",), box=NAMELESS)
def tmux_lost_its_socket_and_its_panes_live(s: Scene) -> None:
    pane(s, PANE, BELOW)
    s.apply(Sampled("box", s.at, "tmux", Absent("no tmux runs on this box", s.at)))
    s.watch(60)


@scenario("running", box=NAMELESS)
def tmux_lost_its_socket_and_nobody_read_the_processes_since(s: Scene) -> None:
    pane(s, PANE, BELOW)
    s.wait(1)
    s.apply(Sampled("box", s.at, "tmux", Absent("no tmux runs on this box", s.at)))
    s.wait(20)
    (cell,) = s.view().queue.cells
    assert cell.why == "gone: it is not listed any more, and the processes were not read since"
    s.watch(10)


@scenario("idle", "suspicious_end:warn", evidence=("its process is gone",), box=NAMELESS)
def a_tmux_session_was_killed(s: Scene) -> None:
    pane(s, PANE, BELOW)
    s.apply(Sampled("box", s.at, "tmux", Absent("no tmux session", s.at)))
    s.processes = NOBODY
    s.watch(60)


@scenario("idle", because=("no trainer process",), box=NO_QUEUE)
def a_box_without_any_queue_where_nothing_runs(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = NOBODY, gpu(0.0)
    s.watch(60)


@scenario("idle", because=("before this watch began cannot be told",), box=NAMELESS)
def a_box_of_which_nothing_is_named_where_nothing_runs(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = NOBODY, gpu(0.0)
    s.watch(60)


def left_over(s: Scene, *text: str) -> None:
    """A program that ended before we came left its nohup.out."""
    s.link("live")
    s.processes, s.gpus = NOBODY, gpu(0.0)
    path, name = f"{ROOT}/nohup.out", "run/nohup.out"
    job = Job(
        path, name, CellState.CANNOT_TELL, "left", "why", finished_at=s.box_now - 600, stdout=path
    )
    s.watch(20, lambda s, _: s.say("left", JobTable("nohup.out", (job,))))
    if text:
        s.write(path, "\n".join(text) + "\n", history=True, ago=600, cell=name)
    s.watch(20)


@scenario(
    "crashed",
    "crashed:fatal",
    "idle_billing:serious",  # the box has rested since
    cause="exception",
    evidence=("ValueError: bad",),
    box=NAMELESS,
)
def a_program_that_died_before_we_came(s: Scene) -> None:
    left_over(
        s, "Traceback (most recent call last):", '  File "t.py", line 1, in f', "ValueError: bad"
    )


@scenario("idle", "suspicious_end:warn", because=("no trainer process",), box=NAMELESS)
def a_program_that_ended_before_we_came_and_nobody_knows_how(s: Scene) -> None:
    left_over(s, "Epoch 3/20 train_loss: 0.4")


@scenario("stalled", "stalled:serious", because=("every 20 min",))
def silent_for_longer_than_three_of_its_usual_pauses(s: Scene) -> None:
    running(s)
    s.watch(6000, lambda s, t: s.touch(A) if t % 1200 == 0 else None)
    s.watch(3700)


# --- finished -----------------------------------------------------------------------------------------


@scenario("finished")
def a_finished_queue(s: Scene) -> None:
    s.link("live")
    both_done(s)
    gone(s)


@scenario("finished", because=("not known yet",))
def a_finished_queue_before_the_next_process_table(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b") + ended(s, "b", 0) + done(s))
    s.at += 1


@scenario("finished", "crashed:serious", because=("1 of 2 cells failed",))
def done_does_not_mean_success(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 3) + began(s, "b") + ended(s, "b", 0) + done(s, "a"))
    s.touch(f"{ROOT}/out/b/best.pth")
    gone(s)


@scenario("finished", "sync_failed:serious")
def exit_two_trained_well_but_is_not_durable(s: Scene) -> None:
    running(s)
    line = "!! DURABLE SYNC BLOCKED for a — best.pth or best_metrics.json is missing.\n"
    s.write(QUEUE_LOG, f"[12:00:00] {line}" + ended(s, "a", 2) + began(s, "b"))
    s.touch(f"{ROOT}/out/b/best.pth")
    s.write(QUEUE_LOG, ended(s, "b", 0) + done(s, "a"))
    gone(s)


@scenario("finished", "nan:serious", "suspicious_end:serious")
def a_cell_that_ended_in_nan_exits_zero(s: Scene) -> None:
    running(s)
    s.write(A, "".join(f"Epoch {n}/20 train_loss: nan\n" for n in range(4, 21)))
    s.touch(f"{ROOT}/out/a/best.pth")
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b"))
    s.touch(f"{ROOT}/out/b/best.pth")
    s.write(QUEUE_LOG, ended(s, "b", 0) + done(s))
    gone(s)


@scenario("finished", "artifact_missing:serious")
def exit_zero_without_an_artifact(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b"))
    s.touch(f"{ROOT}/out/b/best.pth")
    s.write(QUEUE_LOG, ended(s, "b", 0) + done(s))
    gone(s)


@scenario("finished", because=("end line",))
def every_cell_ended_but_the_closing_line_is_missing(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b") + ended(s, "b", 0))
    for cell in "ab":
        s.touch(f"{ROOT}/out/{cell}/best.pth")
    gone(s)


@scenario("finished", "disk_full:serious", because=("froze the log",))
def a_full_disk_froze_the_log_of_a_queue_that_ended(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, "Epoch 1/4:   0%|")
    s.mounts = (mount(ROOT, 1.0),)
    for cell in "ab":
        s.touch(f"{ROOT}/out/{cell}/best.pth")
    gone(s)


@scenario("finished-but-hung", "stalled:serious")
def the_queue_ended_and_a_process_hangs(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b") + ended(s, "b", 0) + done(s))
    for cell in "ab":
        s.touch(f"{ROOT}/out/{cell}/best.pth")
    s.processes, s.gpus = (INIT, replace(TRAINER, ppid=1)), gpu(0.0)
    s.watch(120)


@scenario("finished-but-hung", "stalled:serious", because=("last step",))
def the_last_epoch_is_done_and_the_trainer_does_not_leave(s: Scene) -> None:
    running(s)
    s.write(A, "Epoch 20/20 train_loss: 0.11\n")
    s.touch(f"{ROOT}/out/a/best.pth")
    s.gpus = gpu(0.0)
    s.watch(1000)


# --- stalled ------------------------------------------------------------------------------------------


@scenario("stalled", "stalled:serious", because=("nothing moved",))
def alive_and_still(s: Scene) -> None:
    running(s)
    s.gpus = gpu(0.0)
    s.watch(1000)


@scenario("running")
def a_run_that_has_just_begun_beside_the_files_of_an_older_one(s: Scene) -> None:
    s.link("live")
    s.roster = ROSTER
    s.write(A, "Epoch 20/20 train_loss: 0.11\n", history=True, ago=1300)
    s.touch(f"{ROOT}/out/a/best.pth", 1300)
    s.processes, s.gpus = (INIT, replace(TRAINER, ppid=1, age_seconds=5.0)), gpu(0.5)
    s.look()


@scenario(
    "stalled",
    "stalled:serious",
    because=("nothing moved", "SIGSTOP"),
    evidence=("is stopped by a signal",),  # as it was told at once: it is no other finding later
)
def stopped_by_a_signal(s: Scene) -> None:
    running(s)
    s.gpus = gpu(0.0)
    s.processes = (INIT, SHELL, replace(TRAINER, state="T"))
    s.watch(1000)


@scenario("stalled", "stalled:serious", because=("collective",))
def a_card_at_full_while_nothing_moves(s: Scene) -> None:
    running(s)
    s.gpus = gpu(1.0)
    s.watch(1000)


@scenario("stalled", "stalled:serious", because=("collective",))
def a_helper_that_has_just_begun_beside_a_run_that_hangs(s: Scene) -> None:
    running(s)
    s.gpus = gpu(1.0)
    helper = replace(TRAINER, pid=60, argv=("python", "sync.py"), age_seconds=5.0)
    s.processes = (INIT, SHELL, replace(TRAINER, age_seconds=5_000.0), helper)
    s.watch(1000)


@scenario("stalled", "stalled:serious")
def a_file_server_whose_clock_is_ahead_and_that_stands_still(s: Scene) -> None:
    running(s)
    s.watch(60, lambda s, _: s.touch(A, ago=-3600))
    s.watch(1000)


@scenario("stalled", "hang:fatal", "stalled:serious")
def a_collective_timed_out_and_nobody_left(s: Scene) -> None:
    running(s)
    s.write(
        A,
        "[E ProcessGroupNCCL.cpp:474] [Rank 3] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=133, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800116 milliseconds "
        "before timing out.\n",
    )
    s.watch(1000)


# --- crashed, by cause --------------------------------------------------------------------------------


def first_look(s: Scene, log: str, text: str, memory: Memory) -> None:
    """A run that ended before the first look, with a log that ends with this text."""
    s.link("live")
    if log == QUEUE_LOG:
        opened(s)
    s.write(log, text, history=True, ago=300)
    s.memory = memory
    gone(s)


@scenario("crashed", "crashed:fatal", cause="killed", because=("killed from outside",))
def killed_by_hand(s: Scene) -> None:
    running(s)
    gone(s)


@scenario("crashed", "crashed:fatal", cause="killed")
def killed_by_hand_on_a_box_with_old_oom_kills(s: Scene) -> None:
    running(s, kills=7)
    s.write(
        QUEUE_LOG, "/root/run_one.sh: line 4: 41 Killed   python train.py\n" + ended(s, "a", 137)
    )
    gone(s)


@scenario("crashed", "crashed:fatal", cause="killed", because=("Ctrl-C",))
def ended_by_ctrl_c(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 130))
    gone(s)


@scenario("crashed", "host_oom:fatal", cause="oom-kill", because=("oom_kill rose",))
def killed_by_the_kernel_for_memory(s: Scene) -> None:
    running(s)
    s.memory = memory(1, used=20)
    gone(s)


@scenario("crashed", "host_oom:fatal", cause="oom-kill", because=("has counted",))
def an_exit_137_with_a_counter_seen_for_the_first_time(s: Scene) -> None:
    s.link("live")
    opened(s)
    s.write(QUEUE_LOG, "Killed\n" + ended(s, "a", 137, 300), history=True, ago=300)
    s.memory = memory(1)
    gone(s)


@scenario("crashed", "host_oom:fatal", cause="oom-kill", because=("has counted",))
def a_bare_killed_in_the_queues_log_with_a_counter_seen_for_the_first_time(s: Scene) -> None:
    first_look(s, QUEUE_LOG, "/root/run_one.sh: line 4: 41 Killed   python train.py\n", memory(1))


@scenario("crashed", "host_oom:fatal", cause="oom-kill", evidence=("once 100% full",), box=NO_QUEUE)
def a_bare_killed_at_the_end_of_a_log_and_a_peak_at_the_limit(s: Scene) -> None:
    full = replace(memory(1), peak=100 << 30)
    first_look(s, A, "step 12/100 loss 0.5\nKilled\n", full)


@scenario("running", "host_oom:fatal")
def a_cell_that_the_kernel_killed_before_we_came_and_the_next_one_runs(s: Scene) -> None:
    s.link("live")
    opened(s)
    s.write(A, "Epoch 3/20 train_loss: 0.81\nKilled\n", history=True, ago=300)
    s.write(QUEUE_LOG, ended(s, "a", 137, 300) + began(s, "b"), history=True, ago=250)
    s.memory, s.processes, s.gpus = memory(1), (INIT, SHELL, TRAINER), gpu(0.9)
    s.watch(60, lambda s, _: s.touch(B))


@scenario("crashed", "crashed:fatal", cause="unknown")
def a_bare_killed_where_the_kernel_has_counted_no_kill(s: Scene) -> None:
    first_look(s, QUEUE_LOG, "Killed\n", memory(0))


@scenario("crashed", "crashed:fatal", cause="killed", because=("Terminated",))
def a_word_of_another_signal_on_a_box_with_old_oom_kills(s: Scene) -> None:
    first_look(s, QUEUE_LOG, "Terminated\n", memory(7))


@scenario("crashed", "crashed:fatal", cause="unknown", because=("cannot be told",))
def an_exit_137_where_nobody_counts(s: Scene) -> None:
    s.link("live")
    opened(s)
    s.write(QUEUE_LOG, "Killed\n" + ended(s, "a", 137, 300), history=True, ago=300)
    s.memory = memory(None)
    gone(s)


@scenario("crashed", "crashed:fatal", "idle_billing:serious", cause="unknown", evidence=("up to",))
def a_run_that_was_gone_when_we_first_came(s: Scene) -> None:
    s.link("live")
    opened(s)
    gone(s)


@scenario("crashed", "crashed:fatal", cause="reboot", because=("rebooted",))
def the_box_was_rebooted(s: Scene) -> None:
    running(s)
    s.link("timeout")
    s.wait(120)
    s.link("live")
    s.boot_id, s.uptime = "boot-0002", 60.0
    s.processes, s.gpus = (replace(INIT, age_seconds=60.0),), gpu(0.0)
    s.look()
    s.watch(20)


@scenario("crashed", "crashed:fatal", "idle_billing:serious", cause="reboot")
def the_box_was_rebooted_before_we_ever_came(s: Scene) -> None:
    s.link("live")
    opened(s, 7200)
    s.uptime = 1800.0
    s.processes, s.gpus = (replace(INIT, age_seconds=1800.0),), gpu(0.0)
    s.watch(20)


@scenario("crashed", "crashed:fatal", cause="unknown")
def a_reboot_within_a_second_of_the_last_line_before_we_ever_came_is_not_denied(s: Scene) -> None:
    for name, value in (("oom_kill", "0"), ("oom_since", f"{s.at - 30}")):
        s.history.set_counter("box", name, value, s.at - 30)  # kills for memory were counted
    s.link("live")
    opened(s)
    s.write(A, "Epoch 3/20 train_loss: 0.81\n", history=True, ago=4)
    s.uptime, s.memory = 3.0, memory()
    s.processes, s.gpus = (replace(INIT, age_seconds=3.0),), gpu(0.0)
    s.look()


@scenario("crashed", "crashed:fatal", cause="reboot")
def the_container_was_restarted_on_a_host_that_was_not(s: Scene) -> None:
    running(s)
    s.processes = (replace(INIT, age_seconds=20.0),)
    s.gpus = gpu(0.0)
    s.wait(30)
    s.look()


def back_at_once(s: Scene, log: str = A) -> None:
    """The box wrote until a second before it was up again, and is there again before its files are read."""
    s.link("timeout")
    s.wait(8)
    s.touch(log)
    s.wait(1)
    s.boot_id, s.uptime = "boot-0002", 0.0
    s.wait(6)
    s.link("live")
    s.processes, s.gpus = (replace(INIT, age_seconds=6.0),), gpu(0.0)
    files, s.files = s.files, None
    s.look()
    s.view()
    s.files = files

    def each(s: Scene, t: float) -> None:
        s.processes = (replace(INIT, age_seconds=6.0 + t),)
        if t <= 20:
            s.touch(log)  # its last blocks, or a service that begins

    s.watch(60, each)


@scenario("crashed", "crashed:fatal", cause="reboot", because=("rebooted",))
def a_reboot_so_short_that_the_log_hardly_paused(s: Scene) -> None:
    running(s)
    back_at_once(s)


@scenario("crashed", "crashed:fatal", cause="reboot", box=NO_QUEUE)
def a_reboot_so_short_of_a_box_without_a_queue(s: Scene) -> None:
    alone(s)
    s.watch(30, lambda s, _: s.write(A, "step 72/100 loss 0.5\n"))
    back_at_once(s, f"{ROOT}/logs/other.log")


@scenario("crashed", "crashed:fatal", cause="reboot")
def a_container_that_was_back_at_once(s: Scene) -> None:
    running(s)
    s.wait(8)
    s.touch(A)
    s.wait(5)
    s.processes, s.gpus = (replace(INIT, age_seconds=4.0),), gpu(0.0)
    s.look()


@scenario("crashed", "crashed:serious", "crashed:fatal", cause="killed")
def a_run_that_began_after_a_reboot_and_was_killed(s: Scene) -> None:
    running(s)
    back_at_once(s)
    s.write(QUEUE_LOG, ended(s, "a", 1) + began(s, "b"))
    s.processes, s.gpus = (replace(INIT, age_seconds=66.0), SHELL, TRAINER), gpu(0.9)
    s.watch(30, lambda s, _: s.touch(B))
    gone(s)


@scenario("running")
def a_new_run_after_a_reboot_is_not_haunted_by_it(s: Scene) -> None:
    running(s)
    s.link("timeout")
    s.wait(300)
    s.link("live")
    s.boot_id, s.uptime = "boot-0002", 100.0
    s.replace_log(QUEUE_LOG)
    opened(s, 30, history=False)
    s.processes = (replace(INIT, age_seconds=100.0), SHELL, TRAINER)
    s.watch(30, lambda s, _: s.touch(A))


SSHD = (Process(9, 1, "sshd", ("sshd: /usr/sbin/sshd",), "S"),)
HELD = (
    Process(30, 9, "sshd", ("sshd: root@pts/0",), "S"),
    Process(31, 30, "bash", ("-bash",), "S"),
    replace(SHELL, ppid=31),
    TRAINER,
)


@scenario("crashed", "crashed:fatal", cause="hangup", because=("tmux",))
def it_hung_on_an_ssh_session_that_ended(s: Scene) -> None:
    running(s)
    s.processes = (INIT, *SSHD, *HELD)
    s.watch(30, lambda s, _: s.touch(A))
    s.processes, s.gpus = (INIT, *SSHD), gpu(0.0)
    s.watch(30)


@scenario("crashed", "crashed:fatal", cause="killed")
def killed_inside_a_session_that_still_lives(s: Scene) -> None:
    running(s)
    s.processes = (INIT, *SSHD, *HELD)
    s.watch(30, lambda s, _: s.touch(A))
    s.processes, s.gpus = (INIT, *SSHD, *HELD[:2]), gpu(0.0)
    s.watch(30)


@scenario(
    "crashed", "crashed:fatal", cause="exception", because=("KeyError",), evidence=("KeyError",)
)
def an_exception_ended_it(s: Scene) -> None:
    running(s)
    s.write(
        A, "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nKeyError: 'lr'\n"
    )
    s.write(QUEUE_LOG, ended(s, "a", 1))
    gone(s)


@scenario("crashed", "gpu_oom:fatal", cause="exception", evidence=("CUDA out of memory",))
def the_card_ran_out_of_memory_and_the_queue_with_it(s: Scene) -> None:
    running(s)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n')
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    gone(s)


@scenario("crashed", "xid:fatal", "hardware:fatal", cause="hardware")
def the_card_fell_off_the_bus(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, "NVRM: Xid (PCI:0000:AA:00): 79, pid=41, GPU has fallen off the bus.\n")
    s.processes, s.gpus = NOBODY, no_gpu("lost")
    s.watch(60)


@scenario("crashed", "crashed:fatal", cause="exception", because=("refused",))
def the_wrapper_refused(s: Scene) -> None:
    s.link("live")
    s.roster = ROSTER
    s.write(QUEUE_LOG, "PROFILE SETUP FAILED: PROXY_HOOK returned non-zero\n", history=True)
    gone(s)


@scenario("crashed", "disk_full:fatal", "disk_full:serious", cause="exception")
def the_disk_filled_and_the_trainer_said_so(s: Scene) -> None:
    running(s)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n')
    s.write(A, "OSError: [Errno 28] No space left on device: 'latest.pth'\n")
    s.mounts = (mount(f"{ROOT}/out", 1.0),)
    gone(s)


@scenario("crashed", "crashed:fatal", cause="killed", because=("1 cell has not been started",))
def tmux_was_killed_and_nothing_was_written(s: Scene) -> None:
    running(s)
    s.processes = (
        INIT,
        Process(20, 1, "tmux: server", ("tmux",), "S"),
        replace(SHELL, ppid=20),
        TRAINER,
    )
    s.watch(30, lambda s, _: s.touch(A))
    gone(s)


# --- ways in which simpler watchers were wrong ---


@scenario("running", "cuda_error:warn")
def a_card_whose_query_is_refused_is_unknown_and_not_gone(s: Scene) -> None:
    running(s)
    s.gpus = no_gpu("unknown-error")
    s.watch(60, lambda s, _: s.touch(A))


@scenario("running", "host_oom:fatal")
def killed_stands_only_in_the_queues_log_glued_to_a_bar(s: Scene) -> None:
    running(s)
    s.write(A, "\rEpoch 4/20:  40%|####      | 2/5 [00:02<00:03,  1.00it/s]")
    s.write(QUEUE_LOG, "\rEpoch 4/20:  40%|####      | 2/5 [00:02<00:03,  1.00it/s]Killed\n")
    s.write(QUEUE_LOG, ended(s, "a", 137) + began(s, "b"))
    s.memory = memory(1)
    s.watch(60, lambda s, _: s.touch(B))


@scenario("finished", "crashed:serious")
def a_failed_cell_whose_checkpoint_is_there_stays_failed(s: Scene) -> None:
    running(s)
    s.touch(f"{ROOT}/out/a/best.pth")
    s.write(QUEUE_LOG, ended(s, "a", 1) + began(s, "b"))
    s.touch(f"{ROOT}/out/b/best.pth")
    s.write(QUEUE_LOG, ended(s, "b", 0) + done(s, "a"))
    gone(s)


@scenario("finished")
def all_cells_exited_zero_counts_those_that_were_skipped(s: Scene) -> None:
    s.link("live")
    s.roster = ROSTER
    head = f"=== Queue {ROOT}/q.txt: 2 ablations, starting from 2 on box ===\n{RULE}\n"
    s.write(QUEUE_LOG, head + began(s, "b", 600) + ended(s, "b", 0) + done(s), history=True)
    s.touch(f"{ROOT}/out/b/best.pth")
    gone(s)


@scenario("finished", "crashed:fatal", evidence=("ValueError: bad",))
def a_pipe_swallowed_the_exit_code(s: Scene) -> None:
    running(s)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n')
    s.touch(f"{ROOT}/out/a/best.pth")
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b"))
    s.touch(f"{ROOT}/out/b/best.pth")
    s.write(QUEUE_LOG, ended(s, "b", 0) + done(s))
    gone(s)


# --- preempted ----------------------------------------------------------------------------------------


@scenario("preempted", "preempted:fatal", because=("PREEMPTION",))
def the_scheduler_took_it(s: Scene) -> None:
    running(s)
    s.write(
        A, f"slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT {s.stamp()} DUE TO PREEMPTION ***\n"
    )
    gone(s)


@scenario("preempted", "preempted:fatal", because=("TIME LIMIT",))
def the_time_limit_ended_it(s: Scene) -> None:
    running(s)
    s.write(
        A, f"slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT {s.stamp()} DUE TO TIME LIMIT ***\n"
    )
    gone(s)


# --- cannot tell --------------------------------------------------------------------------------------


@scenario("cannot-tell", because=("process table",))
def no_process_table_and_nothing_moves(s: Scene) -> None:
    s.processes = None
    s.link("live")
    opened(s)
    s.memory = memory()
    s.watch(60)


@scenario("cannot-tell", because=("not read",))
def the_queue_file_is_not_there(s: Scene) -> None:
    s.link("live")
    s.processes = NOBODY
    s.watch(30)


@scenario("cannot-tell", because=("no process of the queue is recognised",))
def a_card_computes_for_somebody_we_do_not_recognise(s: Scene) -> None:
    s.link("live")
    opened(s)
    s.processes, s.gpus = NOBODY, gpu(0.9)
    s.watch(60)


@scenario("cannot-tell", "disk_full:serious", because=("could not say",))
def a_full_disk_froze_the_log_and_nobody_knows_the_end(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, "Epoch 1/4:   0%|")
    s.mounts = (mount(ROOT, 1.0),)
    gone(s)


@scenario("cannot-tell", because=("process table was not read",))
def a_log_that_ends_while_a_card_computes(s: Scene) -> None:
    s.processes = None
    s.link("live")
    both_done(s, ago=3600)
    s.gpus = gpu(0.9)
    s.watch(60)


@scenario("cannot-tell", "probe_hung:serious")
def a_hung_driver_and_a_hidden_process_table(s: Scene) -> None:
    s.processes = None
    s.link("live")
    opened(s)
    s.gpus = no_gpu("hung")
    s.watch(60)


# --- idle and its money -------------------------------------------------------------------------------


@scenario("idle", because=("not been started",))
def a_queue_that_was_never_started(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes, s.gpus = ROSTER, NOBODY, gpu(0.0)
    s.watch(60)


@scenario("idle", "idle_billing:serious", evidence=("$0.33", "10 min"))
def ten_minutes_of_idleness_have_a_price(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes, s.gpus = ROSTER, NOBODY, gpu(0.0)
    s.watch(610)


@scenario("idle")
def nine_minutes_of_idleness_do_not(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes, s.gpus = ROSTER, NOBODY, gpu(0.0)
    s.watch(540)


@scenario("idle")
def time_that_nobody_watched_is_not_idle_time(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes, s.gpus = ROSTER, NOBODY, gpu(0.0)
    s.watch(300)
    s.link("timeout")
    s.wait(3600)
    s.link("live")
    s.watch(200)


@scenario("idle", "idle_billing:serious", evidence=("10 min",))
def idle_time_goes_on_after_a_gap_without_the_gap(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes, s.gpus = ROSTER, NOBODY, gpu(0.0)
    s.watch(310)
    s.link("timeout")
    s.wait(3600)
    s.link("live")
    s.watch(310)


@scenario("cannot-tell", "probe_hung:serious", because=("whether a card works is not known",))
def a_card_that_cannot_be_read_is_not_idle(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes, s.gpus = ROSTER, NOBODY, no_gpu("hung")
    s.watch(1200)


@scenario("cannot-tell", "hardware:fatal", because=("nvidia-smi says lost",), box=NO_QUEUE)
def a_lost_card_is_not_idle_where_no_queue_is_named(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = NOBODY, no_gpu("lost")
    s.watch(1200)


@scenario("cannot-tell", because=("whether a card works is not known",), box=NO_QUEUE)
def a_card_of_another_maker_is_not_idle(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = NOBODY, no_gpu("other-maker")
    s.watch(1200)


@scenario("idle", because=("no trainer process",), box=NO_QUEUE)
def a_box_without_a_card_is_idle(s: Scene) -> None:
    s.link("live")
    s.processes, s.gpus = NOBODY, no_gpu("no-device")
    s.watch(540)


@scenario("finished", "idle_billing:serious", evidence=("up to $6.0",))
def a_run_that_was_over_for_three_hours_when_we_came(s: Scene) -> None:
    s.link("live")
    both_done(s, ago=10_800)
    gone(s, 20)


@scenario("running", because=("a card computes",))
def somebody_uses_the_card_by_hand(s: Scene) -> None:
    s.instance = BOX
    s.link("live")
    s.processes, s.gpus = NOBODY, gpu(0.3)
    s.watch(1200)


@scenario("idle", "zombie_vram:warn")
def memory_of_a_card_is_held_by_nobody(s: Scene) -> None:
    s.link("live")
    s.roster, s.processes = ROSTER, NOBODY
    card = replace(gpu(0.0).gpus[0], memory_used=30 << 30)
    s.gpus = replace(gpu(0.0), gpus=(card,))
    s.watch(60)


# --- lines in their context ---------------------------------------------------------------------------


@scenario("running", "gpu_oom:warn", evidence=("the run went on",))
def an_oom_that_the_framework_survived(s: Scene) -> None:
    running(s)
    steps(s, A, 100, 105)
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    steps(s, A, 105, 110)
    s.watch(10, lambda s, _: s.touch(A))


@scenario("crashed", "crashed:fatal", cause="exception", evidence=("ValueError: bad",))
def buffered_reports_behind_a_traceback_do_not_cure_it(s: Scene) -> None:
    running(s)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n')
    steps(s, A, 1, 60)
    s.write(QUEUE_LOG, ended(s, "a", 1))
    gone(s)


@scenario("running", "crashed:warn", evidence=("ValueError: bad (the run went on)",))
def a_traceback_that_the_run_survived_is_one_warning(s: Scene) -> None:
    running(s)
    steps(s, A, 100, 105)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n')
    steps(s, A, 105, 110)
    s.watch(10, lambda s, _: s.touch(A))


@scenario("crashed", "crashed:fatal", cause="exception", evidence=("KeyError: 'lr'",))
def a_crash_that_hydra_announces(s: Scene) -> None:
    running(s)
    s.write(A, "Error executing job with overrides: ['a=1']\n")
    s.write(
        A, "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nKeyError: 'lr'\n"
    )
    gone(s)


@scenario("crashed", "gpu_oom:warn", "crashed:fatal", cause="killed")
def a_survived_oom_far_back_is_not_blamed_for_a_kill(s: Scene) -> None:
    running(s)
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    steps(s, A, 1, 400)
    gone(s)


RAISED = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: bad\n'


def epochs(s: Scene, first: int, last: int) -> None:
    """One line per epoch as it is made, one each beat."""
    lines = (f"Epoch {n}/20 train_loss: 0.7\n" for n in range(first, last + 1))
    s.watch(10.0 * (last - first + 1), lambda s, _: s.write(A, next(lines)))


@scenario("running", "gpu_oom:warn", evidence=("the run went on",))
def an_oom_that_a_run_of_one_line_per_epoch_survived(s: Scene) -> None:
    running(s)
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    s.write(A, "falling back to cpu offload\n")
    epochs(s, 4, 5)


@scenario("running", "gpu_oom:fatal")
def a_report_that_was_on_its_way_when_a_rank_ran_out_of_memory(s: Scene) -> None:
    running(s)
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    epochs(s, 4, 4)


@scenario(
    "crashed", "gpu_oom:warn", "crashed:fatal", cause="killed", because=("killed from outside",)
)
def a_survived_oom_is_not_blamed_for_a_kill_ten_epochs_later(s: Scene) -> None:
    running(s)
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    epochs(s, 4, 15)
    gone(s)


@scenario("crashed", "crashed:fatal", cause="killed")
def an_attempt_before_in_the_same_log_is_not_blamed_for_a_kill(s: Scene) -> None:
    s.write(A, f"Epoch 1/20 train_loss: 0.9\nEpoch 2/20 train_loss: 0.8\n{RAISED}", history=True)
    running(s)
    epochs(s, 4, 15)
    gone(s)


@scenario(
    "crashed",
    "crashed:fatal",
    cause="exception",
    because=("says, above its last reports: ValueError: bad",),
)
def what_stands_above_the_last_reports_of_a_log_is_not_its_end(s: Scene) -> None:
    running(s)
    steps(s, A, 1, 200)
    s.write(A, RAISED)
    steps(s, A, 200, 260)
    gone(s)


@scenario("idle", "crashed:warn", box=NO_QUEUE)
def a_run_that_caught_an_exception_and_was_killed_while_nobody_looked(s: Scene) -> None:
    s.link("live")
    early = f"Epoch 1/200 train_loss: 0.7\nEpoch 2/200 train_loss: 0.7\n{RAISED}"
    late = "".join(f"Epoch {n}/200 train_loss: 0.7\n" for n in range(3, 120))
    s.write(A, early + late, history=True)
    s.processes, s.gpus, s.memory = (INIT, replace(TRAINER, ppid=1)), gpu(0.9), memory()
    s.watch(40, lambda s, _: s.touch(A))
    gone(s)


@scenario("running", "crashed:warn", evidence=("began anew after",), box=NO_QUEUE)
def a_run_that_is_started_again_in_the_log_of_its_crash(s: Scene) -> None:
    alone(s)
    s.write(A, f"Epoch 1/20 train_loss: 0.7\nEpoch 2/20 train_loss: 0.7\n{RAISED}")
    gone(s)
    s.processes = (INIT, replace(TRAINER, pid=77, ppid=1, age_seconds=1.0))
    s.gpus = gpu(0.9)
    epochs(s, 1, 1)


@scenario("running", "crashed:fatal", box=NO_QUEUE)
def a_rank_that_raised_while_another_one_reports_the_epoch_before(s: Scene) -> None:
    alone(s)
    s.write(A, f"Epoch 1/20 train_loss: 0.7\nEpoch 2/20 train_loss: 0.7\n{RAISED}")
    s.write(A, "Epoch 1/20 train_loss: 0.7\n")
    s.watch(10)


@scenario("running", "gpu_oom:fatal")
def an_oom_without_any_step_behind_it(s: Scene) -> None:
    running(s)
    steps(s, A, 100, 105)
    s.write(A, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    s.write(A, "step 104/1000 loss 0.5\n")
    s.watch(10, lambda s, _: s.touch(A))


@scenario("crashed", "gpu_oom:fatal", cause="exception")
def eight_ranks_print_one_failure_between_each_other(s: Scene) -> None:
    running(s)
    ranks = range(8)
    for text in (
        "Traceback (most recent call last):",
        '  File "train.py", line 96, in step',
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.",
    ):
        s.write(A, "".join(f"[rank{rank}]: {text}\n" for rank in ranks))
    s.write(A, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n")
    s.write(QUEUE_LOG, ended(s, "a", 1))
    gone(s)


@scenario("crashed", "crashed:fatal", cause="exception", evidence=("RuntimeError: second",))
def a_chain_of_exceptions_is_named_by_its_last(s: Scene) -> None:
    running(s)
    s.write(A, 'Traceback (most recent call last):\n  File "t.py", line 1, in f\nKeyError: 1\n\n')
    s.write(A, "During handling of the above exception, another exception occurred:\n\n")
    s.write(
        A, 'Traceback (most recent call last):\n  File "t.py", line 9, in g\nRuntimeError: second\n'
    )
    s.write(QUEUE_LOG, ended(s, "a", 1))
    gone(s)


@scenario("running")
def what_a_previous_attempt_printed_into_a_shared_log_is_history(s: Scene) -> None:
    s.link("live")
    opened(s, 3600)
    s.write(QUEUE_LOG, "Traceback (most recent call last):\nValueError: old\n", history=True)
    s.write(QUEUE_LOG, ended(s, "a", 1, 3000) + began(s, "a", 2000), history=True)
    s.processes, s.gpus, s.memory = RUN, gpu(0.9), memory()
    s.watch(30, lambda s, _: s.touch(A))


@scenario("running", "gpu_oom:fatal")
def another_cells_failure_in_a_shared_log_stays_with_that_cell(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, "torch.OutOfMemoryError: CUDA out of memory.\n" + ended(s, "a", 1))
    s.write(QUEUE_LOG, began(s, "b"))
    s.watch(30, lambda s, _: s.touch(B))


@scenario("running", "nan:serious")
def a_loss_that_is_nan_again_and_again(s: Scene) -> None:
    running(s)
    steps(s, A, 100, 150, "nan")
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running", "nan:warn")
def a_loss_that_was_nan_once_and_came_back(s: Scene) -> None:
    running(s)
    steps(s, A, 100, 101, "nan")
    steps(s, A, 101, 120, "0.5")
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running", "loss_spike:warn", evidence=("median",))
def a_loss_jumps_far_above_its_median(s: Scene) -> None:
    running(s)
    s.write(A, "".join(f"step {n}/1000 loss {2.3 + n % 7 / 100:.3f}\n" for n in range(60)))
    steps(s, A, 60, 66, "9.1")
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running")
def a_spike_that_came_back_is_over(s: Scene) -> None:
    a_loss_jumps_far_above_its_median(s)
    s.write(A, "".join(f"step {n}/1000 loss {2.4 + n % 7 / 100:.3f}\n" for n in range(66, 90)))
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running", "loss_spike:serious", evidence=("did not come back",))
def a_spike_that_does_not_come_back(s: Scene) -> None:
    running(s)
    s.write(A, "".join(f"step {n}/1000 loss {2.3 + n % 7 / 100:.3f}\n" for n in range(60)))
    s.write(A, "".join(f"step {n}/1000 loss {9 + n % 7 / 100:.3f}\n" for n in range(60, 120)))
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running", "plateau:serious", "nan:serious", evidence=("skipped",))
def every_step_is_skipped_for_a_nan(s: Scene) -> None:
    running(s)
    steps(s, A, 1, 20, "0.512")
    s.write(A, "".join("WARNING: loss is nan, skipping this batch\n" for _ in range(25)))
    s.watch(10, lambda s, _: s.touch(A))


FAIRSEQ = "2021-01-01 00:00:00 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0\n"


@scenario("running", "plateau:serious", evidence=("25 steps in a row were skipped",))
def every_gradient_is_ignored_for_an_overflow(s: Scene) -> None:
    running(s)
    steps(s, A, 100, 103, loss="0.51")
    s.write(A, FAIRSEQ * 25)


@scenario("running")
def a_gradient_that_is_ignored_now_and_then(s: Scene) -> None:
    running(s)
    for n in range(40):
        s.write(A, f"step {n}/1000 loss {0.5 + 0.001 * n}\n{FAIRSEQ}")


def megatron(number: int, skipped: int, loss: str = "", nans: int = 0) -> str:
    """A report of Megatron's; the loss is only in it where a step was taken."""
    return (
        f" iteration {number:8d}/    1000 | consumed samples: 100 | elapsed time per iteration (ms): 100.0 | {loss}"
        f"loss scale: 1.0 | number of skipped iterations: {skipped:3d} | number of nan iterations: {nans:3d} |\n"
    )


@scenario("running", "plateau:serious", evidence=("24 steps in a row were skipped",))
def every_iteration_of_megatrons_is_skipped(s: Scene) -> None:
    running(s)
    for n in range(10):
        s.write(A, megatron(n, 0, f"lm loss: {3 + 0.01 * n:E} | "))
    for n in range(10, 14):
        s.write(A, megatron(n, 1, nans=1))
    s.write(A, megatron(23, 10) + megatron(33, 10))


@scenario("running")
def iterations_of_megatrons_that_are_skipped_between_others(s: Scene) -> None:
    running(s)
    for n in range(1, 60):
        s.write(A, megatron(10 * n, 4, f"lm loss: {3 + 0.01 * n:E} | "))
    for n in range(60, 90):  # a loss that is 0 is not printed
        s.write(A, megatron(10 * n, 4))


@scenario("running", "plateau:serious", evidence=("exactly 0.6931",))
def a_loss_that_is_exactly_one_number(s: Scene) -> None:
    running(s)
    steps(s, A, 1, 60, "0.6931")
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running")
def an_objective_that_is_zero_by_design(s: Scene) -> None:
    running(s)
    steps(s, A, 1, 400, "0.0")
    s.watch(10, lambda s, _: s.touch(A))


@scenario("running", "host_oom:warn", evidence=("goes on",))
def a_worker_was_killed_for_memory_and_the_run_goes_on(s: Scene) -> None:
    running(s)
    s.memory = memory(1)
    s.watch(60, lambda s, _: s.touch(A))


@scenario("running")
def a_new_attempt_begins_to_count_anew(s: Scene) -> None:
    running(s)
    s.write(A, "Traceback (most recent call last):\nValueError: bad\n")
    s.write(QUEUE_LOG, ended(s, "a", 1))
    s.replace_log(A)
    s.write(QUEUE_LOG, began(s, "a"))
    s.write(A, "Epoch 1/20 train_loss: 2.1\n")
    s.watch(30, lambda s, _: s.touch(A))


@scenario("running", "gpu_oom:fatal")
def a_process_list_that_names_the_queue_in_an_editor_is_no_run(s: Scene) -> None:
    running(s)
    s.write(QUEUE_LOG, "torch.OutOfMemoryError: CUDA out of memory.\n" + ended(s, "a", 1))
    s.write(QUEUE_LOG, began(s, "b"))
    s.processes = (*RUN, Process(60, 1, "vim", ("vim", f"{ROOT}/q.txt"), "S"))
    s.watch(30, lambda s, _: s.touch(B))


@scenario("crashed", "crashed:fatal", cause="killed")
def a_grep_for_the_trainer_is_not_the_trainer(s: Scene) -> None:
    running(s)
    s.processes = (INIT, Process(61, 1, "bash", ("bash", "-s", "train.py"), "S"))
    s.gpus = gpu(0.0)
    s.watch(60)


@scenario("crashed", "crashed:fatal", cause="killed")
def a_zombie_is_not_alive(s: Scene) -> None:
    running(s)
    s.processes = (INIT, replace(TRAINER, state="Z", ppid=1))
    s.gpus = gpu(0.0)
    s.watch(60)


__all__ = ["SCENARIOS", "GpuProcess", "Scenario"]
