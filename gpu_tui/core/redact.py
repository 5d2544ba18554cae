"""What must not leave this machine in a recording or a report: keys, tokens and passwords, by their looks.

A table of shapes; the first group of a row, where it has one, stays. It is a net, not a proof: who
shares a recording shares the logs of his run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

_SHAPES = (
    # Tokens that name their maker by a prefix.
    r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{16,}|rpa_[A-Za-z0-9]{16,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,})",
    # Only at the start of a run of its letters: else a run of many starts costs the square of its length.
    r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}",
    r"(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}",
    r"(://[^\s:/@]{1,64}:)[^\s/@]{1,256}(?=@)",
    # NAME=value and --name value. `tokens=4096` and a bare number are what training logs say.
    r"((?:api_?key|access_?key|secret|passw(?:or)?d|passphrase|credential|auth_?token|(?<![a-z])token)s?"
    r"[\"']?(?:\s*[=:]\s*|\s+)[\"']?)(?![\d.]+\b|<|\[hidden\]|none\b|null\b|true\b|false\b)"
    r"(?=[^\s\"',;]*[\d\W_])[^\s\"',;]{8,}",
    # A pod's environment, as kubectl prints it; also inside of an annotation, where quotes are escaped.
    r'("name\\?":\s*\\?"[^"\\]{0,80}(?:key|token|secret|passw|credential|auth)[^"\\]{0,80}\\?",'
    r'\s*\\?"value\\?":\s*\\?")[^"\\]+',
    r"(\bwandb[_ ](?:login|api_key)\W{1,3})[0-9a-f]{40}",
    # A private key: its first line, and lines of nothing but base64 that are no digest.
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*",
    r"^(?![0-9a-fA-F]+$)(?=\S*[A-Z])(?=\S*[a-z])[A-Za-z0-9+/]{64,76}={0,2}$",
)
_SECRET = tuple(re.compile(shape, re.IGNORECASE | re.MULTILINE) for shape in _SHAPES)


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` without what looks like a secret, and without the `known` ones."""
    for secret in known:
        if len(secret) >= 6:
            text = text.replace(secret, HIDDEN)
    for shape in _SECRET:
        text = shape.sub(
            lambda found: (found[1] or "") + HIDDEN if found.re.groups else HIDDEN, text
        )
    return text
