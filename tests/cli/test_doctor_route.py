"""`gpu-tui doctor --route`: how each host would be reached, without a connection."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from pathlib import Path

import pytest

from gpu_tui.cli.doctor import machine_items
from gpu_tui.cli.main import main
from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.core.speech import Catalogue, speak, told
from gpu_tui.language import catalogue
from gpu_tui.wiring.routes import alone_sentence

SSH = shutil.which("ssh")
pytestmark = pytest.mark.skipif(SSH is None, reason="no ssh here")
Capture = pytest.CaptureFixture[str]
CHAIN = (
    "Host inner\n HostName 10.9.0.2\n ProxyJump alice@gate.example:2222,bob@mid\n IdentityFile ~/.ssh/k_%h\n"
    "Host mid\n HostName 10.9.0.1\n User root\n ProxyJump other\nHost gate.example\n User nope\n"
    "Host far\n ProxyCommand nc -x proxy %h %p %% | cat\n User %u-gpu\nHost chip\n PKCS11Provider /lib/x.so\n"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that ssh would not find, and an ssh that notes what it is called for."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/ssh"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\nexec {SSH} "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def routes(capsys: Capture, *words: str) -> list[dict[str, object]]:
    assert main(["doctor", *words, "--route", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (set(body), body["version"]) == ({"version", "routes"}, 1)
    found: list[dict[str, object]] = body["routes"]
    return found


def test_the_way_through_jump_hosts(home: Path, capsys: Capture) -> None:
    (home / ".ssh/config").write_text(CHAIN)
    me = pwd.getpwuid(os.getuid()).pw_name
    gate = {"host": "gate.example", "hostname": "gate.example", "port": 2222, "user": "alice"}
    mid = {"host": "mid", "hostname": "10.9.0.1", "port": 22, "user": "bob"}
    assert routes(capsys, "inner", "far", "ssh://root@chip:7") == [
        {
            "host": "inner", "hostname": "10.9.0.2", "port": 22, "user": me, "jumps": [gate, mid],
            "proxy_command": None, "identity_files": [f"{home}/.ssh/k_10.9.0.2"], "source": "ssh -G",
        },
        {
            "host": "far", "hostname": "far", "port": 22, "user": "%u-gpu", "jumps": [],
            "proxy_command": "nc -x proxy far 22 % | cat", "identity_files": [], "source": "ssh -G",
        },
        {
            "host": "chip", "hostname": "chip", "port": 7, "user": "root", "jumps": [],
            "proxy_command": None, "identity_files": [], "source": "openssh",
        },
    ]  # fmt: skip


def test_ssh_is_called_for_its_answer_alone(home: Path, capsys: Capture) -> None:
    (home / ".ssh/config").write_text(CHAIN)
    routes(capsys, "inner", "mid")
    calls = (home / "calls").read_text().splitlines()
    assert calls
    assert all(" -G " in call for call in calls)


def test_the_whole_fleet(home: Path, capsys: Capture) -> None:
    (home / "own").write_text("Host *\n Port 9\n")
    (home / "fleet.yaml").write_text(
        "instances:\n  - {name: a, host: one, ssh: {config: ./own}}\n  - {name: b, host: me@two}\n"
        "  - {name: c, scheduler: {kind: kubernetes, namespace: x}}\n"
    )
    assert [(route["host"], route["port"]) for route in routes(capsys)] == [("one", 9), ("two", 22)]
    assert main(["doctor", "--route"]) == 0
    said = capsys.readouterr().out
    assert f"{home}/own alone is read: /etc/ssh/ssh_config is left out\n" in said
    assert "no ssh config is read: $HOME is not the home that ssh uses, and has none" in said


@pytest.mark.parametrize(
    "text", ["Host a\nHsot b\n", "\ufeffHost a\n Port 3\n", "Host z\n Port x\n"]
)
@pytest.mark.parametrize("hosts", [["a"], ["b", "a"]])
def test_what_ssh_refuses_is_an_error(
    text: str, hosts: list[str], home: Path, capsys: Capture
) -> None:
    file = home / ".ssh/config"
    file.write_text(text)
    assert main(["doctor", *hosts, "--route", "--json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert set(error) == {"text", "file", "line", "next"}
    assert (error["file"], error["next"] is None) == (str(file), False)
    assert error["line"] == (1 if text.startswith("\ufeff") else 2)
    assert f"ssh refuses its configuration for {hosts[0]}" in error["text"]
    assert "Traceback" not in err
    assert main(["doctor", *hosts, "--route"]) == 2
    assert capsys.readouterr().out == ""


def test_a_jump_host_that_is_refused_is_an_error(home: Path, capsys: Capture) -> None:
    (home / ".ssh/config").write_text("Host a\n ProxyJump b\nHost b\n IdentityFile ${NO_SUCH}/k\n")
    assert main(["doctor", "a", "--route", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert "has for b" in error["text"]
    assert "set NO_SUCH" in error["next"]


def test_in_words(home: Path, capsys: Capture) -> None:
    (home / ".ssh/config").write_text(CHAIN)
    assert main(["doctor", "inner", "--route"]) == 0
    me = pwd.getpwuid(os.getuid()).pw_name
    assert capsys.readouterr().out.splitlines() == [
        "inner",
        f"  address: {me}@10.9.0.2:22",
        "  jump host: gate.example: alice@gate.example:2222",
        "  jump host: mid: bob@10.9.0.1:22",
        f"  key: {home}/.ssh/k_10.9.0.2",
        "  resolved by: ssh -G",
        f"{home}/.ssh/config alone is read: /etc/ssh/ssh_config is left out",
    ]


def test_without_openssh(home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    (home / ".ssh/config").write_text(CHAIN)
    [route] = routes(capsys, "inner")
    assert (route["hostname"], route["source"]) == ("10.9.0.2", "fallback")
    (home / ".ssh/config").write_text("Host inner\n Prot 3\n")
    assert main(["doctor", "inner", "--route", "--json"]) == 2
    assert "Bad configuration option: prot" in json.loads(capsys.readouterr().out)["error"]["text"]


def test_route_and_bundle_do_not_go_together(capsys: Capture) -> None:
    assert main(["doctor", "a", "--route", "--bundle"]) == 64


def test_a_config_that_is_read_alone_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def notes(**access: str) -> list[str]:
        fleet = Fleet(None, (Instance("a", SshAccess("a", **access)),))  # type: ignore[arg-type]
        return [item.detail for item in machine_items(fleet) if item.check == "ssh config"]

    (home / ".ssh/config").touch()
    assert notes() == [f"{home}/.ssh/config alone is read: /etc/ssh/ssh_config is left out"]
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    assert notes() == []
    (home / "own").touch()
    assert notes(config=f"{home}/own") == [alone_sentence(f"{home}/own")]
    speak(catalogue("zh"))
    try:
        for file in ("/x", os.devnull):
            assert told(alone_sentence(file)) != alone_sentence(file)
    finally:
        speak(Catalogue())
