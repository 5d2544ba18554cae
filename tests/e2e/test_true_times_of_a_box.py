"""The time of a death last night on a real box, by the date of the log and by an earlier look."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import yaml
from test_check_real_box import gpu_tui, write_fleet

from gpu_tui.core.clock import rfc3339
from gpu_tui.wiring.clock import SystemClock

HOURS = 7 * 3_600.0


async def test_the_age_of_a_death_is_that_of_its_log_and_survives_a_restart(  # type: ignore[no-untyped-def]
    box, tmp_path: Path
) -> None:
    fleet = write_fleet(tmp_path, box)
    told = yaml.safe_load(fleet.read_text())
    del told["instances"][0]["queue"]
    fleet.write_text(yaml.safe_dump(told))
    logs = box.home / "logs"
    logs.mkdir()
    log = logs / "night.log"
    log.write_text(
        "epoch 1/20 loss 0.5\nTraceback (most recent call last):\n"
        '  File "t.py", line 3, in <module>\ntorch.OutOfMemoryError: CUDA out of memory.\n'
    )
    died = float(int(SystemClock().now() - HOURS))
    os.utime(log, (died, died))
    for _ in range(2):
        _, out, err = await gpu_tui("check", "--json", "--fleet", str(fleet), state=tmp_path)
        (lab,) = json.loads(out)["instances"]
        (one,) = (one for one in lab["findings"] if one["kind"] == "gpu_oom")
        # A clock's skew is known to a second.
        near = {rfc3339(died + seconds) for seconds in (-2, -1, 0, 1, 2)}
        assert {one["first_seen"], one["last_seen"]} <= near, (one, err)
        assert (one["first_seen_basis"], one["last_seen_basis"]) == ("log-date", "log-date")
    _, out, _ = await gpu_tui("check", "--fleet", str(fleet), state=tmp_path)
    line = next(line for line in out.decode().splitlines() if "gpu oom" in line)
    assert f"≤{datetime.fromtimestamp(died, UTC):%H:%M:}" in line, line
