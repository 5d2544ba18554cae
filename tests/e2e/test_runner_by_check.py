"""Findings of `check --json` about the shell that runs a queue, over a real sshd: killed, finished, script edited."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sweep import SCRIPTS
from test_check_real_box import write_fleet

from gpu_tui.core.mask import Mask
from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet
from gpu_tui.state.contract import check_json
from gpu_tui.state.report import handover
from gpu_tui.wiring.once import collect_once

# Names that only this run of this file uses: tests on one machine see each other's processes.
CELLS = FIRST, SECOND = tuple(f"hold_night_{one}_{os.getpid()}" for one in "ab")


class Night:
    """A queue script in the home of a box. `ready` and `release` are the FIFOs that its trainer waits in."""

    def __init__(self, home: Path, first: Path) -> None:
        self.home = home
        for name in ("logs", "ckpt", "durable", "conf"):
            (home / name).mkdir(exist_ok=True)
        for name in ("run_one.sh", "run_queue.sh"):
            shutil.copy(SCRIPTS / name, home / name)
        self.script = home / "run_queue.sh"
        (home / "night.txt").write_text("".join(f"conf/{name}.yaml t 3\n" for name in CELLS))
        for name in ("ready", "release"):
            os.mkfifo(home / name)
        self._pids: list[int] = []
        self._first = first

    def start(self, index: int = 1) -> int:
        """Start the queue with setsid, as a person does; returns the PID of its shell."""
        env = {**os.environ, "HOME": str(self.home), "PYTHON": sys.executable}
        env["TRAINER"] = str(SCRIPTS / "train.py")
        words = "setsid bash run_queue.sh night.txt $0 >>logs/master.log 2>&1 </dev/null & echo $!"
        said = subprocess.run(
            ["bash", "-c", words, str(index)], cwd=self.home, env=env, check=True, capture_output=True
        ).stdout  # fmt: skip
        self._pids.append(int(said))
        with (self.home / "ready").open() as gate:
            assert gate.read() == CELLS[index - 1]
        return int(said)

    def kill(self) -> None:
        """Kill the rest of the queue."""
        for pid in self._pids:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@pytest.fixture
def night(box, tmp_path: Path) -> Iterator[Night]:  # type: ignore[no-untyped-def]
    made = Night(box.home, tmp_path)
    yield made
    made.kill()


async def look(box: Any, path: Path) -> tuple[dict[str, Any], str]:
    """The box in `check --json`, and the text of the report."""
    fleet = write_fleet(path, box)
    fleet.write_text(fleet.read_text().replace("queue.txt", "night.txt"))
    view = await collect_once(load_fleet(fleet, load_profiles()), state=path)
    (lab,) = json.loads(json.dumps(check_json(view)))["instances"]
    # Another test may edit a script on this machine now, whose processes are those of the box.
    own = [one for one in lab["findings"] if str(box.home) in one["source"] + one["remedy"]]
    return {**lab, "findings": own}, handover(view, {}, Mask(), version="1", fleet=None)


def about(lab: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in lab["findings"] if one["kind"] == kind]


async def test_a_killed_runner(box, night: Night, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pid = await asyncio.to_thread(night.start)
    lab, text = await look(box, tmp_path)
    assert lab["verdict"] == "running"
    assert about(lab, "runner_gone") == about(lab, "script_changed") == []
    os.kill(pid, signal.SIGKILL)  # the shell alone, as the OOM killer does
    lab, text = await look(box, tmp_path)
    (gone,) = about(lab, "runner_gone")
    assert gone["severity"] == "serious"
    assert f"{FIRST} went on without it" in gone["evidence"]
    assert gone["evidence"].endswith(f"and nothing starts {SECOND}")
    command = gone["remedy"].partition("run on the box: ")[2]
    assert command.startswith(f"tmux new-session -d -s queue-2 -c {box.home} ")
    assert "; bash run_queue.sh night.txt 2 </dev/null >>" in command
    assert command in text
    assert "nohup" not in text
    assert "start nothing beside it" not in text


async def test_a_killed_loop_that_nothing_names(box, night: Night, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    loop = 'while read -r config; do "$PYTHON" "$TRAINER" --config "$config" --epochs 3 >log.txt; done <night.txt\n'
    night.script.write_text(loop)
    (box.home / "night.txt").write_text(f"conf/{FIRST}.yaml\nconf/{SECOND}.yaml\n")
    pid = await asyncio.to_thread(night.start)
    fleet = write_fleet(tmp_path, box)
    row = yaml.safe_load(fleet.read_text())["instances"][0]
    for key in ("queue", "logs", "results"):
        del row[key]
    bare = tmp_path / "bare.yaml"
    bare.write_text(yaml.safe_dump({"instances": [row]}))
    for found in (0, 1):
        view = await collect_once(load_fleet(bare, load_profiles()), state=tmp_path)
        (lab,) = json.loads(json.dumps(check_json(view)))["instances"]
        gone = [one for one in about(lab, "runner_gone") if str(box.home) in one["remedy"]]
        assert len(gone) == found
        if not found:
            os.kill(pid, signal.SIGKILL)
    assert (
        f'the loop that read night.txt is gone: "conf/{FIRST}.yaml" went on' in gone[0]["evidence"]
    )
    assert "bash run_queue.sh night.txt 1" in gone[0]["remedy"]


async def test_the_last_cell_of_a_killed_runner(box, night: Night, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pid = await asyncio.to_thread(night.start, 2)
    os.kill(pid, signal.SIGKILL)
    lab, _ = await look(box, tmp_path)
    assert lab["verdict"] == "running"
    assert about(lab, "runner_gone") == []


async def test_a_script_edited_under_its_shell(box, night: Night, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    text = night.script.read_text()
    os.utime(night.script, (0, 0))
    await asyncio.to_thread(night.start)
    new = box.home / "conf" / f"{SECOND}.yaml.new"
    new.write_text("lr: 2\n")
    new.replace(box.home / "conf" / f"{SECOND}.yaml")
    with (box.home / "night.txt").open("a") as queue:
        queue.write("conf/late.yaml t 3\n")
    lab, _ = await look(box, tmp_path)
    assert about(lab, "script_changed") == []

    night.script.write_text("# a line that moves the others\n" + text)
    stamp = os.stat(night.script).st_mtime + 3600
    os.utime(night.script, (stamp, stamp))
    lab, _ = await look(box, tmp_path)
    assert about(lab, "script_changed") == []  # a time that is to come is another clock's
    os.utime(night.script, (stamp - 3590, stamp - 3590))
    lab, _ = await look(box, tmp_path)
    (changed,) = about(lab, "script_changed")
    assert changed["severity"] == "warn"
    assert "run_queue.sh was changed in place under its running shell" in changed["evidence"]
    assert "reads on at byte" in changed["evidence"]
