"""A table of wrapped cells: every column has its width, and a row is as tall as its tallest cell."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from gpu_tui.ui.text.marks import fit, line, wrap

Cell = tuple[str, str]  # text and style
GAP = "  "


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[int]) -> list[Text]:
    """A head, a rule, and the rows; `widths` in cells, one per column, without the gaps."""
    total = sum(widths) + len(GAP) * (len(widths) - 1)
    lines = [_join([line((word, "faint")) for word in head], widths), line(("─" * total, "track"))]
    for row in rows:
        cells = [wrap(text, width, style) for (text, style), width in zip(row, widths, strict=True)]
        tall = max((len(cell) for cell in cells), default=0)
        lines += [
            _join([cell[n] if n < len(cell) else line() for cell in cells], widths)
            for n in range(tall)
        ]
    return lines


def _join(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    """One line; the last column is not padded, so that nothing trails."""
    out = line()
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        last = number == len(widths) - 1
        out.append_text(cell if last and cell.cell_len <= width else fit(cell, width))
        if not last:
            out.append(GAP)
    out.rstrip()
    return out
