"""The simulated control planes over real HTTP: as RunPod and AutoDL answer, and as our adapter reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, Money, ProviderAccess, SshAccess
from gpu_tui.demo.provider import ProviderServer, Rental
from gpu_tui.providers.autodl import AutoDL
from gpu_tui.providers.base import Means, ProviderError
from gpu_tui.providers.rented import Rented

DAY = 86_400.0
CLOCK = ManualClock()
BEARER = {"Authorization": "Bearer t0ken"}


@dataclass
class Switch:
    """Stands where the box's line is: what the provider turns off."""

    thrown: list[str] = field(default_factory=list)

    async def off(self) -> None:
        self.thrown.append("off")


@pytest.fixture
def switch() -> Switch:
    return Switch()


@pytest.fixture
async def server(switch: Switch) -> AsyncIterator[ProviderServer]:
    pod = Rental(
        "p1", "polaris", "runpod", 0.69, CLOCK.now() - DAY, 2222, "RTX 4090", off=switch.off
    )
    parked = Rental(
        "pro-1", "mira", "autodl", 1.28, CLOCK.now() - 20 * DAY, 2223, "V100",
        status="EXITED", stopped_at=CLOCK.now() - 13.2 * DAY,
    )  # fmt: skip
    busy = Rental("pro-2", "rigel", "autodl", 2.08, CLOCK.now() - DAY, 2224, "4090")
    serving = ProviderServer(CLOCK, "t0ken", {row.id: row for row in (pod, parked, busy)})
    await serving.open()
    yield serving
    await serving.close()


@pytest.fixture
async def http(server: ProviderServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        yield client


async def test_runpod_lists_and_shows_its_pods_to_the_right_key_only(
    http: httpx.AsyncClient,
) -> None:
    assert (await http.get("/v2/pods")).status_code == 401
    assert (await http.get("/v2/pods", headers={"Authorization": "t0ken"})).status_code == 401
    listed = (await http.get("/v2/pods?includeClusterPods=true", headers=BEARER)).json()
    assert [row["id"] for row in listed["pods"]] == ["p1"]
    one = (await http.get("/v2/pods/p1", headers=BEARER)).json()
    assert (one["status"], one["cost"]) == ("RUNNING", 0.69)
    missing = await http.get("/v2/pods/pro-1", headers=BEARER)
    assert missing.status_code == 404
    assert missing.headers["content-type"] == "application/problem+json"


async def test_a_delete_is_accepted_long_before_it_is_true(
    http: httpx.AsyncClient, switch: Switch
) -> None:
    gone = await http.delete("/v2/pods/p1", headers=BEARER)
    assert (gone.status_code, gone.content) == (204, b"")
    assert switch.thrown == ["off"]
    assert (await http.delete("/v2/pods/p1", headers=BEARER)).status_code == 409
    polls = [(await http.get("/v2/pods/p1", headers=BEARER)).status_code for _ in range(4)]
    assert polls == [200, 200, 404, 404]
    assert switch.thrown == ["off"]


async def test_a_stopped_pod_costs_nothing_on_paper_and_cannot_start(
    http: httpx.AsyncClient, switch: Switch
) -> None:
    async def act(action: str) -> httpx.Response:
        return await http.post("/v2/pods/p1/action", json={"action": action}, headers=BEARER)

    stopped = (await act("stop")).json()
    assert (stopped["status"], stopped["cost"], stopped["actions"]) == (
        "EXITED",
        0.0,
        ["terminate"],
    )
    assert switch.thrown == ["off"]
    assert (await act("start")).status_code == 409
    assert (await act("terminate")).status_code == 204


@pytest.mark.parametrize(
    "raw", [b"\r\n\r\n", b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"no"]
)
async def test_what_is_no_http_does_not_end_the_server(
    server: ProviderServer, http: httpx.AsyncClient, raw: bytes
) -> None:
    import asyncio

    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(raw)
    writer.write_eof()
    await reader.read()
    writer.close()
    await writer.wait_closed()
    assert (await http.get("/v2/pods", headers=BEARER)).status_code == 200


def autodl(server: ProviderServer, id: str = "pro-1", key: str = "t0ken", **access: Any) -> Rented:
    given = {"variant": "pro", "key_env": "DEMO", "base_url": server.url, **access}
    instance = Instance("mira", SshAccess("mira"), "autodl", provider=ProviderAccess(id, **given))
    return Rented(AutoDL, instance, Means({"DEMO": key}, CLOCK))


async def test_a_parked_instance_says_since_when(server: ProviderServer) -> None:
    state = await autodl(server).read("pro-1")
    assert state.error is None
    assert state.state == "stopped"
    assert state.stopped_at is not None
    assert abs(CLOCK.now() - state.stopped_at - 13.2 * DAY) <= 1
    assert state.price is None


async def test_a_running_instance_has_a_price_and_no_stop(server: ProviderServer) -> None:
    state = await autodl(server).read("pro-2")
    assert (state.state, state.price, state.stopped_at) == ("running", Money(2.08, "CNY"), None)
    assert state.facts["status"] == "running"


async def test_a_success_status_with_another_code_is_an_error(server: ProviderServer) -> None:
    state = await autodl(server, key="wrong").read("pro-1")
    assert state.state == "unknown"
    assert state.error is not None
    assert "AuthorizeFailed" in state.error


async def test_absent_is_gone_only_once_it_was_seen(server: ProviderServer) -> None:
    api = autodl(server)
    assert (await api.read("pro-9")).state == "unknown"
    assert (await api.read("pro-1")).state == "stopped"
    del server.rentals["pro-1"]
    assert (await api.read("pro-1")).state == "gone"
    later = autodl(server, id="pro-9")
    later.remember("pro-9")
    assert (await later.read("pro-9")).state == "gone"


async def test_the_whole_list_is_read_before_absence_is_believed(server: ProviderServer) -> None:
    for number in range(120):
        row = Rental(f"pro-x{number}", "x", "autodl", 1.0, CLOCK.now(), 1, "V100")
        server.rentals[row.id] = row
    last = server.rentals.pop("pro-1")
    server.rentals["pro-1"] = last
    assert (await autodl(server).read("pro-1")).state == "stopped"


async def test_no_answer_is_unknown_and_an_ordinary_instance_has_no_api(
    server: ProviderServer,
) -> None:
    api = autodl(server)
    await server.close()
    state = await api.read("pro-1")
    assert state.state == "unknown"
    assert state.error is not None
    with pytest.raises(ProviderError, match="only AutoDL's Pro instances"):
        autodl(server, variant="container")
    with pytest.raises(ProviderError, match="in clear"):
        autodl(server, base_url="http://192.0.2.1")
