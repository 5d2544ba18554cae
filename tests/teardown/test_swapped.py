"""The fleet changes while a ladder is open: another connection, or read_only in the fleet file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

import pytest
from rented import Scene, rest, until

from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.journal import Journal, Record
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport

PHRASE = "pod-4n6p"
ANOTHER = "the connection was lost and came back: what was seen proves nothing now"


async def _armed(scene: Scene) -> tuple[Climb, AsyncGenerator[GateView]]:
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    return climb, views


@pytest.fixture
async def again(scene: Scene) -> Connection:
    """A second connection to the same box: a reconnect made it, or another box took its name."""
    return await SshTransport().connect(scene.instance)


@pytest.fixture(autouse=True)
async def _no_connection_is_left(again: Connection) -> AsyncGenerator[None]:
    yield
    await again.close()


@pytest.mark.parametrize("state", ["quiescing", "listing", "pulling", "matching", "loading"])
async def test_a_swapped_connection_shuts_the_gate_wherever_it_is(
    scene: Scene, again: Connection, state: str
) -> None:
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == state)
    scene.connection = again
    async for view in views:
        if view.state == "ready":  # no look was left: the next beat shuts it
            scene.clock.advance(DWELL)
            await climb.confirm(PHRASE)
            break
    last = view if view.state == "closed" else await rest(views)
    assert (last.state, last.closed_because) == ("closed", ANOTHER)
    assert scene.server.calls == []


async def test_a_swapped_connection_shuts_an_armed_gate(scene: Scene, again: Connection) -> None:
    climb, views = await _armed(scene)
    scene.connection = again
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert (last.state, last.closed_because) == ("closed", ANOTHER)
    assert scene.server.calls == []


async def test_a_connection_swapped_during_the_last_look(scene: Scene, again: Connection) -> None:
    climb, views = await _armed(scene)
    answer, asked = scene.server._get, []

    def meanwhile(path: str) -> tuple[int, bytes]:
        asked.append(path)
        scene.connection = again
        return answer(path)

    scene.server._get = meanwhile  # type: ignore[method-assign]
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert asked
    assert (last.state, last.closed_because) == ("closed", ANOTHER)
    assert scene.server.calls == []


def _swap(scene: Scene, again: Connection) -> None:
    scene.connection = again


def _edit(scene: Scene, again: Connection) -> None:
    scene.set(read_only=True)


@pytest.mark.parametrize("event", ["permit", "intent", "call"])
@pytest.mark.parametrize(("change", "why"), [(_swap, ANOTHER), (_edit, "read-only was set")])
async def test_a_change_while_the_journal_is_written(
    scene: Scene,
    again: Connection,
    monkeypatch: pytest.MonkeyPatch,
    event: str,
    change: Callable[[Scene, Connection], None],
    why: str,
) -> None:
    """The disk may take seconds for an fsync: the fleet is asked once more after each record."""
    climb, views = await _armed(scene)
    real = Journal.write

    def write(self: Journal, instance: str, name: str, *words: str, **detail: object) -> Record:
        if name == event:
            change(scene, again)
        return real(self, instance, name, *words, **detail)

    monkeypatch.setattr(Journal, "write", write)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert scene.server.calls == []
    assert why in f"{last.closed_because} {' '.join(last.outcome_lines)}"


async def test_read_only_in_the_fleet_file_shuts_an_armed_gate(scene: Scene) -> None:
    climb, views = await _armed(scene)
    scene.set(read_only=True)
    await climb.confirm(PHRASE)  # whether it is shut at its next beat or by its last look
    last = await rest(views)
    assert last.state == "closed"
    assert "read-only" in (last.closed_because or "")
    assert scene.server.calls == []


@pytest.mark.parametrize(
    ("fleet", "program", "why"),
    [
        (False, False, None),
        (True, False, "read-only was set"),
        (False, True, "read-only was set"),
    ],
)
async def test_read_only_counts_in_the_fleet_file_and_on_the_command_line(
    scene: Scene, fleet: bool, program: bool, why: str | None
) -> None:
    gather = scene.runner()._gather("pod", lambda transfer: None)
    gather.read_only = lambda: program
    assert gather.changed() is None or program
    scene.set(read_only=fleet)
    assert gather.changed() == why
