"""A loopback server that answers as RunPod's REST v2 does, with its moods."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from http_wire import HttpServer, Reply, Request

POD: dict[str, Any] = {
    "id": "7h9k2m4n6p",
    "name": "sweep-a",
    "image": "runpod/pytorch:2.4",
    "env": {"WANDB_API_KEY": "canary-secret"},
    "status": "RUNNING",
    "actions": ["stop", "restart", "terminate"],
    "cloud": "SECURE",
    "dataCenterId": "US-KS-2",
    "cost": 0.44,
    "startedAt": "2026-11-20T12:02:00Z",
}


@dataclass
class RunPodServer(HttpServer):
    """One pod. The moods are set by a test before it calls.

    `delete_status`/`stop_status`: the answer to that call; 2xx also has its effect, after
    `polls_until_done` more reads; of another one it has it after `late` reads. `hang`: the call has its effect, its answer never comes.
    `get`: answers (status, body) to give to the next reads instead of the truth.
    """

    key: str = "test-key"
    pod: dict[str, Any] | None = field(default_factory=lambda: dict(POD))
    delete_status: int = 204
    stop_status: int = 200
    polls_until_done: int = 0
    hang: bool = False
    late: int | None = None
    get: list[tuple[int, bytes]] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    _pending: str | None = None

    @property
    def calls(self) -> list[str]:
        """The requests that would change something."""
        return [f"{method} {path}" for method, path, _, _ in self.requests if method != "GET"]

    def reply(self, request: Request) -> Reply:
        """The pod as it is, or as its mood has it."""
        method, path, headers, body = request.method, request.target, request.headers, request.body
        self.requests.append((method, path, headers, body))
        status, answer = self._answer(method, path, headers, body)
        away = {"Location": "http://127.0.0.1:1/"} if status == 302 else {}
        return Reply(status, answer, away)

    def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int | None, bytes]:
        if headers.get("authorization") != f"Bearer {self.key}":
            return 401, _problem("Unauthorized")
        if method == "GET":
            return self._get(path)
        if self.pod is None or self.pod["id"] not in path:
            return 404, _problem("Not Found")
        status = self.delete_status if method == "DELETE" else self.stop_status
        if method == "POST" and json.loads(body) != {"action": "stop"}:
            return 409, _problem("Conflict")
        if status >= 300 and self.late is not None:
            self.polls_until_done, self._pending = self.late, "gone"
        if status >= 300 and not self.hang:
            return status, _problem("pod is locked\x1b[2J")
        self._pending = "gone" if method == "DELETE" else "EXITED"
        if not self.polls_until_done:
            self._settle()
        if self.hang:
            return None, b""
        return status, b"" if status == 204 else json.dumps(self.pod).encode()

    def _get(self, path: str) -> tuple[int, bytes]:
        if self.get:
            return self.get.pop(0)
        if self._pending:
            self.polls_until_done -= 1
            if self.polls_until_done < 0:
                self._settle()
        if path.partition("?")[0] == "/v2/pods":
            return 200, json.dumps({"pods": [self.pod] if self.pod else []}).encode()
        if self.pod is None or path != f"/v2/pods/{self.pod['id']}":
            return 404, _problem("Not Found")
        return 200, json.dumps(self.pod).encode()

    def _settle(self) -> None:
        if self._pending == "gone":
            self.pod = None
        elif self.pod is not None:
            self.pod = {**self.pod, "status": "EXITED", "cost": 0.0}
        self._pending = None


def _problem(title: str) -> bytes:
    return json.dumps({"title": title, "status": 0, "detail": title, "errors": []}).encode()
