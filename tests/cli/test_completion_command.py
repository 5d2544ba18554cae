"""Completion in the real shells: they offer what the program takes, and the names of this fleet file."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from completed import completed

from gpu_tui.cli.completion import SHELLS
from gpu_tui.cli.main import COMMANDS, main, parser_of
from gpu_tui.resources import profile_files

FLEET = (
    "sweep: s\ninstances:\n"
    "  - {name: alpha-1, host: ssh://a@127.0.0.1}\n"
    "  - {name: beta, host: ssh://b@127.0.0.1}\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a fleet file, and a home with two ssh aliases."""
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host gpu-one\n  HostName 192.0.2.1\nHost gpu-two\n")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/gpu-tui"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gpu_tui "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_and_each_of_its_flags_is_offered() -> None:
    assert set(completed("")) == set(COMMANDS)
    for name in COMMANDS:
        flags = set(re.findall(r"^  (--[a-z-]+)", parser_of(name).format_help(), re.MULTILINE))
        assert flags | {"--help"} == set(completed(f"{name} --")), name


def test_names_come_from_where_they_are_kept(place: Path) -> None:
    assert completed("pull ") == ["alpha-1", "beta"]
    assert completed("pull be") == ["beta"]
    assert completed("clocks mark ") == ["alpha-1", "beta"]
    (place / "other.yaml").write_text(FLEET.replace("beta", "gamma"))
    assert completed("pull --fleet other.yaml g") == ["gamma"]
    assert completed("pull --fleet=other.yaml g") == ["gamma"]
    assert completed("--fleet other.yaml pull g") == ["gamma"]
    assert completed("clocks --fleet other.yaml mark g") == ["gamma"]
    assert set(completed("--platform ")) >= set(profile_files())
    assert completed("watch gpu-") == ["gpu-one", "gpu-two"]
    assert "night" in completed("demo --theme ")
    assert completed("profiles show aut") == ["autodl"]
    assert completed("completion ") == sorted(SHELLS)
    assert completed("help runn") == ["runners"]
    assert completed("replay ot") == ["other.yaml"]
    assert completed("--fleet ot") == ["other.yaml"]
    assert completed("triage x.log ") == []
    assert "--theme" not in completed("demo --theme night --")


def test_a_broken_fleet_file_offers_nothing(place: Path) -> None:
    (place / "fleet.yaml").write_text("instances: {")
    assert completed("pull ") == []


# Names that a shell would split, expand or run. A fleet file may hold any of them until it is validated.
HOSTILE = ("x y", "x$(touch ran)", "x`touch ran`", "x;touch ran", "x'\"q", "x*", "x\\z", "x:1")
FORGED = "x\n\x0b\t\x1b[31mtouch ran"


@pytest.fixture
def hostile(place: Path) -> Path:
    rows = [{"name": name, "host": "h"} for name in (*HOSTILE, FORGED)]
    (place / "fleet.yaml").write_text(json.dumps({"instances": rows}))
    return place


def test_names_with_control_characters_are_not_offered(hostile: Path) -> None:
    assert len(completed("pull ")) == len(HOSTILE)


BASH = """
eval "$(gpu-tui completion bash)"
ask() {
    COMP_LINE="gpu-tui $1" COMP_POINT=$((8 + ${#1})) COMPREPLY=()
    _python_argcomplete_gpu-tui gpu-tui
    printf '%s\n' "${COMPREPLY[@]}"
}
"""


def bash(script: str) -> list[str]:
    done = subprocess.run(["bash", "-c", BASH + script], capture_output=True, text=True)
    assert done.stderr == ""
    return [row.rstrip() for row in done.stdout.splitlines()]


def test_bash_completes(place: Path) -> None:
    rows = bash("""complete -p gpu-tui
        ask pu; ask 'pull '; ask 'demo --the'; ask 'demo --theme am'; ask 'pull --fleet fle'
        ask 'demo --layout=lo'; ask 'pull --fleet=fle'""")
    assert rows == [
        "complete -o nospace -F _python_argcomplete_gpu-tui gpu-tui",
        *("pull", "alpha-1", "beta", "--theme", "amber", "fleet.yaml", "log-first", "fleet.yaml"),
    ]


def test_a_name_stays_one_word_of_bash(hostile: Path) -> None:
    rows = bash("ask 'pull x'")
    words = bash(f"printf '%s\\n' {' '.join(rows)}")
    assert words == list(HOSTILE)
    assert not (hostile / "ran").exists()


def fish(*lines: str) -> list[list[str]]:
    """The completions of each line."""
    script = "gpu-tui completion fish | source; " + "; echo ==; ".join(
        f"complete -C '{line}'" for line in lines
    )
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return [part.splitlines() for part in done.stdout.split("==\n")]


needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


@needs_fish
def test_fish_completes(place: Path) -> None:
    parts = fish(
        "gpu-tui pu",
        "gpu-tui pull ",
        "gpu-tui --theme am",
        "gpu-tui pull --fleet fle",
        "gpu-tui demo --layout=lo",
        "gpu-tui pull --fleet=fle",
    )
    assert parts[0] == [f"pull\t{COMMANDS['pull']}"]
    assert [[row.strip() for row in rows] for rows in parts[1:]] == [
        ["alpha-1", "beta"],
        ["amber"],
        ["fleet.yaml"],
        ["--layout=log-first"],
        ["--fleet=fleet.yaml"],
    ]


@needs_fish
def test_a_name_stays_one_word_of_fish(hostile: Path) -> None:
    (rows,) = fish("gpu-tui pull x")  # fish itself escapes what it inserts
    assert sorted(row.strip() for row in rows) == sorted(HOSTILE)
    assert not (hostile / "ran").exists()


class Zsh:
    """An interactive zsh that has been told of gpu-tui."""

    def __init__(self, place: Path) -> None:
        (place / ".zshrc").write_text(
            "PS1='ready> '; unsetopt beep; autoload -Uz compinit; compinit -u -D\n"
            'eval "$(gpu-tui completion zsh)"\n'
        )
        self._master, slave = pty.openpty()
        self._shell = subprocess.Popen(
            ["zsh", "-i"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "ZDOTDIR": str(place), "TERM": "xterm"},
        )  # fmt: skip
        os.close(slave)
        self._until("ready> ")

    def shows(self, typed: str, wanted: str) -> str:
        """Type on an empty line; the output from there to `wanted`, a pattern."""
        ends = time.monotonic() + 60
        os.write(self._master, f"\x15{typed}".encode())
        # What is typed while zsh prepares its first line may be dropped, unseen.
        while not select.select([self._master], [], [], 5)[0] and time.monotonic() < ends:
            os.write(self._master, f"\x15{typed}".encode())
        return self._until(wanted)

    def _until(self, wanted: str) -> str:
        said, ends = "", time.monotonic() + 60
        while not re.search(wanted, said):
            assert time.monotonic() < ends, said
            if select.select([self._master], [], [], 1)[0]:
                said += os.read(self._master, 65_536).decode("utf-8", "replace")
        return said

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._master)


needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")


@needs_zsh
def test_zsh_completes_at_its_prompt(place: Path) -> None:
    with closing(Zsh(place)) as zsh:
        zsh.shows("gpu-tui pull al\t", "alpha-1")
        listed = zsh.shows("gpu-tui pull \t", r"alpha-1[\s\S]*beta")
        assert not re.search(r"(alpha-1)\s+\1", listed), "a name that says nothing more stands once"
        zsh.shows("gpu-tui prof\t", "profiles")
        zsh.shows("gpu-tui pull --fleet fle\t", r"fleet\.yaml")
        zsh.shows("gpu-tui pull --fleet=fle\t", r"--fleet=fleet\.yaml")
        zsh.shows("gpu-tui demo --layout=lo\t", r"--layout=log-first")
        assert "None" not in zsh.shows("gpu-tui demo --layout=\t", "vitals-first")


@needs_zsh
def test_a_tilde_still_names_the_home_after_zsh_completed(place: Path) -> None:
    (place / "logs").mkdir()
    with closing(Zsh(place)) as zsh:
        for typed, path in (("--fleet ~/fle", "fleet.yaml"), ("triage ~/lo", "logs/")):
            zsh.shows(f"gpu-tui {typed}\t\x01printf '<%s>' \r", f"<{place}/{path}>")


@needs_zsh
def test_a_name_stays_one_word_of_zsh(hostile: Path) -> None:
    with closing(Zsh(hostile)) as zsh:
        for typed, wanted in (
            ("x\\ ", r"x\\ y"),
            ("x\\$", r"x\\\$\\\(touch\\ ran\\\)"),
            ("x\\`", r"x\\`touch\\ ran\\`"),
            ("x\\;", r"x\\;touch\\ ran"),
            ("x\\'", r"x\\'\\\"q"),
            ("x:", r"x:1"),
        ):
            zsh.shows(f"gpu-tui pull {typed}\t", wanted)
    assert not (hostile / "ran").exists()


def test_a_shell_that_is_not_known_is_told_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "tcsh"]) == 64
    told = capsys.readouterr().err
    assert all(f"'{shell}'" in told for shell in ("bash", "zsh", "fish"))
