"""Reads ssh_config where no OpenSSH client is installed: asyncssh's reader, with OpenSSH's keywords in front of it.

asyncssh passes over keywords that it does not know, and reads some lines otherwise than ssh(1) does. So every line is
checked first: what ssh refuses is refused, and so is what only ssh would read right and may concern the host. Blocks
on files.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import socket
import sys
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
from gpu_tui.transport.ssh_options import FAMILIES, Options

SYSTEM_CONFIG = "/etc/ssh/ssh_config"
INCLUDED_DEEP = 16  # files in files, as ssh allows

_FLAG, _NUMBER, _SOME = "(?i:yes|no|true|false)", "[0-9]+", "(?!(?i:none)$).+"
_FAMILY, _TIME = "(?i:any|inet6?)", "(?i:none|([0-9]+[smhdw])*[0-9]*)"
# Keywords that asyncssh reads, by the values that it reads as ssh does: its tokens and variables, no `none`, no `~USER`.
_READ = {
    _FLAG: """ChallengeResponseAuthentication Compression GSSAPIAuthentication HostbasedAuthentication IdentitiesOnly
        KbdInteractiveAuthentication PasswordAuthentication PubkeyAuthentication TCPKeepAlive""",
    _NUMBER: "ConnectTimeout Port",
    _FAMILY: "AddressFamily",
    _SOME: "BindAddress CASignatureAlgorithms Ciphers HostKeyAlgorithms KexAlgorithms MACs User",
    "(?!(?i:none)$)[^%]+": "HostKeyAlias",
    ".+": "GlobalKnownHostsFile PKCS11Provider PreferredAuthentications",
    "[^%]+": "ProxyJump",
    "[^%$]+": "UserKnownHostsFile",
    "([^%$A-Z]|%[h%])+": "Hostname",
    r"([^%$]|%[hnpr]|\$(?!\{))+": "ProxyCommand",
    r"(?!~[^/])([^%$]|%[dhiLlnpru]|\$\{\w+\}|\$(?!\{))+": "CertificateFile IdentityAgent IdentityFile",
}
# Keywords that only ssh follows, by the values that change nothing.
_OPENSSH_ONLY = {
    "none": "BindInterface IdentityFile2 KnownHostsCommand RevokedHostKeys SmartcardDevice",
    "no|false": "CanonicalizeHostname ProxyUseFdpass",
    "yes|true": "DSAAuthentication SkeyAuthentication TISAuthentication",
    "[+^].+": "PubkeyAcceptedAlgorithms PubkeyAcceptedKeyTypes",
    "1024": "RequiredRSASize",
    "internal": "SecurityKeyProvider",
    _NUMBER: "ServerAliveCountMax ServerAliveInterval",
}
_VALUES = {
    name.lower(): values
    for table in (_READ, _OPENSSH_ONLY)
    for values, names in table.items()
    for name in names.split()
}
# Without such a value ssh refuses the file, also in a block for another host.
TAKEN_BY_SSH = {
    **{name: values for name, values in _VALUES.items() if values in (_FLAG, _FAMILY)},
    **dict.fromkeys(
        [
            "batchmode",
            "checkhostip",
            "clearallforwardings",
            "enableescapecommandline",
            "enablesshkeysign",
            "exitonforwardfailure",
            "forkafterauthentication",
            "forwardx11",
            "forwardx11trusted",
            "gatewayports",
            "gssapidelegatecredentials",
            "hashknownhosts",
            "nohostauthenticationforlocalhost",
            "permitlocalcommand",
            "stdinnull",
            "streamlocalbindunlink",
            "visualhostkey",
        ],
        _FLAG,
    ),
    "connectionattempts": _NUMBER,
    "connecttimeout": _TIME,
    "numberofpasswordprompts": _NUMBER,
    "port": "[1-9][0-9]{0,4}",
    "pubkeyauthentication": f"{_FLAG}|(?i:unbound|host-bound)",
    "serveraliveinterval": _TIME,
    "stricthostkeychecking": f"{_FLAG}|(?i:ask|off|accept-new)",
    "updatehostkeys": f"{_FLAG}|(?i:ask)",
    "verifyhostkeydns": f"{_FLAG}|(?i:ask)",
}
# Keywords of any OpenSSH, also those that it only warns of, that change nothing here. A name in no table is misspelt.
_UNUSED = """\
addkeystoagent afstokenpassing batchmode canonicaldomains canonicalizefallbacklocal canonicalizemaxdots
canonicalizepermittedcnames channeltimeout checkhostip cipher clearallforwardings compressionlevel connectionattempts
controlmaster controlpath controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar
exitonforwardfailure fallbacktorsh fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout
forwardx11trusted gatewayports globalknownhostsfile2 gssapiclientidentity gssapidelegatecredentials gssapikexalgorithms
gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hashknownhosts
hostbasedacceptedalgorithms hostbasedkeytypes ignoreunknown ipqos kbdinteractivedevices keepalive
kerberosauthentication kerberostgtpassing localcommand localforward loglevel logverbose
nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming permitlocalcommand permitremoteopen
protocol refuseconnection rekeylimit remotecommand remoteforward requesttty rhostsauthentication rhostsrsaauthentication
rsaauthentication sendenv sessiontype setenv stdinnull streamlocalbindmask streamlocalbindunlink stricthostkeychecking
syslogfacility tag tunnel tunneldevice updatehostkeys useblacklistedkeys useprivilegedport userknownhostsfile2
useroaming usersh verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation
"""
KNOWN = frozenset({"host", "match", "include", *_VALUES, *_UNUSED.split()}) | (
    {"usekeychain"} if sys.platform == "darwin" else frozenset()
)
_SEVERAL = """\
canonicaldomains canonicalizepermittedcnames channeltimeout dynamicforward globalknownhostsfile host include ipqos
localforward logverbose match permitremoteopen rekeylimit remoteforward sendenv setenv userknownhostsfile
"""  # keywords with more than one argument
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
    exact: (
        bool | None
    )  # whether asyncssh finds the same words; None where it refuses the file for the line

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
        self._has_match = False  # above, so that it is not known whether a line counts
        self._has_token = False  # a path or command with what HostName, Port or User say,
        self._replaced = False  # and asyncssh has replaced that at the end of a file
        self._before: list[str] = []

    def files(self, path: str) -> list[str]:
        """The files to read for one config file: what its first lines include comes first.

        asyncssh reads the files of one Include in no order. The first value counts, so it does no harm that it reads
        them again.
        """
        self._before = []
        self._file(path)
        return [*self._before, path]

    def _file(self, path: str, *, active: bool = True, depth: int = 0, twice: bool = False) -> None:
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
        elif len(line.words) > 1 and line.name not in _SEVERAL.split():
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
        if not re.fullmatch(_VALUES.get(line.name, "(?s:.*)"), value):
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
            wanted = os.path.join(
                os.path.dirname(line.file) if line.file == SYSTEM_CONFIG else root, path
            )
            note(wanted)
            files = [name for name in sorted(glob.glob(wanted)) if Path(name).is_file()]
            theirs = {
                str(name) for name in root.glob(str(path).removeprefix("/")) if name.is_file()
            }
            several = len(files) > 1
            if active and (
                theirs != set(files) or (several and not head) or "%" in word or "$" in word
            ):
                raise line.only_ssh()
            if several and active:
                self._before += files
            for name in files:
                self._file(name, active=active, depth=depth, twice=several)


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
    found = ((name, config.get(name, unset)) for names in _READ.values() for name in names.split())
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
