"""`gpu-tui serve` in a real headless Chromium: the cockpit is seen, keys reach it, strangers do not, it ends clean."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from itertools import count
from pathlib import Path

import aiohttp
import pyte
import pytest
from ports import Port

from gpu_tui.cli.main import main

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLEET = "sweep: shown\ninstances:\n  - name: near-box\n    host: ssh://nobody@127.0.0.1:9\n"
SECONDS = 60


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


@contextmanager
def served(fleet: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and the address that it printed."""
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    state = {"XDG_STATE_HOME": str(fleet.parent / "state"), "HOME": str(fleet.parent)}
    argv = [sys.executable, "-m", "gpu_tui", "serve", "--fleet", str(fleet), "--port", str(port)]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env | state
    ) as server:
        try:
            assert server.stdout is not None
            first = server.stdout.readline()
            assert first.startswith("http://"), first + server.stdout.read()
            yield server, first.split()[0]
        finally:
            server.terminate()
            server.wait(SECONDS)


def parts(address: str) -> tuple[str, str]:
    """The origin of a printed address, and its token."""
    origin, token = address.split("/?token=")
    assert len(token) == 43  # 32 bytes
    return origin, token


def session() -> aiohttp.ClientSession:
    """A browser's: it keeps cookies of addresses, too."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


class Page:
    """One tab of a browser by its DevTools: what came through the page's websocket is kept as a screen."""

    def __init__(self, tools: aiohttp.ClientWebSocketResponse) -> None:
        self._tools = tools
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[dict[str, object]]] = {}
        self._came = asyncio.Event()
        self.asked: list[str] = []  # every address that the page fetched
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)
        self._loader = ""  # of the document that the tab shows
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._tools:
            said = json.loads(message.data)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said.get("result", {}))
                continue
            about = said["params"]
            match said["method"]:
                case "Page.frameNavigated":
                    self._loader = about["frame"]["loaderId"]
                    self._screen.reset()
                case "Network.requestWillBeSent":
                    self.asked.append(about["request"]["url"])
                case "Network.webSocketFrameSent":
                    sent = about["response"]["payloadData"]
                    if sent.startswith('["resize"'):
                        size = json.loads(sent)[1]
                        self._screen.resize(size["height"], size["width"])
                case "Network.webSocketFrameReceived":
                    body = about["response"]["payloadData"]
                    if about["response"]["opcode"] == 2:
                        self._stream.feed(base64.b64decode(body))
            self._came.set()

    async def do(self, method: str, **params: object) -> dict[str, object]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._tools.send_json({"id": number, "method": method, "params": params})
        return await answer

    async def open(self, address: str) -> None:
        """Go to this address, away from all that the screen shows."""
        loader = (await self.do("Page.navigate", url=address))["loaderId"]
        async with asyncio.timeout(SECONDS):
            while self._loader != loader:
                self._came.clear()
                await self._came.wait()

    async def shot(self) -> bytes:
        return base64.b64decode(str((await self.do("Page.captureScreenshot"))["data"]))

    async def press(self, key: str) -> None:
        await self.do("Input.dispatchKeyEvent", type="keyDown", text=key, key=key)
        await self.do("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def click(self, x: int, y: int) -> None:
        """Give the page's terminal the keyboard."""
        for what in ("mousePressed", "mouseReleased"):
            await self.do(
                "Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1
            )

    async def until(self, holds: Callable[[str], bool]) -> str:
        """The screen as soon as it is as wanted."""
        try:
            async with asyncio.timeout(SECONDS):
                while not holds(shown := "\n".join(self._screen.display)):
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError("\n".join(self._screen.display)) from None
        return shown

    async def value(self, expression: str) -> str:
        said = await self.do("Runtime.evaluate", expression=expression)
        return str(said["result"].get("value"))  # type: ignore[attr-defined]

    async def says(self, words: str) -> None:
        """Wait for a page that is text."""
        async with asyncio.timeout(SECONDS):
            while words not in await self.value("document.body && document.body.innerText"):
                pass


@asynccontextmanager
async def browser(directory: Path, address: str) -> AsyncIterator[Page]:
    """Chromium with one tab on this address."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    argv = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-dev-shm-usage", "--disable-background-networking", "--window-size=1400,900",
        f"--user-data-dir={directory}", "--remote-debugging-port=0", "about:blank",
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(SECONDS):
            while b"DevTools listening on " not in (line := await process.stderr.readline()):
                assert line, "chromium ended before it listened"
        port = line.decode().split("://", 1)[1].split("/")[0].rpartition(":")[2]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                tabs = await answer.json()
            (tab,) = [one for one in tabs if one["type"] == "page"]
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as tools:
                page = Page(tools)
                await page.do("Network.enable")
                await page.do("Page.enable")
                await page.open(address)
                yield page
    finally:
        process.kill()
        await process.wait()


def children_of(pid: int) -> list[int]:
    text = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in text.stdout.split()]


async def test_a_browser_shows_the_cockpit_keys_reach_it_and_it_ends_clean(
    fleet: Path, tmp_path: Path
) -> None:
    with served(fleet) as (server, address):
        async with browser(tmp_path / "profile", address) as page:
            words = ("near-box", "Instances", "read-only")  # a page is painted piece by piece
            await page.until(lambda text: all(word in text for word in words))
            assert "-first-byte" in await page.value("document.body.className")
            async with asyncio.timeout(SECONDS):  # what came is drawn a frame or more later
                while len(png := await page.shot()) <= 20_000:
                    pass  # nothing is drawn: an empty page of this size has 8,000
            if out := os.environ.get("GPU_TUI_SHOTS"):
                Path(out, "serve.png").write_bytes(png)  # noqa: ASYNC240
            await page.click(600, 500)
            await page.press("?")
            await page.until(lambda text: "previous pane" in text.lower())
            await page.press("q")
            await page.until(lambda text: "previous pane" not in text.lower())
            await page.press("!")  # a shell is nothing for who only watches
            await page.until(lambda text: "read-only" in text and "near-box" in text)
            assert page.asked
            origin, token = parts(address)
            assert [url for url in page.asked if not url.startswith((origin, "data:"))] == []
            assert (
                await page.value("location.href") == f"{origin}/"
            )  # nothing to read over a shoulder
            assert await page.value("document.cookie") == ""  # nor for a script
            assert not any(token in url for url in page.asked[1:])
            # Loaded again by its cookie alone; another browser, without one, is refused.
            await page.open(f"{origin}/")
            await page.until(lambda text: all(word in text for word in words))
            await page.do("Network.clearBrowserCookies")
            await page.open(f"{origin}/")
            await page.says("opens only by the whole address")
            await page.open(address)
            await page.until(lambda text: all(word in text for word in words))
            tabs = children_of(server.pid)
            assert tabs
            ends = [os.pidfd_open(pid) for pid in tabs]
            server.send_signal(signal.SIGTERM)
            assert server.wait(SECONDS) == 0
            for end in ends:  # readable once it has ended
                assert select.select([end], [], [], SECONDS)[0]
                os.close(end)


async def test_a_page_from_elsewhere_opens_no_cockpit(fleet: Path) -> None:
    with served(fleet) as (_, address):
        origin, _ = parts(address)
        url = origin.replace("http", "ws") + "/ws"
        async with session() as ours:
            async with ours.get(address) as answer:
                text = await answer.text()
            assert "http://" not in text
            assert "https://" not in text
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            for headers in ({"Origin": "http://evil.example"}, {}, {"Origin": "null"}):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await ours.ws_connect(url, headers=headers)
                assert refused.value.status == 403
            async with ours.get(address, headers={"Host": "evil.example"}) as answer:
                assert answer.status == 403
            async with ours.ws_connect(url, headers={"Origin": origin}) as tab:
                for odd in ("[", "[]", '["resize",{"width":-1,"height":1e9}]', '["stdin",5]', "{}"):
                    await tab.send_str(odd)
                await tab.send_str('["ping","x"]')
                while (message := await tab.receive(SECONDS)).type is not aiohttp.WSMsgType.TEXT:
                    assert message.type is aiohttp.WSMsgType.BINARY
                assert message.json() == ["pong", "x"]


async def test_nobody_without_the_token_of_this_start_gets_anything(fleet: Path) -> None:
    with served(fleet) as (_, address), served(fleet) as (_, another):
        origin, token = parts(address)
        other_token = parts(another)[1]
        assert token != other_token
        name = f"gpu-tui-{origin.rpartition(':')[2]}"
        wrong = ("", token[:-1], token + "x", token.swapcase(), other_token, "\ud800é")
        paths = ("/", "/page.css", "/page.js", "/static/js/textual.js", "/ws", "/nowhere", "//")
        for path in paths:
            for given in (None, *wrong):
                async with session() as stranger:
                    query = (
                        {}
                        if given is None
                        else {"token": given.encode("utf-8", "replace").decode()}
                    )
                    headers = {"Origin": origin, "Upgrade": "websocket", "Connection": "Upgrade"}
                    if given and given.isascii():
                        headers["Cookie"] = f"{name}={given}"
                    async with stranger.get(origin + path, params=query, headers=headers) as answer:
                        assert answer.status == 403, (path, given)
                        assert token not in await answer.text()
                        assert "Set-Cookie" not in answer.headers
        async with session() as ours:
            async with ours.get(address) as answer:
                assert answer.status == 200
                kept = answer.headers["Set-Cookie"]
            assert kept.startswith(f"{name}=")
            assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(kept.split("; "))
            for path in ("/", "/page.css", "/page.js", "/static/js/textual.js"):
                async with ours.get(origin + path) as answer:
                    assert answer.status == 200


async def test_a_killed_server_leaves_no_cockpit_behind(fleet: Path) -> None:
    with served(fleet) as (server, address):
        origin, token = parts(address)
        url = f"{origin.replace('http', 'ws')}/ws?token={token}"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(url, headers={"Origin": origin}) as tab,
        ):
            await tab.receive(SECONDS)
            (cockpit,) = children_of(server.pid)
            gone = os.pidfd_open(cockpit)
            server.kill()
            server.wait(SECONDS)
            ended = asyncio.Event()
            asyncio.get_running_loop().add_reader(gone, ended.set)
            async with asyncio.timeout(SECONDS):
                await ended.wait()
            asyncio.get_running_loop().remove_reader(gone)
            os.close(gone)


def test_others_are_let_in_only_by_explicit_words(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--fleet", str(fleet), "--bind", "0.0.0.0"]) == 2
    said = capsys.readouterr().err
    assert "no password" in said
    assert "--anyone-may-watch" in said
    assert "ssh -L" in said


def test_without_its_extra_it_says_what_to_install(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    from gpu_tui.cli import serve

    args = type("Args", (), {"demo": False})()
    with pytest.raises(serve.ServeRefused) as refused:
        serve.run(args)
    assert "pip install" in refused.value.next


def test_a_port_in_use_is_told_with_another(fleet: Path) -> None:
    with closing(Port()) as port:
        with served(fleet, port.number) as (_, address):
            words = ["serve", "--fleet", str(fleet), "--port", str(port.number)]
            argv = [sys.executable, "-m", "gpu_tui", *words]
            second = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS)
        assert second.returncode == 2
        assert "--port 8001" in second.stderr
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(address, timeout=SECONDS)
