"""`.keras`: a zip of a model's configuration and of its weights. Only the weights are opened: the configuration
names code, and may hold some.
"""

from __future__ import annotations

import io
from typing import BinaryIO

from gpu_tui.teardown.reader import archive, hdf5_file, text_file
from gpu_tui.teardown.reader.outcome import Failed, Refused, Seen

CONFIG, WEIGHTS, OTHER = "config.json", "model.weights.h5", "model.weights.npz"


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
    seen.detail = note
    return seen
