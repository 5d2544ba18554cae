"""`gpu-tui doctor`: what a filled store makes it say, and what a real box makes it say."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from boxes import Sshd

from gpu_tui.cli import doctor
from gpu_tui.cli.doctor import Item, box_items, exit_code, machine_items
from gpu_tui.cli.main import main
from gpu_tui.core.events import LinkChanged, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, QueueFiles, Results, SshAccess
from gpu_tui.core.metrics import GPUS, HOST, MEMORY, MOUNTS, ROSTER, SIGNS
from gpu_tui.core.profile import Sign
from gpu_tui.core.readings import NOT_REPORTED, Gpu, GpuError, GpuTable, Host, Memory, Mount
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.core.sweep import Roster
from gpu_tui.language import catalogue
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

NOW = 1_763_700_000.0
GIB = 1024**3
LIVE = LinkState("live", NOW, host_key="SHA256:abc", latency=0.031)
WELL: dict[str, object] = {
    GPUS.name: Reading(GpuTable((Gpu(0, "H200", "GPU-1"), Gpu(1, "H200", "GPU-2"))), NOW),
    MEMORY.name: Reading(Memory("cgroup2", GIB, 64 * GIB), NOW),
    MOUNTS.name: Reading((Mount("/", "ext4", 10, 100, 10, 100),), NOW),
    HOST.name: Reading(Host(NOW + 0.2, 100.0, "boot"), NOW),
    ROSTER.name: Reading(Roster(), NOW),
}


def look(link: LinkState = LIVE, samples: Mapping[str, object] = WELL) -> FleetView:
    box = Instance("box", SshAccess("gpu.example.org"), queue=QueueFiles("/root/q.txt"))
    store = Store(Fleet(None, (box,)), {})
    store.apply(LinkChanged("box", NOW, link))
    for metric, sample in samples.items():
        store.apply(Sampled("box", NOW, metric, sample))  # type: ignore[arg-type]
    return store.view(NOW)


def items(link: LinkState = LIVE, samples: Mapping[str, object] = WELL) -> dict[str, Item]:
    return {item.check: item for item in box_items(look(link, samples).instances[0])}


def test_a_box_that_is_well() -> None:
    found = items()
    assert list(found) == [
        "ssh", "host key", "sh", "nvidia-smi", "cgroup", "bytes of /", "inodes of /", "clock", "queue",
    ]  # fmt: skip
    assert {item.status for item in found.values()} == {"ok"}
    assert found["ssh"].detail == "connected in 31 ms"
    assert found["nvidia-smi"].detail == "2 × H200"
    assert exit_code(list(found.values()), look()) == 0


def test_what_a_box_shows_to_be_where_no_platform_is_named() -> None:
    signs = (Sign("runpod", "env", "RUNPOD_POD_ID"), Sign("slurm", "env", "SLURM_CONF"))
    none = Reading(GpuTable(error=GpuError("no-nvidia-smi", "no nvidia-smi")), NOW)

    def told(samples: Mapping[str, object]) -> list[Item]:
        box = look(samples={**samples, SIGNS.name: Reading(signs, NOW)}).instances[0]
        return [item for item in box_items(box) if item.check == "platform"]

    assert [item.status for item in told({**WELL, GPUS.name: none})] == ["warn", "warn"]
    (item,) = told(WELL)  # with cards of its own it is no login node
    assert "runpod: it has RUNPOD_POD_ID" in item.detail


DENIED = "df: /: Permission denied"
REFUSED = Mount(
    "/", None, None, None, None, None, why={"bytes_total": DENIED, "inodes_total": DENIED}
)
UNWELL = [
    (GPUS, Reading(GpuTable(error=GpuError("no-driver", "NVIDIA-SMI has failed")), NOW), "nvidia-smi", "fail"),
    (GPUS, Absent("no nvidia-smi", NOW), "nvidia-smi", "warn"),
    (GPUS, Failure(FailureKind.HUNG, "no answer in 5 s", NOW), "nvidia-smi", "unknown"),
    (MEMORY, Reading(Memory("host", 1, None), NOW), "cgroup", "warn"),
    (MOUNTS, Reading((Mount("/", "ext4", 97, 100, 1, 100),), NOW), "bytes of /", "fail"),
    (MOUNTS, Reading((Mount("/", "ext4", 1, 100, 100, 100),), NOW), "inodes of /", "fail"),
    (MOUNTS, Reading((Mount("/", "ext4", 1, 100, 90, 100),), NOW), "inodes of /", "warn"),
    (MOUNTS, Reading((Mount("/", "fuse", None, None, None, None),), NOW), "bytes of /", "unknown"),
    (MOUNTS, Reading((REFUSED,), NOW), "inodes of /", "unknown"),
    (MOUNTS, Reading((replace(REFUSED, why={"inodes_total": NOT_REPORTED}),), NOW), "inodes of /", "ok"),
    (MOUNTS, Failure(FailureKind.HUNG, "df hangs", NOW), "mounts", "unknown"),
    (HOST, Reading(Host(NOW + 3600, 1.0, "b"), NOW), "clock", "warn"),
    (HOST, Reading(Host(NOW - 7, 1.0, "b"), NOW), "clock", "warn"),
    (ROSTER, Absent("no such file", NOW), "queue", "fail"),
]  # fmt: skip


def test_a_box_without_a_card_is_noted_and_fails_nothing() -> None:
    none = GpuTable(error=GpuError("no-nvidia-smi", "there is no nvidia-smi on this box"))
    found = items(samples={**WELL, GPUS.name: Reading(none, NOW)})
    assert found["nvidia-smi"].status == "note"
    assert found["nvidia-smi"].next is not None
    assert exit_code(list(found.values()), look()) == 0


def test_a_disk_that_only_its_platform_knows_fails_nothing_where_it_is_not_there() -> None:
    gone = Mount(
        "/root/autodl-fs", None, None, None, None, None, why={"bytes_total": "no such path"}
    )
    found = items(samples={**WELL, MOUNTS.name: Reading((gone,), NOW)})
    assert found["/root/autodl-fs"].status == "note"
    assert exit_code(list(found.values()), look()) == 0


def test_the_limit_of_memory_is_not_rounded_to_whole_gibibytes() -> None:
    small = Reading(Memory("cgroup1", 1, 1200 * 1024**2), NOW)
    assert "1.2 GiB" in items(samples={**WELL, MEMORY.name: small})["cgroup"].detail


@pytest.mark.parametrize(("metric", "sample", "check", "status"), UNWELL)
def test_what_is_not_well_is_told(metric, sample: object, check: str, status: str) -> None:
    samples = {**WELL, metric.name: sample}
    assert items(samples=samples)[check].status == status
    assert exit_code(list(items(samples=samples).values()), look(samples=samples)) == 1


def test_seconds_that_an_answer_took_are_no_difference_between_clocks() -> None:
    late = {**WELL, HOST.name: Reading(Host(NOW - 3, 100.0, "boot"), NOW)}
    assert items(samples=late)["clock"].status == "ok"


def test_a_time_that_may_have_come_late_says_nothing_of_the_clock() -> None:
    def clock(behind: float, waited: float, *, readings: int = 1) -> Item:
        box = Instance("box", SshAccess("gpu.example.org"), queue=QueueFiles("/root/q.txt"))
        store = Store(Fleet(None, (box,)), {})
        store.apply(LinkChanged("box", NOW - waited, replace(LIVE, since=NOW - waited)))
        for n in range(readings):
            told = Reading(Host(NOW + 15 * n - behind, 100.0, "boot"), NOW + 15 * n)
            store.apply(Sampled("box", told.taken_at, HOST.name, told))
        view = store.view(NOW + 15 * (readings - 1))
        return next(item for item in box_items(view.instances[0]) if item.check == "clock")

    assert clock(12, 20).status == "unknown"
    assert "came up to 20 s late" in clock(12, 20).detail
    assert clock(12, 3).status == "warn"  # it was under way for three seconds at most
    assert clock(12, 20, readings=2).status == "warn"  # two in a row are not late by the same
    assert clock(-12, 20).status == "warn"  # what is late can only seem to be behind
    assert clock(2, 20).status == "ok"


def test_nothing_read_is_unknown_not_well() -> None:
    found = items(samples={})
    assert found["sh"].status == found["cgroup"].status == found["clock"].status == "unknown"


def test_a_box_out_of_reach_says_where_it_ends() -> None:
    link = LinkState("timeout", NOW, "nothing answered in 15 s", "Check the console.", "bastion")
    found = items(link)
    assert found["ssh"].status == "fail"
    assert found["ssh"].next == "Check the console."
    assert len(found) == 1
    assert exit_code(list(found.values()), look(link)) == 2


def test_a_host_key_is_a_check_of_its_own() -> None:
    assert items(LinkState("host-key", NOW, "the key changed"))["host key"].status == "fail"


def test_this_machine_is_looked_at_too(tmp_path: Path) -> None:
    local = str(tmp_path / "not/yet/there")
    box = Instance("box", SshAccess("h"), results=Results("/r", local))
    found = {item.check: item for item in machine_items(Fleet(None, (box, box)))}
    assert set(found) == {"torch", "local disk"}
    assert local in found["local disk"].detail


def test_each_reader_that_verify_lacks_is_named_with_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "_installed", {"torch": "2.13.0", "h5py": "3.16"}.get)
    found = {item.check: item for item in machine_items(Fleet(None, ()))}
    assert {check: item.status for check, item in found.items()} == {
        "torch": "ok", "safetensors": "warn", "msgpack": "warn",
    }  # fmt: skip
    assert ".msgpack cannot be loaded" in found["msgpack"].detail
    assert "gpu-tui[verify]" in (found["msgpack"].next or "")
    words = catalogue("zh").sentences
    for reader, files in doctor.READERS.items():
        assert f"{reader} is not installed: {files} cannot be loaded" in words


def test_another_persons_directory_is_told_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for everybody but root: what lies in it cannot even be looked for."""
    closed, look = tmp_path / "closed", os.stat
    closed.mkdir()

    def stat(path: str | Path, **options: bool) -> os.stat_result:
        if closed in Path(path).parents:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **options)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed)
    box = Instance("a", SshAccess("h"), results=Results("/r", str(closed / "theirs/a")))
    items = [one for one in machine_items(Fleet(None, (box,))) if one.check == "local disk"]
    assert [one.status for one in items] == ["fail", "ok"]
    assert items[0].detail == f"{closed}/theirs/a cannot be written"
    assert "results.local" in (items[0].next or "")


def fleet_file(box: Sshd, path: Path, **changes: object) -> Path:
    access = box.ssh_access
    ssh = {"known_hosts": access.known_hosts, "identity": access.identity, "config": access.config}
    host = f"ssh://{access.user}@{access.host}:{access.port}"
    row = {"name": "lab", "host": host, "mounts": ["/"], "ssh": ssh | changes}
    file = path / "fleet.yaml"
    file.write_text(yaml.safe_dump({"instances": [row]}))
    return file


def test_a_real_box(
    box: Sshd,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code = main(["doctor", "--json", "--fleet", str(fleet_file(box, tmp_path))])
    body = json.loads(capsys.readouterr().out)
    found = {item["check"]: item for item in body["items"] if item["instance"] == "lab"}
    assert found["ssh"]["status"] == found["sh"]["status"] == found["clock"]["status"] == "ok"
    assert found["host key"]["detail"].startswith("SHA256:")
    assert {"nvidia-smi", "cgroup", "bytes of /", "inodes of /"} <= set(found)
    assert code in (0, 1)
    assert set(body["items"][0]) == {"instance", "check", "status", "detail", "next"}


def test_a_real_box_with_an_unknown_host_key(
    box: Sshd,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "empty").touch()
    file = fleet_file(box, tmp_path, known_hosts=str(tmp_path / "empty"))
    assert main(["doctor", "--json", "--fleet", str(file)]) == 2
    body = json.loads(capsys.readouterr().out)
    item = next(item for item in body["items"] if item["instance"] == "lab")
    assert (item["check"], item["status"]) == ("host key", "fail")
    assert item["next"]


def test_hands_that_are_held_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> list[str]:
        return [item.detail for item in machine_items(Fleet(None, ())) if item.check == "read-only"]

    monkeypatch.delenv("GPU_TUI_READONLY", raising=False)
    assert said() == []
    monkeypatch.setenv("GPU_TUI_READONLY", "1")
    (line,) = said()
    assert "nothing can be stopped from here, and no flag lifts it" in line
