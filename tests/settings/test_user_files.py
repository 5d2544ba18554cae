"""Which files of the user are looked at, and what stands in the config."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.parse.config_file import Alerts, UserConfig, WebhookAddress, parse_config
from gpu_tui.settings import (
    ConfigError,
    FleetError,
    find_fleet,
    load_config,
    state_dir,
)


def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_first_place_that_has_a_fleet_wins(tmp_path: Path) -> None:
    cwd = tmp_path / "work"
    cwd.mkdir()
    assert find_fleet(None, env(tmp_path), cwd) is None
    usual = touch(tmp_path / "config/gpu-tui/fleet.yaml")
    assert find_fleet(None, env(tmp_path), cwd) == usual
    here = touch(cwd / "fleet.yaml")
    assert find_fleet(None, env(tmp_path), cwd) == here
    by_env = touch(cwd / "other.yaml")
    assert find_fleet(None, env(tmp_path) | {"GPU_TUI_FLEET": "other.yaml"}, cwd) == by_env
    named = touch(tmp_path / "home/named.yaml")
    both = env(tmp_path) | {"GPU_TUI_FLEET": "other.yaml"}
    assert find_fleet("~/named.yaml", both, cwd) == named


@pytest.mark.parametrize(("explicit", "variable"), [("no.yaml", None), (None, "no.yaml")])
def test_a_named_file_must_be_there(
    tmp_path: Path, explicit: str | None, variable: str | None
) -> None:
    touch(tmp_path / "fleet.yaml")
    extra = {"GPU_TUI_FLEET": variable} if variable else {}
    with pytest.raises(FleetError) as caught:
        find_fleet(explicit, env(tmp_path) | extra, tmp_path)
    assert "no.yaml" in caught.value.text
    assert "init" in (caught.value.next or "")


def test_state_is_the_owners_only(tmp_path: Path) -> None:
    place = state_dir({"HOME": str(tmp_path)})
    assert place == tmp_path / ".local/state/gpu-tui"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    place.chmod(0o755)
    assert stat.S_IMODE(state_dir({"HOME": str(tmp_path)}).stat().st_mode) == 0o700


def test_a_relative_xdg_directory_counts_as_not_set(tmp_path: Path) -> None:
    place = state_dir({"HOME": str(tmp_path), "XDG_STATE_HOME": "relative"})
    assert place == tmp_path / ".local/state/gpu-tui"


def test_the_config() -> None:
    text = (
        "theme: day\nkeys: {cockpit.findings: F, cockpit.zoom: 9}\n"
        'alerts: {bell: false, command: [notify-send, gpu-tui], quiet: "23:00-07:30"}\n'
    )
    assert parse_config(text, "c") == UserConfig(
        "day",
        {"cockpit.findings": "F", "cockpit.zoom": "9"},
        Alerts(bell=False, command=("notify-send", "gpu-tui"), quiet=(1380, 450)),
    )
    assert parse_config("", "c") == UserConfig()
    assert parse_config("layout: log-first\n", "c").layout == "log-first"
    assert parse_config("log_memory: 512MB\n", "c").log_memory == 512_000_000
    assert parse_config("log_memory: 1.5 GiB\n", "c").log_memory == 1_610_612_736


def test_all_of_the_alerts() -> None:
    text = (
        "alerts:\n"
        "  desktop: osc777\n"
        "  webhook: {url_env: MY_HOOK, receiver: ntfy}\n"
        "  severity: serious\n"
        "  kinds: [nan, cell_finished]\n"
        "  instances: [autodl-*]\n"
        '  quiet: "22:00-06:00"\n'
        "  quiet_lets: nothing\n"
    )
    assert parse_config(text, "c").alerts == Alerts(
        desktop="osc777",
        webhook=WebhookAddress(None, "MY_HOOK", "ntfy"),
        severity="serious",
        kinds=("nan", "cell_finished"),
        instances=("autodl-*",),
        quiet=(1320, 360),
        quiet_lets="nothing",
    )
    assert parse_config("alerts: {desktop: false}\n", "c").alerts.desktop == "off"


def test_the_settings_that_the_page_about_alerts_shows_are_the_defaults_but_for_the_ways_out() -> (
    None
):
    page = (Path(__file__).parents[2] / "gpu_tui/help/alerts.md").read_text(encoding="utf-8")
    shown = parse_config(page.split("```yaml\n")[1].split("```")[0], "alerts.md").alerts
    assert shown.webhook == WebhookAddress(url_env="GPU_TUI_WEBHOOK")
    assert shown == replace(
        Alerts(), webhook=shown.webhook, command=shown.command, quiet=shown.quiet
    )
    assert all(
        f"| `{name}`" in page or f"`{name}` |" in page for name in ("slack", "json", "wecom")
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("webhook: {}", "c:2:12: .webhook. needs either"),
        ("webhook: {url: https://a/b, url_env: X}", "c:2:12: .webhook. needs either"),
        ("webhook: {url_env: https://a/secret}", "c:2:22: .url_env. is not the name"),
        ("webhook: {url: hooks.example.com/secret}", "c:2:18: .url. does not begin with"),
        ("webhook: {url: https://a/b, receiver: slck}", "c:2:41: .receiver. cannot be 'slck'"),
        ("kinds: [nann]", "c:2:11: .kinds. cannot be 'nann'"),
        ("severity: bad", "c:2:13: .severity. cannot be"),
        ("quiet_lets: all", "c:2:15: .quiet_lets. cannot be"),
    ],
)
def test_broken_alerts_point_at_the_place_and_quote_no_secret(row: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        parse_config(f"alerts:\n  {row}\n", "c")
    assert "secret" not in str(caught.value) + (caught.value.next or "")


def test_a_webhooks_url_is_not_in_the_words_of_the_settings() -> None:
    made = parse_config("alerts: {webhook: {url: https://a.example/0f3c77aa}}\n", "c")
    assert "0f3c77aa" not in repr(made)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("them: day\n", "unknown key"),
        ("alerts: {quiet: night}\n", "span of hours"),
        ("alerts: {command: notify-send}\n", "must be a list"),
        ("keys: [a]\n", "must be a mapping"),
        ("keys: {a: true}\n", "must be a text"),
        ("layout: logs-first\n", '"layout" cannot be'),
        ("log_memory: 512\n", "must be a size with its unit"),
        ("log_memory: 512 pages\n", "must be a size with its unit"),
        ("log_memory: 1MB\n", '"log_memory" cannot be'),
        ("log_memory: 900GB\n", '"log_memory" cannot be'),
    ],
)
def test_a_broken_config_is_told(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_config(text, "c")


def test_a_mapping_of_free_keys_names_none() -> None:
    with pytest.raises(ConfigError) as told:
        parse_config("keys: q\n", "c")
    assert told.value.next == "Write one `key: value` a line."


def test_the_config_of_the_user(tmp_path: Path) -> None:
    assert load_config(env(tmp_path)) == UserConfig()
    usual = touch(tmp_path / "config/gpu-tui/config.yaml")
    usual.write_text("theme: day\n")
    assert load_config(env(tmp_path)).theme == "day"
    with pytest.raises(ConfigError):
        load_config(env(tmp_path) | {"GPU_TUI_CONFIG": "/no/such/file"})
