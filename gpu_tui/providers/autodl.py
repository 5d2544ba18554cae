"""AutoDL's developer API for Pro instances: read one, power it off, release it.

HTTP 200 is no success here: only `"code": "Success"` is. Times come as {Time, Valid} and count only
where Valid is true. Prices are thousandths of a CNY. An ordinary instance has no API at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from gpu_tui.core.fleet import Instance, Money, ProviderState
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Verb
from gpu_tui.providers.api import TOTAL_LIMIT, Api, checked_base_url, checked_id
from gpu_tui.providers.base import (
    Answer,
    AnswerKind,
    BadAnswer,
    KeyRefused,
    Means,
    NoAnswer,
    ProviderError,
    TooManyRequests,
)

BASE_URL = "https://api.autodl.com"
BASE_URL_ENV = "GPU_TUI_AUTODL_BASE_URL"
KEY_ENV = "AUTODL_TOKEN"
PRO = ("pro", "container-pro")  # our profile's word, and the platform's own
PAGE_SIZE, MOST_PAGES = 50, 40

# What the API calls an instance's state -> what it means to a meter.
STATES = {
    "creating": "running",
    "starting": "running",
    "running": "running",
    "shutting_down": "running",  # billed until it is down
    "shutdown": "stopped",
}
CALLS = {"关机": "power_off", "释放": "release"}
SHOWN = ("name", "region_name", "charge_type", "gpu_spec_uuid")  # the only texts that are kept


class AutoDL:
    """One Pro instance's control plane. The token is read from the environment per call."""

    reads = True

    def __init__(
        self,
        instance: Instance,
        means: Means,
        *,
        total_limit: float = TOTAL_LIMIT,
    ) -> None:
        """ProviderError for an ordinary instance, and for a base URL that would leak the token."""
        if instance.provider.variant not in PRO:
            raise ProviderError("only AutoDL's Pro instances have an API (provider.variant: pro)")
        self._env = means.env
        self._clock = means.clock
        self._id = instance.provider.id
        base = checked_base_url(
            instance.provider.base_url or means.env.get(BASE_URL_ENV) or BASE_URL
        )
        # AutoDL takes the bare token, without a scheme before it.
        self._api = Api(base, instance.provider.key_env or KEY_ENV, total_limit=total_limit)
        self._seen: set[str] = set()

    def offers(self, verb: Verb) -> bool:
        """Power off and release, where the profile row is the API's and not the console's."""
        return verb.verb in CALLS and verb.via == "http"

    def remember(self, id: str) -> None:
        """This instance existed once."""
        self._seen.add(id)

    async def read(self, id: str) -> ProviderState:
        """The instance now. Absent from the whole list counts as gone only if it was seen before."""
        try:
            row = await self._find(id)
            if row is None:
                return self._absent(id)
            state = self._row(row)
        except ProviderError as error:
            return ProviderState(error=str(error))
        self._seen.add(id)
        try:
            return replace(state, price=await self._price(id, state.state))
        except ProviderError:
            return state  # a price that cannot be had is not known; the state is, all the same

    async def stop(self, permit: StopPermit) -> Answer:
        """Send the one call this permit stands for. Never raises ProviderError and never repeats."""
        permit.redeem(self._id, self._clock.boot())
        call = CALLS.get(permit.verb)
        if call is None or self._id is None:
            return Answer(AnswerKind.REFUSED, f"nothing here carries out {permit.verb}")
        try:
            await self._ask("POST", call, {"instance_uuid": self._id})
        except NoAnswer as error:
            return Answer(AnswerKind.UNKNOWN, str(error))
        except ProviderError as error:
            return Answer(AnswerKind.REFUSED, str(error))
        return Answer(AnswerKind.ACCEPTED, "accepted", 200)

    async def _find(self, id: str) -> Mapping[str, object] | None:
        """The instance's row, or None once the last page was read without it."""
        for page in range(1, MOST_PAGES + 1):
            data = await self._ask("POST", "list", {"page_index": page, "page_size": PAGE_SIZE})
            rows = data.get("list") if isinstance(data, dict) else None
            if not isinstance(data, dict) or not isinstance(rows, list):
                raise BadAnswer("the answer holds no list of instances")
            for row in rows:
                if isinstance(row, dict) and row.get("uuid") == id:
                    return row
            pages = data.get("max_page")
            if not isinstance(pages, int):
                raise BadAnswer("the list does not say how many pages it has")
            if page >= pages:
                return None
        raise BadAnswer(f"the list has more than {MOST_PAGES} pages")

    def _absent(self, id: str) -> ProviderState:
        if id in self._seen:
            return ProviderState("gone", read_at=self._clock.now())
        return ProviderState(
            error="no such instance was ever seen with this token: check provider.id and the account"
        )

    def _row(self, row: Mapping[str, object]) -> ProviderState:
        status = row.get("status")
        if not isinstance(status, str):
            raise BadAnswer("the answer names no status")
        if status not in STATES:
            raise BadAnswer(
                f"the instance is in state {plain(status, 40)}: look at the provider's console"
            )
        stopped = STATES[status] == "stopped"
        facts = {
            name: plain(value, 80)
            for name in SHOWN
            if isinstance(value := row.get(name), str) and value
        }
        return ProviderState(
            state=STATES[status],
            read_at=self._clock.now(),
            started_at=_valid_time(row.get("started_at")),
            stopped_at=_valid_time(row.get("stopped_at")) if stopped else None,
            facts={**facts, "status": status},
        )

    async def _price(self, id: str, state: str) -> Money | None:
        """CNY per hour while it runs; what a stopped instance's disk costs is not in the API."""
        if state != "running":
            return None
        data = await self._ask("GET", "snapshot", {"instance_uuid": id})
        amount = data.get("payg_price") if isinstance(data, dict) else None
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            return None
        return Money(amount / 1000, "CNY") if 0 <= amount < 1e9 else None

    async def _ask(self, method: str, call: str, body: dict[str, object]) -> object:
        """The `data` of one successful answer; a ProviderError for everything else."""
        uuid = body.get("instance_uuid")
        if uuid is not None:
            checked_id(str(uuid), "an instance")
        status, text = await self._api.send(
            self._env,
            method,
            f"/api/v1/dev/instance/pro/{call}",
            # Docs show a JSON body even for GET; clients in the field send a query.
            query={"instance_uuid": str(uuid)} if method == "GET" else None,
            body=body,
        )
        return _data(status, text)


def _data(status: int, text: bytes) -> object:
    """What stands in `data` of a success."""
    if status in (401, 403):
        raise KeyRefused(f"the API does not take the token ({status})")
    if status == 429:
        raise TooManyRequests("the API asks to slow down (429): try again in a minute")
    if status >= 500:
        raise NoAnswer(f"the API has trouble of its own ({status})")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is not JSON ({status})") from error
    if not isinstance(value, dict) or not isinstance(code := value.get("code"), str):
        raise BadAnswer(f"the answer names no code ({status})")
    if status != 200 or code != "Success":
        said = value.get("msg")
        tail = f": {plain(said, 120)}" if isinstance(said, str) and said else ""
        kind = KeyRefused if code.lower().startswith("auth") else BadAnswer
        raise kind(f"the API refused ({plain(code, 40)}){tail}")
    return value.get("data")


def _valid_time(value: object) -> float | None:
    """{Time, Valid} as epoch seconds; None where it is not valid or carries no zone."""
    if not isinstance(value, dict) or value.get("Valid") is not True:
        return None
    try:
        parsed = datetime.fromisoformat(str(value.get("Time")))
    except ValueError:
        return None
    return parsed.timestamp() if parsed.tzinfo else None
