"""What a trainer says of the whole way before it sets out: the banner of Hugging Face's Trainer and of
what is built on it (LLaMA-Factory, axolotl, accelerate's examples, Unsloth).

A line holds one number or several; `core/course` puts them together.
"""

from __future__ import annotations

import re

from gpu_tui.core.plan import Plan

_COUNT = r" = ([0-9]{1,9}|[0-9]{1,3}(?:,[0-9]{3}){1,3})(?![0-9,.])"
_FORMS = {
    "epochs": re.compile(rf"\bNum Epochs{_COUNT}"),
    "steps": re.compile(rf"\bTotal (?:optimization )?steps{_COUNT}"),
    "examples": re.compile(rf"\bNum examples{_COUNT}"),
    "batch": re.compile(rf"\bTotal (?:train )?batch size(?: \([^()]{{1,60}}\))?{_COUNT}"),
    "accumulation": re.compile(rf"\bGradient [Aa]ccumulation steps{_COUNT}"),
}
_SIGNS = ("Num Epochs = ", "Num examples = ", "Total ", "Gradient ")
LONGEST = 512  # characters; no banner has longer lines


def parse_plan(text: str) -> Plan | None:
    """The totals that stand on one whole line, or None."""
    if " = " not in text or not any(sign in text for sign in _SIGNS):
        return None
    found = {
        name: int(match[1].replace(",", ""))
        for name, form in _FORMS.items()
        if (match := form.search(text[:LONGEST]))
    }
    known = {name: count for name, count in found.items() if count}
    return Plan(**known) if known else None


def may_plan(raw: bytes) -> bool:
    """False where a line as it came surely holds no such total."""
    return b" = " in raw and any(sign.encode() in raw for sign in _SIGNS)
