"""One line of a training log -> how far the work has come, and its numbers. Nothing is ever guessed:
a total, a rate or an end that is not printed stays None.

Reading goes from the most certain form to the least: bars, then counters with words, then names with
values. A dump of settings holds names with values too, so a line counts only when it shows a counter,
a rate, a loss or a well-known metric.
"""

from __future__ import annotations

import re

from gpu_tui.core.logs import Progress
from gpu_tui.parse import progress_forms as forms
from gpu_tui.parse import progress_words as words
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.progress_bars import read_bars
from gpu_tui.parse.progress_draft import Draft, Signs
from gpu_tui.parse.progress_names import read_names

LONGEST = 8192  # characters; the end of a longer line is read
# Percent between a share that is printed and the one of two numbers, rounded as it likes.
DIFFERS = 1.5
_NUMBER = re.compile("[0-9]|nan|inf")


def parse_progress(line: str) -> Progress | None:
    """What `line` (one segment, already safe text) reports, or None."""
    draft = read_line(line)
    return draft.done() if draft is not None else None


def may_report(raw: bytes) -> bool:
    """False where a line as it came surely reports no number."""
    text = unescape(raw)[0].lower()
    return _NUMBER.search(text) is not None and (
        Signs(text).any(forms.SIGNS) or forms.FASTAI.match(text) is not None
    )


def read_line(line: str) -> Draft | None:
    """Everything that is found on the line; None where it is no report at first sight."""
    text = line[-LONGEST:]
    low = text.lower()
    signs = Signs(low)
    if (
        not (signs.any(forms.SIGNS) or forms.FASTAI.match(text))
        or (signs.any(forms.SETTING_SIGNS) and forms.SETTINGS.search(text))
        or (signs.any(forms.LOOKING_SIGNS) and forms.LOOKING_BACK.search(text))
    ):
        return None
    draft = Draft(text, low, signs)
    read_bars(draft)
    read_names(text, draft)
    _read_counters(text, draft)
    _read_times(draft)
    if draft.report and draft.phase is None:
        draft.phase = _phase(draft)
    return draft


def _read_counters(text: str, draft: Draft) -> None:
    for pattern in draft.signs.worth(forms.WHOLE):
        if match := pattern.search(text):
            found = match.groupdict()
            draft.report = True
            draft.epoch(found.get("epoch"))
            draft.count("epochs", found.get("epochs") or found.get("of") or found.get("all"))
            draft.count("step", found.get("step"))
            draft.count("steps", found.get("steps"))
            draft.value("percent", found.get("percent"), float)
            draft.value("elapsed", found.get("elapsed"), words.seconds)
            draft.value("eta", found.get("eta"), words.seconds)
    end = _read_epoch(text, draft)
    if (
        end is not None
        and "step" not in draft.ints
        and (after := forms.AFTER_EPOCH.match(text, end))
    ):
        draft.count("step", after["step"])
        draft.count("steps", after["steps"])
        draft.value("percent", after["percent"], float)
    elif end is not None and (part := forms.EPOCH_PERCENT.match(text, end)):
        draft.value("percent", part["percent"], float)
    if "step" in draft.ints:
        return
    step = (
        _step_words(draft)
        or draft.find(forms.OF_BATCHES, "batches", "steps", "iterations", "iters")
        or forms.BRACKET.match(text)
        or forms.LEADING.match(text)
        or (None if "epoch" in draft.ints else draft.find(forms.EPISODE, "episode"))
    )
    if step is None and "loss" in draft.floats:
        step = _bare(draft)
    if step is not None and step.re in (forms.BRACKET, forms.BARE) and _of_another(draft, step):
        return
    if step is not None:
        groups = step.groupdict()
        if groups.get("steps") and (part := forms.AFTER_STEP.match(text, step.end())):
            draft.value("percent", part["percent"], float)
        draft.report = True
        draft.count("step", groups["step"] or groups.get("colon"))
        draft.count("steps", groups.get("steps"))
        if total := draft.find(forms.TOTAL_STEPS, "total_steps"):
            draft.count("steps", total["steps"])


def _read_epoch(text: str, draft: Draft) -> int | None:
    """Read the epoch; returns where it ends."""
    match = draft.find(forms.TRAIN_COUNT, "train: ") or (
        _epoch_words(text) if "ep" in draft.low else None
    )
    if match is None:
        return None
    draft.report = True
    found = match.groupdict()
    draft.epoch(found["epoch"])
    draft.count("epochs", found.get("epochs"))
    return match.end()


def _epoch_words(text: str) -> re.Match[str] | None:
    """The first `epoch N` that is a counter, not `best epoch N` or a plural setting."""
    for match in forms.EPOCH.finditer(text):
        before = text[max(0, match.start() - 14) : match.start()]
        plural = match["word"].lower() == "epochs" and match["epochs"] is None
        if (
            not plural
            and not forms.NOT_AN_EPOCH.search(before)
            and not _names_the_best(text, match)
        ):
            return match
    return None


def _names_the_best(text: str, epoch: re.Match[str]) -> bool:
    """Whether it tells at which epoch the best was, not where the run is."""
    if epoch["epochs"] is not None or not forms.END_OF_SAYING.match(text, epoch.end()):
        return False
    best = forms.BEST.search(text, 0, epoch.start())
    return best is not None and "loss" not in text[: best.start()].lower()


def _step_words(draft: Draft) -> re.Match[str] | None:
    """The first `step N` that is a counter."""
    if not draft.signs.any(("step", "it", "batch", "update")):
        return None
    found = forms.STEP.finditer(draft.text)
    return next((match for match in found if _is_step(draft, match)), None)


def _is_step(draft: Draft, match: re.Match[str]) -> bool:
    if forms.NOT_A_STEP.search(draft.text[max(0, match.start() - 14) : match.start()]):
        return False
    if forms.OF_A_STAGE.match(draft.text, match.start("step")):
        return False
    word = match["word"].lower()
    if ("epoch" in draft.ints and word != "batches") or (
        "loss" in draft.floats and word == "iterations"
    ):
        return True  # beside the epoch or a loss stands no setting
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


def _bare(draft: Draft) -> re.Match[str] | None:
    """Two numbers with a stroke that can be a counter and its end."""
    epochs = (draft.ints.get("epoch"), draft.ints.get("epochs"))
    for match in forms.BARE.finditer(draft.text):
        pair, before = (int(match["step"]), int(match["steps"])), max(0, match.start() - 12)
        if forms.COUNTS_EPOCHS.search(draft.text, before, match.start()):
            continue
        if pair[0] <= pair[1] and pair != epochs:
            return match
    return None


def _of_another(draft: Draft, pair: re.Match[str]) -> bool:
    """Whether a pair without a word counts something else than the bar beside it."""
    percent, steps = draft.floats.get("percent"), int(pair["steps"])
    if percent is None:
        return draft.phase == "load" or "━━━" in draft.text
    return bool(steps) and abs(100.0 * int(pair["step"]) / steps - percent) > DIFFERS


def _phase(draft: Draft) -> str | None:
    """`eval` where the line speaks of an evaluation and of nothing else."""
    if "loss" in draft.floats or forms.TRAINING.search(draft.text):
        return None
    return "eval" if forms.VALIDATING.search(draft.text) or "eval_" in draft.low else None


def _read_times(draft: Draft) -> None:
    eta = "eta" not in draft.floats
    if eta and (match := draft.find(forms.ETA, "eta", "left", "remain", "finish")):
        draft.value("eta", match["eta"] or match["left"], words.seconds)
    if "elapsed" not in draft.floats and (
        match := draft.find(forms.ELAPSED, "elapsed", "total time", "tok/s", "| time")
    ):
        draft.value("elapsed", next(filter(None, match.groupdict().values())), words.seconds)
    for form, sign in (
        (forms.PERCENTAGE, "percentage"),
        (forms.PERCENTAGE, "progress"),
        (forms.COMPLETE, "% "),
    ):
        if "percent" not in draft.floats and (match := draft.find(form, sign)):
            draft.value("percent", match["percent"], float)
    if "rate" not in draft.floats and (match := draft.find(forms.RATE_NAMED, "/s")):
        draft.value("rate", match["rate"], float)
        draft.report = True
    if "step" in draft.ints and (match := draft.find(forms.PER_SECOND, "per second: ")):
        draft.value("rate", match["rate"], _decimal)
    if "rate" not in draft.floats and (match := draft.find(forms.RATE, "/s", "s/", "ms/", "sec/")):
        inverse = _per_milliseconds if match["inverse"] == "ms" else _per_seconds
        draft.value("rate", match["rate"], float if match["per"] else inverse)
        draft.report = True


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # `1.2.3`
        return None


def _per_seconds(text: str) -> float | None:
    value = float(text)
    return 1.0 / value if value else None


def _per_milliseconds(text: str) -> float | None:
    value = float(text)
    return 1000.0 / value if value else None
