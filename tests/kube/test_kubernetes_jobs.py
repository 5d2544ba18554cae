"""What a namespace's JSON says of each job: the phase alone lies, and what is not known is not guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kube_objects import at, condition, ended, job, pod, waiting

from gpu_tui.core.jobs import JOBS_KEPT, Job
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_object import NotKubernetes
from gpu_tui.parse.kubernetes import INDEXES_KEPT, Look, parse_jobs

NOW = 1_795_255_200.0  # 2026-11-21 10:00 UTC, a day later than what the objects say


def look(*items: Any) -> Look:
    return parse_jobs(json.dumps({"kind": "List", "items": items}).encode(), NOW)


def only(*items: Any) -> Job:
    (row,) = look(*items).table.jobs
    return row


def word(*items: Any) -> tuple[str, str, str | None]:
    row = only(*items)
    return row.state.value, row.word, row.why


UNPLACED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
}
DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def test_a_job_with_all_that_it_tells() -> None:
    row = only(
        job("a", active=1, spec={"activeDeadlineSeconds": 86_400, "ttlSecondsAfterFinished": 60}),
        pod("a-x", of="a", restarts=2),
    )
    assert (row.id, row.name, row.state) == ("job/a", "a", CellState.RUNNING)
    assert (row.node, row.restarts, row.task) == ("gpu-node-1", 2, "default")
    assert row.submitted_at is not None
    assert row.ends_by == row.submitted_at + 5 + 86_400  # from status.startTime
    assert row.started_at == row.submitted_at + 10  # the container's own start
    assert row.removed_at is None  # the count begins at the end


@pytest.mark.parametrize("letter", ["\ud800", "\x1b", "\n", "\0"])
def test_a_name_that_none_can_have_is_none(letter: str) -> None:
    """kubectl on a box may print anything: a name becomes an argument, a path and bytes."""
    odd = f"a{letter}"
    marked = pod("b")
    marked["metadata"]["uid"] = odd
    found = look(job(odd), pod(odd), pod("c", of=odd), marked)
    assert {log.pod for log in found.logs} == {"b", "c"}
    texts = [text for row in found.table.jobs for text in (row.id, row.name, row.task)]
    texts += [text for log in found.logs for text in (log.cell, log.path, log.attempt)]
    assert all(text.isprintable() for text in texts if text)


@pytest.mark.parametrize(
    ("end", "state"),
    [(condition("Complete"), CellState.FINISHED), (condition("Failed"), CellState.FAILED)],
)
def test_the_ttl_counts_from_the_end_good_or_bad(end: Any, state: CellState) -> None:
    row = only(job("a", conditions=[end], spec={"ttlSecondsAfterFinished": 3_600}))
    assert row.state is state
    assert row.submitted_at is not None
    assert row.finished_at == row.submitted_at + 7_200  # noon, where the condition began
    assert row.removed_at == row.finished_at + 3_600
    assert row.ends_by is None


def test_a_limit_of_a_thousand_centuries_is_none() -> None:
    """No calendar names its end, and nothing that draws a time could."""
    limits = {"activeDeadlineSeconds": 10**12, "ttlSecondsAfterFinished": 10**12}
    row = only(job("a", active=1, spec=limits))
    assert row.ends_by is None
    over = {"conditions": [condition("Complete")], "completionTime": at("12:00:00")}
    row = only(job("a", spec=limits, **over))
    assert row.removed_at is None


@pytest.mark.parametrize(
    ("made", "state", "said", "why"),
    [
        (pod("p"), "running", "Running", None),
        (pod("p", phase="Succeeded", state=ended(0, "Completed")), "finished", "Completed", None),
        (
            pod("p", phase="Pending", conditions=[UNPLACED]),
            "pending",
            "Pending",
            "Unschedulable for 23 h 59 min: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        ),
        (
            pod("p", phase="Pending", state=waiting("ImagePullBackOff", "Back-off pulling image")),
            "pending",
            "ImagePullBackOff",
            "waits for 23 h 59 min: Back-off pulling image",
        ),
        (
            pod("p", phase="Pending", state=waiting("ContainerCreating")),
            "pending",
            "ContainerCreating",
            "waits for 23 h 59 min: its volumes, its image or its network are not ready",
        ),
        (
            pod("p", state=waiting("CrashLoopBackOff", "back-off 5m0s"), last=ended(1), restarts=7),
            "failed",
            "CrashLoopBackOff",
            "restarted 7 times, last Error (exit 1) 22 h 30 min ago",
        ),
        (pod("p", phase="Failed", state=ended(137, "OOMKilled")), "failed", "OOMKilled", "exit 137"),
        (
            pod("p", phase="Failed", reason="Evicted", message="The node was low on ephemeral-storage."),
            "failed",
            "Evicted",
            "The node was low on ephemeral-storage.",
        ),
        (
            pod("p", phase="Failed", state=ended(143), conditions=[DISRUPTED]),
            "failed",
            "Error",
            "PreemptionByScheduler: a pod of higher priority took its place; exit 143",
        ),
        (pod("p", phase="Failed", reason="DeadlineExceeded"), "failed", "DeadlineExceeded", None),
        (pod("p", phase="Unknown"), "cannot-tell", "Unknown", "its node does not answer"),
        (pod("p", reason="NodeLost"), "cannot-tell", "NodeLost", "its node does not answer"),
        (
            pod("p", meta={"deletionTimestamp": at("11:00:00")}),
            "cannot-tell",
            "Terminating",
            "it should have been gone 23 h ago: its node does not answer, or its processes do not end",
        ),
        (
            pod("p", meta={"deletionTimestamp": "2026-11-21T10:00:20Z"}),
            "running",
            "Terminating",
            "it is being deleted",
        ),
        (pod("p", phase="Hibernating"), "cannot-tell", "Hibernating", "a phase that is not known"),
        (pod("p", phase=""), "cannot-tell", "no phase", None),
        (
            pod("p", phase="Pending", initContainerStatuses=[{"name": "i", "state": ended(1)}]),
            "failed",
            "Init:Error",
            "init container i: exit 1",
        ),
    ],
)  # fmt: skip
def test_a_pod_by_itself(made: Any, state: str, said: str, why: str | None) -> None:
    assert word(made) == (state, said, why)


def test_an_end_has_its_code_and_its_signal() -> None:
    killed = only(pod("p", phase="Failed", state=ended(137, "OOMKilled")))
    assert (killed.exit_code, killed.signal) == (137, 9)
    told = only(pod("p", phase="Failed", state=ended(0, signal=15)))
    assert (told.exit_code, told.signal) == (0, 15)
    plain = only(pod("p", phase="Failed", state=ended(3)))
    assert (plain.exit_code, plain.signal) == (3, None)
    running = only(pod("p", last=ended(1), restarts=1))
    assert (running.exit_code, running.restarts) == (None, 1)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            (job("a", conditions=[condition("Failed", "DeadlineExceeded", "Job was active too long")]),),
            ("failed", "DeadlineExceeded", "Job was active too long"),
        ),
        (
            (
                job("a", failed=3, conditions=[condition("Failed", "BackoffLimitExceeded")]),
                pod("a-1", of="a", phase="Failed", state=ended(137, "OOMKilled")),
            ),
            ("failed", "BackoffLimitExceeded", "OOMKilled: exit 137"),
        ),
        ((job("a", spec={"suspend": True}),), ("pending", "Suspended", None)),
        ((job("a"),), ("pending", "Pending", "no pod yet for 23 h 59 min")),
        # Its pods are there, and do not carry the label that is asked for.
        ((job("a", active=1, ready=1),), ("running", "Active", "its pods are not in the list")),
        ((job("a", active=1, ready=0),), ("cannot-tell", "Active", "its pods are not in the list")),
        ((job("a", failed=2),), ("pending", "Pending", "waits for its next pod; 2 of 4 retries used")),
        (
            (
                job("a", failed=1, active=1),
                pod("a-1", of="a", phase="Failed", state=ended(1), created="10:00:06"),
                pod("a-2", of="a", created="10:10:00"),
            ),
            ("running", "Running", "the pod before ended 22 h 30 min ago: exit 1; 1 of 4 retries used"),
        ),
        (
            (
                job("a"),
                pod("a-1", of="a", phase="Failed", state=ended(143), conditions=[DISRUPTED]),
            ),
            (
                "pending",
                "Error",
                "waits for a new pod; PreemptionByScheduler: a pod of higher priority took its place; exit 143",
            ),
        ),
        (
            (
                job("a", active=2, succeeded=1, spec={"completions": 4, "parallelism": 2}),
                pod("a-1", of="a"),
                pod("a-2", of="a", phase="Pending", conditions=[UNPLACED]),
            ),
            (
                "running",
                "Running",
                "pod 2 Pending: Unschedulable for 23 h 59 min: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.; "
                "2 active, 1 of 4 done",
            ),
        ),
    ],
)  # fmt: skip
def test_a_job_by_its_conditions_then_by_its_pods(made: Any, said: Any) -> None:
    assert word(*made) == said


def test_a_pod_that_was_taken_away_is_told_apart() -> None:
    taken = only(
        job("a"), pod("a-1", of="a", phase="Failed", state=ended(143), conditions=[DISRUPTED])
    )
    failed = only(job("a"), pod("a-1", of="a", phase="Failed", state=ended(143)))
    assert (taken.preempted, failed.preempted) == (True, False)


def test_an_indexed_job_is_a_row_per_index() -> None:
    rows = look(
        job("s", active=2, completedIndexes="0,2-3", failedIndexes="4", spec={"completions": 7, "completionMode": "Indexed"}),
        pod("s-1-x", of="s", index=1),
        pod("s-5-x", of="s", index=5, phase="Pending", state=waiting("ContainerCreating")),
    ).table.jobs  # fmt: skip
    assert [(row.name, row.state.value) for row in rows] == [
        ("s-0", "finished"),
        ("s-1", "running"),
        ("s-2", "finished"),
        ("s-3", "finished"),
        ("s-4", "failed"),
        ("s-5", "pending"),
        ("s-6", "pending"),
    ]
    assert rows[1].node == "gpu-node-1"
    assert rows[6].node is None


def test_a_pod_of_another_owner_says_whose_it_is() -> None:
    owner = {"kind": "PyTorchJob", "name": "llm", "uid": "u", "controller": True}
    row = only(pod("llm-worker-0", meta={"ownerReferences": [{**owner, "kind": "Notebook"}]}))
    assert (row.id, row.task) == ("pod/llm-worker-0", "Notebook/llm")
    orphan = only(pod("x-1", of="not-listed"))
    assert orphan.task == "Job/not-listed"


def test_no_two_rows_have_one_name() -> None:
    names = [row.name for row in look(job("a"), pod("a"), pod("b")).table.jobs]
    assert names == ["a", "pod/a", "b"]


def test_whose_logs_are_worth_following() -> None:
    logs = look(
        job("a", active=1),
        pod("a-1", of="a", phase="Failed", state=ended(1)),
        pod("a-2", of="a", created="10:10:00", restarts=1),
        pod("w", phase="Pending", state=waiting("ContainerCreating")),
        pod("done", phase="Succeeded", state=ended(0)),
    ).logs
    assert [(log.cell, log.pod, log.live, log.previous) for log in logs] == [
        ("a", "a-2", True, True),
        ("done", "done", False, False),
    ]


def test_a_hostile_list_is_bounded() -> None:
    most = look(*(pod(f"p{n}") for n in range(JOBS_KEPT + 3))).table
    assert (len(most.jobs), most.dropped) == (JOBS_KEPT, 3)
    wide = look(
        job("s", completedIndexes="0-999999999", spec={"completions": 10**9, "completionMode": "Indexed"})
    ).table  # fmt: skip
    assert (len(wide.jobs), wide.dropped) == (INDEXES_KEPT, 10**9 - INDEXES_KEPT)


def test_control_characters_reach_nobody() -> None:
    row = only(
        pod("p", phase="Failed", reason="Ev\x1b]0;x\x07icted", message="a\nb\x1b[2J" + "c" * 9_000)
    )
    assert row.word.isprintable()
    assert row.why is not None
    assert row.why.isprintable()
    assert len(row.why) < 400


@pytest.mark.parametrize("data", [b"", b"no", b"[]", b"{}", b'{"items": 3}', b"[" * 100_000])
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(NotKubernetes):
        parse_jobs(data, NOW)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)  # fmt: skip


@given(spoil=JSON, place=st.integers(0, 40))
def test_any_shape_is_read_without_a_guess(spoil: Any, place: int) -> None:
    """A whole pod and job with one value replaced by anything at all."""
    items = [job("a", active=1, conditions=[condition("Complete")]), pod("a-1", of="a", index=1)]
    paths = list(_paths(items))
    holder, key = paths[place % len(paths)]
    holder[key] = spoil
    for row in look(*items).table.jobs:
        assert isinstance(row.state, CellState)
        assert row.word.isprintable()


def _paths(value: Any) -> Any:
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in rows:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _paths(inner)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (pod("p", phase="Failed", state=ended(137, "OOMKilled")), "host_oom"),
        (pod("p", state=waiting("CrashLoopBackOff"), last=ended(137, "OOMKilled"), restarts=2), "host_oom"),
        (pod("p", phase="Failed", reason="Evicted"), "preempted"),
        (pod("p", phase="Failed", state=ended(143), conditions=[DISRUPTED]), "preempted"),
        (pod("p", phase="Failed", reason="DeadlineExceeded"), "time_limit"),
        (pod("p", phase="Failed", state=ended(1)), None),
        (pod("p", phase="Pending", state=waiting("ErrImagePull")), "missing_cell"),
        (pod("p", phase="Pending", state=waiting("ContainerCreating")), "missing_cell"),  # for a day
        (pod("p", phase="Pending", conditions=[UNPLACED]), "missing_cell"),
        (pod("p"), None),
    ],
)  # fmt: skip
def test_a_bad_state_is_a_finding_of_its_kind(made: Any, kind: str | None) -> None:
    assert only(made).finding == kind


def test_the_finding_of_a_job_is_that_of_its_end() -> None:
    late = job("a", conditions=[condition("Failed", "DeadlineExceeded")])
    assert only(late).finding == "time_limit"
    oom = pod("b-1", of="b", phase="Failed", state=ended(137, "OOMKilled"))
    failed = job("b", conditions=[condition("Failed", "BackoffLimitExceeded")])
    assert only(failed, oom).finding == "host_oom"
    assert only(job("b", conditions=[condition("Complete")]), oom).finding is None
