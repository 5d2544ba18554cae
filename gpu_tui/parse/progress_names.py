"""Names with values: `loss: 0.4`, `lr=1e-4`, rows of tables -> losses, the rate of learning, metrics."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from gpu_tui.parse import progress_forms as forms
from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_draft import Draft

MOST_METRICS = 64
NAMES_KEPT = 1024
PHASES = ("train", "val", "valid", "validation", "eval", "test")
TRAINED = ("training", "train")
LEADS = (
    "info",
    "debug",
    "warning",
    "trainer",
    "with",
    "and",
    "the",
    "current",
    "done",
    "nan",
    "inf",
)  # no part of a name: `loss=nan acc=0.1` prints an `acc`


def read_names(text: str, draft: Draft) -> None:
    """Read every name with a value; of several that mean the same, the surest counts."""
    pairs: list[tuple[str, str | None, int]] = []
    boosted = draft.find(forms.BOOSTED_ROW, "'s ", "-")
    if boosted:
        pairs += _boosted(text, boosted.end() - 1)
        draft.report = True
        draft.count("step", boosted["step"])
    for match in () if boosted else forms.NAMED.finditer(text):
        if "." not in match["value"] and forms.COUNTED.match(text, match.end("value")):
            continue
        if words_before := _name_before(text, match.start()):
            pairs.append((_joined(words_before), match["value"], match.start()))
    pairs += [
        (match["name"], match["value"], match.start())
        for match in (forms.SPACED.finditer(text) if draft.signs.any(forms.SPACED_SIGNS) else ())
    ]
    if part := draft.find(forms.ON_SET, "on ", "of ", "for "):
        pairs.append((part["name"], part["value"], part.start()))
    if row := forms.TABLE_ROW.match(text):
        pairs.append((row["name"].strip(), row["value"], 0))
        draft.report = True
        _read_row(row["name"].strip(), row["value"], draft)
    if dark := draft.find(forms.DARKNET, " avg"):
        pairs += [(name, dark[name], dark.start()) for name in ("loss", "lr")]
    if row := draft.find(forms.FASTAI, "      "):
        pairs += [("train_loss", row["loss"], 0)]
        if row["checked"] != "None":
            pairs += [("val_loss", row["checked"], 0)]
    if checked := draft.find(forms.VALIDATED, "loss "):
        pairs.append(("val_loss", checked["value"], 0))
    for form in (forms.LOSS_TRAIN, forms.TUNE, forms.AT_STEP, forms.LOSSES_TOTAL):
        if found := draft.find(form, "loss train", "|loss", " at ", "[losses: "):
            pairs.append(("train_loss", found[found.re.groups], found.start()))
    if better := draft.find(forms.IMPROVED, "improved from"):
        pairs.append(("val_loss", better["value"], better.start()))
    if draft.find(forms.CURRENT_RATE, "current l"):
        draft.report = True
    summed_up = "train_runtime" in draft.low
    best: dict[str, int] = {}
    for name, printed, at in pairs:
        if printed is None:
            continue
        value = words.number(printed)
        key = words.normal(name)
        field_name, rank = _field_of(key, text[:at])
        if summed_up and field_name == "loss":
            field_name = None  # the mean over the whole run, which is no last loss
        if field_name in ("loss", "val_loss"):
            draft.report = True
        if field_name:
            if rank < best.get(field_name, 999):
                best[field_name] = rank
                draft.floats[field_name] = value
        elif key in words.SPEED_NAMES:
            draft.value("rate", printed, words.number)
        elif (
            key not in forms.PLAIN_TIMES
            and len(draft.metrics) < MOST_METRICS
            and not _is_place(name)
            and (key not in PHASES or "." in printed)  # timm's `Train: 3 [` counts epochs
        ):
            if name not in draft.metrics:
                draft.metrics[name] = value
            fraction = "." in printed or not math.isfinite(value)
            if fraction and _known_metric(key):
                draft.report = True


def _name_before(text: str, end: int) -> re.Match[str] | None:
    """The name that ends before `end`, of at most two words."""
    start = max(0, end - 84)
    before = text[start:end].rstrip()
    last = before.rfind(" ", 0, max(0, before.rfind(" ")))
    return forms.NAME.search(before, last + 1)


def _boosted(text: str, start: int) -> list[tuple[str, str | None, int]]:
    """The metrics of a boosting round (LightGBM, XGBoost). A bare name is the first validation set's; the log loss of a
    single validation set is the `val_loss`.
    """
    found = [*forms.BOOSTED.finditer(text, start)]
    trains = [one["set"] in TRAINED or one["part"] == "train" for one in found]
    checked = [one["set"] for one, train in zip(found, trains, strict=True) if not train]
    pairs: list[tuple[str, str | None, int]] = []
    for one, train in zip(found, trains, strict=True):
        name, value = one["name"], one["value"]
        if one["mark"] == "-":
            pairs.append((f"{one['set']}-{name}", value, one.start()))
        elif train:
            pairs.append((f"train_{name}", value, one.start()))
        else:
            first = one["set"] == checked[0]
            pairs.append((name if first else f"{one['set']}_{name}", value, one.start()))
        if not train and name.endswith("logloss") and len(set(checked)) == 1:
            pairs.append(("val_loss", value, one.start()))
    return pairs


def _joined(name: re.Match[str]) -> str:
    """The printed name: one word, or two where the last one alone says too little."""
    lead, last = name["lead"], name["last"]
    own = lead and lead.lower() not in LEADS and not lead.endswith("/s")
    if own and words.normal(last) in forms.TWO_WORDS:
        return f"{lead} {last}"
    return last


def _field_of(key: str, before: str) -> tuple[str | None, int]:
    """The field of a normalised name and its rank, (None, 0) where it is a metric."""
    if key in words.LOSS and key not in words.VAL_LOSS:
        near = before[-160:]
        if forms.VALIDATING.search(near) and not forms.TRAINING.search(near):
            return "val_loss", 50 + words.LOSS.index(key)
    return _field_of_name(key)


@lru_cache(NAMES_KEPT)
def _field_of_name(key: str) -> tuple[str | None, int]:
    if key in words.VAL_LOSS:
        return "val_loss", words.VAL_LOSS.index(key)
    stem = next((word for word in words.LOSS if key == word or key.endswith("_" + word)), None)
    if key in words.LOSS:
        return "loss", words.LOSS.index(key)
    if key in words.RATE_NAMES:
        return "lr", words.RATE_NAMES.index(key)
    if stem == "loss" and key.split("_")[0] in (
        "training",
        "train",
        "epoch",
        "step",
        "mean",
        "reporting",
    ):
        return "loss", 90
    return None, 0


@lru_cache(NAMES_KEPT)
def _is_place(name: str) -> bool:
    return forms.PLACES.search(name) is not None


@lru_cache(NAMES_KEPT)
def _known_metric(key: str) -> bool:
    if key in words.METRICS:
        return True
    for prefix in words.CALLED_PREFIX:
        if key.startswith(prefix) and key.removeprefix(prefix) in words.METRICS:
            return True
    return False


def _read_row(name: str, value: str | None, draft: Draft) -> None:
    """Rows that count: `|    total_timesteps | 3584 |`."""
    if name == "time_elapsed":
        draft.value("elapsed", value, words.number)
    elif value and name in ("total_timesteps", "step", "steps"):
        count = words.number(value)
        if math.isfinite(count) and count >= 0 and "step" not in draft.ints:
            draft.ints["step"] = round(count)
