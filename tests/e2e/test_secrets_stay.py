"""What a box says in its logs and names is in every output of ours, and none of its secrets is."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import httpx
import pytest
from test_check_real_box import gpu_tui, write_fleet

from gpu_tui.core.redact import HIDDEN

# What the log says, and the secret in it: lines that triage finds, so that they are evidence.
LINES = [
    ("RuntimeError: CUDA error: out of memory, token={}", "tokCANARY1aB3dE5"),
    ("RuntimeError: NCCL error: Cookie: session={}", "cookieCANARY2x9"),
    ("OSError: [Errno 28] No space left on device: SSH_PASS='{}'", "passCANARY3"),
    ("torch.cuda.OutOfMemoryError: CUDA out of memory. 密码：{}", "cnCANARY4x9"),
    ("ValueError: loss is nan, replicate {} says", "r8_" + "CANARY5aB3dE5gH7jK9mN1pQ3"),
    ("RuntimeError: stuck; dsn postgres://me:{}@db/x", "dsnCANARY6"),
]
CELL = "run_hf_CANARY7aB3dE5gH7jK9mN1p"  # a name that holds one
ENV_SECRET = "provider-key-not-shaped-like-anything"
SECRETS = [*(secret for _, secret in LINES), CELL.partition("_")[2], ENV_SECRET]


@pytest.fixture
def fleet(box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # type: ignore[no-untyped-def]
    logs = box.home / "logs"
    logs.mkdir()
    (box.home / "queue.txt").write_text(f"{CELL}.yaml t 2\ntwo.yaml t 2\n")
    head = f"=== Queue q: 2 ablations, starting from 1 on lab ===\n{'=' * 64}\n"
    (logs / "master.log").write_text(
        head + f"[2026-11-08 10:00:00] [1/2] STARTING {CELL} (t, 2ep)\n"
    )
    said = [line.format(secret) for line, secret in LINES]
    said.append(f"RuntimeError: CUDA error: an illegal memory access, key {ENV_SECRET}")
    (logs / f"{CELL}.log").write_text("step 1/9 loss 0.5\n" + "\n".join(said) + "\n")
    path = write_fleet(tmp_path, box)
    text = path.read_text()
    path.write_text(
        text.replace(
            "platform: generic-ssh", "platform: generic-ssh\n  provider: {key_env: BOX_API_KEY}"
        )
    )
    monkeypatch.setenv("BOX_API_KEY", ENV_SECRET)
    monkeypatch.setenv("GPU_TUI_CONFIG", str(tmp_path / "config.yaml"))
    heard = tmp_path / "heard.jsonl"
    program = f"import sys; open({str(heard)!r}, 'a').write(sys.stdin.read())"
    (tmp_path / "config.yaml").write_text(
        json.dumps({"alerts": {"command": [sys.executable, "-c", program], "severity": "serious"}})
    )
    return path


def clean(text: str, output: str) -> None:
    for secret in SECRETS:
        assert secret not in text, (output, secret)


# The words of a command, and what stands in its output in the place of a secret.
OUTPUTS: dict[str, tuple[tuple[str, ...], str]] = {
    "text": (("check",), HIDDEN),
    "json": (("check", "--json"), f"run_{HIDDEN}"),
    "prometheus": (("check", "--format", "prometheus"), "gpu_tui_findings{"),
    "sweep": (("sweep",), "run_"),
    "sweep json": (("sweep", "--json"), f"run_{HIDDEN}"),
    "sweep csv": (("sweep", "--csv", "-"), f"run_{HIDDEN}"),
    "sweep markdown": (("sweep", "--markdown", "-"), f"run_{HIDDEN}"),
    "clocks": (("clocks", "--json", "--all"), "clocks"),
    "calendar": (("clocks", "--ics", "-"), "BEGIN:VCALENDAR"),
    "report": (("report",), HIDDEN),
    "doctor": (("doctor", "--json"), "items"),
    "bundle": (("doctor", "--bundle", "--out", "-"), "support bundle"),
    "no terminal": ((), HIDDEN),
}


@pytest.mark.parametrize("output", OUTPUTS)
async def test_no_output_of_a_command_holds_a_secret(
    fleet: Path, tmp_path: Path, output: str
) -> None:
    words, instead = OUTPUTS[output]
    _, out, err = await gpu_tui(*words, "--fleet", str(fleet), state=tmp_path)
    text = (out + err).decode()
    clean(text, output)
    assert instead in text.replace("\\", "")  # Markdown is escaped
    if output == "json":
        (box,) = json.loads(out)["instances"]
        assert any(HIDDEN in found["evidence"] for found in box["findings"])


async def test_no_alert_holds_a_secret(fleet: Path, tmp_path: Path) -> None:
    await gpu_tui("check", "--alert", "--fleet", str(fleet), state=tmp_path)
    alerts = (tmp_path / "heard.jsonl").read_text()
    assert "lab-1" in alerts
    clean(alerts, "alert")


async def test_no_file_of_a_report_holds_a_secret(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    await gpu_tui("report", "--out", str(out), "--fleet", str(fleet), state=tmp_path)
    files = list(out.iterdir())
    assert len(files) == 2
    for path in files:
        text = path.read_text()
        assert "lab-1" in text
        clean(text, path.name)
        clean("".join(re.findall(r">([^<]*)</text>", text)), path.name)


async def test_no_label_of_the_exporter_holds_a_secret(fleet: Path, tmp_path: Path) -> None:
    argv = (
        sys.executable,
        "-m",
        "gpu_tui",
        "exporter",
        "--listen",
        "127.0.0.1:0",
        "--fleet",
        str(fleet),
    )
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    )
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        address = re.search(r"http://\S+", line)
        assert address is not None, line
        async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
            text = ""
            while "gpu_tui_findings{" not in text:  # as soon as the box was looked at
                text = (await client.get(address[0])).text
        clean(text, "exporter")
    finally:
        process.terminate()
        await process.wait()
