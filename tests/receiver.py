"""A real HTTP receiver on loopback that fails as it is told."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """A real HTTP server on loopback; `answers` are used up in order, then 200."""

    url: str = ""
    answers: list[Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
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
            made.paths.append(self.path)
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
