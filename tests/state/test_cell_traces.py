"""Whole logs through the real reader: where a run is, and when it ends."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gpu_tui.core.eta import Eta
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.traces import CellTrace

Written = tuple[float, str]  # when, and what


def play(log: Iterable[Written], trace: CellTrace | None = None) -> CellTrace:
    """Each text arrives the moment it is written, as one chunk."""
    trace, reader = trace or CellTrace(), LogReader()
    for at, text in log:
        for line in reader.feed(text.encode()):
            trace.take(line, at)
    return trace


def bar(step: int, steps: int, title: str = "") -> str:
    return f"\r{title}{100 * step // steps:3d}%|##  | {step}/{steps} [00:10<00:20,  1.00it/s]"


def trainer(steps: int, *, pace: float, every: int, evaluation: float) -> Iterable[Written]:
    """A bar over all steps, a dictionary now and then, and an evaluation with a bar of its own."""
    at = 0.0
    for step in range(1, steps + 1):
        at += pace
        yield at, bar(step, steps)
        if step % 10 == 0:
            part = step / steps * 3
            yield (
                at,
                f"\r{{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': {part:.2f}}}\n",
            )
        if step % every == 0:
            for batch in range(1, 26):
                at += evaluation / 25
                yield at, bar(batch, 25)
            yield (
                at,
                f"\r{{'eval_loss': 1.2, 'eval_runtime': 9.0, 'epoch': {step / steps * 3:.2f}}}\n",
            )


def keras(epochs: int, steps: int, *, pace: float, pause: float) -> Iterable[Written]:
    at = 0.0
    for epoch in range(1, epochs + 1):
        yield at, f"\nEpoch {epoch}/{epochs}\n"
        for step in range(1, steps + 1):
            at += pace
            yield (
                at,
                f"\r {step}/{steps} [=====>......................] - ETA: 0:12 - loss: 0.41",
            )
        at += pause
    yield at, "\ntraining is over\n"


def yolo(epochs: int, steps: int, *, pace: float, checks: int) -> Iterable[Written]:
    at = 0.0
    for epoch in range(1, epochs + 1):
        yield at, "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        head = f"      {epoch}/{epochs}      6.73G      1.081     0.4706      1.084         10        640:"
        for step in range(1, steps + 1):
            at += pace
            yield at, f"\r{bar(step, steps, head)}"
        for check in range(1, checks + 1):
            at += pace
            yield (
                at,
                f"\r{bar(check, checks, '   Class     Images  Instances      Box(P     mAP50):')}",
            )
        yield at, "\n                   all        722       1444      0.989       0.99\n"


LOGS = {
    "trainer": list(trainer(3000, pace=0.5, every=300, evaluation=60.0)),
    "keras": list(keras(10, 200, pace=0.8, pause=45.0)),
    "yolo": list(yolo(20, 60, pace=0.7, checks=25)),
}


def told(trace: CellTrace, now: float) -> Eta:
    eta = trace.eta.estimate(now)
    assert eta is not None
    return eta


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("part", [0.35, 0.55, 0.85])
def test_the_end_is_foretold_within_a_tenth(name: str, part: float) -> None:
    log = LOGS[name]
    end = log[-1][0]
    seen = [written for written in log if written[0] <= part * end]
    trace = play(seen)
    now = seen[-1][0]
    assert told(trace, now).seconds == pytest.approx(end - now, rel=0.1)


@pytest.mark.parametrize("name", LOGS)
def test_neither_evaluation_nor_epoch_is_a_restart(name: str) -> None:
    assert play(LOGS[name]).course.restarts == 0


def test_a_second_attempt_in_one_log_begins_anew() -> None:
    first = LOGS["trainer"][:2500]
    later = first[-1][0] + 500
    again = [(later + at, text) for at, text in trainer(3000, pace=2.0, every=300, evaluation=60.0)]
    trace = play(again[:60], play(first))
    assert trace.course.restarts == 1
    assert trace.progress.step is not None
    assert trace.progress.step < 100
    left = (3000 - trace.progress.step) * 2.0
    assert told(trace, again[59][0]).seconds == pytest.approx(left, rel=0.1)


def test_what_was_there_before_we_came_says_where_but_not_how_fast() -> None:
    trace, reader = CellTrace(), LogReader()
    text = "".join(text for _, text in LOGS["keras"][:900])
    for line in reader.feed(text.encode()):
        trace.take(line, 1000.0, live=False)
    assert trace.progress.epoch is not None
    assert trace.eta.estimate(1000.0) is None


def test_a_run_that_two_logs_tell_of_one_behind_the_other_does_not_begin_anew() -> None:
    trace, queue, own = CellTrace(), LogReader(), LogReader()
    lines = [
        f"[Epoch {epoch}/8] train_loss={1 / epoch:.4f} val_loss=0.5 psnr=2{epoch}.0\n".encode()
        for epoch in range(1, 6)
    ]
    for at, text in enumerate([*lines, b""]):
        for line in queue.feed(text):
            trace.take(line, float(at), log="q1_master.log")
        for line in own.feed(lines[at - 1] if at else b""):
            trace.take(line, at + 0.5, log="cell.log")
    assert trace.course.restarts == 0
    assert [value for _, value in trace.by_step][:2] == [1.0, 0.5]
    for line in own.feed(lines[0]):  # the queue's log says nothing of this: it is another attempt
        trace.take(line, 100.0, log="cell.log")
    assert trace.course.restarts == 1


def test_an_attempt_that_begins_anew_in_the_log_that_led_is_one_at_once() -> None:
    trace = play([(1.0, "[Epoch 5/8] train_loss=0.5\n"), (2.0, "[Epoch 1/8] train_loss=0.9\n")])
    assert trace.course.restarts == 1
