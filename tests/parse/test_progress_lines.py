"""Progress: what real programs print, and the numbers that stand in it."""

from __future__ import annotations

import math
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.logs import Progress
from gpu_tui.parse.progress import parse_progress

REPORTS: list[tuple[str, dict[str, float | str]]] = [
    ("Epoch 3:  45%|████▌     | 450/1000 [01:23<01:41,  5.41it/s, v_num=0, train_loss=0.41]", {"epoch": 3, "step": 450, "steps": 1000, "loss": 0.41, "percent": 45, "elapsed_seconds": 83, "eta_seconds": 101, "rate_per_second": 5.41}),
    ("  5%|▌ | 50/1000 [01:02<20:10,  1.25s/it]{'loss': 0.4123, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': 0.32}", {"epoch": 0, "epoch_exact": 0.32, "step": 50, "steps": 1000, "loss": 0.4123, "lr": 4.9e-05, "percent": 5, "elapsed_seconds": 62, "eta_seconds": 1210, "rate_per_second": 0.8}),
    ("{'loss': '0.4123', 'learning_rate': '4.9e-05', 'epoch': '2'}", {"epoch": 2, "loss": 0.4123, "lr": 4.9e-05}),
    ("450it [01:23, 5.41it/s]", {"step": 450, "elapsed_seconds": 83, "rate_per_second": 5.41}),
    ("Downloading: 100%|████| 440M/440M [00:10<00:00, 42.1MB/s]", {"step": 440_000_000, "steps": 440_000_000, "percent": 100, "elapsed_seconds": 10, "eta_seconds": 0, "rate_per_second": 42_100_000, "phase": "load"}),
    ("  0%|          | 0/1000 [00:00<?, ?it/s]", {"step": 0, "steps": 1000, "percent": 0, "elapsed_seconds": 0}),
    ("Epochs:  10%|█         | 2/20 [00:30<04:30, 15.0s/it]", {"epoch": 2, "epochs": 20, "percent": 10, "elapsed_seconds": 30, "eta_seconds": 270, "rate_per_second": 1 / 15}),
    ("Epoch 3/20", {"epoch": 3, "epochs": 20}),
    (" 450/1563 [=======>......................] - ETA: 1:12 - loss: 0.4123 - accuracy: 0.8512", {"step": 450, "steps": 1563, "loss": 0.4123, "eta_seconds": 72}),
    ("1563/1563 [==============================] - 45s 25ms/step - loss: 0.41 - val_loss: 0.51", {"step": 1563, "steps": 1563, "loss": 0.41, "val_loss": 0.51, "elapsed_seconds": 45, "rate_per_second": 40}),
    (" 450/1563 ━━━━━━━━━━━━━━━━━━━━ 32s 25ms/step - accuracy: 0.8512 - loss: 0.4123", {"step": 450, "steps": 1563, "loss": 0.4123, "eta_seconds": 32, "rate_per_second": 40}),
    ("Epoch 3/9 ━━━━━━━━━━━━━━━━━━ 450/1000 0:01:23 • 0:01:41 5.41it/s v_num: 0.000 train_loss: 0.41", {"epoch": 3, "epochs": 9, "step": 450, "steps": 1000, "loss": 0.41, "elapsed_seconds": 83, "eta_seconds": 101, "rate_per_second": 5.41}),
    ("Epoch: [3][ 50/1000]  Time  0.123 ( 0.234)  Loss 4.1e-01 (5.2e-01)  Acc@1  45.31 ( 44.00)", {"epoch": 3, "step": 50, "steps": 1000, "loss": 0.41}),
    ("Train Epoch: 3 [12800/60000 (21%)]      Loss: 0.412345", {"epoch": 3, "step": 12800, "steps": 60000, "percent": 21, "loss": 0.412345}),
    ("07/01 10:00:00 - mmengine - INFO - Epoch(train)   [3][ 50/1000]  lr: 1.0e-03  eta: 8 days, 1:02:03  time: 0.51  memory: 1234  loss: 0.41  loss_cls: 0.2", {"epoch": 3, "step": 50, "steps": 1000, "loss": 0.41, "lr": 0.001, "eta_seconds": 694_923}),
    ("[07/01 10:00:00 d2.utils.events]:  eta: 1:02:03  iter: 19  total_loss: 1.234  loss_cls: 0.3  lr: 0.001  max_mem: 1234M", {"step": 19, "loss": 1.234, "lr": 0.001, "eta_seconds": 3723}),
    (" iteration      100/  500000 | elapsed time per iteration (ms): 1234.5 | learning rate: 1.500E-04 | lm loss: 9.812345E+00 | loss scale: 1.0 |", {"step": 100, "steps": 500_000, "loss": 9.812345, "lr": 1.5e-4}),
    ("iter 120: loss 2.3123, time 123.45ms, mfu 12.34%", {"step": 120, "loss": 2.3123}),
    ("step 250: train loss 2.3123, val loss 2.4123", {"step": 250, "loss": 2.3123, "val_loss": 2.4123}),
    ("      3/99      8.21G    0.04512    0.06712    0.02012        123        640: 100%|████| 100/100 [00:10<00:00,  9.51it/s]", {"epoch": 3, "epochs": 99, "step": 100, "steps": 100, "percent": 100, "elapsed_seconds": 10, "eta_seconds": 0, "rate_per_second": 9.51}),
    ("[0/25][100/1583]  Loss_D: 1.2345  Loss_G: 2.3456", {"epoch": 0, "epochs": 25, "step": 100, "steps": 1583}),
    ("| epoch   3 |   200/ 2983 batches | lr 5.00 | ms/batch 12.34 | loss  6.81 | ppl   908.96", {"epoch": 3, "step": 200, "steps": 2983, "lr": 5.0, "loss": 6.81}),
    ("Training loss (for one batch) at step 200: 0.9812", {"step": 200, "loss": 0.9812}),
    ("Epoch [1/5], Step [100/600], Loss: 0.4123", {"epoch": 1, "epochs": 5, "step": 100, "steps": 600, "loss": 0.4123}),
    ("ep 3/9 it 20/80 loss 1.5 eta 0:02:00", {"epoch": 3, "epochs": 9, "step": 20, "steps": 80, "loss": 1.5, "eta_seconds": 120}),
    ("100:    learn: 0.6931   test: 0.6932    total: 1.2s     remaining: 2m 3s", {"step": 100, "eta_seconds": 123}),
    ("epoch 179/400 train_loss=0.0041 val07-01 10:00:00,393 INFO train: epoch 184/400 train_loss=0.0041", {"epoch": 179, "epochs": 400, "loss": 0.0041}),
    ("Epoch [3/12] loss: 0.1 valEpoch [5/12] loss: 0.2", {"epoch": 3, "epochs": 12, "loss": 0.1}),
    ("Test set: Average loss: 0.0123, Accuracy: 9876/10000 (98.76%)", {"val_loss": 0.0123, "phase": "eval"}),
    ("Epoch 00003: val_loss improved from 0.51234 to 0.41234, saving model to best.h5", {"epoch": 3, "val_loss": 0.41234}),
    ("2026-01-02 10:00:00 INFO [100/1000] loss: 0.5 lr: 1e-4", {"step": 100, "steps": 1000, "loss": 0.5, "lr": 1e-4}),
    ("Beginning of Epoch 1/16, Total Micro Batches 1840", {"epoch": 1, "epochs": 16}),
    ("01/02 10:00:00 INFO loss    : 0.5, 100/1000", {"step": 100, "steps": 1000, "loss": 0.5}),
    ("iter 100/1000 [10%] loss=0.5 0.25 s/iteration", {"step": 100, "steps": 1000, "percent": 10, "loss": 0.5, "rate_per_second": 4}),
    ("finished 3/20 epochs, loss is np.float64(0.5)", {"epoch": 3, "epochs": 20}),
    ("3/20 epochs done, train loss: np.float64(0.5)", {"epoch": 3, "epochs": 20, "loss": 0.5}),
    ("Training progress: 45.5% complete, 4.0 batches/second", {"percent": 45.5, "rate_per_second": 4}),
    ("step: 10  loss: 8.1234  grad_norm: 1.2345  tps: 1,234  mfu: 12.34%", {"step": 10, "loss": 8.1234}),
    ("[trainer0|0]:1|54|Loss: 1.096:  54%|█████▍    | 55/101 [15:04<11:17, 14.73s/it]", {"epoch": 1, "step": 55, "steps": 101, "loss": 1.096, "percent": 54, "elapsed_seconds": 904, "eta_seconds": 677, "rate_per_second": 1 / 14.73}),
    ("(TaskRunner pid=87031) step:83 - actor/pg_loss:0.042 - actor/lr:2e-06 - training/global_step:83.000", {"step": 83, "lr": 2e-06}),
]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "Training done. best acc 0.934 @ epoch 5",
        "Best val acc: 0.934 (epoch 5)",
        "Best Acc@1 78.1 in epoch 5",
        "best val_loss=0.12, epoch=5",
        "Saved best model (epoch 5)",
    ],
)
def test_the_epoch_of_the_best_is_not_where_the_run_is(line: str) -> None:
    progress = parse_progress(line)
    assert progress is None or progress.epoch is None


@pytest.mark.parametrize(
    "line",
    [
        "loss 0.3 best 0.2 epoch 5",
        "best 0.93, epoch 5: loss 0.3",
        "(best 0.93) epoch 5/20",
        '{"best acc": 0.9, "epoch": 5}',
    ],
)
def test_an_epoch_beside_the_best_counts_where_the_line_reports(line: str) -> None:
    progress = parse_progress(line)
    assert progress is not None
    assert progress.epoch == 5


@pytest.mark.parametrize("value", ["nan", "NaN", "inf"])
def test_a_value_is_no_part_of_the_next_name(value: str) -> None:
    progress = parse_progress(f"[ep 4/40] it 0/200 loss={value} acc=0.1 lr=1e-4")
    assert progress is not None
    assert progress.metrics == {"acc": 0.1}


@pytest.mark.parametrize(("line", "numbers"), REPORTS)
def test_reports(line: str, numbers: dict[str, float | str]) -> None:
    progress = parse_progress(line)
    assert progress is not None
    seen = {item.name: getattr(progress, item.name) for item in fields(Progress)}
    del seen["metrics"]
    assert {name: value for name, value in seen.items() if value is not None} == pytest.approx(
        numbers
    )


@pytest.mark.parametrize(
    "line",
    [
        "  Num Epochs = 3",
        "  Total optimization steps = 1,000",
        "Namespace(batch_size=8, epochs=20, lr=0.001, loss='l1')",
        "max_epochs: 20",
        "learning_rate: 0.001",
        "saving /a/b/epoch=3-step=120.ckpt",
        "batch_size: 16",
        "Loss function: cross entropy",
        "",
        "[2026-01-01 10:00:00] INFO started",
        "slurmstepd: error: *** STEP 4947.0 ON n12 CANCELLED AT 2024-04-21T09:09:37 DUE TO TIME LIMIT ***",
        "srun: Terminating job step 3223.0",
        "[0] node0:1350:1357 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth",
        "Invalidate trace cache @ step 372: expected module 382, but got module 374",
    ],
)
def test_settings_are_no_reports(line: str) -> None:
    assert parse_progress(line) is None


def test_metrics_keep_their_printed_names() -> None:
    progress = parse_progress("Epoch 1 loss: 0.5 psnr: 31.4 val/ssim=0.91 grad_norm=inf")
    assert progress is not None
    assert progress.metrics == {"psnr": 31.4, "val/ssim": 0.91, "grad_norm": math.inf}


@pytest.mark.parametrize("word", ["nan", "NaN", "-nan", "nan(ind)"])
def test_a_nan_loss_stays_nan(word: str) -> None:
    progress = parse_progress(f"Epoch 5/100: loss={word}, acc=0.1")
    assert progress is not None
    assert progress.loss is not None
    assert math.isnan(progress.loss)


@given(st.text(max_size=300))
def test_any_text_is_read_without_harm(text: str) -> None:
    parse_progress(text)


ODD = ["1.2.0", "1..2", ".", "..", "1,2,3", "nan", "-inf", "1e999", "0", "9" * 20, "1:99", "?", "²"]
BOUNDED = ("percent", "elapsed_seconds", "eta_seconds", "rate_per_second")
ENDLESS = [
    "87% ━━━━━━━━━━── 220/253 4.0it/s 56.1s<8.2s",
    "step 3/10 steps_per_second: 3.5 loss: 0.3",
    "|    time_elapsed | 12 |",
]


@given(st.sampled_from(ENDLESS) | st.sampled_from([line for line, _ in REPORTS]), st.data())
def test_no_number_that_a_box_may_print_does_harm(line: str, data: st.DataObject) -> None:
    """The whole screen would go with the one who reads it."""
    for odd in data.draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=3)):
        places = list(re.finditer(r"[0-9][0-9.,]*", line)) or [re.match("", line)]
        place = data.draw(st.sampled_from(places))
        assert place is not None
        line = line[: place.start()] + odd + line[place.end() :]
        progress = parse_progress(line)
        values = [getattr(progress, name) for name in BOUNDED] if progress else []
        assert all(value is None or math.isfinite(value) for value in values)


@pytest.mark.parametrize(
    "line",
    [
        "87% ━━━━━━━━━━── 2.2.0/253 4.0it/s 56.1s<8.2s",
        "87% ━━━━━━━━━━── 2/2.5.3 4.0it/s 56.1s<8.2s",
        "step 3/10 steps_per_second: inf loss: 0.3",
        "{'loss': 0.3, 'train_steps_per_second': nan, 'steps_per_second': nan}",
        "|    time_elapsed | nan |",
    ],
)
def test_a_count_is_one_number_and_no_time_is_endless(line: str) -> None:
    progress = parse_progress(line)
    values = [getattr(progress, name) for name in BOUNDED] if progress else []
    assert all(value is None or math.isfinite(value) for value in values)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.floats(0, 1e3), st.floats(0.01, 1e3))
def test_a_bar_gives_back_what_was_printed(step: int, steps: int, loss: float, rate: float) -> None:
    line = f" 5%|#| {step}/{steps} [00:10<00:20, {rate:.2f}it/s, loss={loss:.4g}]"
    progress = parse_progress(line)
    assert progress is not None
    assert (progress.step, progress.steps) == (step, steps)
    assert progress.loss == pytest.approx(float(f"{loss:.4g}"))
    assert progress.rate_per_second == pytest.approx(float(f"{rate:.2f}"))


@given(st.integers(0, 10**6))
def test_a_total_is_never_made_up(step: int) -> None:
    progress = parse_progress(f"step {step} loss 0.5")
    assert progress is not None
    assert (progress.step, progress.steps, progress.epoch, progress.percent) == (
        step,
        None,
        None,
        None,
    )


def test_a_bar_that_names_what_remains_and_what_elapsed() -> None:
    at = "02:16:02.847 [I] Progress on: 1.02kit/200kit rate:6.5s/it remaining:363:03:01 elapsed:12:59 postfix:- (84:tqdm_logging.py:145)"
    read = parse_progress(at)
    assert read is not None
    assert (read.step, read.steps) == (1020, 200_000)
    assert (read.elapsed_seconds, read.eta_seconds) == (779.0, 1_306_981.0)
    assert read.rate_per_second == pytest.approx(1 / 6.5)
    assert read.metrics == {}


def test_what_is_before_a_named_time_is_another_one() -> None:
    read = parse_progress("step 40 remaining:39:12 elapsed:12:59")
    assert read is not None
    assert (read.eta_seconds, read.elapsed_seconds) == (39 * 60 + 12, 12 * 60 + 59)


def test_a_size_per_step_counts_no_step() -> None:
    assert parse_progress("Tokens / optimizer step : 32,768") is None


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("[main.py][line:104][INFO] [Epoch:1/50]: AUC:0.7909", {"AUC": 0.7909}),
        ("0%|          | 0/100005 [00:00<?, ?it/s]08/21 INFO | >> Saved statistics    data_utils.py:284", {}),
        ("Total Loss: tensor(32.3850, device='cuda:0', grad_fn=<AddBackward0>)", {}),
        ("Loading safetensors checkpoint shards:   0% Completed | 0/7 [00:00<?, ?it/s]", {}),
        ("Resolving deltas: 100% (820/820), done.", {}),
        ("acc: 93.5% loss: 0.2", {"acc": 93.5}),
    ],
)  # fmt: skip
def test_places_in_a_program_and_shares_of_a_bar_are_no_metrics(
    line: str, metrics: dict[str, float]
) -> None:
    read = parse_progress(line)
    assert read is not None
    assert read.metrics == metrics


def test_the_mean_over_the_run_in_the_summary_of_hf_is_no_last_loss() -> None:
    said = parse_progress(
        "{'train_runtime': 812.3, 'train_steps_per_second': 0.77, 'train_loss': 1.234, 'epoch': 3.0}"
    )
    assert said is not None
    assert (said.loss, said.epoch, said.metrics["train_loss"]) == (None, 3, 1.234)
    said = parse_progress("{'train_loss': 0.5, 'epoch': 2.98}")
    assert said is not None
    assert said.loss == 0.5


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("(main_task pid=51520) step:5 - actor/kl_loss:0.071 - mfu/actor:0.083", {"actor/kl_loss", "mfu/actor"}),
        ("INFO: 8epoch:train:2901-3000batch: loss=1.7, acc=0.013", {"acc"}),
    ],
)  # fmt: skip
def test_the_number_of_a_process_and_a_range_of_batches_are_no_metrics(
    line: str, metrics: set[str]
):
    progress = parse_progress(line)
    assert progress is not None
    assert set(progress.metrics) == metrics


@pytest.mark.parametrize(
    ("line", "loss"),
    [
        ("loss: 0.3512:  10%|█ | 1/10 [00:01<00:09,  1.00s/it]", 0.3512),
        ("Epoch 3 train loss 0.35: 12it [00:03, 4.0it/s]", 0.35),
        ("[Epoch 4: 26/34] loss: nan:   0% 120/9999 [01:09<1:48:21,  1.77it/s]", math.nan),
        ("[Epoch 3/9, Batch 2/99] [Losses: x 0.31, y 0.21, total 0.52]", 0.52),
        ("[Epoch 3/9, Batch 2/99] [Losses: x nan, y 0.21, total nan, recall: 0.1]", math.nan),
        ("step 12 loss: Array(0.25, dtype=float32)", 0.25),
        ("step 12 loss: np.float32(nan)", math.nan),
    ],
)
def test_the_loss_of_a_description_before_its_bar_and_of_a_list(line: str, loss: float) -> None:
    read = parse_progress(line)
    assert read is not None
    assert read.loss == pytest.approx(loss, nan_ok=True)


@pytest.mark.parametrize(
    "line",
    [
        "5%| | 5/99 [00:01<00:09, 1.0it/s]WARNING:tensorboardX.x2num:NaN or Inf found in input tensor.",
        "step 4 loss 0.5 at acc: 12:30:01",
    ],
)
def test_words_and_clocks_behind_a_name_are_no_metrics(line: str) -> None:
    read = parse_progress(line)
    assert read is not None
    assert read.metrics == {}
