"""Inventory of the public surface: commands, keys, JSON, metrics, file keys, journal events. Derived from the program.

`python -m contract.surface`, run in tests/, rewrites surface.json.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterable
from datetime import date
from enum import Enum
from pathlib import Path

from contract.json_keys import Call, calls_in, dumped_in, keys_of, paths_in

import gpu_tui
from gpu_tui.alerts.receivers import RECEIVERS
from gpu_tui.cli import help, main
from gpu_tui.cli.epilog import CONFIG, DONE, EXITS, VARIABLES
from gpu_tui.cli.profiles import Look
from gpu_tui.core import gate, metrics, waiver
from gpu_tui.core.ladder import Rung
from gpu_tui.core.remedies import REMEDIES
from gpu_tui.core.speech import LANGUAGES
from gpu_tui.parse import config_file, profile_words, scheduler
from gpu_tui.parse.triage import rule_file
from gpu_tui.parse.triage.labels import LABELS
from gpu_tui.providers.registry import BY_BOX, PLATFORMS, SCHEDULERS
from gpu_tui.recording import tape
from gpu_tui.resources import profile_files, profiles_dir, read_profile, themes_dir
from gpu_tui.state.prometheus import FAMILIES, PREFIX
from gpu_tui.teardown import verify_worker
from gpu_tui.teardown.journal import EVENTS
from gpu_tui.teardown.reader.formats import NEEDS_TORCH, SUFFIXES, WEIGHTS
from gpu_tui.ui.keys import CONTEXTS
from gpu_tui.ui.keys import keys_of as keys_in

FILE = Path(__file__).with_name("surface.json")
SOURCES = Path(gpu_tui.__file__).parent
ANY = "*"  # an event that is chosen at run time

# By hand, because no table of the program has it: the module that writes the output of `--json` where the command
# itself does not, the module of alert messages, flags that are handled before any parser, and the alert settings
# that are channels.
PRINTED_BY = {"journal": "gpu_tui.teardown.journal"}
MESSAGE = "gpu_tui.alerts.message"
FIRST_WORDS = ("--version", "--help", "-h")
CHANNELS = ("bell", "desktop", "command", "webhook")


def surface() -> dict[str, object]:
    """The whole inventory."""
    return {
        "alerts": _alerts(),
        "checkpoint readers": _readers(),
        "commands": _commands(),
        "config keys": _file_keys("the config file", ("config_file", "threshold")),
        "config values": _choices("config_file"),
        "enumerations": _enumerations(),
        "environment": _environment(),
        "exit codes": _exit_codes(),
        "findings": sorted(REMEDIES),
        "fleet file keys": _file_keys(
            "the fleet file", ("fleet_file", "provider_access", "scheduler")
        ),
        "fleet file values": {
            "scheduler": {kind: sorted(keys) for kind, keys in scheduler.KEYS.items()},
            **_choices("fleet_file"),
            **_choices("scheduler"),
        },
        "gate": _gate(),
        "help pages": _help_pages(),
        "journal events": _journal(),
        "json": _json(),
        "keys": _keys(),
        "platforms": _platforms(),
        "profile keys": _profile_keys(),
        "prometheus": _prometheus(),
        "readings": sorted(m.name for m in vars(metrics).values() if isinstance(m, metrics.Metric)),
        "recording": {"first key": tape.MAGIC, "format": tape.FORMAT},
        "themes": sorted(file.stem for file in themes_dir().glob("*.yaml")),
        "triage labels": list(LABELS),
        "triage rule keys": sorted(rule_file.KEYS),
    }


def text() -> str:
    """The inventory as JSON, one fact per line, so that a diff is readable."""
    return json.dumps(surface(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _commands() -> dict[str, object]:
    found: dict[str, object] = {
        name: _parser(main.parser_of(name)) for name in (main.COCKPIT, *main.COMMANDS)
    }
    return {**found, "before any command": sorted({*main.VALUE_FLAGS, *FIRST_WORDS})}


def _parser(parser: argparse.ArgumentParser) -> dict[str, object]:
    """Options and positionals by name, with their values."""
    options: dict[str, object] = {}
    positionals: dict[str, object] = {}
    actions: dict[str, object] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            actions = {name: _parser(one) for name, one in action.choices.items()}
        elif action.option_strings:
            options[" ".join(sorted(action.option_strings))] = _taken(action)
        else:
            positionals[action.dest] = _taken(action)
    found: dict[str, object] = {"options": options, "positionals": positionals}
    return {**found, "actions": actions} if actions else found


def _taken(action: argparse.Action) -> str:
    """The values of an option: `FILE`, `{json|text}`, `HOST...`, `N = 8` with a default, empty for a flag."""
    if action.nargs == 0:
        return ""
    # A custom class of choices hides internal words: use its plain list only.
    words = action.choices if isinstance(action.choices, list | tuple) else ()
    word = f"{{{'|'.join(map(str, words))}}}" if words else str(action.metavar or action.dest)
    several = isinstance(action, argparse._AppendAction) or action.nargs in (
        "*",
        "+",
        "A...",
        "...",
    )
    word += "..." if several else "?" if action.nargs == "?" else ""
    usual = isinstance(action.default, str | int | float) and action.default != argparse.SUPPRESS
    return f"{word} = {action.default}" if usual else word


def _exit_codes() -> dict[str, str]:
    """Codes from `--help` and from the page `exits`, and those that every command can return."""
    page = (help.PAGES / "exits.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    listed = {row[0].strip("`"): row[1:] for row in rows}
    always = (main.USAGE, main.BUG, main.INTERRUPTED, main.UNHEARD)
    found = {}
    for name in (main.COCKPIT, *main.COMMANDS):
        by_help = {int(code) for code, _ in EXITS.get(name, DONE)}
        by_page = {code for code, words in enumerate(listed.get(name, ())) if words}
        found[name] = " ".join(map(str, sorted(by_help | by_page | {*always})))
    return found


def _environment() -> list[str]:
    """Variables named in `--help`, and every GPU_TUI_ variable named in the sources."""
    listed = {
        word.strip()
        for rows in VARIABLES.values()
        for words, _ in rows
        for word in words.split(",")
    }
    own = re.compile(r"\bGPU_TUI_[A-Z_]+\b")
    files = [*SOURCES.rglob("*.py"), *SOURCES.rglob("*.md")]
    named = {word for file in files for word in own.findall(file.read_text("utf-8"))}
    return sorted({*listed, *named, CONFIG[0]})


def _keys() -> dict[str, object]:
    return {
        context: {
            f"{row.key} ({row.id})": "acts" if row.dangerous else "" for row in keys_in(context)
        }
        for context in CONTEXTS
    }


def _json() -> dict[str, list[str]]:
    """Key paths by command, over all states that the code can print; also alert messages and the error object."""
    found: dict[str, frozenset[str]] = {"an error": dumped_in("gpu_tui.cli.main")}
    for name in main.COMMANDS:
        flags = main.parser_of(name)._option_string_actions
        if "--json" in flags:
            found[name] = dumped_in(PRINTED_BY.get(name, f"gpu_tui.cli.{name}"))
    rows = [
        Look(name, file, date.max).row() for name, file in profile_files(profiles_dir()).items()
    ]
    found["profiles"] |= paths_in(rows) | frozenset().union(*map(paths_in, rows))
    found["triage --rules"] = dumped_in("gpu_tui.cli.triage_rules")
    items = keys_of(MESSAGE, "item_of") | keys_of(MESSAGE, "first_look") | keys_of(MESSAGE, "trial")
    found["an alert"] = keys_of(MESSAGE, "Message.json") | {f"items[].{path}" for path in items}
    empty = sorted(name for name, paths in found.items() if not paths)
    assert not empty, f"no key was found in the JSON of {empty}"
    return {name: sorted(paths) for name, paths in found.items()}


def _prometheus() -> dict[str, object]:
    labels: dict[str, set[str]] = {name: set() for name in FAMILIES}
    for call in calls_in("gpu_tui.state.prometheus"):
        if call.word == "samples.add":
            for family in call.words(0):
                labels[family] |= call.keywords()
    return {
        PREFIX + name: {"type": kind, "labels": sorted(labels[name])}
        for name, (kind, _) in FAMILIES.items()
    }


def _journal() -> dict[str, list[str]]:
    """The keys of `detail` by event; those under `*` belong to events that are chosen at run time."""
    found: dict[str, set[str]] = {event: set() for event in (*EVENTS, ANY)}
    rooms = pkgutil.iter_modules([str(SOURCES / "teardown")])
    for module in ("cli.journal", *(f"teardown.{one.name}" for one in rooms if not one.ispkg)):
        for call in calls_in(f"gpu_tui.{module}"):
            at = _event_at(call)
            if at is None or len(call.node.args) <= at:
                continue
            events = call.words(at)
            if len(events) == 1 and events[0] in found:  # several: this call forwards another one's
                found[events[0]] |= call.keywords()
    return {event: sorted(keys) for event, keys in found.items()}


def _event_at(call: Call) -> int | None:
    """The argument that is the event; None for a call that writes no record. A journal's first one is the instance."""
    owner, _, last = call.word.rpartition(".")
    args = call.node.args
    if last == "to_thread" and args and ast.unparse(args[0]) == "journal.write":
        return 2
    if last not in ("write", "note"):
        return None
    return 1 if owner.endswith("journal") else 0


def _file_keys(root: str, modules: Iterable[str]) -> list[str]:
    """Key paths of a file of the user: the keys that its reader accepts."""
    groups: dict[str, set[str]] = {}
    for module in modules:
        for call in calls_in(f"gpu_tui.parse.{module}"):
            if call.word not in ("Fields", "self._group"):
                continue
            label, known = call.words(-2)[0].strip('"'), call.value(-1)
            if isinstance(known, Iterable) and not isinstance(known, str):
                groups.setdefault(label, set()).update(map(str, known))
    found: set[str] = set()
    left = [("", root)]
    while left:
        prefix, label = left.pop()
        for key in groups.get(label, ()):
            found.add(prefix + key)
            if key == "instances":  # a list; the label of its items is another word
                left.append((f"{prefix}{key}[].", "an instance"))
            elif key in groups:
                left.append((f"{prefix}{key}.", key))
    return sorted(found)


def _choices(module: str) -> dict[str, list[str]]:
    """Closed sets of values, by key."""
    found: dict[str, list[str]] = {}
    for call in calls_in(f"gpu_tui.parse.{module}"):
        last = call.word.rpartition(".")[2]
        if last in ("choice", "choice_of"):
            key, words = call.words(-2)[0], call.value(-1)
            if isinstance(words, Iterable) and not isinstance(words, str):
                found[key] = sorted(map(str, words))
    return found


def _profile_keys() -> dict[str, object]:
    """The schema of a profile: its keys and closed sets of values."""
    return {
        name.lower(): value if isinstance(value, dict) else sorted(map(str, value))
        for name, value in vars(profile_words).items()
        if name.isupper() and isinstance(value, tuple | dict)
    }


def _gate() -> dict[str, object]:
    climbs = {
        kind: {
            f"{state.value}, {event.__name__}": f"{content.value}, else {refused.value}"
            for (state, event), (content, refused) in rows.items()
        }
        for kind, rows in gate.TRANSITIONS.items()
    }
    return {
        "outcomes": sorted(gate.OUTCOMES),
        "rechecks": sorted(gate.RECHECKS),
        "rungs": {str(rung.value): rung.name.lower() for rung in Rung},
        "transitions": climbs,
        "waivers": sorted(waiver.LABELS),
    }


def _enumerations() -> dict[str, list[str]]:
    """All enumerations of core: verdicts, severities, cell states, gate states."""
    found = {}
    for one in pkgutil.iter_modules([str(SOURCES / "core")]):
        module = importlib.import_module(f"gpu_tui.core.{one.name}")
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if own and isinstance(value, type) and issubclass(value, Enum):
                found[name] = [str(member.value) for member in value]
    return found


def _readers() -> dict[str, object]:
    """Kinds that the child process loads, and the suffixes of each."""
    tree = ast.parse(inspect.getsource(verify_worker))
    cases = [node.pattern for node in ast.walk(tree) if isinstance(node, ast.match_case)]
    kinds = {
        one.value.value
        for one in cases
        if isinstance(one, ast.MatchValue) and isinstance(one.value, ast.Constant)
    }
    return {
        "kinds": sorted(kinds),
        "suffixes": dict(SUFFIXES),
        "need torch": sorted(NEEDS_TORCH),
        "hold weights": sorted(WEIGHTS),
    }


def _alerts() -> dict[str, object]:
    return {
        "channels": sorted(set(CHANNELS) & set(config_file.ALERT_KEYS)),
        "receivers": {name: sorted(one.hosts) for name, one in RECEIVERS.items()},
    }


def _platforms() -> dict[str, object]:
    """Bundled profiles: tiers, clocks, verbs, and whether an API is implemented."""
    found: dict[str, object] = {}
    for name, file in profile_files(profiles_dir()).items():
        profile = read_profile(file)
        found[name] = {
            "kind": profile.kind,
            "account listed": name in PLATFORMS,
            "api": name in PLATFORMS or name in SCHEDULERS,
            "from the box": name in BY_BOX,
            "clocks": sorted(clock.id for clock in profile.clocks),
            "tiers": sorted(tier.id for tier in profile.storage),
            "verbs": sorted(
                f"{row.verb}: {row.effect} by {row.via}, the meter {row.meter}"
                for row in profile.teardown
            ),
        }
    return found


def _help_pages() -> dict[str, object]:
    pages = {
        language: sorted(
            file.stem
            for file in (help.PAGES / language if language != LANGUAGES[0] else help.PAGES).glob(
                "*.md"
            )
        )
        for language in LANGUAGES
    }
    return {"topics": sorted(help.TOPICS), "other names": dict(help.ALSO), "files": pages}


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
