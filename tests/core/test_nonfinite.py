"""A metric stays NaN or Inf until the same metric is finite again, whatever the counters do."""

from __future__ import annotations

import pytest
from judgement.nan_logs import FRAMEWORKS

from gpu_tui.core.alarms import Alarm, CellAlarms
from gpu_tui.core.findings import Severity
from gpu_tui.parse.log_reader import LogReader


class Log:
    """The alarms of one cell's log."""

    def __init__(self) -> None:
        self.alarms, self.reader, self.number = CellAlarms(), LogReader(), 0

    def write(self, text: str, at: float = 0.0, path: str = "a.log") -> Log:
        """Append text that was just written."""
        for line in self.reader.feed(text.encode()):
            self.alarms.take(line, self.number, path, at, live=True)
            self.number += not line.open
        return self

    @property
    def worst(self) -> Alarm:
        """The alarm that a person sees first."""
        return min(self.alarms.shown(), key=lambda alarm: alarm.severity.rank)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_only_a_finite_value_of_the_same_metric_ends_a_nan(
    name: str,
) -> None:
    lost, moves, back = FRAMEWORKS[name]
    log = Log().write(lost)
    assert log.worst.severity is Severity.SERIOUS
    for line in moves.splitlines(keepends=True):
        log.write(line)
        assert (log.worst.severity, log.worst.past) == (Severity.SERIOUS, False), line
    log.write(back)
    assert {(one.severity, one.past) for one in log.alarms.shown()} == {(Severity.WARN, True)}
    assert log.worst.again is not None
    log.write(lost)
    assert (log.worst.severity, log.worst.past, log.worst.again) == (Severity.SERIOUS, False, None)


ROWS = {
    "hf": "{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.5e-05, 'epoch': 0.0{n}}}\n",
    "hf whose epoch is rounded": "{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {n}e-05, 'epoch': 0.0}}\n",
    "keras": "Epoch {n}/20\n300/300 ━━━━━━━━━━━━━━━━━━━━ 20s 44ms/step - loss: nan - val_loss: nan\n",
    "ultralytics": "      {n}/100      4.52G        nan        nan        nan         23        640: 100%|██████████| 100/100 [00:10<00:00, 5.00it/s]\n",
    "nnU-Net": "2023-01-01 10:00:0{n}.123456: Epoch {n}\n2023-01-01 10:00:0{n}.123456: train_loss nan\n2023-01-01 10:00:0{n}.123456: val_loss nan\n",
    "megatron": " iteration      {n}00/    2500 | lm loss: NAN | loss scale: 1.0 | grad norm: NAN | number of nan iterations:   1 |\n",
    "timm": "Train: 3 [  {n}0/1251 (  4%)]  Loss: nan (nan)  Time: 0.3s, 100.00/s  (0.3s, 100.00/s)  LR: 1.000e-05\n",
    "xgboost": "[{n}]\ttrain-logloss:nan\teval-logloss:nan\n",
    "no counter": "loss: nan\n",
    "eight ranks": "".join(f"[rank{r}]: step {{n}} loss=nan\n" for r in range(8)),
    "epochs without a loss between": "Epoch {n}/20\nlr 0.1\nepoch {n}: loss=nan\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_each_report_in_a_row_counts_once(name: str) -> None:
    log = Log()
    for n in range(1, 9):
        log.write(ROWS[name].format(n=n))
        assert log.worst.lost is not None
        assert log.worst.lost.reports == n, n


@pytest.mark.parametrize(
    "line",
    [
        "step 8 auc=nan\n",
        "{'loss': 0.5, 'auc': nan}\n",
        "nan_iters: 0\n",
        "number of nan iterations:   0 | number of skipped iterations:   0\n",
        "best_loss: inf\n",
        "val_loss improved from inf to 0.5\n",
        "Epoch 00003: val_loss improved from inf to 0.51234, saving model to best.h5\n",
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n",
        "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n",
        "step 12 loss=0.5 grad_norm=inf\n",
        "EarlyStopping: best score inf\n",
        "max_duration: inf\n",
        "2023-01-01 10:00:00.123456: Pseudo dice [nan, 0.5]\n",
        "|    value_loss           | nan         |\n",
    ],
)
def test_a_line_that_does_not_alarm_alone_does_not_alarm_in_a_log(line: str) -> None:
    log = Log().write("step 7 loss=0.5\n" + line * 5 + "step 9 loss=0.5\n")
    assert [one.label for one in log.alarms.shown()] == []


def test_a_redrawn_bar_is_judged_by_its_last_state() -> None:
    def bar(step: int, loss: str) -> str:
        return f"\r{step}%|█████     | {step}/100 [00:10<00:12, 4.40it/s, loss={loss}]"

    log = Log().write(bar(1, "0.5") + bar(2, "nan") + bar(3, "nan"))
    assert log.worst.severity is Severity.SERIOUS
    log.write(bar(4, "nan") + bar(5, "nan"))
    assert (log.worst.severity, log.worst.lost and log.worst.lost.reports) == (Severity.SERIOUS, 2)
    log.write(bar(6, "nan") + bar(7, "0.5"))
    assert (log.worst.severity, log.worst.again) == (Severity.WARN, "step 7")
    log.write(bar(8, "nan") + bar(9, "nan"))
    assert (log.worst.severity, log.worst.past) == (Severity.SERIOUS, False)
    log.write(bar(10, "0.4") + "\n")
    assert log.worst.severity is Severity.WARN


def test_half_a_line_ends_no_nan() -> None:
    log = Log().write("{'loss': nan, 'grad_norm': nan, 'epoch': 0.1}\n")
    log.write("{'loss': 0.0, 'grad_norm': ")
    assert log.worst.severity is Severity.SERIOUS
    log.write("nan, 'epoch': 0.2}\n")
    assert log.worst.severity is Severity.SERIOUS


def test_another_rank_or_an_earlier_step_ends_no_nan() -> None:
    log = Log()
    for step in range(7, 12):
        log.write(f"[rank0]: step {step} loss=nan\n[rank1]: step {step} loss=0.5\n")
        log.write(f"[rank1]: step {step - 6} loss=0.7\n")
    assert log.worst.severity is Severity.SERIOUS
    assert log.worst.lost is not None
    assert log.worst.lost.reports == 5


def test_a_run_resumed_from_before_the_nan_recovers_at_its_third_finite_report() -> None:
    log = Log().write("".join(f"step {n}/900 loss nan\n" for n in range(500, 560, 10)))
    log.write("step 400/900 loss 0.5\nstep 410/900 loss 0.5\n")
    assert log.worst.severity is Severity.SERIOUS
    log.write("step 420/900 loss 0.5\n")
    assert log.worst.severity is Severity.WARN


def test_a_message_without_a_value_is_over_by_three_finite_losses() -> None:
    log = Log().write("step 7/90 loss 0.5\nWARNING: non-finite loss, ending training\n")
    log.write("step 8/90\nstep 9/90\nstep 10/90\nstep 11/90\n")
    assert log.worst.severity is Severity.SERIOUS
    log.write("step 12/90 loss 0.5\nstep 13/90 loss 0.5\n")
    assert log.worst.severity is Severity.SERIOUS
    log.write("step 14/90 loss 0.5\n")
    assert log.worst.severity is Severity.WARN
