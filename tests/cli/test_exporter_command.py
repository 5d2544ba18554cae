"""The exporter's server, asked by a real HTTP client and by real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from gpu_tui import exporter
from gpu_tui.cli.main import main
from gpu_tui.core.mask import masked
from gpu_tui.core.redact import HIDDEN, redact
from gpu_tui.exporter import (
    MOST_AT_ONCE,
    REQUEST_CAP,
    NotLoopback,
    PortTaken,
    address_of,
    serving,
)
from gpu_tui.state.prometheus import exposition
from screenshots.builders import NOW
from screenshots.scenes import sweep


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with serving(lambda: "gpu_tui_build_info 1\n", "127.0.0.1", 0) as address:
        yield address


async def test_metrics_are_there_and_nothing_else_is(address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        got = await client.get(f"{address}/metrics")
        assert (got.status_code, got.text) == (200, "gpu_tui_build_info 1\n")
        assert got.headers["content-type"].startswith("text/plain; version=0.0.4")
        head = await client.head(f"{address}/metrics?x=1")
        assert (head.status_code, head.content) == (200, b"")
        assert (await client.get(address)).status_code == 200
        assert (await client.get(f"{address}/../etc/passwd")).status_code == 404
        assert (await client.post(f"{address}/metrics")).status_code == 405


async def test_a_name_that_somebody_else_owns_reads_nothing(address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        for host in ("evil.example", "evil.example:9841", "10.0.0.1", "localhost.evil.example"):
            got = await client.get(f"{address}/metrics", headers={"Host": host})
            assert got.status_code == 403
            assert "build_info" not in got.text
        for host in ("localhost", "127.0.0.1:9841", "[::1]:9841"):
            got = await client.get(f"{address}/metrics", headers={"Host": host})
            assert got.status_code == 200


async def test_what_is_no_request_is_refused_and_hurts_nobody(address: str) -> None:
    port = int(address.rpartition(":")[2])
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_AT_ONCE - 1)]
    for words in (
        b"\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"x" * (REQUEST_CAP * 2),
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(words)
        answer = await reader.read()
        assert b"200 OK" not in answer
        writer.close()
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{address}/metrics")).status_code == 200
    for _, writer in silent:
        writer.close()


HALF = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("sent", [b"", b"G", HALF, HALF + b"X: " + b"x" * 4_000])
async def test_half_open_requests_do_not_delay_a_scrape(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(exporter, "REQUEST_SECONDS", 3_600.0)  # no time limit frees a place here
    async with serving(lambda: "gpu_tui_build_info 1\n", "127.0.0.1", 0) as address:
        port = int(address.rpartition(":")[2])
        half = []
        for _ in range(200):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            half.append((reader, writer))
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(3):
                assert (await client.get(f"{address}/metrics", timeout=60)).status_code == 200
        # Of more than there may be the oldest were closed, without an answer.
        async with asyncio.timeout(60):
            for reader, _ in half[: 200 - MOST_AT_ONCE]:
                with suppress(ConnectionError):
                    assert await reader.read() == b""
        for _, writer in half:
            writer.close()


async def test_a_half_open_request_is_closed_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bytes that trickle in extend nothing."""
    monkeypatch.setattr(exporter, "REQUEST_SECONDS", 0.05)
    async with serving(str, "127.0.0.1", 0) as address:
        port = int(address.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ended = asyncio.create_task(reader.read())
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                while not ended.done():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0)
            with suppress(ConnectionError):
                assert await ended == b""
        writer.close()


async def test_a_port_that_is_taken_says_so(address: str) -> None:
    with pytest.raises(PortTaken, match="cannot be listened on"):
        async with serving(str, "127.0.0.1", int(address.rpartition(":")[2])):
            pass


def test_only_addresses_of_this_machine_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert address_of("127.0.0.1:9841") == ("127.0.0.1", 9841)
    assert address_of("[::1]:0") == ("::1", 0)
    for text in ("0.0.0.0:1", "example.com:1", ":1", "[::]:9841"):
        with pytest.raises(NotLoopback):
            address_of(text)
    for text in ("127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"):
        with pytest.raises(ValueError, match="is not HOST:PORT"):
            address_of(text)
    assert main(["exporter", "--listen", "0.0.0.0:9841"]) == 64
    assert "no password" in capsys.readouterr().err


def test_no_label_holds_a_secret() -> None:
    """A cell is named by its box."""
    view = sweep().view(NOW)
    secret = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"

    def named(text: str) -> str:
        return f"{text} {secret}" if text in cells else text

    cells = {cell.name for one in view.instances for cell in one.queue.cells}
    hostile = masked(view, named)
    assert secret in exposition(hostile, "1")
    hidden = exposition(hostile, "1", redact)
    assert secret not in hidden
    assert HIDDEN in hidden
    assert f'instance="{view.instances[0].name}"' in hidden
