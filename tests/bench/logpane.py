"""The log pane against what people know: RichLog, lnav, tail.

`cd tests && python -m bench logpane`. All ways take the same lines in the same run:

- a million lines of one trainer appended at once to a file that a viewer in a pty of 120x40 is showing,
  until the last of them is on its screen: ours (reader, triage, store and view in one app, fed from the
  file in pieces of 64 KiB, drawn as often as the cockpit draws) and lnav, in interleaved rounds;
- the same lines written into a RichLog, of which a part stands for the whole: lines/s;
- what a million lines take in memory, as the growth of the process that holds them;
- the last line of a file of 444 MB on the screen of the real cockpit's pane, behind a real sshd to which
  the link is up, and `tail` by the same ssh connection.
"""

from __future__ import annotations

import asyncio
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from statistics import median
from termios import TIOCSWINSZ

from bench import log_mix
from boxes import Sshd

LINES = 1_000_000
BIG = 444_000_000
SIGN = "§" * 12
ROUNDS = 3
LIMIT = 60.0
VIEWER = """
import sys, time
from bench.logpane import show
show(sys.argv[1], sys.argv[2])
"""


def show(kind: str, path: str) -> None:
    """The viewer of one round: follows a file in its own app until it is told to end."""
    from textual.app import App, ComposeResult
    from textual.widgets import RichLog

    from gpu_tui.parse.log_flood import mouthful
    from gpu_tui.parse.log_reader import LogReader, warm_up
    from gpu_tui.resources import themes_dir
    from gpu_tui.state.log_document import LogDocument
    from gpu_tui.state.logbuffer import LogBuffer
    from gpu_tui.ui.app import FRAME
    from gpu_tui.ui.theme_file import load_themes
    from gpu_tui.ui.widgets.logview import LogView

    class Viewer(App[None]):
        """One pane, and what a follower does with what it reads."""

        CSS = "LogView { width: 100%; height: 100%; }"

        def __init__(self) -> None:
            super().__init__()
            self.buffer = LogBuffer()
            self.document = LogDocument(self.buffer)
            theme = load_themes(themes_dir())[0]
            self.register_theme(theme.textual)
            self.theme = theme.name
            self.console.push_theme(theme.rich)
            self.log_view = RichLog() if kind == "richlog" else LogView()

        def compose(self) -> ComposeResult:
            yield self.log_view

        async def on_mount(self) -> None:
            self.set_interval(FRAME, self._look)
            self.run_worker(self._follow(), exit_on_error=True)

        def _look(self) -> None:
            if isinstance(self.log_view, LogView):
                self.log_view.look_at(self.document)

        async def _follow(self) -> None:
            reader = LogReader()
            with open(path, "rb", buffering=0) as file:  # noqa: ASYNC230 - it is local
                while True:
                    data = file.read(65_536)
                    if not data:
                        await asyncio.sleep(0.02)
                    while data and isinstance(self.log_view, RichLog):
                        for line in data.decode().splitlines():
                            self.log_view.write(line)
                        data = b""
                    while data:
                        size = mouthful(data)
                        self.buffer.extend(reader.feed(data[:size]))
                        data = data[size:]
                        await asyncio.sleep(0)

    warm_up()
    Viewer().run(mouse=False)


class Screen:
    """A program in a pty of 120x40."""

    def __init__(self, argv: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LANG="C.UTF-8")
            os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
            os.execvp(argv[0], argv)
        ioctl(self.fd, TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def until(self, wanted: bytes) -> float | None:
        """Seconds until `wanted` came; None where it did not."""
        began, seen = time.perf_counter(), b""
        while time.perf_counter() - began < LIMIT:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    seen = seen[-400:] + os.read(self.fd, 1 << 16)
                except OSError:
                    return None
                if wanted in seen:
                    return time.perf_counter() - began
        return None

    @property
    def resident(self) -> int:
        """Bytes in memory now."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def worked(self) -> float:
        """Seconds of the processor so far, of all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@dataclass(frozen=True, slots=True)
class Flood:
    """Seconds from the append until the last line is on screen, those that the processor worked for the
    viewer, and the bytes that it grew by.
    """

    seconds: float
    worked: float
    grown: int


def flood(argv: list[str], data: bytes, path: Path) -> Flood:
    """Append `data` to a file that a viewer shows."""
    path.write_bytes(("started\n" * 3 + "READY" + "¤" * 12 + "\n").encode())
    screen = Screen([*argv, str(path)])
    try:
        screen.until(("¤" * 12).encode())
        memory, worked = screen.resident, screen.worked
        with path.open("ab") as file:
            file.write(data)
        took = screen.until(SIGN.encode())
        return Flood(took or LIMIT, screen.worked - worked, screen.resident - memory)
    finally:
        screen.close()


async def first_sight(rounds: int) -> dict[str, float]:
    """The end of a file of 444 MB: by the follower into the view, and by `tail` over the same link."""
    from gpu_tui.collect.follow import follow
    from gpu_tui.collect.tail_memory import TailMemory
    from gpu_tui.core.clock import ManualClock
    from gpu_tui.core.events import Event, LogArrived
    from gpu_tui.core.logs import LogSource
    from gpu_tui.parse.log_reader import warm_up
    from gpu_tui.state.logbuffer import LogBuffer
    from gpu_tui.transport.ssh import SshTransport

    warm_up()
    with tempfile.TemporaryDirectory() as directory:
        box = Sshd(Path(directory)).start()
        log = box.home / "big.log"
        piece = log_mix.one_trainer(20.0, 111)
        with log.open("wb") as file:
            while file.tell() < BIG:
                file.write(piece)
            file.write((SIGN + "\n").encode())
        taken: dict[str, list[float]] = {"ours": [], "tail": []}
        connection = await SshTransport().connect(box.instance())
        try:
            for _ in range(rounds):
                began = time.perf_counter()
                await connection.run(f"tail -n 40 {log}", limit=60)
                taken["tail"].append(time.perf_counter() - began)
                shown = asyncio.Event()
                buffer = LogBuffer()

                def sink(
                    event: Event, buffer: LogBuffer = buffer, shown: asyncio.Event = shown
                ) -> None:
                    if isinstance(event, LogArrived):
                        buffer.extend(event.lines, event.upto)
                        if buffer.text(buffer.end - 1) == SIGN:
                            shown.set()

                source = LogSource(str(log), "cell")
                began = time.perf_counter()
                following = asyncio.create_task(
                    follow(connection, box.instance(), source, sink, ManualClock(), TailMemory())
                )
                await asyncio.wait_for(shown.wait(), LIMIT)
                taken["ours"].append(time.perf_counter() - began)
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        finally:
            await connection.close()
            box.close()
    return {way: median(seconds) for way, seconds in taken.items()}


def measure(rounds: int = ROUNDS) -> dict[str, object]:
    """Medians of interleaved rounds."""
    piece = log_mix.one_trainer(LINES * 111 / 20 / 1e6, 111)
    end = (SIGN + "\n").encode()
    data = piece * 20 + end
    part = piece[: piece.find(b"\n", len(piece) // 8) + 1] + end
    lines, few = data.count(b"\n"), part.count(b"\n")
    viewer = [sys.executable, "-c", VIEWER]
    ways = {"ours": [*viewer, "ours"], "RichLog": [*viewer, "richlog"]}
    if shutil.which("lnav"):
        ways["lnav"] = ["lnav"]
    taken: dict[str, list[Flood]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "train.log"
        for _ in range(rounds):
            for way, argv in ways.items():
                taken[way].append(flood(argv, part if way == "RichLog" else data, path))

    def mid(way: str, what: str) -> float:
        return median(getattr(one, what) for one in taken[way])

    row: dict[str, object] = {
        "lines": lines,
        "MB": round(len(data) / 1e6, 1),
        "ours: last line on screen after s": round(mid("ours", "seconds"), 2),
        "ours: seconds of the processor": round(mid("ours", "worked"), 2),
        "ours lines/s, judged and on screen": round(lines / mid("ours", "seconds")),
        "RichLog lines/s": round(few / mid("RichLog", "seconds")),
        "ours / RichLog": round(
            lines / mid("ours", "seconds") * mid("RichLog", "seconds") / few, 1
        ),
        "ours / RichLog, lines per second of the processor": round(
            lines / mid("ours", "worked") * mid("RichLog", "worked") / few, 1
        ),
        "memory / raw bytes of a million lines": round(mid("ours", "grown") / len(data), 2),
    }
    if "lnav" in ways:
        row |= {
            "lnav: last line on screen after s": round(mid("lnav", "seconds"), 2),
            "lnav: seconds of the processor": round(mid("lnav", "worked"), 2),
            "ours / lnav": round(mid("ours", "seconds") / mid("lnav", "seconds"), 2),
        }
    sight = asyncio.run(first_sight(rounds))
    return row | {
        "end of 444 MB over ssh: ours ms": round(1e3 * sight["ours"]),
        "end of 444 MB over ssh: tail -n 40 ms": round(1e3 * sight["tail"]),
        "load of the machine meanwhile": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    subprocess.run([sys.executable, "-m", "bench", "logpane"], check=True)
