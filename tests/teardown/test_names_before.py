"""What earlier climbs saw of a box is missed by the next one, also after gpu-tui was started anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rented import Scene, rest, until

from gpu_tui.core.evidence import Identity
from gpu_tui.teardown.journal import Record, read_journal
from gpu_tui.teardown.past import seen_before

BOX = Identity("pod-1", "SHA256:a", "boot-1")


def _record(instance: str = "pod", **detail: Any) -> Record:
    return Record(1, "", "", instance, "manifest", "", detail, "")


def test_only_records_of_this_very_box_count() -> None:
    records = [
        _record(box="pod-1", seen=["base", "wide"]),
        _record(box="pod-1", seen=["wide", "late", 7, None]),
        _record(box="pod-2", seen=["other"]),  # another box under the same name
        _record("pod-b", box="pod-1", seen=["foreign"]),
        _record(box="pod-1", seen="no list"),
        _record(files=3),
    ]
    assert seen_before(records, "pod", BOX) == {"base", "wide", "late"}
    assert seen_before(records, "pod", Identity("pod-1", "SHA256:b", "boot-2")) >= {"base"}
    assert seen_before(records, "pod", Identity(None, "SHA256:a", "boot-1")) == frozenset()
    assert seen_before([_record(box="", seen=["x"])], "pod", Identity()) == frozenset()


def _lose(scene: Scene, cell: str) -> None:
    """The queue and both disks have it no more, as if it had never been."""
    kept = [line for line in scene.box.queue.read_text().splitlines() if cell not in line]
    scene.box.queue.write_text("\n".join([*kept, ""]))
    for root in (scene.box.results, scene.local):
        for path in (root / cell).iterdir():
            path.unlink()
        (root / cell).rmdir()


async def test_a_cell_that_was_seen_once_is_not_lost_in_silence(scene: Scene) -> None:
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert (view.state, view.seconds) == ("ready", ())
    await views.aclose()
    _lose(scene, "wide")
    climb = scene.runner().open("pod", "terminate")  # a new one: it knows only the journal
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert view.state == "ready"
    (one,) = view.seconds
    assert (one.phrase, one.exception, one.lines[0]) == ("accept fewer wide", True, "wide")
    scene.clock.advance(3.0)
    await climb.confirm(view.phrase)
    await climb.acknowledge(one.id, one.phrase)
    async for view in views:
        if all(second.done for second in view.seconds):
            break
    assert scene.server.calls == []
    await climb.confirm(view.phrase)
    assert (await rest(views)).outcome == "gone"
    records = read_journal(Path(scene.state) / "teardown.jsonl").records
    (taken,) = [record for record in records if record.event == "exception"]
    assert taken.detail == {"typed": "accept fewer wide", "kind": "fewer", "names": ["wide"]}
    named = [name for record in records for name in record.detail.get("seen", ())]  # type: ignore[attr-defined]
    assert sorted(named) == [
        "base",
        "wide",
    ]  # each once: the journal does not grow by what it knows


async def test_a_pull_sees_too(scene: Scene) -> None:
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"
    _lose(scene, "wide")
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert [one.phrase for one in view.seconds] == ["accept fewer wide"]
