"""The exceptions that a person may take before a destruction, each by its own words. Pure.

What they have in common: everything that is on the box is at home and loads, and yet it is not what the
queue promised. None of them is a flag, and each is asked anew in every climb.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_tui.core.evidence import Cards, Cells, FileVerdict, Inventory
from gpu_tui.core.proof import BLANK, NO_COPY, Cover, ended_ill, holds_weights, tops

SPOILT = 0.5  # share of a checkpoint's values: some are masked by infinities, no model is for the most part
TYPED_MOST = 3  # names in the words to type; of more it is their number
_TYPEABLE = re.compile(r"[A-Za-z0-9._-]{1,40}")


@dataclass(frozen=True, slots=True)
class Waiver:
    """One exception: `kind` is unfinished, unsynced, missing, unclosed, unnamed, fewer, older, memory,
    cards, nan or zero; `about` are (name, why), none left
    out.
    """

    kind: str
    about: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """What an acknowledgement names."""
        return f"exception:{self.kind}"

    @property
    def names(self) -> tuple[str, ...]:
        """What it is about."""
        return tuple(name for name, _ in self.about)

    @property
    def label(self) -> str:
        """It in a few words."""
        return LABELS[self.kind].format(len(self.about))

    @property
    def phrase(self) -> str:
        """What is typed for it: the names themselves where they are few and a hand can type them."""
        few = len(self.about) <= TYPED_MOST and all(
            _TYPEABLE.fullmatch(name) for name in self.names
        )
        return f"accept {self.kind} {' '.join(self.names) if few else len(self.about)}"

    @property
    def lines(self) -> tuple[str, ...]:
        """Every name, why, and what else could be done."""
        return (*(f"{name}: {why}" if why else name for name, why in self.about), ADVICE[self.kind])


NOTHING = "it left nothing"
LABELS = {
    "unfinished": "cells that did not end well: {}",
    "unsynced": "cells whose last copy failed: {}",
    "missing": "cells that ended badly and lack results: {}",
    "unclosed": "the queue does not say that it is done",
    "unnamed": "directories that no cell is called: {}",
    "fewer": "missing, though an earlier look saw them: {}",
    "older": "cells whose weights are older than their last start: {}",
    "memory": "copies here that lie in memory: {}",
    "cards": "cards that may work for somebody who is not seen: {}",
    "nan": "checkpoints whose weights are mostly NaN or infinite: {}",
    "zero": "checkpoints whose weights are all zero: {}",
}
ADVICE = {
    "unfinished": "what they left is at home and nothing more will come: let them end well and open this "
    "again, or accept it",
    "unsynced": "what is at home may be of an earlier run, and the newer is lost: copy it into results.remote and "
    "open this again, or accept it",
    "older": "a run that went on and found no better leaves that behind, and so does one that saved nothing: look "
    "at its log, and accept it where the older is the result",
    "cards": "another container or another user of that machine ends with it: ask whose work it is, or accept it",
    "nan": "it can be loaded, and nothing can go on from it: look whether an earlier checkpoint is left, and accept "
    "it where this one is all there is",
    "zero": "it can be loaded, and nothing was learnt in it, or it was never written: look whether an earlier checkpoint "
    "is left, and accept it where this one is all there is",
    "memory": "they are gone when this machine restarts: name another results.local and open this again, or "
    "accept it",
    "missing": "nothing more of them is among the results, and what they left elsewhere on the box is lost: "
    "let them end well and open this again, or accept it",
    "unclosed": "every cell ended well all the same: wait for the closing line and open this again, or "
    "accept that there is none",
    "unnamed": "it is at home all the same: name every cell as results.cells in the fleet file, or move it out of results.remote, "
    "and open this again; or accept it",
    "fewer": "an earlier look at this box saw them: put them back (is a disk not mounted?) and open this "
    "again, or accept that they are lost",
}


def waivers(
    inventory: Inventory,
    covered: Cover,
    before: Iterable[str],
    memory: Iterable[str] = (),
    cards: Cards = (),
    verdicts: Iterable[FileVerdict] = (),
) -> tuple[Waiver, ...]:
    """Every exception that this evidence needs. `covered` is the inventory held against its cells, `memory` are
    mounts here that hold copies and keep nothing, `cards` are at work for nobody who was seen,
    `verdicts` say what loading the files showed.
    """
    cells, verdicts = inventory.cells or Cells(), tuple(verdicts)
    unclosed = not cells.closed and not cells.unfinished
    gone = sorted(set(before) - required(inventory))
    ill, states = dict(ended_ill(cells, covered)), dict(cells.unfinished)
    left = {cells.required.cell_of(top, states) for top in tops(inventory.manifest)}
    ended = [one for one in cells.unfinished if one[0] not in ill]
    found = (
        Waiver("unfinished", tuple(one for one in ended if one[1] != NO_COPY)),
        Waiver("unsynced", tuple(one for one in ended if one[1] == NO_COPY)),
        Waiver(
            "missing",
            tuple(
                (name, f"{states[name]}, {_without(parts) if name in left else NOTHING}")
                for name, parts in ill.items()
            ),
        ),
        Waiver("unclosed", (("queue", "its log does not end with QUEUE DONE"),) * unclosed),
        Waiver("unnamed", tuple((name, _lacks(parts)) for name, parts in covered.unnamed)),
        Waiver("fewer", tuple((name, "") for name in gone)),
        Waiver("older", inventory.older),
        Waiver("cards", cards),
        Waiver("nan", tuple(_spoilt(verdicts))),
        Waiver("zero", tuple((v.path, BLANK["zero"]) for v in verdicts if v.blank == "zero")),
        Waiver("memory", tuple((at, "results.local lies on it") for at in memory)),
    )
    return tuple(one for one in found if one.about)


def _spoilt(verdicts: Iterable[FileVerdict]) -> Iterator[tuple[str, str]]:
    for one in verdicts:
        if holds_weights(one) and one.nonfinite is not None and one.nonfinite > SPOILT:
            yield one.path, f"{one.nonfinite:.0%} of its values are NaN or infinite"
        elif one.blank == "nan":  # even if other values are finite
            yield one.path, BLANK["nan"]


def required(inventory: Inventory) -> frozenset[str]:
    """What must come home from this box: its cells, and every directory at the top of its results."""
    names = inventory.cells.names if inventory.cells else ()
    return frozenset(names) | tops(inventory.manifest) | frozenset(inventory.directories)


def _without(parts: tuple[str, ...]) -> str:
    return f"no {' and no '.join(parts)}"


def _lacks(parts: tuple[str, ...]) -> str:
    return f"as a cell it lacks {' and '.join(parts)}" if parts else "it has all that a cell leaves"
