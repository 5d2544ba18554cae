"""`profiles/<id>.md` to a Profile: strict frontmatter, then eight prose sections in a fixed order.

The keys and words are in `profile_words`, the rows in `profile_rows`; what stands here is the file as a
whole, and the rules that hold between its parts.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TypeVar

from gpu_tui.core import units
from gpu_tui.core.profile import ClockFact, Gotcha, Profile, Sign, Tier, Verb, meet
from gpu_tui.parse import profile_words as words
from gpu_tui.parse.fields import Fields
from gpu_tui.parse.profile_rows import Rows, id_of
from gpu_tui.parse.profile_words import PARTS, SECTIONS, SUMMARY
from gpu_tui.parse.yaml_strict import LARGEST_BYTES, Node, SourceError, did_you_mean, load

T = TypeVar("T", Tier, ClockFact, Gotcha)
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
_GRACE = re.compile(r"n/a|~?[0-9]+(?:ms|s|m|h)", re.ASCII)
_FRONTMATTER = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## ([1-9])\. (.+?)\s*$", re.MULTILINE)


class ProfileError(SourceError):
    """A profile is not what the schema says."""


def parse_profile(text: str, path: str) -> Profile:
    """The profile in `text`; its id must be the stem of `path`. Raises ProfileError."""
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_BYTES:
        raise ProfileError(f"larger than {units.size(LARGEST_BYTES)}", path, 1, 1)
    match = _FRONTMATTER.match(text)
    if match is None:
        hint = "Begin the file with a line ---, the facts, and another line ---."
        raise ProfileError("no frontmatter", path, 1, 1, hint)
    root = load(match.group(1), path, raises=ProfileError, first_line=2)
    facts = Fields(root, "the frontmatter", ("schema", *SUMMARY, *PARTS, *words.OPTIONAL))
    body = text[match.end() :]
    _check_sections(body, path, text[: match.end()].count("\n") + 1)
    return _Reader(facts, path).profile(body.strip() + "\n")


def _check_sections(body: str, path: str, first_line: int) -> None:
    found = list(_HEADING.finditer(body))
    lines = [body[: match.start()].count("\n") + first_line for match in found]
    for number, title in enumerate(SECTIONS, 1):
        if len(found) < number:
            hint = "A profile has eight sections in a fixed order."
            last = first_line + body.rstrip().count("\n")
            raise ProfileError(f'no section "## {number}. {title}"', path, last, 1, hint)
        match, line = found[number - 1], lines[number - 1]
        if (int(match.group(1)), match.group(2)) != (number, title):
            hint = f'Write "## {number}. {title}".'
            raise ProfileError(f"section {number} is out of place or misnamed", path, line, 1, hint)
        end = found[number].start() if number < len(found) else len(body)
        if not body[match.end() : end].strip():
            raise ProfileError(f"section {number} is empty", path, line, 1, "Say what is known.")
    if len(found) > len(SECTIONS):
        raise ProfileError("a ninth section", path, lines[len(SECTIONS)], 1, "Remove it.")


class _Reader:
    """Reads one frontmatter, part by part, in the order in which they need one another."""

    def __init__(self, facts: Fields, path: str) -> None:
        self.facts = facts
        self.path = path

    def profile(self, body: str) -> Profile:
        facts = self.facts
        if facts.node_of("schema").value != 1:
            raise facts.node_of("schema").error("this gpu-tui reads schema 1", "Write schema: 1.")
        for part in PARTS:
            facts.node_of(part)
        self._summary()
        title, variants = self._display()
        rows = Rows(variants)
        storage = self._unique("storage", facts.items("storage", rows.tier))
        clocks = self._unique("clocks", facts.items("clocks", rows.clock))
        teardown = facts.items("teardown", rows.verb)
        self._teardown(storage, teardown)
        groups = {part: self._group(part, rows) for part in words.GROUPS}
        self._spot(groups["spot"])
        self._key_env(groups["status"], teardown)
        plain = facts.node.plain()
        assert isinstance(plain, dict)
        return Profile(
            id=facts.text("platform"),
            title=title,
            kind=facts.text("kind"),
            storage=storage,
            clocks=clocks,
            conveniences=facts.items("conveniences", rows.convenience),
            teardown=teardown,
            gotchas=self._unique("gotchas", facts.items("gotchas", rows.gotcha)),
            overrides=self._overrides(),
            currency=groups["price"].maybe_text("currency"),
            facts=plain,
            body=body,
            path=self.path,
            signs=self._signs(rows),
            proofs=tuple(rows.proofs),
        )

    def _signs(self, rows: Rows) -> tuple[Sign, ...]:
        platform = self.facts.text("platform")
        return self.facts.items("signs", lambda node: rows.sign(node, platform))

    def _summary(self) -> None:
        facts = self.facts
        stem = PurePath(self.path).stem
        if facts.text("platform") != stem:
            hint = f'Write platform: {stem}, or name the file "{facts.text("platform")}.md".'
            raise facts.node_of("platform").error("the platform is not the file's name", hint)
        facts.choice("kind", words.KINDS)
        facts.choice("detach_primitive", words.DETACH)
        for key in ("meter_stop_verb", "inode_cap", "host_driver_cuda_max"):
            facts.text(key)
        _flag_or(facts, "meter_stop_irreversible", "mixed")
        flags = ("spot_available", "shared_fs", "free_egress", "china_mirror_needed", "local_nvme")
        for key in flags:
            _flag_or(facts, key, words.UNSURE)
        if not _GRACE.fullmatch(facts.text("spot_grace")):
            raise facts.node_of("spot_grace").error(
                f'"spot_grace" cannot be {facts.node_of("spot_grace").shown}',
                'Write a duration like "5s" or "~5s", or "n/a".',
            )

    def _display(self) -> tuple[str, tuple[str, ...]]:
        """The title, and the ids of the variants."""
        display = Fields(self.facts.node_of("display"), "display", words.DISPLAY)
        for key in ("zh", "console", "docs", "note"):
            display.maybe_text(key)
        display.text("short")
        display.texts("aliases")
        return display.text("en"), display.items("variants", _variant)

    def _teardown(self, storage: tuple[Tier, ...], teardown: tuple[Verb, ...]) -> None:
        """No two rows answer to one verb, way and variant; what dies has a row that says so."""
        nodes = self.facts.node_of("teardown").value
        assert isinstance(nodes, tuple) or not teardown
        for number, verb in enumerate(teardown):
            for other in teardown[:number]:
                if verb.key == other.key and meet(verb.applies_to, other.applies_to):
                    assert isinstance(nodes, tuple)
                    raise nodes[number].error(
                        f'"{verb.verb}" via {verb.via} stands twice for one variant',
                        "Give it another word, or other variants in applies_to.",
                    )
        gone = {name for verb in teardown if verb.effect == "destroy" for name in verb.deletes}
        tiers = self.facts.node_of("storage").value
        for number, tier in enumerate(storage):
            if tier.survives_destroy is not True and tier.id not in gone:
                assert isinstance(tiers, tuple)
                raise tiers[number].error(
                    f'the tier "{tier.id}" is not known to survive, and no verb that destroys '
                    "deletes it",
                    f"Add {tier.id} to deletes of that verb, or correct survives_destroy.",
                )

    def _group(self, key: str, rows: Rows) -> Fields:
        """One mapping of plain facts with one proof for all of them."""
        known = words.GROUPS[key]
        row = Fields(self.facts.node_of(key), key, (*known, *words.PROOF))
        rows.prove(row, key)
        for name in known:
            if name in row and not isinstance(row.values[name].value, (bool, tuple)):
                row.text(name)
            elif name in row and isinstance(row.values[name].value, tuple):
                row.texts(name)
        return row

    def _spot(self, spot: Fields) -> None:
        for key, here in (("spot_available", "available"), ("spot_grace", "grace")):
            if spot.node_of(here).value != self.facts.node_of(key).value:
                raise spot.place(here).error(
                    f'"{here}" is not what "{key}" says', f"Write {self.facts.place(key).written}."
                )

    def _key_env(self, status: Fields, teardown: tuple[Verb, ...]) -> None:
        if "key_env" in status:
            if not _ENV_NAME.fullmatch(status.text("key_env")):
                raise status.place("key_env").error(
                    "key_env must be the name of an environment variable"
                )
        elif any(verb.via == "http" for verb in teardown) or (
            "via" in status and status.text("via") == "http"
        ):
            raise status.node.error(
                "a platform with an API must say which variable holds its key",
                'Add "key_env: NAME_OF_A_VARIABLE".',
            )

    def _overrides(self) -> dict[str, str | None]:
        node = self.facts.node_of("overrides")
        row = Fields(node, "overrides", node.keys)
        for key, at in node.keys.items():
            if not _ENV_NAME.fullmatch(key):
                raise at.error(f'"{key}" is not the name of an environment variable')
        # An exported empty value falls back to the script's default, so it never means "none".
        return {key: row.maybe_text(key) for key in node.keys}

    def _unique(self, part: str, rows: tuple[T, ...]) -> tuple[T, ...]:
        seen: set[str] = set()
        for number, row in enumerate(rows):
            if row.id in seen:
                value = self.facts.node_of(part).value
                assert isinstance(value, tuple)
                raise value[number].error(f'the id "{row.id}" stands twice in {part}')
            seen.add(row.id)
        return rows


def _variant(node: Node) -> str:
    row = Fields(node, "a variant", ("id", "aliases", "note"))
    row.maybe_text("note")
    row.texts("aliases")
    return id_of(row)


def _flag_or(facts: Fields, key: str, word: str) -> None:
    node = facts.node_of(key)
    if not isinstance(node.value, bool) and node.value != word:
        hint = did_you_mean(node.written, ("true", "false", word))
        raise node.error(f'"{key}" must be true, false or {word}, not {node.shown}', hint)
