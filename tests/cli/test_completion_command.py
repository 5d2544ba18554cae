"""Completion in the real shells: they offer what the program takes, and the names of this fleet file."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_tui.cli.completion import FILES, SCRIPTS, offers
from gpu_tui.cli.main import COMMANDS, available, main, parser_of
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


def words(*before: str) -> list[str]:
    *earlier, start = before
    return sorted(word for word, _ in offers(earlier, start))


def test_every_command_and_each_of_its_flags_is_offered() -> None:
    assert set(COMMANDS) <= set(words(""))
    for name in available():
        flags = {flag for action in parser_of(name)._actions for flag in action.option_strings}
        assert {flag for flag in flags if flag.startswith("--")} == set(words(name, "--"))


def test_names_come_from_where_they_are_kept(place: Path) -> None:
    assert words("pull", "") == ["alpha-1", "beta"]
    assert words("pull", "be") == ["beta"]
    assert words("clocks", "mark", "") == ["alpha-1", "beta"]
    other = place / "other.yaml"
    other.write_text(FLEET.replace("beta", "gamma"))
    assert words("pull", "--fleet", str(other), "g") == ["gamma"]
    assert set(words("--platform", "")) >= set(profile_files())
    assert words("watch", "gpu-") == ["gpu-one", "gpu-two"]
    assert "night" in words("demo", "--theme", "")
    assert words("profiles", "show", "aut") == ["autodl"]
    assert words("completion", "") == sorted(SCRIPTS)
    assert words("help", "runn") == ["runners"]
    assert words("replay", "") == [FILES]
    assert words("--fleet", "") == [FILES]
    assert words("clocks", "--fleet", str(other), "mark", "g") == ["gamma"]
    assert words("triage", "x.log", "") == []
    assert "--theme" not in words("demo", "--theme", "night", "--")


def test_a_flag_and_its_value_may_be_one_word(place: Path) -> None:
    (place / "other.yaml").write_text(FLEET.replace("beta", "gamma"))
    assert words("pull", "--fleet=other.yaml", "g") == ["gamma"]
    assert words("demo", "--layout=q") == ["--layout=queue-first"]
    assert words("pull", "--fleet=oth") == [FILES]
    # bash makes three words of it, and completes the last one
    assert words("pull", "--fleet", "=", "other.yaml", "g") == ["gamma"]
    assert words("demo", "--layout", "=", "q") == ["queue-first"]
    assert "queue-first" in words("demo", "--layout", "=")


def test_a_broken_fleet_file_offers_nothing_and_says_nothing(place: Path) -> None:
    (place / "fleet.yaml").write_text("instances: {")
    done = subprocess.run(
        ["gpu-tui", "completion", "words", "pull", ""], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bash_completes(place: Path) -> None:
    script = """
eval "$(gpu-tui completion bash)"
ask() { COMP_WORDS=(gpu-tui "$@"); COMP_CWORD=$#; _gpu_tui; echo "${COMPREPLY[*]}"; }
complete -p gpu-tui
ask pu; ask pull ""; ask demo --the; ask demo --theme am; ask pull --fleet fle
ask demo --layout = lo; ask pull --fleet = fle; COMP_WORDS=(gpu-tui pull --fleet =); COMP_CWORD=3
_gpu_tui; [[ " ${COMPREPLY[*]} " = *" fleet.yaml "* ]] && echo files
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -F _gpu_tui gpu-tui", "pull", "alpha-1 beta", "--theme", "amber", "fleet.yaml",
        "log-first", "fleet.yaml", "files",
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(place: Path) -> None:
    script = "gpu-tui completion fish | source; " + "; echo ==; ".join(
        f"complete -C '{line}'"
        for line in (
            "gpu-tui pu",
            "gpu-tui pull ",
            "gpu-tui --theme am",
            "gpu-tui pull --fleet fle",
            "gpu-tui demo --layout=lo",
            "gpu-tui pull --fleet=fle",
        )
    )
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True)
    parts = [part.split() for part in done.stdout.split("==\n")]
    assert parts[0][0] == "pull", done.stderr
    assert parts[1:] == [
        ["alpha-1", "beta"],
        ["amber"],
        ["fleet.yaml"],
        ["--layout=log-first"],
        ["--fleet=fleet.yaml"],
    ]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_at_its_prompt(place: Path) -> None:
    (place / ".zshrc").write_text(
        "PS1='ready> '; unsetopt beep; autoload -Uz compinit; compinit -u -D\n"
        'eval "$(gpu-tui completion zsh)"\n'
    )
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-i"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        env={**os.environ, "ZDOTDIR": str(place), "TERM": "xterm"},
    )  # fmt: skip
    os.close(slave)
    said = ""

    def until(wanted: str) -> str:
        nonlocal said
        ends = time.monotonic() + 60
        while not re.search(wanted, said):
            assert time.monotonic() < ends, said
            if select.select([master], [], [], 1)[0]:
                said += os.read(master, 65_536).decode("utf-8", "replace")
        seen, said = said, ""
        return seen

    try:
        until("ready> ")
        os.write(master, b"gpu-tui pull al\t")
        until("alpha-1")
        os.write(master, b"\x15gpu-tui pull \t")
        listed = until(r"alpha-1[\s\S]*beta")
        assert not re.search(r"(alpha-1)\s+\1", listed), "a name that says nothing more stands once"
        os.write(master, b"\x15gpu-tui rec\t")
        until("record")
        os.write(master, b"\x15gpu-tui pull --fleet fle\t")
        until(r"fleet\.yaml")
        os.write(master, b"\x15gpu-tui pull --fleet=fle\t")
        until(r"--fleet=fleet\.yaml")
        os.write(master, b"\x15gpu-tui demo --layout=lo\t")
        until(r"--layout=log-first")
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def test_a_shell_that_is_not_known_is_told_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "tcsh"]) == 64
    told = capsys.readouterr().err
    assert all(f"'{shell}'" in told for shell in ("bash", "zsh", "fish"))
    assert "words" not in told
    assert words("completion", "") == ["bash", "fish", "zsh"]
