"""Where things lie on a box when the fleet file does not say: what the platform's scripts export."""

from __future__ import annotations

import re

from gpu_tui.core.profile import Profile


class BoxPaths:
    """Where things lie on the box, as the profile's overrides say; None where they do not say."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.data = self._override("DATA_DIR")
        self.durable = self._override("DURABLE_DIR")

    @property
    def logs(self) -> str | None:
        """The pattern of the cells' logs."""
        return f"{self.data}/runs/logs/{{cell}}.log" if self.data else None

    @property
    def results(self) -> str | None:
        """The directory to pull: on the durable tier where there is one."""
        if self.durable:
            return f"{self.durable}/final_ckpts"
        return f"{self.data}/checkpoints" if self.data else None

    @property
    def mounts(self) -> tuple[str, ...]:
        """The storage tiers' paths, without those that the profile does not watch."""
        rows = self.profile.facts.get("storage")
        unwatched = {
            row.get("id")
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict) and row.get("watch") is False
        }
        paths = (tier.path for tier in self.profile.storage if tier.id not in unwatched)
        return tuple(path for path in dict.fromkeys(paths) if re.fullmatch(r"/[^<>*$]*", path))

    def _override(self, name: str) -> str | None:
        value = self.profile.overrides.get(name)
        if value is None:
            return None
        path = re.sub(r"^\$HOME(?=/|$)", "~", value.rstrip("/"))
        # A placeholder or another variable is for a person to fill in, not for us to guess.
        return path if re.fullmatch(r"(/|~/)[^<>*$]*", path) else None
