"""The user's triage rules apply in `check`, `exporter` and the cockpit, and their faults are reported."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from boxes import Sshd
from test_check_real_box import gpu_tui, write_fleet

from gpu_tui import user_rules
from gpu_tui.core.fleet import Fleet
from gpu_tui.parse.log_flood import FLOOD
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.triage import classify, source
from gpu_tui.recording.scout import tell
from gpu_tui.recording.tape import TapeReader, TapeWriter
from gpu_tui.state.store import Store
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.fleet import Room, Tap, open_fleet

RULE = """\
[[rule]]
id = "ours.quux"
label = "hardware"
severity = "fatal"
literals = ["quux melted"]
pattern = '''quux melted'''
matches = []
rejects = []
"""
SLOW = RULE.replace("ours.quux", "ours.slow").replace("'''quux melted'''", "'''melted (?:z+)+!'''")
MELTED = "the quux melted"
SLOW_LINE = MELTED + " " + "z" * 3_000
LOG = "Epoch 1/20 - loss: 0.5\n{}\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the user's rules, with a valid file and a broken one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    directory = tmp_path / "config" / "gpu-tui" / "triage.d"
    directory.mkdir(parents=True)
    (directory / "good.toml").write_text(RULE)
    (directory / "bad.toml").write_text("[[rule]]\nid =\n")
    return directory


@pytest.fixture
def rules_in_use(own: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Make this process use the user's rules, as a command does. Call the result to reload them."""

    def reload() -> None:
        user_rules._load.cache_clear()
        classify._classifiers.clear()

    monkeypatch.setattr(source, "_sources", [lambda: user_rules.load().rules])
    reload()
    yield reload
    reload()


@pytest.fixture
def log(box: Sshd) -> Path:
    (box.home / "queue.txt").write_text("one.yaml task 20\n")
    (box.home / "logs").mkdir()
    path = box.home / "logs" / "one.log"
    path.write_text(LOG.format(MELTED))
    return path


def bad_file(own: Path) -> str:
    return f"{own}/bad.toml:2: "


async def test_check_uses_own_rules_and_reports_their_faults(
    box: Sshd, log: Path, own: Path, tmp_path: Path
) -> None:
    fleet = write_fleet(tmp_path, box)
    with log.open("a") as end:
        end.write(f"{SLOW_LINE}\n")
    (own / "a-slow.toml").write_text(SLOW)
    words = ("check", "--json", "--fleet", str(fleet))
    code, out, err = await gpu_tui(*words, state=tmp_path / "state")
    found = [one for row in json.loads(out)["instances"] for one in row["findings"]]
    assert ("hardware", "one") in {(one["kind"], one["cell"]) for one in found}
    assert code == 1
    complaints = err.decode().splitlines()
    assert [
        line for line in complaints if bad_file(own) in line and "(the file is left out)" in line
    ]
    assert [line for line in complaints if "a-slow.toml: a pattern took more than" in line]


async def test_exporter_counts_findings_of_own_rules(
    box: Sshd, log: Path, own: Path, tmp_path: Path
) -> None:
    fleet = write_fleet(tmp_path, box)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gpu_tui", "exporter", "--listen", "127.0.0.1:0", "--fleet", str(fleet)),
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().split()[-1]
        async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
            while 'kind="hardware"' not in (await client.get(address)).text:
                pass
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
    assert bad_file(own) in err.decode()


async def wait_until(room: Room, tap: Tap, *wanted: Callable[[Room], bool]) -> None:
    """Return when all of these hold; fail after a minute."""
    async with asyncio.timeout(60):
        while not all(one(room) for one in wanted):
            await tap.next(1.0)


def has_finding(room: Room) -> bool:
    return any(one.kind == "hardware" for one in room.store.view(room.clock.now()).findings)


def has_note(part: str) -> Callable[[Room], bool]:
    return lambda room: any(part in note for note in room.store.view(room.clock.now()).notes)


async def test_cockpit_uses_own_rules_and_a_recording_keeps_their_findings(
    box: Sshd,
    log: Path,
    own: Path,
    rules_in_use: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (own / "a-slow.toml").write_text(SLOW)
    fleet = Fleet(None, (box.instance("lab", logs=f"{box.home}/logs/{{cell}}.log"),), None)
    tape = TapeWriter(tmp_path / "t.tape", fleet, SystemClock())
    opened = open_fleet(fleet, read_only=True, state=tmp_path / "state", tape=tape)
    async with opened as (room, tap):
        await wait_until(room, tap, has_finding, has_note(bad_file(own)))
        with log.open("a") as end:
            end.write(f"{SLOW_LINE}\n")
        await wait_until(room, tap, has_note("a-slow.toml: a pattern took more than"))
    tape.close()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    rules_in_use()
    assert classify.triage(MELTED).label != "hardware"
    reader = TapeReader(tmp_path / "t.tape")
    store = Store(reader.fleet, {})
    for record in reader.records():
        tell(store, reader, record)
    view = store.view(reader.began + record.t)
    assert any(one.kind == "hardware" for one in view.findings)


@pytest.mark.parametrize("others", [1, 2 * FLOOD])
def test_own_rules_find_a_line_among_few_and_in_a_flood(
    others: int, rules_in_use: Callable[[], None]
) -> None:
    reports = "".join(f"step {n} loss 0.5\n" for n in range(others))
    lines = LogReader().feed(f"{reports}{MELTED}\n{reports}".encode())
    assert [place for place, line in enumerate(lines) if line.mark.label == "hardware"] == [others]
    told = lines.told if hasattr(lines, "told") else [*enumerate(lines)]
    assert [line.text for _, line in told if line.mark.alarm] == [MELTED]
