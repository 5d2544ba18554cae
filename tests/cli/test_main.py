"""From words to exit codes: dispatch, help, and how failures are told."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from gpu_tui import __version__
from gpu_tui.cli import main as cli
from gpu_tui.core.speech import Catalogue, speak
from gpu_tui.settings import FleetError


def failing(error: Exception) -> SimpleNamespace:
    """A command that raises `error`."""

    def run(args: argparse.Namespace) -> int:
        raise error

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true")

    return SimpleNamespace(EXAMPLE="e", configure=configure, run=run)


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch):
    def install(error: Exception) -> None:
        monkeypatch.setattr(cli, "command", lambda name: failing(error))

    return install


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"gpu-tui {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f"\n  {name} " in out


@pytest.mark.parametrize("name", [*cli.COMMANDS, cli.COCKPIT])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.command(name).EXAMPLE.startswith("gpu-tui")
    words = [] if name == cli.COCKPIT else [name]
    if words:
        assert cli.main([*words, "--help"]) == 0
        out = capsys.readouterr().out
        assert re.search(r"examples?:\n  .*gpu-tui", out)
        assert "--config" in out
        assert "--debug" in out
    else:
        assert re.search(r"examples?:\n  .*gpu-tui", cli.parser_of(name).format_help())


@pytest.mark.parametrize(
    ("words", "text", "hint"),
    [
        (["profile"], "no command 'profile'", "gpu-tui profiles"),
        (["zzz"], "no command 'zzz'", "--help"),
        (
            ["version"],
            "no command 'version'",
            "\n  See: gpu-tui --help",
        ),  # it is no slip for verify
        (
            ["--theme", "night", "check"],
            "arguments: --theme",
            "\n  See: gpu-tui check --help",
        ),
        (["completion"], "required: SHELL\n", "gpu-tui completion --help"),
        (["profiles", "--nonsense"], "unrecognized arguments", "gpu-tui profiles --help"),
        (["profiles", "lisst"], "invalid choice", "--help"),
        (["profiles", "--today", "tomorrow"], "not a date", "--help"),
        (["--nonsense"], "unrecognized arguments", "gpu-tui --help"),
        (["--lang", "zh", "check"], "there is no option --lang", "Did you mean --language?"),
        (
            ["clocks", "mark", "a", "stopped", "now", "--json"],
            "unrecognized arguments: --json",
            "gpu-tui clocks --help",
        ),
        *(
            (["check", "--limit", limit], "is no time to wait", "gpu-tui check --help")
            for limit in ("30x", "0", "nan", "inf")
        ),
        (
            ["profiles", "--js"],
            "there is no option --js",
            "Did you mean --json?",
        ),  # no abbreviations
    ],
)
def test_usage_errors_exit_64(
    words: list[str], text: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 64
    err = capsys.readouterr().err
    assert text in err
    assert hint in err
    assert "Traceback" not in err


def test_flags_may_stand_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--debug", "profiles", "list", "--today", "2026-11-21"]) == 0
    assert "autodl" in capsys.readouterr().out


def test_an_error_of_ours_is_a_sentence_and_a_next_step(
    raising, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(FleetError("two instances are called a", "fleet.yaml", 3, 5, "Rename one."))
    assert cli.main(["check"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "gpu-tui: fleet.yaml:3:5: two instances are called a\n  Rename one.\n"


@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "--json", "--csv", "-"],
        ["sweep", "--csv=-", "--markdown=-"],
        ["clocks", "--json", "--ics", "-"],
    ],
)
def test_two_texts_are_not_mixed_on_stdout(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    assert "two texts at once" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["check", "doctor", "sweep", "exporter"])
def test_a_host_beside_a_fleet_file_is_not_looked_at_in_its_place(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([name, "--fleet", "fleet.yaml", "box-of-the-fleet"]) == 2
    assert "--fleet and HOST do not go together" in capsys.readouterr().err


def test_no_error_is_without_a_word(raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(TimeoutError())
    assert cli.main(["check"]) == 2
    assert capsys.readouterr().err == "gpu-tui: TimeoutError\n"


def test_a_directory_that_was_removed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    with monkeypatch.context() as away:
        away.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        code = cli.main(["check"])
    assert code == 2
    assert "the directory that you stand in is no more\n  Change" in capsys.readouterr().err


def test_with_json_stdout_holds_one_object(raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(FleetError("bad", "fleet.yaml", 3, 5, "Do this."))
    assert cli.main(["check", "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {
        "version": 1,
        "error": {"text": "bad", "file": "fleet.yaml", "line": 3, "next": "Do this."},
    }


def test_a_usage_error_with_json_is_an_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profiles", "--json", "--nonsense"]) == 64
    assert json.loads(capsys.readouterr().out)["error"]["text"]


def test_a_mistyped_option_is_told_with_the_one_that_was_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["demo", "--boxs", "3"]) == 64
    assert capsys.readouterr().err.splitlines() == [
        "gpu-tui: there is no option --boxs",
        "  Did you mean --boxes? See: gpu-tui demo --help",
    ]
    assert cli.main(["--layout", "log-firts"]) == 64  # an option's value is no command
    assert "--layout" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--format", "json"], ["--format=json"]])
def test_json_by_its_other_name_is_an_object_too(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", "--fleet", "/nowhere.yaml", *words]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["text"]


def test_an_error_of_the_system_names_its_file(raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(FileNotFoundError(2, "No such file or directory", "/x/y"))
    assert cli.main(["check"]) == 2
    assert capsys.readouterr().err == "gpu-tui: No such file or directory: /x/y\n"


def test_a_bug_is_called_a_bug(raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(KeyError("x"))
    assert cli.main(["check"]) == 70
    err = capsys.readouterr().err
    assert "bug in gpu-tui (KeyError" in err
    assert "Traceback" not in err
    assert cli.main(["check", "--debug"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_hostile_error_cannot_steer_the_terminal(
    raising, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(FleetError("\x1b[2Jcleared\x9b\u202e", next="\x1b]0;title\x07"))
    assert cli.main(["check"]) == 2
    err = capsys.readouterr().err
    assert all(letter.isprintable() or letter == "\n" for letter in err)


def test_ctrl_c_is_no_error(raising, capsys: pytest.CaptureFixture[str]) -> None:
    raising(KeyboardInterrupt())  # type: ignore[arg-type]
    assert cli.main(["check"]) == 130
    assert capsys.readouterr().err == ""


def test_a_closed_pipe_ends_quietly() -> None:
    code = "import sys; from gpu_tui.cli.main import main; sys.exit(main(['profiles', '--json']))"
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    program.stdout.close()
    _, err = program.communicate(timeout=60)
    assert err == b""


def test_the_module_is_the_command(tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-m", "gpu_tui", "--version"],
        capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path,
    ).stdout  # fmt: skip
    assert out == f"gpu-tui {__version__}\n"


def test_nobody_needs_a_home_for_what_needs_no_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(uid: int) -> NoReturn:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", none)
    assert cli.main(["--version"]) == 0
    assert cli.main(["check"]) == 2
    err = capsys.readouterr().err
    assert "no home directory" in err
    assert "Set HOME" in err


def test_a_home_of_nobody_is_no_place_for_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPU_TUI_CONFIG", "")  # which --config sets
    assert cli.main(["--config", "~nobody-here/x.yaml", "--version"]) == 0
    assert cli.main(["check", "--alert", "--config", "~nobody-here/x.yaml"]) == 2
    assert "bug" not in capsys.readouterr().err


def test_the_headings_of_a_help_are_in_the_language_of_the_person(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        assert cli.main(["check", "--language", "zh", "--help"]) == 0
    finally:
        speak(Catalogue())
    said = capsys.readouterr().out
    assert "位置参数:" in said
    assert "options:" not in said
