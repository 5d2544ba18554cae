"""Under the list of boxes, where lines would stay empty: what the selected one needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.verdict import Verdict
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.instances import InstancesPane
from gpu_tui.ui.text.fleet import COLUMNS, columns, row
from gpu_tui.ui.text.vitals import vitals
from gpu_tui.ui.text.why import why
from screenshots.builders import SceneStore, read
from screenshots.scene_edges import all_off, connecting, no_gpu, unreachable
from screenshots.scenes import sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


def _texts(name: str, room: int, width: int = 100) -> list[str]:
    fleet = sweep().fleet
    view = next(view for view in fleet.instances if view.name == name)
    return [text.plain.rstrip() for text in why(fleet, view, width, room)]


def test_the_worst_finding_comes_first_and_each_says_what_to_do() -> None:
    rows = _texts("autodl-1", 9)
    assert rows[0] == "what autodl-1 needs"
    assert rows[1].startswith("✗ nan  40s  no_aug  epoch 12/20")
    assert rows[2].startswith("  → The loss diverged.")
    assert [text for text in rows if text.startswith("▲ inode full")]


def test_little_room_says_less_and_no_line_is_cut_off_unsaid() -> None:
    for room in range(2, 12):
        rows = _texts("autodl-1", room, width=60)
        assert len(rows) <= room
        assert rows[1].startswith(("✗ nan", "  and 2 more (f)"))
        if not any("inode full" in text for text in rows):
            assert rows[-1] in ("  and 1 more (f)", "  and 2 more (f)")
    assert _texts("autodl-1", 1) == []


def test_without_a_finding_the_verdict_says_why() -> None:
    fleet = sweep().fleet
    view = next(view for view in fleet.instances if view.name == "autodl-2")
    assert why(fleet, replace(view, because=()), 80, 5) == []
    told = replace(view, because=("a trainer writes to its log", "the card is busy"))
    rows = why(fleet, told, 80, 5)
    assert rows[0].plain == "why: a trainer writes to its log, the card is busy"


def test_what_is_acknowledged_is_needed_no_more() -> None:
    fleet = sweep().fleet
    view = fleet.instances[0]
    left = replace(fleet, findings=tuple(f for f in fleet.findings if f.kind != "nan"))
    rows = [text.plain for text in why(left, view, 100, 9)]
    assert rows[1].startswith("▲ inode full")


def test_of_a_lost_link_both_panes_say_the_same_to_do() -> None:
    fleet = unreachable().fleet
    view = fleet.instances[0]
    rows = [text.plain for text in why(fleet, view, 100, 9)]
    assert rows[2].strip() == f"→ {view.link.next}"
    assert f"→ {view.link.next}" in [text.plain for text in vitals(view, 100, 20)]


async def test_the_list_loses_no_line_to_it(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        shown = text_of(app)
        assert "what autodl-1 needs" in shown
        assert "→ The loss diverged." in shown.partition("3 Vitals")[0]
        await pilot.press("down")
        await pilot.pause()
        assert "what runpod-4090 needs" in text_of(app)
        await pilot.resize_terminal(140, 40)  # eight lines, six of them boxes
        await pilot.pause()
        await pilot.pause()
        assert "needs" not in text_of(app)
        pane = app.screen.query_one(InstancesPane)
        assert pane.rows.hidden == (0, 0)


# --- what stands in the list is what the other panes say -------------------------------------------


def _cells(store: SceneStore, key: str) -> list[str]:
    column = COLUMNS[key]
    return [
        text if isinstance(text := column.paint(view, 20), str) else _plain(text)
        for view in store.fleet.instances
    ]


def _plain(piece: object) -> str:
    return piece[0] if isinstance(piece, tuple) else piece.plain  # type: ignore[attr-defined]


def test_of_a_box_that_was_never_read_neither_its_run_nor_its_clock_is_called_absent() -> None:
    assert set(_cells(connecting(), "cell")) == {"?"}
    assert set(_cells(connecting(), "clock")) == {"?"}


def test_a_box_without_a_queue_that_was_asked_runs_nothing() -> None:
    assert _cells(no_gpu(), "cell") == ["–"]
    assert _cells(no_gpu(), "clock") == ["–"]
    (view,) = no_gpu().fleet.instances
    tracks = {name: track for name, track in view.tracks.items() if name != metrics.DETACHED.name}
    (unasked,) = [replace(view, tracks=tracks)]
    shown = columns(80)
    assert " ? " in row(unasked, shown).plain
    asked = replace(view, tracks={**tracks, metrics.DETACHED.name: read(JobTable("nohup", ()))})
    assert " ? " not in row(asked, shown).plain


def test_a_box_that_is_off_runs_nothing_and_its_clocks_are_marked_by_more_than_a_colour() -> None:
    assert all(view.verdict is Verdict.OFF for view in all_off().fleet.instances)
    assert set(_cells(all_off(), "cell")) == {"–"}
    assert sorted(text[:1] for text in _cells(all_off(), "clock")) == ["▲", "△", "△"]
