"""Key paths of the JSON that a function can build, read from its syntax tree.

All branches are read, so that keys of rare states are found too; a run shows only the states of that run. In a path,
`cells[].name` is a key in a list of objects and `why.*` is any key of a mapping.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, ValuesView
from enum import EnumMeta
from functools import cache
from itertools import product
from types import FunctionType, ModuleType
from typing import get_args, get_origin, get_type_hints

Paths = frozenset[str]
Names = Mapping[str, object]  # loop variables with a known value
Function = ast.FunctionDef | ast.AsyncFunctionDef
LEAF: Paths = frozenset()
# Loops over these are run, a turn for each value.
CONSTANTS = (tuple, list, set, frozenset, Mapping, ValuesView, KeysView, EnumMeta)
LOOKS = ("keys", "values", "items")  # calls that only read a constant
COPIES = ("list", "tuple", "sorted", "reversed", "dict")


@dataclasses.dataclass(frozen=True)
class Call:
    """One call and its function."""

    reader: Reader
    inside: Function
    names: Names
    node: ast.Call

    @property
    def word(self) -> str:
        """The called expression as source text."""
        return ast.unparse(self.node.func)

    def words(self, at: int) -> list[str]:
        """The possible strings of an argument; `*` where it is data."""
        return self.reader.words(self.node.args[at], self.inside, self.names)

    def value(self, at: int) -> object:
        """An argument's value if it is made of constants of the module; None otherwise."""
        node = self.node.args[at]
        if isinstance(node, ast.Name):
            for row, statement in _statements(self.inside.body, self.names, self.reader.rows):
                if (
                    isinstance(statement, ast.Assign)
                    and ast.unparse(statement.targets[0]) == node.id
                ):
                    return self.reader.value(statement.value, row)
        return self.reader.value(node, self.names)

    def keywords(self) -> Paths:
        """Its keywords, with the paths below them."""
        return self.reader.of_keywords(self.node, self.inside)


class Unread(Exception):
    """Code that this reader cannot follow."""


def keys_of(module: str, function: str) -> Paths:
    """The paths of what `function` of `module` returns or yields; `Class.method` is one too."""
    return Reader(importlib.import_module(module)).of_function(function)


def dumped_in(module: str) -> Paths:
    """The paths of everything that the module itself gives to `json.dumps`."""
    return Reader(importlib.import_module(module)).dumped()


def calls_in(module: str) -> Iterator[Call]:
    """Every call in the functions of a module. Each case of a `match` is read by itself."""
    reader = Reader(importlib.import_module(module))
    for function in reader.functions():
        for one in _by_case(function):
            for names, statement in _statements(one.body, {}, reader.rows):
                for node in _calls(statement):
                    yield Call(reader, one, names, node)


def paths_in(value: object) -> Paths:
    """The paths of a JSON value, in the same notation."""
    if isinstance(value, dict):
        return under_keys({str(key): paths_in(one) for key, one in value.items()})
    if isinstance(value, list):
        return in_list(frozenset().union(*map(paths_in, value)))
    return LEAF


def under_keys(members: Mapping[str, Paths]) -> Paths:
    """An object with these members."""
    found = set(members)
    for key, below in members.items():
        found |= {key + path if path.startswith("[]") else f"{key}.{path}" for path in below}
    return frozenset(found)


def in_list(below: Paths) -> Paths:
    """A list of such values."""
    return frozenset(f"[]{path}" if path.startswith("[]") else f"[].{path}" for path in below)


def covered(path: str, known: Iterable[str]) -> bool:
    """True where `path` is one of `known`, whose `*` takes any key."""
    parts = path.split(".")
    for one in known:
        others = one.split(".")
        if len(others) == len(parts) and all(
            other == part or (other.rstrip("[]") == "*" and _brackets(other) == _brackets(part))
            for other, part in zip(others, parts, strict=True)
        ):
            return True
    return False


def _brackets(part: str) -> int:
    return part.count("[]")


def _by_case(function: Function) -> Iterator[Function]:
    """The function once for each case of a `match` at its top, as if there were no other."""
    for at, node in enumerate(function.body):
        if isinstance(node, ast.Match):
            for case in node.cases:
                alone = copy.copy(function)
                only = ast.Match(subject=node.subject, cases=[case])
                alone.body = [*function.body[:at], only, *function.body[at + 1 :]]
                yield alone
            return
    yield function


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls of one statement, without those of statements within it."""
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        if isinstance(node, ast.Call):
            yield node
        inner = (ast.stmt, ast.match_case, ast.ExceptHandler)
        left += [one for one in ast.iter_child_nodes(node) if not isinstance(one, inner)]


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


@cache
def _scope(module: ModuleType) -> dict[str, object]:
    """The names of a module, those that its functions import included."""
    found: dict[str, object] = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpu_tui"):
            owner = importlib.import_module(node.module or "")
            found |= {one.asname or one.name: getattr(owner, one.name, None) for one in node.names}
    return {**found, **vars(module)}


class Reader:
    """Reads the functions of one module."""

    def __init__(self, module: ModuleType, open_calls: frozenset[object] = frozenset()) -> None:
        self.module = module
        self.open_calls = open_calls  # functions being read: recursion adds nothing

    def functions(self) -> Iterator[Function]:
        """All of them, methods included."""
        for node in ast.walk(_tree(self.module)):
            if isinstance(node, Function):
                yield node

    def of_function(self, name: str) -> Paths:
        """The paths of what the function of this name returns."""
        *owner, last = name.split(".")
        body: Iterable[ast.stmt] = _tree(self.module).body
        for part in owner:
            body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == part).body
        node = next(n for n in body if isinstance(n, Function) and n.name == last)
        return self.returned(node)

    def dumped(self) -> Paths:
        """The paths of all arguments of `json.dumps`."""
        found: set[str] = set()
        for function in self.functions():
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.dumps":
                    found |= self.read(node.args[0], function, {})
        return frozenset(found)

    def of_keywords(self, call: ast.Call, inside: Function) -> Paths:
        """The keyword names of a call, with the paths of their values."""
        members: dict[str, Paths] = {}
        found: set[str] = set()
        for keyword in call.keywords:
            below = self.read(keyword.value, inside, {})
            if keyword.arg is None:
                found |= below
            else:
                members[keyword.arg] = below
        return under_keys(members) | found

    def returned(self, function: Function) -> Paths:
        """The paths of all return values; those of a generator are a list."""
        found: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                found |= self.read(node.value, function, {})
            elif isinstance(node, ast.Yield) and node.value is not None:
                found |= in_list(self.read(node.value, function, {}))
        return frozenset(found)

    def read(self, node: ast.expr, inside: Function, names: Names) -> Paths:
        """The paths of one expression."""

        def again(one: ast.expr) -> Paths:
            return self.read(one, inside, names)

        match node:
            case ast.Dict():
                members: dict[str, Paths] = {}
                found: set[str] = set()
                for key, value in zip(node.keys, node.values, strict=True):
                    if key is None:
                        found |= again(value)
                    else:
                        members.update(dict.fromkeys(self.words(key, inside, names), again(value)))
                return under_keys(members) | found
            case ast.DictComp():
                rows = list(self.rows(node.generators, names))
                return frozenset().union(
                    *(
                        under_keys(
                            dict.fromkeys(
                                self.words(node.key, inside, row),
                                self.read(node.value, inside, row),
                            )
                        )
                        for row in rows
                    )
                )
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                rows = list(self.rows(node.generators, names))
                return in_list(
                    frozenset().union(*(self.read(node.elt, inside, row) for row in rows))
                )
            case ast.List(elts=items) | ast.Tuple(elts=items):
                found = set()
                for item in items:
                    found |= (
                        again(item.value) if isinstance(item, ast.Starred) else in_list(again(item))
                    )
                return frozenset(found)
            case (
                ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, op=ast.BitOr(), right=other)
            ):
                return again(one) | again(other)
            case ast.BoolOp(values=values):
                return frozenset().union(*map(again, values))
            case ast.Subscript(value=ast.Name() as whole):
                return frozenset(
                    path.removeprefix("[]").removeprefix(".")
                    for path in again(whole)
                    if path.startswith("[]")
                )
            case ast.Name(id=name):
                return self.variable(name, inside, names)
            case ast.Await(value=value) | ast.NamedExpr(value=value):
                return again(value)
            case ast.Call():
                return self.called(node, inside, names)
        return LEAF

    def variable(self, name: str, inside: Function, names: Names) -> Paths:
        """Everything that is put into a local variable, in whatever order."""
        if name in names:
            return LEAF
        key = (self.module.__name__, inside.name, inside.lineno, name)
        if key in self.open_calls:
            return LEAF
        reader = Reader(self.module, self.open_calls | {key})
        found: set[str] = set()
        for row, node in _statements(inside.body, names, self.rows):
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
                targets = [node.target]
            for target in targets:
                value = getattr(node, "value")  # noqa: B009 - of each of the three kinds
                if isinstance(target, ast.Name) and target.id == name:
                    found |= reader.read(value, inside, row)
                elif (
                    isinstance(target, ast.Subscript)
                    and isinstance(target.value, ast.Name)
                    and target.value.id == name
                ):
                    words = reader.words(target.slice, inside, row)
                    found |= under_keys(dict.fromkeys(words, reader.read(value, inside, row)))
        for value, caller in self.given(name, inside):
            found |= reader.read(value, caller, {})
        return frozenset(found)

    def given(self, name: str, inside: Function) -> Iterator[tuple[ast.expr, Function]]:
        """The arguments that calls in this module pass for a parameter, each with its caller."""
        order = [one.arg for one in (*inside.args.posonlyargs, *inside.args.args)]
        extra = inside.args.kwarg is not None and inside.args.kwarg.arg == name
        if order[:1] == ["self"]:
            order = order[1:]
        if name not in order and not extra:
            return
        for caller in self.functions():
            for node in ast.walk(caller):
                if not isinstance(node, ast.Call) or _last(node.func) != inside.name:
                    continue
                at = order.index(name) if name in order else len(node.args)
                if at < len(node.args):
                    yield node.args[at], caller
                for keyword in node.keywords:
                    if keyword.arg == name or (extra and keyword.arg is None):
                        yield keyword.value, caller

    def called(self, node: ast.Call, inside: Function, names: Names) -> Paths:
        """The paths of a call's result: followed into gpu_tui's own functions; of `asdict`, the fields."""
        word = ast.unparse(node.func)
        if word in COPIES:
            below = self.read(node.args[0], inside, names) if node.args else LEAF
            # `dict(x)` of what is not built here: a mapping whose keys are data.
            return below or (under_keys({"*": LEAF}) if word == "dict" else LEAF)
        if word == "asdict":
            return self.fields_of(node.args[0])
        target = self.value(node.func, {})
        if isinstance(target, FunctionType) and target.__module__.startswith("gpu_tui"):
            owner = importlib.import_module(target.__module__)
            key = (target.__module__, target.__qualname__)
            if key in self.open_calls:
                return LEAF
            return Reader(owner, self.open_calls | {key}).of_function(target.__qualname__)
        if isinstance(node.func, ast.Attribute):
            return self.method(node.func.attr)
        return LEAF

    def method(self, name: str) -> Paths:
        """The paths that a method returns, where exactly one class of this module defines it."""
        owners = [
            one
            for one in _tree(self.module).body
            if isinstance(one, ast.ClassDef)
            and any(isinstance(n, Function) and n.name == name for n in one.body)
        ]
        key = (self.module.__name__, name)
        if len(owners) != 1 or key in self.open_calls:
            return LEAF
        reader = Reader(self.module, self.open_calls | {key})
        return reader.of_function(f"{owners[0].name}.{name}")

    def fields_of(self, node: ast.expr) -> Paths:
        """The fields of the dataclass that `asdict` is given: the one named like the variable, else the only one."""
        known = {
            name.lower(): one
            for name, one in _scope(self.module).items()
            if isinstance(one, type) and dataclasses.is_dataclass(one)
        }
        own = [one for one in known.values() if one.__module__ == self.module.__name__]
        chosen = known.get(ast.unparse(node).replace("_", ""), own[0] if len(own) == 1 else None)
        if chosen is None:
            raise Unread(
                f"{self.module.__name__}: which class is {ast.unparse(node)} in asdict? Name it like the class."
            )
        return _of_type(chosen)

    def words(self, node: ast.expr, inside: Function, names: Names) -> list[str]:
        """The possible strings of a key; `*` where it is data."""
        value = self.value(node, names)
        if isinstance(value, str):
            return [str(value)]
        found: list[str] = []
        if isinstance(node, ast.Name) and node.id not in names:
            for passed, _ in self.given(node.id, inside):
                value = self.value(passed, {})
                found.append(str(value) if isinstance(value, str) else "*")
        return found or ["*"]

    def rows(self, generators: Iterable[ast.comprehension], names: Names) -> Iterator[Names]:
        """The loop variables of a comprehension, once for each value where these are constants of the module."""
        choices: list[list[Names]] = []
        for one in generators:
            choices.append(self.loop(one.target, one.iter, names))
        for parts in product(*choices):
            row = dict(names)
            for part in parts:
                row |= part
            yield row

    def loop(self, target: ast.expr, over: ast.expr, names: Names) -> list[Names]:
        """The bindings of each turn of a loop; a single empty one where it runs over data."""
        if isinstance(target, ast.Tuple) and isinstance(over, ast.Tuple):
            return [
                {
                    name.id: value
                    for name, part in zip(target.elts, turn.elts, strict=True)
                    if isinstance(name, ast.Name) and (value := self.value(part, names)) is not None
                }
                for turn in over.elts
                if isinstance(turn, ast.Tuple)
            ]
        values = self.value(over, names)
        if isinstance(target, ast.Name) and isinstance(values, CONSTANTS):
            return [{target.id: value} for value in values]
        return [{}]

    def value(self, node: ast.expr, names: Names) -> object:
        """The value of an expression made of constants of the module; None otherwise."""
        if any(
            isinstance(part, ast.Call) and _last(part.func) not in LOOKS for part in ast.walk(node)
        ):
            return None
        scope = {**_scope(self.module), **names}
        try:
            return eval(compile(ast.Expression(node), "<surface>", "eval"), scope)
        except Exception:
            return None


def _of_type(kind: object) -> Paths:
    """The paths of a value of this type, as `asdict` makes it."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return under_keys({one.name: _of_type(hints[one.name]) for one in dataclasses.fields(kind)})
    inner = [_of_type(one) for one in get_args(kind)]
    below: Paths = frozenset().union(*inner)
    if get_origin(kind) in (tuple, list):
        return in_list(below)
    if get_origin(kind) in (dict, Mapping):
        return under_keys({"*": below})
    return below


def _last(node: ast.expr) -> str:
    """The last name of what is called: `write` of `self.diary.write`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _statements(
    body: Iterable[ast.stmt],
    names: Names,
    rows: Callable[[Iterable[ast.comprehension], Names], Iterator[Names]],
) -> Iterator[tuple[Names, ast.stmt]]:
    """Every statement of a function, those of a loop once for each turn that is known beforehand."""
    for node in body:
        yield names, node
        if isinstance(node, ast.For | ast.AsyncFor):
            loop = ast.comprehension(target=node.target, iter=node.iter, ifs=[], is_async=0)
            for row in rows([loop], names):
                yield from _statements(node.body, row, rows)
            continue
        for inner in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, inner, ()), names, rows)
        for handler in getattr(node, "handlers", ()):
            yield from _statements(handler.body, names, rows)
        for case in getattr(node, "cases", ()):
            yield from _statements(case.body, names, rows)
