"""Checks whether the namespace of an empty list exists: for a missing one kubectl prints an empty list, with exit 0."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.fleet import SchedulerScope
from gpu_tui.parse import kubectl
from gpu_tui.parse.kube_object import part, raw
from gpu_tui.parse.kubectl import Refusal
from gpu_tui.transport.argv import Programs
from gpu_tui.transport.base import ChannelRefused

LIMIT, CAP = 25.0, 1 << 20
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class EmptyList:
    """The answer to the last check of the namespace, and when, by the loop's clock, to check again."""

    refusal: Refusal | None
    again_at: float


async def missing_namespace(programs: Programs, scope: SchedulerScope) -> Refusal | None:
    """The refusal if the scope's namespace does not exist; None if it does, or if this user may not read namespaces."""
    name = scope.namespace or await _usual(programs, scope)
    if name is None:
        return None
    done = await _run(programs, kubectl.get_namespace(scope, name))
    if done is None or not kubectl.is_not_found(done):
        return None
    every = await _run(programs, kubectl.get_namespaces(scope))
    return kubectl.no_namespace(scope, name, _names(every))


def _names(done: Completed | None) -> list[str]:
    """`namespace/a`, a line each; none where they may not be listed."""
    if done is None or done.exit != 0:
        return []
    words = [line.partition("/")[2] for line in done.stdout.decode("utf-8", "replace").splitlines()]
    return [word for word in words if NAME.fullmatch(word)]


async def _usual(programs: Programs, scope: SchedulerScope) -> str | None:
    """The namespace of the context; None where the kubeconfig cannot be read."""
    done = await _run(programs, kubectl.view_config(scope))
    if done is None or done.exit != 0:
        return None
    try:
        config: object = json.loads(done.stdout)
    except (ValueError, RecursionError):
        return None
    rows = config.get("contexts") if isinstance(config, dict) else None
    if not isinstance(rows, list) or len(rows) != 1:
        return None
    return raw(part(rows[0], "context"), "namespace", 63) or "default"


async def _run(programs: Programs, words: tuple[str, ...]) -> Completed | None:
    try:
        return await programs.run(words, limit=LIMIT, cap=CAP)
    except (CommandFailed, ChannelRefused):
        return None
