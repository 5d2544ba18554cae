"""Jobs and pods as an API server stores them, in the shape of the real one."""

from __future__ import annotations

from typing import Any

DAY = "2026-11-20"


def at(clock: str) -> str:
    """A time of the test's day: "10:00:05"."""
    return f"{DAY}T{clock}Z"


def job(name: str, *, uid: str | None = None, spec: Any = None, **status: Any) -> dict[str, Any]:
    """A Job that was made at ten and began five seconds later."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid or f"uid-{name}",
            "creationTimestamp": at("10:00:00"),
        },
        "spec": {"backoffLimit": 4, "parallelism": 1, "completions": 1, **(spec or {})},
        "status": {"startTime": at("10:00:05"), **status},
    }


def condition(kind: str, reason: str = "", message: str = "", clock: str = "12:00:00") -> Any:
    """A condition that holds."""
    row = {"type": kind, "status": "True", "lastTransitionTime": at(clock)}
    return {**row, "reason": reason, "message": message}


def pod(
    name: str,
    *,
    of: str | None = None,
    phase: str = "Running",
    state: Any = None,
    last: Any = None,
    restarts: int = 0,
    index: int | None = None,
    created: str = "10:00:06",
    meta: Any = None,
    spec: Any = None,
    **status: Any,
) -> dict[str, Any]:
    """A pod with one container, `main`; it runs unless something else is said."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "controller": True,
        "name": of,
        "uid": f"uid-{of}",
    }
    labels = {"job-name": of, "controller-uid": f"uid-{of}"} if of else {}
    running = {"running": {"startedAt": at("10:00:10")}}
    shown = running if state is None and phase == "Running" else state
    containers = [
        {"name": "main", "state": shown, "lastState": last or {}, "restartCount": restarts}
    ]
    notes = {"batch.kubernetes.io/job-completion-index": str(index)} if index is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": at(created),
            "labels": labels,
            "annotations": notes,
            **({"ownerReferences": [owner]} if of else {}),
            **(meta or {}),
        },
        "spec": {"containers": [{"name": "main"}], "nodeName": "gpu-node-1", **(spec or {})},
        "status": {
            "phase": phase,
            "startTime": at("10:00:06"),
            **({"containerStatuses": containers} if shown is not None else {}),
            **status,
        },
    }


def ended(code: int, reason: str = "Error", clock: str = "11:30:00", **more: Any) -> Any:
    """The state of a container that has ended."""
    times = {"startedAt": at("10:00:10"), "finishedAt": at(clock)}
    return {"terminated": {"exitCode": code, "reason": reason, **times, **more}}


def waiting(reason: str, message: str = "") -> Any:
    """The state of a container that does not run yet, or not now."""
    return {"waiting": {"reason": reason, "message": message}}
