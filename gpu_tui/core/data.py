"""`dataclass`, whose methods are written when they are first called.

The standard one compiles six functions for each class while its module is loaded, 0.5 ms together; of some
300 classes that was a quarter of the time until the first picture, and most of them are not made in a run.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, FrozenInstanceError, fields, make_dataclass
from dataclasses import dataclass as _standard
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
    ) -> type | Callable[[type], type]:
        """As the one of the standard library, with those options that are used here; `InitVar` is not."""

        def make(bare: type) -> type:
            made = _standard(init=False, repr=False, eq=False, slots=slots)(bare)
            if frozen:
                made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
                if slots:
                    made.__getstate__, made.__setstate__ = _state, _restore
            own = {"__init__", "__repr__", *({"__eq__", "__hash__"} if eq else ())}
            own -= {name for name, value in vars(bare).items() if value is not None}
            if eq and not frozen and "__hash__" in own:
                own.remove("__hash__")
                made.__hash__ = None
            for name in own:
                setattr(made, name, _stub(made, name, own, frozen=frozen))
            return made

        return make if cls is None else make(cls)


def _stub(made: type, name: str, own: set[str], *, frozen: bool) -> Callable[..., object]:
    """A method that is written when it is first called: `__init__` by itself, the others all at once."""

    def first_call(self: object, *args: object, **named: object) -> object:
        if name == "__init__":
            written = {name: _init(made, frozen=frozen)}
        else:
            shape = [(field.name, field.type, copy(field)) for field in fields(made)]
            whole = vars(make_dataclass(made.__name__, shape, frozen=frozen))
            written = {one: whole[one] for one in own - {"__init__"}}
        for one, method in written.items():
            method.__qualname__ = f"{made.__qualname__}.{one}"
            setattr(made, one, method)
        return written[name](self, *args, **named)

    return first_call


def _init(made: type, *, frozen: bool) -> Callable[..., None]:
    """What the standard `__init__` does, in a tenth of the time that making the whole class again takes."""
    space: dict[str, object] = {"_set": object.__setattr__, "_made": object()}
    by_place: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for field in fields(made):
        name, value = field.name, field.name
        default = ""
        if field.default_factory is not MISSING:
            space[f"_new_{name}"], default = field.default_factory, "=_made"
            value = f"_new_{name}() if {name} is _made else {name}"
        elif field.default is not MISSING:
            space[f"_{name}"], default = field.default, f"=_{name}"
        if field.init:
            (by_name if field.kw_only else by_place).append(name + default)
        elif default:
            value = f"_new_{name}()" if default == "=_made" else f"_{name}"
        else:
            continue  # `__post_init__` gives it
        body.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(made, "__post_init__"):
        body.append(" self.__post_init__()")
    taken = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({taken}):\n" + "\n".join(body or [" pass"]), space)
    return cast("Callable[..., None]", space["__init__"])


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
