"""No fleet file and no terminal: words that say what to do, from what ssh knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tui.cli.first_start import found_hosts, in_words, known_names
from gpu_tui.cli.init import SshHost
from gpu_tui.cli.main import main

KNOWN = """\
# a comment
old.example.org,198.51.100.7 ssh-ed25519 AAAA
|1|hash|ed= ssh-ed25519 AAAA
@cert-authority *.example.org ssh-ed25519 AAAA
[203.0.113.5]:2222 ssh-ed25519 AAAA
bad;name ssh-ed25519 AAAA
old.example.org ssh-rsa AAAA
"""


def test_names_of_known_hosts_are_dialled_as_they_were_met(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(KNOWN)
    assert list(known_names(file)) == ["old.example.org", "ssh://203.0.113.5:2222"]
    assert list(known_names(tmp_path / "none")) == []


def test_an_address_behind_an_alias_is_not_offered_twice(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/known_hosts").write_text(KNOWN)
    (tmp_path / ".ssh/config").write_text("Host pod\n  HostName 203.0.113.5\n  Port 2222\n")
    assert [(host.alias, source) for host, source in found_hosts(tmp_path)] == [
        ("pod", "config"),
        ("old.example.org", "known_hosts"),
    ]


def test_words_name_the_hosts_or_the_way_without_any() -> None:
    many = [(SshHost(f"box-{n}"), "config") for n in range(10)]
    assert "box-0, box-1" in in_words(many)
    assert "and 2 more" in in_words(many)
    assert "gpu-tui init" in in_words(many)
    assert "gpu-tui demo" in in_words([])
    assert "gpu-tui watch user@host" in in_words([])


def test_without_a_terminal_it_says_so_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("GPU_TUI_FLEET", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    assert "there is no fleet file" in capsys.readouterr().err
    assert not (tmp_path / "fleet.yaml").exists()
