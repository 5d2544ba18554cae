"""Real HTTP on loopback for one test: a platform's server is a subclass that answers requests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from http_wire import HttpServer, Reply, Request


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Said:
    """One answer. `body` None sends none; `status` None never answers, 0 hangs up."""

    status: int | None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class LocalApi(HttpServer):
    """A platform's server. `next` holds answers that are given before the truth; `requests` is what came."""

    def __init__(self, key: str = "test-key") -> None:
        self.key = key
        self.requests: list[Asked] = []
        self.next: list[Said] = []

    def answer(self, asked: Asked) -> Said:
        """What this platform says."""
        raise NotImplementedError

    def lines(self, *methods: str) -> list[str]:
        """The requests with one of these methods, as METHOD PATH."""
        return [one.line for one in self.requests if one.method in methods]

    def reply(self, request: Request) -> Reply:
        """The next answer that a test laid ready, else the truth."""
        url = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = json.loads(request.body) if request.body else None
        asked = Asked(request.method, url.path, query, request.headers, body)
        self.requests.append(asked)
        said = self.next.pop(0) if self.next else self.answer(asked)
        return Reply(
            said.status, b"" if said.body is None else json.dumps(said.body).encode(), said.headers
        )
