"""Loads the user's triage rules from `triage.d` in the configuration directory.

A rule with the id of a bundled rule replaces it at its position, `disable = true` removes it, and all other rules are
asked before the bundled ones. A faulty or slow rule is skipped and reported with file and line; the bundled rules are
always used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gpu_tui.parse.triage.rule import LazyPattern, Rule
from gpu_tui.parse.triage.rule_file import RuleError, RuleFile, parse_rules
from gpu_tui.parse.triage.rule_set import RuleSet, bundled, bundled_words
from gpu_tui.places import NoHome, rules_dir

MAX_RULES = 500
MAX_FILES = 100
MAX_COMPLAINTS = 20
MAX_FILE_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class Loaded:
    """The bundled rules with the user's.

    `complaints` has a sentence for each fault found on load. `slow_patterns` has one for each pattern that was disabled
    after a slow search; it grows while the program runs.
    """

    rules: RuleSet
    complaints: tuple[str, ...] = ()
    slow_patterns: list[str] = field(default_factory=list)


def load(env: Mapping[str, str] | None = None) -> Loaded:
    """The bundled rules with the user's. Cached for each directory."""
    try:
        return _load(rules_dir(os.environ if env is None else env))
    except NoHome:
        return Loaded(bundled())


def complaints(env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The faults in the user's rules. Without a `triage.d` directory no rule is loaded."""
    try:
        there = rules_dir(os.environ if env is None else env).exists()
    except (NoHome, OSError):
        return ()
    return load(env).complaints if there else ()


def read_rules(
    path: Path, complaints: list[str], slow_patterns: list[str], max_rules: int = MAX_RULES
) -> RuleFile:
    """Parse one rule file of the user.

    Appends a sentence to `complaints` for each skipped rule, and later to `slow_patterns` for each disabled pattern.
    Raises RuleError if the file cannot be read or is not valid TOML.
    """
    file = str(path)
    try:
        with path.open("rb") as opened:
            raw = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise RuleError(file, None, f"cannot be read: {error.strerror}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise RuleError(file, None, f"has more than {MAX_FILE_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RuleError(file, raw.count(b"\n", 0, error.start) + 1, "is not UTF-8 text") from error

    def compile_pattern(written: str, expanded: str) -> LazyPattern:
        from gpu_tui.parse.triage.timed import SEARCH_LIMIT_SECONDS, TimedPattern

        def on_slow(pattern: str) -> None:
            slow_patterns.append(
                f"{file}: a pattern took more than {SEARCH_LIMIT_SECONDS * 1e3:.0f} ms on a line and is disabled: "
                f"{pattern[:80]}"
            )

        return TimedPattern(written, expanded, on_slow)

    return parse_rules(
        text,
        file,
        bundled_words(),
        compile_pattern=compile_pattern,
        on_error=lambda error: complaints.append(f"{error} (the rule is left out)"),
        max_rules=max_rules,
    )


def _refuse_devices(path: Path) -> None:
    """Raise RuleError for a pipe or a device, because a read from it may never end."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # reading it fails with this error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise RuleError(str(path), None, "cannot be read: it is a pipe or a device, not a file")


@cache
def _load(directory: Path) -> Loaded:
    found: list[str] = []
    slow_patterns: list[str] = []
    own: dict[str, Rule] = {}
    disabled: dict[str, str] = {}  # id -> file and line
    try:  # hidden files are locks and backups of editors
        paths = sorted(
            path for path in directory.iterdir() if path.suffix == ".toml" and path.name[0] != "."
        )
    except FileNotFoundError:
        paths = []
    except OSError as error:
        found.append(f"{directory}: cannot be read: {error.strerror}")
        return Loaded(bundled(), tuple(found))
    if not paths:
        return Loaded(bundled())
    for path in paths[:MAX_FILES]:
        try:
            _refuse_devices(path)
            read = read_rules(path, found, slow_patterns, MAX_RULES - len(own))
        except RuleError as error:
            found.append(f"{error} (the file is left out)")
            continue
        disabled |= {name: f"{path}:{line}" for name, line in read.disabled.items()}
        for rule in read.rules:
            if (earlier := own.get(rule.id)) is not None:
                found.append(
                    f"{earlier.file}:{earlier.line}: rule {rule.id} comes again in {rule.file}:{rule.line} "
                    "(this one is left out)"
                )
            own[rule.id] = rule
        if read.excess_line:
            found.append(
                f"{path}:{read.excess_line}: more than {MAX_RULES} rules (this one and those after it are left out)"
            )
    if len(paths) > MAX_FILES:
        found.append(
            f"{paths[MAX_FILES]}: more than {MAX_FILES} files (this one and those after it are left out)"
        )
    shipped = bundled().rules
    known = {rule.id for rule in shipped}
    for name, where in sorted(disabled.items()):
        if name in own:
            found.append(
                f"{own[name].file}:{own[name].line}: rule {name} is disabled in {where} (it is left out)"
            )
        elif name not in known:
            found.append(f"{where}: there is no rule {name} to disable")
    new = [rule for name, rule in own.items() if name not in known]
    old = [own.get(rule.id, rule) for rule in shipped]
    kept = [rule for rule in (*new, *old) if rule.id not in disabled]
    if len(found) > MAX_COMPLAINTS:
        others = len(found) - MAX_COMPLAINTS
        found[MAX_COMPLAINTS:] = [f"{directory}: {others} more mistakes"]
    rules = RuleSet(kept, weak_file=shipped[-1].file)
    return Loaded(rules, tuple(found), slow_patterns)
