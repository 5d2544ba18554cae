"""Asks running containers by `kubectl exec`, where the fleet file allows it: nvidia-smi for their cards, and the
process table of a pod that does not say which of its containers trains.

One program at a time, a few in each round, and each container that fails is asked less and less often: a program that
hangs in a container cannot be ended from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gpu_tui.core.clock import Clock
from gpu_tui.core.command import CommandFailed
from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.metrics import POD_CARDS
from gpu_tui.core.ports import Sink
from gpu_tui.core.readings import PodCards
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.parse import kube_exec
from gpu_tui.parse.kube_exec import Shown
from gpu_tui.parse.kube_logs import PodLog
from gpu_tui.parse.kubernetes import Undecided
from gpu_tui.transport.argv import Programs
from gpu_tui.transport.base import ChannelRefused

EXEC_SECONDS = 30.0  # between two rounds
EXEC_LIMIT = 10.0  # seconds for one program
EXEC_CAP = 1 << 18
EACH_ROUND = 8  # containers; those that wait longest
ASKED = 100  # containers of one namespace
REST_SECONDS = (
    600.0  # after a refusal of every exec, and the first pause after a program that hangs
)
HANGS_MOST = 3  # of one attempt of a container
ROUND_SECONDS = 15.0  # for the process tables that one look asks for
TABLES_MOST = 8  # containers of one pod
NOT_YET, TOO_MANY = "not asked yet", f"not asked: {ASKED} others of this namespace are"
TRIES, TRY_AGAIN = 2, 60.0  # a trainer may start after its container


@dataclass(slots=True)
class _Turn:
    """The answers of one attempt of a container. `next_at` is by the loop's clock."""

    log: PodLog
    shown: Shown | None = None
    read_at: float = 0.0
    asked_at: float = 0.0
    next_at: float = 0.0
    failed: int = 0
    hung: int = 0


class PodCardsWatch:
    """The cards of the containers that train."""

    def __init__(self, instance: Instance, sink: Sink, clock: Clock) -> None:
        self._instance, self._sink, self._clock = instance, sink, clock
        self._turns: dict[str, _Turn] = {}
        self.read_once = False

    async def run(self, programs: Programs, logs: Callable[[], Iterable[PodLog]]) -> None:
        """Ask until cancelled. `logs` are those of the last look."""
        while True:
            pause = EXEC_SECONDS
            self._follow(logs())
            try:
                why = await self._round(programs)
            except ChannelRefused as error:
                why = str(error)
            now = self._clock.now()
            if why is None:
                sample: Reading[object] | Failure = Reading(self._table(), now, EXEC_SECONDS)
            else:
                sample, pause = Failure(FailureKind.UNREAD, why, now), REST_SECONDS
            self.read_once = True
            self._sink(Sampled(self._instance.name, now, POD_CARDS.name, sample))
            await asyncio.sleep(pause)

    def _follow(self, logs: Iterable[PodLog]) -> None:
        """Keep the containers that run, and forget the others."""
        live = {log.attempt: log for log in logs if log.live and not log.init}
        kept = {key: turn for key, turn in self._turns.items() if key in live}
        for key, log in live.items():
            kept.setdefault(key, _Turn(log)).log = log
        self._turns = kept

    async def _round(self, programs: Programs) -> str | None:
        """Ask those that wait longest; the reason where exec is refused for all."""
        loop = asyncio.get_running_loop()
        asked = islice(self._turns.values(), ASKED)
        due = [turn for turn in asked if turn.next_at <= loop.time()]
        due.sort(key=lambda turn: (turn.asked_at, not turn.log.device))
        for turn in due[:EACH_ROUND]:
            turn.asked_at = loop.time()
            log, scope = turn.log, self._instance.scheduler_scope
            argv = kube_exec.nvidia_smi(scope, log.pod, log.container)
            try:
                done = await programs.run(argv, limit=EXEC_LIMIT, cap=EXEC_CAP)
            except CommandFailed as error:
                turn.hung += 1
                self._record(turn, Shown(why=str(error), final=turn.hung >= HANGS_MOST))
                turn.next_at = max(turn.next_at, loop.time() + REST_SECONDS)
                continue
            if (refusal := kube_exec.not_allowed(done, scope)) is not None:
                return f"{refusal.text}. {refusal.next}"
            self._record(turn, kube_exec.cards_of(done))
        return None

    def _record(self, turn: _Turn, shown: Shown) -> None:
        now = asyncio.get_running_loop().time()
        turn.failed = 0 if shown.gpus else turn.failed + 1
        pause = min(REST_SECONDS, EXEC_SECONDS * 2.0 ** min(turn.failed - 1, 10))
        turn.next_at = float("inf") if shown.final else now + pause if turn.failed else 0.0
        turn.shown, turn.read_at = shown, self._clock.now()

    def _table(self) -> tuple[PodCards, ...]:
        """A row for each container that runs, those that were not asked too."""
        rows = []
        for place, turn in enumerate(self._turns.values()):
            shown = turn.shown or Shown(why=NOT_YET if place < ASKED else TOO_MANY)
            if not shown.gone:
                log = turn.log
                row = PodCards(
                    log.pod, log.container, log.cell, turn.read_at, shown.gpus, shown.why
                )
                rows.append(row)
        return tuple(rows)


@dataclass(slots=True)
class Trainers:
    """The container of each pod, by its uid, in which a trainer was seen."""

    known: dict[str, str] = field(default_factory=dict)
    _tries: dict[str, tuple[int, float]] = field(default_factory=dict)
    _rests_until: float = 0.0

    async def ask(
        self,
        programs: Programs,
        instance: Instance,
        pods: Sequence[Undecided],
        there: Iterable[str],
    ) -> bool:
        """Read the process tables of pods; whether the container of one is known now. `there`: uids of all pods."""
        loop, scope = asyncio.get_running_loop(), instance.scheduler_scope
        uids = set(there)
        for book in (self.known, self._tries):
            for uid in book.keys() - uids:
                del book[uid]
        end, news = loop.time() + ROUND_SECONDS, False
        for pod in pods:
            tries, next_at = self._tries.get(pod.uid, (0, 0.0))
            now = loop.time()
            if tries >= TRIES or now < next_at or now < self._rests_until:
                continue
            if now > end:
                break
            self._tries[pod.uid] = tries + 1, now + TRY_AGAIN
            tables = {}
            for container in pod.containers[:TABLES_MOST]:
                argv = kube_exec.process_table(scope, pod.pod, container)
                try:
                    done = await programs.run(argv, limit=EXEC_LIMIT, cap=EXEC_CAP)
                except (CommandFailed, ChannelRefused):
                    continue
                if kube_exec.not_allowed(done, scope) is not None:
                    self._rests_until = loop.time() + REST_SECONDS
                    return news
                tables[container] = kube_exec.processes_of(done.stdout)
            if (found := kube_exec.trains_in(tables)) is not None:
                self.known[pod.uid] = found
                news = True
        return news
