"""Checkpoints of torch.save, zip and legacy: opened with weights_only=True, never by another way."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any, BinaryIO

from gpu_tui.core.allowance import may_allow
from gpu_tui.core.manifest import COMPANION
from gpu_tui.core.required import is_state
from gpu_tui.teardown.reader import archive
from gpu_tui.teardown.reader.ask import names_in
from gpu_tui.teardown.reader.formats import ZIP
from gpu_tui.teardown.reader.hulls import HARMLESS, Hull, hulls
from gpu_tui.teardown.reader.outcome import NAMES_MOST, Failed, Refused, Seen
from gpu_tui.teardown.reader.torch_lib import load_weights, torch_module
from gpu_tui.teardown.reader.weights import Tally

WEIGHT_KEYS = ("model_state_dict", "model", "state_dict")
NO_MODEL = (
    f"it is no checkpoint: none of {', '.join(WEIGHT_KEYS)} is in it; "
    "a bare state_dict passes under any other name (results.artifacts)"
)
EMPTY_MODEL = (
    f"its model is empty: not one tensor stands under {', '.join(WEIGHT_KEYS)}; save the weights there, "
    "or under any other name (results.artifacts)"
)
NO_DICT = f"it is a whole pickled object: save its state_dict() there, under one of {', '.join(WEIGHT_KEYS)}"
NESTED = "torch.storage._load_from_bytes"  # how pickle.dump writes a tensor
RANKS_MOST = 65_536  # parts of one set
LEGACY_PICKLES = 4  # magic, protocol, system, the object


def read(file: BinaryIO, size: int, name: str, allow: frozenset[str]) -> Seen:
    """The judgement on one file. `name` without directories: best.pth must hold a model."""
    note = structure(file, size)  # what is broken is broken, also where no torch is
    torch = torch_module()
    best = name == "best.pth"
    loaded = _load_best(torch, file, allow) if best else load(torch, file, allow)
    if best and not (isinstance(loaded, dict) and {*WEIGHT_KEYS} & loaded.keys()):
        raise Failed(NO_DICT if isinstance(loaded, Hull) else NO_MODEL)
    model, others, optimizers = _parted(loaded, best=best)
    tally = Tally(torch)
    tally.add(model)
    if best and not (tally.bytes or tally.unread):
        raise Failed(EMPTY_MODEL)
    tally.weights = not tally.values  # numbers next to a model are not its weights
    tally.add(others)
    tally.weights = False
    only_numbers = bool(optimizers) and not (tally.values or tally.unread)
    tally.add(optimizers)
    companion = bool(COMPANION.fullmatch(name)) and isinstance(loaded, dict | Hull)
    settings = is_state(name) and _is_optimizer(loaded)
    seen = tally.seen(may_be_empty=settings or (companion and bool(loaded)))
    if settings and not seen.tensors:
        seen.warnings.append("an optimizer's settings are in it, and not one tensor")
    elif only_numbers and not is_state(name):
        seen.no_weights()
    seen.detail = note
    if not isinstance(loaded, dict | Hull) or (not model and _is_state_alone(loaded)):
        seen.blank = None  # a tensor by itself may be data, an average may begin with zeros
    seen.ranks = ranks_of(loaded)
    return seen


def ranks_of(loaded: object) -> dict[str, int]:
    """How many parts the set of this file has, as DeepSpeed and Megatron note it in every part.

    deepspeed/runtime/engine.py (_save_checkpoint), zero/stage_1_and_2.py and stage3.py (state_dict);
    megatron/training/checkpointing.py keeps its arguments.
    """
    root = loaded if isinstance(loaded, dict) else {}
    optimizer, config, args = (root.get(k) for k in ("optimizer_state_dict", "ds_config", "args"))
    if isinstance(args, Hull):
        args = next((part for part in args.parts if isinstance(part, dict)), None)
    zero = config.get("zero_optimization") if isinstance(config, dict) else None
    places = (
        ("world", root, "world_size"),
        ("data", root, "dp_world_size"),
        ("model", root, "mp_world_size"),
        ("parts", optimizer, "partition_count"),
        ("stage", optimizer, "zero_stage"),
        ("stage", zero, "stage"),
        ("tensor", args, "tensor_model_parallel_size"),
        ("pipeline", args, "pipeline_model_parallel_size"),
        ("expert", args, "expert_model_parallel_size"),
    )
    found: dict[str, int] = {}
    for name, place, key in places:
        value = place.get(key) if isinstance(place, dict) else None
        counts = value if isinstance(value, list) else [value]
        good = [count for count in counts[:RANKS_MOST] if type(count) is int]
        if good and 0 < max(good) <= RANKS_MOST:
            found.setdefault(name, max(good))
    return found


def _parted(loaded: object, *, best: bool) -> tuple[list[object], list[object], list[object]]:
    """The model, everything else, and the optimizers. Without a key of WEIGHT_KEYS all is everything else."""
    if _is_optimizer(loaded):
        return [], [], [loaded]
    if not isinstance(loaded, dict):
        return [], [loaded], []
    keys = {*WEIGHT_KEYS} if best else {*WEIGHT_KEYS, "module"}  # DeepSpeed's
    model = [value for key, value in loaded.items() if key in keys]
    rest = [value for key, value in loaded.items() if key not in keys]
    optimizers = [value for value in rest if _are_optimizers(value)]
    return model, [value for value in rest if not _are_optimizers(value)], optimizers


def _is_state_alone(loaded: object) -> bool:
    """Whatever a dictionary holds that could hold a tensor goes on with a training, by its key."""
    held = loaded.items() if isinstance(loaded, dict) else ()
    keys = [str(key) for key, value in held if not isinstance(value, str | int | float | None)]
    return bool(keys) and all(_STATE_KEY.match(key) for key in keys)


def _are_optimizers(value: object) -> bool:
    """One, or a list of them, as Lightning writes."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_optimizer, value))
    return _is_optimizer(value)


def _load_best(torch: Any, file: BinaryIO, allow: frozenset[str]) -> Any:
    """The same; a whole model that was pickled is told how it is to be saved, for no allowance makes it pass."""
    try:
        return load(torch, file, allow)
    except Refused as error:
        if not error.needs:
            raise
        file.seek(0)
        try:
            whole = isinstance(load(torch, file, allow | {*error.needs}), Hull)
        except (Refused, Failed):
            whole = False
        raise (Refused(f"{error}; {NO_DICT}", error.needs) if whole else error) from None


def _is_optimizer(loaded: object) -> bool:
    """What an optimizer of torch says of itself; one without momentum has no tensor to say."""
    if not isinstance(loaded, dict) or not isinstance(loaded.get("state"), dict):
        return False
    groups = loaded.get("param_groups")
    if not isinstance(groups, list) or not groups:
        return False
    return all(isinstance(group, dict) and _numbers(group.get("params")) for group in groups)


def _numbers(params: object) -> bool:
    """Which weights a group is about. A tensor there is one by itself, and has no truth to be asked for."""
    return isinstance(params, list) and bool(params)


_STATE_KEY = re.compile(r"(?:ema|shadow|optim|opt_state|lr_sched|sched|scaler|rng)", re.IGNORECASE)


def structure(file: BinaryIO, size: int) -> str:
    """A note on what wraps the weights; Refused and Failed for what is never given to torch."""
    if size == 0:
        raise Failed("an empty file")
    head = file.read(512)
    file.seek(0)
    if not head.strip(b"\0"):
        raise Failed("it begins with zeros alone, as a file does that was never written out")
    if head[257:262] == b"ustar":
        raise Refused("torch's tar format of 2016, which no safe load reads: save it again there")
    note = archive.NO_CHECKSUM
    if head.startswith(ZIP):
        if archive.is_program(file):
            raise Refused("TorchScript is a program, not weights: it is never loaded")
        note, _ = archive.check(file, size)
    return note


def load(torch: Any, file: BinaryIO, allow: frozenset[str]) -> Any:
    """What is in it; Refused and Failed in our own words."""
    try:
        return load_weights(torch, file, hulls(allow))
    except Exception as error:
        raise _translated(torch, error, file, allow) from None


def _translated(torch: Any, error: Exception, file: BinaryIO, allow: frozenset[str]) -> Exception:
    """Our own words: torch's advice on failure is to switch the protection off."""
    text = str(error)
    if isinstance(error, MemoryError) or ("memory" in text and isinstance(error, RuntimeError)):
        return MemoryError()
    if _BY_NAME.search(text):
        return _refusal(torch, file, allow)
    if _BY_CALL.search(text):
        return Refused("it calls what it names in a way that is not allowed in a checkpoint")
    if "Unsupported operand" in text and (protocol := _protocol(file)) > 2:
        return Refused(
            f"pickle protocol {protocol}, of which no safe load reads all: save it again there"
            " without pickle_protocol"
        )
    return Failed(f"it does not load ({type(error).__name__})")


# The words of torch/_weights_only_unpickler.py.
_BY_NAME = re.compile(r"nsupported (global: )?GLOBAL |must be imported to load ")
_BY_CALL = re.compile(
    r"Trying to call reduce|Can only (create new object|build|append|extend|SETITEM)"
    r"|Only persistent_load of storage|persistent_load id must be"
)


def _refusal(torch: Any, file: BinaryIO, allow: frozenset[str]) -> Exception:
    """Every name that it asks for and does not get, so that one decision can be made on all of them."""
    known = {name for _, name in HARMLESS} | allow
    known |= torch._weights_only_unpickler._get_allowed_globals().keys()
    try:
        wanted = {_today(name) for name in _asked(file)} - known
    except Exception:  # it is as broken as it is dangerous
        wanted = set()
    return refusal(wanted) if wanted else Refused("it needs names that are not allowed in it")


def _today(name: str) -> str:
    """Python 2 called its built-ins otherwise."""
    module, dot, rest = name.partition(".")
    return {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module) + dot + rest


def _protocol(file: BinaryIO) -> int:
    """Of the pickle with the object; 0 where none is found."""
    file.seek(0)
    head = file.read(4)
    data = _inner_pickle(file) if head.startswith(ZIP) else head
    return data[1] if data[:1] == b"\x80" else 0


def refusal(wanted: set[str]) -> Refused:
    """Names that only a person may allow, or that nobody may."""
    if NESTED in wanted:
        return Refused("a checkpoint inside a bare pickle: save it again there with torch.save")
    bad = sorted(name for name in wanted if not may_allow(name))
    if bad:
        shown = (
            bad[0] if re.fullmatch(r"[A-Za-z0-9_.]{1,120}", bad[0]) else "something without a name"
        )
        return Refused(f"it calls {shown}: no weights need that, and nobody can allow it")
    names = sorted(wanted)
    if len(names) > NAMES_MOST:
        return Refused(f"it needs {len(names)} names that are not allowed in a checkpoint")
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return Refused(f"it needs {', '.join(names[:3])}{more}, not allowed in a checkpoint", names)


def _asked(file: BinaryIO) -> set[str]:
    """The names in all pickles of a checkpoint."""
    file.seek(0)
    if not file.read(4).startswith(ZIP):
        file.seek(0)
        return set().union(*(names_in(file) for _ in range(LEGACY_PICKLES)))
    return names_in(io.BytesIO(_inner_pickle(file)))


def _inner_pickle(file: BinaryIO) -> bytes:
    """The pickle inside a zip checkpoint."""
    with zipfile.ZipFile(file) as opened:
        name = next(name for name in opened.namelist() if name.endswith("data.pkl"))
        return opened.read(name)
