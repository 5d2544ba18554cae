"""A bad line between us and a box: a TCP relay that is slow, far, silent, reset or flapping on demand.

No root and no kernel module: bytes wait in this process for as long as they would be on their way.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import Self

from boxes import Sshd

from gpu_tui.core.fleet import Instance

MOUTHFUL = 2048
BUFFER = 32_768  # bytes that a router on the way would hold


class Wire:
    """Relays to one port. `delay` is one way in seconds, `rate` in bytes per second and direction."""

    def __init__(self, target: int, *, delay: float = 0.0, rate: float | None = None) -> None:
        self.target = target
        self.delay = delay
        self.rate = rate
        self.port = 0
        self.accepted: list[float] = []  # loop time of each connection
        self.arrived = asyncio.Event()  # set with each connection
        self._open = asyncio.Event()
        self._open.set()
        self._left: float = float("inf")  # bytes that still pass towards the target
        self._more = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def listen(self) -> None:
        """Answer, on the port of the last time if there was one."""
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def hold(self) -> None:
        """A black hole: nothing passes, and nobody is told."""
        self._open.clear()

    def release(self) -> None:
        """The line is back; what was sent meanwhile is on its way."""
        self._open.set()

    def allow(self, count: float) -> None:
        """So many bytes more pass towards the target, and what comes behind them waits."""
        self._left = count
        self._more.set()

    def reset(self) -> None:
        """Every connection ends with a real RST, on both sides."""
        for writer in list(self._writers):
            peer = writer.get_extra_info("socket")
            if peer is not None:
                with suppress(OSError):  # it has just ended by itself
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async def refuse(self) -> None:
        """The port is closed, and what was open is reset."""
        if self._server is not None:
            self._server.close()
            self.reset()
            await self._server.wait_closed()
            self._server = None

    async def _relay(self, near: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.accepted.append(asyncio.get_running_loop().time())
        self.arrived.set()
        self._writers.add(answer)
        try:
            far, ask = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            answer.transport.abort()
            self._writers.discard(answer)
            return
        self._writers.add(ask)
        try:
            with suppress(asyncio.CancelledError):  # the wire is taken down
                await asyncio.gather(self._pass(near, ask, up=True), self._pass(far, answer))
        finally:
            for writer in (ask, answer):
                writer.close()
                self._writers.discard(writer)

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, up: bool = False
    ) -> None:
        """One direction: each mouthful leaves when the line is free, and arrives `delay` later."""
        clock = asyncio.get_running_loop().time
        flying: deque[tuple[float, bytes]] = deque()
        moved = asyncio.Event()

        async def arrive() -> None:
            with suppress(OSError):
                while True:
                    while not flying:
                        moved.clear()
                        await moved.wait()
                    due, data = flying[0]
                    await asyncio.sleep(due - clock())
                    await self._open.wait()
                    flying.popleft()
                    moved.set()
                    if not data:
                        break
                    while up and len(data) > self._left:
                        part, data = data[: int(self._left)], data[int(self._left) :]
                        self._left = 0
                        sink.write(part)
                        self._more.clear()
                        await self._more.wait()
                    self._left -= len(data) if up else 0
                    sink.write(data)
                    await sink.drain()
            sink.close()

        arriving = asyncio.create_task(arrive())
        free = clock()
        data = b"."
        try:
            while data:
                try:
                    data = await source.read(MOUTHFUL if self.rate else 65_536)
                except OSError:
                    data = b""
                free = max(free, clock()) + (len(data) / self.rate if self.rate else 0.0)
                flying.append((free + self.delay, data))
                moved.set()
                if self.rate:
                    await asyncio.sleep(free - clock() - BUFFER / self.rate)
                else:
                    await sink.drain()
            await arriving
        except OSError:
            sink.transport.abort()
        finally:
            arriving.cancel()
            await asyncio.gather(arriving, return_exceptions=True)


def behind(box: Sshd, wire: Wire, name: str = "box", **changed: object) -> Instance:
    """The instance that is reached through the wire, with the box's own host key."""
    kind, key = (box.directory / "etc" / "host_key.pub").read_text().split()[:2]
    known = box.known_hosts.read_text()
    line = f"[127.0.0.1]:{wire.port} {kind} {key}\n"
    if line not in known:
        box.known_hosts.write_text(known + line)
    return box.instance(name, ssh=replace(box.ssh_access, port=wire.port), **changed)
