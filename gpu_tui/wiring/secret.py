"""What must stand in no recording, message or report: the keys that the fleet file names, by their values."""

from __future__ import annotations

import os

from gpu_tui.core.fleet import Fleet


def keys_held(fleet: Fleet) -> list[str]:
    """The values of the environment variables that hold the providers' keys."""
    names = {instance.provider.key_env for instance in fleet.instances}
    return [value for name in names if name and (value := os.environ.get(name))]
