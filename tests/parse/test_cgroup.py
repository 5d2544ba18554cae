"""The kernel's memory and CPU numbers by cgroup v2, v1 or none."""

from __future__ import annotations

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
