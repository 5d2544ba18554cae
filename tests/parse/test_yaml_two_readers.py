"""The fast reader of YAML is asked first, and the slow one counts: what comes out is the same with one and with both."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpu_tui.parse import yaml_strict
from gpu_tui.parse.yaml_strict import Node, SourceError, load

ROOT = Path(__file__).parents[2]
FLEET = """sweep: a
instances:
- {name: box, host: "ssh://root@1.2.3.4:22", tags: [a, b], price_per_hour: 2.50 USD}
- name: b
  host: my-box
  queue: {log: ~/runs/q.log}
  logs: '~/runs/{cell}.log'
  note: |
    line
    more
  x: >-
    a b
  nothing:
"""
TEXTS = [FLEET] + [
    file.read_text("utf-8").split("---")[1]
    for file in sorted((ROOT / "profiles").glob("[a-z]*.md"))
]
SLIPS = [
    *"\t\n :-{}[],'\"#&*!|>%@`?\\~<=", "\ufeff", "\x85", "\u2028", "\x07", "\udcff", "- ", ": ", "\n\n", "  ", "---\n",
    "...\n", "\r", "é", "\U0001f600", "\n  ", "? ", "|-\n", ": |\n", "|#", "!!str ", ': "', '"a?b"', ", ", "{", "%YAML 1.2\n", "[" * 20,
]  # fmt: skip


def told(text: str) -> object:
    """All that a text is, with every place; or what is wrong with it."""

    def whole(node: Node) -> object:
        value = node.value
        if isinstance(value, tuple):
            value = tuple(map(whole, value))
        elif not isinstance(value, str | int | float | None):
            value = {name: (whole(node.keys[name]), whole(one)) for name, one in value.items()}
        return repr(value), node.line, node.column, node.written

    try:
        return whole(load(text, "file"))
    except SourceError as error:
        return str(error), error.next


def slipped(dice: random.Random) -> str:
    """A piece of a text with a slip or two."""
    whole = dice.choice(TEXTS)
    begin = whole.rfind("\n", 0, dice.randrange(len(whole))) + 1
    text = whole[begin : begin + dice.randrange(20, 400)]
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(text) + 1)
        text = text[:at] + dice.choice(SLIPS) + text[at + dice.randrange(3) :]
    return text


@pytest.mark.skipif(yaml_strict._FAST is None, reason="this PyYAML has no libyaml")
@pytest.mark.parametrize("seed", range(4))
def test_both_readers_tell_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    texts = [*TEXTS[seed::4], *(slipped(dice) for _ in range(600))]
    both = list(map(told, texts))
    monkeypatch.setattr(yaml_strict, "_FAST", None)
    alone = list(map(told, texts))
    assert [text for text, one, other in zip(texts, both, alone, strict=True) if one != other] == []


@pytest.mark.skipif(yaml_strict._FAST is None, reason="this PyYAML has no libyaml")
def test_an_ordinary_file_is_read_by_the_fast_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_strict.yaml, "SafeLoader", None)
    for text in TEXTS[1:]:  # all but the one with a value that is left out
        load(text, "file")
