"""A platform's profile as lines: the survival matrix, the clocks, the verbs, and the prose."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from gpu_tui.core.profile import Profile, Verb
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text import units
from gpu_tui.ui.text.marks import fit, line, wrap

ANSWERS = {
    True: ("kept", "level-ok"),
    False: ("gone", "level-act"),
    None: ("? (count as gone)", "unknown"),
}
METERS = {"stops": ("meter stops", "level-ok"), "partly": ("meter stops partly", "level-watch"), "continues": ("meter goes on", "level-act")}  # fmt: skip

WAYS = {"ssh": "via SSH", "http": "via API", "cli": "via CLI", "console": "in console"}
BESIDE = 68  # cells that a verb's row needs beside its label


def survival(profile: Profile, width: int, verb: Verb | None = None) -> list[Text]:
    """What survives a stop and a destroy, tier by tier; with `verb`, also what that verb deletes."""
    name = max(14, min(30, width - 46))
    rows = [
        line(
            (fit(line("storage"), name).plain, "faint"),
            (" after stop         after destroy      ", "faint"),
            ("this verb" if verb else "size", "faint"),
        )
    ]
    for tier in profile.storage:
        stop, destroy = ANSWERS[tier.survives_stop], ANSWERS[tier.survives_destroy]
        last = line((tier.size or "", "muted"))
        if verb is not None:
            deleted = tier.id in verb.deletes
            last = line(("deleted", "level-act") if deleted else ("left alone", "level-ok"))
        rows.append(
            line(
                fit(line((tier.path, "strong")), name), " ",
                fit(line(stop), 18), " ", fit(line(destroy), 18), " ", last,
            )
        )  # fmt: skip
    return rows


def verb_rows(verbs: Sequence[Verb], width: int) -> list[list[Text]]:
    """Each verb with its note: the way it goes, and what it does to the meter and to the data."""
    longest = max((cell_len(verb.label) for verb in verbs), default=0)
    label = min(longest, max(20, width - BESIDE))
    return [_verb_lines(verb, label, width) for verb in verbs]


def _verb_lines(verb: Verb, label: int, width: int) -> list[Text]:
    meter = METERS.get(verb.meter, (f"meter: {verb.meter}", "unknown"))
    deletes = f"deletes {', '.join(verb.deletes)}" if verb.deletes else "deletes nothing"
    first = line(
        fit(line((verb.label, "strong")), label), "  ",
        fit(line((WAYS.get(verb.via, verb.via), "accent")), 11), "  ",
        meter, "  ",
        (deletes, "level-act" if verb.deletes else "level-ok"), "  ",
        ("can be undone" if verb.reversible else "cannot be undone", "muted" if verb.reversible else "level-act"),
    )  # fmt: skip
    return [first, *(wrap(verb.note, width, "muted", indent=2) if verb.note else [])]


def card(profile: Profile, width: int) -> list[Text]:
    """The whole profile."""
    rows = [line((profile.title, "strong"), (f"  {profile.kind}", "muted")), line()]
    if profile.storage:
        rows += [line(("What survives", "heading")), *survival(profile, width), line()]
    if profile.clocks:
        rows.append(line(("Danger clocks", "heading")))
        for clock in profile.clocks:
            after = units.span(clock.after) if clock.after else "no fixed time"
            rows.append(
                line(
                    (f"{clock.id}", "strong"),
                    (f"  {clock.when}: {after}, {clock.effect}", "text"),
                    (
                        f"  {clock.severity}, {clock.confidence} confidence, {clock.verified}",
                        "muted",
                    ),
                )
            )
            rows += wrap(f"→ {clock.avoid}", width, "accent", indent=2)
            rows += wrap(clock.source, width, "faint", indent=2)
        rows.append(line())
    if profile.teardown:
        rows.append(line(("Ways to stop the meter", "heading")))
        for lines in verb_rows(profile.teardown, width):
            rows += lines
        rows.append(line())
    return rows + markdown(profile.body, width)


def markdown(body: str, width: int) -> list[Text]:
    """Prose as lines; links stay text and nothing in it can act."""
    clean = "\n".join(safe(row.expandtabs(4)) for row in body.splitlines())
    console = Console(width=max(20, width), file=io.StringIO(), color_system=None)
    made = Markdown(clean, hyperlinks=False, code_theme="bw")
    return [
        line(*(Text(segment.text, _prose_style(segment.style)) for segment in row))
        for row in console.render_lines(made, pad=False)
    ]


def _prose_style(style: object) -> str:
    bold = getattr(style, "bold", False)
    colour = getattr(style, "color", None)
    if bold:
        return "heading"
    return "accent" if colour is not None else "text"
