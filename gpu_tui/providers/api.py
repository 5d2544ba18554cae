"""One call to a control API: https only, time and size capped, no redirects, a key that never leaves
for anywhere else. Whatever goes wrong is a ProviderError with a sentence.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gpu_tui.core.loopback import is_loopback
from gpu_tui.core.plain import plain
from gpu_tui.providers.base import BadAnswer, KeyRefused, NoAnswer, ProviderError
from gpu_tui.web import STILL, ProxyUnusable, asked_wait, client_for, reason

TOTAL_LIMIT = 30.0  # seconds
BODY_CAP = 1 << 20
# Of the pieces that an answer comes in: single bytes cost far more time than they say anything.
MOST_PIECES, PIECES_AT_ONCE = 10_000, 50
LONGEST_WAIT = 900.0  # seconds that an API may ask to be left alone
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
RESET = re.compile(r"\b(?:reset|t)=(\d{1,6})\b")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `after` is how many seconds it asks to be left alone."""

    status: int
    body: bytes = b""
    after: float | None = None

    def json(self) -> object:
        """What the body says; BadAnswer where it is no JSON, or says one thing twice."""
        try:
            value: object = (
                json.loads(self.body, object_pairs_hook=_each_once) if self.body else None
            )
        except (ValueError, RecursionError) as error:
            raise BadAnswer(f"the answer is not JSON ({self.status})") from error
        return value


@dataclass(frozen=True, slots=True)
class Api:
    """Where an API is and which environment variable holds its key.

    `header` carries the key, with `scheme` before it; `total_limit` is seconds for a whole request.
    """

    base: str
    key_env: str
    scheme: str = ""
    total_limit: float = TOTAL_LIMIT
    header: str = "Authorization"

    async def send(
        self,
        env: Mapping[str, str],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        still: Callable[[], None] = lambda: None,
    ) -> Reply:
        """One request, sent once. NoAnswer where nobody knows what came of it. `still` may raise right before
        the request is written, once there is a connection: making one can take seconds.
        """
        key = env.get(self.key_env, "").strip()
        if not key:
            raise KeyRefused(f"no API key: set ${self.key_env}")
        if not key.isascii() or not key.isprintable():
            raise KeyRefused(f"${self.key_env} holds a sign that no API key has: copy it again")
        try:
            client = await client_for(self.base, self.total_limit)
        except ProxyUnusable as error:
            raise ProviderError(str(error)) from None
        except OSError as error:  # no certificates here
            raise NoAnswer(f"no answer ({type(error).__name__})") from error
        import httpx  # loaded by now

        try:
            async with (
                asyncio.timeout(self.total_limit),
                client,
                client.stream(
                    method,
                    self.base + path,
                    params=dict(query) if query else None,
                    json=dict(body) if body is not None else None,
                    headers={
                        self.header: f"{self.scheme} {key}".strip(),
                        "Accept": "application/json",
                        "Accept-Encoding": "identity",
                    },
                    extensions={STILL: still},
                ) as response,
            ):
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    raise NoAnswer("the answer is packed although that was refused")
                pieces: list[bytes] = []
                size = 0
                async for piece in response.aiter_raw():
                    pieces.append(piece)
                    size += len(piece)
                    if size > BODY_CAP or len(pieces) > MOST_PIECES:
                        raise NoAnswer("the answer is far too long")
                    if len(pieces) % PIECES_AT_ONCE == 0:
                        await asyncio.sleep(0)  # what came at once is read without a pause
                # An API that repeats the key in its complaint must not put it into a journal.
                return Reply(
                    response.status_code,
                    b"".join(pieces).replace(key.encode(), b"***"),
                    _after(response.headers),
                )
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {self.total_limit:.0f} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise NoAnswer(f"no answer ({reason(error, self.base)})") from error


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose names all differ: of two values for one name, readers disagree which counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadAnswer("the answer names one thing twice")
    return found


def _after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the API asks to be left alone: Retry-After, or the reset of its rate limit."""
    if (wait := asked_wait(headers)) is not None:
        return min(wait, LONGEST_WAIT)
    limit = RESET.search(headers.get("ratelimit", ""))
    for said in (headers.get("ratelimit-reset"), limit and limit[1]):
        if said and said.isascii() and said.isdigit():
            return min(float(said), LONGEST_WAIT)
    return None


def checked_id(id: str, what: str) -> str:
    """`id` if it can stand in a path; BadAnswer otherwise."""
    if not ID.fullmatch(id):
        raise BadAnswer(f"provider.id is not {what} id")
    return id


def checked_base_url(url: str) -> str:
    """The base URL without its slash. ProviderError unless it is https, or loopback."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ProviderError("provider.base_url is not a web address") from None
    if parts.username or parts.password or parts.query or parts.fragment or not host:
        raise ProviderError("provider.base_url must be just https://HOST")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ProviderError(
            f"provider.base_url {plain(url, 80)} would send the key in clear: use https"
        )
    return url.rstrip("/")


def is_local(url: str | None) -> bool:
    """True for a URL whose host is this machine."""
    return url is not None and is_loopback(urlsplit(url).hostname or "")
