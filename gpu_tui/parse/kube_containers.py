"""The containers of a pod: which of them train, how each runs or ended, and what its restarts say.

A pod has no field for "this container is the work". `judged_by` answers by the first rule that holds, and
never simply takes the first container.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from gpu_tui.core import units
from gpu_tui.parse.kube_object import (
    NOTHING,
    SENTENCE,
    Object,
    flag,
    number,
    part,
    raw,
    rows,
    text,
    time,
)

CONTAINERS_READ = 50  # of one pod
# kubernetes.io/docs/reference/labels-annotations-taints; the second is Istio's own up to 1.11.
DEFAULT_CONTAINER = (
    "kubectl.kubernetes.io/default-container",
    "kubectl.kubernetes.io/default-logs-container",
)
# Extended resources of device plugins: kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus, and the plugins of
# Intel, Habana, Google, AWS, Huawei, Cambricon, Hygon, MetaX, Moore Threads, Enflame, Kunlun, Graphcore, Volcano, HAMi.
ACCELERATOR = re.compile(
    r"[a-z0-9.-]*/[a-z0-9._-]*(?:gpu|tpu|npu|mlu|dcu|gcu|xpu|ipu|neuron|gaudi|ascend|vcuda|qaic|mig-|i915)"
    r"[a-z0-9._-]*|gpu\.intel\.com/xe|cloud-tpus\.google\.com/.*|nvidia\.com/(?-i:[A-Z]{1,2})\d\w*",
    re.IGNORECASE,
)
# KubeVirt and renamed resources of NVIDIA's plugin: the model of the card (nvidia.com/A100).
# Of these the amount is a number of devices, and not a share of one's memory or cores.
COUNTED = re.compile(
    r"nvidia\.com/[a-z]{1,2}\d\w*|.*/(?:\w*(?:gpu|tpu|npu|mlu|dcu|gcu|xpu|ipu|neuron|gaudi)|gpu\.shared|neurondevice|ascend\w*|mig-.*|i915|xe)",
    re.IGNORECASE,
)
# The name that an operator demands of the container which it judges a replica by.
# Source: kubeflow.org/docs/components/trainer/legacy-v1, argo-workflows.readthedocs.io (sidecars).
OPERATORS = {
    "PyTorchJob": "pytorch",
    "TFJob": "tensorflow",
    "XGBoostJob": "xgboost",
    "MXJob": "mxnet",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
    "RayCluster": "ray-head",
    "SparkApplication": "spark-kubernetes-driver",
    "Workflow": "main",
}
# Containers that injectors and operators add: service meshes, log and metric shippers, mounts, syncs.
SIDECAR = re.compile(
    r"(?:.*-)?(?:proxy|sidecar|exporter|collector|shipper|uploader|watcher|syncer|envoy|daprd)(?:-.*)?"
    r"|istio-.*|linkerd-.*|consul-.*|kuma-.*|vault-agent.*|datadog-agent|trace-agent|aws-.*-agent|xray-daemon"
    r"|fluent-?(?:bit|d)|filebeat|promtail|alloy|telegraf|vector|logrotate|log-?tailer|otc-container|otel-.*"
    r"|cloud-?sql-.*|gcs-?fuse.*|s3fs|goofys|juicefs.*|jfs-mount|git-sync|oauth2-.*|kube-rbac-.*|queue-proxy"
    r"|nginx|redis|minio|mlflow|pgbouncer|rsync|rclone|log-agent|splunk.*|newrelic-.*|ama-logs|cloudwatch-.*"
    r"|tensorboard|metrics-logger-.*|jaeger-agent|node-problem-detector|wait"
    r"|autoscaler|determined-fluent.*|tcpxo?-daemon|tcpd-daemon|fastrak-daemon|.+-sync"
)
SETTLED, LONGEST_WATCH = 600.0, 86_400.0  # seconds: see `got_over`
# A node that restarted has lost the end of the container. Source: kubelet, `ContainerStatusUnknown` (exit 137)
# and containerd's `Unknown` (exit 255).
END_LOST = frozenset({"ContainerStatusUnknown", "Unknown"})


@dataclass(frozen=True, slots=True)
class ContainerLog:
    """One log of a pod that `kubectl logs POD --container=NAME` prints.

    `restarts` is the container's own restartCount: the pod's uid, the container and this number name one
    attempt. `live`: the container runs. `previous`: the attempt before has left a log (`--previous`), and
    `mark` is the line for between the two. `init`: an init container, which holds the pod up or has failed.
    `device`: the container asks for an accelerator.
    """

    container: str
    restarts: int = 0
    live: bool = False
    previous: bool = False
    init: bool = False
    mark: str | None = None
    device: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """One container by its spec and its status (`shown`; empty before the kubelet has seen the pod).

    `extra`: a native sidecar (an init container with restartPolicy Always), or known as one by its name.
    """

    name: str
    shown: Object
    image: str | None = None
    init: bool = False
    extra: bool = False
    device: bool = False
    devices: int = 0  # how many it asks for

    @property
    def running(self) -> Object:
        """`state.running`, which may be empty although the container runs."""
        return part(self.shown, "state", "running")

    @property
    def runs(self) -> bool:
        """Its state is running, with or without a time."""
        state = self.shown.get("state")
        return isinstance(state, dict) and isinstance(state.get("running"), dict)

    @property
    def ended(self) -> Object:
        """`state.terminated`."""
        return part(self.shown, "state", "terminated")

    @property
    def waiting(self) -> Object:
        """`state.waiting`."""
        return part(self.shown, "state", "waiting")

    @property
    def before(self) -> Object:
        """The end of the attempt before, `lastState.terminated`."""
        return part(self.shown, "lastState", "terminated")

    @property
    def restarts(self) -> int:
        """Its restartCount."""
        return max(0, number(self.shown, "restartCount") or 0)

    @property
    def failed(self) -> bool:
        """It has ended with another code than 0."""
        return bool(number(self.ended, "exitCode"))

    def log(self) -> ContainerLog | None:
        """Its log, where it can have written one."""
        if not (self.runs or self.ended or self.restarts):
            return None
        mark = None
        if self.restarts:
            last = end_words(self.before) or "no word"
            mark = f"restart {self.restarts}: the attempt before ended with {last}"
        previous = self.restarts > 0
        return ContainerLog(
            self.name, self.restarts, self.runs, previous, self.init, mark, self.device
        )


@dataclass(frozen=True, slots=True)
class Judges:
    """The containers that decide a pod's state. `known` is false where nothing names the one that trains."""

    containers: tuple[Container, ...]
    known: bool = True


def containers_of(spec: Object, status: Object, *, init: bool = False) -> tuple[Container, ...]:
    """The containers in the order of the spec, or the init containers."""
    key = "initContainers" if init else "containers"
    shown = {
        name: row
        for row in islice(rows(status, f"{key[:-1]}Statuses"), CONTAINERS_READ)
        if (name := raw(row, "name", 63))
    }
    found = []
    asked = {
        name: row
        for row in islice(rows(spec, key), CONTAINERS_READ)
        if (name := raw(row, "name", 63))
    }
    for name in {**asked, **shown}:
        row = asked.get(name, NOTHING)
        extra = row.get("restartPolicy") == "Always" if init else bool(SIDECAR.fullmatch(name))
        image = text(row, "image", SENTENCE)
        asks, many = _devices(row)
        found.append(Container(name, shown.get(name, NOTHING), image, init, extra, asks, many))
    return tuple(found)


def judged_by(
    containers: Sequence[Container],
    annotations: Object,
    owner: str | None = None,
    trains: str | None = None,
) -> Judges:
    """The containers that train, by the first rule that holds.

    The annotation of kubectl; a request for accelerators (all that have one count); the name that the operator
    `owner` (its kind) demands; the only one that is no known sidecar; `trains`, in which a trainer was seen.
    A pod of one container is that container.
    """
    for key in DEFAULT_CONTAINER:
        named = raw(annotations, key, 63)
        if found := tuple(one for one in containers if one.name == named):
            return Judges(found[:1])
    rules = (
        [one for one in containers if one.device],
        [one for one in containers if one.name == OPERATORS.get(owner or "")],
    )
    for found in map(tuple, rules):
        if found:
            return Judges(found)
    others = tuple(one for one in containers if not one.extra)
    if len(others) == 1 or len(containers) == 1:
        return Judges(others or tuple(containers))
    if seen := tuple(one for one in containers if one.name == trains):
        return Judges(seen)
    return Judges(others or tuple(containers), known=not containers)


def devices_of(spec: Object) -> int | None:
    """How many accelerators the containers of a pod ask for; None where none is asked for as a number."""
    return sum(one.devices for one in containers_of(spec, NOTHING)) or None


def _devices(row: Object) -> tuple[bool, int]:
    """Whether a container asks for an accelerator (an extended resource, or a claim of Dynamic Resource Allocation),
    and for how many.
    """
    resources = part(row, "resources")
    asked: dict[str, int] = {}
    for key in ("limits", "requests"):
        for name, amount in islice(part(resources, key).items(), CONTAINERS_READ):
            if ACCELERATOR.fullmatch(name[:253]) and amount not in ("0", 0, None, ""):
                asked.setdefault(name, _count(amount) if COUNTED.fullmatch(name[:253]) else 0)
    return bool(asked) or any(True for _ in rows(resources, "claims")), sum(asked.values())


def _count(amount: object) -> int:
    word = str(amount)[:6] if isinstance(amount, int | str) else ""
    return int(word) if word.isascii() and word.isdigit() else 0


def end_words(ended: Object, without: str | None = None) -> str | None:
    """`OOMKilled, exit 137`; the reason is left out where it is `without`, or says no more than the exit code."""
    code, signal = number(ended, "exitCode"), number(ended, "signal")
    reason = text(ended, "reason")
    words = [
        reason if reason not in (without, "Error", "Completed") else None,
        None if code is None else f"exit {code}",
        f"signal {signal}" if signal else None,
        text(ended, "message", SENTENCE),
    ]
    return ", ".join(filter(None, words)) or None


def killed_for_memory(ended: Object) -> bool:
    """The kernel killed a process of it at the limit of its cgroup. With exit 0 its main process lived on."""
    return text(ended, "reason") == "OOMKilled"


def restart_words(one: Container, now: float) -> str | None:
    """`restarted 3 times, last OOMKilled (exit 137) 2 min ago`; None where it never was."""
    if not one.restarts:
        return None
    words = f"restarted {one.restarts} time{'' if one.restarts == 1 else 's'}"
    if not one.before:
        return words
    code, at = number(one.before, "exitCode"), time(one.before, "finishedAt")
    reason = text(one.before, "reason")
    last = reason or "its end"
    last += f" (exit {code})" if code is not None else ""
    ago = "" if at is None else f" {units.words(max(0.0, now - at))} ago"
    lost = "; its node was restarted" if reason in END_LOST else ""
    return f"{words}, last {last}{ago}{lost}"


def restart_finding(one: Container, now: float) -> str | None:
    """The kind of finding that the last restart is; None where it ended well or has run on since."""
    if not one.restarts or not one.before:
        return None
    begun, over = time(one.before, "startedAt"), time(one.before, "finishedAt")
    if got_over(time(one.running, "startedAt"), begun, over, now):
        return None
    if killed_for_memory(one.before):
        return "host_oom"
    if text(one.before, "reason") in END_LOST:
        return "preempted"
    return "crashed" if number(one.before, "exitCode") else None


def got_over(since: float | None, begun: float | None, over: float | None, now: float) -> bool:
    """A run that goes on since `since` is well beyond the place that the attempt before (from `begun` to `over`) had
    reached, as far as times can say that.
    """
    if since is None:
        return False
    took = max(0.0, over - begun) if begun is not None and over is not None else 0.0
    return now - since > max(SETTLED, min(1.5 * took, LONGEST_WATCH))


def started(one: Container) -> bool:
    """A native sidecar that no longer holds up the containers after it."""
    return one.runs and (one.shown.get("started") is None or flag(one.shown, "started"))
