"""Bars that a program draws over and over: of tqdm, rich, Keras, pip and others.

Every pattern has bounded repeats, so its time is linear in the line.
"""

from __future__ import annotations

import re

from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_draft import Draft
from gpu_tui.parse.progress_rich import read_rich
from gpu_tui.parse.progress_transfers import read_transfers
from gpu_tui.parse.progress_words import CLOCK, COUNT, SCALE, SPELLED

TIME = rf"(?:{CLOCK}|{SPELLED}|\?)"
PACE = r"(?:, *(?P<rate>[0-9.,]+[kMGT]?) ?(?P<unit>[^\],]{1,24}))?"
_TQDM = re.compile(
    rf"(?P<percent>[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)%(?:\|[^|\[]{{0,400}}\|| Completed \|| ) ?"
    rf" *(?P<step>{COUNT})B?/(?P<steps>{COUNT})B? \[(?P<elapsed>{TIME})<(?P<eta>{TIME}){PACE}"
)
_TORN = re.compile(  # the end of a bar whose beginning another writer took
    rf"(?:^|\s)(?P<step>{COUNT})/(?P<steps>{COUNT}) \[(?P<elapsed>{TIME})<(?P<eta>{TIME}){PACE}"
)
_ENDLESS = re.compile(
    rf"(?<![\w./])(?P<step>{COUNT}) ?(?P<name>[A-Za-z]{{1,12}}) \[(?P<elapsed>{CLOCK}){PACE}"
)
_SIZE = r"[0-9]{1,12}(?:\.[0-9]{1,6})?[kKMG]?"
_LINED = re.compile(  # `87% ━━━━━━━━━━── 220/253 4.0it/s 56.1s<8.2s`
    rf"(?P<percent>[0-9]{{1,3}})% (?:[━╸]{{0,200}}+─{{1,200}}+|━{{12}}) (?P<step>{_SIZE})B?/(?P<steps>{_SIZE})B?"
    rf"(?: (?P<rate>[0-9.]+[kMG]?)(?P<unit>[A-Za-z/]{{3,8}}))? (?P<elapsed>{CLOCK}|[0-9.]+s)(?:<(?P<eta>{CLOCK}|[0-9.]+s))?"
)
_WORDED = re.compile(  # `16% |/---| 10836/68957 [10.1m elapsed, 53.8m remaining, 19.0 images/s]`
    r"(?P<percent>[0-9]{1,3})% ?\|[^|\[]{0,200}\| (?P<step>[0-9]{1,12})/(?P<steps>[0-9]{1,12}) \["
)
_NOTEBOOK = re.compile(  # `[ 22/290 02:50 < 38:04, 0.12 it/s, Epoch 0.36/5]`
    rf"\[ *(?P<step>[0-9]{{1,9}})/(?P<steps>[0-9]{{1,9}}) (?P<elapsed>{CLOCK}) < (?P<eta>{CLOCK}), "
    r"(?P<rate>[0-9.]{1,12}) (?P<unit>it/s)"
)
_KERAS = re.compile(  # a share or another counter behind the bar: another bar, and the numbers are its title
    r"(?:^|[\s\]])(?P<step>[0-9]{1,9})/(?P<steps>[0-9]{1,9}|Unknown) "
    r"(?P<bar>\[[=>.]{5,}\](?! {0,3}[0-9.]{1,12}(?:%|[ /]))"
    rf"|━{{5,400}}+(?= (?:{CLOCK}|[0-9]{{1,7}}s) [0-9.]{{1,9}}(?:ms|us|s)/)|-(?= [0-9]+m?s))"
)
_KERAS_TAIL = re.compile(
    rf"(?:-? ?ETA: (?P<eta>{TIME})|(?:- )?(?P<time>{CLOCK}|[0-9]{{1,7}}m?s))"
    r"(?:,? (?P<pace>[0-9.]+(?:ms|us|s))/(?:step|sample))?"
)
_REMAINING = re.compile(  # `Progress on: 1.02kit/200kit rate:1.4it/s remaining:39:12:03 elapsed:12:59`
    rf"\bProgress on: *(?P<step>{COUNT})[a-z]{{1,8}}/(?P<steps>{COUNT})[a-z]{{1,8}} rate: ?(?P<rate>[0-9.]{{1,12}}[kMG]?)"
    rf"(?P<unit>[a-z]{{1,8}}/[a-z]{{1,8}}) remaining: ?(?P<eta>{TIME}) elapsed: ?(?P<elapsed>{TIME})"
)
_HASHED = re.compile(
    r"\[[#=]{0,200}>?[.\-_ ]{0,200}\] +(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,3})?) ?%"
)
_OVER_EPOCHS = re.compile(r"(?:^|\s)epochs?:?\s{0,8}$", re.IGNORECASE)

EVALUATING = re.compile(
    r"\b(?:val|valid|validat(?:e|ion|ing)|eval|evaluat(?:e|ion|ing)|test|testing|predict(?:ing|ion)?|"
    r"sanity|inference)\b|\bmAP",
    re.IGNORECASE,
)
LOADING = re.compile(
    r"\b(?:(?:down|up)?load(?:ing)?|fetch(?:ing)?|map|mapping|filter|tokeniz\w{1,4}|generating \w{1,12} split|extract\w{0,3}|"
    r"scanning|caching|cache|saving|writing|reading|read|pre-?process\w{0,3}|convert\w{0,3}|packing|group\w{0,3} texts|"
    r"shards|materializing|quantiz\w{1,4}|collecting|copying|resolving|unzipping|import\w{0,3}|prepar\w{1,4}|"
    r"compiling|warm-?up|captur\w{1,3}|encod\w{1,3}|decod\w{1,3}|merging|creating)\b"
    r"|\.(?:bin|safetensors|json|gz|zip|pth?|tar|parquet|txt|model|gguf|msgpack|h5)\W{0,3}$",
    re.IGNORECASE,
)


def read_bars(draft: Draft) -> None:
    """Read the bar of the line that a terminal would show: the last one."""
    text = draft.text
    match = _bar(draft)
    if match is not None:
        _take(match, text, draft)
    elif _read_keras(text, draft):
        return
    elif (begins := read_rich(draft)) is not None:
        draft.phase = draft.phase or _phase(text[:begins][-100:], "")
    elif not read_transfers(draft) and "%" in text:
        _read_percent(text, draft)


def _bar(draft: Draft) -> re.Match[str] | None:
    text = draft.text
    if "% " in text or "%|" in text:
        if bars := list(_TQDM.finditer(text)):
            return bars[-1]
        if ("━" in text or "─" in text) and (match := _LINED.search(text)):
            return match
    if " < " in text and (match := _NOTEBOOK.search(text)):
        return match
    if "remaining:" in text and (match := _REMAINING.search(text)):
        return match
    return (_TORN.search(text) or _ENDLESS.search(text)) if " [" in text else None


def _take(match: re.Match[str], text: str, draft: Draft) -> None:
    draft.report = True
    found = match.groupdict()
    unit = (found["unit"] or "").strip()
    before = text[: match.start()]
    over_epochs = unit.startswith(("epoch", "s/epoch")) or _OVER_EPOCHS.search(before)
    step, steps = ("epoch", "epochs") if over_epochs else ("step", "steps")
    draft.count(step, found["step"])
    draft.count(steps, found.get("steps"))
    draft.value("percent", found.get("percent"), float)
    draft.value("elapsed", found["elapsed"], words.seconds)
    draft.value("eta", found.get("eta"), words.seconds)
    draft.value("rate", found["rate"], _inverse_rate if unit.startswith("s/") else _rate)
    draft.phase = _phase(before[-100:], unit)


def _phase(title: str, unit: str) -> str | None:
    """What a bar counts, by the words before it and its unit."""
    title = title.rpartition("]")[2] if title.endswith("]") else title
    if unit.lower().endswith(("b/s", "examples/s", "files/s")):
        return "load"
    if LOADING.search(title):
        return "load"
    if EVALUATING.search(title) and not re.search(r"\btrain", title, re.IGNORECASE):
        return "eval"
    return None


def _rate(text: str) -> float | None:
    """The number of `5.41it/s` or `5,41it/s`."""
    rate = text.replace(",", ".")
    if not re.fullmatch(COUNT, rate):
        return None
    scale = SCALE.get(rate[-1], 1.0)
    return float(rate.rstrip("kKMGT")) * scale


def _inverse_rate(text: str) -> float | None:
    """The same of `1.20s/it`."""
    value = _rate(text)
    return 1.0 / value if value else None


def _read_keras(text: str, draft: Draft) -> bool:
    match = _KERAS.search(text)
    if match is None or _OVER_EPOCHS.search(text, 0, match.start("step")):
        return False
    draft.report = True
    draft.count("step", match["step"])
    draft.count("steps", match["steps"])
    tail = _KERAS_TAIL.search(text, match.end(), match.end() + 40)
    if tail is None:
        return True
    ended = match["step"] == match["steps"] or match["bar"].startswith("-")
    draft.value("eta", tail["eta"], words.seconds)
    if tail["time"]:
        drawn = match["bar"].startswith("━")
        draft.value("eta" if drawn and not ended else "elapsed", tail["time"], words.seconds)
    draft.value("rate", tail["pace"], _pace)
    return True


def _pace(text: str) -> float | None:
    pace = words.seconds(text)
    return 1.0 / pace if pace else None


def _read_percent(text: str, draft: Draft) -> None:
    """Bars that show how much, and nothing else that is known."""
    if match := _WORDED.search(text) if "| " in text else None:
        draft.count("step", match["step"])
        draft.count("steps", match["steps"])
    elif match := _HASHED.search(text) if "[" in text else None:
        draft.phase = _phase(text[: match.start()][-100:], "")
    else:
        match = re.search(r"(?P<percent>[0-9]{1,3})%\|", text)
        if match is not None:
            draft.phase = _phase(text[: match.start()][-100:], "")
    if match is not None:
        draft.value("percent", match["percent"], float)
        draft.report = True
