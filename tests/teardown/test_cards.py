"""Cards that work for another container of the same machine: no process table here shows whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from rented import Scene, rest, until

from gpu_tui.parse.nvidia_smi import GPU_FIELDS, parse_gpus
from gpu_tui.teardown.cards import _in_use

BUSY = {"utilization.gpu": "0", "memory.used": "20480"}
SMALL = {"utilization.gpu": "97", "memory.used": "400"}
HELD = "it is in use, and nobody who is seen on the box holds it"


def row(**said: str) -> str:
    """One card at rest, but for what is said."""
    fields = dict.fromkeys(GPU_FIELDS, "0")
    fields |= {"uuid": "GPU-11111111-2222", "memory.total": "81559", "name": "NVIDIA H100"}
    return ", ".join((fields | said)[name] for name in GPU_FIELDS)


def smi(text: str, code: int = 0, before: str = "") -> str:
    return f"#!/bin/sh\n{before}\ncat <<'EOF'\n{text}\nEOF\nexit {code}\n"


SEEN: dict[str, tuple[str, str]] = {
    "held, at rest just now": (smi(row(**BUSY)), f"GPU-0: {HELD}"),
    "little, at work": (smi(row(**SMALL)), f"GPU-0: {HELD}"),
    "nothing is said": (
        smi(row(**{"utilization.gpu": "[N/A]", "memory.used": "[N/A]"})),
        "GPU-0: it does not say whether it is in use",
    ),
    "lost": (
        smi("Unable to determine the device handle for GPU 0000:04:00.0: GPU is lost.", 15),
        "nvidia-smi: Unable to determine the device handle",
    ),
}
DEAD = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
CALM = {
    "at rest": smi(row()),
    "a driver's own": smi(row(**{"memory.used": "300"})),
    "a share that was made up": smi(row(**{"utilization.gpu": "99", "memory.used": "3"})),
    "no card": smi("No devices were found", 6),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
async def test_it_is_an_exception_by_its_name(scene: Scene, case: str) -> None:
    program, line = SEEN[case]
    scene.box.sshd.program("nvidia-smi", program)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert view.state == "ready", view.closed_because
    (one,) = view.seconds
    assert one.lines[0].startswith(line)
    assert one.phrase == f"accept cards {line.split(':')[0]}"
    scene.clock.advance(3.0)
    await climb.confirm(view.phrase)
    await climb.acknowledge(one.id, one.phrase)
    async for view in views:
        if view.seconds[0].done:
            break
    assert scene.server.calls == []
    await climb.confirm(view.phrase)
    assert (await rest(views)).outcome == "gone"


@pytest.mark.parametrize("case", CALM)
async def test_what_rests_is_no_work(scene: Scene, case: str) -> None:
    scene.box.sshd.program("nvidia-smi", CALM[case])
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert (view.state, view.seconds) == ("ready", ())


async def test_a_card_that_is_taken_after_the_words_shuts_the_gate(scene: Scene) -> None:
    scene.box.sshd.program("nvidia-smi", smi(row()))
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(3.0)
    scene.box.sshd.program("nvidia-smi", smi(row(**BUSY)))
    await climb.confirm(view.phrase)
    last = await rest(views)
    assert last.closed_because == "work started: GPU-0 may work for somebody who is not seen there"
    assert scene.server.calls == []


async def test_no_second_nvidia_smi_waits_beside_one_that_a_dead_driver_holds(scene: Scene) -> None:
    asked = scene.box.sshd.home / "asked"
    scene.box.sshd.program("nvidia-smi", smi(row(), before=f": >{asked}"))
    scene.box.process(77, ["nvidia-smi"], "D")
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert [one.phrase for one in view.seconds] == ["accept cards nvidia-smi"]
    assert not asked.exists()


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a card in this machine")
async def test_a_driver_that_is_not_loaded_hides_no_card_where_there_is_none(scene: Scene) -> None:
    scene.box.sshd.program("nvidia-smi", smi(DEAD, 9))
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert (view.state, view.seconds) == ("ready", ())


@pytest.mark.parametrize(("card", "named"), [(True, ["nvidia-smi"]), (False, [])])
def test_a_card_without_nvidia_smi_is_not_known_to_rest(card: bool, named: list[str]) -> None:
    nothing = parse_gpus(b"", 127, b"", 0)
    assert [name for name, _ in _in_use(nothing, any_card=card)] == named
