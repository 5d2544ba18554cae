"""A box made of files, whose programs run under a shell of our choice as a local process."""

from __future__ import annotations

import asyncio
import inspect
import os
import select
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path

from gpu_tui.collect.sampler import Group, plan
from gpu_tui.core.events import Event, Sampled
from gpu_tui.core.fleet import Instance, QueueFiles, Results, Roots, SshAccess

SHELLS = {
    "dash": ("dash", "-s"),
    "bash": ("bash", "-s"),
    "busybox": ("busybox", "ash", "-s"),
    **({"ksh": ("ksh", "-s")} if shutil.which("ksh") else {}),
}
GPU_ROW = (
    "0, GPU-11111111-aaaa-4bbb-8ccc-000000000000, 45, 9216, 24564, 62, 310.55, 450.00, 2520, 3105, "
    "0, Not Active, Not Active, Not Active, Not Active, Not Active, NVIDIA L40S"
)
NVIDIA_SMI = f"""#!/bin/sh
case $1 in
    --query-gpu=index*) echo '{GPU_ROW}' ;;
    --query-compute-apps*) echo 'GPU-11111111-aaaa-4bbb-8ccc-000000000000, 4127, 9000, python' ;;
    *) echo 'Field is not a valid field to query.'; exit 2 ;;
esac
"""
TAIL = "58 58 0 -1 4194304 0 0 0 0 120 30 0 0 20 0 1 0 {start} 900 10 18446744073709551615 0 0\n"


class ShellBox:
    """`root` holds proc, cgroup, home and bin; `bin` comes first in the PATH."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.bin, self.proc, self.cgroup = (
            root / part for part in ("home", "bin", "proc", "cgroup")
        )
        for part in (self.home, self.bin, self.proc, self.cgroup):
            part.mkdir()
        self.file("proc/uptime", "5000.25 90.00\n")
        self.file("proc/loadavg", "490.10 400.00 300.00 3/900 12\n")
        self.file("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n")
        self.file("proc/vmstat", "nr_free_pages 5\noom_kill 4\n")
        self.file("proc/mounts", "/dev/vda / ext4 rw 0 0\n")
        self.file("proc/sys/kernel/random/boot_id", "77427627-700c-463f-a4d1-862d6a5f0ee9\n")
        self.process(1, 0, "bash", ["bash", "/init/boot.sh"], 17)
        (self.proc / "self/ns").mkdir(parents=True)
        (self.proc / "self/ns/pid").symlink_to("pid:[4026532178]")
        self.process(2, 0, "kthreadd", [], 0)
        self.process(30, 2, "kworker/0:0", [], 0)
        self.process(
            4127, 1, "python", ["python", "train.py", "--config", "cfg/no aug.yaml"], 400_000
        )
        self.program("nvidia-smi", NVIDIA_SMI)

    def file(self, path: str, text: str | bytes) -> Path:
        """Write a file below the root. Nobody sees a part of it: the kernel shows none of its own either."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        part.write_bytes(text.encode() if isinstance(text, str) else text)
        return part.replace(target)

    def program(self, name: str, text: str) -> None:
        """A program of the box."""
        self.file(f"bin/{name}", text).chmod(0o755)

    def process(self, pid: int, ppid: int, name: str, argv: list[str], start: int) -> None:
        """A row of the process table; `start` in ticks after boot."""
        self.file(f"proc/{pid}/stat", f"{pid} ({name}) S {ppid} " + TAIL.format(start=start))
        self.file(f"proc/{pid}/cmdline", "".join(f"{word}\0" for word in argv))

    def render_node(
        self, number: int, driver: str, slot: str = "0000:41:00.0", **facts: str
    ) -> None:
        """/dev/dri/renderD<number>, and what sysfs says of it; `facts` are further lines of its uevent."""
        self.file(f"dev/dri/renderD{number}", "")
        place = self.root / f"sys/class/drm/renderD{number}"
        device = self.root / f"sys/devices/pci0000:00/{slot}"
        device.mkdir(parents=True, exist_ok=True)
        place.mkdir(parents=True)
        (place / "device").symlink_to(device)
        (device / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
        lines = {"DRIVER": driver, "PCI_SLOT_NAME": slot, **facts}
        (device / "uevent").write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def cgroup2(self, where: str = "", limit: str = "8000") -> None:
        """Version 2 files of one cgroup."""
        for name, text in {
            "memory.current": "5000\n",
            "memory.max": f"{limit}\n",
            "memory.peak": "7000\n",
            "memory.events": "low 0\nmax 9\noom 3\noom_kill 3\noom_group_kill 0\n",
            "memory.stat": "anon 4000\ninactive_file 1000\nactive_file 0\n",
            "cpu.max": "1600000 100000\n",
            "cpu.stat": "usage_usec 2500000\nuser_usec 1\nnr_periods 10\nnr_throttled 4\n",
        }.items():
            self.file(f"cgroup{where}/{name}", text)

    def cgroup1(self, where: str = "", limit: str = "8000") -> None:
        """Version 1 files of one cgroup; in `where` below each controller."""
        for name, text in {
            "memory{}/memory.usage_in_bytes": "5000\n",
            "memory{}/memory.limit_in_bytes": f"{limit}\n",
            "memory{}/memory.max_usage_in_bytes": "6000\n",
            "memory{}/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            "memory{}/memory.stat": "cache 900\ntotal_inactive_file 700\n",
            "cpu{}/cpu.cfs_quota_us": "250000\n",
            "cpu{}/cpu.cfs_period_us": "100000\n",
            "cpu{}/cpu.stat": "nr_periods 8\nnr_throttled 2\nthrottled_time 9\n",
            "cpuacct{}/cpuacct.usage": "3000000000\n",
        }.items():
            self.file("cgroup/" + name.format(where), text)

    def instance(self, **changes: object) -> Instance:
        """The fleet file's row for this box."""
        row: dict[str, object] = {
            "name": "box-1",
            "ssh": SshAccess("box-1"),
            "roots": Roots(*(str(self.root / name) for name in ("cgroup", "proc", "sys", "dev"))),
            "mounts": ("/", str(self.root / "nowhere")),
            "queue": QueueFiles("~/q 1.txt", "~/runs/logs/q1.log"),
            "logs": "~/runs/logs/{cell}.log",
            "results": Results("~/final"),
        }
        return Instance(**{**row, **changes})  # type: ignore[arg-type]

    def group(self, **changes: object) -> Group:
        """The planned program."""
        (group,) = plan(self.instance(**changes))
        return group

    def environment(self, shell: str) -> dict[str, str]:
        """PATH and HOME of a login; busybox has its own tools before the system's."""
        path = [str(self.bin)]
        if shell == "busybox":
            tools = self.root / "busybox"
            if not tools.is_dir():
                tools.mkdir()
                busybox = shutil.which("busybox")
                assert busybox, "these tests need busybox: apt-get install busybox"
                subprocess.run([busybox, "--install", "-s", str(tools)], check=True)
            path.append(str(tools))
        path.append(os.environ.get("PATH", os.defpath))
        return {"PATH": os.pathsep.join(path), "HOME": str(self.home)}


@dataclass
class ShellConnection:
    """A Connection whose far side is a shell on this machine; only `stream` is used here."""

    box: ShellBox
    shell: str = "dash"
    host_key: str = "none"
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The program's stdout in chunks; its stdin ends with the block."""
        process = await start(self.box, self.shell, program)
        self.processes.append(process)
        try:
            yield Chunks(process)
        finally:
            await finish(process)


class Chunks:
    """What a process says, and its stdin."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def write(self, data: bytes) -> None:
        """As `write_to` has it."""
        assert self._process.stdin
        self._process.stdin.write(data)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        assert self._process.stdout
        if chunk := await self._process.stdout.read(65_536):
            return chunk
        raise StopAsyncIteration


async def start(
    box: ShellBox, shell: str, program: str, pass_fds: tuple[int, ...] = ()
) -> asyncio.subprocess.Process:
    """The shell with the program sent over stdin, which stays open: as sshd runs it."""
    process = await asyncio.create_subprocess_exec(
        *SHELLS[shell],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=box.environment(shell),
        cwd=box.home,
        start_new_session=True,
        pass_fds=pass_fds,
    )
    assert process.stdin
    process.stdin.write(program.encode())
    await process.stdin.drain()
    return process


async def finish(process: asyncio.subprocess.Process) -> None:
    """The client goes: stdin ends; its own end of every pipe is closed too."""
    assert process.stdin
    process.stdin.close()
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]  # else it lives until collected


def _box_at(root: Path) -> ShellBox:
    root.mkdir()
    return ShellBox(root)


def in_all_at_once(
    shells: Iterable[str], box_at: Callable[[Path], ShellBox] = _box_at
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """The test's first two arguments are a box of its own and a shell: all shells are tried at once, for nearly all
    that such a test does is wait. The first that fails cancels the others and is named in a note. `box_at` makes a box
    in a directory that is not there yet.
    """

    def of(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def one(root: Path, shell: str, rest: dict[str, object]) -> None:
            try:
                await test(box_at(root), shell, **rest)
            except Exception as error:
                error.add_note(f"in the shell {shell}")
                raise

        @wraps(test)
        async def everywhere(tmp_path: Path, **rest: object) -> None:
            async with asyncio.TaskGroup() as tasks:
                for number, shell in enumerate(shells):
                    tasks.create_task(one(tmp_path / str(number), shell, rest))

        others = list(inspect.signature(test).parameters.values())[2:]
        path = inspect.Parameter("tmp_path", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        everywhere.__signature__ = inspect.Signature([path, *others])  # type: ignore[attr-defined]
        return everywhere

    return of


class Inbox:
    """A sink whose events can be awaited."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Sampled] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        assert isinstance(event, Sampled)
        self.queue.put_nowait(event)

    async def metric(self, name: str) -> Sampled:
        """The next event of one metric; others before it are dropped."""
        return await self.metric_of(name)

    async def metric_of(self, *names: str) -> Sampled:
        """The next event of any of these metrics."""
        while True:
            event = await asyncio.wait_for(self.queue.get(), 60)
            if event.metric in names:
                return event

    async def all_of(self, names: set[str]) -> dict[str, Sampled]:
        """The first event of each metric."""
        found: dict[str, Sampled] = {}
        while names - found.keys():
            event = await asyncio.wait_for(self.queue.get(), 60)
            found.setdefault(event.metric, event)
        return found


async def gone(*pids: int) -> None:
    """Wait until each of these processes has ended, whoever is to reap it."""
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = await asyncio.to_thread(select.select, [fd], [], [], 60)
        os.close(fd)
        assert ended
