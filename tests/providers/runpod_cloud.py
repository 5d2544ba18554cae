"""A whole RunPod account on loopback: pods, network volumes, the balance over GraphQL, and the dead v1."""

from __future__ import annotations

from typing import Any

from local_api import Asked, LocalApi, Said

ID = "7h9k2m4n6p"
POD: dict[str, Any] = {
    "id": ID, "name": "sweep-a", "image": "runpod/pytorch:2.4", "args": "", "disk": 50,
    "ports": ["22/tcp"], "env": {"WANDB_API_KEY": "canary-secret"}, "registry": None,
    "status": "RUNNING", "actions": ["stop", "restart", "terminate"],
    "mounts": {"persistent": {"size": 73, "path": "/workspace"}},
    "gpu": {"id": "NVIDIA GeForce RTX 4090", "count": 1}, "cloud": "SECURE", "dataCenterId": "US-KS-2",
    "ssh": {"proxy": None, "direct": {"host": "192.0.2.3", "port": 34446, "username": "root"}},
    "cost": 0.44, "locked": False, "runtime": {"uptime": 3600},
    "createdAt": "2026-11-20T12:00:00Z", "startedAt": "2026-11-20T12:02:00Z",
}  # fmt: skip


class RunPodCloud(LocalApi):
    """`slow`: reads that still show a deleted pod. `cluster`: a member cannot be deleted alone.

    `revives`: 204, and then the pod is there again as EXITED. `hang`: a call never answers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pods: dict[str, dict[str, Any]] = {ID: dict(POD)}
        self.volumes = [{"id": "nv1", "name": "ckpt", "size": 1500, "type": "STANDARD"}]
        self.account: dict[str, Any] = {
            "clientBalance": 11.0, "currentSpendPerHr": 0.5, "spendLimit": 80, "notifyLowBalance": 5,
        }  # fmt: skip
        self.slow = 0
        self.cluster = False
        self.revives = False
        self.hang = False
        self._dying: dict[str, int] = {}

    def answer(self, asked: Asked) -> Said:
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return _problem(401, "missing or invalid API key")
        words = asked.path.strip("/").split("/")
        match asked.method, words:
            case "POST", ["graphql"]:
                return Said(200, {"data": {"myself": self.account}})
            case _, ["v1", *_]:
                return _problem(410, "v1 was retired")
            case "GET", ["v2", "pods"]:
                return Said(200, {"pods": list(self.pods.values())})
            case "GET", ["v2", "network-volumes"]:
                return Said(200, {"networkVolumes": self.volumes})
            case "GET", ["v2", "pods", id]:
                return self._show(id)
            case _, ["v2", "pods", id, *_] if id not in self.pods:
                return _problem(404, "pod not found")
            case "DELETE", ["v2", "pods", id]:
                return self._delete(id)
            case "POST", ["v2", "pods", id, "action"] if asked.body == {"action": "stop"}:
                self.pods[id] |= {"status": "EXITED", "cost": 0.0}
                return Said(None) if self.hang else Said(200, self.pods[id])
        return _problem(404, "no such route")

    def _show(self, id: str) -> Said:
        if id in self._dying:
            self._dying[id] -= 1
            if self._dying[id] < 0:
                del self._dying[id], self.pods[id]
        return Said(200, self.pods[id]) if id in self.pods else _problem(404, "pod not found")

    def _delete(self, id: str) -> Said:
        if self.cluster:
            return _problem(409, "a member of a cluster cannot be deleted alone")
        if self.revives:
            self.pods[id] |= {"status": "EXITED", "cost": 0.0}
        elif self.slow:
            self._dying[id] = self.slow
        else:
            del self.pods[id]
        return Said(None) if self.hang else Said(204)


def _problem(status: int, detail: str) -> Said:
    kind = {"Content-Type": "application/problem+json"}
    return Said(status, {"title": "x", "status": status, "detail": detail, "errors": []}, kind)
