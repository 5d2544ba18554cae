"""A tiny HTTP server on loopback for Prometheus: GET /metrics, and nothing else.

It answers loopback names only: a web page that makes a browser resolve its own name to 127.0.0.1 reads
nothing here. There is no password, so it never listens anywhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from gpu_tui.core.loopback import is_loopback
from gpu_tui.core.plain import plain

REQUEST_CAP = 8_192
REQUEST_SECONDS = 5.0  # from the accepted connection to the end of the answer
MOST_AT_ONCE = 64  # open connections; one more closes the oldest
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HELLO = b"gpu-tui exporter: see /metrics\n"


class NotLoopback(Exception):
    """The address to listen on is not one of this machine alone."""

    next = "Listen on 127.0.0.1, and let Prometheus in through ssh -L or a proxy that asks for a password."


class PortTaken(Exception):
    """The port cannot be had."""

    next = "Name another one: gpu-tui exporter --listen 127.0.0.1:PORT (0 picks a free one)"


def address_of(text: str) -> tuple[str, int]:
    """`HOST:PORT` of a loopback address, `[::1]:9841` too. NotLoopback, or ValueError where it is none."""
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ValueError(f"{plain(text, 60)!r} is not HOST:PORT")
    if not is_loopback(host):
        raise NotLoopback(
            f"{plain(host, 60)!r} can be reached by others, and metrics have no password"
        )
    return host, int(port)


@asynccontextmanager
async def serving(render: Callable[[], str], host: str, port: int) -> AsyncIterator[str]:
    """Answer scrapes with what `render` gives, for as long as the block lasts; yields the address.

    A client that sends half a request delays no other: no request waits for another, each connection has its own
    time limit, and of too many the oldest is closed. Raises PortTaken.
    """
    connections: dict[asyncio.StreamWriter, None] = {}  # in the order in which they were accepted

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections[writer] = None
        if len(connections) > MOST_AT_ONCE:
            oldest = next(iter(connections))
            del connections[oldest]
            oldest.transport.abort()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_reply(head, render))
                    await writer.drain()
        except (TimeoutError, ConnectionError):
            pass
        finally:
            connections.pop(writer, None)
            writer.close()

    try:
        server = await asyncio.start_server(answer, host, port, limit=REQUEST_CAP)
    except OSError as error:
        raise PortTaken(f"{host}:{port} cannot be listened on: {error.strerror}") from None
    async with server:
        name, number = server.sockets[0].getsockname()[:2]
        yield f"http://[{name}]:{number}" if ":" in name else f"http://{name}:{number}"


def _reply(head: bytes, render: Callable[[], str]) -> bytes:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    hosts = [
        line.partition(":")[2].strip() for line in lines[1:] if line.lower().startswith("host:")
    ]
    if len(words) != 3 or len(hosts) != 1:
        return _response(400, "Bad Request", b"not a request\n")
    if not is_loopback(_without_port(hosts[0])):
        return _response(403, "Forbidden", b"only loopback names are answered\n")
    if words[0] not in ("GET", "HEAD"):
        return _response(405, "Method Not Allowed", b"only GET\n", "Allow: GET, HEAD\r\n")
    path = words[1].partition("?")[0]
    if path not in ("/", "/metrics"):
        return _response(404, "Not Found", HELLO)
    body = render().encode() if path == "/metrics" else HELLO
    kind = METRICS_TYPE if path == "/metrics" else "text/plain; charset=utf-8"
    return _response(200, "OK", body, kind=kind, silent=words[0] == "HEAD")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _response(
    status: int,
    word: str,
    body: bytes,
    more: str = "",
    *,
    kind: str = "text/plain; charset=utf-8",
    silent: bool = False,
) -> bytes:
    head = (
        f"HTTP/1.1 {status} {word}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"X-Content-Type-Options: nosniff\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode("ascii") + (b"" if silent else body)
