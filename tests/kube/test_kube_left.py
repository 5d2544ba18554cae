"""Jobs that are deleted between two looks with the real kubectl keep their rows."""

from __future__ import annotations

from pathlib import Path

from kube_objects import at, condition, ended, job, pod
from kube_server import KubeServer

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.sweep import CellState
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.once import collect_once


async def test_jobs_that_were_deleted_between_two_looks_keep_their_rows(
    cluster: KubeServer, namespace: Instance, tmp_path: Path
) -> None:
    fleet, state = Fleet(None, (namespace,)), tmp_path / "state"
    now = rfc3339(SystemClock().now())
    complete = {"completionTime": now, "conditions": [condition("Complete")]}
    await cluster.put("jobs", job("train", active=1))
    await cluster.put("jobs", job("done", spec={"ttlSecondsAfterFinished": 60}, **complete))
    await cluster.put("pods", pod("train-x", of="train"))
    over = pod("done-x", of="done", phase="Succeeded", state=ended(0, "Completed"))
    await cluster.put("pods", over)
    await cluster.write("train-x", (at("10:00:11.5"), "Epoch 12/40 loss: 0.5"))
    await cluster.write("done-x", (at("10:00:11.5"), "Epoch 40/40 loss: 0.5"))
    view = await collect_once(fleet, state=state)
    assert fleet_verdict(view) == "healthy"
    for name in ("train", "done"):
        cluster.remove("jobs", name)
        cluster.remove("pods", f"{name}-x")
    view = await collect_once(fleet, state=state)
    cells = {cell.name: cell for cell in view["lab"].queue.cells}
    assert {name: cell.state for name, cell in cells.items()} == {
        "train": CellState.CANNOT_TELL,
        "done": CellState.FINISHED,
    }
    assert "its log was deleted with it" in (cells["train"].why or "")
    assert (cells["train"].epoch, cells["train"].epochs) == (12, 40)
    (found,) = view.findings
    assert (found.kind, found.cell) == ("suspicious_end", "train")
    # As an open cockpit, which has read that log, reports it: it went at less than a third of its way.
    assert found.severity is Severity.SERIOUS
    assert "kubectl get events" in found.remedy
    assert fleet_verdict(view) == "escalate"
