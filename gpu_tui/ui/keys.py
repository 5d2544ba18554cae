"""The one table of keys. Bindings, footer, help, palette and the README's table are all made from it.

No tmux prefix (ctrl+b, ctrl+a) and no function key is used. `dangerous` marks what changes something
outside this program: read-only cockpits do not have these actions at all.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual.binding import Binding

from gpu_tui.core.speech import say


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it does, where, and how it is written. `footer` 0 keeps it out of the footer;
    a lower number stays longer when the footer is narrow. `argument` is the action's parameter. `asks` is
    a key that asks a box for something: where a recording is shown, there is none.
    """

    key: str
    action: str
    label: str
    help: str
    context: str = "cockpit"
    dangerous: bool = False
    footer: int = 0
    show: str | None = None
    argument: str | None = None
    asks: bool = False

    @property
    def id(self) -> str:
        """The name under which the config file remaps it."""
        return f"{self.context}.{self.action}" + (f".{self.argument}" if self.argument else "")

    @property
    def call(self) -> str:
        """The action as textual parses it."""
        return f"{self.action}({self.argument!r})" if self.argument else self.action


CONTEXTS = {
    "cockpit": "everywhere",
    "replay": "in a replay",
    "list": "in a list",
    "instances": "in Instances",
    "clocks": "in Danger clocks",
    "queue": "in Queue",
    "log": "in Log",
    "hits": "in what a search found",
    "timeline": "in the time line",
    "findings": "in Findings",
    "chart": "in the chart",
    "profile": "in a platform's profile",
    "sweep": "in the sweep",
    "help": "in this help",
    "first": "at the first start",
    "verbs": "in the choice of a teardown",
    "ladder": "in a teardown",
    "themes": "in Colours",
    "columns": "in Columns",
    "filter": "while a filter is typed",
    "place": "while a place is typed",
    "overlay": "in a card",
}

KEYS: tuple[Key, ...] = (
    Key("tab", "next_pane", "next pane", "Go to the next pane", footer=4),
    Key("shift+tab", "previous_pane", "previous pane", "Go to the previous pane"),
    Key("1", "pane", "instances", "Go to Instances", argument="instances"),
    Key("2", "pane", "clocks", "Go to Danger clocks", argument="clocks"),
    Key("3", "pane", "vitals", "Go to Vitals", argument="vitals"),
    Key("4", "pane", "queue", "Go to Queue", argument="queue"),
    Key("5", "pane", "log", "Go to Log", argument="log"),
    Key("J", "step", "next instance", "Select the next instance, from any pane", argument="1"),
    Key(
        "K", "step", "previous instance", "Select the previous instance, from any pane",
        argument="-1",
    ),
    Key("z", "zoom", "zoom", "Give the whole screen to this pane, and back", footer=6),
    Key("slash", "filter", "filter", "Filter this pane: words, tag:x, !without, /regex/", footer=5, show="/"),
    Key("f", "findings", "findings", "All findings with evidence and remedy", footer=2),
    Key("p", "profile", "profile", "The platform's whole profile", footer=7),
    Key("c", "chart", "chart", "Histories of this instance as charts", footer=9),
    Key("S", "sweep", "sweep", "The whole sweep: end, cost, every cell, what to move", footer=9),
    Key("r", "reconnect", "reconnect", "Try this box again now", footer=10, asks=True),
    Key("t", "teardown", "teardown", "Verify, then stop the meter: opens the ladder", dangerous=True, footer=3),
    Key("e", "evidence", "evidence", "The log line behind this instance's worst finding", footer=12),
    Key("exclamation_mark", "shell", "shell", "A shell on this box by your own ssh; exit brings you back", dangerous=True, show="!", footer=13),
    Key("E", "timeline", "time line", "Every finding of the fleet by time, box and cell"),
    Key("T", "theme", "theme", "Choose the colours; each is shown at once"),
    Key("L", "preset", "layout", "More room for another pane: balanced, log, queue, vitals"),
    Key("ctrl+l", "redraw", "redraw", "Draw the whole screen again"),
    Key("question_mark", "help", "help", "All keys", footer=1, show="?"),
    Key("ctrl+p", "palette", "palette", "Every action by name", footer=11),
    Key("escape", "back", "back", "Leave filter or zoom"),
    Key("q", "quit", "quit", "Leave gpu-tui; nothing on any box changes", footer=8),
    Key("P", "play", "pause", "Pause the recording, or go on", context="replay", footer=1),
    Key("F", "next_finding", "next finding", "On to where a new finding appears", context="replay", footer=2),
    Key("b", "finding_before", "finding before", "Back to where the last finding appeared", context="replay", footer=3),
    Key("full_stop", "skip", "+30 s", "30 seconds forward", context="replay", show=".", footer=5, argument="30"),
    Key("comma", "skip", "-30 s", "30 seconds back", context="replay", show=",", footer=6, argument="-30"),
    Key("right_curly_bracket", "skip", "+10 min", "10 minutes forward", context="replay", show="}", argument="600"),
    Key("left_curly_bracket", "skip", "-10 min", "10 minutes back", context="replay", show="{", argument="-600"),
    Key("left_parenthesis", "seek_to", "start", "To the start of the recording", context="replay", show="(", argument="start"),
    Key("right_parenthesis", "seek_to", "end", "To the end of the recording", context="replay", show=")", argument="end"),
    Key("at", "seek", "go to time", "Go to a time: 12:30, 10m, -5m, 50%", context="replay", show="@", footer=4),
    Key("greater_than_sign", "speed", "faster", "The next faster speed, up to 300", context="replay", show=">", footer=7, argument="1"),
    Key("less_than_sign", "speed", "slower", "The next slower speed, down to a quarter", context="replay", show="<", argument="-1"),
    Key("down,j", "cursor_down", "line down", "One line down", context="list", show="↓ j"),
    Key("up,k", "cursor_up", "line up", "One line up", context="list", show="↑ k"),
    Key("pagedown", "page_down", "page down", "One page down", context="list"),
    Key("pageup", "page_up", "page up", "One page up", context="list"),
    Key("ctrl+d", "half_down", "half page down", "Half a page down", context="list"),
    Key("ctrl+u", "half_up", "half page up", "Half a page up", context="list"),
    Key("home,g", "top", "top", "To the first line", context="list", show="home g"),
    Key("end,G", "bottom", "bottom", "To the last line", context="list", show="end G"),
    Key("enter", "choose", "open", "Open what the cursor is on", context="list"),
    Key("o", "columns", "columns", "Other columns: overview, money, place", context="instances", footer=1),
    Key("O", "choose_columns", "choose columns", "Choose which columns stand here", context="instances"),
    Key("right,l", "sort", "sort by", "Sort by the next column; before the first by need", context="instances", show="→ l", footer=2, argument="1"),
    Key("left,h", "sort", "column before", "Sort by the column before", context="instances", show="← h", argument="-1"),
    Key("I", "flip", "order", "The other way round: largest first, or smallest first", context="instances"),
    Key("enter", "choose", "its log", "Show this cell's log", context="queue", footer=1),
    Key("i", "know", "good to know", "What is good to know on this platform", context="clocks", footer=1),
    Key("s", "calendar", "calendar", "Save all deadlines as a calendar for your phone", context="clocks", footer=2),
    Key("space", "pause", "pause", "Pause, or follow the tail again", context="log", footer=1),
    Key("n", "alarm", "next alarm", "To the next line that is an alarm", context="log", footer=2, argument="1"),
    Key("N", "alarm", "previous alarm", "To the alarm before", context="log", argument="-1"),
    Key(
        "right_square_bracket", "source", "next log", "The next log of this instance",
        context="log", footer=3, show="]", argument="1",
    ),
    Key(
        "left_square_bracket", "source", "previous log", "The log before",
        context="log", show="[", argument="-1",
    ),
    Key("right,l", "shift", "to the right", "Scroll long lines to the right", context="log", show="→ l", argument="1"),
    Key("left,h", "shift", "to the left", "Scroll back to the left", context="log", show="← h", argument="-1"),
    Key("colon", "place", "go to", "Go to a line, a byte, a share or a time of this log", context="log", show=":", footer=4),
    Key("B", "search", "search box", "Search the whole file on the box for what the filter says", context="log", footer=5, asks=True),
    Key("m", "bookmark", "bookmark", "Set a bookmark on this line, or take it away", context="log"),
    Key("apostrophe", "to_bookmark", "next bookmark", "To the next bookmark, loading its lines", context="log", show="'", argument="1"),
    Key("quotation_mark", "to_bookmark", "bookmark before", "To the bookmark before", context="log", show='"', argument="-1"),
    Key("w", "wrap", "wrap", "Long lines over several rows, or cut at the edge", context="log", footer=6),
    Key("enter", "choose", "go there", "Show this line in the log", context="hits", footer=1),
    Key("enter", "choose", "go there", "Show the finding's box, and its line in the log", context="timeline", footer=1),
    Key("slash", "filter", "filter", "Filter the findings", context="timeline", show="/", footer=2),
    Key("y", "copy", "copy", "Copy the lines on screen to the clipboard", context="log"),
    Key("s", "save", "save", "Save the kept lines to a file here", context="log"),
    Key("enter", "choose", "go there", "Show the finding's instance and log", context="findings", footer=1),
    Key("slash", "filter", "filter", "Filter the findings", context="findings", show="/", footer=4),
    Key("e", "evidence", "its log line", "Show the log where the finding stands", context="findings", footer=3),
    Key(
        "a", "acknowledge", "acknowledge", "Hide this finding until it is another one",
        context="findings", dangerous=True, footer=2,
    ),
    Key("y", "copy", "copy", "Copy this finding whole to the clipboard", context="findings", footer=5),
    Key("right,l", "span", "longer", "A longer span of time", context="chart", show="→ l", footer=1, argument="1"),
    Key("left,h", "span", "shorter", "A shorter span of time", context="chart", show="← h", footer=2, argument="-1"),
    Key("down,j", "series", "next", "The next history", context="chart", show="↓ j", footer=3, argument="1"),
    Key("up,k", "series", "previous", "The history before", context="chart", show="↑ k", footer=4, argument="-1"),
    Key("right,l", "verb", "next verb", "What survives the next way to end it; a digit names one", context="profile", show="→ l", footer=1, argument="1"),
    Key("left,h", "verb", "verb before", "What survives the way before", context="profile", show="← h", footer=2, argument="-1"),
    Key("right,l", "sort", "sort by", "Sort by the next column", context="sweep", show="→ l", footer=2, argument="1"),
    Key("left,h", "sort", "column before", "Sort by the column before", context="sweep", show="← h", argument="-1"),
    Key("o", "flip", "order", "Largest first, or smallest first", context="sweep", footer=3),
    Key("space", "mark", "mark", "Take this cell into the chart, or out of it", context="sweep", footer=4),
    Key("c", "curves", "chart", "Losses of the marked cells in one chart, or back", context="sweep", footer=5),
    Key("x", "axis", "axis", "The chart by time, or by epochs and steps", context="sweep", footer=9),
    Key("v", "queues", "queues", "Show or hide the queues", context="sweep", footer=6),
    Key("slash", "filter", "filter", "Filter the cells", context="sweep", show="/", footer=7),
    Key("s", "save", "csv", "Save these cells as CSV to a new file here", context="sweep", footer=8, argument="csv"),
    Key("m", "save", "markdown", "Save these cells as Markdown to a new file here", context="sweep", footer=10, argument="md"),
    Key("enter", "choose", "its log", "Show this cell's log", context="sweep", footer=1),
    Key("space", "tick", "tick", "Take this host, or leave it", context="first", footer=2),
    Key("right,l", "platform", "platform", "The next platform for this host", context="first", show="→ l", footer=7, argument="1"),
    Key("left,h", "platform", "platform before", "The platform before", context="first", show="← h", argument="-1"),
    Key("enter", "choose", "watch them", "Watch what is ticked; nothing is written", context="first", footer=1),
    Key("w", "write", "write a file", "Write a fleet file of what is ticked, then watch it", context="first", footer=3),
    Key("r", "look", "look again", "Look at this host again", context="first", footer=8),
    Key("d", "demo", "demo", "Simulated boxes instead", context="first", footer=6),
    Key("q,escape", "leave", "leave", "Leave; nothing was changed", context="first", show="q", footer=4),
    Key("question_mark", "help", "help", "What these keys do", context="first", show="?", footer=5),
    Key("slash", "filter", "search", "Search keys and what they do", context="help", show="/", footer=1),
    Key("enter", "choose", "open its ladder", "Open this verb's ladder: evidence first, then the question", context="verbs", footer=1),
    Key("right,l", "rung", "next rung", "The evidence of the next rung", context="ladder", show="→ l", footer=1, argument="1"),
    Key("left,h", "rung", "rung before", "The evidence of the rung before", context="ladder", show="← h", footer=2, argument="-1"),
    Key("y", "copy", "copy steps", "Copy the steps for the console", context="ladder", footer=3),
    Key("enter", "choose", "take it", "These colours from now on", context="themes", footer=1),
    Key("T", "next_theme", "next", "The next colours", context="themes", footer=2),
    Key("space", "tick", "show or hide", "Show or hide this column", context="columns", footer=1),
    Key("d", "defaults", "as it was", "All columns as they were", context="columns", footer=2),
    Key("enter", "submit", "keep", "Keep what is typed, and go back to the list", context="filter", footer=1),
    Key("escape", "leave", "empty", "Empty it, and go back to the list", context="filter", footer=2),
    Key("up", "recall", "earlier", "What was typed before", context="filter", show="↑", footer=3, argument="-1"),
    Key("down", "recall", "later", "What was typed after that", context="filter", show="↓", argument="1"),
    Key("enter", "submit", "go there", "Go to what is typed", context="place", footer=1),
    Key("escape", "leave", "leave", "Stay where it is", context="place", footer=2),
    Key("escape", "close", "close", "Close this card", context="overlay", footer=1),
    Key("q", "close", "close", "Close this card", context="overlay"),
)  # fmt: skip

FIRST = 3  # keys of a place of its own that stand before the way to help or out

# How textual names what a person writes as it is; a comma parts keys, so it cannot stand for itself.
PUNCTUATION = {
    char: binding.key
    for char in string.punctuation.replace(",", "")
    for binding in Binding.make_bindings([Binding(char, "none")])
} | {",": "comma"}
SHOWN = {name: char for char, name in PUNCTUATION.items()} | {
    "question_mark": "?", "slash": "/", "left_square_bracket": "[", "right_square_bracket": "]",
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "ctrl+p": "^p", "ctrl+l": "^l",
    "ctrl+d": "^d", "ctrl+u": "^u",
}  # fmt: skip


def keys_of(*contexts: str, dangerous: bool | None = None) -> list[Key]:
    """The rows of these contexts; `dangerous` picks only the ones that act, or only the others."""
    return [
        key
        for key in KEYS
        if key.context in contexts and (dangerous is None or key.dangerous is dangerous)
    ]


def bindings(*contexts: str, dangerous: bool | None = None) -> list[Binding]:
    """The rows as textual's bindings."""
    return [
        Binding(key.key, key.call, key.label, show=False, id=key.id)
        for key in keys_of(*contexts, dangerous=dangerous)
    ]


def refusals(*contexts: str) -> list[Binding]:
    """The keys of what acts, where nothing may: each only says so."""
    return [
        Binding(key.key, "refuse", key.label, show=False, id=key.id)
        for key in keys_of(*contexts, dangerous=True)
    ]


def shown(key: Key, keymap: Mapping[str, str] | None = None) -> str:
    """How a key is written on screen."""
    if keymap and key.id in keymap:
        return " ".join(SHOWN.get(part, part) for part in keymap[key.id].split(","))
    return key.show or SHOWN.get(key.key, key.key)


def footer_keys(contexts: Sequence[str], *, read_only: bool) -> list[Key]:
    """The keys that matter here: those of the narrowest context first, the way to help or out among them."""
    found: list[list[Key]] = []
    for context in contexts:
        rows = [
            key
            for key in keys_of(context)
            if key.footer
            and not (read_only and key.dangerous)
            and not (key.asks and "replay" in contexts)
        ]
        found.append(sorted(rows, key=lambda key: key.footer))
    here, *others = found
    wider = [key for rows in others for key in rows]
    return [*here[:FIRST], *wider[:1], *here[FIRST:], *wider[1:]]


def unsafe_keys(table: Iterable[Key] = KEYS) -> list[str]:
    """Keys that a tmux user or a small keyboard cannot press; must be empty."""
    bad = []
    for row in table:
        for key in row.key.split(","):
            function = key.startswith("f") and key[1:].isdigit()
            if key in ("ctrl+a", "ctrl+b") or function:
                bad.append(f"{row.id}: {key}")
    return bad


def keys_markdown() -> str:
    """The table for the README: the keys that the footer shows everywhere, the most needed first."""
    rows = ["| key | does |", "|---|---|"]
    for key in sorted(
        (key for key in keys_of("cockpit") if key.footer), key=lambda key: key.footer
    ):
        mark = " **(acts)**" if key.dangerous else ""
        rows.append(f"| `{shown(key)}` | {key.help}{mark} |")
    return "\n".join(rows) + "\n"


def keys_text() -> str:
    """Every key with the name by which the settings remap it; keys that do one thing in several ways share a row."""
    lines = [
        say("# Keys, and the names by which config.yaml remaps them"),
        "",
        say("No tmux prefix, no function key, no mouse needed. (acts): changes something outside."),
    ]
    for context, where in CONTEXTS.items():
        title = say(where)
        names = f"| {say('key')} | {say('does')} | {say('name')} |", "|---|---|---|"
        lines += ["", f"## {title[:1].upper()}{title[1:]}", "", *names]
        for key in keys_of(context):
            mark = say(" (acts)") if key.dangerous else ""
            lines.append(f"| `{shown(key)}` | {say(key.help)}{mark} | {key.id} |")
    return "\n".join(lines) + "\n"
