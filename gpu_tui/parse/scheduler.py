"""The `scheduler` of one instance in the fleet file: whose jobs are asked for, and by which program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_tui.core.fleet import SchedulerScope
from gpu_tui.parse.fields import Fields, choice_of
from gpu_tui.parse.yaml_strict import Node

KEYS: Mapping[str, tuple[str, ...]] = {
    "slurm": ("user",),
    "kubernetes": ("context", "namespace", "selector", "kubectl"),
}
WHERE = ("local", "box")

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


def parse_scheduler(node: Node | None, *, has_host: bool) -> tuple[str | None, SchedulerScope]:
    """The kind of scheduler and its scope; (None, empty) where the fleet file names none."""
    if node is None:
        return None, SchedulerScope()
    every = ("kind", *(key for keys in KEYS.values() for key in keys))
    kind = choice_of(Fields(node, '"scheduler"', every).node_of("kind"), "kind", KEYS)
    row = Fields(node, f"a {kind} scheduler", ("kind", *KEYS[kind]))
    words = {key: _word(row, key) for key in KEYS[kind] if key != "kubectl"}
    if kind == "kubernetes":
        words["kubectl"] = _where(row, has_host=has_host)
    return kind, SchedulerScope(**words)


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
