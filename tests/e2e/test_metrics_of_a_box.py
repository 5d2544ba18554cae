"""Metrics of a real box: scraped from a running exporter, and written for a textfile collector."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families
from test_check_real_box import gpu_tui, write_fleet


def samples(text: str) -> dict[str, float]:
    """The values of the only instance, by name."""
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_a_scrape_and_a_textfile_tell_the_same_of_a_box(box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (box.home / "queue.txt").write_text("one.yaml task 2\ntwo.yaml task 2\n")
    fleet = write_fleet(tmp_path, box)
    out = tmp_path / "box.prom"
    words = ("check", "--format", "prometheus", "--out", str(out), "--fleet", str(fleet))
    code, said, _ = await gpu_tui(*words, state=tmp_path)
    assert code in (0, 1)
    assert said == b""
    written = samples(out.read_text())
    assert written["gpu_tui_instance_up"] == 1
    assert written["gpu_tui_cost_per_hour"] == 2.5
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".box.prom")]

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gpu_tui", "exporter", "--listen", "127.0.0.1:0", "--fleet", str(fleet)),
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().split()[-1]
        async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
            scraped: dict[str, float] = {}
            while "gpu_tui_mount_size_bytes" not in scraped:
                scraped = samples((await client.get(address)).text)
        assert scraped["gpu_tui_instance_up"] == 1
        assert scraped["gpu_tui_mount_size_bytes"] == written["gpu_tui_mount_size_bytes"]
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
