"""The row of Slurm in the catalogue of `probes`. `probe_slurm` is imported for a login node only."""

from __future__ import annotations

from gpu_tui.collect.probe import Probe, Sections, Target
from gpu_tui.core import metrics

EVERY = 20.0  # seconds between two questions to the controller
LIMIT = 15.0  # squeue itself gives up on a dead controller after 9 s, and says so


def _snippet(target: Target) -> str:
    if target.instance.scheduler != "slurm":
        return ""
    from gpu_tui.collect.probe_slurm import snippet

    return snippet(target)


def _read(target: Target, sections: Sections) -> object:
    from gpu_tui.collect.probe_slurm import read_jobs

    return read_jobs(target, sections)


# squeue, sacct and one scontrol may each wait for a controller that is gone.
PROBE = Probe(metrics.SLURM.name, "slurm", EVERY, LIMIT, _snippet, _read, hangs=lambda _: 3)
