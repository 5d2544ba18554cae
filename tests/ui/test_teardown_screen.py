"""Only a hand that types the whole phrase after the wait gets past the ladder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from rich.text import Text
from textual import events
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Button

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.gate import GateView, Rung, RungState, RungView
from gpu_tui.core.ladder import SecondView, Way
from gpu_tui.core.waiver import Waiver
from gpu_tui.resources import load_profiles
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.abandon import AbandonScreen
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.override import OverrideScreen
from gpu_tui.ui.screens.teardown import TeardownScreen
from gpu_tui.ui.screens.verbs import VerbScreen
from gpu_tui.ui.text.ladder import detail, rung_lines
from gpu_tui.ui.widgets.phrase import PhraseField
from gpu_tui.ui.widgets.rows import Rows
from screenshots.builders import AUTODL, fleet
from screenshots.fake_teardown import ScriptedLadder, ScriptedTeardown
from screenshots.scenes import ladder_blocked, ladder_ready, sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
PHRASE = "autodl-1-3f9c"
SIZE = (100, 32)


@pytest.fixture
def ladder(clock: ManualClock) -> ScriptedLadder:
    return ScriptedLadder([ladder_ready(ready_at=clock.boot() + 3, expires_at=clock.boot() + 300)])


@pytest.fixture
def app(cockpit: Make, ladder: ScriptedLadder) -> CockpitApp:
    return cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))


async def climb(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.press("t")
    await pilot.press("down", "down", "enter")
    await pilot.pause()
    assert isinstance(pilot.app.screen, TeardownScreen)


async def type_slowly(pilot: Pilot[None], clock: ManualClock, text: str) -> None:
    for char in text:
        clock.advance(0.12)
        await pilot.press({"-": "minus", " ": "space", "_": "underscore"}.get(char, char))


async def test_the_cursor_starts_on_keeping_everything(app: CockpitApp, text_of: Read) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, VerbScreen)
        assert "Keep everything as it is" in text_of(app)
        await pilot.press("enter")
        assert isinstance(app.screen, Cockpit)
        await pilot.press("t", "down", "down")
        await pilot.pause()
        text = text_of(app)
        assert "/root/autodl-tmp" in text
        assert "deleted" in text
        assert "kept" in text


async def test_what_lacks_an_id_or_a_key_says_so_before_its_ladder_is_opened(
    cockpit: Make, ladder: ScriptedLadder, text_of: Read
) -> None:
    """Whose key is missing still has a call; whose id is missing has none."""
    terminate, other = [
        verb for verb in load_profiles()["runpod"].teardown if verb.effect == "destroy"
    ]
    port = ScriptedTeardown((terminate, other), ladder)
    port.ways = {terminate.key: Way(by_hand=True, why="no provider.id in the fleet file")}
    app = cockpit(teardown=port)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t", "down")
        text = text_of(app)
        assert "by hand" in text
        assert "the ladder ends with the steps to click" in text
        assert "no provider.id in the fleet file" in text
        await pilot.press("down")
        text = text_of(app)
        assert "via API" in text
        assert "the steps to click" not in text


async def test_a_typed_phrase_after_the_wait_confirms(
    app: CockpitApp, ladder: ScriptedLadder, clock: ManualClock
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("tab")
        clock.advance(1)
        await type_slowly(pilot, clock, PHRASE)
        clock.advance(3)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("confirm", PHRASE)]


async def test_before_the_wait_is_over_nothing_is_confirmed(
    app: CockpitApp, ladder: ScriptedLadder, clock: ManualClock, text_of: Read
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("tab")
        clock.advance(0.6)
        await type_slowly(pilot, clock, PHRASE)
        assert clock.boot() < 1_003
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == []
        assert app.screen.query_one("#confirm", Button).disabled
        assert "live in" in text_of(app)


async def test_evidence_that_is_void_confirms_nothing(
    app: CockpitApp, ladder: ScriptedLadder, clock: ManualClock
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("tab")
        clock.advance(1)
        await type_slowly(pilot, clock, PHRASE)
        clock.advance(400)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == []


async def test_enter_space_mouse_and_paste_never_confirm(
    app: CockpitApp, ladder: ScriptedLadder, clock: ManualClock, text_of: Read
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        clock.advance(10)
        field = app.screen.query_one(PhraseField)
        assert app.screen.focused is app.screen.query_one("#cancel")
        await pilot.click("#confirm")
        await pilot.click("#phrase")
        clock.advance(1)
        field.post_message(events.Paste(PHRASE))
        await pilot.pause()
        assert field.typed == ""
        assert "pasting is refused" in text_of(app)
        await pilot.press("enter", "ctrl+v")
        for char in PHRASE:  # a burst without time between the keys: a terminal, not a hand
            await pilot.press({"-": "minus"}.get(char, char))
        await pilot.press("enter", "space")
        await pilot.click("#confirm")
        await pilot.pause()
        assert not field.complete
        assert ladder.asked == []


async def test_keys_in_the_first_moment_of_the_focus_do_not_count(
    app: CockpitApp, clock: ManualClock
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        clock.advance(10)
        await pilot.press("tab")
        await type_slowly(pilot, clock, "aut")
        assert app.screen.query_one(PhraseField).typed == ""


async def test_a_wrong_phrase_does_not_confirm_and_can_be_mended(
    app: CockpitApp, ladder: ScriptedLadder, clock: ManualClock
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("tab")
        clock.advance(5)
        await type_slowly(pilot, clock, PHRASE[:-1] + "x")
        clock.advance(1)
        await pilot.press("enter")
        assert ladder.asked == []
        clock.advance(1)
        await pilot.press("backspace")
        await type_slowly(pilot, clock, "c")
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("confirm", PHRASE)]


async def test_two_enters_at_once_choose_once(cockpit: Make, ladder: ScriptedLadder) -> None:
    port = ScriptedTeardown(AUTODL.teardown, ladder)
    app = cockpit(teardown=port)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("t", "down")
        for _ in range(3):
            app.post_message(events.Key("enter", "\r"))
        await pilot.pause()
        await pilot.pause()
        assert app.is_running
        assert len(port.opened) <= 1


@pytest.mark.parametrize("key", ["enter", "space", "escape"])
async def test_the_first_key_cancels_and_shuts_the_gate(
    key: str, app: CockpitApp, ladder: ScriptedLadder
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("enter" if key == "space" else key)
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert ladder.asked == [("close", "")]


async def test_a_gate_that_shuts_takes_the_question_away(
    app: CockpitApp, ladder: ScriptedLadder, clock: ManualClock, text_of: Read
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("tab")
        clock.advance(5)
        await type_slowly(pilot, clock, PHRASE)
        ladder.show(ladder_blocked())
        await pilot.pause()
        assert PHRASE not in text_of(app)
        assert not app.screen.query_one(PhraseField).complete
        assert "The gate is shut: 2 files here are not what the box has" in text_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert ("confirm", PHRASE) not in ladder.asked


async def test_abandoning_lists_every_path_and_needs_its_own_sentence(
    cockpit: Make, clock: ManualClock, text_of: Read
) -> None:
    ladder = ScriptedLadder([ladder_blocked()])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        clock.advance(1)
        await pilot.click("#abandon")
        await pilot.pause()
        assert isinstance(app.screen, AbandonScreen)
        text = text_of(app)
        assert "2 files, 393.2 MiB, will be lost" in text
        assert "1.2 KiB  /root/autodl-tmp/no_aug/best_metrics.json" in text
        for path in ladder_blocked().lost_paths:
            assert path in text
        await pilot.press("enter")  # the focus is on keeping the data
        await pilot.pause()
        assert isinstance(app.screen, TeardownScreen)
        while app.screen.query_one("#abandon").has_class("-active"):
            await pilot.pause(0.02)  # it takes no second click while it looks pressed
        await pilot.click("#abandon")
        await pilot.pause()
        assert isinstance(app.screen, AbandonScreen)
        app.screen.query_one(PhraseField).focus()
        await pilot.pause()
        clock.advance(5)
        await type_slowly(pilot, clock, "abandon 2 files on autodl-1")
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("abandon", "abandon 2 files on autodl-1")]


async def test_a_list_of_very_many_paths_is_made_once_and_not_with_each_look(
    cockpit: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty thousand took seconds, every second: no key of the sentence came through."""
    made: list[int] = []
    lines = AbandonScreen.lines

    def counted(self: AbandonScreen, width: int) -> Sequence[Text]:
        made.append(width)
        return lines(self, width)

    monkeypatch.setattr(AbandonScreen, "lines", counted)
    paths = tuple(f"/data/{'长' * (n % 60)}\x1b[2J/img_{n:06}.jpeg" for n in range(2_000))
    gate = replace(ladder_blocked(), lost_paths=paths, lost_sizes=(9,) * len(paths))
    app = cockpit()
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(AbandonScreen(app._moment(), gate, clock))
        await pilot.pause()
        for _ in range(3):
            clock.advance(1)
            app._tick()
        rows = app.screen.query_one("#lost", Rows)
        assert made == [rows.size.width]
        assert all(row.cell_len <= rows.size.width for row in rows.lines)
        whole = "".join(row.plain[12:] for row in rows.lines[1:])
        assert whole == "".join(path.replace("\x1b", "\ufffd") for path in paths)
        await pilot.resize_terminal(90, 30)
        assert made[1:] == [rows.size.width]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("gone", "proven stopped"),
        ("stopped", "as read back from the provider"),
        ("still-there", "STILL THERE"),
        ("unknown", "UNKNOWN"),
        ("steps", "1. Open the console"),
        ("cancelled", "Nothing was changed"),
    ],
)
async def test_every_outcome_is_told(
    outcome: str, words: str, cockpit: Make, text_of: Read
) -> None:
    ready = ladder_ready()
    rungs = tuple(replace(rung, state=RungState.PASSED) for rung in ready.rungs)
    ended = replace(
        ready, rungs=rungs, ready=False, outcome=outcome, outcome_lines=("Open the console",)
    )
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([ended])))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        assert words in text_of(app)
        assert str(app.screen.query_one("#cancel", Button).label) == "Close"


async def test_running_work_is_named_and_accepted(
    cockpit: Make, clock: ManualClock, text_of: Read
) -> None:
    asks = replace(ladder_blocked(), needs_acceptance=("no_aug: epoch 12/20",), lost_paths=())
    ladder = ScriptedLadder([asks])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        assert "no_aug: epoch 12/20" in text_of(app)
        await pilot.click("#accept")  # it came up under the pointer: nobody meant it
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == []
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("accept", "")]


async def test_the_ladder_covers_what_the_box_says(app: CockpitApp, text_of: Read) -> None:
    async with app.run_test(size=(160, 46)) as pilot:
        await climb(pilot)
        text = text_of(app)
        assert "loss nan" not in text
        assert "Danger clocks" not in text
        assert "autodl-1" in text


def test_of_a_plan_that_is_refused_only_the_reason_is_loud() -> None:
    said = ("release: cannot be undone", "kept: data disk (/data)", "the box is not this instance")
    plan = RungView(Rung.PLAN, "plan", RungState.BLOCKED, said)
    match = replace(plan, rung=Rung.MATCH)
    for rung, loud in ((plan, [False, False, True]), (match, [True, True, True])):
        for rows in (detail(rung, 80), rung_lines(rung, 80)[:3]):
            found = ["level-act" in {str(span.style) for span in row.spans} for row in rows]
            assert found == loud


async def test_an_instance_marked_read_only_has_no_ladder(cockpit: Make) -> None:
    store = sweep()
    first = store.fleet.instances[0]
    locked = replace(first, instance=replace(first.instance, read_only=True))
    store.become(fleet(locked))
    port = ScriptedTeardown(AUTODL.teardown, ScriptedLadder([]))
    app = cockpit(store, teardown=port)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert port.opened == []


async def test_no_word_of_a_box_stands_over_an_open_ladder(
    cockpit: Make, ladder: ScriptedLadder
) -> None:
    """A toast quotes a log; it waits until the ladder is closed, and is not lost."""
    store = sweep()
    app = cockpit(store, teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    news = replace(store.fleet.findings[0], kind="xid", cell="fresh", evidence="type me")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.pause()
        app._tick()  # what is there at the start is no news
        await climb(pilot)
        store.become(replace(store.fleet, findings=(*store.fleet.findings, news)))
        app._tick()
        await pilot.pause()
        assert len(app._notifications) == 0
        await pilot.press("escape")
        await pilot.pause()
        store.touch("")
        app._tick()
        await pilot.pause()
        assert [note.message.split(" · ")[0] for note in app._notifications] == ["✗ xid"]


SECONDS = (
    SecondView("volume:vol-8af2", "volume data, 50 GB", ("dies with it",), "autodl-1-8af2"),
    SecondView("ip:203.0.113.9", "static IP", ("goes on billing",), "autodl-1-13.9"),
)
SIZES = [(160, 45), (100, 30), (80, 24), (60, 20)]
SIGNS = {
    RungState.PASSED: "✓", RungState.WORKING: "▸", RungState.BLOCKED: "✗", RungState.WAITING: "·",
}  # fmt: skip


def wordy(view: GateView) -> GateView:
    """The same with as much evidence on the first two rungs as a bad day brings."""
    many = tuple(
        f"python train.py --config configs/ablation_{n}.yaml (pid 40{n:02})" for n in range(12)
    )
    return replace(view, rungs=tuple(
        replace(rung, lines=many) if rung.rung <= Rung.QUIESCE else rung for rung in view.rungs
    ))  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("many", [False, True])
async def test_all_nine_rungs_and_the_question_are_in_sight_at_once(
    size: tuple[int, int], many: bool, cockpit: Make, clock: ManualClock, text_of: Read
) -> None:
    for made in (ladder_ready(expires_at=clock.boot() + 300), ladder_blocked()):
        view = wordy(made) if many else made
        app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([view])))
        async with app.run_test(size=size) as pilot:
            await climb(pilot)
            text = text_of(app)
            for rung in view.rungs:
                assert f"{SIGNS[rung.state]} {rung.rung.value} {rung.title}" in text
            assert "Cancel" in text
            assert (PHRASE in text) is view.ready
            if view.closed_because:
                assert view.closed_because in text.replace("\n", " ")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("outcome", ["gone", "stopped", "still-there", "unknown", "steps"])
async def test_the_outcome_is_seen_at_once(
    size: tuple[int, int], outcome: str, cockpit: Make, text_of: Read
) -> None:
    words = {"gone": "CONFIRMED GONE", "stopped": "CONFIRMED STOPPED", "still-there": "STILL THERE",
             "unknown": "UNKNOWN", "steps": "FOR YOU TO DO"}  # fmt: skip
    steps = tuple(f"Press the button number {n}" for n in range(4))
    ended = replace(wordy(ladder_ready()), ready=False, outcome=outcome, outcome_lines=steps)
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([ended])))
    async with app.run_test(size=size) as pilot:
        await climb(pilot)
        text = text_of(app)
        assert words[outcome] in text
        assert "Close" in text
        if outcome == "steps":
            assert all(f"{n}. {step}" in text for n, step in enumerate(steps, 1))


async def test_the_steps_for_a_console_can_be_copied(
    cockpit: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = replace(
        ladder_ready(), ready=False, outcome="steps", outcome_lines=("Open it", "Press it")
    )
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([ended])))
    copied: list[str] = []
    monkeypatch.setattr(app, "copy", lambda text, said: copied.append(text))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        await pilot.press("y")
        assert copied == ["1. Open it\n2. Press it"]


async def test_each_second_resource_is_typed_before_the_phrase(
    cockpit: Make, clock: ManualClock, text_of: Read
) -> None:
    ready = replace(ladder_ready(expires_at=clock.boot() + 300), seconds=SECONDS)
    ladder = ScriptedLadder([ready])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        assert "1 of 2 beside it: volume data, 50 GB" in text_of(app)
        await pilot.press("tab")
        clock.advance(1)
        await type_slowly(pilot, clock, PHRASE)
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == []
        for _ in PHRASE:
            clock.advance(0.1)
            await pilot.press("backspace")
        await type_slowly(pilot, clock, "autodl-1-8af2")
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("acknowledge volume:vol-8af2", "autodl-1-8af2")]
        first, second = SECONDS
        ladder.show(replace(ready, seconds=(replace(first, done=True), second)))
        await pilot.pause()
        assert "2 of 2 beside it: static IP" in text_of(app)
        ladder.show(replace(ready, seconds=tuple(replace(one, done=True) for one in SECONDS)))
        await pilot.pause()
        assert f"To go on, type {PHRASE}" in text_of(app)


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_an_abandonment_too_asks_for_what_hangs_on_it_first(
    cockpit: Make, clock: ManualClock, text_of: Read, size: tuple[int, int]
) -> None:
    """The gate has no phrase for it until all of that is seen: it was never asked, so nobody could go on."""
    whole = ladder_blocked()
    shut = replace(whole, seconds=SECONDS[:1], abandon_phrase=None)
    ladder = ScriptedLadder([shut])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=size) as pilot:
        await climb(pilot)
        shown = text_of(app)
        assert "Before data may be abandoned: 1 of 1 beside it: volume data, 50 GB" in shown
        if size == (80, 24):  # below the rung that is stuck, and on its own
            for _ in range(2):
                await pilot.press("l")
            shown = text_of(app)
        assert "dies with it" in shown
        assert not app.screen.query_one("#abandon").display
        await pilot.press("tab")
        clock.advance(5)
        await type_slowly(pilot, clock, SECONDS[0].phrase)
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("acknowledge volume:vol-8af2", SECONDS[0].phrase)]
        ladder.show(replace(whole, seconds=(replace(SECONDS[0], done=True),)))
        await pilot.pause()
        assert "Before data" not in text_of(app)
        assert app.screen.query_one("#abandon").display


UNFINISHED = Waiver("unfinished", (("no_aug", "exit 1"), ("wide_lr3e4", "no end line")))
EXCEPTION = SecondView(
    UNFINISHED.key, UNFINISHED.label, UNFINISHED.lines, UNFINISHED.phrase, exception=True
)


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_an_exception_names_its_cells_and_is_accepted_by_its_own_words(
    cockpit: Make, clock: ManualClock, text_of: Read, size: tuple[int, int]
) -> None:
    ready = replace(ladder_ready(expires_at=clock.boot() + 300), seconds=(*SECONDS[:1], EXCEPTION))
    done = replace(ready, seconds=(replace(SECONDS[0], done=True), EXCEPTION))
    ladder = ScriptedLadder([done])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=size) as pilot:
        await climb(pilot)
        shown = text_of(app)
        assert "2 of 2: cells that did not end well: 2. To accept it, type" in shown
        assert "accept unfinished no_aug wide_lr3e4" in shown
        assert "Accept it" in shown
        assert "no_aug: exit 1" in shown
        assert "wide_lr3e4: no end line" in shown
        await pilot.press("tab")
        clock.advance(1)
        await type_slowly(pilot, clock, EXCEPTION.phrase.replace("_", "-"))
        await pilot.press("enter")
        assert ladder.asked == []
        for _ in EXCEPTION.phrase:
            clock.advance(0.1)
            await pilot.press("backspace")
        await type_slowly(pilot, clock, EXCEPTION.phrase)
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("acknowledge exception:unfinished", EXCEPTION.phrase)]


async def test_an_override_names_what_it_allows_and_needs_its_own_sentence(
    cockpit: Make, clock: ManualClock, text_of: Read
) -> None:
    sentence = "load 2 files with numpy.core.multiarray.scalar on autodl-1-3f9c"
    names = tuple(f"runs/cell-{n}/best.pth needs numpy.core.multiarray.scalar" for n in range(40))
    blocked = replace(ladder_blocked(), override_phrase=sentence, override_lines=names)
    ladder = ScriptedLadder([blocked])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        clock.advance(1)
        await pilot.click("#override")
        await pilot.pause()
        assert isinstance(app.screen, OverrideScreen)
        assert "cell-0/" in text_of(app)
        assert "more lines" in text_of(app)
        app.screen.query_one(PhraseField).focus()
        await pilot.pause()
        clock.advance(1)
        await type_slowly(pilot, clock, sentence)
        clock.advance(1)
        await pilot.press("enter")  # the end of the list was never in sight
        await pilot.pause()
        assert isinstance(app.screen, OverrideScreen)
        clock.advance(1)
        await pilot.press("end")
        assert "cell-39/" in text_of(app)
        clock.advance(1)
        await type_slowly(pilot, clock, sentence)
        clock.advance(1)
        await pilot.press("enter")
        await pilot.pause()
        assert ladder.asked == [("override", sentence)]


async def test_a_window_too_small_for_the_evidence_shuts_the_gate(
    app: CockpitApp, ladder: ScriptedLadder
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await climb(pilot)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert isinstance(app.screen, TeardownScreen)
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert [asked for asked, _ in ladder.asked] == ["relock", "close"]
        assert "60x12" in ladder.asked[0][1]


async def test_a_window_that_shrinks_under_the_palette_shuts_the_gate_and_takes_the_ladder_away(
    app: CockpitApp, ladder: ScriptedLadder
) -> None:
    """The palette went in place of the ladder, and the next escape ended the program."""
    async with app.run_test(size=(80, 24)) as pilot:
        await climb(pilot)
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        assert [asked for asked, _ in ladder.asked] == ["relock"]
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert [asked for asked, _ in ladder.asked] == ["relock", "close"]


async def test_a_window_that_shrinks_over_what_would_be_lost_takes_both_away(
    cockpit: Make, clock: ManualClock
) -> None:
    ladder = ScriptedLadder([ladder_blocked()])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=SIZE) as pilot:
        await climb(pilot)
        clock.advance(1)
        await pilot.click("#abandon")
        await pilot.pause()
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        await pilot.press("escape")
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert [asked for asked, _ in ladder.asked] == ["relock", "close"]


async def test_no_word_of_a_box_and_no_login_comes_over_a_ladder_under_the_palette(
    app: CockpitApp, clock: ManualClock
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await climb(pilot)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert not app.prompter._free()
        fleet = app._store.view(clock.now())
        app._announce(replace(fleet, notes=("a box says so",)))
        assert not app._notifications
        await pilot.press("escape")


async def test_a_call_that_left_is_shown_whatever_the_size(cockpit: Make) -> None:
    rungs = tuple(
        replace(rung, state=RungState.WORKING if rung.rung is Rung.ACT else RungState.PASSED)
        for rung in ladder_ready().rungs
    )
    ladder = ScriptedLadder([replace(ladder_ready(), ready=False, rungs=rungs)])
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ladder))
    async with app.run_test(size=(80, 24)) as pilot:
        await climb(pilot)
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert isinstance(app.screen, TeardownScreen)
        assert ladder.asked == []


async def test_another_rung_can_be_looked_at_where_not_all_fits(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(
        teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([wordy(ladder_blocked())]))
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await climb(pilot)
        assert "── 5 Match" in text_of(app)
        await pilot.press("h", "h", "left", "left")
        text = text_of(app)
        assert "── 1 Plan" in text
        assert "ablation_0.yaml" in text
        await pilot.press("end")
        assert "file storage" in text_of(app)  # what survives, under the plan


@pytest.mark.parametrize("size", [*SIZES, (50, 18)])
async def test_what_shut_the_gate_never_pushes_the_question_out_of_sight(
    size: tuple[int, int], cockpit: Make, clock: ManualClock, text_of: Read
) -> None:
    """At 60x20 the words to type, the field and the way out stood below the last line."""
    names = ", ".join(f"python -u train.py --config c/{n}.yaml (pid 40{n:02})" for n in range(6))
    shut = replace(
        ladder_blocked(), closed_because=f"still at work: {names}", seconds=SECONDS,
        expires_at=clock.boot() + 300,
    )  # fmt: skip
    app = cockpit(teardown=ScriptedTeardown(AUTODL.teardown, ScriptedLadder([shut])))
    async with app.run_test(size=size) as pilot:
        await climb(pilot)
        app._tick()
        await pilot.pause()
        text = text_of(app)
        assert "Cancel" in text
        assert SECONDS[0].phrase in text.replace("\n", " ")
        assert "evidence ends in" in text
        assert "5✗" in text or "✗ 5 Match" in text
        assert app.screen.query_one("#ladder").size.height >= 2
        field = app.screen.query_one(PhraseField)
        assert app.screen.region.contains_region(field.region)
        assert app.screen.region.contains_region(app.screen.query_one("#buttons").region)
