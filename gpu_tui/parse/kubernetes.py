"""What `kubectl get jobs,pods -o json` prints -> jobs, and whose logs are worth following.

One row per Job; one per index of an Indexed Job; one per controller whose pods are the ranks of one training
(PyTorchJob, JobSet, StatefulSet); one per other pod that no Job of the list owns. The Job's own conditions go before what its pods say: a pod that failed may have another try.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_tui.core.jobs import ENDED, JOBS_KEPT, Job, JobTable
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import devices_of
from gpu_tui.parse.kube_logs import (
    PodLog,
    Writer,
    by_age,
    end_of,
    logs_of,
    one_after_another,
    replaced,
)
from gpu_tui.parse.kube_object import (
    LARGEST,
    SENTENCE,
    Object,
    clauses,
    condition,
    flag,
    items_of,
    number,
    part,
    raw,
    text,
    time,
)
from gpu_tui.parse.kube_pod import Pod, read_pod
from gpu_tui.parse.kube_ranks import (
    BAD,
    Group,
    Rank,
    group_of,
    judged,
    rank_name,
    ranks_of,
    worst_first,
)
from gpu_tui.parse.kube_retries import with_try_before
from gpu_tui.parse.kube_waiting import suspended_in, without_pod

SOURCE = "kubernetes"
INDEXES_KEPT = 1_000  # rows of one indexed job
LOGS_NAMED = 200  # logs of one row that are named in it
GOING = (CellState.RUNNING, CellState.PENDING, CellState.CANNOT_TELL)
DEFAULT_RETRIES = 6  # what the API sets where a job names no backoffLimit


@dataclass(frozen=True, slots=True)
class _Row:
    """One row, and the pods that write its logs."""

    job: Job
    writers: tuple[Writer, ...] = ()
    logs: tuple[PodLog, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a namespace: the table, and the logs by how much they matter, those that run first."""

    table: JobTable
    logs: tuple[PodLog, ...]
    pods: frozenset[str] = frozenset()  # uids of all pods
    undecided: tuple[Undecided, ...] = ()


@dataclass(frozen=True, slots=True)
class Undecided:
    """A pod in which several containers run, and nothing says which of them trains."""

    uid: str
    pod: str
    containers: tuple[str, ...]


def parse_jobs(data: bytes, now: float, trains: Mapping[str, str] | None = None) -> Look:
    """The jobs and pods of a List. `now` is the time of the look, `trains` as of `read_pod`. Raises NotKubernetes."""
    jobs: list[Object] = []
    pods: list[tuple[Object, Pod]] = []
    for item in items_of(data):
        if item.get("kind") == "Job":
            jobs.append(item)
        elif item.get("kind") == "Pod" and (pod := read_pod(item, now, trains)):
            pods.append((item, pod))
    owned: dict[str, list[tuple[Object, Pod]]] = {}
    for item, pod in pods:
        if pod.owner and pod.owner.kind == "Job" and pod.owner.uid:
            owned.setdefault(pod.owner.uid, []).append((item, pod))
    found: list[_Row] = []
    groups: dict[Group, list[tuple[str, str, Pod]]] = {}
    known: set[str] = set()
    for item in jobs:
        meta = part(item, "metadata")
        uid = raw(meta, "uid", 64) or ""
        known.add(uid)
        mine = owned.get(uid, [])
        if (group := group_of(meta)) is None:
            found += _rows(item, [pod for _, pod in mine], now)
        elif mine:
            groups.setdefault(group, []).extend(_ranked(group, *one) for one in mine)
        else:
            groups.setdefault(group, []).extend(_without_pods(item, group))
    for item, pod in pods:
        if pod.owner is not None and pod.owner.kind == "Job" and pod.owner.uid in known:
            continue
        group = group_of(part(item, "metadata"))
        if group is None:
            found.append(_alone(pod))
        else:
            groups.setdefault(group, []).append(_ranked(group, item, pod))
    found += [_group(group, members, now) for group, members in groups.items()]
    found = _named_once(found)
    kept = [_with_logs(row) for row in found[:JOBS_KEPT]]
    return Look(
        JobTable(
            SOURCE,
            tuple(row.job for row in kept),
            dropped=len(found) - len(kept) + sum(map(_beyond, jobs)),
        ),
        tuple(_in_order(kept)),
        frozenset(pod.uid for _, pod in pods),
        tuple(Undecided(pod.uid, pod.name, pod.undecided) for _, pod in pods if pod.undecided),
    )


# --- a Job --------------------------------------------------------------------------------------------


def _rows(item: Object, pods: Sequence[Pod], now: float) -> Iterator[_Row]:
    """One row, or one per index."""
    spec = part(item, "spec")
    completions = number(spec, "completions") or 1
    indexed = spec.get("completionMode") == "Indexed"
    parallel = not indexed and _is_parallel(spec, pods)
    ranks = _equal_ranks(item, pods) if parallel else []
    whole = _job(item, pods, ranks, now)
    if whole is None:
        return
    if not indexed or completions < 2:
        yield _Row(whole, _writers(ranks) if ranks else one_after_another(pods))
        return
    status = part(item, "status")
    done, failed = _indexes(status, "completedIndexes"), _indexes(status, "failedIndexes")
    by_index: dict[int | None, list[Pod]] = {}
    for pod in pods:
        by_index.setdefault(pod.index, []).append(pod)
    for index in range(min(completions, INDEXES_KEPT)):
        mine = by_index.get(index, [])
        row = _part(whole, index, _speaker(mine, now), done=index in done, failed=index in failed)
        yield _Row(row, one_after_another(mine))


def _is_parallel(spec: Object, pods: Sequence[Pod]) -> bool:
    """Several pods of one Job work at the same time, and none of them has an index."""
    return (number(spec, "parallelism") or 1) > 1 or sum(pod.live for pod in pods) > 1


def _equal_ranks(item: Object, pods: Sequence[Pod]) -> list[Rank]:
    """The pods of a parallel Job, named by what its controller added to the Job's name."""
    name, over = raw(part(item, "metadata"), "name") or "", replaced(pods, _missing(item, pods))
    return [
        Rank(pod.name.removeprefix(f"{name}-") or pod.name, pod, past=pod.uid in over)
        for pod in by_age(pods)
    ]


def _missing(item: Object, pods: Sequence[Pod]) -> int | None:
    """How many pods a parallel Job that is not over lacks: its controller makes no more than it needs."""
    spec, status = part(item, "spec"), part(item, "status")
    if condition(status, "Complete") is not None or condition(status, "Failed") is not None:
        return None
    completions, done = number(spec, "completions"), number(status, "succeeded") or 0
    wanted = number(spec, "parallelism") or 1
    if completions is not None:
        wanted = min(wanted, completions - done)
    elif (
        done
    ):  # a work queue makes no more pods once one has ended well: what failed is not done again
        return None
    there = sum(pod.state in GOING for pod in pods)
    return max(0, wanted - there)


def _writers(ranks: Sequence[Rank]) -> tuple[Writer, ...]:
    return tuple(
        Writer(rank.pod, rank.label, rank.earlier, rank.past)
        for rank in sorted(ranks, key=lambda rank: (rank.past, rank.order))
    )


def _beyond(item: Object) -> int:
    """The indexes of a job that have no row."""
    spec = part(item, "spec")
    indexed = spec.get("completionMode") == "Indexed" and raw(part(item, "metadata"), "name")
    return max(0, (number(spec, "completions") or 1) - INDEXES_KEPT) if indexed else 0


def _job(item: Object, pods: Sequence[Pod], ranks: Sequence[Rank], now: float) -> Job | None:
    meta, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status")
    name = raw(meta, "name")
    if name is None:
        return None
    complete, failed = condition(status, "Complete"), condition(status, "Failed")
    speaker = _speaker(pods, now)
    bad = sorted(
        (one.pod for one in ranks if not one.past and one.pod.state in BAD), key=worst_first
    )
    tries, limit = number(status, "failed") or 0, number(spec, "backoffLimit")
    limit = DEFAULT_RETRIES if limit is None else limit
    begun = time(status, "startTime")
    end = complete or failed
    over = (
        None if end is None else time(status, "completionTime") or time(end, "lastTransitionTime")
    )
    ttl, deadline = number(spec, "ttlSecondsAfterFinished"), number(spec, "activeDeadlineSeconds")
    suspended = flag(spec, "suspend") or condition(status, "Suspended") is not None
    restarts = tries + sum(pod.restarts for pod in pods)
    job = Job(
        id=f"job/{name}",
        name=name,
        state=CellState.PENDING,
        word="Pending",
        task=raw(meta, "namespace", 63),
        submitted_at=time(meta, "creationTimestamp"),
        started_at=begun,
        finished_at=over,
        ends_by=begun + deadline
        if begun is not None and deadline is not None and end is None and not suspended
        else None,
        removed_at=over + ttl if over is not None and ttl is not None else None,
        exit_code=speaker.exit_code if speaker else None,
        signal=speaker.signal if speaker else None,
        restarts=restarts,
        node=speaker.node if speaker else None,
        preempted=bool(speaker and speaker.preempted),
        limit=deadline,
        gpus=_gpus(spec),
    )
    if failed is not None and bad:
        speaker = bad[0]
    doubted = next((pod for pod in pods if pod.state is CellState.SUSPICIOUS), None)
    if complete is not None and doubted is not None:
        return replace(
            job, state=doubted.state, word="Complete", why=_of(doubted), finding=doubted.finding
        )
    if complete is not None:
        return replace(job, state=CellState.FINISHED, word="Complete", exit_code=0, signal=None)
    if failed is not None:
        words = (text(failed, "message", SENTENCE), _of(speaker))
        word = text(failed, "reason") or "Failed"
        late = "time_limit" if word == "DeadlineExceeded" else None
        return replace(
            job,
            state=CellState.FAILED,
            word=word,
            why=clauses(*words),
            finding=late or (speaker.finding if speaker else None),
        )
    if suspended:
        seen = suspended_in(meta, status, now)
        return replace(job, word=seen.word, why=seen.why, started_at=None, waits_since=seen.since)
    if speaker is None and number(status, "active"):
        state = CellState.RUNNING if number(status, "ready") else CellState.CANNOT_TELL
        return replace(job, state=state, word="Active", why="its pods are not in the list")
    if speaker is None and not tries:
        seen = without_pod(begun or job.submitted_at, now)
        return replace(job, why=seen.why, finding=seen.finding, started_at=None)
    completions = number(spec, "completions")
    if any(not rank.past for rank in ranks):
        return _going_together(job, status, ranks, tries, limit, completions, now)
    return _going(job, status, speaker, tries, limit, completions=completions)


def _gpus(spec: Object) -> int | None:
    """How many accelerators the pods that work at once ask for together."""
    each = devices_of(part(spec, "template", "spec"))
    at_once = number(spec, "parallelism")
    completions = number(spec, "completions")
    many = min(1 if at_once is None else at_once, completions or LARGEST)
    return None if each is None else each * max(1, many)


def _counts(status: Object, tries: int, limit: int, completions: int | None) -> list[str]:
    active, done = number(status, "active") or 0, number(status, "succeeded") or 0
    counts = []
    if (completions or 1) > 1 or active > 1:
        counts.append(f"{active} active, {done} of {completions or '?'} done")
    if tries:
        counts.append(f"{tries} of {limit} retries used")
    return counts


def _going_together(
    job: Job,
    status: Object,
    ranks: Sequence[Rank],
    tries: int,
    limit: int,
    completions: int | None,
    now: float,
) -> Job:
    """A parallel Job that is neither over nor suspended, by all of its pods."""
    counts = _counts(status, tries, limit, completions)
    again = [rank for rank in ranks if rank.past]
    if again:
        last = max(again, key=lambda rank: rank.pod.finished_at or 0.0)
        counts.append(f"pod {last.label} was replaced after {end_of(last.pod)}")
    row = judged(replace(job, why="; ".join(counts) or None), ranks, now, noun="pod", tries=tries)
    active, done = number(status, "active") or 0, number(status, "succeeded") or 0
    bad = [rank.pod for rank in ranks if not rank.past and rank.pod.state in BAD]
    taken = row.state is CellState.FAILED and all(pod.preempted for pod in bad)
    if taken or row.state is CellState.SKIPPED:
        row = _to_run_again(row, row.why, row.finished_at)
    if row.state is CellState.FINISHED and (completions or 1) > done:
        state = CellState.PENDING if active or (completions or 1) > done + 1 else row.state
        row = replace(row, state=state)
    return row


def _going(
    job: Job,
    status: Object,
    speaker: Pod | None,
    tries: int,
    limit: int,
    *,
    completions: int | None,
) -> Job:
    """A job that is neither over nor suspended, by its pod that says most."""
    counts = _counts(status, tries, limit, completions)
    active, done = number(status, "active") or 0, number(status, "succeeded") or 0
    if speaker is None:
        return replace(job, why="; ".join(("waits for its next pod", *counts)))
    words = [*filter(None, [speaker.why]), *counts]
    state, word = speaker.state, speaker.word
    gone = (speaker.preempted and state is CellState.FAILED) or state is CellState.SKIPPED
    if state is CellState.FINISHED and (completions or 1) > done + 1:
        state = CellState.PENDING if active else CellState.CANNOT_TELL
    row = replace(
        job,
        state=state,
        word=word,
        why=clauses(*words),
        ends_by=min(filter(None, (job.ends_by, speaker.ends_by)), default=None),
        started_at=speaker.started_at,
        finished_at=speaker.finished_at,
        finding=speaker.finding,
        again=speaker.again,
        reason=_code(speaker),
        waits_since=speaker.waits_since,
    )
    return _to_run_again(row, row.why, speaker.finished_at) if gone else row


def _to_run_again(row: Job, why: str | None, since: float | None) -> Job:
    """A row whose pod was taken away: its controller makes another one, which has not begun."""
    return replace(
        row,
        state=CellState.PENDING,
        why=clauses("waits for a new pod", why),
        started_at=None,
        finished_at=None,
        exit_code=None,
        signal=None,
        waits_since=since,
    )


def _part(whole: Job, index: int, pod: Pod | None, *, done: bool, failed: bool) -> Job:
    """One index of a job, with what is the whole job's: its clocks, and its end where it has one."""
    row = replace(
        whole,
        id=f"{whole.id}-{index}",
        name=f"{whole.name}-{index}",
        exit_code=pod.exit_code if pod else None,
        signal=pod.signal if pod else None,
        restarts=pod.restarts if pod else None,
        node=pod.node if pod else None,
        started_at=pod.started_at if pod else None,
        finished_at=pod.finished_at if pod else None,
        preempted=bool(pod and pod.preempted),
        finding=pod.finding if pod else None,
        again=bool(pod and pod.again),
        gpus=pod.gpus if pod else None,
        reason=_code(pod) if pod else None,
        waits_since=pod.waits_since if pod else None,
    )
    if done and (pod is None or pod.state is not CellState.SUSPICIOUS):
        row = replace(row, finding=None)
        return replace(row, state=CellState.FINISHED, word="Completed", why=None, ends_by=None)
    if failed:
        return replace(row, state=CellState.FAILED, word="Failed", why=_of(pod), ends_by=None)
    if pod is not None:
        row = replace(row, state=pod.state, word=pod.word, why=pod.why)
        taken = pod.preempted and pod.state is CellState.FAILED and whole.state not in ENDED
        return _to_run_again(row, pod.why, pod.finished_at) if taken else row
    if whole.state is CellState.FAILED:
        return replace(row, why=f"the job failed before it: {whole.why or whole.word}")
    if whole.word == "Suspended":
        return row
    return replace(row, state=CellState.PENDING, word="Pending", why="no pod yet")


def _code(pod: Pod) -> str | None:
    """The code of why it waits."""
    return (pod.reason or pod.word) if pod.state is CellState.PENDING else None


def _speaker(pods: Sequence[Pod], now: float) -> Pod | None:
    """The pod whose state is the job's: the newest that runs, otherwise the newest; with how the try before it ended."""
    ordered = by_age(pods)
    live = [pod for pod in ordered if pod.live]
    best = live or ordered
    return with_try_before(best[-1], pods, now) if best else None


def _of(pod: Pod | None) -> str | None:
    """A pod's end in words."""
    return None if pod is None else ": ".join(filter(None, (pod.word, pod.why)))


def _indexes(status: Object, key: str) -> frozenset[int]:
    """`0,2-5`, as far as rows are kept."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d{1,9})(?:-(\d{1,9}))?", raw(status, key, 65_536) or ""):
        found.update(range(int(first), min(int(last or first), INDEXES_KEPT) + 1))
    return frozenset(found)


# --- pods without a Job -------------------------------------------------------------------------------


def _alone(pod: Pod) -> _Row:
    owner = f"{pod.owner.kind}/{pod.owner.name}" if pod.owner else pod.namespace
    job = Job(
        id=f"pod/{pod.name}",
        name=pod.name,
        state=pod.state,
        word=pod.word,
        why=pod.why,
        task=owner,
        submitted_at=pod.created_at,
        started_at=pod.started_at,
        finished_at=pod.finished_at,
        ends_by=pod.ends_by,
        exit_code=pod.exit_code,
        signal=pod.signal,
        restarts=pod.restarts,
        node=pod.node,
        preempted=pod.preempted,
        finding=pod.finding,
        again=pod.again,
        gpus=pod.gpus,
        reason=_code(pod),
        waits_since=pod.waits_since,
    )
    return _Row(job, (Writer(pod),))


def _ranked(group: Group, item: Object, pod: Pod) -> tuple[str, str, Pod]:
    label, role = rank_name(part(item, "metadata"), group)
    return label, role, pod


def _without_pods(item: Object, group: Group) -> Iterator[tuple[str, str, Pod]]:
    """The rank of a Job without a pod, by the state of the Job itself."""
    whole = _job(item, (), (), 0.0)
    if whole is None:
        return
    label, role = rank_name(part(item, "metadata"), group)
    pod = Pod(
        name=whole.name,
        uid="",
        state=whole.state,
        word=whole.word,
        why=whole.why,
        created_at=whole.submitted_at,
        finished_at=whole.finished_at,
        ends_by=whole.ends_by,
        over=whole.state in (CellState.FINISHED, CellState.FAILED),
        finding=whole.finding,
    )
    yield label, role, pod


def _group(group: Group, members: Sequence[tuple[str, str, Pod]], now: float) -> _Row:
    """One row for all ranks of one thing, named after it."""
    ranks = ranks_of(members)
    made = [rank.pod.created_at for rank in ranks if rank.pod.created_at is not None]
    job = Job(
        id=f"{group.kind.lower()}/{group.name}",
        name=group.name,
        state=CellState.PENDING,
        word="Pending",
        task=f"{group.kind}/{group.name}",
        submitted_at=min(made, default=None),
    )
    return _Row(judged(job, ranks, now), _writers(ranks))


# --- names and logs -----------------------------------------------------------------------------------


def _named_once(rows: list[_Row]) -> list[_Row]:
    """A job and a pod may have one name; in the queue pane no two rows may."""
    taken: set[str] = set()
    named = []
    for row in rows:
        job = row.job
        if job.name in taken:
            job = replace(job, name=job.id)
        if job.name not in taken:
            taken.add(job.name)
            named.append(replace(row, job=job))
    return named


def _in_order(rows: Iterable[_Row]) -> list[PodLog]:
    """The logs of all rows: those that still grow first, each row's first log before its others, the newest first."""
    found = [(at > 0, log) for row in rows for at, log in enumerate(row.logs)]
    found.sort(key=lambda one: (not one[1].live, one[0], -(one[1].started_at or 0.0)))
    return [log for _, log in found]


def _with_logs(row: _Row) -> _Row:
    """The row with its logs, their names, and the pod that a shell leads to."""
    logs = tuple(logs_of(row.job.name, row.job.id, row.writers))
    first = next((log for log in logs if log.live), None)
    now = sorted((log for log in logs if not log.past), key=lambda log: not log.live)
    paths = tuple(log.path for log in now[:LOGS_NAMED])
    shell = () if first is None else (first.pod, first.container)
    return replace(row, job=replace(row.job, pod_logs=paths, shell=shell), logs=logs)
