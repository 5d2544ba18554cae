"""The client for requests to one address of the web: https or loopback, no redirects, the machine's own trust.

Of the proxies that the environment names only the one that such a request takes is looked at, as curl does.
httpx itself builds them all, and fails altogether where one of them is SOCKS: `ALL_PROXY` often is.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gpu_tui.core.loopback import is_loopback

if TYPE_CHECKING:
    import ssl

    import httpx

CONNECT_LIMIT = 5.0  # seconds
STILL = "still"  # a request's extension: what is called right before the request is written
WRITES = (
    ".send_request_headers.started"  # httpcore's word for that moment, with every version of HTTP
)


NO_PROXY = (
    "the proxy that this environment names is none for us: only http:// and https:// ones are,"
    " set HTTPS_PROXY"
)
NO_SOCKS = (
    "the proxy that this environment names is a SOCKS one: install socksio beside gpu-tui,"
    " or set HTTPS_PROXY to an http:// one"
)


AT_PROXY = (
    "ConnectError",
    "ConnectTimeout",
    "ProxyError",
)  # which the far end cannot be blamed for


class ProxyUnusable(Exception):
    """The proxy that the environment names for this address is none that we can speak to."""

    def __init__(self, text: str = NO_PROXY) -> None:
        super().__init__(text)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After, whether it counts them or names a date; None where it says neither.

    A date is measured from the answer's own: the server's clock need not be ours. `headers` ignore case (RFC 9110, 10.2.3).
    """
    said = headers.get("Retry-After", "")
    try:
        seconds = float(said)
    except ValueError:
        from email.utils import parsedate_to_datetime  # few answers name a date

        try:
            end, sent = (parsedate_to_datetime(text) for text in (said, headers.get("Date", "")))
            seconds = (end - sent).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


async def client_for(url: str, limit: float) -> httpx.AsyncClient:
    """A client for `url`, with `limit` seconds for each step. Raises ProxyUnusable, OSError without certificates."""
    # Loaded with the first request: most people make none, and it brings much along.
    await asyncio.to_thread(import_module, "httpx")
    import httpx

    clear, proxy = urlsplit(url).scheme == "http", proxy_for(url)
    trusted = None if clear else await asyncio.to_thread(_certificates)
    shown = proxy is not None and proxy.lower().startswith("https:")  # it has a certificate, too
    try:
        return httpx.AsyncClient(
            timeout=httpx.Timeout(limit, connect=CONNECT_LIMIT),
            follow_redirects=False,
            verify=trusted or False,
            trust_env=False,
            proxy=None
            if proxy is None
            else httpx.Proxy(proxy, ssl_context=trusted if shown else None),
            event_hooks={"request": [_follow]},
        )
    except ImportError:  # httpx speaks SOCKS with that package alone
        raise ProxyUnusable(NO_SOCKS) from None
    except (ValueError, httpx.InvalidURL):  # its text may quote a password
        raise ProxyUnusable from None


class _Steps:
    """How far a request came, in httpcore's words: `connection` is with the first machine, a proxy if there is one.

    `still` is called when the connection is there and the request is about to be written; what it raises
    leaves by the request, and nothing was sent.
    """

    def __init__(self, still: Callable[[], None] | None) -> None:
        self.last = ""
        self._still = still

    async def __call__(self, step: str, _about: object) -> None:
        self.last = step
        if self._still is not None and step.endswith(WRITES):
            self._still()


async def _follow(request: httpx.Request) -> None:
    request.extensions["trace"] = _Steps(request.extensions.get(STILL))


def proxy_for(url: str) -> str | None:
    """The proxy of the URL's scheme, else the one for all; none to this machine, and where $NO_PROXY says so."""
    from urllib.request import (  # type: ignore[attr-defined]  # as httpx
        getproxies,
        proxy_bypass_environment,
    )

    parts = urlsplit(url)
    named = getproxies()
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass_environment(parts.netloc.rpartition("@")[2], named):
        return None
    proxy = named.get(parts.scheme) or named.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def reason(error: BaseException, url: str) -> str:
    """Why no answer came from `url`, in words that name a host at most: the rest of a webhook's is its password."""
    request = getattr(error, "_request", None)
    steps = request.extensions.get("trace") if request is not None else None
    at_proxy = proxy_for(url) is not None and not getattr(steps, "last", "").startswith("proxy.")
    import ssl  # loaded by now

    at: BaseException | None = error
    while at is not None:
        if isinstance(at, ssl.SSLCertVerificationError):
            said = at.verify_message
            if at_proxy:
                return f"the proxy's certificate is not trusted here: {said}"
            return f"its certificate is not trusted here: {said}"
        if isinstance(at, socket.gaierror):
            return (
                "the proxy's name is not known here" if at_proxy else "its name is not known here"
            )
        at = at.__cause__ or at.__context__
    kind = type(error).__name__
    return f"the proxy: {kind}" if at_proxy and kind in AT_PROXY else kind


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust; read once, for it takes a while. A company's own authority stands in the machine's store only."""
    import httpx

    context = httpx.create_ssl_context()  # what SSL_CERT_FILE or SSL_CERT_DIR names, else certifi's
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_default_certs()
    return context
