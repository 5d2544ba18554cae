"""The running bill after a restart, and the screen before it is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core import metrics
from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, Money, ProviderAccess, SshAccess
from gpu_tui.core.idle import LONGEST_STEP, IdleClock
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import (
    CpuCounters,
    FileStat,
    FileTable,
    Gpu,
    GpuTable,
    Host,
    Memory,
    Process,
)
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.resources import load_profiles
from gpu_tui.state.settled import READ_SECONDS
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.calm import no_clocks, no_findings
from gpu_tui.ui.text.header import header

NOW = 1_795_000_000.0
BOX = Instance(
    "a", SshAccess("a"), platform="generic-ssh", price=Money(2.0, "USD"), logs="/r/{cell}.log"
)
GPUS = GpuTable((Gpu(0, "RTX", "u", utilization=0.0, memory_used=1, memory_total=1 << 34),))
LOG = LogSource("/r/x.log", "x")


class Box:
    def __init__(self, of: Instance = BOX) -> None:
        self.at = NOW
        self.store = Store(Fleet("s", (of,)), load_profiles())
        self.store.apply(LinkChanged("a", NOW, LinkState("live", since=NOW)))

    def sample(self, metric: str, value: object) -> None:
        sample: object = Reading(value, self.at, 1e6)
        self.store.apply(Sampled("a", self.at, metric, sample))  # type: ignore[arg-type]

    def box(self) -> None:
        self.sample("host", Host(self.at, 9e5, "b", 0))
        self.sample("processes", (Process(1, 0, "init", ("init",), "S", 9e5),))
        self.sample("gpus", GPUS)
        self.sample("files", FileTable({LOG.path: FileStat(LOG.path, 7, 900, NOW - 20_000)}))
        self.sample(metrics.DETACHED.name, JobTable("nohup", ()))

    def rest(self) -> None:
        self.sample("memory", Memory("host", 1, 100))
        self.sample("cpu", CpuCounters(None, None, None, None, None))
        self.sample("mounts", ())
        self.sample(metrics.SHELLS.name, ())
        for metric in (metrics.SPOOLER, metrics.PUEUE, metrics.TMUX, metrics.LEFT):
            self.sample(metric.name, JobTable(metric.name, ()))

    def log(self, text: str = "epoch 1/2 loss 1\nRuntimeError: x\n") -> None:
        self.store.apply(LogOpened("a", self.at, LOG, 7, 0, 0, resumed=False))
        lines = LogReader().feed(text.encode())
        self.store.apply(LogArrived("a", self.at, LOG, lines, backfill=True))

    def view(self) -> FleetView:
        return self.store.view(self.at)


def said(view: FleetView) -> tuple[str, str, str]:
    clocks, findings = (
        "\n".join(row.plain for row in lines(view, 80)) for lines in (no_clocks, no_findings)
    )
    return clocks, findings, header(view, 160, (), None).plain


def test_no_absence_is_shown_before_everything_was_read() -> None:
    box = Box(replace(BOX, price=None))
    box.box()
    clocks, findings, head = said(box.view())
    assert (clocks, findings) == (
        "reading…: no clock is known to tick so far", "reading…: no finding so far",
    )  # fmt: skip
    assert ("reading…" in head, "✓" in head) == (True, False)
    box.rest()
    box.log("loading the data\n")
    clocks, findings, head = said(box.view())
    assert (clocks, findings) == ("✓ no clock is ticking", "✓ nothing to see: no findings")
    assert "✓ no findings" in head


def test_a_reading_that_never_comes_does_not_block_for_ever() -> None:
    box = Box()
    box.box()
    assert said(box.view())[1].startswith("reading")
    box.at += READ_SECONDS
    assert "reading" not in "".join(said(box.view()))


@pytest.mark.parametrize("id", ["", "42"])
def test_a_provider_that_was_not_asked_yet_may_know_of_a_clock(id: str) -> None:
    box = Box(replace(BOX, provider=ProviderAccess(id=id or None)))
    box.box()
    box.rest()
    box.log("loading the data\n")
    assert said(box.view())[0].startswith("reading" if id else "✓")


def test_a_moment_of_doubt_at_the_start_does_not_hide_a_bill_that_runs() -> None:
    box = Box()
    box.box()
    box.log()
    box.view()
    box.at += 1
    box.store.apply(Sampled("a", box.at, metrics.GPUS.name, Failure(FailureKind.HUNG, "x", box.at)))
    for seconds in (1, 1, LONGEST_STEP):
        box.at += seconds
        box.view()
    box.at += 1
    box.box()
    kinds = {one.kind for one in box.view().findings}
    assert "idle_billing" in kinds
    assert any(clock.ticks for clock in box.view().clocks)


def test_a_gap_after_a_while_is_still_a_gap() -> None:
    clock = IdleClock()
    for at in range(0, 61, 10):
        clock.tick(float(at), True)
    clock.tick(70.0, None)
    assert (clock.tick(5_000.0, True), clock.gaps) == (60.0, True)
    short = IdleClock()
    short.tick(0.0, True)
    short.tick(5.0, None)
    assert (short.tick(6.0, True), short.gaps) == (0.0, False)
