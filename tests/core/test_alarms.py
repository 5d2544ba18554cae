"""Lines of one attempt, read together."""

from __future__ import annotations

from gpu_tui.core.alarms import Alarm, CellAlarms
from gpu_tui.core.findings import Severity
from gpu_tui.parse.log_reader import LogReader

TRACE = 'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    g()\n'
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def told(*texts: str | tuple[str, str], live: bool = True) -> CellAlarms:
    """The alarms after these texts; a pair names another log than `cell.log`."""
    alarms = CellAlarms()
    readers: dict[str, LogReader] = {}
    numbers: dict[str, int] = {}
    for item in texts:
        path, text = item if isinstance(item, tuple) else ("cell.log", item)
        for line in readers.setdefault(path, LogReader()).feed(text.encode()):
            number = numbers.get(path, 0)
            alarms.take(line, number, path, 0.0, live=live)
            numbers[path] = number + (not line.open)
    return alarms


def steps(first: int, last: int, loss: str = "0.5") -> str:
    return "".join(f"step {n}/1000 loss {loss}\n" for n in range(first, last))


def only(alarms: CellAlarms) -> Alarm:
    (alarm,) = alarms.shown()
    return alarm


def test_a_traceback_is_named_by_its_final_exception() -> None:
    alarm = only(told(TRACE + "KeyError: 'lr'\n"))
    assert (alarm.kind, alarm.text, alarm.count) == ("crashed", "KeyError: 'lr'", 1)


def test_an_exception_of_a_name_that_triage_does_not_know_names_it_too() -> None:
    alarm = only(told(TRACE + "mylib.core.Oops: it broke\n"))
    assert alarm.text == "mylib.core.Oops: it broke"


def test_a_chain_is_one_failure_named_by_its_last() -> None:
    chain = "\nDuring handling of the above exception, another exception occurred:\n\n"
    alarm = only(told(TRACE + "KeyError: 1\n" + chain + TRACE + "RuntimeError: two\n"))
    assert (alarm.text, alarm.count) == ("RuntimeError: two", 1)


def test_eight_ranks_between_each_other_are_one_failure_of_eight() -> None:
    lines = [line + "\n" for line in (TRACE + OOM).splitlines()]
    mixed = "".join(f"[rank{rank}]: {line}" for line in lines for rank in range(8))
    echo = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    alarm = only(told(mixed + echo))
    assert (alarm.kind, alarm.count) == ("gpu_oom", 8)


def test_a_copy_of_the_line_in_another_log_counts_once() -> None:
    assert only(told(OOM, ("master.log", OOM))).count == 1


def test_progress_behind_it_makes_it_past_and_a_bar_drawn_again_does_not() -> None:
    assert only(told(steps(1, 9) + OOM + steps(8, 9) * 9)).severity is Severity.FATAL
    survived = only(told(steps(1, 9) + OOM + steps(9, 14)))
    assert (survived.severity, survived.past) == (Severity.WARN, True)
    again = only(told(steps(1, 9) + OOM + steps(9, 14) + OOM))
    assert (again.severity, again.count, again.past) == (Severity.FATAL, 2, False)


def test_a_nan_is_over_only_by_finite_losses() -> None:
    assert only(told(steps(1, 5, "nan") + "step 5/1000\nstep 6/1000\nstep 7/1000\n")).count == 4
    assert not only(told(steps(1, 20, "nan"))).past
    assert only(told(steps(1, 5, "nan") + steps(5, 12))).past


def test_a_full_disk_is_not_cured_by_progress() -> None:
    alarm = only(told("OSError: [Errno 28] No space left on device: 'a'\n" + steps(1, 20)))
    assert (alarm.kind, alarm.past) == ("disk_full", False)


def test_going_on_in_one_log_of_the_past_says_nothing_of_another() -> None:
    master = ("master.log", OOM)
    assert only(told(master, steps(1, 20), live=False)).severity is Severity.FATAL
    assert only(told(master, steps(1, 20), live=True)).severity is Severity.WARN


def test_what_lasts_stands_beside_the_failure() -> None:
    kinds = {alarm.kind for alarm in told(steps(1, 5, "nan") + TRACE + "KeyError: 1\n").shown()}
    assert kinds == {"nan", "crashed"}


def test_a_forgotten_log_takes_its_alarms_along() -> None:
    alarms = told(OOM, ("master.log", "Killed\n"))
    alarms.forget("cell.log")
    assert only(alarms).text == "Killed"
    assert alarms.failure() is not None
    alarms.forget("master.log")
    assert alarms.failure() is None


def test_reports_that_a_buffer_kept_until_the_exit_cure_nothing_of_a_run_that_ended() -> None:
    alarms = told(steps(1, 9) + TRACE + "KeyError: 1\n" + steps(9, 60))
    assert alarms.failure() is None
    failure = alarms.failure(ended=True)
    assert failure is not None
    assert failure.text == "KeyError: 1"
    (alarm,) = alarms.shown(ended=True)
    assert (alarm.severity, alarm.past) == (Severity.FATAL, False)


def test_what_lies_far_back_did_not_end_a_run() -> None:
    alarms = told(OOM + steps(1, 400))
    assert alarms.failure(ended=True) is None


def test_a_thin_look_at_a_flood_still_sees_that_it_went_on() -> None:
    assert only(told(OOM + "step 100/1000 loss 0.5\nstep 180/1000 loss 0.5\n")).past


def test_a_bar_of_loading_does_not_prove_that_the_run_went_on() -> None:
    bars = "".join(
        f"Loading checkpoint shards: {n}0%|###| {n}/10 [00:0{n}<00:01, 1.00it/s]\n"
        for n in range(1, 10)
    )
    alarm = only(told(steps(1, 9) + OOM + bars))
    assert (alarm.severity, alarm.past) == (Severity.FATAL, False)


LOST = (
    "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:40657\n"
)


def of_rank(rank: int, text: str) -> str:
    """As torchrun passes it on."""
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


def test_who_failed_first_is_the_cause_and_lost_peers_are_its_echo() -> None:
    shape = "RuntimeError: The size of tensor a (3) must match the size of tensor b (4)\n"
    closing = "t.py FAILED\n  exitcode  : -15 (pid: 1728)\n"
    ranks = of_rank(1, TRACE + shape) + of_rank(0, TRACE + LOST) + of_rank(2, TRACE + LOST)
    alarm = only(told(ranks + closing))
    assert (alarm.kind, alarm.text) == ("crashed", f"[rank1]: {shape.strip()}")


def test_a_lost_peer_stands_for_itself_before_what_it_raised_and_far_below_another_failure() -> (
    None
):
    assert only(told(of_rank(0, TRACE + LOST) + TRACE + "KeyError: 1\n")).kind == "nccl"
    survived = TRACE + "KeyError: 1\n" + "saved a sample\n" * 500
    assert only(told(survived + of_rank(0, TRACE + LOST))).kind == "nccl"
    assert only(told(("other.log", TRACE + "KeyError: 1\n"), TRACE + LOST)).kind == "nccl"


CLOSING = "W1123 02:47:10.1 7 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 912 closing signal SIGTERM\n"
SHOT = "E1123 02:47:11.4 7 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: {}) local_rank: 1 (pid: 916) of binary: python\n"


def test_a_rank_that_was_killed_is_the_cause_and_who_lost_it_its_echo() -> None:
    lost = of_rank(0, TRACE + LOST) + of_rank(2, TRACE + LOST) + CLOSING
    alarm = only(told(steps(1, 9) + lost + SHOT.format(-9)))
    assert (alarm.kind, alarm.text) == ("crashed", SHOT.format(-9).strip())
    assert only(told(steps(1, 9) + lost + SHOT.format(-15))).kind == "nccl"
    assert only(told(lost + "srun: error: gpu07: task 1: Killed\n")).kind == "nccl"
    last = "W1123 7 api.py:913] Unable to shutdown process 912 via 15, forcefully exiting via 9\n"
    assert only(told(lost + last)).kind == "nccl"


def test_what_a_rank_raised_comes_before_the_kill_of_another() -> None:
    raised = of_rank(1, TRACE + "KeyError: 'lr'\n") + of_rank(0, TRACE + LOST)
    assert only(told(raised + SHOT.format(-9))).text == "[rank1]: KeyError: 'lr'"


CANCELLED = "slurmstepd: error: *** STEP 31.0 ON gpu07 CANCELLED AT 2031-05-11T09:12:44 "


def test_a_step_that_is_cancelled_after_a_failure_is_its_echo_and_a_time_limit_is_none() -> None:
    failed = TRACE + "KeyError: 1\n"
    assert only(told(failed + CANCELLED + "DUE TO TASK FAILURE ***\n")).kind == "crashed"
    assert only(told(failed + CANCELLED + "DUE TO TIME LIMIT ***\n")).kind == "preempted"
    assert only(told(CANCELLED + "***\n" + failed)).kind == "preempted"


def test_a_nan_that_was_raised_is_one_failure_and_one_that_was_printed_ends_nothing() -> None:
    raised = "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.\n"
    alarm = only(told(TRACE + raised))
    assert (alarm.kind, alarm.severity, alarm.text) == ("nan", Severity.FATAL, raised.strip())
    alarms = told(TRACE + "loss: nan\n")
    assert {alarm.kind for alarm in alarms.shown()} == {"nan", "traceback"}
    failure = alarms.failure()
    assert failure is not None
    assert failure.kind == "traceback"
