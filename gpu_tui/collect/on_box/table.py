"""The table of processes, read from /proc."""

import os

from gpu_tui.collect.on_box.files import SmallFile, lines_of, read_once
from gpu_tui.collect.on_box.frames import Frames
from gpu_tui.collect.on_box.lane import pids_in
from gpu_tui.collect.on_box.threads import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpu_tui.collect.on_box.cards import Cards
    from gpu_tui.collect.on_box.lane import Lane

ARGUMENTS = 2048  # bytes of one process's arguments


class ProcessTable:
    """The processes of the box, in a thread of its own: to read a process's arguments may hang.

    The table is read at the start, at the latest every `latest` looks, and at the next look once their
    number is another: then something began or ended. Where that is so all the time it is no sign of
    anything, and less and less is made of it. Before its turn only who is new is read. Arguments are
    read again where a process is another, has another name, and now and then; who is a thread of the
    kernel is not looked at so long.
    """

    def __init__(self, nonce: bytes, proc: str, mark: int, every: int, latest: int) -> None:
        self._frames = Frames(nonce)
        self._mark = mark
        self._every = every
        self._latest = latest
        self._proc = proc
        self._uptime = SmallFile(proc + "/uptime")
        self._looks = self._waited = self._whole = 0
        self._spell, self._counted, self._moved = 1, -1, False
        self._pids: list[str] = []
        self._early = False
        self._rounds = 0
        self._rows: dict[str, bytes] = {}
        self._ticks: dict[str, bytes] = {}  # CPU ticks of the processes read in this round
        self._threads: set[str] = set()
        self._arguments: dict[bytes, bytes] = {}
        self._told: list[bytes] | None = None
        self._worker = Worker(self._answer)

    def beat(self, beat: int, lanes: "Iterable[Lane | Cards]") -> None:
        """Send a frame where it is worth it. What the lanes have just started is not counted."""
        if beat % self._every or self._worker.busy:
            return
        self._pids = pids_in(self._proc)
        ours = [lane for lane in lanes if lane.waits and str(lane.pid) in self._pids]
        if self._worth(len(self._pids) - len(ours)):
            self._worker.send()
        else:
            self._looks += 1

    def _worth(self, number: int) -> bool:
        self._waited += 1
        self._whole += 1
        another = number != self._counted
        self._moved = self._moved or another
        first = self._looks < 3
        if (
            not first
            and self._waited < self._latest
            and not (another and self._waited >= self._spell)
        ):
            return False
        if not self._moved or first:
            self._spell = 1
        elif self._spell < self._latest:
            self._spell *= 2
        self._counted, self._waited, self._moved = number, 0, False
        self._early = not first and self._whole < self._latest
        if not self._early:
            self._whole = 0
        return True

    def _answer(self) -> None:
        frames = self._frames
        frames.begin(self._mark, self._looks)
        frames.say(b"open uptime")
        for line in lines_of(self._uptime.read()):
            frames.put(b"uptime " + line)
        frames.say(b"close 0")
        self._rounds += 1
        if self._rounds >= 4:
            self._rounds = 0
            self._threads, self._arguments, self._told = set(), {}, None
        seen = self._stat()
        if list(seen) == self._told:
            frames.say(b"same cmdline")
        else:
            self._cmdline(seen)
        self._told = list(seen)
        frames.say(b"end %d" % self._looks)
        frames.flush()
        self._looks += 1

    def _stat(self) -> "dict[bytes, str]":
        """Send the rows: PID (NAME) STATE PARENT START, and for Python programs the CPU ticks. Returns identity -> PID."""
        self._ticks = {}
        known = self._rows if self._early else {}
        self._rows, seen = {}, {}
        self._frames.say(b"open stat")
        for pid in self._pids:
            if pid in self._threads:
                continue
            row = known.get(pid) or self._row(pid)
            if not row:
                continue
            self._rows[pid] = row
            who, _, rest = row.rpartition(b")")
            seen[who + rest.split()[-1]] = pid
            for line in (row + self._ticks.get(pid, b"")).split(b"\n"):
                self._frames.put(line)
        self._frames.say(b"close 0")
        return seen

    def _row(self, pid: str) -> bytes:
        who, _, rest = read_once(self._proc + "/" + pid + "/stat").rpartition(b")")
        words = rest.split()
        if len(words) < 20:
            return b""
        if words[1] == b"2":
            self._threads.add(pid)
            return b""
        if who.partition(b" ")[2][:3] in (b"(py", b"(pt"):
            self._ticks[pid] = b" " + b" ".join(words[11:13])
        return who + b") " + b" ".join((words[0], words[1], words[19]))

    def _cmdline(self, seen: "Mapping[bytes, str]") -> None:
        """Send the arguments: a header, and then a line where there are any."""
        self._frames.say(b"open cmdline")
        arguments = {}
        for who, pid in seen.items():
            path = self._proc + "/" + pid + "/cmdline"
            text = self._arguments.get(who)
            if not text:
                text = read_once(path)
                text = (text[:-1] if text[-1:] == b"\0" else text).replace(b"\0", b"\x1f")[
                    :ARGUMENTS
                ]
            if text:
                arguments[who] = text
                self._frames.put(b"==> " + os.fsencode(path) + b" <==")
                for line in lines_of(text):
                    self._frames.put(line)
        self._arguments = arguments
        self._frames.say(b"close 0")
