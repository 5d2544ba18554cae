"""The shells of a box and the files that they have open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename

SCRIPT_FD = 10  # lowest descriptor that shells use for their own files; loops use 0 to 9


@dataclass(frozen=True, slots=True)
class Stamp:
    """One file by `stat`: (device, inode), bytes, epoch seconds; `born` is None if the file system does not say."""

    id: tuple[int, int]
    size: int
    mtime: float
    born: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A regular file that a shell has open for reading. `pos` is the byte at which it reads on; `before` the text
    that ends there, None if it was not read. `deleted`: the file no longer has the name by which it was opened.
    """

    fd: int
    path: str
    pos: int
    stamp: Stamp | None
    deleted: bool = False
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Shell:
    """One shell: its directory, the files that it reads and the paths that it writes. `named`: the files that its
    arguments name. For a Python program only these are known, and only those that look like configs.
    """

    pid: int
    cwd: str | None
    reads: tuple[Held, ...] = ()
    writes: tuple[str, ...] = ()
    named: Mapping[str, Stamp] = field(default_factory=dict)

    def script(self, argv: Sequence[str]) -> tuple[str, Held | None] | None:
        """The word of `argv` that names the script, and the open file of that script."""
        word = script_of(argv)
        kept = [one for one in self.reads if one.fd >= SCRIPT_FD]
        for one in kept:
            if word is not None and basename(one.path).rstrip("~") == basename(word):
                return word, one
        if kept:
            return word or kept[-1].path, kept[-1]
        return None if word is None else (word, None)

    @property
    def lists(self) -> tuple[Held, ...]:
        """The files that its loops read."""
        return tuple(one for one in self.reads if one.fd < SCRIPT_FD)


def script_of(argv: Sequence[str]) -> str | None:
    """The word of `argv` that names the script; None for `-c`, `-s` and an interactive shell."""
    words = iter(argv[2:] if argv and basename(argv[0]) == "busybox" else argv[1:])
    for word in words:
        if word == "--":
            return next(words, None)
        if word in ("--rcfile", "--init-file", "-O", "+O", "-o", "+o"):
            next(words, None)
        elif not word.startswith(("-", "+")):
            return word
        elif not word.startswith("--") and ("c" in word[1:] or "s" in word[1:]):
            return None
    return None
