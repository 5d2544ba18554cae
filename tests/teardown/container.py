"""A box in a PID namespace of its own, as a container has one: its process table shows the box alone."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from boxes import Sshd
from runpod_server import POD

from gpu_tui.core.fleet import SshAccess

USER, UID = "renter", 4711
BOOT_ID = "7d1c0b52-0000-4000-8000-00000000c0de"
SERVERS = ("sshd", "dropbear")
# PID 1 of the box: the server itself, an init with the server below it, or an inetd that starts one per connection.
STARTS = {"first": "exec {server}", "init": "{server} & wait", "inetd": "exec {inetd} {server}"}
# What inetd does, under a name that many images' first process has.
INETD = """#!{python} -IS
import os, signal, socket, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
    while True:
        peer, _ = listening.accept()
        if not os.fork():
            os.dup2(peer.fileno(), 0)
            os.dup2(peer.fileno(), 1)
            os.execv(sys.argv[2], sys.argv[2:])
        peer.close()
"""
NAMESPACES = ("unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child")


@cache
def lacks() -> str | None:
    """Why there is no such box on this machine, or None."""
    if os.geteuid() != 0:
        return "namespaces and other users need root"
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return "there is no unshare or nsenter (util-linux)"
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    return (
        f"this machine allows no PID namespace: {done.stderr.strip()}" if done.returncode else None
    )


class Container(Sshd):
    """A real sshd or dropbear in namespaces of its own. `directory` must be open to every user."""

    def __init__(
        self, directory: Path, *, server: str = "sshd", start: str = "first", user: str = "root"
    ) -> None:
        if why := lacks():
            pytest.skip(why)
        self._server = shutil.which(server, path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if self._server is None:
            pytest.skip(f"there is no {server} here")
        super().__init__(directory, max_sessions=2, env={"RUNPOD_POD_ID": POD["id"]})
        self._start = start
        self.user = user

    @property
    def ssh_access(self) -> SshAccess:
        return replace(super().ssh_access, user=self.user)

    @property
    def first(self) -> int:
        """The pid of the box's first process, as this machine sees it."""
        assert self._process is not None
        outer = self._process.pid
        return int(Path(f"/proc/{outer}/task/{outer}/children").read_text())

    def spawn(self, *words: str) -> subprocess.Popen[bytes]:
        """A program on the box that no session started, in a process group of its own."""
        return subprocess.Popen(
            ["nsenter", "-t", str(self.first), "-p", "-m", "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def trust(self) -> None:
        if self._is_dropbear:
            words = ["dropbearkey", "-y", "-f", str(self._dropbear_key)]
            listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            row = next(row for row in listed.splitlines() if row.startswith("ssh-"))
            self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {' '.join(row.split()[:2])}\n")
        else:
            super().trust()

    @property
    def _is_dropbear(self) -> bool:
        return str(self._server).endswith("dropbear")

    @property
    def _dropbear_key(self) -> Path:
        return self.directory / "etc" / "dropbear_key"

    def _command(self, config: Path, log: Path) -> list[str]:
        etc = self.directory / "etc"
        self._accounts(etc)
        (etc / "boot_id").write_text(f"{BOOT_ID}\n")
        (etc / "supervisord").write_text(INETD.format(python=sys.executable))
        (etc / "supervisord").chmod(0o755)
        server = [str(self._server)]
        if self._is_dropbear:
            if not self._dropbear_key.exists():
                words = ["dropbearkey", "-t", "ed25519", "-f", str(self._dropbear_key)]
                subprocess.run(words, check=True, capture_output=True)
            alone = (
                ["-i"] if self._start == "inetd" else ["-F", "-E", "-p", f"127.0.0.1:{self.port}"]
            )
            server += ["-r", str(self._dropbear_key), *alone]
        else:
            server += ["-i" if self._start == "inetd" else "-D", "-f", str(config), "-E", str(log)]
        inetd = shlex.join([str(etc / "supervisord"), str(self.port)])
        binds = (
            ("passwd", "/etc/passwd"),
            ("shadow", "/etc/shadow"),
            ("boot_id", "/proc/sys/kernel/random/boot_id"),
        )
        program = "".join(f"mount --bind {etc / ours} {there} || exit\n" for ours, there in binds)
        program += STARTS[self._start].format(server=shlex.join(server), inetd=inetd)
        return [*NAMESPACES, "sh", "-c", f"cd /\n{program}\n"]

    def _accounts(self, etc: Path) -> None:
        """Root and one user, both with the box's home."""
        rows = [row for row in Path("/etc/passwd").read_text().splitlines() if row[:5] != "root:"]
        rows += [
            f"root:x:0:0::{self.home}:/bin/bash",
            f"{USER}:x:{UID}:{UID}::{self.home}:/bin/bash",
        ]
        (etc / "passwd").write_text("\n".join(rows) + "\n")
        (etc / "shadow").write_text("".join(f"{name}:NP:1::::::\n" for name in ("root", USER)))
        keys = self.home / ".ssh"
        keys.mkdir(exist_ok=True)
        shutil.copy(etc / "authorized_keys", keys)
        for place in (self.home, keys, keys / "authorized_keys"):
            os.chown(place, *((UID, UID) if self.user == USER else (0, 0)))
            place.chmod(0o600 if place.is_file() else 0o700)
