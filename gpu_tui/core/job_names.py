"""What a job is called, where only its command line is known. Pure; a command is a stranger's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from posixpath import basename

from gpu_tui.core.jobs import Job
from gpu_tui.core.plain import plain

WIDTH = 60
# A run that has a name says it by one of these; the first that is there counts.
_NAMED = re.compile(
    r"(?:^|\s)(?:--?(?:exp(?:eriment)?[_-]?name|run[_-]?name|name|exp|experiment|tag|job[_-]?name)|\+?name)"
    r"(?:\s+|=)[\"']?([^\s\"']{1,80})"
)
_CONFIG = re.compile(r"([^\s\"'=]{1,200})\.(?:ya?ml|json|toml|cfg|gin)\b")
_SCRIPT = re.compile(r"([^\s\"'=]{1,200})\.(?:py|sh)\b")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_MODULE = re.compile(r"\s-m\s+([A-Za-z_][\w.]{0,80})")


def name_of_command(command: str) -> str:
    """The run's own name if the command says one, else its config, its script, its module, its program."""
    for pattern in (_NAMED, _CONFIG, _SCRIPT, _MODULE):
        if match := pattern.search(command):
            return plain(basename(match[1]) or match[1], WIDTH)
    words = command.split()
    while words and _ASSIGNMENT.match(words[0]):  # may be a key, and is no program
        del words[0]
    return plain(basename(words[0]) or words[0], WIDTH) if words else "job"


def name_of_arguments(argv: Sequence[str]) -> str:
    """As of a command line, from its argument list."""
    return name_of_command(" ".join(argv))


def unique(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """The same jobs; those that share a name get their id behind it, so that each stays a row of its own."""
    listed = tuple(jobs)
    count = Counter(job.name for job in listed)
    return tuple(
        job if count[job.name] == 1 else replace(job, name=f"{job.name}·{job.id}") for job in listed
    )
