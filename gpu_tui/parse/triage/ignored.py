"""Removes the parts of a line that no rule may match: zero counters, disabled flags, metrics, advice, addresses."""

from __future__ import annotations

import pcre2

_ADDRESS = pcre2.compile(r"\bhttps?://[^\s'\")\]]+", jit=True)

_TROUBLE = (
    r"(?:ooms?|nans?|infs?|errors?|fail\w{0,6}|killed|corrupt\w{0,4}|skip\w{0,4}|overflow\w{0,2}|preempt\w{0,6}|xid|"
    r"timeouts?|anomaly|fatal|abort(?:ed|s)?|crash(?:es|ed)?|panic|inactive|unhealthy|warnings|lost|evicted|stall\w{0,3})"
)
# A zero or empty value. Without one `_FLAG`, which is slow, cannot fit.
_NO_VALUE = pcre2.compile(
    r"[:=][\s.]{0,40}(?:0(?![.\dx%])|0x0+\b|0\.0+\b|(?:false|off|none|null|no)\b)",
    pcre2.IGNORECASE,
    jit=True,
)
# `KeyError: 0` is an exception; `loss: nan:   0%|` begins a bar.
_FLAG = pcre2.compile(
    rf"(?:(?-i:(?<![a-z])|(?=[a-z]|Errors)){_TROUBLE})(?:Counter|(?:_[a-z]{{2,16}}){{1,3}}|(?: [a-z]{{2,16}}){{0,2}} (?:[a-z]{{2,16}}s(?: so far)?|found|once|total|detected))?[\"']?\s?[:=](?:\s{{0,20}}|\.{{3,40}})"
    r"(?:0(?![.\dx%]|it\b)|0x0+\b|0\.0+\b|(?:false|off|none|null|no)(?=\s*(?:[,;|)}\]\"]|$)))",
    pcre2.IGNORECASE,
    jit=True,
)
_NONE_OF = {
    "no errors": rf"(?<![.\d#/_-])\b(?:no|without(?: any)?) (?:\w+ )?(?:{_TROUBLE}|warnings?)\b(?! (?:space|such|found at))",
    "0 errors": r"(?<![.\d#/_:-])\b0(?:(?:/| of )\d{1,7})? (?:\w+ )?(?:errors|failures|warnings|nans?|ooms?|overflows|xids|crashes|(?:failed|corrupt|skipped|lost) \w+s)\b",
    "0 failed": rf"(?:^|(?<=[,;(|\[])|(?<=[,;:=|/] ))0(?:(?:/| of )\d{{1,7}})? (?:\w+ )?{_TROUBLE}\b",
    "0 pods evicted": rf"\b(?:0|no) (?!has|was|status)\w{{2,16}}s (?:\([^()]{{1,30}}\) )?(?:were |was )?{_TROUBLE}\b[^,;.]{{0,60}}",
}
# `error rate: 0.02` is a metric, `returned error 0` a success.
_METRIC = pcre2.compile(
    r"\b(?:errors?|fail(?:ure)?)(?: rate)?\s?[:=]?\s{0,3}(?:\d{0,6}\.\d+(?:e[-+]?\d+)?%?(?![\w.])|(?<=error )0(?![\w.:]))",
    pcre2.IGNORECASE,
    jit=True,
)
_COUNT = pcre2.compile("|".join(_NONE_OF.values()), pcre2.IGNORECASE, jit=True)
_NONE = pcre2.compile(r"\b(?:0|no|without)\b", pcre2.IGNORECASE, jit=True)

_SENTENCE = r"(?:(?![.!?] [A-Z])[^\n]){0,600}"  # up to its end
_SUBJECT = r"(?:you|it|this|that|the|there|your|an?|of)"
_PERHAPS = r"(?:(?:may|might|can|could)(?: potentially| also)?|(?:may|might) not) (?:be|have|cause|lead|result|help|want|need)"
_ADVICE = pcre2.compile(
    rf"(?:^\W{{0,4}}(?:If|In case|Note) {_SUBJECT}\b|^\W{{0,4}}(?:(?:Tip|Hint|Solution|Possible cause)s?: [A-Za-z]|See |Consider )|"
    r"(?<=[,;(]\s)if you (?:get|see|hit|face|have|encounter|experience|receive|run into)\b|"
    rf"(?<=\s)If {_SUBJECT}\b|"
    r"(?<=[.!?] )(?=[A-Z])"
    rf"(?:(?![.!?] [A-Z]).){{0,60}}?\b(?:[Ii]f {_SUBJECT}\b|[Ii]n case\b|{_PERHAPS}\b|[Hh]elps?\b|[Aa]void|[Pp]revents?\b|"
    r"[Cc]onsider\b|(?:Tip|Hint|Note):|Note that\b)(?!.{0,400}(?:ignor|disregard|harmless|n.?t need|not required|optional|automatic|disabled)))"
    rf"{_SENTENCE}",
    jit=True,
)
_ADVISES = pcre2.compile(
    r"\b(?:if|in case|may|might|could|can|helps?|avoid|prevents?|consider|tips?|hints?|solution|possible|see|note)\b",
    pcre2.IGNORECASE,
    jit=True,
)


# Most lines hold none of these parts, and one search finds that out.
_ANYTHING = pcre2.compile(
    "|".join(
        (r"://", _ADVISES.pattern, _METRIC.pattern, _NO_VALUE.pattern, _NONE.pattern),
    ),
    pcre2.IGNORECASE,
    jit=True,
)


def without_ignored(text: str) -> str:
    """The text with each of these parts replaced by a space, and each address by `URL`."""
    if not _ANYTHING.search(text):
        return text
    if "://" in text:
        text = _ADDRESS.sub("URL", text)
    if _ADVISES.search(text):
        text = _ADVICE.sub(" ", text)
    text = _METRIC.sub(" ", text)
    if _NO_VALUE.search(text):
        text = _FLAG.sub(" ", text)
    if _NONE.search(text):
        text = _COUNT.sub(" ", text)
    return text
