"""One change somewhere in a real teardown, and the truth about it when the provider is called.

A ladder runs against a real sshd with real clocks. Right before one of its remote calls something changes: on
the box, in the copy here, at the provider, in the fleet file or on this machine. When a request that would end
the instance reaches the provider's server, the oracle compares the two directories byte by byte.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from http_wire import Reply, Request
from rented import Scene
from runpod_server import POD

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import ProviderAccess, Results
from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView
from gpu_tui.wiring.clock import SystemClock

LIMIT = 90.0  # seconds for one ladder
MAX_CONFIRMATIONS = 5
SLOW_CARDS, QUICK_CARDS = 7.0, 0.2  # seconds that nvidia-smi takes
HOURS_AGO = 7_200.0


class TrueClock(ManualClock):
    """The clocks of this machine; `advance` and `jump` add to them what nobody wants to wait for."""

    def __init__(self) -> None:
        super().__init__(wall=0.0, uptime=0.0)
        self._true = SystemClock()

    def now(self) -> float:
        """Epoch seconds."""
        return self._true.now() + self.wall

    def boot(self) -> float:
        """Seconds of the boot clock."""
        return self._true.boot() + self.uptime

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self.wall += seconds


class Hooked:
    """A connection that calls `hook(number, what)` right before each remote call."""

    def __init__(self, real: Any, hook: Callable[[int, str], None]) -> None:
        self.real, self.hook, self.count = real, hook, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        if name not in ("run", "stream", "files"):
            return found

        def called(*args: Any, **kinds: Any) -> Any:
            self.count += 1
            self.hook(self.count, f"{name} {args[0] if args else ''}")
            return found(*args, **kinds)

        return called


@dataclass
class Ride:
    """What became of one ladder. `lost`: what the call destroys, path by path; None where none was made."""

    remote_calls: int = 0
    reached: bool = False  # the change was made
    after_confirmation: bool = False  # and the phrase had been typed by then
    lost: dict[str, str] | None = None
    view: GateView | None = None
    confirmations: int = 0
    stuck: bool = False  # it did not end in time
    said: list[str] = field(default_factory=list)

    @property
    def called(self) -> bool:
        """A request that ends the instance reached the provider."""
        return self.lost is not None


def _results(scene: Scene) -> Path:
    return scene.box.results


def _keep_times(path: Path, data: bytes) -> None:
    was = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def _age(path: Path) -> None:
    at = SystemClock().now() - HOURS_AGO
    os.utime(path, (at, at), follow_symlinks=False)


def _best(scene: Scene) -> Path:
    return _results(scene) / "wide/best.pth"


def _copy(scene: Scene) -> Path:
    return scene.local / "wide/best.pth"


def _flipped(path: Path) -> bytes:
    data = path.read_bytes()
    return data[:-1] + bytes([data[-1] ^ 1])


def new_file(scene: Scene) -> None:
    (_results(scene) / "wide/final.pth").write_bytes(_best(scene).read_bytes() + b"x")


def new_file_with_an_old_time(scene: Scene) -> None:
    new_file(scene)
    _age(_results(scene) / "wide/final.pth")


def moved_in(scene: Scene) -> None:
    outside = _results(scene).parent / "outside.pth"
    outside.write_bytes(b"epoch 9")
    _age(outside)
    outside.rename(_results(scene) / "wide/final.pth")


def rewritten(scene: Scene) -> None:
    _best(scene).write_bytes(_flipped(_best(scene)))


def rewritten_with_its_old_time(scene: Scene) -> None:
    _keep_times(_best(scene), _flipped(_best(scene)))


def replaced_with_its_old_time(scene: Scene) -> None:
    other = _results(scene).parent / "other.pth"
    other.write_bytes(_flipped(_best(scene)))
    was = _best(scene).stat()
    os.utime(other, ns=(was.st_atime_ns, was.st_mtime_ns))
    other.rename(_best(scene))


def swapped(scene: Scene) -> None:
    one, other = _best(scene), _results(scene) / "base/best.pth"
    aside = _results(scene).parent / "aside.pth"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def appended_with_its_old_time(scene: Scene) -> None:
    log = _results(scene) / "base/train.log"
    _keep_times(log, log.read_bytes() + b"one more line\n")


def removed(scene: Scene) -> None:
    (_results(scene) / "wide/best_metrics.json").unlink(missing_ok=True)


def hard_link(scene: Scene) -> None:
    twin = _results(scene) / "wide/again.pth"
    if not twin.exists():
        os.link(_best(scene), twin)


def symbolic_link(scene: Scene) -> None:
    link = _results(scene) / "elsewhere"
    if not link.is_symlink():
        link.symlink_to("/etc")


def sparse_file(scene: Scene) -> None:
    with (_results(scene) / "wide/last.pth").open("wb") as file:
        file.truncate(50_000_000)
    _age(_results(scene) / "wide/last.pth")


def new_directory_with_a_file(scene: Scene) -> None:
    place = _results(scene) / "third"
    place.mkdir(exist_ok=True)
    (place / "best.pth").write_bytes(b"epoch 1")
    _age(place / "best.pth")
    _age(place)


def directory_renamed(scene: Scene) -> None:
    if (_results(scene) / "wide").is_dir():
        (_results(scene) / "wide").rename(_results(scene) / "wider")


def results_replaced(scene: Scene) -> None:
    """Another directory of the same name, with a file more."""
    other = _results(scene).parent / "other"
    shutil.copytree(_results(scene), other)
    (other / "wide/final.pth").write_bytes(b"epoch 9")
    _results(scene).rename(_results(scene).parent / "before")
    other.rename(_results(scene))


def queue_grows(scene: Scene) -> None:
    scene.box.queue.write_text(scene.box.queue.read_text() + "configs/third.yaml reconstruction\n")


def log_reopened(scene: Scene) -> None:
    text = scene.box.log.read_text()
    scene.box.log.write_text(f"{text}[2020-11-20 13:00:00] [3/3] STARTING third (x, 2ep)\n")


def copy_damaged(scene: Scene) -> None:
    if _copy(scene).exists():
        _keep_times(_copy(scene), _flipped(_copy(scene)))


def copy_gone(scene: Scene) -> None:
    _copy(scene).unlink(missing_ok=True)


def copy_is_a_link(scene: Scene) -> None:
    if _copy(scene).exists() and not _copy(scene).is_symlink():
        away = scene.local.parent / "away.pth"
        shutil.copy2(_copy(scene), away)
        _copy(scene).unlink()
        _copy(scene).symlink_to(away)


def copy_is_the_box_s_own_file(scene: Scene) -> None:
    if _copy(scene).exists():
        _copy(scene).unlink()
        os.link(_best(scene), _copy(scene))


def work_starts(scene: Scene) -> None:
    scene.box.process(4242, ["python", "train.py"])


def somebody_logs_in(scene: Scene) -> None:
    scene.box.process(777, ["sshd: root@pts/7"])


def rebooted(scene: Scene) -> None:
    scene.box.boot("ffffffff-1111-4222-8333-444455556666")


def read_only(scene: Scene) -> None:
    scene.set(read_only=True)


def other_results_in_the_fleet_file(scene: Scene) -> None:
    scene.set(results=Results(str(_results(scene)), str(scene.local.parent / "elsewhere")))


def other_id_in_the_fleet_file(scene: Scene) -> None:
    scene.set(provider=ProviderAccess(id="other99", key_env="POD_KEY"))


def reconnected(scene: Scene) -> None:
    assert isinstance(scene.connection, Hooked)
    scene.connection = Hooked(scene.connection.real, lambda number, what: None)  # type: ignore[assignment]


def disconnected(scene: Scene) -> None:
    scene.connection = None


def clock_set(scene: Scene) -> None:
    assert isinstance(scene.clock, TrueClock)
    scene.clock.jump(3_600.0)


def machine_slept(scene: Scene) -> None:
    scene.clock.advance(60.0)


def _answers(scene: Scene, pod: dict[str, Any], times: int = 1) -> None:
    scene.server.get[:] = [(200, json.dumps(pod).encode())] * times


def provider_lost_it(scene: Scene) -> None:
    scene.server.get[:] = [(404, b"{}")] * 2


def provider_in_trouble(scene: Scene) -> None:
    scene.server.get[:] = [(500, b"oops")] * 4


def provider_names_another(scene: Scene) -> None:
    _answers(scene, {**POD, "id": "other99"})


def provider_says_stopped(scene: Scene) -> None:
    _answers(scene, {**POD, "status": "EXITED"})


Change = Callable[[Scene], None]
# What must be noticed by the bytes: a call is wrong where it destroys what is not here.
DATA: dict[str, Change] = {
    change.__name__: change
    for change in (
        *(new_file, new_file_with_an_old_time, moved_in, rewritten, rewritten_with_its_old_time),
        *(replaced_with_its_old_time, swapped, appended_with_its_old_time, removed, hard_link),
        *(symbolic_link, sparse_file, new_directory_with_a_file, directory_renamed),
        *(results_replaced, queue_grows, log_reopened),
        *(copy_damaged, copy_gone, copy_is_a_link, copy_is_the_box_s_own_file),
    )
}
# What makes every call wrong once it was confirmed, whatever the bytes are.
NEVER: dict[str, Change] = {
    change.__name__: change
    for change in (
        *(work_starts, somebody_logs_in, rebooted, read_only),
        *(other_results_in_the_fleet_file, other_id_in_the_fleet_file, reconnected, disconnected),
        *(clock_set, machine_slept),
    )
}
# What the provider says of its own; where it is over before it was asked again, a call may be right.
PROVIDER: dict[str, Change] = {
    change.__name__: change
    for change in (
        *(provider_lost_it, provider_in_trouble, provider_names_another, provider_says_stopped),
    )
}
CHANGES: dict[str, Change] = DATA | NEVER | PROVIDER


def tree(root: Path) -> dict[str, str]:
    """Path -> SHA-256, or the target of a link, of all that lies below."""
    found: dict[str, str] = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".gpu-tui"]
        for name in (*files, *names):
            path = Path(directory) / name
            relative = str(path.relative_to(root))
            if path.is_symlink():
                found[relative] = f"link to {path.readlink()}"
            elif path.is_file():
                found[relative] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def lost_by_a_call(scene: Scene) -> dict[str, str]:
    """What would be gone for good if the box ended now. A copy that is the box's own file goes with it."""
    local = Path(str(scene.instance.results.local))  # as the fleet file names it now
    there, here = tree(_results(scene)), tree(local)
    lost = {}
    for path, digest in there.items():
        if digest.startswith("link to "):
            lost[path] = "a link that leads out of the results"
        elif path not in here:
            lost[path] = "not here"
        elif here[path] != digest:
            lost[path] = "differs here"
        elif (_results(scene) / path).samefile(local / path):
            lost[path] = "one file on both sides"
    return lost


async def ride(
    scene: Scene,
    change: Change | None,
    at: int,
    *,
    cards: float = QUICK_CARDS,
    limit: float = LIMIT,
) -> Ride:
    """One ladder to its end; `change` is made right before its remote call number `at` (from 1)."""
    scene.clock = TrueClock()
    scene.box.sshd.program(
        "nvidia-smi", f"#!/bin/sh\nsleep {cards}\necho No devices were found\nexit 6\n"
    )
    found = Ride()

    def hook(number: int, what: str) -> None:
        found.remote_calls = number
        found.said.append(what)
        if number == at and change is not None:
            found.reached, found.after_confirmation = True, found.confirmations > 0
            change(scene)

    scene.connection = Hooked(scene.connection, hook)  # type: ignore[assignment]
    answer = scene.server.reply

    def reply(request: Request) -> Reply:
        if request.method != "GET" and found.lost is None:
            found.lost = lost_by_a_call(scene)
        return answer(request)

    scene.server.reply = reply  # type: ignore[method-assign]
    climb = scene.runner().open("pod", "terminate")
    try:
        async with asyncio.timeout(limit):
            async for view in climb.views():
                found.view = view
                if any(not one.done for one in view.seconds):
                    break  # an exception is asked for, and this person takes none
                if view.state == "ready" and not view.ready:
                    scene.clock.advance(DWELL)
                elif view.state == "ready" and found.confirmations < MAX_CONFIRMATIONS:
                    found.confirmations += 1
                    await climb.confirm(view.phrase)
                elif view.state in ("blocked", "ready"):
                    break
    except TimeoutError:
        found.stuck = True
    finally:
        await climb.close()
    return found


def wrong(found: Ride, name: str) -> str | None:
    """Why the call was wrong, or why the ladder did not end; None where all is well."""
    if found.stuck:
        return "it did not end"
    if not found.called or not found.reached:
        return None
    if name in NEVER and found.after_confirmation:
        return f"called after {name}"
    return f"destroyed: {found.lost}" if found.lost else None


def told(found: Ride, name: str, at: int, cards: float) -> str:
    """All that is needed to repeat one."""
    view = replace(found.view, rungs=()) if found.view else None
    return f"{name} before remote call {at} of {found.remote_calls}, nvidia-smi {cards} s: {view}"
