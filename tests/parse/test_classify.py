"""Classification of lines, apart from single rules: segments, prefixes, remembered marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.triage.classify import Classifier, first, triage, triage_segments
from gpu_tui.parse.triage.labels import LABELS
from gpu_tui.parse.triage.rule_set import bundled

SAMPLES = [
    sample.line
    for rule in bundled().rules
    for sample in (*rule.matches, *rule.rejects)
    if "\r" not in sample.line
]


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
def test_harmless_line_with_words_of_trouble_is_no_alarm(line: str) -> None:
    assert not triage(line).alarm


ENDS = [
    ("gpu_oom", "CUDA error: out of memory."),
    ("exception", "RuntimeError: shape mismatch."),
    ("killed", "Training was interrupted."),
    ("disk_full", "No space left on device."),
]
ADVICE = [
    "If you need help, open an issue.",
    "This may be caused by a bug.",
    "Consider using a smaller model.",
    "Note that the log has more.",
    "For help run with --help",
    "Hint: check the path.",
]


@pytest.mark.parametrize("advice", ADVICE)
@pytest.mark.parametrize(("label", "line"), ENDS)
def test_advice_after_a_failure_keeps_the_alarm(label: str, line: str, advice: str) -> None:
    for text in (line, f"{line} {advice}"):
        mark = triage(text)
        assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize(
    ("severity", "numbers"),
    [
        ("serious", (13, 31, 32, 37, 43, 45, 68, 69, 94, 109)),  # an application's
        ("fatal", (48, 62, 64, 74, 79, 95, 110, 119, 120, 140, 143)),
    ],
)
def test_xid_severity_follows_its_number(severity: str, numbers: tuple[int, ...]) -> None:
    line = "NVRM: Xid (PCI:0000:65:00): {}, pid=12, name=python"
    marks = {number: triage(line.format(number)) for number in numbers}
    assert {
        n: mark for n, mark in marks.items() if (mark.label, mark.severity) != ("xid", severity)
    } == {}


DEAD = Mark("killed", Severity.FATAL, True)
SURVIVED = Mark("gpu_oom", Severity.WARN, False)


@pytest.mark.parametrize("marks", [[DEAD, SURVIVED], [SURVIVED, DEAD]])
def test_first_keeps_the_first_label_and_the_worst_severity(marks: list[Mark]) -> None:
    assert first(marks) == Mark("gpu_oom", Severity.FATAL, True)


def test_segments_share_one_mark() -> None:
    mark = triage_segments([" 5%|x| 1/20 [00:01<00:19, 1.0it/s]", "Killed", " 9%|x| 2/20"])
    assert (mark.label, mark.alarm) == ("killed", True)


@given(st.text(max_size=400) | st.sampled_from(SAMPLES))
def test_any_text_gets_one_consistent_mark(text: str) -> None:
    mark = triage(text)
    assert mark.label in LABELS
    assert mark.alarm == (mark.severity in (Severity.FATAL, Severity.SERIOUS))
    assert triage(text) == mark


class ClearedAfterLookup(dict[bytes | None, Mark | None]):
    """A memory that another thread clears after every `in` test."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found


def test_marks_do_not_depend_on_a_memory_cleared_by_another_thread() -> None:
    judge = Classifier(bundled())
    judge._memory = ClearedAfterLookup()
    for line in ("Killed", "step 3: loss=nan"):
        marks = [judge.cause(line), judge.cause(line), *judge.causes([line.encode()] * 2)]
        assert marks == [triage(line)] * 4


@pytest.mark.parametrize("sign", ["\x07", "\x08", "\t", "\x1b[0m", "\x00"])
def test_a_line_as_it_came_is_judged_as_its_text(sign: str) -> None:
    """A sign that is not shown, or as something else, may stand in the middle of a word that a rule is asked by."""
    judge = Classifier(bundled())
    lines = [line[:at] + sign + line[at:] for line in SAMPLES for at in (1, 7, len(line) // 2)]
    marks = judge.causes([line.encode() for line in lines])
    wanted = [judge.cause(unescape(line.encode())[0]) for line in lines]
    assert [
        line for line, *pair in zip(lines, marks, wanted, strict=True) if pair[0] != pair[1]
    ] == []


@pytest.mark.parametrize("end", ["", " ", "\t"])
def test_a_full_volume_is_known_after_one_that_is_not(end: str) -> None:
    judge = Classifier(bundled())
    marks = [judge.cause(f"/dev/sda1  100G  {n}G  50G  {n}% /data{end}") for n in (12, 97, 13)]
    assert [mark and mark.label for mark in marks] == ["benign", "disk_full", "benign"]


@pytest.mark.parametrize("rank", [0, 7])
def test_rank_prefix_does_not_change_the_mark(rank: int) -> None:
    """Lines that begin with a bracket or a space are left out: the rank and they may form another prefix."""
    lines = [line for line in SAMPLES if line[:1] not in ("[", "|", " ", "\t", "")]
    assert len(lines) > 500
    changed = [line for line in lines if triage(f"[rank{rank}]: {line}") != triage(line)]
    assert changed == []


def test_look_alike_rules_name_no_digit() -> None:
    """Otherwise a remembered mark is wrong for lines that differ in digits only."""
    calm = [rule for rule in bundled().rules if not rule.literals or rule.label == "traceback"]
    assert [rule.id for rule in calm if rule.severity is Severity.NONE and rule.names_digits] == []
