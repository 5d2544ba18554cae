"""Views with given findings and cells."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, ProviderState, SshAccess
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

T0 = 1_795_000_000.0


def finding(
    kind: str,
    severity: Severity = Severity.FATAL,
    instance: str = "a",
    cell: str | None = None,
    **more: object,
) -> Finding:
    words = {"evidence": f"{kind} in the log", "remedy": "look at it", "count": 1, **more}
    return Finding(
        kind=kind, severity=severity, instance=instance, source="log:x:1",
        first_seen=T0, last_seen=T0, cell=cell, **words,
    )  # fmt: skip


def cell(
    name: str, state: CellState = CellState.FINISHED, finished_at: float | None = None
) -> Cell:
    return Cell(name, 1, "task", state, finished_at=finished_at)


def view(
    now: float = T0,
    findings: tuple[Finding, ...] = (),
    cells: tuple[Cell, ...] = (),
    names: tuple[str, ...] = ("a",),
    connecting: tuple[str, ...] = (),
) -> FleetView:
    """A fleet whose instances are off (so that everything about them is known) unless they connect."""
    fleet = Fleet("s", tuple(Instance(name, SshAccess(name)) for name in names))
    seen = Store(fleet, {}).view(now)
    instances = tuple(
        replace(
            one,
            provider=ProviderState("unknown" if one.name in connecting else "stopped"),
            link=LinkState("connecting" if one.name in connecting else "off"),
            findings=tuple(f for f in findings if f.instance == one.name),
            queue=Queue(cells if one.name == "a" else ()),
        )
        for one in seen.instances
    )
    return replace(seen, instances=instances, findings=findings)
