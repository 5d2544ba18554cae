"""Who ran on a box when it was last watched, by whomever: kept in the history, read at the start."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.core import metrics
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.run_memory import Memory, another, remembered
from gpu_tui.core.vanished import Vanished
from gpu_tui.state.history import CONTACT_EVERY, History

RUNS = "runs:"  # before the name of the metric


def box_of(instance: Instance) -> str:
    """Which box a row of the fleet file means: under one name another may come."""
    ssh = instance.ssh
    place = f"{ssh.user or ''}@{ssh.host}:{ssh.port or ''}"
    return f"{place} {instance.provider.id or ''}"


class RunsBefore:
    """Takes what is known of who runs on one box to the history, and back."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._kept: dict[str, tuple[str, float]] = {}  # metric -> of whom, and when it was written
        self.signs: Mapping[str, str] = {}  # by which this machine is known, as far as it is

    def read(self) -> Mapping[str, Memory]:
        """By metric, what was kept of this very box."""
        names = [metric.name for metric in metrics.UNRECORDED]
        read = {
            name: remembered(self._history.counter(self._name, RUNS + name), self._box)
            for name in names
        }
        found = {name: memory for name, memory in read.items() if memory is not None}
        for memory in found.values():
            self.signs = {**self.signs, **memory.signs}
        return found

    def is_another(self, **signs: str | None) -> bool:
        """What the machine says of itself now; true where the one that was remembered said something else.

        A boot is no such sign: what a reboot ended is told of.
        """
        said = {name: value for name, value in signs.items() if value}
        differs = another(said, self.signs)
        self.signs = said if differs else {**self.signs, **said}
        return differs

    def keep(self, metric: str, vanished: Vanished, at: float) -> None:
        """Who is here, and who is gone, as of a look at `at`."""
        text = vanished.memory(self._box, at, self.signs)
        whom, known = text.partition('"live"')[2], self._kept.get(metric)
        if (
            known is not None
            and known[0] == whom
            and (not text or 0 <= at - known[1] < CONTACT_EVERY)
        ):
            return
        self._kept[metric] = whom, at
        if text or self._history.counter(self._name, RUNS + metric):
            self._history.set_counter(self._name, RUNS + metric, text, at)

    def lists(self) -> Mapping[str, JobTable]:
        """What was kept as lists, for whoever reads the logs of those who are gone."""
        return {
            name: JobTable(name, (*memory.live[::-1], *memory.gone))
            for name, memory in self.read().items()
        }
