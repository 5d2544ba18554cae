"""A lid that closes between the confirmation and the call: what wakes up hours later sends nothing."""

from __future__ import annotations

import pytest
from platforms import SEATS, Desk

from gpu_tui.core.gate import GateShut, PermitExpired
from gpu_tui.providers import api
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
