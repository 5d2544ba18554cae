"""Triage: the label and the alarm of lines as real programs print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_lines import MARKED

from gpu_tui.core.findings import Severity
from gpu_tui.parse.triage import LABELS, first, triage, triage_segments
from gpu_tui.parse.triage_causes import CAUSES
from gpu_tui.parse.triage_ends import ENDS

CASES = [(line, label, alarm) for (label, alarm), lines in MARKED.items() for line in lines]


@pytest.mark.parametrize(("line", "label", "alarm"), CASES)
def test_marks(line: str, label: str, alarm: bool) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, alarm)


@pytest.mark.parametrize(
    "line",
    [
        "INFO: inference took 0.2 s",
        "x = np.nan_to_num(x)",
        "best_val=inf",
        "error_rate=0.02",
        "0 errors, 0 warnings",
        "model: bigscience/bloom-560m",
        "Weather in Nanjing is fine",
        "gradient_clip_val: inf",
        "  --resume-on-oom    retry when CUDA runs out of memory",
        "usage: train.py [-h] [--kill-after SECONDS]",
        "num_failed=0 oom_kill=0 timeouts=0",
        "early stopping patience inf",
        "Namespace(clip=inf, missing=nan, on_error='raise')",
        "downloading https://example.org/cuda-out-of-memory-killed.tar.gz",
        "",
        "   ",
    ],
)
def test_innocent_words_are_quiet(line: str) -> None:
    assert not triage(line).alarm


def test_every_example_label_is_a_label() -> None:
    assert {label for label, _ in MARKED} == set(LABELS)


def test_causes_are_first_met_in_triage_order() -> None:
    skipped = (
        "inode",
        "exception",
        "benign",
    )  # inode shares a place; the others are exceptions to a row
    met = list(dict.fromkeys(rule.label for rule in CAUSES if rule.label not in skipped))
    assert met == sorted(met, key=LABELS.index)


@pytest.mark.parametrize("rule", [*CAUSES, *ENDS], ids=lambda rule: rule.label)
def test_needs_can_be_looked_up(rule: object) -> None:
    needs = rule.needs  # type: ignore[attr-defined]
    assert needs
    assert all(len(need) >= 3 and need == need.lower() for need in needs)


def test_first_keeps_cause_and_alarm() -> None:
    survived = triage("WARNING: CUDA out of memory, skipping batch")
    dead = triage("Killed")
    both = first([dead, survived])
    assert (both.label, both.severity, both.alarm) == ("gpu_oom", Severity.FATAL, True)


def test_segments() -> None:
    mark = triage_segments([" 5%|x| 1/20 [00:01<00:19, 1.0it/s]", "Killed", " 9%|x| 2/20"])
    assert (mark.label, mark.alarm) == ("killed", True)


@given(st.text(max_size=400))
def test_any_text_gets_one_consistent_mark(text: str) -> None:
    mark = triage(text)
    assert mark.label in LABELS
    assert mark.alarm == (mark.severity in (Severity.FATAL, Severity.SERIOUS))
    assert triage(text) == mark


@given(st.sampled_from(CASES), st.integers(0, 7))
def test_a_rank_prefix_changes_nothing(case: tuple[str, str, bool], rank: int) -> None:
    line, label, alarm = case
    if line.startswith(("[", "|", " ", "\t")):
        return
    mark = triage(f"[rank{rank}]: {line}")
    assert (mark.label, mark.alarm) == (label, alarm)
