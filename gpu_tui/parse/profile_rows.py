"""The rows of a profile's frontmatter: tiers, clocks, verbs, gotchas, each with its proof.

A row may name only tiers and variants that are there, and may not promise more than the survival
matrix does.
"""

from __future__ import annotations

import re

from gpu_tui.core.profile import ClockFact, Gotcha, Proof, Sign, Tier, Verb, meet
from gpu_tui.parse import profile_words as words
from gpu_tui.parse.fields import Fields, choice_of, text_of
from gpu_tui.parse.yaml_strict import Node

_MONTH = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_PLACE = re.compile(r"/[A-Za-z0-9._/-]{1,200}", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}", re.ASCII)


class Rows:
    """Reads rows one by one; remembers the tiers and the proofs that it has seen."""

    def __init__(self, variants: tuple[str, ...]) -> None:
        self.variants = variants
        self.tiers: dict[str, Tier] = {}
        self.proofs: list[Proof] = []

    def tier(self, node: Node) -> Tier:
        """One row of `storage`."""
        row = Fields(node, "a storage tier", words.TIER)
        self.prove(row, "storage", id_of(row))
        row.maybe_flag("watch")
        row.node_of("survives_stop")
        row.node_of("survives_destroy")
        tier = Tier(
            id=id_of(row),
            label=row.maybe_text("label"),
            path=row.text("path"),
            survives_stop=row.maybe_flag("survives_stop"),
            survives_destroy=row.maybe_flag("survives_destroy"),
            size=row.maybe_text("size"),
            speed=row.maybe_text("speed"),
            inode_cap=row.maybe_text("inode_cap"),
            bills_when_stopped=row.maybe_text("bills_when_stopped"),
            region_locked=row.maybe_flag("region_locked") or False,
            note=row.maybe_text("note"),
            applies_to=row.items("applies_to", self._variant),
        )
        self.tiers[tier.id] = tier
        return tier

    def clock(self, node: Node) -> ClockFact:
        """One row of `clocks`."""
        row = Fields(node, "a clock", words.CLOCK)
        row.node_of("after")
        row.node_of("loses")
        proof = self.prove(row, "clocks", id_of(row))
        clock = ClockFact(
            id=id_of(row),
            when=row.choice("when", words.WHEN),
            anchor=row.choice("anchor", words.ANCHOR),
            after=row.maybe_duration("after"),
            effect=row.choice("effect", words.CLOCK_EFFECT),
            loses=row.items("loses", self._tier),
            severity=row.choice("severity", words.SEVERITY),
            avoid=row.text("avoid"),
            source=proof.source,
            verified=proof.verified,
            confidence=proof.confidence,
            applies_to=row.items("applies_to", self._variant),
            note=row.maybe_text("note"),
        )
        self._check_clock(row, clock)
        return clock

    def _check_clock(self, row: Fields, clock: ClockFact) -> None:
        if clock.effect == "destroys" and not clock.loses:
            raise row.place("loses").error("a clock that destroys must say what it loses")
        if clock.effect == "bills" and clock.note is None:
            hint = 'Add "note: what is billed, and how much".'
            raise row.node.error("a clock that bills must say what it bills", hint)
        needs = words.ANCHOR_NEEDS.get(clock.anchor, clock.when)
        if clock.when != needs:
            raise row.place("anchor").error(
                f'a clock from "{clock.anchor}" cannot tick when "{clock.when}"',
                f"Write when: {needs}, or another anchor.",
            )
        self._not_of(row, "loses", clock.loses, clock.applies_to)

    def verb(self, node: Node) -> Verb:
        """One row of `teardown`."""
        row = Fields(node, "a teardown verb", words.VERB)
        row.node_of("deletes")
        proof = self.prove(row, "teardown", row.text("verb"))
        verb = Verb(
            verb=row.text("verb"),
            label=row.text("label"),
            deletes=row.items("deletes", self._tier),
            meter=row.choice("meter", words.METER),
            reversible=row.flag("reversible"),
            via=row.choice("via", words.VIA),
            effect=row.choice("effect", words.VERB_EFFECT),
            applies_to=row.items("applies_to", self._variant),
            steps=row.texts("steps"),
            note=row.maybe_text("note"),
            source=proof.source,
            verified=proof.verified,
            confidence=proof.confidence,
        )
        self._check_verb(row, verb)
        return verb

    def _check_verb(self, row: Fields, verb: Verb) -> None:
        row.maybe_text("call")
        row.maybe_text("proof")
        if verb.via == "console" and not verb.steps:
            raise row.place("steps").error(
                "a console verb must say what to click", "Add steps: [...]."
            )
        if verb.via != "console" and "call" not in row:
            raise row.node.error(f"a verb via {verb.via} must name its call", 'Add "call: ...".')
        if verb.effect == "destroy" and (verb.reversible or not verb.deletes):
            raise row.place("deletes").error(
                "a verb that destroys deletes something and has no way back"
            )
        if verb.effect == "stop":
            for tier in filter(verb.concerns, self.tiers.values()):
                if tier.survives_stop is not True and tier.id not in verb.deletes:
                    raise row.place("deletes").error(
                        f'the tier "{tier.id}" is not known to survive a stop, but "{verb.verb}" '
                        "does not delete it",
                        f"Add {tier.id} to deletes, or correct survives_stop.",
                    )
        self._not_of(row, "deletes", verb.deletes, verb.applies_to)

    def _not_of(
        self, row: Fields, key: str, tiers: tuple[str, ...], applies_to: tuple[str, ...]
    ) -> None:
        """Refuse a tier that none of the row's variants has."""
        for name in tiers:
            if not meet(self.tiers[name].applies_to, applies_to):
                raise row.place(key).error(
                    f'the tier "{name}" is not there in {", ".join(applies_to)}',
                    f"Take it out of {key}, or correct applies_to.",
                )

    def gotcha(self, node: Node) -> Gotcha:
        """One row of `gotchas`."""
        row = Fields(node, "a gotcha", ("id", "symptom", "cause", "fix", *words.PROOF))
        self.prove(row, "gotchas", id_of(row))
        return Gotcha(id_of(row), row.text("symptom"), row.text("cause"), row.text("fix"))

    def convenience(self, node: Node) -> str:
        """One row of `conveniences`."""
        row = Fields(node, "a convenience", ("text", *words.PROOF))
        number = 1 + sum(proof.part == "conveniences" for proof in self.proofs)
        self.prove(row, "conveniences", str(number))
        return row.text("text")

    def sign(self, node: Node, platform: str) -> Sign:
        """One row of `signs`."""
        row = Fields(node, "a sign", (*words.SIGN, *words.PROOF))
        kinds = [kind for kind in words.SIGN if kind in row]
        if len(kinds) != 1:
            raise row.node.error(
                "a sign is one file or one variable", "Write file: /PATH or env: NAME."
            )
        (kind,) = kinds
        name = row.text(kind)
        if not (_PLACE if kind == "file" else _VARIABLE).fullmatch(name):
            hint = "An absolute path of plain letters." if kind == "file" else "Letters, digits, _."
            raise row.place(kind).error(f"{row.place(kind).shown} cannot be a sign", hint)
        self.prove(row, "signs", name)
        return Sign(platform, kind, name)

    def prove(self, row: Fields, part: str, name: str = "") -> Proof:
        """Source, month and confidence: no fact stands without the three."""
        verified = row.node_of("verified")
        if not isinstance(verified.value, str) or not _MONTH.fullmatch(verified.value):
            hint = 'Write the month in quotes, like "2026-06".'
            raise verified.error(f'"verified" must be a month, not {verified.shown}', hint)
        proof = Proof(
            part,
            name,
            text_of(row.node_of("source"), "source"),
            verified.value,
            row.choice("confidence", words.CONFIDENCE),
            verified.line,
        )
        self.proofs.append(proof)
        return proof

    def _tier(self, node: Node) -> str:
        return choice_of(node, "tier", self.tiers)

    def _variant(self, node: Node) -> str:
        return choice_of(node, "variant", self.variants)


def id_of(row: Fields) -> str:
    """The row's id: letters, digits and `-`."""
    name = row.text("id")
    if not _ID.fullmatch(name):
        raise row.place("id").error(
            f"{row.place('id').shown} is not an id", "Use letters, digits, -."
        )
    return name
