"""`gpu-tui triage` as a shell runs it: bytes in, lines or JSON out, exit 1 for an alarm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = [
    sys.executable,
    "-c",
    "import sys; from gpu_tui.cli.main import main; sys.exit(main())",
    "triage",
]
# So that what stands in one chunk is read to its end before the first word of it goes out.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def triage(raw: bytes, *flags: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*RUN, *flags], input=raw, capture_output=True, timeout=60, check=False)


def test_one_json_object_for_each_line_in_order() -> None:
    raw = b"hello\n\nEpoch 3/20 step 120/5000 loss 0.41\r\n{'loss': nan, 'acc': inf, 'epoch': 0.5}\n\xff\x1b]0;x\x07over"
    done = triage(raw, "--json", "-")
    rows = [
        json.loads(line, parse_constant=lambda word: pytest.fail(word))
        for line in done.stdout.splitlines()
    ]
    assert [row["n"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["kind"] for row in rows] == [None, None, None, "nan", None]
    assert rows[0] == {"n": 1, "kind": None, "severity": "none", "alarm": False, "progress": None}
    assert rows[2]["progress"]["epoch"] == 3
    assert rows[2]["progress"]["epochs"] == 20
    assert rows[2]["progress"]["step"] == 120
    assert rows[2]["progress"]["steps"] == 5000
    assert rows[2]["progress"]["loss"] == 0.41
    assert rows[2]["progress"]["eta_seconds"] is None
    assert rows[3]["alarm"] is True
    assert (rows[3]["progress"]["loss"], rows[3]["progress"]["loss_text"]) == (None, "nan")
    assert rows[3]["progress"]["metrics_text"] == {"acc": "inf"}
    assert rows[3]["progress"]["epoch"] == 0.5
    assert done.returncode == 1


def test_quiet_input_exits_0() -> None:
    done = triage(b"INFO all good\n")
    assert done.returncode == 0
    assert done.stdout.decode() == "1 line: nothing to see\n"


def test_people_see_what_matters_and_no_escape(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(
        b"fine\n\x1b]52;c;eA==\x07\x1b[31mCUDA error: out of memory\x1b[0m\n" + b"Epoch 1/2\n"
    )
    done = triage(b"", str(log))
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout
    assert done.stdout.decode().splitlines() == [
        "2: fatal gpu_oom: CUDA error: out of memory",
        "3 lines: 1 gpu_oom (fatal)",
    ]


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    done = triage(b"", str(tmp_path / "no.log"))
    assert done.returncode == 2
    assert b"cannot read" in done.stderr
    assert b"Traceback" not in done.stderr


def test_output_follows_input() -> None:
    with subprocess.Popen(
        [*RUN, "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Killed\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["kind"] == "killed"  # while the pipe is open
        process.stdin.close()
        assert process.wait(timeout=60) == 1


def test_a_reader_that_leaves_is_no_traceback() -> None:
    command = (
        f"yes 'loss=nan' | head -20000 | {sys.executable} -c \"{RUN[2]}\" triage --json - | head -1"
    )
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert json.loads(done.stdout)["n"] == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_as_powershell_writes_it_is_read(name: str) -> None:
    """Its `>` writes UTF-16 with a mark before it: every line was quiet, and the exit code said so."""
    mark = "" if name == "utf-16" else "\ufeff"
    raw = f"{mark}epoch 1\r\nRuntimeError: CUDA out of memory 损\r\n".encode(name)
    done = triage(raw * 1, "-")
    assert done.stdout.decode().startswith(
        "2: fatal gpu_oom: RuntimeError: CUDA out of memory 损\n"
    )
    assert done.returncode == 1


def test_what_comes_again_but_for_its_numbers_is_counted() -> None:
    said = b"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to "
    overflow = b"".join(said + b"%.6g\n" % 2.0**-n for n in range(9))
    done = triage(b"loss=nan step 1\nok\nloss=nan step 2\nloss=nan step 3\nKilled\n" + overflow)
    assert done.stdout.decode().splitlines() == [
        "1: serious nan: loss=nan step 1",
        "3-4: 2 more like it",
        "5: fatal killed: Killed",
        f"6: warn overflow: {said.decode()}1",
        "7-14: 8 more like it",
        "14 lines: 1 killed (fatal), 3 nan (serious), 9 overflow (warn)",
    ]


def test_who_leaves_a_pipe_that_stays_open_is_told_what_was_held_back() -> None:
    command, pipe = [*RUN, "-"], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=BUFFERED) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"loss=nan step 1\nloss=nan step 2\nloss=nan step 3\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"1: serious nan: loss=nan step 1\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"2-3: 2 more like it\n"


def test_what_no_line_says_alone_is_said_at_the_end() -> None:
    falls = [2.0 * 0.99**n for n in range(300)]
    log = "".join(f"step {n}/900 loss {loss:.4f}\n" for n, loss in enumerate([*falls, *[9.0] * 60]))
    done = triage(log.encode())
    assert done.stdout.decode().startswith("360 lines: the loss rose to 9 from a median of ")
    assert done.returncode == 0  # of lines it speaks, and no line of these is an alarm
