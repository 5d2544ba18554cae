"""Kubernetes' words for why a pod was taken away, never began, or waits: tables of rules, with their sources.

Each table maps a word of the API to the kind of finding that it is, and to what a person should read besides
the word. A kind of None is no finding: the user's own act, or an ordinary wait.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_tui.parse.kube_object import SENTENCE, Object, condition, part, raw, rows, text


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a pod was ended by something other than its program. `own`: by its user's or an owner's own act."""

    kind: str | None
    says: str | None = None
    own: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a pod may wait for this reason before it is a finding, in seconds; None = for ever."""

    patience: float | None
    says: str | None = None


_TAKEN = "preempted"
# Reasons of the condition DisruptionTarget.
# Source: kubernetes.io/docs/concepts/workloads/pods/disruptions (Pod disruption conditions).
DISRUPTIONS: Mapping[str, Cause] = {
    "PreemptionByScheduler": Cause(_TAKEN, "a pod of higher priority took its place"),
    "DeletionByTaintManager": Cause(_TAKEN, "its node has a taint that it does not tolerate"),
    "EvictionByEvictionAPI": Cause(_TAKEN, "its node is drained"),
    "DeletionByPodGC": Cause(_TAKEN, "its node is gone"),
    "TerminationByKubelet": Cause(_TAKEN, "its node was short of something or shut down"),
}
# Reasons of Kueue's condition TerminationTarget, after "WorkloadEvictedDueTo".
# Source: kueue.sigs.k8s.io/docs/reference/kueue.v1beta1 (reasons of Evicted), kueue pull 2160.
KUEUE: Mapping[str, Cause] = {
    "Preempted": Cause(_TAKEN, "Kueue gave its quota to another workload"),
    "PodsReadyTimeout": Cause("missing_cell", "Kueue took it back: not all its pods became ready in time"),
    "AdmissionCheck": Cause(_TAKEN, "Kueue took it back: an admission check no longer holds"),
    "ClusterQueueStopped": Cause(_TAKEN, "Kueue took it back: its cluster queue was stopped"),
    "LocalQueueStopped": Cause(_TAKEN, "Kueue took it back: its queue was stopped"),
    "NodeFailures": Cause("hardware", "Kueue took it back: its node failed"),
    "DeactivatedDueToMaximumExecutionTimeExceeded": Cause("time_limit", "Kueue's limit on its run time"),
    "MaximumExecutionTimeExceeded": Cause("time_limit", "Kueue's limit on its run time"),
    "DeactivatedDueToRequeuingLimitExceeded": Cause("missing_cell", "Kueue queued it too often and gave up"),
    "RequeuingLimitExceeded": Cause("missing_cell", "Kueue queued it too often and gave up"),
    "DeactivatedDueToAdmissionCheck": Cause("missing_cell", "Kueue gave it up: an admission check refused it"),
    "InactiveWorkload": Cause(None, "its workload was deactivated", own=True),
    "Deactivated": Cause(None, "its workload was deactivated", own=True),
}  # fmt: skip
_KUEUE_STEM = "WorkloadEvictedDueTo"
# Reasons of the status of a pod whose phase is Failed.
# Source: kubernetes.io/docs/concepts/cluster-administration/node-shutdown, /docs/concepts/scheduling-eviction;
# kubernetes 1.20 and 1.21 say Shutdown (pull 102840). GKE documents the same for spot nodes.
REASONS: Mapping[str, Cause] = {
    "Preempting": Cause(_TAKEN, "a critical pod took its place"),
    "Preempted": Cause(_TAKEN),
    "Shutdown": Cause(_TAKEN, "its node was shut down"),
    "NodeShutdown": Cause(_TAKEN, "its node was shut down"),
    "Terminated": Cause(_TAKEN, "its node was shut down"),
    "NodeLost": Cause(_TAKEN, "its node is gone"),
    "DeadlineExceeded": Cause("time_limit"),
}
# The kubelet did not take the pod: it never began. Source: kubelet, lifecycle/predicate.go; for devices
# kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins.
REJECTED = re.compile(
    r"OutOf\S*|UnexpectedAdmissionError|TopologyAffinityError|Node(?:Affinity|Ports|Name|UnschedulableByTaint)"
    r"|InvalidNodeInfo|PredicateFailedError|PodOS\S*|AppArmor|SysctlForbidden"
)
# The resource that a node lacked, as the kubelet names it or its condition; otherwise by words of its message.
# Source: kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction; kubelet, eviction/helpers.go.
SHORT_OF = re.compile(r"low on resource: ([\w-]+)|had condition: \[?(\w+)")
STORAGE = re.compile(r"storage|disk|inodes|imagefs|nodefs|containerfs|emptydir", re.IGNORECASE)
MEMORY = re.compile(r"memory", re.IGNORECASE)
VOLUME = re.compile(r'EmptyDir volume "([^"]{1,253})"')
# Sentences of node shutdowns and spot nodes, where no reason of the API names them.
# Source: GKE, EKS (node termination handler) and AKS pages on spot nodes.
TAKEN_AWAY = re.compile(
    r"imminent node shutdown|node (?:is|was) (?:being )?shut(?:ting)? ?down|node is shutting"
    r"|impending-node-termination|spot (?:interruption|instance|node|vm)|preemptscheduled|spot-itn"
    r"|rebalance-recommendation|node no longer exists|preempted (?:in order )?to|preempted by",
    re.IGNORECASE,
)
# Why a container that has not begun waits. Source: kubernetes.io/docs/concepts/containers/images (pull errors),
# /docs/tasks/debug/debug-application/debug-pods; kubelet, images/types.go and kuberuntime.
UNPLACED = Wait(1_800.0)
UNTAKEN = Wait(300.0)  # a kubelet does so within seconds
NO_POD = Wait(600.0)  # a controller makes them within seconds
SLOW = Wait(900.0, "its volumes, its image or its network are not ready")
WAITS: Mapping[str, Wait] = {
    "ContainerCreating": SLOW,
    "PodInitializing": SLOW,
    "SchedulingGated": Wait(None, "a gate holds it back"),
    "ErrImagePull": Wait(0.0),
    "ImagePullBackOff": Wait(0.0),
    "ErrImageNeverPull": Wait(0.0),
    "InvalidImageName": Wait(0.0),
    "ImageInspectError": Wait(0.0),
    "RegistryUnavailable": Wait(0.0),
    "SignatureValidationFailed": Wait(0.0),
    "CreateContainerConfigError": Wait(0.0),
    "CreateContainerError": Wait(0.0),
    "RunContainerError": Wait(0.0),
    "CreatePodSandboxError": Wait(0.0),
    "ConfigPodSandboxError": Wait(0.0),
    "PreStartHookError": Wait(0.0),
    "PostStartHookError": Wait(0.0),
}
LONG_INIT = Wait(1_800.0)  # an init container that runs: a download may take its time
IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}
)


def disruption(status: Object) -> tuple[str, Cause, Object] | None:
    """Why the platform takes the pod away, in the API's own word, and the condition that says so."""
    for kind in ("DisruptionTarget", "TerminationTarget"):
        found = condition(status, kind)
        if found is None:
            continue
        word = text(found, "reason") or kind
        return word, _cause_of(word), found
    return None


def _cause_of(word: str) -> Cause:
    if known := DISRUPTIONS.get(word):
        return known
    if word == "WorkloadDeleted":
        return Cause(None, "its workload was deleted", own=True)
    if word.startswith(_KUEUE_STEM):
        rest = word.removeprefix(_KUEUE_STEM)
        return KUEUE.get(rest) or Cause(
            None if rest.startswith("Deactivated") else _TAKEN,
            "Kueue took it back",
            own=rest.startswith("Deactivated"),
        )
    return Cause(_TAKEN)


def cause_of_failure(spec: Object, status: Object, *, began: bool) -> Cause | None:
    """Why a pod of the phase Failed ended, by the pod's own words; None where only its containers can say."""
    reason, message = raw(status, "reason", 80), text(status, "message", 4 * SENTENCE) or ""
    if reason == "Evicted":
        return _eviction(spec, message)
    target = disruption(status)
    if reason is not None and reason in REASONS:
        return REASONS[reason]
    if reason and REJECTED.fullmatch(reason):
        if began:
            return Cause(_TAKEN, "its node came back and no longer takes it")
        return Cause("missing_cell", "its node did not take it: it never began")
    if target is not None:
        word, cause, row = target
        said = text(row, "message", 4 * SENTENCE) or message
        return _eviction(spec, said) if word == "TerminationByKubelet" and said else cause
    return Cause(_TAKEN) if TAKEN_AWAY.search(message) else None


def _eviction(spec: Object, message: str) -> Cause:
    """Evicted by its kubelet: for its disk, for memory, or for something else."""
    named = SHORT_OF.search(message)
    words = message if named is None else named[1] or named[2]
    volume = VOLUME.search(message)
    if volume and _in_memory(spec, volume[1]):
        return Cause("host_oom", "a volume in memory was full")
    if STORAGE.search(words):
        return Cause("disk_full")
    return Cause("host_oom" if MEMORY.search(words) else _TAKEN)


def _in_memory(spec: Object, volume: str) -> bool:
    """An emptyDir of the medium Memory, as /dev/shm often is."""
    return any(
        raw(row, "name") == volume and part(row, "emptyDir").get("medium") == "Memory"
        for row in rows(spec, "volumes")
    )
