"""The log pane against what people know: RichLog, lnav, tail.

`cd tests && python -m bench logpane`. All ways take the same lines in the same run:

- a million lines of one trainer appended at once to a file that a viewer in a pty of 120x40 is showing,
  until the last of them is on its screen: ours (reader, triage, store and view in one app, fed from the
  file in pieces of 64 KiB) and lnav, in interleaved rounds;
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
from collections.abc import Callable
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

    from gpu_tui.parse.log_reader import LogReader, mouthful, warm_up
    from gpu_tui.resources import themes_dir
    from gpu_tui.state.log_document import LogDocument
    from gpu_tui.state.logbuffer import LogBuffer
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
            self.set_interval(0.1, self._look)
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

    def close(self) -> int:
        """End it; its resident bytes before."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            pages = 0
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        return pages * os.sysconf("SC_PAGE_SIZE")


def flood(argv: Callable[[Path], list[str]], data: bytes, directory: Path) -> tuple[float, int]:
    """Seconds from the append until the last line is on screen, and the bytes that the viewer grew by."""
    path = directory / "train.log"
    first = ("started\n" * 3 + "READY" + "¤" * 12 + "\n").encode()
    path.write_bytes(first)
    screen = Screen(argv(path))
    screen.until(("¤" * 12).encode())
    before = int(Path(f"/proc/{screen.pid}/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )
    with path.open("ab") as file:
        file.write(data)
    took = screen.until(SIGN.encode())
    after = screen.close()
    return (LIMIT if took is None else took), after - before


async def first_sight(rounds: int) -> dict[str, float]:
    """The end of a file of 444 MB: by the follower into the view, and by `tail` over the same link."""
    from gpu_tui.collect.follow import TailMemory, follow
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
            box.stop()
    return {way: median(seconds) for way, seconds in taken.items()}


def measure(rounds: int = ROUNDS) -> dict[str, object]:
    """Medians of interleaved rounds."""
    piece = log_mix.one_trainer(LINES * 111 / 20 / 1e6, 111)
    data = piece * 20
    lines = data.count(b"\n") + 1
    data += (SIGN + "\n").encode()
    part = piece[: piece.find(b"\n", len(piece) // 8) + 1] + (SIGN + "\n").encode()
    ours: list[float] = []
    lnav: list[float] = []
    rich: list[float] = []
    grown = 0
    viewer = [sys.executable, "-c", VIEWER]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for _ in range(rounds):
            seconds, grown = flood(lambda path: [*viewer, "ours", str(path)], data, directory)
            ours.append(seconds)
            if shutil.which("lnav"):
                seconds, _ = flood(lambda path: ["lnav", str(path)], data, directory)
                lnav.append(seconds)
            seconds, _ = flood(lambda path: [*viewer, "richlog", str(path)], part, directory)
            rich.append(seconds)
    sight = asyncio.run(first_sight(rounds))
    rate = lines / median(ours)
    row: dict[str, object] = {
        "lines": lines,
        "MB": round(len(data) / 1e6, 1),
        "ours: last line on screen after s": round(median(ours), 2),
        "lnav: last line on screen after s": round(median(lnav), 2) if lnav else "not here",
        "ours / lnav": round(median(ours) / median(lnav), 2) if lnav else "not here",
        "ours lines/s, judged and on screen": round(rate),
        "RichLog lines/s": round(part.count(b"\n") / median(rich)),
        "ours / RichLog": round(rate * median(rich) / part.count(b"\n")),
        "memory / raw bytes of a million lines": round(grown / len(data), 2),
        "end of 444 MB over ssh: ours ms": round(1e3 * sight["ours"]),
        "end of 444 MB over ssh: tail -n 40 ms": round(1e3 * sight["tail"]),
    }
    return row


if __name__ == "__main__":
    subprocess.run([sys.executable, "-m", "bench", "logpane"], check=True)
