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
    "_hashlib", "_ssl",  # the libraries of OpenSSL: asyncssh has one of its own
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


def test_what_was_left_out_of_openssl_is_taken_in_for_much_data() -> None:
    code = (
        "from gpu_tui import openssl; openssl.leave_out(); import hashlib;"
        "of_python = hashlib.sha256(b'x'); large = openssl.large_sha256(); large.update(b'x');"
        "print(of_python.hexdigest() == large.hexdigest(), type(of_python), type(large))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    same, of_python, large = done.stdout.split(" <")
    assert same == "True"
    assert "_hashlib" not in of_python
    assert "_hashlib" in large
