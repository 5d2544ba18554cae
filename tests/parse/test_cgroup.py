"""The kernel's memory and CPU numbers by cgroup v2, v1 or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.cgroup import parse_cpu, parse_memory

V2 = b"""v2.current 5000
v2.max 8000
v2.peak 7000
v2.events oom_kill 3
v2.stat inactive_file 1000
"""
V1 = b"""v1.usage 5000
v1.limit 9223372036854771712
v1.peak 6000
v1.oom oom_kill 1
v1.stat total_inactive_file 700
"""
HOST = b"meminfo MemTotal:       1000 kB\nmeminfo MemAvailable:    400 kB\nvmstat oom_kill 2\n"


def test_v2():
    memory = parse_memory(V2)
    assert memory is not None
    assert memory.source == "cgroup2"
    assert (memory.used, memory.limit, memory.peak) == (5000, 8000, 7000)
    assert (memory.oom_kill, memory.cache) == (3, 1000)
    assert memory.why == {}


def test_v2_without_a_limit_and_on_an_older_kernel():
    memory = parse_memory(b"v2.current 5000\nv2.max max\nv2.events oom_kill 0\n")
    assert memory is not None
    assert memory.limit is None
    assert memory.why["limit"] == "this cgroup sets no limit"
    assert memory.peak is None
    assert "peak" in memory.why
    assert memory.oom_kill == 0


def test_v1_writes_no_limit_as_a_huge_number():
    memory = parse_memory(V1)
    assert memory is not None
    assert (memory.source, memory.used, memory.limit) == ("cgroup1", 5000, None)
    assert (memory.peak, memory.oom_kill, memory.cache) == (6000, 1, 700)
    limited = parse_memory(V1.replace(b"9223372036854771712", b"64000"))
    assert limited is not None
    assert limited.limit == 64000


def test_without_a_cgroup_the_host_is_named_as_the_source():
    memory = parse_memory(HOST)
    assert memory is not None
    assert memory.source == "host"
    assert (memory.used, memory.limit) == (600 * 1024, 1000 * 1024)
    assert memory.oom_kill == 2


INNER = b"level 0\nv2.current 31800\nv2.max 128000\nv2.events oom_kill 0\nv2.name /job/step\n"
OUTER = b"level 1\nv2.current 31900\nv2.max 32000\nv2.events oom_kill 4\nv2.name /job\n"


def test_of_nested_cgroups_the_one_with_the_least_room_counts():
    memory = parse_memory(INNER + OUTER)
    assert memory is not None
    assert (memory.level, memory.used, memory.limit) == ("/job", 31900, 32000)
    assert memory.oom_kill == 4
    cached = OUTER + b"v2.stat inactive_file 20000\nv2.stat active_file 11000\n"
    memory = parse_memory(INNER.replace(b"31800", b"127000") + cached)
    assert memory is not None
    assert (memory.level, memory.oom_kill) == ("/job/step", 0)


def test_the_sections_of_nested_cgroups_come_one_after_another():
    first, second = (
        b"level 0\nv2.current 10\nlevel 1\nv2.current 30\n",
        b"level 0\nv2.max 90\nv2.name /a/b\nlevel 1\nv2.max 31\nv2.name /a\nmeminfo MemTotal: 8 kB\n",
    )
    memory = parse_memory(first + second)
    assert memory is not None
    assert (memory.level, memory.used, memory.limit) == ("/a", 30, 31)


@pytest.mark.parametrize(
    ("high", "limit", "soft"), [("max", 8000, False), ("6000", 6000, True), ("9000", 8000, False)]
)
def test_memory_high_binds_where_it_is_below_memory_max(high: str, limit: int, soft: bool):
    memory = parse_memory(V2 + b"v2.high " + high.encode() + b"\n")
    assert memory is not None
    assert (memory.limit, memory.soft) == (limit, soft)


@pytest.mark.parametrize(
    ("more", "room", "total"),
    [
        ("", 20, 1000),
        ("SwapTotal: 500 kB\nSwapFree: 400 kB", 420, 1500),
        ("Hugetlb: 960 kB", 20, 40),
    ],
)
def test_room_of_the_machine(more: str, room: int, total: int):
    lines = f"MemTotal: 1000 kB\nMemAvailable: 20 kB\n{more}".strip().split("\n")
    text = "".join(f"meminfo {line}\n" for line in lines).encode()
    for memory in (parse_memory(text), parse_memory(V1 + text)):
        assert memory is not None
        assert (memory.host_room, memory.host_total) == (room * 1024, total * 1024)


def test_nothing_readable_is_nothing():
    assert parse_memory(b"") is None
    assert parse_memory(b"meminfo MemTotal: lots\n") is None
    assert parse_cpu(b"") is None


def test_cpu_v2():
    cpu = parse_cpu(
        b"v2.max 1600000 100000\nv2.stat usage_usec 2500000\nv2.stat nr_periods 10\n"
        b"v2.stat nr_throttled 4\nloadavg 490.10 1.00 1.00 2/300 1\n"
    )
    assert cpu is not None
    assert (cpu.quota_cores, cpu.usage_seconds) == (16.0, 2.5)
    assert (cpu.periods, cpu.throttled_periods, cpu.host_load1) == (10, 4, 490.1)


def test_cpu_v1_and_no_quota():
    text = b"v1.quota %d\nv1.period 100000\nv1.usage 3000000000\nv1.stat nr_periods 0\nv1.stat nr_throttled 0\n"
    limited, free = parse_cpu(text % 250000), parse_cpu(text % -1)
    assert limited is not None
    assert free is not None
    assert (limited.quota_cores, limited.usage_seconds) == (2.5, 3.0)
    assert free.quota_cores is None
    assert free.host_load1 is None
    assert parse_cpu(b"v2.max max 100000\n").quota_cores is None  # type: ignore[union-attr]


@given(st.binary(max_size=300))
def test_any_bytes(text):
    for start in (b"", V2, V1):
        memory = parse_memory(text + b"\n" + start)
        assert memory is None or memory.used is None or memory.used >= 0
        parse_cpu(text + b"\n" + start)
