"""A webhook: one POST per message, https (or loopback) only, no redirects, and a URL that is nowhere shown.

The URL of a webhook is its password, and so is what its messages are signed with: errors name the host at most. A message has one id however often it is
sent, in the header `Idempotency-Key`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from gpu_tui import __version__
from gpu_tui.alerts.channel import Undelivered, Unusable
from gpu_tui.alerts.message import Message
from gpu_tui.alerts.receivers import UNSURE, receiver_for, refused
from gpu_tui.core.loopback import is_loopback
from gpu_tui.core.plain import plain
from gpu_tui.web import ProxyUnusable, asked_wait, client_for, reason

if TYPE_CHECKING:
    import httpx

TOTAL_LIMIT = 15.0  # seconds
ANSWER_CAP = 16_384  # bytes
LONGEST_WAIT = 3_600.0  # seconds that a receiver may ask for
SECRET = 8  # characters: a shorter piece of a URL is a word of it, like send or hook
UNSIGNED = (
    "; if this robot wants signatures, name the variable of its secret: alerts.webhook.secret_env"
)
PASSING = frozenset({408, 425, 429})  # and every 5xx: a later attempt may succeed
# Status codes that refuse any message: the address is wrong, revoked or closed. Redirects count as well.
SHUT = frozenset({401, 403, 404, 405, 407, 410})
NEXT = "Check that the webhook still exists and that its URL is right. Then: gpu-tui check --test-alert"


class WebhookRefused(Exception):
    """The URL cannot be used. `next` is what to do."""

    def __init__(self, text: str, *, next: str) -> None:
        super().__init__(text)
        self.next = next


class WebhookChannel:
    """Posts to `url` in the shape of `receiver` (a name of the table; None = by the host), signed with `secret`."""

    name = "webhook"

    def __init__(
        self,
        url: str,
        receiver: str | None = None,
        *,
        now: Callable[[], float],
        secret: str | None = None,
        limit: float = TOTAL_LIMIT,
    ) -> None:
        self._url = _checked(url)
        self._host = urlsplit(self._url).hostname or ""
        self._receiver = receiver_for(self._host, receiver)
        self._now = now
        self._secret = secret
        self._limit = limit
        if secret is not None and self._receiver.sign is None:
            raise WebhookRefused(
                "alerts.webhook.secret_env is set, and this receiver takes no signature",
                next="Remove secret_env, or name the receiver: feishu or dingtalk.",
            )

    def ready(self) -> None:
        """Return without a check: only an attempt shows whether a message arrives."""

    async def send(self, message: Message) -> None:
        """Post it once."""
        where = f"the webhook at {plain(self._host, 80)}"
        body, headers = self._receiver.build(message)
        url, sign = self._url, self._receiver.sign
        if self._secret is not None and sign is not None:
            url, body = sign(url, body, self._secret, self._now())
        try:
            client = await client_for(self._url, self._limit)
        except ProxyUnusable as error:
            raise Undelivered(f"{where} cannot be reached ({error})") from None
        except OSError as error:  # no certificates here
            raise Undelivered(f"{where} cannot be reached ({type(error).__name__})") from None
        import httpx  # loaded by now

        try:
            async with asyncio.timeout(self._limit), client:
                status, answer, after = await self._post(
                    client, url, body, {**headers, **_own(message)}
                )
        except TimeoutError:
            raise Undelivered(f"{where} did not answer in {self._limit:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            # The text of the error may quote the URL.
            raise Undelivered(f"{where} cannot be reached ({reason(error, self._url)})") from None
        if status in PASSING or status >= 500:
            raise Undelivered(f"{where} answered {status}", after=after)
        if not 200 <= status < 300:
            moved = " (redirects are not followed)" if 300 <= status < 400 else ""
            text = f"{where} refused it with {status}{moved}"
            if moved or status in SHUT:
                raise Unusable(text, next=NEXT)
            raise Undelivered(text, retry=False)
        for piece in (self._secret, *secret_pieces(self._url)):  # it may repeat what it was sent
            answer = answer.replace(piece.encode(), b"***") if piece else answer
        if (refusal := refused(self._receiver, answer)) is not None:
            why, passing = refusal
            unsigned = sign is not None and self._secret is None and "sign" in why
            text = f"{where} {why}{UNSIGNED if unsigned else ''}"
            if not passing and not why.startswith(UNSURE):
                raise Unusable(text, next=NEXT)
            raise Undelivered(text, retry=passing)

    async def _post(
        self, client: httpx.AsyncClient, url: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, float | None]:
        async with client.stream("POST", url, content=body, headers=headers) as response:
            answer = b""
            if not self._receiver.refusals:
                return response.status_code, answer, _retry_after(response.headers)
            async for part in response.aiter_raw():
                answer += part
                if len(answer) >= ANSWER_CAP:
                    break
            return response.status_code, answer[:ANSWER_CAP], _retry_after(response.headers)


def secret_pieces(url: str) -> Iterable[str]:
    """The parts of a webhook's URL that may be its password, as they stand there and as they are meant."""
    parts = urlsplit(url)
    said = [value or name for name, _, value in (p.partition("=") for p in parts.query.split("&"))]
    for piece in (*parts.path.split("/"), *said):
        yield from (said for said in {piece, unquote(piece)} if len(said) >= SECRET)


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
