"""Boxes that release themselves: the real scripts under a real sh, with the platform's program in place."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from local_api import Asked, LocalApi, Said

from gpu_tui.core import gate as rules
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.fleet import Instance, ProviderAccess, SchedulerScope, SshAccess
from gpu_tui.core.gate import GateShut, StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.providers.autodl_box import AutoDLBox
from gpu_tui.providers.base import AnswerKind, Means
from gpu_tui.providers.featurize import Featurize
from gpu_tui.providers.matpool import Matpool
from gpu_tui.providers.registry import provider_for
from gpu_tui.resources import load_profiles

RETURN, RELEASE = "实例归还", "停止并释放"


def permit(verb: str, id: str | None = None) -> StopPermit:
    """A permit as the gate would mint it; tests of providers stand behind the gate."""
    return StopPermit("box", id, verb, "destroy", "evidence", 2_000.0, token=rules._MINT)


class Box:
    """Runs programs here as they would run on the box, with its own PATH."""

    def __init__(self, bin: Path) -> None:
        self.bin = bin
        self.ran: list[Sequence[str]] = []
        self.id: str | None = "vm-1"

    def has(self, name: str, script: str) -> None:
        """A program of the box."""
        program = self.bin / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    async def __call__(self, argv: Sequence[str], *, limit: float) -> Completed:
        self.ran.append(argv)
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": os.fspath(self.bin)}
        if self.id is not None:
            environment["FEATURIZE_INSTANCE_ID"] = self.id
        process = await asyncio.create_subprocess_exec(
            *argv, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(limit):
            out, err = await process.communicate()
        return Completed(out, err, process.returncode)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


class FeaturizeServer(LocalApi):
    """`status` is what the answer says beside HTTP 200."""

    status: object = 0

    def answer(self, asked: Asked) -> Said:
        if asked.headers.get("token") != self.key:
            return Said(401, {"status": 401, "data": {}, "message": "unauthorized"})
        return Said(200, {"status": self.status, "data": {}, "message": "a word"})


@pytest.fixture
async def server() -> AsyncIterator[FeaturizeServer]:
    async with FeaturizeServer() as running:
        yield running


def featurize(box: Box | None, server: LocalApi | None = None, key: str = "test-key") -> Featurize:
    access = ProviderAccess("vm-1" if server else None, base_url=server.url if server else None)
    instance = Instance("box", SshAccess("h"), "featurize", provider=access)
    env = {"FEATURIZE_API_TOKEN": key} if server else {}
    return Featurize(instance, Means(env, ManualClock(), on_box=box))


async def test_featurize_returns_itself(box: Box, tmp_path: Path) -> None:
    box.has("featurize", f'echo "$FEATURIZE_INSTANCE_ID $@" > {tmp_path}/said')
    answer = await featurize(box).stop(permit(RETURN))
    assert (tmp_path / "said").read_text() == "vm-1 instance release\n"
    assert answer.kind is AnswerKind.ACCEPTED
    assert "featurize.cn" in answer.lines[0]


async def test_matpools_token_stays_on_the_box(box: Box) -> None:
    instance = Instance("box", SshAccess("h"), "matpool")
    provider = Matpool(instance, Means({}, ManualClock(), on_box=box))
    answer = await provider.stop(permit(RELEASE))  # there is no matncli here
    assert (answer.kind, len(box.ran)) == (AnswerKind.REFUSED, 1)
    assert "nothing was run" in answer.text
    # The same program, with this machine's stand-ins for what only a rented box has.
    box.has("matncli", f'echo "$MATCLOUD_CANCELTOKEN $@" > {box.bin}/said')
    (box.bin / "environ").write_bytes(b"A=1\0MATCLOUD_CANCELTOKEN=t=0k\0B=2\0")
    script = provider.script.replace("/public/script/", f"{box.bin}/")
    done = await box(
        ("sh", "-c", script.replace("/proc/1/environ", f"{box.bin}/environ")), limit=10
    )
    assert done.exit == 0
    assert (box.bin / "said").read_text() == (
        "t=0k node cancel -url https://matpool.com/api/public/node\n"
    )
    assert "t=0k" not in script


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("exit 0", AnswerKind.ACCEPTED),
        ("echo canary; exit 3", AnswerKind.UNKNOWN),
        (None, AnswerKind.REFUSED),
    ],
)
async def test_an_exit_code_is_no_proof_and_no_output_is_kept(
    box: Box, script: str | None, kind: AnswerKind
) -> None:
    if script is not None:
        box.has("featurize", script)
    provider = featurize(box)
    answer = await provider.stop(permit(RETURN))
    assert answer.kind is kind
    assert "canary" not in repr(answer)
    state = await provider.read("")
    assert state.state == "unknown"
    assert state.error
    assert not provider.reads


async def test_a_box_that_goes_away_meanwhile_is_unknown() -> None:
    async def gone(argv: Sequence[str], *, limit: float) -> Completed:
        raise CommandFailed("box is not connected")

    instance = Instance("box", SshAccess("h"), "featurize")
    provider = Featurize(instance, Means({}, ManualClock(), on_box=gone))
    assert (await provider.stop(permit(RETURN))).kind is AnswerKind.UNKNOWN


async def test_with_a_token_it_is_one_http_call(box: Box, server: FeaturizeServer) -> None:
    provider = featurize(box, server)
    answer = await provider.stop(permit(RETURN, "vm-1"))
    assert answer.kind is AnswerKind.ACCEPTED
    (asked,) = server.requests
    assert asked.line == "POST /bus/api/v1/virtual_machine/vm-1/release"
    assert asked.headers["token"] == "test-key"
    assert "authorization" not in asked.headers
    assert box.ran == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [(10013, AnswerKind.REFUSED), (None, AnswerKind.UNKNOWN), ("0", AnswerKind.UNKNOWN)],
)
async def test_a_status_that_is_not_0_is_no_success(
    server: FeaturizeServer, status: object, kind: AnswerKind
) -> None:
    server.status = status
    assert (await featurize(None, server).stop(permit(RETURN, "vm-1"))).kind is kind
    assert len(server.requests) == 1


async def test_a_wrong_token_is_refused(server: FeaturizeServer) -> None:
    answer = await featurize(None, server, "another").stop(permit(RETURN, "vm-1"))
    assert answer.kind is AnswerKind.REFUSED
    assert "another" not in answer.text


async def test_each_way_is_offered_only_where_it_is_taken(
    box: Box, server: FeaturizeServer
) -> None:
    rows = {
        via: Verb(RETURN, RETURN, ("local",), "stops", False, via, "destroy")
        for via in ("ssh", "http", "console")
    }

    def offered(provider: Featurize) -> list[str]:
        return [via for via, row in rows.items() if provider.offers(row)]

    assert offered(featurize(box)) == ["ssh"]
    assert offered(featurize(box, server)) == ["http"]
    assert offered(featurize(None)) == []


async def test_a_permit_works_once(box: Box) -> None:
    box.has("featurize", f"echo x >> {box.bin}/said")
    provider, used = featurize(box), permit(RETURN)
    await provider.stop(used)
    with pytest.raises(GateShut):
        await provider.stop(used)
    assert (box.bin / "said").read_text() == "x\n"


async def test_a_box_that_answers_is_there_and_silence_proves_nothing(box: Box) -> None:
    seen = await featurize(box).look_inside()
    assert (seen.state, seen.facts["id"]) == ("running", "vm-1")
    box.id = None  # nor has the first process of this machine one
    lost = await featurize(box).look_inside()
    assert lost.state == "unknown"

    async def gone(argv: Sequence[str], *, limit: float) -> Completed:
        raise CommandFailed("box is not connected")

    instance = Instance("box", SshAccess("h"), "featurize")
    silent = await Featurize(instance, Means({}, ManualClock(), on_box=gone)).look_inside()
    assert silent.state == "unknown"
    assert "proves nothing" in (silent.error or "")


@pytest.mark.parametrize("told", ["vm-2", "vm 1", None])
async def test_an_id_that_is_not_the_boxes_is_never_returned_over_http(
    box: Box, server: FeaturizeServer, told: str | None
) -> None:
    box.id = told
    state = await featurize(box, server).look_inside()
    assert state.state == "unknown"
    assert state.error
    assert server.requests == []
    box.id = "vm-1"
    assert (await featurize(box, server).look_inside()).state == "running"


async def test_a_client_without_an_id_is_not_started(box: Box, tmp_path: Path) -> None:
    box.id = None
    box.has("featurize", f"echo x > {tmp_path}/said")
    answer = await featurize(box).stop(permit(RETURN))
    assert answer.kind is AnswerKind.REFUSED
    assert not (tmp_path / "said").exists()


async def test_an_ordinary_autodl_box_powers_itself_off_and_no_other_machine_does() -> None:
    ran: list[str] = []

    async def box(argv: Sequence[str], *, limit: float) -> Completed:
        ran.append(argv[-1])
        return Completed(b"", b"", exits.pop(0))

    instance = Instance("box", SshAccess("h"), "autodl", provider=ProviderAccess("x"))
    provider = AutoDLBox(instance, Means({}, ManualClock(), on_box=box))
    rows = load_profiles()["autodl"].teardown
    assert [row.key for row in rows if provider.offers(row)] == ["关机:ssh"]
    exits = [0, 126, 0]
    assert (await provider.look_inside()).state == "running"
    elsewhere = await provider.look_inside()  # a machine that is none of AutoDL's
    assert elsewhere.state == "unknown"
    answer = await provider.stop(permit("关机", "x"))
    assert answer.kind is AnswerKind.ACCEPTED
    assert "/usr/bin/shutdown" in ran[-1]
    assert len(ran) == 3


@pytest.mark.skipif(Path("/root/autodl-tmp").exists(), reason="this machine looks like AutoDL's")
async def test_the_script_that_powers_off_does_nothing_on_this_machine(box: Box) -> None:
    assert (await box(("sh", "-c", AutoDLBox.presence), limit=10)).exit in (126, 127)
    # What the script asks first is what `presence` asks: it ends before there is anything to run.
    guard, *_ = AutoDLBox.script.partition("\n")
    assert guard in AutoDLBox.presence
    assert (await box(("sh", "-c", guard), limit=10)).exit == 126


@pytest.mark.parametrize(
    ("platform", "kind"),
    [("autodl", AutoDLBox), ("featurize", Featurize), ("matpool", Matpool)],
)
def test_the_profiles_row_is_the_one_that_is_carried_out(platform: str, kind: type) -> None:
    profiles = load_profiles()
    means = Means({}, ManualClock(), on_box=Box(Path()))
    provider = provider_for(Instance("box", SshAccess("h"), platform), profiles, means)
    assert isinstance(provider, kind)
    offered = [verb.key for verb in profiles[platform].teardown if provider.offers(verb)]
    assert offered == [f"{kind.verb}:ssh"]


def test_what_deletes_is_carried_out_for_no_row_that_calls_it_a_park() -> None:
    means = Means({}, ManualClock(), on_box=Box(Path()), here=Box(Path()))
    scope = SchedulerScope(kubectl="local")
    access = {"kubernetes": "job/train-a", "slurm": "17"}
    for platform, via in (
        ("featurize", "ssh"),
        ("matpool", "ssh"),
        ("kubernetes", "cli"),
        ("slurm", "ssh"),
    ):
        box = Instance("box", SshAccess("h"), platform, scheduler=platform, scheduler_scope=scope)
        box = replace(box, provider=ProviderAccess(access.get(platform)))
        profile = load_profiles()[platform]
        provider = provider_for(box, {platform: profile}, means)
        honest = next(row for row in profile.teardown if row.via == via)
        assert provider.offers(honest), platform
        park = replace(honest, deletes=(), reversible=True, effect="stop")
        assert not provider.offers(park), platform
