"""vast.ai: pages, three words for a state, a price with its storage, and a show that lags."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from local_api import Said
from platforms import SEATS, Desk
from vast_server import ROW, VastServer

from gpu_tui.core.fleet import Money
from gpu_tui.providers.base import AnswerKind


@pytest.fixture
async def server() -> AsyncIterator[VastServer]:
    async with VastServer() as running:
        yield running


@pytest.fixture
def desk(server: VastServer) -> Desk:
    return Desk(SEATS["vastai"], server)


async def test_what_is_kept_of_an_instance(desk: Desk) -> None:
    state = await desk.rented().read("4242")
    assert state.price == Money(0.4021, "USD")  # with the storage in it
    assert (state.started_at, state.ends_at) == (1795213224.7, 1795480424.7)
    assert state.address == ("192.0.2.45", 33526)
    assert state.facts["actual_status"] == "running"
    (listed,) = (await desk.ledger().read()).listed
    assert listed.addresses == (("192.0.2.45", 33526), ("ssh5.vast.ai", 14242))


BID = {"is_bid": True, "actual_status": "stopped"}


@pytest.mark.parametrize(
    ("changed", "state", "remark"),
    [
        ({"actual_status": None}, "running", None),
        ({"actual_status": "loading"}, "running", None),
        ({"actual_status": "rebooting"}, "running", None),
        ({"actual_status": "exited"}, "running", "not destroyed"),
        ({"actual_status": "frozen"}, "running", "GPU bills on"),
        ({"actual_status": "offline"}, "running", "offline"),
        ({"actual_status": "stopped", "intended_status": "stopped"}, "stopped", None),
        ({"actual_status": "exited", "intended_status": "stopped"}, "stopped", None),
        ({"actual_status": "stopped"}, "stopped", "somebody else"),
        (BID, "stopped", "outbid"),
    ],
)
async def test_what_a_state_means_to_the_meter(
    server: VastServer, desk: Desk, changed: dict[str, Any], state: str, remark: str | None
) -> None:
    server.rows[4242] |= changed
    seen = await desk.rented().read("4242")
    assert (seen.state, seen.error) == (state, None)
    assert seen.remark is None if remark is None else remark in (seen.remark or "")


@pytest.mark.parametrize("actual", ["unknown", "melted\x1b[2J", 7, ["running"]])
async def test_a_state_that_nobody_knows(server: VastServer, desk: Desk, actual: object) -> None:
    server.rows[4242]["actual_status"] = actual
    seen = await desk.rented().read("4242")
    assert seen.state == "unknown"
    assert (seen.error or "").isprintable()
    (listed,) = (await desk.ledger().read()).listed
    assert listed.state == "unknown"


@pytest.mark.parametrize(
    ("changed", "price"),
    [
        ({"dph_total": None}, 0.3921),
        ({"dph_total": None, "storage_total_cost": None}, 0.39 + 0.15 * 50 / 730),
        ({"dph_total": None, "dph_base": None}, None),
        ({"actual_status": "offline"}, None),
        ({"actual_status": "stopped"}, 0.0021),
        ({"actual_status": "stopped", "storage_total_cost": None}, 0.15 * 50 / 730),
        (
            {"actual_status": "stopped", "storage_total_cost": None, "storage_cost": None},
            None,
        ),
    ],
)
async def test_the_price_holds_the_storage_and_a_stop_leaves_it(
    server: VastServer, desk: Desk, changed: dict[str, Any], price: float | None
) -> None:
    server.rows[4242] |= changed
    state = await desk.rented().read("4242")
    seen = state.price
    assert seen is None if price is None else seen == Money(pytest.approx(price), "USD")
    if state.state == "stopped":
        assert state.parked == seen
    elif "storage_total_cost" not in changed:
        assert state.parked == Money(0.0021, "USD")


async def test_an_address_with_blanks_around_it_is_the_same_address(
    server: VastServer, desk: Desk
) -> None:
    (plain,) = (await desk.ledger().read()).listed
    row = server.rows[4242]
    row |= {"public_ipaddr": f" {row['public_ipaddr']}\n", "ssh_host": f"{row['ssh_host']}\t"}
    (padded,) = (await desk.ledger().read()).listed
    assert padded == plain


@pytest.mark.parametrize("count", [0, 1, 25, 26, 60])
async def test_every_page_is_read(server: VastServer, desk: Desk, count: int) -> None:
    server.fill(count)
    account = await desk.ledger().read()
    assert (account.error, account.complete, len(account.listed)) == (None, True, count)
    assert len({one.id for one in account.listed}) == count
    pages = [one.query.get("after_token") for one in server.requests if "v1" in one.path]
    assert pages == [None, *(str(n) for n in range(25, max(count, 1), 25))]
    assert all(pause <= 1.5 for pause in desk.pauses)


async def test_a_list_without_its_last_page_proves_nothing(server: VastServer, desk: Desk) -> None:
    server.fill(26)
    server.torn = True
    account = await desk.ledger().read()
    assert (account.complete, account.listed) == (False, ())
    assert account.error


async def test_a_page_that_ends_too_early_proves_nothing(server: VastServer, desk: Desk) -> None:
    short = {"success": True, "next_token": None, "total_instances": 2, "instances": [ROW]}
    server.next = [Said(200, short)]
    assert "before all" in ((await desk.ledger().read()).error or "")


@pytest.mark.parametrize("known", [True, False])
async def test_one_that_slips_between_two_pages_is_not_gone(
    server: VastServer, desk: Desk, *, known: bool
) -> None:
    """An earlier start may have seen it; the fleet file names it."""
    server.fill(25)
    server.rows[4242] = {**ROW}  # the first of the second page
    ledger = desk.ledger("4242")
    if known:
        assert (await ledger.read()).find("4242")
    server.between = lambda: server.rows.pop(1)
    account = await ledger.read()
    assert account.complete
    assert account.find("4242")
    assert len(account.listed) == len({one.id for one in account.listed})


async def test_what_two_lists_lack_is_gone_and_is_not_asked_for_twice_again(
    server: VastServer, desk: Desk
) -> None:
    server.fill(1)
    ledger, asked = desk.ledger("4242"), list[int]()
    for _ in range(3):
        before = len(server.requests)
        account = await ledger.read()
        asked.append(sum("v1/instances" in one.path for one in server.requests[before:]))
        assert (account.complete, account.find("4242")) == (True, None)
    assert asked == [2, 1, 1]


async def test_a_token_that_goes_round_is_left(server: VastServer, desk: Desk) -> None:
    server.next = [Said(200, {"next_token": "7", "instances": [ROW]})] * 2
    assert "goes on" in ((await desk.ledger().read()).error or "")


@pytest.mark.parametrize("null", [True, False])
async def test_a_destroy_is_true_when_the_show_no_longer_lags(
    server: VastServer, desk: Desk, *, null: bool
) -> None:
    server.stale, server.null = 3, null
    rented = desk.rented()
    await rented.read("4242")
    assert (await rented.stop(desk.permit())).kind is AnswerKind.ACCEPTED
    states = [(await rented.read("4242")).state for _ in range(4)]
    assert states == ["running", "running", "running", "gone"]
    assert desk.calls == ["DELETE /api/v0/instances/4242/"]
    assert server.requests[1].body == {}


async def test_success_false_is_a_refusal_with_status_200(server: VastServer, desk: Desk) -> None:
    server.refuse = True
    answer = await desk.rented().stop(desk.permit())
    assert (answer.kind, answer.status) == (AnswerKind.REFUSED, 200)
    assert "instance is busy" in answer.text
    assert 4242 in server.rows


async def test_stop_is_a_put_of_the_state(server: VastServer, desk: Desk) -> None:
    rented = desk.rented()
    assert (await rented.stop(desk.permit("stop", "stop"))).kind is AnswerKind.ACCEPTED
    assert desk.calls == ["PUT /api/v0/instances/4242/"]
    assert server.requests[0].body == {"state": "stopped"}
    state = await rented.read("4242")
    assert (state.state, state.price) == ("stopped", Money(0.0021, "USD"))


async def test_the_answer_about_another_instance_is_no_answer(
    server: VastServer, desk: Desk
) -> None:
    server.next = [Said(200, {"instances": {**ROW, "id": 4243}})]
    assert "not about this" in ((await desk.rented().read("4242")).error or "")


@pytest.mark.parametrize(
    ("credit", "balance"), [(41.5, 41.5), (-2.0, -2.0), (None, None), ("41", None)]
)
async def test_the_credit_and_how_long_it_lasts(
    server: VastServer, desk: Desk, credit: object, balance: float | None
) -> None:
    server.credit = credit
    account = await desk.ledger().read()
    assert account.balance == (None if balance is None else Money(balance, "USD"))
    assert account.spend_per_hour == Money(0.4021, "USD")
    assert ("balance" in account.why) is (balance is None)
    if balance is not None:
        assert account.runway == pytest.approx(max(0.0, balance / 0.4021 * 3600))


@pytest.mark.parametrize(
    ("row", "used", "price"),
    [
        ({"instances": [4242], "storage_cost": 0.1}, True, 0.1 * 100 / 730),
        ({"instances": [], "storage_cost": 0.1}, False, 0.1 * 100 / 730),
        ({}, None, None),
    ],
)
async def test_a_volume_outlives_its_instance(
    server: VastServer, desk: Desk, row: dict[str, Any], used: bool | None, price: float | None
) -> None:
    server.volumes = [{"id": 77, "label": "ckpt", "disk_space": 100, **row}]
    (volume,) = (await desk.ledger().read()).stored
    assert (volume.label, volume.used, volume.size) == ("vastai:ckpt", used, "100 GB")
    assert volume.price == (None if price is None else Money(pytest.approx(price), "USD"))
