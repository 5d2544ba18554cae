"""Several pods that work on one thing are one row, with the state of all of them together."""

from __future__ import annotations

from typing import Any

import pytest
from kube_objects import condition, ended, job, pod, waiting
from test_kubernetes_jobs import NOW, look, only

from gpu_tui.core.sweep import CellState

CARDS = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
AGO = "2026-11-21T09:30:00Z"  # half an hour before NOW
JUST = "2026-11-21T09:59:50Z"


def rank(name: str, of: str, kind: str = "PyTorchJob", **more: Any) -> Any:
    """One replica of a training job, as the training-operator labels it."""
    role, index = name.rsplit("-", 2)[-2:]
    labels = {
        "training.kubeflow.org/job-name": of,
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": index,
        **({"training.kubeflow.org/job-role": "master"} if role == "master" else {}),
    }
    owner = {"kind": kind, "name": of, "uid": f"uid-{of}", "controller": True}
    meta = {"labels": labels, "ownerReferences": [owner], **more.pop("meta", {})}
    return pod(name, spec=CARDS, meta=meta, **more)


def over(code: int, reason: str = "Error", when: str = AGO) -> Any:
    found = ended(code, reason)
    found["terminated"]["finishedAt"] = when
    return found


def test_the_ranks_of_a_training_are_one_row_named_after_it() -> None:
    found = look(*(rank(f"llm-{name}", "llm") for name in ("worker-1", "worker-0", "master-0")))
    (row,) = found.table.jobs
    assert (row.id, row.name, row.state) == ("pytorchjob/llm", "llm", CellState.RUNNING)
    assert (row.why, row.finding, row.lost) == (None, None, 0)
    # A log each, that of rank 0 first.
    assert row.pod_logs == tuple(
        f"pytorchjob/llm#{name}" for name in ("master-0", "worker-0", "worker-1")
    )
    assert {log.cell for log in found.logs} == {"llm"}
    assert [log.pod for log in found.logs if log.unit == "worker-1"] == ["llm-worker-1"]
    assert row.shell == ("llm-master-0", "main")


def test_a_rank_that_died_while_others_hold_their_cards() -> None:
    row = only(
        rank("llm-master-0", "llm"),
        rank("llm-worker-0", "llm", phase="Failed", state=over(1)),
        rank("llm-worker-1", "llm"),
    )
    assert (row.state, row.finding, row.lost) == (CellState.RUNNING, "crashed", 1)
    assert row.why == (
        "rank worker-0 died 30 min ago (exit 1), 2 ranks hold their GPUs (master-0, worker-1); "
        "2 of 3 ranks run"
    )


def test_rank_0_ended_and_the_others_go_on() -> None:
    """kubeflow/trainer#1982."""
    ranks = [
        rank("llm-master-0", "llm", phase="Succeeded", state=over(0, "Completed")),
        rank("llm-worker-0", "llm"),
        rank("llm-worker-1", "llm"),
    ]
    row = only(*ranks)
    assert (row.state, row.finding, row.lost) == (CellState.RUNNING, "stalled", 2)
    assert row.why is not None
    assert row.why.startswith(
        "rank master-0 ended well 30 min ago, 2 ranks hold their GPUs (worker-0, worker-1)"
    )
    # Innocent: ranks end a little apart.
    ranks[0] = rank("llm-master-0", "llm", phase="Succeeded", state=over(0, "Completed", JUST))
    assert (only(*ranks).finding, only(*ranks).lost) == (None, 0)


def test_ranks_that_all_ended_well_are_finished() -> None:
    row = only(
        *(rank(f"llm-worker-{n}", "llm", phase="Succeeded", state=over(0)) for n in range(3))
    )
    assert (row.state, row.word, row.exit_code, row.finding) == (
        CellState.FINISHED,
        "Completed",
        0,
        None,
    )
    assert row.finished_at == NOW - 1800


def test_the_worst_of_dead_ranks_names_the_end() -> None:
    row = only(
        rank("llm-worker-0", "llm", phase="Failed", state=over(1)),
        rank("llm-worker-1", "llm", phase="Failed", state=over(137, "OOMKilled")),
        rank("llm-worker-2", "llm", phase="Succeeded", state=over(0)),
    )
    assert (row.state, row.finding, row.exit_code) == (CellState.FAILED, "host_oom", 137)
    assert row.why == ("rank worker-1 died 30 min ago (OOMKilled: exit 137), and 1 more of 3 ranks")


def test_a_rank_that_waits_keeps_the_others_waiting() -> None:
    row = only(
        rank("llm-master-0", "llm"),
        rank(
            "llm-worker-0", "llm", phase="Pending", state=waiting("ImagePullBackOff", "no such tag")
        ),
    )
    assert (row.state, row.finding) == (CellState.RUNNING, "missing_cell")
    assert (
        row.why
        == "rank worker-0 ImagePullBackOff: waits for 23 h 59 min: no such tag; 1 of 2 ranks run"
    )


JOBSET = {"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-index": "0"}


@pytest.mark.parametrize(
    ("items", "id", "logs"),
    [
        (
            [
                {
                    **job("js-w-0", uid="u1", spec={"completionMode": "Indexed", "completions": 2}),
                    "metadata": {
                        "name": "js-w-0",
                        "uid": "u1",
                        "labels": {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "w"},
                    },
                },
                *(
                    pod(
                        f"js-w-0-{n}-abcde",
                        index=n,
                        meta={
                            "labels": {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "w"},
                            "ownerReferences": [
                                {"kind": "Job", "name": "js-w-0", "uid": "u1", "controller": True}
                            ],
                        },
                    )
                    for n in range(2)
                ),
            ],
            "jobset/js",
            ("w-0-0", "w-0-1"),
        ),
        (
            [
                pod(
                    f"web-{n}",
                    meta={"ownerReferences": [{"kind": "StatefulSet", "name": "web", "uid": "u", "controller": True}]},
                )
                for n in range(2)
            ],
            "statefulset/web",
            ("0", "1"),
        ),
        (
            [
                pod(
                    f"r-{name}",
                    meta={
                        "labels": {
                            "ray.io/cluster": "r",
                            "ray.io/node-type": name.split("-")[0],
                            "ray.io/originated-from-crd": "RayJob",
                            "ray.io/originated-from-cr-name": "train",
                        },
                        "ownerReferences": [{"kind": "RayCluster", "name": "r", "uid": "u", "controller": True}],
                    },
                )
                for name in ("worker-x7", "head-a1")
            ],
            "rayjob/train",
            ("r-head-a1", "r-worker-x7"),
        ),
        (
            [
                pod(
                    name,
                    meta={
                        "labels": {"leaderworkerset.sigs.k8s.io/name": "vllm"},
                        "ownerReferences": [{"kind": "StatefulSet", "name": of, "uid": of, "controller": True}],
                    },
                )
                for name, of in (("vllm-0", "vllm"), ("vllm-0-1", "vllm-0"))
            ],
            "leaderworkerset/vllm",
            ("0", "0-1"),
        ),
        (
            [
                rank("m-worker-0", "m", "MPIJob"),
                {
                    **job("m-launcher", uid="u2"),
                    "metadata": {
                        "name": "m-launcher",
                        "uid": "u2",
                        "labels": {"training.kubeflow.org/job-role": "launcher"},
                        "ownerReferences": [{"kind": "MPIJob", "name": "m", "uid": "u", "controller": True}],
                    },
                },
                pod(
                    "m-launcher-xyz",
                    meta={
                        "labels": {
                            "training.kubeflow.org/job-name": "m",
                            "training.kubeflow.org/job-role": "launcher",
                        },
                        "ownerReferences": [{"kind": "Job", "name": "m-launcher", "uid": "u2", "controller": True}],
                    },
                ),
            ],
            "mpijob/m",
            ("launcher-xyz", "worker-0"),
        ),
    ],
)  # fmt: skip
def test_the_kinds_of_controllers(items: Any, id: str, logs: tuple[str, ...]) -> None:
    row = only(*items)
    assert (row.id, row.state) == (id, CellState.RUNNING)
    assert row.pod_logs == tuple(f"{id}#{name}" for name in logs)


# --- a parallel Job -----------------------------------------------------------------------------------

PAR4 = {"parallelism": 4, "completions": 4, "backoffLimit": 6}


def four(*pods: Any, **status: Any) -> Any:
    return look(job("par4", spec=PAR4, **{"active": 3, **status}), *pods)


def test_a_pod_of_a_parallel_job_that_was_killed_for_memory() -> None:
    found = four(
        pod("par4-a", of="par4"),
        pod("par4-b", of="par4", phase="Failed", state=over(137, "OOMKilled")),
        pod("par4-c", of="par4"),
        pod("par4-d", of="par4"),
        failed=1,
    )
    (row,) = found.table.jobs
    assert (row.id, row.state, row.finding, row.lost) == (
        "job/par4",
        CellState.RUNNING,
        "host_oom",
        1,
    )
    assert row.why == (
        "pod b died 30 min ago (OOMKilled: exit 137), 3 pods run on (a, c, d); "
        "3 active, 0 of 4 done; 1 of 6 retries used"
    )
    assert {log.path for log in found.logs} == {f"job/par4#{n}" for n in "abcd"}
    assert [log.live for log in found.logs] == [True, True, True, False]


def test_a_pod_that_was_replaced_is_counted_and_no_more() -> None:
    found = four(
        pod("par4-a", of="par4"),
        pod("par4-b", of="par4", phase="Failed", state=over(1)),
        pod("par4-c", of="par4", created="2026-11-21T09:30:20Z"[11:19], meta={"creationTimestamp": "2026-11-21T09:30:20Z"}),
        failed=1,
        active=2,
    )  # fmt: skip
    (row,) = found.table.jobs
    assert (row.state, row.finding, row.lost) == (CellState.RUNNING, None, 0)
    assert row.why == (
        "2 active, 0 of 4 done; 1 of 6 retries used; pod b was replaced after exit 1"
    )
    assert [log.unit for log in found.logs if log.past] == ["b"]
    assert "job/par4#b" not in row.pod_logs


def test_a_job_with_all_its_pods_has_replaced_those_that_failed() -> None:
    """An evicted pod is replaced before it has ended; what it was replaced by is not told."""
    going = [pod(f"par4-{n}", of="par4") for n in "acde"]
    evicted = pod("par4-b", of="par4", phase="Failed", state=over(143))
    (row,) = four(*going, evicted, active=4, failed=1).table.jobs
    assert (row.state, row.finding, row.lost) == (CellState.RUNNING, None, 0)
    # A work queue makes no more pods once one has ended well: nothing does the work of the one that died.
    queue = job("q", active=1, succeeded=1, failed=1, spec={"parallelism": 3, "completions": None})
    done = pod("q-a", of="q", phase="Succeeded", state=over(0))
    died = pod("q-b", of="q", phase="Failed", state=over(1))
    (row,) = look(queue, done, died, pod("q-c", of="q")).table.jobs
    assert (row.finding, row.lost) == ("crashed", 1)


def test_a_retry_that_comes_soon_is_no_alarm() -> None:
    died = pod("par4-b", of="par4", phase="Failed", state=over(1, when=JUST))
    (row,) = four(pod("par4-a", of="par4"), died, failed=1, active=1).table.jobs
    assert (row.finding, row.lost) == ("crashed", 0)


def test_a_pod_whose_container_runs_again_has_the_reason_of_its_restart() -> None:
    state = {"running": {"startedAt": "2026-11-21T09:59:00Z"}}
    again = pod("par4-b", of="par4", state=state, last=over(137, "OOMKilled", JUST), restarts=2)
    (row,) = four(pod("par4-a", of="par4"), again, active=2).table.jobs
    assert (row.state, row.finding, row.lost, row.again) == (CellState.RUNNING, "host_oom", 0, True)
    assert row.why is not None
    assert row.why.startswith("pod b: restarted 2 times, last OOMKilled (exit 137)")


def test_a_work_queue_whose_pods_end_one_by_one() -> None:
    """`completions` null: the pods themselves know when the work is done."""
    queue = job("q", active=1, succeeded=1, spec={"parallelism": 2, "completions": None})
    done = pod("q-a", of="q", phase="Succeeded", state=over(0))
    (row,) = look(queue, done, pod("q-b", of="q")).table.jobs
    assert (row.state, row.finding, row.lost) == (CellState.RUNNING, None, 0)


def test_a_parallel_job_that_is_over() -> None:
    failed = pod("par4-b", of="par4", phase="Failed", state=over(1))
    good = pod("par4-a", of="par4", phase="Succeeded", state=over(0))
    (row,) = four(good, failed, active=0, conditions=[condition("Complete")]).table.jobs
    assert (row.state, row.finding) == (CellState.FINISHED, None)
    bad = [condition("Failed", "BackoffLimitExceeded")]
    (row,) = four(good, failed, active=0, conditions=bad).table.jobs
    assert (row.state, row.word) == (CellState.FAILED, "BackoffLimitExceeded")


def test_the_first_try_of_a_job_is_read_while_the_next_one_waits() -> None:
    """pman#207: the pod that died is the only one that wrote anything."""
    found = look(
        job("a", active=1, failed=1),
        pod("a-1", of="a", phase="Failed", state=over(1)),
        pod("a-2", of="a", created="11:00:00", phase="Pending", state=waiting("ContainerCreating")),
    )
    assert [(log.path, log.pod) for log in found.logs] == [("job/a", "a-1")]
    again = look(
        job("a", active=1, failed=1),
        pod("a-1", of="a", phase="Failed", state=over(1)),
        pod("a-2", of="a", created="11:00:00"),
    )
    (log,) = again.logs
    assert log.earlier is not None
    assert (log.pod, log.earlier.pod, log.mark) == (
        "a-2",
        "a-1",
        "next pod a-2: a-1 ended with exit 1",
    )


def test_no_name_is_taken_twice_and_hostile_labels_are_none() -> None:
    odd = {"training.kubeflow.org/job-name": "x\n", "training.kubeflow.org/replica-type": ["a"]}
    found = look(job("llm"), rank("llm-worker-0", "llm"), pod("z", meta={"labels": odd}))
    assert sorted(row.name for row in found.table.jobs) == ["llm", "pytorchjob/llm", "z"]
