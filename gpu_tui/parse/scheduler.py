"""The `scheduler` of one instance in the fleet file: whose jobs are asked for, by which program, and which of them are the
sweep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from gpu_tui.core.fleet import SchedulerScope, Since
from gpu_tui.parse.duration import UNITS, DurationError, parse_duration
from gpu_tui.parse.fields import Fields, choice_of, text_of
from gpu_tui.parse.yaml_strict import Node

KEYS: Mapping[str, tuple[str, ...]] = {
    "slurm": ("user", "name", "partition", "since", "array"),
    "kubernetes": ("context", "namespace", "selector", "kubectl", "vitals"),
}
WHERE = ("local", "box")
VITALS = ("top", "exec")
LISTED_MOST = 20  # globs, partitions or arrays of one filter

# What a word may be. Each becomes one argument of a program, never a part of a shell line.
_WORDS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "user": (re.compile(r"[^\s-]\S{0,127}"), "Write a login name."),
    "context": (re.compile(r"[^\s-][^\r\n]{0,252}"), "kubectl config get-contexts lists them."),
    "namespace": (
        re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"),
        "Lower case letters, digits and -, as kubectl get namespaces shows it.",
    ),
    "selector": (
        re.compile(r"[A-Za-z0-9!][A-Za-z0-9._/=!,() -]{0,500}"),
        'A label selector like "sweep=ablation,owner=me".',
    ),
}

# One item of a list, or a text alone.
_LISTS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "name": (
        re.compile(r"[^\r\n]{1,200}"),
        'A glob of job names like "sweep-*", or a list of them.',
    ),
    "partition": (re.compile(r"[\w.-]{1,64}"), "A partition as sinfo lists it, or a list of them."),
    "array": (
        re.compile(r"[1-9]\d{0,9}"),
        "The job id of an array, as sbatch printed it, or a list of them.",
    ),
}
_AGO = re.compile(r"now-(\d{1,9})(second|minute|hour|day|week)s?", re.ASCII)  # as sacct -S takes it
_SINCE_HINT = 'Write a duration ("2d"), or a date in quotes: "2026-11-25", "2026-11-25 14:00".'


def parse_scheduler(node: Node | None, *, has_host: bool) -> tuple[str | None, SchedulerScope]:
    """The kind of scheduler and its scope; (None, empty) where the fleet file names none."""
    if node is None:
        return None, SchedulerScope()
    every = ("kind", *(key for keys in KEYS.values() for key in keys))
    kind = choice_of(Fields(node, '"scheduler"', every).node_of("kind"), "kind", KEYS)
    row = Fields(node, f"a {kind} scheduler", ("kind", *KEYS[kind]))
    if kind == "kubernetes":
        return kind, SchedulerScope(
            context=_word(row, "context"),
            namespace=_word(row, "namespace"),
            selector=_word(row, "selector"),
            kubectl=_where(row, has_host=has_host),
            vitals=row.choice("vitals", VITALS) if "vitals" in row else None,
        )
    return kind, SchedulerScope(
        user=_word(row, "user"),
        name=_list(row, "name"),
        partition=_list(row, "partition"),
        since=_since(row),
        array=_list(row, "array"),
    )


def _list(row: Fields, key: str) -> tuple[str, ...]:
    """The items of a list, or of a single value; empty where the key is missing."""
    if key not in row:
        return ()
    node, (shape, hint) = row.node_of(key), _LISTS[key]
    items = node.value if isinstance(node.value, tuple) else (node,)
    if not 0 < len(items) <= LISTED_MOST:
        raise node.error(f'"{key}" must name 1 to {LISTED_MOST} of them', hint)
    return tuple(_item(item, key, shape, hint) for item in items)


def _item(node: Node, key: str, shape: re.Pattern[str], hint: str) -> str:
    number = isinstance(node.value, int) and not isinstance(node.value, bool)
    text = str(node.value) if number and key == "array" else text_of(node, key)
    if not shape.fullmatch(text):
        raise node.error(f"{node.shown} cannot be in {key}", hint)
    return text


def _since(row: Fields) -> Since | None:
    """`2d`, `now-12hours`, a date, or a date and a time; without a zone they are local times of this machine."""
    if "since" not in row:
        return None
    node = row.node_of("since")
    if not isinstance(node.value, str):
        raise node.error(f"{node.shown} cannot be since", _SINCE_HINT)
    text = text_of(node, "since")
    if ago := _AGO.fullmatch(text):
        return Since(text, ago=int(ago[1]) * UNITS[ago[2][0]])
    try:
        return Since(text, ago=parse_duration(text))
    except DurationError:
        pass
    try:
        return Since(text, at=datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise node.error(f"{node.shown} cannot be since", _SINCE_HINT) from None


def _word(row: Fields, key: str) -> str | None:
    word = row.maybe_text(key)
    shape, hint = _WORDS[key]
    if word is not None and not shape.fullmatch(word):
        raise row.place(key).error(f"{row.place(key).shown} cannot be a {key}", hint)
    return word


def _where(row: Fields, *, has_host: bool) -> str:
    """Whose kubectl: the box's where there is a box and nothing else is said."""
    if "kubectl" not in row:
        return "box" if has_host else "local"
    where = row.choice("kubectl", WHERE)
    if where == "box" and not has_host:
        raise row.place("kubectl").error(
            "kubectl: box needs a host to run it on", 'Add "host: ...", or write kubectl: local.'
        )
    return where
