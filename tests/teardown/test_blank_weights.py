"""Weights that are all NaN or all zero are no weights; sets with a gap are `incomplete`. By the real command."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_tui.cli.main import main
from gpu_tui.teardown.reader.torch_lib import torch_module

pytestmark = pytest.mark.usefixtures("one_reader")
torch = torch_module()
GOOD, NAN, ZERO = torch.randn(40, 40), torch.full((40, 40), torch.nan), torch.zeros(40, 40)
MOMENTS = {"state": {0: {"exp_avg": ZERO}}, "param_groups": [{"params": [0]}]}
NONE_FINITE, ALL_ZERO = "no weight in it is finite", "every weight in it is zero"


def numpy_array(name: str, value: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import numpy

        numpy.save(path / name, value.numpy())

    return write


def torch_file(name: str, value: Any) -> Callable[[Path], None]:
    return lambda path: torch.save(value, path / name)


def safetensors(name: str, **tensors: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from safetensors.torch import save_file

        save_file(tensors, path / name)

    return write


def keras(name: str, kernel: Any, moment: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import h5py  # noqa: TID251 - what Keras writes with

        with h5py.File(path / name, "w") as file:
            file["layers/dense/vars/0"] = kernel.numpy()
            file["optimizer/vars/0"] = moment.numpy()

    return write


def flax(name: str, kernel: Any, moment: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import msgpack  # noqa: TID251 - what Flax writes with

        def packed(value: Any) -> Any:
            data = msgpack.packb([list(value.shape), "float32", value.numpy().tobytes()])
            return msgpack.ExtType(1, data)

        tree = {"params": {"w": packed(kernel)}, "opt_state": {"0": {"mu": packed(moment)}}}
        (path / name).write_bytes(msgpack.packb(tree))

    return write


BLANK = {
    "a state dict of NaN": (
        torch_file("a.pt", {"w": NAN, "b": torch.tensor([torch.inf])}),
        NONE_FINITE,
    ),
    "a state dict of zeros": (torch_file("a.pth", {"w": ZERO, "b": ZERO[0]}), ALL_ZERO),
    "a model beside good moments": (
        torch_file("a.ckpt", {"state_dict": {"w": NAN}, "optimizer": {"m": GOOD}, "loss": GOOD[0]}),
        NONE_FINITE,
    ),
    "a model of zeros beside a counter": (
        torch_file("a.pt", {"model": {"w": ZERO}, "steps": torch.tensor(900)}),
        ALL_ZERO,
    ),
    "DeepSpeed's module": (
        torch_file("mp_rank_00_model_states.pt", {"module": {"w": ZERO}}),
        ALL_ZERO,
    ),
    "safetensors of NaN": (safetensors("a.safetensors", w=NAN), NONE_FINITE),
    "safetensors of zeros": (safetensors("a.safetensors", w=ZERO, n=torch.arange(9)), ALL_ZERO),
    "negative zeros": (safetensors("a.safetensors", w=-ZERO), ALL_ZERO),
    "Keras": (keras("a.weights.h5", ZERO, GOOD), ALL_ZERO),
    "Flax": (flax("a.msgpack", ZERO, GOOD), ALL_ZERO),
    "Flax of NaN": (flax("a.msgpack", NAN, GOOD), NONE_FINITE),
}
NO_WEIGHTS = {
    "moments of the first step": torch_file("optimizer.pt", MOMENTS),
    "moments beside a model": torch_file("a.pt", {"model": {"w": GOOD}, "optimizer": MOMENTS}),
    "moments of Keras": keras("a.weights.h5", GOOD, ZERO),
    "moments of Flax": flax("a.msgpack", GOOD, ZERO),
    "a shard of ZeRO at its first step": torch_file(
        "x_optim_states.pt", {"optimizer_state_dict": {"exp_avg": ZERO}}
    ),
    "an average that begins with zeros": torch_file("ema.pt", {"w": ZERO}),
    "the same, by its key": torch_file("last.pt", {"ema_state_dict": {"w": ZERO}, "decay": 0.999}),
    "a scheduler": torch_file("scheduler.pt", {"last_epoch": 0, "_last_lr": [0.0]}),
    "a tensor by itself": torch_file("labels.pt", ZERO),
    "an array of labels": numpy_array("labels.npy", ZERO),
    "a bias of zeros": safetensors("a.safetensors", w=GOOD, b=ZERO[0]),
    "a layer of zeros": safetensors("a.safetensors", w=GOOD, v=ZERO),
    "half of it is NaN": safetensors("a.safetensors", w=GOOD, v=NAN),
}


def verify(
    root: Path, capsys: pytest.CaptureFixture[str], *writes: Callable[[Path], None]
) -> tuple[int, dict[str, Any]]:
    """The command on one cell that has good weights and these files."""
    cell = root / "results/cell"
    cell.mkdir(parents=True)
    torch.save({"model": {"w": GOOD}}, cell / "best.pth")
    for write in writes:
        write(cell)
    (root / "queue.txt").write_text("a/cell.yaml task\n")
    words = ["--roster", str(root / "queue.txt"), "--artifact", "best.pth", "--json"]
    return main(["verify", str(root / "results"), *words]), json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("case", BLANK)
def test_weights_that_are_none_fail_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    write, why = BLANK[case]
    code, said = verify(tmp_path, capsys, write)
    assert (code, said["verdict"]) == (1, "failed"), said
    (bad,) = [row for row in said["files"] if row["load"] != "ok"]
    assert (bad["load"], bad["detail"]) == ("failed", why)
    assert said["why"] == [f"{bad['path']}: {why}"]


@pytest.mark.parametrize("case", NO_WEIGHTS)
def test_what_is_no_weight_may_be_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    code, said = verify(tmp_path, capsys, NO_WEIGHTS[case])
    assert (code, said["verdict"], said["why"]) == (0, "verified", [])
    notes = [note for row in said["files"] for note in row["warnings"]]
    zeros = [note for note in notes if "tensors hold only zeros" in note]
    assert zeros == (["1 of 2 tensors hold only zeros"] if case == "a layer of zeros" else [])


@pytest.mark.usefixtures("own_reader")
def test_what_stands_for_the_cells_weights_is_weights_whatever_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = tmp_path / "cell"
    cell.mkdir()
    torch.save({"w": ZERO}, cell / "ema.pt")
    (tmp_path / "queue.txt").write_text("a/cell.yaml task\n")
    words = ["--roster", str(tmp_path / "queue.txt"), "--artifact", "ema.pt", "--json"]
    assert main(["verify", str(tmp_path), *words]) == 1
    assert json.loads(capsys.readouterr().out)["why"] == [f"cell/ema.pt: {ALL_ZERO}"]


def zero_parts(count: int, *ranks: int) -> list[Callable[[Path], None]]:
    """A step of DeepSpeed whose parts say that there are `count`."""
    inner = {"partition_count": count, "zero_stage": 2, "s": GOOD}
    names = [f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in ranks]
    model = {"module": {"w": GOOD}, "dp_world_size": count, "mp_world_size": 1}
    return [
        torch_file("mp_rank_00_model_states.pt", model),
        *(torch_file(name, {"optimizer_state_dict": inner}) for name in names),
    ]


def megatron(ranks: int, *here: int) -> list[Callable[[Path], None]]:
    """Parts whose arguments, a namespace as Megatron saves it, say that there are `ranks`."""
    from argparse import Namespace

    def write(path: Path, rank: int) -> None:
        place = path / f"iter_0000100/mp_rank_{rank:02}"
        place.mkdir(parents=True)
        args = Namespace(tensor_model_parallel_size=ranks, pipeline_model_parallel_size=1)
        torch.save({"args": args, "model": {"w": GOOD}}, place / "model_optim_rng.pt")

    def writer(rank: int) -> Callable[[Path], None]:
        return lambda path: write(path, rank)

    return [writer(rank) for rank in here]


def text(name: str, said: str) -> Callable[[Path], None]:
    return lambda path: (path / name).write_text(said) and None


def distributed(*lost: str) -> Callable[[Path], None]:
    """A checkpoint of torch.distributed of one process, without these of its files."""

    def write(path: Path) -> None:
        import torch.distributed.checkpoint as dcp  # noqa: TID251 - what writes it is torch itself

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is one process is meant so
            dcp.save({"w": GOOD}, checkpoint_id=str(path / "dcp"), no_dist=True)
        for name in lost:
            (path / "dcp" / name).unlink()

    return write


ITERATION = "latest_checkpointed_iteration.txt"
GAPS: dict[str, tuple[list[Callable[[Path], None]], str | None]] = {
    "DeepSpeed": (zero_parts(3, 0, 1, 2), None),
    "DeepSpeed, a rank": (
        zero_parts(3, 0, 1),
        "cell: zero_pp_rank_2_mp_rank_00_optim_states.pt is not here",
    ),
    "DeepSpeed, its pointer": (
        [*zero_parts(1, 0), text("latest", "global_step200")],
        "cell: global_step200 is not here",
    ),
    "DeepSpeed, an empty pointer": (
        [*zero_parts(1, 0), text("latest", "")],
        "cell: it names no step",
    ),
    "Megatron": ([*megatron(2, 0, 1), text(ITERATION, "100\n")], None),
    "Megatron, a rank": (
        megatron(2, 0),
        "cell/iter_0000100/mp_rank_00: mp_rank_01/model_optim_rng.pt is not here",
    ),
    "Megatron, its pointer": (
        [*megatron(1, 0), text(ITERATION, "250")],
        "cell: iter_0000250 is not here",
    ),
    "torch.distributed": ([distributed()], None),
    "torch.distributed, a shard": (
        [distributed("__0_0.distcp")],
        "cell/dcp: __0_0.distcp is not here",
    ),
    "torch.distributed, its metadata": (
        [distributed(".metadata")],
        "cell/dcp: .metadata is not here",
    ),
}


@pytest.mark.parametrize("case", GAPS)
def test_a_set_is_whole_or_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    writes, lost = GAPS[case]
    code, said = verify(tmp_path, capsys, *writes)
    expected = (0, "verified", []) if lost is None else (2, "incomplete", [lost])
    assert (code, said["verdict"], said["why"]) == expected
