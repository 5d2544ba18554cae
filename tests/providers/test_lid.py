"""A lid that closes between the confirmation and the call: what wakes up hours later sends nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from platforms import SEATS, Desk

from gpu_tui import web
from gpu_tui.core.gate import GateShut, PermitExpired
from gpu_tui.providers import api
from gpu_tui.providers.base import AnswerKind
from gpu_tui.web import client_for


@pytest.mark.parametrize("name", SEATS)
async def test_nothing_leaves_once_the_permit_is_over(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The permit was spent in time, and then the machine slept while the connection was made ready."""
    async with SEATS[name].server() as server:
        desk = Desk(SEATS[name], server)
        asleep = False

        async def lid(base: str, limit: float) -> object:
            if asleep:
                desk.clock.advance(8 * 3_600.0)
            return await client_for(base, limit)

        monkeypatch.setattr(api, "client_for", lid)
        SEATS[name].ready(server)
        rented = desk.rented()
        await rented.read(SEATS[name].id)
        permit, asleep = desk.permit(), True
        try:
            answer = await rented.stop(permit)
        except GateShut:
            pass
        else:
            assert "slept" in answer.text
        assert desk.calls == []


@pytest.mark.parametrize("name", [name for name in SEATS if name in ("autodl", "paperspace")])
async def test_nothing_is_switched_off_then_either(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SEATS[name].server() as server:
        desk = Desk(SEATS[name], server)
        rented = desk.rented()
        permit = desk.permit()
        real = rented._platform.show

        async def slow(id: str) -> object:
            found = await real(id)
            desk.clock.advance(8 * 3_600.0)
            return found

        monkeypatch.setattr(rented._platform, "show", slow)
        with pytest.raises(PermitExpired):
            await rented.stop(permit)  # its state was never read: it is asked for first
        assert desk.calls == []
        await rented.read(SEATS[name].id)
        with pytest.raises(GateShut):
            await rented.stop(permit)
        assert desk.calls == []


def _after_connecting(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """`then` happens when a connection has just been made, before the request is written."""
    real = web._Steps.__call__

    async def step(self: web._Steps, name: str, about: object) -> None:
        await real(self, name, about)
        if name == "connection.connect_tcp.complete":
            then()

    monkeypatch.setattr(web._Steps, "__call__", step)


@pytest.mark.parametrize("name", SEATS)
async def test_a_connection_that_takes_too_long_carries_no_call(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The permit is looked at when the request is about to be written, not when it was asked for."""
    async with SEATS[name].server() as server:
        desk = Desk(SEATS[name], server)
        SEATS[name].ready(server)
        rented = desk.rented()
        await rented.read(SEATS[name].id)
        permit, written = desk.permit(), len(server.lines("GET", "POST", "PUT", "PATCH", "DELETE"))
        slow = [False]

        def late() -> None:
            if slow[0]:
                desk.clock.advance(2_000.0)

        _after_connecting(monkeypatch, late)
        slow[0] = True
        with pytest.raises(PermitExpired):
            await rented.stop(permit)
        assert desk.calls == []
        asked = server.lines("GET", "POST", "PUT", "PATCH", "DELETE")
        assert len(asked) - written <= 1  # whether it is off, at most


TWO_CALLS = [name for name in SEATS if name in ("autodl", "paperspace")]


@pytest.mark.parametrize("name", TWO_CALLS)
async def test_what_was_started_again_after_its_shutdown_is_not_released(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its API said `stopped`, the connection was slow, and by then it says something else."""
    async with SEATS[name].server() as server:
        desk, said = Desk(SEATS[name], server), ["stopped", "running"]
        rented = desk.rented()
        await rented.read(SEATS[name].id)
        real = rented._platform.show

        async def show(id: str) -> object:
            found = await real(id)
            return replace(found, state=said.pop(0)) if found else None

        monkeypatch.setattr(rented._platform, "show", show)
        _after_connecting(monkeypatch, lambda: desk.clock.advance(3.0) if desk.calls else None)
        answer = await rented.stop(desk.permit())
        assert answer.kind is AnswerKind.REFUSED
        assert "running again" in answer.text
        assert len(desk.calls) == 1  # the shutdown, which keeps everything


@pytest.mark.parametrize("name", TWO_CALLS)
async def test_a_state_that_is_two_seconds_old_is_asked_for_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SEATS[name].server() as server:
        desk, slow = Desk(SEATS[name], server), [3.0, 3.0]
        rented = desk.rented()
        await rented.read(SEATS[name].id)
        real = rented._platform.show
        looks = 0

        async def show(id: str) -> object:
            nonlocal looks
            looks += 1
            SEATS[name].ready(server)  # it is off
            return await real(id)

        monkeypatch.setattr(rented._platform, "show", show)
        _once = rented._platform._once

        async def once(call: object, id: str, still: Callable[[], None]) -> object:
            if desk.calls and slow:
                desk.clock.advance(slow.pop())
            return await _once(call, id, still)  # type: ignore[arg-type]

        monkeypatch.setattr(rented._platform, "_once", once)
        answer = await rented.stop(desk.permit())
        assert answer.kind is AnswerKind.ACCEPTED
        assert (len(desk.calls), looks) == (2, 3)
