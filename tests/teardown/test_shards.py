"""Sets of files in parts: whole, or `incomplete` with the part that is not here by its name. Pure, and each rule once
with the real reader.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.proof import proves
from gpu_tui.teardown.siblings import together

STEP = "cell/global_step100"
Ranks = dict[str, int]


def judged(
    files: Iterable[str], ranks: dict[str, Ranks] | None = None, **points: str
) -> dict[str, str]:
    """Path -> what is said of it, of all that are not proven. `ranks`: what the end of a path says of its set."""
    verdicts = [
        FileVerdict(
            path,
            path,
            "ok",
            ranks=tuple(
                next((r for end, r in (ranks or {}).items() if path.endswith(end)), {}).items()
            ),
            points_to=points.get(path.rpartition("/")[2].partition(".")[0]),
        )
        for path in sorted(files)
    ]
    manifest = Manifest(tuple(FileEntry(v.path, 1, v.sha256) for v in verdicts))
    return {v.path: v.detail for v in together(manifest, verdicts) if not proves(v)}


def zero(rank: int, model: int = 0, half: str = "optim", head: str = "") -> str:
    return f"{STEP}/{head}zero_pp_rank_{rank}_mp_rank_{model:02}_{half}_states.pt"


MODELS = [f"{STEP}/mp_rank_{n:02}_model_states.pt" for n in range(4)]


def megatron(*ranks: str, name: str = "model_optim_rng.pt") -> list[str]:
    return [f"cell/iter_0000100/mp_rank_{rank}/{name}" for rank in ranks]


# What is here, what the parts say, and the name of the part that is not here; none where the set is whole.
SETS: dict[str, tuple[list[str], dict[str, Ranks], str | None]] = {
    "ZeRO whole": ([MODELS[0], zero(0), zero(1)], {"": {"parts": 2, "data": 2, "model": 1}}, None),
    "ZeRO, the last": ([MODELS[0], zero(0)], {"": {"parts": 2}}, "zero_pp_rank_1_mp_rank_00_optim"),
    "ZeRO, the first": (
        [MODELS[0], zero(1)],
        {"": {"parts": 2}},
        "zero_pp_rank_0_mp_rank_00_optim",
    ),
    "ZeRO, said by the model alone": (
        [MODELS[0], zero(0), zero(1), zero(3)],
        {"model_states.pt": {"data": 4, "model": 1}},
        "zero_pp_rank_2_mp_rank_00_optim",
    ),
    "ZeRO, nothing says how many": ([MODELS[0], zero(0), zero(2)], {}, "zero_pp_rank_1_"),
    "ZeRO, bf16": (
        [MODELS[0], zero(0, head="bf16_")],
        {"": {"parts": 2}},
        "bf16_zero_pp_rank_1_mp_rank_00_optim",
    ),
    "ZeRO, more than one model rank": (
        [*MODELS[:2], zero(0), zero(1), zero(0, 1), zero(1, 1)],
        {"": {"parts": 2, "model": 2}},
        None,
    ),
    "ZeRO, one of a model rank": (
        [*MODELS[:2], zero(0), zero(1), zero(0, 1)],
        {"": {"parts": 2, "model": 2}},
        "zero_pp_rank_1_mp_rank_01_optim",
    ),
    "ZeRO, the model itself": (
        [zero(0), zero(1)],
        {"": {"parts": 2}},
        "mp_rank_00_model_states.pt",
    ),
    "ZeRO-3 whole": (
        [zero(0), zero(1), zero(0, half="model"), zero(1, half="model")],
        {"": {"parts": 2}},
        None,
    ),
    "ZeRO-3, a part of the weights": (
        [zero(0), zero(1), zero(0, half="model")],
        {"": {"parts": 2}},
        "zero_pp_rank_1_mp_rank_00_model",
    ),
    "ZeRO-3, the halves of the optimizer": (
        [zero(0, half="model"), zero(1, half="model")],
        {"": {"data": 2, "stage": 3}},
        "zero_pp_rank_0_mp_rank_00_optim_states.pt and 1 more",
    ),
    "without ZeRO": ([MODELS[0]], {"": {"data": 8, "model": 1}}, None),
    "without ZeRO, a model rank": (MODELS[:2], {"": {"data": 1, "model": 4}}, "mp_rank_02_model"),
    "an expert": (
        [MODELS[0], *(f"{STEP}/layer_0_expert_{n}_mp_rank_00_model_states.pt" for n in (0, 2))],
        {},
        "layer_0_expert_1_mp_rank_00",
    ),
    "a rank that lies and says thousands": (
        [MODELS[0], zero(0)],
        {"": {"parts": 65_536, "model": 65_536}},
        "and 4294967294 more",
    ),
    "Megatron whole": (megatron("00", "01"), {"": {"tensor": 2}}, None),
    "Megatron, tensor": (megatron("00"), {"": {"tensor": 2}}, "mp_rank_01/model_optim_rng.pt"),
    "Megatron, nothing says how many": (megatron("00", "02"), {}, "mp_rank_01/"),
    "Megatron, pipeline whole": (
        megatron("00_000", "00_001", "01_000", "01_001"),
        {"": {"tensor": 2, "pipeline": 2}},
        None,
    ),
    "Megatron, pipeline": (
        megatron("00_000", "00_001", "01_000"),
        {"": {"tensor": 2, "pipeline": 2}},
        "mp_rank_01_001/",
    ),
    "Megatron, expert": (
        megatron("00_000_000"),
        {"": {"tensor": 1, "pipeline": 1, "expert": 2}},
        "mp_rank_00_000_001/",
    ),
    "Megatron, the optimizer of one": (
        megatron("00", "01") + megatron("00", name="distrib_optim.pt"),
        {},
        "mp_rank_01/distrib_optim.pt",
    ),
    "FSDP by its world whole": ([f"c/model_world_size_2_rank_{n}.pt" for n in (0, 1)], {}, None),
    "FSDP by its world": (["c/model_world_size_2_rank_0.pt"], {}, "model_world_size_2_rank_1.pt"),
    "FSDP by its rank": (
        [f"c/pytorch_model_fsdp_rank{n}.bin" for n in (0, 1, 3)],
        {},
        "pytorch_model_fsdp_rank2.bin",
    ),
    "FSDP by its rank, as it says": (
        ["c/pytorch_model_fsdp_rank0.bin"],
        {"": {"world": 2}},
        "pytorch_model_fsdp_rank1.bin",
    ),
    "consolidated": ([f"c/consolidated.{n:02}.pth" for n in (0, 2)], {}, "consolidated.01.pth"),
    "one process for all": (["c/ep0-ba100-rank0.pt"], {"": {"world": 8}}, None),
    "a sweep over the rank of LoRA": (
        [f"c/lora_rank{n}.safetensors" for n in (4, 8, 16)],
        {},
        None,
    ),
    "two steps are two sets": ([f"c/step-{n}/model_rank0.pt" for n in (1, 3)], {}, None),
}


@pytest.mark.parametrize("case", SETS)
def test_a_set_is_whole_or_names_what_is_not_here(case: str) -> None:
    files, ranks, lost = SETS[case]
    said = judged(files, ranks)
    if lost is None:
        assert said == {}
        return
    assert said
    assert set(said) <= set(files)
    assert all(lost in text and "not here" in text for text in said.values()), said


DEEPSPEED = MODELS[0]
POINTERS: dict[str, tuple[list[str], dict[str, str], str | None]] = {
    "DeepSpeed's": (["cell/latest", DEEPSPEED], {"latest": "global_step100"}, None),
    "DeepSpeed's, another step": (
        ["cell/latest", DEEPSPEED],
        {"latest": "global_step200"},
        "global_step200 is not here",
    ),
    "DeepSpeed's, by a tag of one's own": (
        ["cell/latest", DEEPSPEED],
        {"latest": "best"},
        "best is not here",
    ),
    "at the root": (["latest", "a/b.pt"], {"latest": "step_7"}, "step_7 is not here"),
    "a word of another program": (["cell/latest", "cell/model.pt"], {"latest": "v2.1"}, None),
    "Megatron's": (
        ["cell/latest_checkpointed_iteration.txt", *megatron("00")],
        {"latest_checkpointed_iteration": "100"},
        None,
    ),
    "Megatron's, another iteration": (
        ["cell/latest_checkpointed_iteration.txt", *megatron("00")],
        {"latest_checkpointed_iteration": "200"},
        "iter_0000200 is not here",
    ),
    "Megatron's release": (
        ["cell/latest_checkpointed_iteration.txt", "cell/release/mp_rank_00/model_rng.pt"],
        {"latest_checkpointed_iteration": "release"},
        None,
    ),
    "verl's, another step": (
        ["cell/latest_checkpointed_iteration.txt", "cell/global_step_10/actor/model.pt"],
        {"latest_checkpointed_iteration": "20"},
        "global_step_20 is not here",
    ),
}


@pytest.mark.parametrize("case", POINTERS)
def test_a_pointer_names_a_step_that_is_here(case: str) -> None:
    files, points, lost = POINTERS[case]
    said = judged(files, **points)
    assert list(said.values()) == ([] if lost is None else [lost])


def test_a_broken_part_stays_broken_in_a_set_with_a_gap() -> None:
    files = [
        FileVerdict(f"a/x-0000{n}-of-00003.bin", "", load) for n, load in ((1, "failed"), (3, "ok"))
    ]
    manifest = Manifest(tuple(FileEntry(v.path, 1, "") for v in files))
    assert [v.load for v in together(manifest, files)] == ["failed", "incomplete"]
