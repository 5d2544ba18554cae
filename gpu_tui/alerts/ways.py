"""From the user's settings to the ways out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_tui.alerts.channel import Channel, Unready
from gpu_tui.alerts.command import CommandChannel
from gpu_tui.alerts.webhook import WebhookChannel, WebhookRefused
from gpu_tui.parse.config_file import Alerts


def ways_out(alerts: Alerts, env: Mapping[str, str], now: Callable[[], float]) -> list[Channel]:
    """The configured channels; one whose URL or secret is missing is `Unready`."""
    channels: list[Channel] = []
    if alerts.command:
        channels.append(CommandChannel(alerts.command, env))
    if alerts.webhook is not None:
        try:
            channels.append(webhook_of(alerts, env, now))
        except WebhookRefused as error:
            channels.append(Unready(WebhookChannel.name, str(error), error.next))
    return channels


def webhook_of(alerts: Alerts, env: Mapping[str, str], now: Callable[[], float]) -> WebhookChannel:
    """The webhook of the settings. Raises WebhookRefused if the URL or the secret is missing."""
    assert alerts.webhook is not None
    url, secret = url_of(alerts, env), secret_of(alerts, env)
    return WebhookChannel(url, alerts.webhook.receiver, now=now, secret=secret)


def url_of(alerts: Alerts, env: Mapping[str, str]) -> str:
    """The webhook's URL, out of the settings or the environment."""
    hook = alerts.webhook
    assert hook is not None
    if hook.url is not None:
        return hook.url
    return _held(env, hook.url_env or "", "url_env", "https://...")


def secret_of(alerts: Alerts, env: Mapping[str, str]) -> str | None:
    """What the webhook's messages are signed with; None where they are not."""
    hook = alerts.webhook
    assert hook is not None
    return _held(env, hook.secret_env, "secret_env", "...") if hook.secret_env else None


def _held(env: Mapping[str, str], name: str, key: str, shape: str) -> str:
    value = env.get(name, "").strip()
    if not value:
        raise WebhookRefused(
            f"${name}, which alerts.webhook.{key} names, is not set",
            next=f"Export {name}={shape} where gpu-tui starts (cron has its own environment).",
        )
    return value
