"""A webhook: one POST per message, https (or loopback) only, no redirects, and a URL that is nowhere shown.

The URL of a webhook is its password: errors name the host at most. A message has one id however often it is
sent, in the header `Idempotency-Key`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from gpu_tui import __version__
from gpu_tui.alerts.channel import Undelivered
from gpu_tui.alerts.message import Message
from gpu_tui.alerts.receivers import receiver_for, refused
from gpu_tui.core.loopback import is_loopback
from gpu_tui.core.plain import plain
from gpu_tui.web import ProxyUnusable, asked_wait, client_for, reason

if TYPE_CHECKING:
    import httpx

TOTAL_LIMIT = 15.0  # seconds
ANSWER_CAP = 16_384  # bytes
LONGEST_WAIT = 3_600.0  # seconds that a receiver may ask for
SECRET = 8  # characters: a shorter piece of a URL is a word of it, like send or hook
PASSING = frozenset({408, 425, 429})  # and every 5xx: a later attempt may succeed


class WebhookRefused(Exception):
    """The URL cannot be used. `next` is what to do."""

    def __init__(self, text: str, *, next: str) -> None:
        super().__init__(text)
        self.next = next


class WebhookChannel:
    """Posts to `url` in the shape of `receiver` (a name of the table; None = by the host)."""

    name = "webhook"

    def __init__(
        self, url: str, receiver: str | None = None, *, limit: float = TOTAL_LIMIT
    ) -> None:
        self._url = _checked(url)
        self._host = urlsplit(self._url).hostname or ""
        self._receiver = receiver_for(self._host, receiver)
        self._limit = limit

    async def send(self, message: Message) -> None:
        """Post it once."""
        where = f"the webhook at {plain(self._host, 80)}"
        body, headers = self._receiver.build(message)
        try:
            client = await client_for(self._url, self._limit)
        except ProxyUnusable as error:
            raise Undelivered(f"{where} cannot be reached ({error})") from None
        except OSError as error:  # no certificates here
            raise Undelivered(f"{where} cannot be reached ({type(error).__name__})") from None
        import httpx  # loaded by now

        try:
            async with asyncio.timeout(self._limit), client:
                status, answer, after = await self._post(client, body, {**headers, **_own(message)})
        except TimeoutError:
            raise Undelivered(f"{where} did not answer in {self._limit:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            # The text of the error may quote the URL.
            raise Undelivered(f"{where} cannot be reached ({reason(error, self._url)})") from None
        if status in PASSING or status >= 500:
            raise Undelivered(f"{where} answered {status}", after=after)
        if not 200 <= status < 300:
            moved = " (redirects are not followed)" if 300 <= status < 400 else ""
            raise Undelivered(f"{where} refused it with {status}{moved}", retry=False)
        if (refusal := refused(self._receiver, self._without_url(answer))) is not None:
            why, passing = refusal
            raise Undelivered(f"{where} {why}", retry=passing)

    def _without_url(self, answer: bytes) -> bytes:
        """What the receiver said, without the secret parts of the URL, which it may repeat."""
        parts = urlsplit(self._url)
        for piece in re.split(r"[/?&=]", f"{parts.path}?{parts.query}"):
            for secret in (piece, unquote(piece)):
                if len(secret) >= SECRET:
                    answer = answer.replace(secret.encode(), b"***")
        return answer

    async def _post(
        self, client: httpx.AsyncClient, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, float | None]:
        async with client.stream("POST", self._url, content=body, headers=headers) as response:
            answer = b""
            if not self._receiver.refusals:
                return response.status_code, answer, _retry_after(response.headers)
            async for part in response.aiter_raw():
                answer += part
                if len(answer) >= ANSWER_CAP:
                    break
            return response.status_code, answer[:ANSWER_CAP], _retry_after(response.headers)


def _own(message: Message) -> dict[str, str]:
    return {
        "User-Agent": f"gpu-tui/{__version__}",
        "Idempotency-Key": message.id,
        "Accept-Encoding": "identity",
    }


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After; no receiver silences us for long."""
    seconds = asked_wait(headers)
    return None if seconds is None else min(seconds, LONGEST_WAIT)


def _checked(url: str) -> str:
    hint = "Write https://HOST/PATH as the receiving service shows it."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise WebhookRefused("the webhook's URL is none", next=hint) from None
    if not host or not url.isascii() or not url.isprintable() or " " in url:
        raise WebhookRefused("the webhook's URL is none", next=hint)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise WebhookRefused("the webhook's URL is not https", next=hint)
    return url
