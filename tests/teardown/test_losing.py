"""Attempts to lose somebody's results through the gate, each over a real box. None may reach a call."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rented import Scene, rest, until

from gpu_tui.core.fleet import ProviderAccess, SshAccess
from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView
from gpu_tui.teardown import mounts
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.mounts import MEMORY  # as it is, before it is emptied for the tests
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.transport.ssh import SshTransport

PHRASE = "pod-4n6p"
SHM = Path("/dev/shm")


async def _armed(scene: Scene) -> tuple[Climb, AsyncGenerator[GateView]]:
    """A ladder that would take the confirmation."""
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    return climb, views


def _arrives(scene: Scene) -> None:
    """Another machine put it there with the time it had: nothing shows that it is new but its name."""
    scene.box.write("wide/best-2.pth", b"late", age=7_200.0)


def _copy_goes(scene: Scene) -> None:
    (scene.local / "base/best.pth").unlink()


@pytest.mark.parametrize("fault", [_arrives, _copy_goes])
async def test_what_happens_while_a_slow_account_answers(
    scene: Scene, fault: Callable[[Scene], None]
) -> None:
    """The last question to the provider may take half a minute: the files are looked at after it."""
    climb, views = await _armed(scene)
    answer, done = scene.server._get, []

    def slow(path: str) -> tuple[int, bytes]:
        if path.startswith("/v2/network-volumes") and not done:
            fault(scene)
            done.append(path)
        return answer(path)

    scene.server._get = slow  # type: ignore[method-assign]
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert done
    assert scene.server.calls == []
    assert last.state == "closed"


async def test_a_box_that_the_fleet_file_spells_in_two_ways(scene: Scene) -> None:
    """By an alias and by its address: the results of the second entry would go with the first."""
    other = replace(
        scene.instance,
        name="second-queue",
        ssh=replace(scene.instance.ssh, host="me@alias-of-it"),
        provider=ProviderAccess(),
    )
    scene.others = [other]
    again = await SshTransport().connect(scene.instance)
    try:
        scene.reached["second-queue"] = again
        climb = scene.runner().open("pod", "terminate")
        view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
        await views.aclose()
    finally:
        await again.close()
    assert view.state == "closed"
    assert "it is also second-queue in the fleet file" in (view.closed_because or "")


async def test_another_box_behind_the_same_proxy_is_another_box(scene: Scene) -> None:
    """A platform's ssh proxy has one address and one host key: the login tells its boxes apart."""
    scene.others = [replace(scene.instance, name="second-queue", provider=ProviderAccess())]
    scene.others[0] = replace(scene.others[0], ssh=SshAccess("other@proxy"))
    again = await SshTransport().connect(scene.instance)
    try:
        again.login = "other"
        scene.reached["second-queue"] = again
        climb = scene.runner().open("pod", "terminate")
        view, views = await until(climb, lambda view: view.state in ("closed", "ready"))
        await views.aclose()
    finally:
        await again.close()
    assert view.state == "ready"


@pytest.mark.parametrize("name", ["best.pth", "model.pt", "last.ckpt"])
async def test_an_optimizer_alone_stands_for_no_cell(scene: Scene, name: str) -> None:
    """The disk was full when the model was saved, and the optimizer beside it was not."""
    torch = torch_module()
    module = torch.nn.Linear(16, 16)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(1, 16)).sum().backward()
    optimizer.step()
    saved = io.BytesIO()
    torch.save({"model": {}, "optimizer": optimizer.state_dict()}, saved)
    for cell in ("base", "wide"):
        scene.box.write(f"{cell}/{name}", saved.getvalue())
    results = scene.instance.results
    scene.set(results=replace(results, artifacts=(name, "best_metrics.json")))
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("blocked", "ready"))
    await views.aclose()
    assert view.state == "blocked"
    assert re.search("not one weight in it|its model is empty", view.closed_because or "")


@pytest.mark.skipif(not SHM.is_dir(), reason="this machine has no /dev/shm")
async def test_copies_in_memory_are_accepted_by_name(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/tmp and /dev/shm of many machines are tmpfs: after a restart nothing of it is there."""
    monkeypatch.setattr(mounts, "MEMORY", MEMORY)
    with tempfile.TemporaryDirectory(dir=SHM) as local:
        scene.set(results=replace(scene.instance.results, local=local))
        climb = scene.runner().open("pod", "terminate")
        view, views = await until(climb, lambda view: view.state in ("blocked", "ready"))
        await views.aclose()
    assert view.state == "ready"
    assert [(one.phrase, one.lines[0]) for one in view.seconds] == [
        ("accept memory 1", "/dev/shm: results.local lies on it")
    ]


def _swapped(place: Path) -> None:
    """The same bytes under the same name, in another directory."""
    copy = place.with_name(f"{place.name}-copy")
    shutil.copytree(place, copy, symlinks=True)
    place.rename(place.with_name(f"{place.name}-before"))
    place.symlink_to(copy)


def _another_inode(scene: Scene) -> None:
    path = scene.box.results / "wide/best.pth"
    other = path.with_name("other")
    shutil.copy2(path, other)
    other.rename(path)


def _in_the_future(scene: Scene) -> None:
    """A file server whose clock is ahead: it is never younger than five seconds."""
    scene.box.write("base/train.log", b"epoch 1 loss 0.3\n", age=-7_200.0)


@pytest.mark.parametrize(
    "fault",
    [
        lambda scene: _swapped(scene.box.results),
        lambda scene: _swapped(scene.local),
        lambda scene: _swapped(scene.local / "base"),
        _another_inode,
        _in_the_future,
        lambda scene: (scene.box.results / "new.pth").symlink_to("base/best.pth"),
    ],
    ids=["there", "here", "a cell here", "an inode", "a clock ahead", "a link"],
)
async def test_the_same_bytes_in_another_place_are_other_evidence(
    scene: Scene, fault: Callable[[Scene], object]
) -> None:
    climb, views = await _armed(scene)
    fault(scene)
    await climb.confirm(PHRASE)
    last = await rest(views)
    assert last.state == "closed"
    assert scene.server.calls == []
