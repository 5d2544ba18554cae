"""known_hosts as ssh reads it: who is trusted under which name, and where it stands.

asyncssh raises one and the same error for a new, a changed and a revoked key; telling them apart
needs the entries themselves, with file and line.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import asyncssh

SSH_PORT = 22
_MARKERS = ("@cert-authority", "@revoked")


@dataclass(frozen=True, slots=True)
class Entry:
    """One good line of a known_hosts file. `marker` is "", "@cert-authority" or "@revoked"."""

    marker: str
    patterns: str
    key: asyncssh.SSHKey
    file: str
    line: int

    def speaks_of(self, name: str) -> bool:
        """Whether this line is about `name`, a host or `[host]:port`, in lower case."""
        if self.patterns.startswith("|"):
            return _hash_matches(self.patterns, name)
        hit = False
        for pattern in self.patterns.lower().split(","):
            if pattern.startswith("!"):
                if _wildcard(pattern[1:]).fullmatch(name):
                    return False
            elif pattern == name or (
                ("*" in pattern or "?" in pattern) and _wildcard(pattern).fullmatch(name)
            ):
                hit = True
        return hit


@dataclass(frozen=True, slots=True)
class Trust:
    """What known_hosts says of one host under `name`.

    `bare` are the keys of the host without its port: as in ssh they are taken where the port has no
    entry of its own, but they never make another key a changed one. So are its authorities. `elsewhere` are the keys of the
    same host under other ports.
    """

    name: str
    keys: tuple[Entry, ...] = ()
    authorities: tuple[Entry, ...] = ()
    revoked: tuple[Entry, ...] = ()
    bare: tuple[Entry, ...] = ()
    elsewhere: tuple[Entry, ...] = ()

    @property
    def accepted(self) -> list[asyncssh.SSHKey]:
        """The keys that the host may show."""
        bad = {entry.key for entry in self.revoked}
        return [entry.key for entry in (*self.keys, *self.bare) if entry.key not in bad]


class KnownHosts:
    """All good lines of all files, in order. Lines that are no entry are passed over, as ssh does."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = tuple(entries)

    @classmethod
    def read(cls, paths: Iterable[str]) -> KnownHosts:
        """Read files; one that is missing or unreadable is an empty one. Blocks."""
        entries: list[Entry] = []
        for path in paths:
            try:
                stat = Path(path).stat()
                entries += _entries(path, stat.st_mtime_ns, stat.st_size, stat.st_ino)
            except OSError:
                continue
        return cls(entries)

    def trust(self, host: str, port: int, alias: str | None = None) -> Trust:
        """What is said of `host`:`port`; an alias stands for both."""
        if alias:
            return self._named(alias.lower())
        host = host.lower()
        elsewhere = self._other_ports(host, port)
        if port == SSH_PORT:
            return replace(self._named(host), elsewhere=elsewhere)
        exact, plain = self._named(f"[{host}]:{port}"), self._named(host)
        return replace(
            exact,
            authorities=exact.authorities or plain.authorities,
            bare=() if exact.keys or exact.authorities else plain.keys,
            revoked=(*exact.revoked, *plain.revoked),
            elsewhere=elsewhere,
        )

    def _other_ports(self, host: str, port: int) -> tuple[Entry, ...]:
        named = re.compile(rf"\[{re.escape(host)}\]:(?!{port}$)[0-9]+")
        return tuple(
            entry
            for entry in self._entries
            if not entry.marker
            and any(named.fullmatch(name) for name in entry.patterns.lower().split(","))
        )

    def _named(self, name: str) -> Trust:
        about = [entry for entry in self._entries if entry.speaks_of(name)]
        return Trust(
            name,
            tuple(entry for entry in about if not entry.marker),
            tuple(entry for entry in about if entry.marker == "@cert-authority"),
            tuple(entry for entry in about if entry.marker == "@revoked"),
        )


@lru_cache(maxsize=64)
def _entries(path: str, mtime: int, size: int, inode: int) -> tuple[Entry, ...]:
    """The entries of one state of a file: hundreds of boxes share one, and each key costs a check."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    numbered = enumerate(text.splitlines(), start=1)
    return tuple(entry for n, line in numbered if (entry := _entry(line, path, n)))


def _entry(line: str, file: str, number: int) -> Entry | None:
    words = line.split(maxsplit=1)
    if not words or words[0].startswith("#"):
        return None
    marker = ""
    if words[0].startswith("@"):
        marker, words = words[0], (words[1] if len(words) > 1 else "").split(maxsplit=1)
    if len(words) != 2 or marker not in ("", *_MARKERS):
        return None
    try:
        key = asyncssh.import_public_key(words[1])
    except (asyncssh.KeyImportError, ValueError):
        return None
    return Entry(marker, words[0], key, file, number)


def _hash_matches(pattern: str, name: str) -> bool:
    try:
        _, magic, salt, digest = pattern.split("|")
        mac = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return magic == "1" and hmac.compare_digest(mac, base64.b64decode(digest))
    except (ValueError, binascii.Error):
        return False


def _wildcard(pattern: str) -> re.Pattern[str]:
    """`*` and `?` as known_hosts has them; everything else, brackets too, is literal."""
    words = {"*": ".*", "?": "."}
    return re.compile("".join(words.get(letter) or re.escape(letter) for letter in pattern))
