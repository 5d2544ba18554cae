"""Paperspace on loopback: pages, a stop that takes its time, and what a deleted machine leaves behind."""

from __future__ import annotations

from typing import Any

from local_api import Asked, LocalApi, Said

ID = "ps1abc"
ROW: dict[str, Any] = {
    "id": ID, "name": "sweep-a", "state": "ready", "machineType": "A100", "region": "ny2",
    "os": "Ubuntu 22.04", "cpus": 12, "ram": 96636764160, "storageTotal": 107374182400,
    "usageRate": 3.09, "storageRate": 0.0067, "publicIp": "192.0.2.10", "publicIpType": "static",
    "autoShutdownEnabled": True, "autoShutdownTimeout": 24, "startupScript": "canary-secret",
    "dtCreated": "2026-11-18T08:00:00.000Z", "dtModified": "2026-11-18T08:05:00.000Z", "dtDeleted": None,
}  # fmt: skip


class PaperspaceServer(LocalApi):
    """`polls`: reads that still say stopping. `page`: machines on one page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, Any]] = {ID: dict(ROW)}
        self.ips = [{"ip": "192.0.2.10", "assignedMachineId": ID}]
        self.snapshots = [{"id": "snap1", "name": "before", "machineId": ID}]
        self.standing = {"isInGoodStanding": True, "isAdminLocked": False, "hasPaymentMethod": True}
        self.polls = 0
        self.page = 50

    def answer(self, asked: Asked) -> Said:
        if asked.headers.get("authorization") != f"Bearer {self.key}":
            return Said(401, {"code": "unauthorized", "message": "Unauthorized"})
        words = asked.path.removeprefix("/v1/").split("/")
        match asked.method, words:
            case "GET", ["machines"]:
                return self._items(asked, list(self.rows.values()))
            case "GET", ["public-ips"]:
                return self._items(asked, self.ips)
            case "GET", ["snapshots"]:
                return self._items(asked, self.snapshots)
            case "GET", ["shared-drives"]:
                return self._items(asked, [])
            case "GET", ["billing", "account-standing"]:
                return Said(200, self.standing)
            case _, ["machines", id, *_] if id not in self.rows:
                return Said(404, {"code": "notFound", "message": "Machine not found"})
            case "GET", ["machines", id]:
                return self._show(id)
            case "PATCH", ["machines", id, "stop"]:
                self.rows[id]["state"] = "stopping"
                return Said(200, {"data": {"id": "ev1", "state": "new"}})
            case "DELETE", ["machines", id]:
                if self.rows[id]["state"] != "off":
                    return Said(409, {"code": "conflict", "message": "machine must be off"})
                del self.rows[id]
                self.ips = [{**ip, "assignedMachineId": None} for ip in self.ips]
                return Said(200, {"data": {"id": "ev2"}})
        return Said(404, {"message": "no such route"})

    def _show(self, id: str) -> Said:
        if self.rows[id]["state"] == "stopping":
            self.polls -= 1
            if self.polls < 0:
                self.rows[id]["state"] = "off"
        return Said(200, self.rows[id])

    def _items(self, asked: Asked, items: list[Any]) -> Said:
        start = int(asked.query.get("after", "0"))
        end = start + min(self.page, int(asked.query["limit"]))
        more = end < len(items)
        body = {"hasMore": more, "nextPage": str(end) if more else None, "items": items[start:end]}
        return Said(200, body)
