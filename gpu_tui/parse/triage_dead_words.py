"""Words of a line that raise no alarm whatever they are: a counter that is zero, a flag that is off, an address,
a sentence that only advises.
"""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"\bhttps?://[^\s'\")\]]+")
_ZERO = re.compile(  # a counter that is zero, a flag that is off: dead words
    r"(?!(?-i:(?:Key|Index|Value|Assertion|Runtime)Error: (?:0(?:\s*$|/\d|\s[A-Za-z])|"
    r"No \")|(?:Key|Index|Value|Assertion|Runtime|Type|Attribute|OS|Lookup)Error: (?:None|False)\s*$))"
    # A value before a bar counts nothing: `loss: nan:   0% 12/9000 [`.
    r"(?!(?:(?<=[:=])|(?<=[:=] )|(?<=[:=]-)|(?<=[:=] -)|(?<=loss ))nan: {0,8}0(?:%|it\b))\b\w{0,24}(?:ooms?|nans?|infs?|error|errors|fail\w{0,6}|killed|corrupt\w{0,4}|skip\w{0,4}|"
    r"overflow\w{0,2}|preempt\w{0,6}|xid|timeouts?|anomaly|fatal|abort(?:ed|s)?|crashe?[sd]?|panic)"
    r"(?:Counter|[_ ](?:iters?|iterations|steps?|count|total|samples|batches|kill|skipped|found|images|files|"
    r"labels)|(?: [a-z]{2,16}){0,2} [a-z]{2,16}[a-rt-z]s(?: so far)?)?[\"']?\s?[:=](?:\s{0,6}|\.{3,40})(?:0(?![.\dx])|0x0{1,16}\b|0\.0+\b|(?:false|off|none|null|"
    r"no)(?=\s*(?:[,;|)}\]\"]|$)))"
    r"|(?<![.\d])\b(?:0|no) \w{2,16}s (?:\([^()]{1,30}\) )?(?:were |was )?(?:killed|evicted|lost) (?:due to|by|for) [^,;.]{1,60}"
    # "Trial 0 failed" counts from zero; it does not say that none failed.
    r"|"
    r"(?<!rank )(?<!thread )(?<!trial )(?<!task )(?<!worker )(?<!node )(?<!cell )(?<!job )(?<!fold )(?<!replica )(?<!process )(?<!actor )(?<!gpu )(?<!run )(?<!stage )(?<!shard )(?<!device )(?<!exit code )(?<![._#/\d])(?<!\w-)(?<!gpu:)(?<!cuda:)(?<!npu:)\b(?:0(?:(?:/| of )\d{1,7})?|"
    r"no|without(?: any)?) (?:\w+ )?(?:errors?|fail(?:ed|ures?)?|corrupt(?:ed)?|nans?|ooms?|killed|"
    r"overflows?|preempt\w+|xids?|warnings?|inactive|unhealthy|crashed)\b(?! (?:space|such|found at))",
    re.IGNORECASE,
)
TROUBLE = ("oom", "nan", "inf", "error", "fail", "kill", "corrupt", "skip", "overflow", "preempt", "xid", "timeout", "anomaly", "warning", "fatal", "abort", "crash", "panic", "inactive", "unhealthy")  # fmt: skip
_SAME = r"(?:(?![.!?] [A-Z])[^\n])"  # no new sentence begins
# What to do about it, behind the sentence that told it, or where a line begins: that one stands, this one tells of nothing.
_ADVICE = re.compile(
    rf"(?:^\W{{0,4}}(?:If|In case|Note) (?:you|it|this|that|the|there|your|a|an|of)\b|"
    rf"(?<=[,;(]\s)if you (?:get|see|hit|face|have|encounter|experience|receive|run into)\b|(?<=\s)(?-i:If) (?:you|it|this|the|there|your|an?)\b|"
    rf"(?<=[.!?] )(?=[A-Z])(?!{_SAME}{{0,400}}?(?:[Ii]gnor|[Dd]isregard|harmless|n.?t need|not required|"
    rf"optional|automatic|disabled))"
    rf"{_SAME}{{0,60}}?\b(?:[Ii]f (?:you|it|this|that|the|there|your|a|not)\b|[Ii]n case\b|"
    rf"(?:may|might|can) (?:potentially |also |not )?(?:be|have|cause|lead|result|help|want|need)\b|"
    rf"could (?:potentially |also )?(?:be|have|cause|lead|result|help|want|need)\b|[Hh]elps?\b|"
    rf"[Aa]void|[Pp]revents?\b|[Cc]onsider\b|(?:Tip|Hint|Note):|Note that\b))"
    rf"{_SAME}{{0,600}}"
)
_ADVISES = ("if ", "in case", "may ", "might ", "could ", "can ", "help", "avoid", "prevent", "consider", "tip:", "hint:", "note")  # fmt: skip
DEAD = (_ADDRESS, _ZERO, _ADVICE)
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
    advice = _spans(_ADVICE, text) if any(word in low for word in _ADVISES) else []
    zeros = _spans(_ZERO, text) if any(word in low for word in TROUBLE) else []
    alone = (zero for zero in zeros if not any(start <= zero[0] < end for start, end in advice))
    return tuple(sorted((*advice, *alone)))


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


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
