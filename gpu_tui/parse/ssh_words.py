"""Words and numbers of an ssh_config line as OpenSSH takes them (its misc.c). Pure."""

from __future__ import annotations

import re

BLANKS = " \t"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME = re.compile(r"([0-9]{1,9})([smhdw]?)", re.ASCII | re.IGNORECASE)


def split(text: str) -> list[str]:
    r"""The words up to a comment. ValueError where a quote has no end.

    A shell would take the backslash out of `User CORP\alice`, and an apostrophe in a comment for a quote.
    """
    words: list[str] = []
    at = 0
    while at < len(text) and text[at] != "#":
        if text[at] in BLANKS:
            at += 1
            continue
        word, at = _word(text, at)
        words.append(word)
    return words


def _word(text: str, at: int) -> tuple[str, int]:
    """The word that begins at `at`, and where it ends."""
    word, quote = "", ""
    while at < len(text):
        letter, after = text[at], text[at + 1 : at + 2]
        if letter == "\\" and after and (after in "'\"\\" or (after == " " and not quote)):
            word, at = word + after, at + 1
        elif not quote and letter in BLANKS:
            break
        elif letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
        else:
            word += letter
        at += 1
    if quote:
        raise ValueError("No closing quotation")
    return word, at


def seconds(text: str) -> int | None:
    """A time such as `90`, `30s` or `1h30m`; None where it is none."""
    parts = _TIME.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(int(number) * _UNITS[unit.lower()] for number, unit in parts)


def hop(text: str) -> tuple[str | None, str, str]:
    """User, host and port of one hop of a ProxyJump: `[user@]host[:port]`, or as a URI."""
    user, _, host = text.strip().removeprefix("ssh://").rstrip("/").rpartition("@")
    port = ""
    if host.startswith("["):
        host, _, port = host[1:].partition("]")
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    return user or None, host, port.removeprefix(":")
