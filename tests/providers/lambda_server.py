"""Lambda on loopback: terminate that may hang with or without its effect, and file systems that stay."""

from __future__ import annotations

from typing import Any

from local_api import Asked, LocalApi, Said

ID = "0920582c7ff041399e34823a0be62549"
ROW: dict[str, Any] = {
    "id": ID, "name": "sweep-a", "ip": "198.51.100.2", "private_ip": "10.0.2.100", "status": "active",
    "ssh_key_names": ["k"], "file_system_names": ["fs1"],
    "region": {"name": "us-west-1", "description": "California, USA"},
    "instance_type": {"name": "gpu_1x_a100", "gpu_description": "A100 (40 GB)", "price_cents_per_hour": 129},
    "hostname": "h", "jupyter_token": "canary-secret", "jupyter_url": "https://canary-secret",
    "is_reserved": False, "tags": [],
}  # fmt: skip
SYSTEM: dict[str, Any] = {
    "id": "fs1", "name": "ckpt", "mount_point": "/lambda/nfs/ckpt", "bytes_used": 2**40,
    "region": {"name": "us-west-1", "description": "California, USA"},
}  # fmt: skip


class LambdaServer(LocalApi):
    """`hang`: terminate never answers; `effect`: it does its work all the same. `polls`: reads until gone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, Any]] = {ID: dict(ROW)}
        self.hang = False
        self.effect = True
        self.polls = 0
        self.systems: list[dict[str, Any]] = [dict(SYSTEM)]

    def answer(self, asked: Asked) -> Said:
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "global/invalid-api-key", "API key was invalid")
        words = asked.path.removeprefix("/api/v1/").split("/")
        match asked.method, words:
            case "GET", ["instances"]:
                return Said(200, {"data": list(self.rows.values())})
            case "GET", ["instances", id]:
                return self._show(id)
            case "POST", ["instance-operations", "terminate"]:
                return self._terminate(asked.body["instance_ids"])
            case "GET", ["file-systems"]:
                rows = [{**fs, "is_in_use": bool(self.rows)} for fs in self.systems]
                return Said(200, {"data": rows})
        return _error(404, "global/not-found", "no such route")

    def _show(self, id: str) -> Said:
        row = self.rows.get(id)
        if row is not None and row["status"] == "terminating":
            self.polls -= 1
            if self.polls < 0:
                del self.rows[id]
                row = None
        if row is None:
            return _error(404, "global/object-does-not-exist", "Specified instance does not exist.")
        return Said(200, {"data": row})

    def _terminate(self, ids: list[str]) -> Said:
        ended = [self.rows[id] for id in ids if id in self.rows]
        if not ended:
            return _error(404, "global/object-does-not-exist", "Specified instance does not exist.")
        if self.effect:
            for row in ended:
                row["status"] = "terminating"
        return Said(None) if self.hang else Said(200, {"data": {"terminated_instances": ended}})


def _error(status: int, code: str, message: str) -> Said:
    return Said(status, {"error": {"code": code, "message": message, "suggestion": ""}})
