"""The user's own settings, `config.yaml`: looks, keys, alerts. Pure; an empty file is all defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_tui.core.layouts import LAYOUTS
from gpu_tui.core.remedies import REMEDIES
from gpu_tui.core.speech import LANGUAGES
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.parse.fields import Fields, choice_of, secretive, text_of
from gpu_tui.parse.size import parse_size
from gpu_tui.parse.threshold import parse_thresholds
from gpu_tui.parse.yaml_strict import ConfigError, Node, load

_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)

_URL_HINT = 'Write a name like GPU_TUI_WEBHOOK; a URL belongs under "url".'
_SECRET_HINT = (
    "Export the secret in your shell and write its name here, like GPU_TUI_WEBHOOK_SECRET."
)

ALERT_KEYS = (
    *("bell", "desktop", "command", "webhook", "severity", "kinds", "instances"),
    *("quiet", "quiet_lets"),
)
NEWS_KINDS = ("cell_finished", "sweep_finished", *REMEDIES)
DESKTOPS = ("auto", "osc9", "osc777", "both", "off")
SEVERITIES = ("fatal", "serious", "warn")
QUIET_LETS = ("fatal", "nothing")
LOG_MEMORY = (16 * 10**6, 64 * 10**9)  # bytes, least and most: less holds no log, more is a slip
ACCOUNTS = ("autodl", "lambda", "paperspace", "runpod", "vastai")  # whose API lists a whole account
RECEIVER_NAMES = ("json", "slack", "discord", "feishu", "dingtalk", "wecom", "ntfy")


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Where to post: a URL, or the NAME of an environment variable that holds it. A URL is a secret.

    `secret_env` is the NAME of the variable that holds what messages are signed with; None = they are not.
    """

    url: str | None = field(default=None, repr=False)
    url_env: str | None = None
    receiver: str | None = None  # a name of RECEIVERS; None = by its host
    secret_env: str | None = None


@dataclass(frozen=True, slots=True)
class Alerts:
    """How news is told, once each. `quiet` is minutes after local midnight, from and to.

    `severity`, `kinds` and `instances` (patterns like autodl-*) say what leaves the screen; kinds and
    instances that are empty mean all. `quiet_lets` is what still goes out in the quiet hours.
    """

    bell: bool = True
    desktop: str = "auto"  # auto, osc9, osc777, both, off
    command: tuple[str, ...] = ()  # an argument list, never a shell line
    webhook: WebhookAddress | None = None
    severity: str = "fatal"
    kinds: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    quiet: tuple[int, int] | None = None
    quiet_lets: str = "fatal"


@dataclass(frozen=True, slots=True)
class UserConfig:
    """`keys` maps a key's id of the key table to the key that replaces it; None = the default.

    `accounts` are platforms that are asked what they bill although the fleet file has no instance there.
    `log_memory` is what the kept lines of all logs may take, in bytes.
    """

    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    alerts: Alerts = Alerts()
    thresholds: tuple[Threshold, ...] = THRESHOLDS  # of danger clocks
    accounts: tuple[str, ...] = ()
    layout: str | None = None
    log_memory: int | None = None
    language: str | None = None


def parse_config(text: str, path: str) -> UserConfig:
    """The settings in `text`. Raises ConfigError."""
    root = load(text, path, raises=ConfigError)
    if root.value is None:
        return UserConfig()
    known = ("theme", "layout", "keys", "alerts", "clocks", "accounts", "log_memory", "language")
    top = Fields(root, "the config file", known)
    return UserConfig(
        top.maybe_text("theme"),
        _keys(top),
        _alerts(top),
        parse_thresholds(top),
        _accounts(top),
        top.choice("layout", LAYOUTS) if "layout" in top else None,
        _log_memory(top),
        top.choice("language", LANGUAGES) if "language" in top else None,
    )


def _log_memory(top: Fields) -> int | None:
    if "log_memory" not in top:
        return None
    node = top.place("log_memory")
    size = parse_size(node.value) if isinstance(node.value, str) else None
    if size is None:
        raise node.error(
            f'"log_memory" must be a size with its unit, not {node.shown}',
            "Write it like 512MB or 2GB.",
        )
    least, most = LOG_MEMORY
    if not least <= size <= most:
        raise node.error(
            f'"log_memory" cannot be {node.shown}',
            f"Write something from {least // 10**6}MB to {most // 10**9}GB.",
        )
    return size


def _accounts(top: Fields) -> tuple[str, ...]:
    named = top.texts("accounts")
    for name in named:
        if name not in ACCOUNTS:
            raise top.place("accounts").error(
                f'"accounts" names {name!r}, whose account nobody can list',
                f"There are: {', '.join(ACCOUNTS)}.",
            )
    return named


def _keys(top: Fields) -> Mapping[str, str]:
    if "keys" not in top:
        return {}
    node = top.values["keys"]
    rows = Fields(node, '"keys"', node.keys)
    return {name: _key(rows.values[name], name) for name in node.keys}


def _key(node: Node, name: str) -> str:
    # A digit is a key too, and nobody should have to quote it.
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.written
    return text_of(node, name)


def _alerts(top: Fields) -> Alerts:
    if "alerts" not in top:
        return Alerts()
    row = Fields(top.values["alerts"], '"alerts"', ALERT_KEYS)
    return Alerts(
        bell=row.maybe_flag("bell") is not False,
        desktop=_desktop(row),
        command=row.texts("command"),
        webhook=_webhook(row),
        severity=row.choice("severity", SEVERITIES) if "severity" in row else "fatal",
        kinds=row.items("kinds", lambda node: choice_of(node, "kinds", NEWS_KINDS)),
        instances=row.texts("instances"),
        quiet=_quiet(row),
        quiet_lets=row.choice("quiet_lets", QUIET_LETS) if "quiet_lets" in row else "fatal",
    )


def _desktop(row: Fields) -> str:
    """A word of DESKTOPS; true and false are auto and off."""
    if "desktop" not in row:
        return "auto"
    if isinstance(row.values["desktop"].value, bool):
        return "auto" if row.flag("desktop") else "off"
    return row.choice("desktop", DESKTOPS)


def _webhook(row: Fields) -> WebhookAddress | None:
    if "webhook" not in row:
        return None
    node = row.values["webhook"]
    hook = Fields(node, '"webhook"', ("url", "url_env", "receiver", "secret_env"))
    url, name = hook.maybe_text("url"), _variable(hook, "url_env", _URL_HINT)
    if (url is None) == (name is None):
        raise node.error(
            '"webhook" needs either "url" or "url_env"',
            "Write webhook: {url_env: NAME} with the name of the variable that holds the URL.",
        )
    if url is not None and not url.startswith(("https://", "http://")):
        raise hook.place("url").error(
            '"url" does not begin with https://',
            "Write https://HOST/PATH as the receiving service shows it.",
        )
    receiver = hook.choice("receiver", RECEIVER_NAMES) if "receiver" in hook else None
    return WebhookAddress(url, name, receiver, _variable(hook, "secret_env", _SECRET_HINT))


def _variable(row: Fields, key: str, hint: str) -> str | None:
    """The NAME of an environment variable. What is none is not quoted: it may be the value itself."""
    name = row.maybe_text(key)
    if name is None or (_ENV_NAME.fullmatch(name) and not secretive(name)):
        return name
    raise row.place(key).error(f'"{key}" is not the name of an environment variable', hint)


def _quiet(row: Fields) -> tuple[int, int] | None:
    text = row.maybe_text("quiet")
    if text is None:
        return None
    match = _HOURS.fullmatch(text)
    if match is None:
        raise row.place("quiet").error(
            f"{row.place('quiet').shown} is not a span of hours", 'Write it like "23:00-07:00".'
        )
    first_hour, first_minute, last_hour, last_minute = map(int, match.groups())
    return first_hour * 60 + first_minute, last_hour * 60 + last_minute
