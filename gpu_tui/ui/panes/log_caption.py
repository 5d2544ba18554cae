"""What the log's frame says: where in it we are, what of it is shown, and how far behind that is."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_tui.core import units
from gpu_tui.core.metrics import FILES
from gpu_tui.core.speech import counted, say
from gpu_tui.state.views import InstanceView
from gpu_tui.state.views import LogView as Followed
from gpu_tui.ui.widgets.logview import LogView
from gpu_tui.ui.widgets.sieve import Sieve

OPEN_LINE = 16_384  # bytes of an unfinished line, which is on screen already


def remarks(
    sight: LogView, view: InstanceView, log: Followed, searching: str = ""
) -> Iterator[str]:
    """Each remark of its own; what goes without saying is left out. `searching` is what the box does."""
    if searching:
        yield searching
    yield _where(sight, live=view.link.live)
    if sight.sieve is not None:
        yield _sifted(sight.sieve)
    if behind := _behind(sight, view, log):
        yield say("{behind} behind", behind=units.size(behind))
    if log.last_at is not None:
        yield say("last line {taken_at} ago", taken_at=units.age(view.taken_at - log.last_at))
    if log.skipped_bytes and sight.document.past is None:
        yield say("starts {skipped_bytes} in", skipped_bytes=units.size(log.skipped_bytes))
    if first := max(log.first, sight.document.tail.first):
        yield say("{first} dropped, alarms kept", first=counted(first, "older line"))
    if log.unread:
        reports = counted(log.unread, "line")
        yield say("{reports} of a flood not read for progress", reports=reports)


def _where(sight: LogView, *, live: bool) -> str:
    if sight.following:
        return say("following") if live else say("no link: nothing comes now")
    below = sight.below
    return say("paused · {below} below", below=below) if below else say("paused")


def _sifted(sieve: Sieve) -> str:
    found = say("{count} match", count=counted(sieve.count, "line"))
    if sieve.share < 1:
        return found + say(", {share} searched", share=units.percent(sieve.share))
    return found


def _behind(sight: LogView, view: InstanceView, log: Followed) -> int:
    """Bytes of the file that have not come yet, as far as the last look at its size tells."""
    table, tail = view.track(FILES).value, sight.document.tail
    stat = table.found.get(log.source.path) if table is not None else None
    if stat is None or tail.upto is None or stat.inode != tail.file:
        return 0
    behind = stat.size - tail.upto
    return behind if behind > OPEN_LINE else 0
