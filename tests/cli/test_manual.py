"""The manual as a person reads it: laid out in the width there is, with nothing lost."""

from __future__ import annotations

import os
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
    """What is left of a page when nothing of its layout is."""
    text = re.sub(r"^\|[-|]+\|$|^```.*$|^[*-] ", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(\d+)\. ", r"\1 ", text, flags=re.MULTILINE)
    return sorted(re.sub(r"[\s`|*#─•]", "", text))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.partition("\n")[0][2:30])
def test_a_page_is_laid_out_in_the_width_there_is_and_loses_nothing(text: str, width: int) -> None:
    shown = rendered(text, width, styled=False)
    assert "|---" not in shown
    assert "`" not in "".join(row for row in shown.splitlines() if not row.startswith("    "))
    assert letters(shown) == letters(text)
    blocks = re.findall(r"```\w*\n(.*?)```|^((?: {4}[^\n]*\n)+)", text, re.DOTALL | re.MULTILINE)
    whole = {row.strip() for block in blocks for row in "".join(block).split("\n")}
    assert whole - {""} <= {row.strip() for row in shown.splitlines()}
    for row in shown.splitlines():
        assert cell_len(row) <= min(width, 100) or row.strip() in whole


@pytest.mark.parametrize(
    "path", [PAGES / "findings.md", PAGES / "zh" / "findings.md"], ids=["en", "zh"]
)
def test_each_kind_of_finding_is_in_the_table_of_its_page_once(path: Path) -> None:
    rows = [row for row in path.read_text("utf-8").splitlines() if row.startswith("| `")]
    kinds = [kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(kinds) == sorted(REMEDIES)


def test_chinese_breaks_between_any_two_characters_but_before_a_closing_sign() -> None:
    rows = rendered("中文" * 12 + "，`gpu-tui` " + "字" * 9, 30, styled=False).splitlines()
    assert all(cell_len(row) >= 28 for row in rows[:-1])
    assert not any(row.strip().startswith("，") for row in rows)
    assert "gpu-tui" in "".join(rows)
    assert rendered("上一行\n下一行", 30, styled=False) == "上一行下一行\n"


@pytest.mark.parametrize("topic", ["clocks", "pull"])
def test_on_a_terminal_it_is_a_manual_and_no_source_of_one(topic: str, tmp_path: Path) -> None:
    env = {**os.environ, "TERM": "xterm", "PAGER": "cat", "MANPAGER": "cat", "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "gpu_tui", "help", topic]
    said = on_a_terminal(argv, env).decode()
    assert "|---" not in said
    assert f"gpu-tui {topic}" in said
    if topic == "clocks":
        assert "\x1b[1mgpu-tui clocks --help\x1b[0m" in said
