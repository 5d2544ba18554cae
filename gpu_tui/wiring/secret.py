"""What must stand in no recording, message or report: keys, and what a webhook's address and its signatures rest on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from gpu_tui.core.fleet import Fleet
from gpu_tui.core.redact import redact
from gpu_tui.parse.config_file import Alerts
from gpu_tui.settings import ConfigError, load_config

KEPT = 8_192  # texts


def hiding(fleet: Fleet) -> Callable[[str], str]:
    """Removes secrets from text of a box or a provider before it leaves in our output.

    Names of instances stay: they are the user's own, and lead from one part of an output to another. What was
    asked for before is kept, because an exporter says the same names again with each scrape.
    """
    secrets, names = tuple(secrets_held(fleet)), frozenset(fleet.names)

    @lru_cache(maxsize=KEPT)
    def hidden(text: str) -> str:
        return text if text in names else redact(text, secrets)

    return hidden


def secrets_held(fleet: Fleet) -> list[str]:
    """Those of a fleet and of the user's settings, as far as these can be read."""
    try:
        alerts = load_config(os.environ).alerts
    except (ConfigError, OSError):
        alerts = Alerts()
    return secrets_of(fleet, alerts)


def secrets_of(fleet: Fleet, alerts: Alerts) -> list[str]:
    """The values of the variables that hold the providers' keys, and the webhook's own."""
    names = {instance.provider.key_env for instance in fleet.instances}
    values = [value for name in names if name and (value := os.environ.get(name))]
    if alerts.webhook is not None:
        from gpu_tui.alerts.ways import secret_of, url_of
        from gpu_tui.alerts.webhook import WebhookRefused, secret_pieces

        with suppress(WebhookRefused):
            url = url_of(alerts, os.environ)
            # A word of the path, like open-apis, is none; a token has a digit.
            values += [url, *(part for part in secret_pieces(url) if re.search(r"\d", part))]
        with suppress(WebhookRefused):
            values += [secret_of(alerts, os.environ) or ""]
    return [value for value in values if value]
