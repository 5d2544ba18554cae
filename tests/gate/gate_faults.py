"""One thing that goes wrong, by name; and the ways that lead to a call, each with exactly one fault on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gate_oracle import wrongs
from gate_world import ADDRESS, CELLS, PARK, VOLUME, World

from gpu_tui.core.evidence import Cells, Relocked
from gpu_tui.core.gate import State
from gpu_tui.core.proof import NO_COPY

Fault = Callable[[World], None]


def _queue_grows(world: World) -> None:
    cells = world.cells or CELLS
    world.cells = replace(cells, unfinished=(*cells.unfinished, ("new", "no start line")))


def _queue_shrinks(world: World) -> None:
    cells = world.cells or CELLS
    world.cells = replace(cells, finished=cells.finished[:1])


def _set(**changes: object) -> Fault:
    def fault(world: World) -> None:
        for name, value in changes.items():
            setattr(world, name, value)

    return fault


def _machine(**changes: str) -> Fault:
    def fault(world: World) -> None:
        world.identity = replace(world.identity, **changes)

    return fault


# What it touches: files there or here, the queue, or everything else.
FAULTS: dict[str, Fault] = {
    "remote changes": lambda w: w.put("box", "base/best.pth", "ok base best.pt2"),  # same size
    "remote is touched": lambda w: w.touch("box", "base/best.pth"),
    "remote grows": lambda w: w.put("box", "wide/best-2.pth", "ok new"),
    "remote vanishes": lambda w: w.put("box", "wide/best.pth", None),
    "remote is emptied": lambda w: [w.put("box", path, None) for path in list(w.box)] and None,
    "local changes": lambda w: w.put("here", "base/best.pth", "ok base best.pt2"),
    "local is touched": lambda w: w.touch("here", "base/best.pth"),
    "local vanishes": lambda w: w.put("here", "base/best.pth", None),
    "local disk unmounted": lambda w: (
        [w.put("here", path, None) for path in list(w.local)] and None
    ),
    "queue grows": _queue_grows,
    "queue shrinks": _queue_shrinks,
    "queue lost": _set(cells=None),
    "rebooted": _machine(boot_id="boot-2"),
    "swapped": _machine(host_key="SHA256:other"),
    "another id": _machine(provider_id="pod-9999"),
    "pod moves": _set(elsewhere="the provider's instance is at 192.0.2.3:22"),
    "provider moves": _set(provider="stopped"),
    "provider gone": _set(provider="gone"),
    "provider silent": _set(provider="unknown"),
    "job starts": _set(running=("python train.py (pid 9)",)),
    "table lost": _set(running=None),
    "a card is taken": _set(cards=(("GPU-7", "in use"),)),
    "somebody logs in": _set(logins=("ann on pts/0", "bob on pts/1")),
    "logins lost": _set(logins=None),
    "writer starts": _set(busy=("base/best.pth",)),
    "writers unknown": _set(busy=None),
    "volume appears": lambda w: setattr(w, "seconds", (*w.seconds, ADDRESS)),
    "volume changes": lambda w: setattr(
        w, "seconds", tuple(replace(one, fate="dies") for one in w.seconds) or (ADDRESS,)
    ),
    "profile edited": _set(basis="another row"),
    "reader replaced": _set(verifier="torch 2.14.0"),
    "read-only": _set(read_only=True),
    "slept": lambda w: w.sleep(40.0),
    "clock set": lambda w: w.jump(-86_400.0),
    "ten minutes": lambda w: w.beat(600.0),
    "modal closed": lambda w: w.apply(Relocked("cancelled")) and None,
}
# What happens to files or to the queue is nothing to a park, and a park is nothing to them.
PARK_FAULTS = {
    name: fault
    for name, fault in FAULTS.items()
    if not name.startswith(("remote", "local", "queue", "writer", "reader"))
}


# --- the ways up: each brings a world to where only the last words are missing ---


def plain_way(world: World) -> None:
    """Everything is home."""
    assert world.arm() is State.READY


def way_with_volumes(world: World) -> None:
    """Two things hang on it, each acknowledged by its own word."""
    world.seconds = (VOLUME, ADDRESS)
    assert world.arm() is State.READY
    assert world.gate.unseen == ()


def allowed_way(world: World) -> None:
    """One file names something that a person allows."""
    world.box["late/best.pth"] = "needs foo.Bar x"
    assert world.climb(State.BLOCKED) is State.BLOCKED
    world.step()
    world.beat(3.0)
    assert world.override() is State.LOADING
    assert world.arm() is State.READY


def way_by_the_box(world: World) -> None:
    """Nothing here reads checkpoints; a person takes the box's word."""
    world.torch = False
    assert world.climb(State.BLOCKED) is State.BLOCKED
    world.step()
    world.beat(3.0)
    assert world.override() is State.LOADING
    assert world.arm() is State.READY


EXCEPTIONS: dict[str, dict[str, object]] = {
    "unfinished": {"cells": Cells(("base", "wide"), (("late", "exit 1"),))},
    "unsynced": {"cells": Cells(("base", "wide"), (("late", NO_COPY),))},
    "missing": {"cells": replace(CELLS, unfinished=(("lost", "exit 1"),))},
    "unclosed": {"cells": replace(CELLS, closed=False)},
    "unnamed": {"cells": Cells(("base", "wide")), "hollow": ("void",)},
    "memory": {"memory": ("/tmp",)},
    "older": {"older": (("late", "written before it began"),)},
    "nan": {"spoilt": ("wide/best.pth",)},
    "zero": {"zeros": ("wide/best.pth",)},
    "cards": {"cards": (("GPU-0", "in use"), ("nvidia-smi", "it gave no answer"))},
    "fewer": {"before": ("base", "wide", "late", "lost")},
}


def excepted_way(world: World, kind: str) -> None:
    """Not all of it is as it was promised, and the exception is accepted by its own words."""
    for name, value in EXCEPTIONS[kind].items():
        setattr(world, name, value)
    assert world.climb() is State.READY
    world.beat(3.0)
    assert not world.gate.ready(world.boot)
    world.acknowledge_all()
    assert world.gate.ready(world.boot)


def abandoned_way(world: World) -> None:
    """One checkpoint does not load, and is given up."""
    world.box["wide/best.pth"] = "bad"
    assert world.climb(State.BLOCKED) is State.BLOCKED
    world.step()
    world.beat(3.0)
    world.acknowledge_all()


def park_way(world: World) -> None:
    """Nothing is deleted."""
    world.verb = PARK
    world.reopen()
    assert world.arm() is State.READY


WAYS: dict[str, Callable[[World], None]] = {
    way.__name__: way
    for way in (plain_way, way_with_volumes, allowed_way, way_by_the_box, abandoned_way, park_way)
} | {f"way with {kind}": partial(excepted_way, kind=kind) for kind in EXCEPTIONS}
MOMENTS = ("before the words", "after the words", "during the last look")


def confirm(world: World) -> State:
    """The last words of whichever way it is."""
    return world.abandon() if world.gate.state is State.BLOCKED else world.type()


def fault_on_the_way(way: str, fault: str, moment: str) -> list[str]:
    """Arm, exactly one fault, destroy: what the oracle says of the call, or nothing if there was none."""
    world = World()
    WAYS[way](world)
    if moment == "before the words":
        FAULTS[fault](world)
    confirm(world)
    look = None
    if moment == "after the words":
        FAULTS[fault](world)
    elif moment == "during the last look":
        look = world.look(FAULTS[fault])
    return wrongs(world) if world.press(look) else []


def healthy(way: str) -> World:
    """The same way without a fault: the call must be made, and be right."""
    world = World()
    WAYS[way](world)
    confirm(world)
    assert world.press() is not None, world.gate.because
    assert wrongs(world) == []
    return world
