"""A whole teardown of a job: no box, the real kubectl, results on this machine, and the gate in between."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from kube_objects import condition, ended, job, pod
from kube_server import KubeServer

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import (
    Instance,
    LinkState,
    ProviderAccess,
    ProviderState,
    QueueFiles,
    Results,
    Roots,
)
from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView
from gpu_tui.core.sweep import Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.demo.checkpoint import checkpoint_bytes, metrics_bytes, seeded_weights
from gpu_tui.providers.base import Means, Provider
from gpu_tui.providers.registry import provider_for
from gpu_tui.resources import load_profiles
from gpu_tui.state.views import Cost, CpuUse, InstanceView
from gpu_tui.teardown.act import Pace
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.runner import Runner
from gpu_tui.transport.local import LocalConnection, connect_here
from gpu_tui.wiring.programs import here

PHRASE = "lab-aina"  # the last letters of job/train-a
PROFILES = load_profiles()


@dataclass
class Scene:
    """What a runner sees of one instance."""

    instance: Instance
    connection: LocalConnection
    clock: ManualClock
    journal: Path

    def view(self, name: str) -> InstanceView:
        return InstanceView(
            instance=self.instance,
            taken_at=self.clock.now(),
            link=LinkState("live"),
            verdict=Verdict.FINISHED,
            because=(),
            tracks={},
            queue=Queue(),
            cost=Cost(None, None),
            cpu=CpuUse(),
            provider=ProviderState(),
            clocks=(),
            findings=(),
            logs=(),
        )

    def open(self) -> Climb:
        def provider(instance: Instance) -> Provider:
            return provider_for(instance, PROFILES, Means({}, self.clock, here=here))

        runner = Runner(
            view=self.view,
            connection=lambda _: self.connection,
            providers=provider,
            profiles=PROFILES,
            journal_dir=self.journal,
            clock=self.clock,
            pace=Pace(0.05, 0.05, 0.1, 0.5),
        )
        return runner.open("lab", "delete")

    def events(self) -> list[str]:
        lines = (self.journal / "teardown.jsonl").read_text().splitlines()
        return [json.loads(line)["event"] for line in lines]


@pytest.fixture
async def scene(cluster: KubeServer, namespace: Instance, tmp_path: Path) -> AsyncIterator[Scene]:
    """A finished job whose results lie in a directory of this machine, as where its claim is mounted."""
    await cluster.put("jobs", job("train-a", succeeded=1, conditions=[condition("Complete")]))
    await cluster.put("pods", pod("train-a-x1", of="train-a", phase="Succeeded", state=ended(0)))
    results = tmp_path / "claim"
    for name, data in (
        ("base/best.pth", checkpoint_bytes(seeded_weights(Random(1), 8), 3)),
        ("base/best_metrics.json", metrics_bytes(3, {"psnr": 31.4})),
    ):
        path = results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        past = path.stat().st_mtime - 3_600
        os.utime(path, (past, past))
    # A process table of its own: what else runs on this machine is no business of the test.
    proc = tmp_path / "proc"
    for name, text in (
        ("sys/kernel/random/boot_id", "0f3a9c1e-1111-4222-8333-444455556666\n"),
        ("1/stat", "1 (init) S 0 " + "0 " * 48 + "\n"),
        ("1/cmdline", "/sbin/init\0"),
        ("42/stat", "42 (python) R 1 " + "0 " * 48 + "\n"),
        ("42/cmdline", "python\0somebody_elses_work.py\0"),
    ):
        (proc / name).parent.mkdir(parents=True, exist_ok=True)
        (proc / name).write_text(text)
    (tmp_path / "queue.txt").write_text("configs/base.yaml reconstruction 2\n")
    instance = replace(
        namespace,
        provider=ProviderAccess(id="job/train-a"),
        results=Results(str(results), str(tmp_path / "here")),
        queue=QueueFiles(str(tmp_path / "queue.txt")),
        roots=Roots(proc=str(proc)),
    )
    connection = await connect_here(instance)
    try:
        yield Scene(instance, connection, ManualClock(), tmp_path / "journal")
    finally:
        await connection.close()


async def _first(views: AsyncGenerator[GateView], *states: str) -> GateView:
    async for view in views:
        if view.state in states:
            return view
    raise AssertionError("the ladder ended")


async def test_results_are_pulled_and_proven_before_the_one_delete(
    scene: Scene, cluster: KubeServer
) -> None:
    climb = scene.open()
    async with aclosing(climb.views()) as views:
        armed = await _first(views, "ready", "blocked", "closed")
        assert (armed.state, armed.phrase) == ("ready", PHRASE)
        assert cluster.deleted == []
        scene.clock.advance(DWELL)
        claim, cells = armed.seconds  # each is seen and typed by itself
        assert "goes on billing" in " ".join(claim.lines)
        assert "names no log of the queue" in " ".join(cells.lines)
        for one in (claim, cells):
            await climb.acknowledge(one.id, one.phrase)
            async for view in views:
                if any(seen.id == one.id and seen.done for seen in view.seconds):
                    break
            scene.clock.advance(DWELL)
        await climb.confirm(PHRASE)
        last = [view async for view in views][-1]
    assert last.outcome == "gone"
    assert [path for path, _ in cluster.deleted] == [
        "/apis/batch/v1/namespaces/default/jobs/train-a"
    ]
    assert scene.events()[-4:] == ["call", "answer", "read-back", "confirmed-gone"]


async def test_a_pod_that_runs_is_work_and_given_up_by_name_only(
    scene: Scene, cluster: KubeServer
) -> None:
    await cluster.put("jobs", job("train-a", active=1))
    await cluster.put("pods", pod("train-a-x2", of="train-a"))
    climb = scene.open()
    async with aclosing(climb.views()) as views:
        async for view in views:
            if view.state == "blocked" and view.lost_paths:
                break
        assert view.abandon_phrase is None  # the claim was not acknowledged yet
        scene.clock.advance(DWELL)
        await climb.acknowledge(view.seconds[0].id, view.seconds[0].phrase)
        async for view in views:
            if view.abandon_phrase is not None:
                break
        reasons = [line for rung in view.rungs for line in rung.lines]
        assert any("still at work: pod train-a-x2 on gpu-node-1" in line for line in reasons)
        assert any("pod train-a-x2" in path for path in view.lost_paths)
        assert cluster.deleted == []
        scene.clock.advance(DWELL)
        await climb.abandon(view.abandon_phrase or "")
        last = [view async for view in views][-1]
    assert last.outcome == "gone"
    assert [options["preconditions"] for _, options in cluster.deleted] == [{"uid": "uid-train-a"}]
