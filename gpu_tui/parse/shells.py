"""Parses the output of `probe_shells`, shells and the files that they hold open or were given, into `Shell` values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_tui.core.plain import plain
from gpu_tui.core.shells import Held, Shell, Stamp
from gpu_tui.parse.quoted import unquoted

LONGEST = 1_000  # characters of a path
MOST = 1_000  # lines of a section
NO_BIRTH = frozenset({"0", "-", "W", "?"})  # the file system or an old `stat` gives no birth time
_LINK = re.compile(
    r"[`'‘\"]?(?:[^\n]*?/)?([0-9]{1,10})/(cwd|fd/([0-9]{1,6}))['’\"]? -> (.{1,16000})"
)
_STATS = re.compile(r"([0-9]{1,20}) ([0-9]{1,20}) ([0-9]{1,20}) (-?[0-9]{1,20}) (\S{1,20}) (.+)")
_READS = re.compile(r"([0-9]{1,10}) ([0-9]{1,6}) ([0-9]{1,20}) ([0-7]{1,12})")
_FD = re.compile(r"(?:.*/)?([0-9]{1,10})/fd/([0-9]{1,6})")
_WORD = re.compile(r"(?:.*/)?([0-9]{1,10})/cwd/(.+)")
_DELETED = " (deleted)"


def parse_shells(
    links: bytes, reads: bytes, stats: bytes, before: Mapping[str, bytes]
) -> tuple[Shell, ...]:
    """Shells sorted by PID. `before`: section `before.PID.FD` -> the text before the reading position, and a full stop."""
    cwds: dict[int, str] = {}
    paths: dict[tuple[int, int], str] = {}
    for line in _lines(links):
        if match := _LINK.fullmatch(line):
            path = plain(unquoted(match[4]), LONGEST)
            if match[3] is None:
                cwds[int(match[1])] = path
            else:
                paths[int(match[1]), int(match[3])] = path
    stamps: dict[tuple[int, int], Stamp] = {}
    words: dict[int, dict[str, Stamp]] = {}
    anywhere: dict[str, Stamp] = {}
    for line in _lines(stats):
        match = _STATS.fullmatch(line)
        if match is None:
            continue
        born = float(match[5]) if match[5].isdigit() and match[5] not in NO_BIRTH else None
        stamp = Stamp((int(match[1]), int(match[2])), int(match[3]), float(match[4]), born)
        if one := _FD.fullmatch(match[6]):
            stamps[int(one[1]), int(one[2])] = stamp
        elif one := _WORD.fullmatch(match[6]):
            words.setdefault(int(one[1]), {})[plain(one[2], LONGEST)] = stamp
        else:
            anywhere[plain(match[6], LONGEST)] = stamp
    held: dict[int, list[Held]] = {}
    written: dict[int, list[str]] = {}
    for line in _lines(reads):
        match = _READS.fullmatch(line)
        if match is None:
            continue
        pid, fd = int(match[1]), int(match[2])
        if (pid, fd) not in paths:
            continue
        path = paths[pid, fd]
        name = path.removesuffix(_DELETED)
        if int(match[4][-1], 8) & 3:
            written.setdefault(pid, []).append(name)
            continue
        told = before.get(f"before.{pid}.{fd}")
        held.setdefault(pid, []).append(
            Held(
                fd, name, int(match[3]), stamps.get((pid, fd)),
                deleted=name != path, before=None if told is None else _told(told),
            )
        )  # fmt: skip
    return tuple(
        Shell(
            pid,
            cwds.get(pid),
            tuple(held.get(pid, ())),
            tuple(written.get(pid, ())),
            {**anywhere, **words.get(pid, {})},
        )
        for pid in sorted(cwds.keys() | held.keys() | written.keys() | words.keys())
    )


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "replace").split("\n")[:MOST]


def _told(text: bytes) -> str | None:
    """The text before the position; None if it did not arrive whole (its full stop is missing)."""
    told = text.decode("utf-8", "replace").rstrip("\n")
    return told.removesuffix(".") if told.endswith(".") else None
