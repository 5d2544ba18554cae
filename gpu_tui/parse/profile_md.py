"""`profiles/<id>.md` to a Profile: strict frontmatter, then eight prose sections in a fixed order.

The frontmatter's shape is the tables below; profiles/_schema.md says the same to people.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TypeVar

from gpu_tui.core.profile import ClockFact, Gotcha, Profile, Tier, Verb
from gpu_tui.parse.fields import Fields, choice_of, text_of
from gpu_tui.parse.yaml_strict import LARGEST_BYTES, Node, SourceError, did_you_mean, load

SECTIONS = (
    "LAUNCH",
    "STORAGE MODEL",
    "NETWORK",
    "SPOT / INTERRUPTION + RESUME",
    "TEARDOWN / BILLING",
    "DAEMON TOOL",
    "TOP GOTCHAS",
    "SCRIPT OVERRIDES",
)
KINDS = ("ssh-rental", "cloud-api", "kubernetes", "slurm", "ssh", "notebook")
DETACH = ("tmux", "nohup", "sbatch", "k8s-job", "kaggle-commit")
CLOCK_WHEN = ("running", "stopped", "account", "storage", "reading")
CLOCK_ANCHOR = (
    "stopped_at",
    "created_at",
    "last_contact",
    "balance",
    "rental_end",
    "reading",
    "signal",
    "manual",
)
CLOCK_EFFECT = ("destroys", "stops", "bills")
SEVERITY = ("critical", "high", "medium", "low")
CONFIDENCE = ("high", "medium", "low")
METER = ("stops", "partly", "continues")
VIA = ("http", "ssh", "cli", "console")
UNSURE = "host-dependent"

SUMMARY = (
    "platform",
    "kind",
    "meter_stop_verb",
    "meter_stop_irreversible",
    "detach_primitive",
    "spot_available",
    "spot_grace",
    "shared_fs",
    "inode_cap",
    "free_egress",
    "china_mirror_needed",
    "host_driver_cuda_max",
    "local_nvme",
)
PARTS = (
    "display",
    "storage",
    "clocks",
    "conveniences",
    "ssh",
    "spot",
    "overrides",
    "teardown",
    "status",
    "price",
    "gotchas",
)
PROOF = ("source", "verified", "confidence")  # every fact has the three

T = TypeVar("T", Tier, ClockFact, Gotcha)
_MONTH = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}", re.ASCII)
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
_GRACE = re.compile(r"n/a|~?[0-9]+(?:ms|s|m|h)", re.ASCII)
_FRONTMATTER = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## ([1-9])\. (.+?)\s*$", re.MULTILINE)


class ProfileError(SourceError):
    """A profile is not what the schema says."""


def parse_profile(text: str, path: str) -> Profile:
    """The profile in `text`; its id must be the stem of `path`. Raises ProfileError."""
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_BYTES:
        raise ProfileError(f"larger than {LARGEST_BYTES // 1024} KiB", path, 1, 1)
    match = _FRONTMATTER.match(text)
    if match is None:
        hint = "Begin the file with a line ---, the facts, and another line ---."
        raise ProfileError("no frontmatter", path, 1, 1, hint)
    root = load(match.group(1), path, raises=ProfileError, first_line=2)
    facts = Fields(root, "the frontmatter", ("schema", *SUMMARY, *PARTS))
    _check_sections(text[match.end() :], path, text[: match.end()].count("\n") + 1)
    return _Reader(facts, path).profile(text[match.end() :].strip() + "\n")


def proofs(profile: Profile) -> tuple[tuple[str, str], ...]:
    """Where each fact stands in the frontmatter, as `clocks autodl-release-15d`, and its month."""
    found: list[tuple[str, str]] = []
    for part in PARTS:
        value = profile.facts.get(part)
        rows = value if isinstance(value, list) else [value]
        for number, row in enumerate(rows, 1):
            if isinstance(row, dict) and "verified" in row:
                name = row.get("id") or row.get("verb") or (number if len(rows) > 1 else "")
                found.append((f"{part} {name}".strip(), str(row["verified"])))
    return tuple(found)


def _check_sections(body: str, path: str, first_line: int) -> None:
    found = [
        (int(match.group(1)), match.group(2), body[: match.start()].count("\n") + first_line)
        for match in _HEADING.finditer(body)
    ]
    for number, title in enumerate(SECTIONS, 1):
        if len(found) < number:
            hint = "A profile has eight sections in a fixed order."
            raise ProfileError(f'no section "## {number}. {title}"', path, None, None, hint)
        seen_number, seen_title, line = found[number - 1]
        if (seen_number, seen_title) != (number, title):
            hint = f'Write "## {number}. {title}".'
            raise ProfileError(f"section {number} is out of place or misnamed", path, line, 1, hint)
    if len(found) > len(SECTIONS):
        raise ProfileError("a ninth section", path, found[len(SECTIONS)][2], 1, "Remove it.")


class _Reader:
    """Reads one frontmatter; knows the tiers and variants that rows may name."""

    def __init__(self, facts: Fields, path: str) -> None:
        self.facts = facts
        self.path = path
        self.variants: tuple[str, ...] = ()
        self.tiers: dict[str, Tier] = {}

    def profile(self, body: str) -> Profile:
        facts = self.facts
        if facts.node_of("schema").value != 1:
            raise facts.node_of("schema").error("this gpu-tui reads schema 1", "Write schema: 1.")
        for part in PARTS:
            facts.node_of(part)
        self._summary()
        title = self._display()
        storage = facts.items("storage", self._tier)
        self.tiers = self._unique(storage, "storage")
        clocks = facts.items("clocks", self._clock)
        self._unique(clocks, "clocks")
        gotchas = facts.items("gotchas", self._gotcha)
        self._unique(gotchas, "gotchas")
        plain = facts.node.plain()
        assert isinstance(plain, dict)
        self._group(
            "ssh", ("flavour", "user", "host", "port", "moves", "copies", "forwards", "note")
        )
        self._group("spot", ("available", "grace", "signal", "detect", "resume", "note"))
        self._group(
            "status", ("via", "base_url", "key_env", "query", "states", "gone", "balance", "note")
        )
        self._group("price", ("currency", "unit", "fields", "note"))
        return Profile(
            id=facts.text("platform"),
            title=title,
            kind=facts.text("kind"),
            storage=storage,
            clocks=clocks,
            conveniences=facts.items("conveniences", self._convenience),
            teardown=facts.items("teardown", self._verb),
            gotchas=gotchas,
            overrides=self._overrides(),
            currency=self._price_currency(),
            facts=plain,
            body=body,
            path=self.path,
        )

    def _summary(self) -> None:
        facts = self.facts
        stem = PurePath(self.path).stem
        if facts.text("platform") != stem:
            hint = f'Write platform: {stem}, or name the file "{facts.text("platform")}.md".'
            raise facts.node_of("platform").error("the platform is not the file's name", hint)
        facts.choice("kind", KINDS)
        facts.choice("detach_primitive", DETACH)
        for key in ("meter_stop_verb", "inode_cap", "host_driver_cuda_max"):
            facts.text(key)
        _flag_or(facts, "meter_stop_irreversible", "mixed")
        for key in (
            "spot_available",
            "shared_fs",
            "free_egress",
            "china_mirror_needed",
            "local_nvme",
        ):
            _flag_or(facts, key, UNSURE)
        if not _GRACE.fullmatch(facts.text("spot_grace")):
            raise facts.node_of("spot_grace").error(
                f'"spot_grace" cannot be {facts.node_of("spot_grace").shown}',
                'Write a duration like "5s" or "~5s", or "n/a".',
            )

    def _display(self) -> str:
        known = ("en", "zh", "short", "console", "docs", "aliases", "variants", "note")
        display = Fields(self.facts.node_of("display"), "display", known)
        for key in ("zh", "console", "docs", "note"):
            display.maybe_text(key)
        display.text("short")
        display.texts("aliases")
        self.variants = display.items("variants", self._variant)
        return display.text("en")

    def _variant(self, node: Node) -> str:
        row = Fields(node, "a variant", ("id", "aliases", "note"))
        row.maybe_text("note")
        row.texts("aliases")
        return _id(row)

    def _tier(self, node: Node) -> Tier:
        row = Fields(
            node,
            "a storage tier",
            (
                "id",
                "label",
                "path",
                "watch",
                "survives_stop",
                "survives_destroy",
                "size",
                "speed",
                "inode_cap",
                "bills_when_stopped",
                "region_locked",
                "applies_to",
                "note",
                *PROOF,
            ),
        )
        _proof(row)
        row.maybe_flag("watch")
        row.node_of("survives_stop")
        row.node_of("survives_destroy")
        return Tier(
            id=_id(row),
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
            applies_to=row.items("applies_to", self._variant_id),
        )

    def _clock(self, node: Node) -> ClockFact:
        row = Fields(
            node,
            "a clock",
            (
                "id",
                "when",
                "anchor",
                "after",
                "effect",
                "loses",
                "severity",
                "avoid",
                "applies_to",
                "note",
                *PROOF,
            ),
        )
        row.node_of("after")
        row.node_of("loses")
        source, verified, confidence = _proof(row)
        effect = row.choice("effect", CLOCK_EFFECT)
        loses = row.items("loses", self._tier_id)
        if effect == "destroys" and not loses:
            raise row.place("loses").error("a clock that destroys must say what it loses")
        return ClockFact(
            id=_id(row),
            when=row.choice("when", CLOCK_WHEN),
            anchor=row.choice("anchor", CLOCK_ANCHOR),
            after=row.maybe_duration("after"),
            effect=effect,
            loses=loses,
            severity=row.choice("severity", SEVERITY),
            avoid=row.text("avoid"),
            source=source,
            verified=verified,
            confidence=confidence,
            applies_to=row.items("applies_to", self._variant_id),
            note=row.maybe_text("note"),
        )

    def _verb(self, node: Node) -> Verb:
        row = Fields(
            node,
            "a teardown verb",
            (
                "verb",
                "label",
                "effect",
                "deletes",
                "meter",
                "reversible",
                "via",
                "applies_to",
                "call",
                "proof",
                "steps",
                "note",
                *PROOF,
            ),
        )
        row.node_of("deletes")
        source, verified, confidence = _proof(row)
        verb = Verb(
            verb=row.text("verb"),
            label=row.text("label"),
            deletes=row.items("deletes", self._tier_id),
            meter=row.choice("meter", METER),
            reversible=row.flag("reversible"),
            via=row.choice("via", VIA),
            effect=row.choice("effect", ("stop", "destroy")),
            applies_to=row.items("applies_to", self._variant_id),
            steps=row.texts("steps"),
            note=row.maybe_text("note"),
            source=source,
            verified=verified,
            confidence=confidence,
        )
        self._check_verb(row, verb)
        return verb

    def _check_verb(self, row: Fields, verb: Verb) -> None:
        """A verb's row may not promise more than the survival matrix does."""
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

    def _gotcha(self, node: Node) -> Gotcha:
        row = Fields(node, "a gotcha", ("id", "symptom", "cause", "fix", *PROOF))
        _proof(row)
        return Gotcha(_id(row), row.text("symptom"), row.text("cause"), row.text("fix"))

    def _convenience(self, node: Node) -> str:
        row = Fields(node, "a convenience", ("text", *PROOF))
        _proof(row)
        return row.text("text")

    def _group(self, key: str, known: tuple[str, ...]) -> None:
        """One mapping of plain facts with one proof for all of them."""
        row = Fields(self.facts.node_of(key), key, (*known, *PROOF))
        _proof(row)
        for name in known:
            if name in row and not isinstance(row.values[name].value, (bool, tuple)):
                row.text(name)
            elif name in row and isinstance(row.values[name].value, tuple):
                row.texts(name)
        if "key_env" in row and not _ENV_NAME.fullmatch(row.text("key_env")):
            raise row.place("key_env").error("key_env must be the name of an environment variable")

    def _price_currency(self) -> str | None:
        return Fields(
            self.facts.node_of("price"), "price", ("currency", "unit", "fields", "note", *PROOF)
        ).maybe_text("currency")

    def _overrides(self) -> dict[str, str | None]:
        node = self.facts.node_of("overrides")
        row = Fields(node, "overrides", node.keys)
        for key, at in node.keys.items():
            if not _ENV_NAME.fullmatch(key):
                raise at.error(f'"{key}" is not the name of an environment variable')
        # An exported empty value falls back to the script's default, so it never means "none".
        return {key: row.maybe_text(key) for key in node.keys}

    def _tier_id(self, node: Node) -> str:
        return choice_of(node, "tier", self.tiers)

    def _variant_id(self, node: Node) -> str:
        return choice_of(node, "variant", self.variants)

    def _unique(self, rows: tuple[T, ...], part: str) -> dict[str, T]:
        found: dict[str, T] = {}
        for number, row in enumerate(rows):
            if row.id in found:
                value = self.facts.node_of(part).value
                assert isinstance(value, tuple)
                raise value[number].error(f'the id "{row.id}" stands twice in {part}')
            found[row.id] = row
        return found


def _flag_or(facts: Fields, key: str, word: str) -> None:
    node = facts.node_of(key)
    if not isinstance(node.value, bool) and node.value != word:
        hint = did_you_mean(node.written, ("true", "false", word))
        raise node.error(f'"{key}" must be true, false or {word}, not {node.shown}', hint)


def _id(row: Fields) -> str:
    name = row.text("id")
    if not _ID.fullmatch(name):
        raise row.place("id").error(
            f"{row.place('id').shown} is not an id", "Use letters, digits, -."
        )
    return name


def _proof(row: Fields) -> tuple[str, str, str]:
    """Source, month and confidence: no fact stands without the three."""
    verified = row.node_of("verified")
    if not isinstance(verified.value, str) or not _MONTH.fullmatch(verified.value):
        hint = 'Write the month in quotes, like "2026-06".'
        raise verified.error(f'"verified" must be a month, not {verified.shown}', hint)
    return (
        text_of(row.node_of("source"), "source"),
        verified.value,
        row.choice("confidence", CONFIDENCE),
    )
