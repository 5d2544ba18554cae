"""Views with given findings and cells, and a receiver that fails as it is told."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, ProviderState, SshAccess
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

T0 = 1_795_000_000.0


def finding(
    kind: str,
    severity: Severity = Severity.FATAL,
    instance: str = "a",
    cell: str | None = None,
    **more: object,
) -> Finding:
    words = {"evidence": f"{kind} in the log", "remedy": "look at it", "count": 1, **more}
    return Finding(
        kind=kind, severity=severity, instance=instance, source="log:x:1",
        first_seen=T0, last_seen=T0, cell=cell, **words,
    )  # fmt: skip


def cell(
    name: str, state: CellState = CellState.FINISHED, finished_at: float | None = None
) -> Cell:
    return Cell(name, 1, "task", state, finished_at=finished_at)


def view(
    now: float = T0,
    findings: tuple[Finding, ...] = (),
    cells: tuple[Cell, ...] = (),
    names: tuple[str, ...] = ("a",),
    connecting: tuple[str, ...] = (),
) -> FleetView:
    """A fleet whose instances are off (so that everything about them is known) unless they connect."""
    fleet = Fleet("s", tuple(Instance(name, SshAccess(name)) for name in names))
    seen = Store(fleet, {}).view(now)
    instances = tuple(
        replace(
            one,
            provider=ProviderState("unknown" if one.name in connecting else "stopped"),
            link=LinkState("connecting" if one.name in connecting else "off"),
            findings=tuple(f for f in findings if f.instance == one.name),
            queue=Queue(cells if one.name == "a" else ()),
        )
        for one in seen.instances
    )
    return replace(seen, instances=instances, findings=findings)


@dataclass
class Receiver:
    """A real HTTP server on loopback; `answers` are used up in order, then 200."""

    url: str = ""
    answers: list[Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)


def answer(
    status: int, body: bytes = b"ok", **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Cut the connection with RST."""
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True
    handler.connection.close()


@contextmanager
def receiver() -> Iterator[Receiver]:
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
            made.arrived.set()
            (made.answers.pop(0) if made.answers else answer(200))(self)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *words: None  # type: ignore[method-assign]
    made.url = f"http://127.0.0.1:{server.server_port}/hooks/secret-part"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


def hang(made: Receiver) -> Callable[[BaseHTTPRequestHandler], None]:
    """Say nothing until the test is over."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        made.stop.wait()

    return act
