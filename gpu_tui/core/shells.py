"""The shells of a box and the files that they have open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename

SCRIPT_FD = 10  # from here on shells put what they keep for themselves; loops take 0 to 9


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says of one file: (device, inode), bytes, epoch seconds; `born` is None where nothing tells."""

    id: tuple[int, int]
    size: int
    mtime: float
    born: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A regular file that a shell has open for reading. `pos` is the byte at which it reads on; `before` the text
    that ends there, None where it was not read. `deleted`: the name that it was opened by leads elsewhere now.
    """

    fd: int
    path: str
    pos: int
    stamp: Stamp | None
    deleted: bool = False
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Shell:
    """One shell: its directory, the files that it reads and the paths that it writes. `named`: the files that words of
    its arguments name. Of a python only these are known, and only those that look like configs.
    """

    pid: int
    cwd: str | None
    reads: tuple[Held, ...] = ()
    writes: tuple[str, ...] = ()
    named: Mapping[str, Stamp] = field(default_factory=dict)

    def script(self, argv: Sequence[str]) -> tuple[str, Held | None] | None:
        """The word of `argv` that names its script, and the file that it has open as that."""
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
        """What its loops read."""
        return tuple(one for one in self.reads if one.fd < SCRIPT_FD)


def script_of(argv: Sequence[str]) -> str | None:
    """The word that names the script a shell was started with; None for `-c`, `-s` and a prompt."""
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
