"""The queue's log and the queue file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.queue_done import failed_names
from gpu_tui.core.queue_history import (
    CellFinished,
    CellStarted,
    CellSynced,
    QueueDone,
    QueueEvent,
    QueueOpened,
    SyncFailed,
    WrapperRefused,
)
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.queue_file import CELLS_READ, DEFAULT_EPOCHS, decode_roster, parse_roster
from gpu_tui.parse.queue_log import parse_queue_line

STAMP = 1767261600.0  # 2026-01-01 10:00:00 as if UTC
AT = "[2026-01-01 10:00:00]"

EVENTS: list[tuple[str, QueueEvent | None]] = [
    ("=== Queue /root/q/queue_1.txt: 4 ablations, starting from 2 on box ===", QueueOpened("/root/q/queue_1.txt", 4, 2, "box")),
    (f"{AT} [1/4] STARTING baseline (reconstruction, 20ep)", CellStarted(STAMP, 1, 4, "baseline", "reconstruction", 20)),
    (f"{AT} [11/10] STARTING late one (seg, 5ep)", CellStarted(STAMP, 11, 10, "late one", "seg", 5)),
    (f"{AT} [1/4] STARTING odd (seg, ep)", CellStarted(STAMP, 1, 4, "odd", "seg", None)),
    (f"{AT} [1/4] FINISHED baseline (exit=0)", CellFinished(STAMP, 1, 4, "baseline", 0)),
    (f"{AT} [1/4] FINISHED a (b) (exit=137)", CellFinished(STAMP, 1, 4, "a (b)", 137)),
    (f" 45%|##| 4/9 [0:01<0:02]{AT} [2/4] FINISHED x (exit=2)  ", CellFinished(STAMP, 2, 4, "x", 2)),
    (f"{AT} === QUEUE DONE on box -- all 4 cell(s) exited 0 ===", QueueDone(STAMP, "box", 4, None)),
    (f"{AT} === QUEUE DONE on box -- 2 cell(s) FAILED: no aug  lr_high ===", QueueDone(STAMP, "box", 2, "no aug  lr_high")),
    ("[10:00:00] synced baseline to durable storage (/root/autodl-fs/x)", CellSynced("baseline", "/root/autodl-fs/x")),
    ("[10:00:00] auto-synced baseline to durable storage (/d)", CellSynced("baseline", "/d")),
    ("[10:00:00] !! DURABLE SYNC BLOCKED for x — best.pth or best_metrics.json is missing.", SyncFailed("x", "best.pth or best_metrics.json is missing.")),
    ("[10:00:00] !! DURABLE SYNC FAILED for x", SyncFailed("x", "failed")),
    ("PROFILE SETUP FAILED: PROXY_HOOK returned non-zero", WrapperRefused("PROFILE SETUP FAILED: PROXY_HOOK returned non-zero")),
    ("Usage: run_queue.sh <queue_file> [start_index]", WrapperRefused("Usage: run_queue.sh <queue_file> [start_index]")),
    ("[10:00:00] kept best.pth, pruned latest.pth for baseline", None),
    ("=" * 64, None),
    ("[2026-13-01 10:00:00] [1/4] FINISHED baseline (exit=0)", None),
    (f"{AT} [1/4] FINISHED baseline (exit=0) and more", None),
    (f"{AT} [1/4] STARTING torn[2026-01-01 10:00:00] [2/4] FINISHED x (exit=0)", CellFinished(STAMP, 2, 4, "x", 0)),
    (f"{AT} [1/4] STARTING a (t, 5ep){AT} [2/4] STARTING b (t, 6ep)", CellStarted(STAMP, 2, 4, "b", "t", 6)),
    (f"{AT} [1/4] FINISHED x (exit=1)=== Queue q.txt: 4 ablations, starting from 2 on box ===", QueueOpened("q.txt", 4, 2, "box")),
    (f"Epoch 1/4: 50%|#{AT} === QUEUE DONE on box -- 1 cell(s) FAILED: x ===", QueueDone(STAMP, "box", 1, "x")),
    (f"{AT} [3/4] STARTING crlf (seg, 20", CellStarted(STAMP, 3, 4, "crlf", "seg", 20)),
    (f"{AT} [3/4] STARTING crlf (seg", CellStarted(STAMP, 3, 4, "crlf", "seg", None)),
    (f"{AT} [3/4] STARTING no task (, 20ep)", CellStarted(STAMP, 3, 4, "no task", "", 20)),
    (f"{AT} [3/4] STARTING noted (seg, 5 # shortep)", CellStarted(STAMP, 3, 4, "noted", "seg", 5)),
    ("[1/4] STARTING baseline (seg, 20ep)", CellStarted(None, 1, 4, "baseline", "seg", 20)),
    ("[10:00:00] [1/4] FINISHED baseline (exit=3)", CellFinished(None, 1, 4, "baseline", 3)),
    ("=== QUEUE DONE on box -- all 4 cell(s) exited 0 ===", QueueDone(None, "box", 4, None)),
    ("[2026-01-01 10:00:00] [1/4] STARTING half of a na", None),
    ("STARTING baseline (seg, 20ep)", None),
    ("epoch 3 STARTING soon", None),
    ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "event"), EVENTS)
def test_queue_lines(line: str, event: QueueEvent | None) -> None:
    assert parse_queue_line(line) == event


@settings(deadline=None)
@given(st.text(max_size=200), st.sampled_from([line for line, _ in EVENTS]))
def test_no_text_breaks_the_reader(text: str, line: str) -> None:
    parse_queue_line(text)
    parse_queue_line(line + text)
    parse_queue_line(text + line)


def test_roster() -> None:
    roster = parse_roster(
        "# plan\n\nconfigs/base.yaml reconstruction\nconfigs/no_aug.yaml\treconstruction 5  # short\r\n"
        "my configs/two words.yaml seg 7\nlonely\nconfigs/base.yaml seg 3\nbad.yaml seg many\n  # end"
    )
    assert [(c.index, c.name, c.config, c.task, c.epochs) for c in roster.cells] == [
        (1, "base", "configs/base.yaml", "reconstruction", DEFAULT_EPOCHS),
        (2, "no_aug", "configs/no_aug.yaml", "reconstruction", 5),
        (3, "two words", "my configs/two words.yaml", "seg", 7),
        (5, "base", "configs/base.yaml", "seg", 3),
    ]
    assert roster.duplicates == ("base",)
    assert [(line.line, line.index, line.text, line.why) for line in roster.rejected] == [
        (6, 4, "lonely", "the task is missing: CONFIG TASK [EPOCHS]"),
        (8, 6, "bad.yaml seg many", '"many" is no number of epochs'),
    ]
    assert [cell.line for cell in roster.cells] == [3, 4, 5, 7]
    assert str(roster.rejected[0]) == 'line 6 "lonely": the task is missing: CONFIG TASK [EPOCHS]'


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_line_of_a_queue_file_is_lost(text: str) -> None:
    roster = parse_roster(text)
    lines = [raw.strip(" \t") for raw in text.split("\n")]
    counted = [line for line in lines if line and not line.startswith("#")]
    assert roster.total == len(counted)
    assert sorted(row.index for row in (*roster.cells, *roster.rejected)) == [
        *range(1, len(counted) + 1)
    ]


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ("a b", ("a", "b")),
        ("no aug lr_high", ("no aug", "lr_high")),
        ("no aug2 no", ("no", "aug2")),
        ("unknown no aug", ("unknown", "no aug")),
        ("  ", ()),
        ("a a", ("a",)),
    ],
)
def test_failed_names(raw: str, names: tuple[str, ...]) -> None:
    assert failed_names(raw, ["a", "b", "no aug", "no", "lr_high"]) == names


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[a-z_0-9.-]{1,8}", fullmatch=True), max_size=8, unique=True))
def test_names_without_spaces_come_back_in_order(names: list[str]) -> None:
    assert failed_names(" ".join(names), names) == tuple(names)
    assert failed_names(" ".join(names), []) == tuple(names)


def kinds(text: str) -> tuple[list[str], list[tuple[int, str]]]:
    roster = parse_roster(text)
    return [cell.name for cell in roster.cells], [(r.line, r.why) for r in roster.rejected]


@pytest.mark.parametrize(
    ("text", "names", "rejected"),
    [
        ("\ufeffa.yaml t\r\nb.yaml t 5\r\n", ["a", "b"], []),
        ("a.yaml t\r\n\r\nb.yaml t\r\n", ["a", "b"], [(2, "nothing but a carriage return or a byte-order mark, and so no blank line")]),
        ("\ufeff# plan\na.yaml t\n", ["a"], [(1, "a byte-order mark stands before the #, and so it is no comment")]),
        ("a.yaml\t\tt\t5\n", ["a"], []),
        ("配置/实验一.yaml 分割 5\nnaïve café.yaml t\n", ["实验一", "naïve café"], []),
        ("a.yaml t 5   # the first\na.b.yaml t # no epochs\n", ["a", "a.b"], []),
        ("a.yaml t\n\nb.yaml\n", ["a"], [(3, "the task is missing: CONFIG TASK [EPOCHS]")]),
        ("a.yaml t 5 6\n", [], [(1, "it is not CONFIG TASK [EPOCHS]")]),
        ("a.yaml\u00a0t 5\n", [], [(1, "it holds U+00A0: only spaces and tabs part its words")]),
        ("a\0.yaml t\n", [], [(1, "it holds a NUL byte")]),
        ("a.yaml t\rb.yaml t\n", [], [(1, "it holds a carriage return: lines end with \\n")]),
        ("a\x1b[2J.yaml t\n", [], [(1, "it holds U+001B: only spaces and tabs part its words")]),
        ("x" * 5000 + ".yaml t\nb.yaml t", ["b"], [(1, "longer than 4096 characters")]),
        (".yaml t\n", [], [(1, "it is not CONFIG TASK [EPOCHS]")]),
    ],
)  # fmt: skip
def test_bad_lines_are_read_or_refused_with_their_number(
    text: str, names: list[str], rejected: list[tuple[int, str]]
) -> None:
    assert kinds(text) == (names, rejected)


def test_bytes_that_are_no_text_are_refused_and_harmless() -> None:
    roster = decode_roster(b"a.yaml t\nb\xff\xfe.yaml t\n\x1b]0;x\x07.yaml t\nc.yaml t")
    assert [(cell.index, cell.name) for cell in roster.cells] == [(1, "a"), (4, "c")]
    assert roster.rejected[0].why == "it is not UTF-8"
    assert all(str(line).isprintable() for line in roster.rejected)


def test_a_long_queue_is_counted_to_its_end() -> None:
    many = "".join(f"conf/c{n}.yaml t 5\n" for n in range(5_000))
    assert len(parse_roster(many).cells) == parse_roster(many).total == 5_000
    more = parse_roster(many * 3 + "lonely\n" * 500)
    assert len(more.cells) == CELLS_READ
    assert more.total == 15_500
    assert len(more.duplicates) == 5_000


def test_a_log_of_bytes_that_are_no_text() -> None:
    lines = LogReader().feed(
        f"\0\xff junk\n{AT} [1/2] STARTING a (t, 5ep)\n 9%|#\r{AT} [1/2] FINISHED a (exit=0)\n"
        f"{AT} [2/2] STARTING b (t".encode("latin-1")
    )
    assert [type(line.queue).__name__ for line in lines if not line.open] == [
        "NoneType", "CellStarted", "CellFinished",
    ]  # fmt: skip
    assert lines[-1].open
