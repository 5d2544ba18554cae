"""Runs tests against gpu-tui with one change in it: `python tests/gate/mutated.py NAME…`.

A change is made in the syntax tree and addressed by the name of a function, so it survives moves inside a
module; one that no longer finds its place raises `Lost`. The tests are loaded once. Each mutant has a fork of
that process, in which the function gets the changed code: wherever it was imported, it is the same function. No
file is written. Programs that a test starts run the unchanged code.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
AT_ONCE = 2
MARK = "mutant: "
SECONDS = 60  # one test of a mutant may take this long; a ladder that hangs fails then


class Lost(LookupError):
    """The code that a mutant changes is not there, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """One change. `old` and `new` are Python: an expression each, or statements.

    `where` names a function, `Class.method` or a module-level variable of `module`. If it names a variable that
    holds a text (a shell program), `old` and `new` are pieces of that text. `of`: the public function that it is
    counted for, if `where` is a private one.
    """

    name: str
    module: str
    where: str
    old: str
    new: str
    tests: tuple[str, ...]
    of: str = ""

    def changed(self, source: str) -> ast.Module:
        """The module's tree with this change in it; Lost if the place is not found exactly once."""
        tree = ast.parse(source)
        places = list(self._places(_named(tree, self.where)))
        if len(places) != 1:
            raise Lost(
                f"{self.name}: {self.module}.{self.where} has “{self.old}” {len(places)} times"
            )
        places[0].put()
        return ast.fix_missing_locations(tree)

    def _places(self, scope: ast.AST) -> Iterator[_Place]:
        text = getattr(scope, "value", None)
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            for _ in range(text.value.count(self.old)):
                said = text.value.replace(self.old, self.new)
                yield _Place(text, "value", None, 0, said)
            return
        old, new = ast.parse(self.old).body, ast.parse(self.new).body
        match old, new:
            case [ast.Expr(value=before)], [ast.Expr(value=after)]:
                yield from _expressions(scope, ast.dump(before), after)
            case _:
                yield from _statements(scope, [ast.dump(one) for one in old], new)


@dataclass(frozen=True)
class _Place:
    node: Any
    name: str
    index: int | None
    length: int
    new: object

    def put(self) -> None:
        if self.index is None:
            setattr(self.node, self.name, self.new)
        else:
            getattr(self.node, self.name)[self.index : self.index + self.length] = self.new


def _named(tree: ast.Module, where: str) -> ast.AST:
    """What `where` names, or Lost."""
    scope: Any = tree
    for part in where.split("."):
        found = [
            node
            for node in scope.body
            if getattr(node, "name", None) == part
            or any(getattr(one, "id", None) == part for one in getattr(node, "targets", ()))
            or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == part)
        ]
        if not found:
            raise Lost(f"there is no {where}")
        scope = found[-1]  # behind a property comes its setter
    return scope


def _expressions(scope: ast.AST, old: str, new: ast.expr) -> Iterator[_Place]:
    for node in ast.walk(scope):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST) and ast.dump(value) == old:
                yield _Place(node, name, None, 0, new)
            elif isinstance(value, list):
                for index, one in enumerate(value):
                    if isinstance(one, ast.AST) and ast.dump(one) == old:
                        yield _Place(node, name, index, 1, [new])


def _statements(scope: ast.AST, old: list[str], new: list[ast.stmt]) -> Iterator[_Place]:
    for node in ast.walk(scope):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                dumps = [ast.dump(one) for one in value]
                for index in range(len(dumps) - len(old) + 1):
                    if dumps[index : index + len(old)] == old:
                        yield _Place(node, name, index, len(old), new)


def source_of(module: str) -> Path:
    """The file of `gpu_tui.<module>`."""
    return ROOT.joinpath("gpu_tui", *module.split(".")).with_suffix(".py")


def public_functions(module: str) -> list[str]:
    """`function` and `Class.method` of every name in it that has no underscore in front."""
    found: list[str] = []

    def look(body: list[ast.stmt], above: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                look(node.body, f"{above}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
                found.append(above + node.name)

    look(ast.parse(source_of(module).read_text("utf-8")).body, "")
    return found


def put(mutant: Mutant) -> None:
    """Change the loaded program."""
    module = import_module(f"gpu_tui.{mutant.module}")
    tree = mutant.changed(source_of(mutant.module).read_text("utf-8"))
    *owners, name = mutant.where.split(".")
    owner: Any = module
    for one in owners:
        owner = vars(owner)[one]
    found = vars(owner)[name]
    code = compile(tree, str(module.__file__), "exec", dont_inherit=True)
    function = inspect.unwrap(found.fget if isinstance(found, property) else found)
    if inspect.isfunction(function):
        function.__code__ = _code_of(code, mutant.where.split("."))
        return
    made: dict[str, Any] = {"__name__": "changed"}
    exec(compile(ast.Module([_named(tree, mutant.where)], []), "changed", "exec"), made)
    for other in [one for key, one in sys.modules.items() if key.startswith("gpu_tui")]:
        if vars(other).get(name) is found:
            setattr(other, name, made[name])


def _code_of(code: CodeType, path: list[str]) -> CodeType:
    for name in path:
        inner = [one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name]
        code = inner[-1]
    return code


OPTIONS = ("-q", "--tb=short", "--timeout", str(SECONDS), "-p", "no:cacheprovider")


def _fork(mutant: Mutant, room: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        os.setsid()
        out = os.open(room / "said", os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(out, 1)
        os.dup2(out, 2)
        put(mutant)
        code = int(pytest_main("-x", *OPTIONS, "--basetemp", str(room / "tmp"), *mutant.tests))
        sys.stdout.flush()
    finally:
        os._exit(code)


def pytest_main(*words: str) -> int:
    """pytest in this process."""
    import pytest

    return int(pytest.main([*words, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]))


def main(*names: str) -> int:
    """One JSON line per mutant: its name, pytest's exit code, and what it printed."""
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    from mutant_table import MUTANTS

    wanted = [MUTANTS[name] for name in names]
    files = dict.fromkeys(test.partition("::")[0] for one in wanted for test in one.tests)
    if pytest_main("--collect-only", "-qq", *OPTIONS[1:], "--no-summary", *files):
        return 2
    sys.stdout.flush()
    running: dict[int, tuple[Mutant, Path]] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        for number, mutant in enumerate(wanted):
            if len(running) == AT_ONCE:
                _reap(running)
            room = Path(place) / str(number)
            room.mkdir()
            running[_fork(mutant, room)] = mutant, room
        while running:
            _reap(running)
    return 0


def _reap(running: dict[int, tuple[Mutant, Path]]) -> None:
    pid, status = os.wait()
    mutant, room = running.pop(pid)
    said = (room / "said").read_text("utf-8", "replace") if (room / "said").exists() else ""
    row = {"name": mutant.name, "code": os.waitstatus_to_exitcode(status), "said": said}
    print(MARK + json.dumps(row), flush=True)
    shutil.rmtree(room, ignore_errors=True)


@dataclass(frozen=True)
class Run:
    """What the tests said of one mutant."""

    code: int
    said: str

    @property
    def noticed(self) -> bool:
        """One test ran and failed; an error before or after it is no notice."""
        last = self.said.rstrip().rpartition("\n")[2]
        return self.code == 1 and re.match(r"1 failed\b", last) is not None and "error" not in last


def run(names: Iterable[str]) -> dict[str, Run]:
    """The mutants' tests against each of them, in a program of their own."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "GPU_TUI_"))
    }
    words = [sys.executable, __file__, *names]
    done = subprocess.run(words, cwd=ROOT, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (
        json.loads(line[len(MARK) :]) for line in done.stdout.split("\n") if line.startswith(MARK)
    )
    return {row["name"]: Run(row["code"], row["said"]) for row in rows}


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
