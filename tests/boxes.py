"""A box for tests: a real OpenSSH sshd on loopback with a host key, home and PATH of its own."""

from __future__ import annotations

import getpass
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from ports import Port

from gpu_tui.core.fleet import Instance, SshAccess

START_SECONDS = 60.0  # a busy machine; alone it takes 10 ms
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class BoxUnavailable(RuntimeError):
    """This machine cannot run an sshd; the text says what to install."""


def _sshd() -> str:
    found = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if found is None or shutil.which("ssh-keygen") is None:
        raise BoxUnavailable("no sshd here: apt-get install openssh-server openssh-client")
    return found


def make_key(path: Path, comment: str) -> Path:
    """A fresh ed25519 key at `path`, its public half beside it."""
    path.unlink(missing_ok=True)
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return path


class Sshd:
    """One sshd. `home` is the box's home (also of SFTP), `bin` comes first in its PATH."""

    def __init__(
        self,
        directory: Path,
        *,
        max_sessions: int = 10,
        env: dict[str, str] | None = None,
        first: str = "",
        extra: str = "",
        under: tuple[str, ...] = (),
    ) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.bin = directory / "bin"
        self.port = 0
        self._held: Port | None = None
        self._max_sessions = max_sessions
        self._env = env or {}
        self._first = first  # lines of sshd_config that go before our own: the first word counts
        self._extra = extra  # further lines of sshd_config
        self._under = under  # the program and its words that start the sshd
        self._process: subprocess.Popen[bytes] | None = None
        for part in (self.home, self.bin, directory / "etc"):
            part.mkdir(parents=True, exist_ok=True)
        self.host_key = make_key(directory / "etc" / "host_key", "host")
        self.identity = make_key(directory / "etc" / "id", "user")
        shutil.copy(f"{self.identity}.pub", directory / "etc" / "authorized_keys")
        self.known_hosts = directory / "etc" / "known_hosts"
        self.config = directory / "etc" / "ssh_config"
        self.config.write_text("# empty on purpose: the tests must not read the user's own\n")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)

    def start(self) -> Sshd:
        """Start listening, on the port of the last start if there was one."""
        if not self.port:
            self._held = Port()
            self.port = self._held.number
        etc = self.directory / "etc"
        set_env = {"HOME": str(self.home), "PATH": f"{self.bin}:{SYSTEM_PATH}", **self._env}
        pairs = " ".join(f'"{name}={value}"' for name, value in set_env.items())
        (etc / "sshd_config").write_text(
            f"{self._first}ListenAddress 127.0.0.1:{self.port}\n"
            f"HostKey {self.host_key}\n"
            "PidFile none\n"
            f"AuthorizedKeysFile {etc / 'authorized_keys'}\n"
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin yes\n"
            f"MaxSessions {self._max_sessions}\nUseDNS no\nPrintMotd no\nPrintLastLog no\n"
            f"AllowTcpForwarding yes\nSubsystem sftp internal-sftp -d {self.home}\nLogLevel VERBOSE\n"
            f"SetEnv {pairs}\n{self._extra}"
        )
        log = etc / "sshd.log"
        self._process = subprocess.Popen(
            [*self._under, *self._command(etc / "sshd_config", log)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait_listening(log)
        self.trust()
        return self

    def _command(self, config: Path, log: Path) -> list[str]:
        """What is started; it must go on for as long as the box lives."""
        return [_sshd(), "-D", "-f", str(config), "-E", str(log)]

    def _wait_listening(self, log: Path) -> None:
        """Connect until the banner comes: the listener's own readiness."""
        assert self._process is not None
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            if self._process.poll() is not None:
                raise BoxUnavailable(f"sshd ended at once: {_last_words(log)}")
            try:
                with socket.create_connection(("127.0.0.1", self.port), START_SECONDS) as peer:
                    peer.settimeout(START_SECONDS)
                    if peer.recv(4) == b"SSH-":
                        return
            except ConnectionRefusedError:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.01)
        raise BoxUnavailable(f"sshd never listened: {_last_words(log)}")

    def trust(self) -> None:
        """Write the host key that the box has now into `known_hosts`."""
        kind, key = Path(f"{self.host_key}.pub").read_text().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")

    @property
    def ssh_access(self) -> SshAccess:
        """How to reach it without any file of the user."""
        return SshAccess(
            host="127.0.0.1",
            user=getpass.getuser(),
            port=self.port,
            known_hosts=str(self.known_hosts),
            identity=str(self.identity),
            config=str(self.config),
        )

    def instance(self, name: str = "box", **changed: object) -> Instance:
        """An instance of this box; keyword arguments are Instance fields."""
        return Instance(**{"name": name, "ssh": self.ssh_access, **changed})  # type: ignore[arg-type]

    def program(self, name: str, text: str) -> Path:
        """Put an executable into the box's own PATH."""
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def session_pids(self) -> list[int]:
        """The sshd processes that serve a live session."""
        if self._process is None:
            return []
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                if int(fields[1]) == self._process.pid:
                    found.append(int(entry.name))
        return found

    def kill_sessions(self) -> int:
        """Kill every session as a broken box would; how many there were."""
        pids = self.session_pids()
        for pid in pids:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(pid, signal.SIGKILL)
        return len(pids)

    def processes(self) -> dict[int, str]:
        """What runs on the box: pid -> command line of everything that has the box's home."""
        found = {}
        mark = f"HOME={self.home}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    own = (entry / "environ").read_bytes().split(b"\0")
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if mark in own:
                    found[int(entry.name)] = b" ".join(words).decode("utf-8", "replace").strip()
        return found

    def wait_left(self, seconds: float = 60.0) -> list[int]:
        """Block until it serves no session; those that it still does when the time is over."""
        while pids := self.session_pids():
            try:
                handle = os.pidfd_open(pids[0])
            except ProcessLookupError:
                continue
            try:
                if not select.select([handle], [], [], seconds)[0]:
                    break
            finally:
                os.close(handle)
        return pids

    def wait_idle(self, seconds: float = 60.0) -> dict[int, str]:
        """Block until nothing runs on the box; what still does when the time is over."""
        poll = select.poll()
        left = self.processes()
        while left:
            pid = next(iter(left))
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                left = self.processes()
                continue
            poll.register(handle, select.POLLIN)
            ended = poll.poll(seconds * 1000)
            poll.unregister(handle)
            os.close(handle)
            if not ended:
                break
            left = self.processes()
        return left

    def restart_with_new_host_key(self) -> None:
        """Come back on the same port with another host key; `known_hosts` keeps the old one."""
        old = self.known_hosts.read_text()
        self.stop()
        make_key(self.host_key, "new host")
        self.start()
        self.known_hosts.write_text(old)

    def stop(self) -> None:
        """Stop listening and end every session."""
        self.kill_sessions()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)
        self._process = None

    def close(self) -> None:
        """Stop for good: its port may be anybody's now."""
        self.stop()
        if self._held is not None:
            self._held.close()


def _last_words(log: Path) -> str:
    return log.read_text()[-500:] if log.exists() else "it wrote no log"
