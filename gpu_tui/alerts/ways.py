"""From the user's settings to the ways out."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.alerts.channel import Channel
from gpu_tui.alerts.command import CommandChannel
from gpu_tui.alerts.webhook import WebhookChannel, WebhookRefused
from gpu_tui.parse.config_file import Alerts


def ways_out(alerts: Alerts, env: Mapping[str, str]) -> list[Channel]:
    """The channels that are set up. Raises WebhookRefused where the URL cannot be had."""
    channels: list[Channel] = []
    if alerts.command:
        channels.append(CommandChannel(alerts.command, env))
    if alerts.webhook is not None:
        channels.append(WebhookChannel(url_of(alerts, env), alerts.webhook.receiver))
    return channels


def url_of(alerts: Alerts, env: Mapping[str, str]) -> str:
    """The webhook's URL, out of the settings or the environment."""
    hook = alerts.webhook
    assert hook is not None
    if hook.url is not None:
        return hook.url
    url = env.get(hook.url_env or "", "").strip()
    if not url:
        raise WebhookRefused(
            f"${hook.url_env}, which alerts.webhook.url_env names, is not set",
            next=f"Export {hook.url_env}=https://... where gpu-tui starts (cron has its own environment).",
        )
    return url
