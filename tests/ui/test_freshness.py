"""Fresh, stale, absent and unknown never look alike, and none of them looks like 0."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from itertools import combinations

import pytest

from gpu_tui.core import metrics
from gpu_tui.core.events import LinkChanged, Sampled
from gpu_tui.core.fleet import Fleet, LinkState, ProviderState
from gpu_tui.core.levels import Level
from gpu_tui.core.readings import GpuError, GpuTable, Memory, Mount
from gpu_tui.core.sample import Freshness, Reading
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.store import Store
from gpu_tui.state.views import Cost
from gpu_tui.ui.panes.queue import _seen
from gpu_tui.ui.text.findings import age_of, finding_detail
from gpu_tui.ui.text.fleet import columns, row
from gpu_tui.ui.text.header import burn
from gpu_tui.ui.text.ladder import identity
from gpu_tui.ui.text.marks import gauge, spark
from gpu_tui.ui.text.signs import verdict
from gpu_tui.ui.text.sweep import cell_row
from gpu_tui.ui.text.vitals import vitals
from screenshots.builders import (
    GIB,
    NOW,
    absent,
    fleet,
    gpu,
    hung,
    instance,
    mount,
    read,
    tracks,
    view,
)


def test_the_four_differ_in_signs_and_in_style() -> None:
    gauges = {f: gauge(0.0, Level.OK, f) for f in Freshness}
    for one, other in combinations(Freshness, 2):
        assert gauges[one].plain != gauges[other].plain
        assert gauges[one].spans[0].style != gauges[other].spans[0].style
    assert gauges[Freshness.FRESH].plain.strip() == "0%"
    for freshness in (Freshness.ABSENT, Freshness.UNKNOWN):
        assert "0" not in gauges[freshness].plain


@pytest.mark.parametrize(
    ("track", "sign"),
    [
        (read(Memory("cgroup2", 0, 8 * GIB)), " 0%"),
        (read(Memory("cgroup2", 0, 8 * GIB), age=600), "~0%"),
        (absent("no cgroup here"), "–"),
        (hung("cat does not return"), "?"),
    ],
)
def test_a_row_and_the_vitals_tell_them_apart(track: object, sign: str) -> None:
    box = view(
        instance("box", "autodl", None),
        Verdict.RUNNING,
        tracks=tracks(memory=track, gpus=read(GpuTable((gpu(0.5, 10),)))),  # type: ignore[arg-type]
    )
    fitted = columns(90)
    text = row(box, fitted).plain
    at = 2
    for column, width in fitted:
        if column.key == "mem":
            assert text[at : at + width] == sign.rjust(4)
        at += width + 1
    lines = [line.plain for line in vitals(box, 80, 60) if line.plain.startswith("memory")]
    assert sign in lines[0]


def test_stale_vitals_say_how_old_and_unknown_ones_why() -> None:
    box = view(
        instance("box", "autodl", None),
        Verdict.RUNNING,
        tracks=tracks(gpus=read(GpuTable((gpu(0.5, 10),)), age=300), memory=hung("it hangs")),
    )
    text = "\n".join(line.plain for line in vitals(box, 80, 60))
    assert "5m old" in text
    assert "?  it hangs" in text
    assert "not read yet" in text  # mounts were never asked for


def test_no_card_is_not_an_idle_card() -> None:
    box = view(
        instance("box", "autodl", None),
        Verdict.RUNNING,
        tracks=tracks(gpus=read(GpuTable(error=GpuError("no-device", "")))),
    )
    assert "no GPU here" in "\n".join(line.plain for line in vitals(box, 80, 60))
    text = row(box, columns(120)).plain
    assert "no GPU" in text
    assert "0%" not in text
    assert box.freshness(metrics.GPUS) is Freshness.FRESH


def test_a_disk_without_an_inode_left_is_no_count_and_fills_no_more() -> None:
    full = mount("/root/fs", 1, 200, 2_000, 2_000)
    box = view(
        instance("box", "autodl", None), Verdict.RUNNING, tracks=tracks(mounts=read((full,)))
    )
    rows = vitals(replace(box, full_in={"/root/fs": 0.0}), 90, 60)
    (shown,) = [row.plain for row in rows if row.plain.startswith("/root/fs")]
    assert "▲100% of 2.0k" in shown  # not `100 of 2.0k`
    assert shown.endswith("▲now")


def test_a_gap_in_a_history_is_not_a_zero() -> None:
    assert spark([0.0, None, 1.0], 3, "accent", 1.0).plain == "▁·█"
    assert NOW > 0


def test_a_clock_is_off_only_where_the_way_of_an_answer_cannot_explain_it() -> None:
    for skew, told in ((-3.0, False), (4.9, False), (-7.0, True), (3600.0, True)):
        box = view(instance("box", "autodl", None), Verdict.RUNNING, tracks=tracks())
        rows = vitals(replace(box, clock_skew=skew), 90, 60)
        assert ("the box's clock is off" in "\n".join(row.plain for row in rows)) is told


def test_what_nobody_can_tell_yet_is_a_first_look_and_later_unknown() -> None:
    open_cell = Cell("a", 1, "t", CellState.CANNOT_TELL)
    for age, live, word in (
        (5.0, True, "first look"),
        (60.0, True, "cannot tell"),
        (5.0, False, "cannot tell"),
    ):
        link = LinkState("live" if live else "timeout", since=NOW - age)
        box = replace(
            view(instance("box", "autodl", None), Verdict.CANNOT_TELL, tracks=tracks(memory=read(Memory("none", 0, 0)))),
            link=link, queue=Queue((open_cell,)), taken_at=NOW,
        )  # fmt: skip
        assert word in cell_row(box, open_cell, 90).plain
        assert word in verdict(box).plain


def test_a_row_is_painted_anew_when_its_first_look_is_over() -> None:
    open_cell = Cell("a", 1, "t", CellState.CANNOT_TELL)
    box = view(instance("box", "autodl", None), Verdict.CANNOT_TELL, tracks=tracks())
    ages = [
        _seen(replace(box, link=LinkState("live", since=NOW - age), taken_at=NOW), open_cell, 90)
        for age in (5.0, 60.0)
    ]
    assert ages[0] != ages[1]


def test_what_is_so_shows_since_when_and_what_was_so_before_a_bound() -> None:
    box = instance("box", "autodl", None)
    store = Store(Fleet(None, (box,)), {})
    shown: list[list[str]] = []

    def look(at: float, *mounts: Mount) -> None:
        store.apply(Sampled("box", at, "mounts", Reading(mounts, at, 60.0)))
        found = {one.part: one for one in store.view(at).findings}
        shown.append([age_of(found[path], at) for path in sorted(found, key=str)])
        details[:] = [
            "\n".join(row.plain for row in finding_detail(one, 80, UTC)) for one in found.values()
        ]

    details: list[str] = []
    full, later = mount("/a", 99, 100, 1, 100), mount("/b", 99, 100, 1, 100)
    store.apply(LinkChanged("box", NOW, LinkState("live", since=NOW)))
    look(NOW + 5, full)
    look(NOW + 605, full, later)
    look(NOW + 725, full, later)
    assert shown == [["≥0s"], ["≥10m", "0s"], ["≥12m", "2m"]]
    assert [("or longer" in text, " to " in text) for text in details] == [
        (True, False),
        (False, False),
    ]
    store.apply(LinkChanged("box", NOW + 800, LinkState("timeout", since=NOW + 800)))
    store.view(NOW + 1000)
    store.apply(LinkChanged("box", NOW + 2000, LinkState("live", since=NOW + 2000)))
    look(NOW + 2003, full)
    look(NOW + 2300, full)
    assert shown[-1] == ["≥4m"]  # nobody looked meanwhile


def test_what_was_spent_before_we_looked_is_a_bound_in_every_pane() -> None:
    cost = Cost(2.0, "USD", 0.43, NOW - 600, "fleet-file")
    seen = replace(
        view(instance("box", "autodl", None), Verdict.RUNNING, tracks=tracks()), cost=cost
    )
    told = replace(seen, provider=ProviderState("running", started_at=NOW - 600))
    spent = columns(120, ("name", "spent"))
    assert "≥$0.43" in row(seen, spent).plain
    assert " $0.43" in row(told, spent).plain
    assert "≥$0.43 spent" in identity(seen, "stop", None, 120).plain
    assert " $0.43 spent" in identity(told, "stop", None, 120).plain
    assert burn(fleet(seen))[1] == "≥$0.43"
    assert burn(fleet(told))[1] == "$0.43"
    new = replace(seen, cost=replace(cost, spent=0.001))
    assert "$" not in row(new, spent).plain
    assert burn(fleet(new))[1] == ""


def test_a_place_in_the_queue_is_no_epoch() -> None:
    cell = Cell("hf_run", 1, None, CellState.RUNNING)
    queue = Queue((cell, replace(cell, name="b", index=2)), "q", "l", 2, False)
    box = replace(
        view(instance("box", "autodl", None), Verdict.RUNNING, tracks=tracks()), queue=queue
    )
    assert "#1/2 hf_run" in row(box, columns(120)).plain
