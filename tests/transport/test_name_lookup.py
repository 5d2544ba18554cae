"""Names are looked up beside everything else, and a name server that is silent is named."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import names as names_module
from gpu_tui.transport import ssh
from gpu_tui.transport.base import LinkError, NameUnknown
from gpu_tui.transport.names import Names, connected
from gpu_tui.transport.ssh import SshTransport

SILENT = "a-name.invalid"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The questions to a name server that answers none of them before the test is over."""
    real, over, heard = socket.getaddrinfo, threading.Event(), list[str]()

    def look_up(host: str | bytes, *args: object, **kinds: object) -> object:
        if "invalid" not in (name := os.fsdecode(host)):
            return real(host, *args, **kinds)  # type: ignore[arg-type]
        heard.append(name)
        over.wait(100)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield heard
    over.set()


async def test_names_that_hang_hold_up_nothing_else(asked: list[str], box: Sshd) -> None:
    names = Names()
    hanging = [asyncio.create_task(names.look_up(f"{n}.invalid", 22, 0)) for n in range(40)]
    transport = SshTransport()
    async with asyncio.timeout(60):
        connection = await transport.connect(box.instance())
    await connection.close()
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_a_name_server_that_is_silent_is_named_and_asked_once(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "HOST_SECONDS", 0.2)
    transport = SshTransport()
    for _ in range(3):
        with pytest.raises(NameUnknown, match="no name server answers"):
            await transport.connect(Instance("x", SshAccess(SILENT)))
    assert asked == [SILENT]


def test_a_plain_name_is_asked_for_without_the_tables_of_unicode() -> None:
    ask = """
import asyncio, sys
from gpu_tui.transport.names import Names
assert asyncio.run(Names().look_up("localhost", 22, 0))
print("encodings.idna" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


async def test_the_next_address_is_tried_and_all_that_failed_are_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as here:
        port = here.getsockname()[1]
        closed = (socket.AF_INET, ("127.0.0.2", port))
        unknown = (socket.AF_APPLETALK, ("::1", port))  # as IPv6 is to a kernel without it
        with await connected([unknown, closed, (socket.AF_INET, ("127.0.0.1", port))]) as made:
            assert made.getpeername()[0] == "127.0.0.1"
        with pytest.raises(OSError, match=r"Errno 111.*127\.0\.0\.2.*; .*Errno 111"):
            await connected([closed, closed])


async def test_an_address_that_is_silent_does_not_keep_the_next_from_being_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names_module, "ADDRESS_SECONDS", 0.5)
    with socket.socket() as full, contextlib.ExitStack() as held:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        silent = (socket.AF_INET, full.getsockname())
        for _ in range(3):  # whoever comes after them hears nothing
            guest = held.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(silent[1])
        server = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        async with asyncio.timeout(60):
            made = await connected([silent, (socket.AF_INET, server.getsockname())])
        with made:
            assert made.getpeername() == server.getsockname()
        closed = (socket.AF_INET, ("127.0.0.2", server.getsockname()[1]))
        with pytest.raises(OSError, match=r"Errno 110.*; .*Errno 111"):
            await connected([silent, closed])


async def test_a_socket_that_nobody_took_is_closed(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[socket.socket] = []

    async def connect(*_: object, sock: socket.socket, **options: object) -> None:
        made.append(sock)
        raise OSError("before the first byte")

    monkeypatch.setattr(ssh.asyncssh, "connect", connect)
    with pytest.raises(LinkError, match="before the first byte"):
        await SshTransport().connect(box.instance())
    assert made[0].fileno() == -1
