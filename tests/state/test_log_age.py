"""How old a log's last line is: by when it came, or by the file's own time where it stood there before us."""

from __future__ import annotations

import pytest

from gpu_tui.core.events import LogArrived, LogCame, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import FILES
from gpu_tui.core.readings import FileStat, FileTable
from gpu_tui.core.sample import Reading
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.store import Store

SOURCE = LogSource("~/logs/a.log", "a")
NOW = 1_763_700_000.0


class Log:
    """A log that was opened just now, with one line of long ago in it."""

    def __init__(self) -> None:
        self.store = Store(Fleet("sweep", (Instance("box", SshAccess("box")),)), {})
        self.reader = LogReader()
        self.store.apply(LogOpened("box", NOW, SOURCE, 7, 0, 0, resumed=False))
        self.line(NOW, backfill=True)

    def line(self, at: float, *, backfill: bool = False) -> None:
        whole = self.reader.whole(b"a line\n")
        assert whole is not None
        self.store.apply(LogCame("box", at, SOURCE, whole))
        self.store.apply(LogArrived("box", at, SOURCE, self.reader.judge(whole), backfill))

    def file(self, path: str, mtime: float) -> None:
        table = FileTable({path: FileStat(path, 7, 7, mtime)})
        self.store.apply(Sampled("box", NOW, FILES.name, Reading(table, NOW, 1.0)))

    @property
    def last_at(self) -> float | None:
        (log,) = self.store.view(NOW + 10)["box"].logs
        return log.last_at


def test_of_a_line_that_stood_there_nothing_is_known_until_its_file_was_looked_at() -> None:
    log = Log()
    log.file("~/logs/b.log", NOW - 5)
    assert log.last_at is None
    log.file(SOURCE.path, NOW - 3_600)
    assert log.last_at == NOW - 3_600


def test_a_file_of_a_time_to_come_tells_no_age() -> None:
    log = Log()
    log.file(SOURCE.path, NOW + 8 * 3_600)
    assert log.last_at is None


def test_a_line_that_came_is_as_old_as_its_coming() -> None:
    log = Log()
    log.file(SOURCE.path, NOW - 3_600)
    log.line(NOW + 2)
    assert log.last_at == NOW + 2


@pytest.mark.parametrize(("backfill", "flood"), [(True, False), (False, True)])
def test_a_log_that_stood_there_is_no_flood(backfill: bool, flood: bool) -> None:
    log = Log()
    whole = log.reader.whole(b"epoch 1 loss 0.5\n" * 64)
    assert whole is not None
    lines = log.reader.judge(whole)
    log.store.apply(LogArrived("box", NOW + 1, SOURCE, lines, backfill))
    (seen,) = log.store.view(NOW + 10)["box"].logs
    assert (seen.unread > 0) is flood
