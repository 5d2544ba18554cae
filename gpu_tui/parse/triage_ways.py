"""What went another way: a second copy was loaded, the peer is waited for, what was missing is made. Nobody has to act.

These rows stand before the causes that a failed load or connection would name. Where the other way is to begin
anew, nothing is taken back: a resume that did not happen ruins the run.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import WARN, Rule, rule

_NOT = r"(?:could ?n.t|could not|can ?not|can.t|unable to|fail(?:ed|ure|s)?(?: to)?|error|not|no|invalid|incomplete|unreadable)"
_YET = (
    r"(?:could ?n.t|could not|can ?not|can.t|unable to|not|no|invalid|incomplete|unreadable|exists)"
)
_ANEW = r"scratch|random|\b(?:fresh|empty|untrained|new (?:model|run|optimi[sz]er|state))\b|\bstep 0\b|\bepoch 0\b"
_MAKING = (
    r"(?:re)?(?:generat|creat|download|fetch|build|compil|comput|index|extract|convert)ing|writing (?:a|the)|"
    r"making (?:a|one)|initiali[sz]ing (?:a|an|one|it|the)|installing (?:it|a|the)|starting (?:a|one)"
)
# An end that says so by its name or its last word.
_ENDED = r"(?-i:^(?:\w{1,40}\.){0,6}\w{1,60}(?:Error|Exception)\b)|\bfail(?:ed|s|ure)?\W*$|\babort|\bexit|\bgiving up\b|\bgave up\b"
_LATE = r"\btime(?:d |-?)out (?:while )?waiting\b|\bstopp(?:ed|ing) waiting\b|\btired\b|\branks?\b|\bafter \d"

WAYS: tuple[Rule, ...] = (
    # A model or a checkpoint that was read from elsewhere, or otherwise.
    rule(
        "warning",
        WARN,
        "falling back|fall back|falls back|instead|retrying",
        r"\bfall(?:ing|s)? ?back (?:to|on)\b|\busing [\w./ -]{1,40} instead\b|[;,.] retrying (?:with|without|in|from)\b",
        f"{_ANEW}|{_ENDED}|\\bno fall ?back|fall ?back (?:also |to \\S{{1,40}} )?(?:has )?failed|falling back [^:]{{0,80}}\\bfailed\\b|out of memory|\\bOOM\\b",
        also=rf"\b{_NOT}\b.{{0,60}}\b(?:load|read|open|restor|find|import)\w{{0,3}}\b|\bload(?:ing)? (?:has )?failed\b",
    ),
    # It is not there or not whole yet, and somebody waits for it.
    rule(
        "warning",
        WARN,
        "waiting|check again|sleeping|not open yet|not ready",
        rf"\b{_YET}\b.{{0,120}}[,;.] (?:so |now )?(?:waiting\b|sleeping\b|will (?:check|look|poll) again\b|checking again\b)|"
        r"^.{0,80}?\bwaiting (?:for|until|on) .{1,200}?[:(.,] ?.{0,200}\b(?:refused|reset|unreachable|not ready|timed out|no route|not found)\b|"
        r"\bnot (?:open|up|reachable|listening|ready) yet\b",
        f"{_ENDED}|{_LATE}",
    ),
    # What was not found is made.
    rule(
        "warning",
        WARN,
        "find|found|exist|load|open|locate|cache|detect|such file",
        rf"[,;.:] (?:so |now )?(?:{_MAKING})\b",
        f"{_ANEW}|{_ENDED}|checkpoint|ckpt|\\bresum|snapshot",
        also=rf"\b{_NOT}\b.{{0,24}}\b(?:find|found|exist\w{{0,2}}|load|open|locate|cached?|detect(?:ed)?|such file)\b.{{0,160}}[,;.:] (?:so |now )?\w+ing\b|"
        r"\bload(?:ing)? (?:of )?(?:\w{1,16} ){1,4}failed[,;.:] (?:so |now )?\w+ing\b",
    ),
    # Whatever failed, the same sentence ends with what is done in its place, or what is left out.
    rule(
        "warning",
        WARN,
        "fail|died|crash|mismatch|in use|could|cannot|can't|unable|lost|error",
        r"[,;.] (?:so |now )?(?:(?:loading|reading|taking|reusing) .{0,24}(?:cache|local|backup|copy|previous|default)\w*\b|(?:picking|choosing|selecting|"
        r"trying|taking) (?:a|an|another|the next|port) |(?:re-?)?downloading (?:it )?again\b|restarting (?:it|him|that worker)\b|\w{1,20}(?: \w{1,20})? "
        r"(?:is |are |was |will be )?(?:disabled|unavailable|unknown)\W*$)",
        f"{_ANEW}|{_ENDED}|out of memory|\\bOOM\\b|\\bGPUs? (?:is |are )?(?:disabled|unavailable|unknown)",
        also=rf"\b(?:{_NOT[3:-1]}|failed|died|crashed|mismatch|in use|lost)\b[^;]{{0,120}}[,;.] ",
    ),
    # Who left is started again, and tries are left.
    rule(
        "warning",
        WARN,
        "restart|respawn|relaunch|resubmit|requeue|retry|attempt",
        r"\b(?:restart(?:ing)?|respawn(?:ing)?|relaunch(?:ing)?|resubmit(?:ting)?|requeued?|retry)\b[^;]{0,40}?[( ](?:restart |retry |attempt )?"
        r"\d{1,3} ?(?:/|of) ?\d{1,3}\b|[,;.] (?:restarting|respawning|relaunching|resubmitting) it\b",
        r"limit|exhaust|budget|\bgiving up\b|\bgave up\b|\bnot\b|n.t\b|\babort|\bleft\b",
        also=r"\b(?:exited|failed|died|crashed)\b",
    ),
    # A back end that was looked for and is not on this machine, by the library that it would have.
    rule(
        "warning",
        WARN,
        "not detected|not found|not available|not present",
        r"\bnot (?:detected|found|available|present)\W{1,3}(?:unable|cannot|could not|failed|no such)\b.{0,40}(?:\blib\w|\.so\b)",
        _ENDED,
    ),
    # Nothing was taken away, so that nothing is lost.
    rule(
        "warning",
        WARN,
        "not deleting|not removing|not purging|not pruning|not expunging",
        r"\bnot (?:deleting|removing|purging|pruning|expunging) .{0,60}\b(?:as|because|since) (?:there (?:were|was)|of) (?:\w{1,12} )?errors?\b",
    ),
)
