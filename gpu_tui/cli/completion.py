"""`gpu-tui completion SHELL`: registers argcomplete in a shell, which then asks this program on each TAB."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from argcomplete.completers import BaseCompleter, FilesCompleter
from argcomplete.finders import ExclusiveCompletionFinder
from argcomplete.shell_integration import shellcode

from gpu_tui.core.speech import say

EXAMPLE = "gpu-tui completion bash >> ~/.bashrc"
SHELLS = ("bash", "zsh", "fish")
# zsh quotes a leading `~`, which then names no home, unless it is told that these are files.
ZSH_CALL, TILDE_OF_ZSH = '_describe "${words[1]}" completions', "${${(M)PREFIX:#\\~*}:+-f}"
PATHS = ("FILE", "DIR", "F", "QUEUE")  # metavars of arguments that are paths


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh, fish")


def run(args: argparse.Namespace) -> int:
    """Print the registration for one shell. It runs the gpu-tui of $PATH, not the file that was typed."""
    options = ["-o nospace"]  # of bash: no names of files where no name of the program fits
    code = shellcode(["gpu-tui"], True, args.shell, options, argcomplete_script="gpu-tui")
    if args.shell == "zsh":
        code = code.replace(ZSH_CALL, f"{ZSH_CALL} {TILDE_OF_ZSH}")
    print(code, end="")
    return 0


def complete() -> None:
    """Print the completions of $COMP_LINE to the shell's descriptor, and exit."""
    Finder()(all_commands(os.environ["COMP_LINE"]), **OPTIONS)


class Finder(ExclusiveCompletionFinder):
    """Argcomplete's finder without `None` for a missing description, which zsh would show."""

    def filter_completions(self, completions: list[str]) -> list[str]:
        """Each completion once."""
        for completion in completions:
            self.get_display_completions().setdefault(completion, "")
        return super().filter_completions(completions)


class Values(BaseCompleter):
    """The values of an argument that has no fixed choices: names, or files where its metavar says so."""

    def __call__(
        self,
        *,
        prefix: str,
        action: argparse.Action,
        parser: argparse.ArgumentParser,
        parsed_args: argparse.Namespace,
    ) -> Iterable[str]:
        """Every value; the finder picks those that begin with `prefix`."""
        command = parser.prog.removeprefix("gpu-tui").strip()
        names = NAMES.get(f"{command} {action.dest}") or NAMES.get(action.dest)
        found: list[str] = []
        with suppress(Exception):  # a broken file must not break the line that repairs it
            if names is not None:
                found.extend(names(parsed_args))
            elif action.metavar in PATHS:
                found.extend(FilesCompleter()(prefix))
        if action.dest == "cells":  # the last of several, with commas between
            *before, _ = prefix.split(",")
            found = [",".join([*before, name]) for name in found if name not in before]
        return found


def all_commands(line: str) -> argparse.ArgumentParser:
    """All commands as one parser. Only those that `line` may name get arguments: importing all takes too long."""
    from gpu_tui.cli.main import COCKPIT, COMMANDS, Parser, configure

    options: dict[str, Any] = {"argument_default": argparse.SUPPRESS, "allow_abbrev": False}
    parser = Parser(prog="gpu-tui", **options)
    configure(parser, COCKPIT)
    parser.add_argument("--version", action="store_true", help="which version this is")
    commands = parser.add_subparsers()
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=say(text), **options)
        if name in line:
            configure(command, name)
    return parser


def _fits(completion: str, prefix: str) -> bool:
    """Argcomplete escapes what a shell would expand; control characters would end or forge a completion."""
    return completion.isprintable() and completion.startswith(prefix)


OPTIONS: Mapping[str, Any] = {  # of the finder
    "always_complete_options": False,
    "validator": _fits,
    "default_completer": Values(),
}


# --- names ----------------------------------------------------------------------------------------


def _themes(args: argparse.Namespace) -> Iterator[str]:
    from gpu_tui.places import config_dir
    from gpu_tui.resources import themes_dir

    for directory in (themes_dir(), config_dir(os.environ) / "themes"):
        yield from (file.stem for file in directory.glob("*.yaml"))


def _profiles(args: argparse.Namespace) -> Iterator[str]:
    from gpu_tui.resources import profile_files, user_profiles_dir

    yield from profile_files()
    yield from profile_files(user_profiles_dir(os.environ))


def _fleet(args: argparse.Namespace) -> tuple[Path, Any]:
    """The fleet file and its content. It is not validated: that takes longer than a TAB may."""
    from gpu_tui.parse.yaml_strict import load
    from gpu_tui.settings import FleetError, find_fleet, read_text

    path = find_fleet(getattr(args, "fleet", None), os.environ, Path.cwd())
    if path is None:
        return Path(), {"instances": []}
    return path, load(read_text(path, FleetError), str(path)).plain()


def _instances(args: argparse.Namespace) -> Iterator[str]:
    yield from (str(row["name"]) for row in _fleet(args)[1]["instances"])


def _cells(args: argparse.Namespace) -> Iterator[str]:
    """The cells of the instance on the line, from its fleet file or its last pull."""
    from gpu_tui.places import expand_home, user_home
    from gpu_tui.teardown.local import OWN

    path, fleet = _fleet(args)
    row = next(row for row in fleet["instances"] if row["name"] == args.name)
    results = {**fleet.get("defaults", {}).get("results", {}), **row.get("results", {})}
    local = expand_home(results.get("local", f"results/{args.name}"), user_home(os.environ))
    pulled = path.parent / local / OWN / "manifest.json"
    yield from map(str, results.get("cells") or json.loads(pulled.read_bytes())["cells"])


def _hosts(args: argparse.Namespace) -> Iterator[str]:
    from gpu_tui.cli.init import ssh_hosts
    from gpu_tui.settings import user_home

    yield from (host.alias for host in ssh_hosts(user_home(os.environ) / ".ssh/config"))


def _topics(args: argparse.Namespace) -> Iterator[str]:
    from gpu_tui.cli.help import ALSO, TOPICS

    yield from (*TOPICS, *ALSO)


NAMES: Mapping[str, Callable[[argparse.Namespace], Iterable[str]]] = {
    "theme": _themes,
    "platform": _profiles,
    "hosts": _hosts,
    "topic": _topics,
    "pull name": _instances,
    "pull cells": _cells,
    "journal name": _instances,
    "profiles name": _profiles,
    "clocks mark name": _instances,
    "clocks unmark name": _instances,
}
