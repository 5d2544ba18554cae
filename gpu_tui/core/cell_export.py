"""The table of cells as CSV and as Markdown, for other programs. Pure.

Names come from boxes: what a spreadsheet would take for a formula, or Markdown for markup, is neutralised.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from gpu_tui.core.cell_table import Row, metrics_of
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.plain import plain

NAME_LIMIT = 400
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")  # what spreadsheets or DDE begin with
WIDE = ("W", "F")
Field = Callable[[Row], object]

COLUMNS: tuple[tuple[str, Field], ...] = (
    ("instance", lambda row: row.box),
    ("index", lambda row: row.cell.index),
    ("cell", lambda row: row.cell.name),
    ("task", lambda row: row.cell.task),
    ("state", lambda row: row.cell.state.value),
    ("trust", lambda row: row.trust.value),
    ("epoch", lambda row: row.cell.epoch),
    ("epochs", lambda row: row.cell.epochs),
    ("step", lambda row: row.cell.step),
    ("steps", lambda row: row.cell.steps),
    ("loss", lambda row: row.cell.loss),
)
AFTER: tuple[tuple[str, Field], ...] = (
    ("exit_code", lambda row: row.cell.exit_code),
    ("started_at", lambda row: _time(row.cell.started_at)),
    ("finished_at", lambda row: _time(row.cell.finished_at)),
    ("duration_seconds", lambda row: row.cell.duration_seconds),
    ("eta_seconds", lambda row: row.cell.eta_seconds),
    ("cost", lambda row: row.cost),
    ("currency", lambda row: row.currency if row.cost is not None else None),
    ("artifact", lambda row: row.cell.artifact),
    ("status", lambda row: row.cell.status),
    ("reason", lambda row: row.cell.reason),
    ("node", lambda row: row.cell.node),
    ("node_state", lambda row: row.cell.node_state),
    ("restarts", lambda row: row.cell.restarts),
    ("gpus", lambda row: row.cell.gpus),
    ("submitted_at", lambda row: _time(row.cell.submitted_at)),
    ("expected_start_at", lambda row: _time(row.cell.expected_at)),
    ("ends_by", lambda row: _time(row.cell.ends_by)),
    ("limit_seconds", lambda row: row.cell.limit_seconds),
    ("why", lambda row: row.cell.why),
)
BRIEF = (
    "instance", "cell", "task", "state", "loss", "epoch", "duration_seconds", "cost", "currency",
)  # fmt: skip


def fields_of(rows: Sequence[Row]) -> list[tuple[str, Field]]:
    """Every column of an export, the metrics between the loss and the rest."""
    metrics = [(name, _metric(name)) for name in metrics_of(rows)]
    return [*COLUMNS, *metrics, *AFTER]


def to_csv(rows: Sequence[Row]) -> str:
    """RFC 4180: CRLF, quotes where needed, one header. Unknown is empty; NaN and Inf are written out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    fields = fields_of(rows)
    writer.writerow([_csv(name) for name, _ in fields])
    for row in rows:
        writer.writerow([_csv(field(row)) for _, field in fields])
    return out.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """One aligned table of the columns that people read."""
    brief = {*BRIEF, *metrics_of(rows)}
    fields = [(name, field) for name, field in fields_of(rows) if name in brief]
    head = [_escaped(name) for name, _ in fields]
    body = [[_escaped(_short(field(row))) for _, field in fields] for row in rows]
    right = [_is_number(field, rows) for _, field in fields]
    return table(head, body, right)


def table(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """An aligned Markdown table of texts that are escaped already."""
    widths = [max(3, *(_cells(row[n]) for row in (head, *body))) for n in range(len(head))]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]
    rows = [head, rule, *body]
    return "".join(
        "| " + " | ".join(_pad(text, w, r) for text, w, r in zip(row, widths, right, strict=True)) + " |\n"
        for row in rows
    )  # fmt: skip


def _csv(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    text = plain(str(value), NAME_LIMIT)
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"


def _short(value: object) -> str:
    """For a person to read: four digits are enough."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5g}" if math.isfinite(value) else _float(value)
    return plain(str(value), NAME_LIMIT)


def _escaped(text: str) -> str:
    """Nothing in it is markup, a link or the end of a table's cell."""
    for char in "\\|`*[]":
        text = text.replace(char, f"\\{char}")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _is_number(field: Field, rows: Iterable[Row]) -> bool:
    values = [value for row in rows if (value := field(row)) is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _metric(name: str) -> Field:
    return lambda row: row.cell.metrics.get(name)


def _time(at: float | None) -> str | None:
    try:
        return rfc3339(at)
    except (OverflowError, ValueError, OSError):  # a time that no calendar has
        return None


def _cells(text: str) -> int:
    """How wide a text is in a terminal or an editor."""
    return sum(2 if unicodedata.east_asian_width(char) in WIDE else 1 for char in text)


def _pad(text: str, width: int, right: bool) -> str:
    gap = " " * max(0, width - _cells(text))
    return gap + text if right else text + gap
