"""`check` of a real `while read` loop in the middle of its list: no list that `check` can read names the cells."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import yaml
from test_check_real_box import check, gpu_tui, write_fleet

# The box shows this machine's own processes: these names differ from those of the same test in another run.
FIRST, SECOND, THIRD = (f"lr{n}_{os.getpid()}" for n in (1, 2, 3))
TRAINER = """
import sys, time
for epoch in range(1, 4):
    print(f"Epoch {epoch}/3 - loss: {3 / epoch:.4f}", flush=True)
    if sys.argv[1] != "1e-1" and epoch == 2:
        open(__file__ + ".began", "w").close()
        time.sleep(600)
"""
LOOP = """
while read -r name flag lr; do
    echo "START $name" >> {home}/q.log
    {python} {home}/train.py $lr > {home}/$name.log 2>&1 < /dev/null
    echo "END $name exit=$?" >> {home}/q.log
done < {home}/q.txt
"""


async def test_a_loop_has_no_known_total(box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    home = box.home
    rows = zip((FIRST, SECOND, THIRD), ("1e-1", "1e-2", "1e-3"), strict=True)
    (home / "q.txt").write_text("".join(f"{name} --lr {lr}\n" for name, lr in rows))
    (home / "train.py").write_text(TRAINER)
    (home / "run.sh").write_text(LOOP.format(home=home, python=sys.executable))
    os.mkfifo(home / "train.py.began")
    loop = await asyncio.create_subprocess_exec(
        "bash", str(home / "run.sh"), stdin=asyncio.subprocess.DEVNULL, start_new_session=True
    )
    fleet = write_fleet(tmp_path, box)
    named = yaml.safe_load(fleet.read_text())
    row = named["instances"][0]
    for key in ("logs", "results", "queue"):
        del row[key]
    fleet.write_text(yaml.safe_dump(named))
    unreadable = tmp_path / "named.yaml"
    row["queue"] = {"file": str(home / "q.txt"), "log": str(home / "q.log")}
    unreadable.write_text(yaml.safe_dump(named))
    try:
        await asyncio.to_thread(
            (home / "train.py.began").read_bytes
        )  # it is at the second of three
        for file in (fleet, unreadable):
            _, seen = await check(file, tmp_path / file.stem)
            queue = seen["instances"][0]["queue"]  # type: ignore[index]
            (cell,) = [one for one in queue["cells"] if one["name"] == SECOND]
            assert (cell["state"], cell["epoch"], cell["epochs"]) == ("running", 2, 3), queue
            assert (queue["total"], queue["more"]) == (None, True)
            assert queue["why"] == {"total": "no list names what begins next"}
        (found,) = [
            one
            for one in seen["instances"][0]["findings"]
            if one["kind"] == "missing_cell"  # type: ignore[index]
        ]
        assert "is no task: CONFIG TASK" in found["evidence"]
        assert "gpu-tui help runners" in found["remedy"]
        _, out, _ = await gpu_tui("check", "--fleet", str(fleet), state=tmp_path / "fleet")
        (line,) = [row for row in out.decode().split("\n") if row.startswith("  queue: ")]
        assert " · more unknown, at " in line
        assert "ended" not in line
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        await loop.wait()
