"""Paperspace machines. `usageRate` has no unit in the API: it is shown as it stands, never as a price.

Off ends the GPU's bill, not the disk's; a destroy leaves static addresses and snapshots that bill on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gpu_tui.core.account import Listed, Stored
from gpu_tui.core.fleet import Money
from gpu_tui.providers.api import checked_id
from gpu_tui.providers.base import BadAnswer
from gpu_tui.providers.fields import (
    Row,
    add_page,
    address,
    addresses,
    id_of,
    iso_time,
    number,
    row_of,
    text,
    texts,
)
from gpu_tui.providers.platform import Call, Funds, Platform

PAGE_SIZE, MOST_PAGES = 50, 40
SHOWN = ("name", "machineType", "region", "state", "publicIpType")
STATES = {
    "off": "stopped",
    "stopping": "running",  # billed until it is off
    **dict.fromkeys(
        ("starting", "restarting", "serviceready", "ready", "upgrading", "provisioning"), "running"
    ),
}
STATIC_IP = Money(0.0045, "USD")  # per hour, read in 2026-06: the API does not tell it


class Paperspace(Platform):
    """Paperspace's API."""

    id = "paperspace"
    base_url = "https://api.paperspace.com"
    key_env = "PAPERSPACE_API_KEY"
    paged = True
    calls: ClassVar[Mapping[str, Call]] = {
        "shut-down": Call("PATCH", "/v1/machines/{id}/stop", keeps=True),
        "destroy": Call("DELETE", "/v1/machines/{id}", off_by="shut-down"),
    }

    async def show(self, id: str) -> Listed | None:
        """One machine; one with a date of deletion is no more."""
        reply = await self.read(f"/v1/machines/{checked_id(id, 'a machine')}")
        if reply.status == 404:
            return None
        row = row_of(self.judged(reply), "machine")
        if row.get("id") != id:
            raise BadAnswer("the answer is not about this machine")
        return _machine(row)

    async def listing(self) -> tuple[Listed, ...]:
        """All machines, to the last page."""
        rows = await self._items("/v1/machines")
        self._machines = frozenset(id_of(row) for row in rows)
        return self.each(rows, _machine)

    async def funds(self) -> Funds:
        """No balance; whether the account is in order."""
        standing = row_of(
            self.judged(await self.read("/v1/billing/account-standing")), "account standing"
        )
        trouble = None
        if standing.get("isAdminLocked") is True:
            trouble = "the account is locked: look at the billing page"
        elif standing.get("isInGoodStanding") is False:
            trouble = "the account is not in good standing: look at the billing page"
        elif standing.get("hasPaymentMethod") is False:
            trouble = "the account has no payment method"
        why = {"balance": "the API tells no balance, only whether the account is in order"}
        return Funds(remark=trouble, why=why)

    async def stored(self) -> tuple[Stored, ...]:
        """Static addresses, snapshots and shared drives, each billed by itself."""
        found = [
            Stored(
                self.id,
                "static address",
                id_of(row, "ip"),
                price=STATIC_IP,
                used=row.get("assignedMachineId") is not None,
                users=_user(row, "assignedMachineId"),
            )
            for row in await self._items("/v1/public-ips")
        ]
        for row in await self._items("/v1/snapshots"):
            users = _user(row, "machineId")
            used = any(user in self._machines for user in users)
            name = text(row, "name")
            found.append(Stored(self.id, "snapshot", id_of(row), name, used=used, users=users))
        drives = await self._items("/v1/shared-drives")
        found += [Stored(self.id, "shared drive", id_of(row), text(row, "name")) for row in drives]
        return tuple(found)

    _machines: frozenset[object] = frozenset()

    async def _items(self, path: str) -> list[Row]:
        query, found = {"limit": str(PAGE_SIZE)}, list[Row]()
        for _ in range(MOST_PAGES):
            page = row_of(self.judged(await self.read(path, query=query)), "page")
            add_page(found, page, "items")
            if page.get("hasMore") is False:
                return found
            after = page.get("nextPage")
            if not isinstance(after, str) or after == query.get("after"):
                raise BadAnswer("the list does not say how it goes on")
            query["after"] = after
        raise BadAnswer(f"the list has more than {MOST_PAGES} pages")


def _user(row: Row, name: str) -> tuple[str, ...]:
    """The machine that a row names, if it names one."""
    machine = text(row, name)
    return () if machine is None else (machine,)


def _machine(row: Row) -> Listed:
    """The allow-listed fields of one machine."""
    state = text(row, "state", 40)
    if row.get("dtDeleted") is not None:
        meter = "gone"
    elif state is None or state not in STATES:
        raise BadAnswer(f"the machine is in state {state or 'none'}: look at the console")
    else:
        meter = STATES[state]
    reached = address(row.get("publicIp"), 22)
    facts = texts(row, SHOWN)
    if row.get("autoShutdownEnabled") is True:
        hours = number(row, "autoShutdownTimeout")
        facts |= {"autoShutdownTimeout": f"{hours:g}"} if hours is not None else {}
    for name in ("usageRate", "storageRate"):
        if (rate := number(row, name)) is not None:
            facts[name] = f"{rate:g} (the API names no unit)"
    return Listed(
        platform=Paperspace.id,
        id=id_of(row),
        name=text(row, "name"),
        state=meter,
        started_at=iso_time(row.get("dtCreated")),
        addresses=(reached,) if reached else (),
        inner=addresses(row, "privateIp"),
        facts=facts,
    )
