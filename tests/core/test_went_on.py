"""What reports behind an alarm prove: of a run that goes on, of one that ended, of an attempt before."""

from __future__ import annotations

from gpu_tui.core.alarms import Alarm, CellAlarms
from gpu_tui.core.findings import Severity
from gpu_tui.core.went_on import FLUSHED_WITHIN, LEAVES_WITHIN, STAYS_FOR
from gpu_tui.parse.log_reader import LogReader

TRACE = 'Traceback (most recent call last):\n  File "t.py", line 3, in f\nKeyError: 1\n'
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
Piece = tuple[float | None, str]  # when it was just written; None: it was there before we came


def told(*pieces: Piece, early: bool = False) -> CellAlarms:
    """The alarms of one log that came in these pieces; `early`: all alarms stand among its first bytes."""
    alarms, reader, number = CellAlarms(), LogReader(), 0
    for at, text in pieces:
        for line in reader.feed(text.encode()):
            alarms.take(line, number, "a.log", at or 0.0, live=at is not None, early=early)
            number += not line.open
    return alarms


def epochs(first: int, last: int, loss: str = "0.5") -> str:
    return "".join(f"Epoch {n}/90 loss {loss}\n" for n in range(first, last + 1))


def steps(first: int, last: int) -> str:
    return "".join(f"step {n}/1000 loss 0.5\n" for n in range(first, last + 1))


def worst(alarms: CellAlarms, *, ended: bool = False) -> Alarm:
    """What a person should see of it first."""
    return min(alarms.shown(ended=ended), key=lambda alarm: alarm.severity.rank)


def survived(alarms: CellAlarms) -> bool:
    """Whatever becomes of the run, what it logged then did not end it."""
    return alarms.failure() is None and alarms.failure(ended=True) is None


# --- a run that goes on -------------------------------------------------------------------------------


def test_two_reports_that_no_flush_brought_together_are_a_run_that_goes_on() -> None:
    before = (0.0, epochs(1, 4) + OOM)
    one = told(before, (5.0, epochs(5, 5)))
    assert worst(one).severity is Severity.FATAL
    two = told(before, (5.0, epochs(5, 5)), (5.0 + FLUSHED_WITHIN, epochs(6, 6)))
    assert (worst(two).severity, worst(two).past) == (Severity.WARN, True)
    at_once = told(before, (5.0, epochs(5, 6)))
    assert worst(at_once).severity is Severity.FATAL


def test_one_report_with_a_loss_is_enough_where_a_run_that_fails_would_have_left() -> None:
    before = (0.0, epochs(1, 4) + OOM)
    assert worst(told(before, (LEAVES_WITHIN - 1, epochs(5, 5)))).severity is Severity.FATAL
    assert worst(told(before, (LEAVES_WITHIN, epochs(5, 5)))).severity is Severity.WARN
    assert worst(told(before, (LEAVES_WITHIN, epochs(4, 4)))).severity is Severity.FATAL
    assert worst(told(before, (LEAVES_WITHIN, "Epoch 5/90\n"))).severity is Severity.FATAL


def test_a_report_that_was_on_its_way_is_none_of_a_run_that_goes_on() -> None:
    late = told((0.0, "step 100/1000 loss 0.5\n" + OOM + "step 150/1000 loss 0.5\n"))
    assert worst(late).severity is Severity.FATAL


def test_a_finite_loss_ends_a_nan_and_a_counter_does_not() -> None:
    nan = (0.0, epochs(3, 6, "nan"))
    assert not worst(told(nan, (900.0, "Epoch 7/90\nEpoch 8/90\nEpoch 9/90 acc 0.5\n"))).past
    assert not worst(told(nan, (900.0, epochs(6, 6)))).past  # another rank
    assert worst(told(nan, (900.0, epochs(7, 7)))).past


# --- a run that ended behind it ------------------------------------------------------------------------


def test_what_a_buffer_kept_until_the_exit_cures_nothing_whenever_it_comes() -> None:
    for at in (1.0, 600.0):  # an upload at the exit may take long
        alarms = told((0.0, epochs(1, 60) + TRACE), (at, epochs(61, 90)))
        failure = alarms.failure(ended=True)
        assert failure is not None
        assert (failure.text, failure.above) == ("KeyError: 1", True)
        assert worst(alarms, ended=True).severity is Severity.FATAL
    ranks = told((0.0, steps(1, 60) + TRACE), (1.0, steps(61, 90)), (31.0, steps(61, 91)))
    assert ranks.failure(ended=True) is not None


def test_reports_for_a_minute_as_they_are_made_clear_it_for_ever() -> None:
    live = [(10.0 * n, epochs(4 + n, 4 + n)) for n in range(1, 9)]
    assert STAYS_FOR <= 70.0
    assert survived(told((0.0, epochs(1, 4) + OOM), *live))
    assert survived(told((None, epochs(1, 4) + OOM), *live))
    assert not survived(told((0.0, epochs(1, 4) + OOM), *live[:6]))


def test_a_log_that_was_written_at_once_from_its_first_bytes_on_has_no_buffer() -> None:
    text = epochs(1, 4) + TRACE + epochs(5, 40)
    assert survived(told((None, text), early=True))
    assert not survived(told((None, text)))
    # Here a buffer may have kept them all, and there the end of a run has written it.
    assert not survived(told((None, TRACE + epochs(1, 40)), early=True))
    whole = "Epoch 90/90 loss 0.5\n"
    assert not survived(told((None, whole + TRACE + epochs(1, 40)), early=True))
    # Bars are written at once, and the reports beside them kept.
    assert not survived(told((None, steps(1, 40) + TRACE + epochs(1, 40)), early=True))


def test_steps_of_other_ranks_that_need_no_word_of_the_dead_one_do_not_clear_it() -> None:
    few = told((None, steps(1, 9) + TRACE + steps(10, 30)), early=True)
    assert few.failure(ended=True) is not None
    assert survived(told((None, steps(1, 9) + TRACE + steps(10, 80)), early=True))


# --- an attempt before --------------------------------------------------------------------------------


def test_counters_that_begin_anew_behind_a_crash_are_another_attempt() -> None:
    for again in (epochs(1, 1), epochs(4, 4)):  # from its start, or from a checkpoint
        alarm = worst(told((None, epochs(1, 6) + TRACE + again)))
        assert (alarm.severity, alarm.past, alarm.anew) == (Severity.WARN, True, True)
    early = epochs(1, 1) + TRACE
    assert worst(told((None, early + epochs(1, 1)))).anew
    assert worst(told((0.0, early), (LEAVES_WITHIN, epochs(1, 1)))).anew
    assert not worst(told((0.0, early + epochs(1, 1)))).anew  # another rank at the same epoch
    late = (LEAVES_WITHIN, epochs(5, 5))
    assert worst(told((0.0, epochs(1, 6) + TRACE), late)).anew  # from the last checkpoint


def test_another_attempt_counts_anew() -> None:
    old = epochs(3, 6, "nan")
    alarm = worst(told((None, old + epochs(1, 3) + epochs(4, 5, "nan"))))
    assert (alarm.severity, alarm.count, alarm.number) == (Severity.SERIOUS, 2, 7)
    gap = told((None, old + epochs(7, 12) + epochs(1, 1) + epochs(2, 2, "nan")))
    assert (worst(gap).count, worst(gap).number) == (1, 11)
    twice = told((None, epochs(1, 5) + TRACE + epochs(1, 5) + TRACE))
    failure = twice.failure()
    assert failure is not None
    assert (failure.count, failure.number, failure.anew) == (1, 15, False)


def test_what_only_looks_like_a_beginning_is_none() -> None:
    for behind in (
        "Epoch 5/90 loss 0.5\n",  # another rank, one behind
        "best was epoch 2\n",
        "\rEpoch 6/90 loss 0.5",
        "Loading shards:   0%|  | 0/10 [00:00<?, ?it/s]\n",
        "Validation:   0%|  | 0/10 [00:00<?, ?it/s]\n",
    ):
        alarm = worst(told((None, epochs(1, 6) + TRACE + behind)))
        assert (alarm.severity, alarm.anew) == (Severity.FATAL, False), behind


def test_the_steps_of_an_epoch_begin_anew_with_each() -> None:
    epoch = epochs(1, 1) + steps(1, 9)
    alarms = told((None, epoch + OOM + "step 1/9 loss 0.5\n" + OOM))
    assert worst(alarms).count == 2
    bar = "step 9/9 loss 0.5\n"
    assert not worst(told((None, bar + OOM + "step 1/9 loss 0.5\n"))).anew


def test_an_attempt_before_is_not_what_ended_this_one_unless_a_buffer_may_have_kept_it() -> None:
    for last in (1, 40):
        text = epochs(1, 4) + TRACE + epochs(1, last)
        assert survived(told((None, text), early=True))
    failure = told((None, text)).failure(ended=True)
    assert failure is not None
    assert (failure.above, failure.anew) == (True, True)


def test_a_nan_is_none_of_another_attempt_beside_a_second_program_that_is_behind() -> None:
    mixed = "".join(epochs(10 + n, 10 + n, "nan") + epochs(2 + n, 2 + n) for n in range(5))
    alarm = worst(told((None, mixed)))
    assert (alarm.severity, alarm.count) == (Severity.SERIOUS, 5)
