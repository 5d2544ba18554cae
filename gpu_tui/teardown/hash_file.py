"""Hashes that were made on a box, kept between two runs of gpu-tui: an hour of hashing survives a closed lid.

They only save work. A hash counts for a file whose inode, size, mtime and ctime are still what they were, on
the same boot of the same machine; the last look before a call reads every byte anew. One line per file is
appended, so that whatever ends the program loses at most one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gpu_tui.core.manifest import FileEntry
from gpu_tui.teardown.journal_file import own_directory

LARGEST = 64 << 20  # bytes of one such file; beyond it is begun anew
LINE = 8_192  # bytes of one line
_SHA256 = re.compile(r"[0-9a-f]{64}")
Known = dict[str, tuple[str, FileEntry]]  # path -> (stamp, entry)


def hash_file_of(directory: Path, instance: str) -> HashFile:
    """The one of this instance."""
    name = hashlib.sha256(instance.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return HashFile(directory / f"{name}.jsonl")


@dataclass(slots=True)
class HashFile:
    """One instance's file. What goes wrong with it costs time and nothing else. It blocks: not for the loop,
    but for `add`, which is one short write.
    """

    path: Path
    _box: str = ""
    _fd: int = -1
    _room: int = field(default=0, repr=False)

    def begin(self, box: Hashable) -> Known:
        """What is known of this box; from now on `add` is about it."""
        self.close()
        self._box = hashlib.sha256(repr(box).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        with suppress(OSError):
            own_directory(self.path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o600)
            size = os.fstat(self._fd).st_size
            if size > LARGEST:
                os.ftruncate(self._fd, 0)
                size = 0
            self._room = LARGEST - size
            with open(self._fd, "rb", closefd=False) as file:
                return self._read(file.read(LARGEST))
        return {}

    def add(self, entry: FileEntry, stamp: str) -> None:
        """Remember one more."""
        row = [self._box, stamp, entry.path, entry.bytes, entry.sha256]
        line = f"\n{json.dumps(row, separators=(',', ':'))}\n".encode()
        if self._fd < 0 or len(line) > min(LINE, self._room):
            return
        self._room -= len(line)
        try:
            os.write(self._fd, line)
        except OSError:
            self.close()

    def close(self) -> None:
        """Nothing more is remembered."""
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = -1

    def _read(self, data: bytes) -> Known:
        found: Known = {}
        for line in data.split(b"\n"):
            try:
                box, stamp, path, size, sha256 = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue  # cut, or none
            texts = isinstance(stamp, str) and isinstance(path, str) and isinstance(sha256, str)
            if box == self._box and texts and type(size) is int and _SHA256.fullmatch(sha256):
                found[path] = (stamp, FileEntry(path, size, sha256))
        return found
