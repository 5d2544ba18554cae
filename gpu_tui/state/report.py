"""The hand-over: all that the next person must know, as Markdown. Pure; times are UTC.

It says what was seen at one look, what that does not prove, and what nobody watches once gpu-tui is closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_tui.core import units
from gpu_tui.core.clocks import BOUND_WORDS, DangerClock
from gpu_tui.core.findings import BOUNDS, FIRST_LOOK, Finding
from gpu_tui.core.listing import in_list_order
from gpu_tui.core.mask import Mask, shell_path
from gpu_tui.core.queue_words import queue_words, sweep_words
from gpu_tui.core.resume import ENDED_WELL
from gpu_tui.core.speech import counted, listed, say, told
from gpu_tui.core.sweep import CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.state.markdown import code, indexed, md, names, time
from gpu_tui.state.resume_words import resume_lines
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.views import FleetView, InstanceView

FINDINGS = 8  # of one instance

RESTING = frozenset({Verdict.FINISHED, Verdict.IDLE, Verdict.CRASHED, Verdict.FINISHED_BUT_HUNG})


@dataclass(frozen=True, slots=True)
class Proof:
    """What this machine keeps of one instance's results. Times are epoch seconds.

    `verified_at` and `by`: when, and by which record, bytes were compared and checkpoints loaded; `doubt` says why
    that may not hold any more. `last` is the newest record of the teardown journal.
    """

    verified_at: float | None = None
    by: str | None = None
    files: int | None = None
    doubt: str | None = None
    last: str | None = None


def handover(
    view: FleetView,
    proofs: Mapping[str, Proof],
    mask: Mask,
    *,
    version: str,
    fleet: str | None,
    program: Sequence[str] = ("gpu-tui",),
) -> str:
    """The whole text. `fleet` is the fleet file as a person would type it, `program` how cron starts us."""
    report = _Report(view, proofs, mask, fleet, program)
    parts = [
        report.head(version),
        report.first_command(),
        report.table(),
        *(report.instance(one) for one in view.instances),
        report.deadlines(),
        report.money(),
        report.unwatched(),
    ]
    return mask("\n\n".join("\n".join(part) for part in parts)) + "\n"


class _Report:
    """The parts, each a list of lines."""

    def __init__(
        self,
        view: FleetView,
        proofs: Mapping[str, Proof],
        mask: Mask,
        fleet: str | None,
        program: Sequence[str],
    ) -> None:
        self._view = view
        self._proofs = proofs
        self._mask = mask
        self._now = view.taken_at
        self._flag = f" --fleet {shell_path(fleet)}" if fleet else ""
        self._program = " ".join(map(shell_path, program))

    def head(self, version: str) -> list[str]:
        view = self._view
        verdict = fleet_verdict(view)
        outlook = sweep_outlook(view)
        told, cells = sweep_words(outlook), outlook.tally
        open_ = cells.left + cells.count(CellState.RUNNING, CellState.CANNOT_TELL)
        verdicts = Counter(str(one.verdict) for one in view.instances)
        boxes = listed(f"{number} {say(word)}" for word, number in verdicts.most_common())
        return [
            say("# Hand-over: {sweep}", sweep=md(view.sweep or say("fleet"))),
            "",
            say(
                "**{verdict}** at {at} · {instances}: {boxes} · cells by their logs: {sentence}, "
                "{open} open",
                verdict=say(verdict), at=time(view.taken_at), instances=counted(len(view.instances), "instance"), boxes=boxes,
                sentence=told.sentence, open=open_,
            ),
            "",
            *self._beside(),
            say(
                "One look by gpu-tui {version}. A log says what happened, never that a checkpoint loads: only "
                "*verified* means that bytes were compared and files loaded.",
                version=version,
            ),
        ]  # fmt: skip

    def _beside(self) -> Iterator[str]:
        """First of all what no instance's own part can say: who bills and stands in no fleet file."""
        for found in self._view.beside:
            yield f"- **{say(found.severity)}: {md(told(found.evidence))}** → {md(told(found.remedy))}"
        if self._view.beside:
            yield ""

    def first_command(self) -> list[str]:
        return [
            say("## First command"),
            "",
            *code(f"gpu-tui check{self._flag}      # {say('the same look again, as text')}"),
            "",
            say(
                "Then the cockpit: `gpu-tui{flag}`. Nothing on any box changes by looking.",
                flag=self._flag,
            ),
        ]

    def table(self) -> list[str]:
        hosts = self._mask.show_hosts
        heads = ["instance", *(["host"] if hosts else []), "platform", "verdict", "queue", "at"]
        heads += ["per hour", "so far", "results", "read"]
        rows = [[say(head) for head in heads], ["---"] * len(heads)]
        for one in self._view.instances:
            row = [
                f"**{md(one.name)}**",
                *([md(_host(one))] if hosts else []),
                md(one.instance.platform),
            ]
            row += [
                say(one.verdict),
                _queue(one),
                _at(one),
                units.money(one.cost.per_hour, one.cost.currency),
                one.spent_told,
            ]
            row += [say(self._verified(one)[0]), _age(one, self._now)]
            rows.append(row)
        return [say("## What runs where"), "", *("| " + " | ".join(row) + " |" for row in rows)]

    def instance(self, one: InstanceView) -> list[str]:
        lines = [f"## {md(one.name)}", ""]
        lines += [f"- **{say(one.verdict)}**: {md('; '.join(map(told, one.because)))}"]
        if not one.link.live and one.link.error:
            hint = f" → {told(one.link.next)}" if one.link.next else ""
            why = md(told(one.link.error) + hint)
            lines.append(say("- not reached ({state}): {why}", state=say(one.link.state), why=why))
        if one.instance.queue.file:
            line = say("- queue file `{file}`", file=shell_path(one.instance.queue.file))
            if one.instance.queue.log:
                line += say(", log `{path}`", path=shell_path(one.instance.queue.log))
            lines.append(line)
        if one.queue_read is not None:
            age = units.spoken(max(0.0, self._now - one.queue_read))
            lines.append(say("- the box is off; its queue as it was read {age} ago:", age=age))
        lines += [f"- {line}" for line in _cells(one)]
        lines.append(say("- results: {results}", results=self._verified(one)[1]))
        lines += [f"- {line}" for line in self._findings(one)]
        lines += ["", *resume_lines(one)]
        return lines

    def _verified(self, one: InstanceView) -> tuple[str, str]:
        """Whether its results are proven, in a word and in a sentence."""
        proof = self._proofs.get(one.name, Proof())
        local = one.instance.results.local
        where = say(" into `{path}`", path=shell_path(local)) if local else ""
        last = ""
        if proof.last:
            last = say("; last record of the journal: {last}", last=md(proof.last))
        if proof.verified_at is None:
            why = f" ({md(told(proof.doubt))})" if proof.doubt else ""
            command = f"`gpu-tui pull {shell_path(one.name)}{self._flag}`"
            text = say(
                "**not verified**{why}: {command} brings them{where} and loads them",
                why=why, command=command, where=where,
            )  # fmt: skip
            return "not verified", text + last
        doubt = told(proof.doubt) if proof.doubt else _since(one, proof.verified_at)
        by = told(proof.by or "?")
        text = say("verified {at} by {by}", at=time(proof.verified_at), by=by)
        if proof.files is not None:
            text += say(", {number} files", number=proof.files)
        text += where
        if doubt:
            return "partly", text + say(", **but {doubt}**", doubt=md(doubt)) + last
        return "verified", text + last

    def _findings(self, one: InstanceView) -> Iterator[str]:
        for found in one.findings[:FINDINGS]:
            cell = f" {found.cell}" if found.cell else ""
            times = f" (×{found.count})" if found.count > 1 else ""
            words = f"{say(found.kind.replace('_', ' '))}{cell}{times}: {told(found.evidence)}"
            yield f"{say(found.severity)}: {md(words)} ({_when(found)}) → {md(told(found.remedy))}"
        if (more := len(one.findings) - FINDINGS) > 0:
            yield say("and {more} more findings: `gpu-tui check --json`", more=more)

    # --- the fleet as a whole ------------------------------------------------------------------

    def deadlines(self) -> list[str]:
        timed = [clock for clock in self._view.clocks if clock.ticks and clock.deadline is not None]
        timed.sort(key=lambda clock: clock.deadline or 0.0)
        lines = [say("## Deadlines"), ""]
        if not timed:
            return [*lines, say("None is known to run.")]
        lines += [
            say("| when | left | where | what happens | what to do |"),
            "|---|---|---|---|---|",
        ]
        for clock in timed:
            left = (clock.deadline or 0.0) - self._now
            word = units.spoken(left) if left > 0 else say("{age} ago", age=units.spoken(-left))
            bound = f" {say(BOUND_WORDS[clock.bound])}" if clock.bound in BOUND_WORDS else ""
            lines.append(
                f"| {time(clock.deadline)} | {word}{bound} | {md(clock.instance)} | {md(told(clock.what))} "
                f"| {md(told(clock.avoid))} |"
            )
        return lines

    def money(self) -> list[str]:
        lines = [say("## Money"), ""]
        rates: dict[str, float] = {}
        spent: dict[str, float] = {}
        partly: set[str] = set()
        for other in self._view.unlisted:
            if other.price is not None and other.price.amount:
                unit = other.price.currency
                rates[unit] = rates.get(unit, 0) + other.price.amount
        for one in self._view.instances:
            if one.cost.per_hour:
                rates[one.cost.currency or ""] = (
                    rates.get(one.cost.currency or "", 0) + one.cost.per_hour
                )
            if one.cost.spent:
                spent[one.cost.currency or ""] = (
                    spent.get(one.cost.currency or "", 0) + one.cost.spent
                )
                if not one.spent_exact:
                    partly.add(one.cost.currency or "")
        unpriced = [one.name for one in self._view.instances if one.cost.per_hour is None]
        unpriced += [other.label for other in self._view.unlisted if other.price is None]
        burn = " + ".join(f"{units.money(rates[c], c)}/h" for c in rates) or say(
            "no price is known"
        )
        so_far = " + ".join(units.money(spent[c], c, at_least=c in partly) for c in spent)
        line = say("- burns {burn}", burn=burn)
        if so_far:
            line += say("; {cost} so far, as far as it was seen", cost=so_far)
        lines.append(line)
        if unpriced:
            lines.append(say("- no price known of: {names}", names=names(unpriced)))
        idle = [
            one.name for one in self._view.instances if one.verdict in RESTING and one.cost.per_hour
        ]
        if idle:
            lines.append(
                say(
                    "- **bills and nothing works:** {names}. Pull, verify, then stop the meter (t in the cockpit)",
                    names=names(idle),
                )
            )
        for account in self._view.accounts:
            name = md(account.platform)
            if account.balance is None:
                why = md(told(account.error) if account.error else say("not told"))
                lines.append(say("- account {name}: balance not known ({why})", name=name, why=why))
                continue
            balance = units.money(account.balance.amount, account.balance.currency)
            line = say("- account {name}: {balance}", name=name, balance=balance)
            if account.runway is not None:
                most = say("at most {span}", span=units.spoken(account.runway))
                lasts = most if account.spend_at_least else units.spoken(account.runway)
                line += say(", lasts {lasts} at the present rate", lasts=lasts)
            lines.append(line)
        return lines

    def unwatched(self) -> list[str]:
        view = self._view
        patrol = f"{self._program} check --alert{self._flag} >/dev/null"
        lines = [
            say("## What nobody watches now"),
            "",
            say(
                "gpu-tui looks only while it runs. From this moment on nobody looks, unless cron does:"
            ),
            "",
            *code("*/10 * * * * " + patrol.replace("%", r"\%")),  # a bare % ends the line there
            "",
            say(
                "It needs a way out in config.yaml (`alerts:`), and the keys of the providers in cron's environment. "
                "`gpu-tui clocks --ics FILE` puts the deadlines into a calendar."
            ),
            "",
        ]
        away = [
            one.name
            for one in view.instances
            if not one.link.live and one.verdict is not Verdict.OFF
        ]
        if away:
            lines.append(
                say(
                    "- not reached at this look, so nothing here is newer than its age: {names}",
                    names=names(away),
                )
            )
        blind = [one.name for one in view.instances if one.link.live and not one.queue.cells]
        if blind:
            lines.append(
                say(
                    "- no cells known, so no progress and no end can be told: {names}",
                    names=names(blind),
                )
            )
        unproven = [
            one.name
            for one in view.instances
            if self._verified(one)[0] != "verified" and one.queue.cells
        ]
        if unproven:
            lines.append(
                say(
                    "- results not (or only partly) verified: {names}; tear nothing down before",
                    names=names(unproven),
                )
            )
        unsure = [clock for clock in view.clocks if clock.state == "unknown-start"]
        if unsure:
            lines.append(
                say(
                    "- deadlines whose start nobody saw: {names}; set one by `gpu-tui clocks mark`",
                    names=_clock_names(unsure),
                )
            )
        known = {one.instance.platform for one in view.instances} - {
            a.platform for a in view.accounts
        }
        if known:
            unread = names(sorted(known))
            lines.append(say("- balance of these platforms is not read: {names}", names=unread))
        return lines


# --- words -----------------------------------------------------------------------------------------


def _when(found: Finding) -> str:
    """The time of a finding in words; `≤` or `before` if it is only a bound."""
    if found.basis == FIRST_LOOK:
        return say("before {time}", time=time(found.at))
    return f"≤ {time(found.at)}" if found.basis in BOUNDS else time(found.at)


def _since(one: InstanceView, verified_at: float) -> str | None:
    """What happened behind a proof, so that it does not cover all that is on the box."""
    cells = one.queue.cells
    later = [cell.name for cell in cells if (cell.finished_at or 0.0) > verified_at]
    if later:
        return say(
            "{cells} ended after it: {names}", cells=counted(len(later), "cell"), names=names(later)
        )
    open_ = [c.name for c in cells if c.state in (CellState.RUNNING, CellState.CANNOT_TELL)]
    if open_:
        return say("these may still write: {names}", names=names(open_))
    timeless = [c.name for c in cells if c.state in ENDED_WELL and c.finished_at is None]
    if timeless:
        return say("nothing tells when these ended: {names}", names=names(timeless))
    return None


def _clock_names(clocks: Iterable[DangerClock]) -> str:
    return names(f"{clock.instance} {clock.id}" for clock in clocks)


def _host(one: InstanceView) -> str:
    access = one.instance.ssh
    user = f"{access.user}@" if access.user else ""
    return f"{user}{access.host}" + (f":{access.port}" if access.port else "")


def _queue(one: InstanceView) -> str:
    if not one.queue.cells:
        return say("not known")
    off = say(", off") if one.queue_read is not None else ""
    return queue_words(one.queue).sentence + off


def _at(one: InstanceView) -> str:
    cell = one.queue.place
    if cell is None:
        return "–"
    part = f" {cell.epoch}/{cell.epochs or '?'}" if cell.epoch is not None else ""
    eta = one.queue.eta_seconds
    ends = say(", queue ends in {span}", span=units.spoken(eta)) if eta else ""
    return f"{md(cell.name)}{part}{ends}"


def _age(one: InstanceView, now: float) -> str:
    seen = one.queue_read or one.last_contact
    return (
        say("never") if seen is None else say("{age} ago", age=units.spoken(max(0.0, now - seen)))
    )


def _cells(one: InstanceView) -> Iterator[str]:
    """The cells by state, one line per state."""
    for state in CellState:
        cells = [cell for cell in one.queue.cells if cell.state is state]
        cells = cells if one.instance.scheduler is None else in_list_order(cells)
        if cells:
            word = say("finished by its log") if state is CellState.FINISHED else say(state.value)
            yield f"{word}: {indexed(cells)}"
