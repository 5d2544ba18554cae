"""`gpu-tui sweep` against a real sshd whose box runs a real queue: text, JSON, CSV and Markdown."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sweep import Sweep
from test_check_real_box import gpu_tui, write_fleet


@pytest.fixture
def sweep(box) -> Iterator[Sweep]:  # type: ignore[no-untyped-def]
    made = Sweep(box.home, ("baseline", "nan_lr", "later"))
    made.start()
    yield made
    made.kill()


async def test_every_form_tells_the_same_cells(box, sweep: Sweep, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert await asyncio.to_thread(sweep.wait_ready) == "nan_lr"
    dead = {
        "name": "dead", "host": "ssh://root@127.0.0.1:9", "platform": "generic-ssh",
        "queue": {"file": "/q.txt", "log": "/q.log"},
    }  # fmt: skip
    fleet = write_fleet(tmp_path, box, dead)
    table, notes = tmp_path / "cells.csv", tmp_path / "cells.md"
    code, out, err = await gpu_tui(
        "sweep", "--fleet", str(fleet), "--json", "--csv", str(table), "--markdown", str(notes),
        "--sort", "cell", "--reverse", state=tmp_path,
    )  # fmt: skip
    assert code == 0, err.decode()
    seen = json.loads(out)
    names = [row["name"] for row in seen["rows"]]
    assert names == ["nan_lr", "later", "baseline"]
    assert [row["cell"] for row in csv.DictReader(io.StringIO(table.read_text()))] == names
    assert [line.split("|")[2].strip() for line in notes.read_text().splitlines()[2:]] == names

    counts = seen["cells"]
    assert (counts["total"], counts["finished"], counts["running"], counts["pending"]) == (
        3,
        1,
        1,
        1,
    )
    assert counts["complete"] is False  # nobody knows what the other box was to run
    assert [queue["trust"] for queue in seen["queues"]] == ["live", "not read yet"]
    assert "dead" in seen["cannot_tell"]
    assert seen["ends_at"] is None
    (money,) = seen["money"]
    assert (money["currency"], money["spent"]["estimate"]) == ("USD", None)
    assert seen["unpriced"] == ["dead"]
    assert seen["rows"][0]["loss"] is None

    code, out, err = await gpu_tui(
        "sweep", "--fleet", str(fleet), "--csv", str(table), state=tmp_path
    )
    assert code == 2
    assert b"is there already" in err
    assert b"--force" in err

    code, out, _ = await gpu_tui("sweep", "--fleet", str(fleet), state=tmp_path)
    text = out.decode()
    assert code == 0
    assert "1/3+ done" in text
    assert "its queue was not read yet" in text
    assert "\x1b" not in text


async def test_no_box_that_answers_is_exit_2(
    tmp_path: Path,
) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "sweep: x\ninstances:\n  - {name: dead, host: 'ssh://root@127.0.0.1:9', platform: generic-ssh,"
        " queue: {file: /q.txt}}\n"
    )
    code, out, _ = await gpu_tui(
        "sweep", "--fleet", str(fleet), "--json", "--limit", "3", state=tmp_path
    )
    assert code == 2
    assert json.loads(out)["rows"] == []
