"""What a trainer's banner says of the whole way, and when it is believed."""

from __future__ import annotations

import pytest

from gpu_tui.core.course import Course
from gpu_tui.core.plan import Plan
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.progress_plan import may_plan, parse_plan

BANNER = """\
***** Running training *****
  Num examples = 1,200
  Num Epochs = 4
  Instantaneous batch size per device = 16
  Total train batch size (w. parallel, distributed & accumulation) = 16
  Gradient Accumulation steps = 1
  Total optimization steps = 300
  Number of trainable parameters = 124,439,808
"""
UNSLOTH = r"""
==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1
   \\   /|    Num examples = 51,760 | Num Epochs = 1 | Total steps = 60
O^O/ \_/ \    Batch size per device = 2 | Gradient accumulation steps = 4
\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8
"""
EVALUATION = "***** Running Evaluation *****\n  Num examples = 100\n  Batch size = 8"


def feed(text: str, course: Course | None = None) -> Course:
    """Lines as the store takes them."""
    course = course or Course()
    for line in text.splitlines():
        if (progress := parse_progress(line)) is not None:
            course.take(progress, 0.0)
        elif (plan := parse_plan(line)) is not None:
            assert may_plan(line.encode())
            course.announce(plan)
    return course


def row(epoch: float) -> str:
    return f"{{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': {epoch}}}\n"


def bar(step: int, steps: int) -> str:
    return f"{100 * step // steps}%|##  | {step}/{steps} [00:10<00:20, 4.0it/s]\n"


def where(course: Course) -> tuple[int | None, int | None, int | None, int | None]:
    now = course.progress
    return now.epoch, now.epochs, now.step, now.steps


@pytest.mark.parametrize(
    ("line", "plan"),
    [
        ("  Num Epochs = 4", Plan(epochs=4)),
        ("[INFO|trainer.py:2134] 2025-05-01 10:00:00,123 >>   Num Epochs = 3", Plan(epochs=3)),
        ("  Total optimization steps = 1,875", Plan(steps=1875)),
        ("Num examples = 51,760 | Num Epochs = 1 | Total steps = 60", Plan(1, 60, 51_760)),
        ("  Num Epochs = 9,223,372,036,854,775,807", None),  # of a stream without a length
        ("  Num Epochs = 0", None),
        ("  num_epochs = 4", None),
        ("  Num Epochs = 4.5", None),
        ("***** Running training *****", None),
    ],
)
def test_what_a_line_of_a_banner_says(line: str, plan: Plan | None) -> None:
    assert parse_plan(line) == plan
    assert parse_progress(line) is None  # it is no report


def test_the_epochs_of_the_banner_are_the_end_of_the_rows() -> None:
    course = feed(BANNER)
    assert where(course) == (None,) * 4  # nothing has counted yet
    feed(row(0.32), course)
    assert where(course) == (0, 4, None, None)
    assert course.place is not None
    assert course.place.total == 4.0
    feed(row(1.4) + EVALUATION + "\n" + row(2.5), course)
    assert where(course) == (2, 4, None, None)
    assert course.restarts == 0


def test_a_later_run_of_the_same_log_has_its_own_totals() -> None:
    course = feed(BANNER + row(0.32) + row(2.9))
    feed(
        "***** Running training *****\n  Num Epochs = 10\n  Total optimization steps = 750", course
    )
    assert where(course) == (2, 4, None, None)  # the first run, until the second one counts
    feed(row(0.5), course)
    assert where(course) == (0, 10, None, None)
    assert course.restarts == 1


def test_a_run_that_is_taken_up_again_keeps_its_place_under_the_new_end() -> None:
    course = feed(BANNER + row(2.9) + BANNER.replace("= 4", "= 8").replace("= 300", "= 600"))
    feed(row(3.1), course)
    assert where(course) == (3, 8, None, None)
    assert course.restarts == 0


def test_the_bar_of_the_announced_run_is_not_foreign() -> None:
    course = feed(BANNER + bar(120, 300))
    assert where(course) == (None, 4, 120, 300)
    feed(BANNER.replace("= 300", "= 1200").replace("= 4", "= 16") + bar(0, 1200), course)
    assert where(course) == (None, 16, 0, 1200)


def test_epochs_that_the_run_does_not_reach_are_no_end() -> None:
    course = feed(UNSLOTH + row(0.01))
    assert where(course) == (0, None, None, None)


@pytest.mark.parametrize(
    ("accumulation", "steps"), [(1, 300), (4, None)]
)  # a step in a line of its own may be one of the passes of an optimizer's step
def test_steps_of_the_banner_are_the_end_of_steps_that_count_alone(
    accumulation: int, steps: int | None
) -> None:
    banner = BANNER.replace("Accumulation steps = 1", f"Accumulation steps = {accumulation}")
    course = feed(banner + "step 20 loss 0.5\n")
    assert where(course) == (None, 4, 20, steps)
    course = feed(banner + "epoch 1 step 20 loss 0.5\n")
    assert where(course) == (1, 4, 20, None)
