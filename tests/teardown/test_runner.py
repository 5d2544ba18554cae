"""A whole teardown over a real sshd, a real child that loads with torch, and a server like RunPod's."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rented import PROFILES, RELEASE, TIERS, Scene, rest, until
from runpod_server import POD

from gpu_tui.core.fleet import ProviderAccess, ProviderState, QueueFiles, Results
from gpu_tui.core.gate import DWELL, TTL
from gpu_tui.core.ladder import GateView, Rung, RungState
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.providers.runpod import RunPod
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.hashing import stamps
from gpu_tui.teardown.journal import open_ends
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.runner import Runner

PHRASE = "pod-4n6p"


def _rung(view: GateView, rung: Rung) -> str:
    return next(row.state for row in view.rungs if row.rung is rung)


def _lines(view: GateView, rung: Rung) -> tuple[str, ...]:
    return next(row.lines for row in view.rungs if row.rung is rung)


async def _armed(
    scene: Scene, verb: str = "terminate"
) -> tuple[Runner, Climb, AsyncGenerator[GateView]]:
    """Climb to a confirmation that would be taken."""
    runner = scene.runner()
    climb = runner.open("pod", verb)
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    return runner, climb, views


async def test_a_teardown_from_plan_to_gone(scene: Scene) -> None:
    (scene.box.results / "last.pth").symlink_to("base/best.pth")  # loses nothing, stops nothing
    (scene.box.results / "base/tb").mkdir()
    _, climb, views = await _armed(scene)
    left = (
        "links not pulled, only what they lead to (1): last.pth -> base/best.pth",
        "empty directories not pulled (1): base/tb",
    )
    for rung in (Rung.MANIFEST, Rung.CONFIRM):
        assert set(left) < set(_lines(climb._latest, rung))
    assert scene.server.calls == []
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.outcome == "gone"
    assert all(row.state is RungState.PASSED for row in last.rungs)
    answered, looked = _lines(last, Rung.ACT)
    assert answered.startswith("the provider: ")
    assert looked.startswith("the last look at the box ended")
    assert _lines(last, Rung.READ_BACK) == (
        "the provider now says: gone",
        "proven gone 2025-11-21T04:40:03Z, 0 s after the call; the meter stopped by then",
    )
    assert last.outcome_lines == (answered, *_lines(last, Rung.READ_BACK))
    assert scene.server.calls == [f"DELETE /v2/pods/{POD['id']}"]
    assert local_tree(scene.local).manifest == local_tree(scene.box.results).manifest
    assert scene.events() == [
        *("open", "plan", "manifest", "pulled", "matched", "loaded", "confirmed"),
        *("permit", "intent", "call", "answer", "read-back", "confirmed-gone"),
    ]


async def test_the_plan_names_price_and_what_dies(scene: Scene) -> None:
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "listing")
    plan = next(row for row in view.rungs if row.rung is Rung.PLAN)
    assert "terminate: cannot be undone; by the provider's API" in plan.lines
    assert "the meter stops: $2.08/h now, nothing after it" in plan.lines
    assert "lost: volume disk (/workspace)" in plan.lines
    assert "kept: network volume (/net)" in plan.lines
    await climb.close()
    assert (await rest(views)).outcome == "cancelled"


async def test_the_wrong_phrase_calls_nothing(scene: Scene) -> None:
    _, climb, views = await _armed(scene)
    await climb.confirm("pod")
    async for view in views:
        if f"that is not {PHRASE}" in _lines(view, Rung.CONFIRM):
            break
    assert view.ready
    assert view.closed_because is None
    await climb.close()
    assert (await rest(views)).outcome == "cancelled"
    assert scene.server.calls == []
    assert scene.events()[-1] == "cancelled"


def _new_file(scene: Scene) -> None:
    scene.box.write("wide/best-2.pth", b"late")


def _same_size(scene: Scene) -> None:
    path = scene.box.results / "wide/best.pth"
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    stat = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _local_gone(scene: Scene) -> None:
    (scene.local / "base/best.pth").unlink()


def _local_flip(scene: Scene) -> None:
    path = scene.local / "base/best.pth"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)


def _reboot(scene: Scene) -> None:
    scene.box.boot("11111111-2222-4333-8444-555566667777")


def _job(scene: Scene) -> None:
    scene.box.process(77, ["python", "main.py"])


def _table(scene: Scene) -> None:
    scene.box.proc.rename(scene.box.proc.with_name("gone"))


def _queue(scene: Scene) -> None:
    with scene.box.queue.open("a") as file:
        file.write("configs/late.yaml reconstruction\n")


def _stopped(scene: Scene) -> None:
    assert scene.server.pod
    scene.server.pod["status"] = "EXITED"


def _moved(scene: Scene) -> None:
    (scene.box.proc / "1/environ").unlink()  # it does not say which one it is
    assert scene.server.pod
    here = scene.instance.ssh
    scene.server.pod["ssh"] = {"direct": {"host": here.host, "port": (here.port or 0) + 1}}


def _read_only(scene: Scene) -> None:
    scene.set(read_only=True)


def _lost(scene: Scene) -> None:
    scene.connection = None


def _killed(scene: Scene) -> None:
    scene.box.sshd.kill_sessions()


def _late(scene: Scene) -> None:
    scene.clock.advance(TTL)


def _key(scene: Scene) -> None:
    scene.server.key = "another"


def _other_id(scene: Scene) -> None:
    """The fleet file was edited, and read again, as whatever follows."""
    scene.set(provider=replace(scene.instance.provider, id="another1"))


def _other_platform(scene: Scene) -> None:
    scene.set(platform="generic-ssh")


def _other_copies(scene: Scene) -> None:
    shutil.copytree(scene.local, scene.local.with_name("there"))
    scene.set(results=Results(str(scene.box.results), str(scene.local.with_name("there"))))


def _other_results(scene: Scene) -> None:
    there = scene.box.results.with_name("results-2")
    shutil.copytree(scene.box.results, there)
    scene.set(results=Results(str(there), str(scene.local)))


def _gone_from_the_file(scene: Scene) -> None:
    scene.set(name="renamed")


@pytest.mark.parametrize(
    "fault",
    [
        *(_new_file, _same_size, _local_gone, _local_flip, _reboot, _job, _table, _queue),
        *(_stopped, _moved, _read_only, _lost, _killed, _late, _key),
        *(_other_id, _other_platform, _other_copies, _other_results, _gone_from_the_file),
    ],
)
async def test_one_fault_before_the_call_and_nothing_is_called(
    scene: Scene, fault: Callable[[Scene], None]
) -> None:
    _, climb, views = await _armed(scene)
    fault(scene)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.state == "closed"
    assert last.closed_because
    assert scene.server.calls == []
    assert "intent" not in scene.events()
    assert scene.events()[-1] == "relock"


@pytest.mark.parametrize(
    ("change", "rung", "word"),
    [
        (lambda s: s.box.process(9, ["python", "main.py", "--x"]), Rung.QUIESCE, "still at work"),
        (lambda s: s.box.write("base/best.pth", b"x", age=0.0), Rung.QUIESCE, "being written"),
        (lambda s: s.box.write("odd\nname/x", b"x"), Rung.MANIFEST, "control characters"),
        (
            lambda s: (s.box.results / "ln.pth").symlink_to("/etc/passwd"),
            Rung.MANIFEST,
            "a link to something",
        ),
        (lambda s: os.mkfifo(s.box.results / "pipe"), Rung.MANIFEST, "neither a file"),
        (lambda s: s.box.queue.unlink(), Rung.MATCH, "roster is not known"),
        (
            lambda s: (s.box.results / "wide/best_metrics.json").unlink(),
            Rung.MATCH,
            "wide (finished): no best_metrics.json",
        ),
        (
            lambda s: (s.local.mkdir(), (s.local / "stray").write_text("x")),
            Rung.MATCH,
            "not on the box: stray",
        ),
        (lambda s: s.box.write("wide/best.pth", b"<html>"), Rung.LOAD, "wide/best.pth"),
        (lambda s: s.box.write("wide/best_metrics.json", b"{"), Rung.LOAD, "best_metrics.json"),
    ],
)
async def test_evidence_that_fails_blocks_its_rung(
    scene: Scene, change, rung: Rung, word: str
) -> None:  # type: ignore[no-untyped-def]
    change(scene)
    climb = scene.runner().open("pod", "terminate")
    view, _ = await until(climb, lambda view: view.state == "blocked")
    assert _rung(view, rung) is RungState.BLOCKED
    assert word in (view.closed_because or "")
    assert all(_rung(view, below) is not RungState.PASSED for below in Rung if below > rung)
    await climb.confirm(view.phrase)
    await climb.close()
    assert scene.server.calls == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda s: s.set(read_only=True), "read-only"),
        (lambda s: s.set(results=Results()), "no results directory"),
        (lambda s: s.set(results=Results("/nowhere", "/tmp/x")), "no results directory"),
        (lambda s: (s.provider(s.instance), _key(s)), "does not take the key"),
        (lambda s: setattr(s.server, "pod", None), "no such instance"),
        (_moved, "the provider's instance is at 127.0.0.1:"),
        (lambda s: setattr(s, "connection", None), "no connection"),
        (lambda s: s.box.boot("x"), "which machine"),
    ],
)
async def test_a_plan_that_cannot_be_is_closed_at_once(
    scene: Scene, change: Callable[[Scene], object], word: str
) -> None:
    change(scene)
    climb = scene.runner().open("pod", "terminate")
    last = await rest(climb.views())
    assert last.state == "closed"
    assert word in (last.closed_because or "")
    assert scene.server.calls == []


async def test_read_only_of_the_command_line_is_a_closed_view(scene: Scene) -> None:
    scene.read_only = True
    last = await rest(scene.runner().open("pod", "terminate").views())
    assert "read-only" in (last.closed_because or "")


async def test_unknown_verbs_and_second_ladders_are_closed_views(scene: Scene) -> None:
    runner = scene.runner()
    assert "no “nuke”" in ((await rest(runner.open("pod", "nuke").views())).closed_because or "")
    assert "no such" in ((await rest(runner.open("other", "stop").views())).closed_because or "")
    first = runner.open("pod", "terminate")
    second = await rest(runner.open("pod", "terminate").views())
    assert "another ladder" in (second.closed_because or "")
    await first.close()
    assert runner.open("pod", "terminate")._latest.closed_because is None


async def test_slow_deletion_is_polled_until_it_is_gone(scene: Scene) -> None:
    scene.server.polls_until_done = 4
    _, climb, views = await _armed(scene)
    await climb.confirm(PHRASE)
    assert (await rest(views)).outcome == "gone"
    assert scene.events().count("read-back") == 5
    assert len(scene.server.calls) == 1


async def test_a_deletion_that_never_ends_stays_red(scene: Scene) -> None:
    scene.server.polls_until_done = 10_000
    _, climb, views = await _armed(scene)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.outcome == "still-there"
    assert _rung(last, Rung.READ_BACK) is RungState.BLOCKED
    assert scene.events()[-1] == "still-there"


@pytest.mark.parametrize("status", [401, 403, 409, 429])
async def test_a_refused_call_is_not_repeated(scene: Scene, status: int) -> None:
    scene.server.delete_status = status
    _, climb, views = await _armed(scene)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.outcome == "still-there"
    assert len(scene.server.calls) == 1
    assert "\x1b" not in " ".join(last.outcome_lines)


@pytest.mark.parametrize("status", [408, 502, 503, 504, 520, 524, 526])
async def test_an_answer_of_a_proxy_is_no_refusal_and_is_read_back(
    scene: Scene, status: int
) -> None:
    scene.server.delete_status = status
    scene.server.late = 3
    _, climb, views = await _armed(scene)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert (last.outcome, len(scene.server.calls)) == ("gone", 1)
    assert "nobody knows whether it was done" in last.outcome_lines[0]


async def test_an_answer_that_never_comes_is_unknown_until_it_is_read_back(scene: Scene) -> None:
    scene.server.hang = True
    scene.impatient(0.2)
    _, climb, views = await _armed(scene)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.outcome == "gone"
    assert len(scene.server.calls) == 1


async def test_a_call_that_nobody_saw_end_is_settled_before_the_next(scene: Scene) -> None:
    scene.server.delete_status = 500
    scene.server.get = []
    _, climb, views = await _armed(scene)
    scene.server.get = [(200, b'{"id": "7h9k2m4n6p", "status": "RUNNING"}')]
    await climb.confirm(PHRASE)
    scene.server.get += [(503, b"")] * 100
    last = await rest(views)
    assert last.outcome == "unknown"
    assert scene.events()[-1] == "unknown"
    # The API is still silent: nothing may be tried again.
    again = await rest(scene.runner().open("pod", "terminate").views())
    assert "never seen to end" in (again.closed_because or "")
    scene.server.get = []
    climb = scene.runner().open("pod", "terminate")
    view, _ = await until(climb, lambda view: view.state == "quiescing")
    await climb.close()
    assert "still-there" in scene.events()
    assert view.closed_because is None


async def test_not_found_in_another_account_settles_no_call(scene: Scene) -> None:
    scene.server.delete_status = 500
    scene.server.get = []
    _, climb, views = await _armed(scene)
    scene.server.get = [(200, b'{"id": "7h9k2m4n6p", "status": "RUNNING"}')]
    await climb.confirm(PHRASE)
    scene.server.get += [(503, b"")] * 100
    assert (await rest(views)).outcome == "unknown"
    scene.server.get = [(404, b"{}")] * 10
    scene.set(provider=replace(scene.instance.provider, key_env="OTHER_KEY"))
    again = await rest(scene.runner().open("pod", "terminate").views())
    assert "another account" in (again.closed_because or "")
    assert "confirmed-gone" not in scene.events()


async def test_closing_after_the_call_left_does_not_stop_the_read_back(scene: Scene) -> None:
    scene.server.polls_until_done = 3
    _, climb, views = await _armed(scene)
    await climb.confirm(PHRASE)
    async for view in views:
        if view.state == "called":
            break
    await views.aclose()
    assert not climb.over
    act = climb._act_task
    assert act is not None
    await act
    assert scene.events()[-1] == "confirmed-gone"
    assert climb.over


async def test_a_journal_that_cannot_be_written_shuts_the_gate(scene: Scene) -> None:
    _, climb, views = await _armed(scene)
    scene.state.joinpath("teardown.jsonl").write_bytes(b"garbage\ngarbage\n{}\n")
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.state == "closed"
    assert scene.server.calls == []
    again = await rest(scene.runner().open("pod", "terminate").views())
    assert again.state == "closed"


async def test_a_park_that_the_platform_does_not_know_as_one_is_not_carried_out(
    scene: Scene,
) -> None:
    """RunPod's stop wipes the container disk, whatever a profile says."""
    climb = scene.runner().open("pod", "stop")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    await climb.confirm(PHRASE)
    assert (await rest(views)).outcome == "steps"
    assert scene.server.calls == []


async def test_a_park_names_running_work_and_takes_its_acceptance(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmless = replace(RunPod.calls["stop"], keeps=True)
    monkeypatch.setattr(RunPod, "calls", {"stop": harmless})
    scene.box.process(9, ["python", "train.py"])
    climb = scene.runner().open("pod", "stop")
    view, views = await until(climb, lambda view: bool(view.needs_acceptance))
    assert view.needs_acceptance == ("python train.py (pid 9)",)
    assert _rung(view, Rung.MANIFEST) is RungState.SKIPPED
    await climb.accept()
    async for view in views:
        if view.state == "ready":
            break
    scene.clock.advance(DWELL)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.outcome == "stopped"
    assert scene.server.calls == [f"POST /v2/pods/{POD['id']}/action"]
    assert not scene.local.exists()


async def test_an_abandonment_over_a_broken_checkpoint(scene: Scene) -> None:
    scene.box.write("wide/best.pth", b"broken")
    (scene.box.results / "last.pth").symlink_to("base/best.pth")
    (scene.box.results / "base/tb").mkdir()
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.abandon_phrase is not None)
    cell = "cell wide (finished): best.pth not proven here"
    assert view.lost_paths == ("base/tb/", "last.pth", "wide/best.pth", cell)
    assert view.abandon_phrase == f"abandon 3 files on {PHRASE}"
    scene.clock.advance(DWELL)
    await climb.abandon(view.abandon_phrase)
    last = await rest(views)
    assert last.outcome == "gone"
    assert "abandon" in scene.events()
    assert _rung(last, Rung.LOAD) is RungState.BLOCKED


async def test_the_console_gets_steps_and_never_a_proof(scene: Scene) -> None:
    scene.set(platform="generic-ssh", provider=ProviderAccess())
    runner = scene.runner()
    assert runner.verbs("pod") == (RELEASE,)
    climb = runner.open("pod", "release")
    view, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    await climb.confirm(view.phrase)
    last = await rest(views)
    assert last.outcome == "steps"
    assert last.outcome_lines[:-1] == RELEASE.steps
    assert "stays red until you say" in last.outcome_lines[-1]
    assert runner.journal.unresolved("pod") is None  # no call left: it may be opened again
    assert "pod" in open_ends(runner.journal.read().records)  # but its end was not seen
    assert _rung(last, Rung.READ_BACK) is RungState.BLOCKED
    assert _lines(last, Rung.ACT)[0] == "the steps were given: from here nothing was sent"
    assert scene.server.requests == []


async def test_a_pull_alone_stops_nothing(scene: Scene) -> None:
    scene.box.process(9, ["python", "train.py"])
    scene.read_only = True
    last = await rest(scene.runner().pull_only("pod"))
    assert last.outcome == "verified"
    assert scene.server.calls == []
    assert (scene.local / ".gpu-tui/manifest.json").is_file()


async def test_a_pull_that_is_cut_goes_on_where_it_was(scene: Scene) -> None:
    big = scene.box.write("base/last.log", os.urandom(3_000_000))
    views = scene.runner().pull_only("pod")
    async for view in views:
        if view.state == "pulling":
            break
    await views.aclose()
    parts = scene.local / ".gpu-tui/parts"
    digest = hashlib.sha256(big.read_bytes()).hexdigest()
    parts.mkdir(parents=True, exist_ok=True)
    (parts / f"{digest}.part").write_bytes(big.read_bytes()[:1_000_000])
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"
    assert (scene.local / "base/last.log").read_bytes() == big.read_bytes()
    assert not list(parts.iterdir())


async def test_a_stale_part_and_an_older_copy_lose_nothing(scene: Scene) -> None:
    (scene.local / "base").mkdir(parents=True)
    (scene.local / "base/train.log").write_bytes(b"an older run's log")
    digest = hashlib.sha256((scene.box.results / "wide/best.pth").read_bytes()).hexdigest()
    parts = scene.local / ".gpu-tui/parts"
    parts.mkdir(parents=True)
    (parts / f"{digest}.part").write_bytes(b"not the start of it")
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"
    kept = list((scene.local / ".gpu-tui/replaced").glob("*/base/train.log"))
    assert [path.read_bytes() for path in kept] == [b"an older run's log"]


async def test_home_relative_paths_are_the_boxes_home(scene: Scene) -> None:
    scene.set(
        results=Results("~/results", str(scene.local)),
        queue=QueueFiles("~/queue.txt", "~/queue.log"),
    )
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"


async def test_local_links_are_never_written_through(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    scene.local.mkdir()
    (scene.local / "base").symlink_to(outside)
    last = await rest(scene.runner().pull_only("pod"))
    assert last.outcome is None
    assert list(outside.iterdir()) == []


async def test_an_armed_gate_shuts_by_itself_when_its_time_is_over(scene: Scene) -> None:
    _, _, views = await _armed(scene)
    scene.clock.advance(TTL)
    last = await rest(views)
    assert last.state == "closed"
    assert scene.server.calls == []


@pytest.mark.parametrize(
    ("event", "state"), [("permit", "closed"), ("intent", "closed"), ("call", "done")]
)
async def test_read_only_set_while_the_journal_is_written(
    scene: Scene, event: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, climb, views = await _armed(scene)
    write = runner.journal.write

    def slow(instance: str, what: str, *args: str, **detail: object) -> object:
        if what == event:
            _read_only(scene)
        return write(instance, what, *args, **detail)

    monkeypatch.setattr(runner.journal, "write", slow)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.state == state
    assert scene.server.calls == []
    assert runner.journal.unresolved("pod") is None


async def test_cells_that_only_the_screen_knows_are_no_roster(scene: Scene) -> None:
    scene.set(queue=QueueFiles())
    scene.queue = Queue((Cell("base", 1, None, CellState.FINISHED),))
    climb = scene.runner().open("pod", "terminate")
    view, _ = await until(climb, lambda view: view.state == "blocked")
    assert "roster is not known" in (view.closed_because or "")
    await climb.close()


def _late_file(scene: Scene) -> None:
    scene.box.write("late/best.pth", b"only copy")  # moved in: its mtime is old


def _rewritten(scene: Scene) -> None:
    _same_size(scene)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_late_file, "files on the box changed: late/best.pth"),
        (_rewritten, "files on the box changed: wide/best.pth"),
        *((_local_gone, "files here"), (_local_flip, "files here")),
    ],
)
async def test_what_changes_after_it_was_hashed_again(
    scene: Scene, change: Callable[[Scene], None], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, climb, views = await _armed(scene)
    state = Gather._state

    async def then(self: Gather) -> ProviderState:
        change(scene)
        return await state(self)

    monkeypatch.setattr(Gather, "_state", then)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert word in (last.closed_because or "")
    assert scene.server.calls == []


async def test_the_last_look_reads_every_byte_on_the_box_again(scene: Scene) -> None:
    """What was hashed before saves work on the way up; a stamp that lies must not save the last look."""
    gather = scene.runner()._gather("pod", lambda transfer: None)
    seen = await gather.inventory()
    path = scene.box.results / "wide/best.pth"
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    old = next(file for file in seen.manifest.files if file.path == "wide/best.pth")
    there = await stamps(gather.link(), str(scene.box.results))
    gather.hashed._seen[old.path] = (there[old.path], old)
    assert gather.hashed.still(old.path, there[old.path]) == old
    look = await gather.recheck(seen.manifest)
    assert look.remote is not None
    new = next(file for file in look.remote.files if file.path == "wide/best.pth")
    assert new.sha256 == hashlib.sha256(bytes(data)).hexdigest() != old.sha256


@pytest.mark.parametrize(("variant", "state"), [(None, "closed"), ("machine", "ready")])
async def test_a_park_of_a_box_of_no_known_variant_keeps_the_disks_of_all_of_them(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, variant: str | None, state: str
) -> None:
    """A notebook whose variant nobody wrote down must not be told that a machine's shut-down keeps all."""
    console = replace(RELEASE, deletes=(), reversible=True, effect="stop", applies_to=("machine",))
    disk = replace(TIERS[0], applies_to=("machine",))
    scratch = replace(disk, id="scratch", survives_stop=False, applies_to=("notebook",))
    profile = replace(PROFILES["runpod"], storage=(disk, scratch), teardown=(console,))
    monkeypatch.setitem(PROFILES, "runpod", profile)
    scene.set(provider=replace(scene.instance.provider, variant=variant))
    climb = scene.runner().open("pod", "release")
    view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
    await views.aclose()
    assert view.state == state
    assert variant or "not sure that these survive" in (view.closed_because or "")
