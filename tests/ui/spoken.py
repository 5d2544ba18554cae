"""What the screen says, found in the source: literals given to `say`, and the tables that it is given."""

from __future__ import annotations

import ast
import errno
import os
import re
import string
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path

import gpu_tui
from gpu_tui.cli import doctor, epilog, pull
from gpu_tui.cli.main import COCKPIT_HELP, COMMANDS
from gpu_tui.core import clocks, remedies, verdict
from gpu_tui.core import sweep as sweep_states
from gpu_tui.core.findings import Severity
from gpu_tui.core.sample import Freshness
from gpu_tui.state import patrol, resume_words
from gpu_tui.teardown import words
from gpu_tui.ui import keys, layout
from gpu_tui.ui.panes import instances
from gpu_tui.ui.screens import (
    abandon,
    chart,
    columns,
    findings,
    help,
    losing,
    override,
    themes,
    timeline,
)
from gpu_tui.ui.text import (
    card,
    deadlines,
    fleet,
    gpus,
    ladder,
    logs,
    outlook,
    signs,
    survival,
    sweep,
    sweep_table,
    vitals,
)
from gpu_tui.ui.widgets import tour

FOREIGN_ERRORS = (
    errno.ENOENT, errno.EACCES, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOSPC, errno.EROFS,
    errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EIO,
)  # fmt: skip
PACKAGE = Path(gpu_tui.__file__).parent
SPEAKERS = ("say", "told")
PANES = ("Instances", "Danger clocks", "Vitals", "Queue", "Log")
# Words that stand in the source where no rule finds them: heads of tables, parts of sentences.
PARTS = {
    *(
        "state",
        "cell",
        "epoch",
        "loss",
        "history",
        "took",
        "left",
        "exit",
        "results",
    ),  # sweep.queue_head
    *(
        "status",
        "limit",
        "job age",
        "restarts",
        "gpus",
        "node",
        "partition",
        "namespace",
        "why",
    ),  # jobs.head
    *("live", "stale", "unreachable", "connecting", "off", "read-only", "replay", "demo"),  # header
    *("gpu", "memory", "cpu", "disk", "  util", "  vram", "  state", "  procs"),  # Vitals
    *("hung", "lost", "err", "box", "above", "below", "ends", "money"),
    "box",
    *("cell finished", "sweep finished"),  # titles of toasts
    *("link cut", "log replaced"),  # on the time line
    *(f"{{number}} {unit}" for unit in ("conveniences", "convenience", "traps", "trap")),
    *(f"{{number}} {unit}" for unit in ("years", "day", "days", "h", "min", "s")),
    *("positional arguments", "options", "show this help message and exit"),  # argparse
    *("dns", "timeout", "refused", "host-key", "auth", "no-shell"),
    *(
        "escalate",
        "cannot-tell",
        "sync-failed",
        "incomplete",
        "done",
        "at",
        "read",
        "so far",
        "per hour",
    ),
}
# What argparse, tomllib and the system say, in the words of their own.
FOREIGN = (
    "unrecognized arguments: ", "the following arguments are required: ", "argument ", "expected one argument",
    "expected at least one argument", "invalid choice: ", " (choose from ", "invalid int value: ",
    "invalid seconds value: ", "(at end of document)", *(os.strerror(number) for number in FOREIGN_ERRORS),
)  # fmt: skip


def literals(node: ast.expr) -> Iterator[str]:
    """The texts that an argument may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from literals(value)


@cache
def said() -> dict[str, frozenset[str] | None]:
    """Template -> the fields that are given to it, or None where nothing is filled in."""
    found: dict[str, frozenset[str] | None] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in SPEAKERS and node.args:
                fields = frozenset(word.arg for word in node.keywords if word.arg)
                found |= dict.fromkeys(literals(node.args[0]), fields or None)
            elif node.func.id == "counted":
                for noun in literals(node.args[1]):
                    several = f"{noun}es" if noun.endswith("x") else f"{noun}s"
                    found |= dict.fromkeys(
                        (f"{{number}} {noun}", f"{{number}} {several}"), frozenset({"number"})
                    )
    return found


@cache
def tables() -> set[str]:
    """Every text of the tables that are said row by row."""
    rows: list[Iterable[object]] = [
        *((key.label, key.help) for key in keys.KEYS),
        keys.CONTEXTS.values(), PANES, layout.Preset, Severity, Freshness,
        (losing.LosingScreen.KEEP, losing.LosingScreen.LOSE),
        (abandon.AbandonScreen.KEEP, abandon.AbandonScreen.LOSE),
        (override.OverrideScreen.KEEP, override.OverrideScreen.LOSE),
        (findings.FindingsScreen.TITLE_WORDS, help.HelpScreen.TITLE_WORDS),
        (themes.ThemeScreen.TITLE_WORDS, columns.ColumnScreen.TITLE_WORDS),
        (timeline.TimelineScreen.TITLE_WORDS,),
        (span for span, _ in chart.SPANS), chart.SHARES.values(), columns.WHAT.values(), themes.MARKS,
        card.STATES.values(), card.EFFECTS.values(), card.SEVERITIES, (word for word, _ in card.METERS.values()),
        clocks.BOUND_WORDS.values(), deadlines.BASES.values(), deadlines.STARTS.values(), deadlines.LEADS.values(),
        (word for _, word, _, _ in signs.VERDICTS.values()), (column.title for column in fleet.COLUMNS.values()),
        (text for word, text, _ in ladder.OUTCOMES.values() for text in (word, text)),
        ladder.METERS.values(), words.TITLES.values(),
        (word for word, _, _ in outlook.GROUPS), (title for title, _, _ in outlook.COLUMNS),
        survival.WAYS.values(), (word for word, _ in survival.METERS.values()),
        (survival.DELETED[0], survival.KEPT[0], survival.LEFT[0], survival.UNKNOWN[0]),
        (word for _, word, _ in sweep.STATES.values()), sweep_table.TITLES.values(),
        (column for column in sweep_table.CELLS if column not in sweep_table.TITLES),
        (*fleet.SETS, instances.OWN),
        vitals.MEMORY_SOURCE.values(), gpus.GPU_ERRORS.values(),
        (text for _, *texts in tour.STEPS for text in texts),
        (kind.replace("_", " ") for kind in remedies.REMEDIES), remedies.REMEDIES.values(),
        (label.replace("_", " ") for label in logs.MARKS),
        (text for one in remedies.CARDS.values() for text in (one.symptom, one.cause, one.fix)),
    ]  # fmt: skip
    rows += [
        help_texts(),
        epilogs(),
        verdict.Verdict,
        sweep_states.CellState,
        resume_words.RESTART.values(),
    ]
    rows += [doctor.MARKS.values(), pull.WORDS.values(), patrol.GPU_WORDS.values()]
    return {str(text.value if isinstance(text, Enum) else text) for row in rows for text in row}


def help_texts() -> Iterator[str]:
    """What `--help` says of every command and flag."""
    for path in (PACKAGE / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "help":
                yield from literals(node.value)
    yield from (*COMMANDS.values(), COCKPIT_HELP)


def epilogs() -> Iterator[str]:
    """What stands under the flags."""
    for _, text in (*epilog.DONE, *(row for rows in epilog.EXITS.values() for row in rows)):
        yield text
    for rows in (*epilog.VARIABLES.values(), (epilog.CONFIG,)):
        yield from (text for _, text in rows)
    yield from ("example", "examples", "exit code", "environment", "a wrong command line")


@cache
def pieces() -> str:
    """Every string of the source, in one; what a sentence is made of stands in it."""
    texts: list[str] = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    texts += [path.read_text("utf-8") for path in (PACKAGE.parent / "themes").glob("*.yaml")]
    texts += FOREIGN
    return "\0".join(texts)


def sentences(path: str) -> Iterator[str]:
    """Every sentence that a module makes, with a word in the place of each field."""
    tree = ast.parse((PACKAGE / path).read_text("utf-8"))
    docs, inner = set[ast.AST](), set[ast.AST]()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            docs.add(body[0].value)
        if isinstance(node, ast.JoinedStr):
            inner |= {part for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if node in docs or node in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "x7" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if len(re.findall(r"[A-Za-z]{2,}", text.replace("x7", ""))) >= 3:
            yield text


def errors() -> Iterator[tuple[str, str]]:
    """Every sentence of an error that a person reads, with its file: what is raised, and what is made with a
    next step.
    """
    for path in PACKAGE.rglob("*.py"):
        file = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            made = node.exc if isinstance(node, ast.Raise) else node
            if not isinstance(made, ast.Call):
                continue
            if made is not node or any(word.arg == "next" for word in made.keywords):
                given = [*made.args, *(word.value for word in made.keywords)]
                yield from ((file, text) for one in given for text in _sentence(one))


def _sentence(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        parts = (str(p.value) if isinstance(p, ast.Constant) else "x7" for p in node.values)
        yield "".join(parts)
    else:
        yield from literals(node)


def fields(template: str) -> list[str]:
    """The names of the fields, those that only make a plural left out."""
    named = (name for _, name, _, _ in string.Formatter().parse(template) if name)
    return sorted({name for name in named if name != "s"})
