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
from gpu_tui.parse.triage_rule import rule as row

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


# How a failure is said, by programs that no table knows.
TOLD = [
    "E 11-21 09:00:01 keeper.py:738] Unexpected state in loop for task 0",
    "2031-01-02 03:04:05 ERROR keeper.Loop: Lost helper 4 on n1: remote side is gone",
    "(pid=7) failed to poke widget 'a': none in any drawer",
    "[12.5] [ERROR]Aborting because fallback start is disabled.",
    "2031/01/02 03:04:05 NOTICE: Failed to copy with 12 errors:",
    "##### Widget execution on worker 3 failed with exit status 1. Continuing.",
    "INFO - Widget exited with return code Negsignal.SIGKILL",
    "[I 03:04:05.769 App] AsyncIOLoopKernelRestarter: restarting kernel (1/5), keep random ports",
    "job 31 exceeded MEM usage hard limit (25 > 11)",
    "03:04:05.175 ERROR Keeper - Lost helper 0 on 10.0.0.11: gone. Check the logs for WARN messages.",
    "The widget process encountered an unexpected error.",
    "Box: widgets-3 lost communication with the server. Starving it can cause this error.",
    "widgetCompile(): NVRTC_ERROR_INVALID_OPTION",
    "### Widget training failed: /data/widgets",
    "Widget::read(): expected view size (2, 2) but got (0, 2)",
    "2031/01/02 03:04:05 WriteWidget: input/output error, no room: open /tmp/w",
    "| widget_a | - | Not loaded: no version was found |",
    "widgetd: Waiting for process to finish... (failed 1)",
    "[lost server]",
    "The widget runtime died. Automatically restarting",
    "2031-01-02 [Warning] [widget.plugin] [crash] A crash has occurred.",
    '7 errors detected in the compilation of "/tmp/w.cu".',
    "widgets/ring.w ................ [min_cpus=2] FAILED (NO GOLD FILE)",
    "*** Your widget job will now abort.",
    'corrupted on transfer: md5 hash differ "1a" vs "2b"',
    "amdgpu 0000:2b:00.0: Ring widget_0.0.0 reset failed",
    "外部进程执行失败",
    "widget 3: the helper took too long to answer",
    "widgets: the drawer does not exist",
    "widgetd[7]: the keeper died",
    "widget-0   0/1     Init:Error         0          5m",
    "qsub: Unauthorized Request",
    "tar: Unexpected EOF in archive",
    "Your spot instance w-1 has been interrupted",
    "            d0t1  DEGRADED     0     0   542  too many errors",
]
SURVIVED = [
    "2031-01-02 03:04:05 INFO widget failed, will retry",
    "[Warning] [widget.plugin] failed to startup plugin for windows",
    "warning: failed to mlock 82722 byte buffer: Cannot allocate memory",
    "DEBUG   set_parent_death_signal()     Set parent death signal to 9",
    "ERROR Tracker: 2031-01-02 03:04:05 INFO [0] train-loss:0.43 eval-loss:0.49",
    "Enabling floating point exception trapping",
    "(Core pid=7) ERROR 01-02 03:04:05 [core.py:708] widget_core = WidgetCore(*args, **kwargs)",
    "NaN found in widgets, replacing with zeros",
    "n1:29:29 [0] misc/ibvwrap.cc:185 (wrap_ibv_alloc_pd) NCCL WARN lib wrapper not initialized.",
    "[ 12.539141] nfs: server attic not responding, still trying",
    "[12.171380] systemd-widget-generator[45]: stat() failed on /etc/widget: No such file or directory",
    "3m  Warning  FailedScheduling  pod/widget  no node fits: 1 Insufficient gpu",
    "Failed to get the widget's vendor. Setting to GenuineWidget",
    "Jan  2 03:04:05 box sshd[77]: error: Received disconnect from 10.0.0.9: 3: Auth fail [preauth]",
    "    reason: Missing output files: widgets.txt",
    "I told you that she died and that you cannot go home.",
    "Reasons for the failure: a widget lost, out of memory, or a bug.",
    "2031 ERROR widget_infodump   Instance ID: w-1",
    "libGL error: failed to load driver: swwidget",
    "[ 0.0] widget: module verification failed: signature and/or required key missing - tainting kernel",
    "Could not find a version of widgets, using eager attention",
    "The knight died in battle, and the king was lost.",
    "Error handling: enabled",
    "  restartPolicy: OnFailure",
]


@pytest.mark.parametrize("line", TOLD)
def test_a_failure_is_known_by_how_it_is_said(line: str) -> None:
    assert triage(line).alarm


@pytest.mark.parametrize("line", SURVIVED)
def test_what_was_coped_with_is_quiet(line: str) -> None:
    assert not triage(line).alarm


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("widgetd: cannot allocate 3 blocks of KV cache", "gpu_oom"),
        ("the scratch volume is completely full", "disk_full"),
        ("we ran out of disk space, widgets lost", "disk_full"),
        ("widget: shapes of this checkpoint do not match the model", "ckpt_corrupt"),
    ],
)
def test_a_cause_is_known_by_plain_words(line: str, label: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


def test_every_example_label_is_a_label() -> None:
    assert {label for label, _ in MARKED} == set(LABELS)


def test_causes_are_first_met_in_triage_order() -> None:
    skipped = (
        "inode",
        "exception",
        "warning",
        "benign",
    )  # inode shares a place; the others are exceptions to a row
    met = list(dict.fromkeys(rule.label for rule in CAUSES if rule.label not in skipped))
    assert met == sorted(met, key=LABELS.index)


def test_an_alternative_that_asks_for_nothing_hides_no_other() -> None:
    """Of Chinese words nothing is read off a pattern that takes capitals for small letters."""
    mixed = row("host_oom", Severity.FATAL, "页面文件", r"页面文件太小|ran dry of memory")
    assert mixed.needs == ("页面文件", "ran dry of memory")


@pytest.mark.parametrize("rule", [*CAUSES, *ENDS], ids=lambda rule: rule.label)
def test_needs_can_be_looked_up(rule: object) -> None:
    needs = rule.needs  # type: ignore[attr-defined]
    assert needs
    assert all(len(need.encode()) >= 3 and need == need.lower() for need in needs)


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
