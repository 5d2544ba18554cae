"""The keys as lines: the whole table, and the one line at the bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from gpu_tui.core.speech import say
from gpu_tui.ui.keys import CONTEXTS, KEYS, Key, shown
from gpu_tui.ui.text.marks import fit, line, wrap

KEY_CELLS = 10
EDGE = " "
GAP = "   "
WAYS = ("help", "close", "leave")  # to all keys, or out
COLUMN = 64  # cells of one: as many stand side by side as there is room for, at most three


@dataclass(frozen=True, slots=True)
class PlacedKey:
    """One key of the footer, and the cells in which it stands."""

    key: Key
    text: Text
    at: int

    @property
    def cells(self) -> range:
        """Its columns."""
        return range(self.at, self.at + self.text.cell_len)


def placed_keys(
    keys: Sequence[Key], width: int, keymap: Mapping[str, str] | None = None
) -> list[PlacedKey]:
    """As many keys as fit, most useful first; the way to help or out is never the one that does not."""
    texts = [
        line(
            (shown(key, keymap), "danger" if key.dangerous else "key"),
            " ",
            (say(key.label), "muted"),
        )
        for key in keys
    ]
    way = next((n for n, key in enumerate(keys) if key.action in WAYS), -1)
    placed: list[PlacedKey] = []
    at = len(EDGE)
    for n, text in enumerate(texts):
        kept = len(GAP) + texts[way].cell_len if n < way else 0
        if at + text.cell_len + kept > width:
            if n < way and at + texts[way].cell_len <= width:
                placed.append(PlacedKey(keys[way], texts[way], at))
            break
        placed.append(PlacedKey(keys[n], text, at))
        at += text.cell_len + len(GAP)
    return placed


def footer(placed: Sequence[PlacedKey]) -> Text:
    """The line of these."""
    text = line(EDGE)
    for one in placed:
        text.append_text(line(" " * (one.at - text.cell_len), one.text))
    return text


def help_lines(
    width: int,
    *,
    read_only: bool,
    replay: bool = False,
    keymap: Mapping[str, str] | None = None,
    wanted: str = "",
    contexts: Sequence[str] = (),
) -> list[Text]:
    """Every key, grouped by where it works; side by side where there is room.

    With `wanted` only the keys whose row has all of its words, in one column; with `contexts` only those of
    a place before the cockpit, where no numbers wear signs.
    """
    words = wanted.lower().split()
    side = 1 if words or contexts else max(1, min(3, width // COLUMN))
    room = width // side - 2 - KEY_CELLS - (len(GAP) if side > 1 else 0)
    blocks: list[list[Text]] = []
    # What only a recording has stands first there: who asks for help wants to get about in it.
    for context in contexts or sorted(CONTEXTS, key=lambda name: name != "replay"):
        if context == "replay" and not replay:
            continue
        where, rows = CONTEXTS[context], []
        for key in KEYS:
            if key.context != context or (read_only and key.dangerous) or (replay and key.asks):
                continue
            written = shown(key, keymap)
            told = f"{written} {say(key.label)} {say(key.help)} {say(where)} {key.help}".lower()
            if not all(word in told for word in words):
                continue
            mark = line(("! ", "danger")) if key.dangerous else line("  ")
            first, *more = wrap(say(key.help), room, "text")
            rows.append(_lit(line(mark, fit(line((written, "key")), KEY_CELLS), first), words))
            rows += [_lit(line(" " * (2 + KEY_CELLS), part), words) for part in more]
        if rows:
            blocks.append([line((say(where), "heading")), *rows, line()])
    if words or contexts:
        nothing = [
            line((say("no key does {wanted!r}; try one word of it", wanted=wanted), "muted"))
        ]
        return [row for block in blocks for row in block] or nothing
    if side == 1:
        return [row for block in blocks for row in block] + _legend()
    lead = 2 if replay else 1  # its own keys, and those of everywhere; then the signs
    return _side_by_side([*blocks[:lead], [*_legend(), line()], *blocks[lead:]], side, width)


def _side_by_side(blocks: Sequence[Sequence[Text]], count: int, width: int) -> list[Text]:
    """Blocks in `count` columns that are as even as whole blocks allow, one below the other in each."""
    tall = max(len(block) for block in blocks)
    while len(columns := _stacked(blocks, tall)) > count:
        tall += 1
    part, none = width // count, line()
    return [
        line(*(fit(column[n] if n < len(column) else none, part) for column in columns))
        for n in range(max(map(len, columns)))
    ]


def _stacked(blocks: Sequence[Sequence[Text]], tall: int) -> list[list[Text]]:
    columns: list[list[Text]] = [[]]
    for block in blocks:
        if columns[-1] and len(columns[-1]) + len(block) > tall:
            columns.append([])
        columns[-1] += block
    return columns


def _lit(row: Text, words: Sequence[str]) -> Text:
    """The row with the searched words underlined."""
    for word in words:
        at = row.plain.lower().find(word)
        if at >= 0:
            row.stylize("match", at, at + len(word))
    return row


def _legend() -> list[Text]:
    """The signs that numbers wear."""
    return [
        line((say("how far a number may be believed"), "heading")),
        line("  ", ("97%", "level-ok"), say("  read just now")),
        line("  ", ("△97%", "level-watch"), say(" asks for a look")),
        line("  ", ("▲97%", "level-act"), say(" asks for a hand, now")),
        line("  ", ("~97%", "stale"), say(" read some time ago, or the link is down")),
        line("  ", ("–", "absent"), say("    the box has no such thing")),
        line(
            "  ", ("?", "unknown"), say("    never read, or the probe hangs: unknown, and not zero")
        ),
        line("  ", ("≥ ≤", "text"), say("  at least, at most: no more is known")),
        line(),
        line(("! ", "danger"), say("acts outside gpu-tui; not there with --read-only")),
    ]
