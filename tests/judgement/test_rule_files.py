"""The bundled rules: their samples, their size limits, and their support in the labelled rows."""

from __future__ import annotations

import re
import tomllib

import pytest
from judgement.report_rules import decisions, pattern_size, support, texts_of, written_patterns

from gpu_tui.parse.triage.classify import LONGEST, classifier
from gpu_tui.parse.triage.rule import Rule, alternatives
from gpu_tui.parse.triage.rule_set import bundled, bundled_files

RULES = bundled().rules
WITHOUT_DOCUMENT = [rule for rule in RULES if rule.document is None]
MAX_RULES, MAX_CHARACTERS = 160, 60_000
MAX_PATTERN_LENGTH, MAX_ALTERNATIVES = 600, 12  # of one pattern
MIN_REPOSITORIES = 3
WORDS = {
    name: word
    for text in bundled_files().values()
    for name, word in tomllib.loads(text).get("words", {}).items()
}


def rule_id(rule: Rule) -> str:
    return rule.id


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_rule_decides_its_matches(rule: Rule) -> None:
    assert len(rule.matches) >= 2
    for sample in rule.matches:
        decided = [found.id for _, found in decisions(sample.line) if found is not None]
        assert rule.id in decided, (sample.line, decided)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_rule_does_not_fit_its_rejects(rule: Rule) -> None:
    assert rule.rejects
    for sample in rule.rejects:
        decided = [found.id for _, found in decisions(sample.line) if found is not None]
        assert rule.id not in decided, sample.line
        assert not any(map(rule.fits, texts_of(sample.line))), sample.line
        low = sample.line.lower() + "\n"
        assert not rule.literals or any(literal in low for literal in rule.literals), sample.line


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_sample_has_a_source(rule: Rule) -> None:
    for sample in (*rule.matches, *rule.rejects):
        assert sample.source.strip()
        assert "\n" not in sample.line


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_alternative_fits_a_sample(rule: Rule) -> None:
    lines = [text for sample in rule.matches for text in texts_of(sample.line)]
    for part in alternatives(rule.pattern.expanded):
        asked = re.compile(part, re.IGNORECASE)
        assert any(map(asked.search, lines)), part


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_pattern_is_short_enough_to_read(rule: Rule) -> None:
    for pattern in written_patterns(rule):
        assert len(pattern) <= MAX_PATTERN_LENGTH, pattern
        assert len(alternatives(pattern)) <= MAX_ALTERNATIVES, pattern


@pytest.mark.parametrize("name", sorted(WORDS))
def test_word_is_short_enough_to_read_and_used(name: str) -> None:
    assert len(WORDS[name]) <= MAX_PATTERN_LENGTH
    assert len(alternatives(WORDS[name])) <= MAX_ALTERNATIVES
    assert any(f"%{{{name}}}" in text for text in bundled_files().values())


def test_number_of_rules_and_characters_is_limited() -> None:
    assert len(WITHOUT_DOCUMENT) <= MAX_RULES
    assert (
        sum(map(pattern_size, WITHOUT_DOCUMENT)) + sum(map(len, WORDS.values())) <= MAX_CHARACTERS
    )
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", WITHOUT_DOCUMENT, ids=rule_id)
def test_rule_is_supported_by_three_repositories(rule: Rule) -> None:
    assert len(support(rule)) >= MIN_REPOSITORIES


def test_document_is_an_address() -> None:
    documents = [rule.document for rule in RULES if rule.document is not None]
    assert all(document.startswith("https://") for document in documents)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_match_contains_a_literal(rule: Rule) -> None:
    """Without a literal in the line, the rule is never asked about it."""
    if rule.literals:
        for sample in rule.matches:
            candidates = classifier().rules.candidates(sample.line.lower().encode()[:LONGEST])
            assert RULES.index(rule) in candidates
