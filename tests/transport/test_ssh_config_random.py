"""Random configs, read by us and by the real ssh: what both make of them is the same."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest
from test_ssh_config import no_openssh, oracle, ours, read  # noqa: F401 - a fixture

from gpu_tui.transport.access import resolve

ROUNDS = 2000 if os.environ.get("GPU_TUI_NIGHTLY") else 100
PATTERNS = (
    "box",
    "*",
    "b*",
    "!box",
    "far",
    "bo?",
    "other",
    "BOX",
    "!other",
    "10.*",
    "*.Example",
    "a,box",
    "!far,*",
    "b[o]x",
)
CRITERIA = {
    "host": PATTERNS,
    "originalhost": PATTERNS,
    "user": ("root", "me", "m*"),
    "localuser": ("root", "x"),
    "exec": ("true", "false", '"test %n = box"', '"test %h = far"', '"test %p = 22"'),
}
LINES = (
    "Port 11", "Port 12", "User me", "User root", "User none", "User a@b", "HostName far", "HostName %h.example",
    "HostName 10.0.0.1", "HostName Far.Example", "Compression yes", "Compression no",
    "IdentitiesOnly yes", "IdentitiesOnly no", "HostKeyAlias al", "HostKeyAlias none",
    "ProxyJump none", "ProxyJump a", "ProxyJump u@b:3,c", "ProxyCommand none",
    "ProxyCommand nc %h %p", "ProxyCommand = = x %h", "ProxyJump u@[fe80::1]:3",
    "UserKnownHostsFile /%C/%k /%r/%n/%L", "CertificateFile /a", "ProxyCommand x | y && z",
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
        final = random.choices(("", "final", "!final"), (8, 1, 1))
        lines = ["Match " + " ".join([*final, *words])]
    elif draw < 0.9:
        lines = [random.choice(("Match all", "Match final all"))]
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
def test_random_configs_mean_the_same_to_both(tmp_path: Path) -> None:
    for seed in range(ROUNDS):
        random = Random(seed)
        path = tmp_path / "config"
        text = "\n".join(block(random, [path]) for _ in range(random.randint(1, 5))) + "\n"
        said, expected = ours(resolve(read(path, text))), oracle(path)
        for word in ("hostkeyalias", "proxyjump", "proxycommand"):
            said.setdefault(word, ["none"])
            expected.setdefault(word, ["none"])
        [command] = expected["proxycommand"]
        for token, word in (("%h", "hostname"), ("%p", "port")):
            command = command.replace(token, expected[word][0])
        expected["proxycommand"] = [command]
        wrong = {
            word: (said[word], expected[word]) for word in said if word != "userknownhostsfile"
        }
        wrong = {word: both for word, both in wrong.items() if both[0] != both[1]}
        assert not wrong, f"seed {seed}: {wrong}\n{text}"
