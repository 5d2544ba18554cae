"""What a person allows by hand reaches the loader, and stands in the journal before anything is loaded."""

from __future__ import annotations

import json

import pytest
from rented import Scene, rest, until

from gpu_tui.core.account import Stored
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.fleet import Money
from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import Rung
from gpu_tui.core.manifest import Manifest
from gpu_tui.providers.rented import Rented
from gpu_tui.teardown import gather

PHRASE = "pod-4n6p"


def _needing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """A loader that refuses best.pth until `foo.Bar` is allowed; the real one says the rest."""
    real, asked = gather.load_all, list[frozenset[str]]()

    async def load(
        root: object, manifest: Manifest, *, step: object, allow: frozenset[str]
    ) -> tuple[FileVerdict, ...]:
        asked.append(allow)
        if "foo.Bar" in allow:
            # The record of the override is on the disk before a byte is loaded under it.
            assert "override" in scene.events()
        verdicts = await real(scene.local, manifest)
        return tuple(
            FileVerdict(v.path, v.sha256, "refused", "needs", True, needs=("foo.Bar",))
            if v.path == "wide/best.pth" and "foo.Bar" not in allow
            else v
            for v in verdicts
        )

    monkeypatch.setattr(gather, "load_all", load)
    return asked


async def test_an_override_names_what_it_allows_and_is_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _needing(scene, monkeypatch)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.override_phrase is not None)
    assert "foo.Bar" in (view.override_phrase or "")
    await climb.override("load it")
    scene.clock.advance(DWELL)
    await climb.override(view.override_phrase or "")
    async for view in views:
        if view.state == "ready":
            break
    assert asked == [frozenset(), frozenset({"foo.Bar"})]
    lines = (scene.state / "teardown.jsonl").read_text().splitlines()
    kept = next(row for row in map(json.loads, lines) if row["event"] == "override")
    assert kept["detail"]["names"] == ["foo.Bar"]
    assert kept["detail"]["on_box"] is False
    await views.aclose()
    assert scene.server.calls == []


async def test_what_nothing_here_reads_the_box_may_load_as_the_weaker_proof(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = gather.load_all

    async def blind(
        root: object, manifest: Manifest, *, step: object, allow: frozenset[str]
    ) -> tuple[FileVerdict, ...]:
        verdicts = await real(scene.local, manifest)
        return tuple(
            FileVerdict(v.path, v.sha256, "skipped", "no torch here", v.checkpoint)
            if v.checkpoint
            else v
            for v in verdicts
        )

    there: list[str] = []

    async def on_box(connection: object, root: str, manifest: Manifest) -> tuple[FileVerdict, ...]:
        there.extend(file.path for file in manifest.files)
        return tuple(
            FileVerdict(f.path, f.sha256, "ok-remote", "by the box's torch", True)
            for f in manifest.files
        )

    monkeypatch.setattr(gather, "load_all", blind)
    monkeypatch.setattr(gather, "load_on_box", on_box)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.override_phrase is not None)
    assert there == []
    scene.clock.advance(DWELL)
    await climb.override(view.override_phrase or "")
    async for view in views:
        if view.state == "ready":
            break
    assert there == ["base/best.pth", "wide/best.pth"]
    await views.aclose()


async def test_each_second_resource_is_acknowledged_and_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def beside(self: Rented, id: str) -> tuple[Stored, ...]:
        price = Money(0.01, "USD")
        return (Stored("runpod", "network volume", "nv-0001", "data", price, True, "100 GB"),)

    monkeypatch.setattr(Rented, "beside", beside)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "ready")
    (second,) = view.seconds
    scene.clock.advance(DWELL)
    await climb.confirm(PHRASE)  # too early: one thing was not acknowledged
    await climb.acknowledge(second.id, second.phrase)
    async for view in views:
        if view.seconds[0].done and view.ready:
            break
    assert "confirmed" not in scene.events()
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.outcome == "gone", last.closed_because
    events = scene.events()
    assert events.index("acknowledged") < events.index("confirmed")
    assert next(row for row in last.rungs if row.rung is Rung.READ_BACK).state == "passed"


async def test_a_second_resource_that_appears_meanwhile_shuts_the_gate(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Stored] = []

    async def beside(self: Rented, id: str) -> tuple[Stored, ...]:
        return tuple(rows)

    monkeypatch.setattr(Rented, "beside", beside)
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    rows.append(Stored("runpod", "network volume", "nv-0001", "data", None, True))
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.state == "closed"
    assert scene.server.calls == []
