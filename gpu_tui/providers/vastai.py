"""vast.ai: 25 instances per page, and a state in three words. Nothing of extra_env or onstart is kept.

`exited` says that the container's process ended, not that the instance is gone: it bills on. After a
destroy the instance may still be shown for a minute or more; gone is 404, `null`, or not in a whole list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gpu_tui.core.account import Address, Listed, Stored
from gpu_tui.core.fleet import Money
from gpu_tui.providers.api import Reply, checked_id
from gpu_tui.providers.base import BadAnswer, Refused
from gpu_tui.providers.fields import (
    HOURS_PER_MONTH,
    Row,
    add_page,
    address,
    epoch,
    id_of,
    money,
    number,
    row_of,
    rows_of,
    text,
    texts,
)
from gpu_tui.providers.platform import Call, Funds, Platform

PAGE_SIZE, MOST_PAGES = 25, 40
SHOWN = ("actual_status", "intended_status", "cur_state", "status_msg", "gpu_name")
# What actual_status means to a meter, and what a person must know of it. `null`: not started yet.
STATES: dict[str | None, tuple[str, str | None]] = {
    None: ("running", None),
    "created": ("running", None),
    "loading": ("running", None),  # the image is pulled; not billed yet
    "running": ("running", None),
    "rebooting": ("running", None),
    "stopped": ("stopped", None),
    "frozen": ("running", "frozen: it is paused, and its GPU bills on"),
    "exited": ("running", "its container ended by itself: it is not destroyed, and it bills on"),
    "offline": ("running", "its host is offline: nothing of it can be reached"),
    "unknown": ("unknown", "its host does not report what state it is in"),
}


class Vast(Platform):
    """vast.ai's API."""

    id = "vastai"
    base_url = "https://console.vast.ai"
    key_env = "VAST_API_KEY"
    paged = True
    spacing = 1.5  # "a minimum interval per endpoint and identity": one to three seconds
    calls: ClassVar[Mapping[str, Call]] = {
        "stop": Call("PUT", "/api/v0/instances/{id}/", {"state": "stopped"}),
        "destroy": Call("DELETE", "/api/v0/instances/{id}/", {}),
    }

    async def show(self, id: str) -> Listed | None:
        """One instance; `{"instances": null}` says that there is none."""
        path = f"/api/v0/instances/{checked_id(id, 'an instance')}/"
        reply = await self.read(path, query={"owner": "me"})
        if reply.status == 404:
            return None
        body = row_of(self.judged(reply), "instance")
        if "instances" in body and body["instances"] is None:
            return None
        row = row_of(body.get("instances"), "instance")
        if id_of(row) != id:
            raise BadAnswer("the answer is not about this instance")
        return _instance(row)

    async def listing(self) -> tuple[Listed, ...]:
        """All instances: page after page until there is no next token."""
        query = {
            "select_filters": "{}",
            "order_by": '[{"col": "id", "dir": "asc"}]',
            "limit": str(PAGE_SIZE),
        }
        found: list[Row] = []
        for _ in range(MOST_PAGES):
            body = self.judged(await self.read("/api/v1/instances/", query=query))
            add_page(found, body, "instances")
            page = row_of(body, "page")
            token = page.get("next_token")
            if token is None:
                if (number(page, "total_instances") or 0) > len(found):
                    raise BadAnswer("the list ended before all instances were in it")
                return self.each(found, _instance)
            if not isinstance(token, str) or token == query.get("after_token"):
                raise BadAnswer("the list does not say how it goes on")
            query["after_token"] = token
        raise BadAnswer(f"the list has more than {MOST_PAGES} pages")

    async def funds(self) -> Funds:
        """The prepaid credit; what is spent is the sum of the instances."""
        reply = await self.read("/api/v0/users/current")
        credit = money(row_of(self.judged(reply), "account"), "credit", "USD", signed=True)
        return Funds(credit, why={} if credit else {"balance": "the answer holds no credit"})

    async def stored(self) -> tuple[Stored, ...]:
        """Volumes outlive the instances that used them."""
        reply = await self.read("/api/v0/volumes", query={"owner": "me", "type": "all_volume"})
        return tuple(
            Stored(
                self.id,
                "volume",
                id_of(row),
                text(row, "label"),
                None if (price := _storage(row)) is None else Money(price, "USD"),
                None if "instances" not in row else bool(row["instances"]),
                None if (size := number(row, "disk_space")) is None else f"{size:g} GB",
                _users(row.get("instances")) if "instances" in row else None,
            )
            for row in rows_of(self.judged(reply), "volumes")
        )

    def agreed(self, value: object) -> bool:
        """Only `"success": true` is a success."""
        return isinstance(value, dict) and value.get("success") is True

    def judged(self, reply: Reply) -> object:
        """As everywhere; besides, `"success": false` is a no, whatever the status."""
        value = super().judged(reply)
        if isinstance(value, dict) and value.get("success") is False:
            raise Refused(f"the API refused: {self.complaint(value) or 'no reason given'}")
        return value


def _users(value: object) -> tuple[str, ...] | None:
    """The ids in a list of instances, bare or in rows; None where it is no such list."""
    found: list[str] = []
    for one in value if isinstance(value, list) else ():
        id = one.get("id") if isinstance(one, dict) else one
        if isinstance(id, bool) or not isinstance(id, int | str):
            return None
        found.append(str(id))
    return tuple(found) if isinstance(value, list) or value is None else None


def _instance(row: Row) -> Listed:
    """The allow-listed fields of one instance."""
    actual = row.get("actual_status")
    if actual is not None and (not isinstance(actual, str) or actual not in STATES):
        shown = text(row, "actual_status", 40) or "nothing we know"
        raise BadAnswer(f"the instance is in state {shown}: look at the console")
    state, remark = STATES[actual]
    intended, bid = row.get("intended_status"), row.get("is_bid") is True
    if intended == "stopped" and actual in ("stopped", "exited"):
        state, remark = "stopped", None
    elif intended == "running" and actual == "stopped":
        remark = (
            "outbid: it is paused and waits for its GPU, the disk bills on"
            if bid
            else "it waits for its GPU, which somebody else has; the disk bills on"
        )
    return Listed(
        platform=Vast.id,
        id=id_of(row),
        name=text(row, "label"),
        state=state,
        price=None if actual == "offline" else _price(row, stopped=state == "stopped"),
        started_at=epoch(row, "start_date"),
        ends_at=epoch(row, "end_date"),
        addresses=_addresses(row),
        facts=texts(row, SHOWN) | ({"rental": "interruptible"} if bid else {}),
        remark=remark,
        parked=_price(row, stopped=True),
    )


def _price(row: Row, *, stopped: bool) -> Money | None:
    """Per hour with the storage in it; of a stopped instance the storage alone."""
    storage = _storage(row)
    if stopped:
        return None if storage is None else Money(storage, "USD")
    if (total := money(row, "dph_total", "USD")) is not None:
        return total
    base = number(row, "dph_base")
    return None if base is None or storage is None else Money(base + storage, "USD")


def _storage(row: Row) -> float | None:
    """USD per hour for the disk; the rate is per GB and month."""
    if (told := number(row, "storage_total_cost")) is not None:
        return told
    rate, size = number(row, "storage_cost"), number(row, "disk_space")
    return None if rate is None or size is None else rate * size / HOURS_PER_MONTH


def _addresses(row: Row) -> tuple[Address, ...]:
    """The direct way to the box first, then the proxy's."""
    ports = row.get("ports")
    mapped = ports.get("22/tcp") if isinstance(ports, dict) else None
    first = mapped[0] if isinstance(mapped, list) and mapped else None
    port = first.get("HostPort") if isinstance(first, dict) else None
    found = (
        address(row.get("public_ipaddr"), port),
        address(row.get("ssh_host"), row.get("ssh_port")),
    )
    return tuple(one for one in found if one is not None)
