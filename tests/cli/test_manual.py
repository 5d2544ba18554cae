"""The manual as a person reads it: laid out in the width there is, with nothing lost."""

from __future__ import annotations

import os
import pydoc
import re
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from terminal_of import on_a_terminal

from gpu_tui.cli.help import PAGES, TOPICS, page
from gpu_tui.cli.manual import rendered
from gpu_tui.core.remedies import REMEDIES

CHINESE = sorted((PAGES / "zh").glob("*.md"))
TEXTS = [*(page(topic) for topic in TOPICS), *(path.read_text("utf-8") for path in CHINESE)]


def letters(text: str) -> list[str]:
    """What is left of a page when nothing of its layout is; cells of a table stand beside each other."""
    text = re.sub(r"^\|[-|]+\|$|^```.*$|^#+ ", "", text, flags=re.MULTILINE)
    return sorted(re.sub(r"[\s`|*#]", "", text))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.partition("\n")[0][2:30])
def test_a_page_is_laid_out_in_the_width_there_is_and_loses_nothing(text: str, width: int) -> None:
    shown = pydoc.plain(rendered(text, width))
    assert "\x00" not in shown
    assert "|---" not in shown
    assert "`" not in "".join(row for row in shown.splitlines() if not row.startswith("    "))
    assert letters(shown) == letters(text)
    kept = {f"{row.strip()}" for row in text.splitlines() if row.startswith("  ")}
    kept |= {
        row.strip()
        for part in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
        for row in part.split("\n")
    }
    for row in shown.splitlines():
        assert cell_len(row) <= min(width, 100) or row.strip() in kept


@pytest.mark.parametrize(
    "path", [PAGES / "findings.md", PAGES / "zh" / "findings.md"], ids=["en", "zh"]
)
def test_each_kind_of_finding_is_in_the_table_of_its_page_once(path: Path) -> None:
    rows = [row for row in path.read_text("utf-8").splitlines() if row.startswith("| `")]
    kinds = [kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(kinds) == sorted(REMEDIES)


def test_cells_of_a_table_stand_under_each_other() -> None:
    table = "| sign | the time is |\n|---|---|\n| `≥` | the earliest |\n| | exact |\n| 中文 | 最早的时间 |\n"
    assert pydoc.plain(rendered(table, 80)).splitlines() == [
        "   sign  the time is", "   ≥     the earliest", "         exact", "   中文  最早的时间",
    ]  # fmt: skip


def test_bold_goes_on_in_the_next_row_and_no_sign_begins_one() -> None:
    rows = rendered("**one two three four five six seven**", 24).splitlines()
    assert rows[0] == "   " + " ".join(
        "".join(f"{c}\b{c}" for c in w) for w in ("one", "two", "three", "four")
    )
    assert len(rows) == 2
    wide = pydoc.plain(rendered("中文" * 12 + "，" + "字" * 9, 30)).splitlines()
    assert not any(row.strip().startswith("，") for row in wide)


@pytest.mark.parametrize("topic", ["clocks", "pull"])
def test_on_a_terminal_it_is_a_manual_and_no_source_of_one(topic: str, tmp_path: Path) -> None:
    env = {**os.environ, "TERM": "xterm", "PAGER": "cat", "MANPAGER": "cat", "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "gpu_tui", "help", topic]
    said = on_a_terminal(argv, env).decode()
    assert "|---" not in said
    assert f"gpu-tui {topic}" in pydoc.plain(said)
    if topic == "clocks":
        assert "M\bMa\bar\brk\bks\bs" in said
        assert "gpu-tui clocks --help" in pydoc.plain(said)
