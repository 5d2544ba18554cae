"""`gpu-tui completion SHELL`: what a shell needs to complete commands, flags and names.

The shells ask this very program (`completion words ...`), so that what they offer is what it takes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

NAME = "completion"
HELP = "what bash, zsh or fish needs to complete commands, flags and names"
EXAMPLE = "gpu-tui completion bash >> ~/.bashrc"
FILES = ":files"  # an answer: the shell's own file names
PATHS = ("FILE", "DIR", "F", "QUEUE")  # metavars of what is a path
PLACES = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc, after compinit",
    "fish": "~/.config/fish/config.fish",
}

BASH = """\
# {where}: eval "$(gpu-tui completion bash)"
_gpu_tui() {{
    local word found start=${{COMP_WORDS[COMP_CWORD]}}
    [ "$start" = "=" ] && start=
    COMPREPLY=()
    mapfile -t found < <(gpu-tui completion words "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null | cut -f1)
    if [ "${{found[0]-}}" = ":files" ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$start")
        compopt -o filenames 2>/dev/null
        return
    fi
    for word in "${{found[@]}}"; do COMPREPLY+=("$(printf %q "$word")"); done
}}
complete -F _gpu_tui gpu-tui
"""

ZSH = """\
# {where}: eval "$(gpu-tui completion zsh)"
_gpu_tui() {{
    local line word
    local -a found shown
    for line in ${{(f)"$(gpu-tui completion words "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}}; do
        if [[ $line == :files ]]; then compset -P '--*='; _files; return; fi
        word=${{line%%$'\\t'*}}
        found+=("$word") shown+=("${{line/$'\\t'/  }}")
    done
    compadd -l -d shown -- "${{found[@]}}"
}}
compdef _gpu_tui gpu-tui
"""

FISH = """\
# {where}: gpu-tui completion fish | source
function __gpu_tui
    set -l words (commandline -opc) (commandline -ct)
    set -l found (gpu-tui completion words $words[2..-1] 2>/dev/null)
    if test "$found[1]" = ":files"
        set -l flag (string match -r -- '^--[^=]*=' $words[-1])
        printf "$flag%s\\n" (__fish_complete_path (string replace -- "$flag" '' $words[-1]))
    else
        printf '%s\\n' $found
    end
end
complete -c gpu-tui -f -a '(__gpu_tui)'
"""

SCRIPTS: Mapping[str, str] = {"bash": BASH, "zsh": ZSH, "fish": FISH}
ASKED = "words"  # what the scripts themselves ask with; no person is offered it


class _Shells(tuple[str, ...]):
    def __contains__(self, word: object) -> bool:
        return word == ASKED or super().__contains__(word)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("shell", choices=_Shells(SCRIPTS), metavar="SHELL", help="bash, zsh, fish")
    words = parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    words.required = False


def run(args: argparse.Namespace) -> int:
    """Print a shell's script, or what may stand for the last of `words`."""
    if args.shell != ASKED:
        print(SCRIPTS[args.shell].format(where=PLACES[args.shell]), end="")
        return 0
    words = args.words or [""]
    for word, text in sorted(set(offers(words[:-1], words[-1]))):
        print(f"{word}\t{text}" if text else word)
    return 0


def offers(before: Sequence[str], start: str) -> Iterator[tuple[str, str]]:
    """What may stand after `before` and begins with `start`: words, and what they do.

    `--flag=value` is one word of zsh and fish, and three of bash.
    """
    words = [part for word in before if word != "=" for part in _parts(word)]
    *flag, start = _parts("" if start == "=" else start)
    lead = "".join(f"{word}=" for word in flag)
    for word, text in _every([*words, *flag], start):
        if word == FILES or word.startswith(start):
            yield word if word == FILES else lead + word, " ".join(text.split())


def _parts(word: str) -> tuple[str, ...]:
    """A flag and its value, where they are written as one."""
    flag, sign, value = word.partition("=")
    return (flag, value) if sign and flag.startswith("--") else (word,)


def _every(before: Sequence[str], start: str) -> Iterator[tuple[str, str]]:
    from gpu_tui.cli.main import COCKPIT, COMMANDS, VALUE_FLAGS, available, parser_of

    at = next(
        (n for n, word in enumerate(before)
         if word in COMMANDS and (n == 0 or before[n - 1] not in VALUE_FLAGS)),
        None,
    )  # fmt: skip
    name = COCKPIT if at is None else before[at]
    if at is None and not (before and before[-1] in VALUE_FLAGS):
        yield "--version", "which version this is"
        if not start.startswith("-"):
            yield from ((word, module.HELP) for word, module in available().items())
            return
    given = before if at is None else [*before[:at], *before[at + 1 :]]
    with suppress(SystemExit):
        yield from _of_parser(parser_of(name), name, given, start, given)


def _of_parser(
    parser: argparse.ArgumentParser,
    name: str,
    given: Sequence[str],
    start: str,
    line: Sequence[str],
) -> Iterator[tuple[str, str]]:
    """What one parser takes after `given`, which is the end of `line`."""
    flags = {flag: action for action in parser._actions for flag in action.option_strings}
    places = [action for action in parser._actions if not action.option_strings]
    stand, waiting = 0, None
    for n, word in enumerate(given):
        if waiting is not None:
            waiting = None
        elif word in flags:
            waiting = flags[word] if flags[word].nargs is None else None
        elif not word.startswith("-"):
            action = places[min(stand, len(places) - 1)] if places else None
            if isinstance(action, argparse._SubParsersAction) and word in action.choices:
                inner = action.choices[word]
                yield from _of_parser(inner, f"{name} {word}", given[n + 1 :], start, line)
                return
            stand += 1
    if waiting is not None and waiting.dest == "cells":  # the last of several names
        before = start.rpartition(",")[0].split(",") if "," in start else []
        lead = "".join(f"{word}," for word in before)
        for word, text in _values(waiting, name, line):
            if word not in before:
                yield lead + word, text
    elif waiting is not None:
        yield from _values(waiting, name, line)
    elif start.startswith("-"):
        taken = {flags[word].dest for word in given if word in flags}
        for flag, action in flags.items():
            if flag.startswith("--") and action.dest not in taken:
                yield flag, (action.help or "").replace("%%", "%")
    elif places and (stand < len(places) or places[-1].nargs in ("*", "+")):
        yield from _values(places[min(stand, len(places) - 1)], name, line)


def _values(action: argparse.Action, name: str, line: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What a flag or an argument takes."""
    named = NAMED.get(f"{name} {action.dest}") or NAMED.get(action.dest)
    if action.choices is not None:
        yield from ((str(word), "") for word in action.choices)
    elif named is not None:
        with suppress(Exception):  # a broken file must not break the line that mends it
            yield from ((word, "") for word in named(line))
    elif action.metavar in PATHS:
        yield FILES, ""


# --- names ----------------------------------------------------------------------------------------


def _themes(given: Sequence[str]) -> Iterator[str]:
    from gpu_tui.places import config_dir
    from gpu_tui.resources import themes_dir

    for directory in (themes_dir(), config_dir(os.environ) / "themes"):
        yield from (file.stem for file in directory.glob("*.yaml"))


def _profiles(given: Sequence[str]) -> Iterator[str]:
    from gpu_tui.resources import profile_files, user_profiles_dir

    yield from profile_files()
    yield from profile_files(user_profiles_dir(os.environ))


def _instances(given: Sequence[str]) -> Iterable[str]:
    """The names of the fleet file; the one that `--fleet` names, where it does."""
    from gpu_tui.resources import library
    from gpu_tui.settings import find_fleet, load_fleet

    at = given.index("--fleet") + 1 if "--fleet" in given else 0
    path = find_fleet(given[at] if 0 < at < len(given) else None, os.environ, Path.cwd())
    return load_fleet(path, library().profiles).names if path else ()


def _cells(given: Sequence[str]) -> Iterable[str]:
    """The cells of the instance on the line: as its fleet file names them, else as at its last pull."""
    from gpu_tui.resources import library
    from gpu_tui.settings import find_fleet, load_fleet
    from gpu_tui.teardown.manifest_file import KEPT, read_manifest

    at = given.index("--fleet") + 1 if "--fleet" in given else 0
    path = find_fleet(given[at] if 0 < at < len(given) else None, os.environ, Path.cwd())
    fleet = load_fleet(path, library().profiles) if path else None
    found = [one for one in fleet.instances if one.name in given] if fleet else []
    for results in (one.results for one in found):
        if results.cells:
            return results.cells
        kept = Path(results.local).expanduser() / KEPT if results.local else None
        if kept is not None and kept.is_file():
            return read_manifest(kept).cells or ()
    return ()


def _hosts(given: Sequence[str]) -> Iterator[str]:
    from gpu_tui.cli.init import ssh_hosts
    from gpu_tui.settings import user_home

    yield from (host.alias for host in ssh_hosts(user_home(os.environ) / ".ssh/config"))


def _topics(given: Sequence[str]) -> Iterator[str]:
    from gpu_tui.cli.help import ALSO, TOPICS

    yield from (*TOPICS, *ALSO)


NAMED: Mapping[str, Callable[[Sequence[str]], Iterable[str]]] = {
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
