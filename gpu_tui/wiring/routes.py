"""How each box of a fleet would be reached. No connection is opened."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.ssh_route import SshHop, SshRoute
from gpu_tui.transport.access import BY_SSH, Route, own_config, routes_to
from gpu_tui.transport.base import LinkError
from gpu_tui.transport.own_ssh import Answers
from gpu_tui.transport.ssh_config import SYSTEM_CONFIG

THREADS = 8


def routes_of(fleet: Fleet) -> list[SshRoute]:
    """The route to each box, in the fleet's order. Raises the LinkError of the first that has none."""
    answers = Answers()

    def route(box: Instance) -> SshRoute:
        return _ssh_route(answers.used_by(box.name, routes_to, box.ssh))

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(route, (box for box in fleet.instances if not box.here)))


def _ssh_route(routes: Sequence[Route]) -> SshRoute:
    *hops, box = routes
    return SshRoute(
        box.named,
        box.host,
        box.port,
        box.user,
        tuple(SshHop(hop.named, hop.host, hop.port, hop.user) for hop in hops),
        None if hops else box.proxy_command,
        box.identity_files,
        BY_SSH if any(route.via for route in routes) else box.source,
    )


def read_alone(fleet: Fleet) -> list[str]:
    """The config files that ssh reads without the system's."""
    found: dict[str, None] = {}
    for box in fleet.instances:
        with suppress(LinkError):
            if not box.here and (file := own_config(box.ssh)) is not None:
                found[file] = None
    return list(found) if shutil.which("ssh") else []


def alone_sentence(file: str) -> str:
    """What that means."""
    if file == os.devnull:
        return f"no ssh config is read: $HOME is not the home that ssh uses, and has none; {SYSTEM_CONFIG} is left out"
    return f"{file} alone is read: {SYSTEM_CONFIG} is left out"
