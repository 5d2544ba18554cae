"""Finds sets of files of which a part is not here. Pure.

A model or an optimizer in shards loads only whole. The number of its parts is in its names, in the parts
themselves (`FileVerdict.ranks`), or, where neither says it, in the highest number that is here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import is_checkpoint

Set = dict[str, str]  # path -> what of its set is not here

# model-00002-of-00003.safetensors. Hugging Face counts weights from 1; its datasets and TensorFlow from 0.
_COUNTED = re.compile(r"(.*)-(\d{5})-of-(\d{5})((?:\.[a-z0-9]+)?)", re.ASCII)
# model_world_size_8_rank_3.pt, as verl names the shards of FSDP.
_WORLD = re.compile(r"(.*world_size_)(\d{1,5})(_rank_)(\d{1,5})(\.\w+)", re.ASCII)
# pytorch_model_fsdp_rank3.bin, ep0-ba100-rank3.pt; consolidated.03.pth of Meta's releases.
_RANK = re.compile(r"(.*?rank[_-]?|(?:.*/)?consolidated\.)(\d{1,5})(\.\w+)", re.ASCII)
# DeepSpeed (deepspeed/runtime/engine.py: _get_zero_ckpt_name, _get_ckpt_name, _get_expert_ckpt_name).
_ZERO = re.compile(
    r"((?:\w+_)?zero_pp_rank_)(\d{1,5})(_mp_rank_)(\d{1,5})(_(?:optim|model)_states\.pt)", re.ASCII
)
_MODEL = re.compile(r"(mp_rank_)(\d{1,5})(_model_states\.pt)", re.ASCII)
_LAYER = re.compile(r"(layer_\d{1,5}-model_)(\d{1,5})(-model_states\.pt)", re.ASCII)
_EXPERT = re.compile(
    r"(layer_\d{1,5}_expert_)(\d{1,5})(_mp_rank_\d{1,5}_model_states\.pt)", re.ASCII
)
_STATES = re.compile(r".*_states\.pt")
_SHARDED_WEIGHTS = 3  # the stage of ZeRO from which on the weights are in shards as well
# Megatron (megatron/training/checkpointing.py: get_checkpoint_name): tensor, pipeline and expert rank.
_MEGATRON = re.compile(r"mp_rank_(\d{2,5})(?:_(\d{3,5}))?(?:_(\d{3,5}))?", re.ASCII)
_ITERATIONS = "latest_checkpointed_iteration.txt"
# Megatron's own, Megatron-DeepSpeed's, and verl's.
_ITERATION = re.compile(r"(iter_|global_step_?)(\d{1,12})", re.ASCII)
_STEP = re.compile(r"(?:global_?)?step|iter|epoch|ckpt|checkpoint", re.IGNORECASE)


def gaps(verdicts: Sequence[FileVerdict]) -> Set:
    """Each file whose set is not whole, with the first part that is not here and how many more."""
    directories: dict[str, dict[str, FileVerdict]] = defaultdict(dict)
    for verdict in verdicts:
        at, _, name = verdict.path.rpartition("/")
        directories[at][name] = verdict
    found: Set = {}
    paths = [verdict.path for verdict in verdicts]
    for rule in (_counted(paths), _worlds(paths), _ranked(paths, directories)):
        found |= rule
    for at, files in directories.items():
        if any(_STATES.fullmatch(name) for name in files):
            found |= _deepspeed(at, files)
    found |= _megatron(directories)
    for verdict in verdicts:
        if verdict.points_to is not None and (lost := _dangling(verdict, paths)) is not None:
            found[verdict.path] = lost
    return found


def _missing(names: Iterable[str], here: set[str], total: int) -> str | None:
    """The complaint about a set of `total` names, of which `here` are here; None where it is whole."""
    absent = total - len(here)
    if absent <= 0:
        return None
    first = next(name for name in names if name not in here)
    return f"{first} is not here" if absent == 1 else f"{first} and {absent - 1} more are not here"


def _counted(paths: Iterable[str]) -> Set:
    sets: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
    for path in paths:
        if match := _COUNTED.fullmatch(path):
            sets[match[1], match[3], match[4]][int(match[2])] = path
    found: Set = {}
    for (stem, count, suffix), parts in sets.items():
        first = 0 if 0 in parts else 1
        numbers = range(first, first + int(count))
        found |= _lacking(parts, numbers, (f"{stem}-", 5, f"-of-{count}{suffix}"))
    return found


def _worlds(paths: Iterable[str]) -> Set:
    sets: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
    for path in paths:
        if match := _WORLD.fullmatch(path):
            sets[match[1], match[2], match[3], match[5]][int(match[4])] = path
    found: Set = {}
    for (stem, count, rank, suffix), parts in sets.items():
        found |= _lacking(parts, range(int(count)), (f"{stem}{count}{rank}", 1, suffix))
    return found


def _ranked(paths: Iterable[str], directories: dict[str, dict[str, FileVerdict]]) -> Set:
    sets: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    widths: dict[tuple[str, str], int] = {}
    for path in paths:
        match = _RANK.fullmatch(path)
        name = path.rpartition("/")[2]
        if (
            not match
            or not is_checkpoint(path)
            or ("rank" not in name and "consolidated" not in name)
        ):
            continue
        if _WORLD.fullmatch(path) or _ZERO.fullmatch(name) or _MODEL.fullmatch(name):
            continue
        sets[match[1], match[3]][int(match[2])] = path
        width = len(match[2]) if match[2].startswith("0") else 1
        widths[match[1], match[3]] = max(width, widths.get((match[1], match[3]), 1))
    found: Set = {}
    for (stem, suffix), parts in sets.items():
        at, _, base = stem.rpartition("/")
        says = [_said(directories[at][path.rpartition("/")[2]], "world") for path in parts.values()]
        if len(parts) < 2 and not ("fsdp" in base or "shard" in base):
            continue  # what one process wrote for all of them is no set
        # A sweep over the rank of LoRA is no set: it has no rank 0, and gaps.
        if 0 not in parts and len(parts) < max(parts):
            continue
        numbers = range(max(max(parts) + 1, *says))
        found |= _lacking(parts, numbers, (stem, widths[stem, suffix], suffix))
    return found


def _lacking(parts: dict[int, str], numbers: range, form: tuple[str, int, str]) -> Set:
    """The same of parts with one number each. `form`: the path before the number, its digits, what follows it."""
    stem, width, suffix = form
    base = stem.rpartition("/")[2]
    here = {f"{base}{number:0{width}}{suffix}" for number in parts if number in numbers}
    names = (f"{base}{number:0{width}}{suffix}" for number in numbers)
    lost = _missing(names, here, len(numbers))
    return dict.fromkeys(parts.values(), lost) if lost else {}


def _said(verdict: FileVerdict, *names: str) -> int:
    """The number of parts that a file names under the first of `names` that it has; 0 where under none."""
    ranks = dict(verdict.ranks)
    return next((ranks[name] for name in names if name in ranks), 0)


def _deepspeed(at: str, files: dict[str, FileVerdict]) -> Set:
    """One step: each data-parallel rank of each model-parallel rank has its part."""
    every = [verdict for name, verdict in files.items() if _STATES.fullmatch(name)]
    replicas = max(_said(verdict, "parts") for verdict in every) or max(
        _said(verdict, "data") for verdict in every
    )
    models = max(_said(verdict, "model") for verdict in every)
    stage = max(_said(verdict, "stage") for verdict in every)
    zero: dict[tuple[str, str, str], dict[tuple[int, int], str]] = defaultdict(dict)
    whole: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    experts: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    widths: dict[tuple[str, ...], int] = {}
    for name in files:
        if match := _ZERO.fullmatch(name):
            zero[match[1], match[3], match[5]][int(match[2]), int(match[4])] = name
            widths[match[1], match[3], match[5]] = len(match[4])
        elif match := _MODEL.fullmatch(name) or _LAYER.fullmatch(name):
            whole[match[1], match[3]][int(match[2])] = name
            widths[match[1], match[3]] = len(match[2])
        elif match := _EXPERT.fullmatch(name):
            experts[match[1], match[3]][int(match[2])] = name
    in_shards = stage >= _SHARDED_WEIGHTS or any("_model" in suffix for *_, suffix in zero)
    if in_shards:  # both halves, also where all of one are lost
        zero.setdefault(("zero_pp_rank_", "_mp_rank_", "_model_states.pt"), {})
        if not any("_optim" in suffix for *_, suffix in zero):
            zero[_optim_stem(zero), "_mp_rank_", "_optim_states.pt"] = {}
    elif zero and ("mp_rank_", "_model_states.pt") not in whole:
        whole["mp_rank_", "_model_states.pt"] = {}
    lost: list[str] = []
    for (stem, middle, suffix), parts in zero.items():
        rows = max((rank for rank, _ in parts), default=-1) + 1
        columns = max((model for _, model in parts), default=-1) + 1
        most = max(replicas, rows, 1), max(models, columns, 1)
        width = widths.get((stem, middle, suffix), 2)
        names = (f"{stem}{r}{middle}{m:0{width}}{suffix}" for r, m in product(*map(range, most)))
        if text := _missing(names, set(parts.values()), most[0] * most[1]):
            lost.append(text)
    for (stem, suffix), owned in experts.items():
        numbers = range(max(owned) + 1)
        if text := _missing(
            (f"{stem}{n}{suffix}" for n in numbers), set(owned.values()), len(numbers)
        ):
            lost.append(text)
    for (stem, suffix), kept in whole.items():
        count = max(models, max(kept, default=-1) + 1, 1)
        width = widths.get((stem, suffix), 2)
        names = (f"{stem}{number:0{width}}{suffix}" for number in range(count))
        if text := _missing(names, set(kept.values()), count):
            lost.append(text)
    return dict.fromkeys((verdict.path for verdict in every), "; ".join(lost)) if lost else {}


def _optim_stem(zero: dict[tuple[str, str, str], dict[tuple[int, int], str]]) -> str:
    return next((stem for stem, _, _ in zero), "zero_pp_rank_")


def _megatron(directories: dict[str, dict[str, FileVerdict]]) -> Set:
    """One iteration: each tensor, pipeline and expert rank has a directory, and in it what the others have."""
    steps: dict[str, dict[tuple[int, ...], str]] = defaultdict(dict)
    for at in directories:
        above, _, name = at.rpartition("/")
        if (match := _MEGATRON.fullmatch(name)) and any(map(is_checkpoint, directories[at])):
            steps[above][tuple(int(part) for part in match.groups() if part is not None)] = at
    found: Set = {}
    for ranks in steps.values():
        depth = max(map(len, ranks))
        every = [verdict for at in ranks.values() for verdict in directories[at].values()]
        said = [max(_said(v, name) for v in every) for name in ("tensor", "pipeline", "expert")]
        counts = [
            max(said[n], *(rank[n] + 1 for rank in ranks if n < len(rank))) for n in range(depth)
        ]
        for name in sorted(
            {n for at in ranks.values() for n in directories[at] if is_checkpoint(n)}
        ):
            here = {
                f"{at.rpartition('/')[2]}/{name}"
                for at in ranks.values()
                if name in directories[at]
            }
            names = (f"{_rank_name(rank)}/{name}" for rank in product(*map(range, counts)))
            total = 1
            for count in counts:
                total *= count
            if lost := _missing(names, here, total):
                found |= dict.fromkeys((verdict.path for verdict in every), lost)
    return found


def _rank_name(rank: Sequence[int]) -> str:
    return "_".join(["mp_rank", f"{rank[0]:02}", *(f"{part:03}" for part in rank[1:])])


def _dangling(pointer: FileVerdict, paths: Sequence[str]) -> str | None:
    """What a pointer names and is not here. Any program may call a file `latest`: it counts where its word is a step,
    or where steps of DeepSpeed are next to it.
    """
    base, _, name = pointer.path.rpartition("/")
    root = f"{base}/" if base else ""
    step = pointer.points_to or ""
    beside = {path[len(root) :] for path in paths if path.startswith(root)}
    tops = {path.split("/", 1)[0] for path in beside}
    if name == _ITERATIONS and step.isdecimal():
        number = int(step)
        found = [match for top in tops if (match := _ITERATION.fullmatch(top))]
        if any(int(match[2]) == number for match in found):
            return None
        stem = found[0][1] if found else "iter_"
        return f"{stem}{number:0{7 if stem == 'iter_' else 1}} is not here"
    if name == _ITERATIONS:
        return None if step in tops else f"{step} is not here"
    steps = any("/" in path and _STATES.fullmatch(path.rpartition("/")[2]) for path in beside)
    if step in tops or not (steps or _STEP.match(step)):
        return None
    return f"{step} is not here"


def half_blank(verdicts: Sequence[FileVerdict]) -> Iterator[str]:
    """Shards of torch.distributed whose weights are zero, while those of another shard of the set are not: a shard may
    hold nothing but biases.
    """
    sets: dict[str, list[FileVerdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.path.endswith(".distcp") and verdict.nonfinite is not None:
            sets[verdict.path.rpartition("/")[0]].append(verdict)
    for shards in sets.values():
        if any(shard.blank != "zero" for shard in shards):
            yield from (shard.path for shard in shards if shard.blank == "zero")
