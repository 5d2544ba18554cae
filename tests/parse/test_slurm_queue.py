"""Rows of squeue with what a job asks for. As a 22.05.8 printed them; other releases spell the GPUs in other ways."""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import Job
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm import gpus_asked, job_table, parse_queue, time_limit

M = "@5f1c"
DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
QUEUE = f"""\
{M}|12|PENDING|N/A|N/A|1795877444|ReqNodeNotAvail, UnavailableNodes:cold2|big||(null)|5:00|1|N/A|wants2
{M}|3|RUNNING|1795877427|1827413427|1795877427|None|big|cold1|(null)|365-00:00:00|1|N/A|nolimit
{M}|1_[2-299%2]|PENDING|N/A|N/A|1795877427|JobArrayTaskLimit|gpu||(null)|3:00:00|1|gres:gpu:a100:1|arr
{M}|4|PENDING|1795888227|1795974627|1795877427|Resources|gpu||(null)|1-00:00:00|2|gres:gpu:a100:4|big|one|1|x
{M}|5|PENDING|N/A|N/A|1795877427|{DOWN}|gpu||(null)|UNLIMITED|1|N/A|down
{M}|1_0|RUNNING|1795877427|1795888227|1795877427|None|gpu|vm|(null)|3:00:00|1|gres:gpu:a100:1|arr
{M}|6|FAILED|1795877427|1795877427|1795877427|NonZeroExitCode|gpu|vm|(null)|5:00|1|N/A|fails
"""


def jobs_of(text: str) -> dict[str, Job]:
    return {job.id: job for job in job_table(parse_queue(text, M)).jobs}


def test_a_row_has_the_reason_the_limit_the_gpus_and_the_expected_start() -> None:
    jobs = jobs_of(QUEUE)
    assert jobs["12"].reason == "ReqNodeNotAvail"
    assert "UnavailableNodes:cold2" in (jobs["12"].why or "")
    assert (jobs["1_2"].reason, jobs["1_2"].limit, jobs["1_2"].gpus) == (
        "JobArrayTaskLimit",
        10_800,
        1,
    )
    assert (jobs["1_2"].at_once, jobs["1_0"].at_once) == (2, None)
    assert (jobs["4"].gpus, jobs["4"].limit, jobs["4"].name) == (8, 86_400, "4·big|one|1|x")
    assert jobs["4"].expected_at == 1795888227
    assert (jobs["5"].reason, jobs["5"].limit) == ("NodesDown", None)
    assert "down, drained or reserved" in (jobs["5"].why or "")
    assert (jobs["1_0"].reason, jobs["1_0"].expected_at, jobs["1_0"].node) == (None, None, "vm")
    assert (jobs["6"].state, jobs["6"].reason) == (CellState.FAILED, None)


def test_rows_of_a_release_that_says_less_are_read_too() -> None:
    row = f"{M}|7|RUNNING|1795877427|1795888227|1795877427|None|gpu|vm|(null)|a|5|b\n"
    job = jobs_of(row)["7"]
    assert (job.name, job.limit, job.gpus) == ("7·a|5|b", None, None)


def test_no_task_of_an_array_of_a_thousand_is_left_out() -> None:
    table = job_table(parse_queue(QUEUE.replace("[2-299%2]", "[1-1000%9]"), M))
    assert (table.dropped, sum(job.id.startswith("1_") for job in table.jobs)) == (0, 1001)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10:00", 600), ("3:00:00", 10_800), ("1-00:00:00", 86_400), ("365-00:00:00", 31_536_000),
        ("UNLIMITED", None), ("Partition_Limit", None), ("INVALID", None), ("NOT_SET", None), ("", None),
        ("9" * 30 + ":00", None), ("-1:00", None),
    ],
)  # fmt: skip
def test_a_time_limit_is_seconds(text: str, seconds: float | None) -> None:
    assert time_limit(text) == seconds


@pytest.mark.parametrize(
    ("each", "nodes", "gpus"),
    [
        ("gres:gpu:a100:4", "2", 8), ("gres/gpu:4", "1", 4), ("gpu:2", "1", 2), ("gres:gpu", "3", 3),
        ("gres/gpu:h100=8", "4", 32), ("gres:gpu:tesla:1(S:0)", "1", 1), ("gres:gpu:a100:1,gres:gpu:v100:2", "1", 3),
        ("gres:gpu:4g.20gb:1", "1", 1), ("gres:shard:5", "1", None), ("N/A", "1", None), ("", "1", None),
        ("gres:gpu:4", "1-2", None), ("gres:gpu:4", "", None),
    ],
)  # fmt: skip
def test_gpus_are_those_of_all_nodes(each: str, nodes: str, gpus: int | None) -> None:
    assert gpus_asked(each, nodes) == gpus
