"""One job's control plane: what it reads, what it deletes, and what it never takes for proof."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from kube_objects import condition, ended, job, pod
from kube_server import KubeServer

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.fleet import HERE, Instance, ProviderAccess, SchedulerScope, SshAccess
from gpu_tui.core.gate import _MINT, GateShut, StopPermit
from gpu_tui.providers.base import AnswerKind, Means, ProviderError
from gpu_tui.providers.kubernetes import Kubernetes
from gpu_tui.wiring.programs import here

ID = "job/train-a"
SOON = 1e9


@pytest.fixture
async def finished(cluster: KubeServer) -> KubeServer:
    """A job that is complete, its pod still there."""
    done = job("train-a", succeeded=1, conditions=[condition("Complete")])
    await cluster.put("jobs", done)
    await cluster.put("pods", pod("train-a-x1", of="train-a", phase="Succeeded", state=ended(0)))
    return cluster


def plane(namespace: Instance, id: str = ID, run: object = here) -> Kubernetes:
    means = Means({}, ManualClock(), here=run)  # type: ignore[arg-type]
    return Kubernetes(replace(namespace, provider=ProviderAccess(id=id)), means)


def permit(id: str = ID, verb: str = "delete") -> StopPermit:
    return StopPermit("lab", id, verb, "destroy", "evidence", SOON, _MINT)


async def test_what_a_job_is(cluster: KubeServer, namespace: Instance) -> None:
    await cluster.put("jobs", job("train-a", active=1, spec={"activeDeadlineSeconds": 3600}))
    await cluster.put("pods", pod("train-a-x1", of="train-a"))
    kube = plane(namespace)
    seen = await kube.read(ID)
    assert (seen.state, seen.error) == ("running", None)
    assert seen.started_at is not None
    assert seen.ends_at == seen.started_at + 3600
    assert await kube.at_work(ID) == ("pod train-a-x1 on gpu-node-1 (Running)",)
    await cluster.put("jobs", job("train-a", spec={"suspend": True}))
    assert (await kube.read(ID)).state == "running"  # its pod is still ending
    cluster.remove("pods", "train-a-x1")
    assert (await kube.read(ID)).state == "stopped"
    assert await kube.at_work(ID) == ()


async def test_a_delete_is_sent_once_and_proven_by_reading(
    finished: KubeServer, namespace: Instance
) -> None:
    kube = plane(namespace)
    assert (await kube.read(ID)).state == "stopped"
    one = permit()
    answer = await kube.stop(one)
    assert answer.kind is AnswerKind.ACCEPTED
    with pytest.raises(GateShut):
        await kube.stop(one)
    assert finished.deleted == [
        (
            "/apis/batch/v1/namespaces/default/jobs/train-a",
            {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": {"uid": "uid-train-a"},
                "propagationPolicy": "Background",
            },
        )
    ]
    assert (await kube.read(ID)).state == "gone"


async def test_a_job_made_again_is_neither_deleted_nor_mistaken(
    finished: KubeServer, namespace: Instance
) -> None:
    kube = plane(namespace)
    await kube.read(ID)
    await finished.put("jobs", job("train-a", uid="another"))
    again = await kube.read(ID)
    assert again.state == "unknown"
    assert again.error is not None
    assert "another job of the same name" in again.error
    answer = await kube.stop(permit())
    assert answer.kind is AnswerKind.REFUSED  # by the cluster itself: the precondition
    assert "Conflict" in answer.text
    assert finished.deleted == []


async def test_one_made_again_after_the_delete_is_not_ours(
    finished: KubeServer, namespace: Instance
) -> None:
    kube = plane(namespace)
    await kube.read(ID)
    await kube.stop(permit())
    await finished.put("jobs", job("train-a", uid="another"))
    seen = await kube.read(ID)
    assert (seen.state, seen.facts["status"]) == ("gone", "another job of that name is there now")


async def test_a_lid_that_closes_before_the_delete_calls_it_off(
    finished: KubeServer, namespace: Instance
) -> None:
    clock = ManualClock()

    async def slow(argv: Sequence[str], *, limit: float) -> Completed:
        done = await here(argv, limit=limit)
        clock.advance(8 * 3_600.0)
        return done

    means = Means({}, clock, here=slow)
    kube = Kubernetes(replace(namespace, provider=ProviderAccess(id=ID)), means)
    assert (await kube.read(ID)).state == "stopped"
    ends = clock.boot() + 15.0
    with pytest.raises(GateShut):
        await kube.stop(StopPermit("lab", ID, "delete", "destroy", "evidence", ends, _MINT))
    assert finished.deleted == []


async def test_what_was_never_seen_is_not_gone(cluster: KubeServer, namespace: Instance) -> None:
    kube = plane(namespace)
    seen = await kube.read(ID)
    assert (seen.state, seen.read_at) == ("unknown", None)
    assert (await kube.stop(permit())).kind is AnswerKind.REFUSED
    kube.remember(ID)
    assert (await kube.read(ID)).state == "gone"


async def test_pods_that_are_left_are_not_gone(finished: KubeServer, namespace: Instance) -> None:
    kube = plane(namespace)
    await kube.read(ID)
    finished.remove("jobs", "train-a")
    seen = await kube.read(ID)
    assert seen.state == "running"
    assert "train-a-x1" in seen.facts["status"]


async def test_a_finalizer_keeps_it_there(finished: KubeServer, namespace: Instance) -> None:
    finished.lingers = True
    kube = plane(namespace)
    await kube.read(ID)
    assert (await kube.stop(permit())).kind is AnswerKind.ACCEPTED
    assert (await kube.read(ID)).state == "stopped"


@pytest.mark.parametrize("spoil", ["token", "forbidden", "closed"])
async def test_an_error_is_never_an_end(
    finished: KubeServer, namespace: Instance, spoil: str
) -> None:
    kube = plane(namespace)
    await kube.read(ID)
    if spoil == "token":
        finished.token = "another"
    elif spoil == "forbidden":
        finished.forbidden |= {("GET", "jobs"), ("DELETE", "jobs")}
    else:
        await finished.close()
    seen = await kube.read(ID)
    assert seen.state == "unknown"
    assert seen.error is not None
    assert "test-token" not in seen.error
    answer = await kube.stop(permit())
    assert answer.kind is (AnswerKind.UNKNOWN if spoil == "closed" else AnswerKind.REFUSED)
    assert finished.deleted == []


async def test_a_delete_without_an_answer_is_unknown(
    finished: KubeServer, namespace: Instance
) -> None:
    finished.acts_silently = True

    async def impatient(argv: Sequence[str], *, limit: float) -> Completed:
        """The time is over as soon as the server has done it."""
        running = asyncio.create_task(here(argv, limit=limit))
        done = asyncio.create_task(finished.acted.wait())
        await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        if running.done():
            return running.result()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        finished.acted.clear()
        raise CommandFailed("did not end in time")

    kube = plane(namespace, run=impatient)
    await kube.read(ID)
    answer = await kube.stop(permit())
    assert answer.kind is AnswerKind.UNKNOWN
    assert len(finished.deleted) == 1
    assert (await kube.read(ID)).state == "gone"  # and that is what counts


async def test_another_server_proves_nothing(
    finished: KubeServer, namespace: Instance, tmp_path: Path
) -> None:
    kube = plane(namespace)
    await kube.read(ID)
    other = KubeServer()
    (tmp_path / "other").mkdir()
    await other.start(tmp_path / "other")
    try:
        (tmp_path / "kubeconfig").write_text((tmp_path / "other/kubeconfig").read_text())
        seen = await kube.read(ID)
        assert seen.state == "unknown"
        assert seen.error == "the context now leads to another server or namespace"
        answer = await kube.stop(permit())
        assert answer.kind is AnswerKind.REFUSED
        assert not [request for request in other.requests if request.method == "DELETE"]
    finally:
        await other.close()


async def test_a_bare_pod(cluster: KubeServer, namespace: Instance) -> None:
    await cluster.put("pods", pod("debug"))
    kube = plane(namespace, "pod/debug")
    assert (await kube.read("pod/debug")).state == "running"
    assert (await kube.stop(permit("pod/debug"))).kind is AnswerKind.ACCEPTED
    assert [path for path, _ in cluster.deleted] == ["/api/v1/namespaces/default/pods/debug"]
    assert (await kube.read("pod/debug")).state == "gone"


@pytest.mark.parametrize("other", [{"running": {}}, {"waiting": {"reason": "CrashLoopBackOff"}}])
async def test_a_pod_whose_training_is_over_still_holds_its_node(
    cluster: KubeServer, namespace: Instance, other: object
) -> None:
    """Only its phase says that no container of it runs any more."""
    done = {"name": "train", **ended(0, "Completed")}
    rows = [
        {"name": "train", "state": {"terminated": done["terminated"]}},
        {"name": "x", "state": other},
    ]
    train = {"name": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"containers": [train, {"name": "x"}]}
    await cluster.put("pods", pod("debug", spec=spec, containerStatuses=rows))
    kube = plane(namespace, "pod/debug")
    assert (await kube.read("pod/debug")).state == "running"
    assert await kube.at_work("pod/debug") == ("pod debug on gpu-node-1 (Completed)",)
    spec = {"containers": [{"name": "train"}, {"name": "x"}]}  # which of them trains is not said
    await cluster.put("pods", pod("debug", spec=spec, containerStatuses=rows))
    assert (await kube.read("pod/debug")).state == "running"


@pytest.mark.parametrize("id", ["train-a", "node/x", "job/../x", "job/A", "job/a b", "job/", None])
def test_an_id_is_one_object(id: str | None) -> None:
    scope = SchedulerScope(kubectl="local")
    instance = Instance("lab", HERE, "kubernetes", scheduler="kubernetes", scheduler_scope=scope)
    with pytest.raises(ProviderError):
        Kubernetes(
            replace(instance, provider=ProviderAccess(id=id)), Means({}, ManualClock(), here=here)
        )


def test_a_jump_host_needs_a_connection() -> None:
    scope = SchedulerScope(kubectl="box")
    instance = Instance(
        "lab",
        SshAccess("bastion"),
        "kubernetes",
        scheduler="kubernetes",
        scheduler_scope=scope,
        provider=ProviderAccess(id=ID),
    )
    with pytest.raises(ProviderError):
        Kubernetes(instance, Means({}, ManualClock(), here=here))


async def test_a_verb_that_is_not_ours(finished: KubeServer, namespace: Instance) -> None:
    kube = plane(namespace)
    await kube.read(ID)
    assert (await kube.stop(permit(verb="suspend"))).kind is AnswerKind.REFUSED
    assert finished.deleted == []
