"""Ends told in plain words by programs that no table knows: how a failure is said, not who says it.

These rows come last. Each is one way to say it: a level of a logger, a verb that failed at the head of
a message, an end and its reason, a status, the words of the system for an error. What was coped with,
retried, only advised or said by an aside takes none of them.
"""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import ASIDE, COPED, ERROR_LEVEL
from gpu_tui.parse.triage_rule import CALM, FATAL, SURVIVED, WARN, Rule, rule

# The letters that Google's loggers, TensorFlow's, PyTorch's and logrus' set before an error.
LETTER = r"(?-i:\bE ?\d\d-?\d\d \d\d:\d\d:|\d: E (?:[A-Z]:\\|[a-z])|\[E[ \]:]|\bERRO\[\d)"
# Where a message begins: at the head of the line, or behind what a logger puts before it.
HEAD = r"(?:^\W{0,4}|(?<=[\]|:>)\-] )|(?<=[\]\t])|(?<=\d:))"
WRONG = (
    r"\b(?:fail\w{0,4}|could ?n.t|could not|cannot|can.t|unable|abort\w{0,3}|terminat\w{2,3}|died|dead|lost|"
    r"invalid|illegal"
    r"|missing|not found|does not exist|no such|unknown|unexpected\w{0,2}|unsupported|timed out|refused|"
    r"denied|crash\w{0,3}"
    r"|corrupt\w{0,3}|exceed\w{0,3}|insufficient|mismatch|incompatible|not enough|violat\w{1,4}|broken|"
    r"wrong)\b|(?:Error|Exception)\b"
)
# That something was not done: before the verb, and behind the one who tried.
CANNOT = r"(?:failed to|(?:(?:is|are|was|were) )?(?:un|not )able to|(?:did|does|do)(?: not|n.t) manage to)"
FAILED = (
    r"(?:did(?: not|n.t) succeed|(?:was|were) (?:unsuccessful|not successful)|went (?:terribly |horribly |badly )?wrong|"
    r"ended (?:in|with) (?:an? )?(?:failure|error|exception))"
)
# Tools that keep the house, and parts that are looked for and not needed.
HOUSE = (
    r"^(?:\S{0,40}/)?(?:rm|mv|ls|mkdir|grep|find|chmod|chown|du|df|cat|cp|touch|ln|ldconfig\S{0,8}|debconf|"
    r"dpkg\S{0,20}|tput|stty|locale|bash|perl): "
    r"|\boptional|\blib\w{1,60}\.so|QStandardPaths|qt\.qpa|plugin|extension|font|pinned|mlock|ECC config|"
    r"amdsmi|systemd-oomd|backend '|temporary cache|display|file exists|already exists|microcode|"
    r"retrieve .{0,30}\blogs\b|\b(?:debug(?:ging)? )?symbols?(?: files?)?\b|\bfind (?:TensorRT|cuda drivers)\b|\bX11?\b|dynamic library|FailedScheduling|get rootfs|load_backend"
)

GRAMMAR: tuple[Rule, ...] = (
    rule(
        "exception",
        FATAL,
        "fail|error|exception|not found|unable",
        WRONG,
        COPED + r"|stack trace|get rootfs|/plugin_registry\.",
        also=rf"^.{{0,80}}?{LETTER}",
    ),
    # A verb that failed, where a message begins.
    rule(
        "exception",
        FATAL,
        "fail|cannot|can not|can't|could not|couldn't|unable|able to|manage to",
        HEAD
        + rf"(?:(?:an? |the )?(?:{CANNOT}|failure to) [a-z]{{3,20}}:? \S|(?:cannot|can ?not|can.t|"
        r"could not|couldn.t) [a-z]{3,20} \S)",
        f"{COPED}|{HOUSE}|\\bskip|\\bfactory\\b",
    ),
    rule(
        "exception",
        FATAL,
        "failed",
        r"(?<![/\\])\bfailed\b(?:\s*[!.:]*\s*$| ?: ?[^\s\d])",
        f"{COPED}|{HOUSE}|\\bNVRM\\b|\\b(?:0|no) failed|retri|\\bimages?\\b|\\b(?:samples?|problems?|"
        f"questions?|prompts?)\\b|failed ?: ?(?:none|null|false)|\\bload failed",
    ),
    # An end and its reason; what was met on the way.
    rule(
        "exception",
        FATAL,
        "abort|terminat|exiting|quit|stopp|shutting|giving|bailing",
        HEAD
        + r"(?:will be )?(?:abort|terminat|exit|quitt?|stopp?|shutt?|giv|bail)ing\b[^.]{0,40}\b(?:because|"
        r"due to|since|as the|after)\b.{0,80}",
        f"{COPED}|early stopping|\\bpatience|converged|max(?:imum)? (?:steps|epochs|iter)|idle|completed?\\b|"
        f"success|>=|<=|threshold|\\bno new best|num_updates|\\b(?:smaller|larger|greater|lower|higher|"
        f"less) than\\b",
    ),
    rule(
        "exception",
        FATAL,
        "will|has exited|have exited",
        r"\b(?:will|going to) (?:now )?(?:terminate|abort|kill|stop) the (?:job|run|program|process|"
        r"application|training)\b|\bha(?:s|ve) exited (?:due to|because|abnormally|prematurely|"
        r"unexpectedly)\b",
        COPED,
    ),
    rule(
        "exception",
        FATAL,
        "encounter|ran into|hit an|unknown error|internal error|unexpected error",
        r": (?:unknown|unspecified|internal|unexpected|unhandled) (?:error|failure|exception)\b|"
        r"\b(?:encountered|ran into|met with|hit) (?:an?|some|the following) (?:\w{1,20} )?(?:error|"
        r"exception|problem|issue|failure|fault)s?\b",
        COPED,
    ),
    rule(
        "network",
        FATAL,
        "lost |dropped ",
        r"\b(?:lost|dropped) (?:(?:its|the|all) )?(?:communication|connection|contact|connectivity)\b|"
        r"\bha(?:s|ve) lost [a-z]{4,20} (?:with|to) ",
        f"{SURVIVED}|{CALM}|{ASIDE}",
    ),
    rule(
        "exception",
        FATAL,
        "expected",
        r"\bexpected (?:an? |the |that )?[^.]{2,60}?\b(?:but |, )(?:it )?(?:got|found|received|was|saw)\b",
        f"{COPED}|{HOUSE}|\\btrace cache\\b|\\bexpected types for\\b",
    ),
    # A notebook's kernel that ended by itself.
    rule("exception", FATAL, "kernelrestarter", r"KernelRestarter: restarting kernel"),
    # A status that names an error: `NVRTC_ERROR_INVALID_OPTION`.
    rule(
        "cuda_error",
        FATAL,
        "error_|_error|fault|violation|_invalid",
        r"(?-i:\b(?:NV|CU|HIP|ROC|HSA|CL|VK|ACL|ZE)[A-Z]{0,10}_(?:[A-Z]+_){0,3}(?:ERROR|ERR|FAULT|FAILURE|"
        r"INVALID)(?:_[A-Z]+){0,5}\b)(?!\s*=)",
        f"{COPED}|_HANDLING|^\\W{{0,2}}#",
    ),
    rule(
        "exception",
        FATAL,
        "error_|_error|fault|violation|_invalid",
        r"(?-i:\b[A-Z]{2,12}(?:_[A-Z]+){0,3}_(?:ERROR|FAULT|FAILURE|VIOLATION)(?:_[A-Z]+){0,5}\b)(?!\s*=)",
        f"{COPED}|_HANDLING|^\\W{{0,2}}#|DCGM_FI",
    ),
    # A status in brackets, and an exception shown as Python writes one: `(failed 1)`, `Error('no such key')`.
    rule(
        "exception",
        FATAL,
        "failed|error(|exception(",
        r"\((?:failed|crashed|exit(?:ed)?) -?[1-9]\d{0,5}\)|(?:^|: )(?-i:[A-Z]?\w{0,40}(?:Error|"
        r"Exception))\([\"'][^\n]{3,300}[\"']\W{0,3}\)\s*$|: (?-i:[A-Z]\w{1,40}Error) \{ ",
        COPED.replace("wandb|", "", 1),
    ),
    # The system's own words for an error, wherever a sentence ends with them.
    rule(
        "exception",
        FATAL,
        "input/output|stale|transport|too many open|no such device|not permitted|resource temp|connection timed",
        r": (?:input/output error|stale file handle|transport endpoint is not connected|too many open files|"
        r"no such device(?: or address)?|operation not permitted|resource temporarily unavailable|"
        r"read-only file system)\b(?=[,.;:)]|\s*(?:\(\d{1,3}\))?\s*$)",
        f"{COPED}|{HOUSE}",
    ),
    # A state: in a row of a table, or by its name.
    rule(
        "exception",
        FATAL,
        "not loaded|unavailable|failed|crashed",
        r"^\s*\|.{1,120}\| *(?-i:Not loaded|UNAVAILABLE|FAILED|Failed|CRASHED)\b|\s{2}(?-i:FAILED|"
        r"CRASHED)(?:\s{2}|\s*$)|(?-i:\bFAILED(?:_[A-Z]{2,20}){1,4}\b)(?!\s*[=:])",
        f"\\b(?:OK|PASS\\w*)\\b|{CALM}",
    ),
    # What a level calls an error and nothing above knows.
    rule(
        "warning",
        WARN,
        "error|severe|level=",
        rf"^.{{0,100}}?(?:{ERROR_LEVEL})",
    ),
)
