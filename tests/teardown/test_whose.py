"""Whether the box that was looked at is the provider's instance: only what shows it opens the gate."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from rented import Scene, rest, until
from runpod_server import POD

from gpu_tui.core.fleet import ProviderAccess, ProviderState, SshAccess
from gpu_tui.teardown.whose import Claims, claims, elsewhere, judge
from gpu_tui.transport.base import peer_of

PUBLIC, PRIVATE = ip_address("192.0.2.3"), ip_address("10.0.2.100")


def _said(*words: str) -> Claims:
    ids = frozenset(word for word in words if "." not in word)
    return Claims(ids, frozenset(ip_address(word) for word in words if "." in word))


@pytest.mark.parametrize(
    ("said", "peer", "known", "inner", "same"),
    [
        # what the box says of itself comes first, whatever the addresses are
        (("p-1",), ("192.0.2.9", 1), "192.0.2.3:34446", (), True),
        (("p-2",), ("192.0.2.3", 34446), "192.0.2.3:34446", (), False),
        # of two ids one at most is true: an image may set such a variable by itself
        (("p-1", "p-2"), None, None, (), False),
        (("p-1", "p-2"), ("192.0.2.3", 34446), "192.0.2.3:34446", (), True),
        (("p-1", "p-2"), ("192.0.2.4", 34446), "192.0.2.3:34446", (), False),
        # the end of our own socket, with its port: hosts are shared, ports are not
        ((), ("192.0.2.3", 34446), "192.0.2.3:34446", (), True),
        ((), ("192.0.2.3", 22), "192.0.2.3:34446", (), False),
        ((), ("192.0.2.4", 34446), "192.0.2.3:34446", (), False),
        ((), None, "192.0.2.3:34446", (), False),  # behind a jump: nothing shows it
        # a machine in a private network
        ((), ("10.0.2.100", 22), "192.0.2.3:22", ("10.0.2.100",), True),
        (("10.0.2.100",), None, "192.0.2.3:22", ("10.0.2.100",), True),
        (("10.0.2.101",), None, "192.0.2.3:22", ("10.0.2.100",), False),
        (("192.0.2.3",), None, "192.0.2.3:34446", (), False),  # a host's address is many boxes'
        # nothing that could be compared
        ((), ("192.0.2.3", 22), None, (), True),
        ((), None, None, (), True),
    ],
)
def test_what_shows_that_it_is_the_same_box(
    said: tuple[str, ...],
    peer: tuple[str, int] | None,
    known: str | None,
    inner: tuple[str, ...],
    same: bool,
) -> None:
    host, _, port = (known or "").partition(":")
    places = frozenset({(ip_address(host), int(port))}) if known else frozenset()
    reached = (ip_address(peer[0]), peer[1]) if peer else None
    why = judge("p-1", _said(*said), reached, places, inner, bool(known))
    assert (why is None) is same, why


def test_what_nothing_shows_is_shut_where_an_id_is_ended() -> None:
    """A typo in provider.id must not end somebody else's pod because nobody says anything."""
    peer = (ip_address("192.0.2.3"), 22)
    why = judge("p-1", Claims(), peer, frozenset(), (), False, by_id=True)
    assert "nothing shows that this box is p-1" in (why or "")
    assert judge("p-1", _said("p-1"), peer, frozenset(), (), False, by_id=True) is None


async def test_a_pod_that_nothing_shows_is_never_called(scene: Scene) -> None:
    (scene.box.proc / "1/environ").write_bytes(b"A=1\0")
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
    await views.aclose()
    assert "nothing shows that this box is" in (view.closed_because or "")
    assert scene.server.calls == []


@pytest.mark.parametrize(
    ("state", "by_id", "same"),
    [
        ("running", True, True),
        ("unknown", True, True),
        ("stopped", True, False),
        ("ended", True, False),
        (
            "stopped",
            False,
            True,
        ),  # nothing is called by its id: the box that answers is the one meant
    ],
)
async def test_what_is_off_at_the_provider_does_not_answer(
    scene: Scene, state: str, by_id: bool, same: bool
) -> None:
    assert scene.connection is not None
    why = await elsewhere(scene.connection, scene.instance, ProviderState(state), by_id=by_id)
    assert (why is None) is same
    assert same or f"is {state}, and this box answers" in (why or "")


async def test_a_box_that_answers_is_not_the_one_that_is_stopped(scene: Scene) -> None:
    assert scene.server.pod is not None
    scene.server.pod["status"] = "EXITED"
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
    await views.aclose()
    assert "is stopped, and this box answers" in (view.closed_because or "")
    assert scene.server.calls == []


@pytest.mark.parametrize("how", ["id", "host"])
async def test_results_of_another_entry_for_the_same_box_do_not_go_with_it(
    scene: Scene, how: str
) -> None:
    ssh = SshAccess("elsewhere.example")
    if how == "id":
        other = replace(scene.instance, name="second-queue", ssh=ssh)
    else:
        other = replace(scene.instance, name="second-queue", provider=ProviderAccess())
    scene.others = [other, replace(other, name="a-third", ssh=ssh, provider=ProviderAccess("x"))]
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
    await views.aclose()
    assert "it is also second-queue in the fleet file" in (view.closed_because or "")
    assert scene.server.calls == []


async def test_an_entry_that_joins_while_it_is_armed_shuts_the_gate(scene: Scene) -> None:
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(3.0)
    async for view in views:
        if view.ready:
            break
    scene.others = [replace(scene.instance, name="second-queue")]
    await climb.confirm("pod-4n6p")
    assert (await rest(views)).state == "closed"
    assert scene.server.calls == []


async def test_the_box_is_asked_for_its_own_id_and_addresses(scene: Scene) -> None:
    assert scene.connection is not None
    first = scene.box.proc / "1"
    environ = f"A=1\0RUNPOD_POD_ID={POD['id']}\0CONTAINER_ID=9\0".encode()
    (first / "environ").write_bytes(environ)
    said = await claims(scene.connection, scene.instance)
    assert said.ids == {POD["id"]}  # a variable of another platform says nothing
    assert not any(ip.is_loopback for ip in said.addresses)
    (first / "environ").write_bytes(b"RUNPOD_POD_ID=x; rm -rf /\0")
    assert (await claims(scene.connection, scene.instance)).ids == frozenset()


@pytest.mark.parametrize("inner", ["127.0.0.1", "127.0.1.1", "::1"])
async def test_an_address_that_every_machine_has_shows_nothing(scene: Scene, inner: str) -> None:
    """Debian gives a host's own name 127.0.1.1, and a provider may repeat it as the inner address."""
    assert scene.connection is not None
    (scene.box.proc / "1/environ").unlink()
    scene.box.sshd.program("hostname", "#!/bin/sh\necho 127.0.0.1 127.0.1.1 10.0.2.100 ::1\n")
    said = await claims(scene.connection, scene.instance)
    assert said.addresses == {ip_address("10.0.2.100")}
    # Behind a jump, so that the end of our own socket shows nothing either.
    assert judge("p-1", said, None, frozenset(), (inner,), False) is not None
    assert judge("p-1", said, None, frozenset(), ("10.0.2.100",), False) is None


async def test_an_alias_is_known_by_the_end_of_its_socket(scene: Scene) -> None:
    """The fleet file may name anything: what counts is where the connection really ended."""
    assert scene.connection is not None
    (scene.box.proc / "1/environ").unlink()
    assert peer_of(scene.connection) == ("127.0.0.1", scene.box.sshd.port)
    here = ProviderState("running", address=("127.0.0.1", scene.box.sshd.port))
    assert await elsewhere(scene.connection, scene.instance, here) is None
    named = replace(here, address=("localhost", scene.box.sshd.port))
    assert await elsewhere(scene.connection, scene.instance, named) is None
    other = replace(here, address=("127.0.0.1", scene.box.sshd.port + 1))
    why = await elsewhere(scene.connection, scene.instance, other)
    assert f"127.0.0.1:{scene.box.sshd.port}" in (why or "")
    ways = (("127.0.0.1", scene.box.sshd.port + 1), ("127.0.0.1", scene.box.sshd.port))
    second = replace(other, addresses=ways)
    assert await elsewhere(scene.connection, scene.instance, second) is None


async def test_a_pod_that_is_another_one_never_opens(scene: Scene) -> None:
    (scene.box.proc / "1/environ").write_bytes(b"RUNPOD_POD_ID=another1\0")
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
    await views.aclose()
    assert "the box says that it is another1" in (view.closed_because or "")
    assert scene.server.calls == []


async def test_a_box_that_becomes_another_one_shuts_the_gate(scene: Scene, tmp_path: Path) -> None:
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(3.0)
    async for view in views:
        if view.ready:
            break
    (scene.box.proc / "1/environ").write_bytes(b"RUNPOD_POD_ID=another1\0")
    await climb.confirm("pod-4n6p")
    assert (await rest(views)).state == "closed"
    assert scene.server.calls == []


def _own_boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


async def test_a_box_that_is_this_very_machine_never_opens(scene: Scene) -> None:
    """Run on the box itself, gpu-tui would pull onto the disk that goes with it."""
    scene.box.boot(_own_boot())
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
    await views.aclose()
    assert "the box and this machine are one" in (view.closed_because or "")
    assert scene.server.calls == []


async def test_this_very_machine_may_be_parked(scene: Scene) -> None:
    scene.box.boot(_own_boot())
    climb = scene.runner().open("pod", "stop")
    _, views = await until(climb, lambda view: view.state == "ready")
    await views.aclose()
