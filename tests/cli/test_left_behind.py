"""Of two tests, the first of which fails with a socket open, one fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import left_behind

TWO = """
import gc, socket

class Knot:
    def __init__(self):
        self.me, self.open = self, socket.socket()

class Bad:
    def __init__(self):
        self.me = self
    def __del__(self):
        raise RuntimeError("Event loop is closed")

def test_one():
    held = Knot(), Bad()
    assert not held

def test_two():
    gc.collect()
"""


def test_a_failure_is_told_of_its_own_test_alone(tmp_path: Path) -> None:
    (tmp_path / "test_pair.py").write_text(TWO)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "left_behind",
        "-W",
        "error",
        "-p",
        "no:asyncio",
        "-ra",
        "-q",
    ]
    path = {"PYTHONPATH": str(Path(left_behind.__file__).parent)}
    done = subprocess.run(
        [*words, "--rootdir", str(tmp_path), "-p", "no:cacheprovider", "test_pair.py"],
        cwd=tmp_path,
        env={name: text for name, text in os.environ.items() if "PYTEST" not in name} | path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "FAILED test_pair.py::test_one" in done.stdout
