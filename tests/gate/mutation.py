"""Takes guards out of live code, one at a time: what a test suite is worth shows in what it misses.

A guard is an `if` that refuses, one half of an `or` in it, or the condition under which a rule returns
its reason. Every one that stands in the code is found by itself: a new guard needs a test by its
mere existence.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

Owner = ModuleType | type
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One function without one guard. `name` says where, and what is missing."""

    name: str
    owner: Owner
    attribute: str
    module: ModuleType
    code: Function

    def apply(self, patch: pytest.MonkeyPatch, room: Sequence[ModuleType]) -> None:
        """Put it in place of the real one: in its class, or wherever the function is named."""
        tree = ast.fix_missing_locations(ast.Module([self.code], []))
        made: dict[str, Any] = {}
        exec(compile(tree, f"<{self.name}>", "exec"), vars(self.module), made)
        new, old = made[self.code.name], vars(self.owner)[self.attribute]
        if isinstance(self.owner, type):
            patch.setattr(self.owner, self.attribute, new)
            return
        for module in room:
            for name, value in list(vars(module).items()):
                if value is old:
                    patch.setattr(module, name, new)
                elif isinstance(value, dict) and name.isupper():
                    for key, entry in list(value.items()):
                        if entry is old:
                            patch.setitem(value, key, new)


def mutants(
    module: ModuleType, names: Sequence[str], *, none_refuses: bool = False
) -> Iterator[Mutant]:
    """Every guard of the named functions (`f`) and methods (`Class.f`) of a module, left out in turn.

    A rule returns None where it is content: there `return None` guards nothing. `none_refuses` where it
    is the other way round.
    """
    for name in names:
        owner: Owner = module
        *classes, attribute = name.split(".")
        for part in classes:
            owner = vars(owner)[part]
        found = vars(owner)[attribute]
        function = found.fget if isinstance(found, property) else found
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source).body[0]
        assert isinstance(tree, Function)
        for what, code in without_one_guard(tree, none_refuses):
            yield Mutant(f"{name}: {what}", owner, attribute, module, code)


def without_one_guard(function: Function, none_refuses: bool) -> Iterator[tuple[str, Function]]:
    """(what is missing, the function without it) for each guard in it."""
    for number, node in enumerate(ast.walk(function)):
        if not none_refuses and _content(node):
            continue
        for what, change in _changes(node):
            copy = deepcopy(function)
            twin = next(n for i, n in enumerate(ast.walk(copy)) if i == number)
            change(copy, twin)
            yield what, copy


def _content(node: ast.AST) -> bool:
    match node:
        case ast.If(body=[ast.Return(value=ast.Constant(value=None))]):
            return True
    return False


Change = Callable[[Function, Any], None]


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case (
            ast.If(test=test, body=[*_, ast.Return() | ast.Raise() | ast.Continue()])
            | ast.If(test=test, body=[ast.Expr(ast.Call())])
        ):
            yield f"no “if {_short(test)}”", _drop_if
            if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
                for index, half in enumerate(test.values):
                    yield f"without “{_short(half)}”", _drop_half(index)
        case ast.Return(value=ast.IfExp(test=test)):
            yield f"no reason although “{_short(test)}”", _return_nothing
        case ast.Assign(targets=[ast.Name(id="parts")], value=ast.List(elts=elements)):
            for index, element in enumerate(elements):
                yield f"part “{_short(element)}” left out", _drop_part(index)
        case ast.comprehension(ifs=[_, *_] as ifs):
            for index, condition in enumerate(ifs):
                yield f"whether or not “{_short(condition)}”", _drop_filter(index)


def _drop_if(function: Function, node: ast.If) -> None:
    node.test = ast.Constant(False)


def _drop_half(index: int) -> Change:
    def change(function: Function, node: ast.If) -> None:
        assert isinstance(node.test, ast.BoolOp)
        rest = [half for number, half in enumerate(node.test.values) if number != index]
        node.test = rest[0] if len(rest) == 1 else ast.BoolOp(node.test.op, rest)

    return change


def _return_nothing(function: Function, node: ast.Return) -> None:
    node.value = ast.Constant(None)


def _drop_part(index: int) -> Change:
    def change(function: Function, node: ast.Assign) -> None:
        assert isinstance(node.value, ast.List)
        del node.value.elts[index]

    return change


def _drop_filter(index: int) -> Change:
    def change(function: Function, node: ast.comprehension) -> None:
        del node.ifs[index]

    return change


def _short(node: ast.AST, most: int = 70) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else text[:most] + "…"


def cases(module: ModuleType) -> Mapping[str, Callable[[], None]]:
    """The synchronous tests of a module that need no fixture, each parameter set by itself."""
    found: dict[str, Callable[[], None]] = {}
    for name, test in vars(module).items():
        if not name.startswith("test_") or inspect.iscoroutinefunction(test):
            continue
        for number, values in enumerate(_parameters(test)):
            if set(inspect.signature(test).parameters) == set(values):
                found[f"{name}[{number}]"] = lambda test=test, values=values: test(**values)
    return found


def _parameters(test: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{}]
    for mark in getattr(test, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names = mark.args[0]
        keys = [key.strip() for key in names.split(",")] if isinstance(names, str) else list(names)
        grown = []
        for row in rows:
            for values in mark.args[1]:
                values = values if len(keys) > 1 else (values,)
                grown.append(row | dict(zip(keys, values, strict=True)))
        rows = grown
    return rows
