"""Every pod's log is read, whatever is followed, and an empty list is looked into: `check` with the real kubectl."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kube_objects import at, ended, job, pod
from kube_server import KubeServer
from test_kube_watch import watching

from gpu_tui.collect.kubernetes import FOLLOWED
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.sample import Failure
from gpu_tui.core.sweep import CellState
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.state.patrol import patrol_report
from gpu_tui.state.views import FleetView
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.once import collect_once

PODS = FOLLOWED + 2


async def check(instance: Instance, state: Path) -> FleetView:
    """One look, as cron takes it."""
    return await collect_once(Fleet("sweep", (instance,)), 60.0, state=state)


def lines(n: int, loss: str = "0.5") -> list[tuple[str, str]]:
    """An epoch each second, the last one just now: an older log would be silent for too long."""
    now = SystemClock().now()
    times = [datetime.fromtimestamp(now - PODS - 5 + n + s, UTC) for s in range(1, 6)]
    return [
        (f"{time:%Y-%m-%dT%H:%M:%SZ}", f"epoch {s}/9 loss: {loss}")
        for s, time in enumerate(times, 1)
    ]


async def test_a_loss_that_is_no_number_is_found_in_any_of_the_logs(
    cluster: KubeServer, namespace: Instance, tmp_path: Path
) -> None:
    for n in range(PODS):
        await cluster.put("jobs", job(f"cell-{n}", active=1))
        state = {"running": {"startedAt": at(f"10:0{n}:00")}}  # the newest are followed
        await cluster.put("pods", pod(f"cell-{n}-x", of=f"cell-{n}", state=state))
        await cluster.write(f"cell-{n}-x", *lines(n, "nan" if n in (0, 1) else "0.5"))
    await cluster.put("pods", pod("dead", phase="Failed", state=ended(1)))
    await cluster.write(
        "dead", (at("10:00:01"), "RuntimeError: CUDA error: misaligned address"), end=True
    )
    view = await check(namespace, tmp_path / "state")
    (one,) = view.instances
    assert {
        cell.name: cell.epoch for cell in one.queue.cells if cell.state is CellState.RUNNING
    } == {f"cell-{n}": 5 for n in range(PODS)}
    found = {(finding.kind, finding.cell) for finding in view.findings}
    assert found == {("nan", "cell-0"), ("nan", "cell-1"), ("cuda_error", "dead")}


async def test_a_parallel_job_shows_the_worst_of_its_pods(
    cluster: KubeServer, namespace: Instance, tmp_path: Path
) -> None:
    """One pod was killed for memory, one diverges, and the newest one is well."""
    await cluster.put(
        "jobs", job("par4", active=3, failed=1, spec={"parallelism": 4, "completions": 4})
    )
    for letter in "acd":
        await cluster.put(
            "pods", pod(f"par4-{letter}", of="par4", created=f"10:00:0{ord(letter) % 9}")
        )
    await cluster.put(
        "pods", pod("par4-b", of="par4", phase="Failed", state=ended(137, "OOMKilled"))
    )
    await cluster.write("par4-a", *lines(1))
    await cluster.write("par4-b", *lines(2), end=True)
    await cluster.write("par4-c", *lines(3, "nan"))
    await cluster.write("par4-d", *lines(4))
    view = await check(namespace, tmp_path / "state")
    found = {(finding.kind, finding.cell, finding.severity.value) for finding in view.findings}
    assert found == {("host_oom", "par4", "serious"), ("nan", "par4", "serious")}
    assert fleet_verdict(view) == "escalate"
    (cell,) = view.instances[0].queue.cells
    assert (cell.state, cell.epoch, cell.epochs) == (CellState.RUNNING, 5, 9)


async def test_a_log_that_is_not_followed_is_read_on(
    cluster: KubeServer, namespace: Instance
) -> None:
    for n in range(FOLLOWED + 1):
        state = {"running": {"startedAt": at(f"10:0{n}:00")}}
        await cluster.put("pods", pod(f"p{n}", state=state))
        await cluster.write(f"p{n}", (at("10:00:11.5"), "one"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: heard.lines("p0") == ["one"])
        await cluster.write("p0", (at("10:00:11.7"), "two"))
        await heard.until(lambda: "two" in heard.lines("p0"))
        # Its container dies and runs again; what it said at the end is read, and once.
        await cluster.write("p0", (at("10:00:12"), "three"))
        await cluster.restart("p0")
        again = pod(
            "p0", restarts=1, last=ended(1), state={"running": {"startedAt": at("10:00:20")}}
        )
        await cluster.write("p0", (at("10:00:21"), "four"))
        await cluster.put("pods", again)
        await heard.until(lambda: "four" in heard.lines("p0"))
        assert cluster.following == FOLLOWED
    mark = "─── restart 1: the attempt before ended with exit 1 ───"
    assert heard.lines("p0") == ["one", "two", "three", mark, "four"]


@pytest.mark.parametrize("listed", [True, False])
async def test_a_namespace_that_does_not_exist_is_no_idle_fleet(
    cluster: KubeServer, namespace: Instance, tmp_path: Path, listed: bool
) -> None:
    cluster.namespaces |= {"training", "monitoring"}
    if not listed:
        cluster.forbidden.add(("LIST", "namespaces"))
    scope = replace(namespace.scheduler_scope, namespace="trianing")
    view = await check(replace(namespace, scheduler_scope=scope), tmp_path / "state")
    assert fleet_verdict(view) == "cannot-tell"
    because = " ".join(view.instances[0].because)
    assert "there is no namespace trianing (lab)" in because
    assert ("There are: training, default, monitoring." in because) is listed
    assert "Correct scheduler.namespace" in because


@pytest.mark.parametrize("spoil", ["none", "forbidden"])
async def test_an_empty_namespace_is_idle_also_if_this_user_may_not_read_it(
    cluster: KubeServer, namespace: Instance, tmp_path: Path, spoil: str
) -> None:
    if spoil == "forbidden":
        cluster.forbidden |= {("GET", "namespaces"), ("LIST", "namespaces")}
    scope = replace(namespace.scheduler_scope, namespace=None)  # that of the context
    view = await check(replace(namespace, scheduler_scope=scope), tmp_path / "state")
    assert fleet_verdict(view) == "healthy"


async def test_a_namespace_that_is_deleted_is_said_and_an_empty_one_is_asked_for_once(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: heard.table is not None and bool(heard.table.jobs))
        cluster.remove("pods", "p")
        cluster.namespaces.clear()
        cluster.drop_streams()
        await heard.until(lambda: heard.newest_failure is not None)
        failure = heard.newest_failure
        assert isinstance(failure, Failure)
        assert failure.why.startswith("there is no namespace default (lab). Correct")
    asked = [r.path for r in cluster.requests if r.path.startswith("/api/v1/namespaces/default")]
    assert asked.count("/api/v1/namespaces/default") == 1


async def test_logs_that_may_not_be_read_are_counted(
    cluster: KubeServer, namespace: Instance, tmp_path: Path
) -> None:
    cluster.forbidden.add(("GET", "pods/log"))
    for name in ("a", "b"):
        await cluster.put("pods", pod(name))
        await cluster.write(name, *lines(1))
    view = await check(namespace, tmp_path / "state")
    assert "2 of 2 running logs not read (2 cannot be read)" in "\n".join(patrol_report(view, {}))
    (one,) = view.instances
    assert {cell.why for cell in one.queue.cells} == {
        "the cluster does not let this user read that (lab, namespace default)"
    }
