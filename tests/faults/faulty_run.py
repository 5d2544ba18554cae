"""A real queue with a real trainer that does what a test tells it, and a real memory cgroup to do it in."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SCRIPTS = Path(__file__).parent / "box"
QUEUE_SCRIPT = Path(__file__).parents[1] / "e2e" / "box" / "run_queue.sh"
MIB = 1 << 20


class Cgroup:
    """A memory cgroup with a limit, of whichever version this machine has. Raises OSError where it has none."""

    def __init__(self, limit: int) -> None:
        name = f"gpu-tui-test-{secrets.token_hex(4)}"
        self.version = 1 if Path("/sys/fs/cgroup/memory").is_dir() else 2
        root = Path("/sys/fs/cgroup/memory" if self.version == 1 else "/sys/fs/cgroup")
        if self.version == 2:
            (root / "cgroup.subtree_control").write_text("+memory")
        self.path = root / name
        self.path.mkdir()
        files = (
            ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
            if self.version == 1
            else ("memory.max", "memory.swap.max")
        )
        for file in files:
            with suppress(FileNotFoundError):  # swap may not be accounted
                (self.path / file).write_text("0" if file == "memory.swap.max" else str(limit))

    @property
    def members(self) -> Path:
        """The file that takes a pid."""
        return self.path / "cgroup.procs"

    def close(self) -> None:
        """End what is left in it and remove it."""
        for pid in self.members.read_text().split():
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(int(pid))
                os.kill(int(pid), signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(int(pid), 0)
                os.close(handle)
        with suppress(
            OSError
        ):  # a process that is still leaving holds it: it is empty soon, and harmless
            self.path.rmdir()


class FaultyRun:
    """`run_queue.sh` in the home of a box; its trainer waits for commands in the FIFO ~/command."""

    def __init__(self, home: Path, cells: tuple[str, ...], epochs: int = 3) -> None:
        self.home = home
        self.queue = home / f"queue_{secrets.token_hex(4)}.txt"  # one machine, one process table
        self.log = home / "logs" / "master.log"
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("logs", "out", "scripts"):
            (home / name).mkdir(exist_ok=True)
        shutil.copy(QUEUE_SCRIPT, home / "scripts" / "run_queue.sh")
        for script in SCRIPTS.iterdir():
            shutil.copy(script, home / "scripts" / script.name)
        self.queue.write_text("".join(f"conf/{name}.yaml task {epochs}\n" for name in cells))
        self._fifos: dict[str, int] = {}
        for fifo in ("command", "answer"):
            os.mkfifo(home / fifo)
            # Open on both sides, so that neither of us ever blocks in opening it.
            self._fifos[fifo] = os.open(home / fifo, os.O_RDWR | os.O_NONBLOCK)

    @property
    def command(self) -> str:
        """What a person types to start it."""
        script = self.home / "scripts" / "run_queue.sh"
        return f"bash {script} {self.queue} >>{self.log} 2>&1"

    @property
    def environment(self) -> dict[str, str]:
        """What the scripts need."""
        return {**os.environ, "HOME": str(self.home), "PYTHON": sys.executable}

    def start(self, cgroup: Cgroup | None = None) -> None:
        """Start the queue in a session of its own, inside the cgroup if there is one."""
        enter = f"echo $$ >{cgroup.members}; " if cgroup else ""
        self._process = subprocess.Popen(
            ["bash", "-c", f"{enter}exec {self.command}"],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def tell(self, command: str) -> None:
        """Give the trainer one command."""
        os.write(self._fifos["command"], f"{command}\n".encode())

    def answer(self, seconds: float = 60.0) -> int:
        """Block until the trainer has done what it was told and says so; its pid."""
        poll = select.poll()
        poll.register(self._fifos["answer"], select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise TimeoutError(f"no answer; the queue's log says:\n{self.log.read_text()}")
        return int(os.read(self._fifos["answer"], 64))

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the queue's whole session."""
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def close(self) -> None:
        """End whatever is left."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
        for handle in self._fifos.values():
            os.close(handle)
        self._fifos.clear()
