"""The outlook of the whole sweep as lines: cells, end, money, what to move, and one row for each queue."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.campaign import LaneOutlook, Outlook, Trust, spent_so_far
from gpu_tui.core.queue_words import sweep_words
from gpu_tui.core.speech import counted, headed, listed, say, told
from gpu_tui.core.sweep import CellState
from gpu_tui.ui.text import bounds
from gpu_tui.ui.text.marks import ABSENT, UNKNOWN, bar, fit, line, wrap
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.text.signs import box_style

if TYPE_CHECKING:
    from gpu_tui.core.rebalance import Plan

LEAD = 7
GROUPS: tuple[tuple[str, str, tuple[CellState, ...]], ...] = (
    ("running", "level-ok", (CellState.RUNNING,)),
    ("left", "text", (CellState.PENDING,)),
    ("failed", "level-act", (CellState.FAILED,)),
    ("sync failed", "level-act", (CellState.SYNC_FAILED,)),
    ("suspicious", "level-watch", (CellState.SUSPICIOUS,)),
    ("cannot tell", "unknown", (CellState.CANNOT_TELL,)),
    ("skipped", "muted", (CellState.SKIPPED,)),
)
NAMES_SHOWN = 6
BAR = 16
LEAST_NAME = 8


def outlook_lines(
    outlook: Outlook,
    plan: Plan | None,
    now: float,
    zone: tzinfo | None,
    width: int,
    *,
    brief: bool = False,
) -> list[Text]:
    """Cells, end, money, and what to move; a few lines, none longer than `width`.

    `brief` leaves out what the prices are by, and how cells are moved.
    """
    if not outlook.lanes:
        words = say("no queue is known: no fleet file names one, and no run was found")
        return wrap(words, width, "muted")
    rows = bounds.flow(_counts(outlook, width), width)
    rows += bounds.flow(_end(outlook, now, zone), width, lead=_lead("ends"))
    rows += bounds.flow(_money(outlook, brief=brief), width, lead=_lead("money"))
    return [*rows, *plan_lines(outlook, plan, now, zone, width, brief=brief)]


def _lead(word: str) -> Text:
    return fit(line((say(word), "faint")), LEAD)


def _counts(outlook: Outlook, width: int) -> list[Text]:
    tally = outlook.tally
    share = tally.done / tally.total if tally.total else 0.0
    size = BAR if width >= 70 else 8
    told = sweep_words(outlook)
    pieces = [line(bar(share, size, "accent"), (f"  {told.brief}", "strong"))]
    for word, style, states in GROUPS:
        number = tally.count(*states)
        if number:
            pieces.append(line((f"{number} {say(word)}", style)))
    if tally.unnamed:
        pieces.append(line((say("{unnamed} not named yet", unnamed=tally.unnamed), "unknown")))
    if outlook.doubled:
        several = counted(len(outlook.doubled), "name")
        pieces.append(line((say("{several} in two places", several=several), "level-watch")))
    return pieces


def _end(outlook: Outlook, now: float, zone: tzinfo | None) -> list[Text]:
    """When the last queue ends; where some cannot tell, a bound and the end of the others."""
    span = outlook.left
    if outlook.over:
        return [line((say("every queue has ended"), "level-ok"))]
    pieces = [line((bounds.ends(span, now, zone), bounds.tone(span)))]
    if span.best is not None:
        pieces.append(line((say("{bounds} left", bounds=bounds.left(span)), "text")))
        if words := bounds.between(span, now, zone):
            pieces.append(line((words, "muted")))
    elif all(one.over for one in outlook.lanes if one.lane.name not in outlook.silent):
        if outlook.told is not None:
            pieces.append(line((say("all others have ended"), "level-ok")))
    elif outlook.told is not None and outlook.told.best:
        words = bounds.ends(outlook.told, now, zone)
        pieces.append(line((say("where it can be told "), "muted"), (words, "text")))
    if outlook.last is not None and len(outlook.lanes) > 1:
        last = say("last") if span.best is not None else say("last of these")
        pieces.append(line((outlook.last, box_style(outlook.last)), (f" {last}", "muted")))
    if outlook.silent:
        pieces.append(line((_some(outlook.silent), "unknown"), (say(" cannot tell"), "unknown")))
    return pieces


def _money(outlook: Outlook, *, brief: bool) -> list[Text]:
    if not outlook.bills:
        return [line((say("{unknown} no box has a known price", unknown=UNKNOWN), "unknown"))]
    open_price = any(one.lane.per_hour is None and not one.over for one in outlook.lanes)
    more = f" + {UNKNOWN}" if open_price else ""
    pieces = [
        line((say("spent "), "muted"), (bounds.spent(outlook.bills), "money")),
        line((say("to the end "), "muted"), (bounds.to_come(outlook.bills) + more, "money")),
    ]
    bases = {one.lane.basis for one in outlook.lanes if one.lane.per_hour is not None}
    words = {"api": say("the provider's API"), "fleet-file": say("the fleet file")}
    said = say(" and ").join(words.get(basis, basis) for basis in sorted(bases))
    if not brief:
        pieces.append(line((say("prices of {said}", said=said), "faint")))
    if idle := _idle_rate(outlook):
        pieces.append(line((say("ended, but billing "), "muted"), (idle, "level-watch")))
    if outlook.unpriced:
        pieces.append(
            line((say("no price: {unpriced}", unpriced=_some(outlook.unpriced)), "unknown"))
        )
    return pieces


def _idle_rate(outlook: Outlook) -> str:
    """What the boxes cost by the hour whose queue has ended, each currency for itself."""
    rates: dict[str, float] = {}
    for one in outlook.lanes:
        if one.over and one.tally.total and one.lane.per_hour and one.lane.trust is not Trust.OFF:
            unit = one.lane.currency or ""
            rates[unit] = rates.get(unit, 0.0) + one.lane.per_hour
    words = " + ".join(units.money(rate, unit) for unit, rate in rates.items())
    return f"{words}/h" if words else ""


def plan_lines(
    outlook: Outlook,
    plan: Plan | None,
    now: float,
    zone: tzinfo | None,
    width: int,
    *,
    brief: bool,
) -> list[Text]:
    """What to move, what comes of it, and what must be done for it; nothing where there is no plan."""
    if plan is None:
        return []
    rows: list[Text] = []
    said = [plan_brief(plan, now, zone)] if brief else plan_words(outlook, plan, now, zone)
    for number, sentence in enumerate(said):
        style = "text" if number == 0 else "muted"
        rows += wrap(sentence, width, style, indent=LEAD)
    rows[0] = line(fit(line((say("move"), "key")), LEAD), rows[0][LEAD:])
    return rows


def plan_brief(plan: Plan, now: float, zone: tzinfo | None) -> str:
    """How much sooner, by how many cells."""
    before, after = (bounds.wall(now + at, now, zone) for at in (plan.before, plan.after))
    cells = counted(len(plan.moves), "cell")
    targets = tuple(dict.fromkeys(move.target for move in plan.moves))
    return say(
        "{cells} to {targets} → {after} instead of {before} (v: how)",
        cells=cells,
        targets=_some(targets),
        after=after,
        before=before,
    )


def plan_words(outlook: Outlook, plan: Plan, now: float, zone: tzinfo | None) -> tuple[str, str]:
    """The suggestion, and how it is done without a cell running twice."""
    routes: dict[tuple[str, str], list[str]] = {}
    for move in plan.moves:
        routes.setdefault((move.origin, move.target), []).append(move.cell)
    parts = [
        say(
            "{tuple} (never started) from {origin} to {target}",
            tuple=_some(tuple(reversed(cells))),
            origin=origin,
            target=target,
        )
        for (origin, target), cells in routes.items()
    ]
    before, after = (bounds.wall(now + at, now, zone) for at in (plan.before, plan.after))
    done = say("all done") if not outlook.silent else say("those that can tell done")
    rough = say(", roughly") if plan.rough else ""
    late = (
        say("{behind} after the others", behind=units.spoken(plan.behind))
        if plan.behind >= units.MINUTE
        else say("last")
    )
    what = say(
        "{last} ends {late}: move {parts} → {done} {after} instead of {before}{rough}",
        last=plan.last,
        late=late,
        parts=listed(parts),
        done=done,
        after=after,
        before=before,
        rough=rough,
    )
    files = {one.lane.name: one.lane.queue.file for one in outlook.lanes}
    origins = dict.fromkeys(move.origin for move in plan.moves)
    out = listed(
        say("the end of {files} on {name}", files=files[name], name=name) for name in origins
    )
    how = say(
        "append their lines to the queue file there, and take them out of {out} before its queue reaches them: a cell in both runs twice",
        out=out,
    )
    if plan.restart:
        how += say(
            "; start the queue of {restart} again, it has ended", restart=listed(plan.restart)
        )
    return what, how


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - NAMES_SHOWN
    return listed(names[:NAMES_SHOWN]) + (say(" and {more} more", more=more) if more > 0 else "")


# --- one row for each queue -------------------------------------------------------------------

COLUMNS: tuple[tuple[str, int, int], ...] = (  # title, cells, from which width on
    ("done", 7, 0),
    ("run", 3, 70),
    ("bad", 6, 56),
    ("ends", 14, 0),
    ("between", 14, 100),
    ("left", 9, 44),
    ("speed", 6, 90),
    ("spent", 11, 76),
    ("to come", 11, 64),
)


def _columns(width: int) -> tuple[int, list[tuple[str, int]]]:
    """Cells of the name, and the columns for which there is room: none is cut, half of an amount is another."""
    shown = [(title, cells) for title, cells, least in COLUMNS if width >= least]
    while (room := width - sum(cells + 1 for _, cells in shown) - 2) < LEAST_NAME:
        if len(shown) < 2:
            break
        first = {title: least for title, _, least in COLUMNS}
        shown.remove(max(shown, key=lambda column: first[column[0]]))
    return min(18, max(LEAST_NAME, room)), shown


def lane_head(width: int) -> Text:
    """The titles above the queues."""
    name, shown = _columns(width)
    text = line(fit(line((say("  queue"), "faint")), name + 2))
    for title, cells in shown:
        text.append_text(line(" ", fit(line((say(title), "faint")), cells, right=True)))
    return text


def lane_row(
    one: LaneOutlook, outlook: Outlook, now: float, zone: tzinfo | None, width: int
) -> Text:
    """One queue: what stands where, when it ends, what it costs, and why it cannot tell."""
    name, shown = _columns(width)
    lane = one.lane
    live = lane.trust is Trust.LIVE
    tone = "text" if live else "stale"
    called = cut_name(lane.name, name, [other.lane.name for other in outlook.lanes])
    text = line(
        ("▌", box_style(lane.name)),
        " ",
        fit(line((called, "strong" if lane.name == outlook.last else tone)), name),
    )
    for title, cells in shown:
        text.append_text(line(" ", fit(_lane_cell(title, one, now, zone), cells, right=True)))
    room = width - text.cell_len - 2
    if one.why and room >= 8:
        text.append_text(line("  ", fit(line((told(one.why, own=True), "unknown")), room)))
    return text


def _lane_cell(title: str, one: LaneOutlook, now: float, zone: tzinfo | None) -> Text:
    lane, tally, span = one.lane, one.tally, one.left
    live = lane.trust is Trust.LIVE
    read = lane.trust is not Trust.UNREAD
    match title:
        case "done":
            total = UNKNOWN if lane.queue.more else str(tally.total)
            done = f"{tally.done}/{total}" if read else UNKNOWN
            return line((done, ("text" if live else "stale") if read else "unknown"))
        case "run":
            number = tally.count(CellState.RUNNING)
            return line(
                (str(number), "level-ok" if live else "stale") if number else (ABSENT, "absent")
            )
        case "bad":  # failed, never copied, or under suspicion
            number = tally.count(CellState.FAILED, CellState.SYNC_FAILED, CellState.SUSPICIOUS)
            return line((str(number), "level-act") if number else (ABSENT, "absent"))
        case "ends":
            over = one.over
            return line(
                (say("ended"), "muted")
                if over
                else (bounds.ends(span, now, zone, terse=True), bounds.tone(span))
            )
        case "between":
            return line((bounds.between(span, now, zone, terse=True), "muted"))
        case "left":
            return line((ABSENT, "absent") if one.over else (bounds.left(span), bounds.tone(span)))
        case "speed":
            return line(
                (ABSENT, "absent") if one.speed is None else (f"{1 / one.speed:.2f}x", "muted")
            )
        case "spent":
            return _lane_money(
                lane.spent is not None, bounds.amount(spent_so_far(lane), lane.currency)
            )
        case _:
            if one.over:
                return line((ABSENT, "absent"))
            known = one.to_come is not None
            return _lane_money(
                known, bounds.amount(one.to_come, lane.currency) if one.to_come else ""
            )


def _lane_money(known: bool, words: str) -> Text:
    return line((words, "money")) if known and words != UNKNOWN else line((UNKNOWN, "unknown"))


def lane_why(outlook: Outlook, width: int) -> list[Text]:
    """Why queues cannot tell, where their rows have no room to say it."""
    rows: list[Text] = []
    for one in outlook.lanes:
        if one.why:
            rows += wrap(headed(one.lane.name, told(one.why, own=True)), width, "unknown", indent=2)
    return rows


def short(outlook: Outlook, now: float, zone: tzinfo | None) -> tuple[str, str]:
    """For one line: `12/27 done`, and `ends ~18:50`; empty where there is nothing to say."""
    if not outlook.tally.total:
        return "", ""
    cells = sweep_words(outlook)
    if outlook.over:
        return cells.count, cells.end
    ends = say("ends {words}", words=bounds.ends(outlook.left, now, zone))
    return cells.brief, "" if outlook.more and outlook.left.best is None else ends
