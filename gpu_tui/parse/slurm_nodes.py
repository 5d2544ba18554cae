"""Nodes that Slurm does not use, with the reason that the site wrote: `sinfo -N -R`, and what it means for a job.

A reason is free text of an administrator. Formats: slurm.schedmd.com/sinfo.html, measured on 22.05.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm_words import NODES_DOWN

# sinfo -o, without the mark before it; the reason is the last field, as it may hold anything.
NODE_FORMAT = "%N|%T|%P|%E"
NODES_KEPT = 1_000
NODES_NAMED = 2  # in one sentence; the others are counted
LIST_MOST = 4_096  # nodes of one job that are looked up
WAIT_FOR_NODES = frozenset({"Resources", "ReqNodeNotAvail", NODES_DOWN})
_LIST = re.compile(r"([^\[\],\s]{0,100})(?:\[([\d,-]{1,2000})\]?([^\[\],\s]{0,100}))?(?:,|\Z)")
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
    """The table with what is the matter with the nodes of a job that runs, or that one waits for."""
    if not nodes:
        return table
    return replace(table, jobs=tuple(_with_nodes(job, nodes) for job in table.jobs))


def _with_nodes(job: Job, nodes: Mapping[str, Node]) -> Job:
    if job.state is CellState.RUNNING and job.node:
        bad = [nodes[name] for name in _hosts(job.node) if name in nodes]
        if not bad:
            return job
        return replace(job, node_state=_named(bad))
    if job.state is CellState.PENDING and job.reason in WAIT_FOR_NODES:
        wanted = _UNAVAILABLE.search(job.why or "")
        wants = set(_hosts(wanted[1].rstrip(":;"))) if wanted else set()
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
    told = ", ".join(node.words for node in every[:NODES_NAMED])
    more = len(every) - NODES_NAMED
    return f"{told}, and {more} more" if more > 0 else told


def _joined(why: str | None, said: str) -> str:
    return f"{why}; {said}" if why else said


def _hosts(text: str) -> Iterator[str]:
    """The names of a list of nodes, `gpu[01-04,07],login`; at most LIST_MOST. What is cut off is passed over."""
    return islice(_expanded(text), LIST_MOST)


def _expanded(text: str) -> Iterator[str]:
    for head, numbers, tail in _LIST.findall(text):
        if not numbers:
            if head:
                yield head
            continue
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            if first.isdigit() and len(first) < 9 and (not last or last.isdigit()):
                for number in range(
                    int(first), min(int(last or first), int(first) + LIST_MOST) + 1
                ):
                    yield f"{head}{number:0{len(first)}}{tail}"
