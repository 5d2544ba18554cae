"""The log: at the tail, paused where it was left, filtered over everything that is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from gpu_tui.core.fleet import LinkState
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.remedies import REMEDIES
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import LogView as Followed
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.log import LogPane
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.logs import MARKS, advice, log_row, remedy_of
from gpu_tui.ui.widgets.logview import LogView
from screenshots.builders import BENIGN, FATAL_NAN, PROGRESS, SceneStore, fleet
from screenshots.scenes import sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]
LABELS = [
    "xid",
    "hardware",
    "gpu_oom",
    "host_oom",
    "disk_full",
    "inode",
    "hang",
    "nccl",
    "cuda_error",
    "ckpt_corrupt",
    "preempted",
    "killed",
    "nan",
    "inf",
    "overflow",
    "traceback",
    "network",
    "exception",
    "warning",
    "progress",
    "benign",
]


class Bench:
    """One log in a running cockpit."""

    def __init__(self, app: CockpitApp, pilot: Pilot[None], buffer: LogBuffer, store: SceneStore):
        self.app, self.pilot, self.buffer, self.store = app, pilot, buffer, store

    @property
    def view(self) -> LogView:
        return self.app.screen.query_one(LogView)

    async def add(self, *texts: str, alarm: bool = False, open: bool = False) -> None:
        mark = FATAL_NAN if alarm else BENIGN
        self.buffer.extend(LogLine(text, mark, open=open) for text in texts)
        self.store.touch("autodl-1")
        self.app._tick()
        await self.pilot.pause()


@asynccontextmanager
async def bench(cockpit: Make, size: int = 50) -> AsyncIterator[Bench]:
    store = sweep()
    buffer = LogBuffer(size)
    source = LogSource("/root/a.log", "no_aug")
    first = replace(store.fleet.instances[0], logs=(Followed(source, 0, 0, 0),))
    store.become(fleet(first))
    store.logs = {("autodl-1", source): buffer}
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("5")
        yield Bench(app, pilot, buffer, store)


async def test_it_stays_at_the_tail_until_it_is_paused(cockpit: Make) -> None:
    async with bench(cockpit) as log:
        await log.add(*(f"line {n}" for n in range(40)))
        assert log.view.texts[-1] == "line 39"
        await log.pilot.press("space")
        seen = log.view.texts
        await log.add("new")
        assert log.view.texts == seen
        assert log.view.below == 1
        await log.pilot.press("space")
        assert log.view.texts[-1] == "new"


async def test_a_short_log_that_is_paused_stays_so_until_somebody_goes_down(cockpit: Make) -> None:
    async with bench(cockpit) as log:
        await log.add("line 0", "line 1")
        await log.pilot.press("k", "g")
        assert log.view.following
        for key in ("k", "g", "pageup"):
            await log.pilot.press("space", key)
            assert not log.view.following
            await log.pilot.press("j")
            assert log.view.following


async def test_an_empty_log_and_one_that_is_not_there_say_so_once(
    cockpit: Make, text_of: Read
) -> None:
    async with bench(cockpit) as log:
        log.buffer.opened(7, 0, resumed=False)
        log.store.touch("autodl-1")
        log.app._tick()
        await log.pilot.pause()
        assert "/root/a.log is empty so far: its lines stand here as they come" in text_of(log.app)
        await log.pilot.press("m")
        assert "no bookmark here: there is no line" in [
            one.message for one in log.app._notifications
        ]
        (box,) = log.store.fleet.instances
        missing = replace(box.logs[0], error="/root/a.log is not there yet")
        log.store.become(fleet(replace(box, logs=(missing,))))
        log.app._tick()
        await log.pilot.pause()
        text = text_of(log.app)
        assert "/root/a.log is not there yet" in text
        assert text.count("/root/a.log") == 1


async def test_a_log_whose_box_is_not_reached_is_not_called_followed(
    cockpit: Make, text_of: Read
) -> None:
    async with bench(cockpit) as log:
        await log.add("line")
        assert " · following" in text_of(log.app)
        (box,) = log.store.fleet.instances
        log.store.become(fleet(replace(box, link=LinkState("timeout", error="no answer"))))
        log.app._tick()
        await log.pilot.pause()
        assert " · no link: nothing comes now" in text_of(log.app)


async def test_what_is_no_longer_kept_leaves_a_paused_view_at_the_oldest_line(
    cockpit: Make,
) -> None:
    async with bench(cockpit, size=50) as log:
        await log.add(*(f"line {n}" for n in range(50)))
        await log.pilot.press("home")
        assert log.view.texts[0] == "line 0"
        await log.add(*(f"more {n}" for n in range(45)))
        assert log.view.texts[0] == "line 45"


async def test_it_says_how_many_lines_are_no_longer_kept(cockpit: Make) -> None:
    async with bench(cockpit) as log:
        source = LogSource("/root/a.log", "no_aug")
        shown = log.store.fleet.instances[0]
        log.store.become(fleet(replace(shown, logs=(Followed(source, 12_000, 32_000, 1),))))
        log.app._tick()
        await log.pilot.pause()
        title = log.app.screen.query_one(LogPane).border_title
        assert "12000 older lines dropped, alarms kept" in str(title)


async def test_an_open_line_is_replaced_in_place(cockpit: Make) -> None:
    async with bench(cockpit) as log:
        await log.add("10%", open=True)
        await log.add("20%", open=True)
        assert log.view.texts == ["20%"]
        await log.add("done")
        assert log.view.texts == ["done"]


async def test_the_filter_goes_over_everything_also_while_paused(cockpit: Make) -> None:
    async with bench(cockpit) as log:
        await log.add(*(f"loss {n}" if n % 2 else f"psnr {n}" for n in range(40)))
        await log.pilot.press("space", "slash", *"loss !39", "enter")
        assert log.view.matched == 19
        assert all(text.startswith("loss") for text in log.view.texts)
        await log.add("loss again", "psnr again")
        assert log.view.matched == 20
        await log.pilot.press("slash", "escape")
        assert log.view.matched is None


async def test_a_filter_follows_lines_that_are_dropped_and_replaced(cockpit: Make) -> None:
    async with bench(cockpit, size=10) as log:
        log.view.keep_only(Filter("keep"))
        await log.add(*(f"keep {n}" for n in range(10)))
        await log.add("keep open", open=True)
        assert log.view.matched == 10
        await log.add("other now")
        assert log.view.matched == 9
        assert log.view.texts[0] == "keep 1"


async def test_alarms_are_jumped_to_and_their_remedy_is_shown(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with bench(cockpit) as log:
        await log.add(*(f"line {n}" for n in range(10)))
        await log.add("loss nan", alarm=True)
        await log.add(*(f"line {n}" for n in range(30)))
        assert "The loss diverged" not in text_of(log.app)
        await log.pilot.press("n")
        await log.pilot.pause()
        assert log.view.current == 10
        assert not log.view.following
        assert "nan → The loss diverged." in text_of(log.app)
        await log.pilot.press("n")
        assert log.view.current == 10
        said = [note.message for note in log.app._notifications]
        assert said == ["no further alarm below"]
        await log.pilot.press("N", "N")
        said = [note.message for note in log.app._notifications]
        assert said == ["no further alarm above"]  # one toast at a time


async def test_a_long_line_says_that_it_goes_on_and_its_end_never_leaves_the_screen(
    cockpit: Make, text_of: Read
) -> None:
    async with bench(cockpit) as at:
        await at.add("short", f"loss=0.0345 {'x' * 90} end")
        shown = text_of(at.app)
        assert f"▏ loss=0.0345 {'x' * 57}…\n" in shown
        await at.pilot.press(*"l" * 20)
        await at.pilot.pause()
        shown = text_of(at.app)
        assert f"▏…{'x' * 54} end\n" in shown
        assert "▏…\n" in shown  # the short one stands to the left of it
        await at.pilot.press(*"h" * 3)
        await at.pilot.pause()
        assert "▏ short\n" in text_of(at.app)  # as many ways back as there


async def test_an_alarm_stays_in_sight_when_the_pane_shrinks(cockpit: Make) -> None:
    async with bench(cockpit) as log:
        await log.add(*(f"line {n}" for n in range(40)))
        await log.add("loss nan", alarm=True)
        await log.add("the last line")
        await log.pilot.press("z")
        await log.pilot.pause()
        await log.pilot.press("N")
        assert "loss nan" in log.view.texts
        tall = len(log.view.texts)
        await log.pilot.press("z")
        await log.pilot.pause()
        assert len(log.view.texts) < tall
        assert "loss nan" in log.view.texts


async def test_a_broken_regular_expression_is_said_and_filters_nothing(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with bench(cockpit) as log:
        await log.add("a", "b")
        await log.pilot.press("slash", *"/(/")
        await log.pilot.pause()
        assert "not a regular expression" in text_of(log.app)
        assert log.view.texts == ["a", "b"]


async def test_a_slow_regular_expression_is_given_up_and_says_so(
    cockpit: Make, text_of: Callable[[CockpitApp], str]
) -> None:
    async with bench(cockpit, size=100) as log:
        await log.add(*(f"{'a' * 5_000}{n}!" for n in range(40)), "aaa")
        await log.pilot.press("slash", *"/^(a+)+$/", "enter")
        while not (log.view.sieve and log.view.sieve.gave_up):
            await log.pilot.pause()
        await log.add("aaa", "b")
        assert "too slow: not every line was searched" in text_of(log.app)
        assert "no line kept here matches" not in text_of(log.app)
        await log.pilot.press("slash", "escape")
        await log.pilot.pause()
        assert "too slow" not in text_of(log.app)


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ("loss", ["train loss 1", "val LOSS 2"]),
        ("loss !val", ["train loss 1"]),
        (r"/\d$/ !loss", ["psnr 30"]),
        ("!loss !psnr", ["saved best.pth"]),
        ("/LOSS [12]/ !val", ["train loss 1"]),
        ("!/loss [12]/", ["psnr 30", "saved best.pth"]),
        ("!", ["train loss 1", "val LOSS 2", "psnr 30", "saved best.pth"]),
        ("", ["train loss 1", "val LOSS 2", "psnr 30", "saved best.pth"]),
    ],
)
def test_filters(wanted: str, kept: list[str]) -> None:
    lines = ["train loss 1", "val LOSS 2", "psnr 30", "saved best.pth"]
    assert [line for line in lines if Filter(wanted).keeps(line)] == kept


def test_a_filter_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(FilterError, match="not a regular expression"):
        Filter("/[/")


def test_every_label_has_a_colour_and_every_alarm_a_gutter() -> None:
    assert set(MARKS) == set(LABELS)
    assert "█" in log_row(0, LogLine("x", FATAL_NAN)).plain
    assert "█" not in log_row(0, LogLine("█ x", PROGRESS)).plain[:9]


@pytest.mark.parametrize("label", [name for name in LABELS if name not in ("overflow", "network", "warning", "progress", "benign")])  # fmt: skip
def test_every_alarm_label_has_a_remedy(label: str) -> None:
    assert remedy_of(label)


SYNC = "Trained, but the durable copy is missing. Copy its results before any teardown; do not train again."


@pytest.mark.parametrize(("text", "label", "says"), [
    ("[t] [1/3] FINISHED a (exit=2)", "sync failed", SYNC),
    ("[t] !! DURABLE SYNC FAILED for a — cp returned 1", "sync failed", SYNC),
    ("[t] === QUEUE DONE on box -- 1 cell(s) FAILED: a ===", "sync failed", SYNC),
    ("[t] === QUEUE DONE on box -- 2 cell(s) FAILED: a b ===", "nan", "missing: a. Copy, do not train again."),
    ("[t] === QUEUE DONE on box -- 1 cell(s) FAILED: b ===", "nan", remedy_of("nan")),
    ("[t] [1/3] FINISHED b (exit=1)", "nan", remedy_of("nan")),
])  # fmt: skip
def test_a_line_of_a_cell_that_was_only_not_copied_says_so(
    text: str, label: str, says: str | None
) -> None:
    line = text.replace("[t]", "[2026-01-01 10:00:00]")
    first = sweep().fleet.instances[0]
    cells = (
        Cell("a", 1, "t", CellState.SYNC_FAILED, exit_code=2),
        Cell("b", 2, "t", CellState.FAILED, exit_code=1),
    )
    instance = replace(first.instance, logs="/root/d/runs/logs/{cell}.log")
    view = replace(first, instance=instance, queue=Queue(cells))
    event = parse_queue_line(line)
    assert event is not None
    told = advice(view, LogLine(line, FATAL_NAN, queue=event))
    assert told[0] == label
    assert (says or "?") in (told[1] or "")
    assert ("/root/d/checkpoints/a" in (told[1] or "")) == (label == "sync failed")


@pytest.mark.parametrize(("cell", "kind", "code", "label"), [
    ("b", "gpu_oom", 1, "gpu oom"),
    ("b", "nan", 1, "exception"),  # it may have had a NaN, and ended for another reason
    ("a", "gpu_oom", 1, "exception"),
    ("b", "gpu_oom", 3, "exception"),  # an end of an earlier try
])  # fmt: skip
def test_the_end_of_a_failed_cell_is_called_by_its_reason(
    cell: str, kind: str, code: int, label: str
) -> None:
    first = sweep().fleet.instances[0]
    reason = replace(first.findings[0], kind=kind, cell=cell, remedy=REMEDIES[kind])
    cells = (Cell("b", 2, "t", CellState.FAILED, exit_code=1),)
    view = replace(first, queue=Queue(cells), findings=(reason,))
    line = f"[2026-01-01 10:00:00] [1/3] FINISHED b (exit={code})"
    entry = LogLine(line, replace(FATAL_NAN, label="exception"), queue=parse_queue_line(line))
    said = REMEDIES[kind] if label == "gpu oom" else remedy_of("exception")
    assert advice(view, entry) == (label, said)
