"""Parses TOML files of triage rules; errors name file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_tui.core.findings import Severity
from gpu_tui.parse.triage.labels import LABELS
from gpu_tui.parse.triage.rule import LazyPattern, Rule, Sample

KEYS = frozenset(
    [
        "id",
        "label",
        "severity",
        "literals",
        "pattern",
        "also",
        "unless",
        "matches",
        "rejects",
        "document",
        "disable",
    ]
)
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_WORD_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"%\{([A-Za-z_]\w*)\}")
_HEAD = re.compile(r"^[ \t]*\[\[\s*rule\s*\]\]", re.MULTILINE)
_AT = re.compile(r"\(at line (\d+), column \d+\)")
MIN_LITERAL_LENGTH = 2  # characters
MAX_PATTERN_LENGTH = 8_192  # characters, with words expanded


class RuleError(Exception):
    """A rule or a rule file that cannot be used. `line` is None if the error concerns the whole file."""

    def __init__(self, file: str, line: int | None, why: str) -> None:
        super().__init__(f"{file}:{line}: {why}" if line is not None else f"{file}: {why}")
        self.file, self.line, self.why = file, line, why


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules of one file in their order, its words, and the line of each id that it disables.

    `excess_line` is the line of the first rule after the limit, 0 if there is none.
    """

    rules: tuple[Rule, ...]
    words: Mapping[str, str]
    disabled: Mapping[str, int]
    excess_line: int = 0


# Compiles a pattern from its text as written and its text with words expanded; raises ValueError.
Compile = Callable[[str, str], LazyPattern]


def parse_rules(
    text: str,
    file: str,
    words: Mapping[str, str] | None = None,
    *,
    compile_pattern: Compile = LazyPattern,
    on_error: Callable[[RuleError], None] | None = None,
    max_rules: int | None = None,
) -> RuleFile:
    """Parse the text of a rule file. `words` come from earlier files; a pattern uses one as `%{NAME}`.

    Rules after the first `max_rules` are not compiled.

    Raises RuleError with the line of the faulty rule. With `on_error`, faulty rules are skipped and their errors are
    passed to it; a file that is not valid TOML still raises RuleError.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))  # an error without a position is at the end of the file
        line = int(at[1]) if at else len(text.splitlines())
        raise RuleError(file, line, str(error)) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists
        raise RuleError(file, None, f"is no usable TOML: {error}") from error
    unknown = sorted(data.keys() - {"rule", "words"})
    if unknown:
        raise RuleError(
            file, None, f"unknown table {unknown[0]!r}: a file has [[rule]] and [words]"
        )
    known = dict(words or {})
    for name, value in _table(data.get("words", {}), file, "words").items():
        at = re.search(rf"^[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*=", text, re.MULTILINE)
        where = text.count("\n", 0, at.start()) + 1 if at else None
        if not _WORD_NAME.fullmatch(name):
            raise RuleError(file, where, f"word {name!r}: its name has letters, digits and `_`")
        if not isinstance(value, str):
            raise RuleError(file, where, f"word {name} is not a string")
        known[name] = _expanded(value, known, file, where)
    lines = [text.count("\n", 0, head.start()) + 1 for head in _HEAD.finditer(text)]
    rows = data.get("rule", [])
    if not isinstance(rows, list):
        raise RuleError(file, None, "[rule] must be [[rule]], one for each rule")
    found: list[Rule] = []
    disabled: dict[str, int] = {}
    tried = excess_line = 0
    for index, row in enumerate(rows):
        line = lines[index] if index < len(lines) else 1
        table = _table(row, file, "rule")
        try:
            if _disables(table, file, line):
                disabled[_id(table, file, line)] = line
            elif max_rules is not None and tried >= max_rules:
                excess_line = excess_line or line
            else:
                tried += 1
                found.append(_rule(table, known, file, line, compile_pattern))
        except RuleError as error:
            if on_error is None:
                raise
            on_error(error)
    return RuleFile(tuple(found), known, disabled, excess_line)


def _table(value: object, file: str, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise RuleError(file, None, f"{name} is not a table")
    return value


def _id(row: dict[str, object], file: str, line: int) -> str:
    found = row.get("id")
    if not isinstance(found, str) or not _ID.fullmatch(found):
        raise RuleError(file, line, f"id {found!r}: lower-case letters, digits, `.`, `_` and `-`")
    return found


def _disables(row: dict[str, object], file: str, line: int) -> bool:
    found = row.get("disable", False)
    if not isinstance(found, bool):
        raise RuleError(file, line, "disable is true or false, without quotes")
    return found


def _rule(
    row: dict[str, object], words: Mapping[str, str], file: str, line: int, compile_pattern: Compile
) -> Rule:
    name = _id(row, file, line)
    if unknown := sorted(row.keys() - KEYS):
        raise RuleError(file, line, f"unknown key {unknown[0]!r}")
    label, severity = row.get("label"), row.get("severity")
    if label not in LABELS:
        raise RuleError(file, line, f"label {label!r} is none of {', '.join(LABELS)}")
    if severity not in [one.value for one in Severity]:
        raise RuleError(file, line, f"severity {severity!r} is none of fatal, serious, warn, none")

    def pattern(value: object, key: str) -> LazyPattern:
        if not isinstance(value, str) or not value:
            raise RuleError(file, line, f"{key} is not a pattern")
        expanded = _expanded(value, words, file, line)
        try:
            return compile_pattern(value, expanded)
        except ValueError as error:
            raise RuleError(file, line, f"{key}: {error}") from error

    literals = _strings(row.get("literals", []), file, line, "literals")
    for literal in literals:
        if len(literal) < MIN_LITERAL_LENGTH or any(c.isdigit() for c in literal):
            raise RuleError(file, line, f"literal {literal!r}: two characters at least, no digit")
        if "\n" in literal[:-1]:
            raise RuleError(
                file, line, f"literal {literal!r}: a line break inside occurs in no line"
            )
    if not literals and severity in ("fatal", "serious"):
        raise RuleError(
            file, line, "literals are missing: an alarm needs one that must occur in the line"
        )
    also, document = row.get("also"), row.get("document")
    if document is not None and not isinstance(document, str):
        raise RuleError(file, line, "document is not a string")
    return Rule(
        id=name,
        label=str(label),
        severity=Severity(severity),
        literals=tuple(literal.lower() for literal in literals),
        pattern=pattern(row.get("pattern"), "pattern"),
        also=None if also is None else pattern(also, "also"),
        unless=tuple(
            pattern(one, "unless") for one in _strings(row.get("unless", []), file, line, "unless")
        ),
        matches=_samples(row.get("matches", []), file, line, "matches"),
        rejects=_samples(row.get("rejects", []), file, line, "rejects"),
        document=document,
        file=file,
        line=line,
    )


def _strings(value: object, file: str, line: int, key: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise RuleError(file, line, f"{key} is not a list of strings")
    return value


def _samples(value: object, file: str, line: int, key: str) -> tuple[Sample, ...]:
    if not isinstance(value, list):
        raise RuleError(file, line, f"{key} is not a list")
    found = []
    for one in value:
        if not isinstance(one, dict) or one.keys() != {"line", "source"}:
            raise RuleError(file, line, f"{key} holds {{ line = '…', source = '…' }}")
        if not all(isinstance(part, str) for part in one.values()):
            raise RuleError(file, line, "the line and the source of a sample are strings")
        found.append(Sample(one["line"], one["source"]))
    return tuple(found)


def _expanded(text: str, words: Mapping[str, str], file: str, line: int | None) -> str:
    size = len(text)

    def check() -> None:
        if size > MAX_PATTERN_LENGTH:
            why = f"a pattern or a word has more than {MAX_PATTERN_LENGTH} characters, words in it counted"
            raise RuleError(file, line, why)

    def word(found: re.Match[str]) -> str:
        nonlocal size
        if found[1] not in words:
            raise RuleError(file, line, f"word %{{{found[1]}}} is not defined in [words]")
        size += len(words[found[1]])
        check()
        return f"(?:{words[found[1]]})"

    check()
    return _WORD.sub(word, text)
