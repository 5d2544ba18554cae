"""Many boxes behind one jump host: real sshd for all, logins counted by the servers themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd
from faults.heard import live, lost, watched

from gpu_tui.core.events import Event, LinkChanged
from gpu_tui.core.fleet import Instance
from gpu_tui.transport.ssh import SshTransport

MakeBox = Callable[..., Sshd]
MANY = 32 if os.environ.get("GPU_TUI_NIGHTLY") else 12  # more than sshd lets log in at once


def logins(sshd: Sshd) -> int:
    return (sshd.directory / "etc" / "sshd.log").read_text().count("Accepted publickey")


def behind(box: Sshd, jumps: list[Sshd], name: str) -> Instance:
    """Through these hosts, nearest first: one key, one config and one known_hosts for the whole way."""
    near = jumps[0]
    public = Path(f"{near.identity}.pub").read_text()
    config, known = "", near.known_hosts.read_text()
    for sshd in (*jumps, box):
        keys = sshd.directory / "etc" / "authorized_keys"
        if public not in keys.read_text():
            keys.write_text(keys.read_text() + public)
        if sshd.known_hosts.read_text() not in known:
            known += sshd.known_hosts.read_text()
    for jump in jumps:
        config += f"Host {jump.directory.name}\n  HostName 127.0.0.1\n  Port {jump.port}\n"
    near.known_hosts.write_text(known)
    near.config.write_text(config)
    access = replace(near.ssh_access, port=box.port)
    return Instance(name, replace(access, jump=",".join(jump.directory.name for jump in jumps)))


async def all_live(heard, names: set[str], start: int) -> int:  # type: ignore[no-untyped-def]
    """The number of the event with which every one of them is live again."""
    at = start
    left = set(names)
    while left:
        at = await heard.after(at, live) + 1
        event = heard.events[at - 1]
        assert isinstance(event, LinkChanged)
        left.discard(event.instance)
    return at


@pytest.mark.nightly
async def test_all_come_and_come_back_through_one_jump_connection_each_time(
    make_box: MakeBox,
) -> None:
    jump = make_box("jump", extra="MaxStartups 10:30:100\n")
    boxes = [make_box(f"box{n}") for n in range(4)]
    instances = [behind(boxes[n % 4], [jump], f"i{n}") for n in range(MANY)]
    names = {instance.name for instance in instances}
    async with watched(*instances) as (_, heard):
        at = await all_live(heard, names, 0)
        assert not [event for event in heard.events if lost(event)]
        assert logins(jump) == 1
        jump.kill_sessions()
        await all_live(heard, names, at)
        gone = [e.link for e in heard.events if isinstance(e, LinkChanged) and lost(e)]
        assert {link.hop for link in gone} == {"jump"}
        assert len(gone) == MANY
        assert logins(jump) == 2


async def test_a_jump_host_that_is_off_is_tried_by_one_for_all(make_box: MakeBox) -> None:
    jump, box = make_box("jump"), make_box("box")
    instances = [behind(box, [jump], f"i{n}") for n in range(8)]
    names = {instance.name for instance in instances}
    async with watched(*instances) as (_, heard):
        at = await all_live(heard, names, 0)
        jump.stop()
        refused: Callable[[Event], bool] = lambda e: (  # noqa: E731
            isinstance(e, LinkChanged) and e.link.state == "refused"
        )
        at = await heard.after(at, refused)
        # The scout alone has tried; the others wait for what it finds.
        assert sum(refused(event) for event in heard.events) == 1
        jump.start()
        behind(box, [jump], "again")  # a start writes its known_hosts anew
        await all_live(heard, names, at)
        assert logins(jump) == 2


async def test_the_hop_that_went_is_named_in_a_chain_of_two(make_box: MakeBox) -> None:
    near, far, box = make_box("near"), make_box("far"), make_box("box")
    instance = behind(box, [near, far], "i")
    transport = SshTransport()
    for went in (far, near):
        connection = await transport.connect(instance)
        went.kill_sessions()
        async with asyncio.timeout(60):
            error = await connection.wait_closed()
        assert error is not None
        assert error.hop == went.directory.name
        await connection.close()
    await transport.close()
