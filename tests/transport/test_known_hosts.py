"""known_hosts as a table: what a host may show, and what a refusal says. Real keys, real files."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from boxes import make_key

from gpu_tui.transport.access import Route
from gpu_tui.transport.hostkey import refusal
from gpu_tui.transport.known_hosts import KnownHosts, Trust


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two public keys, type and base64."""
    place = tmp_path_factory.mktemp("keys")
    made = [make_key(place / name, name) for name in ("a", "b")]
    first, second = (" ".join(Path(f"{key}.pub").read_text().split()[:2]) for key in made)
    return first, second


def key_of(text: str) -> asyncssh.SSHKey:
    return asyncssh.import_public_key(text)


def trust(tmp_path: Path, text: str, host: str = "box", port: int = 22, **more: str) -> Trust:
    path = tmp_path / "known_hosts"
    path.write_text(text)
    return KnownHosts.read([str(tmp_path / "missing"), str(path)]).trust(host, port, **more)


@pytest.mark.parametrize(
    ("line", "host", "port"),
    [
        ("box {a}", "box", 22),
        ("box {a} a comment", "BOX", 22),
        ("other,box {a}", "box", 22),
        ("[box]:2222 {a}", "box", 2222),
        ("b?x {a}", "box", 22),
        ("*.example,b* {a}", "box", 22),
        ("10.0.0.1 {a}", "10.0.0.1", 22),
        ("[fe80::1]:2222 {a}", "fe80::1", 2222),
        ("box {a}", "box", 2222),  # as ssh: a host without port vouches for the very same key
    ],
)
def test_these_lines_trust_the_key(
    tmp_path: Path, keys: tuple[str, str], line: str, host: str, port: int
) -> None:
    found = trust(tmp_path, line.format(a=keys[0]) + "\n", host, port)
    assert found.accepted == [key_of(keys[0])]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage\n\n# box {a}\nbox\nbox ssh-ed25519 AAAA\n",
        "[box]:2222 {a}\n",
        "boxes {a}\n",
        "b*,!box {a}\n",
        "@revoked box {a}\n",
        "box {a}\n@revoked * {a}\n",
        "@cert-authority box {a}\n",
        "@unknown box {a}\n",
        "|1|notbase64|x {a}\n",
    ],
)
def test_these_lines_trust_nothing(tmp_path: Path, keys: tuple[str, str], text: str) -> None:
    assert trust(tmp_path, text.format(a=keys[0])).accepted == []


@pytest.mark.parametrize("line", ["@cert-authority *.lab {a}\n", "@cert-authority box.lab {a}\n"])
def test_an_authority_of_a_host_vouches_for_all_its_ports(
    tmp_path: Path, keys: tuple[str, str], line: str
) -> None:
    found = trust(tmp_path, line.format(a=keys[0]), "box.lab", 2222)
    assert [entry.key for entry in found.authorities] == [key_of(keys[0])]
    text = line.format(a=keys[0]) + f"@cert-authority [box.lab]:2222 {keys[1]}\n"
    found = trust(tmp_path, text, "box.lab", 2222)  # the port has one of its own
    assert [entry.key for entry in found.authorities] == [key_of(keys[1])]


def test_a_file_that_is_missing_or_no_text_is_empty(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = tmp_path / "known_hosts"
    path.write_bytes(b"\xff\xfe\x00\n" + f"box {keys[0]}\n".encode())
    assert KnownHosts.read([str(path)]).trust("box", 22).accepted == [key_of(keys[0])]
    assert KnownHosts.read([str(tmp_path)]).trust("box", 22).accepted == []


def test_a_hashed_line_is_matched_and_an_alias_stands_for_host_and_port(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"[box]:2222 {keys[0]}\nname {keys[1]}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(path)], check=True, capture_output=True)
    assert "box" not in path.read_text()
    known = KnownHosts.read([str(path)])
    assert known.trust("box", 2222).accepted == [key_of(keys[0])]
    assert known.trust("box", 2223).accepted == []
    assert known.trust("box", 2222, "name").accepted == [key_of(keys[1])]


def refused(tmp_path: Path, text: str, shown: str, port: int = 22) -> tuple[str, str]:
    found = trust(tmp_path, text, port=port)
    route = Route("box", "box", port, "me", command="ssh box", trust=found)
    error = refusal(route, key_of(shown), "Host key is not trusted")
    assert error.host_key == key_of(shown).get_fingerprint()
    assert f"ssh-ed25519 {error.host_key}" in str(error)
    assert error.next
    return str(error), error.next


def test_a_new_key_says_how_to_learn_it(tmp_path: Path, keys: tuple[str, str]) -> None:
    text, hint = refused(tmp_path, "", keys[0])
    assert "unknown" in text
    assert "compare" in hint
    assert hint.endswith("ssh box")
    assert "-R" not in hint


def test_a_changed_key_says_where_the_old_one_stands(tmp_path: Path, keys: tuple[str, str]) -> None:
    text, hint = refused(tmp_path, f"# old\n[box]:2222 {keys[1]}\n", keys[0], 2222)
    assert "CHANGED" in text
    assert "line 2" in text
    assert key_of(keys[1]).get_fingerprint() in text
    assert hint.index("compare") < hint.index("ssh-keygen")
    assert "-R '[box]:2222' && ssh box" in hint


def test_another_port_is_another_box_not_a_changed_one(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    text, _ = refused(tmp_path, f"box {keys[1]}\n[box]:23 {keys[1]}\n", keys[0], 2222)
    assert "unknown" in text
    assert "knows other keys of this host, for box, [box]:23" in text
    text, _ = refused(tmp_path, f"[box]:23 {keys[0]}\n", keys[0], 2222)
    assert "has this very key as [box]:23" in text


def test_a_revoked_key_is_named_and_never_to_be_learnt(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    text, hint = refused(tmp_path, f"[box]:2222 {keys[0]}\n@revoked box {keys[0]}\n", keys[0], 2222)
    assert "revoked" in text
    assert "line 2" in text
    assert "do not connect" in hint


def test_a_certificate_of_nobody_known_is_told_apart(tmp_path: Path) -> None:
    route = replace(Route("box", "box", 22, "me"), trust=trust(tmp_path, ""))
    error = refusal(route, None, "Host CA key is not trusted")
    assert "certificate" in str(error)
    assert error.next
    error = refusal(route, None, "Certificate principal mismatch")  # signed, and for another box
    assert "for other names" in str(error)
    assert "another box may answer" in str(error.next)


def test_a_file_is_read_once_until_it_changes(
    tmp_path: Path, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of boxes share one known_hosts."""
    path = tmp_path / "many"
    first, second = keys
    path.write_text(f"box {first}\n")
    read: list[Path] = []
    plain = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda self, **words: read.append(self) or plain(self, **words)
    )
    for number in range(100):
        assert not KnownHosts.read([str(path)]).trust(f"box-{number}", 22).accepted
    assert KnownHosts.read([str(path)]).trust("box", 22).accepted == [key_of(first)]
    assert len(read) == 1
    path.write_text(f"box {first}\nbox {second}\n")
    assert len(KnownHosts.read([str(path)]).trust("box", 22).accepted) == 2
