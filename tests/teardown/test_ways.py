"""Which ways of a verb are offered, and what a ladder says that cannot begin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.command import Completed
from gpu_tui.core.events import LinkChanged, ProviderRead
from gpu_tui.core.fleet import Fleet, Instance, LinkState, ProviderAccess, ProviderState, SshAccess
from gpu_tui.core.ladder import Rung
from gpu_tui.core.profile import placed
from gpu_tui.providers.base import Means
from gpu_tui.providers.inside import NO_PROGRAM
from gpu_tui.providers.registry import provider_for
from gpu_tui.resources import load_profiles
from gpu_tui.state.store import Store
from gpu_tui.teardown.journal import Record
from gpu_tui.teardown.runner import Runner
from gpu_tui.teardown.unreached import last_verified

PROFILES = load_profiles()


class Box:
    """A box whose look for its own program ends with one exit code."""

    def __init__(self, exit: int) -> None:
        self.exit = exit

    async def __call__(self, argv: object, *, limit: float) -> Completed:
        return Completed(b"", b"", self.exit)


def _runner(
    path: Path, platform: str, exit: int | None = 0, **access: str
) -> tuple[Store, Runner, ManualClock]:
    clock = ManualClock()
    instance = Instance("box", SshAccess("h"), platform, provider=ProviderAccess(**access))  # type: ignore[arg-type]
    store = Store(Fleet(None, (instance,)), PROFILES)
    means = Means({"RUNPOD_API_KEY": "k"}, clock, on_box=None if exit is None else Box(exit))
    runner = Runner(
        view=lambda name: store.view(clock.now())[name],
        connection=lambda name: None if exit is None else object(),  # type: ignore[arg-type,return-value]
        providers=lambda one: provider_for(one, PROFILES, means),
        profiles=PROFILES,
        journal_dir=path,
        clock=clock,
    )
    return store, runner, clock


def _keys(runner: Runner) -> list[str]:
    return [verb.key for verb in runner.verbs("box")]


async def test_two_ways_that_nobody_can_tell_apart_are_one(tmp_path: Path) -> None:
    """An AutoDL box of no variant: what its Pro's API would do is done in the console."""
    _, runner, _ = _runner(tmp_path, "autodl")
    assert _keys(runner) == ["关机:ssh", "关机:console", "释放:console"]
    assert len({verb.label for verb in runner.verbs("box")}) == 2


async def test_a_way_that_the_box_does_not_have_is_not_offered(tmp_path: Path) -> None:
    _, runner, _ = _runner(tmp_path, "autodl", 126)
    look = runner.look("box")
    assert look is not None
    await look
    assert _keys(runner) == ["关机:console", "释放:console"]
    ways = {verb.key: runner.way("box", verb) for verb in runner.verbs("box")}
    assert ways["关机:console"].by_hand
    assert ways["关机:console"].why == NO_PROGRAM


async def test_a_way_that_the_box_has_stays_and_so_does_one_that_was_not_asked(
    tmp_path: Path,
) -> None:
    _, runner, _ = _runner(tmp_path, "autodl", 0)
    look = runner.look("box")
    assert look is not None
    await look
    assert _keys(runner)[0] == "关机:ssh"
    _, unasked, _ = _runner(tmp_path, "autodl", None)
    assert unasked.look("box") is None


def test_what_has_an_api_but_no_id_says_so_where_it_is_listed_once(tmp_path: Path) -> None:
    _, runner, _ = _runner(tmp_path, "paperspace", variant="machine")
    destroy = [verb for verb in runner.verbs("box") if verb.verb == "destroy"]
    assert [verb.via for verb in destroy] == ["console"]
    assert "no provider.id" in (runner.way("box", destroy[0]).why or "")


def test_no_way_is_lost(tmp_path: Path) -> None:
    """Whatever a platform's profile names can still be opened, by one way at least."""
    for platform, profile in PROFILES.items():
        _, runner, _ = _runner(tmp_path, platform)
        assert {verb.verb for verb in runner.verbs("box")} == {
            verb.verb for verb in profile.teardown
        }


def test_the_verb_that_ends_the_bill_stands_first_and_a_stopped_pod_is_not_stopped_again(
    tmp_path: Path,
) -> None:
    store, runner, clock = _runner(tmp_path, "runpod", None, id="p1")
    assert [verb.verb for verb in runner.verbs("box")][:2] == ["terminate", "stop"]
    assert "bills double" in runner.verbs("box")[1].label
    store.apply(ProviderRead("box", clock.now(), ProviderState("stopped")))
    assert "stop" not in {verb.verb for verb in runner.verbs("box")}
    store.apply(LinkChanged("box", clock.now(), LinkState("live")))  # then it was started again
    assert "stop" in {verb.verb for verb in runner.verbs("box")}


async def test_a_stopped_box_says_how_to_reach_it_again(tmp_path: Path) -> None:
    store, runner, clock = _runner(tmp_path, "runpod", None, id="p1")
    refused = LinkState("refused", error="h refuses the connection", next="the box is off")
    store.apply(LinkChanged("box", clock.now(), refused))
    assert runner._view("box").link.next == "the box is off"
    store.apply(ProviderRead("box", clock.now(), ProviderState("stopped")))
    assert "stopped: start it there" in (runner._view("box").link.next or "")
    store.apply(LinkChanged("box", clock.now(), replace(refused, state="host-key")))
    assert runner._view("box").link.next == "the box is off"  # that one is no silence
    for event, more in (("open", {}), ("pulled", {"files": 6, "bytes": 9, "into": "/r"})):
        runner.journal.write("box", event, **more)  # type: ignore[arg-type]
    runner.journal.write("box", "loaded", files=6)
    last = None
    async for view in runner.open("box", "terminate").views():
        last = view
    assert last is not None
    assert last.state == "closed"
    plan = next(rung for rung in last.rungs if rung.rung is Rung.PLAN)
    assert "start it again" in (plan.next or "")
    assert any("6 files, 9 B, were pulled to /r" in text for text in plan.lines)
    assert any("nothing can be abandoned" in text for text in plan.lines)
    assert last.abandon_phrase is None


@pytest.mark.parametrize(
    ("events", "known"),
    [
        (("open", "pulled", "loaded"), True),
        (("open", "pulled", "matched!", "loaded"), False),
        (("open", "pulled", "loaded!"), False),
        (("open", "pulled", "open", "loaded"), False),
        (("open", "loaded"), False),
        (("open", "pulled", "loaded", "open", "pulled"), True),
        ((), False),
    ],
)
def test_only_a_pull_that_was_verified_is_told(events: tuple[str, ...], known: bool) -> None:
    records = [
        Record(
            seq=number,
            at="2026-01-01T00:00:00Z",
            actor="a",
            instance="box",
            event=event.strip("!"),
            evidence="",
            detail={"refused": "why"} if event.endswith("!") else {},
            prev="",
        )
        for number, event in enumerate(events, 1)
    ]
    assert (last_verified(records) is not None) is known


def test_a_disk_of_which_only_its_owner_knows_the_place() -> None:
    tiers = PROFILES["generic-ssh"].storage
    assert [tier.place for tier in placed(tiers, ("~/data", "/scratch"))] == [
        "/",
        "~/data, /scratch",
    ]
    assert [tier.place for tier in placed(tiers, ())] == ["/", None]
    assert placed(PROFILES["vastai"].storage, ("/w",)) == PROFILES["vastai"].storage
