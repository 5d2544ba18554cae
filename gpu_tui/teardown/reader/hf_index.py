"""`*.index.json` of a sharded model: every shard is here, every weight in the shard that it names."""

from __future__ import annotations

import os
import zipfile
from typing import Any

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader import safetensors_file
from gpu_tui.teardown.reader.formats import ZIP
from gpu_tui.teardown.reader.hulls import hulls
from gpu_tui.teardown.reader.outcome import Failed, Incomplete, Seen
from gpu_tui.teardown.reader.text_file import CAP, _Strict
from gpu_tui.teardown.reader.torch_lib import load_weights, torch_module

SHARDS_MOST = 10_000


def read(file: Any, directory: str, allow: frozenset[str]) -> Seen:
    """The judgement on the set. The shards' own bytes are judged as files of their own."""
    data = file.read(CAP + 1)
    strict = _Strict()
    value = strict.loads(data) if len(data) <= CAP else None
    index: dict[str, Any] = value if isinstance(value, dict) else {}
    mapped = index.get("weight_map")
    if not isinstance(mapped, dict) or not mapped:
        raise Failed("an index without weights")
    if strict.twice:
        raise Failed(f"it names {plain(strict.twice[0], 60)} twice")
    shards: dict[str, set[str]] = {}
    for key, name in mapped.items():
        if not isinstance(name, str) or not name or "/" in name or "\0" in name or name == "..":
            raise Failed("it names a shard that is no file beside it")
        shards.setdefault(name, set()).add(key)
    if len(shards) > SHARDS_MOST:
        raise Failed(f"more than {SHARDS_MOST} shards")
    total, notes = 0, []
    for name, keys in sorted(shards.items()):
        held = _held(os.path.join(directory, name), plain(name, 60), allow)
        if absent := sorted(keys - held.keys()):
            raise Failed(f"{plain(name, 60)} does not hold {plain(absent[0], 60)}")
        if extra := held.keys() - keys:
            notes.append(f"{plain(name, 60)} holds {len(extra)} weights that it does not name")
        total += sum(held.values())
    notes_of_writer = index.get("metadata")
    said = notes_of_writer.get("total_size") if isinstance(notes_of_writer, dict) else None
    if total and type(said) is int and said != total:
        notes.append(f"it says {said} bytes of weights, its shards hold {total}")
    return Seen(f"{len(mapped)} weights in {len(shards)} shards, all here", notes)


def _held(path: str, shown: str, allow: frozenset[str]) -> dict[str, int]:
    """The weights of one shard with their bytes (0 where only the names were read)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise Incomplete(f"{shown} is not here") from None
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(fd).st_size
        if path.endswith(".safetensors"):
            try:
                return safetensors_file.header(file, size)
            except Failed as error:
                raise Failed(f"its shard {shown}: {error}") from None
        torch = torch_module()
        try:
            lazily = file.read(4) == ZIP
            if lazily:
                zipfile.ZipFile(file)
            found = load_weights(
                torch, f"/proc/self/fd/{fd}" if lazily else path, hulls(allow), lazily=lazily
            )
        except Exception as error:
            raise Failed(f"its shard {shown} does not load ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise Failed(f"its shard {shown} holds no weights")
    return {str(key): 0 for key in found}
