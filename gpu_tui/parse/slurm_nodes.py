"""Nodes that are out of service, by `sinfo -N -R` with the reason that the site wrote, and the jobs that they concern.

A reason is free text of an administrator. Formats: slurm.schedmd.com/sinfo.html, measured on 22.05.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm_hostlist import expand_hostlist
from gpu_tui.parse.slurm_words import NODES_DOWN

# sinfo -o, without the mark before it; the reason is the last field, as it may hold anything.
NODE_FORMAT = "%N|%T|%P|%E"
NODES_KEPT = 1_000
NODES_NAMED = 2  # in one sentence; the others are counted
LOOKED_UP_MOST = 4_096  # nodes of one job that are looked up
WAIT_FOR_NODES = frozenset({"Resources", "ReqNodeNotAvail", NODES_DOWN})
_UNAVAILABLE = re.compile(r"UnavailableNodes:(\S{1,200})")


@dataclass(frozen=True, slots=True)
class Node:
    """One node that is drained, down or failing. `state` without Slurm's sign after it (`down*` does not respond)."""

    name: str
    state: str
    reason: str
    partitions: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """`gpu03 drained: bad ECC on gpu 3`."""
        return f"{self.name} {self.state}" + (f": {self.reason}" if self.reason else "")


def parse_nodes(text: str, mark: str) -> dict[str, Node]:
    """The rows of `sinfo -h -N -R -o MARK|NODE_FORMAT` by node; a node has a row for each of its partitions."""
    found: dict[str, Node] = {}
    for chunk in text.split(f"{mark}|")[1:]:
        parts = chunk.rstrip("\n").split("|", 3)
        if len(parts) < 4 or not parts[0].strip():
            continue
        name, state, partition, reason = (plain(part.strip(), 80) for part in parts)
        old = found.get(name)
        if old is None and len(found) >= NODES_KEPT:
            continue
        served = (old.partitions if old else frozenset()) | {partition.rstrip("*")}
        reason = "" if reason in ("none", "None", "(null)") else reason
        found[name] = Node(name, state.rstrip("*~#!%$@^-+"), reason, served)
    return found


def with_nodes(table: JobTable, nodes: Mapping[str, Node]) -> JobTable:
    """The table; each job that runs on nodes out of service, or waits for them, has their states."""
    if not nodes:
        return table
    return replace(table, jobs=tuple(_with_nodes(job, nodes) for job in table.jobs))


def _with_nodes(job: Job, nodes: Mapping[str, Node]) -> Job:
    if job.state is CellState.RUNNING and job.node:
        bad = [nodes[name] for name in expand_hostlist(job.node, LOOKED_UP_MOST) if name in nodes]
        if not bad:
            return job
        return replace(job, node_state=_named(bad))
    if job.state is CellState.PENDING and job.reason in WAIT_FOR_NODES:
        wanted = _UNAVAILABLE.search(job.why or "")
        wants = set(expand_hostlist(wanted[1].rstrip(":;"), LOOKED_UP_MOST)) if wanted else set()
        queues = set((job.task or "").split(","))
        bad = [
            node
            for node in nodes.values()
            if (node.name in wants if wants else queues & node.partitions)
        ]
        if bad:
            words = _named(bad)
            return replace(job, node_state=words, why=_joined(job.why, f"out of service: {words}"))
    return job


def _named(nodes: Iterable[Node]) -> str:
    every = list(nodes)
    words = ", ".join(node.words for node in every[:NODES_NAMED])
    more = len(every) - NODES_NAMED
    return f"{words}, and {more} more" if more > 0 else words


def _joined(why: str | None, more: str) -> str:
    return f"{why}; {more}" if why else more
