"""The simulated fleet seen through `gpu-tui check --json`: all eight stories, each with its finding."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpu_tui.demo.fleet import Demo, simulated_fleet
from gpu_tui.demo.story import INODES_FULL_AT, LINK_DOWN, NAN_FROM

SPEED = 1.0  # a look must fall into the moments when a link is down: on a busy machine it takes many seconds
LIMIT = 300.0  # alone it takes about 70 s

# What each star of the cast must have shown, by (instance, finding kind).
FINDINGS = {
    ("lyra", "nan"),
    ("altair", "gpu_oom"),
    ("deneb", "host_oom"),
    ("rigel", "inode_full"),
    ("mira", "clock"),
    ("sirius", "unreachable"),
}


@dataclass
class Seen:
    """What all looks together told, and the last one."""

    found: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    last: dict[str, dict[str, object]] = field(default_factory=dict)

    def take(self, instances: dict[str, dict[str, object]]) -> None:
        self.last = instances
        for name, instance in instances.items():
            self.links.setdefault(name, []).append(str(instance["link"]))
            for finding in instance["findings"]:  # type: ignore[attr-defined]
                self.found[(name, finding["kind"])] = finding

    def told(self, *names: str) -> bool:
        """All that these stars must have shown."""
        return {key for key in FINDINGS if key[0] in names} <= self.found.keys()


DOWN, UP = LINK_DOWN
# From these seconds of the story on it is looked at, again and again, until this is told.
ACTS: tuple[tuple[float, Callable[[Seen], bool]], ...] = (
    (NAN_FROM, lambda seen: seen.told("lyra", "altair", "mira") and "live" in seen.links["sirius"]),
    (DOWN, lambda seen: seen.told("sirius")),
    (UP, lambda seen: seen.told("deneb") and seen.links["sirius"][-1] == "live"),
    (INODES_FULL_AT, lambda seen: seen.told("rigel")),
)


async def look(demo: Demo, state: Path) -> dict[str, dict[str, object]]:
    """One tick of `check --json`, as cron would run it; the instances by name."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gpu_tui", "check", "--json", "--fleet", str(demo.fleet_path)),
        env={**os.environ, **demo.environment, "XDG_STATE_HOME": str(state)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode in (0, 1), err.decode()
    return {instance["name"]: instance for instance in json.loads(out)["instances"]}


@pytest.mark.timeout(360)
async def test_every_story_is_told_through_check(tmp_path: Path) -> None:
    seen, now = Seen(), asyncio.get_running_loop().time
    async with simulated_fleet(speed=SPEED, directory=tmp_path / "demo") as demo:
        curtain = now()
        async with asyncio.timeout(LIMIT):
            for begins, told in ACTS:
                # Looks all the time were half of what this cost, and told no more.
                await asyncio.sleep(curtain + begins / SPEED - now())
                seen.take(await look(demo, tmp_path))
                while not told(seen):
                    seen.take(await look(demo, tmp_path))
    found, links, last = seen.found, seen.links, seen.last

    assert len(last) >= 6
    assert len({instance["platform"] for instance in last.values()}) >= 4
    assert all(finding["remedy"] and finding["evidence"] for finding in found.values())

    vega, polaris, mira = last["vega"], last["polaris"], last["mira"]
    assert vega["verdict"] == "running"
    assert not [kind for name, kind in found if name == "vega" and kind != "clock"]
    assert any(cell["epochs"] for cell in vega["queue"]["cells"])  # type: ignore[index]
    assert polaris["verdict"] == "finished"
    assert {cell["state"] for cell in polaris["queue"]["cells"]} == {"finished"}  # type: ignore[index]
    assert {cell["artifact"] for cell in polaris["queue"]["cells"]} == {"present"}  # type: ignore[index]
    assert (mira["verdict"], mira["provider"]["state"]) == ("off", "stopped")  # type: ignore[index]
    assert "live" in links["sirius"]
    assert found[("deneb", "host_oom")]["cell"] is not None
    assert "oom" in str(found[("deneb", "host_oom")]["evidence"]).lower()
    assert "out of memory" in str(found[("altair", "gpu_oom")]["evidence"])
    assert "autodl-release-15d" in str(found[("mira", "clock")]["source"])
