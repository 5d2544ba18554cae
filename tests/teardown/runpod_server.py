"""A loopback server that answers as RunPod's REST v2 does, with its moods."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

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
REASONS = {200: "OK", 204: "No Content", 302: "Found"}


@dataclass
class RunPodServer:
    """One pod. The moods are set by a test before it calls.

    `delete_status`/`stop_status`: the answer to that call; 2xx also has its effect, after
    `polls_until_done` more reads. `hang`: the call has its effect, its answer never comes.
    `get`: answers (status, body) to give to the next reads instead of the truth.
    """

    key: str = "test-key"
    pod: dict[str, Any] | None = field(default_factory=lambda: dict(POD))
    delete_status: int = 204
    stop_status: int = 200
    polls_until_done: int = 0
    hang: bool = False
    get: list[tuple[int, bytes]] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0
    _pending: str | None = None
    _server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def calls(self) -> list[str]:
        """The requests that would change something."""
        return [f"{method} {path}" for method, path, _, _ in self.requests if method != "GET"]

    async def __aenter__(self) -> RunPodServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ", 2)
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.requests.append((method, path, headers, body))
            status, answer = self._answer(method, path, headers, body)
            if status is None:
                await reader.read()  # until the client gives up
                return
            extra = "Location: http://127.0.0.1:1/\r\n" if status == 302 else ""
            writer.write(
                f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\n{extra}"
                f"Content-Type: application/json\r\nContent-Length: {len(answer)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + answer
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

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
