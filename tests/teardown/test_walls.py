"""What must be true of the source itself: one mint, one caller, one importer."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import gpu_tui

PACKAGE = Path(gpu_tui.__file__).parent


@cache
def _nodes() -> tuple[tuple[str, ast.AST], ...]:
    """Every node of the package with its file; reading them all once is enough."""
    return tuple(
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_permits_are_made_in_one_place() -> None:
    made = [
        name
        for name, node in _nodes()
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "StopPermit"
    ]
    assert made == ["core/gate.py"]


def test_the_mint_is_named_nowhere_else() -> None:
    named = {
        name
        for name, node in _nodes()
        if isinstance(node, ast.Name | ast.Attribute | ast.alias)
        and "_MINT"
        in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", ""))
    }
    assert named == {"core/gate.py"}


def test_a_provider_is_told_to_stop_in_one_place() -> None:
    told = [
        (name, ast.unparse(node))
        for name, node in _nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "stop"
        and (node.args or "provider" in ast.unparse(node.func))
        and not name.startswith("demo/")
    ]
    assert told == [("teardown/act.py", "provider.stop(permit)")]


def test_what_a_platform_sends_beside_questions_takes_a_permit() -> None:
    calls = {
        (name, ast.unparse(node))
        for name, node in _nodes()
        if name.startswith("providers/")
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("call", "_send")
    }
    assert calls == {
        ("providers/rented.py", "self._platform.call(permit, self._id, self._state)"),
        ("providers/featurize.py", "self._api.call(permit, self._id)"),
        ("providers/platform.py", "self._send(method, path, query, body)"),
        (
            "providers/platform.py",
            "self._send(call.method, path, None, _filled(call.body, id), still)",
        ),
    }
    asked = {
        ast.unparse(keyword.value)
        for name, node in _nodes()
        if name.startswith("providers/") and isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "method"
    }
    assert asked == {"'POST'"}  # lists that are asked for by POST, and GraphQL's query


@pytest.mark.parametrize(
    ("library", "places"),
    [
        # The jailed child here, and the text that goes to the python of a box.
        ("torch", {"teardown/reader/torch_lib.py", "teardown/on_box.py"}),
        ("h5py", {"teardown/reader/hdf5_lib.py"}),
        ("msgpack", {"teardown/reader/flax_file.py"}),
    ],
)
def test_what_reads_weights_is_imported_in_one_place(library: str, places: set[str]) -> None:
    importers = {
        name
        for name, node in _nodes()
        if (
            isinstance(node, ast.Import)
            and any(a.name.split(".")[0] == library for a in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == library)
        or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("import_module")
            and ast.unparse(node).find(f"'{library}'") >= 0
        )
    }
    assert importers == places


def test_weights_only_is_written_out_and_never_false() -> None:
    values = [
        ast.unparse(keyword.value)
        for _, node in _nodes()
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "weights_only"
    ]
    assert values == ["True", "True"]
