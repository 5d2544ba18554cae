"""What stands under the flags of every `--help`: examples, what the exit code says, which variables count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_tui.core.speech import say

DONE = (("0", "done"), ("2", "it could not be done; one sentence and the next step say why"))
WATCHED = (
    ("0", "you left it; without a terminal: all is healthy"),
    ("1", "without a terminal: look at it"),
    ("2", "it could not start; without a terminal: nothing could be read"),
)
EXITS: Mapping[str, Sequence[tuple[str, str]]] = {
    "cockpit": WATCHED,
    "watch": WATCHED,
    "doctor": (
        ("0", "all is well"),
        ("1", "something is not"),
        ("2", "no box could be reached; with --route: ssh refuses its config"),
    ),
    "check": (
        ("0", "healthy"),
        ("1", "look at it; also: a box cannot be reached"),
        ("2", "a bad fleet file, or nothing could be read"),
    ),
    "sweep": (("0", "done"), ("2", "not one queue could be read")),
    "triage": (
        ("0", "no alarm in it"),
        ("1", "an alarm; with --check a sample that fails"),
        ("2", "it cannot be read"),
    ),
    "verify": (
        ("0", "verified"),
        ("1", "failed"),
        ("2", "incomplete: no reader, no roster, a part of a set is not here"),
    ),
    "pull": (
        ("0", "pulled and verified"),
        ("1", "not verified"),
        ("2", "could not start"),
        ("3", "every cell of --cells is verified, whatever the others left"),
    ),
    "journal": (
        ("0", "whole"),
        ("1", "a record before the last was changed"),
        ("2", "it cannot be read"),
    ),
    "profiles": (("0", "valid and fresh"), ("1", "invalid, or a fact is old")),
    "serve": (("0", "ended by a signal"), ("2", "not served; one sentence says why")),
}
CONFIG = ("GPU_TUI_CONFIG", "your settings (as --config), else ~/.config/gpu-tui/config.yaml")
FLEET = ("GPU_TUI_FLEET", "the fleet file, where --fleet names none")
AGENT = ("SSH_AUTH_SOCK", "your ssh agent, used as ssh does")
LOOK = ("NO_COLOR", "any value: no colours; meanings stay, in bold and inverted")
STATE = ("XDG_STATE_HOME", "where journal, histories and choices are kept, else ~/.local/state")
READ_ONLY = ("GPU_TUI_READONLY", "any value but 0: as --read-only, and no flag lifts it")
READS = (FLEET, AGENT)
SCREEN = (READ_ONLY, LOOK, ("LANG, LC_ALL", "not UTF-8: every line, bar and sign is ASCII"), STATE)
VARIABLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "cockpit": (*READS, *SCREEN),
    "watch": (AGENT, *SCREEN),
    "demo": SCREEN,
    "replay": SCREEN,
    "record": (*READS, *SCREEN),
    "journal": (READ_ONLY, STATE, LOOK),
    "profiles": (("XDG_CONFIG_HOME", "your own profiles in gpu-tui/profiles, else ~/.config"),),
    **dict.fromkeys(("doctor", "check", "sweep", "clocks", "report", "pull"), (*READS, STATE)),
    "serve": (*READS, READ_ONLY),
    "exporter": READS,
}
NONE = frozenset({"help", "completion", "triage", "verify", "init"})  # no settings


def epilog(name: str, example: str) -> str:
    """The text under the flags of one command."""
    examples = example.split("; ")
    variables = [*VARIABLES.get(name, ()), *(() if name in NONE else (CONFIG,))]
    parts = [_part("examples" if len(examples) > 1 else "example", [(one, "") for one in examples])]
    parts.append(_part("exit code", [*EXITS.get(name, DONE), ("64", "a wrong command line")]))
    if variables:
        parts.append(_part("environment", variables))
    parts.append(say("The manual: gpu-tui help"))
    return "\n\n".join(parts)


def _part(title: str, rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(word) for word, _ in rows)
    lines = (f"  {word:{width}}  {say(text)}".rstrip() for word, text in rows)
    return "\n".join([f"{say(title)}:", *lines])
