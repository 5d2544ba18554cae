"""The box's own clock and boot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.box_host import parse_host

TEXT = b"""date 1763700000 +0800
uptime 86400.55 99.0
boot_id 77427627-700c-463f-a4d1-862d6a5f0ee9
hostname autodl-container-1
"""


def test_a_host():
    host = parse_host(TEXT)
    assert host is not None
    assert host.box_time == 1763700000.0
    assert host.uptime_seconds == 86400.55
    assert host.boot_id == "77427627-700c-463f-a4d1-862d6a5f0ee9"
    assert host.hostname == "autodl-container-1"
    assert host.utc_offset_seconds == 28800


@pytest.mark.parametrize(
    ("line", "machine"),
    [
        ("machine 144935 pid:[4026532178]", "144935 pid:[4026532178]"),
        ("machine  pid:[4026532178]", None),  # PID 1 is hidden
        ("machine 144935 ", None),  # no readlink, or no such link
        ("machine 144935 mnt:[4026532178]", None),
        ("machine 144935 pid:[4026532178] x", None),
        ("machine \u0661 pid:[1]", None),
        ("", None),
    ],
)
def test_what_tells_the_containers_of_one_boot_apart(line: str, machine: str | None):
    host = parse_host(TEXT + line.encode() + b"\n")
    assert host is not None
    assert host.machine == machine


@pytest.mark.parametrize(
    ("zone", "seconds"), [("-0330", -12600), ("+0000", 0), ("UTC", 0), ("", 0)]
)
def test_zones(zone: str, seconds: int):
    host = parse_host(TEXT.replace(b"+0800", zone.encode()))
    assert host is not None
    assert host.utc_offset_seconds == seconds


def test_without_a_clock_there_is_no_host():
    assert parse_host(b"uptime 5.0 1.0\n") is None
    assert parse_host(b"date %s\n") is None


def test_what_cannot_be_read_is_none():
    host = parse_host(b"date 1763700000\nboot_id \x1b[31m\nhostname \n")
    assert host is not None
    assert (host.uptime_seconds, host.boot_id, host.hostname) == (None, None, None)


@given(st.binary(max_size=200))
def test_any_bytes(text):
    host = parse_host(text + b"\n" + TEXT)
    assert host is None or host.hostname is None or host.hostname.isprintable()
