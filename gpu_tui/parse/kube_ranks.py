"""Pods that work on one thing -> one row: the ranks of a distributed training, the pods of a parallel Job.

The row has the state of all its pods together. One that died, or ended while the others still run, is a
finding of the row; one that was replaced is only counted. Labels of training-operator 1.4 to 1.9, mpi-operator, JobSet,
KubeRay, LeaderWorkerSet and Volcano.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from gpu_tui.core import units
from gpu_tui.core.jobs import Job
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_logs import end_of
from gpu_tui.parse.kube_object import Object, part, raw
from gpu_tui.parse.kube_pod import INDEX, Pod, owner_of

# Kinds of controllers whose pods are ranks of one thing.
KINDS = frozenset(
    {
        "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "MXJob", "JAXJob", "TrainJob",
        "JobSet", "RayJob", "RayCluster", "LeaderWorkerSet", "StatefulSet",
    }
)  # fmt: skip
# Roles whose log shows the progress of the whole training, the first one first.
LEADS = ("launcher", "master", "chief", "driver", "submitter", "leader", "coordinator", "head")
_JOBSET, _LWS, _RAY = "jobset.sigs.k8s.io", "leaderworkerset.sigs.k8s.io", "ray.io"
_KUBEFLOW, _VOLCANO = "training.kubeflow.org", "volcano.sh"
# By platform, the labels of a pod's role and of its numbers.
_LABELS = (
    (f"{_JOBSET}/replicatedjob-name", (f"{_JOBSET}/job-index", INDEX)),
    (f"{_KUBEFLOW}/replica-type", (f"{_KUBEFLOW}/replica-index",)),
    ("replica-type", ("replica-index",)),  # training-operator before 1.5
    (f"{_VOLCANO}/task-spec", (f"{_VOLCANO}/task-index",)),
    (f"{_RAY}/node-type", ()),
    (f"{_KUBEFLOW}/job-role", (f"{_KUBEFLOW}/replica-index",)),
)
BAD = (CellState.FAILED, CellState.SUSPICIOUS)  # ends
RETRY_SECONDS, LONGEST_RETRY = (
    10.0,
    360.0,
)  # a Job waits so long before its first retry, and at most
RESTART_SECONDS = 60.0  # in which an operator makes a dead rank again
HELD_SECONDS = 600.0  # that the other ranks may take to end after the first one did
NAMED = 3  # ranks that a sentence names


@dataclass(frozen=True, slots=True)
class Group:
    """The object whose ranks a pod belongs to."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Rank:
    """One pod of a row. `label` names it on screen, `role` orders it; `past`: a later pod does its work."""

    label: str
    pod: Pod
    role: str = ""
    earlier: Pod | None = None
    past: bool = False

    @property
    def order(self) -> tuple[int, str, int, float, str]:
        """The one that speaks for the row first."""
        lead = LEADS.index(self.role) if self.role in LEADS else len(LEADS)
        digits = self.label.rpartition("-")[2] if self.role else ""
        number = int(digits) if digits.isascii() and digits.isdigit() else 0
        return lead, self.role, number, self.pod.created_at or 0.0, self.label


def group_of(meta: Object) -> Group | None:
    """The group that a pod or a Job is part of, by its labels and its controller."""
    labels, owner = part(meta, "labels"), owner_of(meta)
    for kind, key in (("JobSet", f"{_JOBSET}/jobset-name"), ("LeaderWorkerSet", f"{_LWS}/name")):
        if name := raw(labels, key):
            return Group(kind, name)
    of_ray_job = raw(labels, f"{_RAY}/originated-from-crd") == "RayJob"
    if of_ray_job and (name := raw(labels, f"{_RAY}/originated-from-cr-name")):
        return Group("RayJob", name)
    if owner is not None and owner.kind in KINDS:
        return Group(owner.kind, owner.name)
    if owner is not None and (name := raw(labels, f"{_VOLCANO}/job-name")):
        return Group("VolcanoJob", name)
    if name := raw(labels, f"{_KUBEFLOW}/job-name"):
        return Group(owner.kind if owner else "TrainingJob", name)
    return None


def rank_name(meta: Object, group: Group) -> tuple[str, str]:
    """(its label on screen, its role): `("worker-1", "worker")`."""
    labels, notes, name = part(meta, "labels"), part(meta, "annotations"), raw(meta, "name") or ""
    short = name.removeprefix(f"{group.name}-") or name
    for key, numbered in _LABELS:
        if role := raw(labels, key, 63):
            role = role.lower()
            found = (raw(labels, one, 9) or raw(notes, one, 9) for one in numbered)
            numbers = [word for word in found if word and word.isascii() and word.isdigit()]
            label = "-".join((role, *numbers)) if numbers else short
            return label, role
    return short, ""


def judged(
    job: Job, ranks: Sequence[Rank], now: float, *, noun: str = "rank", tries: int | None = None
) -> Job:
    """The row of `job` by the pods that do its work. `tries` is how many the controller of a parallel Job has used;
    None where they are ranks, which need each other.
    """
    current = sorted((rank for rank in ranks if not rank.past), key=lambda rank: rank.order)
    current = [rank for rank in current if rank.pod.state is not CellState.SKIPPED] or current
    if not current:
        return job
    live = [rank for rank in current if rank.pod.live]
    dead = [rank for rank in current if rank.pod.state in BAD]
    dead.sort(key=lambda rank: worst_first(rank.pod))
    ended = [rank for rank in current if rank.pod.state is CellState.FINISHED]
    waiting = [rank for rank in current if rank.pod.state is CellState.PENDING]
    lead = (live or waiting or dead or current)[0]
    row = _common(job, current, lead)
    if not live and not waiting and dead:
        worst = dead[0].pod
        words = [_died(dead, len(current), noun, now), *filter(None, [job.why])]
        return replace(
            row,
            state=worst.state,
            word=worst.word,
            why="; ".join(words),
            exit_code=worst.exit_code,
            signal=worst.signal,
            finding=worst.finding,
            finished_at=max((one.pod.finished_at or 0.0 for one in dead), default=0.0) or None,
        )
    if not live and not waiting and len(ended) == len(current):
        over = max((one.pod.finished_at or 0.0 for one in ended), default=0.0) or None
        return replace(
            row, state=CellState.FINISHED, word="Completed", finished_at=over, exit_code=0
        )
    whys, finding, lost = list[str](), None, 0
    if dead:
        grace = RESTART_SECONDS if tries is None else _back_off(tries)
        whys.append(f"{_died(dead, len(current), noun, now)}{_held(live, noun)}")
        finding = dead[0].pod.finding or "crashed"
        lost = sum(_since(rank, now) > grace for rank in dead)
    elif tries is None and live and ended:
        first = min(ended, key=lambda rank: rank.pod.finished_at or 0.0)
        if _since(first, now) > HELD_SECONDS:
            ago = units.words(_since(first, now))
            whys.append(f"{noun} {first.label} ended well {ago} ago{_held(live, noun)}")
            finding, lost = "stalled", len(live)
    for rank in current:
        if rank.pod.live and (rank.pod.finding or rank.pod.why):
            whys.append(f"{noun} {rank.label}: {rank.pod.why or rank.pod.word}")
            finding = finding or rank.pod.finding
            break
    unclear = (CellState.CANNOT_TELL, CellState.SKIPPED)
    odd = [*waiting, *(one for one in current if one.pod.state in unclear)]
    if odd and live:
        others = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        whys.append(f"{noun} {odd[0].label}{others} {end_of(odd[0].pod)}")
        finding = finding or odd[0].pod.finding
    elif odd:
        whys.append(f"{noun} {odd[0].label}: {odd[0].pod.why or odd[0].pod.word}")
        finding = finding or odd[0].pod.finding
    if tries is None and len(current) > 1 and (live or waiting) and len(live) < len(current):
        whys.append(f"{len(live)} of {len(current)} {noun}s run")
    state = CellState.RUNNING if live else CellState.PENDING if waiting else CellState.CANNOT_TELL
    if all(rank.pod.state is CellState.SKIPPED for rank in current):
        state = CellState.SKIPPED
    return replace(
        row,
        reason=None if live or not waiting else waiting[0].pod.reason or waiting[0].pod.word,
        waits_since=None if live or not waiting else waiting[0].pod.waits_since,
        state=state,
        word=lead.pod.word,
        why="; ".join(filter(None, [*whys, job.why])) or None,
        finding=finding,
        lost=lost if live else 0,
        again=not lost and bool(live) and (bool(dead) or any(one.pod.again for one in live)),
        finished_at=None,
        exit_code=None,
        signal=None,
    )


def worst_first(pod: Pod) -> tuple[bool, bool, float]:
    """Sorts pods that ended badly: one whose end has a name before the others, then the first that ended."""
    return pod.state is not CellState.FAILED, pod.finding is None, pod.finished_at or 0.0


def _common(job: Job, current: Sequence[Rank], lead: Rank) -> Job:
    pods = [rank.pod for rank in current]
    starts = [pod.started_at for pod in pods if pod.started_at is not None]
    ends = [at for at in (job.ends_by, *(pod.ends_by for pod in pods)) if at is not None]
    return replace(
        job,
        node=lead.pod.node,
        started_at=min(starts, default=job.started_at),
        ends_by=min(ends, default=None),
        restarts=job.restarts if job.restarts is not None else sum(pod.restarts for pod in pods),
        preempted=any(pod.preempted for pod in pods if pod.state is CellState.FAILED),
        gpus=sum(pod.gpus or 0 for pod in pods) or job.gpus,
    )


def _since(rank: Rank, now: float) -> float:
    at = rank.pod.finished_at
    return now - at if at is not None else inf


def _back_off(tries: int) -> float:
    return RESTART_SECONDS + float(min(LONGEST_RETRY, RETRY_SECONDS * 2 ** min(tries, 10)))


def _died(dead: Sequence[Rank], of: int, noun: str, now: float) -> str:
    first = dead[0]
    ago = f" {units.words(_since(first, now))} ago" if first.pod.finished_at is not None else ""
    words = f"{noun} {first.label} died{ago} ({end_of(first.pod)})"
    return words if len(dead) == 1 else f"{words}, and {len(dead) - 1} more of {of} {noun}s"


def _held(live: Sequence[Rank], noun: str) -> str:
    """`, 2 ranks hold their GPUs (worker-0, worker-1)`."""
    if not live:
        return ""
    named = ", ".join(rank.label for rank in live[:NAMED]) + ("…" if len(live) > NAMED else "")
    one = len(live) == 1
    cards = any(rank.pod.gpus for rank in live)
    does = (
        ("holds its GPUs" if one else "hold their GPUs")
        if cards
        else "runs on"
        if one
        else "run on"
    )
    return f", {len(live)} {noun}{'' if one else 's'} {does} ({named})"


def ranks_of(pods: Iterable[tuple[str, str, Pod]]) -> list[Rank]:
    """The ranks of (label, role, pod): of the pods of one label, the newest. Where several of them run at once, the
    label is not the rank's alone, and each pod has its own name.
    """
    by_label: dict[str, list[tuple[str, Pod]]] = {}
    for label, role, pod in pods:
        by_label.setdefault(label, []).append((role, pod))
    found = []
    for label, same in by_label.items():
        same.sort(key=lambda one: (one[1].created_at or 0.0, one[1].name))
        if sum(pod.live for _, pod in same) > 1:
            found += [Rank(pod.name, pod, role) for role, pod in same]
            continue
        role, pod = same[-1]
        failed = [one for _, one in same[:-1] if one.state is CellState.FAILED and one.logs]
        found.append(Rank(label, pod, role, failed[-1] if failed else None))
    return found
