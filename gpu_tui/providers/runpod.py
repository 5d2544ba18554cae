"""RunPod, REST v2, and GraphQL for the balance alone. Nothing of a pod's env is kept.

A stopped pod says that it costs 0.0, but its volume disk bills at double rate: that price is made from
its size. A terminate is done when the pod is not found: 204 may be followed by a pod that is EXITED.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gpu_tui.core.account import Address, Listed, Stored
from gpu_tui.core.fleet import Money
from gpu_tui.core.plain import plain
from gpu_tui.providers.api import checked_id
from gpu_tui.providers.base import BadAnswer
from gpu_tui.providers.fields import (
    HOURS_PER_MONTH,
    Row,
    address,
    id_of,
    iso_time,
    money,
    number,
    row_of,
    rows_of,
    status_of,
    text,
    texts,
)
from gpu_tui.providers.platform import Call, Funds, Platform

# What the API calls a pod's state -> what it means to a meter. ERROR is not known to be either.
STATES = {
    "PROVISIONING": "running",
    "STARTING": "running",
    "RUNNING": "running",
    "EXITED": "stopped",
    "TERMINATED": "ended",  # it never runs again; only "not found" is gone
}
SHOWN = ("name", "cloud", "dataCenterId", "status")  # the only texts of a pod that are kept
# USD per GB and month, docs.runpod.io/pods/pricing, read in 2026-08: the API does not tell them.
VOLUME_STOPPED = 0.20
NETWORK, NETWORK_OVER_1TB, NETWORK_FAST = 0.07, 0.05, 0.14
BALANCE = "query { myself { clientBalance currentSpendPerHr spendLimit notifyLowBalance } }"


class RunPod(Platform):
    """RunPod's API."""

    id = "runpod"
    base_url = "https://api.runpod.io"
    key_env = "RUNPOD_API_KEY"
    calls: ClassVar[Mapping[str, Call]] = {
        "stop": Call("POST", "/v2/pods/{id}/action", {"action": "stop"}),
        "terminate": Call("DELETE", "/v2/pods/{id}", accepted=frozenset({204})),
    }

    # ids of the network volumes that the listed pods mount, and by which of them
    _mounted: Mapping[object, tuple[str, ...]] = {}

    async def show(self, id: str) -> Listed | None:
        """One pod."""
        reply = await self.read(f"/v2/pods/{checked_id(id, 'a pod')}")
        if reply.status == 404:
            return None
        body = self.judged(reply)
        if not isinstance(body, dict) or body.get("id") != id:
            raise BadAnswer("the answer is not about this pod")
        return _pod(body)

    async def listing(self) -> tuple[Listed, ...]:
        """All pods, members of clusters too; there is one page."""
        reply = await self.read("/v2/pods", query={"includeClusterPods": "true"})
        pods = rows_of(self.judged(reply), "pods")
        mounted: dict[object, tuple[str, ...]] = {}
        for pod in pods:
            for volume in _network_mounts(pod):
                id = volume.get("volumeId")
                if isinstance(id, str):
                    mounted[id] = (*mounted.get(id, ()), id_of(pod))
        self._mounted = mounted
        return self.each(pods, _pod)

    async def funds(self) -> Funds:
        """Balance and spend; `notifyLowBalance` counts where it is an amount and no switch."""
        reply = await self.read("/graphql", method="POST", body={"query": BALANCE})
        data = row_of(row_of(self.judged(reply), "data").get("data"), "data")
        mine = row_of(data.get("myself"), "account")
        balance = money(mine, "clientBalance", "USD", signed=True)
        spend = money(mine, "currentSpendPerHr", "USD")
        low = money(mine, "notifyLowBalance", "USD")
        why = {} if balance else {"balance": "the answer holds no balance"}
        return Funds(balance, spend, low, why=why)

    async def stored(self) -> tuple[Stored, ...]:
        """Network volumes bill until they are deleted, with or without a pod."""
        rows = rows_of(self.judged(await self.read("/v2/network-volumes")), "networkVolumes")
        return tuple(
            Stored(
                self.id,
                "network volume",
                id_of(row),
                text(row, "name"),
                _network_price(row),
                row.get("id") in self._mounted,
                _size(row),
                self._mounted.get(row.get("id"), ()),
            )
            for row in rows
        )


def _pod(row: Row) -> Listed:
    """The allow-listed fields of one pod."""
    status = status_of(row, STATES, "pod")
    cost = number(row, "cost") if status == "RUNNING" else None
    stopped = _price_of_volume(row) if status == "EXITED" else None
    return Listed(
        platform=RunPod.id,
        id=id_of(row),
        name=text(row, "name"),
        state=STATES[status],
        price=Money(cost, "USD") if cost is not None else stopped,
        started_at=iso_time(row.get("startedAt")) or iso_time(row.get("createdAt")),
        addresses=_addresses(row.get("ssh")),
        facts=texts(row, SHOWN),
        parked=_price_of_volume(row),
        lacks=_lacks(row),
    )


def _lacks(row: Row) -> tuple[str, ...]:
    """Of the two that may lie at /workspace the one that is not there, where the other one plainly is."""
    mounts = row.get("mounts")
    if not isinstance(mounts, dict):
        return ()
    disk, network = mounts.get("persistent"), mounts.get("network")
    if isinstance(disk, dict) and network in (None, []):
        return ("network-volume",)
    return ("volume",) if disk is None and _network_mounts(row) else ()


def _price_of_volume(row: Row) -> Money | None:
    """What a stopped pod costs: its volume disk, at the double rate; None where its size is not said."""
    mounts = row.get("mounts")
    if not isinstance(mounts, dict):
        return None
    volume = mounts.get("persistent")
    if volume is None:
        return Money(0.0, "USD")
    size = number(volume, "size") if isinstance(volume, dict) else None
    return None if size is None else Money(size * VOLUME_STOPPED / HOURS_PER_MONTH, "USD")


def _network_mounts(pod: Row) -> list[Row]:
    mounts = pod.get("mounts")
    volumes = mounts.get("network") if isinstance(mounts, dict) else None
    return [one for one in volumes if isinstance(one, dict)] if isinstance(volumes, list) else []


def _network_price(row: Row) -> Money | None:
    size, kind = number(row, "size"), text(row, "type")
    if size is None:
        return None
    if kind == "STANDARD":
        month = min(size, 1000) * NETWORK + max(0.0, size - 1000) * NETWORK_OVER_1TB
    else:
        month = size * NETWORK_FAST  # a name that we do not know is not taken for the cheap one
    return Money(month / HOURS_PER_MONTH, "USD")


def _size(row: Row) -> str | None:
    size = number(row, "size")
    return None if size is None else f"{size:g} GB"


def _addresses(ssh: object) -> tuple[Address, ...]:
    """Where the pod's own sshd is reached; none where the API names no such place (proxy, stopped)."""
    direct = ssh.get("direct") if isinstance(ssh, dict) else None
    if direct is None:
        return ()
    host = direct.get("host") if isinstance(direct, dict) else None
    port = direct.get("port") if isinstance(direct, dict) else None
    found = address(host, port) if isinstance(port, int) else None
    if found is None:
        raise BadAnswer(f"the pod's ssh address is not one: {plain(str(host), 40)}")
    return (found,)
