"""`.keras`: a zip of a model's configuration and of its weights. Only the weights are opened: the configuration
names code, and may hold some.
"""

from __future__ import annotations

import io
import json
import os
from typing import BinaryIO

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader import archive, hdf5_file, text_file
from gpu_tui.teardown.reader.outcome import Failed, Incomplete, Refused, Seen

CONFIG, WEIGHTS, OTHER = "config.json", "model.weights.h5", "model.weights.npz"

INDEX = ".weights.json"  # of weights in shards; other programs call their metrics so, too


def read_index(file: BinaryIO, name: str, directory: str) -> Seen:
    """Every shard that it names is here; each is read as a file of its own. Plain JSON where it names none."""
    seen = text_file.read_json(file, name)
    file.seek(0)
    value = json.load(file)
    mapped = value.get("weight_map") if isinstance(value, dict) else None
    if not isinstance(mapped, dict):
        return seen
    if not mapped:
        raise Failed("an index without weights")
    shards = {s for row in mapped.values() for s in (row if isinstance(row, list) else [row])}
    for shard in sorted(map(str, shards)):
        if "/" in shard or "\0" in shard or not shard.endswith(".h5"):
            raise Failed("it names a shard that is no file beside it")
        if not os.path.isfile(os.path.join(directory, shard)):
            raise Incomplete(f"{plain(shard, 60)} is not here")
    return Seen(f"{len(mapped)} weights in {len(shards)} shards, all here", seen.warnings)


def read(file: BinaryIO, size: int) -> Seen:
    """The judgement on one file: checksums, a configuration that is JSON, then the weights."""
    if size == 0:
        raise Failed("an empty file")
    note, opened = archive.check(file, size)
    members = {member.filename: member for member in opened.infolist()}
    if OTHER in members:
        raise Refused("its weights are no HDF5: save it again there without weights_format")
    if WEIGHTS not in members or CONFIG not in members:
        raise Failed(f"it is no model of Keras: {WEIGHTS} or {CONFIG} is not in it")
    with opened.open(CONFIG) as config:
        text_file.read_json(io.BytesIO(config.read(text_file.CAP + 1)), CONFIG)
    member = members[WEIGHTS]
    file.seek(member.header_offset + archive.LOCAL_HEADER - 4)
    lengths = file.read(4)  # of the name and of what else stands before the bytes
    start = member.header_offset + archive.LOCAL_HEADER
    start += int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    seen = hdf5_file.read(file, member.file_size, start)
    if seen.nonfinite is None:
        raise Failed("there is not one weight in it")
    seen.detail = note
    return seen
