"""A small text that names the newest step of a checkpoint: DeepSpeed's `latest`, Megatron's
`latest_checkpointed_iteration.txt`.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from gpu_tui.teardown.reader.outcome import Incomplete, Seen, Skipped

_STEP = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,99}")


def read(file: BinaryIO) -> Seen:
    """The step that it names; whether that step is here only the whole tree shows."""
    text = file.read(4096).strip(b" \t\r\n\0")
    if not text:
        raise Incomplete("it names no step")
    if not _STEP.fullmatch(text):
        raise Skipped("by its hash alone: it names no step of a checkpoint")
    return Seen(points_to=text.decode("ascii"))
