"""What must not leave this machine in a recording or a report: keys, tokens and passwords, by their looks.

A table of shapes; the first group of a row, where it has one, stays. It is a net, not a proof: who
shares a recording shares the logs of his run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

# Between a name and its value: a sign, or a blank (0x1f between two arguments is one); quotes may be escaped.
_SIGN = r"(?:\\?[\"']?\s{0,4}[=:]\s{0,4}\\?[\"']?)"
_THEN = rf"(?:{_SIGN}|\\?[\"']?(?:\s{{1,4}}|,\s{{0,4}})\\?[\"']?)"
# Sixteen characters or more, of which twelve in a row are letters with at least two digits, or padded base64: no
# word and no path has these.
_RANDOM = (
    r"(?!(?:~|\.{1,2})?/(?:home|root|users|data|mnt|tmp|etc|opt|usr|var|run|srv|workspace)\b)"
    r"(?=[\w+/%=.~-]{0,64}?(?<![A-Za-z0-9])(?=[A-Za-z0-9]{12})(?=[A-Za-z]{0,32}\d[A-Za-z]{0,32}\d)"
    r"(?=\d{0,32}[A-Za-z])|[A-Za-z0-9+/]{30,512}=)[\w+/%=.~-]{16,1024}"
)
# What is called a key and is none that opens anything; its value may look as if it were.
_NO_SECRET = (
    "public host cache hash sort primary foreign partition row object content dedup idempotency cell run job config"
    " data dataset image sample index state metric group lookup"
)

_SHAPES = (
    # Tokens that name their maker by a prefix.
    r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{16,}|rpa_[A-Za-z0-9]{16,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}"
    r"|nvapi-[\w-]{20,}|wandb_v1_\w{20,}|npm_[A-Za-z0-9]{30,}|pypi-AgE[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|dckr_pat_[\w-]{20,}|tskey-[a-z]{2,12}-[\w-]{16,}|\d{8,10}:AA[\w-]{33})",
    # Who knows such an address may write there.
    r"(\bhttps://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)[\w/-]{20,}",
    # Only at the start of a run of its letters: else a run of many starts costs the square of its length.
    r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}",
    r"(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}",
    r"(://[^\s:/@]{0,64}:)[^\s/@]{1,256}(?=@)",
    # NAME=value and --name value. `tokens=4096` and a bare number are what training logs say.
    r"((?:(?:api|access|account)[_-]?key|secret|passw(?:or)?d|passphrase|credential|auth_?token|(?<![a-z])token)s?"
    r"[\"']?(?:\s*[=:]\s*|\s+)[\"']?)(?![\d.]+\b|<|\[hidden\]|none\b|null\b|true\b|false\b)"
    r"(?=[^\s\"',;]*[\d\W_])[^\s\"',;]{8,}",
    # What stands at a password's name behind a sign is none of a training's numbers, however short.
    r"((?:passw(?:or)?d|passphrase)[\"']?\s{0,4}[=:]\s{0,4}[\"']?)"
    r"(?!<|\[hidden\]|none\b|null\b|true\b|false\b)[^\s\"',;]{4,}",
    # A pod's environment, as kubectl prints it; also inside of an annotation, where quotes are escaped.
    r'("name\\?":\s*\\?"[^"\\]{0,80}(?:key|token|secret|passw|credential|auth)[^"\\]{0,80}\\?",'
    r'\s*\\?"value\\?":\s*\\?")[^"\\]+',
    # Any other key by its name: `--wandb-key`, `OPENAI_KEY`. With a blank in the name a sign follows.
    rf"((?=[_-]key){''.join(f'(?<!{name})' for name in _NO_SECRET.split())}[_-]keys?{_THEN}){_RANDOM}",
    rf"(\b(?:api|access|account|secret|auth|storage|private)\s(?:key|token){_SIGN})"
    r"(?!https?:)(?=[^\s\"',;]{0,256}\d)[^\s\"',;]{8,}",
    # The forty digits that wandb once had for a key, said to its login or asked for by it.
    r"(\bwandb\b.{0,48}?(?:login|key|token)(?:\W{1,4}(?:-{1,2}\w{1,16}[\s=]{1,2}|key=[\"']?){0,3}"
    r"|[^\n:]{0,80}(?:enter|quit)[^\n:]{0,8}:\s{0,4}))[0-9a-f]{40}(?![0-9a-f])",
    # What programs take for a password without a name beside it.
    r"(\bm(?:ysql(?:dump|admin|import|check|sh)?|ariadb(?:-\w{1,12})?)"
    r"(?:\s{1,4}[^\s|;&]{1,128}){0,12}?\s{1,4}(?-i:-p)(?!rint0?\b|rune\b)[\"']?)[^\s\"'|;&]{1,256}",
    r"(\bsshpass(?:\s{1,4}-[^\s|;&]{1,64}){0,3}?\s{1,4}(?-i:-p)\s{0,4}[\"']?)[^\s\"']{1,256}",
    r"(\bcurl(?:\s{1,4}[^\s|;&]{1,160}){0,12}?\s{1,4}(?:-u|--(?:proxy-)?user)[\s=]{0,4}[\"']?"
    r"(?!https?:)[^\s:\"'/]{1,64}:)[^\s\"']{1,256}",
    # A link that was signed: who has it needs no key.
    r"(\bX-(?:Amz|Goog|Oss|Cos|Tos|Obs)-(?:Signature|Credential|Security-Token)(?:=|%3D))[^\s&\"'<>\\]{8,}",
    rf"(\b(?<![.-])sig(?:nature)?=){_RANDOM}",
    # A private key: its first line, and lines of nothing but base64 that are no digest.
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*",
    r"^(?![0-9a-fA-F]+$)(?=\S*[A-Z])(?=\S*[a-z])[A-Za-z0-9+/]{64,76}={0,2}$",
)
_SECRET = tuple(re.compile(shape, re.IGNORECASE | re.MULTILINE) for shape in _SHAPES)


SHORT = 6  # characters: a known word that is shorter may be a part of any other
SHORTEST = 4  # and of these none is looked for: it would say more where it is hidden
LONGEST = 2_048  # characters of a secret that is found where a text is cut


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` without what looks like a secret, and without the `known` ones."""
    for secret in sorted(known, key=len, reverse=True):  # a short one may be a part of a longer one
        text = _without(text, secret)
    for shape in _SECRET:
        text = shape.sub(
            lambda found: (found[1] or "") + HIDDEN if found.re.groups else HIDDEN, text
        )
    return text


def seam(text: str, known: Iterable[str], at: int) -> int:
    """The last place up to `at` where `text` may be cut in two, each of them redacted by itself.

    Behind `at` there are LONGEST characters more, or the end. 0 where one secret lies over all of it.
    """
    begin = max(0, at - 2 * LONGEST)
    near = text[begin : at + LONGEST]
    spans = [found.span() for shape in _SECRET for found in shape.finditer(near)]
    for secret in known:
        if len(secret) >= SHORTEST:
            spans += [found.span() for found in re.finditer(re.escape(secret), near)]
    for first, last in sorted(spans, reverse=True):
        if begin + first < at < begin + last:
            at = begin + first
    return at


def _without(text: str, secret: str) -> str:
    """Without a known one; also without what a cut left of it at the beginning and the end of the text."""
    if len(secret) < SHORT:
        word = rf"(?<!\w){re.escape(secret)}(?!\w)"
        return re.sub(word, HIDDEN, text) if len(secret) >= SHORTEST else text
    text = text.replace(secret, HIDDEN)
    sizes = range(len(secret) - 1, SHORT - 1, -1)
    if text[:SHORT] in secret:
        size = next((size for size in sizes if text.startswith(secret[-size:])), 0)
        text = HIDDEN + text[size:] if size else text
    if text[-SHORT:] in secret:
        size = next((size for size in sizes if text.endswith(secret[:size])), 0)
        text = text[: len(text) - size] + HIDDEN if size else text
    return text
