"""The one caller of control APIs: what it refuses to take."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpu_tui import web
from gpu_tui.providers.api import BODY_CAP, MOST_PIECES, Api, Reply, checked_base_url
from gpu_tui.providers.base import BadAnswer, NoAnswer, ProviderError
from gpu_tui.web import asked_wait, proxy_for, reason

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


CHUNKED = "Transfer-Encoding: chunked\r\n"


async def test_an_answer_in_single_bytes_is_cut_long_before_it_is_a_long_one() -> None:
    with pytest.raises(NoAnswer, match="too long"):
        await answer(CHUNKED, b"1\r\n0\r\n" * 2 * MOST_PIECES)


async def test_the_program_lives_on_while_an_answer_comes_in_small_pieces() -> None:
    turns = 0

    async def screen() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    pieces = MOST_PIECES - 10
    asking = asyncio.create_task(answer(CHUNKED, b"1\r\n0\r\n" * pieces + b"0\r\n\r\n"))
    await asyncio.sleep(0)
    drawing = asyncio.create_task(screen())
    assert (await asking).body == b"0" * pieces
    drawing.cancel()
    assert turns > pieces / 100


@pytest.mark.parametrize(
    "url", ["http://example.org", "https://user:pw@example.org", "https://", "ftp://127.0.0.1"]
)
def test_a_key_never_leaves_in_clear(url: str) -> None:
    with pytest.raises(ProviderError):
        checked_base_url(url)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS with a certificate that nobody vouches for, and the file that it is in."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(made)
        .not_valid_after(made + timedelta(days=36500))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    file.write_bytes(
        key.private_bytes(pem, form, serialization.NoEncryption()) + certificate.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, file


@pytest.mark.parametrize(
    ("scheme", "store", "why"),
    [
        ("https", None, "self-signed certificate"),
        ("HTTPS", None, "self-signed certificate"),
        ("https", "the machine's", None),
        ("https", "SSL_CERT_FILE", None),
    ],
)
async def test_a_key_goes_where_the_machine_trusts_the_certificate_and_nowhere_else(
    stranger: tuple[ssl.SSLContext, Path],
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    store: str | None,
    why: str | None,
) -> None:
    context, file = stranger
    heard = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    if store == "the machine's":  # as an administrator puts a company's authority there
        add = lambda self, *_: self.load_verify_locations(file)  # noqa: E731
        monkeypatch.setattr(ssl.SSLContext, "load_default_certs", add)
    elif store is not None:
        monkeypatch.setenv(store, str(file))
    monkeypatch.setattr(web, "_certificates", web._certificates.__wrapped__)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        base = checked_base_url(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        sent = Api(base, "KEY").send(ENV, "GET", "/x")
        if why is None:
            assert (await sent).body == b"{}"
            return
        with pytest.raises(NoAnswer, match=f"its certificate is not trusted here: {why}"):
            await sent
    assert heard == []


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no proxy yet."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_a_name_that_is_not_known_is_told_and_whose_it_is(no_proxy: pytest.MonkeyPatch) -> None:
    unknown = OSError()
    unknown.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert reason(unknown, "https://api.invalid/x") == "its name is not known here"
    assert reason(OSError(), "https://api.invalid/x") == "OSError"
    no_proxy.setenv("https_proxy", "http://proxy.invalid:1")
    assert reason(unknown, "https://api.invalid/x") == "the proxy's name is not known here"


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_proxy_with_a_certificate_of_its_own_is_not_taken_for_the_api(
    no_proxy: pytest.MonkeyPatch, stranger: tuple[ssl.SSLContext, Path], trusted: bool
) -> None:
    """It is blamed where it is not trusted; where it is, what it says of the way on is its word, not the API's."""
    context, file = stranger

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    no_proxy.delenv("SSL_CERT_FILE", raising=False)
    if trusted:
        no_proxy.setenv("SSL_CERT_FILE", str(file))
    no_proxy.setattr(web, "_certificates", web._certificates.__wrapped__)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        no_proxy.setenv("https_proxy", f"https://user:secret@127.0.0.1:{port}")
        words = (
            "the proxy: ProxyError"
            if trusted
            else "the proxy's certificate is not trusted here: self-signed"
        )
        with pytest.raises(NoAnswer, match=words) as caught:
            await Api("https://api.invalid", "KEY").send(ENV, "GET", "/x")
    assert "secret" not in str(caught.value)


async def test_a_certificate_behind_a_proxy_is_the_apis(
    no_proxy: pytest.MonkeyPatch, stranger: tuple[ssl.SSLContext, Path]
) -> None:
    context, _ = stranger

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with contextlib.suppress(OSError):
            await writer.start_tls(context)
        writer.close()

    no_proxy.setattr(web, "_certificates", web._certificates.__wrapped__)
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        no_proxy.setenv("https_proxy", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(NoAnswer, match=r"\(its certificate is not trusted here: self-signed"):
            await Api("https://api.invalid", "KEY").send(ENV, "GET", "/x")


async def test_a_proxy_that_is_not_there_is_named(no_proxy: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        no_proxy.setenv("https_proxy", f"http://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(NoAnswer, match=r"\(the proxy: ConnectError\)"):
            await Api("https://api.invalid", "KEY").send(ENV, "GET", "/x")


@pytest.mark.parametrize(
    ("proxy", "help"),
    [("socks5h://127.0.0.1:1080", "install socksio"), ("foo://user:secret@host", "HTTPS_PROXY")],
)
async def test_a_proxy_that_cannot_be_used_is_told_and_nothing_is_sent(
    no_proxy: pytest.MonkeyPatch, proxy: str, help: str
) -> None:
    no_proxy.setenv("ALL_PROXY", proxy)
    no_proxy.setitem(sys.modules, "socksio", None)
    with pytest.raises(ProviderError, match=help) as caught:
        await Api("https://api.invalid", "KEY").send(ENV, "GET", "/x")
    assert not isinstance(caught.value, NoAnswer)  # which says that it may have had its effect
    assert "secret" not in str(caught.value)


async def test_beside_a_proxy_for_https_one_of_socks_for_all_does_not_count(
    no_proxy: pytest.MonkeyPatch,
) -> None:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        no_proxy.setenv("https_proxy", f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        no_proxy.setenv("all_proxy", "socks5://127.0.0.1:1080")
        with pytest.raises(NoAnswer):
            await Api("https://api.invalid", "KEY").send(ENV, "GET", "/x")
    assert heard == [b"CONNECT api.invalid:443 HTTP/1.1\r\n"]


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://api.invalid/x", "http://a:1"),
        ("https://api.invalid:8443", "http://a:1"),
        ("https://in.office.invalid", None),
        ("http://127.0.0.1:9", None),
        ("http://[::1]:9", None),
        ("http://api.invalid", "socks5://b:2"),
    ],
)
def test_the_proxy_of_a_url_is_the_one_that_curl_takes(
    no_proxy: pytest.MonkeyPatch, url: str, proxy: str | None
) -> None:
    no_proxy.setenv("HTTPS_PROXY", "a:1")
    no_proxy.setenv("ALL_PROXY", "socks5://b:2")
    no_proxy.setenv("NO_PROXY", "office.invalid,10.0.0.1")
    assert proxy_for(url) == proxy


@pytest.mark.parametrize(
    "body",
    [
        b'{"id": "p-1", "status": "RUNNING", "id": "p-2"}',
        b'{"data": [{"id": "p-1", "status": "RUNNING", "status": "EXITED"}]}',
    ],
)
def test_an_answer_that_says_one_thing_twice_is_none(body: bytes) -> None:
    with pytest.raises(BadAnswer, match="twice"):
        Reply(200, body).json()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "120"}, 120.0),
        (
            {
                "Retry-After": "Mon, 03 Mar 2031 10:02:00 GMT",
                "Date": "Mon, 03 Mar 2031 10:00:30 GMT",
            },
            90.0,
        ),
        (
            {
                "Retry-After": "Mon, 03 Mar 2031 09:00:00 GMT",
                "Date": "Mon, 03 Mar 2031 10:00:00 GMT",
            },
            0.0,
        ),
        ({"Retry-After": "Mon, 03 Mar 2031 10:02:00 GMT"}, None),  # since when?
        ({"Retry-After": "soon", "Date": "Mon, 03 Mar 2031 10:00:00 GMT"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-5"}, 0.0),
        ({}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers) == seconds
