"""A closed stream, a full disk, a reader that left, a pipe, an encoding without our signs: told, or of no matter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def shell(line: str, tmp_path: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run `line` with `gpu-tui` in $G."""
    env = {**BUFFERED, "HOME": str(tmp_path), "G": f"{sys.executable} -m gpu_tui", **more}
    return subprocess.run(
        ["sh", "-c", line], env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "words", ["--version", "completion bash", "help clocks", "profiles --json", "check --json"]
)
def test_a_full_disk_is_no_success_and_no_traceback(words: str, tmp_path: Path) -> None:
    done = shell(f"$G {words} > /dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpu-tui: ")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("words", ["--version", "help clocks", "profiles --json"])
def test_a_reader_that_left_is_no_news(words: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    # The reader opens and leaves at once; only then is there anything to read.
    done = shell(f": < pipe & {{ wait; $G {words}; }} > pipe", tmp_path)
    assert (done.returncode, done.stderr) == (141, b"")  # 2 is "nothing could be read"


def test_a_closed_stream_is_nobodys_bug(tmp_path: Path) -> None:
    assert shell("$G journal >&-", tmp_path).returncode == 0
    assert shell("$G help fleet >&-", tmp_path).returncode == 0
    done = shell("$G triage <&-", tmp_path)
    assert (done.returncode, done.stdout) == (0, b"0 lines: nothing to see\n")
    done = shell("$G nonsense 2>&-", tmp_path)
    assert done.returncode == 64
    done = shell("$G <&-", tmp_path)  # no terminal, and no fleet file
    assert done.returncode == 2
    assert b"there is no fleet file" in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gb18030", "utf-8"])
def test_a_sign_that_the_locale_lacks_stops_nothing(encoding: str, tmp_path: Path) -> None:
    done = shell("$G profiles show autodl --today 2026-11-21", tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "AutoDL" in done.stdout.decode(encoding)
    done = shell("$G profiles --json", tmp_path, PYTHONIOENCODING=encoding)
    assert {row["profile"] for row in json.loads(done.stdout.decode(encoding))} >= {"autodl"}


def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    """On a real file system a name is bytes."""
    (tmp_path / os.fsdecode(b"odd-\xff")).mkdir()
    where = tmp_path / os.fsdecode(b"odd-\xff")
    (where / "x.md").write_text("no profile")
    done = shell("$G profiles check --dir odd-*", tmp_path)
    assert done.returncode == 1
    assert b"odd-?/x.md" in done.stdout


def test_settings_out_of_a_pipe_are_read_once_and_kept(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("instances: [{name: a, host: 127.0.0.1}]\n")
    script = "language: zh\nalerts: {command: [sh, -c, 'echo told >> told']}\n"
    (tmp_path / "mine").write_text(script)
    done = shell("cat mine | $G check --test-alert --config /dev/stdin", tmp_path, LANG="C.UTF-8")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "command: 已送达\n"
    assert (tmp_path / "told").read_text() == "told\n"
