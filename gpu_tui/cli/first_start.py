"""`gpu-tui` where no fleet file is: a screen of what ssh knows, or the same in words without a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpu_tui.cli.init import SshHost, fleet_text, ssh_hosts
from gpu_tui.core.fleet import Fleet
from gpu_tui.new_file import write_new
from gpu_tui.parse.fleet_file import parse_fleet
from gpu_tui.parse.host import AddressError, parse_host
from gpu_tui.resources import load_profiles
from gpu_tui.settings import FleetError, user_home

FILE = "fleet.yaml"
MOST_KNOWN = 50  # of known_hosts, which grows for ever
SHOWN = 8


def is_terminal() -> bool:
    """A person sits here, and can be shown a screen."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def first_start(args: argparse.Namespace) -> int:
    """Ask what to watch, and watch it. Raises FleetError with what to do where nobody can be asked."""
    home = user_home(os.environ)
    found = [*found_hosts(home)]
    if not is_terminal():
        raise FleetError("there is no fleet file", next=in_words(found))
    from gpu_tui.cli.main import command, parser_of
    from gpu_tui.ui.first_run import Candidate
    from gpu_tui.wiring import run_cockpit
    from gpu_tui.wiring.first_look import run_first

    profiles = load_profiles()
    path = Path.cwd() / FILE
    candidates = [
        Candidate(one.alias, one.hostname, one.platform, source, _likely(one, source))
        for one, source in found
    ]
    picked = run_first(candidates, profiles, f"./{FILE}")
    if picked is None:
        return 0
    if picked.demo:
        return command("demo").run(parser_of("demo").parse_args([]))
    text = fleet_text([SshHost(host, None, platform) for host, platform in picked.hosts])
    fleet: Fleet = parse_fleet(text, path, profiles, home)
    if picked.write:
        try:
            write_new(path, text)
        except FileExistsError:
            raise FleetError("is there already", str(path), next="Look at it first.") from None
    else:
        fleet = replace(fleet, sweep=None)  # nobody gave it a name
    return run_cockpit(
        fleet,
        read_only=args.read_only,
        theme=args.theme,
        layout=args.layout,
        reload_from=path if picked.write else None,
    )


def found_hosts(home: Path) -> Iterator[tuple[SshHost, str]]:
    """What ssh knows: the aliases of its config, then addresses met before, with where each was found."""
    config, known = home / ".ssh/config", home / ".ssh/known_hosts"
    aliases = list(ssh_hosts(config)) if config.exists() else []
    for host in aliases:
        yield host, "config"
    taken = {name for host in aliases for name in (host.alias, host.hostname) if name}
    for name in list(known_names(known))[:MOST_KNOWN]:
        bare = name.removeprefix("ssh://").rpartition(":")[0] or name
        if name not in taken and bare not in taken:
            yield SshHost(name, bare if bare != name else None), "known_hosts"


def known_names(file: Path) -> Iterator[str]:
    """The names of a known_hosts that are not hashed, as they are dialled; each once, the newest first."""
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    said: set[str] = set()
    for line in reversed(lines):
        first = line.split(" ", 1)[0]
        if not first or first[0] in "#@|":
            continue
        name = first.split(",", 1)[0]
        if name.startswith("["):
            host, _, port = name[1:].partition("]:")
            name = f"ssh://{host}:{port}"
        try:
            parse_host(name)
        except AddressError:
            continue
        if name not in said:
            said.add(name)
            yield name


def in_words(found: Sequence[tuple[SshHost, str]]) -> str:
    """What to do, for a log or a pipe."""
    names = [host.alias for host, source in found if source == "config"]
    demo = "See it on simulated boxes: gpu-tui demo"
    if not names:
        return f"~/.ssh/config names no hosts. Watch one: gpu-tui watch user@host --platform NAME. {demo}"
    listed = ", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
    return (
        f"~/.ssh/config names {listed}. Write a fleet file of them: gpu-tui init. "
        f"Or watch right away: gpu-tui watch {names[0]}. {demo}"
    )


def _likely(host: SshHost, source: str) -> bool:
    return source == "config" and not host.keeps_code
