"""Which counters of a log move the run, and where on its way they put it."""

from __future__ import annotations

import pytest

from gpu_tui.core.course import FOREIGN_SECONDS, Course
from gpu_tui.parse.progress import parse_progress


def follow(
    *lines: str, course: Course | None = None, at: float = 0.0, every: float = 1.0
) -> Course:
    """Feed lines as the reader has them."""
    course = course or Course()
    for number, line in enumerate(lines):
        progress = parse_progress(line)
        assert progress is not None, line
        course.take(progress, at + number * every)
    return course


def where(course: Course) -> tuple[int | None, int | None, int | None, int | None]:
    now = course.progress
    return now.epoch, now.epochs, now.step, now.steps


def bar(step: int, steps: int, title: str = "", end: str = "") -> str:
    return f"{title}{100 * step // steps}%|##  | {step}/{steps} [00:10<00:20, 4.0it/s{end}]"


@pytest.mark.parametrize(
    "other",
    [
        bar(5, 20, "Evaluating: "),
        bar(5, 20, "Validation DataLoader 0: "),
        bar(5, 20, "Sanity Checking DataLoader 0: "),
        bar(5, 20),
        bar(4_000_000, 8_000_000, "Downloading model.safetensors: "),
        bar(2, 3, "Loading checkpoint shards: "),
        "2024/01/24 02:48:03 - mmengine - INFO - Epoch(val)  [3][ 50/250]  eta: 0:00:10  time: 0.2",
        "Test: [ 50/196]\tTime  0.1 ( 0.2)\tLoss 1.2e+00 (1.3e+00)\tAcc@1  60.0 ( 61.0)",
        "[PYI-1:] Generating train split: 1200 examples [00:00, 4000.0 examples/s]",
    ],
)
def test_what_else_a_log_counts_moves_no_run(other: str) -> None:
    course = follow(bar(300, 1000, end=", loss=0.4"), other)
    assert where(course) == (None, None, 300, 1000)
    assert course.restarts == 0


def test_an_evaluation_gives_its_scores() -> None:
    course = follow(bar(300, 1000), "{'eval_loss': 0.81, 'eval_wer': 22.5, 'epoch': 3.0}")
    assert course.progress.val_loss == 0.81
    assert course.progress.metrics["eval_wer"] == 22.5
    assert where(course)[2:] == (300, 1000)


def test_a_run_that_shows_its_epochs_in_evaluations_only() -> None:
    course = follow("Epoch 3/20 val acc: 0.61", "Epoch 4/20 val acc: 0.63")
    assert where(course)[:2] == (4, 20)


def test_ranks_that_lag_are_no_restart() -> None:
    course = follow(
        "[rank0]: Epoch [2/5], Step [600/600], Loss: 0.5",
        "[rank0]: Epoch [3/5], Step [10/600], Loss: 0.5",
        "[rank1]: Epoch [2/5], Step [590/600], Loss: 0.5",
        "[rank0]: Epoch [3/5], Step [20/600], Loss: 0.5",
    )
    assert where(course) == (3, 5, 20, 600)
    assert course.restarts == 0


@pytest.mark.parametrize(
    "again",
    [
        ("Epoch [1/5], Step [1/600], Loss: 2.5",),
        tuple(f"Epoch [2/5], Step [{step}/600], Loss: 2.5" for step in (100, 110, 120)),
    ],
)
def test_a_run_that_begins_anew_or_goes_back_to_a_checkpoint(again: tuple[str, ...]) -> None:
    course = follow("Epoch [4/5], Step [500/600], Loss: 0.5", *again)
    last = parse_progress(again[-1])
    assert last is not None
    assert where(course) == (last.epoch, last.epochs, last.step, last.steps)
    assert course.restarts == 1


@pytest.mark.parametrize(
    "line",
    ["Training done. best acc 0.934 @ epoch 3", "Keeping checkpoint of epoch 3, val_acc 0.93"],
)
def test_the_epoch_that_was_best_is_no_restart(line: str) -> None:
    course = follow("Epoch [5/5], Step [600/600], Loss: 0.5", line)
    assert where(course) == (5, 5, 600, 600)
    assert course.progress.loss == 0.5
    assert course.restarts == 0


def test_the_inner_of_two_bars_goes_round_without_a_restart() -> None:
    course = follow(
        bar(0, 20, "Epochs: "), bar(1, 100), bar(100, 100), bar(1, 20, "Epochs: "), bar(1, 100)
    )
    assert where(course) == (1, 20, 1, 100)
    assert course.restarts == 0
    place = course.place
    assert place is not None
    assert place.share(None) == pytest.approx(1.01 / 20)


def test_keras_shows_the_epoch_on_a_line_of_its_own() -> None:
    line = " 450/900 [=======>......................] - ETA: 1:12 - loss: 0.41"
    course = follow("Epoch 1/10", line, "Epoch 3/10", line)
    place = course.place
    assert place is not None
    assert place.share(None) == pytest.approx(0.25)


def test_steps_of_a_trainer_that_prints_parts_of_epochs_count_the_run() -> None:
    course = follow(bar(500, 1000), "{'loss': 0.4, 'learning_rate': 4e-05, 'epoch': 1.5}")
    place = course.place
    assert place is not None
    assert (place.done, place.total, place.in_epochs) == (500, 1000, False)


def test_the_length_of_one_epoch_is_no_end_of_the_run() -> None:
    course = follow("Epoch 0:  45%|####| 450/1000 [01:23<01:41,  5.41it/s, loss=0.4]")
    place = course.place
    assert place is not None
    assert place.share(None) is None
    assert place.share(10) == pytest.approx(0.045)


def test_a_bar_that_runs_again_and_again_has_no_known_end() -> None:
    course = follow(bar(1, 100), bar(100, 100), bar(1, 100), bar(40, 100))
    assert where(course) == (None, None, 40, 100)
    assert course.place is None


def test_a_counter_without_an_end_has_none() -> None:
    course = follow("12it [00:03, 4.0it/s]", "iter 120: loss 2.3, time 123ms, mfu 12%")
    assert course.place is None


def test_epochs_from_zero_and_from_one() -> None:
    zero = follow("Epoch [0/10], Step [50/100], Loss: 1", "Epoch [9/10], Step [50/100], Loss: 1")
    one = follow("Epoch [1/10], Step [50/100], Loss: 1", "Epoch [10/10], Step [50/100], Loss: 1")
    later = follow("Epoch [7/10], Step [50/100], Loss: 1")
    assert zero.place is not None
    assert one.place is not None
    assert later.place is not None
    assert (zero.place.done, one.place.done) == (9.5, 9.5)
    assert (later.place.done, later.place.slack) == (6.5, 1.0)


def test_another_counter_takes_over_when_the_first_is_silent_for_long() -> None:
    course = follow(bar(300, 1000))
    follow(bar(3, 50), course=course, at=FOREIGN_SECONDS + 2)
    assert where(course)[2:] == (3, 50)
