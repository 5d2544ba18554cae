"""Vitals of an instance without a box of its own: its room goes to the queue, and nothing is said four times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpu_tui.core import metrics
from gpu_tui.core.fleet import HERE
from gpu_tui.core.readings import Gpu, PodCards, PodUse
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading, Track
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.layout import PANES, Layout, panes_in
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.text.jobs import head, row, sheet_of
from gpu_tui.ui.text.vitals import vitals
from screenshots.builders import NOW, SceneStore, fleet, instance, view

QUEUE = Queue((Cell("a", 1, None, CellState.RUNNING, job="pod/a", listed=True),), total=1)


def cluster(kind: str) -> InstanceView:
    box = replace(instance("lab", "kubernetes", None), scheduler=kind)
    box = replace(box, ssh=HERE) if kind == "kubernetes" else box
    none = Track().follow(Absent("no box to look into", NOW))
    read = (metrics.GPUS, metrics.MEMORY, metrics.CPU, metrics.MOUNTS)
    return view(box, Verdict.RUNNING, tracks={one.name: none for one in read}, queue=QUEUE)


@pytest.mark.parametrize("width", [40, 78, 156])
def test_a_cluster_without_a_box_says_once_that_it_has_no_vitals(width: int) -> None:
    said = " ".join(row.plain for row in vitals(cluster("kubernetes"), width, 20))
    sentence = "kubectl lists jobs and pods: there is no GPU, memory or disk to read here"
    assert " ".join(said.split()) == sentence


def test_a_login_node_says_where_the_gpus_are_and_shows_its_disks_first() -> None:
    rows = [row.plain.split("  ")[0] for row in vitals(cluster("slurm"), 100, 30) if row.plain]
    assert rows[0].startswith("The GPUs are on the nodes of the jobs")
    assert rows[1:] == ["disk", "memory", "cpu"]


def test_vitals_show_what_pods_use_if_kubectl_top_is_asked() -> None:
    seen = cluster("kubernetes")
    scope = replace(seen.instance.scheduler_scope, vitals="top")
    uses = (PodUse("a", "main", 0.25, 1 << 30), PodUse("b", "x[red]", 12.0, 3 << 30))
    track = Track().follow(Reading(uses, NOW, 30.0))
    seen = replace(
        seen,
        instance=replace(seen.instance, scheduler_scope=scope),
        tracks={**seen.tracks, metrics.POD_USE.name: track},
    )
    for width in (40, 78, 156):
        top, first, second, *_ = [line.plain for line in vitals(seen, width, 20)]
        assert top.split() == ["pod", "cores", "memory"]
        assert first.split() == ["b", "x[red]", "12.00", "3.0", "GiB"]
        assert second.split() == ["a", "main", "0.25", "1.0", "GiB"]
        assert max(map(len, (top, first, second))) <= width
    none = Track().follow(Failure(FailureKind.UNREAD, "Metrics API not available", NOW))
    seen = replace(seen, tracks={metrics.POD_USE.name: none})
    assert "Metrics API not available" in vitals(seen, 78, 20)[0].plain


def with_cards(*rows: PodCards, at: float = NOW) -> InstanceView:
    seen = cluster("kubernetes")
    scope = replace(seen.instance.scheduler_scope, vitals="exec")
    track = Track().follow(Reading(rows, at, 30.0))
    tracks = {**seen.tracks, metrics.POD_CARDS.name: track}
    return replace(seen, instance=replace(seen.instance, scheduler_scope=scope), tracks=tracks)


@pytest.mark.parametrize("width", [40, 78, 156])
def test_cards_of_pods_have_a_row_each_and_columns_that_fit(width: int) -> None:
    gpu = Gpu(0, "H100", "GPU-1", 0.97, 61 << 30, 80 << 30, 63.0, 412.5)
    rows = vitals(
        with_cards(
            PodCards("b", "x[red]", "b", NOW, (gpu, replace(gpu, index=1, utilization=None))),
            PodCards("a", "main", "a", NOW - 300, (gpu,)),
            *(
                PodCards(f"n{n}", "main", "n", NOW, (), "no nvidia-smi in its image")
                for n in range(5)
            ),
        ),
        width,
        30,
    )
    head, old, first, second, *rest = [row.plain for row in rows]
    assert max(map(len, (head, old, first, second))) <= width
    titles = ["pod", "util", "vram", "temp", "power"]
    cells = ["b", "x[red]", "97%", "61.0", "/", "80.0", "GiB", "63", "°C", "412", "W"]
    shown = 2 if width == 40 else 5
    assert head.split() == titles[:shown]
    assert first.split() == (cells[:3] if width == 40 else cells)
    assert second.split()[:2] == ["gpu", "1"]
    assert old.split()[:2] == ["a", "main"]
    assert "5m old" in old
    said = " ".join(" ".join(rest).split())
    assert "no nvidia-smi in its image: n0 main, n1 main, n2 main, +2 more" in said


def test_cards_that_cannot_be_asked_have_the_reason_in_vitals() -> None:
    none = Track().follow(Failure(FailureKind.UNREAD, "kubectl exec is forbidden (lab). Ask.", NOW))
    seen = replace(with_cards(), tracks={metrics.POD_CARDS.name: none})
    for width in (40, 156):
        said = " ".join(row.plain.strip() for row in vitals(seen, width, 20))
        assert "kubectl exec is forbidden (lab). Ask." in said
    assert "no container runs" in vitals(with_cards(), 78, 20)[0].plain


def test_vitals_have_no_room_unless_they_are_in_front() -> None:
    def shown(layout: Layout, front: str, second: str = "vitals") -> tuple[str, ...]:
        return panes_in(layout, front, second, zoomed=False, measured=False)

    assert shown(Layout.WIDE, "log") == ("instances", "clocks", "queue", "log")
    assert shown(Layout.WIDE, "vitals") == PANES
    assert shown(Layout.TWO, "instances") == ("instances", "queue")
    assert shown(Layout.TWO, "vitals") == ("instances", "vitals")


async def test_the_queue_of_a_cluster_takes_the_room_of_vitals_and_gives_it_back(
    cockpit: Callable[..., CockpitApp],
) -> None:
    box = view(instance("box", "generic-ssh", None), Verdict.IDLE, tracks={})
    app = cockpit(SceneStore(fleet(cluster("kubernetes"), box)))
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()

        def room() -> dict[str, int]:
            panes = app.screen.query(Pane)
            return {pane.NAME: pane.size.width for pane in panes if pane.display}

        selected = []
        for key in "KJKJ":
            await pilot.press(key)
            await pilot.pause()
            selected.append(app.screen.selected)  # type: ignore[attr-defined]
            assert ("vitals" in room()) is (selected[-1] == "box")
            assert (room()["queue"] > 150) is (selected[-1] == "lab")
        assert set(selected) == {"lab", "box"}
        while app.screen.selected != "lab":  # type: ignore[attr-defined]
            await pilot.press("K" if selected[0] == "lab" else "J")
            await pilot.pause()
        await pilot.press("3")
        await pilot.pause()
        assert "vitals" in room()


def test_the_row_of_a_silent_job_shows_its_silence_and_no_end() -> None:
    cell = replace(QUEUE.cells[0], status="RUNNING", still_seconds=3_600.0)
    for width in (78, 156):
        sheet = sheet_of("slurm", (cell,), width)
        assert "silent 1h" in row(cluster("slurm"), cell, sheet).plain
        assert head(sheet).plain
