"""Reads ssh_config where no OpenSSH client is installed: asyncssh's reader, with a check of each line before it.

asyncssh passes over keywords that it does not know, and reads some lines otherwise than ssh(1) does. So a line that ssh
refuses is refused, and so is one that only ssh reads right, unless it is for another host. Blocks on files.
"""

from __future__ import annotations

import glob
import re
import shlex
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from asyncssh.config import SSHClientConfig

from gpu_tui.parse.lines import clean
from gpu_tui.parse.ssh_words import split
from gpu_tui.places import user_name
from gpu_tui.transport.base import LinkError
from gpu_tui.transport.pattern import patterns
from gpu_tui.transport.read_files import note
from gpu_tui.transport.ssh_keywords import KNOWN, READ, SEVERAL, TAKEN_BY_SSH, VALUES
from gpu_tui.transport.ssh_options import FAMILIES, Options

SYSTEM_CONFIG = "/etc/ssh/ssh_config"
INCLUDED_DEEP = 16  # files in files, as ssh allows

_COMMANDS = ("knownhostscommand", "localcommand", "proxycommand", "remotecommand")
_BLOCKS = ("host", "match")
_CRITERIA = ("host", "originalhost", "user", "localuser")
_LINE = re.compile(r"([^\s=\"]+)(\s*=\s*|\s*)(.*)", re.DOTALL)
_BY_SSH_ALONE = "install OpenSSH's client, or write the line another way"


class ConfigRefused(LinkError):
    """ssh does not take its configuration, or only ssh can read it; `file` and `line` are where, if known."""

    def __init__(self, text: str, next: str, file: str | None = None, line: int | None = None):
        super().__init__(text, next=next)
        self.file, self.line = file, line


@dataclass(frozen=True, slots=True)
class Line:
    """One directive: its keyword in lower case, what follows, and the words of that as ssh splits them."""

    file: str
    number: int
    name: str
    rest: str
    words: tuple[str, ...]
    exact: bool | None  # whether asyncssh finds the same words; None where it refuses the line

    def refused(self, why: str, next: str = "correct the ssh config") -> ConfigRefused:
        """The error for this line."""
        return ConfigRefused(
            f"the ssh config cannot be read: {self.file} line {self.number}: {why}",
            next,
            self.file,
            self.number,
        )

    def only_ssh(self) -> ConfigRefused:
        """The error for a line that ssh takes and asyncssh would not read as ssh does."""
        text = clean(f"{self.name} {self.rest}")
        why = f"only OpenSSH's client can follow {text!r}, and there is none here"
        return self.refused(why, _BY_SSH_ALONE)


def read_lines(path: Path) -> tuple[Line, ...]:
    """The directives of a file. Raises OSError or ConfigRefused."""
    stat = path.stat()
    return _lines(str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino)


@lru_cache(maxsize=64)
def _lines(path: str, mtime: int, size: int, inode: int) -> tuple[Line, ...]:
    """Those of one state of a file; hundreds of hosts share one."""
    found = []
    text = Path(path).read_bytes().decode("utf-8", "replace")
    for number, raw in enumerate(text.split("\n"), start=1):
        match = None if raw.lstrip().startswith("#") else _LINE.fullmatch(raw.strip())
        if match is None:
            continue
        name, sign, rest = match[1].lower(), match[2], match[3]
        command, equals = name in _COMMANDS, "=" in sign
        try:
            words = tuple(split(rest)) if not command else (rest,) if rest else ()
        except ValueError as error:
            raise Line(path, number, name, rest, (), False).refused(str(error)) from None
        try:
            theirs = tuple(shlex.split(rest))
            exact = not equals if command else theirs == words
            exact = exact and not ("=" in rest and (equals or name in _BLOCKS))
        except ValueError:
            exact = None
        found.append(Line(path, number, name, rest, words, exact))
    return tuple(found)


class _Check:
    """Looks through the config files for one host, before asyncssh does."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._ignored = ""  # the patterns of IgnoreUnknown
        self._has_match = False  # A Match was read. What it matches is not known here.
        # asyncssh replaces tokens of HostName, Port and User at the end of each file, ssh after the last file.
        self._has_token = False  # such a token was read
        self._replaced = False  # and asyncssh has replaced it
        self._base = Path()  # of relative paths after Include
        self._before: list[str] = []  # the files that the first lines include

    def files(self, path: str) -> list[str]:
        """The files to read for one config file: what its first lines include comes first.

        asyncssh reads the files of one Include in no order. The first value counts, so it does no harm that it reads
        them again.
        """
        self._before = []
        self._base = Path("/etc/ssh" if path == SYSTEM_CONFIG else "~/.ssh").expanduser()
        self._file(path)
        return [*self._before, path]

    def _file(self, path: str, *, active: bool = True, depth: int = 0, twice: bool = False) -> None:
        """Checks one file. `active`: its lines are for this host; `twice`: asyncssh reads it again as an Include."""
        note(path)
        head, outer = depth == 0, active  # nothing but Include so far
        for line in read_lines(Path(path)):
            self._need_taken_by_ssh(line)
            needed = (active and line.name in KNOWN) or line.name in _BLOCKS
            if line.exact is None or (needed and not line.exact):
                raise line.only_ssh()
            head = head and line.name == "include"
            if line.name == "host":
                active = outer and self._is_host(line)
            elif line.name == "match":
                active = outer
                self._need_plain_criteria(line, twice=twice)
            elif line.name == "include":
                self._include(line, active=active, depth=depth + 1, head=head)
            elif active and line.name in KNOWN:
                self._need_readable(line)
        self._replaced = self._replaced or self._has_token

    def _need_taken_by_ssh(self, line: Line) -> None:
        if line.name not in KNOWN:
            if not patterns(self._ignored).matches(line.name):
                raise line.refused(f"Bad configuration option: {clean(line.name)}")
        elif not line.words:
            raise line.refused(f"no argument after {line.name}")
        elif len(line.words) > 1 and line.name not in SEVERAL:
            raise line.refused(f"too many arguments after {line.name}")
        elif not re.fullmatch(TAKEN_BY_SSH.get(line.name, "(?s:.*)"), line.words[0]):
            raise line.refused(f"bad value of {line.name}: {clean(line.words[0])}")

    def _need_readable(self, line: Line) -> None:
        """Refuses a value that asyncssh would not read as ssh does."""
        value = line.rest if line.name in _COMMANDS else " ".join(line.words)
        if line.name == "ignoreunknown":
            if self._has_match:
                raise line.only_ssh()
            self._ignored = self._ignored or value.lower()
        if not re.fullmatch(VALUES.get(line.name, "(?s:.*)"), value):
            raise line.only_ssh()
        if self._replaced and line.name in ("hostname", "port", "user"):
            raise line.only_ssh()
        if line.name in ("certificatefile", "identityagent", "identityfile", "proxycommand"):
            self._has_token = self._has_token or bool(re.search("%[hpr]", value))
            if "%h" in value and self._host != self._host.lower():
                raise line.only_ssh()

    def _is_host(self, line: Line) -> bool:
        if any("," in word for word in line.words):
            raise line.only_ssh()
        return patterns(",".join(line.words)).matches(self._host)

    def _need_plain_criteria(self, line: Line, *, twice: bool) -> None:
        """Refuses a Match line with more than names of hosts and users."""
        left = [] if line.words == ("all",) else [*line.words]
        self._has_match = self._has_match or bool(left)
        while left:
            name = left.pop(0).lower().removeprefix("!")
            if name not in _CRITERIA or (twice and name in ("host", "user")):
                raise line.only_ssh()
            value = left.pop(0) if left else ""
            if not value:
                raise line.refused(f"no argument after {name}")
            if "host" in name and (value + self._host) != (value + self._host).lower():
                raise line.only_ssh()

    def _include(self, line: Line, *, active: bool, depth: int, head: bool) -> None:
        if depth > INCLUDED_DEEP:
            raise line.refused("too many files that include one another")
        for word in line.words:
            try:
                path = Path(word).expanduser()
            except RuntimeError:  # ssh passes over a home that no user has
                if active:
                    raise line.only_ssh() from None
                continue
            root = Path(path.anchor) if path.anchor else Path("~/.ssh").expanduser()
            wanted = str(self._base / path)
            note(wanted)
            files = [name for name in sorted(glob.glob(wanted)) if Path(name).is_file()]
            theirs = {name for name in root.glob(str(path).removeprefix("/")) if name.is_file()}
            plain = theirs == {*map(Path, files)} and not re.search("[%$]", word)
            if active and not (plain and (head or len(files) < 2)):
                raise line.only_ssh()
            if head and active:
                self._before += files
            for name in files:
                self._file(name, active=active, depth=depth, twice=head)


def read(
    paths: Iterable[str], host: str, user: str | None = None, port: int | None = None
) -> Options:
    """The options of one host, from files in their order.

    Raises OSError, ValueError (asyncssh.ConfigParseError among them), RuntimeError or ConfigRefused.
    """
    check = _Check(host)
    files = [file for path in paths for file in check.files(path)]
    config = SSHClientConfig.load(
        None, files, False, False, False, user_name(), user or (), host, port or ()
    )
    unset = object()
    found = ((name, config.get(name, unset)) for names in READ.values() for name in names.split())
    options = {name.lower(): _as_words(value) for name, value in found if value is not unset}
    if "proxycommand" in options and options.get("proxyjump"):
        raise ConfigRefused(
            f"the ssh config has ProxyJump and ProxyCommand for {host}, and only OpenSSH's client can tell which counts",
            _BY_SSH_ALONE,
        )
    if (old := options.pop("challengeresponseauthentication", None)) is not None:
        options.setdefault("kbdinteractiveauthentication", old)
    return options


def _as_words(value: object) -> tuple[str, ...]:
    """A value of asyncssh in the words of `ssh -G`."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, socket.AddressFamily):
        return tuple(name for name, family in FAMILIES.items() if family == value)
    if isinstance(value, bool):
        return ("yes" if value else "no",)
    return () if value is None else (str(value),)
