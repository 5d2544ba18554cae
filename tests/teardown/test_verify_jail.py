"""What the reader of hostile files has given up, tried from inside by code that wants it back."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.teardown import jailed

INSIDE = """
import os, resource, socket, sys
from gpu_tui.teardown.reader import jail
cut = jail.enter()
def tried(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return "done"
def connect():
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
def write():
    with open(sys.argv[2], "w") as file:
        file.write("x")
        file.flush()
def allocate():
    jail.limit_memory(1 << 24)
    bytearray(1 << 28)
def open_many():
    kept = [open("/dev/null") for _ in range(100)]
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
print(cut, tried(connect), tried(write), tried(open_many), tried(allocate),
    status["NoNewPrivs"].strip(), open("/proc/self/oom_score_adj").read().strip(),
    resource.getrlimit(resource.RLIMIT_CORE)[0])
"""


@pytest.fixture
def listener() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def _inside(listener: socket.socket, target: Path) -> list[str]:
    port = str(listener.getsockname()[1])
    words = [sys.executable, "-c", INSIDE, port, str(target)]
    # A write beyond the limit is an error, as in any Python, and not a signal.
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="the jail is Linux's")
def test_nothing_leaves_the_jail(listener: socket.socket, tmp_path: Path) -> None:
    target = tmp_path / "written"
    cut, connected, wrote, opened, allocated, *rest = _inside(listener, target)
    assert (connected == "done") is (cut == "False")  # it knows whether the network is cut
    assert wrote == "OSError"
    assert target.read_bytes() == b""
    assert (opened, allocated) == ("OSError", "MemoryError")
    assert rest == ["1", "1000", "0"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may always do so")
def test_root_reads_without_a_network(listener: socket.socket, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("x")
    os.chown(theirs, 65534, 65534)
    theirs.chmod(0o600)
    assert _inside(listener, tmp_path / "x")[:2] == ["True", "OSError"]
    program = (
        "import os, sys; from gpu_tui.teardown.reader import jail; jail.enter()\n"
        "print(open(sys.argv[1]).read())\n"
        "try: os.chown(sys.argv[1], 0, 0)\n"
        "except PermissionError: print('no power')"
    )
    words = [sys.executable, "-c", program, str(theirs)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["x", "no", "power"]


FORKED = """
import os, signal, sys, time
from gpu_tui.teardown.verify_worker import Request, _in_a_fork
from gpu_tui.teardown import verify_worker
def dies(*_):
    {body}
verify_worker.answer = dies
verify_worker.jail.enter()
print(_in_a_fork(Request("x", 1 << 30, {seconds}), "torch")["detail"])
"""


@pytest.mark.parametrize(
    ("body", "seconds", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", 60, f"signal {int(signal.SIGSEGV)}"),
        ("os.abort()", 60, f"signal {int(signal.SIGABRT)}"),
        ("os._exit(3)", 60, "exit 3"),
        ("signal.pause()", 0.3, "longer than 0 s"),
        ("raise MemoryError", 60, "killed the reader (exit 0)"),
        ("return {'load': 'x' * 100000}", 60, "killed the reader"),
    ],
)
def test_a_file_that_gets_hold_of_its_reader_ends_only_that(
    body: str, seconds: float, said: str
) -> None:
    program = FORKED.format(body=body, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said in done.stdout, done
    assert done.returncode == 0


async def test_the_reader_inherits_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key to steal, and no switch that turns torch's protection off or loads code into the child."""
    said = tmp_path / "environment.json"
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"open({str(said)!r}, 'w').write(json.dumps(dict(os.environ)))\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])\n"
    )
    python.chmod(0o700)
    for name in ("RUNPOD_API_KEY", "AWS_SECRET_ACCESS_KEY", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        monkeypatch.setenv(name, "1")
    for name in ("HDF5_PLUGIN_PATH", "PYTHONSTARTUP", "PYTHONHASHSEED", "SSH_AUTH_SOCK", "XDG_X"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "run.json"
    file.write_text('{"a": 1}')
    async with jailed.reader(str(python), jailed.Limits()) as child:
        verdict = await child.load(FileVerdict("run.json", "0" * 64, "skipped"), file, 8)
    assert verdict.load == "ok"
    assert json.loads(said.read_text()) == {
        "PATH": os.defpath,
        "PYTHONPATH": jailed.PACKAGE,  # where the child's own program is
        "HOME": str(tmp_path),  # packages that were installed for this user alone
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
