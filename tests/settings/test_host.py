"""How hosts are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.host import AddressError, HostAddress, parse_host


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("autodl-1", HostAddress("autodl-1")),
        ("root@10.0.0.7", HostAddress("10.0.0.7", "root")),
        ("ssh://root@gpu.example.org:2222", HostAddress("gpu.example.org", "root", 2222)),
        ("ssh://gpu.example.org", HostAddress("gpu.example.org")),
        ("ssh://gpu.example.org/", HostAddress("gpu.example.org")),
        ("盒子-一", HostAddress("盒子-一")),
        ("root@gpu-größe", HostAddress("gpu-größe", "root")),
        ("me@" + "h" * 1_024, HostAddress("h" * 1_024, "me")),
        ("[2001:db8::1]", HostAddress("2001:db8::1")),
        ("2001:db8::1", HostAddress("2001:db8::1")),
        ("me@[fe80::1%eth0]", HostAddress("fe80::1%eth0", "me")),
        ("ssh://me@[2001:db8::1]:22022", HostAddress("2001:db8::1", "me", 22022)),
        ("pod-64411@ssh.runpod.io", HostAddress("ssh.runpod.io", "pod-64411")),
    ],
)
def test_a_host(text: str, address: HostAddress) -> None:
    assert parse_host(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=ls",
        "root@-oProxyCommand=ls",
        "-l@host",
        "two words",
        "host\n",
        "host;ls",
        "盒子;ls",
        "盒\u3000子",
        "盒\u202e子",
        "盒\x9b子",
        "盒\udce4子",
        "host:70000",
        "ssh://host:0",
        "ssh://host:99999",
        "ssh://host:",
        "[nonsense]",
        "[1:2]",
        "@host",
        "root@",
        "http://host",
        "ssh://host/path",
    ],
)
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(AddressError):
        parse_host(text)


def test_a_host_that_is_too_long_is_told_so_and_not_repeated() -> None:
    with pytest.raises(AddressError, match="1025 characters: the most is 1024") as caught:
        parse_host("h" * 1_025)
    assert "hh" not in caught.value.text


def test_a_port_without_ssh_is_explained() -> None:
    with pytest.raises(AddressError) as caught:
        parse_host("root@host:2222")
    assert caught.value.next == "Write ssh://root@host:2222"


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(AddressError) as caught:
        parse_host("ssh://root:hunter2@host")
    assert "hunter2" not in caught.value.text + caught.value.next


@given(st.text(max_size=40))
def test_no_accepted_host_can_be_an_option(text: str) -> None:
    try:
        address = parse_host(text)
    except AddressError:
        return
    assert not address.host.startswith("-")
    assert not (address.user or "").startswith("-")


@pytest.mark.parametrize(
    ("text", "teaches"),
    [
        ("ssh -p 12345 root@gpu.example.org", "ssh://root@gpu.example.org:12345"),
        ("ssh root@10.0.0.7 -p 10123 -i ~/.ssh/id_ed25519", "ssh://root@10.0.0.7:10123."),
        ("ssh -p2222 me@gpu", "ssh://me@gpu:2222"),
        ("ssh me@gpu", "Write ssh://me@gpu."),
        ("ssh gpu", "an alias of ~/.ssh/config"),
        ("ssh root:hunter2@gpu", "an alias of ~/.ssh/config"),
    ],
)
def test_a_copied_command_is_answered_with_what_to_write(text: str, teaches: str) -> None:
    with pytest.raises(AddressError, match="whole ssh command") as caught:
        parse_host(text)
    assert teaches in caught.value.next
    assert "hunter2" not in caught.value.next
