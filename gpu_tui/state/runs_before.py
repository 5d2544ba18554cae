"""Who ran on a box when it was last watched, by whomever, and what its scheduler listed: kept in the history, read at
the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.left_queue import LeftQueue
from gpu_tui.core.run_memory import Memory, remembered
from gpu_tui.core.vanished import Vanished
from gpu_tui.state.history import CONTACT_EVERY, History

RUNS = "runs:"  # before the name of the metric


def box_of(instance: Instance) -> str:
    """Which box a row of the fleet file means: under one name another may come."""
    ssh = instance.ssh
    place = f"{ssh.user or ''}@{ssh.host}:{ssh.port or ''}"
    return f"{place} {instance.provider.id or ''}"


def list_of(instance: Instance) -> str:
    """Which jobs a scheduler lists, before any filter. A cluster may have several login nodes, each with its own host
    key.
    """
    ssh, scope = instance.ssh, instance.scheduler_scope
    of = (instance.scheduler, scope.user, scope.context, scope.namespace, scope.selector)
    return f"{ssh.user or ''}@{ssh.host}:{ssh.port or ''} {of}"


class RunsBefore:
    """Takes what is known of who runs on one box to the history, and back."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._list = list_of(instance)
        self._scheduler = metrics.SCHEDULERS.get(instance.scheduler or "")
        self._rented = instance.provider.id is not None  # what is rented stays what it is
        self._kept: dict[str, tuple[str, float]] = {}  # metric -> of whom, and when it was written
        self._host_key: str | None = None

    def read(self) -> Mapping[str, Memory]:
        """By metric, what was kept of this very box."""
        names = [metric.name for metric in metrics.UNRECORDED]
        read = {
            name: remembered(self._history.counter(self._name, RUNS + name), self._box)
            for name in names
        }
        return {name: memory for name, memory in read.items() if memory is not None}

    def jobs_before(self) -> Mapping[str, tuple[Job, ...]]:
        """By metric, the jobs that were kept of this very list of a scheduler."""
        if self._scheduler is None:
            return {}
        name = self._scheduler.name
        return {name: self._jobs(self._history.counter(self._name, RUNS + name))}

    def _jobs(self, text: str | None) -> tuple[Job, ...]:
        memory = remembered(text, self._list)
        if memory is None:
            return ()
        return *memory.gone, *(replace(job, seen_at=memory.seen_at) for job in memory.live)

    def met(self, host_key: str | None) -> frozenset[str]:
        """The machine has shown this key: the metrics of which another one, at the same address, was remembered.

        No other sign tells it from the same one started anew, whose runs are then to be told of: a pod that
        comes back has another hostname, and one that is rented by its id also another key.
        """
        if not host_key:
            return frozenset()
        self._host_key = host_key
        if self._rented:
            return frozenset()
        return frozenset(
            name for name, memory in self.read().items() if memory.host_key not in (None, host_key)
        )

    def keep(self, metric: str, vanished: Vanished, at: float) -> None:
        """Who is here, and who is gone, as of a look at `at`."""
        text = vanished.memory(self._box, at, self._host_key)
        whom, known = _whom(text), self._kept.get(metric)
        if (
            known is not None
            and known[0] == whom
            and (not text or 0 <= at - known[1] < CONTACT_EVERY)
        ):
            return
        self._kept[metric] = whom, at
        if text or self._history.counter(self._name, RUNS + metric):
            self._history.set_counter(self._name, RUNS + metric, text, at)

    def keep_jobs(self, metric: str, left: LeftQueue, at: float) -> None:
        """The jobs of a scheduler, as of a look at `at`, with what another process has seen since."""
        stored = self._history.counter(self._name, RUNS + metric)
        text, known = left.memory(self._list, at), self._kept.get(metric)
        if known is None or stored != known[0]:
            left.recall(self._jobs(stored))
            text = left.memory(self._list, at)
        elif _whom(text) == _whom(known[0]) and 0 <= at - known[1] < CONTACT_EVERY:
            return
        self._kept[metric] = text, at
        if text or stored:
            self._history.set_counter(self._name, RUNS + metric, text, at)

    def lists(self) -> Mapping[str, JobTable]:
        """What was kept as lists, for whoever reads the logs of those who are gone."""
        runs = {name: (*memory.live[::-1], *memory.gone) for name, memory in self.read().items()}
        return {name: JobTable(name, jobs) for name, jobs in {**runs, **self.jobs_before()}.items()}


def _whom(text: str) -> str:
    return text.partition('"live"')[2]
