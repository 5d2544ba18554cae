"""RunPod's control API, REST v2: read a pod, stop it, terminate it. Nothing of a pod's env is kept.

A destructive call is sent once and never repeated. Whatever it answered, only a later read is proof:
EXITED for a stop, not found (after it was seen) for a terminate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TypeGuard

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

BASE_URL = "https://api.runpod.io"
BASE_URL_ENV = "GPU_TUI_RUNPOD_BASE_URL"
KEY_ENV = "RUNPOD_API_KEY"

# What the API calls a pod's state -> what it means to a meter. ERROR is not known to be either.
STATES = {
    "PROVISIONING": "running",
    "STARTING": "running",
    "RUNNING": "running",
    "EXITED": "stopped",
    "TERMINATED": "stopped",  # on its way out; only "not found" is gone
}
# verb -> (method, path after the pod, body, the status that means "accepted")
CALLS: Mapping[str, tuple[str, str, dict[str, str] | None, frozenset[int]]] = {
    "stop": ("POST", "/action", {"action": "stop"}, frozenset({200})),
    "terminate": ("DELETE", "", None, frozenset({204})),
}
SHOWN = ("name", "cloud", "dataCenterId")  # the only texts of a pod that are kept


class RunPod:
    """One pod's control plane. The key is read from the environment per call and never stored."""

    reads = True

    def __init__(
        self,
        instance: Instance,
        means: Means,
        *,
        total_limit: float = TOTAL_LIMIT,
    ) -> None:
        """ProviderError where the base URL would send the key in clear."""
        self._env = means.env
        self._clock = means.clock
        self._id = instance.provider.id
        base = checked_base_url(
            instance.provider.base_url or means.env.get(BASE_URL_ENV) or BASE_URL
        )
        self._api = Api(base, instance.provider.key_env or KEY_ENV, "Bearer", total_limit)
        self._seen: set[str] = set()

    def offers(self, verb: Verb) -> bool:
        """Stop and terminate of the pod itself; nothing else of the account is touched."""
        return verb.verb in CALLS

    def remember(self, id: str) -> None:
        """This pod existed once."""
        self._seen.add(id)

    async def read(self, id: str) -> ProviderState:
        """The pod now. Not found counts as gone only for a pod that was seen before."""
        try:
            status, body = await self._send("GET", id)
            if status == 404:
                return self._not_found(id)
            state = self._pod(id, _checked(status, body))
        except ProviderError as error:
            return ProviderState(error=str(error), read_at=None)
        self._seen.add(id)
        return state

    async def stop(self, permit: StopPermit) -> Answer:
        """Send the one call this permit stands for. Never raises ProviderError and never repeats."""
        permit.redeem(self._id, self._clock.boot())
        call = CALLS.get(permit.verb)
        if call is None or self._id is None:
            return Answer(AnswerKind.REFUSED, f"nothing here carries out {permit.verb}")
        method, tail, body, accepted = call
        try:
            status, text = await self._send(method, self._id, tail, body)
        except NoAnswer as error:
            return Answer(AnswerKind.UNKNOWN, str(error))
        except ProviderError as error:
            return Answer(AnswerKind.REFUSED, str(error))
        if status in accepted:
            return Answer(AnswerKind.ACCEPTED, f"accepted ({status})", status)
        if status == 404:
            return Answer(AnswerKind.UNKNOWN, "it says that there is no such pod", status)
        try:
            _checked(status, text)
        except (KeyRefused, TooManyRequests) as error:
            return Answer(AnswerKind.REFUSED, str(error), status)
        except ProviderError as error:
            kind = AnswerKind.REFUSED if 400 <= status < 500 else AnswerKind.UNKNOWN
            return Answer(kind, str(error), status)
        return Answer(AnswerKind.UNKNOWN, f"an answer that was not agreed ({status})", status)

    def _not_found(self, id: str) -> ProviderState:
        if id in self._seen:
            return ProviderState("gone", read_at=self._clock.now())
        return ProviderState(
            error="no such pod was ever seen with this key: check provider.id and the key's account"
        )

    def _pod(self, id: str, body: object) -> ProviderState:
        """The allow-listed fields of one pod; BadAnswer for any other shape."""
        if not isinstance(body, dict) or body.get("id") != id:
            raise BadAnswer("the answer is not about this pod")
        status = body.get("status")
        if not isinstance(status, str):
            raise BadAnswer("the answer names no status")
        if status not in STATES:
            raise BadAnswer(f"the pod is in state {plain(status, 40)}: look at the console")
        cost = body.get("cost")
        price = None
        if _is_number(cost) and status == "RUNNING":
            price = Money(cost, "USD")  # a stopped pod says 0.0 although its disk bills
        facts = {name: plain(body[name], 80) for name in SHOWN if isinstance(body.get(name), str)}
        facts["status"] = status
        return ProviderState(
            state=STATES[status],
            read_at=self._clock.now(),
            price=price,
            started_at=_time(body.get("startedAt")),
            facts=facts,
            address=_address(body.get("ssh")),
        )

    async def _send(
        self, method: str, id: str, tail: str = "", body: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        path = f"/v2/pods/{checked_id(id, 'a pod')}{tail}"
        return await self._api.send(self._env, method, path, body=body)


def _checked(status: int, body: bytes) -> object:
    """The JSON of a 200, or the error that the status means."""
    if status in (401, 403):
        raise KeyRefused(f"the API does not take the key ({status})")
    if status == 429:
        raise TooManyRequests("the API asks to slow down (429): try again in a minute")
    try:
        value: object = json.loads(body) if body else None
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is not JSON ({status})") from error
    if status != 200:
        said = value.get("detail") or value.get("title") if isinstance(value, dict) else None
        tail = f": {plain(said, 120)}" if isinstance(said, str) else ""
        raise BadAnswer(f"the API refused ({status}){tail}")
    return value


def _address(ssh: object) -> tuple[str, int] | None:
    """Where the pod's own sshd is reached; None where the API names no such place (proxy, stopped)."""
    direct = ssh.get("direct") if isinstance(ssh, dict) else None
    if direct is None:
        return None
    host = direct.get("host") if isinstance(direct, dict) else None
    port = direct.get("port") if isinstance(direct, dict) else None
    if not isinstance(host, str) or isinstance(port, bool) or not isinstance(port, int):
        raise BadAnswer("the pod's ssh address is not one")
    return plain(host, 253), port


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6


def _time(value: object) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed.timestamp() if parsed.tzinfo else None
