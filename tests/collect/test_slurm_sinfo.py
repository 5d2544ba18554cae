"""When sinfo is asked for the nodes that are out of service: the real sh program against clients of our own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from shell_box import ShellBox
from test_sampler import Inbox, sampling

from gpu_tui.collect import probe_slurm, sampler
from gpu_tui.core import metrics
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.sample import Reading

SQUEUE = """#!/bin/sh
for format; do :; done
while IFS= read -r row; do printf '%s|%s\\n' "${format%%|*}" "$row"; done <"$HOME/queue"
"""
SINFO = """#!/bin/sh
echo "$*" >>"$HOME/calls"
for format; do :; done
[ ! -e "$HOME/down" ] || { echo 'slurm_load_partitions: Unable to contact slurm controller'; exit 1; }
printf '%s|gpu03|draining|gpu*|bad ECC on gpu 3\\n' "${format%%|*}"
"""
WAITS = "4|PENDING|N/A|N/A|1795877427|{why}|gpu||(null)|1-00:00:00|1|N/A|big"
RUNS = "5|RUNNING|1795877427|1795888227|1795877427|None|spot|gpu03|(null)|3:00:00|1|N/A|a"


class Cluster:
    def __init__(self, box: ShellBox) -> None:
        self.box = box
        box.program("squeue", SQUEUE)
        box.program("sinfo", SINFO)
        box.program("sacct", "#!/bin/sh\nexit 1\n")
        box.program("scontrol", "#!/bin/sh\nexit 1\n")

    def lists(self, *rows: str) -> None:
        self.box.file("home/queue.new", "".join(f"{row}\n" for row in rows))
        (self.box.home / "queue.new").replace(self.box.home / "queue")

    @property
    def calls(self) -> list[str]:
        file = self.box.home / "calls"
        return file.read_text().splitlines() if file.exists() else []


async def look(inbox: Inbox) -> dict[str, Job]:
    """The jobs of the next look that ends."""
    sample = (await inbox.all_of({"slurm"}))["slurm"].sample
    assert isinstance(sample, Reading), sample
    assert isinstance(sample.value, JobTable)
    return {job.id: job for job in sample.value.jobs}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    probes = (
        replace(p, every=0.0) if p.metric == metrics.SLURM.name else p for p in sampler.PROBES
    )
    monkeypatch.setattr(sampler, "PROBES", tuple(probes))
    monkeypatch.setattr(probe_slurm, "ACCOUNT_BEATS", 1_000_000)
    return Cluster(ShellBox(tmp_path))


@pytest.mark.parametrize("shell", ["dash", "busybox"])
async def test_sinfo_is_asked_once_where_a_job_comes_to_wait_for_nodes(
    cluster: Cluster, shell: str
) -> None:
    cluster.lists(WAITS.format(why="Priority"))
    group = cluster.box.group(scheduler="slurm", poll=0.5)
    async with sampling(cluster.box, shell, group) as inbox:
        await look(inbox)
        assert cluster.calls == []
        cluster.lists(WAITS.format(why="Resources"), RUNS)
        jobs = await look(inbox)
        while "5" not in jobs:
            jobs = await look(inbox)
        assert "out of service: gpu03 draining: bad ECC on gpu 3" in (jobs["4"].why or "")
        assert jobs["5"].node_state == "gpu03 draining: bad ECC on gpu 3"
        jobs = await look(inbox)
        assert jobs["5"].node_state == "gpu03 draining: bad ECC on gpu 3"
    (call,) = cluster.calls
    assert "-p gpu,spot -o" in call


async def test_a_sinfo_that_fails_costs_no_job(cluster: Cluster) -> None:
    cluster.box.file("home/down", "")
    cluster.lists(RUNS)
    group = cluster.box.group(scheduler="slurm", poll=0.5)
    async with sampling(cluster.box, "dash", group) as inbox:
        jobs = await look(inbox)
    assert list(jobs) == ["5"]
    assert jobs["5"].node_state is None
    assert len(cluster.calls) == 1
