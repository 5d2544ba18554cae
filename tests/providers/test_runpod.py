"""RunPod over real HTTP on loopback: what is read, what is sent, and what is never believed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from runpod_server import POD, RunPodServer

from gpu_tui.core import gate as rules
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, Money, ProviderAccess, SshAccess
from gpu_tui.core.gate import GateShut, StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.providers.api import checked_base_url
from gpu_tui.providers.base import AnswerKind, Means, ProviderError
from gpu_tui.providers.rented import Rented
from gpu_tui.providers.runpod import RunPod

ID = POD["id"]


async def no_time(seconds: float) -> None:
    """A pause that takes none."""


@pytest.fixture
async def server() -> AsyncIterator[RunPodServer]:
    async with RunPodServer() as running:
        yield running


def _provider(server: RunPodServer, limit: float = 5.0, **access: object) -> Rented:
    fields = {"id": ID, "base_url": server.url, **access}
    instance = Instance("pod", SshAccess("h"), "runpod", provider=ProviderAccess(**fields))  # type: ignore[arg-type]
    return Rented(
        RunPod,
        instance,
        Means({"RUNPOD_API_KEY": "test-key"}, ManualClock(), sleep=no_time),
        total_limit=limit,
    )


def _permit(verb: str = "terminate", id: str = ID, expires: float = 2_000.0) -> StopPermit:
    """A permit as the gate would mint it; tests of providers stand behind the gate."""
    effect = "stop" if verb == "stop" else "destroy"
    return StopPermit("pod", id, verb, effect, "evidence", expires, token=rules._MINT)


async def test_a_running_pod(server: RunPodServer) -> None:
    state = await _provider(server).read(ID)
    assert (state.state, state.error) == ("running", None)
    assert state.price == Money(0.44, "USD")
    assert state.started_at == 1_795_176_120.0
    assert state.facts == {
        "name": "sweep-a",
        "cloud": "SECURE",
        "dataCenterId": "US-KS-2",
        "status": "RUNNING",
    }
    assert "canary" not in repr(state)


DIRECT = {"host": "192.0.2.3", "port": 34446, "username": "root"}


@pytest.mark.parametrize(
    ("ssh", "address"),
    [
        ({"proxy": None, "direct": DIRECT}, ("192.0.2.3", 34446)),
        ({"proxy": {"host": "ssh.runpod.io"}, "direct": None}, None),
        (None, None),
    ],
)
async def test_where_a_pod_is(
    server: RunPodServer, ssh: object, address: tuple[str, int] | None
) -> None:
    server.pod = {**POD, "ssh": ssh}
    state = await _provider(server).read(ID)
    assert (state.state, state.address) == ("running", address)


@pytest.mark.parametrize("direct", [[], {**DIRECT, "port": "22"}, {**DIRECT, "host": None}])
async def test_an_address_of_another_shape_is_unknown(server: RunPodServer, direct: object) -> None:
    server.pod = {**POD, "ssh": {"direct": direct}}
    assert (await _provider(server).read(ID)).state == "unknown"


async def test_a_stopped_pod_has_no_price_that_says_free(server: RunPodServer) -> None:
    server.pod = {**POD, "status": "EXITED", "cost": 0.0}
    state = await _provider(server).read(ID)
    assert (state.state, state.price) == ("stopped", None)


async def test_a_terminated_pod_is_neither_stopped_nor_gone(server: RunPodServer) -> None:
    """It cannot be started again, its volume is not the one that bills double, and nothing proves the end."""
    server.pod = {**POD, "status": "TERMINATED", "cost": 0.0}
    state = await _provider(server).read(ID)
    assert (state.state, state.price) == ("ended", None)


async def test_not_found_is_gone_only_after_it_was_seen(server: RunPodServer) -> None:
    provider = _provider(server)
    kept, server.pod = server.pod, None
    first = await provider.read(ID)
    assert first.state == "unknown"
    assert "ever seen" in (first.error or "")
    server.pod = kept
    await provider.read(ID)
    server.pod = None
    assert (await provider.read(ID)).state == "gone"


async def test_an_id_remembered_from_an_earlier_run_may_be_gone(server: RunPodServer) -> None:
    provider = _provider(server)
    server.pod = None
    provider.remember(ID)
    assert (await provider.read(ID)).state == "gone"


BAD_BODIES = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"<html>maintenance</html>",
    b'{"id": "other", "status": "RUNNING"}',
    b'{"id": "7h9k2m4n6p"}',
    b'{"id": "7h9k2m4n6p", "status": null}',
    b'{"id": "7h9k2m4n6p", "status": "MELTED\\u001b[2J"}',
    b'{"id": "7h9k2m4n6p", "status": ["RUNNING"]}',
    b'{"id": "7h9k2m4n6p", "status": "ERROR"}',
    b'{"id": ["7h9k2m4n6p"], "status": "RUNNING"}',
    b'{"pods": []}',
    b'{"error": "nope"}',
    b"\xff\xfe",
    b"[" * 100_000,
    b"x" * (2 << 20),
]


@pytest.mark.parametrize("number", range(len(BAD_BODIES)))
async def test_a_body_of_another_shape_is_unknown(server: RunPodServer, number: int) -> None:
    provider = _provider(server)
    await provider.read(ID)
    server.get = [(200, BAD_BODIES[number])]
    state = await provider.read(ID)
    assert state.state == "unknown"
    assert state.error
    assert state.error.isprintable()


@pytest.mark.parametrize("cost", ["free", True, -1, None, 1e300, [0.4]])
async def test_an_odd_price_is_no_price(server: RunPodServer, cost: object) -> None:
    body = {**POD, "cost": cost}
    server.get = [(200, json.dumps(body).encode())]
    state = await _provider(server).read(ID)
    assert (state.state, state.price) == ("running", None)


@pytest.mark.parametrize("status", [201, 204, 302, 400, 401, 403, 409, 429, 500, 503])
async def test_a_status_that_is_not_200_is_unknown(server: RunPodServer, status: int) -> None:
    provider = _provider(server)
    await provider.read(ID)
    server.get = [(status, b"")] * 3  # "too many" is asked again
    state = await provider.read(ID)
    assert state.state == "unknown"
    assert state.error


async def test_no_server_is_unknown(server: RunPodServer) -> None:
    provider = _provider(server, base_url="http://127.0.0.1:1")
    assert "no answer" in ((await provider.read(ID)).error or "")


async def test_a_redirect_is_not_followed_with_the_key(server: RunPodServer) -> None:
    async with RunPodServer() as elsewhere:
        server.get = [(302, b"")]
        await _provider(server).read(ID)
        assert elsewhere.requests == []
        assert len(server.requests) == 1


async def test_stop_and_terminate_send_what_was_agreed(server: RunPodServer) -> None:
    provider = _provider(server)
    answer = await provider.stop(_permit("stop"))
    assert (answer.kind, answer.status) == (AnswerKind.ACCEPTED, 200)
    answer = await provider.stop(_permit("terminate"))
    assert (answer.kind, answer.status) == (AnswerKind.ACCEPTED, 204)
    assert server.calls == [f"POST /v2/pods/{ID}/action", f"DELETE /v2/pods/{ID}"]
    assert all(h["authorization"] == "Bearer test-key" for _, _, h, _ in server.requests)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, AnswerKind.REFUSED),
        (401, AnswerKind.REFUSED),
        (403, AnswerKind.REFUSED),
        (409, AnswerKind.REFUSED),
        (429, AnswerKind.REFUSED),
        (404, AnswerKind.UNKNOWN),
        (500, AnswerKind.UNKNOWN),
        (503, AnswerKind.UNKNOWN),
        (302, AnswerKind.UNKNOWN),
    ],
)
async def test_an_answer_that_is_no_success(
    server: RunPodServer, status: int, kind: AnswerKind
) -> None:
    server.delete_status = status
    answer = await _provider(server).stop(_permit())
    assert answer.kind is kind
    assert answer.text.isprintable()
    assert len(server.calls) == 1


async def test_an_answer_that_never_comes_is_unknown_and_not_repeated(server: RunPodServer) -> None:
    server.hang = True
    answer = await _provider(server, limit=1.0).stop(_permit())
    assert answer.kind is AnswerKind.UNKNOWN
    assert len(server.calls) == 1
    assert server.pod is None


async def test_a_verb_for_anything_but_the_pod_is_refused_unsent(server: RunPodServer) -> None:
    provider = _provider(server)
    row = Verb("delete-network-volume", "x", ("net",), "stops", False, "http", "destroy")
    assert not provider.offers(row)
    answer = await provider.stop(_permit("delete-network-volume"))
    assert answer.kind is AnswerKind.REFUSED
    assert server.requests == []


async def test_a_permit_is_redeemed_before_a_byte_is_sent(server: RunPodServer) -> None:
    provider = _provider(server)
    used = _permit()
    await provider.stop(used)
    for permit in (used, _permit(id="another"), _permit(expires=1_000.0)):
        with pytest.raises(GateShut):
            await provider.stop(permit)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "id", ["../network-volumes/nv1", "a/b", "", "a b", "x" * 65, "é", "a\r\nX: y"]
)
async def test_an_id_that_is_none_reaches_no_url(server: RunPodServer, id: str) -> None:
    state = await _provider(server, id=id).read(id)
    assert state.state == "unknown"
    assert server.requests == []


@pytest.mark.parametrize("key", ["", "   ", "a\nb", "schlüssel"])
async def test_a_key_that_is_none_is_not_sent(server: RunPodServer, key: str) -> None:
    instance = Instance(
        "pod", SshAccess("h"), "runpod", provider=ProviderAccess(ID, base_url=server.url)
    )
    provider = Rented(RunPod, instance, Means({"RUNPOD_API_KEY": key}, ManualClock()))
    state = await provider.read(ID)
    assert "RUNPOD_API_KEY" in (state.error or "")
    assert (await provider.stop(_permit())).kind is AnswerKind.REFUSED
    assert server.requests == []


async def test_the_key_is_in_no_text_that_leaves(server: RunPodServer) -> None:
    server.key = "another"
    provider = _provider(server)
    state, answer = await provider.read(ID), await provider.stop(_permit())
    assert "test-key" not in repr(state) + repr(answer)


@pytest.mark.parametrize(
    "url",
    [
        *("http://api.runpod.io", "http://127.0.0.1.evil.example", "ftp://127.0.0.1", "", "//x"),
        *("https://user:pw@api.runpod.io", "https://api.runpod.io/?x=1", "http://10.0.0.1"),
    ],
)
def test_a_base_url_that_would_leak_the_key(url: str) -> None:
    with pytest.raises(ProviderError):
        checked_base_url(url)


@pytest.mark.parametrize(
    "url", ["https://api.runpod.io", "http://127.0.0.1:8", "http://[::1]:8", "http://localhost:8/"]
)
def test_a_base_url_that_is_taken(url: str) -> None:
    assert checked_base_url(url) == url.rstrip("/")
