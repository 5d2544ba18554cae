"""What the file of a platform with an HTTPS API says of it, and what all of them share.

A platform says how one instance is shown, how the whole account is listed, what the balance is, and
which call carries out which verb. The rest (keys, waiting, what an answer proves) is the same for all
and stands here, in `rented` (one instance) and in `ledger` (one account).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from gpu_tui.core.account import Listed, Stored
from gpu_tui.core.fleet import Instance, Money, ProviderAccess
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Verb
from gpu_tui.providers.api import TOTAL_LIMIT, Api, Reply, checked_base_url, checked_id
from gpu_tui.providers.base import (
    NOT_KNOWN,
    Answer,
    AnswerKind,
    BadAnswer,
    KeyRefused,
    Means,
    NoAnswer,
    ProviderError,
    Refused,
    TooManyRequests,
)
from gpu_tui.providers.fields import Row, id_of

if TYPE_CHECKING:
    from gpu_tui.core.gate import StopPermit

READ_TRIES = 3  # of one question that changes nothing and is answered "too many"
OFF_PAUSE, OFF_LIMIT = (
    5.0,
    180.0,
)  # seconds between two looks at one that shuts down, and of waiting for it
FIRST_WAIT, MOST_WAIT = 2.0, 10.0  # seconds between them; a longer wait is the watcher's
# Said by who stood between: the API had the request, or had it not. A status from 500 on says no more.
UNFINISHED = frozenset({408, 460, 499})


@dataclass(frozen=True, slots=True)
class Call:
    """The one call that carries out a verb. `{id}` in path and body is the instance.

    `accepted` are the statuses of a success; what it is worth only a later read tells. `keeps`: nothing
    of the instance is lost by it, and it can be undone. `off_by` is the verb, one that keeps, by which the
    instance is switched off first, where the platform destroys only what is off.
    """

    method: str
    path: str
    body: Mapping[str, object] | None = None
    accepted: frozenset[int] = frozenset({200})
    keeps: bool = False
    off_by: str | None = None


@dataclass(frozen=True, slots=True)
class Funds:
    """The balance, what the provider says is spent per hour, the balance at which it warns."""

    balance: Money | None = None
    spend: Money | None = None
    low: Money | None = None
    remark: str | None = None
    why: Mapping[str, str] = field(default_factory=dict)


class _StateTooOld(Exception):
    """Too long ago the API said that the instance is off: nothing was sent."""


class Platform(ABC):
    """One platform's API, as one key sees it. The key is read from the environment for each request."""

    id: ClassVar[str]
    base_url: ClassVar[str]
    key_env: ClassVar[str]
    header: ClassVar[str] = "Authorization"
    scheme: ClassVar[str] = "Bearer"
    calls: ClassVar[Mapping[str, Call]]
    lists_all: ClassVar[bool] = True  # the list holds every instance that the balance pays for
    paged: ClassVar[bool] = False  # the list comes in several answers, one after another
    spacing: ClassVar[float] = 0.0  # seconds between two requests that the platform asks for

    def __init__(
        self,
        means: Means,
        access: ProviderAccess | None = None,
        *,
        total_limit: float = TOTAL_LIMIT,
    ) -> None:
        """ProviderError where the base URL would send the key in clear."""
        access = access or ProviderAccess()
        override = means.env.get(f"GPU_TUI_{self.id.upper()}_BASE_URL")
        base = checked_base_url(access.base_url or override or self.base_url)
        self.means = means
        self.api = Api(base, access.key_env or self.key_env, self.scheme, total_limit, self.header)
        self._asked: float | None = None

    # --- what each platform says -------------------------------------------------------------

    @classmethod
    def refuses(cls, instance: Instance) -> str | None:
        """Why the API does not know this instance, if it is of a kind that it does not know."""
        return None

    def offers(self, verb: Verb) -> bool:
        """True where a call carries out this row of the profile, and is as harmless as the row says."""
        call = self.calls.get(verb.verb)
        return call is not None and verb.via == "http" and (call.keeps or not verb.park)

    @abstractmethod
    async def show(self, id: str) -> Listed | None:
        """One instance; None where the API says that there is none. Raises ProviderError."""

    @abstractmethod
    async def listing(self) -> tuple[Listed, ...]:
        """All instances, to the last page. Raises ProviderError where any page is missing."""

    async def funds(self) -> Funds:
        """The account's money. Raises ProviderError."""
        return Funds(why={"balance": "the API does not tell a balance"})

    async def stored(self) -> tuple[Stored, ...]:
        """What bills beside the instances. Raises ProviderError."""
        return ()

    # --- what they share ---------------------------------------------------------------------

    async def read(
        self,
        path: str,
        *,
        method: str = "GET",
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> Reply:
        """The answer to a question, asked again (a few times) only where it was answered "too many"."""
        wait = FIRST_WAIT
        for left in reversed(range(READ_TRIES)):
            reply = await self._send(method, path, query, body)
            wait = reply.after or wait
            if reply.status != 429 or not left or wait > MOST_WAIT:
                break
            await self.means.sleep(wait)
            wait *= 2
        return reply

    async def call(self, permit: StopPermit, id: str, state: str = "unknown") -> Answer:
        """Send the one call of a permit for `id`, once, and say what was answered; that proves nothing yet.

        `state` is the one that was read last: what is known to run need not be asked for once more.
        """
        permit.redeem(id, self.means.clock.boot())
        call = self.calls.get(permit.verb)
        if call is None:
            return Answer(AnswerKind.REFUSED, f"nothing here carries out {permit.verb}")
        if call.off_by is not None:
            return await self._off_then(self.calls[call.off_by], call, permit, id, state)
        return await self._once(call, id, lambda: permit.hold_to(self.means.clock.boot()))

    async def _off_then(
        self, off: Call, call: Call, permit: StopPermit, id: str, state: str
    ) -> Answer:
        """Switch it off, by a call that keeps everything, wait until it is, and send `call`.

        The permit's time binds the first call that leaves. The second one leaves only where the API has just
        said `stopped`, and nothing else since it first did: whoever starts the instance again may write there.
        """
        from gpu_tui.core.gate import MAX_LOOK_AGE_SECONDS

        boot = self.means.clock.boot
        began: float | None = None  # when the API took the first call
        asked, seen_off = 0.0, False

        def still() -> None:
            """Right before the second call is written; it is the only one where the instance was off before."""
            now = boot()
            if began is None:
                permit.hold_to(now)
            elif now - began >= 2 * OFF_LIMIT:
                raise Refused(
                    f"{permit.verb} was not sent: this machine slept while it was switched off, "
                    "and what was seen before proves nothing now"
                )
            elif not 0 <= now - asked < MAX_LOOK_AGE_SECONDS:
                raise _StateTooOld

        def refused(why: str) -> Answer:
            return Answer(
                AnswerKind.REFUSED, f"{permit.verb} was not sent, for it was not seen off: {why}"
            )

        try:
            while True:
                if began is not None or state != "running":
                    seen = await self.show(id)
                    if seen is None:
                        return refused("the API says that there is no such instance")
                    state, asked = seen.state, boot()
                if state == "stopped":
                    seen_off = True
                    with suppress(_StateTooOld):  # a slow connection: the API is asked again
                        return await self._once(call, id, still)
                elif seen_off:
                    return refused(f"it was stopped, and the API says {state} again")
                elif began is None:
                    answer = await self._once(off, id, lambda: permit.hold_to(boot()))
                    if answer.kind is AnswerKind.UNKNOWN:
                        return refused(f"{answer.text}; {NOT_KNOWN}")
                    if answer.kind is not AnswerKind.ACCEPTED:
                        return refused(answer.text)
                    began = boot()
                if began is not None and boot() - began >= OFF_LIMIT:
                    return refused(
                        f"the API still says {state}, {OFF_LIMIT:.0f} s after it was switched off"
                    )
                await self.means.sleep(OFF_PAUSE)
        except ProviderError as error:
            return refused(str(error))

    async def _once(self, call: Call, id: str, still: Callable[[], None]) -> Answer:
        try:
            path = call.path.format(id=checked_id(id, "one of the provider's"))
            reply = await self._send(call.method, path, None, _filled(call.body, id), still)
        except NoAnswer as error:
            return Answer(AnswerKind.UNKNOWN, str(error))
        except ProviderError as error:
            return Answer(AnswerKind.REFUSED, str(error))
        return self._answer(call, reply)

    def _answer(self, call: Call, reply: Reply) -> Answer:
        status = reply.status
        if status == 404:
            return Answer(AnswerKind.UNKNOWN, "it says that there is no such instance", status)
        try:
            if status not in call.accepted:
                self.judged(reply)
                text = f"an answer that was not agreed ({status})"
                return Answer(AnswerKind.UNKNOWN, text, status)
            if status != 204 and not self.agreed(self.judged(reply)):
                text = "an answer of a shape that was not agreed"
                return Answer(AnswerKind.UNKNOWN, text, status)
        except (KeyRefused, TooManyRequests, Refused) as error:
            return Answer(AnswerKind.REFUSED, str(error), status)
        except ProviderError as error:
            return Answer(AnswerKind.UNKNOWN, str(error), status)
        return Answer(AnswerKind.ACCEPTED, f"accepted ({status})", status)

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, object] | None,
        still: Callable[[], None] = lambda: None,
    ) -> Reply:
        clock = self.means.clock
        if self._asked is not None and (left := self._asked + self.spacing - clock.boot()) > 0:
            await self.means.sleep(left)
        self._asked = clock.boot()
        return await self.api.send(
            self.means.env, method, path, query=query, body=body, still=still
        )

    def agreed(self, value: object) -> bool:
        """True where this is what a call that was taken answers."""
        return isinstance(value, dict)

    def judged(self, reply: Reply) -> object:
        """The JSON of a 200, or the error that the answer means."""
        if reply.status in (401, 403):
            raise KeyRefused(
                f"the API does not take the key in ${self.api.key_env} ({reply.status})"
            )
        if reply.status == 429:
            text = "the API asks to slow down (429): try again in a minute"
            raise TooManyRequests(text, after=reply.after)
        if reply.status >= 500 or reply.status in UNFINISHED:
            raise NoAnswer(f"the API has trouble of its own ({reply.status})")
        if reply.status == 410:
            raise Refused("the API is retired there (410): a newer gpu-tui may know where it went")
        value = reply.json()
        if reply.status == 200:
            return value
        tail = f": {plain(said, 120)}" if (said := self.complaint(value)) else ""
        kind = Refused if 400 <= reply.status < 500 else BadAnswer
        raise kind(f"the API refused ({reply.status}){tail}")

    def complaint(self, value: object) -> str | None:
        """What an error's body says in words; the usual places."""
        if not isinstance(value, dict):
            return None
        inner = value.get("error")
        places = (value, inner) if isinstance(inner, dict) else (value,)
        found = (
            place.get(name) for place in places for name in ("detail", "msg", "message", "title")
        )
        return next((said for said in found if isinstance(said, str) and said), None)

    def each(
        self, rows: Iterable[Row], read: Callable[[Row], Listed], id: str = "id"
    ) -> tuple[Listed, ...]:
        """Every row read; one that cannot be is there all the same, in a state that is not known."""
        found = []
        for row in rows:
            known = id_of(row, id)
            try:
                found.append(read(row))
            except BadAnswer as error:
                found.append(Listed(self.id, known, remark=str(error)))
        return tuple(found)


def _filled(body: Mapping[str, object] | None, id: str) -> Mapping[str, object] | None:
    """`body` with the id wherever `{id}` stands, also in a list."""
    if body is None:
        return None
    return {
        name: id if value == "{id}" else [id] if value == ["{id}"] else value
        for name, value in body.items()
    }
