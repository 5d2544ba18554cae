"""Ends told by the form of a sentence alone: whatever the words for who and for what are, the sentence says the end.

These rows hold no noun of any program: who died, what came unexpectedly, what was given back, what does not fit.
"""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED
from gpu_tui.parse.triage_grammar import HOUSE
from gpu_tui.parse.triage_plain import WHO
from gpu_tui.parse.triage_rule import ADVICE, FATAL, SURVIVED, Rule, rule

# An arm of a tree that a tool draws before each cause, or where a message begins.
_BEGIN = r"(?:^[\s|\-+>`\u2500-\u257f\u25b6\u00d7\u2716\u274c]{0,16}|(?<=[\]|:>)\-] ))"

TURNS: tuple[Rule, ...] = (
    # Somebody has died: that is the whole message, and no level takes it back.
    rule(
        "exception",
        FATAL,
        "died|crashed|unexpectedly|abnormally|prematurely",
        rf"(?:^|[-:\]|>)] {{1,2}})(?:the |an? )?(?:[a-z]{{2,16}} ){{0,2}}{WHO}(?: [\w.:/-]{{1,40}})? (?:has |have )?"
        r"(?:died|crashed|(?:exited|terminated|stopped|quit) (?:unexpectedly|abnormally|prematurely))\W{0,3}$",
        f"{SURVIVED}|{ADVICE}|respawn|\\brestart|\\bepisode|\\breward",
    ),
    # What came unexpectedly; who left and why.
    rule(
        "exception",
        FATAL,
        "unexpectedly|prematurely|abnormally|because",
        r"\b(?!closed)[a-z]{3,14}(?:ed|t) (?:unexpectedly|prematurely|abnormally)\b|\bunexpectedly [a-z]{3,14}(?:ed|t)\b|"
        r"\b(?:exited|died|crashed|quit) (?:[a-z]{4,14} )?because\b",
        f"{COPED}|{HOUSE}",
    ),
    # What is ending, and that an error is the reason.
    rule(
        "exception",
        FATAL,
        "due to|because of",
        r"\b(?:terminating|aborting|stopping|exiting|quitting|halting|ending|shutting down) (?:due to|because of) (?:an? |the |this )?"
        r"(?:[a-z]{2,14} ){0,2}(?:exception|error|crash|failure)s?\b(?! (?:below|above|under|toler|rate|threshold|[<>=]))",
        f"{COPED}|\\bearly\\b|toleran|\\bpatience",
    ),
    # An error that was given back.
    rule(
        "exception",
        FATAL,
        "returned",
        r"\breturned (?:an? |the |with )?(?:[a-z]{3,12} )?(?:error|failure)(?: (?:code|status))?\b(?! ?[:=]? ?0\b| rate)",
        f"{COPED}|{HOUSE}",
    ),
    # Where a check of a source file stands; what an allocator found broken; a value that was not there to be taken.
    rule(
        "exception",
        FATAL,
        "assert|(): |called `",
        r"(?-i:\b[A-Z]{2,12}_?ASSERT(?:ION)?\b)(?: FAILED)?: .{0,160}:\d|^[a-z]\w{2,30}\(\): (?:invalid|corrupt|malformed|double|bad|"
        r"memory corruption)|\bcalled `\w{1,20}::\w{1,20}(?:\(\))?` on an? `",
        f"{SURVIVED}|{ADVICE}",
    ),
    # Two that had to be alike.
    rule(
        "exception",
        FATAL,
        "mismatch",
        _BEGIN + r"(?:[a-z_-]{2,16} ){1,2}mismatch(?: (?:for|in|between|at|on|of) )\S",
        f"{COPED}|version mismatch",
    ),
    # What was tried, below the arms of a tree.
    rule(
        "exception",
        FATAL,
        "error |failed ",
        _BEGIN
        + r"(?:error|failed) (?!handling|report|logg|check|rat|train|dur|solv)[a-z]{3,16}ing \S",
        f"{COPED}|{HOUSE}",
    ),
    # What did not pass.
    rule(
        "exception",
        FATAL,
        "failed ",
        r"^\W{0,4}(?:[A-Za-z][\w.-]{1,24} ){1,4}failed (?:validation|verification|checks?|inspection|sanity|assertions?|[a-z]{4,16}ation)\W{0,3}$",
        f"{COPED}|{HOUSE}|\\b(?:samples?|images?|prompts?|rows?|records?)\\b",
    ),
    # Somebody gave up.
    rule(
        "exception",
        FATAL,
        "gave up",
        r"(?:^\W{0,4}|[:\]|>)-] |\bINFO )(?:\w{1,16} )?gave up(?::| after| on| waiting| trying)",
        f"{SURVIVED}|{ADVICE}",
    ),
)

TURNS_STOPS: tuple[Rule, ...] = (
    # A signal that ends a process, on its way.
    rule(
        "killed",
        FATAL,
        "sigterm|sigkill",
        r"\b(?:sending|sends|sent)\b.{0,60}\bSIG(?:TERM|KILL)\b",
        f"{ADVICE}|\\bwill\\b|\\bwould\\b|\\bcan\\b|\\bwhen\\b",
    ),
)
