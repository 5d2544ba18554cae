"""Our dataclass against the standard one: whatever is asked of a class, both say the same."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from pathlib import Path

import pytest

import gpu_tui
from gpu_tui.core.data import dataclass as ours

MAKERS = [dataclasses.dataclass, ours]


@ours(frozen=True, slots=True)
class Kept:
    """A value that is pickled."""

    name: str
    more: tuple[int, ...] = ()


def _point(make, **options):  # type: ignore[no-untyped-def]
    @make(**options)
    class Point:
        """A place."""

        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False, kw_only=True)
        seen: list[int] = field(default_factory=list, init=False)
        sign: str = field(default="+", init=False, repr=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

    return Point


def _taken(kind) -> list[object]:  # type: ignore[no-untyped-def]
    """What one may be made of: names, whether by place, and whether they may be left out."""
    taken = inspect.signature(kind).parameters.values()
    return [(one.name, one.kind, one.default is inspect.Parameter.empty) for one in taken]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"slots": True},
        {"frozen": True},
        {"frozen": True, "slots": True},
        {"eq": False, "slots": True},
    ],
    ids=str,
)
def test_is_as_the_standard_one(options: dict[str, bool]) -> None:
    theirs, mine = (_point(make, **options) for make in MAKERS)

    def said(kind) -> list[object]:  # type: ignore[no-untyped-def]
        one, same, other = kind(1, tags=["a"]), kind(1, tags=["b"]), kind(1, 3)
        found: list[object] = [
            repr(one).replace(kind.__qualname__, "P"), one == same, one == other, one != other,
            one == (1, 2), one.tags, one.secret, dataclasses.asdict(other),
            dataclasses.replace(one, y=9).y, kind.__match_args__, one.seen, hasattr(one, "__dict__"),
            _taken(kind), one.__doc__, dataclasses.is_dataclass(one),
        ]  # fmt: skip
        for attempt in (
            lambda: hash(one) == hash(same), lambda: setattr(one, "x", 5), lambda: delattr(one, "x"),
            lambda: kind(), lambda: kind(1, 2, [], "s"), lambda: kind(1, nobody=1), lambda: kind(-1),
        ):  # fmt: skip
            try:
                found.append(attempt())
            except Exception as error:
                found.append((type(error), str(error)))
        return found

    assert [str(one) for one in said(mine)] == [str(one) for one in said(theirs)]


def test_what_a_class_says_itself_stays() -> None:
    for make in MAKERS:

        @make(frozen=True, slots=True)
        class Own:
            """Compares by its name, and not by what it holds."""

            name: str
            load: int

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Own) and self.name == other.name

            def __hash__(self) -> int:
                return hash(self.name)

            def __repr__(self) -> str:
                return f"<{self.name}>"

        assert Own("a", 1) == Own("a", 2)
        assert len({Own("a", 1), Own("a", 2)}) == 1
        assert repr(Own("a", 1)) == "<a>"


def test_what_inherits_has_the_fields_of_both() -> None:
    for make in MAKERS:

        @make(frozen=True, slots=True)
        class Base:
            """One field."""

            a: int

        @make(frozen=True, slots=True)
        class More(Base):
            """Another."""

            b: int = 5

        @make(frozen=True)
        class Again(Base):
            """Reckons once."""

            @cached_property
            def twice(self) -> int:
                return self.a * 2

        assert (More(1).a, More(1).b, More(1) == More(1, 5), More(1) == Base(1)) == (
            1,
            5,
            True,
            False,
        )
        assert (Base(3).a, Again(4).twice, hash(More(1)) == hash(More(1))) == (3, 8, True)


def test_a_frozen_one_travels() -> None:
    one = Kept("a", (1, 2))
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == copy.deepcopy(one) == one
    with pytest.raises(FrozenInstanceError):
        one.name = "b"  # type: ignore[misc]


def test_the_first_call_may_be_any() -> None:
    for first in (repr, hash, lambda one: one == one):
        kind = _point(ours, frozen=True, slots=True)
        bare = object.__new__(kind)
        for name, value in {
            "x": 1,
            "y": 2,
            "tags": (),
            "secret": "",
            "seen": (),
            "sign": "",
        }.items():
            object.__setattr__(bare, name, value)
        first(bare)
        assert kind(1) == kind(1)


def test_every_room_takes_ours() -> None:
    root = Path(gpu_tui.__file__).parent
    own = {root / "core/data.py", root / "core/gate.py"}  # the gate has an `InitVar`
    for file in set(root.rglob("*.py")) - own:
        tree = ast.parse(file.read_text())
        taken = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)]
        names = {name.name for one in taken if one.module == "dataclasses" for name in one.names}
        assert "dataclass" not in names, f"{file}: take gpu_tui.core.data.dataclass"
