"""`check` as cron runs it: baselines first, exit codes, and alerts through a real command and receiver."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_check_real_box import gpu_tui, write_fleet

from gpu_tui.state.history import SqliteHistory


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], object]:
    made = tmp_path / "config.yaml"
    monkeypatch.setenv("GPU_TUI_CONFIG", str(made))
    return made.write_text


async def test_two_patrols_of_a_box_alert_once(
    box, tmp_path: Path, configure: Callable[[str], object]
) -> None:  # type: ignore[no-untyped-def]
    logs = box.home / "logs"
    logs.mkdir()
    (box.home / "queue.txt").write_text("patrolled_one.yaml t 2\npatrolled_two.yaml t 2\n")
    master = logs / "master.log"
    head = f"=== Queue q: 2 ablations, starting from 1 on lab ===\n{'=' * 64}\n"
    begun = head + "[2026-11-08 10:00:00] [1/2] STARTING patrolled_one (t, 2ep)\n"
    master.write_text(begun)
    heard = tmp_path / "heard.jsonl"
    program = f"import sys; open({str(heard)!r}, 'a').write(sys.stdin.read())"
    configure(
        json.dumps({"alerts": {"command": [sys.executable, "-c", program], "severity": "serious"}})
    )
    fleet = write_fleet(tmp_path, box)
    words = ("check", "--alert", "--fleet", str(fleet))

    code, out, err = await gpu_tui(*words, state=tmp_path)
    assert (code, err) == (1, b""), out.decode()  # its cell has no process
    assert b"first check: a baseline" in out
    first = [json.loads(line) for line in heard.read_text().splitlines()]
    assert [one["kind"] for one in first] == ["first_look"]

    master.write_text(begun + "[2026-11-08 10:30:00] [1/2] FINISHED patrolled_one (exit=0)\n")
    checkpoint = box.home / "durable" / "patrolled_one" / "best.pth"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"x")
    for _ in range(2):
        code, out, err = await gpu_tui(*words, state=tmp_path)
    assert b"nothing changed" in out
    told = [json.loads(line) for line in heard.read_text().splitlines()][len(first) :]
    kinds = [item["kind"] for one in told for item in one["items"]]
    assert kinds.count("cell_finished") == 1


async def test_without_a_way_out_an_alert_is_an_error_that_says_so(
    tmp_path: Path, configure: Callable[[str], object]
) -> None:
    configure("theme: night\n")
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "instances: [{name: dead, host: 'ssh://root@127.0.0.1:9', platform: generic-ssh}]\n"
    )
    code, out, err = await gpu_tui("check", "--alert", "--fleet", str(fleet), state=tmp_path)
    assert code == 2
    assert b"settings name none" in err
    configure("alerts: {webhook: {url_env: NO_SUCH_VARIABLE}}\n")
    code, out, err = await gpu_tui(
        "check", "--alert", "--json", "--fleet", str(fleet), state=tmp_path
    )
    assert b"$NO_SUCH_VARIABLE" in err
    assert "NO_SUCH_VARIABLE" in json.loads(out)["error"]["text"]
    assert code == 2


async def test_a_patrol_beside_another_program_that_writes(tmp_path: Path) -> None:
    """The cockpit holds the history open and writes while cron's check runs."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "instances: [{name: dead, host: 'ssh://root@127.0.0.1:9', platform: generic-ssh}]\n"
    )
    (tmp_path / "gpu-tui").mkdir(mode=0o700)
    with SqliteHistory(tmp_path / "gpu-tui" / "history.sqlite") as history:
        history.set_anchor("dead", "first_seen", 1.0, "manual")
        code, out, err = await gpu_tui("check", "--json", "--fleet", str(fleet), state=tmp_path)
        assert history.anchor("dead", "first_seen") == (1.0, "manual")
    assert (code, err) == (1, b"")
    (dead,) = json.loads(out)["instances"]
    assert (dead["verdict"], dead["since_last"]) == ("unreachable", None)


async def test_a_test_message_tries_every_way_out(
    tmp_path: Path, configure: Callable[[str], object]
) -> None:
    heard = tmp_path / "heard"
    configure(json.dumps({"alerts": {"command": ["sh", "-c", f"cat > {heard}"]}}))
    code, out, err = await gpu_tui("check", "--test-alert", state=tmp_path)
    assert (code, out) == (0, b"command: it arrived\n")
    assert json.loads(heard.read_text())["kind"] == "test"
    configure(
        json.dumps(
            {"alerts": {"command": ["false"], "webhook": {"url": "http://127.0.0.1:9/secret"}}}
        )
    )
    code, out, err = await gpu_tui("check", "--test-alert", "--json", state=tmp_path)
    assert code == 1
    assert [(one["way"], one["error"].partition(" (")[0]) for one in json.loads(out)["ways"]] == [
        ("command", "false failed"),
        ("webhook", "the webhook at 127.0.0.1 cannot be reached"),
    ]
    assert b"secret" not in out + err
