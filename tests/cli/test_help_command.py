"""The manual's pages: there, complete, and right in every example that a machine can read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_tui.cli.epilog import VARIABLES
from gpu_tui.cli.help import PAGES, TOPICS, page
from gpu_tui.cli.main import COMMANDS, main, parser_of
from gpu_tui.core.ladder import Rung
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueDone, QueueOpened
from gpu_tui.parse.config_file import ALERT_KEYS, DESKTOPS, RECEIVER_NAMES, parse_config
from gpu_tui.parse.fleet_file import INSTANCE_KEYS, QUEUE_KEYS, parse_fleet
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.parse.scheduler import KEYS as SCHEDULER_KEYS
from gpu_tui.resources import load_profiles
from gpu_tui.state.prometheus import FAMILIES
from gpu_tui.ui.keys import KEYS, shown

WIDTH = 112


def blocks(topic: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", page(topic), re.DOTALL)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_page_fits_and_has_a_title(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", topic]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= WIDTH
    assert main(["help"]) == 0
    assert f"gpu-tui help {topic}" in capsys.readouterr().out


def test_other_words_for_a_page_lead_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "squeue"]) == 0
    assert "squeue" in capsys.readouterr().out


def test_a_page_that_is_not_there_names_one_that_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "runer"]) == 2
    assert "gpu-tui help runners" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "next_step"),
    [("topics", "gpu-tui help"), ("bogus", "gpu-tui help")],
)
def test_a_word_that_is_near_no_page_leads_elsewhere(
    word: str, next_step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", word]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"  See: {next_step}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", name]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# ") or f"gpu-tui {name}" in text.splitlines()[0]


@pytest.mark.parametrize("pages", [PAGES, PAGES / "zh"])
def test_the_lines_of_a_queue_log_in_the_manual_are_read(pages: Path) -> None:
    (text,) = re.findall(r"```text\n(.*?)```", (pages / "runners.md").read_text("utf-8"), re.DOTALL)
    kinds = [type(parse_queue_line(line)) for line in text.splitlines()]
    assert kinds == [QueueOpened, CellStarted, CellFinished, QueueDone]


@pytest.mark.parametrize("topic", ["fleet", "runners", "slurm", "kubernetes"])
def test_examples_of_fleet_files_are_taken(topic: str, tmp_path: Path) -> None:
    for text in blocks(topic):
        assert parse_fleet(text, tmp_path / "fleet.yaml", load_profiles(), tmp_path).instances


def test_the_example_of_settings_is_taken() -> None:
    (text,) = blocks("config")
    config = parse_config(text, "config.yaml")
    assert config.alerts.webhook is not None
    assert config.alerts.quiet == (23 * 60, 7 * 60)


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("fleet", INSTANCE_KEYS),
        ("runners", (*QUEUE_KEYS, "slurm", "kubernetes", *SCHEDULER_KEYS["kubernetes"], "task-spooler")),
        ("slurm", SCHEDULER_KEYS["slurm"]),
        ("kubernetes", SCHEDULER_KEYS["kubernetes"]),
        ("config", (*ALERT_KEYS, *DESKTOPS, "theme", "keys", "clocks", "accounts")),
        ("alerts", (*ALERT_KEYS, *RECEIVER_NAMES)),
        ("keys", tuple(key.id for key in KEYS)),
    ],
)  # fmt: skip
def test_a_page_names_all_that_there_is(topic: str, words: tuple[str, ...]) -> None:
    text = page(topic)
    assert [word for word in words if word not in text] == []


def test_what_pages_name_is_there() -> None:
    for topic in TOPICS:
        text = page(topic)
        for word in re.findall(r"`gpu-tui ([a-z]+)", text):
            assert word in COMMANDS
        for family in re.findall(r"gpu_tui_([a-z_]+)[{ )]", text):
            assert family in FAMILIES


@pytest.mark.parametrize(
    ("topic", "contexts"), [("logs", ("log", "cockpit")), ("replay", ("replay",))]
)
def test_a_page_of_keys_names_keys_that_there_are(topic: str, contexts: tuple[str, ...]) -> None:
    have = {sign for key in KEYS if key.context in contexts for sign in shown(key).split()}
    rows = re.findall(r"^\| (`.*?) \|", page(topic), re.MULTILINE)
    named = {sign for row in rows for sign in re.findall(r"`(\S+)`", row)}
    assert rows
    assert named <= have
    if topic == "replay":
        assert named == have


def test_the_page_of_the_teardown_names_every_rung_in_order() -> None:
    rungs = re.findall(r"^\| ([a-z ]+) \|", page("teardown"), re.MULTILINE)[1:]
    assert [rung.replace(" ", "_").upper() for rung in rungs] == [rung.name for rung in Rung]


@pytest.mark.parametrize("name", [*COMMANDS, "cockpit"])
def test_the_help_of_a_command_has_an_example_exit_codes_and_a_fitting_width(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    text = parser_of(name).format_help()
    assert f"gpu-tui{'' if name == 'cockpit' else ' ' + name}" in text.partition("example")[2]
    assert re.search(r"exit code:\n  0 .*\n(.*\n)*?  64 ", text)
    assert max(map(len, text.splitlines())) <= WIDTH


def test_every_variable_that_a_help_names_is_read_somewhere() -> None:
    source = "".join(
        path.read_text("utf-8") for path in PAGES.parent.rglob("*.py") if path.name != "epilog.py"
    )
    rows = {row for rows in VARIABLES.values() for row in rows}
    for names, _ in rows:
        for name in names.split(", "):
            assert f'"{name}"' in source, name
