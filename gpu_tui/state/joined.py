"""The rows of a queue as they were at the last look, and what they were made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_tui.core.artifact import Layout, Shelf
from gpu_tui.core.last_words import LastWord
from gpu_tui.core.logs import LogSource
from gpu_tui.core.queue_join import Join
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sweep import Cell


@dataclass(slots=True)
class Joined:
    """Cached intermediate results. Only `state/queue_rows`, `state/unread`, `state/cell_evidence`, `state/job_tables`,
    `state/signs` and `state/stillness` fill and read it.
    """

    join: Join | None = None
    made_of: tuple[object, ...] = ()
    cells: list[Cell] = field(default_factory=list)
    shelf: tuple[Layout, FileTable, Shelf] | None = None  # of the last table of files
    said: dict[LogSource, tuple[int, LastWord | None]] = field(default_factory=dict)  # by version
    written: tuple[FileTable, Mapping[str, float]] | None = None  # each name in it -> its last time
    # (file table, opened and failed paths, by path why a log was not read): valid while the first two are the same.
    unread: tuple[FileTable, object, Mapping[str, str]] | None = None
    signs: tuple[FileTable, Mapping[str, float]] | None = None  # each cell -> its last checkpoint's
