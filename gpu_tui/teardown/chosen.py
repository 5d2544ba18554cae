"""Restricts a pull to the cells that a person named (`gpu-tui pull NAME --cells a,b`). Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from gpu_tui.core.evidence import Cells, NotPulled
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.plain import plain
from gpu_tui.core.proof import some
from gpu_tui.core.required import Required
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.listing import Listing
from gpu_tui.teardown.roster import NO_LOG

T = TypeVar("T")
NEAR = 0.6
NOT_ASKED, NOTHING = "not asked for", "nothing"
ASTRAY = "it is a link into another cell, which was not asked for"


class UnknownCells(BoxError):
    """A name that is none of the box's cells was asked for. `next` suggests one."""

    def __init__(self, unknown: Iterable[str], known: Collection[str]) -> None:
        names = sorted(unknown)
        super().__init__(f"no cell is called {some(names)}")
        close = get_close_matches(names[0], known, n=1, cutoff=NEAR)
        self.next = (
            f"Did you mean {plain(close[0])}?" if close else f"the cells are {some([*known], 12)}"
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The cells that were asked for, and all that there are."""

    only: frozenset[str]
    known: frozenset[str]
    required: Required

    def has(self, path: str) -> bool:
        """Whether this path is one of the chosen cells' directories, or lies below one."""
        return self.required.cell_of(path.partition("/")[0], self.known) in self.only

    def listing(self, whole: Listing) -> Listing:
        """The chosen part of what lies on the box."""
        return Listing(
            root=whole.root,
            files=self._of(whole.files, lambda row: row[0]),
            refused=(
                *self._of(whole.refused, lambda row: row[0]),
                *((p, ASTRAY) for p, at in whole.left.links if self.has(p) and not self.has(at)),
            ),
            directories=self._of(whole.directories, str),
            left=NotPulled(
                tuple(row for row in whole.left.links if self.has(row[0]) and self.has(row[1])),
                self._of(whole.left.empty, str),
            ),
        )

    def manifest(self, whole: Manifest) -> Manifest:
        """The chosen part of what lies here."""
        return Manifest.of(self._of(whole.files, lambda file: file.path))

    def cells(self, whole: Cells | None) -> Cells:
        """The chosen part of the roster. A doubt about other cells is none about these."""
        if whole is None:
            unfinished = tuple((name, NO_LOG) for name in sorted(self.only))
            return Cells(unfinished=unfinished, required=self.required)
        twice = {f"{name} stands twice" for name in self.only}
        return replace(
            whole,
            finished=tuple(name for name in whole.finished if name in self.only),
            unfinished=tuple(row for row in whole.unfinished if row[0] in self.only),
            doubtful=tuple(doubt for doubt in whole.doubtful if doubt in twice),
            began=tuple(row for row in whole.began if row[0] in self.only),
        )

    def others(self, whole: Listing) -> tuple[tuple[str, str], ...]:
        """Everything else: (cell, directory or file, whether it left anything)."""
        tops = {path.partition("/")[0] for path in whole.paths}
        owners = {top: self.required.cell_of(top, self.known) for top in tops}
        left = set(owners.values())
        rest = sorted(self.known - self.only)
        strays = sorted(top for top, owner in owners.items() if owner is None)
        return (
            *((name, NOT_ASKED if name in left else NOTHING) for name in rest),
            *((top, NOT_ASKED) for top in strays),
        )

    def _of(self, rows: Iterable[T], path: Callable[[T], str]) -> tuple[T, ...]:
        return tuple(row for row in rows if self.has(path(row)))


def choose(
    only: Collection[str], listing: Listing, cells: Cells | None, required: Required
) -> Chosen:
    """The cells called `only`: of the roster, or without one of the directories. UnknownCells for another name."""
    names = cells.names if cells else tuple(sorted({*listing.directories}))
    if unknown := set(only) - set(names):
        raise UnknownCells(unknown, names)
    return Chosen(frozenset(only), frozenset(names), required)
