"""A box of which the fleet file names nothing but the host: what runs there is found, with its log."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import yaml
from test_check_real_box import check, write_fleet

TRAINER = """
import time
for epoch in range(1, 400):
    print(f"Epoch {epoch}/400 - loss: {3 / epoch:.4f}", flush=True)
    time.sleep(0.2)
"""


async def test_a_detached_run_is_found_with_its_progress(box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    fleet = write_fleet(tmp_path, box)
    body = yaml.safe_load(fleet.read_text())
    for key in ("queue", "logs", "results"):
        del body["instances"][0][key]
    fleet.write_text(yaml.safe_dump(body))
    script = box.home / "train_vit.py"
    script.write_text(TRAINER)
    with (box.home / "vit_b16.log").open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(script), stdout=out, stderr=out, start_new_session=True
        )
    try:
        _, seen = await check(fleet, tmp_path)
    finally:
        process.kill()
        await process.wait()
    queue = seen["instances"][0]["queue"]  # type: ignore[index]
    (cell,) = [cell for cell in queue["cells"] if cell["name"] == "vit_b16"]
    assert cell["state"] == "running", json.dumps(queue)
    assert cell["epoch"] >= 1
    assert cell["epochs"] == 400
    assert cell["loss"] is not None
