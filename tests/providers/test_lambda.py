"""Lambda: terminate that hangs, boxes that were shut down from inside, file systems that stay."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from lambda_server import ID, LambdaServer
from local_api import Said
from platforms import SEATS, Desk

from gpu_tui.core.fleet import Money
from gpu_tui.providers.base import AnswerKind

PATIENT = 1.0  # seconds that a call may take here; the server never answers


@pytest.fixture
async def server() -> AsyncIterator[LambdaServer]:
    async with LambdaServer() as running:
        yield running


@pytest.fixture
def desk(server: LambdaServer) -> Desk:
    return Desk(SEATS["lambda"], server)


async def test_what_is_kept_of_an_instance(desk: Desk) -> None:
    state = await desk.rented().read(ID)
    assert (state.price, state.started_at) == (Money(1.29, "USD"), None)
    assert state.address == ("198.51.100.2", 22)


@pytest.mark.parametrize("effect", [True, False])
async def test_a_terminate_that_hangs_is_unknown_until_it_is_read(
    server: LambdaServer, desk: Desk, *, effect: bool
) -> None:
    server.hang, server.effect = True, effect
    rented = desk.rented(limit=PATIENT)
    await rented.read(ID)
    answer = await rented.stop(desk.permit())
    assert answer.kind is AnswerKind.UNKNOWN
    assert server.lines("POST") == ["POST /api/v1/instance-operations/terminate"]
    assert (await rented.read(ID)).state == ("gone" if effect else "running")


async def test_terminating_is_not_gone(server: LambdaServer, desk: Desk) -> None:
    server.polls = 2
    rented = desk.rented()
    await rented.read(ID)
    assert (await rented.stop(desk.permit())).kind is AnswerKind.ACCEPTED
    assert server.requests[-1].body == {"instance_ids": [ID]}
    assert [(await rented.read(ID)).state for _ in range(3)] == ["running", "running", "gone"]


@pytest.mark.parametrize(
    ("status", "state", "remark"),
    [
        ("booting", "running", None),
        ("unhealthy", "running", "only terminate ends that"),
        ("terminated", "gone", None),
        ("preempted", "ended", "taken back"),
        ("alert", "unknown", None),
    ],
)
async def test_what_a_state_means_to_the_meter(
    server: LambdaServer, desk: Desk, status: str, state: str, remark: str | None
) -> None:
    server.rows[ID]["status"] = status
    seen = await desk.rented().read(ID)
    assert seen.state == state
    assert seen.remark is None if remark is None else remark in (seen.remark or "")


async def test_preempted_proves_no_destroy(server: LambdaServer, desk: Desk) -> None:
    rented = desk.rented()
    await rented.read(ID)
    server.rows[ID]["status"] = "preempted"
    assert (await rented.read(ID)).state != "gone"


async def test_a_404_of_something_else_is_no_end(server: LambdaServer, desk: Desk) -> None:
    rented = desk.rented()
    await rented.read(ID)
    for body in (None, {}, {"error": {"code": "global/not-found"}}, {"error": "gone"}):
        server.next = [Said(404, body)]
        assert (await rented.read(ID)).state == "unknown"


async def test_what_stays_behind_is_found_and_bills(server: LambdaServer, desk: Desk) -> None:
    ledger = desk.ledger()
    (used,) = (await ledger.read()).stored
    assert (used.kind, used.used, used.price) == (
        "file system",
        True,
        Money(pytest.approx(1024 * 0.20 / 730), "USD"),
    )
    del server.rows[ID]  # an instance that went away makes it look again at once
    account = await ledger.read()
    assert [one.used for one in account.stored] == [False]
    assert account.spend_per_hour == used.price


MOUNT = [{"mount_point": "/lambda/nfs/ckpt", "file_system_id": "fs1"}]
TEXAS = {"name": "us-south-1", "description": "Texas, USA"}


@pytest.mark.parametrize(
    ("row", "system", "users"),
    [
        # By the id where the API names it: a file system of another region may have the same name.
        ({"file_system_mounts": MOUNT}, {}, (ID,)),
        ({"file_system_mounts": MOUNT}, {"id": "fs2", "region": TEXAS}, ()),
        ({"file_system_mounts": MOUNT}, {"id": "fs2"}, ()),
        # Else by the name, in the region of the instance.
        ({}, {}, (ID,)),
        ({"file_system_mounts": None}, {}, (ID,)),
        ({"file_system_mounts": []}, {}, (ID,)),
        ({"file_system_mounts": [{"mount_point": "/x"}]}, {}, (ID,)),
        ({}, {"region": TEXAS}, ()),
        ({}, {"name": "other"}, ()),
        # Where no region is told nobody knows, and that is no "nobody".
        ({}, {"region": None}, None),
        ({"region": None}, {}, None),
        ({}, {"name": None}, None),
        ({"region": None, "file_system_names": []}, {}, ()),
    ],
)
async def test_who_mounts_a_file_system(
    server: LambdaServer, desk: Desk, row: dict[str, object], system: dict[str, object],
    users: tuple[str, ...] | None,
) -> None:  # fmt: skip
    server.rows[ID] |= {"file_system_names": ["ckpt"], **row}
    server.systems[0] |= system
    (stored,) = (await desk.ledger().read()).stored
    assert stored.users == users


async def test_it_is_asked_at_most_once_a_second_and_tells_no_balance(desk: Desk) -> None:
    account = await desk.ledger().read()
    assert (account.balance, account.runway) == (None, None)
    assert "invoice" in account.why["balance"]
    assert desk.pauses == [1.0]  # two questions: the list and the file systems
