"""Nodes out of service, as a 22.05.8 printed them, and what is said of the jobs on them and before them."""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm_nodes import NODES_KEPT, parse_nodes, with_nodes

M = "@5f1c"
NODES = f"""\
{M}|cold2|drained|big|bad ECC on gpu 3 | ask ops
{M}|cold3|down*|big|Not responding
{M}|vm|draining|big|kernel upgrade tonight
{M}|vm|draining|gpu*|kernel upgrade tonight
"""
RUN, WAIT = CellState.RUNNING, CellState.PENDING


def told(**more: object) -> Job:
    row: dict[str, object] = {"state": WAIT, "word": "PENDING", "task": "gpu", "why": "w", **more}
    job = Job("1", "1·a", **row)  # type: ignore[arg-type]
    return with_nodes(JobTable("Slurm", (job,)), parse_nodes(NODES, M)).jobs[0]


def test_a_node_has_its_state_its_reason_and_its_partitions() -> None:
    nodes = parse_nodes(NODES, M)
    assert list(nodes) == ["cold2", "cold3", "vm"]
    assert nodes["cold2"].words == "cold2 drained: bad ECC on gpu 3 | ask ops"
    assert nodes["cold3"].words == "cold3 down: Not responding"
    assert nodes["vm"].partitions == {"big", "gpu"}


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ("vm", "vm draining: kernel upgrade tonight"),
        ("vm,cold1", "vm draining: kernel upgrade tonight"),
        ("cold[1-2]", "cold2 drained: bad ECC on gpu 3 | ask ops"),
        ("cold[1,3]", "cold3 down: Not responding"),
        ("cold[1-3],vm", "cold2 drained: bad ECC on gpu 3 | ask ops, cold3 down: Not responding, and 1 more"),
        ("cold1", None),
        ("cold[4-9]", None),
        ("cold[1", None),
        (None, None),
    ],
)  # fmt: skip
def test_a_job_that_runs_on_a_drained_node_has_its_state(
    node: str | None, words: str | None
) -> None:
    job = told(state=RUN, word="RUNNING", node=node)
    assert (job.node_state, job.finding, job.why) == (words, None, "w")


@pytest.mark.parametrize(
    ("reason", "why", "task", "words"),
    [
        ("Resources", "Resources: waits", "gpu", "Resources: waits; out of service: vm draining: kernel upgrade tonight"),
        ("NodesDown", None, "gpu,spot", "out of service: vm draining: kernel upgrade tonight"),
        ("ReqNodeNotAvail", "ReqNodeNotAvail, UnavailableNodes:cold2: a node", "big", "; out of service: cold2 drained: bad ECC"),
        ("Resources", None, "big", "cold2 drained: bad ECC on gpu 3 | ask ops, cold3 down: Not responding, and 1 more"),
    ],
)  # fmt: skip
def test_a_job_that_waits_for_nodes_says_which_are_out_and_why(
    reason: str, why: str | None, task: str, words: str
) -> None:
    assert words in (told(reason=reason, why=why, task=task).why or "")


@pytest.mark.parametrize(
    ("state", "reason", "task"),
    [(WAIT, "Priority", "gpu"), (WAIT, "JobHeldUser", "gpu"), (WAIT, "Resources", "cpu"), (RUN, None, "gpu"),
     (CellState.FINISHED, None, "gpu")],
)  # fmt: skip
def test_other_jobs_have_no_node_state(state: CellState, reason: str | None, task: str) -> None:
    job = told(state=state, reason=reason, task=task, node="cold1")
    assert (job.why, job.node_state) == ("w", None)


def test_no_list_is_long_enough_to_matter() -> None:
    rows = "".join(f"{M}|n{n}|down|p|x\n" for n in range(3 * NODES_KEPT))
    assert len(parse_nodes(rows, M)) == NODES_KEPT
    job = Job("1", "1·a", RUN, "RUNNING", node="n[0-99999999],n[7")
    seen = with_nodes(JobTable("Slurm", (job,)), parse_nodes(rows, M)).jobs[0]
    assert (seen.node_state or "").endswith("and 998 more")


@pytest.mark.parametrize("cut", range(0, len(NODES), 13))
def test_a_list_that_is_cut_off_anywhere_invents_no_node(cut: int) -> None:
    assert set(parse_nodes(NODES[:cut], M)) <= {"cold2", "cold3", "vm"}
