"""The cockpit in a real pty, side by side with others that redraw a screen each second.

The boxes are those of `farm`: SSH servers that play what the real sampler prints, with cards whose readings
change each second. btop, htop and nvitop (with eight cards that are not there, see screen_nvml.c) run in the
same pty of the same size. Parts: `python -m bench.screen bytes keys cpu frozen`.
Where other work keeps the processors busy, `chrt -r 1 python -m bench.screen keys` shows what is ours: nobody
else waits in front of it, though the caches are still shared.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles

import yaml
from bench.farm import QUEUE_LOG
from bench.pty_harness import Program
from bench.scale import record
from boxes import make_key
from collect.shell_box import GPU_ROW

SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
FROZEN_SECONDS = float(os.environ.get("BENCH_FROZEN_SECONDS", "60"))
SETTLE = 12.0
KEYS = 200  # of fewer the last hundredth would be a guess
SIZE = (160, 48)
CC = shutil.which("gcc")


def measure(parts: Sequence[str] = ()) -> dict[str, object]:
    """Bytes per second, times and shares, with the ratio of each to its reference."""
    row: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as kept:
        place = Path(kept)
        tape = tape_of(place)
        for name, part in PARTS.items():
            if not parts or name in parts:
                row |= part(place, tape)
    return row


# --- the parts ------------------------------------------------------------------------------------


def _bytes(place: Path, tape: Path) -> dict[str, object]:
    """Bytes to the terminal in a steady state."""
    row: dict[str, object] = {}
    others: dict[str, float] = {}
    for name, argv, env in _others(place):
        if argv is None:
            row[f"{name} B/s"] = env
            continue
        with Program(argv, env, *SIZE) as program:
            time.sleep(SETTLE / 2)
            others[name] = program.rate(SECONDS)
            row[f"{name} B/s"] = round(others[name])
    with fleet_of(place, tape, 8, 20 / 16) as env, opened(place, env) as program:
        time.sleep(SETTLE)
        whole = program.rate(SECONDS)
        program.press("z")  # the list of boxes alone
        time.sleep(2)
        boxes = program.rate(SECONDS)
    with fleet_of(place, tape, 8, 20 / 16) as env:
        stock = {**env, "GPU_TUI_PAINT": "stock"}
        with opened(place, stock) as program:
            time.sleep(SETTLE)
            plain = program.rate(SECONDS / 2)
    with fleet_of(place, tape, 8, 0, quiet=True) as env, opened(place, env) as program:
        time.sleep(SETTLE)
        idle = program.rate(SECONDS)
    row["8 boxes at 1 Hz B/s"] = round(boxes)
    row["whole cockpit, 20 log lines/s B/s"] = round(whole)
    row["whole cockpit painted by textual itself B/s"] = round(plain)
    row["whole cockpit, nothing changes but ages and clocks B/s"] = round(idle)
    if "nvitop" in others:
        row["8 boxes / nvitop"] = round(boxes / others["nvitop"], 2)
    if "btop" in others:
        row["whole cockpit / btop"] = round(whole / others["btop"], 2)
    return row


def _keys(place: Path, tape: Path) -> dict[str, object]:
    """From a key to its repaint, while a log pours in."""
    row: dict[str, object] = {}
    for label, rate in (("quiet", 0.0), ("1,000 log lines/s", 1000.0), ("a flood", 100_000.0)):
        with fleet_of(place, tape, 1, rate / 2) as env, opened(place, env) as program:
            program.until("1 live")
            time.sleep(SETTLE / 2)
            late: list[float] = []
            letters = [chr(code) for code in range(0x180, 0x250) if chr(code).isalpha()]
            program.press("/")
            time.sleep(0.5)
            for letter in letters[:KEYS]:
                late.append(program.echo(letter) * 1000)
                time.sleep(random.uniform(0.03, 0.13))
        cuts = quantiles(late, n=100, method="inclusive")
        row[f"key to repaint, {label}: p50 ms"] = round(cuts[49], 1)
        row[f"key to repaint, {label}: p99 ms"] = round(cuts[98], 1)
    return row


def _cpu(place: Path, tape: Path) -> dict[str, object]:
    """Processor and memory in a steady state, of a second start; of a first one, which makes what is kept, its memory."""
    row: dict[str, object] = {}
    for count, rate in ((8, 20 / 16), (64, 0.5)):
        with ExitStack() as stack:
            env = stack.enter_context(fleet_of(place, tape, count, rate))
            own, state = (
                stack.enter_context(tempfile.TemporaryDirectory(dir=place)) for _ in range(2)
            )
            env = {**env, "XDG_CACHE_HOME": own}
            for start in ("first start", "second start"):
                with opened(place, env, state=state) as program:
                    program.until(f"{count} live", limit=120)
                    time.sleep(SETTLE)
                    if start == "second start":
                        share = program.cpu_share(SECONDS)
                        row[f"{count} boxes: CPU of a core"] = f"{share:.1%}"
                    row[f"{count} boxes, {start}: RSS MB"] = round(program.rss())
                    program.press("q")
                    program.process.wait(20)
    return row


def _frozen(place: Path, tape: Path) -> dict[str, object]:
    """The longest stall of the loop while the terminal does not read."""
    log = place / "lags"
    log.write_text("")
    with ExitStack() as stack:
        env = stack.enter_context(fleet_of(place, tape, 8, 20 / 16))
        program = stack.enter_context(opened(place, env | {"BENCH_LAGS": str(log)}, spy=SPY))
        program.until("8 live")
        time.sleep(SETTLE / 2)
        log.write_text("")
        time.sleep(FROZEN_SECONDS / 4)
        usual = [float(line) for line in log.read_text().split()]
        log.write_text("")
        program.stop_reading()
        ends = time.monotonic() + FROZEN_SECONDS
        while time.monotonic() < ends:
            program.press("jk")  # somebody tries whether it still lives
            time.sleep(1)
        lags = [float(line) for line in log.read_text().split()]
        program.read_again()
        before = program.written
        time.sleep(3)
        after = program.written - before
    return {
        f"terminal reads nothing for {FROZEN_SECONDS:.0f} s: longest stall of the loop ms": round(
            max(lags, default=0.0) * 1000, 1
        ),
        "longest stall while it reads ms": round(max(usual, default=0.0) * 1000, 1),
        "bytes in the 3 s after": after,
    }


PARTS = {
    "bytes": _bytes, "keys": _keys, "cpu": _cpu, "frozen": _frozen,
}  # fmt: skip


# --- the others -----------------------------------------------------------------------------------


def _others(place: Path) -> Iterator[tuple[str, list[str] | None, object]]:
    """Name, command and environment of each reference; without a command, why there is none."""
    env = _terminal(place)
    htop = shutil.which("htop")
    yield "htop", [htop, "-d", "10"] if htop else None, env if htop else "not installed"
    btop = shutil.which("btop")
    if btop:
        settings = place / "config" / "btop"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "btop.conf").write_text("#? Config file for btop v. 1.2.13\nupdate_ms=1000\n")
    yield "btop", [btop] if btop else None, env if btop else "not installed"
    nvitop = shutil.which("nvitop")
    if nvitop is None or CC is None:
        yield "nvitop", None, "not installed" if nvitop is None else "no gcc for its library"
        return
    library = place / "nvml"
    library.mkdir(exist_ok=True)
    source = Path(__file__).with_name("screen_nvml.c")
    words = [CC, "-w", "-shared", "-fPIC", "-o", str(library / "libnvidia-ml.so.1"), str(source)]
    subprocess.run(words, check=True)
    command = [nvitop, "--monitor", "full", "--interval", "1"]
    yield "nvitop", command, {**env, "LD_LIBRARY_PATH": str(library)}


# --- our own --------------------------------------------------------------------------------------

SPY = """
import asyncio, os, sys, threading, time
from gpu_tui.wiring import process
path = os.environ["BENCH_LAGS"]
real = process.run
async def watched(work):
    async def look():
        while True:
            due = time.monotonic() + 0.02
            await asyncio.sleep(0.02)
            with open(path, "a") as log:
                log.write(f"{time.monotonic() - due:.4f}\\n")
    looking = asyncio.create_task(look())
    try:
        return await work
    finally:
        looking.cancel()
process.run = lambda work: real(watched(work))
from gpu_tui.cli.main import main
sys.exit(main())
"""


@contextmanager
def opened(
    place: Path, env: dict[str, str], *, spy: str | None = None, state: str | None = None
) -> Iterator[Program]:
    """The cockpit on the fleet of `env`, in a state directory of its own unless one is named."""
    words = ["-c", spy] if spy else ["-m", "gpu_tui"]
    with tempfile.TemporaryDirectory(dir=place) as own:
        argv = [sys.executable, *words, "--fleet", env["BENCH_FLEET"]]
        with Program(argv, {**env, "XDG_STATE_HOME": state or own}, *SIZE) as program:
            yield program


@contextmanager
def fleet_of(
    place: Path, tape: Path, count: int, rate: float, *, quiet: bool = False
) -> Iterator[dict[str, str]]:
    """`count` boxes with two logs of `rate` lines a second each; the environment to watch them in."""
    with tempfile.TemporaryDirectory(dir=place) as kept:
        directory = Path(kept)
        for file in tape.iterdir():
            if file.is_file():
                shutil.copy(file, directory / file.name)
        if not quiet:
            _enliven(directory / "sampler.json")
        words = [sys.executable, "-m", "bench.farm", str(directory), str(count), str(rate)]
        pipe = subprocess.PIPE
        farm = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        try:
            assert farm.stdout
            ports = json.loads(farm.stdout.readline())
            kind, public = (directory / "host_key.pub").read_text().split()[:2]
            known = directory / "known_hosts"
            known.write_text("".join(f"[127.0.0.1]:{port} {kind} {public}\n" for port in ports))
            (directory / "ssh_config").write_text("")
            fleet = directory / "fleet.yaml"
            fleet.write_text(yaml.safe_dump(_described(directory, ports)))
            yield {**_terminal(place), "BENCH_FLEET": str(fleet)}
        finally:
            farm.kill()
            farm.communicate()


def _described(directory: Path, ports: list[int]) -> dict[str, object]:
    access = {
        name: str(directory / file)
        for name, file in (
            ("known_hosts", "known_hosts"),
            ("identity", "id"),
            ("config", "ssh_config"),
        )
    }
    return {
        "sweep": "bench",
        "instances": [
            {
                "name": f"box-{number}",
                "host": f"ssh://root@127.0.0.1:{port}",
                "platform": "generic-ssh",
                "price_per_hour": "2.50 USD",
                "queue": {"log": f"~/runs/{QUEUE_LOG}"},
                "logs": "~/runs/{cell}.log",
                "ssh": dict(access),
            }
            for number, port in enumerate(ports)
        ],
    }


def tape_of(place: Path) -> Path:
    """What the real sampler and follower print, and keys for the boxes."""
    directory = place / "recorded"
    directory.mkdir()
    make_key(directory / "host_key", "host")
    identity = make_key(directory / "id", "")
    (directory / "authorized_keys").write_text(Path(f"{identity}.pub").read_text())
    asyncio.run(record(directory))
    return directory


def _enliven(sampler: Path) -> None:
    """Cards whose load, memory, temperature and power change each second."""
    chance = random.Random(7)
    seconds = []
    for second in json.loads(sampler.read_text()):
        used, memory = chance.randrange(60, 100), chance.randrange(9000, 9800)
        fields = GPU_ROW.split(", ")
        fields[2:4] = [str(used), str(memory)]
        fields[5:7] = [str(chance.randrange(55, 75)), f"{chance.uniform(250, 400):.2f}"]
        seconds.append(second.replace(GPU_ROW, ", ".join(fields)))
    sampler.write_text(json.dumps(seconds))


def _terminal(place: Path) -> dict[str, str]:
    """The same terminal for everybody."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "USER": os.environ.get("USER", "root"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "XDG_CONFIG_HOME": str(place / "config"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }


if __name__ == "__main__":
    if wrong := [name for name in sys.argv[1:] if name not in PARTS]:
        sys.exit(textwrap.fill(f"no such part: {wrong}; there are {', '.join(PARTS)}"))
    for key, value in measure(sys.argv[1:]).items():
        print(f"{key:70} {value}")
