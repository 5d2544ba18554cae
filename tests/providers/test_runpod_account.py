"""A RunPod account: what a stopped pod costs, what outlives a pod, and deletes that are not what they say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from local_api import Said
from platforms import SEATS, Desk
from runpod_cloud import ID, RunPodCloud

from gpu_tui.core.fleet import Money
from gpu_tui.providers.base import AnswerKind


@pytest.fixture
async def server() -> AsyncIterator[RunPodCloud]:
    async with RunPodCloud() as running:
        yield running


@pytest.fixture
def desk(server: RunPodCloud) -> Desk:
    return Desk(SEATS["runpod"], server)


async def test_a_delete_is_true_when_the_pod_is_not_found(server: RunPodCloud, desk: Desk) -> None:
    server.slow = 3
    rented = desk.rented()
    await rented.read(ID)
    assert (await rented.stop(desk.permit())).status == 204
    states = [(await rented.read(ID)).state for _ in range(4)]
    assert states == ["running", "running", "running", "gone"]


async def test_a_pod_that_comes_back_as_exited_is_still_there(
    server: RunPodCloud, desk: Desk
) -> None:
    server.revives = True
    rented = desk.rented()
    await rented.read(ID)
    assert (await rented.stop(desk.permit())).kind is AnswerKind.ACCEPTED
    assert (await rented.read(ID)).state == "stopped"


async def test_a_member_of_a_cluster_is_refused(server: RunPodCloud, desk: Desk) -> None:
    server.cluster = True
    answer = await desk.rented().stop(desk.permit())
    assert (answer.kind, answer.status) == (AnswerKind.REFUSED, 409)
    assert "member of a cluster" in answer.text


async def test_a_retired_api_is_named_and_is_no_end(server: RunPodCloud, desk: Desk) -> None:
    rented = desk.rented()
    await rented.read(ID)
    server.next = [Said(410, {"title": "Gone", "status": 410})]
    state = await rented.read(ID)
    assert state.state == "unknown"
    assert "retired" in (state.error or "")
    await desk.ledger().read()
    assert not any(one.path.startswith("/v1") for one in server.requests)


@pytest.mark.parametrize(
    ("mounts", "price"),
    [
        ({"persistent": {"size": 73, "path": "/workspace"}}, 73 * 0.20 / 730),
        ({"network": [{"volumeId": "nv1", "path": "/workspace"}]}, 0.0),
        ({"persistent": {"path": "/workspace"}}, None),
        ({"persistent": []}, None),
        (None, None),
    ],
)
async def test_what_a_stopped_pod_really_costs(
    server: RunPodCloud, desk: Desk, mounts: Any, price: float | None
) -> None:
    server.pods[ID] |= {"status": "EXITED", "cost": 0.0, "mounts": mounts}
    stopped = await desk.rented().read(ID)
    server.pods[ID] |= {"status": "RUNNING", "cost": 0.5}
    runs = await desk.rented().read(ID)
    assert runs.price == Money(0.5, "USD")
    for seen in (stopped.price, stopped.parked, runs.parked):  # told before it is stopped, too
        assert seen is None if price is None else seen == Money(pytest.approx(price), "USD")


@pytest.mark.parametrize(
    ("mounts", "lacks"),
    [
        ({"persistent": {"size": 73}}, ("network-volume",)),
        ({"persistent": {"size": 73}, "network": []}, ("network-volume",)),
        ({"persistent": None, "network": [{"volumeId": "nv1"}]}, ("volume",)),
        ({"persistent": {"size": 73}, "network": [{"volumeId": "nv1"}]}, ()),
        # What nobody can read says of none that it is not there.
        ({"persistent": {"size": 73}, "network": "?"}, ()),
        ({"persistent": "?", "network": [{"volumeId": "nv1"}]}, ()),
        ({"network": ["?"]}, ()),
        ({}, ()),
        (None, ()),
    ],
)
async def test_of_two_that_may_lie_there_the_one_that_does_not_is_known(
    server: RunPodCloud, desk: Desk, mounts: object, lacks: tuple[str, ...]
) -> None:
    server.pods[ID] |= {"mounts": mounts}
    assert (await desk.rented().read(ID)).lacks == lacks


async def test_the_money_of_the_account(server: RunPodCloud, desk: Desk) -> None:
    server.volumes = []
    account = await desk.ledger().read()
    assert (account.balance, account.spend_per_hour) == (Money(11.0, "USD"), Money(0.5, "USD"))
    assert account.low_balance == Money(5, "USD")
    assert account.runway == 22 * 3600
    server.account |= {"notifyLowBalance": True, "clientBalance": -1.5}
    account = await desk.ledger().read()
    assert (account.low_balance, account.balance) == (None, Money(-1.5, "USD"))


async def test_a_balance_that_cannot_be_had_hides_no_list(server: RunPodCloud, desk: Desk) -> None:
    server.account = {}
    account = await desk.ledger().read()
    assert (account.error, account.complete, account.balance) == (None, True, None)
    assert account.why["balance"]
    assert account.spend_per_hour is not None


async def test_a_network_volume_outlives_its_pod(server: RunPodCloud, desk: Desk) -> None:
    server.pods[ID]["mounts"] = {"network": [{"volumeId": "nv1", "path": "/workspace"}]}
    ledger = desk.ledger()
    (volume,) = (await ledger.read()).stored
    assert (volume.used, volume.size) == (True, "1500 GB")
    assert volume.price == Money(pytest.approx((1000 * 0.07 + 500 * 0.05) / 730), "USD")
    del server.pods[ID]
    (volume,) = (await ledger.read()).stored
    assert volume.used is False


async def test_volumes_are_not_asked_for_at_every_listing(server: RunPodCloud, desk: Desk) -> None:
    ledger = desk.ledger()
    for _ in range(20):
        await ledger.read()
    assert server.lines("GET").count("GET /v2/network-volumes") == 2
    assert server.lines("GET").count("GET /v2/pods") == 20


async def test_a_row_that_cannot_be_read_hides_no_other(server: RunPodCloud, desk: Desk) -> None:
    server.pods["second"] = {**server.pods[ID], "id": "second", "status": "ERROR"}
    account = await desk.ledger().read()
    assert [(one.id, one.state) for one in account.listed] == [
        (ID, "running"),
        ("second", "unknown"),
    ]
