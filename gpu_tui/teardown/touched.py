"""Which files were touched between two looks at both sides, by name: for a person, who must find them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpu_tui.core.gate import HERE

There = Mapping[str, str]  # `stamps` of the box
Here = Mapping[str, tuple[int, ...]]  # `local_stamps`, by whole path
Sides = tuple[There, Here]


def touched_since(before: Sides | None, now: Sides, root: Path) -> tuple[str, ...]:
    """What differs, on the box first. `root` is the directory here; `before` None: nobody looked then."""
    if before is None:
        return ()
    on_box, here = (_differing(*pair) for pair in zip(before, now, strict=True))
    mine = (f"{path.removeprefix(f'{root}/')}{HERE}" for path in here)
    return (*on_box, *mine)


def _differing(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
