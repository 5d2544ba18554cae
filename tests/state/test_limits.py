"""Findings of a watched box for full, dead and missing disks and for full memory, by the limit that applies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.core.events import LinkChanged, Sampled
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.readings import Memory
from gpu_tui.core.sample import Reading
from gpu_tui.parse.cgroup import parse_memory
from gpu_tui.parse.df import parse_mount
from gpu_tui.state.contract import check_json
from gpu_tui.state.history import History, NoHistory, SqliteHistory
from gpu_tui.state.prometheus import exposition
from gpu_tui.state.store import Store

NOW = 1.79e9
HEAD = "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
BOX = Instance("box", SshAccess("box"), mounts=("/data",))


class Watch:
    """One watched box; `key` is its host key."""

    def __init__(self, history: History | None = None, at: float = NOW, key: str = "k1") -> None:
        self.at = at
        self.store = Store(Fleet(None, (BOX,)), {}, history or NoHistory())
        self.store.apply(LinkChanged("box", at, LinkState("live", since=at, host_key=key)))

    def read(self, metric: str, value: object) -> None:
        self.store.apply(Sampled("box", self.at, metric, Reading(value, self.at, 60.0)))

    def disk(self, text: str, path: str = "/data", code: int = 0) -> None:
        self.read("mounts", (parse_mount(path, text.encode(), code, None, 0, {}),))

    def memory(self, text: str) -> Memory:
        found = parse_memory(text.encode())
        assert found is not None
        self.read("memory", found)
        return found

    def found(self) -> list[tuple[str, Severity]]:
        return [(one.kind, one.severity) for one in self.findings()]

    def findings(self) -> tuple[Finding, ...]:
        return self.store.view(self.at)["box"].findings

    def json(self) -> dict[str, object]:
        (box,) = check_json(self.store.view(self.at))["instances"]  # type: ignore[misc]
        assert isinstance(box, dict)
        return box


@pytest.mark.parametrize(
    ("row", "full"),
    [
        ("/dev/a 1000 949 0 100% /data", True),
        ("/dev/a 1000 700 1 100% /data", True),
        ("/dev/a 1000 500 450 53% /data", False),
        ("/dev/a 1000 970 300 77% /data", False),
    ],
)
def test_a_disk_is_full_when_nothing_is_available(row: str, full: bool) -> None:
    watch = Watch()
    watch.disk(f"{HEAD}{row}\n")
    assert watch.found() == ([("disk_full", Severity.SERIOUS)] if full else [])


def test_a_dead_disk_is_serious_and_every_output_names_it() -> None:
    watch = Watch()
    watch.disk("df: /data: Transport endpoint is not connected\n", code=1)
    (found,) = watch.findings()
    assert (found.kind, found.severity, found.part) == ("mount_bad", Severity.SERIOUS, "/data")
    assert found.evidence == (
        "/data: the disk is not connected: Transport endpoint is not connected"
    )
    (mount,) = watch.json()["mounts"]  # type: ignore[misc]
    assert (mount["state"], mount["bytes_total"]) == ("not-connected", None)
    text = exposition(watch.store.view(NOW), "1")
    assert 'gpu_tui_mount_bad{instance="box",mountpoint="/data",state="not-connected"} 1' in text
    watch.at += 20
    watch.disk(f"{HEAD}/dev/a 1000 500 450 53% /data\n")
    assert watch.found() == []


def test_a_disk_that_a_look_of_another_start_saw_is_missed(tmp_path: Path) -> None:
    path, there, gone = (
        tmp_path / "h.sqlite",
        f"{HEAD}/dev/a 9 5 4 53% /vol\n",
        f"{HEAD}/dev/r 9 5 4 53% /\n",
    )
    with SqliteHistory(path) as history:
        Watch(history).disk(there, "/vol")
    for key, days, kinds in (("k1", 1, ["mount_bad"]), ("k2", 1, []), ("k1", 9, [])):
        with SqliteHistory(path) as history:
            later = Watch(history, NOW + days * 86400, key)
            later.disk(gone, "/vol")
            assert [kind for kind, _ in later.found()] == kinds, (key, days)


def test_numbers_of_the_root_disk_are_not_shown_under_a_volume() -> None:
    watch = Watch()
    mount = parse_mount("/data", f"{HEAD}/dev/r 1000 990 9 100% /\n".encode(), 0, None, 0, {})
    watch.read("mounts", (replace(mount, named=True),))
    assert watch.found() == [("mount_bad", Severity.SERIOUS)]
    (told,) = watch.json()["mounts"]  # type: ignore[misc]
    assert (told["state"], told["bytes_used"], told["mounted_at"]) == ("not-mounted", None, "/")
    assert "mount_used_bytes" not in exposition(watch.store.view(NOW), "1")


V2 = "v2.current 99000\nv2.max {limit}\nv2.stat inactive_file 0\nv2.stat active_file {cache}\n"
HOST = "meminfo MemTotal: 1000 kB\nmeminfo MemFree: 1 kB\nmeminfo MemAvailable: {free} kB\n{more}"


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        (V2.format(limit=100_000, cache=0), True),
        (V2.format(limit=100_000, cache=60_000), False),  # its files are in use, and can go
        (V2.format(limit="max", cache=0), False),
        (HOST.format(free=15, more=""), True),
        (HOST.format(free=15, more="meminfo SwapTotal: 900 kB\nmeminfo SwapFree: 800 kB\n"), False),
        (HOST.format(free=15, more="meminfo Hugetlb: 950 kB\n"), False),
        (HOST.format(free=300, more=""), False),  # the rest is page cache
        (V2.format(limit="max", cache=0) + HOST.format(free=15, more=""), True),
        (V2.format(limit=9_000_000, cache=0) + HOST.format(free=15, more=""), True),
        (V2.format(limit=500_000, cache=0) + HOST.format(free=15, more=""), False),  # its own binds
        ("v1.usage 990\nv1.limit 9223372036854771712\n" + HOST.format(free=15, more=""), True),
        ("v1.usage 990\nv1.limit 9223372036854771712\n", False),
    ],
)
def test_memory_that_runs_out(text: str, warns: bool) -> None:
    watch = Watch()
    watch.memory(text)
    assert watch.found() == ([("mem_pressure", Severity.WARN)] if warns else [])


def test_the_cgroup_that_binds_is_named() -> None:
    watch = Watch()
    watch.memory(
        "level 0\nv2.current 318\nv2.max 1280\nv2.name /job/step\n"
        "level 1\nv2.current 319\nv2.max 320\nv2.name /job\n"
    )
    (found,) = watch.findings()
    assert found.evidence.endswith("; the limit is that of /job")


def test_another_cgroup_that_binds_now_is_no_kill(tmp_path: Path) -> None:
    def memory(level: str, kills: int) -> Memory:
        return Memory("cgroup2", 1, 100, oom_kill=kills, level=level)

    path = tmp_path / "h.sqlite"
    with SqliteHistory(path) as history:
        watch = Watch(history)
        for level, kills in (("/job", 5), ("/job/step", 0), ("/job", 5), ("/job/step", 0)):
            watch.at += 10
            watch.read("memory", memory(level, kills))
            assert watch.found() == []
    with SqliteHistory(path) as history:
        later = Watch(history, NOW + 600)
        later.read("memory", memory("/job", 5))
        assert later.found() == []
        later.at += 10
        later.read("memory", memory("/job/step", 1))
        assert [kind for kind, _ in later.found()] == ["host_oom"]
