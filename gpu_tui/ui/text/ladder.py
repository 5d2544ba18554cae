"""The teardown ladder as lines, rung by rung, exactly as the gate's view says.

Where all of the evidence has room, `ladder` is the whole of it. Where it has none, `strip` keeps all nine
rungs in sight, one line each, and `detail` is the evidence of the one that is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.gate import GateView, Rung, RungState, RungView, State
from gpu_tui.core.ladder import SecondView
from gpu_tui.core.profile import Verb
from gpu_tui.core.speech import say, told
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.marks import bar, fit, line, wrap
from gpu_tui.ui.text.signs import box_style

RUNGS: dict[RungState, tuple[str, str]] = {
    RungState.WAITING: ("·", "rung-waiting"),
    RungState.WORKING: ("▸", "rung-working"),
    RungState.PASSED: ("✓", "rung-passed"),
    RungState.BLOCKED: ("✗", "rung-blocked"),
    RungState.SKIPPED: ("–", "rung-waiting"),
}
# outcome -> (the word that nobody can mistake, the sentence under it, style of the word)
OUTCOMES: dict[str, tuple[str, str, str]] = {
    "gone": (
        "CONFIRMED GONE",
        "The provider no longer has the instance: the meter is proven stopped.",
        "safe",
    ),
    "stopped": (
        "CONFIRMED STOPPED",
        "The instance is stopped, as read back from the provider. What it still bills is in the plan.",
        "safe",
    ),
    "still-there": (
        "STILL THERE",
        "The call was made, and the meter is not proven stopped. It stays red until it is: look at the "
        "provider's console now, then open the ladder again.",
        "danger-badge",
    ),
    "unknown": (
        "UNKNOWN",
        "Nobody can say whether it stopped. Take it that the meter runs: look at the provider's console, "
        "then open the ladder again.",
        "danger-badge",
    ),
    "steps": (
        "FOR YOU TO DO",
        "This platform has no call for it. Do these steps (y copies them), then look here again:",
        "level-watch",
    ),
    "cancelled": ("CANCELLED", "Nothing was changed.", "safe"),
    "verified": ("VERIFIED", "Everything is home, compared and loaded.", "safe"),
}
METERS = {"stops": "stops", "partly": "stops in part", "continues": "goes on"}
TITLE = 10  # cells of the longest title, "read back", and a space
INDENT = 5 + TITLE
BAR = 16
MARK = {True: "›", False: " "}


def rung_lines(rung: RungView, width: int, more: Sequence[Text] = ()) -> list[Text]:
    """One rung: its state, then its evidence, then `more` lines that belong under it."""
    glyph, style = RUNGS[rung.state]
    first = line((f" {glyph} {rung.rung.value} ", style), _title(rung, style))
    if rung.state is RungState.WORKING and (moving := _progress(rung)):
        first.append_text(moving)
    evidence: list[Text] = []
    for text in rung.lines:
        evidence += wrap(told(text), width, _tone(rung, text, "muted"), indent=INDENT)
    if evidence and first.cell_len <= INDENT:
        evidence[0] = line(first, evidence[0][INDENT:])
        rows = evidence
    else:
        rows = [first, *evidence]
    rows += [line(" " * INDENT, row) for row in more]
    if rung.next:
        rows += wrap(f"→ {told(rung.next)}", width, "accent", indent=INDENT)
    return rows


def ladder(
    gate: GateView, width: int, more: Mapping[Rung, Sequence[Text]] | None = None
) -> list[Text]:
    """All rungs with all their evidence."""
    rows: list[Text] = []
    for rung in gate.rungs:
        rows += rung_lines(rung, width, (more or {}).get(rung.rung, ()))
    return rows


def in_short(gate: GateView, width: int) -> Text:
    """All rungs in one line: their signs."""
    row = line((say(" rungs "), "muted"))
    for rung in gate.rungs:
        glyph, style = RUNGS[rung.state]
        row.append_text(line((f" {rung.rung.value}{glyph}", style)))
    return fit(row, width)


def strip(gate: GateView, looked: Rung | None, width: int) -> list[Text]:
    """All rungs, one line each; the one whose evidence stands below is marked."""
    rows = []
    for rung in gate.rungs:
        glyph, style = RUNGS[rung.state]
        here = rung.rung is looked
        row = line((MARK[here], "accent"), (f"{glyph} {rung.rung.value} ", style))
        row.append_text(fit(line((say(rung.title), "strong" if here else style)), TITLE))
        if rung.state is RungState.WORKING and (moving := _progress(rung)):
            row.append_text(moving)
        elif rung.lines:
            blocked = rung.state is RungState.BLOCKED
            text = (gate.closed_because or rung.lines[-1]) if blocked else rung.lines[0]
            row.append_text(line((told(text), "level-act" if blocked else "muted")))
        rows.append(fit(row, width))
    return rows


def detail(rung: RungView, width: int, more: Sequence[Text] = ()) -> list[Text]:
    """The evidence of one rung, whole."""
    rows: list[Text] = []
    for text in rung.lines:
        rows += wrap(told(text), width, _tone(rung, text, "text"))
    transfer = rung.transfer
    if transfer is not None and transfer.file and rung.state is RungState.WORKING:
        rows += wrap(say("now {file}", file=transfer.file), width, "muted")
    if not rows and not more:
        said = {
            RungState.WAITING: say("not reached yet"),
            RungState.WORKING: say("at it …"),
            RungState.SKIPPED: say("not climbed here"),
        }
        rows.append(line((said.get(rung.state, say("nothing to show")), "faint")))
    rows += more
    if rung.next:
        rows += wrap(f"→ {told(rung.next)}", width, "accent")
    return rows


def here(gate: GateView) -> Rung:
    """The rung that matters now: the one that is stuck, else the one at work, else the last one passed."""
    for wanted in (RungState.BLOCKED, RungState.WORKING):
        for rung in gate.rungs:
            if rung.state is wanted:
                return rung.rung
    passed = [rung.rung for rung in gate.rungs if rung.state is RungState.PASSED]
    return passed[-1] if passed else Rung.PLAN


def asks(gate: GateView) -> bool:
    """The phrase is asked for; until `ready_at` it is not taken yet, but it may be read and typed."""
    return not gate.outcome and (gate.ready or gate.state == State.READY)


def may_abandon(gate: GateView) -> bool:
    """The way up is shut and what an abandonment loses is listed; its phrase waits for every word beside it."""
    return gate.state == State.BLOCKED and bool(gate.phrase and gate.lost_paths)


def verdict(gate: GateView, width: int, *, advice: bool = True) -> list[Text]:
    """What came of it, or why the gate is shut: seen at once, wherever the ladder is scrolled.

    `advice`: with the next step of the rung that is stuck, where that does not stand beside it.
    """
    if gate.outcome:
        word, text, style = OUTCOMES.get(gate.outcome, (gate.outcome.upper(), "", "danger-badge"))
        banner = fit(line((f" {say(word)}", style)), width)
        banner.stylize(style)
        if style != "danger-badge":
            banner.stylize("reverse")
        rows = [banner, *wrap(say(text), width, "text", indent=1)]
        for number, step in enumerate(gate.outcome_lines, 1):
            prefix = f"{number}. " if gate.outcome == "steps" else ""
            lead = len(prefix)
            step_rows = wrap(told(step), width, "strong", indent=2 + lead)
            if step_rows and prefix:
                step_rows[0] = line("  ", (prefix, "accent"), step_rows[0][2 + lead :])
            rows += step_rows
        return rows
    rows = []
    if gate.needs_acceptance:
        rows.append(line((say("This would stop running work:"), "level-watch")))
        for text in gate.needs_acceptance:
            rows += wrap(text, width, "strong", indent=2)
    if gate.closed_because:
        rows += wrap(
            say("The gate is shut: {closed_because}", closed_because=told(gate.closed_because)),
            width,
            "level-act",
        )
        stuck = next((rung for rung in gate.rungs if rung.state is RungState.BLOCKED), None)
        if advice and stuck is not None and stuck.next:
            rows += wrap(f"→ {told(stuck.next)}", width, "accent")
    return rows


def _tone(rung: RungView, text: str, calm: str) -> str:
    """What stopped a rung is loud. The plan says much more than that: only its last line is what did."""
    stopped = rung.state is RungState.BLOCKED
    reason = stopped and (rung.rung is not Rung.PLAN or text == rung.lines[-1])
    return "level-act" if reason else calm


def _title(rung: RungView, style: str) -> Text:
    tone = style if rung.state is not RungState.PASSED else "strong"
    return fit(line((say(rung.title), tone)), TITLE)


def _progress(rung: RungView) -> Text | None:
    """How far it is: a bar, and what is known of bytes, speed and the time left."""
    transfer = rung.transfer
    share = transfer.share if transfer is not None else rung.share
    if share is None:
        return None
    drawn = line(bar(share, BAR, "rung-working"), (f" {units.percent(share)}", "text"))
    if transfer is not None:
        drawn.append_text(line((f"  {told(transfer.words())}", "muted")))
    return drawn


def identity(view: InstanceView, label: str, verb: Verb | None, width: int) -> Text:
    """Whose box this is, in its own colour, what it costs, and what is about to be done to it."""
    cost = view.cost
    price = f"{units.money(cost.per_hour, cost.currency)}/h"
    meter = say(METERS.get(verb.meter, "?")) if verb is not None else ""
    pieces: list[tuple[str, str]] = [
        (f"  {view.instance.platform}", "muted"),
        (f"  {price}{f' → {meter}' if meter else ''}", "money"),
        (say("  {spent} spent", spent=view.spent_told) if cost.spent is not None else "", "money"),
        (say("  up {uptime}", uptime=units.span(view.uptime)) if view.uptime is not None else "", "muted"),
    ]  # fmt: skip
    name = line(("███ ", box_style(view.name)), (view.name, "strong"))
    end = line("  ", (label, "danger")) if label else line()
    while (
        pieces and name.cell_len + end.cell_len + sum(cell_len(text) for text, _ in pieces) > width
    ):
        pieces.pop()  # the name and the verb are never cut for the sake of the rest
    return line(name, end, *pieces)


def second_rows(seconds: Sequence[SecondView], width: int) -> list[Text]:
    """What hangs on the instance and has an end or a price of its own, and the exceptions; each is typed on
    its own.
    """
    rows = []
    for number, second in enumerate(seconds):
        if number == 0 or second.exception != seconds[number - 1].exception:
            head = (
                say("and what is not as it was promised, each to be accepted by its own words:")
                if second.exception
                else say("and what hangs on it, each by its own word:")
            )
            rows.append(line((head, "strong")))
        rows += _second(second, width, "muted")
    return rows


def asked_rows(second: SecondView, width: int) -> list[Text]:
    """The one that must be typed next: where there is little room it comes first."""
    return [*_second(second, width, "text"), line()]


def _second(second: SecondView, width: int, tone: str) -> list[Text]:
    mark = ("✓ ", "rung-passed") if second.done else ("☐ ", "level-watch")
    rows = [line(mark, (told(second.label), "strong"))]
    for text in second.lines:
        rows += wrap(told(text), width, tone, indent=2)
    return rows


def question(
    gate: GateView | None, second: SecondView | None, now: float, width: int
) -> list[Text]:
    """What to type, how long until it counts, how long the evidence lives."""
    if gate is None or gate.outcome:
        return []
    acting = any(r.rung >= Rung.ACT and r.state is RungState.WORKING for r in gate.rungs)
    if acting:
        return [line((say("The call is out. Leaving does not take it back."), "level-watch"))]
    if second is not None:
        number = [one.id for one in gate.seconds].index(second.id) + 1
        count, label = len(gate.seconds), told(second.label)
        if second.exception:
            ask = say(
                "{number} of {seconds}: {label}. To accept it, type ",
                number=number,
                seconds=count,
                label=label,
            )
        else:
            ask = say(
                "{number} of {seconds} beside it: {label}. Seen? Type ",
                number=number,
                seconds=count,
                label=label,
            )
        if may_abandon(gate):
            ask = say("Before data may be abandoned: ") + ask
        pieces = [(ask, "text"), (second.phrase, "danger")]
    elif asks(gate):
        pieces = [(say("To go on, type "), "text"), (gate.phrase, "danger")]
    else:
        return []
    rows = [line(*pieces)]
    if rows[0].cell_len > width:
        rows = [*wrap(pieces[0][0], width, "text"), *wrap(pieces[1][0], width, "danger")]
    times = line()
    if gate.ready_at is not None and now < gate.ready_at:
        times.append_text(
            line((say("live in {ready_at:.0f} s   ", ready_at=gate.ready_at - now), "level-watch"))
        )
    if gate.expires_at is not None:
        left = gate.expires_at - now
        said = (
            say("evidence ends in {left}", left=units.countdown(left))
            if left > 0
            else say("the evidence is void")
        )
        times.append_text(line((said, "level-watch" if left < 60 else "muted")))
    if times.plain and rows[-1].cell_len + 3 + times.cell_len <= width:
        rows[-1].append_text(line("   ", times))
    elif times.plain:
        rows.append(times)
    return rows
