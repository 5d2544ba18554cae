"""What a text must lose before a stranger may read it: secrets, addresses, and whose home it is. Pure.

A net like `redact`, not a proof: who hands a text on has read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar, cast

from gpu_tui.core.redact import redact

T = TypeVar("T")

HOST = "[host]"
_HOME = re.compile(r"(?<![\w~./-])(?:/home/[A-Za-z0-9._-]+|/Users/[A-Za-z0-9._-]+|/root)(?![\w.-])")
_ADDRESS = re.compile(
    r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\d.])"
    r"|\[[0-9A-Fa-f:]*:[0-9A-Fa-f:]+\](?::\d{1,5})?"
    r"|(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}"
    r"|(?=:{0,2}[0-9a-f])(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?)(?![\w:])"
    r"|\b[a-z0-9.-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mask:
    """`secrets` and `hosts` are known words; with `show_hosts` addresses stay."""

    secrets: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = ()
    home: str | None = None
    show_hosts: bool = False

    def __call__(self, text: str) -> str:
        """The text without them."""
        text = redact(text, self.secrets)
        if not self.show_hosts:
            text = _without(text, self.hosts)
            text = _ADDRESS.sub(HOST, text)
        if self.home and self.home != "/":
            text = text.replace(self.home, "~")
        return _HOME.sub("~", text)


def masked(value: T, mask: Callable[[str], str]) -> T:
    """A value whose every text went through `mask`: of frozen dataclasses, sequences, sets and mappings."""
    return cast(T, _masked(value, mask))


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if value is None or isinstance(value, Enum | int | float):
        return value
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {_masked(key, mask): _masked(one, mask) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_masked(one, mask) for one in value))
    if isinstance(value, tuple | list | set | frozenset):
        return type(value)(_masked(one, mask) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        changed = {name: _masked(one, mask) for name, one in found.items()}
        return replace(value, **changed) if changed != found else value
    return value


def _without(text: str, hosts: Iterable[str]) -> str:
    for host in sorted(hosts, key=len, reverse=True):
        if len(host) >= 3:
            text = re.sub(rf"(?<![\w-]){re.escape(host)}(?::\d{{1,5}})?(?![\w-])", HOST, text)
    return text


def shell_path(path: str) -> str:
    """A path of a box as one word of a shell, its home as `~`: of the login who types it."""
    home = _HOME.match(path)
    head, rest = ("~", path[home.end() :]) if home else ("", path)
    if path.startswith("~/"):
        head, rest = "~", path[1:]
    if head + rest and re.fullmatch(r"[\w./+=:@%,-]*", rest, re.ASCII):
        return head + rest
    head, rest = (head + "/", rest[1:]) if head and rest.startswith("/") else (head, rest)
    return head + "'" + rest.replace("'", "'\\''") + "'"
