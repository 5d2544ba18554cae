"""The ssh route to one box: its address, and the jump hosts on the way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SshHop:
    """One host of a route. `host` is what it is called, `hostname` where it is."""

    host: str
    hostname: str
    port: int
    user: str

    def __str__(self) -> str:
        return f"{self.user}@{self.hostname}:{self.port}"


@dataclass(frozen=True, slots=True)
class SshRoute(SshHop):
    """The route to one box, as the JSON of `doctor --route` has it."""

    jumps: tuple[SshHop, ...]
    proxy_command: str | None
    identity_files: tuple[str, ...]
    source: str
