"""Each mutant of the table is noticed by the tests that are named with it; all of them in the nightly run."""

from __future__ import annotations

import ast
import os
import re
from functools import cache

import pytest
from mutant_more import EVERY
from mutant_table import MUTANTS, SURVIVED
from mutated import ROOT, Lost, Mutant, Run, public_functions, run, source_of

FULL = bool(os.environ.get("GPU_TUI_NIGHTLY"))
SHORT = (*SURVIVED, *(one for one in MUTANTS.values() if one.module == "core.gate"))
CHOSEN = tuple(MUTANTS) if FULL else tuple(one.name for one in SHORT)


@pytest.fixture(scope="module")
def found() -> dict[str, Run]:
    """Each mutant that was chosen, and what its tests said."""
    return run(CHOSEN)


@cache
def _source(module: str) -> tuple[str, str]:
    """Its text, and its tree as text."""
    source = source_of(module).read_text("utf-8")
    return source, ast.dump(ast.parse(source))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_finds_its_place(name: str) -> None:
    mutant = MUTANTS[name]
    source, unchanged = _source(mutant.module)
    tree = mutant.changed(source)
    compile(tree, name, "exec")
    assert ast.dump(tree) != unchanged


def test_every_test_that_is_named_is_there() -> None:
    defined: dict[str, set[str]] = {}
    for mutant in MUTANTS.values():
        assert mutant.tests, mutant.name
        for test in mutant.tests:
            file, _, function = test.partition("::")
            if file not in defined:
                found = re.findall(r"def (test_\w+)", (ROOT / file).read_text("utf-8"))
                defined[file] = set(found)
            assert function in defined[file], (mutant.name, test)


@pytest.mark.nightly
@pytest.mark.timeout(3_600 if FULL else 300)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_mutant_is_noticed(name: str, found: dict[str, Run]) -> None:
    assert found[name].noticed, found[name].said


SOURCE = """
LIMIT = 3
PROGRAM = "a [ -f x ] b"
class Box:
    def open(self, key):
        if key != self.key:
            return None
        self.log(key)
        return key + 1
"""


def _mutant(where: str, old: str, new: str) -> Mutant:
    return Mutant("m", "core.gate", where, old, new, ())


@pytest.mark.parametrize(
    ("where", "old", "new", "said"),
    [
        ("LIMIT", "3", "4", "LIMIT = 4"),
        ("PROGRAM", "[ -f x ]", "true", "PROGRAM = 'a true b'"),
        ("Box.open", "key != self.key", "False", "if False:"),
        ("Box.open", "self.log(key)", "None", "        None\n"),
        ("Box.open", "self.log(key)\nreturn key + 1", "return 7", "        return 7"),
        ("Box.open", "if key != self.key:\n    return None", "pass", "key):\n        pass\n"),
    ],
)
def test_a_change_is_made_where_it_is_addressed(where: str, old: str, new: str, said: str) -> None:
    assert said in ast.unparse(_mutant(where, old, new).changed(SOURCE))


@pytest.mark.parametrize(
    ("where", "old"),
    [
        ("Box.open", "key == self.key"),  # it was rewritten
        ("Box.shut", "key != self.key"),  # it moved
        ("Box.open", "key"),  # more than one place
        ("PROGRAM", "[ -d x ]"),
        ("LIMIT", "4"),
    ],
)
def test_a_mutant_that_finds_no_place_is_an_error(where: str, old: str) -> None:
    with pytest.raises(Lost):
        _mutant(where, old, "0").changed(SOURCE)


@pytest.mark.parametrize(
    ("code", "last", "noticed"),
    [
        (1, "1 failed in 0.12s", True),
        (1, "1 failed, 3 passed in 0.12s", True),
        (0, "4 passed in 0.12s", False),
        (1, "1 error in 0.12s", False),
        (1, "1 failed, 1 error in 0.12s", False),
        (2, "1 error in 0.12s", False),
        (4, "no tests ran in 0.00s", False),
        (99, "", False),
        (-9, "", False),
    ],
)
def test_only_a_test_that_failed_is_a_notice(code: int, last: str, noticed: bool) -> None:
    assert Run(code, f"F.\n{last}\n").noticed is noticed


def test_every_public_function_that_guards_the_call_has_three() -> None:
    counted = {(module, function): 0 for module in EVERY for function in public_functions(module)}
    for mutant in MUTANTS.values():
        for function in (mutant.where, mutant.of):
            if (mutant.module, function) in counted:
                counted[mutant.module, function] += 1
    assert [name for name, number in counted.items() if number < 3] == []
