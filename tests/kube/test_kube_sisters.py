"""Other shapes of known faults: what a pod says of itself must not change while nothing else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kube_objects import at, condition, ended, job, pod, waiting
from kube_server import KubeServer
from test_kube_pods import NOON, RUNS, box, read, several
from test_kubernetes_jobs import look, only

from gpu_tui.core.fleet import Fleet, Instance, LinkState
from gpu_tui.core.rules import Now, conditions
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.contract import fleet_verdict
from gpu_tui.wiring import collect_once

KUEUE = condition("DisruptionTarget", "WorkloadEvictedDueToPreempted", clock="11:28:00")


@pytest.mark.parametrize(
    ("gone_by", "finding"),
    [("12:00:20", "preempted"), ("11:58:00", "preempted"), ("11:30:00", "network")],
)
def test_why_a_pod_is_taken_away_stays_while_it_is_late(gone_by: str, finding: str) -> None:
    meta = {"deletionTimestamp": at(gone_by), "deletionGracePeriodSeconds": 30}
    made = read(several(box("main", RUNS), meta=meta, conditions=[KUEUE]))
    assert made.word == "Terminating"
    assert "Kueue gave its quota to another workload" in (made.why or "")
    assert made.finding == finding


def test_the_restarts_of_an_init_container_count_while_it_holds_the_pod_up() -> None:
    loop = waiting("CrashLoopBackOff")
    init = box("fetch", loop, lastState=ended(1), restartCount=7)
    held = read(several(box("main", waiting("PodInitializing")), inits=(init,), phase="Pending"))
    assert (held.word, held.restarts) == ("Init:CrashLoopBackOff", 7)
    # Once it has done its work they are history.
    done = box("fetch", ended(0, "Completed"), restartCount=7)
    assert read(several(box("main", RUNS), inits=(done,))).restarts == 0


@pytest.mark.parametrize(
    "name",
    [
        "nginx",
        "redis",
        "minio",
        "mlflow",
        "rsync",
        "rclone",
        "log-agent",
        "splunk-fluentd-hec",
        "newrelic-infra",
        "ama-logs",
        "cloudwatch-agent",
    ],
)
def test_a_server_or_a_shipper_beside_the_trainer_does_not_judge_its_pod(name: str) -> None:
    made = read(several(box(name, RUNS), box("train", ended(1))))
    assert (made.state, made.container) == (CellState.FAILED, "train")


@pytest.mark.parametrize(
    "resource", ["nvidia.com/GA102GL_A10", "nvidia.com/A100", "nvidia.com/TU104GL_Tesla_T4"]
)
def test_a_card_by_the_name_of_its_model_is_an_accelerator(resource: str) -> None:
    asks = box("work", ended(1), resources={"limits": {resource: "1"}})
    assert read(several(box("helper", RUNS), asks)).container == "work"


def test_a_network_card_of_the_same_maker_is_none() -> None:
    asks = box("work", RUNS, resources={"limits": {"nvidia.com/hostdev": "1"}})
    assert read(several(box("helper", RUNS), asks)).container is None


def test_a_node_that_never_takes_its_pod_is_a_finding() -> None:
    placed = {**condition("PodScheduled"), "lastTransitionTime": at("10:00:06")}
    made = read(pod("p", phase="Pending", conditions=[placed], startTime=None))
    assert made.finding == "missing_cell"
    assert made.why == "waits for 1 h 59 min: its node has not taken it"
    soon = read(pod("p", phase="Pending", conditions=[placed]), NOON - 7_180)
    assert (soon.why, soon.finding) == (None, None)


def test_how_long_a_preempted_job_waits_for_its_next_pod_is_counted_from_the_end_of_the_last() -> (
    None
):
    shut = pod(
        "j-x", of="j", phase="Failed", state=ended(143), reason="Terminated",
        message="Pod was terminated in response to imminent node shutdown.",
    )  # fmt: skip
    row = only(job("j", failed=1), shut)
    assert row.state is CellState.PENDING
    last = read(shut)
    assert row.waits_since == last.finished_at
    assert row.started_at is None  # the attempt that ended is not the next one


def shut(name: str, index: int | None = None) -> Any:
    """A pod that its node's shutdown ended."""
    return pod(
        name, of="j", index=index, phase="Failed", state=ended(143), reason="Terminated",
        message="Pod was terminated in response to imminent node shutdown.",
    )  # fmt: skip


@pytest.mark.parametrize("spec", [{"parallelism": 2}, {"parallelism": 2, "completions": 2}])
def test_pods_of_a_parallel_job_that_were_all_preempted_are_waited_for(spec: Any) -> None:
    row = only(job("j", spec=spec, failed=2), shut("j-a"), shut("j-b"))
    assert (row.state, row.finding) == (CellState.PENDING, "preempted")
    assert (row.finished_at, row.exit_code) == (None, None)
    crashed = pod("j-b", of="j", phase="Failed", state=ended(1))
    assert only(job("j", spec=spec, failed=2), shut("j-a"), crashed).state is CellState.FAILED


def test_a_preempted_index_waits_for_its_next_pod_as_a_job_of_one_pod_does() -> None:
    spec = {"completionMode": "Indexed", "parallelism": 2, "completions": 2}
    pods = (shut("j-0-a", 0), pod("j-1-a", of="j", index=1))
    rows = look(job("j", spec=spec, active=1, failed=1), *pods).table.jobs
    assert [row.state for row in rows] == [CellState.PENDING, CellState.RUNNING]
    assert (rows[0].finding, rows[0].exit_code) == ("preempted", None)
    assert rows[0].waits_since is not None
    # The Job is over: it makes no more pods.
    end = [condition("Failed", "BackoffLimitExceeded")]
    rows = look(job("j", spec=spec, failed=1, conditions=end), *pods[:1]).table.jobs
    assert rows[0].state is CellState.FAILED


# --- what is not known is not over ---------------------------------------------------------------------


async def test_a_pod_that_nobody_can_judge_is_not_finished(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("jobs", job("j", active=1))
    helper, work = box("helper", RUNS), box("work", ended(0, "Completed"))
    await cluster.put("pods", {**several(helper, work), "metadata": pod("j-x", of="j")["metadata"]})
    view = await collect_once(Fleet(None, (namespace,)))
    (cell,) = view["lab"].queue.cells
    assert cell.state is CellState.CANNOT_TELL
    assert view["lab"].verdict is Verdict.CANNOT_TELL
    assert view["lab"].because[0].startswith("nothing says whether j still runs")
    assert fleet_verdict(view) == "cannot-tell"


async def test_a_selector_that_matches_nothing_is_named(
    cluster: KubeServer, namespace: Instance
) -> None:
    scope = replace(namespace.scheduler_scope, selector="app=typo")
    await cluster.put("pods", pod("p", meta={"labels": {"app": "train"}}))
    view = await collect_once(Fleet(None, (replace(namespace, scheduler_scope=scope),)))
    assert view["lab"].verdict is Verdict.IDLE
    assert view["lab"].because[0] == "no job matches selector: app=typo"


async def test_a_context_that_does_not_exist_is_not_a_lost_box(
    cluster: KubeServer, namespace: Instance
) -> None:
    scope = replace(namespace.scheduler_scope, context="labb")
    view = await collect_once(Fleet(None, (replace(namespace, scheduler_scope=scope),)))
    (found,) = view["lab"].findings
    assert found.kind == "unreachable"
    assert found.remedy == view["lab"].link.next
    assert "provider's console" not in found.remedy


# --- one fact, one finding -----------------------------------------------------------------------------


@pytest.mark.parametrize(("id", "ranks"), [("job/par", False), ("pytorchjob/pt", True)])
def test_a_pod_of_a_parallel_job_that_ran_out_of_memory_has_the_remedy_for_that(
    id: str, ranks: bool
) -> None:
    cell = Cell("par", 1, None, CellState.RUNNING, job=id, finding="host_oom", lost=1)
    seen = Now(0.0, LinkState("live"), Verdict.RUNNING, queue=Queue((cell,)))
    (found,) = conditions(seen)
    assert ("rank" in (found.remedy or "")) is ranks
