"""Rules in their order, and a search for the rules that can fit a line.

Files are read by name, and rules in the order of their file; the first rule that fits decides. The rules of the last
file are weak, because they match single words: the message inside a prefix is judged before one of them decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import ahocorasick_rs

from gpu_tui.core.findings import Severity
from gpu_tui.parse.triage.rule import Rule, any_of
from gpu_tui.parse.triage.rule_file import RuleFile, parse_rules

REMEMBERED = 16_384  # sets of candidate rules


class RuleSet:
    """Rules by order, and one Aho-Corasick search for all of their literals."""

    def __init__(self, rules: Iterable[Rule], weak_file: str) -> None:
        """`rules` in the order in which they are asked; those of `weak_file`, the last file, are weak."""
        self.rules = tuple(rules)
        weak = (order for order, rule in enumerate(self.rules) if rule.file == weak_file)
        self.weak = next(weak, len(self.rules))
        self._look_alikes = tuple(
            order
            for order, rule in enumerate(self.rules)
            if not rule.literals or (rule.label == "traceback" and rule.severity is Severity.NONE)
        )
        self._any_look_alike = any_of(self.rules[order].pattern for order in self._look_alikes)
        self._look_alike_names_digits = any(self.rules[o].names_digits for o in self._look_alikes)
        masks: dict[bytes, int] = {}  # literal -> one bit for each rule that has it
        for order, rule in enumerate(self.rules):
            for literal in rule.literals:
                masks[literal.encode()] = masks.get(literal.encode(), 0) | 1 << order
        self._masks = list(masks.values())
        self._orders_of_mask: dict[int, tuple[int, ...]] = {0: ()}
        self._find = ahocorasick_rs.BytesAhoCorasick(list(masks)).find_matches_as_indexes

    def candidates(self, low: bytes) -> tuple[int, ...]:
        """The orders of the rules that have a literal in `low`, a UTF-8 text whose ASCII letters are in lower case.

        A literal that ends with a newline matches at the end of the text only.
        """
        if not low.isascii():
            low = low.decode("utf-8", "replace").lower().encode()
        mask, masks = 0, self._masks
        for hit in self._find(low + b"\n", overlapping=True):
            mask |= masks[hit[0]]
        if (found := self._orders_of_mask.get(mask)) is None:
            if len(self._orders_of_mask) >= REMEMBERED:
                self._orders_of_mask.clear()
            found = tuple(order for order in range(len(self.rules)) if mask >> order & 1)
            self._orders_of_mask[mask] = found
        return found

    def names_digits(self, candidates: tuple[int, ...]) -> bool:
        """True if a rule that is asked about a line with these candidates, look-alikes included, matches certain digits."""
        if not candidates:
            return False
        return self._look_alike_names_digits or any(self.rules[o].names_digits for o in candidates)

    def look_alike(self, text: str, before: int) -> int | None:
        """The first look-alike before the rule `before` that fits: the text is source code or quoted, so it is no alarm."""
        if not self._any_look_alike(text):
            return None
        rules = self.rules
        return next((o for o in self._look_alikes if o < before and rules[o].fits(text)), None)

    def literal_positions(self, low: bytes) -> Iterable[tuple[int, int]]:
        """For each literal in `low`: its start, and the order of the first rule that has it."""
        return [
            (start, _lowest_bit(self._masks[hit]))
            for hit, start, _ in self._find(low, overlapping=True)
        ]


def _lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def bundled_files() -> dict[str, str]:
    """Name -> text of the bundled rule files, in their order."""
    files = sorted(Path(__file__).with_name("rules").glob("*.toml"))
    return {file.name: file.read_text("utf-8") for file in files}


def read_files(files: Mapping[str, str]) -> list[RuleFile]:
    """Parse rule files. Each may use the words of earlier ones. Raises RuleError."""
    found: list[RuleFile] = []
    words: Mapping[str, str] = {}
    for name, text in files.items():
        found.append(parse_rules(text, name, words))
        words = found[-1].words
    return found


@cache
def _bundled() -> tuple[RuleFile, ...]:
    return tuple(read_files(bundled_files()))


@cache
def bundled() -> RuleSet:
    """The bundled rules."""
    files = _bundled()
    return RuleSet((rule for file in files for rule in file.rules), files[-1].rules[-1].file)


def bundled_words() -> Mapping[str, str]:
    """Name -> pattern of the words of the bundled files, for rules of the user."""
    return _bundled()[-1].words
