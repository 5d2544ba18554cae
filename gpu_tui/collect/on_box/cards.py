"""nvidia-smi, started anew for each look: by far the most that is started on a box, so it is not left to sh."""

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
# A card that gives no share may be in MIG mode: then ask, now and again, how it is cut.
MAYBE_CUT = re.compile(rb", GPU-.{8}-.{4}-.{4}-.{4}-.{12}, \[N/A\], ", re.DOTALL)


class Cards:
    """The cards, and the programs on them, as the row in `probe_gpu` has them.

    A round is a generator that yields wherever it would have to wait: until there is something to
    read from `fd`, or for a beat where that is -1. So it never waits in anybody's way.

    `every` in beats, `limit` in seconds for one program. The programs on the cards are asked for `again`
    after so many rounds, and after `cut_again` how cards are cut; the rest are nvidia-smi's arguments.
    """

    def __init__(
        self, nonce: bytes, proc: str, mark: int, every: int, limit: float, again: int, cut_again: int,
        query: "Sequence[str]", apps: "Sequence[str]", mig: "Sequence[str]",
    ) -> None:  # fmt: skip
        self._frames = Frames(nonce)
        self._proc = proc
        self._doubt = True  # whether the driver lives
        self._mark = mark
        self._every = every
        self._limit = limit
        self._again = again
        self._cut_again = cut_again
        self._query, self._apps, self._mig = query, apps, mig
        self._surroundings = dict(os.environb)  # os.environ itself is translated anew at each start
        self._cut = b""
        self._told: bytes | None = None
        self._rounds = self._number = 0
        self._due = False
        self.fd = -1
        self.pid = 0  # of the program that lives
        self._ends = 0.0
        self._round: Generator[None, None, None] | None = None
        AT_END.append(self._end)

    @property
    def waits(self) -> bool:
        """A program that we started lives."""
        return self.pid != 0

    def beat(self, beat: int) -> None:
        """Look after the program, and begin a round where it is time and the last one went out."""
        self._due = self._due or not beat % self._every
        if self.pid and time.monotonic() > self._ends:
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
        frames = self._frames
        frames.begin(self._mark, self._number)
        hung = self._hung() if self._doubt else set()
        if hung:
            yield
            hung &= self._hung()
        if hung:
            text, code = b"", KILLED
        else:
            text, code = yield from self._run(self._query)
        self._doubt = code >= HANGS
        frames.show(b"query", text, code)
        if code in (0, 15):
            yield from self._programs(text)
        else:
            self._told = None
        frames.say(b"end %d" % self._number)
        frames.flush()
        self._number += 1

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
            self._told, self._rounds = None if code else in_use, 0
        if self._cut:
            self._frames.show(b"mig", self._cut, 0)

    def _run(self, words: "Sequence[str]") -> "Generator[None, None, tuple[bytes, int]]":
        """What it printed, and its exit code as sh has it. Whoever holds our pipe is waited for."""
        ours, its = os.pipe()
        try:
            self.pid = os.posix_spawnp(
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
        except OSError as error:
            os.close(ours)
            return b"", 127 if isinstance(error, FileNotFoundError) else 126
        finally:
            os.close(its)
        self._ends = time.monotonic() + self._limit
        self.fd, text, part = ours, b"", b"-"
        while part:
            yield
            part = os.read(ours, 65_536)
            text = (text + part)[: MOST + 1]
        os.close(ours)
        self.fd = -1
        tries = 0
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                break
            tries += 1
            if tries < MOMENTS:
                time.sleep(0.001)
            else:
                yield
        self.pid = 0
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return text.replace(b"\0", b"").rstrip(b"\n"), code

    def _end(self) -> None:
        if self.pid:
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
