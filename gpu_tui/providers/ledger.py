"""One account at a platform: one listing serves all its instances, and finds those that nobody named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_tui.core.account import Account, Listed, Stored, spend
from gpu_tui.providers.base import Means, ProviderError, TooManyRequests
from gpu_tui.providers.platform import Funds, Platform

SLOWED = 60.0  # seconds to wait after the first "too many"; doubled with each that follows
LONGEST = 900.0
STORED_EVERY = 10  # listings between two looks at what bills beside the instances


class Ledger:
    """Reads one account."""

    def __init__(
        self,
        platform: Platform,
        key: str,
        serves: tuple[str, ...],
        means: Means,
        ids: Iterable[str] = (),
    ) -> None:
        """`ids`: what the fleet file names of it."""
        self.key = key
        self.serves = serves
        self._ids = frozenset(ids)
        self._missed: frozenset[str] = frozenset()  # in neither of two lists
        self._platform = platform
        self._clock = means.clock
        self._slowed = 0
        self._first: dict[str, float | None] | None = None  # id -> when it was first listed
        self._stored: tuple[Stored, ...] = ()
        self._stored_why: str | None = None
        self._listings = 0

    async def read(self) -> Account:
        """What the account holds now. Never raises: trouble is an Account with its `error`."""
        platform = self._platform
        account = Account(self.key, platform.id, platform.api.key_env, self.serves)
        try:
            listed = self._dated(await self._list())
        except TooManyRequests as error:
            wait = min(error.after or SLOWED * 2**self._slowed, LONGEST)
            self._slowed = min(self._slowed + 1, 10)
            return replace(account, error=str(error), wait=wait)
        except ProviderError as error:
            return replace(account, error=str(error))
        self._slowed = 0
        funds = await self._funds()
        await self._look_for_stored()
        total, at_least = spend(listed, self._stored)
        told = funds.spend
        if told is not None and total is not None and total.currency == told.currency:
            # A provider's own sum may leave out the disks of what is stopped: the larger one is burnt.
            told = max(told, total, key=lambda money: money.amount)
        why = dict(funds.why)
        if self._stored_why:
            why["stored"] = self._stored_why
        return replace(
            account,
            read_at=self._clock.now(),
            listed=listed,
            stored=self._stored,
            complete=True,
            balance=funds.balance,
            low_balance=funds.low,
            spend_per_hour=told or total,
            spend_at_least=funds.spend is None and (at_least or not platform.lists_all),
            remark=funds.remark,
            why=why,
        )

    async def _list(self) -> tuple[Listed, ...]:
        """Everything once. Read again where one that is looked for is missing anew: a list is cut into pages
        while others come and go, and one may slip through between two of them.
        """
        found = {one.id: one for one in await self._platform.listing()}
        missing = self._ids.union(self._first or ()) - found.keys()
        if self._platform.paged and missing - self._missed:
            found |= {one.id: one for one in await self._platform.listing()}
        self._missed = missing - found.keys()
        return tuple(found.values())

    async def _funds(self) -> Funds:
        try:
            return await self._platform.funds()
        except ProviderError as error:
            return Funds(why={"balance": str(error)})

    async def _look_for_stored(self) -> None:
        """Seldom, and at once when an instance came or went: it uses what is there, or leaves it behind."""
        due = self._listings % STORED_EVERY == 0
        self._listings = 1 if due else self._listings + 1
        if not due:
            return
        try:
            self._stored, self._stored_why = await self._platform.stored(), None
        except ProviderError as error:
            self._stored_why = str(error)

    def _dated(self, listed: tuple[Listed, ...]) -> tuple[Listed, ...]:
        """Each with the time at which it appeared; None for what was there at the first look."""
        known, now = self._first, self._clock.now()
        ids = {one.id for one in listed}
        if known is not None and set(known) != ids:
            self._listings = 0
        self._first = {id: None if known is None else known.get(id, now) for id in ids}
        return tuple(replace(one, first_seen=self._first[one.id]) for one in listed)
