"""One call to a control API: https only, time and size capped, no redirects, a key that never leaves
for anywhere else. Whatever goes wrong is a ProviderError with a sentence.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from gpu_tui.core.plain import plain
from gpu_tui.providers.base import BadAnswer, KeyRefused, NoAnswer, ProviderError

CONNECT_LIMIT, TOTAL_LIMIT = 5.0, 30.0  # seconds
BODY_CAP = 1 << 20
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Api:
    """Where an API is and which environment variable holds its key; `scheme` stands before the key."""

    base: str
    key_env: str
    scheme: str = ""
    total_limit: float = TOTAL_LIMIT

    async def send(
        self,
        env: Mapping[str, str],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """One request, sent once: its status and body. NoAnswer where nobody knows what came of it."""
        key = env.get(self.key_env, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise KeyRefused(f"no API key: set ${self.key_env}")
        loopback = _is_loopback(urlsplit(self.base).hostname or "")
        try:
            async with (
                asyncio.timeout(self.total_limit),
                httpx.AsyncClient(
                    timeout=httpx.Timeout(self.total_limit, connect=CONNECT_LIMIT),
                    follow_redirects=False,
                    trust_env=not loopback,
                ) as client,
                client.stream(
                    method,
                    self.base + path,
                    params=dict(query) if query else None,
                    json=dict(body) if body is not None else None,
                    headers={
                        "Authorization": f"{self.scheme} {key}".strip(),
                        "Accept": "application/json",
                        "Accept-Encoding": "identity",
                    },
                ) as response,
            ):
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    raise NoAnswer("the answer is packed although that was refused")
                data = b""
                async for part in response.aiter_raw():
                    data += part
                    if len(data) > BODY_CAP:
                        raise NoAnswer("the answer is far too long")
                return response.status_code, data
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {self.total_limit:.0f} s") from error
        except httpx.HTTPError as error:
            raise NoAnswer(f"no answer ({type(error).__name__})") from error


def checked_id(id: str, what: str) -> str:
    """`id` if it can stand in a path; BadAnswer otherwise."""
    if not ID.fullmatch(id):
        raise BadAnswer(f"provider.id is not {what} id")
    return id


def checked_base_url(url: str) -> str:
    """The base URL without its slash. ProviderError unless it is https, or loopback."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.username or parts.password or parts.query or parts.fragment or not host:
        raise ProviderError("provider.base_url must be just https://HOST")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise ProviderError(
            f"provider.base_url {plain(url, 80)} would send the key in clear: use https"
        )
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
