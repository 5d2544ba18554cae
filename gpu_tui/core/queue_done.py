"""What a queue's closing line claims of each cell, and where the cells' own end lines say otherwise. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gpu_tui.core.queue_history import CellRun, QueueHistory

NAMED = 5  # names in one sentence


@dataclass(frozen=True, slots=True)
class Claim:
    """The closing line, its names matched. `failed` None = it says that all exited 0."""

    count: int
    failed: tuple[str, ...] | None
    known: Collection[str] = ()

    def says(self, run: CellRun) -> bool | None:
        """True: this cell exited 0. False: it is listed as failed. None: nothing is said of it."""
        if run.past:
            return None
        return self.failed is None or run.name not in self.failed

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names that it lists and that are no cell."""
        return tuple(name for name in self.failed or () if name not in self.known)


def claim_of(history: QueueHistory, known: Collection[str]) -> Claim | None:
    """The claim of the queue start that the log describes now; `known` are all names of cells."""
    done = history.done
    if done is None:
        return None
    return Claim(
        done.count, None if done.failed is None else failed_names(done.failed, known), known
    )


def doubts(claim: Claim, history: QueueHistory) -> Iterator[str]:
    """The sentences in which closing line and end lines contradict each other."""
    ended = [run for run in history.runs.values() if run.ended and not run.past]
    ended.sort(key=lambda run: (run.index, run.name))
    hidden = [run.name for run in ended if run.exit_code and claim.says(run)]
    if hidden and claim.failed is None:
        yield f"QUEUE DONE says that all exited 0, but {listed(hidden)} did not"
    elif hidden:
        yield f"QUEUE DONE does not list {listed(hidden)}, which did not exit 0"
    blamed = [run.name for run in ended if run.exit_code == 0 and claim.says(run) is False]
    if blamed:
        yield f"QUEUE DONE lists {listed(blamed)} as failed, but by its own end line it exited 0"
    if claim.failed is not None and len(claim.failed) != claim.count:
        yield f"QUEUE DONE counts {claim.count} failed cell(s) and names {len(claim.failed)}"
    opened = history.opened
    if claim.failed is None and opened is not None and claim.count != opened.total:
        yield f"QUEUE DONE counts {claim.count} cells, and the queue was started with {opened.total}"


def failed_names(raw: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names behind `FAILED:`. A name of the roster may hold spaces: the longest that fits wins;
    a word that fits none is a name that the roster does not know.
    """
    spaced = sorted({name for name in known if " " in name}, key=len, reverse=True)
    found: dict[str, None] = {}
    rest = raw.strip()
    while rest:
        fits = (name for name in spaced if rest.startswith(name))
        name = next((name for name in fits if rest[len(name) :][:1] in ("", " ")), None)
        if name is None:
            name = rest.split(maxsplit=1)[0]
        found[name] = None
        rest = rest[len(name) :].lstrip()
    return tuple(found)


def listed(names: Collection[str], most: int = NAMED) -> str:
    """Some names and how many more there are."""
    rows = list(names)
    shown = ", ".join(rows[:most])
    return shown if len(rows) <= most else f"{shown} and {len(rows) - most} more"
