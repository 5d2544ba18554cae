"""Words of an ssh_config line as OpenSSH takes them (its misc.c). Pure."""

from __future__ import annotations

BLANKS = " \t"


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


def hop(text: str) -> tuple[str | None, str, str]:
    """User, host and port of one hop of a ProxyJump: `[user@]host[:port]`, or as a URI."""
    user, _, host = text.strip().removeprefix("ssh://").rstrip("/").rpartition("@")
    port = ""
    if host.startswith("["):
        host, _, port = host[1:].partition("]")
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    return user or None, host, port.removeprefix(":")
