"""`gpu-tui init`: the fleet file that it writes loads."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from gpu_tui.cli.init import SshHost, fleet_text, ssh_hosts
from gpu_tui.cli.main import main
from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet

CONFIG = """\
Include extra/*.conf
Host *
  ServerAliveInterval 5
Host autodl-1 autodl-2 gpu-* !not
  HostName connect.west.seetacloud.com
  HostName second.example.org
Host=pod
  HostName=ssh.runpod.io
host "quoted" bad;name
  hostname 10.0.0.7
Match host x
  HostName never
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra/a.conf").write_text("Host lab # mine\n  HostName lab.example.org\n")
    path = tmp_path / "config"
    path.write_text(CONFIG)
    return path


def test_hosts_are_read_as_ssh_reads_them(config: Path) -> None:
    assert list(ssh_hosts(config)) == [
        SshHost("lab", "lab.example.org"),
        SshHost("autodl-1", "connect.west.seetacloud.com"),
        SshHost("autodl-2", "connect.west.seetacloud.com"),
        SshHost("pod", "ssh.runpod.io"),
        SshHost("quoted", "10.0.0.7"),
    ]


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Include config\nHost a\n")
    assert ssh_hosts(path) == [SshHost("a")]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("Host\tbox\n\tHostName\t10.0.0.7\n", [SshHost("box", "10.0.0.7")]),
        ("Host box\n HostName = 10.0.0.7\n", [SshHost("box", "10.0.0.7")]),
        # ssh takes the first value of a setting, in whatever block of this alias it stands
        (
            "Host box\n User me\nHost box other\n HostName 10.0.0.7\nHost box\n HostName 10.0.0.8\n",
            [SshHost("box", "10.0.0.7"), SshHost("other", "10.0.0.7")],
        ),
        ("Include ~nobody-here/x /\nHost box\n", [SshHost("box")]),
        ("Host box # Bob's, don't touch\n HostName 10.0.0.7\n", [SshHost("box", "10.0.0.7")]),
        ("Include conf.d/*/hosts\nHost box\n", [SshHost("deep"), SshHost("box")]),
        ("Include conf.d/first\nHost box\n", [SshHost("second"), SshHost("box")]),
    ],
)
def test_what_people_write_is_read_as_ssh_reads_it(
    text: str, hosts: list[SshHost], tmp_path: Path
) -> None:
    (tmp_path / "conf.d/a").mkdir(parents=True)
    (tmp_path / "conf.d/a/hosts").write_text("Host deep\n")
    (tmp_path / "conf.d/first").write_text("Include second\n")
    (tmp_path / "second").write_text("Host second\n")
    (tmp_path / "config").write_text(text)
    assert ssh_hosts(tmp_path / "config") == hosts


def test_a_comment_in_another_encoding_stands_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes("# 实验室的机器\nHost box\n".encode("gb18030"))
    assert ssh_hosts(path) == [SshHost("box")]


@pytest.mark.parametrize(
    ("address", "platform"),
    [
        ("connect.x.seetacloud.com", "autodl"),
        ("hz-t2.matpool.com", "matpool"),
        ("i-1.gpushare.com", "gpushare"),
        ("workspace.featurize.cn", "featurize"),
        ("ssh.rde-ws.lanrui-ai.com", "lanrui"),
        ("region-1.autodl.com", "autodl"),
        ("ssh.runpod.io", "runpod"),
        ("ssh5.vast.ai", "vastai"),
        ("notvast.ai.example.org", "generic-ssh"),
        ("evilvast.ai", "generic-ssh"),
        (None, "generic-ssh"),
    ],
)
def test_an_address_may_give_the_platform_away(address: str | None, platform: str) -> None:
    assert SshHost("box", address).platform == platform


def test_the_written_file_loads(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fleet.yaml"
    assert main(["init", "--ssh-config", str(config), "--out", str(out)]) == 0
    assert "5 instances" in capsys.readouterr().out
    fleet = load_fleet(out, load_profiles())
    assert fleet.names == ("lab", "autodl-1", "autodl-2", "pod", "quoted")
    assert fleet["pod"].platform == "runpod"


def test_an_alias_in_any_language_is_taken(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text("Host 盒子-a 盒子 box a,b\n  HostName 10.0.0.7\n")
    out = tmp_path / "fleet.yaml"
    assert main(["init", "--ssh-config", str(config), "--out", str(out)]) == 0
    assert "3 instances" in capsys.readouterr().out
    fleet = load_fleet(out, load_profiles())
    assert [(box.name, box.ssh.host) for box in fleet.instances] == [
        ("a", "盒子-a"), ("box", "盒子"), ("box-2", "box"),
    ]  # fmt: skip


def test_a_code_host_is_no_box(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(CONFIG + "Host github.com\n  User git\nHost hub\n  HostName ssh.github.com\n")
    out = tmp_path / "fleet.yaml"
    assert main(["init", "--ssh-config", str(config), "--out", str(out)]) == 0
    assert "5 instances" in capsys.readouterr().out
    assert "hub" not in out.read_text()


def test_every_commented_key_is_a_key(tmp_path: Path) -> None:
    """The comments of the first entry are a fleet file too."""
    text = re.sub(r"^( +)# ", r"\1", fleet_text([SshHost("box")]), flags=re.MULTILINE)
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    box = load_fleet(path, load_profiles())["box"]
    assert box.read_only
    assert box.tags == ("ablation",)
    assert box.scheduler == "slurm"


def test_a_file_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "fleet.yaml"
    out.write_text("mine")
    config = tmp_path / "none"
    config.write_text("")
    words = ["init", "--ssh-config", str(config), "--out", str(out)]
    assert main(words) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        assert main([*words, "--force"]) == 2
        assert f"No space left on device: {out}\n" in capsys.readouterr().err
        assert main([*words[:-1], str(tmp_path / "new.yaml")]) == 2
    assert sorted(os.listdir(tmp_path)) == ["fleet.yaml", "none"]
    assert out.read_text() == "mine"
    out.chmod(0o600)
    assert main([*words, "--force"]) == 0
    assert load_fleet(out, load_profiles()).names == ("my-box",)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
