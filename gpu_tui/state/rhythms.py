"""How often the logs of a scheduler's running jobs are written, kept in the history: a `check` by cron looks once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

from gpu_tui.core.fleet import Instance
from gpu_tui.core.pulse import Rhythm
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.runs_before import box_of

COUNTER = "rhythms"
REMEMBERED = 500  # cells

Anchor = tuple[float, float]  # when a run was seen at a place, and how many units it had done
Known = tuple[float, Rhythm | None, Anchor | None]  # when an attempt began, in epoch seconds


class Rhythms:
    """By cell: when its attempt began, how often its log is written, and a place at which it was seen."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._known: dict[str, Known] | None = None
        self._written: tuple[object, float] | None = None

    def recall(self, cell: str, began: float) -> tuple[Rhythm | None, Anchor | None]:
        """The rhythm and the anchor of this attempt, as far as they are known."""
        if self._known is None:
            self._known = self._read()
        known = self._known.get(cell)
        return known[1:] if known is not None and known[0] == began else (None, None)

    def persist(self, known: Mapping[str, Known], at: float) -> None:
        """Replace the stored cells by these."""
        self._known = dict(list(known.items())[:REMEMBERED])
        shape = {cell: (one[0], one[1] is None, one[2]) for cell, one in self._known.items()}
        if self._written and self._written[0] == shape and at - self._written[1] < CONTACT_EVERY:
            return
        self._written = shape, at
        rows = {
            cell: [began, *((rhythm.usual, rhythm.longest) if rhythm else (0, 0)), *(anchor or ())]
            for cell, (began, rhythm, anchor) in self._known.items()
        }
        self._history.set_counter(self._name, COUNTER, json.dumps([self._box, rows]), at)

    def _read(self) -> dict[str, Known]:
        try:
            box, rows = json.loads(self._history.counter(self._name, COUNTER) or "[0, {}]")
            if box != self._box:
                return {}
            return {cell: _remembered(*map(float, row)) for cell, row in rows.items()}
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}


def _remembered(began: float, usual: float, longest: float, *anchor: float) -> Known:
    if not all(map(isfinite, (began, usual, longest, *anchor))):
        raise ValueError
    rhythm = Rhythm(usual, longest) if 0 < usual <= longest else None
    return began, rhythm, (anchor[0], anchor[1]) if len(anchor) == 2 else None
