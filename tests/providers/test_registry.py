"""Which provider an instance gets, the console's steps, and the slow watch."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from runpod_server import POD, RunPodServer

from gpu_tui.collect.provider_watch import watch_provider
from gpu_tui.core import gate as rules
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, ProviderRead
from gpu_tui.core.fleet import Fleet, Instance, ProviderAccess, ProviderState, SshAccess
from gpu_tui.core.gate import GateShut, StopPermit
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.providers.autodl_box import AutoDLBox
from gpu_tui.providers.base import AnswerKind, Means
from gpu_tui.providers.manual import Manual
from gpu_tui.providers.registry import provider_for
from gpu_tui.providers.rented import Rented
from gpu_tui.resources import load_profiles, profiles_dir, read_profile
from gpu_tui.state.store import Store
from gpu_tui.teardown.runner import Runner

RELEASE = Verb(
    "释放", "释放", ("data",), "stops", False, "console", "destroy", steps=("Click 释放.",)
)
STOP = Verb("关机", "关机", (), "partly", True, "ssh")
AUTODL = Profile(
    "autodl",
    "AutoDL",
    "ssh-rental",
    teardown=(RELEASE, STOP),
    facts={"display": {"console": "https://www.autodl.com/console"}},
)
PROFILES = {"autodl": AUTODL}


RUNPOD = load_profiles()["runpod"]


@pytest.mark.parametrize(
    ("access", "env", "by_hand", "why"),
    [
        ({"id": "p-1"}, {"RUNPOD_API_KEY": "k"}, False, None),
        ({"id": "p-1"}, {}, False, "needs a key"),
        ({"id": "p-1", "key_env": "MINE"}, {"RUNPOD_API_KEY": "k"}, False, "needs a key"),
        ({}, {"RUNPOD_API_KEY": "k"}, True, "no provider.id"),
    ],
)
def test_whether_a_call_would_be_made_is_known_before_the_ladder(
    access: dict[str, str], env: dict[str, str], by_hand: bool, why: str | None, tmp_path: Path
) -> None:
    instance, clock = _instance("runpod", **access), ManualClock()
    store = Store(Fleet(None, (instance,)), {"runpod": RUNPOD})
    runner = Runner(
        view=lambda name: store.view(0.0)[name],
        connection=lambda name: None,
        providers=lambda one: provider_for(one, {"runpod": RUNPOD}, Means(env, clock)),
        profiles={"runpod": RUNPOD},
        journal_dir=tmp_path,
        clock=clock,
    )
    ways = {verb.verb: runner.way("box", verb) for verb in runner.verbs("box")}
    assert ways["terminate"].by_hand is by_hand
    assert (why or "") in (ways["terminate"].why or "")
    assert (why is None) == (ways["terminate"].why is None)
    assert ways["delete-network-volume"].by_hand  # whatever key there is: it has no call


def _instance(platform: str, **access: object) -> Instance:
    return Instance("box", SshAccess("h"), platform, provider=ProviderAccess(**access))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("platform", "access", "kind"),
    [
        ("runpod", {"id": "p1"}, Rented),
        ("runpod", {}, Manual),
        ("runpod", {"id": "p1", "base_url": "http://evil.example"}, Manual),
        ("autodl", {"id": "x"}, AutoDLBox),
        ("autodl", {"variant": "container"}, AutoDLBox),
        ("autodl", {"variant": "pro"}, Manual),
        ("autodl", {"id": "x", "variant": "pro"}, Rented),
        ("nowhere", {}, Manual),
    ],
)
def test_the_provider_of_a_platform(platform: str, access: dict[str, object], kind: type) -> None:
    assert isinstance(
        provider_for(_instance(platform, **access), PROFILES, Means({}, ManualClock())), kind
    )


async def test_the_console_names_the_profiles_steps_and_proves_nothing() -> None:
    provider = Manual(_instance("autodl", id="x"), AUTODL, ManualClock())
    permit = StopPermit("box", "x", "释放", "destroy", "e", 2_000.0, token=rules._MINT)
    answer = await provider.stop(permit)
    assert (answer.kind, answer.lines) == (AnswerKind.STEPS, ("Click 释放.",))
    assert (await provider.read("x")).state == "unknown"
    with pytest.raises(GateShut):
        await provider.stop(permit)


def test_steps_are_made_where_the_profile_has_none() -> None:
    provider = Manual(_instance("autodl", id="x9"), AUTODL, ManualClock())
    steps = provider.steps("关机")
    assert "https://www.autodl.com/console" in steps[0]
    assert "x9" in steps[1]
    assert "关机" in steps[2]


def test_the_steps_tell_boxes_of_one_address_apart() -> None:
    """Whoever ends the wrong one of two behind ssh4.vast.ai loses a run."""
    for port, named in ((None, "ssh4.vast.ai"), (22, "ssh4.vast.ai"), (123, "ssh4.vast.ai:123")):
        instance = Instance("box", SshAccess("ssh4.vast.ai", port=port), "autodl")
        steps = Manual(instance, AUTODL, ManualClock()).steps("关机")
        assert steps[1] == f"Find the instance: the one behind {named}."


@pytest.mark.parametrize(
    ("platform", "variant", "verb", "words"),
    [
        ("autodl", "container", "关机", "已关机"),  # its first row is the one over SSH
        ("autodl", "pro", "关机", "已关机"),
        ("paperspace", "machine", "shut-down", "says Off"),
        ("paperspace", "notebook-free", "stop-notebook", "says Stopped"),
        ("matpool", None, "停止并释放", "费用"),
        ("featurize", None, "实例归还", "归还"),
        ("gpushare", None, "关机", "24 hours"),
        ("lanrui", None, "销毁数据盘", "销毁"),
        ("colab-kaggle", "colab-free", "disconnect-and-delete", "flush_and_unmount"),
        ("slurm", None, "scancel", "squeue"),
        ("generic-ssh", None, "manual", "invoice"),
    ],
)
def test_the_steps_are_those_of_the_bundled_profile(
    platform: str, variant: str | None, verb: str, words: str
) -> None:
    profile = read_profile(profiles_dir() / f"{platform}.md")
    instance = _instance(platform, id="x9", variant=variant)
    steps = Manual(instance, profile, ManualClock()).steps(verb)
    rows = [row for row in profile.teardown if row.verb == verb and row.via == "console"]
    assert steps in [row.steps for row in rows]
    assert words in " ".join([*steps, *(row.note or "" for row in rows)])


@dataclass
class Heard:
    """A sink that wakes its test."""

    events: list[Event] = field(default_factory=list)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.woken.set()

    async def states(self, count: int) -> list[ProviderState]:
        async with asyncio.timeout(60):
            while len(self.events) < count:
                self.woken.clear()
                await self.woken.wait()
        return [event.state for event in self.events if isinstance(event, ProviderRead)]


async def test_the_watch_keeps_the_last_facts_through_trouble() -> None:
    async with RunPodServer() as server:
        instance = _instance("runpod", id=POD["id"], base_url=server.url)
        provider = provider_for(instance, {}, Means({"RUNPOD_API_KEY": "test-key"}, ManualClock()))
        heard = Heard()
        task = asyncio.create_task(watch_provider(instance, provider, heard, ManualClock(), 0.001))
        (first,) = (await heard.states(1))[:1]
        server.get = [(503, b"")] * 1_000
        states = await heard.states(len(heard.events) + 2)
        task.cancel()
    assert (first.state, first.error) == ("running", None)
    assert (states[-1].state, states[-1].price) == ("running", first.price)
    assert states[-1].error


async def test_the_watch_of_a_console_ends_at_once() -> None:
    heard = Heard()
    await watch_provider(
        _instance("autodl"), Manual(_instance("autodl"), None, ManualClock()), heard, ManualClock()
    )
    assert heard.events == []
