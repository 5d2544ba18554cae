"""Programs in containers by the real `kubectl exec`: only where the fleet file allows it, few, and never again in vain."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from kube_exec import Answer
from kube_objects import at, ended, pod
from kube_server import KubeServer, Request
from test_kube_watch import Heard, watching

from gpu_tui.collect import kube_exec as collect_exec
from gpu_tui.collect.kube_exec import ASKED, EACH_ROUND, PodCardsWatch
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.events import LogArrived, Sampled
from gpu_tui.core.fleet import Fleet, Instance, SchedulerScope
from gpu_tui.core.metrics import POD_CARDS
from gpu_tui.core.readings import PodCards, Process
from gpu_tui.core.sample import Failure, Reading
from gpu_tui.parse.kube_exec import (
    CARDS_MOST,
    NO_PROGRAM,
    PROCESSES_MOST,
    Shown,
    cards_of,
    not_allowed,
    process_table,
    processes_of,
    trains_in,
)
from gpu_tui.parse.kube_logs import PodLog
from gpu_tui.wiring import collect_once
from gpu_tui.wiring.clock import SystemClock

CARD = (
    "0, GPU-6f3c2a1e-0b4d, 97, 61234, 81559, 63, 412.50, 700.00, 1755, 1980, 0, Not Active, Not Active, "
    "Not Active, Not Active, Not Active, NVIDIA H100 80GB HBM3\n"
)
TRAINER = ("python3", "-u", "/work/train.py", "--config", "a.yaml")


def has_card(words: Sequence[str]) -> Answer:
    return (CARD, 0) if words[0] == "nvidia-smi" else None


def table(*processes: Sequence[str]) -> str:
    """What the container's sh prints of these processes."""
    lines = [("\0".join(argv)) + "\0" for argv in processes]
    return "".join(f"\n@{pid}\n{line}" for pid, line in enumerate(lines, 1))


def runs(*processes: Sequence[str]) -> Any:
    """An image with sh and without nvidia-smi."""
    return lambda words: (table(*processes), 0) if words[0] == "sh" else None


def execs(instance: Instance) -> Instance:
    return replace(instance, scheduler_scope=replace(instance.scheduler_scope, vitals="exec"))


def samples(heard: Heard) -> list[Any]:
    seen = (one for one in heard.events if isinstance(one, Sampled))
    return [one.sample for one in seen if one.metric == POD_CARDS.name]


def asked(cluster: KubeServer) -> list[Request]:
    return [one for one in cluster.requests if one.path.endswith("/exec")]


def two(name: str = "p", first: str = "a", second: str = "b", **more: Any) -> dict[str, Any]:
    """A running pod of two containers, neither of which is known as the one that trains."""
    state = {"running": {"startedAt": at("10:00:10")}}
    both = (first, second)
    statuses = [{"name": one, "state": state, "lastState": {}, "restartCount": 0} for one in both]
    spec = {"containers": [{"name": one} for one in both]}
    return pod(name, spec=spec, containerStatuses=statuses, **more)


# --- the cards ----------------------------------------------------------------------------------------


async def test_cards_are_read_in_running_containers_where_the_fleet_file_says_so(
    cluster: KubeServer, namespace: Instance
) -> None:
    for one in (pod("p"), pod("bare"), pod("over", phase="Succeeded", state=ended(0))):
        await cluster.put("pods", one)
    cluster.images["p", "main"] = has_card
    async with watching(execs(namespace)) as (heard, _):
        await heard.until(lambda: bool(samples(heard)))
    (sample, *_) = samples(heard)
    assert isinstance(sample, Reading)
    found = {one.pod: one for one in sample.value}
    assert found.keys() == {"p", "bare"}
    (gpu,) = found["p"].gpus
    assert (gpu.utilization, gpu.memory_used, gpu.power) == (0.97, 61_234 << 20, 412.5)
    assert (found["p"].cell, found["p"].container, found["p"].why) == ("p", "main", None)
    assert (found["bare"].gpus, found["bare"].why) == ((), NO_PROGRAM)
    assert {one.words[0] for one in asked(cluster)} == {"nvidia-smi"}
    assert {one.query.get("stdin", "false") for one in asked(cluster)} == {"false"}


@pytest.mark.parametrize("vitals", [None, "top"])
async def test_nothing_is_run_in_a_container_otherwise(
    cluster: KubeServer, namespace: Instance, vitals: str | None
) -> None:
    await cluster.put("pods", two())
    scope = replace(namespace.scheduler_scope, vitals=vitals)
    async with watching(replace(namespace, scheduler_scope=scope)) as (heard, watch):
        await heard.until(lambda: heard.table is not None)
        watch.again()
        await heard.until(lambda: watch.read_up is True)
    assert not asked(cluster)
    assert not samples(heard)


async def test_a_user_who_may_not_exec_is_told_so_and_no_more_is_asked(
    cluster: KubeServer, namespace: Instance
) -> None:
    for name in ("p", "q", "r"):
        await cluster.put("pods", pod(name))
    cluster.forbidden.add(("EXEC", "pods/exec"))
    async with watching(execs(namespace)) as (heard, _):
        await heard.until(lambda: bool(samples(heard)))
    (sample,) = samples(heard)
    assert isinstance(sample, Failure)
    assert sample.why.startswith(
        "kubectl exec is forbidden (lab, namespace default). Ask for a role"
    )
    assert len({one.path for one in asked(cluster)}) == 1
    assert heard.table is not None  # the queue does not suffer


class Kubectl:
    """Answers in the place of kubectl; a pod without an answer hangs until the time limit."""

    def __init__(self, answers: Mapping[str, Completed]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def run(self, argv: Sequence[str], *, limit: float, cap: int) -> Completed:
        name = argv[argv.index("exec") + 1].removeprefix("pod/")
        self.asked.append(name)
        if name not in self._answers:
            raise CommandFailed(f"kubectl did not end in {limit:g} s")
        return self._answers[name]

    def stream(self, argv: Sequence[str]) -> Any:
        raise NotImplementedError


async def rounds(
    instance: Instance, kubectl: Kubectl, pods: Sequence[str], many: int
) -> list[Sequence[PodCards]]:
    """The first tables of the cards of these pods."""
    logs = [
        PodLog(name, f"pod/{name}", name, "main", name, True, device=name == pods[-1])
        for name in pods
    ]
    heard = Heard()
    task = asyncio.create_task(
        PodCardsWatch(instance, heard, SystemClock()).run(kubectl, lambda: logs)
    )
    await heard.until(lambda: len(samples(heard)) >= many)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return [sample.value for sample in samples(heard)[:many]]


async def test_a_container_is_asked_less_often_where_it_does_not_answer(
    namespace: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_exec, "EXEC_SECONDS", 0.0)
    works, bare = Completed(CARD.encode(), b"", 0), failed(1, f"error: {RUNC}")
    kubectl = Kubectl({"works": works, "bare": bare})
    (*_, last) = await rounds(execs(namespace), kubectl, ("hangs", "bare", "works"), 4)
    assert [kubectl.asked.count(name) for name in ("hangs", "bare")] == [1, 1]
    assert kubectl.asked.count("works") >= 4
    why = {one.pod: one.why for one in last}
    assert why == {"hangs": "kubectl did not end in 10 s", "bare": NO_PROGRAM, "works": None}


async def test_one_round_asks_a_few_and_the_next_one_the_others(
    namespace: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_exec, "EXEC_SECONDS", 0.0)
    pods = [f"p{n}" for n in range(EACH_ROUND * 2 + 3)]
    kubectl = Kubectl({name: Completed(CARD.encode(), b"", 0) for name in pods})
    tables = await rounds(execs(namespace), kubectl, pods, 3)
    unread = [[one.why for one in table].count("not asked yet") for table in tables]
    assert unread == [EACH_ROUND + 3, 3, 0]
    assert kubectl.asked[0] == pods[-1]  # those that ask for GPUs first
    many = [f"p{n}" for n in range(ASKED + 5)]
    (first,) = await rounds(execs(namespace), Kubectl({}), many, 1)
    assert [one.why for one in first].count(f"not asked: {ASKED} others of this namespace are") == 5


def failed(code: int, stderr: str, stdout: str = "") -> Completed:
    return Completed(stdout.encode(), stderr.encode(), code)


RUNC = (
    "OCI runtime exec failed: exec failed: unable to start container process: exec: "
    '"nvidia-smi": executable file not found in $PATH: unknown'
)


@pytest.mark.parametrize(
    "done",
    [
        failed(1, f"error: Internal error occurred: error executing command in container: {RUNC}"),
        # Docker up to Kubernetes 1.23: the words of the runtime are what the program printed.
        failed(126, "command terminated with exit code 126\n", f"{RUNC}\n"),
        # CRI-O with crun, and gVisor.
        failed(1, "error: exec failed: `nvidia-smi`: No such file or directory"),
        failed(128, 'error finding executable "nvidia-smi" in PATH [/bin]: no such file'),
    ],
)
def test_an_image_without_nvidia_smi_is_not_asked_again(done: Completed) -> None:
    assert cards_of(done) == Shown(why=NO_PROGRAM, final=True)


@pytest.mark.parametrize(
    "words",
    [
        'Error from server (NotFound): pods "p" not found',
        "error: cannot exec into a container in a completed pod; current phase is Failed",
        'error: unable to upgrade connection: container not found ("main")',
        "Error from server (BadRequest): container main is not valid for pod p",
    ],
)
def test_a_container_that_ended_meanwhile_is_no_trouble(words: str) -> None:
    assert cards_of(failed(1, words)) == Shown(gone=True)


def test_a_failure_is_of_nvidia_smi_or_of_the_way_to_it() -> None:
    lost = cards_of(
        failed(9, "command terminated with exit code 9\n", "NVIDIA-SMI has failed because it couldn't "
               "communicate with the NVIDIA driver.\n")
    )  # fmt: skip
    assert lost.why is not None
    assert "communicate with the NVIDIA driver" in lost.why
    assert not lost.final
    way = cards_of(
        failed(
            1, "Error from server: error dialing backend: dial tcp 10.0.0.5:10250: i/o timeout\n"
        )
    )
    assert way.why == (
        "kubectl exec: Error from server: error dialing backend: dial tcp 10.0.0.5:10250: i/o timeout"
    )
    hostile = cards_of(failed(1, "error: \x1b]0;x\x07" + "y" * 5_000))
    assert hostile.why is not None
    assert "\x1b" not in hostile.why
    assert len(hostile.why) < 200
    many = "".join(CARD.replace("0,", f"{n},", 1) for n in range(400))
    assert len(cards_of(Completed(many.encode(), b"", 0)).gpus) == CARDS_MOST


def test_a_webhook_that_denies_one_pod_is_no_refusal_of_all() -> None:
    scope = SchedulerScope(context="lab", namespace="default", kubectl="local")
    role = failed(1, 'Error from server (Forbidden): pods "p" is forbidden: User "u" cannot create resource '
                     '"pods/exec" in API group "" in the namespace "n"\n')  # fmt: skip
    assert not_allowed(role, scope) is not None
    hook = failed(
        1, 'Error from server: admission webhook "deny.exec" denied the request: production\n'
    )
    assert not_allowed(hook, scope) is None
    assert cards_of(hook).why == (
        'kubectl exec: Error from server: admission webhook "deny.exec" denied the request: production'
    )


# --- the container that trains ------------------------------------------------------------------------


def why_of(heard: Heard) -> str:
    """The reason in the only row."""
    return (heard.table.jobs[0].why or "") if heard.table else "no table"


async def test_the_container_that_trains_is_found_by_its_processes(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", two())
    cluster.images["p", "a"] = runs(("sh", "-c", "while :; do sync; done"), ("python3", "sync.py"))
    cluster.images["p", "b"] = runs(("sh", "run.sh"), TRAINER)
    await cluster.write("p", (at("10:00:11"), "epoch 1/4 loss=0.5"), container="b")
    await cluster.write("p", (at("10:00:11"), "synced"), container="a")
    view = (await collect_once(Fleet(None, (execs(namespace),)), 20.0))["lab"]
    (cell,) = view.queue.cells
    assert "which of its containers" not in (cell.why or "")
    assert [log.source.path for log in view.logs] == ["pod/p"]
    tables = [one for one in asked(cluster) if one.words[0] == "sh"]
    assert [one.query["container"] for one in tables] == ["a", "b"]


async def test_the_process_tables_of_a_pod_are_asked_once(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", two())
    for name in "ab":  # one process namespace for both: nothing tells them apart
        cluster.images["p", name] = runs(("/pause",), TRAINER)
    async with watching(execs(namespace)) as (heard, watch):
        for _ in range(3):
            seen = len(heard.events)
            watch.again()
            await heard.until(lambda seen=seen: any(_is_table(e) for e in heard.events[seen:]))  # type: ignore[misc]
    assert "is not said" in why_of(heard)
    assert len([one for one in asked(cluster) if one.words[0] == "sh"]) == 2


async def test_a_trainer_that_starts_later_is_found_and_its_log_is_read_once(
    cluster: KubeServer, namespace: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_exec, "TRY_AGAIN", 0.0)
    monkeypatch.setattr(collect_exec, "TRIES", 1_000)
    await cluster.put("pods", two())
    loads = ("sh", "run.sh")
    cluster.images["p", "b"] = runs(loads)
    await cluster.write("p", (at("10:00:11"), "epoch 1/4 loss=0.5"), container="b")
    await cluster.write("p", (at("10:00:11"), "synced"), container="a")
    async with watching(execs(namespace)) as (heard, watch):
        await heard.until(lambda: "is not said" in why_of(heard))
        cluster.images["p", "b"] = runs(loads, TRAINER)
        watch.again()
        await heard.until(lambda: not why_of(heard))
        await heard.until(lambda: watch.read_up is True)
    assert heard.table is not None
    assert heard.table.jobs[0].pod_logs == ("pod/p",)
    lines = [
        (event.source.path, line.text)
        for event in heard.events
        if isinstance(event, LogArrived)
        for line in event.lines
    ]
    assert lines.count(("pod/p", "epoch 1/4 loss=0.5")) == 1
    assert ("pod/p", "synced") not in lines


def _is_table(event: Any) -> bool:
    return isinstance(event, Sampled) and event.metric == "kubernetes"


def test_a_trainer_in_one_container_only() -> None:
    def train(*argv: str) -> Process:
        return Process(7, 0, argv[0], argv, "?")

    trainer, other = train(*TRAINER), train("python3", "sync.py")
    assert trains_in({"a": [other], "b": [trainer]}) == "b"
    assert trains_in({"a": [], "b": [train("torchrun", "finetune.py")]}) == "b"
    assert trains_in({"a": [trainer], "b": [trainer]}) is None
    assert trains_in({"a": [other], "b": [train("sh", "train.sh")]}) is None
    assert trains_in({}) is None


def test_a_process_table_is_read_as_sh_prints_it() -> None:
    scope = SchedulerScope(kubectl="local")
    argv = process_table(scope, "p", "c")
    done = subprocess.run(argv[argv.index("--") + 1 :], capture_output=True, check=False)
    mine = {one.pid: one.argv for one in processes_of(done.stdout)}
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().rstrip(b"\0").split(b"\0")
    if os.getpid() in mine:  # of a machine with more processes only the first ones are read
        assert mine[os.getpid()][:2] == tuple(word.decode() for word in words[:2])
    assert any(argv[0].endswith("sh") for argv in mine.values())


def test_a_process_table_holds_anything() -> None:
    data = table(("a b", "", "é\n@x"), TRAINER, ("",)).encode() + b"\n@9\n\xff\0"
    argvs = [one.argv for one in processes_of(data)]
    assert argvs == [("a b", "", "é\n@x"), TRAINER, ("\ufffd",)]
    assert len(processes_of(table(*[("x",)] * 2_000).encode())) == PROCESSES_MOST
    assert processes_of(b"sh: not found") == ()
