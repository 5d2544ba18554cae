"""Completes a line by argcomplete, without a shell."""

from __future__ import annotations

from itertools import count

from gpu_tui.cli.completion import OPTIONS, Finder, all_commands


def completed(line: str) -> list[str]:
    """The completions of the last word of `gpu-tui LINE`. `--flag=` is completed in a real shell only."""
    finder, last = Finder(all_commands(line), **OPTIONS), line.rpartition(" ")[0]
    ends = iter(lambda: finder.rl_complete(f" {line}", next(number)), None)
    number = count()
    return sorted(end.removeprefix(f" {last} ").strip() for end in ends)
