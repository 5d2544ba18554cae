"""What is made of ssh_config and the fleet file: where asyncssh and ssh differ, ssh is right."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest
from boxes import make_key

from gpu_tui.core.fleet import SshAccess
from gpu_tui.transport.access import hop_access, resolve, routes_to
from gpu_tui.transport.base import HostKeyRejected, LinkError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def config(home: Path, text: str) -> SshAccess:
    (home / ".ssh" / "config").write_text(text)
    return SshAccess("box")


def test_without_any_config(home: Path) -> None:
    route = resolve(SshAccess("h", "u", 2222))
    assert (route.host, route.port, route.user, route.jump) == ("h", 2222, "u", None)
    assert route.identities == ()
    assert str(home / ".ssh/known_hosts") in route.known_hosts
    assert route.command == "ssh -p 2222 u@h"


def test_who_runs_it_needs_no_name_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:  # as in a container that any user may run
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert resolve(SshAccess("h", "u")).user == "u"
    assert resolve(SshAccess("h")).user == str(os.getuid())


def test_the_users_own_config_is_read(home: Path) -> None:
    make_key(home / ".ssh" / "k", "k")
    access = config(
        home,
        "Host box\n HostName 10.0.0.1\n Port 2200\n User lab\n IdentityFile ~/.ssh/none\n"
        " IdentityFile %d/.ssh/k\n HostKeyAlias rented\n IdentitiesOnly yes\n"
        " UserKnownHostsFile ~/.ssh/kh_%h %d/other\n ProxyJump a@hop:2022,second\n",
    )
    route = resolve(access)
    assert (route.host, route.port, route.user) == ("10.0.0.1", 2200, "lab")
    assert route.identities == (str(home / ".ssh/k"),)
    assert (route.alias, route.identities_only) == ("rented", True)
    assert route.known_hosts[:2] == (str(home / ".ssh/kh_10.0.0.1"), str(home / "other"))
    assert (route.jump, route.command) == ("a@hop:2022,second", "ssh box")
    assert [r.named for r in routes_to(access)] == ["hop", "second", "box"]
    assert (routes_to(access)[0].user, routes_to(access)[0].port) == ("a", 2022)


def test_the_fleet_file_overrides_the_config(home: Path) -> None:
    config(home, "Host box\n User lab\n Port 2200\n ProxyJump hop\n UserKnownHostsFile none\n")
    key = make_key(home / "own", "own")
    access = SshAccess(
        "box", "me", 99, known_hosts=str(home / "kh"), identity=str(key), jump="none"
    )
    route = resolve(access)
    assert (route.user, route.port, route.jump) == ("me", 99, None)
    assert (route.known_hosts, route.identities) == ((str(home / "kh"),), (str(key),))


def test_a_hop_of_the_fleet_file_is_checked_and_entered_with_what_stands_there(home: Path) -> None:
    key = make_key(home / "own", "own")
    access = SshAccess("box", known_hosts=str(home / "kh"), identity=str(key), jump="me@hop:22")
    hop, _ = routes_to(access)
    assert hop.known_hosts[0] == str(home / "kh")
    assert len(hop.known_hosts) > 1
    assert hop.identities == (str(key),)


@pytest.mark.parametrize("word", ["none", "None"])
def test_accepting_any_key_is_refused(home: Path, word: str) -> None:
    with pytest.raises(HostKeyRejected, match="UserKnownHostsFile none"):
        resolve(config(home, f"Host *\n UserKnownHostsFile {word}\n"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "/agent"),
        ("IdentityAgent SSH_AUTH_SOCK", "/agent"),
        ("IdentityAgent $MY_AGENT", "/mine"),
        ("IdentityAgent ${MY_AGENT}", "/mine"),
        ("IdentityAgent ~/sock", "HOME/sock"),
        ("IdentityAgent none", None),
        ("IdentityAgent $UNSET_AGENT", None),
    ],
)
def test_the_agents_socket(
    home: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: str | None
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    monkeypatch.setenv("MY_AGENT", "/mine")
    route = resolve(config(home, f"Host box\n {line}\n"))
    assert route.agent == (expected.replace("HOME", str(home)) if expected else None)


def test_jumps_that_lead_in_a_circle_are_named(home: Path) -> None:
    access = config(home, "Host box\n ProxyJump hop\nHost hop\n ProxyJump box\n")
    with pytest.raises(LinkError, match="in a circle"):
        routes_to(access)


def test_a_hop_follows_its_own_jump(home: Path) -> None:
    access = config(home, "Host box\n ProxyJump inner\nHost inner\n ProxyJump outer\n")
    assert [route.named for route in routes_to(access)] == ["outer", "inner", "box"]


def test_a_config_that_cannot_be_read_is_one_sentence(home: Path) -> None:
    with pytest.raises(LinkError, match="line 2"):
        resolve(config(home, "Host box\n Port many\n"))
    with pytest.raises(LinkError, match="does not exist"):
        resolve(SshAccess("box", config=str(home / "nowhere")))


@pytest.mark.parametrize(
    ("text", "host", "user", "port"),
    [
        ("hop", "hop", None, None),
        ("u@hop:22", "hop", "u", 22),
        ("u@v@hop:ssh", "hop", "u@v", 22),
        ("ssh://u@hop:22", "hop", "u", 22),
        ("u@[fe80::1]:22", "fe80::1", "u", 22),
        ("fe80::1", "fe80::1", None, None),
    ],
)
def test_a_hop_as_it_may_be_written(
    text: str, host: str, user: str | None, port: int | None
) -> None:
    hop = hop_access(text, SshAccess("box", config="/c"))
    assert (hop.host, hop.user, hop.port, hop.config) == (host, user, port, "/c")


def test_who_we_are_is_the_default_user() -> None:
    assert resolve(SshAccess("h")).user == getpass.getuser()
