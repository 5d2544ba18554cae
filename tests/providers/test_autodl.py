"""AutoDL Pro: errors with HTTP 200, zero dates, a release that is refused while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

import pytest
from autodl_server import ID, NEVER, ROW, AutoDLServer
from local_api import Said
from platforms import SEATS, Desk

from gpu_tui.core.fleet import Money
from gpu_tui.providers.base import AnswerKind


@pytest.fixture
async def server() -> AsyncIterator[AutoDLServer]:
    async with AutoDLServer() as running:
        yield running


@pytest.fixture
def desk(server: AutoDLServer) -> Desk:
    return Desk(SEATS["autodl"], server)


async def test_a_date_that_is_not_valid_is_no_date(server: AutoDLServer, desk: Desk) -> None:
    state = await desk.rented().read(ID)
    assert state.started_at == datetime.fromisoformat("2026-11-18T09:11:00+08:00").timestamp()
    assert (state.stopped_at, state.ends_at) == (None, None)
    lies = {"Time": "2026-11-18T09:11:00+08:00", "Valid": False}
    server.rows[ID] |= {"status": "shutdown", "stopped_at": lies, "started_at": NEVER}
    state = await desk.rented().read(ID)
    assert (state.state, state.started_at, state.stopped_at) == ("stopped", None, None)


async def test_the_price_is_in_thousandths_and_asked_once_an_hour(
    server: AutoDLServer, desk: Desk
) -> None:
    ledger = desk.ledger()
    for _ in range(3):
        account = await ledger.read()
        desk.clock.advance(60)
        assert account.spend_per_hour == Money(1.97, "CNY")
        assert account.spend_at_least  # ordinary instances drink from the same wallet
    assert len(server.lines("GET")) == 1
    desk.clock.advance(3600)
    await ledger.read()
    assert len(server.lines("GET")) == 2


async def test_where_its_ssh_is_reached_shows_which_box_it_is(
    server: AutoDLServer, desk: Desk
) -> None:
    """Nothing is ended by an id alone: without an address no box of the fleet is shown to be this one."""
    assert (await desk.rented().read(ID)).addresses == (("region-1.example", 34446),)
    server.priced = False
    assert (await desk.rented().read(ID)).addresses == ()


async def test_a_stopped_ones_disk_is_not_free(server: AutoDLServer, desk: Desk) -> None:
    server.rows[ID]["status"] = "shutdown"
    account = await desk.ledger().read()
    assert account.listed[0].price is None
    assert (account.spend_per_hour, account.spend_at_least) == (None, True)


async def test_one_that_runs_is_powered_off_and_then_released_once(
    server: AutoDLServer, desk: Desk
) -> None:
    server.polls = 2
    answer = await desk.rented().stop(desk.permit())
    assert answer.kind is AnswerKind.ACCEPTED
    assert [call.rpartition("/")[2] for call in desk.calls] == ["power_off", "release"]
    assert ID not in server.rows


async def test_shutting_down_is_billed_until_it_is_down(server: AutoDLServer, desk: Desk) -> None:
    server.polls = 2
    rented = desk.rented()
    answer = await rented.stop(desk.permit("关机", "stop"))
    assert answer.kind is AnswerKind.ACCEPTED
    assert server.requests[0].body == {"instance_uuid": ID}
    states = [await rented.read(ID) for _ in range(3)]
    assert [state.state for state in states] == ["running", "running", "stopped"]
    assert states[-1].stopped_at == datetime.fromisoformat("2026-11-20T10:00:00+08:00").timestamp()


async def test_the_token_goes_bare(server: AutoDLServer, desk: Desk) -> None:
    await desk.rented().read(ID)
    assert {one.headers["authorization"] for one in server.requests} == {"test-key"}


async def test_every_page_is_read_and_a_missing_one_proves_nothing(
    server: AutoDLServer, desk: Desk
) -> None:
    down = {**ROW, "status": "shutdown"}
    server.rows = {f"pro-{n}": {**down, "uuid": f"pro-{n}"} for n in range(120)}
    account = await desk.ledger().read()
    assert (account.complete, len(account.listed)) == (True, 120)
    whole = {"list": [down], "page_index": 1, "page_size": 50}
    server.next = [Said(200, {"code": "Success", "data": whole})]
    account = await desk.ledger().read()
    assert not account.complete
    assert "how many pages" in (account.error or "")
    for counted in (
        {},
        {"result_total": 1},
        {"result_total": None},
        {"result_total": False},
    ):  # null proves only what it counts
        server.next = [Said(200, {"code": "Success", "data": {"list": None, **counted}})]
        assert not (await desk.ledger().read()).complete


async def test_a_list_that_changes_between_two_pages_proves_nothing(
    server: AutoDLServer, desk: Desk
) -> None:
    down = {**ROW, "status": "shutdown"}
    server.rows = {f"pro-{n}": {**down, "uuid": f"pro-{n}"} for n in range(120)}
    server.between = lambda: server.rows.pop("pro-0")  # pro-50 slips onto the page that was read
    account = await desk.ledger().read()
    assert not account.complete
    assert "changed while it was read" in (account.error or "")
    account = await desk.ledger().read()
    assert (account.complete, len(account.listed)) == (True, 119)


async def test_a_timer_that_somebody_set_is_a_deadline(server: AutoDLServer, desk: Desk) -> None:
    at = "2026-11-18T21:00:00+08:00"
    assert (await desk.rented().read(ID)).deadlines == {}
    server.rows[ID]["timed_shutdown_at"] = {"Time": at, "Valid": True}
    state = await desk.rented().read(ID)
    assert state.deadlines == {"autodl-timed-shutdown": datetime.fromisoformat(at).timestamp()}
    server.rows[ID]["timed_shutdown_at"] = {"Time": at, "Valid": False}
    assert (await desk.rented().read(ID)).deadlines == {}


async def test_a_price_that_cannot_be_had_is_not_asked_for_each_minute(
    server: AutoDLServer, desk: Desk
) -> None:
    server.priced = False
    ledger = desk.ledger()
    for _ in range(5):
        account = await ledger.read()
        desk.clock.advance(60)
        assert account.listed[0].price is None
    assert len(server.lines("GET")) == 1
    desk.clock.advance(600)
    server.priced = True
    assert (await ledger.read()).listed[0].price == Money(1.97, "CNY")


@pytest.mark.parametrize(
    ("wallet", "left"),
    [
        ({}, 120.0),
        ({"assets": -500, "blocked_asset": 0}, -0.5),
        ({"assets": "many"}, None),
    ],
)
async def test_what_is_left_in_the_wallet(
    server: AutoDLServer, desk: Desk, wallet: dict[str, object], left: float | None
) -> None:
    server.wallet |= wallet  # type: ignore[arg-type]
    account = await desk.ledger().read()
    assert account.balance == (None if left is None else Money(left, "CNY"))
