"""What the log pane does about lines that are not loaded: asks the box, one question at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from gpu_tui.core import units
from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.core.ports import FleetControl
from gpu_tui.core.speech import say, told
from gpu_tui.state.bookmarks import MOST, TEXT, Bookmark
from gpu_tui.state.log_document import BETWEEN, OLDER, LogDocument
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.ui.panes.pane import Pane
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.text.logs import BOOKMARK
from gpu_tui.ui.text.places import Place, later
from gpu_tui.ui.widgets.logview import LogView

if TYPE_CHECKING:
    from gpu_tui.ui.screens.hits import HitsScreen

DOCUMENTS = 8  # logs whose past stays loaded; each may take 32 MiB
AROUND = 200  # lines in which a bookmark's own line is looked for
Log = tuple[str, LogSource]
Then = Callable[[LogPart], None]


class LogReach:
    """Keeps the documents of the logs that were looked at, and brings the view where it should be."""

    def __init__(
        self, pane: Pane, view: LogView, store: FleetStore, control: FleetControl | None
    ) -> None:
        self._pane = pane
        self._view = view
        self._store = store
        self._control = control
        self._documents: OrderedDict[Log, LogDocument] = OrderedDict()
        self._marks: dict[Log, list[Bookmark]] = {}
        self._places: dict[int, Bookmark] = {}  # those of the log on screen whose lines are loaded
        self._found_in: tuple[object, ...] = ()
        self._shown: Log | None = None
        self._wanted: tuple[Log, Place] | None = None
        self._search_of: tuple[Log, str] | None = None
        self._busy = False
        self._late: list[Callable[[], None]] = []  # what is to be shown once no card stands over it

    def document(self, instance: str, source: LogSource) -> LogDocument:
        """The log as it is scrolled through."""
        log = (instance, source)
        tail = self._store.log(instance, source)
        document = self._documents.get(log)
        if document is None or (tail is not None and document.tail is not tail):
            tail = LogBuffer() if tail is None else tail  # an empty one is one, too
            document = LogDocument(tail, reach=self._control is not None)
            self._documents[log] = document
            self._marks[log] = list(self._store.bookmarks(instance, source))
        self._documents.move_to_end(log)
        while len(self._documents) > DOCUMENTS:
            gone, _ = self._documents.popitem(last=False)
            self._marks.pop(gone, None)
        self._shown = log
        self._find_bookmarks()
        return document

    # --- asking -------------------------------------------------------------------------------

    def _ask(self, ask: LogAsk | None, said: str, then: Then) -> None:
        if ask is None or self._shown is None or not self.may_ask():
            return
        document = self._documents[self._shown]
        self._tell(document, said)
        self._run(self._asked(document, *self._shown, ask, then))

    def may_ask(self) -> bool:
        """Whether the box can be asked now; if not, that is said."""
        if self._control is None:
            self._say(say("a recording has only what was recorded: nothing to ask the box"))
        elif self._busy:
            self._say(say("the box is still answering the last question"))
        return self._control is not None and not self._busy

    def _run(self, work: Coroutine[object, object, None]) -> None:
        self._busy = True
        self._pane.run_worker(work, group="log-reach", exclusive=False, exit_on_error=True)

    def _tell(self, document: LogDocument, said: str) -> None:
        document.said = said
        document.version += 1
        self._view.look_at(self._view.document)

    async def _asked(
        self, document: LogDocument, instance: str, source: LogSource, ask: LogAsk, then: Then
    ) -> None:
        assert self._control is not None
        try:
            part = await self._control.read_log(instance, source, ask)
            stop = document.tail.start
            if stop and part.file == document.tail.start_file and part.start < stop < part.end:
                # The rest is in the tail; two of one line would stand there otherwise.
                rest = LogAsk(part.start, stop, file=part.file)
                less = await self._control.read_log(instance, source, rest)
                part = replace(less, at=part.at, line=part.line)
        except LogUnread as wrong:
            self._tell(document, told(str(wrong), own=True))
            self._say(say("not read: {wrong}", wrong=document.said))
            return
        finally:
            self._busy = False
        document.take(part)
        self._find_bookmarks()
        if document is self._view.document:
            then(part)
        self._again()

    def _again(self) -> None:
        self._view.look_at(self._view.document)
        if self._pane.moment is not None:
            self._pane.show(self._pane.moment)

    # --- moving -------------------------------------------------------------------------------

    def edge(self, key: int) -> None:
        """Somebody scrolled to where lines are not loaded; who scrolls on meanwhile asks for nothing else."""
        if self._busy or self._control is None:
            return
        document = self._view.document
        if key == OLDER:
            page = max(1, self._view.size.height - 1)
            said = say("loading older lines …")
            self._ask(document.older(), said, lambda part: self._view.grew_above(page))
        elif key == BETWEEN:
            self._ask(document.newer(), say("loading …"), lambda part: None)

    def start(self) -> None:
        """To the first line of the file."""
        ask = self._view.document.first()
        self._view.to_first()
        if ask is not None:
            self._ask(ask, say("loading the start …"), lambda part: self._view.to_first())

    def want(self, instance: str, source: LogSource, place: Place) -> None:
        """Go there as soon as this log is on screen."""
        self._wanted = ((instance, source), place)

    def arrive(self) -> None:
        """Go where somebody wanted to, if this is the log; and what came while a card stood over it."""
        self._catch_up()
        if self._wanted is None or self._wanted[0] != self._shown:
            return
        if not len(self._view.document.numbers):
            return
        (_, place), self._wanted = self._wanted, None
        self.go(place)

    def go(self, place: Place) -> None:
        """Show a place, reading what stands there where it is not loaded."""
        document, tail = self._view.document, self._view.document.tail
        self._pane.app.clear_notifications()  # what was said of another place
        if place.seen is not None:
            self._go_seen(place.seen)
        elif place.words is not None:
            self._look_for(place.words)
        elif place.line is not None:
            self._go_line(place.line)
        else:
            size = document.past.size if document.past is not None else tail.upto
            byte = place.byte if place.share is None else int(place.share * (size or 0))
            self._go_byte(byte or 0)

    def _go_seen(self, number: int) -> None:
        tail = self._view.document.tail
        if tail.first <= number < tail.end:
            self._view.go_to(number)
        elif number < tail.first:
            self._say(say("that line is no longer kept; pgup reads older lines from the box"))
        else:
            self._view.follow()

    def _go_line(self, number: int) -> None:
        document = self._view.document
        key = document.past.key_of(number) if document.past is not None else None
        tail, origin = document.tail, document.origin
        if origin is not None and tail.first <= number - origin < tail.end:
            key = number - origin
        if key is not None:
            self._view.go_to(key)
            return
        said = say("counting to line {number} on the box …", number=number + 1)

        def there(part: LogPart) -> None:
            past = document.past
            found = past.key_of(number) if past is not None else None
            if found is None:
                found = document.near(part.at)
            if found is None:
                self._view.follow()
            else:
                self._view.go_to(found)

        self._ask(document.around_line(number), said, there)

    def _go_byte(self, byte: int) -> None:
        document = self._view.document
        key = document.near(byte)
        if key is not None:
            self._view.go_to(key)
            return
        tail = document.tail
        if tail.upto is not None and byte >= tail.upto:
            self._view.follow()
            return

        def there(part: LogPart) -> None:
            found = document.near(max(part.start, min(byte, part.end - 1)))
            if found is not None:
                self._view.go_to(found)

        self._ask(
            document.around(byte),
            say("loading what stands at {byte} …", byte=units.size(byte)),
            there,
        )

    def _say(self, text: str) -> None:
        self._when_seen(lambda: self._pane.app.notify(text, markup=False, timeout=4))

    def _when_seen(self, tell: Callable[[], None]) -> None:
        """At once, or as soon as no card stands over the log: what a box said comes over no ladder."""
        self._late.append(tell)
        self._catch_up()

    def _catch_up(self) -> None:
        while self._late and self._pane.app.screen_stack[-1:] == [self._pane.screen]:
            self._late.pop(0)()

    # --- searching the box ----------------------------------------------------------------------

    def search(
        self, terms: Sequence[Term], wanted: str, show: Callable[[HitsScreen], None]
    ) -> None:
        """Search the whole file; `show` is given the card with what was found."""

        def found(hits: LogHits) -> None:
            moment = self._pane.moment
            if moment is not None and self._shown is not None:
                from gpu_tui.ui.screens.hits import HitsScreen  # not before the first frame

                show(HitsScreen(moment, wanted, self._shown[1].path, hits))

        self._search(terms, say("searching the whole file on the box …"), found)

    def _search(self, terms: Sequence[Term], said: str, then: Callable[[LogHits], None]) -> None:
        if self._shown is not None and self.may_ask():
            self._search_of = (self._shown, said)
            self._run(self._searched(*self._shown, terms, then))
            self._again()

    @property
    def searching(self) -> str:
        """What the log on screen is being searched for, as long as it is."""
        log, said = self._search_of or (None, "")
        return said if log == self._shown else ""

    async def _searched(
        self,
        instance: str,
        source: LogSource,
        terms: Sequence[Term],
        then: Callable[[LogHits], None],
    ) -> None:
        assert self._control is not None
        hits, why = None, ""
        try:
            hits = await self._control.search_log(instance, source, terms)
        except LogUnread as wrong:
            why = say("not searched: {wrong}", wrong=told(str(wrong), own=True))
        finally:
            self._busy, self._search_of = False, None
        self._again()
        if hits is None:
            self._say(why)
        else:
            self._when_seen(partial(self._show_hits, (instance, source), hits, then))

    def _show_hits(self, log: Log, hits: LogHits, then: Callable[[LogHits], None]) -> None:
        if self._shown == log:
            then(hits)
        else:
            name = PurePosixPath(log[1].path).name
            self._say(say("another log is shown: the search of {name} was dropped", name=name))

    def _look_for(self, words: str) -> None:
        """The first line with a time; where none has it, the first one after it on that day."""
        after = later(words)

        def first(hits: LogHits, *, exact: bool) -> None:
            if hits.hits:
                self.go_to_hit(hits, 0)
                if not exact:
                    self._say(say("no line has {words}: this is the first after it", words=words))
                self._again()
            elif exact and after is not None and not hits.cut:
                seek(Term(after, regex=True), exact=False)
            else:
                self._say(say("no line of this log has that, or a later time of that day"))

        def seek(term: Term, *, exact: bool) -> None:
            said = say("looking for {words} …", words=words)
            self._search([term], said, partial(first, exact=exact))

        seek(Term(words), exact=True)

    def go_to_hit(self, hits: LogHits, number: int) -> None:
        """Show a line that was found."""
        hit, document = hits.hits[number], self._view.document
        key = document.near(hit.byte) if hit.byte is not None else None
        if key is not None:
            self._view.go_to(self._like(key, hit.text, document))
        elif hit.byte is not None and document.tail.file in (0, hits.file):
            byte = hit.byte

            def there(part: LogPart) -> None:
                found = document.near(byte)
                if found is not None:
                    self._view.go_to(self._like(found, hit.text, document))

            self._ask(document.around(byte), say("loading line {line} …", line=hit.line + 1), there)
        else:
            self._go_line(hit.line)

    def _like(self, key: int, text: str, document: LogDocument) -> int:
        """The nearest line that begins with `text`, else `key`: places within folded lines are rough."""
        numbers = document.numbers
        for step in range(AROUND):
            for near in {key - step, key + step}:
                line = document.line(near) if near in numbers else None
                if line is not None and line.text.startswith(text[:80]):
                    return near
        return key

    # --- bookmarks ------------------------------------------------------------------------------

    def bookmark(self) -> str:
        """Set a bookmark on the line that is meant, or take it away; what was done, in words."""
        key, document = self._view.here, self._view.document
        if key is None or self._shown is None:
            return say("no bookmark here: there is no line")
        marks, byte, entry = self._marks[self._shown], document.byte(key), document.line(key)
        if key in document.bookmarks:
            gone = self._places.get(key)
            if gone in marks:
                marks.remove(gone)
            said = say("bookmark taken away")
        elif byte is None or entry is None:
            return say("no bookmark here: nothing tells where in its file this line stands")
        else:
            marks.append(Bookmark(document.file(key), byte, entry.text[:TEXT]))
            said = say("{sign} bookmark set: ' goes to the next one", sign=BOOKMARK)
        del marks[:-MOST]
        self._store.keep_bookmarks(*self._shown, marks)
        self._find_bookmarks(again=True)
        return said

    def to_bookmark(self, step: int) -> bool:
        """To the next bookmark by its place in the file; where it is not loaded, the box is asked."""
        marks = self._marks.get(self._shown, []) if self._shown is not None else []
        document, here = self._view.document, self._view.here
        if not marks:
            return False
        now = document.byte(here) if here is not None else None
        places = sorted(mark.byte for mark in marks)
        ahead = [byte for byte in places if now is not None and (byte - now) * step > 0]
        byte = (ahead or places)[0 if step > 0 else -1]
        key = next((key for key, mark in self._places.items() if mark.byte == byte), None)
        if key is not None:
            self._view.go_to(key)
        else:
            self._go_byte(byte)
        return True

    def _find_bookmarks(self, *, again: bool = False) -> None:
        """Their lines, as far as they are loaded now."""
        if self._shown is None:
            return
        document, marks = self._documents[self._shown], self._marks[self._shown]
        tail, past = document.tail, document.past
        span = past.keys if past is not None else None
        missing = len(self._places) < len(marks) and tail.end
        seen = (document, id(past), span, tail.first, missing)
        if not again and seen == self._found_in:
            return
        self._found_in, self._places = seen, {}
        for mark in marks:
            key = document.near(mark.byte)
            if key is not None and mark.file in (document.file(key), 0):
                self._places[self._like(key, mark.text, document)] = mark
        document.mark(self._places)
