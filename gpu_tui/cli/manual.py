"""A page of the manual on a terminal: rich renders its Markdown in the width there is."""

from __future__ import annotations

import re
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement, TableElement
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

WIDEST = 100  # cells of a line that is comfortably read
BOLD = Theme({"markdown.code": "bold", "markdown.item.bullet": "bold", "markdown.h2": "bold"})
# Rich breaks lines at white space only, and Chinese has none. This separator takes no cell and counts as white space.
_BREAK = "\x1f"
_WIDE = r"\u2e80-\uffff"
_BREAKS = re.compile(
    rf"(?<=[{_WIDE}])(?![，。：；、？！）”》」\s])|(?<=[\w`*])(?=[{_WIDE}])(?![，。：；、？！）”》」])"
)
_JOINED = re.compile(rf"(?<=[{_WIDE}])\n *(?=[{_WIDE}])")


class _Code(CodeBlock):
    """A block whose lines stay whole, to be copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = str(self.text).rstrip().split("\n")
        yield Text(
            "\n".join(f"     {row}".rstrip() for row in rows), no_wrap=True, overflow="ignore"
        )


class _Table(TableElement):
    """A table that wraps a long word; rich's own cuts it off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            for column in table.columns if isinstance(table, Table) else ():
                column.overflow = "fold"
            yield table


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }


def rendered(page: str, width: int, *, styled: bool = True) -> str:
    """The page in lines of at most `width` cells, except blocks of code; with `styled` bold where the terminal has it."""
    console = Console(
        width=max(20, min(width, WIDEST)), theme=BOLD, force_terminal=styled, highlight=False
    )
    with console.capture() as shown:
        console.print(
            _Page(_BREAKS.sub(_BREAK, _JOINED.sub("", page)), hyperlinks=False), crop=False
        )
    return "".join(f"{row.rstrip()}\n" for row in shown.get().replace(_BREAK, "").splitlines())
