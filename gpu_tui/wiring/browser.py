"""The cockpit in a browser: a small web server, and one cockpit process for each tab.

textual-serve brings the page's terminal and the pipe to a process. This module decides who is answered:
only requests with this start's token, from the address that was printed and then from a cookie; no page of
another site may open the websocket (Origin), no name that points here may either (Host), and the page may
fetch nothing from anywhere else (Content-Security-Policy).
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import shlex
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from gpu_tui.core.loopback import is_loopback

HTTP = 80
TABS = 8  # cockpits at once: each is a process with its own connections to every box
SIZE = (8, 4, 500, 200)  # smallest and largest columns and rows that a page may ask for
TYPED = 65_536  # characters of one message from a page
PATIENCE = 5.0  # seconds for a cockpit to end by itself
PAGE = "gpu_tui.browser"
TOKEN_BYTES = 32
STATIC = Path(textual_serve.__file__).parent / "static"
# What makes the child draw as for a terminal that can do everything: the page's can.
LOOK = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
UNWANTED = ("NO_COLOR", "TMUX", "STY", "SSH_TTY", "GPU_TUI_PAINT")


class PortTaken(Exception):
    """The server cannot listen where it should."""

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"cannot listen on {host} port {port}: {why}")
        self.next = "Name another one: gpu-tui serve --port 8001"


def run_server(
    command: Sequence[str],
    host: str,
    port: int,
    started: Callable[[str], None],
    environment: Mapping[str, str],
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; `started` is told the address. Raises PortTaken."""
    for name in UNWANTED:
        os.environ.pop(name, None)
    os.environ.update({**LOOK, **environment})  # textual-serve hands this process's own on
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise PortTaken(host, port, error.strerror or str(error)) from None
    asyncio.run(_serve(Tabs(command), listening, host, started))


async def _serve(
    tabs: Tabs, listening: socket.socket, host: str, started: Callable[[str], None]
) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, told.set)
    port = listening.getsockname()[1]
    # No access log: its lines would hold the token.
    runner = web.AppRunner(tabs.application(host, port), shutdown_timeout=PATIENCE, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        shown = f"[{host}]" if ":" in host else host
        started(f"http://{shown}:{port}/?token={tabs.token}")
        await told.wait()
    finally:
        await tabs.close()
        await runner.cleanup()


class Tabs:
    """The open tabs, each with its cockpit."""

    def __init__(self, command: Sequence[str]) -> None:
        # No shell stays between the server and a cockpit.
        self._command = f"exec {shlex.join(command)}"
        self._open: set[web.WebSocketResponse] = set()
        self._names: frozenset[str] | None = None
        self._cookie = "gpu-tui"
        self.token = secrets.token_urlsafe(TOKEN_BYTES)

    def application(self, host: str, port: int) -> web.Application:
        """What answers. On loopback only requests for loopback are answered, whatever name led here."""
        if is_loopback(host):
            names = ("127.0.0.1", "localhost", "[::1]", host)
            whole = (f"{name}:{port}" for name in names)
            # A browser leaves out the port that http has anyway.
            self._names = frozenset((*whole, *names) if port == HTTP else whole)
        self._cookie = (
            f"gpu-tui-{port}"  # a browser keeps one set of cookies for all ports of a host
        )
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/page.css", self._style),
                web.get("/page.js", self._script),
                web.get("/ws", self._tab),
                web.static("/static", STATIC),
            ]
        )
        return app

    async def close(self) -> None:
        """End every tab's cockpit."""
        for tab in list(self._open):
            with suppress(ConnectionError):
                await tab.close(code=WSCloseCode.GOING_AWAY)

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], object]
    ) -> web.StreamResponse:
        if self._names is not None and request.host not in self._names:
            raise web.HTTPForbidden(text="gpu-tui answers only by the address that it printed")
        by_address = self._is_token(request.query.get("token"))
        if not by_address and not self._is_token(request.cookies.get(self._cookie)):
            raise web.HTTPForbidden(text="gpu-tui opens only by the whole address that it printed")
        answer = await handler(request)  # type: ignore[misc]
        assert isinstance(answer, web.StreamResponse)
        if by_address and not answer.prepared:
            answer.set_cookie(self._cookie, self.token, httponly=True, samesite="Strict")
        return answer

    def _is_token(self, given: str | None) -> bool:
        """Compares in constant time."""
        return given is not None and hmac.compare_digest(
            given.encode("utf-8", "replace"), self.token.encode()
        )

    async def _page(self, request: web.Request) -> web.Response:
        asked = request.query.get("fontsize", "")
        size = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 3 else 16
        text = _file("page.html").replace("@FONT_SIZE@", str(max(6, min(40, size))))
        socket_url = f"ws://{request.host}/ws"
        return web.Response(
            text=text.replace("@WEBSOCKET@", socket_url.replace('"', "")),
            content_type="text/html",
            headers={
                "Content-Security-Policy": "default-src 'none'; script-src 'self'; font-src 'self'; "
                f"style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src {socket_url}; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                "Referrer-Policy": "no-referrer",
                "Cache-Control": "no-store",
            },
        )

    async def _style(self, request: web.Request) -> web.Response:
        return web.Response(text=_file("page.css"), content_type="text/css")

    async def _script(self, request: web.Request) -> web.Response:
        return web.Response(text=_file("page.js"), content_type="text/javascript")

    async def _tab(self, request: web.Request) -> web.StreamResponse:
        """One tab: a cockpit for as long as its page is open."""
        if request.headers.get("Origin") != f"http://{request.host}":
            raise web.HTTPForbidden(text="only the page of this server may open a cockpit")
        if len(self._open) >= TABS:
            raise web.HTTPServiceUnavailable(text=f"{TABS} tabs are open, and more are not served")
        page = web.WebSocketResponse(heartbeat=15, max_msg_size=4 * TYPED)
        self._open.add(page)
        try:
            await page.prepare(request)

            async def closed() -> None:
                await page.close()

            service = TabProcess(
                self._command,
                write_bytes=page.send_bytes,
                write_str=page.send_str,
                close=closed,
                download_manager=DownloadManager(),
            )
            width, height = _size(request.query.get("width"), request.query.get("height"))
            await service.start(width, height)
            try:
                await _talk(page, service)
            finally:
                await service.end()
        finally:
            self._open.discard(page)
        return page


class TabProcess(AppService):
    """The cockpit's process for one tab."""

    async def end(self) -> None:
        """Ask it to end, and kill it where it does not."""
        process = self._process
        if process is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self.stop()  # swallows the cancellation by the timeout, hence the second one
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _talk(page: web.WebSocketResponse, service: TabProcess) -> None:
    """Hand on what the page says, as far as it is what a page says."""
    async for message in page:
        if message.type is not WSMsgType.TEXT:
            continue
        try:
            said = message.json()
        except ValueError:
            continue
        match said:
            case ["stdin", str(typed)] if len(typed) <= TYPED:
                await service.send_bytes(typed.encode("utf-8", "replace"))
            case ["resize", {"width": width, "height": height}]:
                await service.set_terminal_size(*_size(width, height))
            case ["ping", str(data)]:
                await page.send_json(["pong", data[:100]])
            case ["blur", *_]:
                await service.blur()
            case ["focus", *_]:
                await service.focus()
            case _:
                pass


def _size(width: object, height: object) -> tuple[int, int]:
    least_columns, least_rows, columns, rows = SIZE

    def held(value: object, least: int, most: int, usual: int) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
            value = int(value)
        return max(least, min(most, value)) if type(value) is int else usual

    return held(width, least_columns, columns, 80), held(height, least_rows, rows, 24)


def _file(name: str) -> str:
    return resources.files(PAGE).joinpath(name).read_text("utf-8")
