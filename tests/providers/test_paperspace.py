"""Paperspace: stopping before off, a rate without a unit, and what a deleted machine leaves behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from paperspace_server import ID, ROW, PaperspaceServer
from platforms import SEATS, Desk

from gpu_tui.core.fleet import Money
from gpu_tui.providers.base import AnswerKind
from gpu_tui.providers.paperspace import Paperspace
from gpu_tui.providers.platform import OFF_LIMIT


@pytest.fixture
async def server() -> AsyncIterator[PaperspaceServer]:
    async with PaperspaceServer() as running:
        yield running


@pytest.fixture
def desk(server: PaperspaceServer) -> Desk:
    return Desk(SEATS["paperspace"], server)


async def test_what_is_kept_of_a_machine_and_no_price_without_a_unit(desk: Desk) -> None:
    state = await desk.rented().read(ID)
    assert (state.state, state.price) == ("running", None)
    assert state.started_at == datetime(2026, 11, 18, 8, tzinfo=UTC).timestamp()
    assert state.facts["usageRate"] == "3.09 (the API names no unit)"
    assert state.facts["autoShutdownTimeout"] == "24"
    assert state.address == ("192.0.2.10", 22)


async def test_stopping_is_billed_until_it_is_off(server: PaperspaceServer, desk: Desk) -> None:
    server.polls = 2
    rented = desk.rented()
    assert (await rented.stop(desk.permit("shut-down", "stop"))).kind is AnswerKind.ACCEPTED
    assert desk.calls == [f"PATCH /v1/machines/{ID}/stop"]
    assert [(await rented.read(ID)).state for _ in range(3)] == ["running", "running", "stopped"]


async def test_a_machine_that_is_on_is_switched_off_and_then_destroyed_once(
    server: PaperspaceServer, desk: Desk
) -> None:
    server.polls = 2
    answer = await desk.rented().stop(desk.permit())
    assert answer.kind is AnswerKind.ACCEPTED
    assert desk.calls == [f"PATCH /v1/machines/{ID}/stop", f"DELETE /v1/machines/{ID}"]
    assert ID not in server.rows


async def test_a_machine_that_does_not_go_off_is_not_destroyed(
    server: PaperspaceServer, desk: Desk
) -> None:
    server.polls = 10_000
    answer = await desk.rented().stop(desk.permit())
    assert answer.kind is AnswerKind.REFUSED
    assert "destroy was not sent" in answer.text
    assert desk.calls == [f"PATCH /v1/machines/{ID}/stop"]
    assert ID in server.rows


async def test_a_date_of_deletion_is_the_end(server: PaperspaceServer, desk: Desk) -> None:
    server.rows[ID]["dtDeleted"] = "2026-11-19T08:00:00.000Z"
    assert (await desk.rented().read(ID)).state == "gone"


async def test_what_a_deleted_machine_leaves_behind(server: PaperspaceServer, desk: Desk) -> None:
    ledger, rented = desk.ledger(), desk.rented()
    assert [one.used for one in (await ledger.read()).stored] == [True, True]
    server.rows[ID]["state"] = "off"
    assert (await rented.stop(desk.permit())).kind is AnswerKind.ACCEPTED
    left = (await ledger.read()).stored
    assert [(one.kind, one.used) for one in left] == [
        ("static address", False),
        ("snapshot", False),
    ]
    assert left[0].price == Money(0.0045, "USD")
    assert left[1].price is None


@pytest.mark.parametrize("odd", [{"id": ID}, [ID], 7, None])
async def test_a_snapshot_of_no_name_that_is_one_is_of_nobody(
    server: PaperspaceServer, desk: Desk, odd: object
) -> None:
    server.snapshots[0]["machineId"] = odd  # type: ignore[assignment]
    (kept,) = (one for one in (await desk.ledger().read()).stored if one.kind == "snapshot")
    assert kept.used is False


@pytest.mark.parametrize("count", [0, 2, 7])
async def test_every_page_is_read(server: PaperspaceServer, desk: Desk, count: int) -> None:
    server.page = 2
    server.rows = {f"ps{n}": {**ROW, "id": f"ps{n}"} for n in range(count)}
    account = await desk.ledger().read()
    assert (account.complete, len(account.listed)) == (True, count)


@pytest.mark.parametrize(
    ("changed", "remark"),
    [
        ({}, None),
        ({"isInGoodStanding": False}, "good standing"),
        ({"isAdminLocked": True}, "locked"),
        ({"hasPaymentMethod": False}, "payment"),
    ],
)
async def test_whether_the_account_is_in_order(
    server: PaperspaceServer, desk: Desk, changed: dict[str, bool], remark: str | None
) -> None:
    server.standing |= changed
    account = await desk.ledger().read()
    assert account.balance is None
    assert account.remark is None if remark is None else remark in (account.remark or "")


async def test_a_sleep_while_it_went_off_calls_the_destroy_off(
    server: PaperspaceServer, desk: Desk
) -> None:
    """Hours later it may have been on again, and off again with new results on it."""
    server.polls = 0

    async def sleeps(seconds: float) -> None:
        desk.clock.advance(8 * 3_600.0)

    platform = Paperspace(replace(desk.means, sleep=sleeps), desk.access())
    answer = await platform.call(desk.permit(), ID)
    assert answer.kind is AnswerKind.REFUSED
    assert "slept" in answer.text
    assert desk.calls == [f"PATCH /v1/machines/{ID}/stop"]
    assert ID in server.rows


@pytest.mark.parametrize(
    ("slept", "sent"), [(-1.0, True), (0.0, False), (1.0, False), (900.0, False)]
)
async def test_a_destroy_leaves_at_most_six_minutes_after_it_was_permitted(
    server: PaperspaceServer, desk: Desk, slept: float, sent: bool
) -> None:
    """Going off may take three minutes; twice that after the permit, what was seen proves nothing any more."""
    server.polls = 0

    async def sleeps(seconds: float) -> None:
        desk.clock.advance(2 * OFF_LIMIT + slept)

    platform = Paperspace(replace(desk.means, sleep=sleeps), desk.access())
    answer = await platform.call(desk.permit(), ID)
    assert (ID not in server.rows) is sent
    assert answer.kind is (AnswerKind.ACCEPTED if sent else AnswerKind.REFUSED)
    assert ("slept" in answer.text) is not sent
