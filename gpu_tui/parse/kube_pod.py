"""One pod of a Kubernetes cluster: what its phase, its conditions and the containers that train say together.

The phase alone lies: a container that crashes again and again is `Running`, one whose image cannot be
pulled is `Pending`, and a sidecar keeps a pod `Running` whose training has ended. A state that cannot be
known is "cannot tell", never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpu_tui.core import units
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import (
    END_LOST,
    Container,
    ContainerLog,
    containers_of,
    end_words,
    judged_by,
    killed_for_memory,
)
from gpu_tui.parse.kube_judged import worst_of
from gpu_tui.parse.kube_look import Look, Seen, phase_of
from gpu_tui.parse.kube_object import (
    NOTHING,
    SENTENCE,
    Object,
    clauses,
    condition,
    flag,
    number,
    part,
    raw,
    rows,
    text,
    time,
)
from gpu_tui.parse.kube_reasons import UNPLACED, UNTAKEN, Cause, cause_of_failure, disruption
from gpu_tui.parse.kube_waiting import held_by_init, unplaced, waits_for

INDEX = "batch.kubernetes.io/job-completion-index"
OVERDUE = 60.0  # seconds after a pod should have been gone: something keeps it
LONG_OVERDUE = 300.0  # from then on it is a finding
BEGUN = frozenset(CellState) - {CellState.PENDING}
LOST_NODE = frozenset({"NodeLost", "NodeAffinity"})


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that made a pod or a job."""

    kind: str
    name: str
    uid: str | None


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod. Times are epoch seconds by the cluster's clock; `container` is the main one.

    `word` is what kubectl shows as its status. `logs` are those that may be there to read, of the containers
    that its state is judged by: one mostly, two where two hold GPUs. `over`: its phase is Succeeded or Failed,
    so no container of it runs or will. `retried`: it does the work of one that failed. `finding` is the kind of
    finding that its state is, None where it is none or a plain crash.
    """

    name: str
    uid: str
    state: CellState
    word: str
    why: str | None
    namespace: str | None = None
    owner: Owner | None = None
    index: int | None = None
    container: str | None = None
    node: str | None = None
    created_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    ends_by: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0
    preempted: bool = False
    logs: tuple[ContainerLog, ...] = ()
    over: bool = False
    finding: str | None = None
    retried: bool = False
    gpus: int | None = None  # that its containers ask for
    reason: str | None = None  # the code of why it waits, where that is not its word
    waits_since: float | None = None
    undecided: tuple[str, ...] = ()  # running containers of which any may be the one that trains

    @property
    def again(self) -> bool:
        """Its main container runs after a restart, or after another pod failed."""
        return self.live and (self.restarts > 0 or self.retried)

    @property
    def live(self) -> bool:
        """Its main container runs."""
        return self.state is CellState.RUNNING


def read_pod(item: Object, now: float, trains: Mapping[str, str] | None = None) -> Pod | None:
    """The pod in `item`; None where it has not even a name. `now` judges what is long overdue.

    `trains`: the uid of a pod -> the container in which a trainer was seen.
    """
    meta, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status")
    name = raw(meta, "name")
    if name is None:
        return None
    owner = owner_of(meta)
    containers = containers_of(spec, status)
    uid = raw(meta, "uid", 64) or ""
    kind = owner.kind if owner else None
    judges = judged_by(containers, part(meta, "annotations"), kind, (trains or {}).get(uid))
    inits = containers_of(spec, status, init=True)
    look = Look(meta, spec, status, inits, containers, judges, now)
    seen = _judge(look)
    by = seen.by or next(iter(judges.containers), None)
    said, running = NOTHING, NOTHING
    if by is not None:
        said = by.ended or (by.before if seen.word == "CrashLoopBackOff" else NOTHING)
        running = by.running
    exit_code = number(said, "exitCode")
    begun, limit = time(status, "startTime"), number(spec, "activeDeadlineSeconds")
    waits = seen.state in (CellState.PENDING, CellState.RUNNING, CellState.CANNOT_TELL)
    return Pod(
        name=name,
        uid=uid,
        namespace=raw(meta, "namespace"),
        owner=owner,
        index=_index(meta),
        state=seen.state,
        word=seen.word,
        why=seen.why,
        container=judges.containers[0].name if judges.known and judges.containers else None,
        node=text(spec, "nodeName"),
        created_at=time(meta, "creationTimestamp"),
        started_at=time(running or said, "startedAt") if seen.state in BEGUN else None,
        finished_at=None if waits else _end(status, said),  # for now: it may be tried again
        ends_by=begun + limit if begun is not None and limit is not None and waits else None,
        exit_code=None if waits else exit_code,
        signal=None if waits else _signal(said, exit_code),
        restarts=sum(one.restarts for one in _counted(look, seen)),
        preempted=seen.finding == "preempted",
        logs=_logs(look, seen),
        over=phase_of(status) in ("Succeeded", "Failed"),
        finding=seen.finding,
        gpus=sum(one.devices for one in containers) or None,
        reason=seen.reason,
        waits_since=seen.since,
        undecided=() if judges.known else tuple(one.name for one in judges.containers if one.runs),
    )


def owner_of(meta: Object) -> Owner | None:
    """The object that controls this one."""
    for row in rows(meta, "ownerReferences"):
        kind, name = text(row, "kind"), raw(row, "name")
        if flag(row, "controller") and kind and name:
            return Owner(kind, name, raw(row, "uid", 64))
    return None


def _counted(look: Look, seen: Seen) -> list[Container]:
    """The containers that count, and the one that its state is judged by."""
    found = list(look.judges.containers)
    if seen.by is not None and seen.by not in found:
        found.append(seen.by)
    return found


def _logs(look: Look, seen: Seen) -> tuple[ContainerLog, ...]:
    return tuple(log for one in _counted(look, seen) if (log := one.log()))


# --- the whole pod ------------------------------------------------------------------------------------


def _judge(look: Look) -> Seen:
    """The first answer that can be given."""
    status = look.status
    phase, reason = phase_of(status), text(status, "reason")
    if phase == "Succeeded":
        return _succeeded(look)
    if phase == "Failed":
        return _failed(look)
    if reason in LOST_NODE or phase == "Unknown":
        why = "its node does not answer"
        return Seen(CellState.CANNOT_TELL, reason or "Unknown", why, "network")
    gone_by = time(look.meta, "deletionTimestamp")
    if gone_by is not None:
        return _terminating(look, gone_by)
    if phase == "Pending":
        return _pending(look)
    if phase == "Running":
        return _running(look)
    return Seen(
        CellState.CANNOT_TELL, phase or "no phase", "a phase that is not known" if phase else None
    )


def _succeeded(look: Look) -> Seen:
    """Every container ended with 0, which a killed one can do as well."""
    seen = worst_of(replace(look, judges=replace(look.judges, known=True)))
    if seen.state is CellState.SUSPICIOUS:
        return seen
    return _taken(look, seen.by) or Seen(CellState.FINISHED, "Completed", by=seen.by)


def _taken(look: Look, by: Container | None) -> Seen | None:
    """The end of a container that the platform or a delete caused; None if it ended before that."""
    over = time(by.ended, "finishedAt") if by else None
    if over is None or by is None:
        return None
    words = end_words(by.ended)
    if (found := disruption(look.status)) is not None:
        word, cause, row = found
        at = time(row, "lastTransitionTime")
        if at is not None and at <= over:
            why = ", ".join(filter(None, (cause.says, words)))
            state = CellState.SKIPPED if cause.own else CellState.SUSPICIOUS
            return Seen(state, word, why or None, cause.kind, by)
    asked = _deleted_at(look.meta)
    if asked is not None and over > asked:
        return Seen(CellState.SKIPPED, "Deleted", f"it was deleted: {words}", by=by)
    return None


def _deleted_at(meta: Object) -> float | None:
    """When the delete was requested; deletionTimestamp is when the pod should be gone."""
    gone_by, grace = time(meta, "deletionTimestamp"), number(meta, "deletionGracePeriodSeconds")
    return None if gone_by is None else gone_by - max(0, grace or 0)


def _failed(look: Look) -> Seen:
    """The phase Failed: by the pod's own words, otherwise by the container that failed."""
    status = look.status
    by = _to_blame(look)
    ended = by.ended if by else NOTHING
    cause = cause_of_failure(look.spec, status, began=look.began)
    if cause is None and text(ended, "reason") in END_LOST:
        cause = Cause("preempted", "its node was restarted or is gone")
    target = disruption(status)
    init = by is not None and by.init
    word = text(status, "reason") or ("Init:" if init else "") + (text(ended, "reason") or "Failed")
    if cause is None and killed_for_memory(ended):
        kind: str | None = "host_oom"
    else:
        kind = cause.kind if cause else None
    deleted = _taken(look, by) if cause is None else None
    if deleted is not None and deleted.word == "Deleted":
        return deleted
    says = cause.says if cause else None
    parts = (
        ": ".join(filter(None, (target[0], says))) if target else says,
        text(status, "message", SENTENCE),
        _named(by, look, end_words(ended, word)),
    )
    words = clauses(*(part for part in parts if part != word))
    state = CellState.SKIPPED if cause and cause.own else CellState.FAILED
    return Seen(state, word, words, kind, by)


def _to_blame(look: Look) -> Container | None:
    """The container whose end failed the pod: one that counts, then any other, then an init container."""
    for group in (look.judges.containers, look.containers, look.inits):
        if found := next((one for one in group if one.failed), None):
            return found
    return next((one for one in look.judges.containers if one.ended), None)


def _named(by: Container | None, look: Look, words: str | None) -> str | None:
    """The container's name before its words, where the words alone would be taken for another one's."""
    if by is None or words is None:
        return words
    if by.init:
        return f"init container {by.name}: {words}"
    alone = len(look.judges.containers) == 1 and by in look.judges.containers
    return words if alone else f"{by.name}: {words}"


def _terminating(look: Look, gone_by: float) -> Seen:
    """Deleted, and not gone yet."""
    seen, late = worst_of(look), look.now - gone_by
    ended = [bool(one.ended) for one in look.judges.containers]
    found = disruption(look.status)
    why = None if found is None else ": ".join(filter(None, (found[0], found[1].says)))
    kind = None if found is None else found[1].kind
    if late > OVERDUE and not (ended and all(ended)):
        words = f"it should have been gone {units.words(late)} ago: its node does not answer, or its processes do not end"
        kind = "network" if late > LONG_OVERDUE else kind
        return Seen(CellState.CANNOT_TELL, "Terminating", clauses(why, words), kind, seen.by)
    if late > OVERDUE:
        kept = ", ".join(_finalizers(look.meta)) or "its node"
        words = f"its containers have ended, and {kept} keeps it for {units.words(late)}"
        kind = "missing_cell" if late > LONG_OVERDUE else kind
        return Seen(CellState.CANNOT_TELL, "Terminating", clauses(why, words), kind, seen.by)
    why = why or "it is being deleted"
    state = CellState.RUNNING if seen.by and seen.by.runs else CellState.CANNOT_TELL
    return Seen(state, "Terminating", why, kind, seen.by)


def _finalizers(meta: Object) -> list[str]:
    """The finalizers that keep it, without the one of every pod of a Job."""
    found = meta.get("finalizers")
    names = [raw({"name": one}, "name") for one in (found if isinstance(found, list) else ())[:3]]
    return [name for name in names if name and not name.startswith("batch.kubernetes.io/")]


def _running(look: Look) -> Seen:
    seen = worst_of(look)
    if seen.state is not CellState.RUNNING:
        return seen
    unready = condition(look.status, "Ready", holds=False)
    if unready is None:
        return _about_to_go(look, seen)
    reason = text(unready, "reason")
    # The controller of nodes sets Ready to False and leaves the rest: the kubelet no longer says anything.
    if reason == "NodeNotReady" or (
        reason is None and condition(look.status, "ContainersReady") is not None
    ):
        at = time(unready, "lastTransitionTime")
        since = f" for {units.words(max(0.0, look.now - at))}" if at is not None else ""
        words = f"its node does not answer{since}: its log cannot be followed"
        return replace(seen, why=clauses(words, seen.why), finding="network")
    if reason and reason != "ContainersNotReady":
        seen = replace(seen, why=clauses(reason, seen.why))
    return _about_to_go(look, seen)


def _about_to_go(look: Look, seen: Seen) -> Seen:
    """A pod that runs and is marked to be taken away."""
    found = disruption(look.status)
    if found is None:
        return seen
    words = ": ".join(filter(None, (found[0], found[1].says)))
    return replace(seen, why=clauses(words, seen.why), finding=found[1].kind or seen.finding)


def _pending(look: Look) -> Seen:
    """Not placed, or held up by an init container, or by a container that cannot begin."""
    refused = condition(look.status, "PodScheduled", holds=False)
    if refused is not None:
        return unplaced(look, refused)
    if (held := held_by_init(look)) is not None:
        return held
    if any(one.shown for one in look.judges.containers):
        return worst_of(look)
    said = text(look.status, "message", SENTENCE)
    since = time(look.meta, "creationTimestamp")
    if text(look.spec, "nodeName") is None and not said:
        return waits_for("Pending", None, UNPLACED, since, look.now, "no scheduler has placed it")
    placed = condition(look.status, "PodScheduled")
    since = time(placed or NOTHING, "lastTransitionTime") or since
    says = said or "its node has not taken it"
    seen = waits_for("Pending", None, UNTAKEN, since, look.now, says)
    return seen if seen.finding else replace(seen, why=said)


# --- parts --------------------------------------------------------------------------------------------


def _signal(ended: Object, exit_code: int | None) -> int | None:
    """The signal that ended it: as told, else as the exit code stands for it."""
    if told := number(ended, "signal"):
        return told
    return exit_code - 128 if exit_code is not None and 128 < exit_code < 193 else None


def _end(status: Object, ended: Object) -> float | None:
    """When it ended: by the container, otherwise when the pod became unready."""
    if (at := time(ended, "finishedAt")) is not None:
        return at
    return time(condition(status, "Ready", holds=False) or NOTHING, "lastTransitionTime")


def _index(meta: Object) -> int | None:
    """Which of an indexed job's completions this pod works for."""
    for place in ("annotations", "labels"):
        word = raw(part(meta, place), INDEX, 9)
        if word is not None and word.isascii() and word.isdigit():
            return int(word)
    return None
