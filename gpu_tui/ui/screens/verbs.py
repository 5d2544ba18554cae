"""The first step of a teardown: which verb, and what it really does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.text import Text
from textual import on
from textual.widget import Widget

from gpu_tui.core.ladder import Way
from gpu_tui.core.profile import Verb
from gpu_tui.core.speech import say, told
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.card import Card
from gpu_tui.ui.text.card import verb_choices
from gpu_tui.ui.text.marks import line, more_below, wrap
from gpu_tui.ui.text.survival import Choice, consequences, survival
from gpu_tui.ui.widgets.detail import Detail
from gpu_tui.ui.widgets.rows import Rows

KEEP = "."


class VerbScreen(Card):
    """Dismissed with the key of the chosen verb, or None. The cursor starts on keeping everything."""

    CONTEXTS = ("verbs", "list", "overlay")
    QUIET = True

    def __init__(
        self,
        moment: Moment,
        view: InstanceView,
        verbs: Sequence[Verb],
        ways: Mapping[str, Way],
    ) -> None:
        """`ways`: by the key of its verb."""
        super().__init__(moment)
        self._ways = ways
        self._view = view
        self._verbs = verbs
        self._list = Rows(id="verb-rows")
        self._whole = Detail(id="verb-detail")

    def title_words(self) -> str:
        """Which box."""
        return say(
            "Teardown · {name} on {platform}",
            name=self._view.name,
            platform=self._view.instance.platform,
        )

    def content(self) -> Iterable[Widget]:
        """The verbs above, what the one under the cursor does below."""
        yield self._list
        yield self._whole

    def paint(self, moment: Moment) -> None:
        """What this platform offers."""
        rows = self._list
        lines = [line((say("Keep everything as it is"), "safe"))]
        profile = self._view.profile
        shown = [self._as_here(verb) for verb in self._verbs]
        lines += verb_choices(shown, rows.size.width, profile.storage if profile else ())
        rows.put(lines, [KEEP, *(verb.key for verb in self._verbs)])
        self._detail()

    @on(Rows.Moved, "#verb-rows")
    def _detail(self) -> None:
        detail = self._whole
        key = self._list.key
        verb = next((verb for verb in self._verbs if verb.key == key), None)
        width = detail.size.width
        lines: list[Text] = []
        if verb is None:
            text = say(
                "Nothing happens on this page. Choosing a verb opens its ladder: first the evidence, then the question."
            )
            lines += wrap(text, width, "muted")
        else:
            lines += [*consequences(Choice((self._as_here(verb),)), width), line()]
            way = self._ways[verb.key]
            if way.by_hand:
                lines += wrap(
                    say("There is no call for this: the ladder ends with the steps to click."),
                    width,
                    "level-watch",
                )
            if way.why:
                lines += wrap(told(way.why), width, "level-watch")
        if self._view.profile and self._view.profile.storage:
            lines += [
                line(),
                *survival(
                    self._view.profile,
                    width,
                    verb,
                    self._view.instance.provider.variant,
                    self._view.provider.lacks,
                ),
            ]
        detail.about(key, lines)
        self.edge(more_below(self._list.hidden))

    def _as_here(self, verb: Verb) -> Verb:
        """The row as it can be carried out on this box: what its platform has a call for may lack an id here."""
        by_hand = self._ways[verb.key].by_hand and verb.via != "console"
        return replace(verb, via="hand") if by_hand else verb

    @on(Rows.Chosen, "#verb-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(None if event.key == KEEP else event.key)
