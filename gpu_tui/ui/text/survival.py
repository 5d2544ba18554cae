"""The survival matrix: what one teardown verb does to each storage tier, to the meter, and what comes later."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.profile import ClockFact, Profile, Tier, Verb, meet
from gpu_tui.core.speech import LANGUAGES, headed, joined, language, listed, quoted, say, told
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.text.table import Cell, table

METERS = {
    "stops": ("the meter stops", "level-ok"),
    "partly": ("the meter stops partly", "level-watch"),
    "continues": ("the meter goes on", "level-act"),
}
WAYS = {
    "ssh": "via SSH",
    "http": "via API",
    "cli": "via CLI",
    "console": "in the console",
    "hand": "by hand",
}
DELETED = ("✗ deleted", "level-act")
KEPT = ("✓ kept", "level-ok")
LEFT = ("left alone", "muted")
UNKNOWN = ("? unknown", "unknown")
ABSENT = ("–", "absent")
DAY = 86_400
ROOMY = 60  # from this width on the paths have a column


@dataclass(frozen=True, slots=True)
class Choice:
    """One verb as a person sees it: rows that do the same thing by different ways are one."""

    rows: tuple[Verb, ...]

    @property
    def verb(self) -> Verb:
        """The first row; what it deletes and bills is the same in all."""
        return self.rows[0]

    @property
    def ways(self) -> str:
        """How it can be done."""
        return listed(dict.fromkeys(say(WAYS.get(row.via, row.via)) for row in self.rows))


def choices(profile: Profile, variant: str | None = None) -> tuple[Choice, ...]:
    """The verbs that an instance of `variant` (None: any) can be ended with, in the profile's order."""
    groups: dict[tuple[object, ...], list[Verb]] = {}
    for row in profile.teardown:
        if variant is None or not row.applies_to or variant in row.applies_to:
            same = (row.verb, row.effect, row.deletes, row.reversible)
            groups.setdefault(same, []).append(row)
    return tuple(Choice(tuple(rows)) for rows in groups.values())


def named(fact: Tier | Verb) -> str:
    """What a person reads: the label of a disk or a verb."""
    if isinstance(fact, Verb):
        return told(fact.label)
    return told(fact.label or fact.id)


def find_choice(profile: Profile, word: str) -> int | None:
    """The number (from 0) of the choice that `word` names: a verb, verb:way, or a number from 1."""
    found = choices(profile)
    for number, choice in enumerate(found):
        if any(word in (row.verb, row.key, row.label, spoken(row)) for row in choice.rows):
            return number
    return int(word) - 1 if word.isdecimal() and 1 <= int(word) <= len(found) else None


def chooser(found: Sequence[Choice], chosen: int, width: int) -> list[Text]:
    """The verbs side by side with their numbers, the chosen one marked."""
    rows, row = [], line()
    for number, choice in enumerate(found):
        name = spoken(choice.verb)
        mark = "▸" if number == chosen else " "
        style = "strong" if number == chosen else "muted"
        piece = line((mark, "accent"), (f"{number + 1} ", "key"), (name, style), "   ")
        if row.cell_len + piece.cell_len > width and row.plain:
            rows.append(row)
            row = line()
        row.append_text(piece)
    rows.append(row)
    for row in rows:
        row.rstrip()
    return rows


def matrix(
    profile: Profile,
    choice: Choice,
    width: int,
    variant: str | None = None,
    lacks: Collection[str] = (),
) -> list[Text]:
    """Each tier after the verb: deleted or kept, and what happens to it later. `lacks`: the ids of those that
    this one instance has not.
    """
    verb = choice.verb
    tiers = [tier for tier in profile.tiers_under(verb, variant) if tier.id not in lacks]
    name = _column([named(tier) for tier in tiers], 8, width // 4)
    path = _column([_place(tier) for tier in tiers], 4, width * 3 // 10) if width >= ROOMY else 0
    word = spoken(verb)
    head = say("after {verb}", verb=word) if cell_len(word) <= 10 else say("afterwards")
    fate = max(10, cell_len(head))
    rest = max(8, width - name - path - fate - (6 if path else 4))
    rows: list[list[Cell]] = [
        [
            (named(tier), "strong"),
            *([(_place(tier), "text")] if path else []),
            _said(after(tier, verb)),
            _later(profile, tier, verb, variant),
        ]
        for tier in tiers
    ]
    if path:
        return table(
            (say("tier"), say("path"), head, say("and then")), rows, (name, path, fate, rest)
        )
    return table((say("tier"), head, say("and then")), rows, (name, fate, rest))


def spoken(verb: Verb) -> str:
    """The verb as who reads this language says it: its id or the platform's own word, else its name's first words."""
    if language() == LANGUAGES[0]:
        return verb.verb if verb.verb.isascii() else verb.label.partition(" (")[0]
    name = told(verb.label)
    known = verb.verb.isascii() and name != verb.label
    return name.partition("（")[0] if known else verb.verb


def survival(
    profile: Profile,
    width: int,
    verb: Verb | None = None,
    variant: str | None = None,
    lacks: Collection[str] = (),
) -> list[Text]:
    """The matrix of one verb; without one, each tier after each verb that the platform really has."""
    if verb is not None:
        return matrix(profile, Choice((verb,)), width, variant, lacks)
    verbs = list({choice.verb.verb: choice.verb for choice in choices(profile, variant)}.values())
    tiers = [
        tier
        for tier in profile.storage
        if tier.id not in lacks and any(one.concerns(tier) for one in verbs)
    ]
    name = _column([named(tier) for tier in tiers], 8, width // 3)
    path = _column([_place(tier) for tier in tiers], 4, width // 4)
    heads = [say("after {verb}", verb=spoken(one)) for one in verbs]
    fates = [max(10, cell_len(head)) for head in heads]
    if name + path + sum(fates) + 2 * (len(fates) + 1) > width:
        path = 0  # the rows below name the verbs one by one; a path can be looked up
    while len(fates) > 1 and name + sum(fates) + 2 * len(fates) > width:
        heads.pop(), fates.pop(), verbs.pop()  # told whole where the cursor is on it
    rows: list[list[Cell]] = [
        [
            (named(tier), "strong"),
            *([(_place(tier), "text")] if path else []),
            *(_said(after(tier, one)) if one.concerns(tier) else ABSENT for one in verbs),
        ]
        for tier in tiers
    ]
    if path:
        return table((say("tier"), say("path"), *heads), rows, (name, path, *fates))
    return table((say("tier"), *heads), rows, (name, *fates))


def after(tier: Tier, verb: Verb) -> Cell:
    """What the verb does to one tier; what is not known is said, and counts as lost."""
    if tier.id in verb.deletes:
        return DELETED
    if verb.effect == "destroy" and tier.survives_destroy is False:
        return LEFT  # it goes with the instance, and this verb is about something else
    survives = tier.survives_stop if verb.effect == "stop" else tier.survives_destroy
    return UNKNOWN if survives is None else KEPT


def _place(tier: Tier) -> str:
    return tier.place or say("as mounted")


def _said(cell: Cell) -> Cell:
    return say(cell[0]), cell[1]


def consequences(choice: Choice, width: int) -> list[Text]:
    """Below the matrix: the meter, the way back, the ways to do it, and what the profile remarks."""
    verb = choice.verb
    back = (
        (say("can be undone"), "muted")
        if verb.reversible
        else (say("cannot be undone"), "level-act")
    )
    meter = _said(METERS.get(verb.meter, (f"meter: {verb.meter}", "unknown")))
    pieces = [(named(verb), "strong"), meter, back, (choice.ways, "accent")]
    if verb.confidence == "low":
        pieces.append((say("unconfirmed"), "level-watch"))
    rows = flow(pieces, width)
    seen: set[str] = set()
    for one in choice.rows:
        if one.note and one.note not in seen:
            seen.add(one.note)
            note = quoted(one.note)
            if len(choice.rows) > 1:
                note = headed(say(WAYS.get(one.via, one.via)), note)
            rows += wrap(note, width, "muted")
    return rows


def flow(pieces: Sequence[Cell], width: int) -> list[Text]:
    """Pieces side by side, with dots between them, in as many lines as they need."""
    rows = [line()]
    for text, style in pieces:
        gap = "  ·  " if rows[-1].plain else ""
        if gap and rows[-1].cell_len + cell_len(gap + text) > width:
            rows.append(line())
            gap = ""
        if cell_len(text) > width:
            rows[-1:] = wrap(text, width, style)
        else:
            rows[-1].append_text(line((gap, "faint"), (text, style)))
    return rows


def _later(profile: Profile, tier: Tier, verb: Verb, variant: str | None) -> Cell:
    """What comes after the verb for one tier that it keeps."""
    if tier.id in verb.deletes:
        return "", "muted"
    doomed = _losses(profile, tier, verb, variant) if verb.effect == "stop" else ()
    words = []
    for clock in doomed:
        remarks = [] if variant else [*clock.applies_to]
        if clock.confidence == "low":
            remarks.append(say("unconfirmed"))
        said = f" ({listed(remarks)})" if remarks else ""
        words.append(
            say("deleted {duration} later{said}", duration=units.spoken(clock.after), said=said)
        )
    if tier.bills_when_stopped and not re.match(r"no\b", tier.bills_when_stopped):
        said = re.sub(r"(?i)^yes\b[,:]? *", "", tier.bills_when_stopped)
        words.append(say("bills") if not said else say("bills: {said}", said=quoted(said)))
    return joined(words), "level-watch" if doomed else "muted"


def _losses(profile: Profile, tier: Tier, verb: Verb, variant: str | None) -> tuple[ClockFact, ...]:
    """The clocks that take a tier of a stopped instance away: the first one of each set of variants."""
    having = (variant,) if variant else verb.applies_to
    first: dict[tuple[str, ...], ClockFact] = {}
    for clock in sorted(profile.clocks, key=lambda clock: clock.after or 0.0):
        if (
            (clock.when, clock.effect) == ("stopped", "destroys")
            and clock.after
            and tier.id in clock.loses
            and meet(clock.applies_to, having)
        ):
            first.setdefault(clock.applies_to, clock)
    return tuple(first.values())


def _column(words: Sequence[str], least: int, most: int) -> int:
    """A column as wide as its longest word, within bounds."""
    return max(least, min(most, max((cell_len(word) for word in words), default=least)))
