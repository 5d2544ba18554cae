"""`check` on a real sshd whose cards nobody can read: no verdict "idle", and no exit code 0."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from test_check_real_box import check

LOST = (
    "echo 'Unable to determine the device handle for GPU0000:41:00.0: Unknown Error'\n"
    "echo 'No devices were found'\nexit 255\n"
)
NO_SMI = "exit 127\n"
NONE = "echo 'No devices were found'\nexit 6\n"
ROW = (
    "0, GPU-1a2b3c4d-0000-1111-2222-333344445555, 97, 14322, 16160, 66, 290.11, 300.00, 1530, 1530, 0, "
    "Not Active, Not Active, Not Active, Not Active, Not Active, Tesla V100-SXM2-16GB"
)
APP = "GPU-1a2b3c4d-0000-1111-2222-333344445555, 4242, 14318, python"
INFOROM = (
    f"case $1 in *gpu=index*) echo '{ROW}' ;; *apps*) echo '{APP}' ;; esac\n"
    "echo 'WARNING: infoROM is corrupted at gpu 0000:00:1E.0'\nexit 14\n"
)


def write_box(box, path: Path, smi: str, *devices: str) -> Path:  # type: ignore[no-untyped-def]
    """The fleet file of a box with this nvidia-smi, these device files and no work."""
    box.program("nvidia-smi", f"#!/bin/sh\n{smi}")
    box.program("rocm-smi", "#!/bin/sh\necho '0 100%'\n")
    roots = {name: str(box.home / name) for name in ("proc", "cgroup", "sys", "dev")}
    for root in roots.values():
        Path(root).mkdir()
    (box.home / "proc/uptime").write_text("5000.25 90.00\n")
    (box.home / "proc/1").mkdir()
    (box.home / "proc/1/stat").write_text("1 (init) S 0 " + "0 " * 48 + "\n")
    (box.home / "proc/1/cmdline").write_bytes(b"/sbin/init\0")
    for device in devices:
        (box.home / "dev" / device).parent.mkdir(exist_ok=True)
        (box.home / "dev" / device).touch()
    access = box.ssh_access
    fleet = path / "fleet.yaml"
    keys = ("known_hosts", "identity", "config")
    row = {
        "name": "lab-1",
        "host": f"ssh://{access.user}@{access.host}:{access.port}",
        "roots": roots,
        "ssh": {key: getattr(access, key) for key in keys},
    }
    fleet.write_text(yaml.safe_dump({"sweep": "lab", "instances": [row]}))
    return fleet


@pytest.mark.parametrize(
    ("smi", "device", "kind"),
    [
        (LOST, (), "lost"),
        (NO_SMI, ("kfd",), "other-maker"),
        (NO_SMI, ("davinci0",), "other-maker"),
        (NONE, ("kfd", "dri/renderD128"), "other-maker"),
        (NO_SMI, ("nvidia0",), "no-nvidia-smi"),
        (NONE, ("nvidia0",), "no-device"),
    ],
)
async def test_unknown_cards_are_not_idle(  # type: ignore[no-untyped-def]
    box, tmp_path: Path, smi: str, device: tuple[str, ...], kind: str
) -> None:
    got, seen = await check(write_box(box, tmp_path, smi, *device), tmp_path)
    (lab,) = seen["instances"]
    assert lab["gpu_error"]["kind"] == kind, lab
    assert (lab["verdict"], got) == ("cannot-tell", 1)
    severe = [(found["kind"], found["severity"]) for found in lab["findings"]]
    assert severe == ([("hardware", "fatal")] if kind == "lost" else [])


@pytest.mark.parametrize("smi", [NO_SMI, NONE])
async def test_a_box_without_a_card_is_idle(box, tmp_path: Path, smi: str) -> None:  # type: ignore[no-untyped-def]
    got, seen = await check(write_box(box, tmp_path, smi), tmp_path)
    (lab,) = seen["instances"]
    assert (lab["verdict"], got) == ("idle", 0), lab


async def test_an_inforom_that_is_corrupted_is_a_note(box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    _, seen = await check(write_box(box, tmp_path, INFOROM), tmp_path)
    (lab,) = seen["instances"]
    (card,) = lab["gpus"]
    assert (lab["gpu_error"], lab["findings"]) == (None, [])
    assert [process["pid"] for process in card["processes"]] == [4242]
    assert lab["gpu_notes"] == ["WARNING: infoROM is corrupted at gpu 0000:00:1E.0"]
