"""Real HTTP on loopback, one request per connection: what the tests' servers are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Request:
    """One request as it came over the wire; names of headers in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """`status` None never answers, 0 hangs up."""

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class HttpServer:
    """Serves on a free port for the length of an `async with` block."""

    port = 0
    _server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, request: Request) -> Reply:
        """What this server says."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ", 2)
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            said = self.reply(Request(method, target, headers, body))
            if said.status is None:
                await reader.read()  # until the client gives up
                return
            if said.status == 0:
                return
            extra = "".join(f"{name}: {value}\r\n" for name, value in said.headers.items())
            writer.write(
                f"HTTP/1.1 {said.status} X\r\n{extra}Content-Type: application/json\r\n"
                f"Content-Length: {len(said.body)}\r\nConnection: close\r\n\r\n".encode()
                + said.body
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
