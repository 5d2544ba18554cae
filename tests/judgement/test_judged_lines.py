"""Triage of real labelled lines: floors under what the rules reach, and rows that mean what they say."""

from __future__ import annotations

import pytest
from judgement.report_lines import CARD, HOLDOUT, SHOWN, UNSEEN, Row, report, rows_of, score
from judgement.report_lines import TUNED as TUNED_ON

from gpu_tui.core.findings import Severity
from gpu_tui.parse.triage.labels import LABELS

TUNED = [row for path in TUNED_ON for row in rows_of(path)]
ALARMS = {Severity.FATAL, Severity.SERIOUS}


def _with(label: str) -> list[Row]:
    return [row for row in TUNED if row.label == label and row.alarm]


def test_floors_on_what_the_rules_were_tuned_on() -> None:
    total = score(TUNED)
    assert total.precision >= 0.988, total
    assert total.recall >= 0.964, total
    assert total.accuracy >= 0.978, total
    assert total.agreement >= 0.871, total


def test_floors_on_whole_logs_of_a_card() -> None:
    total = score(rows_of(CARD))
    assert total.precision >= 0.995, total
    assert total.recall >= 0.991, total
    assert total.accuracy >= 0.991, total


@pytest.mark.parametrize("label", sorted({row.label for row in TUNED if row.alarm}))
def test_no_label_is_bought_with_another(label: str) -> None:
    of_label = score(_with(label))
    assert of_label.recall >= 0.9, of_label
    assert of_label.accuracy >= 0.9, of_label


def test_the_corpus_is_wide_and_half_of_it_innocent() -> None:
    assert len(TUNED) >= 400
    assert len({row.framework for row in TUNED}) >= 25
    assert sum(not row.alarm for row in TUNED) >= len(TUNED) * 0.45


@pytest.mark.parametrize("path", [*TUNED_ON, CARD, HOLDOUT, UNSEEN], ids=lambda path: path.stem)
def test_rows_mean_what_they_say(path) -> None:
    for row in rows_of(path):
        assert row.label in LABELS
        assert row.alarm == (Severity(row.severity) in ALARMS)
        assert "\n" not in row.line
        assert row.framework
        assert row.source


@pytest.mark.parametrize("path", [HOLDOUT, UNSEEN], ids=lambda path: path.stem)
def test_nothing_held_out_was_tuned_on(path) -> None:
    tuned = {row.line for row in (*TUNED, *rows_of(CARD))}
    assert not [row.framework for row in rows_of(path) if row.line in tuned]


def test_the_report_shows_no_held_out_line() -> None:
    shown = "\n".join(report(10_000))
    assert "held out" in shown
    held_out = {row.line[:SHOWN] for path in (HOLDOUT, UNSEEN) for row in rows_of(path)}
    # Leave out lines that begin like a tuned line, which may be shown.
    held_out -= {row.line[:SHOWN] for row in (*TUNED, *rows_of(CARD))}
    assert not [line for line in held_out if len(line) > 40 and repr(line) in shown]
