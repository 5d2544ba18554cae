"""Featurize: returned by one HTTP call where a token is set, else by the box's own program. No list, no price.

HTTP 200 is no success here: only `"status": 0` is. No API says what an id belongs to: the box must say
the same id of itself (FEATURIZE_INSTANCE_ID, the source of the featurize package, 0.0.27).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gpu_tui.core.account import Listed
from gpu_tui.core.command import Completed
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.providers.api import TOTAL_LIMIT, Reply
from gpu_tui.providers.base import Answer, BadAnswer, Means, Refused
from gpu_tui.providers.fields import text
from gpu_tui.providers.inside import Inside
from gpu_tui.providers.platform import Call, Platform

RETURN = "实例归还"


class FeaturizeApi(Platform):
    """The one call that the official client makes."""

    id = "featurize"
    base_url = "https://featurize.cn"
    key_env = "FEATURIZE_API_TOKEN"
    header = "Token"
    scheme = ""
    calls: ClassVar[Mapping[str, Call]] = {
        RETURN: Call("POST", "/bus/api/v1/virtual_machine/{id}/release", {})
    }

    async def show(self, id: str) -> Listed | None:
        """Nobody can be asked."""
        raise BadAnswer("no API tells the state of an instance")

    async def listing(self) -> tuple[Listed, ...]:
        """Nobody can be asked."""
        raise BadAnswer("no API lists the instances")

    def agreed(self, value: object) -> bool:
        """`judged` took only a success; it carries nothing more."""
        return True

    def judged(self, reply: Reply) -> object:
        """The `data` of a success."""
        value = super().judged(reply)
        status = value.get("status") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(status, int) or isinstance(status, bool):
            raise BadAnswer("the answer names no status")
        if status != 0:
            raise Refused(
                f"the API refused ({status}): {text(value, 'message', 120) or 'no reason'}"
            )
        return value.get("data")


class Featurize(Inside):
    """Featurize: over HTTP where a token and the instance's id are there, else from inside the box."""

    verb = RETURN
    look = "Look at 我的实例 (https://featurize.cn/vm): only its list shows that the bill ended."
    # A login shell may lack what the first process has; without an id the client would ask for nothing.
    _find = """\
PATH=$PATH:$HOME/.local/bin:/environment/miniconda3/bin:/opt/conda/bin
id=${FEATURIZE_INSTANCE_ID:-$(tr '\\0' '\\n' </proc/1/environ | sed -n 's/^FEATURIZE_INSTANCE_ID=//p')}
[ -n "$id" ] || exit 126
"""
    presence = _find + 'printf "%s\\n" "$id"\n'
    script = f"""\
{_find}command -v featurize >/dev/null || exit 127
FEATURIZE_INSTANCE_ID=$id exec featurize instance release
"""

    def __init__(
        self, instance: Instance, means: Means, *, total_limit: float = TOTAL_LIMIT
    ) -> None:
        """ProviderError where the base URL would send the token in clear."""
        super().__init__(instance, means)
        api = FeaturizeApi(means, instance.provider, total_limit=total_limit)
        usable = self._id is not None and means.env.get(api.api.key_env, "").strip()
        self._api = api if usable else None

    def offers(self, verb: Verb) -> bool:
        """One of the two ways, never both: what is asked for is what is done."""
        return self._api.offers(verb) if self._api else super().offers(verb)

    def _seen(self, done: Completed) -> ProviderState:
        """The API would return whatever has the id: the box must say that this is it."""
        state = super()._seen(done)
        if self._api is not None and state.state == "running" and "id" not in state.facts:
            return ProviderState(error="the box does not say which instance it is: use the console")
        return state

    async def stop(self, permit: StopPermit) -> Answer:
        """Return the instance, once."""
        if self._api is not None and self._id is not None:
            return await self._api.call(permit, self._id)
        return await self._carry_out(permit)
