"""A platform's profile as lines: what survives the chosen verb, the clocks, the traps, and the prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.profile import ClockFact, Profile, Tier, Verb, fact_is_stale, meet
from gpu_tui.core.speech import headed, listed, quoted, say, told
from gpu_tui.ui.text.marks import fit, line, wrap
from gpu_tui.ui.text.prose import markdown
from gpu_tui.ui.text.survival import (
    WAYS,
    choices,
    chooser,
    consequences,
    flow,
    matrix,
    named,
)

METERS = {"stops": ("meter stops", "level-ok"), "partly": ("meter stops partly", "level-watch"), "continues": ("meter goes on", "level-act")}  # fmt: skip
SEVERITIES = {"critical": "severity-fatal", "high": "severity-serious", "medium": "severity-warn", "low": "muted"}  # fmt: skip
STATES = {
    "running": "while it runs", "stopped": "while it is stopped", "account": "on the account",
    "storage": "on storage", "reading": "on a reading",
}  # fmt: skip
EFFECTS = {"destroys": "destroys", "stops": "stops the run", "bills": "bills"}


def card(
    profile: Profile,
    width: int,
    chosen: int = 0,
    *,
    variant: str | None = None,
    today: date | None = None,
) -> list[Text]:
    """The whole profile; `chosen` is the number (from 0) of the verb whose matrix is shown."""
    return [
        *_head(profile, width, variant, today),
        *_matrix(profile, width, chosen, variant),
        *_clocks(profile, width, variant, today),
        *_gotchas(profile, width),
        *_conveniences(profile, width),
        *_access(profile, width),
        *markdown(profile.body, width),
    ]


def verb_choices(verbs: Sequence[Verb], width: int, tiers: Sequence[Tier] = ()) -> list[Text]:
    """Each verb in one line, its name whole; what finds no room beside it is left to the whole story.

    `tiers` are the disks of the platform, for their names.
    """
    names = {tier.id: named(tier) for tier in tiers}
    columns: list[list[tuple[str, str]]] = [
        [_meter(verb) for verb in verbs],
        [
            (say("can be undone"), "muted")
            if verb.reversible
            else (say("cannot be undone"), "level-act")
            for verb in verbs
        ],
        [(_deletes(verb, names), "level-act" if verb.deletes else "level-ok") for verb in verbs],
        [(say(WAYS.get(verb.via, verb.via)), "accent") for verb in verbs],
    ]
    if len({verb.label for verb in verbs}) < len(verbs):
        columns.insert(0, columns.pop())  # one verb by several ways: the way tells them apart
    label = max((cell_len(named(verb)) for verb in verbs), default=0)
    rows = [fit(line((named(verb), "strong")), min(label, width)) for verb in verbs]
    taken = label
    for column in columns:
        wide = max((cell_len(text) for text, _ in column), default=0)
        if taken + 2 + wide > width:
            break
        taken += 2 + wide
        rows = [
            line(row, "  ", fit(line(cell), wide)) for row, cell in zip(rows, column, strict=True)
        ]
    return rows


def _meter(verb: Verb) -> tuple[str, str]:
    words, style = METERS.get(verb.meter, (f"meter: {verb.meter}", "unknown"))
    return say(words), style


def _deletes(verb: Verb, names: Mapping[str, str]) -> str:
    if not verb.deletes:
        return say("deletes nothing")
    return say("deletes {deletes}", deletes=listed(names.get(id, id) for id in verb.deletes))


def _head(profile: Profile, width: int, variant: str | None, today: date | None) -> list[Text]:
    display = _group(profile, "display")
    zh = display.get("zh")
    title = profile.title + (f" · {zh}" if zh and zh != profile.title else "")
    words = [told(profile.kind), *([profile.currency] if profile.currency else [])]
    if variant:
        words.append(say("variant {variant}", variant=variant))
    rows = flow([(title, "strong"), *((word, "muted") for word in words)], width)
    proofs = profile.proofs
    if proofs:
        unsure = sum(proof.confidence == "low" for proof in proofs)
        stale = sum(fact_is_stale(proof.verified, today) for proof in proofs) if today else 0
        known = [
            (
                say(
                    "{proofs} facts, the oldest of {verified}",
                    proofs=len(proofs),
                    verified=min(p.verified for p in proofs),
                ),
                "faint",
            )
        ]
        if unsure:
            known.append((say("{unsure} unconfirmed", unsure=unsure), "level-watch"))
        if stale:
            known.append((say("{stale} older than six months", stale=stale), "level-act"))
        rows += flow(known, width)
    if display.get("console"):
        rows += wrap(str(display["console"]), width, "accent")
    return [*rows, line()]


def _matrix(profile: Profile, width: int, chosen: int, variant: str | None) -> list[Text]:
    found = choices(profile, variant)
    if not found:
        return [
            line((say("No way to end it is known from here."), "level-watch")),
            line(),
        ]
    choice = found[max(0, min(chosen, len(found) - 1))]
    return [
        line((say("What survives"), "heading")),
        *chooser(found, found.index(choice), width),
        line(),
        *matrix(profile, choice, width, variant),
        line(),
        *consequences(choice, width),
        line(),
    ]


def _clocks(profile: Profile, width: int, variant: str | None, today: date | None) -> list[Text]:
    having = (variant,) if variant else ()
    clocks = [clock for clock in profile.clocks if meet(clock.applies_to, having)]
    if not clocks:
        return []
    rows = [line((say("Danger clocks"), "heading"))]
    for clock in clocks:
        rows += _clock(profile, clock, width, variant, today)
    return [*rows, line()]


def _clock(
    profile: Profile, clock: ClockFact, width: int, variant: str | None, today: date | None
) -> list[Text]:
    after = units.spoken(clock.after) if clock.after else say("no fixed time")
    names = [named(tier) for tier in map(profile.tier, clock.loses) if tier is not None]
    if clock.effect == "bills" and clock.note:
        names = [quoted(clock.note)]
    what = say(EFFECTS.get(clock.effect, clock.effect)) + (f" {listed(names)}" if names else "")
    severity = SEVERITIES.get(clock.severity, "muted")
    rows = [
        line(
            ("● ", severity), fit(line((after, "strong")), 14),
            (headed(say(STATES.get(clock.when, clock.when)), what), "text"),
        )
    ]  # fmt: skip
    if rows[0].cell_len > width:
        rows = [
            line(("● ", severity), (after, "strong"), (f"  {say(STATES.get(clock.when, clock.when))}", "text")),
            *wrap(what, width, "text", indent=2),
        ]  # fmt: skip
    if clock.note and clock.effect != "bills":
        rows += wrap(quoted(clock.note), width, "muted", indent=2)
    rows += wrap(f"→ {quoted(clock.avoid)}", width, "accent", indent=2)
    proof = [
        clock.id,
        say(clock.severity),
        say("{confidence} confidence", confidence=say(clock.confidence)),
        clock.verified,
    ]
    if clock.applies_to and variant is None:
        proof.insert(1, say("only {applies_to}", applies_to=listed(clock.applies_to)))
    if today is not None and fact_is_stale(clock.verified, today):
        proof.append(say("needs a fresh look"))
    return rows + wrap(" · ".join([*proof, clock.source]), width, "faint", indent=2)


def _gotchas(profile: Profile, width: int) -> list[Text]:
    if not profile.gotchas:
        return []
    rows = [line((say("Traps"), "heading"))]
    for trap in profile.gotchas:
        rows += wrap(f"{trap.id}  {trap.symptom}", width, "strong")
        rows += wrap(trap.cause, width, "muted", indent=2)
        rows += wrap(f"→ {trap.fix}", width, "accent", indent=2)
    return [*rows, line()]


def _conveniences(profile: Profile, width: int) -> list[Text]:
    if not profile.conveniences:
        return []
    rows = [line((say("What the platform offers"), "heading"))]
    for text in profile.conveniences:
        first, *more = wrap(text, width - 2, "text")
        rows += [line(("+ ", "level-ok"), first), *(line("  ", row) for row in more)]
    return [*rows, line()]


def _access(profile: Profile, width: int) -> list[Text]:
    """SSH, interruption and the API, a line or two each."""
    parts = (
        ("SSH", "ssh", ("flavour", "user", "host", "port", "moves", "note")),
        (say("Interruption"), "spot", ("signal", "grace", "detect", "resume", "note")),
        (say("State"), "status", ("via", "query", "key_env", "gone", "balance", "note")),
        (say("Price"), "price", ("currency", "unit", "note")),
    )
    rows: list[Text] = []
    for title, part, keys in parts:
        group = _group(profile, part)
        said = [(key, str(group[key])) for key in keys if group.get(key) not in (None, "n/a", [])]
        if said:
            rows.append(line((title, "heading")))
            for key, text in said:
                first, *more = wrap(text, width - 12, "text") or [line()]
                rows += [
                    line((f"  {key.replace('_', ' '):9} ", "faint"), first),
                    *(line(" " * 12, row) for row in more),
                ]
    return [*rows, line()] if rows else []


def _group(profile: Profile, part: str) -> Mapping[str, object]:
    value = profile.facts.get(part)
    return value if isinstance(value, Mapping) else {}
