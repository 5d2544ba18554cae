"""AutoDL's Pro API on loopback: HTTP 200 for errors too, zero dates, a shutdown that takes its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local_api import Asked, LocalApi, Said

ID = "pro-0123456789ab"
NEVER = {"Time": "0001-01-01T00:00:00Z", "Valid": False}
ROW: dict[str, Any] = {
    "created_at": "2026-11-18T09:10:11+08:00", "uuid": ID, "machine_alias": "A1",
    "region_name": "西北B区", "status": "running", "sub_status": "", "start_mode": "gpu",
    "charge_type": "payg", "gpu_spec_uuid": "h800", "name": "sweep-a",
    "started_at": {"Time": "2026-11-18T09:11:00+08:00", "Valid": True},
    "stopped_at": NEVER, "expired_at": NEVER, "timed_shutdown_at": NEVER,
}  # fmt: skip


class AutoDLServer(LocalApi):
    """`polls`: lists that still say shutting_down. `between`: what happens after one page was read."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, Any]] = {ID: dict(ROW)}
        self.wallet = {"assets": 123_000, "blocked_asset": 3_000, "voucher_balance": 0}
        self.polls = 0
        self.priced = True
        self.between: Callable[[], object] | None = None

    def answer(self, asked: Asked) -> Said:
        if asked.headers.get("authorization") != self.key:
            return _failure("AuthorizeFailed", "authorization failed")
        path = asked.path.removeprefix("/api/v1/dev/")
        if (asked.method, path) == ("POST", "instance/pro/list"):
            return self._list(asked.body)
        if (asked.method, path) == ("POST", "wallet/balance"):
            return _success(self.wallet)
        row = self.rows.get((asked.body or asked.query)["instance_uuid"])
        if row is None:
            return _failure("InstanceNotFound", "instance does not exist")
        match asked.method, path:
            case "GET", "instance/pro/snapshot" if self.priced:
                return _success(
                    {
                        "payg_price": 1970,
                        "root_password": "canary-secret",
                        "ssh_command": "ssh -p 34446 root@region-1.example",
                        "proxy_host": "region-1.example",
                        "ssh_port": 34446,
                    }
                )
            case "POST", "instance/pro/power_off":
                row["status"] = "shutting_down"
                return _success(None)
            case "POST", "instance/pro/release":
                if row["status"] != "shutdown":
                    return _failure("InstanceStatusError", "power the instance off first")
                del self.rows[row["uuid"]]
                return _success(None)
        return _failure("NotSupported", path)

    def _list(self, body: dict[str, int]) -> Said:
        for row in self.rows.values():
            if row["status"] == "shutting_down":
                self.polls -= 1
                if self.polls < 0:
                    at = {"Time": "2026-11-20T10:00:00+08:00", "Valid": True}
                    row |= {"status": "shutdown", "stopped_at": at}
        page, size = body["page_index"], body["page_size"]
        rows = list(self.rows.values())
        shown = rows[(page - 1) * size : page * size]
        pages = max(1, -(-len(rows) // size))
        # As Go writes a list that nothing was put into.
        said = {"list": shown or None, "page_index": page, "page_size": size, "max_page": pages}
        said["result_total"] = len(rows)
        if self.between is not None:
            self.between()
            self.between = None
        return _success(said)


def _success(data: object) -> Said:
    return Said(200, {"code": "Success", "msg": "", "data": data, "request_id": "r1"})


def _failure(code: str, text: str) -> Said:
    return Said(200, {"code": code, "msg": text, "data": None, "request_id": "r1"})
