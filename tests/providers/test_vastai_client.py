"""The official vastai client against the same server as our adapter: both must read and send the same.

It is 167 MB, so it is no dependency: $GPU_TUI_VASTAI names the program, else the nightly run installs it
into a folder of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from local_api import Asked
from platforms import SEATS, Desk
from vast_server import VastServer

from gpu_tui.core.account import Listed
from gpu_tui.providers.vastai import Vast

VERSION = "1.9.1"
NIGHTLY = pytest.mark.skipif(
    not os.environ.get("GPU_TUI_NIGHTLY"), reason="only in the nightly run (GPU_TUI_NIGHTLY=1)"
)
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900), NIGHTLY]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official client."""
    named = os.environ.get("GPU_TUI_VASTAI") or shutil.which("vastai")
    if named:
        return Path(named)
    venv = tmp_path_factory.mktemp("vastai")
    steps = (
        [sys.executable, "-m", "venv", str(venv)],
        [str(venv / "bin" / "pip"), "install", "--quiet", f"vastai=={VERSION}"],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, timeout=800, check=False)
        if done.returncode:
            pytest.skip(f"vastai {VERSION} cannot be installed here: {done.stderr[-200:]}")
    return venv / "bin" / "vastai"


class Client:
    """Runs the client against a server; what it keeps lies in a folder of the test."""

    def __init__(self, program: Path, server: VastServer, home: Path) -> None:
        self._program, self._server, self._home = program, server, home

    async def __call__(self, *words: str) -> tuple[str, list[Asked]]:
        """What it printed, and what it asked beside who it is."""
        before = len(self._server.requests)
        process = await asyncio.create_subprocess_exec(
            self._program,
            *("--url", self._server.url, "--api-key", self._server.key, *words),
            env={"HOME": str(self._home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(120):
            out, _ = await process.communicate()
        assert process.returncode == 0, out  # as it always is
        asked = self._server.requests[before:]
        return out.decode(), [
            one for one in asked if not one.path.rstrip("/").endswith("/users/current")
        ]


@pytest.fixture
async def server() -> AsyncIterator[VastServer]:
    async with VastServer() as running:
        yield running


@pytest.fixture
def client(program: Path, server: VastServer, tmp_path: Path) -> Client:
    return Client(program, server, tmp_path)


@pytest.fixture
def desk(server: VastServer) -> Desk:
    return Desk(SEATS["vastai"], server)


def shape(asked: Asked) -> tuple[str, str, Any]:
    """What reaches the server, as far as it matters to it."""
    return asked.method, asked.path.rstrip("/"), asked.body or {}


async def test_both_list_the_same(client: Client, server: VastServer, desk: Desk) -> None:
    server.fill(60)
    said, theirs = await client("show", "instances", "--raw")
    before = len(server.requests)
    account = await desk.ledger().read()
    ours = [one for one in server.requests[before:] if "/v1/" in one.path]
    rows = json.loads(said)
    assert [str(row["id"]) for row in rows] == [one.id for one in account.listed]
    assert [row["dph_total"] for row in rows] == [_amount(one) for one in account.listed]
    assert len(rows) == 60
    assert [shape(one) for one in theirs] == [shape(one) for one in ours]
    for their, our in zip(theirs, ours, strict=True):
        assert set(their.query) == set(our.query)
        assert all(_same(value, our.query[name]) for name, value in their.query.items())


async def test_both_show_the_same_and_nothing_where_nothing_is(
    client: Client, server: VastServer, desk: Desk
) -> None:
    said, (asked,) = await client("show", "instance", "4242", "--raw")
    state = await desk.rented().read("4242")
    assert json.loads(said)["actual_status"] == state.facts["actual_status"]
    assert shape(asked) == shape(server.requests[-1])
    assert asked.query == server.requests[-1].query
    server.rows.clear()
    said, _ = await client("show", "instance", "4242", "--raw")
    assert json.loads(said) == {"instances": None}
    assert await Vast(desk.means, desk.access()).show("4242") is None


@pytest.mark.parametrize(
    ("words", "verb", "effect"),
    [
        (("stop", "instance", "4242"), "stop", "stop"),
        (("destroy", "instance", "4242", "-y"), "destroy", "destroy"),
    ],
)
async def test_both_send_the_same_call(
    client: Client, server: VastServer, desk: Desk, words: tuple[str, ...], verb: str, effect: str
) -> None:
    _, theirs = await client(*words)
    calls = [one for one in theirs if one.method != "GET"]
    assert len(calls) == 1  # nothing sent by both would agree, too
    server.fill(0)
    server.rows[4242] = {"id": 4242}
    before = len(server.requests)
    await desk.rented().stop(desk.permit(verb, effect))
    assert [shape(one) for one in calls] == [shape(one) for one in server.requests[before:]]


async def test_its_exit_code_tells_nothing_and_our_answer_does(
    client: Client, server: VastServer, desk: Desk
) -> None:
    server.refuse = True
    said, _ = await client("destroy", "instance", "4242", "-y")
    answer = await desk.rented().stop(desk.permit())
    assert "instance is busy" in said
    assert "instance is busy" in answer.text
    assert answer.kind.value == "refused"


def _amount(one: Listed) -> float | None:
    return one.price.amount if one.price else None


def _same(theirs: str, ours: str) -> bool:
    """Equal, also where the one writes its JSON with other spaces."""
    try:
        return bool(json.loads(theirs) == json.loads(ours))
    except ValueError:
        return theirs == ours
