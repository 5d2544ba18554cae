"""Words of a line that raise no alarm whatever they are: a counter that is zero, a flag that is off, an address."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"\bhttps?://[^\s'\")\]]+")
_ZERO = re.compile(  # a counter that is zero, a flag that is off: dead words
    r"(?!(?-i:(?:Key|Index|Value|Assertion|Runtime)Error: (?:0(?:\s*$|/\d|\s[A-Za-z])|No \")))\b\w{0,24}(?:oom|ooms|nan|inf|error|errors|fail\w{0,6}|killed|corrupt\w{0,4}|skip\w{0,4}|overflow\w{0,2}|preempt\w{0,6}|xid|timeouts?|anomaly|fatal|aborted|crashe?[sd]?|panic)"
    r"(?:[_ ](?:iters?|iterations|steps?|count|total|samples|batches|kill|skipped|found|images|files|labels))?[\"']?\s?[:=]\s{0,6}(?:0(?![.\d])|0\.0+\b|(?:false|off|none|null|no)(?=\s*(?:[,;|)}\]\"]|$)))"
    # "Trial 0 failed" counts from zero; it does not say that none failed.
    r"|(?<!rank )(?<!trial )(?<!task )(?<!worker )(?<!node )(?<!cell )(?<!job )(?<!fold )(?<!replica )(?<!process )(?<!actor )(?<!gpu )(?<!run )(?<!stage )(?<!shard )(?<!device )(?<!exit code )(?<![._\d])\b(?:0|no|without(?: any)?) (?:\w+ )?(?:errors?|fail(?:ed|ures?)?|corrupt(?:ed)?|nans?|ooms?|killed|overflows?|preempt\w+|xids?|warnings?)\b(?! (?:space|such|found at))",
    re.IGNORECASE,
)
TROUBLE = ("oom", "nan", "inf", "error", "fail", "kill", "corrupt", "skip", "overflow", "preempt", "xid", "timeout", "anomaly", "warning", "fatal", "abort", "crash", "panic")  # fmt: skip
DEAD = (_ADDRESS, _ZERO)
_INFO = re.compile("inf[0-9]*o")


def without_dead_words(text: str) -> tuple[str, str]:
    """The line without them, and its lower case, in which the needs of the rules are looked for."""
    if "://" in text:
        text = _ADDRESS.sub("URL", text)
    text = cut(text, dead_words(text))
    return text, lower(text)


def dead_words(text: str) -> tuple[tuple[int, int], ...]:
    """From where to where they stand, addresses left out."""
    low = lower(text)
    if not any(word in low for word in TROUBLE):
        return ()
    return tuple(match.span() for match in _ZERO.finditer(text))


def cut(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    """The text with a space for each span."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    return " ".join([*parts, text[at:]])


def lower(text: str) -> str:
    """In lower case; `info` is left out, or every INFO line would be asked for `inf`, with digits inside too:
    whoever looks at a line without its digits cannot tell.
    """
    low = text.lower()
    return _INFO.sub(" ", low) if "inf" in low else low
