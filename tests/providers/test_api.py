"""The one caller of control APIs: what it refuses to take."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from gpu_tui.providers.api import BODY_CAP, Api, Reply, checked_base_url
from gpu_tui.providers.base import NoAnswer, ProviderError

ENV = {"KEY": "k"}


async def answer(head: str, body: bytes) -> Reply:
    """What `Api.send` makes of one raw answer of a local server."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{head}Connection: close\r\n\r\n".encode() + body)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        return await Api(f"http://127.0.0.1:{port}", "KEY").send(ENV, "GET", "/x")


async def test_a_plain_answer_is_taken() -> None:
    assert await answer("", b"{}") == Reply(200, b"{}")


async def test_a_packed_answer_is_never_unpacked() -> None:
    bomb = gzip.compress(gzip.compress(b"0" * 50_000_000))
    with pytest.raises(NoAnswer, match="packed"):
        await answer("Content-Encoding: gzip, gzip\r\n", bomb)


async def test_an_endless_answer_is_cut() -> None:
    with pytest.raises(NoAnswer, match="too long"):
        await answer("", b"0" * (BODY_CAP + 1))


@pytest.mark.parametrize(
    "url", ["http://example.org", "https://user:pw@example.org", "https://", "ftp://127.0.0.1"]
)
def test_a_key_never_leaves_in_clear(url: str) -> None:
    with pytest.raises(ProviderError):
        checked_base_url(url)
