"""What a triage rule is, how one is written, and the words that several rules share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from gpu_tui.core.findings import Severity
from gpu_tui.parse.triage_words import WILD, Written, needed_by

FATAL, SERIOUS, WARN, NONE = Severity
SHORTEST = 3  # characters of a need


class LatePattern:
    """A pattern that is compiled when it is first searched for; case does not matter to it.

    There are hundreds of large ones, which together take seconds; a log asks for a few of them.
    """

    __slots__ = ("flags", "pattern", "search")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.flags = int(re.IGNORECASE | re.UNICODE)
        self.search: Callable[[str], re.Match[str] | None] = self._compile

    def _compile(self, text: str) -> re.Match[str] | None:
        self.search = re.compile(self.pattern, self.flags).search
        return self.search(text)


@dataclass(frozen=True)
class Rule:
    """One row: a label and its severity where `pattern` and `also` are found and `unless` is not.

    `named` are lower-case substrings. `also` keeps two conditions apart that may stand far from each other:
    a gap inside one pattern would cost time.
    """

    label: str
    severity: Severity
    named: tuple[str, ...]
    pattern: LatePattern
    unless: LatePattern | None = None
    also: LatePattern | None = None

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """A line with none of these is not looked at: those `named`, and what the pattern asks for besides.

        So a word that was forgotten hides no line.
        """
        return _completed(self.named, self.pattern)

    def fits(self, text: str) -> bool:
        """True where the words are there and nothing says that they mean nothing."""
        if not self.pattern.search(text) or (self.also and not self.also.search(text)):
            return False
        return self.unless is None or not self.unless.search(text)


def rule(
    label: str,
    severity: Severity,
    needs: str,
    pattern: str,
    unless: str | None = None,
    *,
    also: str | None = None,
) -> Rule:
    """A row for a table. `needs` are separated by `|`, of three characters at least; patterns ignore case."""
    return Rule(
        label,
        severity,
        tuple(needs.split("|")),
        LatePattern(pattern),
        LatePattern(unless) if unless else None,
        LatePattern(also) if also else None,
    )


def _literals(words: list[str], source: str) -> list[str]:
    """Words that can be looked for as they stand. Digits are cut out of them: what stands in the source is safe."""
    long = [word for word in words if len(word) >= SHORTEST]
    parts = [part for word in long for part in word.split() if len(part) >= SHORTEST]
    return (
        [word for word in long if word in source]
        or [part for part in parts if part in source]
        or long
    )


def _completed(needs: tuple[str, ...], pattern: Written) -> tuple[str, ...]:
    found = list(needs)
    source = pattern.pattern.lower()
    for alternative in needed_by(pattern, wild=True):
        texts = (text for word in alternative for text in word.text.decode().split(WILD))
        words = sorted(text.lower().strip() for text in texts if text.strip())
        if not any(need in word for need in found for word in words):
            usable = [
                word for word in _literals(words, source) if "info" not in word
            ]  # it is cut out
            found.extend(sorted(usable, key=len)[-1:])
    return tuple(found)


# --- words that several rules share ---

# What is still waited for has not failed.
WAITED = (
    r"(?:^|\] |\b(?:error|warn(?:ing)?|notice): )(?:still )?waiting (?:for|on|until)\b"
    r"(?!.{0,160}\b(?:fail|died|dead|time|timed|expired|exceed|gave up|giving up|lost|denied|abort|kill))"
)
SURVIVED = (
    f"{WAITED}|"
    r"caller indicates that this is not a failure|(?<!non-)(?<!not )\b(?:re-try|retry)(?! (?:also )?failed|"
    r" with --|\w{0,4} (?:limit|count(?:er)?|attempts?) (?:exceeded|exhausted|reached))|retries left|attempts? left|"
    r"\bwill (?:be )?(?:restart|respawn|relaunch)|retrying|\breducing\b|skipp(?:ing|ed)|\[skip\]|"
    r"(?<!unable to )(?<!failed to )(?<!cannot )(?<!can not )(?<!could not )(?<!can.t )(?<!can.t be )(?<!cannot be )(?<!not be )\brecover(?!able (?:error|"
    r"fail))|\b(?:is|be|are|being) retried\b|trying (?:batch|again(?! later)|with|to res)"
    r"|not a failure|\(non-?fatal\)\s*$|\blowering\b|\bhalving\b|fall(?:ing|s)? ?back(?! \w{0,12} ?is disabled)|\bignor(?:ing|"
    r"ed)\b|\bwill try\b|continuing|\b(?:trying to|will) continue\b"
    r"|\b(?:is|are|was|were|be|been|being) (?:repeated|re-?sent|re-?run|re-?scheduled)\b|\b(?:revert|resort)ing (?:back )?to\b(?!.{0,60}\bfailed)|\bswitching back to\b|\bstill trying\b|\battempt \d|(?<!and )try(?:ing)? again(?! later)|\bdisabling\b|\bdefaulting to\b|"
    r"\bproceeding\b|(?:^|[,;.] )(?![^,;]{0,160}\b(?:got|received|but (?:found|saw|is|was|are|were|has|have|had))\b)[^,;]{0,160}\binstead\s*$|"
    r"[.;,] (?:setting|resetting|using|defaulting) (?:it |this )?(?:to|"
    r"the default)\b|\breconnect(?!\w{0,4} failed)(?<!failed to reconnect)|using (?:the (?:latest )?)?cached|"
    r"thrown while requesting|[,;.] (?:so )?(?:using|will use) (?!SIG)\w|[,;.] (?:resetting|respawning|"
    r"refreshing|creating|(?:re)?trying (?:\d|port|another|the next))|\bbacking off\b|"
    r"\bsleeping (?:for )?\d|\b(?:excluding|excluded|leaving out|dropping) (?:it )?from (?:the )?(?:results?|average|comparison|report)\b"
)
ADVICE = (
    r"\bto (?:avoid|prevent|reduce)\b|\bmay (?:cause|lead|result|run|be(?! (?:corrupt|lost\b|damaged))|hang|see|encounter|get|happen|occur|fail)\b|\bmight\b|"
    r"\bcan (?:potentially |also )?"
    r"(?:cause|lead|hang|result|help)\b|\bcould (?:cause|lead|hang)\b|\bif (?:you|it|this|the|there|your|"
    r"a)\b|\bin case\b"
    r"|\breasons (?:for|why)\b|\bhelps?\b|\bavoid(?:s|ing)?\b|\bprevents?\b|\bconsider\b|\btip:|\bhint:|"
    r"\bnote:|\bnote that\b|\bor possibly an?\b|\u5982\u679c|\u5efa\u8bae|\u53ef\u80fd|\u907f\u514d"
)
# A value as a library of arrays writes it: `np.float32(nan)`, `Array(nan, dtype=float32)`, `<tf.Tensor: shape=(), dtype=float32, numpy=nan>`.
WRAPPED = r"(?:(?:(?:np|jnp|numpy|tf|torch|mx|mlx|cp)\.)?(?:tensor|(?:device)?array|b?float\d\d)\(\[{0,3}|<tf\.tensor: [^>]{0,80}?numpy=\[{0,3})?"
LOSS = (
    r"(?:loss|losses|cost|ppl|perplexity|grad(?:ient)?s?(?:[_ ]?norm)?|gnorm|nll|bpc|bpb|elbo|objective|xent|"
    r"cross[-_ ]?entropy|smoothl1|(?:total |\bd )norm|"
    r"损失(?:函数)?值?|梯度(?:范数)?|困惑度)"  # Chinese: loss, gradient, perplexity
    r"[\w/]{0,24}(?:\([\w ]{0,16}\))?[\"']?(?:\s{0,4}(?:is|was|became|becomes|reached|of|=|:|->|\||：|为|是)?|\s{5,40}=)\s{0,8}"
    rf"[\[(\"'=]{{0,3}}{WRAPPED}"
)
NAN = r"[-+]?nan(?:\(ind\))?(?![a-z0-9_(-])"
INF = r"[-+]?inf(?:inity)?(?![a-z0-9_(])"
START_VALUE = (
    r"(?:best|min(?:imum)?|max(?:imum)?|lowest|highest|prev(?:ious)?|last|init(?:ial)?|bound|clip|clamp|"
    r"limit|low|high"
    r"|thresh(?:old)?|patience|timeout|duration|range|space|default|baseline|cutoff|target|budget|early|"
    r"horizon|monitor"
    r"|norm_type|ord|missing|fill_value|eta|tol|until|end|stop|start|from|ceil|floor|interval|every|length|size)"
)

# A level word or letter that says: this is no failure of its own. Generic words mean nothing on such a line.
CALM = (
    r"^.{0,80}?(?:(?-i:\b(?:INFO|DEBUG|TRACE|VERBOSE|DIAG|NOTICE(?!: Failed to)|WARN|WARNING)\b|_WARN\|)|"
    r"\blevel=\"?(?:info|debug|warn)|\[(?:info|debug|warn|warning|notice|[idw])[\]: ]|(?-i:^ {0,8}Normal {1,8}[A-Z][A-Za-z]{3,40} {2,})"
    r"|\"(?:level|levelname|severity|lvl)\" ?: ?\"(?:info|debug|warn|trace|notice)"
    r"|(?-i:\d(?:[AP]M|Z)? (?:INF|DBG|WRN|TRC) )|(?-i:\d +[IWDV] [A-Za-z][\w.-]{1,40} {0,8}: )|(?-i:\b[IDW])(?:\d{4}| \d\d-\d\d) \d\d:|(?-i:\d: [IDW]) [a-z])"
)
# The name of a measure, which a setting chooses, as in `loss: MeanSquaredError`.
MEASURE = (
    r"(?-i:(?:Squared|Absolute|Percentage|Logarithmic|Relative|Word|Char|Character|Phoneme)Error)"
)
XID = r"\bxid\b\s{0,3}(?:\(pci:[^)]{1,40}\)|[(\[][\da-f]{4}:[\da-f.:]{2,12}[)\]])?[^\w]{0,4}(?:errors?|codes?|events?|number|id)?\W{0,5}"
KILLS = r"(?:Killed|Terminated|Hangup|Interrupt)"
