"""One pod of a Kubernetes cluster: what its phase, its conditions and its main container say together.

The phase alone lies: a container that crashes again and again is `Running`, one whose image cannot be
pulled is `Pending`. A phase that is not known here is "cannot tell", never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_object import (
    SENTENCE,
    Object,
    condition,
    flag,
    number,
    part,
    raw,
    rows,
    text,
    time,
)

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
INDEX = "batch.kubernetes.io/job-completion-index"
OVERDUE = 60.0  # seconds after a pod should have been gone: its node does not answer
# Why the platform took a pod away, not the program: the reasons of the condition DisruptionTarget.
DISPLACED = frozenset(
    {"PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC"}
)
BEGUN = frozenset({CellState.RUNNING, CellState.FINISHED, CellState.FAILED, CellState.CANNOT_TELL})
# Why a pod will not begin before a person has mended something.
STUCK = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "Error"}
    | {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "CrashLoopBackOff",
    }
)
LOST_NODE = frozenset({"NodeLost", "NodeAffinity"})


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that made a pod or a job."""

    kind: str
    name: str
    uid: str | None


@dataclass(frozen=True, slots=True)
class ContainerLog:
    """One log of a pod that `kubectl logs POD --container=NAME` prints.

    `restarts` is the container's own restartCount: the pod's uid, the container and this number name one
    attempt. `live`: the container runs. `previous`: the attempt before has left a log (`--previous`), and
    `mark` is the line for between the two. `init`: an init container, which holds the pod up or has failed.
    """

    container: str
    restarts: int = 0
    live: bool = False
    previous: bool = False
    init: bool = False
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod. Times are epoch seconds by the cluster's clock; `container` is the main one.

    `word` is what kubectl shows as its status. `logs` are those that may be there to read, of the containers
    that its state is judged by: one mostly, two where two hold GPUs. `over`: its phase is Succeeded or Failed,
    so no container of it runs or will. `finding` is the kind of finding that its state is, None where it is
    none or a plain crash.
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

    @property
    def log(self) -> bool:
        """A container of it has written a log that may still be there."""
        return bool(self.logs)

    @property
    def previous(self) -> bool:
        """An earlier attempt has left a log."""
        return any(log.previous for log in self.logs)

    @property
    def live(self) -> bool:
        """Its main container runs."""
        return self.state is CellState.RUNNING


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one way of looking at a pod says of it."""

    state: CellState
    word: str
    why: str | None = None


def read_pod(item: Object, now: float) -> Pod | None:
    """The pod in `item`; None where it has not even a name. `now` judges what is long overdue."""
    meta, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status")
    name = raw(meta, "name")
    if name is None:
        return None
    container = _main(meta, spec)
    shown = _of_container(status, container)
    running, ended = part(shown, "state", "running"), _ended(shown)
    before = part(shown, "lastState", "terminated")
    seen = _judge(meta, status, shown, now)
    said = ended or (before if seen.word == "CrashLoopBackOff" else {})
    exit_code = number(said, "exitCode")
    begun, limit = time(status, "startTime"), number(spec, "activeDeadlineSeconds")
    restarts = max(0, number(shown, "restartCount") or 0)
    over = seen.state in (CellState.FINISHED, CellState.FAILED)  # for now: it may be tried again
    return Pod(
        name=name,
        uid=raw(meta, "uid", 64) or "",
        namespace=raw(meta, "namespace"),
        owner=owner_of(meta),
        index=_index(meta),
        state=seen.state,
        word=seen.word,
        why=seen.why,
        container=container,
        node=text(spec, "nodeName"),
        created_at=time(meta, "creationTimestamp"),
        started_at=time(running or said, "startedAt") if seen.state in BEGUN else None,
        finished_at=time(said, "finishedAt") if over else None,
        ends_by=begun + limit if begun is not None and limit is not None and not over else None,
        exit_code=exit_code if over else None,
        signal=_signal(said, exit_code) if over else None,
        restarts=restarts,
        preempted=_displaced(status),
        logs=_logs(container, shown, restarts),
        over=text(status, "phase") in ("Succeeded", "Failed"),
        finding=_finding(seen, text(said, "reason"), _displaced(status)),
    )


def _logs(container: str | None, shown: Object, restarts: int) -> tuple[ContainerLog, ...]:
    running, ended = part(shown, "state", "running"), _ended(shown)
    if container is None or not (running or ended or restarts):
        return ()
    words = _end_words(part(shown, "lastState", "terminated"))
    mark = f"restart {restarts}: the attempt before ended with {words or 'no word'}"
    return (
        ContainerLog(
            container, restarts, bool(running), restarts > 0, mark=mark if restarts else None
        ),
    )


def owner_of(meta: Object) -> Owner | None:
    """The object that controls this one."""
    for row in rows(meta, "ownerReferences"):
        kind, name = text(row, "kind"), raw(row, "name")
        if flag(row, "controller") and kind and name:
            return Owner(kind, name, raw(row, "uid", 64))
    return None


def _judge(meta: Object, status: Object, shown: Object, now: float) -> _Seen:
    """The first answer that can be given."""
    phase, reason = text(status, "phase"), text(status, "reason")
    gone_by = time(meta, "deletionTimestamp")
    if phase == "Succeeded":
        return _Seen(CellState.FINISHED, "Completed")
    if phase == "Failed":
        return _failed(status, shown)
    if reason in LOST_NODE or phase == "Unknown":
        return _Seen(CellState.CANNOT_TELL, reason or "Unknown", "its node does not answer")
    if gone_by is not None:
        if now - gone_by > OVERDUE:
            why = "it should have been gone long ago: its node does not answer"
            return _Seen(CellState.CANNOT_TELL, "Terminating", why)
        alive = part(shown, "state", "running")
        state = CellState.RUNNING if alive else CellState.CANNOT_TELL
        return _Seen(state, "Terminating", _disruption(status) or "it is being deleted")
    if phase == "Pending":
        return _pending(status, shown)
    if phase == "Running":
        return _running(status, shown)
    return _Seen(
        CellState.CANNOT_TELL, phase or "no phase", "a phase that is not known" if phase else None
    )


def _pending(status: Object, shown: Object) -> _Seen:
    unplaced = condition(status, "PodScheduled", holds=False)
    if unplaced is not None:
        words = (text(unplaced, "reason"), text(unplaced, "message", SENTENCE))
        return _Seen(CellState.PENDING, "Pending", ": ".join(filter(None, words)) or None)
    for row in (*rows(status, "initContainerStatuses"), shown):
        waiting = part(row, "state", "waiting")
        reason = text(waiting, "reason")
        if reason and reason != "PodInitializing":
            first = row is not shown
            word = f"Init:{reason}" if first else reason
            return _Seen(CellState.PENDING, word, text(waiting, "message", SENTENCE))
        if row is not shown and number(_ended(row), "exitCode"):
            return _Seen(CellState.PENDING, "Init:Error", _end_words(_ended(row)))
    return _Seen(CellState.PENDING, "Pending", text(status, "message", SENTENCE))


def _running(status: Object, shown: Object) -> _Seen:
    if part(shown, "state", "running"):
        unready = text(condition(status, "Ready", holds=False) or {}, "reason")
        return _Seen(
            CellState.RUNNING, "Running", unready if unready != "ContainersNotReady" else None
        )
    if ended := _ended(shown):
        state = CellState.FINISHED if number(ended, "exitCode") == 0 else CellState.FAILED
        word = text(ended, "reason") or "Terminated"
        return _Seen(state, word, _end_words(ended, word))
    waiting = part(shown, "state", "waiting")
    reason = text(waiting, "reason")
    before = part(shown, "lastState", "terminated")
    if reason == "CrashLoopBackOff" or (before and number(before, "exitCode") != 0):
        return _Seen(CellState.FAILED, reason or "Waiting", _end_words(before))
    if reason:
        return _Seen(CellState.PENDING, reason, text(waiting, "message", SENTENCE))
    return _Seen(CellState.CANNOT_TELL, "Running", "nothing is said of its container")


def _failed(status: Object, shown: Object) -> _Seen:
    reason, ended = text(status, "reason"), _ended(shown)
    word = reason or text(ended, "reason") or "Failed"
    parts = (_disruption(status), text(status, "message", SENTENCE), _end_words(ended, word))
    words = [part for part in dict.fromkeys(parts) if part and part != word]
    return _Seen(CellState.FAILED, word, "; ".join(words) or None)


def _ended(shown: Object) -> Object:
    return part(shown, "state", "terminated")


def _end_words(ended: Object, beside: str | None = None) -> str | None:
    """`OOMKilled, exit 137`; not what stands beside it, and the reason Error says nothing."""
    code, signal = number(ended, "exitCode"), number(ended, "signal")
    reason = text(ended, "reason")
    words = [
        reason if reason not in (beside, "Error", "Completed") else None,
        None if code is None else f"exit {code}",
        f"signal {signal}" if signal else None,
        text(ended, "message", SENTENCE),
    ]
    return ", ".join(filter(None, words)) or None


def _signal(ended: Object, exit_code: int | None) -> int | None:
    """The signal that ended it: as told, else as the exit code stands for it."""
    if told := number(ended, "signal"):
        return told
    return exit_code - 128 if exit_code is not None and 128 < exit_code < 193 else None


def _disruption(status: Object) -> str | None:
    """Why the platform took it, in the API's own word."""
    found = condition(status, "DisruptionTarget")
    return text(found, "reason") if found else None


def _finding(seen: _Seen, ended: str | None, displaced: bool) -> str | None:
    if seen.state is CellState.FAILED:
        if "OOMKilled" in (seen.word, ended):
            return "host_oom"
        if displaced or seen.word in ("Evicted", "Preempting"):
            return "preempted"
        return "time_limit" if seen.word == "DeadlineExceeded" else None
    stuck = seen.state is CellState.PENDING and seen.word.removeprefix("Init:") in STUCK
    return "missing_cell" if stuck else None


def _displaced(status: Object) -> bool:
    return _disruption(status) in DISPLACED


def _main(meta: Object, spec: Object) -> str | None:
    """The container whose end is the pod's end, as far as can be told: the default, else the first."""
    names = [name for row in rows(spec, "containers") if (name := raw(row, "name", 63))]
    named = raw(part(meta, "annotations"), DEFAULT_CONTAINER, 63)
    return named if named in names else next(iter(names), None)


def _of_container(status: Object, name: str | None) -> Object:
    found = [row for row in rows(status, "containerStatuses") if row.get("name") == name]
    return found[0] if found else {}


def _index(meta: Object) -> int | None:
    """Which of an indexed job's completions this pod works for."""
    for place in ("annotations", "labels"):
        word = raw(part(meta, place), INDEX, 9)
        if word is not None and word.isascii() and word.isdigit():
            return int(word)
    return None
