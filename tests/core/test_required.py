"""What a cell must leave: which file fits a name, whose a directory is, what the roster then says."""

from __future__ import annotations

import pytest

from gpu_tui.core.artifact import Found, layout_of
from gpu_tui.core.fleet import Instance, Results, SshAccess
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.proof import cover
from gpu_tui.core.required import COPIED, EXPORTED, Required, holders, required_of

SAVED = ("checkpoint-*/model.safetensors", "all_results.json")


@pytest.mark.parametrize(
    ("file", "path", "fits"),
    [
        ("best.pth", "a/best.pth", True),
        ("best.pth", "best.pth", False),
        ("best.pth", "a/b/best.pth", False),
        ("best.pth", "a/bestXpth", False),
        ("best.pth", "a/best.pth.tmp", False),
        ("best.pth", "a/best.pth\n", False),
        ("*.pth", "a/last.pth", True),
        ("*.pth", "a/.pth", False),
        ("*.pth", "a/.half.pth", False),
        ("*.pth", "a/b/last.pth", False),
        ("*.pth", "a/two\nlines.pth", True),
        ("checkpoint-*/model.safetensors", "a/checkpoint-500/model.safetensors", True),
        ("checkpoint-*/model.safetensors", "a/checkpoint-500/old/model.safetensors", False),
        ("checkpoint-*/model.safetensors", "a/tmp-checkpoint-500/model.safetensors", False),
        ("*/model.safetensors", "a/.cache/model.safetensors", False),
        ("*/model.safetensors", "a/cache/model.safetensors", True),
        ("weights[1].pt", "a/weights[1].pt", True),
        ("weights[1].pt", "a/weights1.pt", False),
        ("m?.pt", "a/m1.pt", False),
        # What is under way is not there yet.
        ("checkpoint-*/m.pt", "a/checkpoint-500.tmp/m.pt", False),
        ("checkpoint-*/m.pt", "a/checkpoint-500_TMP/m.pt", False),
        ("checkpoint-*/m.pt", "a/checkpoint-500.partial/m.pt", False),
        ("checkpoint-*/m.pt", "a/checkpoint-500.incomplete/m.pt", False),
        ("*/m.pt", "a/tmp-checkpoint-500/m.pt", False),
        ("*/m.pt", "a/TMP_0/m.pt", False),
        ("*/m.pt", "a/attempt/m.pt", True),
        ("*/m.pt", "a/department/m.pt", True),
        ("checkpoint-*.tmp/m.pt", "a/checkpoint-500.tmp/m.pt", True),
        ("tmp-*/m.pt", "a/tmp-500/m.pt", True),
        # What a trainer keeps beside the weights is none, but where it is asked for by name.
        ("*.pt", "a/optimizer.pt", False),
        ("*.pt", "a/scheduler.pt", False),
        ("*.pt", "a/model.pt", True),
        ("*.bin", "a/training_args.bin", False),
        ("*.bin", "a/optimizer_1.bin", False),
        ("*.pth", "a/rng_state_3.pth", False),
        ("*.pkl", "a/random_states_0.pkl", False),
        ("g/*.pt", "a/g/zero_pp_rank_0_mp_rank_00_optim_states.pt", False),
        ("g/*.pt", "a/g/mp_rank_00_model_states.pt", True),
        ("*/.metadata", "a/optimizer_0/.metadata", False),
        ("*/*.distcp", "a/optimizer_0/__0_0.distcp", False),
        ("*/.metadata", "a/pytorch_model_fsdp_0/.metadata", True),
        ("*.msgpack", "a/opt_state.msgpack", False),
        ("*.msgpack", "a/flax_model.msgpack", True),
        ("*.npz", "a/opt_state.npz", False),
        ("*.npz", "a/optimizer.npz", False),
        ("*.npy", "a/optimizer_0.npy", False),
        ("*.h5", "a/optimizer.h5", False),
        ("optimizer.npz", "a/optimizer.npz", True),
        ("*.h5", "a/best.weights.h5", True),
        ("*.keras", "a/best.keras", True),
        ("*.npz", "a/params.npz", True),
        ("optimizer.pt", "a/optimizer.pt", True),
        ("*/rng_state_*.pth", "a/checkpoint-500/rng_state_0.pth", True),
        # Case and composition are the box's own.
        ("model.pt", "a/Model.pt", False),
        ("caf\u00e9.pt", "a/cafe\u0301.pt", False),
    ],
)
def test_a_star_is_a_part_of_one_name(file: str, path: str, fits: bool) -> None:
    assert holders(file, [path]) == ({"a"} if fits else set())


def test_a_cell_may_be_called_as_a_state_is() -> None:
    paths = ["optimizer/model.pt", "scheduler.pt/model.pt", "tmp-1/model.pt", ".*/model.pt"]
    cells = {"optimizer", "scheduler.pt", "tmp-1", ".*"}
    assert holders("*.pt", paths) == holders("model.pt", paths) == cells


def test_a_long_name_of_a_box_is_looked_at_once() -> None:
    """Two stars in one path: no name makes the look slow."""
    hostile = ["a/" + "x-" * 120 + "/" + "y" * 250, "a/" + "/".join("x-" * 100)]
    assert holders("x-*/y*.pt", hostile * 1_000) == frozenset()


@pytest.mark.parametrize(
    ("remote", "required"),
    [
        (None, COPIED),
        ("/fs/final_ckpts/", COPIED),
        ("/proj/export", EXPORTED),
        ("/proj/export/", EXPORTED),
        ("/proj/reexport", COPIED),
    ],
)
def test_the_layout_says_what_is_usual(remote: str | None, required: Required) -> None:
    assert required_of(Results(remote)) == required
    own = required_of(Results(remote, artifacts=SAVED))
    assert own == Required(SAVED, timed=required.timed)


def test_weights_and_numbers_are_told_apart_by_name() -> None:
    files = ("model.safetensors.index.json", "trainer_state.json", "rng_state.pth", "m.PT", "a.txt")
    assert Required(files).weights == ("model.safetensors.index.json", "m.PT")
    assert Required(files).metrics == ("trainer_state.json",)


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        (("best.keras", "history.json"), ("best.keras",)),
        (("m.weights.h5", "m.hdf5", "M.H5"), ("m.weights.h5", "m.hdf5", "M.H5")),
        (("flax_model.msgpack", "opt_state.msgpack"), ("flax_model.msgpack",)),
        # Arrays of numpy are data, where anything else may be the weights.
        (("best.pth", "stats.npz", "preds.npy"), ("best.pth",)),
        (("params.npz", "labels.npy", "run.json"), ("params.npz",)),
        (("a.NPZ", "b.npz"), ("a.NPZ", "b.npz")),
        (("w-*.npy", "run.json"), ("w-*.npy",)),
        (("manifest.ocdbt", "_METADATA"), ()),
        (("opt_state.msgpack", "run.json"), ()),
        (("optimizer.npz", "w.npy"), ("w.npy",)),
    ],
)
def test_which_files_stand_for_weights(files: tuple[str, ...], weights: tuple[str, ...]) -> None:
    assert Required(files).weights == weights


@pytest.mark.parametrize(
    ("directory", "cell"),
    [
        ("a", "a"),
        ("a-20260103T101500Z", "a"),
        ("a_20260103", "a"),
        ("a-b-20260103", "a-b"),
        ("a-20260103-20260104", "a-20260103"),
        ("a-2026", None),
        ("a-12345678", None),  # a seed, and no day
        ("a-20261332", None),
        ("a.b-20260103", None),
        ("aXb-20260103", None),
        ("a-20260103x", None),
        ("a-20260103T101500Z\n", None),
        ("-20260103", None),
        ("c-20260103", None),
    ],
)
def test_whose_a_directory_is(directory: str, cell: str | None) -> None:
    cells = {"a", "a-b", "a-20260103", "a.*b"}
    assert EXPORTED.cell_of(directory, cells) == cell
    assert COPIED.cell_of(directory, cells) == (directory if directory in cells else None)


def manifest(*paths: str) -> Manifest:
    return Manifest.of(FileEntry(path, 1, "a" * 64) for path in paths)


def sealed(run: str) -> tuple[str, ...]:
    return (f"{run}/best.pth", f"{run}/test/clean/metrics.json", f"{run}/run.json")


def test_a_sealed_run_is_its_cells_and_must_be_whole() -> None:
    old, new = "a-20260101T000000Z", "a-20260102T000000Z"
    both = manifest(*sealed(old), *sealed(new))
    assert cover(["a"], EXPORTED, both).incomplete == ()
    assert cover(["a"], EXPORTED, both).unnamed == ()
    half = manifest(*sealed(old), f"{new}/best.pth")
    lacking = (f"test/*/metrics.json in {new}", f"run.json in {new}")
    assert cover(["a"], EXPORTED, half).incomplete == (("a", lacking),)
    assert cover(["a"], EXPORTED, manifest(*sealed(old)), [new]).incomplete != ()
    assert cover(["a", "b"], EXPORTED, both).incomplete == (("b", EXPORTED.files),)
    assert cover(["b"], COPIED, both).unnamed == (
        (old, ("best_metrics.json",)),
        (new, ("best_metrics.json",)),
    )


def test_every_cell_needs_each_of_its_own_files() -> None:
    required = Required(SAVED)
    whole = ("a/checkpoint-500/model.safetensors", "a/all_results.json")
    assert cover(["a"], required, manifest(*whole)).incomplete == ()
    lacking = (("a", ("checkpoint-*/model.safetensors",)),)
    assert cover(["a"], required, manifest("a/all_results.json", *whole[2:])).incomplete == lacking
    elsewhere = manifest("a/all_results.json", "b/checkpoint-500/model.safetensors")
    assert cover(["a", "b"], required, elsewhere).incomplete == (
        ("a", ("checkpoint-*/model.safetensors",)),
        ("b", ("all_results.json",)),
    )


def test_the_queue_looks_for_the_same_weights() -> None:
    box = Instance(
        "box",
        SshAccess("box"),
        logs="/data/runs/logs/{cell}.log",
        results=Results("/fs/out", artifacts=SAVED),
    )
    layout = layout_of(box)
    assert layout.patterns() == (
        "/fs/out/{cell}/checkpoint-{cell}/model.safetensors",
        "/fs/out/{cell}/all_results.json",
        "/data/checkpoints/{cell}/checkpoint-{cell}/model.safetensors",
        "/data/checkpoints/{cell}/latest.pth",
    )
    assert layout.metrics_files()[0] == "/fs/out/{cell}/all_results.json"
    there = layout.look({"/fs/out/a/checkpoint-500/model.safetensors"})
    assert (there.find("a"), there.find("b")) == (
        Found(True, run="a"),
        Found(False, "there is no checkpoint-*/model.safetensors in /fs/out/b"),
    )
    local = layout.look({"/data/checkpoints/a/checkpoint-500/model.safetensors"}).find("a")
    assert local == Found(False, "checkpoint-*/model.safetensors is only in /data/checkpoints/a")


def test_which_files_hold_weights_is_found_once_however_many_cells_are_asked_for() -> None:
    asked = Required(("best.pth", "best_metrics.json"))
    assert asked.weights is Required(asked.files).weights == ("best.pth",)
