"""The platforms with an HTTPS API beside their loopback servers: what the tests of all of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from autodl_server import ID as AUTODL_ID
from autodl_server import AutoDLServer
from lambda_server import ID as LAMBDA_ID
from lambda_server import LambdaServer
from local_api import LocalApi
from paperspace_server import ID as PAPERSPACE_ID
from paperspace_server import PaperspaceServer
from runpod_cloud import ID as RUNPOD_ID
from runpod_cloud import RunPodCloud
from vast_server import VastServer

from gpu_tui.core import gate as rules
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, ProviderAccess, SshAccess
from gpu_tui.core.gate import StopPermit
from gpu_tui.providers.autodl import AutoDL
from gpu_tui.providers.base import Answer, Means
from gpu_tui.providers.lambda_cloud import Lambda
from gpu_tui.providers.ledger import Ledger
from gpu_tui.providers.paperspace import Paperspace
from gpu_tui.providers.platform import Call, Platform
from gpu_tui.providers.rented import Rented
from gpu_tui.providers.runpod import RunPod
from gpu_tui.providers.vastai import Vast


@dataclass(frozen=True)
class Seat:
    """One platform. `destroy` is its verb that deletes, `call` what that sends; `forget` empties it."""

    platform: type[Platform]
    server: Callable[[], Any]
    id: str
    destroy: str
    call: str
    variant: str | None = None
    ready: Callable[[Any], None] = lambda server: None  # what must be so before a destroy is taken


def _off(server: Any) -> None:
    for row in server.rows.values():
        row["state" if isinstance(server, PaperspaceServer) else "status"] = (
            "off" if isinstance(server, PaperspaceServer) else "shutdown"
        )


async def already_off(
    platform: Platform, off: Call, call: Call, permit: StopPermit, id: str, state: str
) -> Answer:
    """In the place of switching it off first, where a test is about the one call that destroys."""
    return await platform._once(call, id, lambda: permit.hold_to(platform.means.clock.boot()))


SEATS = {
    "runpod": Seat(RunPod, RunPodCloud, RUNPOD_ID, "terminate", f"DELETE /v2/pods/{RUNPOD_ID}"),
    "vastai": Seat(Vast, VastServer, "4242", "destroy", "DELETE /api/v0/instances/4242/"),
    "lambda": Seat(
        Lambda, LambdaServer, LAMBDA_ID, "terminate", "POST /api/v1/instance-operations/terminate"
    ),
    "paperspace": Seat(
        Paperspace,
        PaperspaceServer,
        PAPERSPACE_ID,
        "destroy",
        f"DELETE /v1/machines/{PAPERSPACE_ID}",
        ready=_off,
    ),
    "autodl": Seat(
        AutoDL,
        AutoDLServer,
        AUTODL_ID,
        "释放",
        "POST /api/v1/dev/instance/pro/release",
        "pro",
        ready=_off,
    ),
}


@dataclass
class Desk:
    """One platform's server with what speaks to it; `pauses` are the seconds it waited between questions."""

    seat: Seat
    server: LocalApi
    pauses: list[float] = field(default_factory=list)
    clock: ManualClock = field(default_factory=lambda: ManualClock(1_795_300_000.0))
    key: str = "test-key"

    @property
    def means(self) -> Means:
        return Means({"KEY": self.key}, self.clock, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(seconds)

    def access(self, id: str | None = None) -> ProviderAccess:
        return ProviderAccess(id or self.seat.id, self.seat.variant, "KEY", self.server.url)

    def rented(self, *, id: str | None = None, limit: float = 5.0) -> Rented:
        instance = Instance("box", SshAccess("h"), self.seat.platform.id, provider=self.access(id))
        return Rented(self.seat.platform, instance, self.means, total_limit=limit)

    def ledger(self, *ids: str) -> Ledger:
        platform = self.seat.platform(self.means, self.access(), total_limit=5.0)
        return Ledger(platform, f"{platform.id}:KEY", ("box",), self.means, ids)

    def permit(self, verb: str | None = None, effect: str = "destroy") -> StopPermit:
        """A permit as the gate would mint it; tests of providers stand behind the gate."""
        id, verb = self.seat.id, verb or self.seat.destroy
        ends = self.clock.boot() + 1000
        return StopPermit("box", id, verb, effect, "evidence", ends, token=rules._MINT)

    @property
    def calls(self) -> list[str]:
        """The requests that would change something."""
        return [
            line
            for line in self.server.lines("POST", "PUT", "PATCH", "DELETE")
            if not line.endswith(("/graphql", "/pro/list", "/wallet/balance"))
        ]
