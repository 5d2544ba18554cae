"""Lambda Cloud: there is no stop, only terminate, and a shutdown inside the box ends no bill.

An instance does not say when it was made, and the account is invoiced: no start time, no balance.
A terminate may hang; what came of it only the next read tells. File systems stay behind and bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gpu_tui.core.account import Listed, Stored
from gpu_tui.core.fleet import Money
from gpu_tui.providers.api import checked_id
from gpu_tui.providers.base import BadAnswer
from gpu_tui.providers.fields import (
    HOURS_PER_MONTH,
    MOST_BYTES,
    Row,
    address,
    addresses,
    id_of,
    money,
    number,
    row_of,
    rows_of,
    status_of,
    text,
    texts,
)
from gpu_tui.providers.platform import Call, Funds, Platform

NOT_THERE = "global/object-does-not-exist"
SHOWN = ("name", "hostname", "status")
# What the API calls an instance's state -> what it means to a meter, and what a person must know of it.
STATES: dict[str, tuple[str, str | None]] = {
    "booting": ("running", None),
    "active": ("running", None),
    "unhealthy": (
        "running",
        "unhealthy: it bills on, also where it was shut down from inside; only terminate ends that",
    ),
    "terminating": ("running", None),  # nobody says when the bill ends; only the end is the end
    "terminated": ("gone", None),
    "preempted": ("ended", "preempted: taken back; look at the console what is left of it"),
}
# USD per GiB and month, read in 2026-06: the API does not tell it.
FILE_SYSTEM = 0.20


class Lambda(Platform):
    """Lambda's API."""

    id = "lambda"
    base_url = "https://cloud.lambda.ai"
    key_env = "LAMBDA_API_KEY"
    spacing = 1.0  # one request per second
    calls: ClassVar[Mapping[str, Call]] = {
        "terminate": Call(
            "POST", "/api/v1/instance-operations/terminate", {"instance_ids": ["{id}"]}
        ),
    }

    async def show(self, id: str) -> Listed | None:
        """One instance; a 404 counts only where it says that this object does not exist."""
        reply = await self.read(f"/api/v1/instances/{checked_id(id, 'an instance')}")
        if reply.status == 404:
            body = reply.json()
            error = body.get("error") if isinstance(body, dict) else None
            if isinstance(error, dict) and error.get("code") == NOT_THERE:
                return None
            raise BadAnswer("not found, but not for want of the instance: check the base URL")
        row = row_of(row_of(self.judged(reply), "instance").get("data"), "instance")
        if row.get("id") != id:
            raise BadAnswer("the answer is not about this instance")
        return _instance(row)

    async def listing(self) -> tuple[Listed, ...]:
        """All instances; there is one page."""
        rows = rows_of(self.judged(await self.read("/api/v1/instances")), "data")
        self._mounts = {id_of(row): _Mounts.of(row) for row in rows}
        return self.each(rows, _instance)

    async def funds(self) -> Funds:
        """Nothing is asked: it is invoiced."""
        return Funds(why={"balance": "there is none: Lambda sends an invoice"})

    async def stored(self) -> tuple[Stored, ...]:
        """File systems bill by what is in them, mounted or not."""
        rows = rows_of(self.judged(await self.read("/api/v1/file-systems")), "data")
        return tuple(
            Stored(
                self.id,
                "file system",
                id_of(row),
                text(row, "name"),
                _price_of_bytes(number(row, "bytes_used", most=MOST_BYTES)),
                row.get("is_in_use") if isinstance(row.get("is_in_use"), bool) else None,  # type: ignore[arg-type]
                users=self._users(row),
            )
            for row in rows
        )

    _mounts: Mapping[str, _Mounts] = {}

    def _users(self, row: Row) -> tuple[str, ...] | None:
        """Who mounts it; None where that cannot be told of one of the instances."""
        said = {id: mounts.hold(row) for id, mounts in self._mounts.items()}
        return None if None in said.values() else tuple(id for id, holds in said.items() if holds)


@dataclass(frozen=True, slots=True)
class _Mounts:
    """The file systems of one instance: their ids where the API names them, else their names in its region.

    A name is one file system's in a region only, and no instance mounts one of another region.
    """

    ids: frozenset[str] | None
    names: frozenset[str]
    region: str | None

    @classmethod
    def of(cls, row: Row) -> _Mounts:
        """What an instance's row says."""
        mounts = row.get("file_system_mounts")
        rows = mounts if isinstance(mounts, list) else []
        ids = [one.get("file_system_id") if isinstance(one, dict) else None for one in rows]
        told = isinstance(mounts, list) and all(isinstance(id, str) for id in ids)
        names = _texts(row.get("file_system_names"))
        return cls(_texts(ids) if told else None, names, _region(row))

    def hold(self, row: Row) -> bool | None:
        """Whether that file system is among them; None where nobody can tell."""
        if self.ids is not None and len(self.ids) >= len(self.names):
            return row.get("id") in self.ids
        name, region = row.get("name"), _region(row)
        if not isinstance(name, str) or (name in self.names and None in (region, self.region)):
            return None
        return name in self.names and region == self.region


def _region(row: Row) -> str | None:
    region = row.get("region")
    return text(region, "name") if isinstance(region, dict) else None


def _instance(row: Row) -> Listed:
    """The allow-listed fields of one instance."""
    status = status_of(row, STATES, "instance")
    state, remark = STATES[status]
    kind = row.get("instance_type")
    type_row: Row = kind if isinstance(kind, dict) else {}
    facts = texts(row, SHOWN) | texts(type_row, ("gpu_description",))
    if row.get("is_reserved") is True:
        facts["rental"] = "reserved: terminating does not end the commitment"
    reached = address(row.get("ip"), 22)
    return Listed(
        platform=Lambda.id,
        id=id_of(row),
        name=text(row, "name"),
        state=state,
        price=money(type_row, "price_cents_per_hour", "USD", scale=100)
        if state == "running"
        else None,
        addresses=(reached,) if reached else (),
        inner=addresses(row, "private_ip"),
        facts=facts,
        remark=remark,
    )


def _texts(value: object) -> frozenset[str]:
    return (
        frozenset(one for one in value if isinstance(one, str))
        if isinstance(value, list)
        else frozenset()
    )


def _price_of_bytes(used: float | None) -> Money | None:
    return None if used is None else Money(used / 2**30 * FILE_SYSTEM / HOURS_PER_MONTH, "USD")
