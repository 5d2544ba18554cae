"""What a login asks a person: secrets that stand nowhere and are kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass

MOST_FIELDS = 8  # a server that asks for more is not asking a person
MOST_LINES = 12  # of one text
MOST_ROUNDS = 8  # questions one after another in a single login


@dataclass(frozen=True, slots=True)
class Prompt:
    """One field. `text` is safe to show, several lines of it maybe; `echo`: the answer may be seen."""

    text: str
    echo: bool = False


@dataclass(frozen=True, slots=True)
class Prompts:
    """One question with its fields.

    `who` is the login that it is for, `user@host`; `hop` the jump host that asks, None where it is
    the box itself; `title` says in our words what is asked, `note` in the server's, made safe.
    """

    instance: str
    who: str
    title: str
    fields: tuple[Prompt, ...]
    hop: str | None = None
    note: str = ""
