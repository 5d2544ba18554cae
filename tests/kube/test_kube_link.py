"""The link of an instance without a box, and a namespace behind a jump host."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd
from kube_objects import at, job, pod
from kube_server import KubeServer
from test_kube_watch import Heard

from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.events import LinkChanged, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SchedulerScope
from gpu_tui.core.metrics import GPUS, HOST, KUBERNETES, MEMORY
from gpu_tui.core.sample import Absent, Failure, Reading
from gpu_tui.transport.local import HereOrThere
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.wiring.clock import SystemClock


@asynccontextmanager
async def watching(instance: Instance) -> AsyncIterator[tuple[Heard, Supervisor]]:
    heard = Heard()
    ssh = SshTransport()
    supervisor = Supervisor(Fleet(None, (instance,)), HereOrThere(ssh), heard, SystemClock())
    task = asyncio.create_task(supervisor.run())
    try:
        yield heard, supervisor
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await ssh.close()


def link(heard: Heard) -> LinkState:
    """The newest state but "connecting"."""
    states = [event.link for event in heard.events if isinstance(event, LinkChanged)]
    return next((s for s in reversed(states) if s.state != "connecting"), LinkState())


def newest(heard: Heard, metric: str) -> object:
    found = [e.sample for e in heard.events if isinstance(e, Sampled) and e.metric == metric]
    return found[-1] if found else None


async def test_live_is_what_the_cluster_says(cluster: KubeServer, namespace: Instance) -> None:
    await cluster.put("pods", pod("p"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: heard.table is not None)
        assert link(heard).state == "live"
        # What a box has is absent, which is not the same as unread.
        assert isinstance(newest(heard, GPUS.name), Absent)
        assert isinstance(newest(heard, MEMORY.name), Absent)
        assert isinstance(newest(heard, HOST.name), Reading)


async def test_a_refusal_has_a_state_a_sentence_and_a_next_step(
    cluster: KubeServer, namespace: Instance
) -> None:
    cluster.token = "another"
    async with watching(namespace) as (heard, supervisor):
        await heard.until(lambda: link(heard).state == "auth")
        assert link(heard).error == (
            "the cluster does not take these credentials (lab, namespace default)"
        )
        assert link(heard).next is not None
        # Once somebody has logged in again it comes back, without a word to gpu-tui or by key.
        cluster.token = "test-token-of-nobody"
        supervisor.reconnect("lab")
        await heard.until(lambda: link(heard).live)


@pytest.mark.parametrize(
    ("spoil", "state"), [("closed", "refused"), ("context", "auth"), ("forbidden", "auth")]
)
async def test_why_there_is_nothing(
    cluster: KubeServer, namespace: Instance, spoil: str, state: str
) -> None:
    if spoil == "closed":
        await cluster.close()
    elif spoil == "context":
        namespace = replace(
            namespace, scheduler_scope=SchedulerScope(context="no", kubectl="local")
        )
    else:
        cluster.forbidden.add(("GET", "jobs"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: link(heard).error is not None)
        assert link(heard).state == state
        assert newest(heard, KUBERNETES.name) is None


async def test_no_kubectl_is_said(
    namespace: Instance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: link(heard).error is not None)
        assert (link(heard).state, link(heard).error) == ("no-shell", "there is no kubectl to ask")


def behind(box: Sshd, tmp_path: Path) -> Instance:
    """The same namespace, by the kubectl of a real box over a real sshd."""
    if not Path("/usr/bin/kubectl").exists():
        pytest.skip("no kubectl in /usr/bin, where a box finds it (apt: kubernetes-client)")
    (box.home / ".kube").mkdir()
    shutil.copy(tmp_path / "kubeconfig", box.home / ".kube/config")
    scope = SchedulerScope(context="lab", namespace="default", kubectl="box")
    return box.instance("lab", scheduler="kubernetes", scheduler_scope=scope, logs=None)


async def test_a_namespace_behind_a_jump_host(
    cluster: KubeServer, box: Sshd, tmp_path: Path
) -> None:
    await cluster.put("jobs", job("a", active=1))
    await cluster.put("pods", pod("a-1", of="a"))
    await cluster.write("a-1", (at("10:00:11"), "one"))
    async with watching(behind(box, tmp_path)) as (heard, _):
        await heard.until(lambda: heard.table is not None and cluster.following == 1)
        await cluster.write("a-1", (at("10:00:12"), "two"))
        await heard.until(lambda: len(heard.lines("a")) == 2)
        assert isinstance(newest(heard, HOST.name), Reading)  # the box is watched as any other
    # A log that is silent must not keep its kubectl on the box when we are gone.
    assert await asyncio.to_thread(box.wait_idle) == {}
    assert [path.name for path in (box.home / ".kube").iterdir()] == ["config"]  # no cache is left


async def test_a_cluster_that_is_down_does_not_take_its_jump_host_along(
    cluster: KubeServer, box: Sshd, tmp_path: Path
) -> None:
    instance = behind(box, tmp_path)
    await cluster.close()
    async with watching(instance) as (heard, _):
        await heard.until(lambda: isinstance(newest(heard, KUBERNETES.name), Failure))
        assert link(heard).live
        failure = newest(heard, KUBERNETES.name)
        assert isinstance(failure, Failure)
        assert failure.why.startswith("the API server refuses the connection")
