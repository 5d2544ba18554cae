"""The queue file -> the roster: `<config.yaml> <task> [epochs]`, one cell a line, and names in a log."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpu_tui.core.sweep import Roster, RosterCell

DEFAULT_EPOCHS = 20
LONGEST = 4096  # characters of a line that can be a cell
REJECTED_CAP = 200  # characters of a rejected line that are kept

# A config path may hold spaces only when it ends in `.yaml`: then the end of the path is certain.
_CELL = re.compile(
    r"(?P<config>\S[^\n]*?\.yaml|\S+)[ \t]+(?P<task>\S+)(?:[ \t]+(?P<epochs>[0-9]{1,6}))?"
)
_NOTE = re.compile(r"[ \t]#.*$")


def parse_roster(text: str) -> Roster:
    """Cells in order. Blank lines and `#` lines are not counted; every other line takes an index,
    as the wrapper counts them, also one that is no cell (it is kept in `rejected`).
    """
    cells: list[RosterCell] = []
    rejected: list[str] = []
    names: dict[str, int] = {}
    index = 0
    for raw in text.removeprefix("\ufeff").split("\n"):
        line = _NOTE.sub("", raw.strip()).strip()
        if not line or line.startswith("#"):
            continue
        index += 1
        match = _CELL.fullmatch(line) if len(line) <= LONGEST else None
        name = _cell_name(match["config"]) if match else ""
        if match is None or not name:
            rejected.append(line[:REJECTED_CAP])
            continue
        epochs = int(match["epochs"]) if match["epochs"] else DEFAULT_EPOCHS
        cells.append(RosterCell(index, name, match["config"], match["task"], epochs))
        names[name] = names.get(name, 0) + 1
    return Roster(
        cells=tuple(cells),
        duplicates=tuple(name for name, count in names.items() if count > 1),
        rejected=tuple(rejected),
    )


def failed_names(raw: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names behind `FAILED:`. A name of the roster may hold spaces: the longest that fits wins;
    a word that fits none is a name that the roster does not know.
    """
    by_length = sorted({name for name in known if name}, key=len, reverse=True)
    found: dict[str, None] = {}
    rest = raw.strip()
    while rest:
        fits = (name for name in by_length if rest.startswith(name))
        name = next((name for name in fits if rest[len(name) :][:1] in ("", " ")), None)
        if name is None:
            name = rest.split(maxsplit=1)[0]
        found[name] = None
        rest = rest[len(name) :].lstrip()
    return tuple(found)


def _cell_name(config: str) -> str:
    return config.rsplit("/", 1)[-1].removesuffix(".yaml")
