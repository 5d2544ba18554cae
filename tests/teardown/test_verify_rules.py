"""The verdict on generated trees, against the rules written down a second time from their sentences.

The rules: a manifest that cannot be read, is of another schema, names no run or no file fails; so does a
path that is absolute, leaves the root or stands twice; a file that is missing or not expected (but for
the manifest, PULL_VERIFIED.json.from-box and *.tmp), of another size or SHA-256; no directory at all, or another
number than was asked for; a directory without best.pth and best_metrics.json; a best.pth that a safe load
refuses or that is no dict with model_state_dict, model or state_dict; metrics that are no JSON.

The gate is held against the same trees: the manifest is what the box has, the tree is what came home.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_tui.cli.main import main
from gpu_tui.core.evidence import Cells, Identity, Inventory, Loaded, Matched, Plan, Pulled, Quiet
from gpu_tui.core.gate import Gate, State
from gpu_tui.core.profile import Verb
from gpu_tui.core.proof import tops
from gpu_tui.core.queue_history import QueueHistory
from gpu_tui.core.sweep import Roster
from gpu_tui.parse.queue_file import decode_roster
from gpu_tui.teardown.audit import Audit, audit, unreadable
from gpu_tui.teardown.local import directories, local_tree
from gpu_tui.teardown.manifest_file import ManifestUnreadable, read_manifest
from gpu_tui.teardown.roster import cells_of
from gpu_tui.teardown.verify import Limits, Reader, load_with, reader

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
EXAMPLES = 1_500 if NIGHTLY else 50
SCHEMA = "remote-gpu-trainer/PULL/v1"
MAKE = """
import json, os, pathlib, sys, torch
where = pathlib.Path(sys.argv[1])
class Evil:
    def __reduce__(self):
        return (os.system, (f"touch {where}/owned",))
w = torch.arange(600.)
made = {"sd": {"model_state_dict": {"w": w}}, "model": {"model": {"w": w}, "epoch": 0},
    "plain": {"state_dict": {"w": w}}, "list": [w], "tensor": w, "other": {"weights": w}, "none": None,
    "evil": {"model": {"w": w}, "e": Evil()}}
for name, value in made.items():
    torch.save(value, where / name)
torch.save(made["sd"], where / "legacy", _use_new_zipfile_serialization=False)
whole = (where / "sd").read_bytes()
for name, data in {"cut": whole[:-300], "empty": b"", "text": b"<html>"}.items():
    (where / name).write_bytes(data)
said = {}
for path in sorted(where.iterdir()):
    try:
        value = torch.load(path, weights_only=True)
        said[path.name] = isinstance(value, dict) and bool({"model_state_dict", "model", "state_dict"} & value.keys())
    except Exception:
        said[path.name] = False
print(json.dumps(said))
"""
METRICS = {
    b'{"epoch": null, "psnr": 31.4}': True,
    b'{"epoch": 0}': True,
    b"{}": True,
    b'{"psnr": NaN}': True,
    b'{"psnr": ': False,
    b"": False,
    b"\xff\xfe\xfd": False,
}


@dataclass
class Tree:
    """A result directory and its manifest, as they were made and as they were then changed."""

    files: dict[str, bytes]
    manifest: Any
    expect: int | None = None
    links: dict[str, str] = field(default_factory=dict)
    emptied: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Stock:
    """Checkpoints by name, and which of them torch itself, asked directly, says are good."""

    bytes: dict[str, bytes]
    good: dict[str, bool]
    where: Path

    def named(self, good: bool) -> list[str]:
        return sorted(name for name, is_good in self.good.items() if is_good is good)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    where = tmp_path_factory.mktemp("stock")
    words = [sys.executable, "-W", "ignore", "-c", MAKE, str(where)]
    said = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return Stock({path.name: path.read_bytes() for path in where.iterdir()}, said, where)


TERMINATE = Verb(
    "terminate", "terminate", ("disk",), "stops", reversible=False, via="http", effect="destroy"
)
BOX = Identity("pod-1", "SHA256:a", "boot-1")


@dataclass(frozen=True)
class Judge:
    """`verify` and the gate on one tree. `roster`: the queue file's cells, None where it names none."""

    runner: asyncio.Runner
    child: Reader

    def __call__(self, root: Path, expect: int | None, roster: Roster | None = None) -> Audit:
        try:
            manifest = read_manifest(_manifest_of(root)).manifest
        except ManifestUnreadable as error:
            return unreadable(str(error))
        audited = audit(root, manifest, roster, expect=expect, child=self.child)
        return self.runner.run(audited)

    def gate(self, root: Path, roster: Roster | None = None) -> tuple[Gate, bool]:
        """The gate after the proof, and whether it opened without any exception."""
        gate = Gate("box", TERMINATE)
        try:
            there = read_manifest(_manifest_of(root)).manifest
        except ManifestUnreadable:
            return gate, False
        cells = _cells(roster) if roster else Cells(finished=tuple(sorted(tops(there))))
        here, top = local_tree(root), directories(root)
        if here.odd:
            return gate, False  # `Gather.matched` refuses by name what is no regular file
        plan = Plan("box", TERMINATE, BOX, "running", False, False, "/r", cells, basis="x")
        for event in (
            plan,
            Quiet((), ()),
            Inventory(there, BOX, cells, directories=tuple(sorted(tops(there)))),
            Pulled(len(there.files), there.total_bytes),
            Matched(there, here.manifest, "stamps", tuple(sorted(top))),
        ):
            gate.apply(event, 1.0, 1.0)
        if gate.state is State.LOADING:
            verdicts = self.runner.run(load_with(self.child, root, there))
            gate.apply(Loaded(verdicts, "torch"), 1.0, 1.0)
        return gate, gate.state is State.READY and not gate.unseen


def _cells(roster: Roster) -> Cells:
    """As a queue that ran well: every cell ended with exit 0."""
    made = cells_of(roster, QueueHistory())
    return Cells(finished=made.names, doubtful=made.doubtful)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """What we say, by one child for all trees."""
    with asyncio.Runner() as runner:
        context = reader(sys.executable, Limits())
        yield Judge(runner, runner.run(context.__aenter__()))
        runner.run(context.__aexit__(None, None, None))


def verified(tree: Tree, stock: Stock) -> bool:
    """The rules."""
    try:
        manifest = json.loads(tree.manifest)
    except ValueError:
        return False
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        return False
    if not manifest.get("run_id") or not manifest.get("files"):
        return False
    rows = manifest["files"]
    paths = [row.get("path") for row in rows]
    if any(not isinstance(path, str) for path in paths) or len(set(paths)) != len(paths):
        return False
    if any(path.startswith("/") or ".." in path.split("/") for path in paths):
        return False
    local = {
        path
        for path in (*tree.files, *tree.links)
        if path != "PULL_VERIFIED.json.from-box" and not path.endswith(".tmp")
    }
    if local != set(paths) or tree.links:
        return False
    for row in rows:
        data = tree.files[row["path"]]
        if row.get("bytes") != len(data) or row.get("sha256") != hashlib.sha256(data).hexdigest():
            return False
    # A directory stands there also where only a file under way is in it.
    cells = {path.split("/")[0] for path in tree.files if "/" in path} | tree.emptied
    if not cells or (tree.expect is not None and tree.expect != len(cells)):
        return False
    for cell in cells:
        weights, metrics = f"{cell}/best.pth", f"{cell}/best_metrics.json"
        if weights not in local or metrics not in local:
            return False
        name = next((n for n, data in stock.bytes.items() if data == tree.files[weights]), None)
        if not stock.good.get(name or "", False):
            return False
        if not _is_json(tree.files[metrics]):
            return False
    return True


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _manifest(files: dict[str, bytes]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run_id": "run-1",
        "files": [
            {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for path, data in sorted(files.items())
        ],
    }


@st.composite
def trees(draw: st.DrawFn, stock: Stock) -> Tree:
    """A whole tree, then none, one or two things wrong with it."""
    cells = draw(st.lists(st.sampled_from(["base", "wide", "no_aug"]), unique=True, max_size=3))
    mostly = st.sampled_from(stock.named(True) * 6 + stock.named(False))
    metrics = st.sampled_from(
        [text for text, good in METRICS.items() for _ in range(6 if good else 1)]
    )
    files = {}
    for cell in cells:
        files[f"{cell}/best.pth"] = stock.bytes[draw(mostly)]
        files[f"{cell}/best_metrics.json"] = draw(metrics)
        if draw(st.booleans()):
            files[f"{cell}/logs/train.log"] = draw(st.binary(max_size=20))
    manifest = _manifest(files)
    tree = Tree(files, manifest)
    wrongs = draw(st.lists(st.sampled_from(WRONGS), max_size=2))
    for wrong in wrongs:
        wrong(draw, tree)
    if not isinstance(tree.manifest, str):
        tree.manifest = json.dumps(tree.manifest)
    return tree


def _missing(draw: st.DrawFn, tree: Tree) -> None:
    if tree.files:
        del tree.files[draw(st.sampled_from(sorted(tree.files)))]


def _extra(draw: st.DrawFn, tree: Tree) -> None:
    names = ["stray.log", "base/more.log", "new/best_metrics.json", "x.tmp", "base/y.tmp"]
    tree.files[
        draw(st.sampled_from([*names, "PULL_VERIFIED.json", "PULL_VERIFIED.json.from-box"]))
    ] = b"x"


def _empty_cell(draw: st.DrawFn, tree: Tree) -> None:
    tree.emptied.add("hollow")


def _link(draw: st.DrawFn, tree: Tree) -> None:
    tree.links["link.log"] = draw(st.sampled_from(["/etc/passwd", "nowhere", "base"]))


def _changed(draw: st.DrawFn, tree: Tree) -> None:
    if tree.files:
        path = draw(st.sampled_from(sorted(tree.files)))
        data = tree.files[path]
        tree.files[path] = draw(st.sampled_from([data + b"x", data[:-1], data[::-1], b""]))


def _row(draw: st.DrawFn, tree: Tree) -> None:
    if isinstance(tree.manifest, dict) and tree.manifest.get("files"):
        row = draw(st.sampled_from(tree.manifest["files"]))
        field_, value = draw(
            st.sampled_from(
                [
                    *(("bytes", size) for size in (7, -1, "7", None)),
                    *(("sha256", text) for text in ("0" * 64, "", None)),
                    *(("path", path) for path in ("../x", "/etc/passwd", 3, "a/../b")),
                ]
            )
        )
        row[field_] = value


def _twice(draw: st.DrawFn, tree: Tree) -> None:
    if isinstance(tree.manifest, dict) and tree.manifest.get("files"):
        tree.manifest["files"].append(dict(tree.manifest["files"][0]))


def _head(draw: st.DrawFn, tree: Tree) -> None:
    if isinstance(tree.manifest, dict):
        key, value = draw(
            st.sampled_from(
                [("schema", "other/v1"), ("run_id", ""), ("files", []), ("schema", None)]
            )
        )
        tree.manifest[key] = value


def _no_json(draw: st.DrawFn, tree: Tree) -> None:
    tree.manifest = draw(st.sampled_from(["", "{", "[]", "null"]))


def _expect(draw: st.DrawFn, tree: Tree) -> None:
    tree.expect = draw(st.integers(0, 3))


WRONGS = (_missing, _extra, _empty_cell, _link, _changed, _row, _twice, _head, _no_json, _expect)


def _lay_out(tree: Tree, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, data in tree.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    for path, target in tree.links.items():
        (root / path).symlink_to(target)
    for name in tree.emptied:
        (root / name).mkdir(exist_ok=True)
    _manifest_of(root).write_text(tree.manifest)


def _manifest_of(root: Path) -> Path:
    """Outside: among the results it would be one of them."""
    return root.with_name(f"{root.name}.manifest.json")


@pytest.mark.nightly
@pytest.mark.timeout(3600 if NIGHTLY else 120)
def test_we_say_what_the_rules_say(stock: Stock, judge: Judge, tmp_path: Path) -> None:
    seen = {True: 0, False: 0}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(trees(stock))
    def agree(tree: Tree) -> None:
        root = tmp_path / "tree"
        _lay_out(tree, root)
        before = sorted(str(path) for path in root.rglob("*"))
        ours = judge(root, tree.expect)
        wanted = verified(tree, stock)
        assert (ours.verdict == "verified") is wanted, ours.why
        assert ours.why or wanted
        assert sorted(str(path) for path in root.rglob("*")) == before  # it writes nothing
        seen[wanted] += 1
        if tree.expect is None:  # nobody tells a gate how many there are
            gate, opened = judge.gate(root)
            assert opened is wanted, (gate.because, gate.waivers)

    agree()
    assert min(seen.values()) > EXAMPLES // 20  # both answers came up
    assert not (stock.where / "owned").exists()


# A whole tree, what is then done to it, the queue file, and what both say of it.
ROSTERS: dict[str, tuple[dict[str, bytes], str, bool, str]] = {
    "as the queue says": ({}, "base wide", True, ""),
    "a directory without a checkpoint": ({"logs/run.log": b"x"}, "base wide", False, "unnamed"),
    "a whole cell that the queue does not name": ({}, "base", False, "unnamed"),
    "an empty directory": ({"void/": b""}, "base wide", False, "unnamed"),
    "a cell that is not here": ({}, "base wide late", False, "cells without their artifacts"),
    "a cell twice": ({}, "base wide wide", False, "in doubt"),
    "a file at the top": ({"notes.md": b"x"}, "base wide", True, ""),
    "a file under way": ({"base/y.tmp": b"x"}, "base wide", True, ""),
}


@pytest.mark.parametrize("case", ROSTERS)
def test_the_gate_opens_where_verify_says_verified(
    stock: Stock, judge: Judge, tmp_path: Path, case: str
) -> None:
    more, names, good, why = ROSTERS[case]
    files = {
        f"{cell}/{part}": data
        for cell in ("base", "wide")
        for part, data in (("best.pth", stock.bytes["sd"]), ("best_metrics.json", b"{}"))
    }
    files |= {path: data for path, data in more.items() if not path.endswith("/")}
    tree = Tree(files, "", emptied={path[:-1] for path in more if path.endswith("/")})
    tree.manifest = json.dumps(_manifest({p: d for p, d in files.items() if p != "base/y.tmp"}))
    root = tmp_path / "tree"
    _lay_out(tree, root)
    queue = "".join(f"configs/{name}.yaml reconstruction\n" for name in names.split())
    roster = decode_roster(queue.encode())
    gate, opened = judge.gate(root, roster)
    assert (judge(root, None, roster).verdict == "verified") is good
    assert opened is good
    said = (gate.because or "", *(one.kind for one in gate.waivers))
    assert any(why in reason for reason in said) if why else not gate.waivers
    if why == "unnamed":
        assert gate.state is State.READY  # an exception may be taken, by its own words
        assert (
            "name every cell as results.cells in the fleet file, or move it out"
            in gate.waivers[0].lines[-1]
        )


STRICTER = {
    "a second checkpoint that is broken": ("base/latest.pth", b"<html>"),
    "an empty file that is called a checkpoint": ("base/latest.pth", b""),
    "a JSON beside them that is none": ("base/history.json", b"{"),
    "half of a sharded model": ("base/model-00001-of-00002.safetensors", b""),
}


@pytest.mark.parametrize("case", STRICTER)
def test_where_the_rules_are_silent_we_are_stricter(
    stock: Stock, judge: Judge, tmp_path: Path, case: str
) -> None:
    files = {"base/best.pth": stock.bytes["sd"], "base/best_metrics.json": b"{}"}
    files[STRICTER[case][0]] = STRICTER[case][1]
    tree = Tree(files, json.dumps(_manifest(files)))
    _lay_out(tree, tmp_path / "tree")
    assert verified(tree, stock)
    assert judge(tmp_path / "tree", None).verdict == "failed"


def test_the_command_reads_the_manifest_by_itself(
    stock: Stock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"base/best.pth": stock.bytes["sd"], "base/best_metrics.json": b'{"epoch": null}'}
    root = tmp_path / "tree"
    _lay_out(Tree(files, json.dumps(_manifest(files))), root)
    _manifest_of(root).rename(root / "PULL_MANIFEST.json")
    assert main(["verify", str(root), "--expect", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("verified: 2 files")


def test_what_a_load_shows_is_kept_apart_from_a_match(
    stock: Stock, judge: Judge, tmp_path: Path
) -> None:
    files = {"base/best.pth": stock.bytes["cut"], "base/best_metrics.json": b"{}"}
    _lay_out(Tree(files, json.dumps(_manifest(files))), tmp_path / "tree")
    rows = {row.path: row for row in judge(tmp_path / "tree", None).files}
    row = rows["base/best.pth"]
    assert (row.match, row.load) == (True, "failed")
