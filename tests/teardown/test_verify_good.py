"""What ordinary training leaves is verified, all of it; and damage to it is seen, all of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import good_files
import pytest

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.proof import proves
from gpu_tui.teardown.local import hash_file, local_tree
from gpu_tui.teardown.reader import archive, safetensors_file
from gpu_tui.teardown.reader.outcome import Failed
from gpu_tui.teardown.verify import EXPOSED, Limits, load_with, reader

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
FLIPS = 1_000 if NIGHTLY else 60
LOADS = 100 if NIGHTLY else 4  # truncations that are also loaded, of each format
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3600 if NIGHTLY else 120)]

Load = Callable[[Path, Manifest], tuple[FileVerdict, ...]]

# Of a zip: two that say the same, of which a reader needs one. What is wrong in the other, the hash sees.
END_RECORDS = 56 + 20 + 22

# A file of each format, as the program writes it.
SAMPLES = {
    "zip": "0-zip/optimizer.pt",
    "legacy": "0-legacy/tensors.pt",
    "safetensors": "cell-0/model.safetensors",
    "dcp": "dcp-0/__0_0.distcp",
    "dcp-metadata": "dcp-0/.metadata",
    "hf-index": "hf-safetensors-0/model.safetensors.index.json",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("good")
    size = ("3", "all") if NIGHTLY else ("1", "few")
    words = [sys.executable, "-W", "ignore", good_files.__file__, str(where), *size]
    subprocess.run(words, check=True)
    return where


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    """Loads by one child for all tests."""
    with asyncio.Runner() as runner:
        context = reader(sys.executable, Limits())
        child = runner.run(context.__aenter__())
        yield lambda root, manifest: runner.run(load_with(child, root, manifest))
        runner.run(context.__aexit__(None, None, None))


def test_no_good_file_is_ever_held_up(good: Path, load: Load) -> None:
    verdicts = load(good, local_tree(good).manifest)
    wrong = {v.path: (v.load, v.detail, v.warnings) for v in verdicts if not proves(v)}
    assert wrong == {}
    assert {warning for v in verdicts for warning in v.warnings} <= {EXPOSED}
    assert len(verdicts) > (280 if NIGHTLY else 50)
    assert not any(v.nonfinite for v in verdicts)


def _flips(data: bytes, seed: int) -> Iterator[tuple[int, bytes]]:
    choose = Random(seed)
    for _ in range(FLIPS):
        at = choose.randrange(len(data))
        flipped = bytearray(data)
        flipped[at] ^= 1 << choose.randrange(8)
        yield at, bytes(flipped)


def _differs(path: Path, data: bytes, known: str) -> bool:
    path.write_bytes(data)
    return hash_file(path) != (len(data), known)


@pytest.mark.parametrize("form", SAMPLES)
def test_the_hash_sees_every_flipped_bit(good: Path, tmp_path: Path, form: str) -> None:
    data = (good / SAMPLES[form]).read_bytes()
    known = hash_file(good / SAMPLES[form])[1]
    path = tmp_path / "x"
    assert all(_differs(path, flipped, known) for _, flipped in _flips(data, 1))
    assert not _differs(path, data, known)


def test_the_checksum_sees_every_flipped_bit_of_what_it_covers(good: Path, tmp_path: Path) -> None:
    data = (good / SAMPLES["zip"]).read_bytes()
    path = tmp_path / "x.pt"
    path.write_bytes(data)
    with path.open("rb") as file:
        members = archive.check(file, len(data))[1].infolist()
        # The name and the padding of the local header lie before the bytes of a member.
        begins = {m.filename: data.index(b"PK", m.header_offset) for m in members}
    covered = [
        range(at + 30 + size, at + 30 + size + m.file_size)
        for m in members
        for at in (begins[m.filename],)
        for size in (int.from_bytes(data[at + 26 : at + 28], "little") + _extra(data, at),)
    ]
    choose, seen = Random(2), 0
    for _ in range(FLIPS):
        at = choose.choice(choose.choices(covered, [len(span) for span in covered])[0])
        flipped = bytearray(data)
        flipped[at] ^= 1 << choose.randrange(8)
        path.write_bytes(flipped)
        with path.open("rb") as file, pytest.raises(Failed, match=r"checksum of .* is wrong"):
            archive.check(file, len(data))
        seen += 1
    assert seen == FLIPS


def _extra(data: bytes, at: int) -> int:
    return int.from_bytes(data[at + 28 : at + 30], "little")


def _parts(data: bytes, seed: int) -> Iterator[tuple[str, bytes]]:
    """Cut short at random points, or nothing but zeros from there on."""
    choose = Random(seed)
    for _ in range(LOADS):
        at = choose.randrange(len(data))
        yield f"cut at {at}", data[:at]
        if at < len(data) - END_RECORDS:
            yield f"holes from {at}", data[:at] + bytes(len(data) - at)


@pytest.mark.parametrize("form", ["zip", "safetensors"])
def test_two_files_mixed_are_not_one(good: Path, tmp_path: Path, form: str) -> None:
    data = (good / SAMPLES[form]).read_bytes()
    known = hash_file(good / SAMPLES[form])[1]
    other = bytearray(data)
    choose = Random(3)
    for at in range(len(other) // 4, len(other), 97):
        other[at] ^= 0x40  # the same size, other weights
    path = tmp_path / "x"
    for _ in range(FLIPS):
        at = choose.randrange(len(data) // 2)
        mixed = data[:at] + bytes(other[at:])
        assert _differs(path, mixed, known)
        if form == "zip":
            with path.open("rb") as file, pytest.raises(Failed):
                archive.check(file, len(mixed))


@pytest.mark.parametrize("form", SAMPLES)
def test_no_cut_file_loads(good: Path, tmp_path: Path, load: Load, form: str) -> None:
    source = good / SAMPLES[form]
    data = source.read_bytes()
    for beside in source.parent.iterdir():
        (tmp_path / beside.name).write_bytes(beside.read_bytes())
    path = tmp_path / source.name
    for what, damaged in _parts(data, 4):
        path.write_bytes(damaged)
        (verdict,) = load(tmp_path, _alone(path))
        # A hole among the weights of a format without checksums is what only the hash sees.
        if what.startswith("cut") or form == "zip":
            assert verdict.load in ("failed", "refused"), (what, verdict)
        assert _differs(path, damaged, hash_file(source)[1])
    path.write_bytes(data)
    (verdict,) = load(tmp_path, _alone(path))
    assert verdict.load == "ok"


def _alone(path: Path) -> Manifest:
    return Manifest((FileEntry(path.name, path.stat().st_size, "0" * 64),))


def test_a_safetensors_header_is_exactly_its_file(good: Path, tmp_path: Path) -> None:
    data = (good / SAMPLES["safetensors"]).read_bytes()
    path = tmp_path / "x"
    choose = Random(5)
    for _ in range(FLIPS):
        size = choose.randrange(len(data))
        path.write_bytes(data[:size])
        with path.open("rb") as file, pytest.raises(Failed):
            safetensors_file.header(file, size)
