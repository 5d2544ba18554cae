"""A pod by all its containers, all its attempts, and its reasons for waiting: kinds of fault and innocent twins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kube_objects import at, condition, ended, job, pod, waiting

from gpu_tui.core.sweep import CellState
from gpu_tui.parse.instants import epoch_of
from gpu_tui.parse.kube_pod import Pod, read_pod
from gpu_tui.parse.kubernetes import parse_jobs

Made = tuple[dict[str, Any], dict[str, Any]]
NOON = epoch_of(at("12:00:00")) or 0.0
GPU = {"limits": {"nvidia.com/gpu": "1"}}
RUNS = {"running": {"startedAt": at("10:00:10")}}
LATE = {"running": {"startedAt": at("11:58:00")}}


def box(name: str, state: Any, **more: Any) -> Made:
    """One container: its row of the spec and of the status. `more` goes to the row that has such a field."""
    status = {key: more.pop(key) for key in ("lastState", "restartCount", "started") if key in more}
    return {"name": name, "image": f"r.example/{name}:1", **more}, {
        "name": name,
        "state": state,
        **status,
    }


def several(*boxes: Made, inits: tuple[Made, ...] = (), **more: Any) -> Any:
    """A pod of these containers."""
    spec = {"containers": [row for row, _ in boxes], "initContainers": [row for row, _ in inits]}
    return pod(
        "p",
        spec={**spec, **more.pop("spec", {})},
        containerStatuses=[row for _, row in boxes],
        initContainerStatuses=[row for _, row in inits],
        **more,
    )


def read(item: Any, now: float = NOON) -> Pod:
    found = read_pod(json.loads(json.dumps(item)), now)
    assert found is not None
    return found


# --- which container -----------------------------------------------------------------------------------

ISTIO = box("istio-proxy", RUNS)
DEFAULT = {"annotations": {"kubectl.kubernetes.io/default-container": "work"}}


@pytest.mark.parametrize(
    ("item", "container"),
    [
        (several(ISTIO, box("train", RUNS)), "train"),  # not the first, as it is a known sidecar
        (several(box("a", RUNS), box("work", RUNS), meta=DEFAULT), "work"),
        (several(box("a", RUNS), box("b", RUNS, resources=GPU)), "b"),
        (several(box("a", RUNS), box("b", RUNS, resources={"requests": {"amd.com/gpu": 2}})), "b"),
        (several(box("a", RUNS), box("b", RUNS, resources={"limits": {"huawei.com/Ascend910": "8"}})), "b"),
        (several(box("a", RUNS), box("b", RUNS, resources={"limits": {"nvidia.com/mig-1g.10gb": "1"}})), "b"),
        (several(box("a", RUNS), box("b", RUNS, resources={"limits": {"habana.ai/gaudi": "8"}})), "b"),
        (several(box("a", RUNS), box("b", RUNS, resources={"claims": [{"name": "gpu"}]})), "b"),
        # A request of none, and one for something else.
        (several(box("a", RUNS, resources={"limits": {"nvidia.com/gpu": "0"}}), box("b", RUNS, resources=GPU)), "b"),
        (several(box("a", RUNS, resources={"limits": {"cpu": "8", "rdma/hca": "1"}}), box("b", RUNS, resources=GPU)), "b"),
        (
            several(
                box("x", RUNS), box("pytorch", RUNS),
                meta={"ownerReferences": [{"kind": "PyTorchJob", "name": "j", "uid": "u", "controller": True}]},
            ),
            "pytorch",
        ),
        (several(box("wait", RUNS), box("main", RUNS)), "main"),  # a step of an Argo workflow
        (several(box("metrics-logger-and-collector", RUNS), box("training-container", RUNS)), "training-container"),
        (several(box("istio-proxy", RUNS)), "istio-proxy"),  # it is alone
        (several(box("a", RUNS), box("b", RUNS)), None),
    ],
)  # fmt: skip
def test_the_container_that_trains(item: Any, container: str | None) -> None:
    made = read(item)
    assert (made.container, made.state) == (container, CellState.RUNNING)


def test_the_trainer_goes_before_the_sidecar_that_still_runs() -> None:
    died = read(several(ISTIO, box("train", ended(1, clock="11:50:00"))))
    assert (died.state, died.exit_code, died.finding) == (CellState.FAILED, 1, None)
    assert died.why == "exit 1; istio-proxy still runs in its pod"
    assert died.finished_at == NOON - 600
    assert [(log.container, log.live) for log in died.logs] == [("train", False)]
    assert not died.over  # the pod still holds its node

    done = read(several(ISTIO, box("train", ended(0, "Completed"))))
    assert (done.state, done.exit_code, done.finding) == (CellState.FINISHED, 0, None)
    assert done.why == "istio-proxy still runs in its pod"


def test_a_job_without_a_pod_waits_for_long_and_a_queue_is_no_alarm() -> None:
    def only(item: Any) -> Any:
        (row,) = parse_jobs(json.dumps({"items": [item]}).encode(), NOON).table.jobs
        return row

    refused = only(job("a"))
    assert (refused.state, refused.finding) == (CellState.PENDING, "missing_cell")
    assert refused.why == "no pod yet for 1 h 59 min"
    new = job("a")
    new["status"]["startTime"] = at("11:59:50")
    assert (only(new).why, only(new).finding) == ("no pod yet", None)
    queued = job("a", spec={"suspend": True}, conditions=[condition("Suspended", clock="11:00:00")])
    queued["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "ml"}
    assert (only(queued).why, only(queued).finding) == (
        "waits in Kueue's queue ml for 1 h",
        None,
    )


def test_a_native_sidecar_is_never_judged() -> None:
    proxy = box("proxy-of-ours", RUNS, restartPolicy="Always", started=True)
    done = read(several(box("train", ended(0, "Completed")), inits=(proxy,), phase="Running"))
    assert (done.state, done.container) == (CellState.FINISHED, "train")
    runs = read(several(box("train", RUNS), inits=(proxy,)))
    assert (runs.state, runs.why, runs.restarts) == (CellState.RUNNING, None, 0)


def test_of_two_containers_with_cards_the_worse_counts() -> None:
    actor, learner = box("actor", RUNS, resources=GPU), box("learner", ended(1), resources=GPU)
    made = read(several(actor, learner))
    assert (made.state, made.exit_code) == (CellState.FAILED, 1)
    assert made.why == "learner: exit 1; actor Running"
    assert {(log.container, log.live) for log in made.logs} == {("actor", True), ("learner", False)}
    # One has ended well and the other works on: that is no end.
    on = read(several(actor, box("learner", ended(0, "Completed"), resources=GPU)))
    assert on.state is CellState.RUNNING
    assert read(several(actor, box("learner", RUNS, resources=GPU))).why is None


NAMES_IT = "kubectl.kubernetes.io/default-container would name it"


def test_the_container_that_trains_is_not_guessed() -> None:
    both = read(several(box("a", RUNS), box("b", RUNS)))
    assert (
        both.why == f"which of its containers trains is not said (a Running; b Running): {NAMES_IT}"
    )
    mixed = read(several(box("a", RUNS), box("b", ended(1))))
    assert (mixed.state, mixed.finding) == (CellState.CANNOT_TELL, None)
    assert (
        mixed.why
        == f"which of its containers trains is not said (b: exit 1; a Running): {NAMES_IT}"
    )
    assert [log.container for log in mixed.logs] == ["a", "b"]


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"nvidia.com/gpu": "8", "cpu": "64"}, 8),
        ({"nvidia.com/mig-1g.10gb": "2"}, 2),
        ({"amd.com/gpu": 4}, 4),
        ({"huawei.com/Ascend910": "8"}, 8),
        ({"aws.amazon.com/neuron": "2"}, 2),
        ({"google.com/tpu": "4"}, 4),
        ({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "30"}, 1),
        ({"aliyun.com/gpu-mem": "8"}, None),  # a share of a card, in GiB
        ({"nvidia.com/gpu": "0"}, None),
        ({"nvidia.com/gpu": {"a": 1}}, None),
        ({"nvidia.com/gpu": "9" * 999}, 999_999),
        ({}, None),
    ],
)
def test_how_many_cards_it_asks_for(limits: Any, count: int | None) -> None:
    resources = {"limits": limits, "requests": limits}
    assert read(several(box("a", RUNS), box("b", RUNS, resources=resources))).gpus == count


def test_a_job_asks_for_the_cards_of_the_pods_that_run_at_once() -> None:
    template = {"spec": {"containers": [{"name": "a", "resources": GPU}]}}
    spec = {
        "template": template,
        "parallelism": 4,
        "completions": 2,
        "activeDeadlineSeconds": 3_600,
    }
    items = [
        job("a", active=1, spec=spec),
        pod("a-1", of="a", phase="Pending", conditions=[refused("Unschedulable", COUNTS)]),
    ]
    (row,) = parse_jobs(json.dumps({"items": items}).encode(), NOON).table.jobs
    assert (row.gpus, row.limit, row.reason) == (2, 3_600, "Unschedulable")


def test_a_job_whose_pod_was_deleted_waits_for_another() -> None:
    deleted = {"deletionTimestamp": at("11:30:30"), "deletionGracePeriodSeconds": 60}
    gone = pod("a-1", of="a", phase="Failed", state=ended(143), meta=deleted)
    gone["metadata"]["ownerReferences"] = [
        {"kind": "Job", "name": "a", "uid": "uid-a", "controller": True}
    ]
    (row,) = parse_jobs(json.dumps({"items": [job("a"), gone]}).encode(), NOON).table.jobs
    assert (row.state, row.finding) == (CellState.PENDING, None)
    assert row.why == "waits for a new pod; it was deleted: exit 143"


# --- restarts ------------------------------------------------------------------------------------------


def again(last: Any, restarts: int, since: str = "11:59:00") -> Any:
    state = {"running": {"startedAt": at(since)}}
    return several(box("main", state, lastState=last, restartCount=restarts))


@pytest.mark.parametrize(
    ("item", "finding", "why"),
    [
        (
            again(ended(137, "OOMKilled", "11:58:00"), 3),
            "host_oom",
            "restarted 3 times, last OOMKilled (exit 137) 2 min ago",
        ),
        (
            again(ended(1, clock="11:59:00"), 5, "11:59:20"),
            "crashed",
            "restarted 5 times, last Error (exit 1) 1 min ago",
        ),
        (
            again(ended(0, "OOMKilled", "11:58:00"), 1),
            "host_oom",
            "restarted 1 time, last OOMKilled (exit 0) 2 min ago",
        ),
        (
            again(ended(255, "Unknown", "11:50:00"), 1, "11:55:00"),
            "preempted",
            "restarted 1 time, last Unknown (exit 255) 10 min ago; its node was restarted",
        ),
        (again({}, 2), None, "restarted 2 times"),
        # Twins: a program that is to run again (restartPolicy Always), and restarts that were got over.
        (
            again(ended(0, "Completed", "11:58:00"), 5),
            None,
            "restarted 5 times, last Completed (exit 0) 2 min ago",
        ),
        (
            again({"terminated": {"exitCode": 1, "startedAt": at("10:00:10"), "finishedAt": at("10:20:00")}}, 1, "10:20:10"),
            None,
            "restarted 1 time, last its end (exit 1) 1 h 40 min ago",
        ),
        (again({}, 0), None, None),
    ],
)  # fmt: skip
def test_a_restart_is_said_and_a_bad_one_is_a_finding(
    item: Any, finding: str | None, why: str | None
) -> None:
    made = read(item)
    assert (made.state, made.finding, made.why) == (CellState.RUNNING, finding, why)


def test_a_restart_is_got_over_when_the_run_has_gone_well_beyond_it() -> None:
    """A run of five days that its node's restart cut, and that has run on for two."""
    last = ended(255, "Unknown", "10:00:00")
    last["terminated"]["startedAt"] = "2026-11-15T10:00:00Z"
    item = again(last, 1, "10:01:00")
    assert read(item, NOON).finding == "preempted"
    assert read(item, NOON + 2 * 86_400).finding is None
    # A memory leak kills it at the same place again and again: that it ran as long before is not beyond.
    leak = ended(137, "OOMKilled", "11:00:00")
    assert read(again(leak, 4, "11:00:10"), NOON).finding == "host_oom"


def test_restarts_of_a_sidecar_are_not_the_trainers() -> None:
    proxy = box("istio-proxy", LATE, lastState=ended(137, "OOMKilled"), restartCount=9)
    made = read(several(box("train", RUNS), proxy))
    assert (made.restarts, made.finding, made.why) == (0, None, None)


def test_a_crash_loop_says_how_often_and_one_that_ended_well_is_none() -> None:
    loop = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}}
    bad = read(
        several(box("main", loop, lastState=ended(137, "OOMKilled", "11:58:00"), restartCount=12))
    )
    assert (bad.state, bad.finding) == (CellState.FAILED, "host_oom")
    assert bad.why == "restarted 12 times, last OOMKilled (exit 137) 2 min ago"
    good = read(
        several(box("main", loop, lastState=ended(0, "Completed", "11:58:00"), restartCount=5))
    )
    assert (good.state, good.finding) == (CellState.PENDING, None)
    assert good.why is not None
    assert good.why.startswith("it ended with exit 0 and is to run again")


def test_the_mark_of_a_restart_names_the_end_before() -> None:
    (log,) = read(again(ended(137, "OOMKilled", "11:58:00"), 3)).logs
    assert (log.restarts, log.previous) == (3, True)
    assert log.mark == "restart 3: the attempt before ended with OOMKilled, exit 137"
    (first,) = read(again({}, 0)).logs
    assert (first.previous, first.mark) == (False, None)


def test_killed_for_memory_with_exit_0_is_no_good_end() -> None:
    killed = several(box("main", ended(0, "OOMKilled")), phase="Succeeded")
    made = read(killed)
    assert (made.state, made.finding) == (CellState.SUSPICIOUS, "host_oom")
    killed["metadata"]["ownerReferences"] = [
        {"kind": "Job", "name": "a", "uid": "uid-a", "controller": True}
    ]
    items = [job("a", succeeded=1, conditions=[condition("Complete")]), killed]
    (row,) = parse_jobs(json.dumps({"items": items}).encode(), NOON).table.jobs
    assert (row.state, row.finding, row.word) == (CellState.SUSPICIOUS, "host_oom", "Complete")
    both = (box("a", ended(0, "OOMKilled")), box("b", ended(0, "Completed")))  # whichever trains
    assert read(several(*both, phase="Succeeded")).finding == "host_oom"
    # Its sidecar still runs.
    assert read(several(box("train", ended(0, "OOMKilled")), ISTIO)).finding == "host_oom"


def test_one_pod_of_a_complete_job_that_was_killed_makes_it_suspicious() -> None:
    """Each index has its row; without indexes the job has one."""

    def of(name: str, state: Any, index: int | None) -> Any:
        return pod(name, of="a", phase="Succeeded", state=state, index=index)

    for mode in ("Indexed", "NonIndexed"):
        spec = {"completions": 2, "parallelism": 2, "completionMode": mode}
        status = {"completedIndexes": "0-1", "succeeded": 2, "conditions": [condition("Complete")]}
        first = of("a-0", ended(0, "OOMKilled"), 0 if mode == "Indexed" else None)
        second = of("a-1", ended(0, "Completed"), 1 if mode == "Indexed" else None)
        items = [job("a", spec=spec, **status), first, second]
        found = parse_jobs(json.dumps({"items": items}).encode(), NOON).table.jobs
        states = [(row.state, row.finding) for row in found]
        assert states[0] == (CellState.SUSPICIOUS, "host_oom")
        assert states[1:] == ([(CellState.FINISHED, None)] if mode == "Indexed" else [])


# --- waiting -------------------------------------------------------------------------------------------

INIT = "init container fetch-data"


def refused(reason: str, message: str, since: str = "10:00:06") -> Any:
    row = condition("PodScheduled", reason, message, since)
    return {**row, "status": "False"}


COUNTS = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
MAIN = box("main", waiting("PodInitializing"))
PLACED = condition("PodScheduled", clock="11:20:00")
PULL = 'Back-off pulling image "r.example/main:1"'


@pytest.mark.parametrize(
    ("item", "word", "why", "finding"),
    [
        (
            pod("p", phase="Pending", conditions=[refused("Unschedulable", COUNTS)]),
            "Pending", f"Unschedulable for 1 h 59 min: {COUNTS}", "missing_cell",
        ),
        (
            pod("p", phase="Pending", created="11:59:30", conditions=[refused("Unschedulable", COUNTS, "11:59:30")]),
            "Pending", f"Unschedulable: {COUNTS}", None,
        ),
        (
            pod("p", phase="Pending", created="11:50:00", conditions=[refused("Unschedulable", COUNTS, "11:50:00")]),
            "Pending", f"Unschedulable for 10 min: {COUNTS}", None,  # an autoscaler may be at work
        ),
        # A queue's gate is an ordinary wait.
        (
            pod("p", phase="Pending", conditions=[refused("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")],
                spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}),
            "SchedulingGated", "waits for 1 h 59 min: held by kueue.x-k8s.io/admission", None,
        ),
        (
            pod("p", phase="Pending", spec={"nodeName": ""}),
            "Pending", "waits for 1 h 59 min: no scheduler has placed it", "missing_cell",
        ),
        (
            several(box("main", waiting("ImagePullBackOff", PULL)), phase="Pending", conditions=[PLACED]),
            "ImagePullBackOff", f"waits for 40 min: {PULL}", "missing_cell",
        ),
        (
            several(box("main", waiting("ErrImagePull", "rpc error: code = NotFound")), phase="Pending", conditions=[PLACED]),
            "ErrImagePull", "waits for 40 min: r.example/main:1: rpc error: code = NotFound", "missing_cell",
        ),
        (
            several(box("main", waiting("CreateContainerConfigError", 'secret "wandb" not found')), phase="Pending", conditions=[PLACED]),
            "CreateContainerConfigError", 'waits for 40 min: secret "wandb" not found', "missing_cell",
        ),
        (
            several(box("main", waiting("ContainerCreating")), phase="Pending", conditions=[PLACED]),
            "ContainerCreating", "waits for 40 min: its volumes, its image or its network are not ready", "missing_cell",
        ),
        (
            several(box("main", waiting("ContainerCreating")), phase="Pending", conditions=[condition("PodScheduled", clock="11:59:20")]),
            "ContainerCreating", None, None,
        ),
        # A second container cannot begin while the trainer runs.
        (
            several(box("train", RUNS, resources=GPU), box("tb", waiting("ImagePullBackOff")), phase="Pending"),
            "Running", None, None,
        ),
        (
            several(MAIN, inits=(box("fetch-data", {"running": {"startedAt": at("11:20:00")}}),), phase="Pending", conditions=[PLACED]),
            "Init:0/1", f"{INIT} runs for 40 min", "missing_cell",
        ),
        (
            several(MAIN, inits=(box("fetch-data", LATE),), phase="Pending", conditions=[PLACED]),
            "Init:0/1", f"{INIT} runs for 2 min", None,
        ),
        (
            several(
                MAIN,
                inits=(box("istio-init", ended(0, "Completed", "11:20:00")), box("proxy", RUNS, restartPolicy="Always", started=True),
                       box("init-pytorch", {"running": {"startedAt": at("11:10:00")}})),
                phase="Pending",
            ),
            "Init:2/3", "init container init-pytorch runs for 50 min", "missing_cell",
        ),
        (
            several(MAIN, inits=(box("fetch-data", waiting("ImagePullBackOff", "Back-off")),), phase="Pending", conditions=[PLACED]),
            "Init:ImagePullBackOff", f"{INIT} waits for 40 min: r.example/fetch-data:1: Back-off", "missing_cell",
        ),
    ],
)  # fmt: skip
def test_waiting_has_a_reason_and_a_duration(
    item: Any, word: str, why: str | None, finding: str | None
) -> None:
    made = read(item)
    assert (made.word, made.why, made.finding) == (word, why, finding)
    assert made.state is (CellState.RUNNING if word == "Running" else CellState.PENDING)


@pytest.mark.parametrize(
    ("state", "last", "word", "why"),
    [
        (ended(1), {}, "Init:Error", f"{INIT}: exit 1; restarted 4 times"),
        (
            waiting("CrashLoopBackOff", "back-off"),
            ended(1, clock="11:58:00"),
            "Init:CrashLoopBackOff",
            f"{INIT}: restarted 4 times, last Error (exit 1) 2 min ago",
        ),
    ],
)
def test_an_init_container_that_fails_has_failed_the_pod_and_its_log_is_read(
    state: Any, last: Any, word: str, why: str
) -> None:
    fetch = box("fetch-data", state, lastState=last, restartCount=4)
    made = read(several(MAIN, inits=(fetch,), phase="Pending"))
    assert (made.state, made.word, made.finding) == (CellState.FAILED, word, "missing_cell")
    assert made.why == why
    assert [(log.container, log.init, log.previous) for log in made.logs] == [
        ("fetch-data", True, True)
    ]
    never = read(several(MAIN, inits=(box("fetch-data", ended(2)),), phase="Failed"))
    assert (never.state, never.word, never.why) == (
        CellState.FAILED,
        "Init:Error",
        f"{INIT}: exit 2",
    )
    assert [log.container for log in never.logs] == ["fetch-data"]


def test_an_init_container_at_work_has_its_log_read() -> None:
    made = read(several(MAIN, inits=(box("fetch-data", RUNS),), phase="Pending"))
    assert [(log.container, log.live, log.init) for log in made.logs] == [
        ("fetch-data", True, True)
    ]
    # When it is done, the log is the trainer's.
    done = read(several(box("main", RUNS), inits=(box("fetch-data", ended(0, "Completed")),)))
    assert [log.container for log in done.logs] == ["main"]


# --- its node ------------------------------------------------------------------------------------------


def unready(reason: str | None) -> Any:
    row = {**condition("Ready", clock="11:46:00"), "status": "False"}
    return {**row, "reason": reason} if reason else {k: v for k, v in row.items() if k != "reason"}


ANSWERS_NOT = "its node does not answer for 14 min: its log cannot be followed"


@pytest.mark.parametrize(
    ("conditions", "why", "finding"),
    [
        ([unready("NodeNotReady")], ANSWERS_NOT, "network"),
        # So the node controller leaves it: not ready, although its containers are.
        ([unready(None), condition("ContainersReady")], ANSWERS_NOT, "network"),
        ([unready("ContainersNotReady")], None, None),  # a probe of its own that fails
        ([unready("ReadinessGatesNotReady"), condition("ContainersReady")], "ReadinessGatesNotReady", None),
        ([condition("Ready")], None, None),
    ],
)  # fmt: skip
def test_a_node_that_does_not_answer(conditions: Any, why: str | None, finding: str | None) -> None:
    made = read(several(box("main", RUNS), conditions=conditions))
    assert (made.state, made.why, made.finding) == (CellState.RUNNING, why, finding)


def test_terminating_for_long_is_a_finding_and_a_delete_is_none() -> None:
    def leaving(clock: str, **more: Any) -> Pod:
        return read(several(box("main", RUNS), meta={"deletionTimestamp": at(clock), **more}))

    long = leaving("11:30:00")
    assert (long.state, long.finding) == (CellState.CANNOT_TELL, "network")
    assert long.why is not None
    assert long.why.startswith("it should have been gone 30 min ago")
    soon = leaving("12:00:20", deletionGracePeriodSeconds=30)
    assert (soon.state, soon.word, soon.finding) == (CellState.RUNNING, "Terminating", None)
    kept = read(
        several(
            box("main", ended(0, "Completed")),
            meta={
                "deletionTimestamp": at("11:30:00"),
                "finalizers": ["batch.kubernetes.io/job-tracking", "kueue.x-k8s.io/managed"],
            },
        )
    )
    assert kept.why == "its containers have ended, and kueue.x-k8s.io/managed keeps it for 30 min"


# --- taken away ----------------------------------------------------------------------------------------

LOW = "The node was low on resource: "
USED = ". Threshold quantity: 2146223340, available: 1883424Ki. Container main was using 210Gi, request is 0, has larger consumption of "
SHUT = "Pod was terminated in response to imminent node shutdown."
TAINT = "Taint manager: deleting due to NoExecute taint"


def target(reason: str, message: str = "", kind: str = "DisruptionTarget") -> Any:
    return [condition(kind, reason, message, "11:29:00")]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"reason": "Evicted", "message": f"{LOW}ephemeral-storage{USED}ephemeral-storage."}, "disk_full"),
        ({"reason": "Evicted", "message": f"{LOW}ephemeral-storage. Container memory-bank was using 34Ki, which exceeds its request of 0."}, "disk_full"),
        ({"reason": "Evicted", "message": f"{LOW}inodes."}, "disk_full"),
        ({"reason": "Evicted", "message": f"{LOW}nodefs."}, "disk_full"),
        ({"reason": "Evicted", "message": "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi."}, "disk_full"),
        ({"reason": "Evicted", "message": "Container main exceeded its local ephemeral storage limit \"10Gi\"."}, "disk_full"),
        ({"reason": "Evicted", "message": "Usage of EmptyDir volume \"scratch\" exceeds the limit \"50Gi\"."}, "disk_full"),
        ({"reason": "Evicted", "message": "Usage of EmptyDir volume \"shm\" exceeds the limit \"8Gi\"."}, "host_oom"),
        ({"reason": "Evicted", "message": "The node had condition: [DiskPressure]."}, "disk_full"),
        ({"reason": "Evicted", "message": "Pod The node had condition: [MemoryPressure]. "}, "host_oom"),
        ({"reason": "Evicted", "message": f"{LOW}memory{USED}memory."}, "host_oom"),
        ({"reason": "Evicted", "message": f"{LOW}memory. Container disk-cache was using 30Gi, request is 0, has larger consumption of memory."}, "host_oom"),
        ({"reason": "Evicted", "message": f"{LOW}pids."}, "preempted"),
        ({"reason": "Evicted"}, "preempted"),
        ({"conditions": target("TerminationByKubelet", f"{LOW}ephemeral-storage{USED}ephemeral-storage.")}, "disk_full"),
        ({"conditions": target("TerminationByKubelet", SHUT)}, "preempted"),
        ({"conditions": target("PreemptionByScheduler")}, "preempted"),
        ({"conditions": target("DeletionByTaintManager", TAINT)}, "preempted"),
        ({"conditions": target("EvictionByEvictionAPI", "Eviction API: evicting")}, "preempted"),
        ({"conditions": target("DeletionByPodGC", "PodGC: node no longer exists")}, "preempted"),
        ({"conditions": target("SomethingNew")}, "preempted"),
        ({"reason": "Terminated", "message": SHUT}, "preempted"),
        ({"reason": "NodeShutdown", "message": "Pod was rejected as the node is shutting down."}, "preempted"),
        ({"reason": "Shutdown", "message": "Node is shutting, evicting pods"}, "preempted"),
        ({"reason": "Preempting", "message": "Preempted in order to admit critical pod"}, "preempted"),
        ({"message": SHUT}, "preempted"),
        ({"conditions": target("WorkloadEvictedDueToPreempted", "Preempted to accommodate a workload", "TerminationTarget")}, "preempted"),
        ({"conditions": target("WorkloadEvictedDueToPreempted")}, "preempted"),
        ({"conditions": target("WorkloadEvictedDueToPodsReadyTimeout", kind="TerminationTarget")}, "missing_cell"),
        ({"conditions": target("WorkloadEvictedDueToNodeFailures", kind="TerminationTarget")}, "hardware"),
        ({"conditions": target("WorkloadEvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded", kind="TerminationTarget")}, "time_limit"),
        ({"conditions": target("WorkloadEvictedDueToSomethingNew", kind="TerminationTarget")}, "preempted"),
        ({"reason": "DeadlineExceeded", "message": "Pod was active on the node longer than the specified deadline"}, "time_limit"),
        ({}, None),  # SIGTERM, and no reason for it
    ],
)  # fmt: skip
def test_disrupted_pods_are_distinguished_from_crashed_ones(status: Any, kind: str | None) -> None:
    spec = {
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            {"name": "scratch", "emptyDir": {}},
        ]
    }
    made = read(several(box("main", ended(143)), phase="Failed", spec=spec, **status))
    assert (made.state, made.finding) == (CellState.FAILED, kind)
    assert made.preempted is (kind == "preempted")
    assert made.why is not None


def test_an_evicted_pod_without_a_container_ended_when_it_was_no_more_ready() -> None:
    made = read(pod("p", phase="Failed", reason="Evicted", conditions=[unready("PodFailed")]))
    assert made.finished_at == NOON - 14 * 60


def test_an_end_that_no_kubelet_saw_is_its_nodes() -> None:
    lost = ended(
        137,
        "ContainerStatusUnknown",
        message="The container could not be located when the pod was terminated",
    )
    made = read(several(box("main", lost), phase="Failed"))
    assert (made.state, made.finding) == (CellState.FAILED, "preempted")
    assert (made.why or "").startswith("its node was restarted or is gone; exit 137")


def test_a_pod_that_its_node_did_not_take_never_began() -> None:
    for reason in ("UnexpectedAdmissionError", "OutOfnvidia.com/gpu", "NodeAffinity"):
        refused_pod = read(pod("p", phase="Failed", reason=reason, message="Allocate failed"))
        assert (refused_pod.word, refused_pod.finding) == (reason, "missing_cell")
        ran = several(box("main", ended(143)), phase="Failed", reason=reason)
        assert read(ran).finding == "preempted"  # its node came back


@pytest.mark.parametrize("kind", ["DisruptionTarget", "TerminationTarget"])
def test_a_pod_that_runs_and_is_being_taken_away_says_so(kind: str) -> None:
    leaving = target("WorkloadEvictedDueToPreempted", kind=kind)
    meta = {"deletionTimestamp": at("12:00:20"), "deletionGracePeriodSeconds": 30}
    for made in (
        read(several(box("main", RUNS), conditions=leaving, meta=meta)),
        read(several(box("main", RUNS), conditions=leaving)),
    ):
        assert (made.state, made.finding) == (CellState.RUNNING, "preempted")
        assert made.why == "WorkloadEvictedDueToPreempted: Kueue gave its quota to another workload"
    over = {**leaving[0], "status": "False"}  # it was spared
    assert read(several(box("main", RUNS), conditions=[over])).finding is None


def test_a_pod_that_a_person_ended_is_no_alarm() -> None:
    deleted = {"deletionTimestamp": at("11:30:30"), "deletionGracePeriodSeconds": 60}
    for code, phase in ((143, "Failed"), (137, "Failed"), (1, "Failed"), (0, "Succeeded")):
        made = read(several(box("main", ended(code)), phase=phase, meta=deleted))
        assert (made.state, made.word, made.finding) == (CellState.SKIPPED, "Deleted", None)
    own = target("WorkloadEvictedDueToDeactivated", kind="TerminationTarget")
    made = read(several(box("main", ended(143)), phase="Failed", conditions=own))
    assert (made.state, made.finding) == (CellState.SKIPPED, None)
    # It had crashed before: what cleans up later does not hide that.
    late = {"deletionTimestamp": at("11:59:30"), "deletionGracePeriodSeconds": 30}
    assert read(several(box("main", ended(1)), phase="Failed", meta=late)).state is CellState.FAILED
    done = read(several(box("main", ended(0, "Completed")), phase="Succeeded", meta=late))
    assert done.state is CellState.FINISHED


def test_taken_away_and_ended_with_exit_0_is_no_good_end() -> None:
    """The program caught SIGTERM, saved, and left with 0: the cluster calls that Succeeded."""
    taken = target("EvictionByEvictionAPI")
    made = read(several(box("main", ended(0, "Completed")), phase="Succeeded", conditions=taken))
    assert (made.state, made.finding) == (CellState.SUSPICIOUS, "preempted")
    before = ended(0, "Completed", "11:20:00")  # it was over when its node was drained
    made = read(several(box("main", before), phase="Succeeded", conditions=taken))
    assert (made.state, made.finding) == (CellState.FINISHED, None)


def test_a_stale_word_of_a_shutdown_is_no_end() -> None:
    """Kubernetes issue 104531: the pod runs again, and its status keeps the reason of the shutdown."""
    made = read(several(box("main", RUNS), reason="Terminated", message=SHUT))
    assert (made.state, made.finding) == (CellState.RUNNING, None)


def test_another_container_that_failed_the_pod_is_named() -> None:
    made = read(
        several(box("train", ended(0, "Completed")), box("istio-proxy", ended(1)), phase="Failed")
    )
    assert (made.state, made.why) == (CellState.FAILED, "istio-proxy: exit 1")
    assert [log.container for log in made.logs] == ["train", "istio-proxy"]


# --- hostile -------------------------------------------------------------------------------------------

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
)
WORDS = st.sampled_from(
    ["running", "terminated", "waiting", "reason", "exitCode", "finishedAt", "message", "state", "name", "lastState",
     "restartCount", "OOMKilled", "Evicted", "main", at("11:00:00"), "True", "type", "status", "DisruptionTarget",
     "PodScheduled", "Ready", "resources", "limits", "nvidia.com/gpu", "restartPolicy", "Always", "CrashLoopBackOff"]
)  # fmt: skip
ANY = st.recursive(
    LEAVES | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
PLACES = st.sampled_from(
    [
        "phase",
        "reason",
        "message",
        "conditions",
        "containerStatuses",
        "initContainerStatuses",
        "startTime",
    ]
)


@given(
    status=st.dictionaries(PLACES, ANY, max_size=5),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]) | ANY,
    spec=st.dictionaries(st.sampled_from(["containers", "initContainers", "volumes"]), ANY),
    meta=st.dictionaries(st.sampled_from(["annotations", "deletionTimestamp", "finalizers", "ownerReferences"]), ANY),
)  # fmt: skip
def test_any_shape_of_a_pod_is_read_or_not_known(
    status: Any, phase: Any, spec: Any, meta: Any
) -> None:
    item = {"metadata": {"name": "p", **meta}, "spec": spec, "status": {"phase": phase, **status}}
    made = read_pod(item, NOON)
    assert made is not None
    assert made.word.isprintable()
    assert len(made.why or "") < 2_000
    assert len(made.logs) <= 51


def test_a_pod_of_no_end_of_containers_is_bounded() -> None:
    boxes = [
        box(f"c{n}", {"running": {}, "terminated": None}, image="i" * 9_000) for n in range(3_000)
    ]
    made = read(several(*boxes))
    assert len(made.logs) <= 50
    assert len(made.why or "") < 1_000
