"""Numbers that are not read as metrics: parts of numbers, numbers with a unit, values of another data set."""

from __future__ import annotations

import pytest

from gpu_tui.parse.progress import parse_progress

NONE: dict[str, float] = {}


def read(line: str) -> dict[str, float]:
    """The numbers that are read from a line, by name."""
    said = parse_progress(line)
    if said is None:
        return {}
    fields = {
        "loss": said.loss,
        "val_loss": said.val_loss,
        "lr": said.lr,
        "step": said.step,
        "epoch": said.epoch,
    }
    return {name: value for name, value in {**fields, **said.metrics}.items() if value is not None}  # fmt: skip


@pytest.mark.parametrize("between", [": : ", " : : ", ":: ", ": ", " : ", " :: "])
@pytest.mark.parametrize("unit", ["it", "batch"])
@pytest.mark.parametrize("name", ["Loss ", "loss=", "train loss: "])
def test_a_description_that_ends_in_a_number_keeps_it_whole(
    name: str, between: str, unit: str
) -> None:
    said = read(f"{name}0.138{between}0{unit} [00:00, ?{unit}/s]")
    assert said.get("loss", 0.138) == 0.138
    assert unit == "batch" or said["loss"] == 0.138
    assert said["step"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "step 5 loss 0.138s", "step 5 loss: 0.138ms", "step 5 loss 0.138x", "step 5 loss 0.1.3", "step 5 loss 0.5-0.7",
        "step 5 loss: 12:30", "step 5 loss 12:30", "step 5 loss 2024-05-01", "step 5 loss: 0.2MB", "step 5 loss 3h 10m",
        "step 5 loss 0.5 s", "step 5 lr 1e-4x",
    ],
)  # fmt: skip
def test_a_part_of_a_number_is_not_read(line: str) -> None:
    assert read(line) == {"step": 5}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Training step0: 10 epochs", NONE),
        ("Training step1: 20 epochs, then step2: 5 epochs", NONE),
        ("step 5 loss 0.5 stage2: 10 epochs", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 gpu0: 45 C", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 mem: 8.3 GB", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 fetch: 0.02 s", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 fetch: 0.02 s/iter", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 wait: 2.0264 s max mem: 18140 MB", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 load: 0.0011 s/iter. Infer: 0.0435 s/iter. Eval", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 seen: 12000 samples", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5 warmup: 3 epochs", {"step": 5, "loss": 0.5}),
        ("Train: 3 [  32/33 (100%)]  Loss: 1.336 (4.00)", {"epoch": 3, "step": 32, "loss": 1.336}),
        ("Early stopping, best iteration is: [120]", NONE),
        # Innocent: a name after a number is no unit.
        ("step 5 acc: 0.5 epoch: 3", {"step": 5, "epoch": 3, "acc": 0.5}),
        ("step 5 acc: 0.5 samples: 12", {"step": 5, "acc": 0.5, "samples": 12.0}),
        ("loss: 0.5 step 7", {"loss": 0.5, "step": 7}),
        ("1/16, train_loss: 0.6828 step time: 0.8478", {"loss": 0.6828, "step": 1, "step time": 0.8478}),
        ("step 5 acc: 0.5 samples per second: 30.5", {"step": 5, "acc": 0.5}),
        ("step 5 seen: 12 samples per second: 30.5", {"step": 5, "seen": 12.0}),
        ("loss: 0.5 it 7/10", {"loss": 0.5, "step": 7}),
        ("loss: 2.303494  [   64/60000]", {"loss": 2.303494, "step": 64}),
        ("step0: loss 0.5", {"step": 0, "loss": 0.5}),
        ("epoch 3 step0: acc 0.5", {"epoch": 3, "step": 0, "acc": 0.5}),
        ("step 5 loss 1,234.5", {"step": 5, "loss": 1234.5}),
        ("step 5 loss 0.5.", {"step": 5, "loss": 0.5}),
        ("step 5 loss 0.5, acc 93.5%", {"step": 5, "loss": 0.5, "acc": 93.5}),
    ],
)  # fmt: skip
def test_a_number_of_a_unit_is_no_metric(line: str, said: dict[str, float]) -> None:
    assert read(line) == said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("training's auc: 0.99\tvalid_0's auc: 0.91", {"train_auc": 0.99, "auc": 0.91}),
        ("valid_0's auc: 0.91\ttraining's auc: 0.99", {"train_auc": 0.99, "auc": 0.91}),
        ("train's l2: 0.12\tvalid's l2: 0.15", {"train_l2": 0.12, "l2": 0.15}),
        ("training's l2: 0.12", {"train_l2": 0.12}),
        ("training's binary_logloss: 0.31\tvalid_1's binary_logloss: 0.35", {"train_binary_logloss": 0.31, "binary_logloss": 0.35, "val_loss": 0.35}),
        ("valid_0's rmse: 0.5\tvalid_1's rmse: 0.6", {"rmse": 0.5, "valid_1_rmse": 0.6}),
        ("cv_agg's train auc: 0.99 + 0.01\tcv_agg's valid auc: 0.81 + 0.02", {"train_auc": 0.99, "auc": 0.81}),
        ("cv_agg's auc: 0.81 + 0.02", {"auc": 0.81}),
        ("train-logloss:0.31\teval-logloss:0.35", {"train-logloss": 0.31, "eval-logloss": 0.35, "val_loss": 0.35}),
        ("validation_0-logloss:0.17655\tvalidation_0-aucpr:0.99719", {"validation_0-logloss": 0.17655, "validation_0-aucpr": 0.99719, "val_loss": 0.17655}),
        # Nothing shows which of the two is the training set.
        ("validation_0-logloss:0.1\tvalidation_1-logloss:0.2", {"validation_0-logloss": 0.1, "validation_1-logloss": 0.2}),
    ],
)  # fmt: skip
def test_a_bare_name_is_the_validation_sets(row: str, said: dict[str, float]) -> None:
    assert read(f"[10]\t{row}") == {"step": 10, **said}
    assert read(f"[10]     {row}".replace("\t", "     ")) == {"step": 10, **said}
    assert read(f"2026-05-01 10:00:00 [11]\t{row}").items() >= said.items()


def test_a_row_of_fastai_is_read_without_its_header() -> None:
    row = "0         0.112140    0.006432    0.002030    02:38"
    assert read(row) == {"epoch": 0, "loss": 0.11214, "val_loss": 0.006432}
    assert read("12        0.112140    None        02:38") == {"epoch": 12, "loss": 0.11214}
    assert read("0         0.112140    0.006432    0.002030") == {}
