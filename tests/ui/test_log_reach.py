"""The past of a log: read on demand, searched on the box, marked, and never mixed with another file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from gpu_tui.core.log_range import ANCHOR, Hit, LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import LogView as Followed
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.log import LogPane
from gpu_tui.ui.screens.findings import FindingsScreen
from gpu_tui.ui.screens.hits import HitsScreen
from gpu_tui.ui.text.places import Place, later
from gpu_tui.ui.widgets.logview import LogView
from screenshots.builders import SceneStore, fleet
from screenshots.scenes import sweep

Make = Callable[..., CockpitApp]
SOURCE = LogSource("/root/a.log", "no_aug")
LINES = [f"step {n} of nine thousand, and nothing to say" for n in range(9_000)]
LINES[40] = "RuntimeError: CUDA out of memory"
RAW = "".join(line + "\n" for line in LINES).encode()
SEEN = 8_000  # the line where the tail began


class BoxControl:
    """A box that holds RAW and answers when it is let."""

    def __init__(self) -> None:
        self.raw, self.file = RAW, 7
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked: list[LogAsk | Sequence[Term]] = []
        self.cut = False

    def reconnect(self, instance: str) -> None: ...
    def follow_cell(self, instance: str, cell: str | None) -> None: ...

    async def read_log(self, instance: str, source: LogSource, ask: LogAsk) -> LogPart:
        self.asked.append(ask)
        await self.may_answer.wait()
        if ask.file not in (0, self.file):
            raise LogUnread("the log was rotated")
        at = 0
        if ask.line is not None:
            at = sum(len(line) + 1 for line in self.raw.split(b"\n")[: ask.line])
            at = min(at, len(self.raw))
        start, stop = max(0, at + ask.start), min(len(self.raw), at + ask.stop)
        if start and self.raw[start - 1 : start] != b"\n":
            start = self.raw.find(b"\n", start) + 1
        stop = self.raw.rfind(b"\n", start, stop) + 1
        data = self.raw[start:stop]
        number = self.raw.count(b"\n", 0, start) if start == 0 or ask.line is not None else None
        lines = LogReader().feed(data)
        return LogPart(self.file, start, stop, len(self.raw), lines, number, at, data[:ANCHOR])

    async def search_log(self, instance: str, source: LogSource, terms: Sequence[Term]) -> LogHits:
        self.asked.append(terms)
        await self.may_answer.wait()
        hits, at = [], 0
        for number, line in enumerate(self.raw.decode().splitlines()):
            if all(_has(line, term) is term.wanted for term in terms):
                hits.append(Hit(number, at, line))
            at += len(line) + 1
        return LogHits(self.file, len(self.raw), tuple(hits), cut=self.cut)


def _has(line: str, term: Term) -> bool:
    return bool(re.search(term.text if term.regex else re.escape(term.text), line))


class Reach:
    """One log in a running cockpit, whose tail began at line SEEN."""

    def __init__(self, app: CockpitApp, pilot: Pilot[None], control: BoxControl) -> None:
        self.app, self.pilot, self.control = app, pilot, control

    @property
    def view(self) -> LogView:
        return self.app.screen.query_one(LogView)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        await self.pilot.pause()
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()


@asynccontextmanager
async def reach(
    cockpit: Make,
    store: SceneStore | None = None,
    start: int = SEEN,
    *,
    notifications: bool = False,
) -> AsyncIterator[Reach]:
    store = store or sweep()
    skipped = len("".join(line + "\n" for line in LINES[:start]).encode())
    tail = LogBuffer()
    tail.opened(7, skipped, resumed=False)
    tail.extend(LogReader().feed(RAW[skipped:]), len(RAW))
    first = replace(store.fleet.instances[0], logs=(Followed(SOURCE, 0, tail.end, 1, None, None, skipped),))  # fmt: skip
    store.become(fleet(first))
    store.logs = {("autodl-1", SOURCE): tail}
    control = BoxControl()
    app = cockpit(store, control=control)
    async with app.run_test(size=(80, 24), notifications=notifications) as pilot:
        await pilot.pause()
        await pilot.press("5", "z")
        await pilot.pause()
        yield Reach(app, pilot, control)


async def test_what_is_not_loaded_is_said_and_read_when_somebody_goes_there(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        assert log.view.texts[-1] == LINES[-1]
        assert log.control.asked == []
        log.view.to_first()
        await log.pilot.pause()
        size = f"{log.view.document.start / 1024:.1f} KiB"
        assert f"▲ {size} of older lines on the box" in text_of(log.app)
        assert log.view.texts[0] == LINES[SEEN]
        log.control.may_answer.clear()
        await log.pilot.press("pageup")
        await log.pilot.pause()
        assert "loading older lines" in text_of(log.app)
        await log.pilot.press("pageup", "up")  # one question at a time
        assert len(log.control.asked) == 1
        log.control.may_answer.set()
        await log.settle()
        seen = log.view.texts
        assert seen == LINES[SEEN - len(seen) + 1 : SEEN + 1]  # one page up
        assert log.view.document.gap == 0


async def test_all_of_it_can_be_paged_through_up_to_the_first_line_and_down_again(
    cockpit: Make,
) -> None:
    async with reach(cockpit) as log:
        log.view.to_first()
        for _ in range(1_000):
            if log.view.document.start == 0:
                break
            log.view.to_first()
            await log.press("up")
        document = log.view.document
        assert document.start == 0
        keys = list(document.numbers)
        assert [document.line(key).text for key in keys] == LINES  # type: ignore[union-attr]
        assert [document.number(key) for key in keys[:SEEN]] == list(range(SEEN))
        await log.press("G")
        assert log.view.following


async def test_g_shows_the_first_line_of_the_file_and_what_lies_between(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        await log.press("g")
        assert log.view.texts[0] == LINES[0]
        assert "      1 ▏ step 0 of nine" in text_of(log.app)
        assert log.control.asked == [LogAsk(0, 131_072, file=7)]
        gap = log.view.document.gap
        assert gap == log.view.document.tail.start - 131_072 + (
            131_072 - log.view.document.past.end
        )
        between = len(log.view.document.past.keys)
        log.view.go_to(log.view.document.past.keys[-1])
        await log.pilot.pause()
        assert "KiB are not loaded" in text_of(log.app)
        await log.press("down")
        assert len(log.view.document.past.keys) > between
        assert "      1  █" not in text_of(log.app)
        await log.press("G", "N")
        assert LINES[40] in log.view.texts
        assert "history: gpu oom →" in text_of(log.app)


async def test_a_rotated_log_is_said_and_not_mixed(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        log.control.file = 8
        await log.press("g")
        assert "▲ the log was rotated" in text_of(log.app)
        assert log.view.document.past is None


async def test_a_place_may_be_a_line_a_byte_a_share_or_a_time(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        for typed, line in [("41", 40), ("50%", None), ("100k", None), ("+12", SEEN + 11), ("8990", 8_989)]:  # fmt: skip
            await log.press("colon", *typed, "enter")
            key = log.view.current
            assert key is not None, (typed, log.control.asked, text_of(log.app))
            entry = log.view.document.line(key)
            assert entry is not None
            if line is not None:
                assert entry.text == LINES[line]
            else:
                wanted = len(RAW) // 2 if typed == "50%" else 100 * 1024
                assert LINES.index(entry.text) == RAW.count(b"\n", 0, wanted)
        await log.press("colon", *"nonsense", "enter")
        assert "line 1200 ·" in text_of(log.app)
        assert "nonsense is no place" in str([n.message for n in log.app._notifications])
        await log.press("escape")
        assert log.view.has_focus


@pytest.mark.parametrize(
    ("typed", "stamp", "found"),
    [
        ("20:42", "20:43:40", True), ("20:42", "21:00:00", True), ("20:42", "20:41:38", False),
        ("20:42", "120:43:40", False), ("09:59", "10:00:01", True), ("23:59", "23:58:00", False),
        ("2026-03-04 20:42", "2026-03-04T20:43:40", True),
        ("2026-03-04 20:42", "2026-03-03 20:43:40", False), ("2026-03-04", "2026-03-05 01:00:00", False),
    ],
)  # fmt: skip
def test_a_later_time_of_the_day_is_known_by_its_digits(
    typed: str, stamp: str, found: bool
) -> None:
    pattern = later(typed)
    assert (pattern is not None and re.search(pattern, f"{stamp} step 3") is not None) is found


async def test_a_time_that_no_line_has_leads_to_the_first_one_after_it(cockpit: Make) -> None:
    async with reach(cockpit) as log:
        lines = [*LINES]
        lines[40:42] = ["20:41:38 one", "20:43:40 two"]
        log.control.raw = "".join(f"{line}\n" for line in lines).encode()
        await log.press("colon", *"23:58", "enter")
        assert "no line of this log has that" in str([n.message for n in log.app._notifications])
        await log.press("colon", *"20:42", "enter")
        said = str([n.message for n in log.app._notifications])
        assert "no line has 20:42: this is the first after it" in said
        assert "no line of this log" not in said
        assert log.view.document.line(log.view.current or 0).text == "20:43:40 two"  # type: ignore[union-attr]


async def test_a_search_goes_over_the_whole_file_on_the_box(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        await log.press("B")
        assert "type a filter first" in str([n.message for n in log.app._notifications])
        await log.press(*"memory !nine", "enter", "B")
        assert isinstance(log.app.screen, HitsScreen)
        assert "RuntimeError: CUDA out of memory" in text_of(log.app)
        assert log.control.asked == [(Term("memory"), Term("nine", wanted=False))]
        await log.press("enter")
        assert log.view.document.line(log.view.current or 0).text == LINES[40]  # type: ignore[union-attr]
        await log.press("slash", "escape", "slash", *r"/\bx/", "enter", "B")
        assert "grep does not know" in str([n.message for n in log.app._notifications])


async def test_what_was_not_read_is_not_called_free_of_alarms(cockpit: Make) -> None:
    async with reach(cockpit) as log:

        def said() -> str:
            (note,) = log.app._notifications
            return note.message

        await log.press("N")
        size = f"{(log.view.document.start or 0) / 1024:.1f} KiB"
        assert said() == (
            f"no further alarm above in what is loaded · {size} on the way are not loaded · "
            "B searches the whole file"
        )
        await log.press("g")
        await log.press("n")
        assert log.view.document.line(log.view.current or 0).text == LINES[40]  # type: ignore[union-attr]
        gap = f"{(log.view.document.gap or 0) / 1024:.1f} KiB"
        await log.press("n")
        assert said().startswith(f"no further alarm below in what is loaded · {gap} on the way")
        log.view.document.tail.extend(LogReader().feed(b"RuntimeError: CUDA out of memory\n"))
        log.view.look_at(log.view.document)
        await log.press("n")
        assert log.view.current == log.view.document.tail.end - 1
        assert said() == f"{gap} on the way are not loaded · B searches the whole file"
        await log.press("n")
        assert said() == "no further alarm below"


async def test_a_search_that_was_cut_does_not_speak_of_the_whole_file(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        for log.control.cut, what in ((True, "what was searched"), (False, "the whole file")):
            await log.press("slash", *"nowhere", "enter", "B")
            assert f"no line of {what} fits" in text_of(log.app)
            await log.press("escape", "escape")


async def test_a_search_is_told_as_long_as_it_runs_and_no_longer(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    said = "searching the whole file on the box …"
    async with reach(cockpit, notifications=True) as log:
        log.control.may_answer.clear()
        await log.pilot.press("slash", *"memory", "enter", "B")
        await log.pilot.pause()
        assert said in text_of(log.app)
        log.app.clear_notifications()  # a toast ends long before a search of gigabytes
        await log.pilot.pause()
        assert said in text_of(log.app)
        log.control.may_answer.set()
        await log.settle()
        assert isinstance(log.app.screen, HitsScreen)
        assert said not in text_of(log.app)
        await log.press("escape")
        assert said not in text_of(log.app)


async def test_what_a_search_finds_comes_over_no_card(cockpit: Make) -> None:
    async with reach(cockpit) as log:
        log.control.may_answer.clear()
        await log.pilot.press("slash", *"memory", "enter", "B", "f")
        log.control.may_answer.set()
        await log.settle()
        assert isinstance(log.app.screen, FindingsScreen)  # a ladder as well: keys are typed there
        await log.pilot.press("escape")
        log.app.screen.query_one(LogPane).again()  # as a moment later
        await log.settle()
        assert isinstance(log.app.screen, HitsScreen)
        await log.pilot.press("escape")
        log.control.may_answer.clear()
        await log.pilot.press("B", "colon", *"12", "enter")
        await log.pilot.pause()
        said = str([note.message for note in log.app._notifications])
        assert "the box is still answering the last question" in said
        log.control.may_answer.set()


async def test_bookmarks_are_kept_and_found_again(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    store = sweep()
    async with reach(cockpit, store) as log:
        await log.press("g", "m")
        assert "◆" in text_of(log.app)
        await log.press("G", "m", "apostrophe")
        assert log.view.texts[0] == LINES[0]
        await log.press("apostrophe")
        assert log.view.current == log.view.document.tail.end - 1
    assert [mark.text for mark in store.marks["autodl-1", SOURCE]] == [LINES[0], LINES[-1]]
    async with reach(cockpit, store) as log:
        assert "◆" in text_of(log.app)  # the one whose line is loaded
        await log.press("quotation_mark")
        assert log.view.document.line(log.view.current or 0).text == LINES[0]  # type: ignore[union-attr]
        await log.press("m")
    assert [mark.text for mark in store.marks["autodl-1", SOURCE]] == [LINES[-1]]


async def test_a_bookmark_is_seen_on_a_line_that_still_grows_and_in_each_row_of_a_long_one(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit, start=0) as log:
        tail = log.view.document.tail
        reader, raw = LogReader(), ("x" * 300 + "\n" + "step 1 of 9").encode()
        tail.extend(reader.feed(raw), len(RAW) + 301)
        log.app._store.touch("autodl-1")  # type: ignore[attr-defined]
        log.app._tick()
        await log.press("m")
        assert tail.open
        (row,) = [row for row in text_of(log.app).splitlines() if "◆" in row]
        assert row.endswith("step 1 of 9")
        log.view.go_to(tail.end - 2)
        await log.press("w", "m")
        rows = [row for row in text_of(log.app).splitlines() if "◆▶" in row]
        assert [row.count("x") for row in rows] == [70, 70]


async def test_long_lines_wrap_and_nothing_of_them_is_lost(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit, start=0) as log:
        tail = log.view.document.tail
        text = "中文" * 60 + "end"
        tail.extend(LogReader().feed((text + "\n" + "x" * 300 + "\nlast\n").encode()))
        log.app._store.touch("autodl-1")  # type: ignore[attr-defined]
        log.app._tick()
        await log.press("w")
        rows = [row for row in text_of(log.app).splitlines() if "▏" in row]
        joined = "".join(row.split("▏ ", 1)[-1].rstrip() for row in rows)
        assert "x" * 300 in joined
        assert log.view.texts[-3:] == [text, "x" * 300, "last"]
        for _ in range(6):
            await log.press("up")
        assert not log.view.following
        for _ in range(6):
            await log.press("down")
        assert log.view.following
        await log.press("w")
        assert log.view.texts[-1] == "last"


def body(text: str) -> str:
    """What stands between the header and the footer, which others change."""
    return "\n".join(text.splitlines()[1:-1])


async def test_the_past_of_a_log_is_the_golden_one(
    cockpit: Make, text_of: Callable[[CockpitApp], str], golden: Callable[[str, str], None]
) -> None:
    async with reach(cockpit) as log:
        log.view.to_first()
        await log.pilot.pause()
        golden("log-older", body(text_of(log.app)))
        await log.press("colon", *"41", "enter", "m", "w")
        log.app.clear_notifications()
        await log.pilot.pause()
        golden("log-past", body(text_of(log.app)))
        last = log.view.document.past
        assert last is not None
        for _ in range(2):  # once more when the remedy below has made room
            log.view.go_to(last.keys[-1])
            await log.pilot.pause()
            await log.pilot.pause()
        golden("log-gap", body(text_of(log.app)))
        await log.press("slash", *"memory", "enter", "B")
        golden("log-hits", body(text_of(log.app)))


async def test_a_finding_is_shown_although_a_filter_hides_its_line(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with reach(cockpit) as log:
        await log.press("slash", *"no such words", "enter")
        await log.settle()
        assert log.view.texts == []
        assert "no line kept here matches no such words: esc empties the filter" in text_of(log.app)
        pane = log.app.screen.query_one(LogPane)
        pane.open_at("autodl-1", SOURCE, Place(seen=100))
        await log.settle()
        assert log.view.current == 100
        assert LINES[SEEN + 100] in log.view.texts
