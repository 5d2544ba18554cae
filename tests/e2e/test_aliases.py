"""Two entries of a fleet file that reach one box: a finding of `check`, an alert, and a line of `report`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from boxes import Sshd
from test_check_real_box import check, gpu_tui, write_fleet

APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
MAY_UNSHARE = (
    shutil.which("unshare") is not None
    and subprocess.run([*APART, "true"], check=False, capture_output=True).returncode == 0
)


@pytest.fixture
def clone(make_box: Callable[..., Sshd], box: Sshd) -> Callable[..., dict[str, object]]:
    """Another sshd of the same image, as a row of the fleet file."""

    def make(name: str, **options: object) -> dict[str, object]:
        made = make_box(name, **options)
        made.stop()
        for end in ("", ".pub"):
            shutil.copy(f"{box.host_key}{end}", f"{made.host_key}{end}")
        access = made.start().ssh_access
        files = {key: getattr(access, key) for key in ("known_hosts", "identity", "config")}
        host = f"ssh://{access.user}@{access.host}:{access.port}"
        return {"name": name, "host": host, "platform": "generic-ssh", "ssh": files}

    return make


def aliases(seen: dict[str, object]) -> dict[str, list[str]]:
    rows: list[dict[str, object]] = seen["instances"]  # type: ignore[assignment]
    found = {
        str(row["name"]): [
            str(one["evidence"])
            for one in row["findings"]
            if one["kind"] == "same_box"  # type: ignore[attr-defined]
        ]
        for row in rows
    }
    severities = {
        one["severity"]
        for row in rows
        for one in row["findings"]  # type: ignore[attr-defined]
        if one["kind"] == "same_box"
    }
    assert severities <= {"serious"}
    return found


@pytest.mark.skipif(not MAY_UNSHARE, reason="making a PID namespace needs root")
async def test_an_alias_is_found_and_a_container_of_the_same_image_is_none(
    box: Sshd, clone: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    twin, apart = clone("twin"), clone("apart", under=APART)
    fleet = write_fleet(tmp_path, box, twin, apart)
    code, seen = await check(fleet, tmp_path)
    assert [row["link"] for row in seen["instances"]] == ["live"] * 3  # type: ignore[attr-defined]
    said = (
        "lab-1 and twin in the fleet file reach one box: the same host key, boot and first process. Neither can be "
        "destroyed until that is put right",
        "twin and lab-1 in the fleet file reach one box: the same host key, boot and first process. Neither can be "
        "destroyed until that is put right",
    )
    assert aliases(seen) == {"lab-1": [said[0]], "twin": [said[1]], "apart": []}
    assert code == 1
    _, out, _ = await gpu_tui("report", "--fleet", str(fleet), state=tmp_path)
    assert b"serious: same box: lab-1 and twin in the fleet file reach one box" in out
    twin["same_box"] = "lab-1"
    _, seen = await check(write_fleet(tmp_path, box, twin, apart), tmp_path)
    assert aliases(seen) == {"lab-1": [], "twin": [], "apart": []}


async def test_an_alias_that_is_new_is_an_alert(
    box: Sshd,
    clone: Callable[..., dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = tmp_path / "heard.jsonl"
    program = f"import sys; open({str(heard)!r}, 'a').write(sys.stdin.read())"
    alerts = {"command": [sys.executable, "-c", program], "severity": "serious"}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"alerts": alerts}))
    monkeypatch.setenv("GPU_TUI_CONFIG", str(config))
    twin = clone("twin")
    for others in ([], [twin]):
        fleet = write_fleet(tmp_path, box, *others)
        await gpu_tui("check", "--alert", "--fleet", str(fleet), state=tmp_path)
    items = [item for line in heard.read_text().splitlines() for item in json.loads(line)["items"]]
    told = [item for item in items if item["kind"] == "same_box"]
    assert {item["instance"] for item in told} >= {"lab-1"}
    assert all(item["severity"] == "serious" for item in told)
