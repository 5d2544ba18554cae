"""Ends told as a state, a reason or a value: `"status": "Failed"`, `node 3 is unreachable`, `no data, exiting`.

Like the grammar of a failure these rows name no program. They ask for the word and for what it is said of.
"""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED, STAMP
from gpu_tui.parse.triage_rule import CALM, FATAL, SERIOUS, SURVIVED, Rule, rule

_MACHINE = (
    r"\b(?:node|host|worker|rank|executor|agent|cluster|pod|machine|instance|replica|peer|vm|box|"
    r"raylet)s?\b"
)
_DONE = (
    r"early.stopp|\bpatience|converged|\bmax\w*\b|complete|finished|\bdone\b|success|target|reached|"
    r"\ball \w+ed\b|nothing to do|up to date"
)
# A word that counts or names a measure, before `error:`.
_MEASURE = (
    r"\b(?:mean|squared|absolute|relative|rms|root|test|train\w*|valid\w*|eval\w*|average|avg|"
    r"classification|reconstruction|prediction|total|max\w*|min\w*|top.?\d|bit|pixel|rate|std|"
    r"standard)\b[^:]{0,24}error"
)

REASONS: tuple[Rule, ...] = (
    rule(
        "killed",
        FATAL,
        "going down|power off now|reboot now|halt now|down now",
        r"\b(?:system|machine|host|server) (?:is going down|will (?:power off|reboot|halt|shut ?down) now)\b",
        CALM,
    ),
    rule(
        "preempted",
        FATAL,
        "reclaim|preempt|evict|revoke|outbid|deallocat|interrupt",
        _MACHINE
        + r".{0,40}\b(?:was|were|is|been|being|got) (?:now |just )?(?:reclaimed|preempted|evicted|revoked|"
        r"outbid|deallocated|interrupted)\b",
        f"{SURVIVED}|\\bif\\b|\\b0 ",
    ),
    rule(
        "preempted",
        FATAL,
        "credit|balance|funds|budget",
        r"\b(?:credits?|balance|funds|budget)\b.{0,40}\b(?:(?:run|ran) out|exhausted|too low|insufficient|"
        r"depleted|used up)\b.{0,60}\b(?:stop|paus|terminat|suspend|shut|delet)\w{0,8}|\b(?:stopped|paused|"
        r"terminated|suspended)\b.{0,20}\b(?:credits?|balance|funds|budget)\b.{0,24}\b(?:out|exhausted|"
        r"too low|insufficient|depleted|used up)\b",
        f"{SURVIVED}|\\bif\\b|\\bwill be\\b|\\bmight\\b|\\bsearch\\b",
    ),
    rule(
        "nan",
        SERIOUS,
        "explode|blew up|blown up",
        r"\b(?:loss|gradients?|grad(?:ient)? norm|training|energy)\b.{0,20}\b(?:has |have )?(?:exploded|"
        r"blew up|blown up)\b",
        f"{SURVIVED}|\\bif\\b|\\bmay\\b|\\bmight\\b",
    ),
    # A machine, or a part of the job on one, that is not there any more.
    rule(
        "network",
        FATAL,
        "unreachable",
        _MACHINE + r".{0,40}\bunreachable\b",
        f"{SURVIVED}|{CALM}|\\bif\\b",
    ),
    rule(
        "exception",
        FATAL,
        "unhealthy|unresponsive|dead|offline|notready|is down|are down|was down|went down",
        _MACHINE
        + r".{0,40}\b(?:is|are|was|were|became|went|marked|detected) (?:now |as |become )?(?:unhealthy|"
        r"unresponsive|dead|offline|NotReady|down)\b(?! (?:for|to|by|scal))",
        f"{SURVIVED}|{CALM}|\\bif\\b|\\bnot dead\\b|\\b(?:0|no)(?: ?(?:/|of|out of) ?\\d{{1,6}})? \\w{{1,20}} (?:is|are) \\w",
    ),
    # An exception or an error that somebody met, and where.
    rule(
        "exception",
        FATAL,
        "exception|error",
        r"(?:^\W{0,4}|(?<=[\]|:>)\-] ))(?:(?:caught|encountered|got|raised|received|hit) )?(?:an? |"
        r"the )?(?:[a-z-]{2,20} ){0,2}?exceptions? (?:in|while|when|during|from|[a-z]{3,16}ing)\b"
        r"|(?:^\W{0,4}|(?<=[\]|:>)\-] ))(?:caught|encountered|got|raised|received|hit) (?:an? |"
        r"the )?(?:[a-z-]{2,20} ){0,2}?errors? (?:in|while|when|during|from|[a-z]{3,16}ing)\b",
        f"{COPED}|\\bhandl|\\bno exception|exception (?:ignored|handling)",
    ),
    rule(
        "exception",
        FATAL,
        "error: |exception: ",
        STAMP + r"(?:[a-z-]{2,16} ){0,2}(?:error|exception): (?!nan|-?inf|tensor|none)[a-z\"'`]|"
        r"\b(?:pars(?:e|ing)|syntax|link(?:er|ing)|compil(?:e|ation)|lowering|codegen|shader) error: ?[a-z\"'`]",
        f"{COPED}|{_MEASURE}|\\bimport error",
    ),
    rule(
        "exception",
        FATAL,
        " error| failure",
        r"^\W{0,4}(?:compil(?:ation|er|e)|link(?:er)?|launch|runtime|fatal|system|internal|kernel|device|"
        r"driver|assertion|i/o) (?:error|failure)\W{0,4}$",
        CALM,
    ),
    # A compiler's: `kernel.cu(26): error: `, `a.cpp:3:7: fatal error: `.
    rule(
        "exception",
        FATAL,
        "error",
        r"(?:\(\d{1,6}\)|:\d{1,6}(?::\d{1,5})?): (?:(?:fatal|catastrophic|internal) )?error\b(?! ?rate)",
        f"{SURVIVED}|{CALM}",
    ),
    # A state it went to, told calmly: `changed from Running to phase Failed`.
    rule(
        "exception",
        FATAL,
        "failed",
        r"\b(?:phase|status|state) (?-i:F(?:ailed|AILED)\b)|\b(?:status|state) (?:update|"
        r"change)\w{0,2}\b.{0,60}(?-i:\b(?:FAILED|Failed)\W{0,3}$)",
        SURVIVED,
    ),
    # What systemd and a pod's log say of a service that is down.
    rule(
        "killed",
        FATAL,
        "sent signal|unable to shutdown process|by the",
        r"\bsent signal SIGKILL to \w{0,8} ?process \d|\bunable to shutdown process \d{1,9} via (?:\d|(?:Signals\.)?SIG[A-Z])|\b(?:job|"
        r"run|process|task|container) .{0,40}\b(?:terminated|killed|"
        r"stopped) by the (?:system )?(?:administrator|operator)\b",
    ),
    rule(
        "exception",
        FATAL,
        "active: failed|code=exited|repeated too quickly|stderr f |finished (failed)|failed with|"
        "foam exiting|initialization failed",
        r"(?-i:\bfinished \(FAILED\)|\b(?:local_)?rank:? \S{1,6} FAILED\b(?! \d))|^\W{0,4}FOAM exiting\b|"
        r"\b(?:engine|worker|executor|model)\b.{0,30}\binitialization failed\.|^\s{0,12}Active: failed \(|"
        r"\(code=exited, status=[1-9]|\bstart request repeated too quickly|^\d\S{18,40} stderr F (?:panic|"
        r"fatal error): ",
    ),
    rule(
        "exception",
        FATAL,
        "crashed|problem executing|not enough space|diverged|converge|stopped with",
        r"\b(?:simulation|training|solver|optimi[sz]ation|run) (?:has )?diverged\b(?! ?[:=]| from\b)|"
        r"\bdid not converge\b.{0,60}\b(?:stopping|aborting|exiting)\b|"
        r"\bstopped with the following (?:message|error)\b|(?-i:\bERROR\b).{0,120}\bhas crashed\b\W*$|"
        r"\bthere was a problem executing\b|\bnot enough space in the (?:\w{1,12}'?s? )?(?:buffer|memory pool)\b",
        f"{SURVIVED}|\\bif\\b|warning|\\bearly\\b",
    ),
    # A key and its value: a state, or an exception by its name.
    rule(
        "exception",
        FATAL,
        "fail|error|crash|abort|witherrors",
        r"(?:(?<![a-z])(?:status|state|phase|result|outcome|conclusion|event|finished)|(?-i:(?<=[a-z])S(?:tate|tatus)))"
        r"[\"']?\s{0,2}[:=]\s{0,3}[\"']?(?:failed|failure|errored|crashed|aborted|"
        r"[a-z]{2,20}_(?:failed|crashed|error)|failed_[a-z_]{2,30}|(?-i:[A-Z][a-z]{3,12}With(?:Errors|Failures)|Error|ERROR|[A-Z]\w{1,20}Failed))\b(?!\s{0,2}[=:(])",
        f"{COPED}|\\bin \\(|[|=] ?none",
    ),
    rule(
        "exception",
        FATAL,
        "error|exception",
        r"\b(?:error|exception|err|cause|reason|message|"
        r"msg)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?-i:(?:[a-z_]\w{0,40}\.){0,5}[A-Z]\w{0,40}(?:Error|"
        r"Exception))[(:]|\b(?:error|exception|exc)_?(?:type|class|name)[\"']?\s?[:=]\s?[\"']?(?-i:[A-Z]\w{0,40}(?:Error|"
        r"Exception))[\"']?,? [\"']?\w{0,16}(?:message|msg|text|detail)",
        COPED,
    ),
    rule(
        "exception",
        FATAL,
        "with",
        r"\b(?:finished|completed?|done|ended|terminated|stopped|exited) with (?:\d{1,6} |some |"
        r"an? )?(?:errors?|failures?|exceptions?)\b",
        COPED,
    ),
    # What was asked for and cannot be: the job never starts.
    rule(
        "exception",
        FATAL,
        "unknown|invalid|illegal|unsupported|unrecognized|validation",
        STAMP
        + r"(?:unknown|invalid|illegal|unsupported|unrecognized) (?:command[- ]line )?(?:option|argument|"
        r"flag|config\w*|parameter|command|subcommand)s?\b(?:[: ]\S|\W*$)|\b(?:prompt|config\w*|workflow|"
        r"schema|argument)s? (?:\w{1,12} )?failed validation\b",
        f"{COPED}|encountered|\\busing\\b|\\bdefault",
    ),
    rule(
        "exception",
        FATAL,
        "not found|missing|not exist|no such file",
        r"^\W{0,4}(?:the )?(?:train\w* |input )?(?:data ?sets?|data(?: files?)?|config\w*(?: file)?|scripts?|"
        r"input(?: file)?|tokenizers?|vocab\w*(?: file)?)(?: [\w./~-]{1,120})? (?:is |was |does )?(?:not found|missing|"
        r"not exist)\b(?:(?: (?:at|in|under)|:| :) ?\S{1,160})?\W*$|^no such file or directory\b",
        f"{COPED}|download|generat|creat|\\bcache|using|default",
    ),
    # A sentence that ends the program.
    rule(
        "exception",
        FATAL,
        "exiting|aborting|quitting|terminating|bailing|giving up",
        r"[,;.:!-] {1,3}(?:now )?(?:exiting|aborting|quitting|terminating|bailing(?: out)?|"
        r"giving up)\b(?: now| (?:the )?(?:program|run|job|training)| to avoid [\w -]{1,40})?\W*$",
        f"{COPED}|{_DONE}",
    ),
    # An exception whose name does not end as others do, with the module that it comes from.
    rule(
        "exception",
        FATAL,
        "broken|invalid|missing|bad|unsupported|corrupt|mismatch|violation|conflict|incomplete|closed|unknown",
        r"^(?-i:(?:[a-z_]\w{0,40}\.){1,6}[A-Z]?\w{0,30}(?:Broken|Invalid|Missing|Bad|Unsupported|Corrupt|"
        r"Mismatch|Violation|Conflict|Incomplete|Closed|Unknown)\w{0,30})(?:: \S|\s*$)",
        COPED,
    ),
)
