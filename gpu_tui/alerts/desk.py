"""The news desk turns views of the fleet into messages, each sent once by each channel.

It reads the fleet on its own beat, so that it also works while no terminal is attached. The screen is a channel, and so
is each one that the settings name, whether or not this program can use it. The ledger, which all gpu-tui of this user
share, records for each channel what it has delivered and what is in its outbox. Any program that can use the channel
delivers the outbox.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from fnmatch import fnmatchcase

from gpu_tui.alerts.channel import Channel, Unusable
from gpu_tui.alerts.courier import Courier
from gpu_tui.alerts.keeper import Keeper
from gpu_tui.alerts.ledger import SCREEN, Ledger, Post
from gpu_tui.alerts.message import Item, first_look, item_of
from gpu_tui.alerts.once import Sifted
from gpu_tui.alerts.quiet import quiet_until
from gpu_tui.alerts.standing import channels_now
from gpu_tui.core.alert_channel import KIND, AlertChannel
from gpu_tui.core.clock import Clock
from gpu_tui.core.findings import Severity
from gpu_tui.parse.config_file import Alerts
from gpu_tui.state.news import CLOCKS, GOOD, Bulletin, News, Shown, news_of, worth_a_toast
from gpu_tui.state.settled import settled
from gpu_tui.state.views import FleetView

BEAT = 2.0  # seconds between two looks
SETTLE_SECONDS = 30.0  # an instance that answers but never settles is news after this
FIRST_WAIT = 10.0  # seconds: the first words about several boxes go out together
BULLETINS = 50  # kept for a screen that does not ask


class Desk:
    """`look` sifts one view; `run` does it on a beat and delivers; `deliver` delivers what is due.

    `secrets` are asked for with each item: an edited fleet file may name another key. `screen`: a person may see
    this program's toasts. `heed` gets the state of all channels when it changes.
    """

    def __init__(
        self,
        alerts: Alerts,
        ledger: Ledger,
        clock: Clock,
        channels: Iterable[Channel] = (),
        *,
        note: Callable[[str], None],
        secrets: Callable[[], Iterable[str]] = tuple,
        zone: tzinfo | None = None,
        first_wait: float = FIRST_WAIT,
        beat: float = BEAT,
        screen: bool = True,
        heed: Callable[[tuple[AlertChannel, ...]], None] = lambda channels: None,
    ) -> None:
        self.alerts = alerts
        self._clock = clock
        self._note = note
        self._secrets = secrets
        self._zone = zone
        self._since = clock.now()
        self._first_wait, self._beat = first_wait, beat
        self._keeper = Keeper(ledger, note)
        self._couriers = self._couriers_of(channels)
        self._sending: list[asyncio.Task[None]] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._screen_too, self._heed = screen, heed
        self._channels: tuple[AlertChannel, ...] | None = None
        self._connected: dict[str, float] = {}
        self._shown = Shown()
        self._screen: deque[Bulletin] = deque(maxlen=BULLETINS)
        self._held: list[News] = []

    # --- for the screen -----------------------------------------------------------------------

    def take(self, view: FleetView) -> Sequence[Bulletin]:
        """What the screen should say now; what is taken is gone."""
        taken = tuple(self._screen)
        self._screen.clear()
        return taken

    # --- the beat -----------------------------------------------------------------------------

    async def run(self, look: Callable[[], FleetView | None]) -> None:
        """Look and deliver until cancelled; `look` answers None while histories are still coming in."""
        async with asyncio.TaskGroup() as self._tasks:
            self._send()
            while True:
                view = look()
                if view is not None:
                    await self.look(view)
                await asyncio.sleep(self._beat)

    def follow(self, alerts: Alerts, channels: Iterable[Channel]) -> None:
        """Replace the settings and the channels by edited ones."""
        self.alerts, self._couriers = alerts, self._couriers_of(channels)
        self._send()

    def _couriers_of(self, channels: Iterable[Channel]) -> list[Courier]:
        return [Courier(one, self._keeper, self._clock, self._note, self._zone) for one in channels]

    def _send(self) -> None:
        """Start the delivery of each channel, and stop that of the channels before an edit."""
        for task in self._sending:
            task.cancel()
        if self._tasks is not None:
            self._sending = [
                self._tasks.create_task(one.run(), name=f"alerts by {one.name}")
                for one in self._couriers
            ]

    async def look(self, view: FleetView) -> None:
        """Sift one view. What is known as told is on its way also where the caller is cancelled meanwhile."""
        work = asyncio.ensure_future(self._look(view))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work})
            raise

    async def _look(self, view: FleetView) -> None:
        now = self._clock.now()
        members = frozenset(one.name for one in view.instances)
        ready = self._ready(view, now)
        # A box that waits for a password holds back no word of one that bills and that nobody named.
        if members <= ready or now - self._connected.setdefault("", now) >= SETTLE_SECONDS:
            ready |= {""}
        news, since = news_of(view), self._since
        until = quiet_until(now, self.alerts.quiet, self._zone)
        posts = [self._post(courier, view.sweep, now, until) for courier in self._couriers]
        if self._screen_too:
            posts.append(Post(SCREEN))
        found = await self._keeper.ask(
            lambda ledger: ledger.sift(
                posts, view.sweep or "", news, ready, members, now=now, since=since
            )
        )
        if self._screen_too:
            self._notify_screen(found[SCREEN], news, now, until)
        await self.judge_channels()
        for courier in self._couriers:
            courier.wake()

    async def look_at_channels(self) -> None:
        """Check which channels this program can use; while `run` runs, each courier does that."""
        for courier in self._couriers:
            await courier.look()

    def unusable(self) -> list[tuple[str, Unusable]]:
        """The channels that this program cannot use, and why."""
        return [(one.name, one.wrong) for one in self._couriers if one.wrong is not None]

    async def judge_channels(self) -> tuple[AlertChannel, ...]:
        """The state of every channel, from this program's checks and from the shared ledger."""
        now, wrong = self._clock.now(), {courier.name: courier.wrong for courier in self._couriers}
        names = list(wrong)
        states = await self._keeper.ask(lambda ledger: ledger.states(names))
        channels = channels_now(wrong, states, now)
        if channels != self._channels:
            self._channels = channels
            self._heed(channels)
        return channels

    async def deliver(self, limit: float) -> None:
        """Deliver what is due, for at most `limit` seconds; the rest waits for the next gpu-tui."""
        try:
            async with asyncio.timeout(limit):
                await asyncio.gather(*(courier.empty() for courier in self._couriers))
        except TimeoutError:
            self._note(f"not every alert went out in {limit:g} s; the next gpu-tui goes on with it")

    # --- inside -------------------------------------------------------------------------------

    def _ready(self, view: FleetView, now: float) -> frozenset[str]:
        """The instances of which enough is known for a word."""
        ready = set()
        for one in view.instances:
            if one.link.state == "connecting":
                continue
            since = self._connected.setdefault(one.name, now)
            if settled(one) or now - since >= SETTLE_SECONDS:
                ready.add(one.name)
        return frozenset(ready)

    def wanted(self, news: News) -> bool:
        """The user's settings let it leave the screen."""
        alerts = self.alerts
        if alerts.kinds and news.kind not in alerts.kinds:
            return False
        if alerts.instances and not any(
            fnmatchcase(news.instance, pattern) for pattern in alerts.instances
        ):
            return False
        bad = news.severity.rank <= Severity(alerts.severity).rank
        return bad or news.kind in GOOD or news.kind in CLOCKS

    def _lets(self, news: News) -> bool:
        """It goes out in the quiet hours, too."""
        return self.alerts.quiet_lets == "fatal" and news.severity is Severity.FATAL

    def _notify_screen(
        self, found: Sifted, news: Sequence[News], now: float, until: float | None
    ) -> None:
        fresh = [*found.fresh, *(one for one in found.told if one.key not in self._shown)]
        self._shown.add((one.key for one in (*fresh, *found.first)), {one.key for one in news})
        toasts = [one for one in fresh if worth_a_toast(one) or self.wanted(one)]
        loud = [one for one in toasts if self.wanted(one)]
        if until is not None:
            self._held += [one for one in loud if not self._lets(one)]
            del self._held[:-BULLETINS]
            loud = [one for one in loud if self._lets(one)]
        elif self._held:
            self._screen.append(Bulletin(_worst_first(self._held), loud=True))
            self._held = []
        if toasts:
            self._screen.append(Bulletin(_worst_first(toasts), loud=bool(loud)))

    def _post(self, courier: Courier, sweep: str | None, now: float, until: float | None) -> Post:
        """The post of one channel for one look at the fleet. It leaves out that this very channel cannot be used."""
        name = courier.name

        def wants(news: News) -> bool:
            return self.wanted(news) and not (news.kind == KIND and news.part == name)

        def items(found: Sifted) -> list[tuple[Item, float]]:
            rows: list[tuple[Item, float]] = [
                (self._item(one, sweep), now)
                if until is None or self._lets(one)
                else ({**self._item(one, sweep), "held": True}, until)
                for one in found.fresh
            ]
            summary = first_look(found.first, sweep, now, self._secrets(), self._zone)
            if summary is not None:
                waits = until is not None and not any(map(self._lets, found.first))
                due = until if waits and until is not None else now + self._first_wait
                rows.append((summary, due))
            return rows

        return Post(name, wants, items, courier.ready)

    def _item(self, news: News, sweep: str | None) -> dict[str, object]:
        return item_of(news, sweep, self._secrets())


def _worst_first(news: Iterable[News]) -> tuple[News, ...]:
    return tuple(sorted(news, key=lambda one: one.severity.rank))
