"""`gpu-tui verify` and `gpu-tui journal` as a script sees them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gpu_tui.cli.main import main
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.required import COPIED, Required
from gpu_tui.demo.checkpoint import checkpoint_bytes, metrics_bytes, seeded_weights
from gpu_tui.parse.queue_file import decode_roster
from gpu_tui.teardown.audit import LISTED, audit
from gpu_tui.teardown.journal import Journal
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.manifest_file import (
    ManifestUnreadable,
    keep,
    manifest_json,
    read_manifest,
)
from gpu_tui.teardown.reader.outcome import INSTALL
from gpu_tui.teardown.verify import Limits, reader

pytestmark = pytest.mark.usefixtures("one_reader")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    where = tmp_path / "results"
    for seed, cell in enumerate(("base", "wide")):
        (where / cell).mkdir(parents=True)
        weights = seeded_weights(Random(seed), 8)
        (where / cell / "best.pth").write_bytes(checkpoint_bytes(weights, 3))
        (where / cell / "best_metrics.json").write_bytes(metrics_bytes(3, {"psnr": 31.4}))
    (tmp_path / "queue.txt").write_text("a/base.yaml task 3\n# note\na/wide.yaml task\n")
    manifest = manifest_json(local_tree(where).manifest, "run-1", 0.0)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return where


def _verify(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, Any]]:
    code = main(["verify", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_file_that_differs_is_in_no_row_a_good_one(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever filters the rows for what is not ok must meet the one changed byte."""
    manifest = ("--manifest", str(results.parent / "manifest.json"))
    (results / "base" / "best_metrics.json").write_bytes(metrics_bytes(3, {"psnr": 31.5}))
    assert main(["verify", str(results), *manifest]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows if "DIFFERS" in row] == ["failed"]
    assert "3 ok, 1 failed" in rows[-1] or "1 failed, 3 ok" in rows[-1]


@pytest.mark.usefixtures("own_reader")
def test_a_good_tree_with_its_roster(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = _verify(capsys, results, "--roster", results.parent / "queue.txt")
    assert (code, report["verdict"]) == (0, "verified")
    assert report["roster"] == {"expected": 2, "present": 2, "missing": [], "unexpected": []}
    assert [file["match"] for file in report["files"]] == [None] * 4
    assert {file["load"] for file in report["files"]} == {"ok"}
    assert report["bytes"] == local_tree(results).manifest.total_bytes
    assert report["seconds"] > 0


def test_a_good_tree_with_its_manifest(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = _verify(capsys, results, "--manifest", results.parent / "manifest.json")
    assert (code, report["verdict"]) == (0, "verified")
    assert {file["match"] for file in report["files"]} == {True}


def test_a_manifest_in_the_directory_is_found(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (results.parent / "manifest.json").read_text()
    (results / "PULL_MANIFEST.json").write_text(text)
    (results / "PULL_VERIFIED.json.from-box").write_text("{}")
    (results / "half.tmp").write_text("x")
    code, report = _verify(capsys, results)
    assert (code, len(report["files"])) == (0, 4)


def test_other_artifacts_are_asked_of_each_cell(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cell in ("base", "wide"):
        (results / cell / "epoch-3").mkdir()
        (results / cell / "best.pth").rename(results / cell / "epoch-3/model.pth")
    queue = ("--roster", results.parent / "queue.txt")
    _, report = _verify(capsys, results, *queue)
    assert report["why"] == [
        f"cell {cell} is not complete: no best.pth" for cell in ("base", "wide")
    ]
    code, report = _verify(capsys, results, *queue, "--artifact", "epoch-*/model.pth")
    assert (code, report["verdict"]) == (0, "verified")
    several = ("--artifact", "epoch-*/model.pth", "--artifact", "log.csv")
    _, report = _verify(capsys, results, *queue, *several)
    assert report["roster"]["missing"] == ["base", "wide"]
    assert report["why"][0] == "cell base is not complete: no log.csv"


@pytest.mark.parametrize("artifact", ["../best.pth", "metrics.json", "/best.pth"])
def test_an_artifact_that_proves_nothing_is_refused(
    results: Path, capsys: pytest.CaptureFixture[str], artifact: str
) -> None:
    assert main(["verify", str(results), "--artifact", artifact]) == 2
    said = capsys.readouterr().err
    assert "cannot be a file that every cell leaves" in said or "holds weights" in said


def test_what_the_last_pull_asked_for_is_asked_again(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = local_tree(results).manifest
    (results / ".gpu-tui").mkdir()
    for required, code in ((Required(("best.pth",)), 0), (Required(("last.pth",)), 1)):
        keep(results, tree, "run-1", 0.0, required, ("base", "wide"))
        assert _verify(capsys, results)[0] == code
    assert read_manifest(results / ".gpu-tui/manifest.json").required == Required(("last.pth",))


def test_without_roster_and_manifest_it_is_incomplete(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = _verify(capsys, results)
    assert (code, report["verdict"]) == (2, "incomplete")
    assert report["roster"]["expected"] is None
    assert "--roster" in report["why"][0]


def test_a_pull_that_lacked_a_cell_is_not_complete_afterwards(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The manifest of a pull lists what came: a cell that left nothing is in it by the roster alone."""
    tree = local_tree(results).manifest
    (results / ".gpu-tui").mkdir()
    keep(results, tree, "run-1", 0.0, COPIED, ("base", "wide", "lost"))
    code, report = _verify(capsys, results)
    assert (code, report["roster"]["missing"]) == (1, ["lost"])
    keep(results, tree, "run-1", 0.0, COPIED)
    for named in ((), ("--manifest", results / ".gpu-tui/manifest.json")):
        code, report = _verify(capsys, results, *named)
        assert (code, report["verdict"], report["roster"]["expected"]) == (2, "incomplete", None)
        assert report["why"] == [LISTED]
    assert _verify(capsys, results, "--expect", "2")[0] == 0
    assert _verify(capsys, results, "--roster", results.parent / "queue.txt")[0] == 0


def _cut(results: Path) -> None:
    path = results / "wide/best.pth"
    path.write_bytes(path.read_bytes()[:-100])


def _flip(results: Path) -> None:
    path = results / "wide/best.pth"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


BREAK: dict[str, Callable[[Path], object]] = {
    "a cell is missing": lambda r: [p.unlink() for p in (r / "wide").iterdir()],
    "its metrics are missing": lambda r: (r / "wide/best_metrics.json").unlink(),
    "a stray cell": lambda r: ((r / "stray").mkdir(), (r / "stray/x.log").write_text("x")),
    "a cut checkpoint": _cut,
    "a flipped bit": _flip,
    "metrics that are no JSON": lambda r: (r / "base/best_metrics.json").write_text("{"),
    "a link": lambda r: (r / "base/link.pth").symlink_to("best.pth"),
    "an empty stray directory": lambda r: (r / "stray").mkdir(),
    "an empty checkpoint": lambda r: (r / "base/best.pth").write_bytes(b""),
}


async def test_damage_fails(results: Path, tmp_path: Path) -> None:
    manifest = read_manifest(tmp_path / "manifest.json").manifest
    roster = decode_roster((tmp_path / "queue.txt").read_bytes())
    passed = []
    async with reader(sys.executable, Limits()) as child:
        for number, damage in enumerate(BREAK):
            tree = tmp_path / f"damaged-{number}"
            shutil.copytree(results, tree, symlinks=True)
            BREAK[damage](tree)
            for known in ((manifest, None), (None, roster), (manifest, roster)):
                report = await audit(tree, *known, child=child)
                if report.verdict != "failed" or not report.why:
                    passed.append((damage, report))
        good = await audit(results, manifest, roster, child=child)
    assert passed == []
    assert good.verdict == "verified", good.why


def test_a_roster_in_doubt_never_passes(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue = results.parent / "queue.txt"
    queue.write_text(queue.read_text() + "a/base.yaml task 3\n")
    code, report = _verify(capsys, results, "--roster", queue)
    assert (code, report["why"]) == (1, ["the roster names base twice"])


def test_the_number_of_cells_can_be_asked_for(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = results.parent / "queue.txt"
    assert _verify(capsys, results, "--roster", queue, "--expect", "2")[0] == 0
    code, report = _verify(capsys, results, "--roster", queue, "--expect", "3")
    assert (code, report["why"]) == (1, ["there are 2 cells, not 3"])


def test_a_manifest_that_is_none_fails(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "PULL_MANIFEST.json").write_text('{"schema": "other/v1"}')
    code, report = _verify(capsys, results)
    assert (code, report["verdict"]) == (1, "failed")
    assert "of another schema" in report["why"][0]


def test_an_empty_directory_never_passes(
    tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    code, report = _verify(capsys, empty, "--roster", tmp_path / "queue.txt")
    assert (code, report["roster"]["missing"]) == (1, ["base", "wide"])
    (tmp_path / "none.txt").write_text("# nothing\n")
    assert _verify(capsys, results, "--roster", tmp_path / "none.txt")[0] == 1


@pytest.mark.usefixtures("own_reader")
def test_without_torch_it_is_incomplete(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # -S: the child finds our code, and no installed package.
    python = results.parent / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    code, report = _verify(capsys, results, "--roster", results.parent / "queue.txt")
    assert (code, report["verdict"]) == (2, "incomplete")
    assert INSTALL in report["why"][0]


@pytest.mark.usefixtures("own_reader")
def test_text_output_says_what_failed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "wide/best_metrics.json").unlink()
    assert main(["verify", str(results), "--roster", str(results.parent / "queue.txt")]) == 1
    out = capsys.readouterr().out
    assert "! cell wide is not complete: no best_metrics.json" in out
    assert out.splitlines()[-1].startswith("failed: 3 files")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "other/v1"}',
        '{"schema": "remote-gpu-trainer/PULL/v1", "run_id": "", "files": []}',
        '{"schema": "remote-gpu-trainer/PULL/v1", "run_id": "r", "files": []}',
        *(
            json.dumps({"schema": "remote-gpu-trainer/PULL/v1", "run_id": "r", "files": files})
            for files in (
                [{"path": "../x", "bytes": 1, "sha256": "0" * 64}],
                [{"path": "/x", "bytes": 1, "sha256": "0" * 64}],
                [{"path": "x", "bytes": -1, "sha256": "0" * 64}],
                [{"path": "x", "bytes": True, "sha256": "0" * 64}],
                [{"path": "x", "bytes": 1, "sha256": "xyz"}],
                [{"path": "x", "bytes": 1, "sha256": "0" * 64}] * 2,
                ["x"],
            )
        ),
        *(
            json.dumps(
                {
                    "schema": "remote-gpu-trainer/PULL/v1",
                    "run_id": "r",
                    "files": [{"path": "x", "bytes": 1, "sha256": "0" * 64}],
                    "required": required,
                }
            )
            for required in (
                [],
                {},
                {"files": ["a.pt"]},
                {"files": [], "timed": False},
                {"files": [7, "../a.pt"], "timed": False},
                {"files": ["a.json"], "timed": False},
                {"files": ["a.pt"] * 17, "timed": False},
            )
        ),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ManifestUnreadable) as caught:
        read_manifest(path)
    assert caught.value.next


def test_a_manifest_of_the_box_has_no_say_in_what_a_cell_must_leave(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lies among the results, where the box put it; only what was kept here is believed."""
    tree = local_tree(results).manifest
    forged = manifest_json(tree, "run-1", 0.0, Required(("other.pth",)))
    (results / "PULL_MANIFEST.json").write_text(json.dumps(forged))
    assert main(["verify", str(results)]) == 0
    (results / ".gpu-tui").mkdir(exist_ok=True)
    keep(results, tree, "run-1", 0.0, Required(("last.pth",)))
    assert main(["verify", str(results)]) == 1
    assert "no last.pth" in capsys.readouterr().out


def test_a_roster_that_is_not_there_is_said(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(results), "--roster", str(results / "none.txt")]) == 2
    said = capsys.readouterr().err
    assert "none.txt cannot be read: No such file" in said
    assert "Name the queue file" in said


def test_a_manifest_reads_back_as_it_was(results: Path) -> None:
    read = read_manifest(results.parent / "manifest.json")
    assert (read.run_id, read.manifest) == ("run-1", local_tree(results).manifest)
    assert read.manifest != Manifest()


def test_the_journal_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["journal"]) == 0
    assert "nothing was torn down yet" in capsys.readouterr().out
    journal = Journal(tmp_path / "gpu-tui" / "journal", ManualClock(), "me@here")
    journal.write("a", "open", "d", verb="stop\x1b[2J")
    journal.write("b", "open", "d")
    assert main(["journal", "a"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out
    assert main(["journal", "--check"]) == 0
    assert "2 records" in capsys.readouterr().out
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(lines[0].replace(b"open", b"plan") + lines[1])
    assert main(["journal", "--check"]) == 1
    assert "line 2 does not follow" in capsys.readouterr().out
