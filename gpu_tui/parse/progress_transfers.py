"""What moves or builds files, not the run: wget, curl, scp, rsync, rclone, aws, git, docker, conda, apt, ninja, cmake.

Every pattern has bounded repeats, so its time is linear in the line.
"""

from __future__ import annotations

import re

from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_draft import Draft
from gpu_tui.parse.progress_words import CLOCK, SPELLED

_SIZE = r"[0-9][0-9.,]{0,20} ?[kKMGT]?i?B?"
_PERCENT = r"(?P<percent>[0-9]{1,3})%"
_OF_COUNT = r"(?P<step>[0-9]{1,12})/(?P<steps>[0-9]{1,12})"
_BUILDING = r"(?:Building|Linking|Compiling|Generating|Copying|Built|Install\w{0,4}|\S{0,200}(?:nvcc|g\+\+|gcc|clang\+{0,2}|c\+\+)) "

# Each with a sign (lower case) without which it need not be tried.
FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("k ..", re.compile(rf"^\s*[0-9]{{1,12}}K(?: [.,]{{1,10}}){{1,10}}\s+{_PERCENT} +{_SIZE}[ =](?P<eta>{SPELLED})?")),
    ("%[", re.compile(rf"{_PERCENT}\[[=+>. ]{{0,300}}\]\s+{_SIZE}\s+{_SIZE}/s(?:\s+eta (?P<eta>{SPELLED}))?")),
    ("completed ", re.compile(r"^.*\bCompleted (?P<done>[0-9.]{1,9}) (?P<unit>[KMGT]?i?B|Bytes)/~?(?P<whole>[0-9.]{1,9}) (?P=unit)\b")),
    (" [", re.compile(r"\[[=>]{1,200} {0,200}\]\s{1,3}(?P<done>[0-9.]{1,9}) ?(?P<unit>[kMGT]?B)/(?P<whole>[0-9.]{1,9}) ?(?P=unit)")),
    ("transferred:", re.compile(rf"^Transferred:\s+(?P<step>[0-9]{{1,12}}) / (?P<steps>[0-9]{{1,12}}), {_PERCENT}")),
    ("transferred:", re.compile(rf"^Transferred:\s+{_SIZE}\w* / {_SIZE}\w*, {_PERCENT}(?:, {_SIZE}\w*/s, ETA (?P<eta>{SPELLED}))?")),
    (" eta", re.compile(rf"\s{_PERCENT}\s+{_SIZE}\s+{_SIZE}/s\s+(?P<eta>{CLOCK}) ETA\b")),
    ("/s ", re.compile(rf"^\s*[0-9][0-9.,]{{0,30}}[KMGT]?\s{{1,8}}{_PERCENT}\s{{1,8}}[0-9.,]{{1,12}}[kKMGT]?B/s\s")),
    ("% (", re.compile(rf"\b(?:objects|deltas|files|content): {{1,3}}{_PERCENT} \({_OF_COUNT}\)")),
    (" 0:", re.compile(r"^\s*(?P<percent>[0-9]{1,3})(?:\s+[0-9.]{1,9}[kMGTP]?){7}\s+(?:[0-9:-]{7,9})\s+(?P<elapsed>[0-9]{1,3}:[0-9]{2}:[0-9]{2})\s+(?P<eta>[0-9]{1,3}:[0-9]{2}:[0-9]{2}|--:--:--)\s")),
    ("%]", re.compile(rf"^(?:Progress: \[ {{0,2}}{_PERCENT}\]|\s*\[ {{0,2}}(?P<built>[0-9]{{1,3}})%\] {_BUILDING})")),
    ("/", re.compile(rf"^\s*\[{_OF_COUNT}\] {_BUILDING}")),
    ("b ", re.compile(rf"^\S{{1,80}} +\| {_SIZE} +\| [^|]{{0,60}}\| +{_PERCENT}")),
    ("b/s", re.compile(rf"{_PERCENT} \|[#█ ]{{0,200}}\|\s+{_SIZE}\s+{_SIZE}/s\s+ETA: +(?P<eta>{CLOCK})")),
    (" / ", re.compile(r"^\[(?P<elapsed>(?:[0-9]{1,3}d )?[0-9]{2}:[0-9]{2}:[0-9]{2})\] [A-Z][\w\- ]{2,50} [█▒░ ]{1,400}+(?<= )(?P<step>[0-9]{1,12}) +/ +(?P<steps>[0-9]{1,12})")),
)  # fmt: skip


WITHOUT_PERCENT = tuple(item for item in FORMS if "<percent>" not in item[1].pattern) + tuple(
    item for item in FORMS if item[0] == " 0:"
)


def read_transfers(draft: Draft) -> bool:
    """Read what a tool that moves or builds files shows; false where the line is of none."""
    low = draft.low
    if "loss" in low or "epoch" in low or "step" in low:
        return False  # the words of a training: spare the time
    for sign, form in FORMS if "%" in low else WITHOUT_PERCENT:
        if sign in low and (match := form.search(draft.text)):
            _take(match, draft)
            return True
    return False


def _take(match: re.Match[str], draft: Draft) -> None:
    found = match.groupdict()
    draft.report, draft.phase = True, "load"
    draft.count("step", found.get("step"))
    draft.count("steps", found.get("steps"))
    draft.value("eta", found.get("eta"), words.seconds)
    draft.value("elapsed", found.get("elapsed"), words.seconds)
    percent = found.get("percent") or found.get("built")
    if percent:
        draft.value("percent", percent, float)
    elif (done := found.get("done")) and (whole := found.get("whole")):
        draft.value("percent", done, lambda done: _share(done, whole))


def _share(done: str, whole: str) -> float | None:
    try:
        return 100.0 * float(done) / float(whole)
    except (ValueError, ZeroDivisionError):
        return None
