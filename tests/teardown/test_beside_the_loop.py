"""What takes a second for a hundred thousand files is not done on the event loop, which paints the screen."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_tui.core.evidence import stamps_of
from gpu_tui.teardown import hashing, listing
from gpu_tui.transport.base import RemoteEntry


class Box:
    """A connection to a box with one result."""

    async def run(self, program: str, **_: object) -> object:
        return SimpleNamespace(stdout=b"m 100\n1\t7 5 1 1\t./a\nm end\n")

    @asynccontextmanager
    async def files(self) -> AsyncIterator[object]:
        async def walk(root: str, limit: int) -> list[RemoteEntry]:
            return [RemoteEntry(b"a", "file", 5, 0.0)]

        yield SimpleNamespace(walk=walk)


@pytest.mark.parametrize(
    ("module", "name", "ask"),
    [(hashing, "stamps_from", hashing.stamps), (listing, "_judged", listing.list_remote)],
)
async def test_what_a_box_says_of_its_files_is_read_beside_the_loop(
    module: Any, name: str, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, read = [], getattr(module, name)
    monkeypatch.setattr(hashing.secrets, "token_hex", lambda _: "m")
    monkeypatch.setattr(
        module, name, lambda *given: [seen.append(threading.current_thread()), read(*given)][1]
    )
    await ask(Box(), "/r")
    assert seen
    assert threading.main_thread() not in seen


def test_two_looks_have_one_digest_only_where_they_saw_the_same() -> None:
    looks = [
        ({"a": "1"}, {"b": (1, 2)}),
        ({"a": "2"}, {"b": (1, 2)}),
        ({"a": "1"}, {"b": (1, 3)}),
        ({"b": (1, 2)}, {"a": "1"}),
        ({"a": "1", "b": (1, 2)}, {}),
        ({}, {"a": "1", "b": (1, 2)}),
        ({"a' '1'\n'b": "1"}, {}),
        ({"a": "1'\n'b' '1"}, {}),
        ({"\udcff": "1"}, {}),
        ({}, {}),
    ]
    assert len({stamps_of(there, here) for there, here in looks}) == len(looks)
    assert stamps_of({"a": 1, "b": 2}, {}) == stamps_of({"b": 2, "a": 1}, {})
