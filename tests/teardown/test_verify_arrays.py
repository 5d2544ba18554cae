"""Weights of Keras, Flax and JAX: real files load, damaged ones never, and nothing but the child imports a reader."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import zoo

from gpu_tui.core.allowance import offer
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.proof import proves, weighed
from gpu_tui.core.required import Required
from gpu_tui.core.sweep import Roster
from gpu_tui.parse.queue_file import decode_roster
from gpu_tui.teardown.audit import audit
from gpu_tui.teardown.local import hash_file, local_tree
from gpu_tui.teardown.verify import EXPOSED, Limits, load_all, load_with, reader

WEIGHTS = Path(__file__).parents[1] / "fixtures/weights"
NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
CUTS = 300 if NIGHTLY else 12
FLIPS = 1_000 if NIGHTLY else 60
FORMATS = ["dense.keras", "dense.weights.h5", "legacy.h5", "flax_model.msgpack", "chunked.msgpack"]
BARREN = "weightless.keras"
Load = Callable[[Path, Manifest], tuple[FileVerdict, ...]]
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3600 if NIGHTLY else 120)]


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    """Loads by one child for all tests."""
    with asyncio.Runner() as runner:
        context = reader(sys.executable, Limits())
        child = runner.run(context.__aenter__())
        yield lambda root, manifest: runner.run(load_with(child, root, manifest))
        runner.run(context.__aexit__(None, None, None))


def _one(load: Load, path: Path) -> FileVerdict:
    entry = FileEntry(path.name, path.stat().st_size, "0" * 64)
    (verdict,) = load(path.parent, Manifest((entry,)))
    return verdict


def test_what_keras_and_flax_write_is_verified(load: Load) -> None:
    tree = local_tree(WEIGHTS).manifest
    files = [file for file in tree.files if file.path not in ("README.md", "make.py")]
    verdicts = {v.path: v for v in load(WEIGHTS, Manifest.of(files))}
    barren = verdicts.pop(BARREN)
    assert (barren.load, barren.detail) == ("failed", "there is not one weight in it")
    assert {path: v.detail for path, v in verdicts.items() if not proves(v) or v.load != "ok"} == {}
    assert set(FORMATS) | {"lambda.keras", "kinds.msgpack", "bfloat16.npz"} <= verdicts.keys()
    assert {v.nonfinite for v in verdicts.values()} == {0.0}
    notes = {note for v in verdicts.values() for note in v.warnings}
    assert {note for note in notes if not note.startswith("only ")} <= {EXPOSED}
    assert {path for path, v in verdicts.items() if v.checkpoint} == {
        path for path in verdicts if not path.endswith(".npz")
    }


@pytest.mark.parametrize("name", FORMATS)
def test_no_cut_file_loads(tmp_path: Path, load: Load, name: str) -> None:
    data = (WEIGHTS / name).read_bytes()
    path = tmp_path / name
    choose = Random(6)
    for at in (0, 1, len(data) - 1, *(choose.randrange(len(data)) for _ in range(CUTS))):
        path.write_bytes(data[:at])
        verdict = _one(load, path)
        assert verdict.load == "failed", (at, verdict)
        assert not proves(verdict)
    path.write_bytes(data)
    assert _one(load, path).load == "ok"


@pytest.mark.parametrize("name", FORMATS)
def test_a_flipped_bit_is_seen_by_the_hash_and_ends_no_reader_of_others(
    tmp_path: Path, load: Load, name: str
) -> None:
    data = (WEIGHTS / name).read_bytes()
    known = hash_file(WEIGHTS / name)[1]
    path = tmp_path / name
    choose = Random(7)
    loads = set()
    for _ in range(FLIPS):
        flipped = bytearray(data)
        flipped[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        path.write_bytes(flipped)
        assert hash_file(path)[1] != known
        verdict = _one(load, path)
        loads.add(verdict.load)
        if verdict.load == "ok" and not name.endswith(".keras"):
            assert verdict.detail == "no checksum inside: its hash carries it"
    assert loads <= {"ok", "failed", "refused"}
    path.write_bytes(data)
    assert _one(load, path).load == "ok"


@pytest.mark.parametrize(
    ("library", "names"),
    [
        ("h5py", ["dense.keras", "dense.weights.h5", "legacy.h5"]),
        ("msgpack", ["flax_model.msgpack"]),
        ("torch", ["dense.keras", "legacy.h5", "flax_model.msgpack"]),
    ],
)
async def test_without_its_library_nothing_is_verified_and_the_cure_is_named(
    tmp_path: Path, library: str, names: list[str]
) -> None:
    results = tmp_path / "results/base"
    results.mkdir(parents=True)
    for name in names:
        shutil.copy(WEIGHTS / name, results)
    hide = f"import sys; sys.modules['{library}'] = None; sys.argv[0:0] = []"
    program = f"{hide}; from gpu_tui.teardown.verify_worker import main; main()"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}"\n')
    python.chmod(0o755)
    verdicts = await load_all(results, local_tree(results).manifest, python=str(python))
    cure = f"{library} is not installed: pip install 'gpu-tui[verify]'"
    assert {(v.load, v.detail) for v in verdicts} == {("skipped", cure)}
    assert not any(map(proves, verdicts))
    assert offer(verdicts, frozenset(), on_box=False) is None  # the box is not asked for these
    async with reader(str(python), Limits()) as child:
        required = Required((names[0],))
        found = await audit(results.parent, None, _roster(), required=required, child=child)
    assert (found.verdict, found.why) == ("incomplete", (cure,))


def _roster() -> Roster:
    return decode_roster(b"a/base.yaml task 1\n")


@pytest.mark.parametrize("text", ["{}", '{"w": 1}'])
async def test_arrays_stand_for_weights_where_they_are_named_for_them(
    tmp_path: Path, text: str
) -> None:
    import numpy

    for cell in ("base", "wide"):
        (tmp_path / cell).mkdir()
        shutil.copy(WEIGHTS / "params.npz", tmp_path / cell)
        (tmp_path / cell / "all.json").write_text(text)
    roster = decode_roster(b"a/base.yaml task 1\na/wide.yaml task 1\n")
    required = Required(("params.npz", "all.json"))
    good = await audit(tmp_path, None, roster, required=required)
    assert (good.verdict, good.why) == ("verified", ())
    objects = numpy.array([{}, None], dtype=object)
    numpy.savez(tmp_path / "wide/params.npz", a=objects)
    closed = await audit(tmp_path, None, roster, required=required)
    assert closed.verdict == "incomplete"
    assert any("never opened" in why for why in closed.why)
    numpy.savez(tmp_path / "wide/params.npz", labels=numpy.arange(9))
    bare = await audit(tmp_path, None, roster, required=required)
    assert (bare.verdict, bare.why) == (
        "failed",
        ("wide/params.npz: there is not one weight in it",),
    )
    beside = Required(("best.pth", "params.npz"))  # data then, as it ever was
    data = FileVerdict("wide/params.npz", "0" * 64, "skipped")
    assert weighed((data,), beside) == (data,)
    assert proves(data)
    (named,) = weighed((data,), required)
    assert named == replace(data, checkpoint=True)
    assert not proves(named)


@pytest.fixture(scope="module")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("zoo")
    subprocess.run([sys.executable, "-W", "ignore", zoo.__file__, str(where)], check=True)
    return where


@pytest.mark.parametrize("name", ["texts.h5", "counts.h5", "state.weights.h5", "state.msgpack"])
def test_what_holds_no_weights_is_told_and_never_stands_for_them(
    animals: Path, load: Load, name: str
) -> None:
    verdict = _one(load, animals / name)
    assert proves(verdict)  # data, whose hash is enough
    verdict = replace(verdict, path=f"base/{name}")
    assert weighed((verdict,), Required(("best.pth",))) == (verdict,)
    for named in (name, f"*{Path(name).suffix}"):
        (judged,) = weighed((verdict,), Required((named, "run.json")))
        assert (judged.load, judged.detail) == ("failed", "there is not one weight in it")
        assert not proves(judged)


CUT = """
import os, signal, sys, h5py, numpy
file = h5py.File(sys.argv[1], "w", libver=sys.argv[2])
for number in range(12):
    file[f"layers/{number}/vars/0"] = numpy.full(20_000, 1 + number, "f4")
    if number == 3:
        file.flush()
    if number == 6 and sys.argv[3] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
file.close()
"""


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_what_a_killed_writer_had_flushed_is_no_save(
    tmp_path: Path, load: Load, version: str
) -> None:
    path = tmp_path / "best.weights.h5"
    for end, code, load_ in (("killed", -signal.SIGKILL, "failed"), ("closed", 0, "ok")):
        words = [sys.executable, "-c", CUT, str(path), version, end]
        assert subprocess.run(words, check=False).returncode == code
        verdict = _one(load, path)
        assert verdict.load == load_
        if end == "killed":
            assert verdict.detail == "its writer never closed it: the save was cut"


def test_the_app_itself_imports_no_reader() -> None:
    program = (
        "import pkgutil, importlib, sys, gpu_tui\n"
        "for room in ('core', 'teardown', 'cli', 'wiring'):\n"
        "    package = importlib.import_module(f'gpu_tui.{room}')\n"
        "    for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not found.name.endswith('on_box'):\n"
        "            importlib.import_module(found.name)\n"
        "assert not {'torch', 'h5py', 'msgpack', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


PLUGIN = """
#include <stdio.h>
__attribute__((constructor)) static void run(void) { FILE *f = fopen("OWNED", "w"); if (f) fclose(f); }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_no_code_is_loaded_for_a_filter(tmp_path: Path) -> None:
    owned = tmp_path / "owned"
    (tmp_path / "plugin.c").write_text(PLUGIN.replace("OWNED", str(owned)))
    library = tmp_path / "plugins/libfilter.so"
    library.parent.mkdir()
    words = ["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "plugin.c")]
    subprocess.run(words, check=True)
    env = {**os.environ, "HDF5_PLUGIN_PATH": str(library.parent)}
    ask = "assert not h5py.h5z.filter_avail(32015)"
    ours = f"from gpu_tui.teardown.reader.hdf5_lib import h5py_module; h5py = h5py_module(); {ask}"
    subprocess.run([sys.executable, "-c", ours], check=True, env=env)
    assert not owned.exists()
    subprocess.run([sys.executable, "-c", f"import h5py; {ask}"], check=True, env=env)
    assert owned.exists()  # what it does where nobody forbids it


def test_each_chunk_is_read_once_and_every_value_too() -> None:
    program = (
        "import json, numpy\n"
        "from gpu_tui.teardown.reader import hdf5_file\n"
        "hdf5_file.PIECE = 64\n"
        "for shape, chunks in (((), None), ((7,), (3,)), ((9, 5), None), ((9, 5), (2, 5)),\n"
        "                      ((4, 6, 5), (3, 2, 2)), ((2, 40), (2, 40)), ((30, 30), (30, 1))):\n"
        "    seen = numpy.zeros(shape, int)\n"
        "    for piece in hdf5_file._pieces(shape, chunks, 4):\n"
        "        seen[piece] += 1\n"
        "        starts = [part.start % chunk for part, chunk in zip(piece, chunks or ())]\n"
        "        assert not any(starts), (shape, piece)\n"
        "        whole = 4 * numpy.prod([*chunks] if chunks else [1])\n"
        "        assert seen[piece].size * 4 <= max(64, whole), (shape, piece)\n"
        "    assert (seen == 1).all(), shape\n"
        "print(json.dumps('read'))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert json.loads(done.stdout) == "read"
