"""Loading on a real box by its own python: bound to the hash, weaker, and never writing there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from boxes import Sshd

from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.proof import proves
from gpu_tui.demo.checkpoint import checkpoint_bytes, seeded_weights
from gpu_tui.teardown.box_load import load_on_box
from gpu_tui.teardown.local import local_tree
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport

GOOD = checkpoint_bytes(seeded_weights(Random(1), 8), 3)
EVIL = """
import os, sys, torch
class Evil:
    def __reduce__(self):
        return (os.system, (f"touch {sys.argv[1]}/owned",))
torch.save({"model": {"w": torch.ones(600)}, "e": Evil()}, f"{sys.argv[1]}/evil/best.pth")
torch.save({"model": {"w": torch.full((600,), float("nan"))}}, f"{sys.argv[1]}/nan/best.pth")
for name, model in (("empty", {}), ("hollow", {"w": torch.zeros(0)}), ("named", "resnet18")):
    torch.save({"model": model, "o": torch.ones(600)}, f"{sys.argv[1]}/{name}/best.pth")
torch.save({"other": torch.ones(600)}, f"{sys.argv[1]}/odd/best.pth")
settings = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1).state_dict()
for name in ("optimizer.pt", "model.pt"):
    torch.save(settings, f"{sys.argv[1]}/good/{name}")
torch.save({"state": {}}, f"{sys.argv[1]}/odd/optimizer.pt")
numbers = {"state": {}, "param_groups": [{"params": torch.arange(3)}]}
torch.save(numbers, f"{sys.argv[1]}/nan/optimizer.pt")
torch.save({"last_epoch": 3}, f"{sys.argv[1]}/good/scheduler.pt")
"""


@pytest.fixture
async def link(box: Sshd) -> AsyncIterator[Connection]:
    connection = await SshTransport().connect(box.instance("box"))
    yield connection
    await connection.close()


def _python(box: Sshd, body: str) -> None:
    for name in ("python3", "python"):
        path = box.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)


def _results(box: Sshd) -> Path:
    root = box.home / "it's results"
    for cell in ("good", "cut", "evil", "nan", "odd", "empty", "hollow", "named"):
        (root / cell).mkdir(parents=True)
    (root / "good/best.pth").write_bytes(GOOD)
    (root / "good/train.log").write_text("epoch 1\n")
    (root / "good/rest.pkl").write_bytes(b"\x80\x02}.")
    (root / "good/flax_model.msgpack").write_bytes(b"\x80")
    (root / "good/best.keras").write_bytes(b"PK")
    (root / "cut/best.pth").write_bytes(GOOD[:-200])
    subprocess.run([sys.executable, "-W", "ignore", "-c", EVIL, str(root)], check=True)
    return root


async def test_the_boxs_own_torch_loads_what_has_the_hash_of_the_manifest(
    box: Sshd, link: Connection
) -> None:
    root = _results(box)
    _python(box, f'exec {sys.executable} "$@"')
    manifest = local_tree(root).manifest
    verdicts = {v.path: v for v in await load_on_box(link, "~/it's results", manifest)}
    assert {path: v.load for path, v in verdicts.items()} == {
        "cut/best.pth": "failed",
        "empty/best.pth": "failed",
        "evil/best.pth": "refused",
        "good/best.pth": "ok-remote",
        "good/best.keras": "skipped",
        "good/flax_model.msgpack": "skipped",
        "good/model.pt": "failed",
        "good/optimizer.pt": "ok-remote",
        "good/rest.pkl": "skipped",
        "good/scheduler.pt": "ok-remote",
        "hollow/best.pth": "failed",
        "named/best.pth": "failed",
        "nan/best.pth": "ok-remote",
        "nan/optimizer.pt": "ok-remote",
        "odd/best.pth": "failed",
        "odd/optimizer.pt": "failed",
    }
    assert "passes under any other name" in verdicts["odd/best.pth"].detail
    assert "weaker proof" in verdicts["good/best.pth"].detail
    assert verdicts["nan/best.pth"].nonfinite == 1.0
    assert verdicts["nan/best.pth"].warnings
    assert local_tree(root).manifest == manifest  # nothing was written, nothing was run
    assert not proves(verdicts["good/best.pth"])
    assert proves(verdicts["good/best.pth"], on_box=True)


async def test_other_bytes_than_the_manifests_are_not_verified(box: Sshd, link: Connection) -> None:
    (box.home / "a").mkdir()
    (box.home / "a/x.pt").write_bytes(GOOD)
    _python(box, f'exec {sys.executable} "$@"')
    manifest = Manifest((FileEntry("a/x.pt", len(GOOD), "0" * 64),))
    (verdict,) = await load_on_box(link, str(box.home), manifest)
    assert (verdict.load, verdict.detail) == (
        "failed",
        "the box loaded other bytes than the manifest's",
    )


async def test_a_box_without_torch_says_so_and_cannot_write(box: Sshd, link: Connection) -> None:
    asked = box.directory / "asked"
    _python(box, f"echo x >>{asked}; exit 1")
    files = tuple(FileEntry(f"c{n}/best.pth", 1, "0" * 64) for n in range(50))
    verdicts = await load_on_box(link, "~", Manifest(files))
    assert {(v.load, v.detail) for v in verdicts} == {("skipped", "no torch on the box")}
    assert not asked.exists() or not asked.read_bytes()  # even a python that tries cannot write


HOSTILE = {
    "silent": "exit 0",
    "killed": "kill -9 $$",
    "babble": "head -c 300000 /dev/urandom",
    "shape": 'echo "$7"; for a; do case $a in ????????????????) m=$a;; esac; done; echo "$m[1]"; echo "$m{}"',
    "a number of nobody": (
        "for a; do case $a in ????????????????) m=$a;; esac; done;"
        ' echo "$m{\\"n\\": 7, \\"load\\": \\"ok\\"}"; echo "$m{\\"n\\": true, \\"load\\": \\"ok\\"}"'
    ),
    "ok of other bytes": (
        "for a; do case $a in ????????????????) m=$a;; esac; done;"
        ' echo "$m{\\"n\\": 0, \\"load\\": \\"ok\\", \\"sha256\\": \\"x\\"}"'
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_hostile_answer_is_not_verified(box: Sshd, link: Connection, case: str) -> None:
    probe = 'case "$*" in *find_spec*) exit 0;; esac'
    _python(box, f"{probe}; {HOSTILE[case]}")
    manifest = Manifest((FileEntry("a/best.pth", 1, "0" * 64), FileEntry("b.pt", 1, "1" * 64)))
    verdicts = await load_on_box(link, "~", manifest)
    assert [verdict.load for verdict in verdicts] == ["failed", "failed"]
