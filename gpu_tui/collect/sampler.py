"""The sampler of one box: one channel, one program on the box for all probes, and what it says.

The program is in `program`, its probes in `probes`, its frames in `frames`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from gpu_tui.collect.frames import Frame, FrameReader
from gpu_tui.collect.probe import Probe, Sample, Sections, Target
from gpu_tui.collect.probes import PROBES, hanging, read, silence, target_of
from gpu_tui.collect.program import MAIN_LANE, stride_of, tick_of, write_program
from gpu_tui.collect.share import Share, pieces
from gpu_tui.core import metrics
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.ports import Sink
from gpu_tui.core.sample import Failure, FailureKind
from gpu_tui.transport.base import Connection, arrived, write_to

Said = dict[str, tuple[Sections, Sample]]  # metric -> what a probe said last, and what that means
GRACE = 4.0  # seconds of slowness (a busy box, a slow link) that are not yet a hang
AT_LAST = 30.0  # seconds after which a beat is given though the last one was not answered


@dataclass(frozen=True)
class Group:
    """One program for one start, and the probes it asks; a probe's mark is its place in them.

    `write` makes its text, which nobody keeps: it has some 50 kB. `patience`: metric -> the seconds that it may
    be silent; `pace` the same, once its round has begun a command.
    """

    name: str
    write: Callable[[], str]
    nonce: str
    target: Target
    probes: tuple[Probe, ...]
    patience: Mapping[str, float]
    pace: Mapping[str, float]

    @property
    def program(self) -> str:
        """What is sent to the box."""
        return self.write()

    @cached_property
    def named(self) -> Mapping[str, tuple[Probe, ...]]:
        """The probes of each metric."""
        metrics = dict.fromkeys(probe.metric for probe in self.probes)
        return {m: tuple(probe for probe in self.probes if probe.metric == m) for m in metrics}

    def beat_of(self, probe: Probe) -> float:
        """The seconds between two answers of a probe."""
        return self.beats[probe.metric]

    @cached_property
    def beats(self) -> Mapping[str, float]:
        """The seconds between two answers of each metric."""
        poll = self.target.instance.poll
        return {probe.metric: stride_of(probe, poll) * tick_of(poll) for probe in self.probes}

    def reader(self) -> FrameReader:
        """A reader of what this program prints."""
        return FrameReader(self.nonce, [probe.metric for probe in self.probes])


def plan(
    instance: Instance,
    profile_mounts: tuple[str, ...] = (),
    probes: tuple[Probe, ...] | None = None,
) -> tuple[Group, ...]:
    """The programs for this box, with one channel and one fresh nonce each. At present it is one program."""
    target = target_of(instance, profile_mounts)
    asked = {probe: probe.snippet(target) for probe in probes or PROBES}
    snippets = {probe: text for probe, text in asked.items() if text}
    nonce = secrets.token_hex(8)
    tick = tick_of(instance.poll)
    program = partial(write_program, snippets, instance.poll, nonce, instance.roots)
    # A command over its limit is ended at the next beat but one at the latest.
    pace = {p.metric: p.hangs(target) * (p.limit_seconds + 2 * tick) + GRACE for p in snippets}
    patience = {p.metric: stride_of(p, instance.poll) * tick + pace[p.metric] for p in snippets}
    return (Group("box", program, nonce, target, tuple(snippets), patience, pace),)


def samples(group: Group, frame: Frame, taken_at: float, said: Said | None = None) -> list[Sampled]:
    """The events that one frame stands for. What was `said` before is not read again."""
    name, target = group.target.instance.name, group.target
    found = []
    for probe in group.named[frame.metric]:
        last = said.get(probe.metric) if said is not None else None
        sample = read(probe, target, frame.sections, taken_at, group.beats[probe.metric], last)
        if said is not None and not isinstance(sample, Failure):
            said[probe.metric] = frame.sections, sample
        found.append(Sampled(name, taken_at, probe.metric, sample))
    return found


async def sample_group(
    connection: Connection, instance: Instance, group: Group, sink: Sink, clock: Clock
) -> None:
    """Run a program until it ends on the box; what it says becomes events.

    A metric that is silent for longer than its patience is reported, again and again; the channel
    stays open, because a driver or a mount may come back. A lost connection raises LinkError.
    Nobody is silent before the program is there: on a narrow line that takes long.
    """
    name, loop = instance.name, asyncio.get_running_loop()
    reader, patience = group.reader(), _Patience(group, loop.time())
    said: Said = {}

    async def mind(chunks: AsyncIterator[bytes]) -> None:
        """Say who is silent, when it is time to."""
        await arrived(chunks)
        patience.begin(loop.time())
        while True:
            await asyncio.sleep(patience.next - loop.time())
            now = clock.now()
            for probe, alone in patience.silent(loop.time()).items():
                begun, last = reader.unfinished(probe.metric)
                sections = hanging(group.target, begun, last) if alone else None
                if probe.metric == metrics.MOUNTS.name and sections is not None:
                    sample = read(probe, group.target, sections, now, group.beat_of(probe))
                else:
                    sample = silence(probe, now, group.beat_of(probe), alone=alone)
                sink(Sampled(name, now, probe.metric, sample))

    async def lead(chunks: AsyncIterator[bytes]) -> None:
        """Give a program without a clock its beat. One at a time: many at once would seem time passed."""
        while True:
            write_to(chunks, b"\n")
            await asyncio.sleep(tick_of(group.target.instance.poll))
            with suppress(TimeoutError):
                async with asyncio.timeout(AT_LAST):
                    await answered.wait()
            answered.clear()

    beaten = {probe.metric for probe in group.probes if probe.lane == MAIN_LANE}
    answered, share = asyncio.Event(), Share()
    beside: list[asyncio.Task[None]] = []
    try:
        async with connection.stream(group.program) as chunks:
            beside.append(asyncio.create_task(mind(chunks), name=f"silence:{name}"))
            async for piece in (piece async for chunk in chunks for piece in pieces(chunk)):
                with share:
                    for frame in reader.feed(piece):
                        patience.hear(frame.metric, loop.time())
                        if frame.metric in beaten:
                            answered.set()
                        for event in samples(group, frame, clock.now(), said):
                            sink(event)
                    while reader.steps:
                        patience.step(reader.steps.pop(), loop.time())
                await share.turn()
                if reader.wants_beats and len(beside) == 1:
                    beside.append(asyncio.create_task(lead(chunks), name=f"beat:{name}"))
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    for task in beside:
        if not task.cancelled():
            task.result()
    ended = Failure(
        FailureKind.UNREAD, "the sampler on the box ended; it is started again", clock.now()
    )
    for probe in group.probes:
        sink(Sampled(name, ended.taken_at, probe.metric, ended))


class _Patience:
    """When each probe of a group is to be called silent. Times in seconds of the loop's clock."""

    def __init__(self, group: Group, now: float) -> None:
        self._group = group
        self.begin(now)

    def begin(self, now: float) -> None:
        """From now on all can answer."""
        self._heard = dict.fromkeys((probe.metric for probe in self._group.probes), now)
        self._due = {metric: now + self._group.patience[metric] for metric in self._heard}

    @property
    def next(self) -> float:
        """The first time at which one will be silent."""
        return min(self._due.values())

    def hear(self, metric: str, now: float) -> None:
        """It answered."""
        self._heard[metric] = now
        self._due[metric] = now + self._group.patience[metric]

    def step(self, metric: str, now: float) -> None:
        """It began a command: a disk that hangs is told by the time of one, and not of all that may hang."""
        self._heard[metric] = now
        self._due[metric] = now + self._group.pace[metric]

    def silent(self, now: float) -> dict[Probe, bool]:
        """Who is silent now -> alone, that is: another still answered when this one was overdue.

        On a line that was cut the one that was heard first is late first, and the others were heard a little
        after it: that proves nothing, so they must have answered in the later half of its delay, or at the last
        beat of a slow poll. Who is told is given its patience once more.
        """
        late = [probe for probe in self._group.probes if self._due[probe.metric] <= now]
        last, beat = max(self._heard.values()), min(self._group.beats.values())
        told = {}
        for probe in late:
            patience = self._group.patience[probe.metric]
            late_half = (patience - self._group.beat_of(probe)) / 2
            bound = max(self._heard[probe.metric], now - max(late_half, beat + GRACE / 2))
            told[probe] = last > bound
            self._due[probe.metric] = now + patience
        return told
