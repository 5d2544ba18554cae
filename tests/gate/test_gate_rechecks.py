"""Each part of the last look by itself, with every other layer off: none may lean on another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from gate_faults import WAYS, confirm
from gate_world import ADDRESS, VOLUME, World, manifest_of

from gpu_tui.core import gate as rules
from gpu_tui.core.evidence import (
    IntentWritten,
    Inventory,
    Loaded,
    Matched,
    Plan,
    Recheck,
    Unsent,
)
from gpu_tui.core.gate import State
from gpu_tui.core.manifest import Manifest

Flaw = Callable[[World, Recheck], Recheck]


def _with(**changes: object) -> Flaw:
    return lambda world, look: replace(look, **changes)  # type: ignore[arg-type]


def _identity(**changes: object) -> Flaw:
    return lambda world, look: replace(look, identity=replace(look.identity, **changes))  # type: ignore[arg-type]


def _bytes(side: str, path: str, text: str | None) -> Flaw:
    def flaw(world: World, look: Recheck) -> Recheck:
        files = {key: value for key, value in world.box.items() if key != path}
        changed = manifest_of(files if text is None else {**files, path: text})
        return replace(look, **{side: changed})  # type: ignore[arg-type]

    return flaw


BASE = "base/best.pth"
# layer -> what it must notice
FLAWS: dict[str, dict[str, Flaw]] = {
    "read-only": {"set": _with(read_only=True)},
    "fresh": {
        "before the words": lambda w, look: replace(look, began_at=look.began_at - 0.1),
        "from the future": lambda w, look: replace(look, read_at=look.read_at + 1.0),
    },
    "in time": {
        "two seconds old": lambda w, look: replace(look, read_at=look.read_at - 2.0),
        "from the future": lambda w, look: replace(look, read_at=look.read_at + 1.0),
    },
    "changing": {"a file": _with(changing=(BASE,)), "a directory": _with(changing=("base",))},
    "identity": {
        "boot": _identity(boot_id="boot-2"),
        "no boot": _identity(boot_id=None),
        "host key": _identity(host_key="SHA256:other"),
        "provider id": _identity(provider_id="pod-9"),
    },
    "address": {"moved": _with(elsewhere="it is at 192.0.2.3")},
    "provider": {
        state: _with(provider=state) for state in ("stopped", "gone", "unknown", "", "Running")
    },
    "basis": {"other": _with(basis="another row"), "not told": _with(basis="")},
    "seconds": {
        "one less": _with(seconds=()),
        "one more": _with(seconds=(VOLUME, ADDRESS)),
        "another": _with(seconds=(ADDRESS,)),
        "twice": _with(seconds=(VOLUME, VOLUME)),
        "another fate": _with(seconds=(replace(VOLUME, fate="dies"),)),
        "another price": _with(seconds=(replace(VOLUME, price=None),)),
    },
    "quiet": {
        "table lost": _with(running=None),
        "work": _with(running=("python train.py (pid 9)",)),
        "a card": _with(cards=(("GPU-0", "in use"),)),
        "writers unknown": _with(busy=None),
        "writing": _with(busy=(BASE,)),
    },
    "logins": {
        "one more": _with(logins=("ann on pts/0", "bob on pts/1")),
        "another": _with(logins=("bob on pts/1",)),
        "not known any more": _with(logins=None),
    },
    "queue": {
        "not told": _with(cells=None),
        "a cell less": lambda w, look: replace(
            look, cells=look.cells and replace(look.cells, finished=("base",))
        ),
        "a cell more": lambda w, look: replace(
            look, cells=look.cells and replace(look.cells, finished=("base", "wide", "new"))
        ),
        "another state": lambda w, look: replace(
            look, cells=look.cells and replace(look.cells, unfinished=(("late", "running"),))
        ),
    },
    "remote": {
        "not listed": _with(paths=None),
        "not hashed": _with(remote=None),
        "empty": _with(remote=Manifest(), paths=()),
        "one less": _bytes("remote", BASE, None),
        "one more": _bytes("remote", "new.pth", "ok"),
        "other bytes": _bytes("remote", BASE, "ok base best.pt2"),
        "one path more": lambda w, look: replace(look, paths=(*(look.paths or ()), "new.pth")),
        "one path less": lambda w, look: replace(look, paths=(look.paths or ())[1:]),
    },
    "local": {
        "not read": _with(local=None),
        "empty": _with(local=Manifest()),
        "one less": _bytes("local", BASE, None),
        "one more": _bytes("local", "new.pth", "ok"),
        "other bytes": _bytes("local", BASE, "ok base best.pt2"),
    },
    "stamps": {"other": _with(stamps="touched"), "not told": _with(stamps="")},
    "verifier": {"other": _with(verifier="torch 2.14.0"), "not told": _with(verifier="")},
}
# The same for an abandonment: what is proven to be here must stay so, what is listed may go.
ABANDONED: dict[str, dict[str, Flaw]] = {
    layer: FLAWS[layer]
    for layer in (
        *("read-only", "fresh", "in time", "identity", "address", "provider", "basis", "verifier"),
    )
} | {
    "changing": {"a proven file": FLAWS["changing"]["a file"]},
    "quiet": {
        "table lost": FLAWS["quiet"]["table lost"],
        "work": FLAWS["quiet"]["work"],
        "a card": FLAWS["quiet"]["a card"],
        "a proven file is written": _with(busy=(BASE,)),
    },
    "remote": {
        "not listed": _with(paths=None),
        "not hashed": _with(remote=None),
        "one path more": FLAWS["remote"]["one path more"],
        "a proven file changed": FLAWS["remote"]["other bytes"],
    },
    "local": {
        "not read": _with(local=None),
        "a proven file gone": FLAWS["local"]["one less"],
        "a proven file changed": FLAWS["local"]["other bytes"],
    },
}


def _confirmed(way: str) -> World:
    world = World(seconds=(VOLUME,)) if way == "plain_way" else World()
    WAYS[way](world)
    assert confirm(world) is State.RECHECKING
    return world


@pytest.mark.parametrize(
    ("way", "layer", "flaw"),
    [("plain_way", layer, flaw) for layer, flaws in FLAWS.items() for flaw in flaws]
    + [("abandoned_way", layer, flaw) for layer, flaws in ABANDONED.items() for flaw in flaws],
)
def test_each_layer_notices_by_itself(way: str, layer: str, flaw: str) -> None:
    world = _confirmed(way)
    rule, table = rules.RECHECKS[layer], FLAWS if way == "plain_way" else ABANDONED
    look = world.look()
    assert rule(world.gate, look, world.boot) is None
    assert rule(world.gate, table[layer][flaw](world, look), world.boot)


@pytest.mark.parametrize(
    ("way", "layer", "flaw", "said"),
    [
        ("plain_way", "remote", "other bytes", f"files on the box changed: {BASE}"),
        ("plain_way", "remote", "one path more", "files on the box changed: new.pth"),
        ("plain_way", "remote", "not hashed", "files on the box changed"),
        ("plain_way", "stamps", "other", "a file was touched since it was compared, here or on the box"),
        ("abandoned_way", "remote", "a proven file changed", f"files on the box changed: {BASE}"),
        ("abandoned_way", "local", "a proven file gone", f"files here changed: {BASE}"),
    ],
)  # fmt: skip
def test_it_says_which_files_changed(way: str, layer: str, flaw: str, said: str) -> None:
    world = _confirmed(way)
    look = (FLAWS if way == "plain_way" else ABANDONED)[layer][flaw](world, world.look())
    assert rules.RECHECKS[layer](world.gate, look, world.boot) == said


def test_what_is_only_named_never_opens_nor_shuts() -> None:
    """The names are for a person's eyes: where the hashes and stamps agree they mean nothing."""
    world = _confirmed("plain_way")
    names = tuple(f"base/{number}.pth" for number in range(5))
    look = replace(world.look(), touched=names, moved=names)
    assert all(rule(world.gate, look, world.boot) is None for rule in rules.RECHECKS.values())
    shut = replace(look, remote=None, stamps="")
    told = "base/0.pth, base/1.pth, base/2.pth and 2 more"
    for layer in ("remote", "stamps"):
        assert (rules.RECHECKS[layer](world.gate, shut, world.boot) or "").endswith(f": {told}")


def test_only_the_files_here_are_named_as_changed_here() -> None:
    world = _confirmed("plain_way")
    look = replace(world.look(), local=None, moved=("wide/best.pth", "base/best.pth (here)"))
    said = rules.RECHECKS["local"](world.gate, look, world.boot) or ""
    assert said.endswith(": base/best.pth (here)")


def test_no_layer_is_without_a_table() -> None:
    assert set(rules.RECHECKS) - set(FLAWS) == {"evidence"}


def test_what_was_confirmed_must_be_what_is_known_now() -> None:
    world = _confirmed("plain_way")
    for other in ("other evidence", None):
        world.gate.confirmed = other
        assert rules.RECHECKS["evidence"](world.gate, world.look(), world.boot)


def test_a_park_with_more_work_than_was_accepted_is_shut() -> None:
    world = _confirmed("park_way")
    rule = rules.RECHECKS["quiet"]
    assert rule(world.gate, replace(world.look(), running=("b",)), world.boot)
    assert rule(world.gate, replace(world.look(), busy=("x",)), world.boot) is None


def test_whoever_leaves_shuts_nothing_and_what_was_never_known_is_no_change() -> None:
    world = World()
    world.arm()
    rule = rules.RECHECKS["logins"]
    assert rule(world.gate, replace(world.look(), logins=()), world.boot) is None
    world = World(logins=None)
    world.arm()
    assert rule(world.gate, world.look(), world.boot) is None
    assert rule(world.gate, replace(world.look(), logins=("bob on pts/1",)), world.boot)


def test_an_abandonment_allows_what_was_listed() -> None:
    """Files and work that were given up by name may change: only what is new shuts the gate."""
    world = World(running=("python train.py (pid 7)",))
    world.box["wide/best.pth"] = "bad"
    world.climb(State.BLOCKED)
    world.step()
    world.beat(3.0)
    assert world.gate.loss is not None
    assert world.gate.loss.running == ("python train.py (pid 7)",)
    assert confirm(world) is State.RECHECKING
    given_up = ("wide/best.pth",)
    look = replace(world.look(), busy=given_up, changing=given_up, cells=None, paths=given_up)
    for layer in ("quiet", "queue", "remote", "local", "stamps", "changing", "verifier"):
        assert rules.RECHECKS[layer](world.gate, look, world.boot) is None, layer
    assert world.press(look) is not None


@pytest.mark.parametrize(
    ("layer", "kind", "told"),
    [
        ("basis", Plan, {"basis": ""}),
        ("stamps", Matched, {"stamps": ""}),
        ("verifier", Loaded, {"verifier": ""}),
        ("queue", Inventory, {"cells": None}),
    ],
)
def test_two_times_nothing_is_not_the_same(layer: str, kind: type, told: dict[str, object]) -> None:
    """With the rule of the rung off as well: what neither look told is not known to be unchanged."""
    world = _confirmed("plain_way")
    world.gate.keep(replace(world.gate.of(kind), **told))
    name = "cells" if layer == "queue" else layer
    look = replace(world.look(), **{name: next(iter(told.values()))})  # type: ignore[arg-type]
    assert rules.RECHECKS[layer](world.gate, look, world.boot)


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_look_is_the_end_of_it(way: str) -> None:
    world = _confirmed(way)
    assert world.apply(replace(world.look(), read_only=True)) is State.CLOSED
    assert world.gate.permit is None
    assert world.apply(world.look()) is State.CLOSED


@pytest.mark.parametrize("way", ["plain_way", "park_way"])
def test_an_intent_is_for_this_permit_and_in_its_time(way: str) -> None:
    for evidence, waits, then in (
        ("other evidence", 0.0, State.CLOSED),
        (None, 2.0, State.READY),
    ):
        world = _confirmed(way)
        world.apply(world.look())
        permit = world.gate.permit
        assert permit is not None
        world.beat(waits)
        assert world.apply(IntentWritten(evidence or permit.evidence)) is then
        assert world.gate.permit is None
        assert ("the journal" if evidence else "2.0 s old") in str(
            world.gate.because or world.gate.note
        )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", ["look", "intent", "call"])
def test_what_is_too_late_is_not_sent_and_may_be_confirmed_again(way: str, step: str) -> None:
    """The evidence still holds: all of it is read again after the next confirmation."""
    world = _confirmed(way)
    look, armed = world.look(), world.gate.expires_at
    if step == "look":
        world.beat(2.0)
    world.apply(look)
    first = world.gate.permit
    if first is not None:
        world.beat(2.0 if step == "intent" else 0.0)
        world.apply(IntentWritten(first.evidence))
    if step == "call":
        assert first is not None
        assert world.gate.state is State.CALLED
        assert world.apply(Unsent()) is State.CALLED  # the permit still holds
        world.beat(2.0)
        with pytest.raises(rules.PermitExpired):
            first.redeem(world.identity.provider_id, world.boot)
        world.apply(Unsent())
    gate = world.gate
    assert gate.state is (State.BLOCKED if way == "abandoned_way" else State.READY)
    assert (gate.permit, gate.confirmed, gate.ended, gate.called) == (None, None, False, False)
    assert "nothing was sent" in str(gate.note)
    assert gate.expires_at == armed  # nothing is younger for it
    assert world.apply(look) is State.CLOSED or world.gate.state is gate.state
    world = _confirmed(way)
    world.apply(replace(world.look(), read_at=world.boot - 2.0))
    assert confirm(world) is not State.RECHECKING  # not before it can have been read
    world.beat(3.0)
    assert confirm(world) is State.RECHECKING
    assert world.press() is not None


def test_what_shuts_for_good_is_said_before_what_is_only_late() -> None:
    world = _confirmed("plain_way")
    look = replace(world.look(), read_at=world.boot - 9.0, read_only=True)
    assert world.apply(look) is State.CLOSED
    assert "read-only" in (world.gate.because or "")
