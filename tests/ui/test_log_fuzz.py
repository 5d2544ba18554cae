"""Whatever stands in a log, only printable cells of the right width leave the pane: every way it is drawn.

A short run by default; a million lines with GPU_TUI_NIGHTLY=1.
"""

from __future__ import annotations

import os
from datetime import UTC
from random import Random

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style

from gpu_tui.collect.log_range import _hit
from gpu_tui.core.findings import Severity
from gpu_tui.core.log_range import LogPart
from gpu_tui.core.logs import LogLine
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.log_document import BETWEEN, OLDER, LogDocument
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.logs import GUTTER, label_of, log_row, note_row, wrapped
from gpu_tui.ui.text.marks import fit, line
from gpu_tui.ui.text.timeline import event_row, lanes
from gpu_tui.ui.widgets.paint import paint
from screenshots.builders import NOW, finding

LINES = 1_000_000 if os.environ.get("GPU_TUI_NIGHTLY") else 2_000
WIDTH = 80
BASE = Style()
PARTS = [
    b"\x1b[31m", b"\x1b[2J", b"\x1b]52;c;ZXZpbA==\x07", b"\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\",
    b"\x1bP1$r\x1b\\", b"\x1b[?1049h", b"\x1b[", b"\x1b]0;title", b"\x9b31m", b"\xc2\x9b31m", b"\x90",
    b"\x00", b"\x07", b"\x08\x08", b"\x0b", b"\x0c", b"\x7f", b"\x0e\x0f", b"\t", b"\r", b"\r\r",
    "\u202e".encode(), "\u200b".encode(), "\u2028".encode(), "\u0085".encode(), "\ufeff".encode(),
    "⚠️".encode(), "1️⃣".encode(), "👨‍👩‍👧".encode(), "🇨🇳".encode(), "é".encode(),
    "中文日志".encode(), "한국어".encode(), "مرحبا".encode(), "ไทย".encode(), "ｆｕｌｌ".encode(),
    b"[@click=app.exit]x[/]", b"[/nope]", b"[red]", b"[rank0]: ", b"\xff\xfe", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xe4\xb8", b"loss nan", b"CUDA out of memory", b"Traceback (most",
    b"epoch 3/20 step 5/9 loss 0.5", b"#" * 200, b" " * 90, b"100%|", "█▌".encode(), b"'\"`$(id)",
]  # fmt: skip


def line_of(random: Random) -> bytes:
    """A line made of what terminals, markup and parsers stumble over."""
    parts = [random.choice(PARTS) for _ in range(random.randrange(1, 9))]
    if random.random() < 0.3:
        parts.append(random.randbytes(random.randrange(1, 40)))
    if random.random() < 0.005:
        parts.append(random.choice(PARTS) * 3_000)
    return b"".join(parts).replace(b"\n", b" ")


def check(text: object, width: int, console: Console) -> None:
    """One drawn row: printable, exactly as wide as it must be, no link, no action."""
    strip = paint(text, width, console, BASE)  # type: ignore[arg-type]
    assert strip.cell_length == width
    for part, style, control in strip:
        assert control is None
        assert part.isprintable(), ascii(part)
        assert cell_len(part) == sum(map(cell_len, part)) or "\u200d" not in part
        assert style is None or not style.link
        assert style is None or not any(str(key).startswith("@") for key in style.meta)


@pytest.fixture
def console() -> Console:
    from pathlib import Path

    from gpu_tui.ui.theme_file import load_themes

    made = Console(width=WIDTH)
    made.push_theme(load_themes(Path(__file__).parents[2] / "themes")[0].rich)
    return made


@pytest.mark.nightly
def test_no_line_of_a_log_reaches_the_terminal_as_anything_but_cells(console: Console) -> None:
    random = Random(20_260_304)
    tail, reader, seen = LogBuffer(budget=1_000_000), LogReader(), 0
    document = LogDocument(tail)
    while seen < LINES:
        raw = b"".join(line_of(random) + b"\n" for _ in range(random.choice((3, 20, 200))))
        first = tail.end
        tail.extend(reader.feed(raw[: random.randrange(1, len(raw))]))
        tail.extend(LogReader().feed(raw))
        document.take(
            LogPart(1, 10, 10 + len(raw), 10**9, LogReader().feed(raw), random.choice((None, 7)))
        )
        assert document.past is not None
        keys = [*range(max(first, tail.first), tail.end), *document.past.keys]
        seen += len(keys)
        for key in keys:
            entry = document.line(key)
            assert isinstance(entry, LogLine)
            label, shift = label_of(document, key), random.choice((0, 0, 3, 4_000))
            check(log_row(label, entry, shift=shift, current=key % 7 == 0), WIDTH, console)
            if key % 11 == 0:
                rows = wrapped(entry.text, WIDTH - GUTTER)
                assert "".join(entry.text[start:stop] for start, stop in rows) == entry.text
                for part in rows[:40]:
                    row = log_row(label, entry, marked=True, part=part)
                    assert row.cell_len <= WIDTH
                    check(row, WIDTH, console)
        for key in (OLDER, BETWEEN):
            document.said = tail.text(tail.end - 1)
            check(note_row(document, key), WIDTH, console)


@pytest.mark.nightly
def test_no_other_sink_of_the_pane_lets_anything_through(console: Console) -> None:
    random = Random(7)
    for n in range(max(300, LINES // 100)):
        raw = line_of(random)
        hit = _hit(b"%d:%d:%s" % (n, n, raw[:400]), exact=True)
        assert hit is not None
        check(fit(line((safe(hit.text), "text")), WIDTH), WIDTH, console)
        (*_, entry) = LogReader().feed(raw + b"\n")
        text = entry.text
        found = finding("nan", Severity.FATAL, text[:60], text, f"log:{text}:1", cell=text[:90])
        check(event_row(found, NOW, WIDTH, UTC), WIDTH, console)
        for row in lanes([found], NOW, WIDTH, UTC):
            check(row, WIDTH, console)
