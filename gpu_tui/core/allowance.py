"""What a person may allow by hand when a safe load refused a checkpoint, and what that means. Pure.

An allowed name is never run: an inert stand-in takes its place, and holds what the file says. So what
comes out is weights with something unknown beside them. A name that runs programs or reads files is not
even offered: a checkpoint that names one is no checkpoint that anybody should keep.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.proof import holds_weights, proves, some

NAMES_MOST = 8  # more than anybody reads
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+", re.ASCII)
# A pickle calls what it names, also in the program that will load it one day. Of these modules only the
# names listed here do no more than build a value; of every other all may be allowed, by whoever knows it.
_BUILDERS = {
    module: frozenset(names.split())
    for modules, names in (
        (
            "builtins __builtin__",
            "bool bytearray bytes complex dict float frozenset int list object range set slice str tuple",
        ),
        ("types", "SimpleNamespace MappingProxyType"),
        ("codecs _codecs", "encode"),
        (
            "_io _pickle _posixsubprocess _socket _thread _winapi asyncio atexit bdb cffi cloudpickle code"
            " codeop concurrent copyreg ctypes dill faulthandler fileinput ftplib functools gc glob http"
            " imaplib imp importlib inspect io joblib linecache logging marshal mmap multiprocessing nt"
            " ntpath operator _operator os pdb pickle pickletools pip pkgutil poplib posix posixpath"
            " profile pty pydoc requests resource runpy select shelve shutil signal site smtplib socket"
            " socketserver sqlite3 ssl subprocess sys sysconfig tarfile tempfile threading timeit trace"
            " tty urllib urllib3 venv weakref webbrowser xmlrpc zipapp zipfile zipimport",
            "",
        ),
    )
    for module in modules.split()
}
# A library hands on what it imports, and has loaders of its own.
_INNER = frozenset(
    [
        "os",
        "sys",
        "subprocess",
        "shutil",
        "builtins",
        "importlib",
        "ctypes",
        "socket",
        "marshal",
        "runpy",
    ]
)
_LOADERS = re.compile(
    r"torch\.(hub|load|serialization|package|jit|multiprocessing|distributed\.(rpc|elastic|run|launch)|utils\.cpp_extension"
    r"|utils\.model_zoo|_inductor|_dynamo|classes|ops)\b|numpy\.(load|f2py|distutils|testing|ctypeslib)\b"
    r"|pandas\.(io|read_)|.*\.(eval|exec|system|popen|__import__)$",
    re.ASCII,
)

# What a box's own torch is asked to load: the other formats need libraries that it may lack.
TORCH_SUFFIXES = (".pth", ".pt", ".ckpt", ".bin", ".th", ".safetensors")


@dataclass(frozen=True, slots=True)
class Offer:
    """What may be allowed. `names` for the files `refused`; `unread` files the box itself may load."""

    names: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def phrase(self, target: str) -> str:
        """The sentence to type: every name that is allowed stands in it."""
        parts = []
        if self.refused:
            parts.append(f"load {_files(self.refused)} with {', '.join(self.names)}")
        if self.unread:
            parts.append(f"trust the box's own load of {_files(self.unread)}")
        return f"{' and '.join(parts)} on {target}"

    def lines(self) -> tuple[str, ...]:
        """What it allows, and what it costs."""
        lines = []
        if self.refused:
            lines += [
                f"refused by a safe load: {some(self.refused, 8)}",
                *(f"they name {name}" for name in self.names),
                "here nothing of these names is run: an empty stand-in takes the place of each, so the"
                " weights are proven and what these names hold is not. A program that needs them must be"
                " able to import them, and then runs what whoever wrote the file chose",
            ]
        if self.unread:
            lines += [
                f"nothing here can read: {some(self.unread, 8)}",
                "the box's own torch can: bound to the same SHA-256, but a box that lies, or whose"
                " memory is broken, says ok as well. The weaker proof; the better one is to install"
                " the reader here",
            ]
        return tuple(lines)


def _read_there(verdict: FileVerdict) -> bool:
    """True for weights that a box's own torch can load, and nothing here."""
    unread = verdict.load in ("skipped", "ok-remote") and holds_weights(verdict)
    return unread and verdict.path.lower().endswith(TORCH_SUFFIXES)


def offer(
    verdicts: Sequence[FileVerdict], allowed: frozenset[str], *, on_box: bool
) -> Offer | None:
    """What would have to be allowed for all of them to prove, or None where no allowance can do it."""
    names: set[str] = set()
    refused: list[str] = []
    unread: list[str] = []
    for verdict in verdicts:
        if proves(verdict, on_box=on_box):
            continue
        new = set(verdict.needs) - allowed
        if verdict.load == "refused" and new and all(may_allow(name) for name in verdict.needs):
            refused.append(verdict.path)
            names |= new
        elif _read_there(verdict) and not on_box:
            unread.append(verdict.path)
        else:
            return None
    if len(names) > NAMES_MOST or not (refused or unread):
        return None
    return Offer(tuple(sorted(names)), tuple(refused), tuple(unread))


def may_allow(name: str) -> bool:
    """True for a dotted name of something that only builds a value, as far as its module tells."""
    if len(name) > 120 or not _NAME.fullmatch(name):
        return False
    first, *inner = name.split(".")
    if first in _BUILDERS:
        return len(inner) == 1 and inner[0] in _BUILDERS[first]
    return not _INNER.intersection(inner) and not _LOADERS.match(name)


def _files(paths: Sequence[str]) -> str:
    return f"{len(paths)} file{'' if len(paths) == 1 else 's'}"
