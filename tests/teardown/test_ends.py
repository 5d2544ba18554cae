"""A teardown whose end nobody saw: red in the store until it is proven or stated, also after a restart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LinkChanged, Noted, ProviderRead, TeardownEnd
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    ProviderAccess,
    ProviderState,
    SshAccess,
)
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.providers.base import Answer, Means
from gpu_tui.providers.registry import provider_for
from gpu_tui.state.contract import check_json, fleet_verdict
from gpu_tui.state.store import Store
from gpu_tui.teardown.ends import EndWatch
from gpu_tui.teardown.journal import Journal
from gpu_tui.teardown.settle import account_of, place_of, settle

POD = Instance("pod", SshAccess("h"), "runpod", provider=ProviderAccess("p-1", key_env="KEY"))


@dataclass
class Told:
    """An API that says what a test has it say; nothing can be stopped through it."""

    state: ProviderState = field(default_factory=ProviderState)
    reads: bool = True
    asked: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    word: str | None = None

    def account(self) -> str | None:
        return self.word

    def offers(self, verb: Verb) -> bool:
        return False

    def remember(self, id: str) -> None:
        self.seen.add(id)

    async def read(self, id: str) -> ProviderState:
        assert id in self.seen  # else "not found" could never mean gone after a restart
        self.asked.append(id)
        return self.state

    async def stop(self, permit: StopPermit) -> Answer:
        raise AssertionError("a watch stops nothing")


class Room:
    """One start of gpu-tui over a state directory."""

    def __init__(self, state: Path, instance: Instance = POD) -> None:
        self.clock = ManualClock()
        self.journal = Journal(state, self.clock, "me@here")
        self.store = Store(Fleet(None, (instance,)), {})
        self.provider = Told()
        self.events: list[Event] = []
        self.watch = EndWatch(
            self.journal, lambda: (instance,), lambda one: self.provider, self.sink, self.clock
        )

    def sink(self, event: Event) -> None:
        self.events.append(event)
        self.store.apply(event)

    def intent(self, instance: Instance = POD, **detail: object) -> None:
        about = {
            "verb": "terminate",
            "effect": "destroy",
            "provider_id": "p-1",
            "place": place_of(instance),
            "console": False,
            "watched": True,
        }
        self.journal.write("pod", "intent", **{**about, **detail})

    @property
    def red(self) -> str | None:
        found = [f for f in self.store.view(self.clock.now()).findings if f.kind == "teardown"]
        assert all(one.severity is Severity.FATAL for one in found)
        return found[0].evidence if found else None


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "state")


async def test_an_unknown_end_is_red_after_a_restart_and_check_escalates(
    room: Room, tmp_path: Path
) -> None:
    room.intent()
    again = Room(tmp_path / "state")
    again.provider.state = ProviderState(error="no answer within 30 s")
    await again.watch.look()
    assert "UNKNOWN" in (again.red or "")
    view = again.store.view(again.clock.now())
    assert fleet_verdict(view) == "escalate"
    rows = check_json(view)["instances"]
    assert isinstance(rows, list)
    assert any(found["kind"] == "teardown" for row in rows for found in row["findings"])
    assert view["pod"].end is not None
    assert again.watch.looked.is_set()


@pytest.mark.parametrize(
    ("state", "event", "red"),
    [("gone", "confirmed-gone", None), ("running", "still-there", "STILL THERE"), ("stopped", "still-there", "STILL THERE")],
)  # fmt: skip
async def test_the_api_settles_it_and_the_journal_says_so(
    room: Room, state: str, event: str, red: str | None
) -> None:
    room.intent()
    room.provider.state = ProviderState(state)
    await room.watch.look()
    last = room.journal.read().records[-1]
    assert (last.event, last.detail["settles"]) == (event, 1)
    assert (room.red is None) is (red is None)
    assert (red or "") in (room.red or "")
    # What is still there may go later, and is looked at until it does.
    room.provider.state = ProviderState("gone")
    await room.watch.look()
    assert room.red is None
    assert room.journal.read().records[-1].event == "confirmed-gone"


async def test_a_box_that_does_not_answer_proves_nothing(room: Room) -> None:
    room.intent(console=True, watched=False)
    await room.watch.look()
    assert room.provider.asked == []
    room.sink(LinkChanged("pod", room.clock.now(), LinkState("unreachable")))
    assert "proves nothing" in (room.red or "")
    room.sink(LinkChanged("pod", room.clock.now(), LinkState("live")))
    assert "still answers" in (room.red or "")


async def test_a_statement_resolves_it(room: Room) -> None:
    room.intent(console=True, watched=False)
    await room.watch.look()
    assert room.red
    room.journal.write("pod", "stated", typed="pod-p1 is gone", settles=1)
    await room.watch.look()
    assert room.red is None
    assert room.events[-1] == TeardownEnd("pod", room.clock.now(), None)


async def test_a_box_that_our_own_teardown_ended_is_told_of_calmly(
    room: Room, tmp_path: Path
) -> None:
    """And only that one: another id, a park, or a call that nobody saw to end explain nothing."""

    def said(about: Room) -> list[tuple[str, Severity]]:
        about.sink(ProviderRead("pod", about.clock.now(), ProviderState("gone")))
        found = about.store.view(about.clock.now()).findings
        return [(one.kind, one.severity) for one in found if one.kind != "teardown"]

    for intent, ended in (
        ({"verb": "stop", "effect": "stop"}, {"event": "confirmed-gone"}),
        # A volume beside it was deleted by hand: no state of the instance ever told of that.
        ({"console": True, "watched": False}, {"event": "stated", "typed": "pod-p1 is gone"}),
        ({}, {"event": "stated", "typed": "pod-p1 is still there", "outcome": "still-there"}),
        ({}, {"event": "stated", "typed": "pod-p1 is kept on purpose"}),
        ({}, {"event": "still-there", "outcome": "still-there"}),
    ):
        room.intent(**intent)
        room.journal.write("pod", **ended)
        await room.watch.tell()
        assert said(room) == [("unlisted_instance", Severity.WARN)], ended
    room.journal.write("pod", "confirmed-gone")
    await room.watch.tell()
    assert said(room) == [("torn_down", Severity.WARN)]
    (found,) = room.store.view(room.clock.now()).findings
    assert "your own “terminate” ended it, 2025-11-21T04:40:00Z" in found.evidence
    again = Room(tmp_path / "state")  # after a restart, too
    await again.watch.tell()
    assert said(again) == [("torn_down", Severity.WARN)]
    other = Room(tmp_path / "state", replace(POD, provider=ProviderAccess("p-2", key_env="KEY")))
    await other.watch.tell()
    assert said(other) == [("unlisted_instance", Severity.WARN)]


async def test_nothing_is_settled_while_a_ladder_is_open(room: Room) -> None:
    room.intent()
    room.provider.state = ProviderState("running")
    hold = room.journal.hold("pod")
    await room.watch.look()
    assert [record.event for record in room.journal.read().records] == ["intent"]
    assert room.provider.asked == []
    hold.close()
    await room.watch.look()
    assert room.journal.read().records[-1].event == "still-there"


async def test_a_look_older_than_the_end_of_a_ladder_settles_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.intent()
    room.provider.state = ProviderState("running")
    read = room.provider.read

    async def meanwhile(id: str) -> ProviderState:
        seen = await read(id)
        room.journal.write("pod", "confirmed-gone")  # another gpu-tui saw it end
        room.intent()  # and began again
        return seen

    monkeypatch.setattr(room.provider, "read", meanwhile)
    await room.watch.look()
    assert [r.event for r in room.journal.read().records] == ["intent", "confirmed-gone", "intent"]


async def test_another_account_is_never_asked(tmp_path: Path) -> None:
    other = Instance("pod", SshAccess("h"), "runpod", provider=ProviderAccess("p-1", key_env="B"))
    room = Room(tmp_path / "state", other)
    room.intent(POD)
    room.provider.state = ProviderState("gone")
    await room.watch.look()
    assert room.provider.asked == []
    assert room.red


async def test_another_key_in_the_same_variable_is_no_witness(room: Room) -> None:
    """The id is not in that account: that it is found nowhere there is no end of it."""
    env = {"KEY": "of-then", "GPU_TUI_RUNPOD_BASE_URL": "http://127.0.0.1:9"}
    then = provider_for(POD, {}, Means(env, room.clock))
    account = account_of(then)
    assert account
    room.intent(account=account)
    room.provider.state = ProviderState("gone")
    room.provider.word = account_of(provider_for(POD, {}, Means({**env, "KEY": "b"}, room.clock)))
    await room.watch.look()
    assert room.provider.asked == []
    assert room.red
    why = await settle(room.journal, POD, room.provider)
    assert "key or address is another one now" in (why or "")
    room.provider.word = account
    await room.watch.look()
    assert room.red is None
    assert b"of-then" not in room.journal.path.read_bytes()


async def test_a_damaged_journal_is_said_once(room: Room) -> None:
    room.intent()
    lines = room.journal.path.read_bytes()
    room.journal.path.write_bytes(lines + b"x\ny\n")
    await room.watch.look()
    await room.watch.look()
    said = [event for event in room.events if isinstance(event, Noted)]
    assert len(said) == 1
    assert "damaged" in said[0].text
    assert room.provider.asked == []
    assert room.red  # what stands before the damage still counts


async def test_a_journal_that_is_damaged_after_it_could_not_be_read_is_said_all_the_same(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable() -> object:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(room.journal, "read", unreadable)
        for _ in range(2):
            await room.watch.tell()
    room.intent()
    room.journal.path.write_bytes(room.journal.path.read_bytes() + b"x\ny\n")
    for _ in range(2):
        await room.watch.tell()
    first, second = [event.text for event in room.events if isinstance(event, Noted)]
    assert "cannot be read" in first
    assert "damaged" in second


async def test_an_edit_of_the_fleet_file_keeps_it_red(room: Room) -> None:
    room.intent()
    await room.watch.look()
    room.store.replace_fleet(Fleet(None, (Instance("pod", SshAccess("elsewhere"), "runpod"),)))
    assert room.red


async def test_an_instance_that_left_the_fleet_file_stays_red_and_cannot_be_hidden(
    room: Room,
) -> None:
    room.intent()
    await room.watch.look()
    room.store.replace_fleet(Fleet(None, ()))
    (found,) = room.store.view(room.clock.now()).beside
    assert (found.instance, found.kind) == ("pod", "teardown")
    assert "does not name it" in found.evidence
    room.store.acknowledge(found.id)
    view = room.store.view(room.clock.now())
    assert view.beside == (found,)
    assert fleet_verdict(view) == "escalate"
    room.journal.write("pod", "stated", typed="pod-p1 is gone", settles=1)
    await room.watch.look()
    assert room.store.view(room.clock.now()).beside == ()
