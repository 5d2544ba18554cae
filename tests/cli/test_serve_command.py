"""`gpu-tui serve` without a browser: what a tab's cockpit is started with, and by which names it answers."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from gpu_tui.cli.main import main
from gpu_tui.core.speech import Catalogue, speak
from gpu_tui.wiring import browser

FLEET = "instances:\n  - name: near-box\n    host: ssh://nobody@127.0.0.1:9\n"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of a tab's cockpit, once `main(["serve"])` was asked in a directory with a fleet file."""
    words: list[str] = []

    def keep(command: Sequence[str], *_: object) -> None:
        words.extend(command)

    monkeypatch.setattr(browser, "run_server", keep)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return words


def test_a_module_of_the_project_is_not_taken_for_one_of_python(
    served: list[str], tmp_path: Path
) -> None:
    assert main(["serve"]) == 0
    (tmp_path / "signal.py").write_text("raise SystemExit('mine')\n")
    done = subprocess.run(
        [*served, "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_tab_speaks_as_its_server_does(
    served: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The locale of a tab is made for its page."""
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    try:
        assert main(["serve"]) == 0
    finally:
        speak(Catalogue())
    assert served[served.index("--language") + 1] == "zh"


@pytest.mark.parametrize(
    ("port", "host", "status"),
    [
        (80, "localhost", 200),
        (80, "127.0.0.1:80", 200),
        (80, "elsewhere.example", 403),
        (8000, "localhost", 403),
        (8000, "localhost:8000", 200),
    ],
)
async def test_a_browser_leaves_out_the_usual_port(port: int, host: str, status: int) -> None:
    tabs = browser.Tabs(["true"])
    application = tabs.application("127.0.0.1", port)
    async with (
        TestClient(TestServer(application)) as client,
        client.get(f"/?token={tabs.token}", headers={"Host": host}) as answer,
    ):
        assert answer.status == status


async def test_a_cockpit_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "PATIENCE", 0.05)

    async def drop(*_: object) -> None: ...

    stuck = browser.TabProcess(
        "exec sleep 600",
        write_bytes=drop, write_str=drop, close=drop, download_manager=browser.DownloadManager(),
    )  # fmt: skip
    await stuck.start(80, 24)
    await stuck.end()
    assert stuck._process is not None
    assert stuck._process.returncode == -signal.SIGKILL
