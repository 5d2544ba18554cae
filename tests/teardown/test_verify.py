"""Loading in the child, with real torch: what counts as verified, and that no file can hurt us."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.gate import proves
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.demo.checkpoint import checkpoint_bytes, metrics_bytes, seeded_weights
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.reader import archive
from gpu_tui.teardown.reader.outcome import Failed
from gpu_tui.teardown.siblings import together
from gpu_tui.teardown.verify import Limits, load_all


async def test_the_demos_checkpoints_are_real_ones(tmp_path: Path) -> None:
    (tmp_path / "best.pth").write_bytes(checkpoint_bytes(seeded_weights(Random(1), 8), 3))
    (tmp_path / "best_metrics.json").write_bytes(metrics_bytes(3, {"psnr": 1.0}))
    verdicts = await load_all(tmp_path, local_tree(tmp_path).manifest)
    assert [verdict.load for verdict in verdicts] == ["ok", "ok"]


async def test_every_flipped_byte_of_the_weights_is_seen(tmp_path: Path) -> None:
    data = checkpoint_bytes(seeded_weights(Random(1), 8), 3)
    path = tmp_path / "best.pth"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        member = archive.getinfo("archive/data/0")
    start = member.header_offset + 30 + len("archive/data/0")
    for at in Random(2).sample(range(start, start + member.file_size), 60):
        flipped = bytearray(data)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        assert _zip_says(path) == "the checksum of archive/data/0 is wrong"


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_archive_is_never_unpacked(tmp_path: Path, compression: int) -> None:
    path = tmp_path / "bomb.pth"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", bytes(10_000_000))
    assert "compressed" in _zip_says(path)


def test_an_archive_without_checksums_is_carried_by_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "nocrc.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data/0", bytes(4))
    data = path.read_bytes().replace(struct.pack("<I", zlib.crc32(bytes(4))), bytes(4))
    path.write_bytes(data)
    assert "hash carries it" in _zip_says(path)


def _zip_says(path: Path) -> str:
    with path.open("rb") as file:
        try:
            return archive.check(file, path.stat().st_size)[0]
        except Failed as problem:
            return str(problem)


def _stand_in(tmp_path: Path, body: str) -> str:
    """An interpreter that behaves as a child that a file has got hold of."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("kill -SEGV $$", "signal 11"),
        ("kill -KILL $$", "signal 9"),
        ("exit 3", "exit 3"),
        ("read x; exec sleep 60", "longer than"),
        ("read x; echo nonsense", "no answer"),
        ("read x; echo '{}'", "no answer"),
        ("read x; echo '[\"ok\"]'", "no answer"),
        ('read x; echo \'{"load": "verified"}\'', "no answer"),
        ('read x; printf \'{"load": "ok"}\'', "killed the reader"),
        ("read x; head -c 100000 /dev/zero; echo", "killed the reader"),
    ],
)
async def test_whatever_ends_the_child_early_is_not_verified(
    tmp_path: Path, body: str, word: str
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "m.json").write_text("{}")
    python = _stand_in(tmp_path, body)
    limits = Limits(seconds=0.7 if word == "longer than" else 60.0, start=0.0)
    (verdict,) = await load_all(results, local_tree(results).manifest, python=python, limits=limits)
    assert verdict.load == "failed"
    assert word in verdict.detail


async def test_after_a_death_the_next_file_gets_a_new_child(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    for name in ("a.json", "b.json"):
        (results / name).write_text("{}")
    once = tmp_path / "once"
    python = _stand_in(
        tmp_path, f'[ -e {once} ] && exec {sys.executable} "$@"; touch {once}; kill -9 $$'
    )
    verdicts = await load_all(results, local_tree(results).manifest, python=python)
    assert [verdict.load for verdict in verdicts] == ["failed", "ok"]


async def test_without_torch_nothing_is_verified_and_the_cure_is_named(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    whole = checkpoint_bytes(seeded_weights(Random(1), 8), 3)
    (results / "best.pth").write_bytes(whole)
    (results / "cut.pth").write_bytes(whole[:-100])
    hide = "import sys; sys.modules['torch'] = None; sys.argv[0:0] = []"
    program = f"{hide}; from gpu_tui.teardown.verify_worker import main; main()"
    python = _stand_in(tmp_path, f'exec {sys.executable} -c "{program}"')
    verdict, cut = await load_all(results, local_tree(results).manifest, python=python)
    assert verdict.load == "skipped"
    assert cut.load == "failed"  # what is broken is broken without torch, too
    assert "pip install 'gpu-tui[verify]'" in verdict.detail
    assert not proves(verdict)


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
async def test_a_checkpoint_of_zeros_is_called_one(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.pth").write_bytes(bytes(size))
    (verdict,) = await load_all(tmp_path, local_tree(tmp_path).manifest)
    assert verdict.load == "failed"
    assert verdict.detail == "it begins with zeros alone, as a file does that was never written out"


async def test_a_file_that_asks_for_more_memory_than_its_size_explains(tmp_path: Path) -> None:
    weights = {"w": ((4_000_000,), [1.0] * 4_000_000)}
    (tmp_path / "x.pt").write_bytes(checkpoint_bytes(weights, 1))
    manifest = local_tree(tmp_path).manifest
    tight = Limits(memory=-2 * manifest.total_bytes + 4_096)
    (verdict,) = await load_all(tmp_path, manifest, limits=tight)
    assert verdict.load == "failed"


def test_the_child_that_is_asked_for_json_alone_imports_no_torch(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    program = (
        "import sys; from gpu_tui.teardown.verify_worker import Request, answer\n"
        "said = answer(Request(sys.argv[1], 1 << 30, 60.0), 'json')\n"
        "assert said['load'] == 'ok' and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "m.json")], check=True)


async def test_a_network_that_could_not_be_cut_is_said_once(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    for name in ("a.json", "b.json"):
        (results / name).write_text("{}")
    for network, said in (("true", 1), ("false", 0)):
        answer = f'{{"load": "ok", "network": {network}}}'
        python = _stand_in(tmp_path, f"while read x; do echo '{answer}'; done")
        verdicts = await load_all(results, local_tree(results).manifest, python=python)
        assert [len(verdict.warnings) for verdict in verdicts] == [said, 0]


def _verdicts(*sizes: int) -> tuple[Manifest, list[FileVerdict]]:
    rows = [FileEntry(f"c{n}/best.pth", size, f"{size:064x}") for n, size in enumerate(sizes)]
    manifest = Manifest(tuple(rows))
    return manifest, [
        FileVerdict(f.path, f.sha256, "ok", checkpoint=True, nonfinite=0.0) for f in rows
    ]


def test_a_checkpoint_unlike_those_of_the_other_cells_is_said() -> None:
    odd = together(*_verdicts(1000, 1010, 990, 100))
    assert [bool(verdict.warnings) for verdict in odd] == [False, False, False, True]
    assert "the other cells' have about 1000" in odd[3].warnings[0]
    assert not any(verdict.warnings for verdict in together(*_verdicts(1000, 1010, 300, 2000)))


def test_two_cells_with_the_same_checkpoint_are_said() -> None:
    twins = together(*_verdicts(1000, 1010, 1000))
    assert twins[0].warnings == ("the same bytes as c2/best.pth",)
    assert (twins[1].warnings, twins[0].load) == ((), "ok")
    manifest, alike = _verdicts(1000, 1010, 1000)
    schedulers = [replace(verdict, nonfinite=None) for verdict in alike]
    assert not any(verdict.warnings for verdict in together(manifest, schedulers))


def test_a_shard_that_is_missing_makes_the_others_incomplete() -> None:
    names = ("a/x-00001-of-00003.bin", "a/x-00003-of-00003.bin", "b/y-00001-of-00001.bin")
    manifest = Manifest(tuple(FileEntry(name, 1, str(n)) for n, name in enumerate(names)))
    verdicts = together(manifest, [FileVerdict(f.path, f.sha256, "ok") for f in manifest.files])
    assert [verdict.load for verdict in verdicts] == ["incomplete", "incomplete", "ok"]
    assert verdicts[0].detail == "x-00002-of-00003.bin is not here"


@pytest.mark.parametrize("name", ["data-{:05}-of-00003.arrow", "model.ckpt-9.data-{:05}-of-00003"])
@pytest.mark.parametrize(
    ("there", "lost"),
    [((0, 1, 2), None), ((0, 2), 1), ((0, 1), 2), ((1, 2), 3)],  # from 0 or from 1: one is missing
)
def test_datasets_and_tensorflow_count_their_shards_from_0(
    name: str, there: tuple[int, ...], lost: int | None
) -> None:
    manifest = Manifest(tuple(FileEntry(f"a/{name.format(n)}", 1, str(n)) for n in there))
    verdicts = together(manifest, [FileVerdict(f.path, f.sha256, "ok") for f in manifest.files])
    gap = ("ok", "") if lost is None else ("incomplete", f"{name.format(lost)} is not here")
    assert {(v.load, v.detail) for v in verdicts} == {gap}


@pytest.mark.parametrize(
    ("there", "count", "missing"), [(1, 2, 2), (10_001, 10_001, None), (10_001, 10_002, 10_002)]
)
def test_shards_are_counted_to_their_end_whatever_they_are_called(
    there: int, count: int, missing: int | None
) -> None:
    names = [f"a/tf_model-{n:05}-of-{count:05}.h5" for n in range(1, there + 1)]
    manifest = Manifest(tuple(FileEntry(name, 1, str(n)) for n, name in enumerate(names)))
    verdicts = together(manifest, [FileVerdict(f.path, f.sha256, "ok") for f in manifest.files])
    said = {(verdict.load, verdict.detail) for verdict in verdicts}
    gap = ("incomplete", f"tf_model-{missing or 0:05}-of-{count:05}.h5 is not here")
    assert said == ({("ok", "")} if missing is None else {gap})
