"""Each piece of evidence as it must not be, one flaw at a time: the reason names the flaw itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from gate_world import ADDRESS, CELLS, DISK, MACHINE, PARK, World, manifest_of

from gpu_tui.core.allowance import may_allow, offer
from gpu_tui.core.evidence import (
    Accepted,
    Cells,
    FileVerdict,
    Identity,
    Inventory,
    Listed,
    Loaded,
    Matched,
    Pulled,
    Quiet,
    Typed,
)
from gpu_tui.core.gate import Gate, State, proves
from gpu_tui.core.manifest import FileEntry, Manifest, compare
from gpu_tui.core.proof import misnamed

Make = Callable[[World], object]
HASH = "a" * 64
PROOF = (State.LISTING, State.PULLING, State.MATCHING, State.LOADING)


def _plan(**changes: object) -> Make:
    return lambda world: replace(world.plan(), **changes)  # type: ignore[arg-type]


def _inventory(**changes: object) -> Make:
    return lambda world: replace(world.inventory(), **changes)  # type: ignore[arg-type]


def _listing(*rows: FileEntry) -> Make:
    def make(world: World) -> Inventory:
        found = world.inventory()
        return replace(found, manifest=Manifest((*found.manifest.files, *rows)))

    return make


def _matched(local: Callable[[World], dict[str, str]]) -> Make:
    return lambda world: replace(world.matched(), local=manifest_of(local(world)))


def _verdict(**changes: object) -> Make:
    def make(world: World) -> Loaded:
        first, *others = world.verdicts().verdicts
        changed = replace(first, **changes)  # type: ignore[arg-type]
        return replace(world.verdicts(), verdicts=(changed, *others))

    return make


def _both(world: World) -> Matched:
    """The same new file on both sides: the comparison alone is content."""
    both = manifest_of({**world.box, "x/late.pth": "ok"})
    return replace(world.matched(), remote=both, local=both)


# (state it is offered in, what the reason says, the evidence)
REFUSED: dict[str, tuple[State, str, Make]] = {
    "read-only": (State.PLANNING, "read-only", _plan(read_only=True)),
    "other verb": (State.PLANNING, "something else", _plan(verb=PARK)),
    "other instance": (State.PLANNING, "something else", _plan(instance="box-2")),
    "no boot id": (State.PLANNING, "boot id", _plan(identity=replace(MACHINE, boot_id=None))),
    "no host key": (State.PLANNING, "boot id", _plan(identity=replace(MACHINE, host_key=None))),
    "nothing to type": (State.PLANNING, "phrase", _plan(identity=Identity("…", "…", "b"))),
    "provider unknown": (State.PLANNING, "does not say", _plan(provider="unknown")),
    "provider errs": (
        State.PLANNING,
        "401",
        _plan(provider="unknown", provider_error="401: no such key"),
    ),
    "ended already": (State.PLANNING, "ended for ever", _plan(provider="ended", console=True)),
    "already gone": (State.PLANNING, "gone already", _plan(provider="gone", console=True)),
    "another pod": (State.PLANNING, "192.0.2.3", _plan(elsewhere="it is at 192.0.2.3")),
    "no results": (State.PLANNING, "results", _plan(results=None)),
    "too much beside it": (
        State.PLANNING,
        "201 things hang on this account",
        _plan(seconds=tuple(replace(ADDRESS, id=f"ip-{n}") for n in range(201))),
    ),
    "earlier call open": (State.PLANNING, "a call", _plan(unresolved="a call of Friday")),
    "not noted what was planned on": (State.PLANNING, "noted", _plan(basis="")),
    "no process table": (State.QUIESCING, "process table", lambda w: Quiet(None)),
    "running": (State.QUIESCING, "at work", lambda w: Quiet(("python train.py",))),
    "being written": (State.QUIESCING, "written", lambda w: Quiet((), ("base/best.pth",))),
    "writing unknown": (State.QUIESCING, "does not say", lambda w: Quiet((), None)),
    "empty box": (State.LISTING, "no result file", _inventory(manifest=Manifest())),
    "some cells alone": (State.LISTING, "not the cells", _inventory(only=("base",))),
    "odd names": (State.LISTING, "leaves", _inventory(refused=(("../x", "leaves it"),))),
    "rebooted": (
        State.LISTING,
        "rebooted",
        _inventory(identity=replace(MACHINE, boot_id="boot-2")),
    ),
    "a name twice": (State.LISTING, "honest", _listing(FileEntry("base/best.pth", 1, HASH))),
    "a name that leaves": (State.LISTING, "honest", _listing(FileEntry("../x", 1, HASH))),
    "an absolute name": (State.LISTING, "honest", _listing(FileEntry("/etc/x", 1, HASH))),
    "no name": (State.LISTING, "honest", _listing(FileEntry("", 1, HASH))),
    "no hash": (State.LISTING, "honest", _listing(FileEntry("x", 1, ""))),
    "no size": (State.LISTING, "honest", _listing(FileEntry("x", -1, HASH))),
    "the queue lost a cell": (
        State.LISTING,
        "does not now: late",
        _inventory(cells=Cells(("base", "wide"))),
    ),
    "the queue is gone": (State.LISTING, "does not now: base", _inventory(cells=None)),
    "not all pulled": (State.PULLING, "6 of 7", lambda w: Pulled(len(w.box) - 1, 1)),
    "pull failed": (State.PULLING, "EIO", lambda w: Pulled(len(w.box), 1, (("x", "EIO"),))),
    "box changed": (State.MATCHING, "changed while", _both),
    "missing here": (
        State.MATCHING,
        "missing here: base",
        _matched(lambda w: dict(list(w.box.items())[1:])),
    ),
    "unexpected here": (
        State.MATCHING,
        "not on the box: x",
        _matched(lambda w: {**w.box, "x": "ok"}),
    ),
    "same size, other bytes": (
        State.MATCHING,
        "different: base/best.pth",
        _matched(lambda w: {**w.box, "base/best.pth": "ok base best.pt2"}),
    ),
    "nothing here": (State.MATCHING, "missing here", _matched(lambda w: {})),
    "no stamps": (State.MATCHING, "last changed", lambda w: replace(w.matched(), stamps="")),
    "no verdicts": (State.LOADING, "not every file", lambda w: Loaded((), "torch")),
    "one verdict short": (
        State.LOADING,
        "not every file",
        lambda w: replace(w.verdicts(), verdicts=w.verdicts().verdicts[1:]),
    ),
    "one verdict twice": (
        State.LOADING,
        "not every file",
        lambda w: replace(w.verdicts(), verdicts=w.verdicts().verdicts * 2),
    ),
    "one failed": (State.LOADING, "not verified", _verdict(load="failed")),
    "one refused": (State.LOADING, "not verified", _verdict(load="refused")),
    "one skipped": (State.LOADING, "not verified", _verdict(load="skipped")),
    "one by the box": (State.LOADING, "not verified", _verdict(load="ok-remote")),
    "a word nobody knows": (State.LOADING, "not verified", _verdict(load="fine")),
    "a checkpoint called data": (
        State.LOADING,
        "not verified",
        _verdict(load="skipped", checkpoint=False),
    ),
    "verdict on other bytes": (State.LOADING, "not every file", _verdict(sha256="0" * 64)),
    "no reader named": (
        State.LOADING,
        "what read",
        lambda w: replace(w.verdicts(), verifier=""),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why_and_never_leads_to_a_permit(case: str) -> None:
    state, word, make = REFUSED[case]
    world = World()
    assert world.climb(state) is state
    world.apply(make(world))
    assert world.gate.state in (State.BLOCKED, State.CLOSED)
    assert word in (world.gate.because or "")
    world.type()
    assert world.press() is None
    assert world.gate.permit is None


@pytest.mark.parametrize(
    "case",
    [
        case
        for case, (state, word, _) in REFUSED.items()
        if state in PROOF and "now" not in word and word != "rebooted"
    ],
)
def test_a_pull_alone_refuses_the_same(case: str) -> None:
    state, word, make = REFUSED[case]
    world = World()
    world.gate = Gate("box")
    assert world.climb(state) is state
    assert world.apply(make(world)) is State.BLOCKED
    assert word in (world.gate.because or "")
    assert world.gate.outcome is None


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("stopped already", {"provider": "stopped"}),
        ("survive: disk", {"tiers": (replace(DISK, survives_stop=False),)}),
        ("survive: disk", {"tiers": (replace(DISK, survives_stop=None),)}),
        ("noted", {"basis": ""}),
    ],
)
def test_a_park_that_is_none(word: str, changes: dict[str, object]) -> None:
    world = World(PARK)
    world.apply(_plan(**changes)(world))
    assert world.gate.state is State.CLOSED
    assert word in (world.gate.because or "")


def test_a_park_needs_no_results_and_a_box_that_is_off_may_still_be_destroyed() -> None:
    world = World(PARK)
    assert world.apply(_plan(results=None)(world)) is State.QUIESCING
    world = World()
    assert world.apply(_plan(provider="stopped")(world)) is State.QUIESCING


def test_only_what_was_shown_can_be_accepted() -> None:
    world = World(PARK, running=("a", "b"))
    assert world.climb(State.ACCEPTING) is State.ACCEPTING
    assert world.apply(Accepted(("a",))) is State.CLOSED


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (None, "roster is not known"),
        (Cells(), "names no cell"),
        (Cells(("base",), (), ("base stands twice",)), "in doubt"),
        (Cells(("base", "lost")), "lost (finished): no best.pth and no best_metrics.json"),
        (Cells(("base",), (("never", "no start line"),)), "never (no start line)"),
    ],
)
def test_the_roster_must_be_known_and_every_cell_complete(cells: Cells | None, word: str) -> None:
    world = World(cells=cells)
    world.climb()
    assert world.gate.state is State.BLOCKED
    assert word in (world.gate.because or "")


def test_results_without_a_checkpoint_are_no_proof() -> None:
    world = World()
    world.climb(State.LOADING)
    metrics = [v for v in world.verdicts().verdicts if not v.path.endswith(".pth")]
    renamed = tuple(replace(v, load="ok", checkpoint=False) for v in metrics)
    inventory = world.inventory()
    world.gate.keep(
        replace(
            inventory,
            manifest=Manifest.of(
                f for f in inventory.manifest.files if not f.path.endswith(".pth")
            ),
        )
    )
    assert world.apply(Loaded(renamed, "torch")) is State.BLOCKED
    assert "no checkpoint" in (world.gate.because or "")


# --- the judgements beneath the rules, each by itself ---


@pytest.mark.parametrize(
    ("verdict", "here", "by_the_box"),
    [
        (FileVerdict("a/best_metrics.json", HASH, "ok"), True, True),
        (FileVerdict("a/best_metrics.json", HASH, "skipped"), False, False),
        (FileVerdict("a/train.log", HASH, "skipped"), True, True),
        (FileVerdict("a/train.log", HASH, "failed"), False, False),
        (FileVerdict("a/model.safetensors", HASH, "skipped"), False, False),
        (FileVerdict("a/noname", HASH, "skipped", checkpoint=True), False, False),
        (FileVerdict("a/best.pth", HASH, "ok", checkpoint=True), True, True),
        (FileVerdict("a/best.pth", HASH, "ok-remote", checkpoint=True), False, True),
        (FileVerdict("a/best.pth", HASH, "refused", checkpoint=True), False, False),
    ],
)
def test_what_a_verdict_proves(verdict: FileVerdict, here: bool, by_the_box: bool) -> None:
    assert proves(verdict) is here
    assert proves(verdict, on_box=True) is by_the_box


def test_a_comparison_needs_something_to_compare() -> None:
    one = manifest_of({"a": "1", "b": "2"})
    assert compare(one, one).ok
    assert not compare(Manifest(), Manifest()).ok
    assert not compare(one, Manifest()).ok
    assert not compare(one, manifest_of({"a": "1"})).ok
    assert not compare(manifest_of({"a": "1"}), one).ok
    assert not compare(one, manifest_of({"a": "1", "b": "3"})).ok
    assert not compare(one, one, cells=("a", "missing")).ok


def test_every_honest_list_is_taken() -> None:
    assert misnamed(manifest_of({"a/b.pth": "1", "..a/...": "2", "a b/ü": "3"})) == ()


# --- what may be allowed by hand ---


def _refused(*needs: str, path: str = "a/best.pth") -> FileVerdict:
    return FileVerdict(path, HASH, "refused", checkpoint=True, needs=needs)


GOOD = FileVerdict("b/best.pth", HASH, "ok", checkpoint=True)
UNREAD = FileVerdict("c/best.pth", HASH, "skipped", checkpoint=True)


def test_an_offer_names_every_name_and_counts_every_file() -> None:
    made = offer(
        (GOOD, _refused("foo.Bar", "numpy.dtype"), _refused("foo.Bar", path="d.pth"), UNREAD),
        frozenset(),
        on_box=False,
    )
    assert made is not None
    assert made.phrase("box-4242") == (
        "load 2 files with foo.Bar, numpy.dtype and trust the box's own load of 1 file on box-4242"
    )
    assert {"they name foo.Bar", "they name numpy.dtype"} <= set(made.lines())


@pytest.mark.parametrize(
    "verdicts",
    [
        (GOOD,),
        (),
        (_refused(),),
        (_refused("foo.Bar"), replace(GOOD, load="failed")),
        (_refused("foo.Bar", "os.system"),),
        (_refused(*(f"foo.Bar{number}" for number in range(9))),),
        (_refused("foo.Known"),),
        (replace(UNREAD, path="a/best_metrics.json", checkpoint=False),),
        (replace(UNREAD, needs=("foo.Bar",), load="failed"),),
        # A box's own torch reads neither, so its word on the other file would open nothing.
        (UNREAD, replace(UNREAD, path="c/best.keras")),
        (replace(UNREAD, path="c/flax_model.msgpack"),),
    ],
)
def test_what_no_allowance_can_mend_is_not_offered(verdicts: tuple[FileVerdict, ...]) -> None:
    assert offer(verdicts, frozenset({"foo.Known"}), on_box=False) is None


def test_what_was_allowed_once_is_not_offered_again() -> None:
    assert offer((UNREAD,), frozenset(), on_box=True) is None
    made = offer((_refused("foo.Bar", "foo.Known"),), frozenset({"foo.Known"}), on_box=False)
    assert made is not None
    assert made.names == ("foo.Bar",)


@pytest.mark.parametrize(
    ("name", "may"),
    [
        *(
            (name, True)
            for name in ("numpy._core.multiarray.scalar", "foo.Bar", "argparse.Namespace")
        ),
        *((name, True) for name in ("numpy.random._pickle.__randomstate_ctor", "builtins.set")),
        *(
            (name, True)
            for name in ("types.SimpleNamespace", "_codecs.encode", "pathlib.PosixPath")
        ),
        *(
            (name, False)
            for name in ("os.system", "posix.system", "builtins.eval", "builtins.getattr")
        ),
        *(
            (name, False)
            for name in ("torch.os.system", "torch.hub.load", "torch.load", "numpy.load")
        ),
        *(
            (name, False)
            for name in ("types.CodeType", "types.a.SimpleNamespace", "foo.__import__")
        ),
        *(
            (name, False)
            for name in ("", "foo", "foo.", ".foo", "foo.Bar ", "foo.\x1b[2J", "ｆoo.Bar")
        ),
        *((name, False) for name in ("foo.Bar\n", "a.b-c", "foo." + "x" * 120)),
    ],
)
def test_only_what_builds_a_value_may_be_allowed(name: str, may: bool) -> None:
    assert may_allow(name) is may


def test_the_digest_covers_everything_that_was_seen() -> None:
    """Whatever is changed in the evidence, one thing at a time, is confirmed by itself or not at all."""
    worlds = {
        "as it is": World(),
        "the plan": World(identity=replace(MACHINE, boot_id="boot-2")),
        "beside it": World(seconds=(ADDRESS,)),
        "the basis": World(basis="another row"),
        "the queue": World(cells=replace(CELLS, unfinished=(("late", "exit 2"),))),
        "the reader": World(verifier="torch 2.14.0"),
        "a detail": World(detail="12 % of its weights are NaN"),
        "a stamp": World(versions=7),
        "bytes": World(box={**World().box, "base/train.log": "ok epoch 2"}),
    }
    digests = {}
    for name, world in worlds.items():
        assert world.climb() is State.READY, name
        digests[world.gate.digest] = name
    assert sorted(digests.values()) == sorted(worlds)


def test_every_rung_and_every_word_changes_the_digest() -> None:
    world = World(seconds=(ADDRESS,))
    digests = [world.gate.digest]
    for _ in range(6):
        world.step()
        digests.append(world.gate.digest)
    assert world.gate.state is State.READY
    world.beat(3.0)
    world.acknowledge_all()
    digests.append(world.gate.digest)
    assert len(set(digests)) == len(digests)
    blocked = World()
    blocked.box["late/best.pth"] = "needs foo.Bar x"
    blocked.climb(State.BLOCKED)
    digests = [blocked.gate.digest]
    blocked.step()
    digests.append(blocked.gate.digest)
    blocked.gate.loss = None
    digests.append(blocked.gate.digest_now())
    blocked.gate.offer = None
    digests.append(blocked.gate.digest_now())
    blocked.gate.allowed = frozenset({"foo.Bar"})
    digests.append(blocked.gate.digest_now())
    blocked.gate.on_box = True
    digests.append(blocked.gate.digest_now())
    blocked.gate.forget(Listed)
    digests.append(blocked.gate.digest_now())
    assert len(set(digests)) == len(digests)
    park = World(PARK, running=("python train.py",))
    park.climb(State.ACCEPTING)
    before = park.gate.digest
    park.step()
    assert park.gate.digest != before


def test_a_confirmation_of_other_evidence_is_not_taken() -> None:
    old, world = World(), World()
    old.arm()
    world.box["base/train.log"] = "ok epoch 2"
    world.arm()
    assert world.apply(Typed(world.gate.phrase, old.gate.digest)) is State.READY
    assert "changed" in (world.gate.note or "")


def test_an_unknown_kind_of_evidence_shuts_the_gate() -> None:
    assert Gate("box", PARK).apply(Loaded(()), 0.0, 0.0) is State.CLOSED
