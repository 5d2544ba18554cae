"""Reads ssh_config where no OpenSSH client is here to do it (`own_ssh`), on top of asyncssh's reader.

Where asyncssh reads otherwise than ssh, ssh is followed: /etc/ssh/ssh_config after the user's file, Include in the
order of names and relative to where ssh looks, % tokens in `Match exec`, `Match final`, expansion once all files are
read, and a directive that ssh does not know is refused. Blocks on files.
"""

from __future__ import annotations

import glob
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from subprocess import DEVNULL
from typing import cast

import asyncssh
from asyncssh.config import SSHClientConfig, SSHConfig

from gpu_tui.core.number import whole
from gpu_tui.parse.ssh_words import hop, seconds, split
from gpu_tui.places import user_name
from gpu_tui.transport.pattern import pattern, patterns
from gpu_tui.transport.read_files import note

SYSTEM_CONFIG = "/etc/ssh/ssh_config"
Settings = tuple[tuple[str, object], ...]
Lines = tuple[tuple[int, str, tuple[str, ...]], ...]

# Directives that are not for a config to say here: what asyncssh finds wrong in one is no matter.
_OURS = (
    "forwardagent", "requesttty", "sendenv", "serveralivecountmax", "serveraliveinterval", "setenv",
)  # fmt: skip
# Directives that asyncssh's reader passes over and that must not be passed over.
_ALSO = (
    "BindInterface", "ForkAfterAuthentication", "IgnoreUnknown", "KnownHostsCommand", "ProxyUseFdpass",
    "PubkeyAcceptedAlgorithms", "RequiredRSASize", "RevokedHostKeys", "SecurityKeyProvider", "SessionType", "StdinNull",
)  # fmt: skip
_TEXTS = ("BindAddress", "HostKeyAlias", "PreferredAuthentications", "Tag", "User")
_OLD_NAMES = {
    "pubkeyacceptedkeytypes": "PubkeyAcceptedAlgorithms",
    "hostbasedkeytypes": "HostbasedAcceptedAlgorithms",
}
MOST_PORT = 65_535
INCLUDED_DEEP = 16  # files in files, as ssh allows
EXEC_SECONDS = 10.0  # for the command of a `Match exec`
_LONE = ("all", "canonical", "final")
_WITH_PATTERN = ("host", "originalhost", "user", "localuser", "tagged", "exec")
_TOKENS = (
    "CertificateFile", "IdentityAgent", "IdentityFile", "ProxyCommand", "UserKnownHostsFile",
)  # fmt: skip
# Directives that no handler reads. Whatever ssh of any version takes, also what it only warns of; a name that is not
# here is misspelt, and ssh does not connect with it.
_OTHERS = """\
addkeystoagent afstokenpassing batchmode channeltimeout checkhostip cipher clearallforwardings compressionlevel
connectionattempts controlmaster controlpath controlpersist dsaauthentication dynamicforward
enableescapecommandline escapechar exitonforwardfailure fallbacktorsh fingerprinthash forwardx11
forwardx11timeout gatewayports globalknownhostsfile2 gssapiclientidentity gssapikexalgorithms
gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hashknownhosts hostbasedacceptedalgorithms identityfile2
ipqos kbdinteractivedevices keepalive kerberosauthentication kerberostgtpassing localcommand localforward loglevel
logverbose nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming permitlocalcommand
permitremoteopen protocol refuseconnection remoteforward rhostsauthentication
rhostsrsaauthentication rsaauthentication skeyauthentication smartcarddevice streamlocalbindmask
streamlocalbindunlink stricthostkeychecking syslogfacility tisauthentication tunnel tunneldevice updatehostkeys
useblacklistedkeys useprivilegedport userknownhostsfile2 useroaming usersh verifyhostkeydns versionaddendum
visualhostkey warnweakcrypto xauthlocation
"""
_PASSED_OVER = frozenset(_OTHERS.split()) | (
    {"usekeychain"} if sys.platform == "darwin" else frozenset()
)


class UserConfig(SSHClientConfig):
    """What the config files say of one host. The first value of a directive wins."""

    _percent_expand: set[str] = set()  # noqa: RUF012 - as asyncssh has it; `read` expands at the end
    strange: str | None = None  # a Match criterion that asyncssh does not know
    _named: str  # what Host patterns are compared with
    _depth = 0
    _only_looked_at = False  # included by a block that does not match; its `Match final` counts

    @classmethod
    def read(
        cls, paths: Iterable[str], host: str, user: str | None = None, port: int | None = None
    ) -> UserConfig:
        """Read files in order. Raises asyncssh.ConfigParseError or OSError."""
        me = user_name()
        config = cls(cast(SSHConfig, None), False, False, False, me, user or (), host, port or ())  # type: ignore[arg-type]
        paths, config._named = tuple(paths), host
        config._parse_all(paths)
        if config.has_match_final():
            # Once more over all files: what is set stays, and a host goes by its real name now.
            config._named = str(config._options.get("Hostname", host)).lower()
            config._options["Hostname"] = config._named
            config._final = config._canonical = True  # ssh takes both for the last pass
            config._parse_all(paths)
        config._expand_all()
        config.loaded = True
        return config

    @classmethod
    def from_answer(cls, values: Mapping[str, Sequence[str]], host: str) -> UserConfig:
        """The config that `ssh -G` printed, by keyword in lower case."""
        config = cls.read((), host)
        config._path, config._line_no = Path("ssh -G"), 0
        for name, said in values.items():
            if name in cls._handlers:
                option, handler = cls._handlers[name]
                for value in said:
                    handler(config, option, value.split() if name == "rekeylimit" else [value])
        return config

    def add(self, options: Mapping[str, object]) -> None:
        """Set what is known already."""
        self._options |= options

    @classmethod
    def of(cls, settings: Settings, host: str) -> UserConfig:
        """The config that `settings` were taken from."""
        config = cls.read((), host)
        config._options = dict(settings)
        return config

    def settings(self) -> Settings:
        """Every directive that is set, in values that can be compared."""
        return tuple(
            (name, tuple(value) if isinstance(value, list) else value)
            for name, value in sorted(self._options.items())
        )

    def _parse_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            system = path == SYSTEM_CONFIG
            self._default_path = Path("/etc/ssh") if system else Path("~/.ssh").expanduser()
            self.parse(Path(path))

    def parse(self, path: Path) -> None:
        """Read one file, whose lines are split once for all hosts."""
        self._path, self._matching = path, not self._only_looked_at
        self._tokens = {"%": "%"}
        note(path)
        for number, name, words in read_lines(path):
            self._line_no = number
            if (known := self._handlers.get(name)) is None:
                if not self._passes_over(name):
                    self._error(f"Bad configuration option: {name}")
                continue
            if not self._matching and name not in self._conditionals:
                continue
            option, handler = known
            args = list(words)
            if not args:
                self._error(f"Missing {option} value")
            handler(self, option, args)
            if args:
                self._error(f"Extra data at end: {' '.join(args)}")

    def _expand_all(self) -> None:
        self._set_tokens()
        host = self._tokens["h"].lower()
        alias = str(self._options.get("HostKeyAlias", "")).lower() or self._orig_host
        who = "".join((self._tokens["l"], host, self._tokens["p"], self._tokens["r"]))
        self._tokens |= {"h": host, "k": alias, "C": sha1(who.encode()).hexdigest()}
        for option in _TOKENS:
            value = self._options.get(option)
            # The variables of a ProxyCommand are its shell's business.
            expand = self._tokens_of if option == "ProxyCommand" else self._expand_val
            if isinstance(value, list):
                self._options[option] = [expand(item) for item in value]
            elif isinstance(value, str):
                self._options[option] = expand(value)

    def _passes_over(self, name: str) -> bool:
        """Whether ssh takes this directive, or was asked to ignore it."""
        ignored = str(self._options.get("IgnoreUnknown", "")).lower()
        return name in _PASSED_OVER or name in _OURS or bool(patterns(ignored).matches(name))

    @property
    def unread(self) -> str | None:
        """A directive that only ssh itself can follow, or None."""
        if self._options.get("CanonicalizeHostname"):
            return "CanonicalizeHostname"
        return f"Match {self.strange}" if self.strange else None

    def _tokens_of(self, value: str) -> str:
        return re.sub(r"%(.)", self._expand_token, value)

    def _set_tokens(self) -> None:
        super()._set_tokens()
        self._tokens["%"] = "%"
        self._tokens["k"] = str(self._options.get("HostKeyAlias") or self._tokens["h"])
        jump = str(self._options.get("ProxyJump", "none"))
        self._tokens["j"] = "" if jump.lower() == "none" else hop(jump.split(",")[-1])[1]

    def _read_host(self, option: str, args: list[str]) -> None:
        """A block for the hosts that its patterns name; a comma parts none here, as it does in Match."""
        hits = [word for word in args if pattern(word.removeprefix("!")).matches(self._named)]
        excepted = any(word.startswith("!") for word in hits)
        self._matching = bool(hits) and not excepted and not self._only_looked_at
        args.clear()

    def _read_proxy(self, option: str, args: list[str]) -> None:
        """ProxyJump and ProxyCommand: the first of either counts; `ProxyJump none` bars no command."""
        jump = str(self._options.get("ProxyJump", "none")).lower()
        if "ProxyCommand" not in self._options and (
            jump == "none" if option == "ProxyCommand" else "ProxyJump" not in self._options
        ):
            self._options[option] = args[0]
        args.clear()

    def _read_include(self, option: str, args: list[str]) -> None:
        """In the order of names; a file that cannot be read is passed over."""
        path, line, tokens = self._path, self._line_no, self._tokens
        matching, looking = self._matching, self._only_looked_at
        self._only_looked_at = not matching
        self._depth += 1
        if self._depth > INCLUDED_DEEP:
            self._error("Too many files that include one another")
        for named in args:
            wanted = str(self._default_path / os.path.expanduser(named))
            note(wanted)
            for name in sorted(glob.glob(wanted)):
                if Path(name).is_file() and os.access(name, os.R_OK):
                    self.parse(Path(name))
        self._depth -= 1
        self._path, self._line_no, self._tokens = path, line, tokens
        self._matching, self._only_looked_at = matching, looking
        args.clear()

    def _read_match(self, option: str, args: list[str]) -> None:
        """A block for what meets every criterion; a strange one matches nothing, and is remembered."""
        words = _criteria(args[0])
        args.clear()
        self._matching = not self._only_looked_at
        while words:
            word = words.pop(0).lower()
            name = word.removeprefix("!")
            if name in _LONE:
                hit = self._is_pass(name)
            elif name not in _WITH_PATTERN:
                self.strange = name if self._matching else self.strange
                self._matching = False
                return
            elif not words:
                self._error(f"Missing {name} match pattern")
            else:
                hit = self._meets(name, words.pop(0))
            self._matching = self._matching and hit == (name == word)

    def _is_pass(self, name: str) -> bool:
        """Whether this pass over the files is meant. Who asks for a last one gets it."""
        if name == "final" and self._final is None:
            self._final = False
        return name == "all" or bool(self._canonical if name == "canonical" else self._final)

    def _meets(self, name: str, wanted: str) -> bool:
        """One criterion of a block that still may match; hosts go by small letters."""
        if not self._matching:
            return False
        if name == "exec":
            return self._succeeds(wanted)
        value = str(self._match_val(name))
        if "host" in name:
            value, wanted = value.lower(), wanted.lower()
        return value == wanted if "" in (value, wanted) else patterns(wanted).matches(value)

    def _succeeds(self, command: str) -> bool:
        """The end of a `Match exec`, whose % tokens are replaced. ssh would wait for it for ever."""
        self._set_tokens()
        command = self._tokens_of(command)
        shell = os.environ.get("SHELL") or "/bin/sh"
        with subprocess.Popen(
            [shell, "-c", command],
            stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                return process.wait(EXEC_SECONDS) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self._error(f"its exec does not end within {EXEC_SECONDS:g} s: {command}")

    def _read_port(self, option: str, args: list[str]) -> None:
        word = args.pop(0)
        number = port_of(word)
        if number is None:
            self._error(f"Bad port {word!r}")
        self._options.setdefault(option, number)

    def _read_seconds(self, option: str, args: list[str]) -> None:
        """A time with units, or none: 0."""
        word = args.pop(0)
        number = 0 if word.lower() == "none" else seconds(word)
        if number is None:
            self._error(f"Invalid {option} time value: {word}")
        self._options.setdefault(option, number)

    def _read_pubkey(self, option: str, args: list[str]) -> None:
        """Also `unbound` and `host-bound`, which are a yes."""
        if args[0].lower() in ("unbound", "host-bound"):
            args[0] = "yes"
        self._set_bool(option, args)

    def _read_rekey(self, option: str, args: list[str]) -> None:
        """`0` bytes are as many as usual."""
        if args[0] == "0":
            args[0] = "default"
        self._set_rekey_limits(option, args)

    def _read_text(self, option: str, args: list[str]) -> None:
        """One word as it stands: a user may be called `none`."""
        self._options.setdefault(option, args.pop(0))

    def _read_word(self, option: str, args: list[str]) -> None:
        """A directive that is only looked at."""
        self._options.setdefault(option, args[0])
        args.clear()


_LINE = re.compile(r"([^\s=\"]+)\s*=?\s*(.*)", re.DOTALL)


def read_lines(path: Path) -> Lines:
    """(number, directive, words) of each line. Raises OSError or asyncssh.ConfigParseError."""
    stat = path.stat()
    return _lines(str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino)


@lru_cache(maxsize=64)
def _lines(path: str, mtime: int, size: int, inode: int) -> Lines:
    """Those of one state of a file; hundreds of hosts share one."""
    found = []
    text = Path(path).read_bytes().decode("utf-8", "replace")
    for number, raw in enumerate(text.split("\n"), start=1):
        match = None if raw.lstrip().startswith("#") else _LINE.fullmatch(raw.strip())
        if match is None:
            continue
        name, rest = match[1].lower(), match[2]
        try:
            found.append((number, name, _words(name, rest)))
        except ValueError as error:
            raise asyncssh.ConfigParseError(f"{path} line {number}: {error}") from None
    return tuple(found)


def _words(name: str, rest: str) -> tuple[str, ...]:
    """The words up to a comment; a command is one word, as it stands."""
    if name in UserConfig._no_split:
        command = rest.lstrip(" \t=")
        return (command,) if command else ()
    return tuple(split(rest))


def _criteria(line: str) -> list[str]:
    """The words of a Match line. asyncssh would cut every word at `=`, also inside an `exec`."""
    words: list[str] = []
    for word in split(line):
        name, sign, value = word.partition("=")
        lone = sign and name.lower().removeprefix("!") in _WITH_PATTERN
        words += [name, value] if lone else [word]
    return words


UserConfig._conditionals = {*SSHClientConfig._conditionals, "include"}
UserConfig._no_split = {*SSHClientConfig._no_split, "match"}
UserConfig._handlers = {
    **{name: read for name, read in SSHClientConfig._handlers.items() if name not in _OURS},
    "host": ("Host", UserConfig._read_host),
    "include": ("Include", UserConfig._read_include),
    "match": ("Match", UserConfig._read_match),
    "proxyjump": ("ProxyJump", UserConfig._read_proxy),
    "proxycommand": ("ProxyCommand", UserConfig._read_proxy),
    "port": ("Port", UserConfig._read_port),
    "challengeresponseauthentication": ("KbdInteractiveAuthentication", UserConfig._set_bool),
    "pubkeyauthentication": ("PubkeyAuthentication", UserConfig._read_pubkey),
    "rekeylimit": ("RekeyLimit", UserConfig._read_rekey),
    "connecttimeout": ("ConnectTimeout", UserConfig._read_seconds),
    **{name.lower(): (name, UserConfig._read_text) for name in _TEXTS},
    **{name.lower(): (name, UserConfig._read_word) for name in _ALSO},
    **{old: (name, UserConfig._read_word) for old, name in _OLD_NAMES.items()},
}


def port_of(word: str) -> int | None:
    """A number, or the name of a service; None where it is no port."""
    number = whole(word)
    if number is None:
        try:
            number = socket.getservbyname(word, "tcp")
        except OSError:
            return None
    return number if 0 < number <= MOST_PORT else None
