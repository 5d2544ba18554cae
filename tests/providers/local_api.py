"""Real HTTP on loopback for one test: a platform's server is a subclass that answers requests."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

JSON = "application/json"


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Said:
    """One answer. `body` None sends none; `status` None never answers, 0 hangs up."""

    status: int | None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class LocalApi:
    """Serves on a free port for the length of an `async with` block.

    `next` holds answers that are given before the truth; `requests` is what came.
    """

    def __init__(self, key: str = "test-key") -> None:
        self.key = key
        self.requests: list[Asked] = []
        self.next: list[Said] = []
        self._server: asyncio.Server | None = None
        self.url = ""

    def answer(self, asked: Asked) -> Said:
        """What this platform says."""
        raise NotImplementedError

    def lines(self, *methods: str) -> list[str]:
        """The requests with one of these methods, as METHOD PATH."""
        return [one.line for one in self.requests if one.method in methods]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
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
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            url = urlsplit(target)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            asked = Asked(method, url.path, query, headers, json.loads(raw) if raw else None)
            self.requests.append(asked)
            said = self.next.pop(0) if self.next else self.answer(asked)
            if said.status is None:
                await reader.read()  # until the client gives up
                return
            if said.status == 0:
                return
            data = b"" if said.body is None else json.dumps(said.body).encode()
            extra = "".join(f"{name}: {value}\r\n" for name, value in said.headers.items())
            writer.write(
                f"HTTP/1.1 {said.status} X\r\n{extra}Content-Type: {JSON}\r\n"
                f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode()
                + data
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
