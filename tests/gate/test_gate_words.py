"""The gate in words: what a verb really does on each platform, and nothing that steers a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_world import TERMINATE, World

from gpu_tui.core.evidence import Cells, Coverage, Plan, SecondResource
from gpu_tui.core.fleet import Money
from gpu_tui.core.gate import NOWHERE, Gate, State
from gpu_tui.core.ladder import GateView, Rung
from gpu_tui.core.profile import Verb
from gpu_tui.resources import load_profiles
from gpu_tui.teardown.words import paint
from gpu_tui.teardown.words_plan import plan_lines, tier_line

PROFILES = load_profiles()
VERBS = [(id, verb) for id, profile in sorted(PROFILES.items()) for verb in profile.teardown]
VOLUME = SecondResource(
    "vol-77aa", "volume", "datasets", "bills-on", Money(0.02, "USD"), "20 GB in EU-1"
)
SNAPSHOT = SecondResource("snap-1", "snapshot", "before the run", "unknown")


def _plan(id: str, verb: Verb, **changed: object) -> Plan:
    tiers = PROFILES[id].tiers_under(verb, None)
    plan = Plan("box", verb, World().identity, "running", False, False, "/r", tiers=tiers)
    return replace(plan, **changed)  # type: ignore[arg-type]


def _rung(view: GateView, rung: Rung) -> tuple[str, ...]:
    return next(row.lines for row in view.rungs if row.rung is rung)


@pytest.mark.parametrize(("id", "verb"), VERBS, ids=[f"{id} {verb.key}" for id, verb in VERBS])
def test_every_verb_says_what_it_does_and_to_which_disk(id: str, verb: Verb) -> None:
    plan = _plan(id, verb, price=Money(2.0, "USD"))
    lines = plan_lines(plan)
    assert lines[0].startswith(f"{verb.label}: can")
    assert "meter" in lines[1]
    assert "$2.00/h now" in lines[1]
    assert verb.note is None or f"its profile says: {verb.note}" in lines
    for tier in plan.tiers:
        if not verb.concerns(tier):
            continue
        name = f"{tier.label} ({tier.place})" if tier.place else f"{tier.label}"
        [line] = [line for line in lines if name in line and "its profile says" not in line]
        assert "(<" not in line
        survives = tier.survives_stop if verb.effect == "stop" else tier.survives_destroy
        kept = line.startswith("kept:")
        assert kept == (survives is True and tier.id not in verb.deletes), line
    for id_ in verb.deletes:
        tier_ = PROFILES[id].tier(id_)
        assert tier_ is not None
        assert tier_line(tier_, verb).startswith("lost:")


def test_a_disk_that_is_kept_says_what_it_goes_on_costing() -> None:
    runpod = PROFILES["runpod"]
    stop = next(verb for verb in runpod.teardown if verb.verb == "stop")
    lines = plan_lines(_plan("runpod", stop))
    assert any(
        line.startswith("kept: volume disk (/workspace); bills on: 0.20 USD/GB/month")
        for line in lines
    )
    assert "lost: container disk (/)" in lines
    assert "its price is not known" in lines[1]


def test_a_verb_about_something_else_leaves_the_disks_of_the_instance_alone() -> None:
    """What is not whole known, and a verb that takes one disk of the instance, take them all as lost."""
    verbs = {verb.verb: verb for verb in PROFILES["runpod"].teardown}

    def said(verb: Verb, *without: str) -> list[str]:
        plan = _plan("runpod", verb)
        tiers = tuple(tier for tier in plan.tiers if tier.id not in without)
        lines = plan_lines(replace(plan, tiers=tiers))
        return [line.partition(":")[0] for line in lines if "disk (/" in line]

    side, whole = verbs["delete-network-volume"], verbs["terminate"]
    assert said(side) == ["left alone", "left alone"]
    assert said(whole) == ["lost", "lost"]
    assert said(side, "network-volume") == ["lost", "lost"]
    for deletes in ((), ("network-volume", "container"), ("network-volume", "other")):
        assert "left alone" not in said(replace(side, deletes=deletes))
    assert "left alone" not in said(replace(side, effect="stop"))


def test_a_disk_that_the_provider_says_is_not_there_is_neither_kept_nor_lost() -> None:
    verb = next(verb for verb in PROFILES["runpod"].teardown if verb.verb == "terminate")
    lines = plan_lines(_plan("runpod", verb, lacks=("network-volume",)))
    assert "not there, says the provider: network volume (/workspace)" in lines
    assert not [line for line in lines if line.startswith("kept: network volume")]
    assert "lost: volume disk (/workspace)" in lines
    assert any(line.startswith("kept: network") for line in plan_lines(_plan("runpod", verb)))


def test_each_second_resource_has_its_own_fate_price_and_word() -> None:
    world = World(seconds=(VOLUME, SNAPSHOT))
    world.climb()
    world.beat(3.0)
    view = paint(world.gate, world.boot)
    assert [(one.label, one.phrase, one.done) for one in view.seconds] == [
        ("datasets", "volume-77aa", False),
        ("before the run", "snapshot-nap1", False),
    ]
    assert view.seconds[0].lines == (
        "volume vol-77aa: stays, and goes on billing",
        "$0.020/h until it is deleted",
        "20 GB in EU-1",
    )
    assert "take it that it is lost, and that it bills" in view.seconds[1].lines[0]
    assert not view.ready
    assert "first acknowledge 2 more, one by one" in _rung(view, Rung.CONFIRM)


def test_the_price_after_counts_what_stays() -> None:
    verb = next(verb for verb in PROFILES["runpod"].teardown if verb.verb == "terminate")
    lines = plan_lines(_plan("runpod", verb, price=Money(2.0, "USD"), seconds=(VOLUME,)))
    assert (
        lines[1] == "the meter stops: $2.00/h now, nothing after it, and $0.020/h for what "
        "stays beside it"
    )
    unknown = replace(VOLUME, price=None)
    lines = plan_lines(_plan("runpod", verb, price=Money(2.0, "USD"), seconds=(VOLUME, unknown)))
    assert lines[1].endswith("and what stays beside it bills on")


def test_the_price_after_a_part_of_the_meter_stopped_is_told_or_said_to_be_unknown() -> None:
    stop = next(verb for verb in PROFILES["runpod"].teardown if verb.verb == "stop")
    plan = _plan("runpod", stop, price=Money(2.0, "USD"))
    assert plan_lines(plan)[1].endswith(
        "$2.00/h now, a part of it after it, how much is not known here"
    )
    known = replace(plan, price_after=Money(0.0137, "USD"))
    assert plan_lines(known)[1].endswith(
        "$2.00/h now, $0.014/h after it, for the disk that is kept"
    )


def test_who_else_is_logged_in_is_told_or_said_to_be_unknown() -> None:
    stop = next(verb for verb in PROFILES["runpod"].teardown if verb.verb == "stop")

    def said(logins: tuple[str, ...] | None) -> list[str]:
        return [
            line for line in plan_lines(_plan("runpod", stop, logins=logins)) if "logged" in line
        ]

    assert said(None) == ["who else is logged in there is not known: the box keeps no record of it"]
    assert said(()) == []
    (line,) = said(tuple(f"ann{n} on pts/{n}" for n in range(10)))
    assert line.startswith("logged in there: ann0 on pts/0, ann1 on pts/1")
    assert line.endswith("and 2 more")


def test_what_does_not_come_home_is_said() -> None:
    world = World()
    world.coverage = Coverage((("/root/data", 3_000_000_000),), "base/best.pth", 42.0)
    assert world.climb(State.PULLING) is State.PULLING
    lines = _rung(paint(world.gate, world.boot), Rung.MANIFEST)
    assert "the newest of them is base/best.pth, written 42 s before" in lines
    assert "not covered: /root/data, 2.8 GiB, lies outside the results" in lines


def test_the_time_that_nothing_guards_is_told() -> None:
    world = World()
    world.arm()
    assert any(
        "the 2 s between" in line for line in _rung(paint(world.gate, world.boot), Rung.CONFIRM)
    )
    world.type()
    assert world.press(dawdle=0.0) is not None
    view = paint(world.gate, world.boot, acted=("calling",))
    assert "the last look at the box ended 0.0 s before the call left" in _rung(view, Rung.ACT)


HOSTILE = "\x1b[2J\x9b31m\u202e\u200b[@click=app.quit]x\r\n"


def test_nothing_foreign_steers_a_terminal() -> None:
    verb = Verb(
        f"t{HOSTILE}", f"t{HOSTILE}", (HOSTILE,), "stops", reversible=False, via="http",
        effect="destroy", note=HOSTILE,
    )  # fmt: skip
    volume = SecondResource(HOSTILE, f"volume{HOSTILE}", HOSTILE, "dies", note=HOSTILE)
    world = World(verb, seconds=(volume,), elsewhere=None)
    world.box["base/best.pth"] = "bad"
    world.coverage = Coverage(((HOSTILE, 1),), HOSTILE, 1.0)
    world.detail = HOSTILE
    views = []
    for _ in range(8):
        world.step()
        views.append(paint(world.gate, world.boot, acted=(HOSTILE,), read=(HOSTILE,)))
    assert views[-1].state == "blocked"
    shown = [
        text
        for view in views
        for text in (
            *(line for row in view.rungs for line in (*row.lines, row.next or "")),
            *view.lost_paths,
            *view.outcome_lines,
            *view.override_lines,
            view.closed_because or "",
            *(text for one in view.seconds for text in (one.label, one.phrase, *one.lines)),
        )
    ]
    assert any("\ufffd" in text for text in shown)
    assert all(text.isprintable() for text in shown)


@pytest.mark.parametrize("verb", [TERMINATE, None])
def test_what_to_do_next_fits_what_was_refused(verb: Verb | None) -> None:
    """A cell that failed is not pulled by pulling again, and no file is looked at where there is none."""

    def blocked(world: World) -> str:
        world.gate = Gate("box", verb)
        world.climb(State.BLOCKED)
        view = paint(world.gate, world.boot)
        (said,) = [row.next for row in view.rungs if row.next]
        assert ("pull again" in said) is (verb is None)
        return said

    assert "correct results.remote" in blocked(World(box={}))
    failed = Cells(("base", "late"), (("no_aug", "exit 1" if verb is None else "running"),))
    assert "let those cells end well" in blocked(World(cells=failed))
    assert "leave those files" in blocked(World(cells=Cells(("base", "late", "no_aug", "bare"))))
    assert "gpu-tui help fleet" in blocked(World(cells=None))


def test_a_plan_without_results_says_what_to_wait_for_or_correct() -> None:
    gate = Gate("box", TERMINATE)
    gate.apply(replace(World().plan(), results=None), 0.0, 0.0)
    (plan,) = [row for row in paint(gate, 0.0).rungs if row.rung is Rung.PLAN]
    assert plan.lines[-1] == NOWHERE
    assert plan.next is not None
    assert plan.next.startswith("correct results.remote in the fleet file or wait for the first")
