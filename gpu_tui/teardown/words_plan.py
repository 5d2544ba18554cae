"""The plan of a teardown in words: what this verb really does on this platform, to each disk and to the bill."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_tui.core import units
from gpu_tui.core.evidence import Cells, Plan, SecondResource
from gpu_tui.core.fleet import Money
from gpu_tui.core.gate import Gate, second_phrase
from gpu_tui.core.ladder import SecondView
from gpu_tui.core.profile import Tier, Verb
from gpu_tui.core.proof import NO_COPY, some
from gpu_tui.core.waiver import Waiver

BY = {
    "http": "by the provider's API",
    "ssh": "by a command over SSH",
    "cli": "by the platform's own command, run here",
    "console": "by hand in the provider's console: you get the steps, no call is made from here",
}
METER = {
    "stops": "the meter stops",
    "partly": "only a part of the meter stops",
    "continues": "the meter goes on",
}
UNKNOWN_METER = "nobody knows whether the meter stops"
AFTER = {
    "stops": "nothing after it",
    "partly": "a part of it after it, how much is not known here",
    "continues": "the same after it",
}
FATES = {
    "dies": "dies with it",
    "bills-on": "stays, and goes on billing",
}
UNKNOWN_FATE = "nobody knows what becomes of it: take it that it is lost, and that it bills"
CELLS_SHOWN = 20


def plan_lines(plan: Plan) -> tuple[str, ...]:
    """What will be done, what survives it, what it costs, and what is not done yet."""
    verb = plan.verb
    way = "console" if plan.console else verb.via
    undone = "can be undone" if verb.reversible else "cannot be undone"
    lines = [
        f"{verb.label}: {undone}; {BY.get(way, 'nobody knows how')}",
        f"{METER.get(verb.meter, UNKNOWN_METER)}{_price(plan)}",
    ]
    if verb.note:
        lines.append(f"its profile says: {verb.note}")
    aside = about_others(plan)
    lines += [
        f"not there, says the provider: {_name(tier)}"
        if tier.id in plan.lacks
        else tier_line(tier, verb, aside=aside)
        for tier in plan.tiers
        if verb.concerns(tier)
    ]
    known = {tier.id for tier in plan.tiers}
    lines += [f"lost: {id}" for id in verb.deletes if id not in known]
    if not plan.tiers and not verb.deletes:
        lines.append(
            "nothing is deleted, says its profile"
            if verb.park
            else "its profile names no disk: take it that everything is lost"
        )
    if not plan.console:
        lines.append(f"the provider says now: {plan.provider}")
    if plan.results and not verb.park:
        lines.append(f"only {plan.results} comes home: nothing else on those disks does")
    if plan.cells:
        unfinished = [
            uncopied(plan.cells, [name]) if why == NO_COPY else f"not finished: {name} ({why})"
            for name, why in plan.cells.unfinished
        ]
        lines += capped(unfinished, CELLS_SHOWN)
    if plan.logins is None:
        lines.append("who else is logged in there is not known: the box keeps no record of it")
    elif plan.logins:
        lines.append(f"logged in there: {some(plan.logins, 8)}")
    if plan.seconds:
        lines.append(f"{len(plan.seconds)} more to be acknowledged one by one, see there")
    return tuple(lines)


def about_others(plan: Plan) -> bool:
    """The verb ends something beside the instance alone: all that it deletes would outlive the instance."""
    deleted = [tier.survives_destroy for tier in plan.tiers if tier.id in plan.verb.deletes]
    whole = len(deleted) == len(plan.verb.deletes) > 0
    return plan.verb.effect == "destroy" and whole and False not in deleted


def tier_line(tier: Tier, verb: Verb, *, aside: bool = False) -> str:
    """What this verb does to one disk. What nobody knows counts as lost. `aside`: it leaves the instance alone."""
    survives = tier.survives_stop if verb.effect == "stop" else tier.survives_destroy
    name = _name(tier)
    if aside and tier.id not in verb.deletes and survives is False:
        return f"left alone: {name}, which goes with the instance"
    if tier.id in verb.deletes or survives is False:
        return f"lost: {name}"
    if survives is None:
        return f"nobody knows of {name}: take it as lost"
    bills = tier.bills_when_stopped
    if bills is None or bills == "no" or bills.startswith(("no;", "no,")):
        return f"kept: {name}"
    price = bills.removeprefix("yes").removeprefix("YES").lstrip(", ")
    return f"kept: {name}; bills on{f': {price}' if price else ''}"


def _name(tier: Tier) -> str:
    name = tier.label or tier.id
    return f"{name} ({tier.place})" if tier.place else name


def second_views(gate: Gate) -> tuple[SecondView, ...]:
    """What hangs on the instance beside it, and the exceptions, each with the words to type for it."""
    return tuple(
        SecondView(
            one.key,
            one.label,
            one.lines if isinstance(one, Waiver) else _second_lines(one),
            second_phrase(one),
            one.key in gate.acknowledged,
            isinstance(one, Waiver),
        )
        for one in gate.asked
    )


def uncopied(cells: Cells, names: Sequence[str]) -> str:
    """What to do about cells that trained and whose results were not copied, and where those lie."""
    if cells.trained_in is None:
        return f"trained, but the durable copy is missing: {some(names)}: copy the results into results.remote before any teardown, do not train again"
    places = some([f"{cells.trained_in}/{name}" for name in names])
    return f"trained, but the durable copy is missing: {some(names)}, from {places}: copy the results into results.remote before any teardown, do not train again"


def capped(lines: list[str] | tuple[str, ...], most: int) -> tuple[str, ...]:
    """The first of them, and how many more there are."""
    more = len(lines) - most
    return (*lines[:most], f"and {more} more") if more > 0 else tuple(lines)


def _second_lines(one: SecondResource) -> tuple[str, ...]:
    lines = [f"{one.kind} {one.id}: {FATES.get(one.fate, UNKNOWN_FATE)}"]
    if one.price is not None:
        lines.append(f"{_money(one.price)}/h{' until it is deleted' if one.fate != 'dies' else ''}")
    elif one.fate != "dies":
        lines.append("its price is not known")
    if one.note:
        lines.append(one.note)
    return tuple(lines)


def _price(plan: Plan) -> str:
    if plan.price is None:
        return "; its price is not known"
    after = AFTER.get(plan.verb.meter, "nobody knows what after it")
    if plan.price_after is not None:
        after = f"{_money(plan.price_after)}/h after it, for the disk that is kept"
    on = [one for one in plan.seconds if one.fate == "bills-on"]
    currencies = {one.price.currency for one in on if one.price is not None}
    if on and len(currencies) == 1 and all(one.price for one in on):
        total = sum(one.price.amount for one in on if one.price is not None)
        beside = f", and {_money(Money(total, currencies.pop()))}/h for what stays beside it"
    else:
        beside = ", and what stays beside it bills on" if on else ""
    return f": {_money(plan.price)}/h now, {after}{beside}"


def _money(money: Money) -> str:
    return units.money(money.amount, money.currency)
