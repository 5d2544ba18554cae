"""AutoDL's developer API for Pro instances. An ordinary instance has no API at all.

HTTP 200 is no success here: only `"code": "Success"` is. Times come as {Time, Valid} and count only
where Valid is true. Money is in thousandths of a CNY. The token goes bare, without a scheme before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from gpu_tui.core.account import Address, Listed
from gpu_tui.core.fleet import Instance, Money, ProviderAccess
from gpu_tui.core.plain import plain
from gpu_tui.providers.api import TOTAL_LIMIT, Reply, checked_id
from gpu_tui.providers.base import BadAnswer, KeyRefused, Means, ProviderError, Refused
from gpu_tui.providers.fields import (
    Row,
    add_page,
    address,
    id_of,
    iso_time,
    money,
    number,
    row_of,
    status_of,
    text,
    texts,
)
from gpu_tui.providers.platform import Call, Funds, Platform

PRO = ("pro", "container-pro")  # our profile's word, and the platform's own
PAGE_SIZE, MOST_PAGES = 50, 40
PRICE_KEPT = 3600.0  # seconds: a price is asked for one by one, and seldom changes
PRICE_MISSED = 600.0  # the same where it was not to be had
PATH = "/api/v1/dev/instance/pro/"

# What the API calls an instance's state -> what it means to a meter.
STATES = {
    "creating": "running",
    "starting": "running",
    "running": "running",
    "shutting_down": "running",  # billed until it is down
    "shutdown": "stopped",
}
SHOWN = ("name", "region_name", "charge_type", "gpu_spec_uuid", "status")


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What only a question about one instance tells: its price, and where its ssh is reached."""

    price: Money | None = None
    addresses: tuple[Address, ...] = ()


class AutoDL(Platform):
    """AutoDL's API, as far as it goes."""

    id = "autodl"
    base_url = "https://api.autodl.com"
    key_env = "AUTODL_TOKEN"
    scheme = ""
    paged = True
    lists_all = False  # the same wallet pays for ordinary instances
    calls: ClassVar[Mapping[str, Call]] = {
        "关机": Call("POST", PATH + "power_off", {"instance_uuid": "{id}"}, keeps=True),
        "释放": Call("POST", PATH + "release", {"instance_uuid": "{id}"}, off_by="关机"),
    }

    def __init__(
        self,
        means: Means,
        access: ProviderAccess | None = None,
        *,
        total_limit: float = TOTAL_LIMIT,
    ) -> None:
        super().__init__(means, access, total_limit=total_limit)
        self._snapshots: dict[str, tuple[_Snapshot, float]] = {}  # and when to ask again

    @classmethod
    def refuses(cls, instance: Instance) -> str | None:
        """Ordinary instances are the console's."""
        if instance.provider.variant in PRO:
            return None
        return "only AutoDL's Pro instances have an API (provider.variant: pro)"

    async def show(self, id: str) -> Listed | None:
        """One instance: the list is the only place where one that is gone is missing."""
        checked_id(id, "an instance")
        row = next((row for row in await self._rows() if row.get("uuid") == id), None)
        return None if row is None else await self._priced(_instance(row))

    async def listing(self) -> tuple[Listed, ...]:
        """All Pro instances, to the last page; the price of one that runs is asked for once an hour."""
        rows = self.each(await self._rows(), _instance, "uuid")
        return tuple([await self._priced(one) for one in rows])

    async def funds(self) -> Funds:
        """What is left of the wallet; what is spent is the sum of the instances."""
        reply = await self.read("/api/v1/dev/wallet/balance", method="POST", body={})
        wallet = row_of(self.judged(reply), "wallet")
        assets = money(wallet, "assets", "CNY", scale=1000, signed=True)
        if assets is None:
            return Funds(why={"balance": "the answer holds no assets"})
        blocked = (number(wallet, "blocked_asset") or 0) / 1000
        return Funds(Money(assets.amount - blocked, "CNY"))

    async def _rows(self) -> list[Row]:
        found: list[Row] = []
        total: object = None
        for page in range(1, MOST_PAGES + 1):
            asked = {"page_index": page, "page_size": PAGE_SIZE}
            data = self.judged(await self.read(PATH + "list", method="POST", body=asked))
            told = row_of(data, "list")
            if page == 1 and told.get("list", ...) is None and number(told, "result_total") == 0:
                return found  # `null`, and counted: none at all
            add_page(found, told, "list")
            pages = told.get("max_page")
            if not isinstance(pages, int):
                raise BadAnswer("the list does not say how many pages it has")
            # Pages are cut by position: where one went away meanwhile, another slipped through between two.
            if total is not None and told.get("result_total") != total:
                raise BadAnswer("the list changed while it was read")
            total = told.get("result_total")
            if page >= pages:
                return found
        raise BadAnswer(f"the list has more than {MOST_PAGES} pages")

    async def _priced(self, one: Listed) -> Listed:
        """With its price per hour and its address while it runs; what a stopped one's disk costs is not in
        the API.
        """
        if one.state != "running":
            return one
        now = self.means.clock.boot()
        seen, due = self._snapshots.get(one.id, (_Snapshot(), now))
        if now >= due:
            try:
                seen, kept = await self._snapshot(one.id), PRICE_KEPT
            except ProviderError:
                kept = PRICE_MISSED  # the state is known all the same, and an old price is better than none
            self._snapshots[one.id] = (seen, now + kept)
        return replace(one, price=seen.price, addresses=seen.addresses)

    async def _snapshot(self, id: str) -> _Snapshot:
        # Docs show a JSON body even for GET; clients in the field send a query.
        asked = {"instance_uuid": id}
        data = self.judged(await self.read(PATH + "snapshot", query=asked, body=asked))
        if not isinstance(data, dict):
            return _Snapshot()
        reached = address(data.get("proxy_host"), data.get("ssh_port"))
        price = money(data, "payg_price", "CNY", scale=1000)
        return _Snapshot(price, (reached,) if reached else ())

    def agreed(self, value: object) -> bool:
        """`judged` took only a success; it carries nothing more."""
        return True

    def judged(self, reply: Reply) -> object:
        """What stands in `data` of a success."""
        if reply.status != 200:
            return super().judged(reply)
        value = reply.json()
        if not isinstance(value, dict) or not isinstance(code := value.get("code"), str):
            raise BadAnswer("the answer names no code")
        if code != "Success":
            said = text(value, "msg", 120)
            kind = KeyRefused if code.lower().startswith("auth") else Refused
            raise kind(f"the API refused ({plain(code, 40)}){f': {said}' if said else ''}")
        return value.get("data")


def _instance(row: Row) -> Listed:
    """The allow-listed fields of one instance."""
    status = status_of(row, STATES, "instance")
    stopped = STATES[status] == "stopped"
    timer = _valid_time(row.get("timed_shutdown_at"))
    return Listed(
        platform=AutoDL.id,
        id=id_of(row, "uuid"),
        name=text(row, "name"),
        state=STATES[status],
        started_at=_valid_time(row.get("started_at")),
        stopped_at=_valid_time(row.get("stopped_at")) if stopped else None,
        ends_at=_valid_time(row.get("expired_at")),
        facts=texts(row, SHOWN),
        deadlines={} if timer is None else {"autodl-timed-shutdown": timer},
    )


def _valid_time(value: object) -> float | None:
    """{Time, Valid} as epoch seconds; None where it is not valid or carries no zone."""
    valid = isinstance(value, dict) and value.get("Valid") is True
    return iso_time(value.get("Time")) if valid and isinstance(value, dict) else None
