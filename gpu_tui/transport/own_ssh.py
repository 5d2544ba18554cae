"""Asks the user's own OpenSSH client for its settings of one host, by `ssh -G`, which opens no connection.

ssh may look names up meanwhile, and run the command of a `Match exec`. Everything here blocks: call it off the loop.
"""

from __future__ import annotations

import getpass
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from subprocess import DEVNULL, PIPE
from threading import BoundedSemaphore, Lock
from typing import TypeVar

from gpu_tui.parse.lines import clean
from gpu_tui.parse.ssh_words import hop
from gpu_tui.places import NoHome, user_home
from gpu_tui.transport.base import LinkError
from gpu_tui.transport.read_files import Read, note, state
from gpu_tui.transport.ssh_config import INCLUDED_DEEP, SYSTEM_CONFIG, ConfigRefused, read_lines
from gpu_tui.transport.ssh_options import Options, first

SECONDS = 10.0
AT_ONCE = 4
KEPT = 1_024  # answers
ENDED_SECONDS = 2.0  # for a killed ssh
USUAL_KEYS = "usualidentityfile"  # ssh's own list, where the config names no file
_PLACES = BoundedSemaphore(AT_ONCE)
_PLACE = re.compile(r"(.+?):? line ([0-9]+): ")
_WANTS_COMMAND = re.compile(rb"without a command to execute|specify a subsystem to invoke")
_CHAT = ("Pseudo-terminal will not be allocated",)
_NO_TEXT = re.compile(r"\\357\\273\\277|\\37[67]\\37[67]")  # how ssh prints a byte order mark

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """The settings of one host, and those that ssh has without any configuration."""

    named: str
    values: Options
    usual: Options

    @property
    def own(self) -> Options:
        """Those that the user, or whoever runs this machine, chose."""
        return {
            name: said for name, said in self.values.items() if said != self.usual.get(name, ())
        }

    def first(self, name: str) -> str:
        """The first value; empty where ssh printed none."""
        return first(self.values, name) or ""


@dataclass(slots=True)
class _Kept:
    read: Read  # the files that were read for it
    values: Options
    users: set[str]


class Answers:
    """Keeps answers for boxes that share a jump host, until a file changes that was read for them.

    A box that connects again asks again: a `Match exec` may find another network.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], _Kept] = {}
        self._usual: dict[tuple[str, object], Options | None] = {}
        self._lock = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def used_by(self, name: str, call: Callable[..., T], *args: object) -> T:
        """Call; what it asks is asked for the box `name`."""
        token = _ASKED.set((self, name))
        try:
            return call(*args)
        finally:
            _ASKED.reset(token)

    def close(self) -> None:
        """End what is still being asked, and what will be."""
        self._closed = True
        for process in [*self._running]:
            _kill(process)

    def ask(
        self, name: str | None, host: str, file: str | None, user: str | None, port: int | None
    ) -> Answer | None:
        """The answer for one host, or None where no OpenSSH client is here. Raises LinkError."""
        program = shutil.which("ssh")
        if program is None or not _has_name():
            return None
        usual = self._usual_of(program)
        if usual is None:
            return None
        words = [program]
        words += ["-F", file] if file is not None else []
        words += ["-l", user] if user is not None else []
        words += ["-p", str(port)] if port is not None else []
        words += ["-G", "--", host]
        return Answer(host, self._values(name, words, file), usual)

    def _values(self, name: str | None, words: list[str], file: str | None) -> Options:
        with _PLACES:
            read = {path: state(path) for path in config_files(file)}
            note(*read)
            kept = self._kept.get(tuple(words))
            if kept is not None and kept.read == read and name and name not in kept.users:
                kept.users.add(name)
                return kept.values
            values = _printed(self._run(words, words[-1]))
            while len(self._kept) >= KEPT:
                with suppress(KeyError, StopIteration):  # another thread was first
                    del self._kept[next(iter(self._kept))]
            self._kept[tuple(words)] = _Kept(read, values, {name} if name else set())
            return values

    def _usual_of(self, program: str) -> Options | None:
        """The settings of this ssh without any configuration; None where it is not OpenSSH's."""
        with self._lock, _PLACES:
            which = program, state(program)
            if which not in self._usual:
                try:
                    text = self._run([program, "-F", os.devnull, "-G", "x"], "any host")
                except ConfigRefused:
                    if self._is_openssh(program):
                        raise
                    self._usual = {which: None}
                else:
                    self._usual = {which: _printed(text)}
            return self._usual[which]

    def _is_openssh(self, program: str) -> bool:
        return self._ended([program, "-V"], "any host")[2].startswith(b"OpenSSH")

    def _run(self, words: list[str], host: str) -> bytes:
        """Its answer; only its exit status says whether that counts."""
        code, out, err = self._ended(words, host)
        if code != 0 and _WANTS_COMMAND.search(err):  # and we shall run one
            code, out, err = self._ended([*words, "true"], host)
        if code != 0:
            raise _refused(host, err)
        return out

    def _ended(self, words: list[str], host: str) -> tuple[int, bytes, bytes]:
        """Run ssh to its end: exit status, stdout, stderr."""
        try:
            process = subprocess.Popen(
                words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        except OSError as error:
            raise LinkError(
                f"{words[0]} cannot be run: {error.strerror}", next="correct PATH"
            ) from None
        self._running.add(process)
        try:
            self._need_open(host)  # `close` does not find what is added after it
            out, err = process.communicate(timeout=SECONDS)
            self._need_open(host)  # another answer than that of an ssh that was killed
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            raise LinkError(
                f"ssh -G {host} does not end within {SECONDS:g} s",
                next="look at the `Match exec` lines of the ssh config, and at the name server",
            ) from None
        finally:
            self._running.discard(process)
            _kill(process)
            for pipe in (process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()

    def _need_open(self, host: str) -> None:
        if self._closed:
            raise LinkError(f"ssh -G {host} was ended, as the connections are closed")


_DEFAULT = Answers()
_ASKED: ContextVar[tuple[Answers, str | None]] = ContextVar("asked", default=(_DEFAULT, None))


def ask(host: str, file: str | None, user: str | None, port: int | None) -> Answer | None:
    """The answer of the user's own ssh about `host`; None where no OpenSSH client is here. Raises LinkError."""
    answers, name = _ASKED.get()
    return answers.ask(name, host, file, user, port)


def _has_name() -> bool:
    """Whether this user is in the password database: ssh refuses to run otherwise."""
    try:
        getpass.getuser()
        pwd.getpwuid(os.getuid())
    except (KeyError, OSError):
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it started; until it is waited for, its id is that of its group alone."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDED_SECONDS)


def _printed(text: bytes) -> Options:
    """The lines of an answer: one keyword and its value each."""
    found: dict[str, list[str]] = {}
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        name, blank, value = line.partition(" ")
        if blank:
            found.setdefault(name.lower(), []).append(value)
    return {name: tuple(said) for name, said in found.items()}


def _refused(host: str, stderr: bytes) -> ConfigRefused:
    lines = [clean(line) for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    said = next((line for line in lines if not line.startswith(_CHAT)), "it does not say why")
    place = _PLACE.match(said)
    step = "save the file as UTF-8 without a byte order mark"
    return ConfigRefused(
        f"ssh refuses its configuration for {host}: {said}",
        step if _NO_TEXT.search(said) else "correct the ssh config",
        *((place[1], int(place[2])) if place else ()),
    )


def config_files(file: str | None) -> Iterator[str]:
    """The files that ssh reads, those that are not there too, and the patterns of their Include lines."""
    home = f"{_passwd_home()}/.ssh"
    if file is not None:
        yield from _with_included(file, home)
        return
    yield from _with_included(f"{home}/config", home)
    yield from _with_included(SYSTEM_CONFIG, os.path.dirname(SYSTEM_CONFIG))


def _with_included(path: str, base: str, depth: int = 0) -> Iterator[str]:
    yield path
    if depth == INCLUDED_DEEP:
        return
    for words in _directives(path, "include"):
        for word in words:
            with suppress(ConfigRefused):  # ssh passes over a home that no user has
                wanted = os.path.join(base, _with_home(word, _passwd_home()))
                yield wanted
                for found in sorted(glob.glob(wanted)):
                    yield from _with_included(found, base, depth + 1)


def _directives(path: str, name: str) -> Iterator[tuple[str, ...]]:
    """The words of every such line of a file, whatever block it is in; none of a file that cannot be read."""
    with suppress(OSError, ValueError, ConfigRefused):
        for line in read_lines(Path(path)):
            if line.name == name:
                yield line.words


def _passwd_home() -> str:
    """The home directory that ssh uses: it ignores $HOME."""
    return pwd.getpwuid(os.getuid()).pw_dir


def home_differs() -> bool:
    """Whether $HOME is another directory than ssh's home."""
    try:
        ours, theirs = user_home(os.environ), _passwd_home()
    except (KeyError, NoHome):
        return False
    return os.path.realpath(ours) != os.path.realpath(theirs)


def options_of(answer: Answer, file: str | None) -> Options:
    """The options that the user chose, and host, port and user in any case. Tokens are replaced. Raises LinkError."""
    own, named = answer.own, answer.named
    home = str(user_home(os.environ))
    tokens = _tokens(answer, home)
    few = {name: tokens[name] for name in "%hnpr"}

    def paths(name: str) -> tuple[str, ...]:
        said = (word for word in answer.values.get(name, ()) if word.lower() != "none")
        return tuple(_expanded(named, _with_home(word, home), tokens) for word in said)

    always = ("hostname", "port", "user", "pubkeyacceptedalgorithms")
    options = {name: said for name, said in own.items() if name != "host"}
    options |= {name: answer.values[name] for name in always if name in answer.values}
    options["identityfile" if "identityfile" in own else USUAL_KEYS] = paths("identityfile")
    options["certificatefile"] = paths("certificatefile")
    if "identityagent" in own:
        options["identityagent"] = _agent(answer, home, tokens)
    for name in ("proxycommand", "proxyjump"):
        if name in own:
            options[name] = (_expanded(named, answer.first(name), few, variables=False),)
    if "userknownhostsfile" in own:
        _need_no_blank(answer, "UserKnownHostsFile", file)
        options["userknownhostsfile"] = tuple(_moved(path, home) for path in _files(answer, "user"))
    if "globalknownhostsfile" in own:
        _need_no_blank(answer, "GlobalKnownHostsFile", file)
    everyone = _files(answer, "global")
    options["globalknownhostsfile"] = tuple(_with_home(path, home) for path in everyone)
    return options


def _agent(answer: Answer, home: str, tokens: Mapping[str, str]) -> tuple[str, ...]:
    said = answer.first("identityagent")
    if said.lower() == "none":
        return ()
    if said == "SSH_AUTH_SOCK" or re.match(r"\$[^{]", said):  # a variable that holds the path
        return (said,)
    return (_moved(_expanded(answer.named, _with_home(said, home), tokens), home),)


def _tokens(answer: Answer, home: str) -> dict[str, str]:
    """The % tokens of ssh_config(5)."""
    name, user = socket.gethostname(), pwd.getpwuid(os.getuid()).pw_name
    host, port, login = (answer.first(word) for word in ("hostname", "port", "user"))
    jump = hop(answer.first("proxyjump").split(",")[-1])[1]
    return {
        "%": "%", "C": sha1(f"{name}{host}{port}{login}{jump}".encode()).hexdigest(), "L": name.partition(".")[0],
        "d": home, "h": host, "i": str(os.getuid()), "j": jump, "l": name, "n": answer.named, "p": port, "r": login,
        "u": user, "k": answer.first("hostkeyalias") or answer.named,
    }  # fmt: skip


def _expanded(host: str, value: str, tokens: Mapping[str, str], *, variables: bool = True) -> str:
    """Replaces % tokens and `${VAR}`. As ssh does, it refuses one that has no value."""

    def replace(found: re.Match[str]) -> str:
        variable = None if found[0].startswith("%") else found[0][2:-1]
        text = tokens.get(found[0][1:]) if variable is None else os.environ.get(variable)
        if text is None:
            raise ConfigRefused(
                f"ssh cannot replace {clean(found[0])} in {clean(value)!r}, which its configuration has for {host}",
                f"set {clean(variable)}, or correct the ssh config"
                if variable
                else "correct the ssh config",
            )
        return text

    return re.sub(r"%(?:.|$)|\$\{[^}]*\}" if variables else r"%(?:.|$)", replace, value)


def _with_home(path: str, home: str) -> str:
    """Replaces `~` and `~USER`. As ssh does, it refuses a user that does not exist."""
    if not path.startswith("~"):
        return path
    name, slash, rest = path[1:].partition("/")
    if name:
        try:
            home = pwd.getpwnam(name).pw_dir
        except KeyError:
            raise ConfigRefused(
                f"the ssh config names {clean(path)}, and there is no user {clean(name)}",
                "correct the ssh config",
            ) from None
    return f"{home}{slash}{rest}"


def _moved(path: str, home: str) -> str:
    """A path in which ssh has replaced `~` by its own home, with $HOME in its place."""
    theirs = _passwd_home()
    if not home_differs() or path.startswith(f"{home}/") or not path.startswith(f"{theirs}/"):
        return path
    return home + path.removeprefix(theirs)


def _files(answer: Answer, whose: str) -> list[str]:
    """The files of a known_hosts directive, which ssh prints on one line and without quotes."""
    line = answer.first(f"{whose}knownhostsfile")
    return [] if line.lower() == "none" else line.split(" ")


def _need_no_blank(answer: Answer, option: str, file: str | None) -> None:
    """Refuses a path with a blank: in ssh's answer it cannot be told from two paths.

    The config says which paths have one; a block for another host does not matter.
    """
    name, line = option.lower(), answer.first(option.lower())
    parts = {_passwd_home()}
    for path in config_files(file):
        for words in _directives(path, name):
            for word in words:
                parts.update(re.split(r"^~|%.|\$\{[^}]*\}", word))
                parts.update(os.environ.get(it, "") for it in re.findall(r"\$\{([^}]*)\}", word))
    if any(" " in part and part in line for part in parts):
        raise ConfigRefused(
            f"{option} of {answer.named} holds a path with a blank, which cannot be told from two paths: {clean(line)}",
            "give the known_hosts file a path without blanks",
        )
