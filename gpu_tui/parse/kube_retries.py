"""A Job that has made another pod after one failed: how the try before ended, and whether that is got over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_tui.core import units
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import got_over
from gpu_tui.parse.kube_object import clauses
from gpu_tui.parse.kube_pod import Pod


def with_try_before(pod: Pod, pods: Iterable[Pod], now: float) -> Pod:
    """A pod that is not over, with the end of the newest pod of its Job that failed before it was made."""
    before = None if pod.over else _try_before(pod, pods)
    if before is None:
        return pod
    finding = pod.finding or _finding(before, pod, now)
    why = clauses(pod.why, _words(before, now))
    return replace(pod, why=why, finding=finding, retried=True)


def _try_before(pod: Pod, pods: Iterable[Pod]) -> Pod | None:
    made = pod.created_at
    failed = [
        one
        for one in pods
        if one.state is CellState.FAILED
        and one.over
        and one.uid != pod.uid
        and (made is None or one.created_at is None or one.created_at <= made)
    ]
    return max(failed, key=lambda one: one.finished_at or one.created_at or 0.0, default=None)


def _words(before: Pod, now: float) -> str:
    """`the pod before ended 33 min ago: OOMKilled, exit 137`."""
    ago = ""
    if before.finished_at is not None:
        ago = f" {units.words(max(0.0, now - before.finished_at))} ago"
    word = None if before.word in ("Error", "Failed") and before.why else before.word
    return f"the pod before ended{ago}: {', '.join(filter(None, (word, before.why)))}"


def _finding(before: Pod, pod: Pod, now: float) -> str | None:
    """The kind that the end of the try before is; None once the present one has gone well beyond it."""
    since = pod.started_at if pod.live else None
    if got_over(since, before.started_at, before.finished_at, now):
        return None
    return before.finding or "crashed"
