"""What a box pays for being watched: processor, processes and files, and what stays behind.

A real sshd runs the sampler under each shell: with a tail of a log and without, for one card and for eight. The real
supervisor watches all of them at the same time, at 1 Hz. Each runs among processes of its own, of which `IDLE` sleep:
what others start here is not in its table. Three parts:

- processor: the sampler's processes are moved into a cgroup of their own and its clock is read; sshd's
  own share is told apart. Without such a cgroup, the ticks of /proc are summed up (coarse).
- processes started and files opened for writing: counted by strace, in a run of their own.
- what is left five seconds after the client was killed with SIGKILL, many times.

The box's nvidia-smi is a small program of ours (without a compiler `true`); how often it was called is counted,
and its share is taken off. What it takes to start it is not. On a machine with a card one more row tells what the sampler takes with the card's own.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from boxes import Sshd

from gpu_tui.collect.probe_gpu import APPS_ROUNDS
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, Sampled
from gpu_tui.core.fleet import Fleet, Instance, QueueFiles, SshAccess
from gpu_tui.transport.ssh import SshTransport

SHELLS = {"dash": "dash -s", "bash": "bash -s", "busybox": "busybox ash -s", "ksh": "ksh -s"}
SETTLE = 12.0  # seconds from the first reading to the start of a measurement
AT_ONCE = 5  # clients that live at the same time, before they are killed
CGROUPS = (  # where cgroups are made, and the file with the clock: version 1, version 2
    ("/sys/fs/cgroup/cpuacct", "cpuacct.usage", 1e-9),
    ("/sys/fs/cgroup", "cpu.stat", 1e-6),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Shares of one core (0.001 = 0.1 %), processes per second, files opened for writing.

    `spawns` are without nvidia-smi itself; both are None where there is no strace.
    """

    core: float
    sshd: float
    spawns: float | None
    written: int | None


CALLED = "called"  # as many bytes as calls of the stand-in
IDLE = 60  # processes that sleep on each box
ALONE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def measure(seconds: float = 60.0, kills: int = 50) -> dict[str, object]:
    """Every shell, with one tail and without, as a table of one line each."""
    alone = ALONE if subprocess.run([*ALONE, "true"], check=False).returncode == 0 else ()
    shells = [shell for shell in SHELLS if shutil.which(shell)]
    rows: dict[str, object] = {
        shell: f"not measured: there is no {shell} here" for shell in SHELLS if shell not in shells
    }
    running = {
        (shell, tail, cards): _started(
            alone, "one", shell, "tail" if tail else "", str(seconds), str(cards)
        )
        for shell in shells
        for tail, cards in ((False, 1), (True, 1), (False, 8))
    }
    for (shell, tail, cards), process in running.items():
        got = Cost(*_said(process))
        spawns = "?" if got.spawns is None else f"{got.spawns:.2f}"
        written = "?" if got.written is None else str(got.written)
        what = f"{shell}, {cards} card{'s' if cards > 1 else ''}, sampler"
        rows[f"{what}{' and one tail' if tail else ''}"] = (
            f"{got.core:.3%} of a core (sshd {got.sshd:.3%}), {spawns} spawns/s, "
            f"{written} files opened for writing"
        )
    if real := _nvidia_smi():
        own = _said(_started(alone, "real", shells[0], str(seconds)))
        rows[f"{shells[0]}, sampler and {real} itself"] = f"{own:.3%} of a core"
    rows["processes that sleep on each box"] = IDLE
    rows["one run of `true` once a second, ms: how fast the machine is"] = round(
        _lone_true() * 1e3, 2
    )
    for shell in shells[:1]:
        left = _said(_started(alone, "kills", shell, str(kills)))
        rows[f"{shell}, processes left 5 s after {kills} x kill -9"] = left
    return rows


def _started(alone: Sequence[str], *words: str) -> subprocess.Popen[bytes]:
    """This file with these words, among processes of its own."""
    return subprocess.Popen(
        [*alone, sys.executable, "-m", "bench.onbox", *words],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )


def _said(process: subprocess.Popen[bytes]) -> Any:
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args} ended with {process.returncode}")
    return json.loads(said)


def measure_cost(shell: str, tail: bool, seconds: float, cards: int = 1) -> Cost:
    """What one costs in steady state; then what it starts, for 2/3 of the time under strace."""
    idle = [subprocess.Popen(["sleep", "infinity"]) for _ in range(IDLE)]
    try:
        with _box(shell, cards=cards) as box:
            core, sshd = asyncio.run(_processor(box, seconds, tail))
            if not shutil.which("strace"):
                return Cost(core, sshd, None, None)
            return Cost(core, sshd, *asyncio.run(_counted(box, seconds * 2 / 3, tail)))
    finally:
        for process in idle:
            process.kill()
            process.wait()


def with_the_cards_own(shell: str, seconds: float) -> float:
    """The share of a core that the sampler takes with the nvidia-smi of this machine and all that it uses."""
    with _box(shell, str(shutil.which("nvidia-smi"))) as box:
        core, _ = asyncio.run(_processor(box, seconds, tail=False, cards_too=True))
    return core


def _nvidia_smi() -> str:
    """How it calls itself; empty where this machine has no card."""
    try:
        said = subprocess.run(
            ["nvidia-smi", "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    number = re.search(r"NVIDIA-SMI version\s*:\s*([\d.]+)", said.stdout)
    return f"nvidia-smi {number[1]}" if number else "nvidia-smi"


def left_after_kills(shell: str, times: int) -> int:
    """How many processes of the box live five seconds after the last of so many killed clients."""
    with _box(shell) as box:
        words = [sys.executable, "-m", "bench.onbox", "client", str(box.port)]
        words += [str(box.known_hosts), str(box.identity), str(box.config)]
        for start in range(0, times, AT_ONCE):
            clients = [
                subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
                for _ in range(min(AT_ONCE, times - start))
            ]
            for client in clients:
                assert client.stdout
                assert client.stdout.readline() == b"reading\n"
                client.send_signal(signal.SIGKILL)
                client.wait()
                client.stdout.close()
        return len(box.wait_idle(5.0))


@contextmanager
def _box(shell: str, nvidia_smi: str = "", cards: int = 1) -> Iterator[Sshd]:
    with tempfile.TemporaryDirectory() as directory:
        tools = Path(directory) / "tools"
        tools.mkdir()
        if shell == "busybox":
            subprocess.run(["busybox", "--install", "-s", str(tools)], check=True)
        words = SHELLS[shell].split()
        words[0] = str(shutil.which(words[0]))
        box = Sshd(
            Path(directory) / "box",
            env={"PATH": f"{directory}/box/bin:{tools}:/usr/sbin:/usr/bin:/sbin:/bin"},
            extra=f"ForceCommand exec {' '.join(words)}\n",
        )
        (box.bin / "nvidia-smi").symlink_to(nvidia_smi or _stand_in(box.bin, cards))
        if shell != "bash":  # what follows the log hands over to one
            box.program("bash", "#!/bin/sh\nexit 1\n")
        (box.home / "queue.txt").write_text("configs/no_aug.yaml reconstruction 5\n")
        (box.home / "queue.log").write_text("one line\n")
        try:
            yield box.start()
        finally:
            box.close()


def _stand_in(where: Path, cards: int) -> str:
    if (cc := shutil.which("cc")) is None:
        return str(shutil.which("true"))
    called = where / CALLED
    called.touch()
    words = [cc, "-O1", f'-DCALLED="{called}"', f"-DCARDS={cards}", "-o", str(where / "stand-in")]
    subprocess.run([*words, str(Path(__file__).with_name("onbox_nvidia_smi.c"))], check=True)
    return str(where / "stand-in")


def _calls(box: Sshd, looks: int) -> float:
    """How often nvidia-smi was started. `true` tells of no memory in use: its programs are asked for now and again."""
    called = box.bin / CALLED
    return called.stat().st_size if called.exists() else looks * (1 + 1 / APPS_ROUNDS)


def _instance(box: Sshd, tail: bool) -> Instance:
    queue = QueueFiles("~/queue.txt", "~/queue.log" if tail else None)
    return box.instance(mounts=("/",), queue=queue, poll=1.0)


class _Watch:
    """The real supervisor on one box, for as long as the block lasts."""

    def __init__(self, instance: Instance) -> None:
        self._fleet = Fleet("bench", (instance,))
        self._first = asyncio.Event()
        self.cards = 0  # rounds of nvidia-smi

    def _take(self, event: Event) -> None:
        if isinstance(event, Sampled):
            self.cards += event.metric == "gpus"
            if event.metric == "memory":
                self._first.set()

    async def __aenter__(self) -> _Watch:
        self._transport = SshTransport()
        supervisor = Supervisor(self._fleet, self._transport, self._take, ManualClock())
        self._running = asyncio.create_task(supervisor.run())
        await asyncio.wait_for(self._first.wait(), 30)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._transport.close()


async def _processor(
    box: Sshd, seconds: float, tail: bool, *, cards_too: bool = False
) -> tuple[float, float]:
    async with _Watch(_instance(box, tail)) as watch:
        await asyncio.sleep(SETTLE)
        with _meter(list(box.processes())) as sampler, _meter(box.session_pids()) as sshd:
            calls, used, relayed = _calls(box, watch.cards), sampler(), sshd()
            began = time.monotonic()
            each = await _cost_of("true" if cards_too else str(box.bin / "nvidia-smi"), seconds)
            passed = time.monotonic() - began
            own = sampler() - used
            if not cards_too:
                own -= (_calls(box, watch.cards) - calls) * each
            return own / passed, (sshd() - relayed) / passed


async def _cost_of(program: str, seconds: float) -> float:
    """Processor seconds of one run of what stands for nvidia-smi, at its pace: a cache grows cold."""
    ends, costs = time.monotonic() + seconds, []
    while time.monotonic() < ends:
        costs += [_run(program), _run(program)]
        await asyncio.sleep(2)
    return sum(costs) / len(costs)


def _lone_true(times: int = 10) -> float:
    costs = []
    for _ in range(times):
        time.sleep(1)
        costs.append(_run("true"))
    return statistics.median(costs)


def _run(program: str) -> float:
    path = str(shutil.which(program))
    _, _, usage = os.wait4(os.posix_spawn(path, [path], os.environ), 0)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _meter(pids: list[int]) -> Iterator:  # type: ignore[type-arg]
    """A function that gives the processor seconds that these and their children have used."""
    for root, clock, unit in CGROUPS:
        try:  # no pid makes a name of its own: each of us lives among pids of its own
            group = Path(tempfile.mkdtemp(prefix="gpu-tui-bench-", dir=root))
        except OSError:
            continue
        if not (group / clock).exists():
            group.rmdir()
            continue
        for pid in pids:
            with suppress(ProcessLookupError):  # a probe that has ended meanwhile
                (group / "cgroup.procs").write_text(str(pid))

        def used(file: Path = group / clock, unit: float = unit) -> float:
            found = re.search(r"\d+", file.read_text())
            assert found
            return int(found[0]) * unit

        try:
            yield used
        finally:
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(OSError):
                    (group.parent / "cgroup.procs").write_text(pid)
            with suppress(OSError):
                group.rmdir()
        return
    yield lambda: sum(map(_ticks, pids)) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))  # its own and those of children that it waited for


async def _counted(box: Sshd, seconds: float, tail: bool) -> tuple[float, int]:
    """Processes per second in steady state; files opened for writing since the login."""
    trace = box.directory / "trace"
    calls = "clone,clone3,fork,vfork,execve,openat,open,creat,mkdir,rename,unlink,unlinkat,truncate"
    assert box._process
    strace = await asyncio.create_subprocess_exec(
        *["strace", "-f", "-ttt", "-y", "-o", str(trace), "-e", f"trace={calls}"],
        *["-p", str(box._process.pid)],
        stderr=asyncio.subprocess.PIPE,
    )
    assert strace.stderr
    await strace.stderr.readline()  # it says that it has attached
    async with _Watch(_instance(box, tail)):
        await asyncio.sleep(SETTLE)
        began = time.clock_gettime(time.CLOCK_REALTIME)  # what strace writes
        await asyncio.sleep(seconds)
        ended = time.clock_gettime(time.CLOCK_REALTIME)
    strace.send_signal(signal.SIGINT)
    await strace.wait()
    return _read(trace.read_text(errors="replace"), began, ended)


_CALL = re.compile(r"(\d+) +([\d.]+) (?:<\.\.\. )?(\w+)(.*?)(?: = (-?\d+).*)?$")
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|^\((?!.*O_RDONLY)")
# Of the second a pipe of its own; the last is the stand-in's.
_HARMLESS = re.compile(rf'"(/dev/(null|tty)|/proc/(self|\d+)/fd/\d|[^"]*/{CALLED})"')


def _read(text: str, began: float, ended: float) -> tuple[float, int]:
    """Counts what the login's shell and its descendants did, not what sshd did before it became one."""
    ours: set[int] = set()
    spawns = cards = written = 0
    for line in text.splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        pid, at, name, words, result = match.groups()
        inside = began <= float(at) < ended
        good = result is not None and int(result) >= 0
        if name in ("clone", "clone3", "fork", "vfork"):
            if good and int(pid) in ours and "CLONE_THREAD" not in words:
                ours.add(int(result))
                spawns += inside
        elif name == "execve":
            if '"' in words and "/sshd" not in words and (good or result is None):
                ours.add(int(pid))
            cards += inside and "/nvidia-smi" in words
        elif int(pid) in ours and good and not _HARMLESS.search(words) and _WRITES.search(words):
            written += 1
    return (spawns - cards) / (ended - began), written


async def _client(port: str, known_hosts: str, identity: str, config: str) -> None:
    """Watches until it is killed; says when it has a reading."""
    access = SshAccess(
        "127.0.0.1",
        user=os.environ.get("USER", "root"),
        port=int(port),
        known_hosts=known_hosts,
        identity=identity,
        config=config,
    )
    queue = QueueFiles("~/queue.txt", "~/queue.log")
    async with _Watch(Instance("box", access, mounts=("/",), queue=queue)):
        print("reading", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        asyncio.run(_client(*sys.argv[2:6]))
    elif sys.argv[1:2] == ["one"]:
        shell, tail, seconds, cards = sys.argv[2:6]
        cost = measure_cost(shell, bool(tail), float(seconds), int(cards))
        print(json.dumps(astuple(cost)))
    elif sys.argv[1:2] == ["real"]:
        print(json.dumps(with_the_cards_own(sys.argv[2], float(sys.argv[3]))))
    elif sys.argv[1:2] == ["kills"]:
        print(json.dumps(left_after_kills(sys.argv[2], int(sys.argv[3]))))
    else:
        for key, row in measure(float(sys.argv[1]) if sys.argv[1:] else 60.0).items():
            print(f"{key}: {row}", flush=True)
