"""Why a pod waits, and for how long: for a node, an init container, an image, a volume."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core import units
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import (
    Container,
    end_words,
    killed_for_memory,
    restart_words,
    started,
)
from gpu_tui.parse.kube_look import Look, Seen
from gpu_tui.parse.kube_object import (
    NOTHING,
    SENTENCE,
    Object,
    clauses,
    condition,
    part,
    raw,
    rows,
    text,
    time,
)
from gpu_tui.parse.kube_reasons import IMAGE_REASONS, LONG_INIT, NO_POD, UNPLACED, WAITS, Wait


def unplaced(look: Look, row: Object) -> Seen:
    """No node takes it, in the scheduler's own counts; `row` is the condition PodScheduled."""
    reason = text(row, "reason")
    since = time(row, "lastTransitionTime") or time(look.meta, "creationTimestamp")
    message = text(row, "message", SENTENCE)
    if reason == "SchedulingGated":
        gates = (raw(row, "name") for row in rows(look.spec, "schedulingGates"))
        names = ", ".join([name for name in gates if name][:3])
        says = f"held by {names}" if names else message
        return waits_for(reason, None, WAITS[reason], since, look.now, says)
    seen = waits_for("Pending", reason or "not placed", UNPLACED, since, look.now, message)
    return replace(seen, reason=reason)


def held_by_init(look: Look) -> Seen | None:
    """The first init container that holds it up; None where all have done their work."""
    for index, one in enumerate(look.inits):
        if (one.ended and not one.failed) or (one.extra and started(one)):
            continue
        if not one.shown and not index:
            return None  # the kubelet has not seen the pod
        return replace(_init(one, f"Init:{index}/{len(look.inits)}", look), by=one)
    return None


def _init(one: Container, word: str, look: Look) -> Seen:
    """An init container that has not done its work. `word` is kubectl's count of those that have."""
    what, again = f"init container {one.name}", restart_words(one, look.now)
    reason = text(one.ended or one.waiting, "reason")
    if one.ended or reason == "CrashLoopBackOff":
        end, reason = one.ended or one.before, reason or "Error"
        kind = "host_oom" if killed_for_memory(end) else "missing_cell"
        last = end_words(one.ended, reason) if one.ended else text(end, "message", SENTENCE)
        words = clauses(last, again)
        return Seen(CellState.FAILED, f"Init:{reason}", f"{what}: {words}", kind)
    if one.runs:
        since = time(one.running, "startedAt")
        return waits_for(word, f"{what} runs", LONG_INIT, since, look.now, again)
    seen = container_waits(one, reason or "PodInitializing", look, begins_since(one, look))
    if reason and reason != "PodInitializing":
        word = f"Init:{reason}"
    return replace(seen, word=word, why=f"{what} {seen.why or 'has not begun'}")


def suspended_in(meta: Object, status: Object, now: float) -> Seen:
    """A suspended Job: held by its owner, or waiting in a queue of Kueue.

    Source of the label: kueue.sigs.k8s.io/docs/tasks/run/jobs.
    """
    queue = raw(part(meta, "labels"), "kueue.x-k8s.io/queue-name", 63)
    if queue is None:
        return Seen(CellState.PENDING, "Suspended")
    since = time(condition(status, "Suspended") or NOTHING, "lastTransitionTime")
    since = since or time(meta, "creationTimestamp")
    return waits_for("Suspended", f"waits in Kueue's queue {queue}", Wait(None), since, now, None)


def without_pod(since: float | None, now: float) -> Seen:
    """A Job whose controller has made no pod: a quota or an admission webhook refuses it, or no controller works."""
    return waits_for("Pending", "no pod yet", NO_POD, since, now, None)


def container_waits(one: Container, reason: str, look: Look, since: float | None) -> Seen:
    """A container that has not begun, by the reason that its kubelet names."""
    message = text(one.waiting, "message", SENTENCE)
    if reason in IMAGE_REASONS and one.image and one.image not in (message or ""):
        message = ": ".join(filter(None, (one.image, message)))
    wait = WAITS.get(reason, Wait(0.0) if reason.endswith("Error") else Wait(None))
    long = since is not None and look.now - since > (wait.patience or 0.0)
    seen = waits_for(reason, None, wait, since, look.now, message or (wait.says if long else None))
    return replace(seen, by=one)


def waits_for(
    word: str, what: str | None, wait: Wait, since: float | None, now: float, says: str | None
) -> Seen:
    """`what` for how long, then why; a finding once it has lasted too long."""
    lasted = None if since is None else max(0.0, now - since)
    words = what
    if lasted is not None and lasted >= 60.0:
        words = f"{what or 'waits'} for {units.words(lasted)}"
    why = ": ".join(filter(None, (words, says))) or None
    due = wait.patience is not None and (lasted or 0.0) >= wait.patience
    return Seen(CellState.PENDING, word, why, "missing_cell" if due else None, since=since)


def begins_since(one: Container, look: Look) -> float | None:
    """Since when it could have begun: its last end, the end of the init containers, or its placement."""
    if at := time(one.before, "finishedAt"):
        return at
    kinds = ("PodScheduled",) if one.init else ("PodScheduled", "Initialized")
    times = [time(before.ended, "finishedAt") for before in look.inits if before is not one]
    times += [time(condition(look.status, kind) or NOTHING, "lastTransitionTime") for kind in kinds]
    times.append(time(look.status, "startTime"))
    return max((at for at in times if at is not None), default=None)
