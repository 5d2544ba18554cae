"""The cockpit on a real terminal tells what happened while nobody looked; cron's check does not tell it again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from receiver import receiver
from terminal_of import on_a_terminal
from test_check_real_box import gpu_tui, write_fleet

from gpu_tui.alerts.ledger import Ledger, Post

BEGUN = (
    f"=== Queue q: 2 ablations, starting from 1 on lab ===\n{'=' * 64}\n"
    "[2026-11-08 10:00:00] [1/2] STARTING watched_one (t, 2ep)\n[2026-11-08 10:30:00] [1/2] FINISHED watched_one (exit=0)\n"
)


@pytest.mark.parametrize("named", ["the variable is set", "only cron has the variable"])
async def test_a_cell_that_finished_meanwhile_reaches_the_terminal_and_the_receiver_once(  # type: ignore[no-untyped-def]
    named: str, box, tmp_path: Path, monkeypatch
) -> None:
    for name in ("logs", "durable/watched_one"):
        (box.home / name).mkdir(parents=True)
    (box.home / "queue.txt").write_text("watched_one.yaml t 2\nwatched_two.yaml t 2\n")
    (box.home / "logs/master.log").write_text(BEGUN)
    (box.home / "durable/watched_one/best.pth").write_bytes(b"x")
    fleet, state = write_fleet(tmp_path, box), tmp_path / "gpu-tui"
    state.mkdir(mode=0o700)
    ledger = Ledger(state / "history.sqlite")  # somebody looked before: nothing had finished then
    places = frozenset({"lab-1", ""})
    posts = [Post("screen"), Post("webhook")]
    ledger.sift(posts, "lab", (), places, frozenset({"lab-1"}), now=1.0, since=1.0)
    ledger.close()
    with receiver() as made:
        config = tmp_path / "config.yaml"
        config.write_text(
            json.dumps({"alerts": {"webhook": {"url_env": "MY_HOOK"}, "desktop": "osc9"}})
        )
        environment = {
            **{name: value for name, value in os.environ.items() if name not in ("TMUX", "STY")},
            "GPU_TUI_CONFIG": str(config), "XDG_STATE_HOME": str(tmp_path),
            "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30",
        }  # fmt: skip
        if "only cron" not in named:
            environment["MY_HOOK"] = made.url
        argv = [sys.executable, "-m", "gpu_tui", "--fleet", str(fleet)]
        data = await asyncio.to_thread(on_a_terminal, argv, environment, b"]9;gpu-tui: lab-1")
        assert b"\x1b]9;gpu-tui: lab-1" in data
        monkeypatch.setenv("GPU_TUI_CONFIG", str(config))
        if "only cron" in named:
            assert not made.got
            code, out, _ = await gpu_tui("check", "--fleet", str(fleet), state=tmp_path)
            assert code == 1
            assert b"$MY_HOOK, which alerts.webhook.url_env names, is not set" in out
        else:
            await asyncio.to_thread(made.arrived.wait, 30)
        monkeypatch.setenv("MY_HOOK", made.url)
        for _ in range(2):
            _, out, _ = await gpu_tui("check", "--alert", "--fleet", str(fleet), state=tmp_path)
        assert b"MY_HOOK" not in out
        told = [item for _, body in made.got for item in json.loads(body)["items"]]
    kinds = [item["kind"] for item in told]
    assert (kinds.count("cell_finished"), kinds.count("crashed")) == (1, 1)
    assert "first_look" not in kinds
