"""Modules that a command does not load. It pays for their import with every run, and cron runs `check` each minute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ports import Port

SCREEN = ("gpu_tui.ui", "gpu_tui.demo", "textual", "plotext")
READERS = ("torch", "numpy", "h5py", "msgpack")  # of checkpoints
NETWORK = ("asyncio", "asyncssh", "httpx", "socket", "ssl")
FLEET = (
    "gpu_tui.collect",
    "gpu_tui.providers",
    "gpu_tui.transport",
    "gpu_tui.wiring",
    "sqlite3",
    "yaml",
)
# What a check of boxes without a scheduler, a key or a channel of alerts does not need.
OTHERS = (
    "gpu_tui.alerts", "gpu_tui.browser", "gpu_tui.collect.kubernetes", "gpu_tui.collect.log_range",
    "gpu_tui.collect.probe_slurm", "gpu_tui.core.evidence", "gpu_tui.core.gate", "gpu_tui.parse.kube_pod",
    "gpu_tui.parse.pueue", "gpu_tui.parse.slurm", "gpu_tui.parse.spooler", "gpu_tui.providers.kubernetes",
    "gpu_tui.providers.rented", "gpu_tui.providers.slurm", "gpu_tui.providers.vastai", "gpu_tui.recording",
    "gpu_tui.state.prometheus", "gpu_tui.teardown.climb", "gpu_tui.teardown.gather", "gpu_tui.transport.openssh",
    "gpu_tui.transport.record", "httpx",
)  # fmt: skip
FLEET_FILE = """\
instances:
  - {{name: box, host: "ssh://me@127.0.0.1:{port}", ssh: {{config: {config}}}}}
"""
UNUSED: dict[str, tuple[str, ...]] = {
    "--version": (*SCREEN, *READERS, *NETWORK, *FLEET, "gpu_tui.state"),
    "--help": ("gpu_tui.ui", "textual", *READERS, "asyncssh", "httpx"),
    "completion bash": (*SCREEN, *READERS, *NETWORK, *FLEET, "gpu_tui.state"),
    "triage LOG": (*SCREEN, *READERS, *NETWORK, *FLEET, "gpu_tui.state.store"),
    "check --fleet FLEET --limit 20": (*SCREEN, *READERS, *OTHERS),
}


@pytest.mark.parametrize("words", UNUSED)
def test_a_command_does_not_load_what_it_does_not_use(words: str, tmp_path: Path) -> None:
    port = Port()
    log, fleet, config = (tmp_path / name for name in ("log", "fleet.yaml", "ssh_config"))
    config.touch()
    log.write_text("step 1 loss 0.5\n")
    fleet.write_text(FLEET_FILE.format(port=port.number, config=config))
    argv = [{"LOG": str(log), "FLEET": str(fleet)}.get(word, word) for word in words.split()]
    code = (
        "import sys; from gpu_tui.cli.main import main; main(sys.argv[1:]);"
        "print('loaded:', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    port.close()
    loaded = done.stdout.rpartition("loaded: ")[2].split()
    assert "gpu_tui.cli.main" in loaded
    unused = UNUSED[words]
    assert [
        name for name in loaded if f"{name}.".startswith(tuple(f"{one}." for one in unused))
    ] == []
    if words.startswith("check"):
        assert "asyncssh" in loaded  # it went as far as the connection
        assert "refuses the connection" in done.stdout
