"""What the cockpit loads until it watches every box: what few people need comes when they need it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

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
