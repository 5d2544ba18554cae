"""The demo through the cockpit's own eyes: its transport, its sampler, its parsers, its adapters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

import pytest
from demo_boxes import Boxes, until

from gpu_tui.collect.sampler import plan, sample_group
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, Sampled
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.liveness import find_run
from gpu_tui.core.metrics import CPU, FILES, GPUS, HOST, MEMORY, MOUNTS, PROCESSES, ROSTER
from gpu_tui.core.queue_history import QueueHistory
from gpu_tui.core.readings import GpuTable, Memory, Mount
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import Roster
from gpu_tui.demo.fleet import Demo, running_fleet, simulated_fleet
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.providers.autodl import AutoDL
from gpu_tui.providers.base import Means, Provider
from gpu_tui.providers.rented import Rented
from gpu_tui.providers.runpod import RunPod
from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet
from gpu_tui.transport.base import ConnectRefused
from gpu_tui.transport.ssh import SshTransport

WANTED = {metric.name for metric in (CPU, FILES, GPUS, HOST, MEMORY, MOUNTS, PROCESSES, ROSTER)}


@pytest.fixture
def fleet(demo: Demo) -> Fleet:
    return load_fleet(demo.fleet_path, load_profiles())


@pytest.fixture(scope="module")
def calm() -> Iterator[Fleet]:
    """A fleet whose first minute lasts ten: no line drops while somebody looks."""
    with running_fleet(boxes=8, speed=0.1) as running:
        yield load_fleet(running.fleet_path, load_profiles())


async def look(instance: Instance) -> Mapping[str, object]:
    """One good value of every metric of a box."""
    seen: dict[str, object] = {}
    missing: dict[str, object] = {}
    complete = asyncio.Event()

    def take(event: Event) -> None:
        if isinstance(event, Sampled) and isinstance(event.sample, Reading):
            seen.setdefault(event.metric, event.sample.value)
        elif isinstance(event, Sampled):
            missing[event.metric] = event.sample
        if seen.keys() >= WANTED:
            complete.set()

    connection = await SshTransport().connect(instance)
    try:
        async with asyncio.TaskGroup() as tasks:
            asking = [
                tasks.create_task(sample_group(connection, instance, group, take, ManualClock()))
                for group in plan(instance)
            ]
            try:
                async with asyncio.timeout(60):
                    await complete.wait()
            except TimeoutError:
                pytest.fail(
                    f"not answered: { {name: missing.get(name) for name in WANTED - seen.keys()} }"
                )
            finally:
                for task in asking:
                    task.cancel()
    finally:
        await connection.close()
    return seen


@pytest.mark.parametrize("name", ["vega", "rigel", "deneb", "sirius"])
async def test_the_sampler_reads_every_metric_of_a_box(calm: Fleet, name: str) -> None:
    seen = await look(calm[name])
    memory, table, mounts = seen[MEMORY.name], seen[GPUS.name], seen[MOUNTS.name]
    assert isinstance(memory, Memory)
    assert isinstance(table, GpuTable)
    assert isinstance(mounts, tuple)
    assert memory.source == ("cgroup1" if name == "sirius" else "cgroup2")
    assert memory.limit is not None
    assert table.error is None
    assert {gpu.temperature is not None for gpu in table.gpus} == {True}
    assert {mount.path for mount in mounts} == set(calm[name].mounts)
    assert all(isinstance(mount, Mount) and mount.bytes_total for mount in mounts)


async def test_a_run_is_found_in_the_process_table(calm: Fleet) -> None:
    seen = await look(calm["vega"])
    rows, roster = seen[PROCESSES.name], seen[ROSTER.name]
    assert isinstance(rows, tuple)
    assert isinstance(roster, Roster)
    run = find_run(rows, calm["vega"].queue.file, roster)
    assert (len(run.runners), len(run.trainers)) == (1, 1)


async def test_the_queue_logs_speak_the_grammar(boxes: Boxes) -> None:
    def history(name: str) -> QueueHistory:
        told = QueueHistory()
        path = boxes.rows[name]["queue"]["log"].removeprefix("~/")
        text = (boxes.home(name) / path).read_bytes().decode()
        for line in text.replace("\r", "\n").split("\n"):
            event = parse_queue_line(line)
            if event is not None:
                told = told.fold(event)
        return told

    await until(lambda: history("polaris").done is not None)
    await until(lambda: history("rigel").runs["patch_32"].exit_code == 2)
    await until(lambda: history("deneb").runs["workers_16"].exit_code == 137)
    await until(lambda: history("altair").runs["batch_64"].exit_code == 1)
    assert all(run.synced for run in history("polaris").runs.values())
    assert history("rigel").runs["patch_32"].synced is False
    opened = history("vega").opened
    assert opened is not None
    assert (opened.total, opened.start) == (5, 1)


async def test_files_come_whole_through_the_cockpits_transport(fleet: Fleet) -> None:
    instance = fleet["polaris"]
    root = instance.results.remote or ""
    connection = await SshTransport().connect(instance)
    async with connection.files() as files:
        sizes = {e.path: e.size for e in await files.walk(root) if e.kind == "file"}
        assert b"seed_1/best.pth" in sizes
        for path, size in sizes.items():
            got = b"".join([part async for part in files.read(f"{root}/{path.decode()}")])
            assert len(got) == size
    await connection.close()


async def test_the_parked_box_is_known_by_its_provider_only(demo: Demo, fleet: Fleet) -> None:
    with pytest.raises(ConnectRefused):
        await SshTransport().connect(fleet["mira"])
    clock = ManualClock()
    parked = await Rented(AutoDL, fleet["mira"], Means(demo.environment, clock)).read(
        "pro-5d1f0c88a2"
    )
    assert (parked.state, parked.error) == ("stopped", None)
    assert parked.stopped_at is not None


async def test_a_terminated_pod_takes_its_box_with_it() -> None:
    import httpx

    async with simulated_fleet(boxes=6, speed=30) as own:
        instance = load_fleet(own.fleet_path, load_profiles())["polaris"]
        id = instance.provider.id or ""
        api: Provider = Rented(RunPod, instance, Means(own.environment, ManualClock()))
        assert (await api.read(id)).state == "running"
        connection = await SshTransport().connect(instance)
        async with httpx.AsyncClient(trust_env=False) as http:
            key = {"Authorization": f"Bearer {own.key}"}
            await http.delete(f"{own.provider_url}/v2/pods/{id}", headers=key)
        async with asyncio.timeout(60):
            assert await connection.wait_closed() is not None
        states = [(await api.read(id)).state for _ in range(3)]
        assert states == ["ended", "ended", "gone"]
        with pytest.raises(ConnectRefused):
            await SshTransport().connect(instance)
