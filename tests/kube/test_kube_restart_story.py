"""A trainer with a sidecar is killed for memory and runs again: the real kubectl, and the sentence about it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kube_objects import pod
from kube_server import KubeServer
from test_kube_watch import watching

from gpu_tui.core.events import LinkChanged
from gpu_tui.core.fleet import Fleet, Instance, LinkState
from gpu_tui.core.sweep import CellState
from gpu_tui.state.history import NoHistory
from gpu_tui.state.store import Store
from gpu_tui.wiring.clock import SystemClock


def ago(seconds: float) -> str:
    """A time as the API writes it."""
    at = datetime.fromtimestamp(SystemClock().now() - seconds, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


async def test_a_killed_trainer_that_runs_again_is_reported_with_its_cost(
    cluster: KubeServer, namespace: Instance
) -> None:
    trainer = {
        "name": "train",
        "restartCount": 3,
        "state": {"running": {"startedAt": ago(90)}},
        "lastState": {
            "terminated": {
                "exitCode": 137, "reason": "OOMKilled", "startedAt": ago(900), "finishedAt": ago(150),
            }
        },
    }  # fmt: skip
    proxy = {
        "name": "istio-proxy",
        "restartCount": 0,
        "state": {"running": {"startedAt": ago(3_600)}},
    }
    containers = [
        {"name": "istio-proxy"},
        {"name": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
    ]
    item = pod("p", spec={"containers": containers}, containerStatuses=[proxy, trainer])
    await cluster.write("p", (ago(3_600), "proxy is ready"), container="istio-proxy")
    for epoch in range(1, 8):
        line = (ago(900 - 100 * epoch), f"Epoch {epoch}/50 loss {1 / epoch:.3f}")
        await cluster.write("p", line, container="train")
    await cluster.restart("p", "train")
    for epoch in (1, 2):
        line = (ago(90 - 30 * epoch), f"Epoch {epoch}/50 loss {1 / epoch:.3f}")
        await cluster.write("p", line, container="train")
    await cluster.put("pods", item)

    store, clock = Store(Fleet(None, (namespace,)), {}, NoHistory()), SystemClock()
    store.apply(LinkChanged("lab", clock.now(), LinkState("live", since=clock.now())))
    async with watching(namespace, period=30.0) as (heard, _):
        await heard.until(lambda: len(heard.lines("p")) >= 9 and heard.table is not None)
        for event in heard.events:
            store.apply(event)
    seen = store.view(clock.now())["lab"]
    (cell,) = seen.queue.cells
    assert (cell.state, cell.epoch, cell.epochs) == (CellState.RUNNING, 2, 50)
    said = r"Running: restarted 3 times, last OOMKilled \(exit 137\) \d+ min ago, back at epoch 2 after epoch 7"
    assert re.fullmatch(said, cell.why or "")
    (finding,) = [one for one in seen.findings if one.kind == "host_oom"]
    assert (finding.severity.value, finding.evidence) == ("warn", cell.why)
