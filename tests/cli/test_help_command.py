"""The manual's pages: there, complete, and right in every example that a machine can read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_tui.cli.help import TOPICS, page
from gpu_tui.cli.main import COMMANDS, main
from gpu_tui.parse.config_file import ALERT_KEYS, DESKTOPS, RECEIVER_NAMES, parse_config
from gpu_tui.parse.fleet_file import INSTANCE_KEYS, QUEUE_KEYS, parse_fleet
from gpu_tui.parse.scheduler import KEYS as SCHEDULER_KEYS
from gpu_tui.resources import load_profiles
from gpu_tui.state.prometheus import FAMILIES
from gpu_tui.ui.keys import KEYS

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
    assert main(["help", "slurm"]) == 0
    assert "squeue" in capsys.readouterr().out


def test_a_page_that_is_not_there_names_one_that_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "runer"]) == 2
    assert "gpu-tui help runners" in capsys.readouterr().err


@pytest.mark.parametrize("topic", ["fleet", "runners"])
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
