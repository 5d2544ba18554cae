"""The fixture itself: a real sshd that the ordinary ssh client can use."""

from __future__ import annotations

import subprocess

from boxes import Sshd


def test_the_ordinary_client_logs_in(box: Sshd) -> None:
    access = box.ssh_access
    words = ["ssh", "-F", access.config, "-i", access.identity, "-p", str(access.port)]
    words += ["-o", f"UserKnownHostsFile={access.known_hosts}", "-o", "BatchMode=yes"]
    words += [f"{access.user}@{access.host}", "echo $HOME"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(box.home)
