"""From an argument list to one command's exit code.

A command is a module of this package with EXAMPLE, `configure(parser)` and `run(args)`.
Only the module that is asked for is imported; each imports what is heavy inside `run`, because a TAB waits for
`configure`.
"""

from __future__ import annotations

import argparse
import atexit
import difflib
import gc
import importlib
import json
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from gpu_tui import __version__
from gpu_tui.cli import streams
from gpu_tui.cli.epilog import epilog
from gpu_tui.cli.trouble import is_expected, shown, words_of
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import LANGUAGES, say, told
from gpu_tui.language import choose, of_locale, speak_in
from gpu_tui.parse.triage.source import set_rule_source
from gpu_tui.places import config_dir

if TYPE_CHECKING:
    from gpu_tui.parse.triage.rule_set import RuleSet
    from gpu_tui.user_rules import Loaded

COMMANDS: Mapping[str, str] = {  # each with one line about it
    "watch": "open the cockpit on these hosts, without a fleet file",
    "demo": "open the cockpit on simulated boxes behind real SSH servers on loopback",
    "init": "write a commented fleet.yaml from the hosts of ~/.ssh/config",
    "doctor": "audit the way to each box, what it can tell, and this machine",
    "check": "one patrol tick over the whole fleet, for cron",
    "sweep": "the whole sweep: every cell, when it ends, what it costs, what to move",
    "triage": "classify the lines of a log, from a file or standard input",
    "verify": "check a local directory of results: roster, sizes, hashes, and every checkpoint loads",
    "pull": "pull, match and load the results of one instance, without teardown",
    "clocks": "all danger clocks; `clocks mark NAME stopped TIME` sets one by hand",
    "journal": "show the teardown journal, check that nobody changed it, or state how a teardown ended",
    "profiles": "the facts of each platform, and which of them need a fresh look",
    "exporter": "serve the fleet's metrics to Prometheus, on loopback",
    "record": "record every byte and event of a fleet, to be replayed",
    "replay": "open the cockpit on a recording: pause, speed, seek, next finding",
    "report": "the hand-over: what runs where, verified or not, deadlines, how each queue goes on",
    "serve": "the cockpit in a browser: this machine only, read-only, unless asked otherwise",
    "completion": "what bash, zsh or fish needs to complete commands, flags and names",
    "help": "the manual, a page at a time: fleet, keys, teardown, logs, replay, and more",
}
# The triage rules of this process; empty until the first line is judged.
_loaded_rules: list[Loaded] = []
COCKPIT = "cockpit"  # what runs when no command is named
COCKPIT_HELP = "open the cockpit (what `gpu-tui` alone does)"
# New objects before a garbage collection: nothing that modules bring is garbage, and a check makes 120,000.
LOADING = 200_000

VALUE_FLAGS = (
    "--config",
    "--fleet",
    "--theme",
    "--layout",
    "--platform",
    "--language",
)  # may stand before the command

# How like an option or a command a word must be to be taken for it: --theme is no --help.
NEAR = 0.7

USAGE = 64
FAILED = 2
BUG = 70
INTERRUPTED = 130
# As a shell tells a program that SIGPIPE ended: 2 says of some commands that no box could be read.
UNHEARD = 141


class Command(Protocol):
    """What a module of this package must have to be a command."""

    EXAMPLE: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add this command's flags."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the result is the exit code."""
        ...


class UsageError(Exception):
    """The command line is wrong."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Argparse's formatter, with usage and headings in the user's language."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """The line above all."""
        super().add_usage(usage, actions, groups, say("usage: ") if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        """The title of a group of options."""
        super().start_section(say(heading or ""))


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are ours: one sentence, a next step, exit 64."""

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """A flag that explains itself in the language of the person."""
        if isinstance(options.get("help"), str):
            options["help"] = say(options["help"])
        return super().add_argument(*names, **options)

    def add_default(self, name: str, **options: Any) -> None:
        """Add an option, unless the command has one with this name."""
        with suppress(argparse.ArgumentError):
            self.add_argument(name, **options)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line; for a mistyped option the one that was meant is named."""
        word = message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
        if message.startswith("unrecognized arguments: -"):
            close = difflib.get_close_matches(word, self._option_string_actions, n=1, cutoff=NEAR)
            if close and close[0] != word:  # there is one, but not where it stands
                hint = f"Did you mean {close[0]}? See: {self.prog} --help"
                raise UsageError(f"there is no option {word}", hint)
        raise UsageError(message, f"See: {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `gpu-tui` with `argv` (default: the process's) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    gc.set_threshold(LOADING, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # otherwise the interpreter collects twice while it exits: 0.15 s
    streams.mend()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks on TAB
        from gpu_tui.cli.completion import complete

        _choose_language([])
        complete()
    set_rule_source(_triage_rules)
    try:
        code = _dispatch(words)
        sys.stdout.flush()  # here: what cannot be written is told, and is no success
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return UNHEARD
    except Exception as error:  # the last place before the shell: nothing leaves as a traceback
        if _was_interrupted(error):
            return INTERRUPTED
        if debug:
            traceback.print_exc()
        _tell(error, as_json=_wants_json(words))
        if isinstance(error, UsageError):
            return USAGE
        return FAILED if is_expected(error) else BUG
    finally:
        _print_slow_patterns()
        streams.settle()


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt led to `error`: Python 3.11 raises RuntimeError for any exception of a `__set_name__`."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _triage_rules() -> RuleSet:
    from gpu_tui.user_rules import load

    loaded = load()
    _loaded_rules[:] = [loaded]
    return loaded.rules


def _print_slow_patterns() -> None:
    """Report on stderr each pattern of the user's rules that exceeded its time limit."""
    with suppress(OSError):
        for sentence in (one for loaded in _loaded_rules for one in loaded.slow_patterns):
            print(f"gpu-tui: {plain(told(sentence), 400)}", file=sys.stderr)


def command(name: str) -> Command:
    """The module of one command."""
    return cast("Command", importlib.import_module(f"gpu_tui.cli.{name}"))


def parser_of(name: str) -> Parser:
    """The complete parser of one command."""
    parser = Parser(
        prog="gpu-tui" if name == COCKPIT else f"gpu-tui {name}",
        description=_sentence(say(COMMANDS.get(name, COCKPIT_HELP))),
        epilog=epilog(name, command(name).EXAMPLE),
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    configure(parser, name)
    return parser


def configure(parser: Parser, name: str) -> None:
    """Add the arguments of one command, and those that all commands share."""
    command(name).configure(parser)
    parser.add_default(
        "--config", metavar="FILE", help="your settings, instead of the usual config.yaml"
    )
    parser.add_default(
        "--language",
        type=of_locale,
        choices=LANGUAGES,
        help="of the screen and the manual; else by your locale",
    )
    parser.add_default("--debug", action="store_true", help="show tracebacks")


def _dispatch(words: list[str]) -> int:
    _choose_language(words)
    name, rest = _split(words)
    if name is None and "--version" in rest:
        print(f"gpu-tui {__version__}")
        return 0
    if name is None and ("--help" in rest or "-h" in rest):
        print(_help())
        return 0
    chosen = name or COCKPIT
    try:
        args = parser_of(chosen).parse_args(rest)
    except SystemExit as left:  # --help prints and leaves
        return left.code if isinstance(left.code, int) else 0
    if args.config is not None:
        os.environ["GPU_TUI_CONFIG"] = args.config
    return command(chosen).run(args)


def _choose_language(words: Sequence[str]) -> None:
    """Settled before the parser, whose help is in it too. A config that cannot be read says so later."""
    flag = next((after for word, after in pairwise(words) if word == "--language"), None)
    flag = next((w.partition("=")[2] for w in words if w.startswith("--language=")), flag)
    config = next((after for word, after in pairwise(words) if word == "--config"), None)
    env = {**os.environ, "GPU_TUI_CONFIG": config} if config else os.environ
    flag = of_locale(flag) if flag else None
    configured = None if flag in LANGUAGES else _configured_language(env)
    speak_in(choose(flag if flag in LANGUAGES else None, configured, os.environ))


def _configured_language(env: Mapping[str, str]) -> str | None:
    """What the settings say; they are read only where they say something of it."""
    named = env.get("GPU_TUI_CONFIG")
    try:
        path = Path(named).expanduser() if named else config_dir(env) / "config.yaml"
        if not path.is_fifo() and not (path.is_file() and b"language" in path.read_bytes()):
            return None
        from gpu_tui.settings import load_config  # a few commands need no settings at all

        return load_config(env).language
    except Exception:  # whoever needs the settings tells what is wrong with them
        return None


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    """The command and the words for it; flags may stand before the command."""
    before: list[str] = []
    for at, word in enumerate(words):
        if word.startswith("-") or (before and before[-1] in VALUE_FLAGS):
            before.append(word)
        elif word in COMMANDS:
            return word, before + words[at + 1 :]
        else:
            flag = before[-1] if before else ""
            close = [one for one in VALUE_FLAGS if flag[2:] and one.startswith(flag)]
            if close:
                raise UsageError(
                    f"there is no option {flag}", f"Did you mean {close[0]}? See: gpu-tui --help"
                )
            close = difflib.get_close_matches(word, COMMANDS, n=1, cutoff=NEAR)
            hint = f"Did you mean `gpu-tui {close[0]}`?" if close else "See: gpu-tui --help"
            raise UsageError(f"there is no command {word!r}", hint)
    return None, before


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        say("usage: {usage}", usage="gpu-tui [COMMAND] [--fleet FILE] [--config FILE] [--debug]"),
        "",
        say("A terminal cockpit for people who babysit long GPU jobs on rented boxes."),
        say("Without a command it opens the cockpit on your fleet file."),
        "",
        *(f"  {name:{width}}  {say(text)}" for name, text in COMMANDS.items()),
        "",
        say("Every command explains itself: gpu-tui COMMAND --help"),
        say("example: {example}", example="gpu-tui demo"),
    ]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    stop = "." if text.isascii() else "。"
    return text[:1].upper() + text[1:].rstrip(".") + stop


def _wants_json(words: Sequence[str]) -> bool:
    """Asked of the bare words, for the command line itself may be what is wrong."""
    pairs = pairwise(words)
    return bool({"--json", "--format=json"} & {*words}) or ("--format", "json") in pairs


def _tell(error: Exception, *, as_json: bool) -> None:
    """One sentence and the next step on stderr; with --json also one object on stdout."""
    if as_json:
        from gpu_tui.core.redact import redact

        text, step = words_of(error)
        text, step = redact(text), step and redact(step)
        place = {"file": getattr(error, "file", None), "line": getattr(error, "line", None)}
        body = {"version": 1, "error": {"text": text, **place, "next": step}}
        with suppress(OSError):  # which may be what went wrong
            print(json.dumps(body, ensure_ascii=False))
    with suppress(OSError):
        print("gpu-tui: " + "\n".join(shown(error)), file=sys.stderr)
