"""What must be true of the source itself, so that the gate's rules are all there is to know about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gpu_tui
from gpu_tui.core import gate
from gpu_tui.core.gate import State

PACKAGE = Path(gpu_tui.__file__).parent
LAW = ("core/gate.py", "core/seen.py", "core/proof.py", "core/allowance.py", "core/evidence.py")


@cache  # here and below: when the first test asks
def _trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def _nodes() -> list[tuple[str, ast.AST]]:
    return [(file, node) for file, tree in _trees().items() for node in ast.walk(tree)]


@cache
def _all_calls() -> list[tuple[str, ast.Call]]:
    return [(file, node) for file, node in _nodes() if isinstance(node, ast.Call)]


@cache
def _climb() -> tuple[str, ...]:
    return (*LAW, *(name for name in _trees() if name.startswith("teardown/")))


@pytest.fixture(autouse=True, scope="module")
def _forgotten_at_the_end() -> Iterator[None]:
    """Half a million nodes are much for a worker to hold to its end."""
    yield
    for one in (_trees, _nodes, _all_calls):
        one.cache_clear()


def _calls(name: str) -> list[str]:
    """The files that call something of this name, once per call."""
    return [file for file, node in _all_calls() if _last(node.func) == name]


def _last(node: ast.AST) -> str | None:
    """`f` of `f` and of `a.b.f`, but not of `self.f`: that is a class's own."""
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return None if own and node.attr[0].isupper() else node.attr
    return node.id if isinstance(node, ast.Name) else None


def _names(file: str) -> set[str]:
    found = set()
    for node in ast.walk(_trees()[file]):
        found |= {getattr(node, part, None) for part in ("id", "attr", "name")}
    return {name for name in found if isinstance(name, str)}


def test_one_mint_one_caller_one_way_in() -> None:
    assert _calls("StopPermit") == ["core/gate.py"]
    assert _calls("_mint") == ["core/gate.py"]
    assert _calls("carry_out") == ["teardown/climb.py"]
    assert {file for file in _calls("redeem") if not file.startswith("providers/")} == set()


def test_a_provider_is_stopped_in_one_place_and_by_no_other_name() -> None:
    """Neither called, nor handed on as a value, nor looked up by a string."""
    with_a_permit = [
        (file, ast.unparse(node))
        for file, node in _all_calls()
        if _last(node.func) == "stop"
        and (node.args or node.keywords)
        and not file.startswith("demo/")
    ]
    assert with_a_permit == [("teardown/act.py", "provider.stop(permit)")]
    called = {id(node.func) for _, node in _all_calls()}
    handed_on = [
        (file, ast.unparse(node))
        for file, node in _nodes()
        if isinstance(node, ast.Attribute)
        and node.attr == "stop"
        and id(node) not in called
        and file.startswith(("teardown/", "providers/", "wiring/", "cli/"))
    ]
    assert handed_on == []
    by_string = [
        file
        for file, node in _all_calls()
        if _last(node.func) in ("getattr", "methodcaller", "attrgetter")
        and any(isinstance(a, ast.Constant) and a.value in ("stop", "call") for a in node.args)
    ]
    assert by_string == []


def test_what_a_person_typed_is_made_in_one_place() -> None:
    for act in ("Typed", "Abandoned", "Overridden", "Acknowledged", "Accepted", "IntentWritten"):
        place = "teardown/act.py" if act == "IntentWritten" else "teardown/climb.py"
        assert _calls(act) == [place], act


def test_no_flag_no_variable_and_no_setting_reaches_the_gate() -> None:
    """The law reads values only; who climbs reads the machine, never a wish."""
    for file in LAW:
        names = _names(file)
        assert not names & {"os", "environ", "getenv", "argv", "settings", "argparse", "open"}, file
    wishes = {"force", "skip", "yes", "assume_yes", "no_verify", "unsafe", "insecure", "dry_run"}
    for file in _climb():
        assert not _names(file) & wishes, file
    read = {file for file, node in _all_calls() if file in _climb() and "argv" in ast.dump(node)}
    words = {
        file for file in read if any(_is(node, "sys.argv") for node in ast.walk(_trees()[file]))
    }
    assert words <= {"teardown/on_box.py"}  # a child's own program: its words are a path
    takes = {
        arg.arg
        for file, node in _nodes()
        if file == "core/gate.py" and isinstance(node, ast.FunctionDef)
        for arg in (*node.args.args, *node.args.kwonlyargs)
    }
    assert not takes & (wishes | {"config", "options", "flags"})


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == name


def test_no_command_line_tears_down_overrides_or_abandons() -> None:
    said = {
        (file, node.value.lower())
        for file, node in _nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and file.startswith("cli/")
        and node.value.startswith("-")
    }
    assert said  # the options of the commands
    wishes = ("force", "yes", "override", "abandon", "skip", "unsafe", "no-verify", "destroy")
    wished = {(file, option) for file, option in said if any(wish in option for wish in wishes)}
    assert wished == {("cli/init.py", "--force"), ("cli/sweep.py", "--force")}  # over a file here
    acts = {"confirm", "abandon", "override", "acknowledge", "accept"}
    callers = {
        file
        for file, node in _all_calls()
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in acts
        and "port" in ast.unparse(node.func.value)
    }
    assert callers
    assert {file for file in callers if not file.startswith("ui/screens/")} == set()


def test_nothing_is_unpickled_and_no_host_is_taken_on_trust() -> None:
    asked = [
        (file, keyword.arg, ast.unparse(keyword.value))
        for file, node in _all_calls()
        for keyword in node.keywords
        if keyword.arg in ("weights_only", "known_hosts")
    ]
    assert {value for _, name, value in asked if name == "weights_only"} == {"True"}
    assert [file for file, name, value in asked if name == "known_hosts" and value == "None"] == []
    loads = [
        (file, ast.unparse(node.func))
        for file, node in _all_calls()
        if ast.unparse(node.func) in ("pickle.load", "pickle.loads", "dcp.load", "eval", "exec")
    ]
    assert loads == []


def test_every_row_of_the_climb_is_judged_and_no_way_leads_past_the_last_look() -> None:
    for kind, table in gate.TRANSITIONS.items():
        for (state, event), (up, _) in table.items():
            assert event in gate.RULES, (kind, event)
            if up is State.PERMITTED:
                assert (state, event.__name__) == (State.RECHECKING, "Recheck")
            if up is State.CALLED:
                assert (state, event.__name__) == (State.PERMITTED, "IntentWritten")
            if up is State.RECHECKING:
                assert event.__name__ in ("Typed", "Abandoned")
            assert state not in (State.CLOSED, State.DONE)
