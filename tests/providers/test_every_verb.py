"""Every verb of every profile: who carries it out, by which call, and what may prove its end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpu_tui.core import gate as rules
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.ending import proofs
from gpu_tui.core.fleet import Instance, ProviderAccess, SchedulerScope, SshAccess
from gpu_tui.core.gate import StopPermit
from gpu_tui.providers.autodl_box import AutoDLBox
from gpu_tui.providers.base import AnswerKind, Means, Provider, SeenFromInside
from gpu_tui.providers.featurize import Featurize
from gpu_tui.providers.kubernetes import Kubernetes
from gpu_tui.providers.manual import Manual
from gpu_tui.providers.matpool import Matpool
from gpu_tui.providers.registry import PLATFORMS, provider_for
from gpu_tui.providers.rented import Rented
from gpu_tui.providers.slurm import Slurm
from gpu_tui.resources import load_profiles

PROFILES = load_profiles()
# What an instance needs in the fleet file before its platform can be asked anything.
ACCESS = {"kubernetes": "job/train-a", "slurm": "17", "vastai": "4242"}
BOX, API, STEPS = "program", "api", "steps"

# (profile, variant, verb:via) -> who carries it out, how, and what proves its end from here.
# proof: "api" the provider's word; "person" nothing but a typed statement.
TABLE: dict[tuple[str, str | None, str], tuple[type, str, str, str]] = {
    ("autodl", "container", "关机:ssh"): (AutoDLBox, BOX, "/usr/bin/shutdown", "person"),
    ("autodl", "container", "关机:console"): (AutoDLBox, STEPS, "已关机", "person"),
    ("autodl", "container", "释放:console"): (AutoDLBox, STEPS, "释放实例", "person"),
    ("autodl", "tidal", "关机:ssh"): (AutoDLBox, BOX, "/usr/bin/shutdown", "person"),
    ("autodl", "tidal", "关机:console"): (AutoDLBox, STEPS, "已关机", "person"),
    ("autodl", "tidal", "释放:console"): (AutoDLBox, STEPS, "释放实例", "person"),
    ("autodl", "pro", "关机:http"): (Rented, API, "POST /api/v1/dev/instance/pro/power_off", "api"),
    ("autodl", "pro", "关机:console"): (Rented, STEPS, "已关机", "api"),
    ("autodl", "pro", "释放:http"): (Rented, API, "POST /api/v1/dev/instance/pro/release", "api"),
    ("colab-kaggle", "colab-free", "disconnect-and-delete:console"): (
        *(Manual, STEPS, "Disconnect and delete runtime", "person"),
    ),
    ("colab-kaggle", "kaggle-interactive", "stop-session:console"): (
        *(Manual, STEPS, "Stop Session", "person"),
    ),
    ("featurize", None, "实例归还:ssh"): (Featurize, BOX, "featurize instance release", "person"),
    ("featurize", "token", "实例归还:http"): (
        *(Featurize, API, "POST /bus/api/v1/virtual_machine/{id}/release", "person"),
    ),
    ("featurize", None, "实例归还:console"): (Featurize, STEPS, "归还", "person"),
    ("generic-ssh", None, "manual:console"): (Manual, STEPS, "ends the bill", "person"),
    ("gpushare", None, "关机:console"): (Manual, STEPS, "24 hours", "person"),
    ("gpushare", None, "释放:console"): (Manual, STEPS, "what storage still bills", "person"),
    ("kubernetes", None, "delete:cli"): (Kubernetes, BOX, "kubectl", "api"),
    ("kubernetes", None, "suspend:console"): (Kubernetes, STEPS, "suspend", "person"),
    ("kubernetes", None, "scale-node-pool:console"): (
        Kubernetes,
        STEPS,
        "Scale the pool",
        "person",
    ),
    ("kubernetes", None, "delete-pvc:console"): (Kubernetes, STEPS, "delete pvc", "person"),
    ("lambda", None, "terminate:http"): (
        *(Rented, API, "POST /api/v1/instance-operations/terminate", "api"),
    ),
    ("lambda", None, "delete-filesystem:http"): (Rented, STEPS, "file system", "person"),
    ("lanrui", None, "停止:console"): (Manual, STEPS, "已停止", "person"),
    ("lanrui", None, "销毁数据盘:console"): (Manual, STEPS, "销毁", "person"),
    ("matpool", None, "停止并释放:ssh"): (Matpool, BOX, "matncli node cancel", "person"),
    ("matpool", None, "停止并释放:console"): (Matpool, STEPS, "停止并释放", "person"),
    ("paperspace", "machine", "shut-down:http"): (
        *(Rented, API, "PATCH /v1/machines/{id}/stop", "api"),
    ),
    ("paperspace", "machine", "shut-down:console"): (Rented, STEPS, "says Off", "api"),
    ("paperspace", "machine", "destroy:http"): (Rented, API, "DELETE /v1/machines/{id}", "api"),
    ("paperspace", "machine", "destroy:console"): (Rented, STEPS, "Deactivate", "api"),
    ("paperspace", "machine", "delete-snapshot:http"): (Rented, STEPS, "snapshots", "person"),
    ("paperspace", "notebook-free", "stop-notebook:console"): (
        *(Rented, STEPS, "Stop Machine", "person"),
    ),
    ("paperspace", "notebook-free", "delete-notebook:console"): (
        *(Rented, STEPS, "choose Delete", "person"),
    ),
    ("runpod", "secure", "stop:http"): (Rented, API, "POST /v2/pods/{id}/action", "api"),
    ("runpod", "secure", "terminate:http"): (Rented, API, "DELETE /v2/pods/{id}", "api"),
    ("runpod", "secure", "delete-network-volume:http"): (Rented, STEPS, "network volume", "person"),
    ("slurm", None, "scancel:ssh"): (Slurm, BOX, "scancel", "api"),
    ("slurm", None, "scancel:console"): (Slurm, STEPS, "scontrol show job", "api"),
    ("vastai", None, "stop:http"): (Rented, API, "PUT /api/v0/instances/{id}/", "api"),
    ("vastai", None, "destroy:http"): (Rented, API, "DELETE /api/v0/instances/{id}/", "api"),
    ("vastai", None, "delete-volume:http"): (Rented, STEPS, "volume", "person"),
}


async def silent(argv: Sequence[str], *, limit: float) -> Completed:
    """A box, or a machine, that never answers."""
    raise CommandFailed("no answer")


def provider_of(profile: str, variant: str | None) -> Provider:
    env = {"FEATURIZE_API_TOKEN": "t"} if variant == "token" else {}
    access = ProviderAccess(ACCESS.get(profile, "x-1"), None if variant == "token" else variant)
    instance = Instance(
        "box",
        SshAccess("h"),
        profile,
        provider=access,
        scheduler=profile if profile in ("kubernetes", "slurm") else None,
        scheduler_scope=SchedulerScope(kubectl="local"),
    )
    means = Means(env, ManualClock(), on_box=silent, here=silent)
    return provider_for(instance, PROFILES, means)


def test_every_row_of_every_profile_is_in_the_table() -> None:
    rows = {(id, row.key) for id, profile in PROFILES.items() for row in profile.teardown}
    assert len(PROFILES) == 13
    assert {(id, key) for id, _, key in TABLE} == rows


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(str(part) for part in row))
async def test_who_carries_it_out_and_what_may_prove_its_end(
    row: tuple[str, str | None, str],
) -> None:
    profile, variant, key = row
    kind, way, words, proof = TABLE[row]
    verb = next(one for one in PROFILES[profile].teardown if one.key == key)
    provider = provider_of(profile, variant)
    assert isinstance(provider, kind)
    assert provider.offers(verb) is (way != STEPS)
    if way == STEPS:
        instance = Instance("box", SshAccess("h"), profile, provider=ProviderAccess("x-1", variant))
        permit = StopPermit("box", "x-1", verb.verb, verb.effect, "e", 2e3, token=rules._MINT)
        answer = await Manual(instance, PROFILES[profile], ManualClock()).stop(permit)
        assert answer.kind is AnswerKind.STEPS
        assert words in "\n".join(answer.lines)
        assert len(answer.lines) >= 3
    elif way == API:
        platform = getattr(provider, "_platform", None) or getattr(provider, "_api", None)
        call = type(platform).calls[verb.verb]
        assert f"{call.method} {call.path}" == words
        assert call.keeps or not verb.park
    else:
        script = getattr(type(provider), "script", None)
        assert words in (script or words)
    same = [one for one in PROFILES[profile].teardown if one.verb == verb.verb]
    watched = provider.reads and any(provider.offers(one) for one in same)
    assert ("api" if watched else "person") == proof
    # A box that is silent is never taken for one that is gone, whoever is asked.
    if isinstance(provider, SeenFromInside):
        assert (await provider.look_inside()).state not in proofs(verb.effect)
    if profile not in PLATFORMS:
        assert (await provider.read("x-1")).state == "unknown"
