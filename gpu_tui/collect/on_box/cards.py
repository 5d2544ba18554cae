"""nvidia-smi, by far the dearest program that is asked on a box, so it is not left to sh.

It is started anew for a look, which tells how it ended; and where that went well and others use the
cards, it goes on in its own loop: most of what it takes is its start. What a loop may do wrong
(`probe_gpu`) ends it, and then it is called again.
"""

import os
import re
import signal
import time
from contextlib import suppress

from gpu_tui.collect.on_box.files import read_once
from gpu_tui.collect.on_box.frames import AT_END, MOST, Frames
from gpu_tui.collect.on_box.lane import pids_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

HANGS, KILLED = 124, 137  # exit codes: from here on it was ended
MOMENTS = 5  # milliseconds: who ends lets go of its pipe a little earlier
COMPUTE = re.compile(
    r"nvidia\d.*|dxg|kfd|davinci.*|renderD.*"
)  # as `devices.LIST_DEVICES` lists them
# A card that gives no share may be in MIG mode: then ask, now and again, how it is cut.
MAYBE_CUT = re.compile(rb", GPU-.{8}-.{4}-.{4}-.{4}-.{12}, \[N/A\], ", re.DOTALL)


class Cards:
    """The cards, and the programs on them, as the row in `probe_gpu` has them.

    A round is a generator that yields wherever it would have to wait: until there is something to
    read from `fd`, or for a beat where that is -1. So it never waits in anybody's way.

    `roots` of proc, sys and dev; `every` in beats, `limit` in seconds for one program. The programs on the cards are
    asked for `again` after so many rounds, after `cut_again` how cards are cut, after `list_again` the device files. A loop lives for `loops` rounds, one each
    `period` seconds, of which none may be more than `late`, while each card has more than `in_use` MiB. The rest are nvidia-smi's arguments.
    """

    def __init__(
        self, nonce: bytes, roots: "tuple[str, str, str]", mark: int, every: int, limit: float,
        again: int, cut_again: int, list_again: int, loops: int, period: float, late: float, in_use: int,
        query: "Sequence[str]", apps: "Sequence[str]", mig: "Sequence[str]", loop: "Sequence[str]",
    ) -> None:  # fmt: skip
        self._frames = Frames(nonce)
        self._proc, self._sys, self._dev = roots
        self._doubt = True  # whether the driver lives
        self._mark = mark
        self._every = every
        self._limit = limit
        self._again = again
        self._cut_again = cut_again
        self._list_again = list_again
        self._loops = loops
        self._least = loops * period / 2
        self._patience = period + late
        self._in_use = in_use
        self._query, self._apps, self._mig, self._loop = query, apps, mig, loop
        self._surroundings = dict(os.environb)  # os.environ itself is translated anew at each start
        self._cut = b""
        self._told: bytes | None = None
        self._rounds = self._number = 0
        self._due = False
        self.fd = -1
        self.pid = 0  # of the program that was called
        self._ends = 0.0
        self._trusted = True  # that a loop does as it should
        self._rows: list[tuple[bytes, int]] = []  # what each of a loop has to be: `as_expected`
        self._looping = 0  # the loop's pid
        self._prints = -1  # what it prints into
        self._left = 0  # looks
        self._began = 0.0
        self._heard = b""
        self._round: Generator[None, None, None] | None = None
        AT_END.append(self._end)

    @property
    def waits(self) -> bool:
        """A program that we started lives."""
        return self.pid != 0

    def beat(self, beat: int) -> None:
        """Look after the program, and begin a round where it is time and the last one went out."""
        self._due = self._due or not beat % self._every
        if (self.pid or self._looping) and time.monotonic() > self._ends:
            self._end()
        if self._round is not None and self.fd < 0:
            self.proceed()
        if self._due and self._round is None:
            self._due, self._round = False, self._answer()
            self.proceed()

    def proceed(self) -> None:
        """With the round."""
        if self._round is not None:
            try:
                next(self._round)
            except StopIteration:
                self._round = None

    def _answer(self) -> "Generator[None, None, None]":
        yield from self._frame()
        while self._looping:  # its rows, not the beats, say when
            yield from self._frame()

    def _frame(self) -> "Generator[None, None, None]":
        frames = self._frames
        frames.begin(self._mark, self._number)
        if self._number % self._list_again:
            frames.say(b"same devices")
        else:
            frames.show(b"devices", devices(self._sys, self._dev), 0)
        text, code = (yield from self._next_rows()), 0
        if not text:
            text, code = yield from self._call()
        self._doubt = code >= HANGS
        frames.show(b"query", text, code)
        self._rows = []
        if code in (0, 14, 15):
            yield from self._programs(text)
            if self._trusted and not code and not self._cut and self._told is not None:
                self._rows = expected(text, self._in_use)
        else:
            self._told = None
        frames.say(b"end %d" % self._number)
        frames.flush()
        self._number += 1
        if not self._rows:
            yield from self._leave_loop()

    def _call(self) -> "Generator[None, None, tuple[bytes, int]]":
        hung = self._hung() if self._doubt else set()
        if hung:
            yield
            hung &= self._hung()
        if hung:
            return b"", KILLED
        return (yield from self._run(self._query))

    def _next_rows(self) -> "Generator[None, None, bytes]":
        """What the loop prints next; of several looks the last. Empty: a call has to tell."""
        if not self._rows:
            return b""
        if self._left <= 0:
            # One that came round too fast does not wait between two looks.
            if self._looping and time.monotonic() - self._began < self._least:
                self._trusted = False
            yield from self._leave_loop()
            if not self._trusted:
                return b""
            try:
                self._looping, self._prints = self._started(self._loop)
            except OSError:
                self._trusted = False
                return b""
            self._left, self._began, self._heard = self._loops, time.monotonic(), b""
        number = len(self._rows)
        lines: list[bytes] = []
        self._ends = time.monotonic() + self._patience
        while self._trusted and len(lines) < number:
            self.fd = self._prints
            yield
            part = os.read(self.fd, 65_536)
            self.fd = -1
            *lines, rest = (self._heard + part.replace(b"\0", b"")).split(b"\n")
            good = (as_expected(row, *self._rows[at % number]) for at, row in enumerate(lines))
            self._trusted = bool(part) and all(good) and len(rest) < MOST
            self._left -= len(lines) // number
            whole = len(lines) // number * number
            self._heard = b"\n".join([*lines[whole:], rest])
        if not self._trusted:
            yield from self._leave_loop()
            return b""
        return b"\n".join(lines[whole - number : whole])

    def _leave_loop(self) -> "Generator[None, None, None]":
        if self._looping:
            self._left = 0
            os.close(self._prints)
            self._kill(self._looping)
            yield from self._ended(self._looping)
            self._looping = 0

    def _hung(self) -> "set[str]":
        """Those that a dead driver holds: they outlive all who asked, and there must not be ever more of them."""
        return {
            pid
            for pid in pids_in(self._proc)
            if b" (nvidia-smi) D 1 " in read_once(self._proc + "/" + pid + "/stat")
        }

    def _programs(self, text: bytes) -> "Generator[None, None, None]":
        """Who takes a card or leaves it changes the memory in use there: else they are the same."""
        if not MAYBE_CUT.search(text):
            self._cut = b""
        elif not self._cut or not self._number % self._cut_again:
            modes, _ = yield from self._run(self._mig)
            parts, _ = yield from self._run(["-L"])
            self._cut = modes + b"\n" + parts
        rows = [row.split(b", ", 4) for row in text.split(b"\n")]
        in_use = b" ".join(row[3] for row in rows if len(row) == 5)  # index, uuid, share, this
        self._rounds += 1
        if in_use == self._told and self._rounds < self._again:
            self._frames.say(b"same apps")
        else:
            apps, code = yield from self._run(self._apps)
            self._frames.show(b"apps", apps, code)
            self._told, self._rounds = in_use if code in (0, 14) else None, 0
        if self._cut:
            self._frames.show(b"mig", self._cut, 0)

    def _run(self, words: "Sequence[str]") -> "Generator[None, None, tuple[bytes, int]]":
        """What it printed, and its exit code as sh has it. Whoever holds our pipe is waited for."""
        try:
            self.pid, ours = self._started(words)
        except OSError as error:
            return b"", 127 if isinstance(error, FileNotFoundError) else 126
        self._ends = time.monotonic() + self._limit
        self.fd, text, part = ours, b"", b"-"
        while part:
            yield
            part = os.read(ours, 65_536)
            text = (text + part)[: MOST + 1]
        os.close(ours)
        self.fd = -1
        status = yield from self._ended(self.pid)
        self.pid = 0
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return text.replace(b"\0", b"").rstrip(b"\n"), code

    def _started(self, words: "Sequence[str]") -> "tuple[int, int]":
        """Its pid, and what to read of it."""
        ours, its = os.pipe()
        try:
            pid = os.posix_spawnp(
                "nvidia-smi",
                ["nvidia-smi", *words],
                self._surroundings,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, its, 1),
                    (os.POSIX_SPAWN_DUP2, its, 2),
                ],
                setsigdef=[signal.SIGPIPE],
            )
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(its)
        return pid, ours

    def _ended(self, pid: int) -> "Generator[None, None, int]":
        """How it ended."""
        tries = 0
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            tries += 1
            if tries < MOMENTS:
                time.sleep(0.001)
            else:
                yield

    def _end(self) -> None:
        for pid in (self.pid, self._looping):
            self._kill(pid)

    def _kill(self, pid: int) -> None:
        if pid:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def devices(sys: str, dev: str) -> bytes:
    """The files of compute devices, and what sysfs holds of each render node, as `list_devices` of sh prints them."""
    rows = []
    for below in ("", "dri/"):
        for name in _names(dev + "/" + below):
            if not COMPUTE.fullmatch(name) or name.startswith("renderD") != bool(below):
                continue
            rows.append(below + name)
            if below:
                place = sys + "/class/drm/" + name + "/device"
                for key, link in (("driver", place + "/driver"), ("device", place)):
                    with suppress(OSError):
                        rows.append(below + name + " " + key + " " + os.readlink(link))
                event = read_once(place + "/uevent").decode("utf-8", "surrogateescape")
                rows += [below + name + " uevent " + line for line in event.splitlines()]
    return "\n".join(rows).encode("utf-8", "surrogateescape")


def _names(directory: str) -> "list[str]":
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def expected(text: bytes, in_use: int) -> "list[tuple[bytes, int]]":
    """What each row of a loop has to begin with, and how many of its fields tell nothing.

    None where a card is not in use: a loop keeps all of them open, and so from being reset or put to sleep.
    """
    rows = [row.split(b", ", 4) for row in text.split(b"\n")]
    if not all(len(row) == 5 and row[3].isdigit() and int(row[3]) > in_use for row in rows):
        return []
    return [(b"%s, %s, " % (row[0], row[1]), b", ".join(row).count(b"[")) for row in rows]


def as_expected(row: bytes, begins: bytes, unknown: int) -> bool:
    """Is it the row of this card? One that tells less than a call did may be the loop's fault."""
    return row.startswith(begins) and row.count(b"[") == unknown
