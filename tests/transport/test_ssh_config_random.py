"""Random configs, read without OpenSSH and by the real ssh: what both make of them is the same, or it is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest
from test_ssh_config import both, no_openssh, read  # noqa: F401 - a fixture

from gpu_tui.transport.ssh_config import ConfigRefused

ROUNDS = 2000 if os.environ.get("GPU_TUI_NIGHTLY") else 100
PATTERNS = ("box", "*", "b*", "!box", "far", "bo?", "other", "!other", "10.*", "b[o]x")
CRITERIA = {
    "host": PATTERNS,
    "originalhost": PATTERNS,
    "user": ("root", "me", "m*"),
    "localuser": ("root", "x"),
}
LINES = (
    "Port 11", "Port 12", "User me", "User root", "User a@b", "HostName far", "HostName %h.example",
    "HostName 10.0.0.1", "Compression yes", "Compression no", "IdentitiesOnly yes", "IdentitiesOnly no",
    "HostKeyAlias al", "ProxyJump none", "ProxyJump a", "ProxyJump u@b:3,c", "ProxyCommand none",
    "ProxyCommand nc %h %p", "ProxyJump u@[fe80::1]:3", "CertificateFile /a", "ProxyCommand x | y && z",
    "IdentityFile /k/%h", "IdentityFile /%n/%p", "IdentityFile none", "IdentityAgent /s/%r", "IdentityAgent $AGENT",
    "ConnectTimeout 5", "ConnectTimeout 7", "AddressFamily inet", "BindAddress 127.0.0.1", "TCPKeepAlive no",
    "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PreferredAuthentications publickey,password",
    "Ciphers aes256-ctr", "HostKeyAlgorithms ssh-ed25519", "UserKnownHostsFile /a /b", "GlobalKnownHostsFile /c",
    "IgnoreUnknown Foo", "Foo bar", "ForwardAgent yes", "Port ssh", "User none", "HostName Far", "ProxyCommand = x",
    "ConnectTimeout 1m", "HostName far # ours", "IdentityFile /%C", "UserKnownHostsFile /%k",
)  # fmt: skip


def block(random: Random, includes: list[Path], depth: int = 0) -> str:
    """A Host or Match line, or none, and what stands below it."""
    draw = random.random()
    lines = []
    if draw < 0.45:
        lines = ["Host " + " ".join(random.choices(PATTERNS, k=random.randint(1, 3)))]
    elif draw < 0.8:
        words = []
        for name in random.choices(list(CRITERIA), k=random.randint(1, 3)):
            words.append(f"{random.choice(('', '!'))}{name} {random.choice(CRITERIA[name])}")
        final = random.choices(("", "final", "exec true"), (18, 1, 1))
        lines = ["Match " + " ".join([*final, *words])]
    elif draw < 0.9:
        lines = ["Match all"]
    for _ in range(random.randint(0, 4)):
        line = random.choice(LINES)
        if depth < 2 and random.random() < 0.08:
            path = includes[0].with_name(f"more{len(includes)}")
            includes.append(path)
            path.write_text("\n".join(block(random, includes, depth + 1) for _ in range(2)) + "\n")
            line = f"Include {path}"
        lines.append(random.choice((" ", "", "\t")) + line)
    return "\n".join(lines)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")
def test_a_random_config_means_what_it_means_to_ssh_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = 0
    for seed in range(ROUNDS):
        random = Random(seed)
        path = tmp_path / "config"
        text = "\n".join(block(random, [path]) for _ in range(random.randint(1, 5))) + "\n"
        try:
            without, by_ssh = both(read(path, text), monkeypatch)
        except ConfigRefused:
            continue
        assert without == by_ssh, f"seed {seed}\n{text}"
        alike += 1
    assert alike > ROUNDS / 4
