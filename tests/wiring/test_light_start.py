"""The modules that the cockpit loads before its first frame, and until it watches every box."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench.pty_harness import Program

from gpu_tui.wiring.process import begin_loading, end_loading

COCKPIT = ("ui.app", "wiring.cockpit", "wiring.fleet", "wiring.alerts", "ui.screens.teardown")
LATER = {
    "torch", "numpy", "h5py", "plotext",  # charts and checkpoints
    "httpx", "urllib.request", "http.client", "email",  # platforms with an API, and webhooks
    "importlib.metadata", "zipfile",  # what a teardown verifies with
    "pygments", "markdown_it", "multiprocessing", "gpu_tui.demo", "gpu_tui.recording.player",
}  # fmt: skip

if find_spec("OpenSSL") is None:
    LATER |= {"cryptography.x509"}  # without that asyncssh reads no certificates of this kind


def test_the_cockpit_loads_nothing_that_few_need() -> None:
    words = ", ".join(f"gpu_tui.{name}" for name in COCKPIT)
    begun = "from gpu_tui.cli.main import main; main(['--fleet', '/none/such'])"
    loaded = f"sorted(name for name in {LATER!r} if sys.modules.get(name))"
    code = f"import sys; {begun}; import {words}; print({loaded})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


AFTER_FIRST_FRAME = {
    "asyncssh", "pcre2", "tomllib", "gpu_tui.user_rules", "gpu_tui.parse.log_reader", "gpu_tui.parse.progress_forms",
    "gpu_tui.parse.kubectl", "gpu_tui.state.calendar", "gpu_tui.alerts", "gpu_tui.collect", "gpu_tui.teardown.runner",
    *(f"gpu_tui.ui.screens.{name}" for name in ("columns", "hits", "prompt", "replay", "themes", "timeline")),
}  # fmt: skip
# Ends the cockpit in its first frame with all panes, and writes the names of the loaded modules to a file.
END_AT_FIRST_FRAME = """
import os, sys
from pathlib import Path
from gpu_tui.cli.main import main
from gpu_tui.ui.app import CockpitApp
real = CockpitApp._display
def display(self, *args):
    real(self, *args)
    if self.painted.is_set():
        Path(sys.argv[2]).write_text(" ".join(sys.modules))
        os._exit(0)
CockpitApp._display = display
sys.exit(main(["--fleet", sys.argv[1]]))
"""


def test_the_first_frame_waits_for_no_module_that_it_does_not_need(tmp_path: Path) -> None:
    fleet, loaded = tmp_path / "fleet.yaml", tmp_path / "loaded"
    fleet.write_text("instances:\n  - {name: far, host: 'ssh://root@127.0.0.1:9'}\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "LANG": "C.UTF-8"}
    with Program(
        [sys.executable, "-c", END_AT_FIRST_FRAME, str(fleet), str(loaded)], env
    ) as program:
        assert program.process.wait(60) == 0, program.text()
    assert AFTER_FIRST_FRAME.isdisjoint(loaded.read_text().split())


@pytest.fixture
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.enable()
    gc.unfreeze()
    gc.set_threshold(*before)


def test_no_collection_goes_through_what_is_loaded(collector: None) -> None:
    gc.set_threshold(50_000)
    begin_loading()
    assert not gc.isenabled()
    loaded = [[number] for number in range(1000)]
    end_loading()
    assert gc.get_freeze_count() >= len(loaded)
    assert gc.get_threshold()[0] < 5_000
    assert gc.isenabled()


def test_a_tab_loads_no_more_than_arguments_need() -> None:
    late = {
        "asyncio",
        "asyncssh",
        "textual",
        "httpx",
        "gpu_tui.state.views",
        "gpu_tui.parse.fleet_file",
    }
    code = (
        "import sys; from completed import completed; from gpu_tui.cli.main import COMMANDS;"
        "[completed(f'{name} --') for name in COMMANDS];"
        f"print(sorted({late!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60,
        cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    assert done.stdout == "[]\n"
