"""How a host may be written: an ssh alias, user@host, ssh://user@host:port, [v6]."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

# An alias may have letters of any language, as ssh takes them; of ASCII, what a name can have. It may be longer than
# the 253 characters of DNS, which are for the name behind it.
LONGEST = 1_024  # as the system's own calls take them
_HOST = re.compile(r"(?:\w|[^\x00-\x7f])(?:[\w.-]|[^\x00-\x7f])*", re.ASCII)
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}", re.ASCII)
# Of a line to copy, as consoles give it: "ssh -p 12345 root@host", "ssh root@host -p 12345 -i KEY".
_LOGIN = re.compile(r"\s([A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9._-]+)(?=\s|$)", re.ASCII)
_DASH_P = re.compile(r"\s-p\s*([0-9]{1,5})(?=\s|$)", re.ASCII)
_EXAMPLES = "Write an alias of ~/.ssh/config, user@host, or ssh://user@host:port."


class AddressError(ValueError):
    """Not a host. `text` says why, `next` what to write."""

    def __init__(self, text: str, next: str = _EXAMPLES) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


@dataclass(frozen=True, slots=True)
class HostAddress:
    """A host and what was said about reaching it; None = ask ~/.ssh/config."""

    host: str
    user: str | None = None
    port: int | None = None


def parse_host(text: str) -> HostAddress:
    """The address in `text`; AddressError if it is none. A password is refused and never repeated."""
    if text.startswith("ssh "):
        raise _command(text)
    is_url = text.startswith("ssh://")
    rest = text.removeprefix("ssh://").removesuffix("/") if is_url else text
    user, at, host = rest.rpartition("@")
    if at and ":" in user:
        raise AddressError("a password does not belong into a host", "Use a key; write user@host.")
    if at and not _USER.fullmatch(user):
        raise AddressError(f"{user!r} is not a user name")
    host, port = _split_port(host, text, is_url)
    return HostAddress(host, user if at else None, port)


def _command(text: str) -> AddressError:
    """What to write in place of a whole ssh command."""
    login, port = _LOGIN.search(text), _DASH_P.search(text)
    says = "a host is wanted here, not a whole ssh command"
    if login is None:
        return AddressError(says)
    return AddressError(says, f"Write ssh://{login[1]}{f':{port[1]}' if port else ''}.")


def _split_port(host: str, text: str, is_url: bool) -> tuple[str, int | None]:
    bracket = re.fullmatch(r"\[([0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)\](?::([0-9]{1,5}))?", host)
    if bracket:
        return _v6(bracket.group(1)), _port(bracket.group(2))
    if host.count(":") > 1:
        return _v6(host), None
    name, colon, port = host.partition(":")
    if (count := len(name)) > LONGEST:
        raise AddressError(f"a host of {count} characters: the most is {LONGEST}")
    if not (_HOST.fullmatch(name) and name.isprintable()):
        raise AddressError(f"{text!r} is not a host")
    if colon and not is_url:
        user = text.rpartition("@")[0]
        whole = f"{user}@{name}" if user else name
        raise AddressError(
            f"{text!r} has a port without ssh://", f"Write ssh://{whole}:{port or 22}"
        )
    return name, _port(port) if colon else None


def _v6(text: str) -> str:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        raise AddressError(
            f"{text!r} is not an IPv6 address", "Write it like [2001:db8::1]."
        ) from None
    return text


def _port(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65_535:
        raise AddressError(f"{text!r} is not a port", "Ports are numbers from 1 to 65535.")
    return int(text)
