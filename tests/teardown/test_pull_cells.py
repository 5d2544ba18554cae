"""`gpu-tui pull NAME --cells a,b`: what ended well comes home where another cell failed, and proves no more than that."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from boxes import Sshd
from completed import completed
from rented import TERMINATE, RentedBox, Scene, rest, until
from test_pull_command import environment, words, write_fleet

from gpu_tui.core.evidence import Cells, Identity, Inventory, NotPulled
from gpu_tui.core.fleet import Fleet, QueueFiles
from gpu_tui.core.gate import Gate, Rung, State
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.required import COPIED, EXPORTED
from gpu_tui.demo.checkpoint import checkpoint_bytes, seeded_weights
from gpu_tui.teardown.chosen import UnknownCells, choose
from gpu_tui.teardown.hashing import stamps
from gpu_tui.teardown.listing import Listing
from gpu_tui.teardown.manifest_file import KEPT
from gpu_tui.wiring.report import proofs_of

FAILED = (
    "=== Queue queue.txt: 3 ablations, starting from 1 on box ===\n"
    "[2020-11-20 10:00:00] [1/3] STARTING base (reconstruction, 2ep)\n"
    "[2020-11-20 11:00:00] [1/3] FINISHED base (exit=0)\n"
    "[2020-11-20 11:00:01] [2/3] STARTING wide (reconstruction, 20ep)\n"
    "[2020-11-20 12:00:00] [2/3] FINISHED wide (exit=1)\n"
    "[2020-11-20 12:00:01] [3/3] STARTING deep (reconstruction, 20ep)\n"
    "[2020-11-20 13:00:00] [3/3] FINISHED deep (exit=1)\n"
)


def one_failed(box: RentedBox) -> RentedBox:
    """`base` is whole, `wide` left a log, `deep` left nothing."""
    box.queue.write_text(
        "configs/base.yaml reconstruction 2\nconfigs/wide.yaml reconstruction\n"
        "configs/deep.yaml reconstruction\n"
    )
    box.log.write_text(FAILED)
    shutil.rmtree(box.results / "wide")
    box.write("wide/train.log", b"CUDA out of memory\n")
    return box


@pytest.fixture
def rented(box: Sshd) -> RentedBox:
    return one_failed(RentedBox(box))


def run(fleet: Path, home: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*words(fleet), *more], capture_output=True, text=True, env=environment(home)
    )


def test_the_cell_that_ended_well_comes_home_and_the_others_are_listed(
    rented: RentedBox, tmp_path: Path
) -> None:
    fleet, here = write_fleet(tmp_path, rented, rented.sshd.port), tmp_path / "here"
    done = run(fleet, tmp_path)
    assert done.returncode == 1
    assert "cells without their artifacts: wide (exit 1): no best.pth" in done.stdout
    assert "or pull the others alone: gpu-tui pull pod --cells base" in done.stdout
    assert "queue file" not in done.stdout
    shutil.rmtree(here)
    done = run(fleet, tmp_path, "--cells", " base ,base")
    assert done.returncode == 3, done
    assert {path.name for path in here.iterdir()} == {"base", ".gpu-tui"}
    assert (here / "base/best.pth").read_bytes() == (rented.results / "base/best.pth").read_bytes()
    last = done.stdout.splitlines()[-4:]
    assert last == [
        "verified: base",
        "         deep: nothing",
        "         wide: not asked for",
        "This does not verify the box: pull it without --cells before it is ended.",
    ]


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ("wide", 1, "cells without their artifacts: wide (exit 1)"),
        ("base,deep", 1, "cells without their artifacts: deep (exit 1)"),
        ("base,wdie", 64, "no cell is called wdie\n      Did you mean wide?"),
        ("zzz", 64, "no cell is called zzz\n      the cells are base, wide, deep"),
        ("results", 64, "no cell is called results"),
        (",", 64, "it names no cell"),
    ],
)
def test_a_cell_that_is_not_whole_or_not_there_is_said(
    rented: RentedBox, tmp_path: Path, asked: str, code: int, said: str
) -> None:
    done = run(write_fleet(tmp_path, rented, rented.sshd.port), tmp_path, "--cells", asked)
    text = done.stdout + done.stderr
    assert done.returncode == code, text
    for part in said.split("\n"):
        assert part.strip() in text, text


def test_a_checkpoint_that_does_not_load_is_no_verified_cell(
    rented: RentedBox, tmp_path: Path
) -> None:
    rented.write("base/best.pth", b"<html>not found</html>")
    done = run(write_fleet(tmp_path, rented, rented.sshd.port), tmp_path, "--cells", "base")
    assert done.returncode == 1
    assert "not verified: base/best.pth" in done.stdout
    assert "This does not verify the box" not in done.stdout


async def test_it_verifies_no_box(scene: Scene) -> None:
    """Neither for report, nor for the ladder, nor as what `gpu-tui verify` holds the directory against."""
    one_failed(scene.box)
    scene.set(queue=QueueFiles(str(scene.box.queue), str(scene.box.log)))
    last = await rest(scene.runner().pull_only("pod", ["base"]))
    assert last.outcome == "cells-verified"
    assert last.others == (("deep", "nothing"), ("wide", "not asked for"))
    assert scene.events() == ["open", "cells"]
    assert not (scene.local / KEPT).exists()
    state = scene.state.parent / "for-report"
    shutil.copytree(scene.state, state / "journal")
    proof = proofs_of(Fleet("lab", (scene.instance,)), state=state)["pod"]
    assert proof.verified_at is None
    shutil.rmtree(scene.box.results / "wide")  # so that the failed cells have no name to accept
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert view.state == "ready"
    match = next(row for row in view.rungs if row.rung is Rung.MATCH)
    assert "4 files read again on both sides" not in " ".join(match.lines)
    assert any("accept missing" in one.phrase for one in view.seconds), view.seconds


async def test_what_earlier_pulls_left_stays(scene: Scene) -> None:
    """Another cell's files here are no surprise, its half of a file is kept, and so is the whole's manifest."""
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"
    kept = (scene.local / KEPT).read_bytes()
    part = scene.local / ".gpu-tui" / "parts" / "0123.part"
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(b"half")
    scene.box.write("wide/more.log", b"new\n")
    scene.box.write("base/more.log", b"new\n")
    last = await rest(scene.runner().pull_only("pod", ["base"]))
    assert last.outcome == "cells-verified", last
    assert (scene.local / "base/more.log").exists()
    assert not (scene.local / "wide/more.log").exists()
    assert part.exists()
    assert (scene.local / KEPT).read_bytes() == kept


async def test_a_file_of_the_cell_that_only_stands_here_is_a_difference(scene: Scene) -> None:
    assert (await rest(scene.runner().pull_only("pod", ["base"]))).outcome == "cells-verified"
    (scene.local / "base/odd.pth").write_bytes(b"x")
    last = await rest(scene.runner().pull_only("pod", ["base"]))
    assert last.outcome is None
    assert any("not on the box: base/odd.pth" in line for row in last.rungs for line in row.lines)


async def test_without_a_roster_the_directories_are_the_cells(scene: Scene) -> None:
    scene.set(queue=QueueFiles())
    last = await rest(scene.runner().pull_only("pod", ["wide"]))
    assert last.outcome == "cells-verified"
    assert last.others == (("base", "not asked for"),)
    with pytest.raises(UnknownCells, match="no cell is called bsae") as caught:
        await rest(scene.runner().pull_only("pod", ["bsae"]))
    assert caught.value.next == "Did you mean base?"


async def test_what_changes_in_the_cell_while_it_comes_is_no_proof(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def later(*args: object) -> object:
        scene.box.write("base/best.pth", checkpoint_bytes(seeded_weights(Random(9), 8), 3))
        return await stamps(*args)  # type: ignore[arg-type]

    async for view in scene.runner().pull_only("pod", ["base"]):
        if view.state == "matching":
            monkeypatch.setattr("gpu_tui.teardown.gather.stamps", later)
    assert view.outcome is None


def test_a_run_that_is_called_by_its_time_belongs_to_its_cell() -> None:
    run_a, run_b = "base-20260103T101500Z", "wide-20260103T101500Z"
    link = (f"{run_a}/last.pth", f"{run_b}/best.pth")
    inner = (f"{run_a}/link.pth", f"{run_a}/best.pth")
    listing = Listing(
        "/r",
        ((f"{run_a}/best.pth", 1), (f"{run_b}/best.pth", 1), ("notes.txt", 1), ("odd/x", 1)),
        ((f"{run_b}/socket", "it is neither a file nor a directory"),),
        (run_a, run_b, "odd"),
        NotPulled((link, inner), (f"{run_a}/empty", "odd/empty")),
    )
    cells = Cells(("base",), (("wide", "exit 1"), ("gone", "exit 1")), ("wide stands twice",))
    chosen = choose(["base"], listing, replace(cells, required=EXPORTED), EXPORTED)
    part = chosen.listing(listing)
    assert part.paths == (f"{run_a}/best.pth", link[0])
    assert part.refused == ((link[0], "it is a link into another cell, which was not asked for"),)
    assert part.directories == (run_a,)
    assert part.left == NotPulled((inner,), (f"{run_a}/empty",))
    assert chosen.others(listing) == (
        ("gone", "nothing"),
        ("wide", "not asked for"),
        ("notes.txt", "not asked for"),
        ("odd", "not asked for"),
    )
    assert chosen.cells(cells).doubtful == ()
    twice = choose(["wide"], listing, cells, COPIED)
    assert twice.cells(cells).doubtful == ("wide stands twice",)


def test_a_ladder_is_about_all_cells() -> None:
    with pytest.raises(AssertionError):
        Gate("pod", TERMINATE, ("base",))
    for gate, inventory in (
        (Gate("pod"), Inventory(Manifest(), Identity(), Cells(("base",)), only=("base",))),
        (Gate("pod", only=("base",)), Inventory(Manifest(), Identity(), Cells(("base",)))),
        (Gate("pod", only=("base",)), Inventory(Manifest(), Identity(), None, only=("wide",))),
    ):
        assert gate.apply(inventory, 0.0, 0.0) is State.BLOCKED
        assert gate.because == "these are not the cells that were asked for"


def test_the_shell_offers_the_cells_that_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"name": "named", "host": "h", "results": {"cells": ["base", "wide"]}},
        {"name": "pulled", "host": "i", "results": {"local": str(tmp_path / "here")}},
    ]
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(json.dumps({"instances": rows}))
    monkeypatch.setenv("GPU_TUI_FLEET", str(fleet))
    kept = tmp_path / "here" / KEPT
    kept.parent.mkdir(parents=True)
    file = {"path": "deep/a", "bytes": 1, "sha256": "0" * 64}
    kept.write_text(
        json.dumps(
            {
                "schema": "remote-gpu-trainer/PULL/v1",
                "run_id": "x",
                "files": [file],
                "cells": ["deep"],
            }
        )
    )

    assert completed("pull named --cells ") == ["base", "wide"]
    assert completed("pull named --cells base,") == ["base,wide"]
    assert completed("pull pulled --cells d") == ["deep"]
    assert completed("pull other --cells ") == []
