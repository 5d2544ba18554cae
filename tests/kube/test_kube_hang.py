"""A pod that hangs, as one look by the real kubectl sees it: each line of its log has a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kube_objects import pod
from kube_server import KubeServer

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.verdict import Verdict
from gpu_tui.wiring import collect_once
from gpu_tui.wiring.clock import SystemClock


async def test_one_look_distinguishes_a_pod_that_hangs_from_one_that_goes_on(
    cluster: KubeServer, namespace: Instance
) -> None:
    now = SystemClock().now()

    def ago(seconds: float) -> str:
        return f"{datetime.fromtimestamp(now - seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"

    async def trains(name: str, quiet: float, gap: float) -> None:
        running = {"running": {"startedAt": ago(quiet + 90 * gap)}}
        await cluster.put("pods", pod(name, state=running))
        lines = [(ago(quiet + gap * n), f"epoch {90 - n}/400 loss=0.5") for n in range(80, -1, -1)]
        await cluster.write(name, *lines)

    await trains("hangs", 3600, 9)
    await trains("slow", 3600, 1800)
    view = (await collect_once(Fleet(None, (namespace,)), 30.0))["lab"]
    assert view.verdict is Verdict.RUNNING
    found = [(one.cell, one.severity) for one in view.findings if one.kind == "stalled"]
    assert found == [("hangs", Severity.WARN)]
    why = {cell.name: cell.why for cell in view.queue.cells}
    assert re.fullmatch(
        r"no line for 1 h(?: \d\d min)?, 4\d\d times its usual gap", why["hangs"] or ""
    )
    assert why["slow"] is None
