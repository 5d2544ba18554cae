"""One line of a training log -> how far the work has come, and its numbers. Nothing is ever guessed:
a total, a rate or an end that is not printed stays None.

Reading goes from the most certain form to the least: bars, then counters with words, then names with
values. A dump of settings holds names with values too, so a line counts only when it shows a counter,
a rate, a loss or a well-known metric.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from gpu_tui.core.logs import Progress
from gpu_tui.parse import progress_forms as forms
from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_words import COUNT

LONGEST = 8192  # characters; the end of a longer line is read
MOST_METRICS = 64


@dataclass(slots=True)
class _Draft:
    """The line and what was found in it so far. The first finding of a field stays."""

    text: str
    low: str
    ints: dict[str, int] = field(default_factory=dict)
    floats: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    report: bool = False  # something that only a report shows

    def find(self, pattern: re.Pattern[str], *signs: str) -> re.Match[str] | None:
        """Search, where one of `signs` (lower case) says that it can be worth the time."""
        return pattern.search(self.text) if any(sign in self.low for sign in signs) else None

    def count(self, name: str, text: str | None) -> None:
        if text and text[0].isdigit() and name not in self.ints:
            self.ints[name] = words.count(text.replace(",", ""))

    def value(self, name: str, value: float | None) -> None:
        if value is not None and name not in self.floats:
            self.floats[name] = value

    def epoch(self, text: str) -> None:
        if "epoch" not in self.ints:
            self.ints["epoch"] = math.floor(float(text))
            if "." in text:
                self.floats["epoch_exact"] = float(text)


def parse_progress(line: str) -> Progress | None:
    """What `line` (one segment, already safe text) reports, or None."""
    text = line[-LONGEST:]
    low = text.lower()
    if (
        not any(sign in low for sign in forms.SIGNS)
        or forms.SETTINGS.search(text)
        or forms.LOOKING_BACK.search(text)
    ):
        return None
    draft = _Draft(text, low)
    _read_bars(text, draft)
    _read_counters(text, draft)
    _read_times(draft)
    _read_names(text, draft)
    if not draft.report:
        return None
    ints, floats = draft.ints, draft.floats
    return Progress(
        epoch=ints.get("epoch"),
        epochs=ints.get("epochs"),
        step=ints.get("step"),
        steps=ints.get("steps"),
        loss=floats.get("loss"),
        val_loss=floats.get("val_loss"),
        lr=floats.get("lr"),
        percent=floats.get("percent"),
        elapsed_seconds=floats.get("elapsed"),
        eta_seconds=floats.get("eta"),
        rate_per_second=floats.get("rate"),
        metrics=draft.metrics,
        epoch_exact=floats.get("epoch_exact"),
    )


def _read_bars(text: str, draft: _Draft) -> None:
    match = None
    if "%|" in text:
        # The last bar of the segment is the one on the screen.
        match = next(reversed(list(forms.BAR.finditer(text))), None)
        if match is None and (percent := re.search(r"([0-9]{1,3})%\|", text)):
            draft.value("percent", float(percent[1]))
            draft.report = True
    if match is None and "━" in text:
        match = forms.RICH.search(text)
        if match is None and (percent := forms.RICH_PERCENT.search(text)):
            draft.value("percent", float(percent["percent"]))
            draft.value("eta", words.seconds(percent["eta"] or "?"))
            draft.report = True
    if match is None and " [" in text:
        match = forms.ENDLESS.search(text)
    if match is None:
        _read_keras(text, draft)
        return
    draft.report = True
    found = match.groupdict()
    over_epochs = (found["unit"] or "").strip().startswith(("epoch", "s/epoch")) or re.search(
        r"(?:^|\s)epochs?:\s*$", text[: match.start()], re.IGNORECASE
    )
    step, steps = ("epoch", "epochs") if over_epochs else ("step", "steps")
    draft.count(step, found["step"])
    draft.count(steps, found.get("steps"))
    if found.get("percent"):
        draft.value("percent", float(found["percent"]))
    draft.value("elapsed", words.seconds(found["elapsed"]))
    draft.value("eta", words.seconds(found.get("eta") or "?"))
    draft.value("rate", _rate(found["rate"], found["unit"]))


def _rate(rate: str | None, unit: str | None) -> float | None:
    """Units per second of `5.41it/s` or `1.20s/it`."""
    if not rate or not re.fullmatch(COUNT, rate):
        return None
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(rate[-1], 1.0)
    value = float(rate.rstrip("kMGT")) * scale
    if unit and unit.startswith("s/"):
        return 1.0 / value if value else None
    return value


def _read_keras(text: str, draft: _Draft) -> None:
    match = forms.KERAS.search(text)
    if match is None:
        return
    draft.report = True
    draft.count("step", match["step"])
    draft.count("steps", match["steps"])
    tail = forms.KERAS_TAIL.search(text, match.end(), match.end() + 40)
    if tail is None:
        return
    ended = match["step"] == match["steps"] or match["bar"].startswith("-")
    draft.value("eta", words.seconds(tail["eta"] or "?"))
    if tail["time"]:
        running = "eta" if match["bar"].startswith("━") and not ended else "elapsed"
        draft.value(running, words.seconds(tail["time"]))
    if tail["pace"] and tail["pace"][-2:] != "us":
        pace = words.seconds(tail["pace"])
        draft.value("rate", 1.0 / pace if pace else None)


def _read_counters(text: str, draft: _Draft) -> None:
    for pattern, sign in ((forms.TWO_PAIRS, "/"), (forms.YOLO, "g ")):
        if match := draft.find(pattern, sign):
            draft.report = True
            draft.epoch(match["epoch"])
            draft.count("epochs", match["epochs"])
            draft.count("step", match.groupdict().get("step"))
            draft.count("steps", match.groupdict().get("steps"))
    end = _read_epoch(text, draft)
    if (
        end is not None
        and "step" not in draft.ints
        and (after := forms.AFTER_EPOCH.match(text, end))
    ):
        draft.count("step", after["step"])
        draft.count("steps", after["steps"])
        if after["percent"]:
            draft.value("percent", float(after["percent"]))
    if "step" in draft.ints:
        return
    found = (
        _step_words(draft)
        or draft.find(forms.OF_BATCHES, "batches", "steps", "iterations", "iters")
        or forms.BRACKET.match(text)
        or forms.LEADING.match(text)
    )
    if found is not None:
        groups = found.groupdict()
        draft.report = True
        draft.count("step", groups["step"] or groups.get("colon"))
        draft.count("steps", groups.get("steps"))


def _read_epoch(text: str, draft: _Draft) -> int | None:
    """Read the epoch; returns where it ends."""
    match = draft.find(forms.TRAIN_COUNT, "train: ") or (
        _epoch_words(text) if "ep" in draft.low else None
    )
    if match is None:
        return None
    draft.report = True
    draft.epoch(match["epoch"])
    draft.count("epochs", match.groupdict().get("epochs"))
    return match.end()


def _epoch_words(text: str) -> re.Match[str] | None:
    """The first `epoch N` that is a counter, not `best epoch N` or a plural setting."""
    for match in forms.EPOCH.finditer(text):
        before = text[max(0, match.start() - 14) : match.start()]
        plural = match["word"].lower() == "epochs" and match["epochs"] is None
        if not plural and not forms.NOT_AN_EPOCH.search(before):
            return match
    return None


def _step_words(draft: _Draft) -> re.Match[str] | None:
    """The first `step N` that is a counter."""
    if not any(sign in draft.low for sign in ("step", "it", "batch", "update")):
        return None
    found = forms.STEP.finditer(draft.text)
    return next((match for match in found if _is_step(draft.text, match)), None)


def _is_step(text: str, match: re.Match[str]) -> bool:
    if forms.NOT_A_STEP.search(text[max(0, match.start() - 14) : match.start()]):
        return False
    word = match["word"].lower()
    if match["steps"] is None and (
        word.endswith("s") or word.startswith(("batch", "it", "update"))
    ):
        # A plural or a `batch` alone is a setting; `it 5` and `update 5` need a separator to be sure.
        return word.startswith(("iter", "update", "num_updates", "it ")) and word not in (
            "iters",
            "iterations",
            "updates",
        )
    return True


def _read_times(draft: _Draft) -> None:
    eta = "eta" not in draft.floats
    if eta and (match := draft.find(forms.ETA, "eta", "left", "remaining")):
        draft.value("eta", words.seconds(match["eta"] or match["left"]))
    if "elapsed" not in draft.floats and (
        match := draft.find(forms.ELAPSED, "elapsed", "total time")
    ):
        draft.value("elapsed", words.seconds(match["elapsed"]))
    if "rate" not in draft.floats and (match := draft.find(forms.RATE, "/s", "s/", "ms/", "sec/")):
        value = float(match["rate"])
        if match["per"]:
            draft.value("rate", value)
        elif value:
            draft.value("rate", 1.0 / (value / 1000 if match["inverse"] == "ms" else value))
        draft.report = True


def _read_names(text: str, draft: _Draft) -> None:
    pairs: list[tuple[str, float, str, int]] = []
    for match in forms.NAMED.finditer(text):
        start = max(0, match.start() - 84)
        words_before = forms.NAME.search(text[start : match.start()].rstrip())
        if words_before:
            pairs.append(
                (_joined(words_before), words.number(match["value"]), match["value"], match.start())
            )
    pairs += [
        (match["name"], words.number(match["value"]), match["value"], match.start())
        for match in (
            forms.SPACED.finditer(text)
            if any(sign in draft.low for sign in forms.SPACED_SIGNS)
            else ()
        )
    ]
    if part := draft.find(forms.ON_SET, "on ", "of ", "for "):
        pairs.append((part["name"], words.number(part["value"]), part["value"], part.start()))
    if row := forms.TABLE_ROW.match(text):
        pairs.append((row["name"].strip(), words.number(row["value"]), row["value"], 0))
        draft.report = True
    if dark := draft.find(forms.DARKNET, " avg"):
        pairs += [
            (name, words.number(dark[name]), dark[name], dark.start()) for name in ("loss", "lr")
        ]
    if better := draft.find(forms.IMPROVED, "improved from"):
        pairs += [("val_loss", words.number(better["value"]), better["value"], better.start())]
    best: dict[str, int] = {}
    for name, value, printed, at in pairs:
        key = words.normal(name)
        field_name, rank = _field_of(key, text[:at])
        if field_name in ("loss", "val_loss"):
            draft.report = True
        if field_name:
            if rank < best.get(field_name, 999):
                best[field_name] = rank
                draft.floats[field_name] = value
        elif key not in forms.PLAIN_TIMES and len(draft.metrics) < MOST_METRICS:
            draft.metrics.setdefault(name, value)
            fraction = "." in printed or not math.isfinite(value)
            if fraction and _known_metric(key):
                draft.report = True


def _joined(name: re.Match[str]) -> str:
    """The printed name: one word, or two where the last one alone says too little."""
    lead, last = name["lead"], name["last"]
    if lead and words.normal(last) in forms.TWO_WORDS:
        return f"{lead} {last}"
    return last


def _field_of(key: str, before: str) -> tuple[str | None, int]:
    """The field of a normalised name and its rank, (None, 0) where it is a metric."""
    if key in words.VAL_LOSS:
        return "val_loss", words.VAL_LOSS.index(key)
    stem = next((word for word in words.LOSS if key == word or key.endswith("_" + word)), None)
    if key in words.LOSS:
        near = before[-160:]
        if forms.VALIDATING.search(near) and not forms.TRAINING.search(near):
            return "val_loss", 50 + words.LOSS.index(key)
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


def _known_metric(key: str) -> bool:
    if key in words.METRICS:
        return True
    for prefix in words.CALLED_PREFIX:
        if key.startswith(prefix) and key.removeprefix(prefix) in words.METRICS:
            return True
    return False
