"""Two entries of the fleet file that reach one box: neither is destroyed unawares, and a container is not its host."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest
from boxes import Sshd
from rented import Scene, rest, until

from gpu_tui.core.evidence import Cells
from gpu_tui.core.fleet import Instance, ProviderAccess, QueueFiles, Results
from gpu_tui.core.ladder import GateView, Rung
from gpu_tui.teardown.roster import joined
from gpu_tui.teardown.whose import same_machine
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport

APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
MAY_UNSHARE = (
    shutil.which("unshare") is not None
    and subprocess.run([*APART, "true"], check=False, capture_output=True).returncode == 0
)


Connect = Callable[[Instance], Awaitable[Connection]]
Alias = Callable[..., Awaitable[tuple[Instance, Connection]]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    made: list[Connection] = []

    async def reach(instance: Instance) -> Connection:
        made.append(await SshTransport().connect(instance))
        return made[-1]

    yield reach
    for connection in made:
        await connection.close()


@pytest.fixture
def alias(make_box: Callable[..., Sshd], connect: Connect) -> Alias:
    """Another entry that reaches the box of the scene by a second port of the same host key."""

    async def make(scene: Scene, **changed: object) -> tuple[Instance, Connection]:
        box = clone(make_box, scene.box.sshd, "twin")
        fields: dict[str, object] = {
            "name": "twin",
            "ssh": box.ssh_access,
            "provider": ProviderAccess(),
            "results": replace(scene.instance.results, local=str(scene.local.parent / "other")),
        }
        twin = replace(scene.instance, **{**fields, **changed})  # type: ignore[arg-type]
        return twin, await connect(twin)

    return make


def clone(make_box: Callable[..., Sshd], box: Sshd, name: str, **options: object) -> Sshd:
    """An sshd of the same image: another port, and the same host key."""
    made = make_box(name, **options)
    made.stop()
    for end in ("", ".pub"):
        shutil.copy(f"{box.host_key}{end}", f"{made.host_key}{end}")
    return made.start()


# --- real machines ---------------------------------------------------------------------------------


async def test_two_ways_to_one_machine_are_one_box(
    make_box: Callable[..., Sshd],
    connect: Connect,
) -> None:
    first = make_box("first")
    second = clone(make_box, first, "second")
    stranger = make_box("stranger")  # the same machine by another host key: nothing is claimed
    one, two, three = (
        box.instance(name) for box, name in ((first, "a"), (second, "b"), (stranger, "c"))
    )
    ends = [await connect(each) for each in (one, two, three)]
    assert ends[0].host_key == ends[1].host_key
    rows = [(two, ends[1]), (three, ends[2]), (replace(two, name="off"), None)]
    assert await same_machine(ends[0], one, rows) == ("b",)


@pytest.mark.skipif(not MAY_UNSHARE, reason="making a PID namespace needs root")
async def test_two_containers_of_one_image_on_one_host_are_two_boxes(
    make_box: Callable[..., Sshd],
    connect: Connect,
) -> None:
    first = make_box("first")
    inside = [clone(make_box, first, name, under=APART) for name in ("second", "third")]
    entries = [box.instance(name) for box, name in zip((first, *inside), "abc", strict=True)]
    ends = [await connect(each) for each in entries]
    assert len({end.host_key for end in ends}) == 1
    for at, (mine, end) in enumerate(zip(entries, ends, strict=True)):
        others = [(e, c) for n, (e, c) in enumerate(zip(entries, ends, strict=True)) if n != at]
        assert await same_machine(end, mine, others) == ()
    again = await connect(entries[1])
    twin = replace(entries[1], name="twin")
    assert await same_machine(ends[1], entries[1], [(twin, again)]) == ("twin",)


@pytest.mark.parametrize("gone", ["sys/kernel/random/boot_id", "1/stat", "self/ns/pid"])
async def test_what_one_of_the_two_cannot_read_claims_nothing(
    scene: Scene, alias: Alias, gone: str
) -> None:
    machine(scene)
    twin, end = await alias(scene)
    assert scene.connection
    assert await same_machine(scene.connection, scene.instance, [(twin, end)]) == ("twin",)
    (scene.box.proc / gone).unlink()
    assert await same_machine(scene.connection, scene.instance, [(twin, end)]) == ()


async def test_an_end_that_is_lost_claims_nothing(scene: Scene, alias: Alias) -> None:
    machine(scene)
    twin, end = await alias(scene)
    assert scene.connection
    await end.close()
    assert await same_machine(scene.connection, scene.instance, [(twin, end)]) == ()


# --- the ladder ------------------------------------------------------------------------------------


def machine(scene: Scene) -> None:
    """The box of these tests has a process table of its own: give it a PID 1 and a namespace."""
    (scene.box.proc / "1/stat").write_text("1 (init) S 0 " + "0 " * 17 + "4711 0 0\n")
    (scene.box.proc / "self/ns").mkdir(parents=True)
    (scene.box.proc / "self/ns/pid").symlink_to("pid:[4026532178]")


async def climbed(scene: Scene, verb: str = "terminate") -> GateView:
    climb = scene.runner().open("pod", verb)
    view, views = await until(
        climb, lambda view: view.state in ("ready", "closed", "blocked", "accepting")
    )
    await climb.close()
    await views.aclose()
    return view


async def test_neither_of_the_two_is_destroyed(scene: Scene, alias: Alias) -> None:
    machine(scene)
    twin, end = await alias(scene)
    scene.others, scene.reached = [twin], {"twin": end}
    view = await climbed(scene)
    assert view.state == "closed"
    assert view.closed_because == (
        "it is also twin in the fleet file, whose results would go with it: pod and twin are one box. Correct the "
        "host of the wrong one, or write same_box: pod at twin (gpu-tui help fleet), then open this again"
    )
    scene.instance, scene.others = twin, [scene.instance]
    scene.connection, scene.reached = end, {"pod": scene.connection}  # type: ignore[dict-item]
    climb = scene.runner().open("twin", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "closed", "blocked"))
    await views.aclose()
    assert "twin and pod are one box" in (view.closed_because or "")
    assert scene.server.calls == []


async def test_a_park_is_not_held_back(scene: Scene, alias: Alias) -> None:
    machine(scene)
    twin, end = await alias(scene)
    scene.others, scene.reached = [twin], {"twin": end}
    assert (await climbed(scene, "stop")).state == "ready"


async def test_a_container_beside_it_holds_nothing_back(scene: Scene, alias: Alias) -> None:
    machine(scene)
    proc = scene.local.parent / "proc-of-another"
    shutil.copytree(scene.box.proc, proc, symlinks=True)
    (proc / "self/ns/pid").unlink()
    (proc / "self/ns/pid").symlink_to("pid:[4026532179]")
    twin, end = await alias(scene, roots=replace(scene.instance.roots, proc=str(proc)))
    scene.others, scene.reached = [twin], {"twin": end}
    view = await climbed(scene)
    assert view.state == "ready", view.closed_because


# --- where the fleet file says so ------------------------------------------------------------------


def second_queue(scene: Scene, *cells: str, done: bool = True) -> QueueFiles:
    """Another queue of the same box."""
    queue, log = scene.box.queue.with_name("queue_2.txt"), scene.box.log.with_name("queue_2.log")
    queue.write_text("".join(f"configs/{cell}.yaml reconstruction\n" for cell in cells))
    rows = [f"=== Queue queue_2.txt: {len(cells)} ablations, starting from 1 on box ==="]
    for at, cell in enumerate(cells, 1):
        mark = f"[{at}/{len(cells)}]"
        rows.append(f"[2020-11-20 10:00:00] {mark} STARTING {cell} (reconstruction, 2ep)")
        rows.append(f"[2020-11-20 11:00:00] {mark} FINISHED {cell} (exit=0)")
    done_line = (
        f"[2020-11-20 12:00:01] === QUEUE DONE on box -- all {len(cells)} cell(s) exited 0 ==="
    )
    log.write_text("\n".join([*rows, done_line, ""]))
    return QueueFiles(str(queue), str(log))


async def test_said_to_be_one_box_the_cells_of_both_are_asked_for(
    scene: Scene, alias: Alias
) -> None:
    machine(scene)
    twin, end = await alias(scene, same_box="pod", queue=second_queue(scene, "deep"))
    scene.others, scene.reached = [twin], {"twin": end}
    view = await climbed(scene)
    assert view.state == "blocked"
    assert "deep" in (view.closed_because or "")
    for name in ("best.pth", "best_metrics.json"):
        scene.box.write(f"deep/{name}", (scene.box.results / "wide" / name).read_bytes())
    view = await climbed(scene)
    assert view.state == "ready", view.closed_because
    match = next(row.lines for row in view.rungs if row.rung is Rung.MATCH)
    assert "all 3 cells have best.pth and best_metrics.json" in match
    assert view.seconds == ()  # deep is no directory that no cell is called
    (scene.box.queue.with_name("queue_2.txt")).unlink()
    view = await climbed(scene)
    assert "the roster is not known" in (view.closed_because or "")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"results": Results("/elsewhere", "/l")}, "keeps its results in /elsewhere"),
        ({"results": Results("~/results", "/l")}, "~ may be another home"),
        ({"queue": QueueFiles("~/q.txt")}, "~ may be another home"),
        ({"results": None}, "its cells leave other files"),
    ],
)
async def test_what_this_ladder_does_not_bring_home_shuts_it(
    scene: Scene, changed: dict[str, object], why: str
) -> None:
    if "results" in changed and changed["results"] is None:
        changed = {"results": replace(scene.instance.results, artifacts=("last.pth",))}
    twin = replace(
        scene.instance, name="twin", provider=ProviderAccess(), same_box="pod", **changed
    )  # type: ignore[arg-type]
    scene.others = [twin]
    view = await climbed(scene)
    assert view.state == "closed"
    assert "twin is the same box" in (view.closed_because or "")
    assert why in (view.closed_because or "")
    assert scene.server.calls == []


async def test_an_entry_that_is_said_while_it_is_armed_shuts_the_gate(scene: Scene) -> None:
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(3.0)
    async for view in views:
        if view.ready:
            break
    twin = replace(scene.instance, name="twin", provider=ProviderAccess(), same_box="pod")
    scene.others = [replace(twin, queue=second_queue(scene, "deep"))]
    await climb.confirm("pod-4n6p")
    last = await rest(views)
    assert last.state == "closed"
    assert "the queue changed" in (last.closed_because or "")
    assert scene.server.calls == []


def test_a_cell_of_two_queues_ended_well_only_where_both_say_so() -> None:
    one = Cells(("a", "b"), (("c", "exit 1"),), began=(("a", 5.0),))
    other = Cells(
        ("c", "d"), (("b", "no end line"),), ("d stands twice",), False, began=(("a", 9.0),)
    )
    both = joined([one, other])
    assert both is not None
    assert both.finished == ("a", "d")
    assert both.unfinished == (("c", "exit 1"), ("b", "no end line"))
    assert (both.doubtful, both.closed) == (("d stands twice",), False)
    assert dict(both.began) == {"a": 9.0}
    assert joined([one]) == one
    assert joined([one, one]) == one
    assert joined([]) is None
