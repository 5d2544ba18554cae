"""Cards that work for another container of the same machine: no process table here shows whose they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rented import Scene, rest, until

from gpu_tui.core.evidence import Quiet
from gpu_tui.parse.nvidia_smi import GPU_FIELDS, parse_gpus
from gpu_tui.providers.runpod import RunPod
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
SEEN |= {
    "all lost, and then none": (
        smi(
            "Unable to determine the device handle for GPU0000:41:00.0: Unknown Error\n"
            "No devices were found",
            255,
        ),
        "nvidia-smi: Unable to determine the device handle",
    ),
}
CALM = {
    "an infoROM that it warns of": smi(
        row() + "\nWARNING: infoROM is corrupted at gpu 0000:00:1E.0", 14
    ),
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


def two(apps: str, first: str = "20480", second: str = "20480") -> str:
    """A machine with two cards, what they hold, and what it lists of their processes."""
    rows = [
        row(index=str(at), uuid=f"GPU-{at}111-2222", **{"memory.used": held})
        for at, held in enumerate((first, second))
    ]
    listed = "cat <<'EOF'\n{}\nEOF\n".format
    return f"#!/bin/sh\ncase $1 in --query-gpu*)\n{listed(chr(10).join(rows))};;\n*)\n{listed(apps)};;\nesac\n"


MAY = "it is in use, and nothing tells whether by what is seen on the box"
ONE, OTHER = "GPU-0111-2222, 9, 20000, python", "GPU-1111-2222, 9, 20000, python"
# What nvidia-smi says, which cards one's own work has open -> of whom it says nothing, and why.
BESIDE: dict[str, tuple[str, tuple[int, ...], dict[str, str]]] = {
    "it is listed on one": (two(ONE), (0, 1), {"GPU-1": HELD}),
    "it is listed on both": (two(f"{ONE}\n{OTHER}"), (0, 1), {}),
    "others are listed": (
        two("GPU-1111-2222, 4711, 20000, x"),
        (0, 1),
        {"GPU-0": MAY, "GPU-1": MAY},
    ),
    "none is listed, one is open": (two(""), (0,), {"GPU-1": HELD}),
    "none is listed, the other rests": (two("", second="3"), (0,), {}),
    "none is listed, the open one rests": (two("", first="3"), (0,), {"GPU-1": HELD}),
    "none is listed, both are open": (two(""), (0, 1), {"GPU-0": MAY, "GPU-1": MAY}),
    "a single card": (smi(row(**BUSY)), (0,), {}),
}


@pytest.mark.parametrize("case", BESIDE)
async def test_ones_own_work_speaks_for_its_own_card_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    program, opened, unseen = BESIDE[case]
    monkeypatch.setattr(RunPod, "calls", {"stop": replace(RunPod.calls["stop"], keeps=True)})
    scene.box.sshd.program("nvidia-smi", program)
    scene.box.process(9, ["python", "train.py"])
    scene.box.opens(9, "/dev/nvidiactl", *(f"/dev/nvidia{at}" for at in opened))
    for at in (0, 1):
        place = scene.box.proc / f"driver/nvidia/gpus/0000:0{at}:00.0"
        place.mkdir(parents=True)
        said = f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-{at}111-2222\nDevice Minor: \t {at}\n"
        (place / "information").write_text(said)
    climb = scene.runner().open("pod", "stop")
    view, views = await until(climb, lambda view: bool(view.needs_acceptance))
    quiet = climb._gate.of(Quiet)
    await views.aclose()
    assert quiet is not None
    assert dict(quiet.cards) == unseen
    assert view.needs_acceptance == (
        "python train.py (pid 9)",
        *(f"{card} may work for somebody who is not seen there" for card in unseen),
    )


async def test_where_nothing_numbers_the_cards_work_may_be_on_any_of_them(scene: Scene) -> None:
    scene.box.sshd.program("nvidia-smi", two(""))
    scene.box.process(9, ["python", "train.py"])
    scene.box.opens(9, "/dev/nvidia0")
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "blocked" and view.abandon_phrase)
    loss = climb._gate.loss
    await views.aclose()
    assert loss is not None
    assert loss.running[1:] == tuple(
        f"GPU-{at} may work for somebody who is not seen there" for at in (0, 1)
    )


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


async def test_a_card_of_another_maker_is_an_exception(scene: Scene) -> None:
    (scene.box.sshd.home / "dev").mkdir()
    (scene.box.sshd.home / "dev/kfd").touch()
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    (one,) = view.seconds
    assert one.phrase == "accept cards AMD-cards"
    assert one.lines[0].startswith("AMD-cards: gpu-tui does not read cards of AMD: /dev/kfd")
    scene.clock.advance(3.0)
    await climb.acknowledge(one.id, one.phrase)
    async for view in views:
        if view.seconds[0].done:
            break
    await climb.confirm(view.phrase)
    assert (await rest(views)).outcome == "gone"


@pytest.mark.parametrize("found", ["No devices were found", DEAD])
async def test_a_card_that_failed_to_start_is_an_exception(scene: Scene, found: str) -> None:
    scene.box.sshd.program("nvidia-smi", smi(found, 6 if found.startswith("No") else 9))
    (scene.box.sshd.home / "dev").mkdir()
    (scene.box.sshd.home / "dev/nvidia0").touch()
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert [one.phrase for one in view.seconds] == ["accept cards nvidia-smi"]


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
