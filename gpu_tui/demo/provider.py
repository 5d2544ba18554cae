"""The control planes of the demo on one loopback port: RunPod's REST v2 and AutoDL's Pro API.

They answer as the real ones do: bearer or raw token, problem+json, `code` apart from the HTTP status,
and a delete that is accepted long before it is true.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpu_tui.core.clock import Clock

POLLS_UNTIL_GONE = 2
LARGEST_BODY = 65_536
NO_TIME = {"Time": "0001-01-01T00:00:00Z", "Valid": False}
CHINA = timezone(timedelta(hours=8))


@dataclass(slots=True)
class Rental:
    """One box as its provider sees it. `status` is RUNNING, EXITED or TERMINATED; times are epoch."""

    id: str
    name: str
    api: str  # runpod | autodl
    price: float
    created_at: float
    port: int
    gpu: str
    gpus: int = 1
    status: str = "RUNNING"
    stopped_at: float | None = None
    polls_left: int = POLLS_UNTIL_GONE
    off: Callable[[], Awaitable[None]] | None = None  # closes the box, once


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer; `body` None sends none."""

    status: int
    body: Any = None
    kind: str = "application/json"


@dataclass(slots=True)
class ProviderServer:
    """Serves all rentals on 127.0.0.1 until closed. `token` is the only key it knows."""

    clock: Clock
    token: str
    rentals: dict[str, Rental] = field(default_factory=dict)
    url: str = ""
    _server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen on a free port; `url` is set then."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LARGEST_BODY)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening."""
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(30):
                reply = await self._read_and_answer(reader)
                data = b"" if reply.body is None else json.dumps(reply.body).encode()
                head = (
                    f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
                    f"Content-Type: {reply.kind}\r\nContent-Length: {len(data)}\r\n"
                    "Connection: close\r\n\r\n"
                )
                writer.write(head.encode() + data)
                await writer.drain()
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # the client went away or spoke no HTTP; the next one is served all the same
        finally:
            writer.close()

    async def _read_and_answer(self, reader: asyncio.StreamReader) -> Reply:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, *_ = [*head[0].split(" "), "", ""]
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        size = int(headers.get("content-length") or 0)
        if size > LARGEST_BODY:
            return problem(413, "body too large")
        raw = await reader.readexactly(size)
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            return problem(400, "the body is not JSON")
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        asked = body | query if isinstance(body, dict) else query
        return await self.answer(method, url.path, asked, headers.get("authorization", ""))

    async def answer(self, method: str, path: str, asked: dict[str, Any], key: str) -> Reply:
        """The answer to one request, whichever API it speaks."""
        if path.startswith("/api/v1/dev/"):
            if not hmac.compare_digest(key, self.token):
                return autodl_failure("AuthorizeFailed", "authorization failed")
            return self._autodl(method, path.removeprefix("/api/v1/dev/"), asked)
        if not hmac.compare_digest(key, f"Bearer {self.token}"):
            return problem(401, "missing or invalid API key")
        return await self._runpod(method, path.removeprefix("/v2"), asked)

    # --- RunPod REST v2 ------------------------------------------------------------------------

    async def _runpod(self, method: str, path: str, asked: dict[str, Any]) -> Reply:
        words = path.strip("/").split("/")
        if words == ["graphql"] and method == "POST":
            spend = sum(r.price for r in self._of("runpod") if r.status == "RUNNING")
            mine = {"clientBalance": 41.27, "currentSpendPerHr": spend, "spendLimit": 80}
            return Reply(200, {"data": {"myself": {**mine, "notifyLowBalance": True}}})
        if words == ["network-volumes"]:
            return Reply(200, {"networkVolumes": []})
        if words[0] != "pods":
            return problem(404, "no such route")
        if len(words) == 1:
            return Reply(200, {"pods": [pod(row) for row in self._of("runpod")]})
        rental = self.rentals.get(words[1])
        if rental is None or rental.api != "runpod":
            return problem(404, "pod not found")
        if words[2:] == ["action"] and method == "POST":
            return await self._act(rental, str(asked.get("action")))
        if method == "DELETE":
            return await self._act(rental, "terminate")
        if method != "GET":
            return problem(405, "method not allowed")
        if rental.status == "TERMINATED":
            rental.polls_left -= 1
            if rental.polls_left < 0:
                del self.rentals[rental.id]
                return problem(404, "pod not found")
        return Reply(200, pod(rental))

    async def _act(self, rental: Rental, action: str) -> Reply:
        if action not in actions(rental):
            return problem(409, f"{action} is not allowed while the pod is {rental.status}")
        if action == "terminate":
            rental.status = "TERMINATED"
        else:
            rental.status = "RUNNING" if action in ("start", "restart") else "EXITED"
        if rental.status == "RUNNING":
            return Reply(200, pod(rental))
        rental.stopped_at = self.clock.now()
        if rental.off:
            off, rental.off = rental.off, None
            await off()
        return Reply(204) if action == "terminate" else Reply(200, pod(rental))

    # --- AutoDL Pro ----------------------------------------------------------------------------

    def _autodl(self, method: str, path: str, asked: dict[str, Any]) -> Reply:
        if (method, path) == ("POST", "instance/pro/list"):
            rows = [autodl_row(row) for row in self._of("autodl")]
            size = max(1, int(asked.get("page_size") or 10))
            page = max(1, int(asked.get("page_index") or 1))
            shown = rows[(page - 1) * size : page * size]
            pages = -(-len(rows) // size)
            return autodl_success(
                {"list": shown, "page_index": page, "page_size": size, "max_page": pages,
                 "offset": (page - 1) * size, "result_total": len(rows)}
            )  # fmt: skip
        if (method, path) == ("POST", "wallet/balance"):
            return autodl_success({"assets": 123_000, "blocked_asset": 0, "voucher_balance": 0})
        rental = self.rentals.get(str(asked.get("instance_uuid")))
        if rental is None or rental.api != "autodl":
            return autodl_failure("InstanceNotFound", "instance does not exist")
        if (method, path) == ("GET", "instance/pro/status"):
            return autodl_success("running" if rental.status == "RUNNING" else "shutdown")
        if (method, path) == ("GET", "instance/pro/snapshot"):
            return autodl_success({"payg_price": round(rental.price * 1000)})
        if (method, path) == ("POST", "instance/pro/release"):
            if rental.status == "RUNNING":
                return autodl_failure("InstanceStatusError", "power the instance off first")
            del self.rentals[rental.id]
            return autodl_success(None)
        return autodl_failure("NotSupported", f"{method} {path} is not part of the demo")

    def _of(self, api: str) -> list[Rental]:
        return [rental for rental in self.rentals.values() if rental.api == api]


def actions(rental: Rental) -> list[str]:
    """What RunPod would allow now."""
    return {
        "RUNNING": ["stop", "restart", "terminate"],
        "EXITED": ["terminate"],  # the card was rented out meanwhile: no start is on offer
    }.get(rental.status, [])


def pod(rental: Rental) -> dict[str, Any]:
    """A rental as RunPod's Pod object."""
    started = datetime.fromtimestamp(rental.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    running = rental.status == "RUNNING"
    direct = {"host": "127.0.0.1", "port": rental.port, "username": "root"}
    return {
        "id": rental.id,
        "name": rental.name,
        "image": "runpod/pytorch:2.8.0-py3.11-cuda12.8",
        "disk": 50,
        "status": rental.status,
        "actions": actions(rental),
        "mounts": {"persistent": {"size": 40, "path": "/workspace"}},
        "gpu": {"id": rental.gpu, "count": rental.gpus},
        "cloud": "SECURE",
        "dataCenterId": "EU-RO-1",
        "ssh": {"proxy": None, "direct": direct if running else None},
        "cost": rental.price if running else 0.0,
        "locked": False,
        "createdAt": started,
        "startedAt": started,
    }


def autodl_row(rental: Rental) -> dict[str, Any]:
    """A rental as a row of AutoDL's Pro list."""
    created = datetime.fromtimestamp(rental.created_at, CHINA).isoformat(timespec="seconds")
    stopped = NO_TIME
    if rental.stopped_at is not None:
        at = datetime.fromtimestamp(rental.stopped_at, CHINA).isoformat(timespec="seconds")
        stopped = {"Time": at, "Valid": True}
    status = "running" if rental.status == "RUNNING" else "shutdown"
    return {
        "created_at": created,
        "uuid": rental.id,
        "name": rental.name,
        "region_name": "西北B区",
        "status": status,
        "sub_status": "",
        "start_mode": "gpu",
        "charge_type": "payg",
        "req_gpu_amount": rental.gpus,
        "gpu_spec_uuid": rental.gpu,
        "started_at": {"Time": created, "Valid": True},
        "stopped_at": stopped,
        "expired_at": NO_TIME,
        "timed_shutdown_at": NO_TIME,
    }


def autodl_success(data: Any) -> Reply:
    """AutoDL's envelope of a success."""
    return Reply(200, {"code": "Success", "msg": "", "data": data, "request_id": "demo"})


def autodl_failure(code: str, text: str) -> Reply:
    """AutoDL's envelope of a failure: HTTP 200 all the same."""
    return Reply(200, {"code": code, "msg": text, "data": None, "request_id": "demo"})


def problem(status: int, detail: str) -> Reply:
    """RunPod's RFC 9457 error."""
    body = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, "errors": []}
    return Reply(status, body, "application/problem+json")
