"""A night of three boxes with cron, a webhook and an open cockpit without the webhook: all report the same."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest
import yaml
from boxes import Sshd
from receiver import Receiver, receiver
from test_check_real_box import gpu_tui

from gpu_tui.resources import library
from gpu_tui.settings import load_fleet
from gpu_tui.state.contract import check_json
from gpu_tui.wiring.fleet import open_fleet

APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
MAY_UNSHARE = (
    shutil.which("unshare") is not None
    and subprocess.run([*APART, "true"], check=False, capture_output=True).returncode == 0
)
THREE_HOURS = 3 * 3600.0

# Prints an epoch twice a second until an order comes through the run's FIFO. Another FIFO signals that it began.
TRAINER = """
import os, select, sys
name, epochs = sys.argv[1], int(sys.argv[2])
orders = os.open(f"{os.environ['HOME']}/orders/{name}", os.O_RDWR)
for epoch in range(1, epochs + 1):
    print(f"Epoch {epoch}/{epochs} - loss: {3 / epoch:.4f}", flush=True)
    if epoch == 1:
        with open(f"{os.environ['HOME']}/began/{name}", "w") as began:
            began.write(name)
    if not select.select([orders], [], [], 0.5)[0]:
        continue
    order = os.read(orders, 100).decode().strip()
    if order == "oom":
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB")
    if order == "break":
        raise ValueError("expected 3 channels, but got 4 channels instead")
    if order == "finish":
        for epoch in range(epoch + 1, epochs + 1):
            print(f"Epoch {epoch}/{epochs} - loss: {3 / epoch:.4f}", flush=True)
        os.makedirs(f"{os.environ['HOME']}/durable/{name}", exist_ok=True)
        with open(f"{os.environ['HOME']}/durable/{name}/best.pth", "wb") as best:
            best.write(name.encode())
        break
"""
QUEUE = """
index=0
echo "=== Queue $HOME/queue.txt: 3 ablations, starting from 1 on alpha ==="
while read -r name task epochs; do
    index=$((index + 1))
    echo "[$(date '+%Y-%m-%d %H:%M:%S')] [$index/3] STARTING $name ($task, ${epochs}ep)"
    "$PYTHON" "$HOME/train.py" "$name" "$epochs" > "$HOME/logs/$name.log" 2>&1
    code=$?
    echo "[$(date '+%Y-%m-%d %H:%M:%S')] [$index/3] FINISHED $name (exit=$code)"
done < "$HOME/queue.txt"
"""


class Night:
    """Three boxes; each trainer obeys the orders in its FIFO."""

    def __init__(self, make_box: Callable[..., Sshd]) -> None:
        self.boxes = {name: make_box(name, under=APART) for name in ("alpha", "bravo", "charlie")}
        for box in self.boxes.values():
            (box.home / "train.py").write_text(TRAINER)
            (box.home / "queue.sh").write_text(QUEUE)
            for name in ("logs", "orders", "began", "durable"):
                (box.home / name).mkdir()

    def run(self, box: str, command: str) -> None:
        """Start a command by ssh, as a user would who logs out at once."""
        access = self.boxes[box].ssh_access
        words = ["ssh", "-F", access.config, "-i", access.identity, "-p", str(access.port)]
        words += ["-o", f"UserKnownHostsFile={access.known_hosts}", f"{access.user}@{access.host}"]
        line = f"PYTHON={shlex.quote(sys.executable)} setsid nohup {command} </dev/null"
        subprocess.run([*words, f"{line} &"], check=True, stdin=subprocess.DEVNULL)  # type: ignore[list-item]

    def train(self, box: str, *cells: str) -> None:
        """Start detached runs that are in no queue."""
        home = self.boxes[box].home
        for cell in cells:
            self.gate(box, cell)
            self.run(
                box, f'"{sys.executable}" {home}/train.py {cell} 4000 >{home}/logs/{cell}.log 2>&1'
            )

    def gate(self, box: str, cell: str) -> None:
        for directory in ("orders", "began"):
            os.mkfifo(self.boxes[box].home / directory / cell)

    def order(self, box: str, cell: str, what: str) -> None:
        with open(self.boxes[box].home / "orders" / cell, "w") as gate:
            gate.write(what)

    def started(self, cells: tuple[str, ...]) -> None:
        """Block until each of these has opened its FIFO and written an epoch."""
        for cell in cells:
            (box,) = [name for name, one in self.boxes.items() if cell[0] == name[0]]
            with open(self.boxes[box].home / "began" / cell) as began:
                began.read()

    def log(self, box: str, cell: str) -> Path:
        return self.boxes[box].home / "logs" / f"{cell}.log"

    def fleet(self, path: Path) -> Path:
        rows = []
        for name, box in self.boxes.items():
            access = box.ssh_access
            row: dict[str, Any] = {
                "name": name,
                "host": f"ssh://{access.user}@{access.host}:{access.port}",
                "platform": "generic-ssh",
                "logs": f"{box.home}/logs/{{cell}}.log",
                "results": {
                    "remote": str(box.home / "durable"),
                    "local": str(path / "results" / name),
                },
                "ssh": {key: getattr(access, key) for key in ("known_hosts", "identity", "config")},
            }
            if name == "alpha":
                row["queue"] = {
                    "file": f"{box.home}/queue.txt",
                    "log": f"{box.home}/logs/master.log",
                }
            rows.append(row)
        fleet = path / "fleet.yaml"
        fleet.write_text(yaml.safe_dump({"sweep": "night", "instances": rows}))
        return fleet


@pytest.fixture
def night(make_box: Callable[..., Sshd]) -> Night:
    made = Night(make_box)
    alpha = made.boxes["alpha"]
    (alpha.home / "queue.txt").write_text("a1 t 4000\na2 t 4000\na3 t 4000\n")
    for cell in ("a1", "a2", "a3"):
        made.gate("alpha", cell)
    made.run("alpha", f"bash {alpha.home}/queue.sh >{alpha.home}/logs/master.log 2>&1")
    made.train("bravo", "b2", "b3", "b4")
    big = made.log("bravo", "big")  # died in the evening, before anything looked
    big.write_text(
        "Epoch 1/4000 - loss: 3.0000\nTraceback (most recent call last):\n"
        '  File "/root/train.py", line 9, in <module>\n    raise RuntimeError(text)\n'
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB\n"
    )
    evening = os.stat(big).st_mtime - THREE_HOURS
    os.utime(big, (evening, evening))
    made.train("charlie", "c1", "c2")
    return made


def items(made: Receiver) -> list[dict[str, Any]]:
    return [item for _, body in made.got for item in json.loads(body)["items"]]


def facts(seen: dict[str, Any]) -> set[tuple[str, str | None, str, str]]:
    """The findings of a `check --json`, without their times."""
    return {
        (row["name"], one["cell"], one["kind"], one["severity"])
        for row in seen["instances"]
        for one in row["findings"]
    }


@contextmanager
def listening(bell: Path) -> Iterator[SimpleQueue[list[dict[str, Any]]]]:
    """The items of each message that a command wrote into this FIFO."""
    heard: SimpleQueue[list[dict[str, Any]]] = SimpleQueue()

    def listen() -> None:
        while True:
            with bell.open() as rung:
                for line in rung:
                    if line == "over\n":
                        return
                    heard.put(json.loads(line)["items"])

    listener = Thread(target=listen)
    listener.start()
    try:
        yield heard
    finally:
        bell.write_text("over\n")
        listener.join()


def dead(found: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """How often each dead cell was reported."""
    counts: dict[tuple[str, str], int] = {}
    for item in found:
        if item.get("cell") and item["kind"] != "cell_finished":
            key = (item["instance"], item["cell"])
            counts[key] = counts.get(key, 0) + 1
    return counts


AT_NIGHT = {("alpha", "a2"), ("bravo", "b2"), ("bravo", "b3"), ("bravo", "b4")}
DEAD = {*AT_NIGHT, ("bravo", "big")}


@pytest.mark.skipif(not MAY_UNSHARE, reason="making a PID namespace needs root")
@pytest.mark.timeout(600)
async def test_deaths_of_the_night_are_reported_once_and_the_same_everywhere(  # type: ignore[no-untyped-def]
    night: Night, make_terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, config, bell = night.fleet(tmp_path), tmp_path / "config.yaml", tmp_path / "bell"
    os.mkfifo(bell)
    ways = {"webhook": {"url_env": "NIGHT_HOOK"}, "command": ["sh", "-c", f"cat >{bell}"]}
    config.write_text(json.dumps({"alerts": ways}))
    monkeypatch.setenv("GPU_TUI_CONFIG", str(config))
    cockpit = shlex.join([sys.executable, "-m", "gpu_tui", "--fleet", str(fleet)])
    state = shlex.quote(f"XDG_STATE_HOME={tmp_path}")
    alert = ("check", "--alert", "--fleet", str(fleet), "--limit", "120")
    with receiver() as made, listening(bell) as rung:
        monkeypatch.setenv("NIGHT_HOOK", made.url)
        await asyncio.to_thread(night.started, ("a1", "b2", "b3", "b4", "c1", "c2"))
        code, out, err = await gpu_tui(*alert, state=tmp_path)  # the evening: a baseline
        assert (code, err) == (1, b""), out.decode()
        evening = len(items(made))

        terminal = make_terminal(160, 45)
        await terminal.run(f"env -u NIGHT_HOOK {state} {cockpit}; exec cat")
        await terminal.until("alpha", "bravo", "charlie", "3 live")
        night.order("alpha", "a1", "finish")
        await asyncio.to_thread(night.started, ("a2",))
        night.order("alpha", "a2", "break")
        for cell in ("b2", "b3", "b4"):
            night.order("bravo", cell, "oom")
        night.order("charlie", "c1", "finish")
        await asyncio.to_thread(night.started, ("a3",))
        await terminal.keys("f")
        seen = await terminal.until("a2", "b2", "b3", "b4", "big", "gpu oom", "NIGHT_HOOK")
        assert "c1" not in seen.partition("Findings")[2], seen

        # The cockpit has run the command for all of it; cron's webhook is another channel.
        by_command: list[dict[str, Any]] = []
        while not set(dead(by_command)) >= AT_NIGHT:
            by_command += await asyncio.to_thread(rung.get, timeout=120)
        assert dead(by_command) == dict.fromkeys(AT_NIGHT, 1)
        code, out, err = await gpu_tui(*alert, state=tmp_path)
        told = dead(items(made)[evening:])
        assert told == dict.fromkeys(AT_NIGHT, 1), (told, out.decode())
        morning = len(items(made))
        headline = out.decode().splitlines()[0]
        assert "bravo: 4 cells gpu oom (b2 b3 b4 big)" in headline
        assert "alpha: cell a2" in headline
        assert "charlie" not in headline
        assert "alpha crashed" not in out.decode()

        _, again, _ = await gpu_tui(*alert, state=tmp_path)
        assert again.decode().splitlines()[0].partition(": ")[2] == headline.partition(": ")[2]
        assert len(items(made)) == morning
        while not rung.empty():
            by_command += rung.get()
        assert dead(by_command) == dict.fromkeys(AT_NIGHT, 1), "cron ran the command again"
        twice = [one for one in by_command if by_command.count(one) > 1]
        assert not twice

    # A program started in the morning reports the same as the one that was open all night.
    code, out, _ = await gpu_tui("check", "--json", "--fleet", str(fleet), state=tmp_path)
    by_check = json.loads(out)
    async with open_fleet(
        load_fleet(fleet, library().profiles), read_only=True, state=tmp_path
    ) as (room, tap):
        async with asyncio.timeout(180):
            while True:
                by_cockpit = check_json(room.store.view(room.clock.now()))
                if facts(by_cockpit) == facts(by_check):
                    break
                await tap.next(1.0)
    cells = {
        name: (cell["state"], row["verdict"])
        for row in by_check["instances"]
        for cell in row["queue"]["cells"]
        for name in (f"{row['name']}/{cell['name']}",)
    }
    assert {
        (box, cell) for box, cell, _, severity in facts(by_check) if severity == "fatal"
    } == DEAD
    assert {name for name, (word, _) in cells.items() if word == "failed"} == {
        f"{box}/{cell}" for box, cell in DEAD
    }
    assert {name for name, (word, _) in cells.items() if word == "running"} == {
        "alpha/a3",
        "charlie/c2",
    }
    assert cells["alpha/a1"] == ("finished", "running")
    assert cells["charlie/c1"][0] == "finished"
    assert cells["bravo/b2"][1] == "crashed"
    assert not [one for one in facts(by_check) if one[0] == "charlie"]
    # The run died three hours before the first look; every program reports at least that age.
    (big,) = [
        one
        for row in by_check["instances"]
        for one in row["findings"]
        if one["cell"] == "big" and one["severity"] == "fatal"
    ]
    died = datetime.fromisoformat(big["first_seen"]).timestamp()
    assert died <= night.log("bravo", "big").stat().st_mtime + 1.0, big

    _, out, _ = await gpu_tui("report", "--fleet", str(fleet), state=tmp_path)
    for box, cell in DEAD:
        assert cell in out.decode(), (box, cell)
    assert "killed from outside" not in out.decode()

    await terminal.keys("Escape")
    await terminal.until("1 Instances")
    await terminal.keys("E")
    await terminal.until("Time line", "c1", "a1")
