"""Selects the rules of this process: the bundled ones, unless another source was set before the first line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands that judge no line do not import the rules
    from gpu_tui.parse.triage.rule_set import RuleSet

_sources: list[Callable[[], RuleSet]] = []


def set_rule_source(source: Callable[[], RuleSet]) -> None:
    """Load the rules from `source` when the first line is judged."""
    _sources[:] = [source]


def load_rules() -> RuleSet:
    """The rules of the source that was set, or the bundled ones."""
    if _sources:
        return _sources[0]()
    from gpu_tui.parse.triage.rule_set import bundled

    return bundled()
