"""The way to one box: where it is, and through which hosts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stop:
    """One host on a way. `host` is what it is called, `hostname` where it is."""

    host: str
    hostname: str
    port: int
    user: str

    def __str__(self) -> str:
        return f"{self.user}@{self.hostname}:{self.port}"


@dataclass(frozen=True, slots=True)
class Way(Stop):
    """The way to one box, as the JSON of `doctor --route` has it."""

    jumps: tuple[Stop, ...]
    proxy_command: str | None
    identity_files: tuple[str, ...]
    source: str
