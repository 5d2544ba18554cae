"""The usage of pods by the real `kubectl top`: read only if the fleet file asks for it, with a reason if it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kube_objects import pod
from kube_server import KubeServer
from test_kube_watch import Heard, watching

from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.metrics import POD_USE
from gpu_tui.core.readings import PodUse
from gpu_tui.core.sample import Failure, Reading
from gpu_tui.parse.kube_top import ROWS_MOST, parse_top


def told(heard: Heard) -> list[Any]:
    seen = (one for one in heard.events if isinstance(one, Sampled) and one.metric == POD_USE.name)
    return [one.sample for one in seen]


def asks_top(namespace: Instance) -> Instance:
    return replace(namespace, scheduler_scope=replace(namespace.scheduler_scope, vitals="top"))


async def test_kubectl_top_runs_if_the_fleet_file_asks_for_it(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p"))
    cluster.usage = {"p": {"main": ("1250m", "2048Mi"), "side": ("3m", "512Ki")}}
    async with watching(asks_top(namespace)) as (heard, _):
        await heard.until(lambda: bool(told(heard)))
    (sample, *_) = told(heard)
    assert isinstance(sample, Reading)
    uses = {one.container: (one.cores, one.memory >> 20) for one in sample.value}
    assert uses == {"main": (1.25, 2048), "side": (0.003, 0)}
    cluster.requests.clear()
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: heard.table is not None)
    assert not told(heard)
    assert not [one for one in cluster.requests if "metrics.k8s.io/v1beta1/" in one.path]


async def test_a_cluster_without_metrics_says_so(cluster: KubeServer, namespace: Instance) -> None:
    async with watching(asks_top(namespace)) as (heard, _):
        await heard.until(lambda: bool(told(heard)) and heard.table is not None)
    (sample, *_) = told(heard)
    assert isinstance(sample, Failure)
    assert "Metrics API not available" in sample.why


def test_a_row_that_is_none_is_passed_over_and_there_is_an_end_of_them() -> None:
    rows = "No resources found\np main 250m 12Mi\np \x1b[31m 1m 1Mi\nq main 2 9Gi \nq main -1 9Gi\n"
    assert parse_top(rows) == (
        PodUse("p", "main", 0.25, 12 << 20),
        PodUse("p", parse_top("p \x1b[31m 1m 1Mi")[0].container, 0.001, 1 << 20),
        PodUse("q", "main", 2.0, 9 << 30),
    )
    assert "\x1b" not in parse_top(rows)[1].container
    assert len(parse_top("p main 1m 1Mi\n" * 9_000)) == ROWS_MOST
