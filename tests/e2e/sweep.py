"""A real sweep on a real box: queue script, wrapper, trainer, logs, checkpoints, all of it running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parent / "box"


class Sweep:
    """Runs `run_queue.sh` in the home of a box. `wait_ready` and `release` meet the trainer in FIFOs."""

    def __init__(
        self, home: Path, cells: tuple[str, ...], epochs: int = 3, trainer: Path | None = None
    ) -> None:
        self.home = home
        self._trainer = trainer or SCRIPTS / "train.py"
        self.queue = home / "queue.txt"
        self.log = home / "logs" / "master.log"
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("logs", "ckpt", "durable", "conf"):
            (home / name).mkdir(exist_ok=True)
        rows = [f"conf/{name}.yaml reconstruction {epochs}\n" for name in cells]
        self.queue.write_text("# the sweep\n\n" + "".join(rows))
        for name in ("ready", "release"):
            os.mkfifo(home / name)

    def append(self, text: str) -> None:
        """Somebody edits the queue file."""
        with self.queue.open("a") as queue:
            queue.write(text)

    def start(self, checkpoint: Path | None = None, *, index: int = 1) -> None:
        """Start the queue as tmux would: in a session of its own, its output in the master log."""
        env = {**os.environ, "HOME": str(self.home), "PYTHON": sys.executable}
        env["TRAINER"] = str(self._trainer)
        if checkpoint:
            env["CHECKPOINT"] = str(checkpoint)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["bash", str(SCRIPTS / "run_queue.sh"), str(self.queue), str(index)],
                env=env,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_ready(self) -> str:
        """Block until a trainer has written all it will write; its cell's name."""
        with (self.home / "ready").open() as gate:
            return gate.read()

    def release(self) -> None:
        """Let the waiting trainer go."""
        with (self.home / "release").open("w") as gate:
            gate.write("go")

    def wait_done(self) -> int:
        """Block until the queue has ended; its exit code."""
        assert self._process is not None
        return self._process.wait(60)

    def kill(self) -> None:
        """End whatever is left."""
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
