"""vast.ai on loopback: pages of 25, `null` for what is not there, and a show that lags behind a destroy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local_api import Asked, LocalApi, Said

ROW: dict[str, Any] = {
    "id": 4242, "label": "sweep-a", "actual_status": "running", "intended_status": "running",
    "cur_state": "running", "next_state": "running", "status_msg": "success, running",
    "ssh_host": "ssh5.vast.ai", "ssh_port": 14242, "public_ipaddr": "192.0.2.45",
    "ports": {"22/tcp": [{"HostIp": "0.0.0.0", "HostPort": "33526"}]},
    "machine_id": 12, "host_id": 7, "start_date": 1795213224.7, "end_date": 1795480424.7,
    "gpu_name": "RTX 4090", "num_gpus": 1, "gpu_util": 97.0, "disk_space": 50.0,
    "dph_base": 0.39, "dph_total": 0.4021, "storage_cost": 0.15, "storage_total_cost": 0.0021,
    "is_bid": False, "min_bid": 0.2, "extra_env": [["WANDB_API_KEY", "canary-secret"]],
    "jupyter_token": "canary-secret", "onstart": "canary-secret",
}  # fmt: skip


class VastServer(LocalApi):
    """`stale`: a destroyed instance is shown this many times more. `torn`: the second page is lost.

    `between`: done once, before the second page. `hang`: a call has its effect, its answer never comes. `refuse`: a call is answered success:false.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, dict[str, Any]] = {4242: dict(ROW)}
        self.stale = 0
        self.torn = False
        self.between: Callable[[], object] | None = None
        self.hang = False
        self.refuse = False
        self.volumes: list[dict[str, Any]] = []
        self.credit: object = 41.5
        self.null = True  # how "not there" is said: null, else 404
        self._dying: dict[int, int] = {}

    def fill(self, count: int) -> None:
        """So many instances, with ids from 1."""
        self.rows = {id: {**ROW, "id": id, "label": f"n{id}"} for id in range(1, count + 1)}

    def answer(self, asked: Asked) -> Said:
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return Said(401, {"success": False, "error": "auth_error", "msg": "Invalid key"})
        words = asked.path.strip("/").split("/")
        if words == ["api", "v1", "instances"]:
            return self._list(asked)
        if words == ["api", "v0", "users", "current"]:
            return Said(
                200, {"id": 1, "email": "me@x", "credit": self.credit, "api_key": "canary-secret"}
            )
        if words == ["api", "v0", "volumes"]:
            return Said(200, {"volumes": self.volumes})
        if words[:3] == ["api", "v0", "instances"] and len(words) == 4 and words[3].isdigit():
            return self._one(asked, int(words[3]))
        return Said(404, {"success": False, "error": "not_found", "msg": "no such route"})

    def _list(self, asked: Asked) -> Said:
        if asked.query.get("after_token") and (act := self.between):
            self.between = None
            act()
        ids = sorted(self.rows)
        start = int(asked.query.get("after_token", "0"))
        limit = min(25, int(asked.query.get("limit", "25")))
        if self.torn and start:
            return Said(502, None)
        shown = ids[start : start + limit]
        end = start + len(shown)
        return Said(
            200,
            {
                "success": True,
                "instances_found": len(shown),
                "total_instances": len(ids),
                "label_counts": {},
                "next_token": str(end) if end < len(ids) else None,
                "instances": [self.rows[id] for id in shown],
            },
        )

    def _one(self, asked: Asked, id: int) -> Said:
        missing = {"success": False, "error": "not_found", "msg": "Instance not found"}
        if asked.method == "GET":
            if id in self._dying:
                self._dying[id] -= 1
                if self._dying[id] < 0:
                    del self._dying[id], self.rows[id]
            if id in self.rows:
                return Said(200, {"instances": self.rows[id]})
            return Said(200, {"instances": None}) if self.null else Said(404, missing)
        if id not in self.rows:
            return Said(404, missing)
        if self.refuse:
            return Said(200, {"success": False, "msg": "instance is busy"})
        if asked.method == "DELETE" and self.stale:
            self._dying[id] = self.stale
        elif asked.method == "DELETE":
            del self.rows[id]
        else:
            self.rows[id] |= {"intended_status": "stopped", "actual_status": "stopped"}
        return Said(None) if self.hang else Said(200, {"success": True})
