"""The logs that the pods of a row write, and which attempt of which container each of them is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import ContainerLog
from gpu_tui.parse.kube_pod import Pod


@dataclass(frozen=True, slots=True)
class Earlier:
    """The attempt before, where another pod made it."""

    pod: str
    container: str
    attempt: str


@dataclass(frozen=True, slots=True)
class PodLog:
    """One log to read. `cell` is the row it belongs to, `path` its name on screen.

    `attempt` identifies one attempt: the pod's uid, the container, and how often that was restarted. `unit` names the
    log where a row has several, and `past` is true where a later pod does the work of this one. `mark` is the line for
    between this attempt and the one before.
    """

    cell: str
    path: str
    pod: str
    container: str
    attempt: str
    live: bool
    previous: bool = False
    uid: str = ""
    unit: str | None = None
    mark: str | None = None
    title: str = ""
    earlier: Earlier | None = None
    past: bool = False
    started_at: float | None = None
    init: bool = False
    device: bool = False


@dataclass(frozen=True, slots=True)
class Writer:
    """A pod that writes one of a row's logs; `earlier` is the pod whose work it continues."""

    pod: Pod
    unit: str | None = None
    earlier: Pod | None = None
    past: bool = False


def one_after_another(pods: Iterable[Pod]) -> tuple[Writer, ...]:
    """The pods of which each is the next try of the one before: the newest that has a log writes it."""
    ordered = by_age(pods)
    wrote = [pod for pod in ordered if pod.logs]
    if not wrote:
        return ()
    newest = wrote[-1]
    failed = [pod for pod in wrote[:-1] if pod.state is CellState.FAILED]
    return (Writer(newest, earlier=failed[-1] if failed else None),)


def by_age(pods: Iterable[Pod]) -> list[Pod]:
    """The oldest first."""
    return sorted(pods, key=lambda pod: (pod.created_at or 0.0, pod.name))


def replaced(pods: Sequence[Pod], missing: int | None = None) -> frozenset[str]:
    """The uids of failed pods whose work a later pod does: each pod replaces one, and only `missing` of them are not
    replaced.
    """
    over: set[str] = set()
    failed: list[tuple[float, str]] = []  # a heap: the first that ended
    for pod in by_age(pods):
        if failed and failed[0][0] <= (pod.created_at or 0.0):
            over.add(heappop(failed)[1])
        if pod.state is CellState.FAILED and pod.over:
            heappush(failed, (pod.finished_at or 0.0, pod.uid))
    if missing is not None:
        failed.sort()
        over.update(uid for _, uid in failed[: max(0, len(failed) - missing)])
    return frozenset(over)


def logs_of(cell: str, path: str, writers: Iterable[Writer]) -> Iterator[PodLog]:
    """Each log of one row; those of one pod have the name of their container where there are several."""
    for writer in writers:
        pod = writer.pod
        for at, one in enumerate(pod.logs):
            extra = one.container if len(pod.logs) > 1 else None
            unit = "/".join(filter(None, (writer.unit, extra))) or None
            earlier = None if at else _earlier(writer.earlier)
            yield PodLog(
                cell=cell,
                path=path if unit is None else f"{path}#{unit}",
                pod=pod.name,
                container=one.container,
                attempt=_attempt(pod, one),
                live=one.live,
                previous=one.previous,
                uid=pod.uid,
                unit=unit,
                mark=one.mark or (_after(pod, writer.earlier) if earlier else None),
                title=_title(pod, one),
                earlier=earlier,
                past=writer.past,
                started_at=pod.started_at,
                init=one.init,
                device=one.device,
            )


def _attempt(pod: Pod, log: ContainerLog) -> str:
    return f"{pod.uid}.{log.container}.{log.restarts}"


def _title(pod: Pod, log: ContainerLog) -> str:
    again = f" · attempt {log.restarts + 1}" if log.restarts else ""
    return f"{pod.name}/{log.container}{again}"


def _earlier(pod: Pod | None) -> Earlier | None:
    if pod is None or not pod.logs:
        return None
    return Earlier(pod.name, pod.logs[0].container, _attempt(pod, pod.logs[0]))


def _after(pod: Pod, earlier: Pod | None) -> str | None:
    if earlier is None:
        return None
    return f"next pod {pod.name}: {earlier.name} ended with {end_of(earlier)}"


def end_of(pod: Pod) -> str:
    """How a pod ended, in its own words: `OOMKilled: exit 137`."""
    word = None if pod.word == "Error" and pod.why else pod.word
    return ": ".join(filter(None, (word, pod.why)))
