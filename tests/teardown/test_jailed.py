"""The child that reads checkpoints, from outside: what it is asked for, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
from pathlib import Path

import pytest

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.teardown.jailed import Limits, Reader, reader
from gpu_tui.teardown.verify_worker import Request, _kind, answer

START = FileVerdict("best.pth", "0" * 64, "failed")
QUICK = Limits(seconds=0.25, start=0.25)


def child(tmp_path: Path, body: str) -> str:
    """A stand-in for python: it runs `body` for each request that it reads."""
    program = tmp_path / "python"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, signal, subprocess, sys, time\n"
        f"HERE = {str(tmp_path)!r}\n"
        f"for line in sys.stdin:\n    request = json.loads(line)\n    {body}\n"
    )
    program.chmod(0o755)
    return str(program)


def says(**answer: object) -> str:
    return f"print({json.dumps({'load': 'ok', **answer})!r}, flush=True)"


async def pids(tmp_path: Path) -> list[int]:
    """The child's and its own child's, as soon as it says them."""
    said = await asyncio.to_thread((tmp_path / "pids").read_text)
    return [int(pid) for pid in said.split()]


def ended(pid: int, seconds: float = 60.0) -> bool:
    """Whether the process ends within that time: a signal that was sent has not ended it yet."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


LEAVES = (
    "open(HERE + '/pids', 'w').write(f'{os.getpid()} {subprocess.Popen([\"sleep\", \"600\"]).pid}')"
)


async def test_it_is_told_the_file_the_time_the_memory_and_the_names(tmp_path: Path) -> None:
    keeps = "open(HERE + '/asked', 'w').write(line)\n    " + says()
    names = frozenset({"b.B", "a.A"})
    limits = Limits(seconds=8.0, seconds_per_gib=4.0, memory=100)
    async with reader(child(tmp_path, keeps), limits, names) as one:
        verdict = await one.load(START, Path("/r/best.pth"), 1 << 29)
    assert verdict.load == "ok"
    assert json.loads((tmp_path / "asked").read_text()) == {
        "path": "/r/best.pth",
        "memory": 100 + (2 << 29),
        "seconds": 10.0,
        "allow": ["a.A", "b.B"],
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(3)", "killed the reader (exit 3)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed the reader (signal 11)"),
        # more than the pipe and our buffer hold: what is left in them must not be waited for
        ("print('x' * 1_000_000, flush=True)", "killed the reader (signal 9)"),
        ("print('no', flush=True)", "gave no answer"),
        (says(load="perfect"), "gave no answer"),
    ],
)
async def test_a_child_that_does_not_answer_as_agreed_verifies_nothing(
    tmp_path: Path, body: str, said: str
) -> None:
    before = len(os.listdir("/dev/fd"))
    async with reader(child(tmp_path, body), Limits()) as one:
        verdict = await one.load(START, Path("/r/best.pth"), 1)
    assert verdict.load == "failed"
    assert said in verdict.detail
    assert len(os.listdir("/dev/fd")) <= before + 1  # the loop's own for its children, made once


async def test_a_child_that_hangs_is_given_up_and_the_next_file_has_a_new_one(
    tmp_path: Path,
) -> None:
    body = f"time.sleep(600) if 'hangs' in line else {says()}"
    async with reader(child(tmp_path, body), QUICK) as one:
        verdict = await one.load(START, Path("/r/hangs"), 1)
        assert (verdict.load, verdict.detail) == ("failed", "loading took longer than 0 s")
        one._limits = Limits()
        assert (await one.load(START, Path("/r/good"), 1)).load == "ok"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
async def test_a_child_that_is_not_needed_any_more_ends_by_itself(tmp_path: Path) -> None:
    """At the end of its input, so that it may tidy up; it is not killed then."""
    body = says() + "\nopen(HERE + '/tidy', 'w').close()"
    async with reader(child(tmp_path, body), Limits()) as one:
        await one.load(START, Path("/r/best.pth"), 1)
        assert one._child is not None
        process = one._child
    assert process.returncode == 0
    assert (tmp_path / "tidy").exists()
    assert one._child is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("before", ["pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
async def test_a_load_that_is_cancelled_leaves_nothing_of_the_child(
    tmp_path: Path, before: str
) -> None:
    os.mkfifo(tmp_path / "pids")

    async def load() -> None:
        async with reader(child(tmp_path, f"{before}; {LEAVES}; time.sleep(600)"), Limits()) as one:
            await one.load(START, Path("/r/best.pth"), 1)

    task = asyncio.create_task(load())
    started = await pids(tmp_path)
    assert len(started) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [pid for pid in started if not ended(pid)] == []


async def test_one_that_was_never_asked_has_nothing_to_end() -> None:
    before = len(os.listdir("/dev/fd"))
    one = Reader("python-that-is-not-there", Limits(), frozenset())
    assert await one.end() is None
    await one.close()
    async with reader("python-that-is-not-there", Limits()):
        pass
    assert len(os.listdir("/dev/fd")) == before


NEEDED = {"PATH", "PYTHONPATH", "HOME", "LANG", "OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE"}
CANARIES = {
    "RUNPOD_API_KEY": "canary-key",
    "AWS_SECRET_ACCESS_KEY": "canary-secret",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    "PYTHONSTARTUP": "/tmp/evil.py",
    "https_proxy": "http://user:canary@proxy",
}


def _environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
async def test_the_reader_inherits_only_the_environment_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It reads hostile files: what it was never given it cannot give away."""
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "metrics.json"
    path.write_text('{"psnr": 31.4}')
    async with reader(sys.executable, Limits()) as child:
        verdict = await child.load(FileVerdict("metrics.json", "0" * 64, "failed"), path, 14)
        assert verdict.load == "ok"
        assert child._child is not None
        words = _environment(child._child.pid)
    found = dict(word.split("=", 1) for word in words.decode().split("\0") if word)
    assert set(found) <= NEEDED
    assert "canary" not in words.decode()


@pytest.mark.parametrize("name", ["best.pth", "metrics.json", "w.safetensors", "a.npy", "h.h5"])
def test_a_link_is_no_file_that_is_read(tmp_path: Path, name: str) -> None:
    """It was a file when it was hashed: whatever it leads to now was not."""
    (tmp_path / "elsewhere").write_text('{"psnr": 31.4}')
    (tmp_path / name).symlink_to("elsewhere")
    for kind in ("json", "torch", "pickle"):
        found = answer(Request(str(tmp_path / name), 1 << 40, 60.0), kind)
        assert found["load"] == "failed"
        assert found["detail"].startswith("cannot be read here")
    assert _kind(Request(str(tmp_path / name), 1 << 40, 60.0)) == "data"
