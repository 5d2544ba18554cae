"""Parses the output of `stat -L -c '%i %s %Y %n'` into a FileTable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpu_tui.core.manifest import must_load
from gpu_tui.core.readings import FileStat, FileTable

FORMAT = "%i %s %Y %n"
MAX_FILES = 50_000
FARTHEST = 99_999_999_999.0  # epoch seconds
_UNSEEN = re.compile(r"^unseen ([0-9]{1,3}) ([0-9]{1,9})$", re.ASCII | re.MULTILINE)
_LINE = re.compile(r"([0-9]{1,20}) ([0-9]{1,20}) (-?[0-9]{1,20}) (.{1,4096})", re.ASCII)


def parse_files(
    text: bytes, patterns: Sequence[str], home: str | None = None, homes: Sequence[str] = ()
) -> FileTable:
    """The files that one of `patterns` names (`{cell}` stands for one path part), spelled as it does.

    A pattern that starts with `~/` gives paths that start with `~/`; `home` is the box's home. A file is there
    whatever its time: file servers give such before 1970 (Windows counts from 1601), and ones that overflowed.
    Of checkpoints, and of what no pattern names, the newest below each directory in one of the `homes` is a sign of
    life.
    """
    asked = [(_regex(pattern, home), pattern.startswith("~/")) for pattern in patterns]
    prefix = f"{home.rstrip('/')}/" if home else ""
    found: dict[str, FileStat] = {}
    below = [_at_home(f"{at}/", home) for at in homes]
    signs: dict[str, FileStat] = {}
    for line in text.decode("utf-8", "replace").split("\n")[:MAX_FILES]:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        inode, size, mtime, path = match.groups()
        file = FileStat(path, int(inode), int(size), max(0.0, min(float(mtime), FARTHEST)))
        named = False
        for regex, at_home in asked:
            if regex.fullmatch(path):
                name = f"~/{path.removeprefix(prefix)}" if at_home else path
                found.setdefault(name, replace(file, path=name))
                named = True
        if named and not must_load(path):
            continue
        for root in filter(path.startswith, below):
            directory, slash, _ = path[len(root) :].partition("/")
            if slash and (directory not in signs or signs[directory].mtime < file.mtime):
                signs[directory] = file
    return FileTable(found, signs=signs)


def parse_unseen(text: bytes, patterns: Sequence[str]) -> dict[str, int]:
    """How many files each pattern names that names too many: `unseen NUMBER COUNT`, in lines."""
    found = _UNSEEN.findall(text.decode("ascii", "replace"))
    numbered = {int(number): int(count) for number, count in found}
    return {pattern: numbered[n] for n, pattern in enumerate(patterns) if n in numbered}


def _regex(pattern: str, home: str | None) -> re.Pattern[str]:
    pattern = _at_home(pattern, home)
    return re.compile("[^/]+".join(re.escape(part) for part in pattern.split("{cell}")))


def _at_home(path: str, home: str | None) -> str:
    return f"{home.rstrip('/')}/{path[2:]}" if path.startswith("~/") and home else path
