"""Ends that are told in a handful of words: who is gone, a count of errors, a state that schedulers give."""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED, SUBJECT
from gpu_tui.parse.triage_grammar import CANNOT, FAILED, HEAD, HOUSE
from gpu_tui.parse.triage_rule import CALM, FATAL, SURVIVED, Rule, rule

# Somebody is spoken to or tells of himself: an answer, a story, a question, what a model wrote with its marks.
_PROSE = (
    r"\b(?-i:I|you|You|your|Your|he|He|she|She|they|They|my|My|his|her|we|We|our|Our)\b|\?\s*$|\*\*[A-Z]|"
    r"^\W{0,4}(?:step \d{1,2}\W{1,4}|final |answer\b|since\b|therefore\b|\d{1,2}\. [A-Z][a-z]+ [a-z]+ [a-z])"
)

_TALKS = r"\b(?:which|who|means|hence|therefore|thus|however|so that|that)\b|^\s{0,8}[*\u2022-] |^\W{0,4}(?:When|While|Although|As|After|Because|But|And|Then) "

# Advice to reduce something does not say that the program did.
_REDUCIBLE = COPED.replace(r"|\breducing\b", "", 1)
_GONE = (
    r"(?:died|crashed|aborted|disconnected|(?:is |was |has been )?(?:lost|gone|dead)|went down|"
    r"(?:exited|terminated|stopped) (?:unexpectedly|abnormally))"
)

TOLD: tuple[Rule, ...] = (
    # Somebody and that he is gone: the whole line says no more.
    rule(
        "exception",
        FATAL,
        "died|crashed|aborted|disconnected|lost|gone|dead|went down|unexpectedly|abnormally|no server running|something went",
        r"^\W{0,4}(?:the |your )?(?:\w{1,16} )?(?:runtime|session|server|kernel|instance|machine|program|"
        r"process|job|training|worker|client|backend)s? (?:has |have |was )?"
        + _GONE
        + r"(?:\W{0,3}$|[.:,;!] ?(?:automatically|restarting|exiting|aborting)| (?:for an unknown|with|due|"
        r"because|during|while)\b)|^\[?(?:lost server|server exited(?: unexpectedly)?)\]?\s*$|"
        r"^no server running on \S|^\W{0,4}(?:oops\W{1,3}|error: )?something went wrong\b",
        f"{SURVIVED}|\\bif\\b|\\bclient disconnected",
    ),
    # A crash that somebody reports, at whatever level.
    rule(
        "exception",
        FATAL,
        "crash has|crash detected|interrupted by|crash was|compute failed|/error|(occurred at|[exception",
        r"\b(?:a|the) crash has occurr?ed\b|\bcrash (?:was |is )?detected(?:!| (?:in|at)\b)|"
        r"\binterrupted by (?:an? )?(?:\w{1,16} )?(?:exception|error|failure|crash)\b|\bcompute failed\s*$|"
        r"^Failure # \d{1,4} \(occurred at |^\[Exception\|\w|\s[1-9]\d{0,3}\*?\s+(?:\|\s+)?/\S{1,300}/error\S{0,40}\.txt\b",
    ),
    # What a cloud has no more of, by the code or the sentence that it answers with.
    rule(
        "exception",
        FATAL,
        "exhausted|capacity|available|unavailable|allocationrequest|stockout|no longer any|no offers|no matching",
        r"(?-i:\b(?:ZONE_)?RESOURCE_POOL_EXHAUSTED(?:_WITH_DETAILS)?\b|\b\w{0,40}NO_CAPACITY\b(?!\s*[=:])|\b(?:Sku|Size|Capacity)NotAvailable\b|"
        r"\bOverconstrained\w{0,12}AllocationRequest\b|\bSTOCKOUT\b|\bInsufficient(?:Instance|Host|Reserved\w{0,8})?Capacity\b)|"
        r"\b(?:is|are) (?:currently )?(?:unavailable|out of stock|sold out) in (?:the )?\S{1,60} (?:zones?|regions?)\b|"
        r"\bno (?:longer )?any (?:\w{1,12} )?(?:instances?|machines?|GPUs?|capacity)\b.{0,12}\bavailable\b|"
        r"^\W{0,4}(?:error: )?no (?:matching |suitable )?(?:offers?|instances?|machines?|capacity) (?:were |was |is |are )?(?:found|available)\b",
        f"{SURVIVED}|{CALM}|\\btrying\\b.{{0,24}}\\b(?:next|another|other)\\b",
    ),
    # What is not there to be given: cards, a share, a thing by its name.
    rule(
        "exception",
        FATAL,
        "not enough|insufficient|quota|not found|access denied",
        r"\bnot enough (?:\w{1,12} )?(?:GPUs?|devices|nodes|workers|replicas|slots|instances|hosts|resources|ranks)\b(?: (?:are |is )?(?:available|found|free|left))?\W*$|"
        r"\binsufficient (?!unused)(?:\w{1,12} )?quota\b|\bquota exceeded for (?:resource|metric|quota)\b|\b(?:GCE|GPU|v?CPU|regional|instance|region) quota (?:is |was |has been )?exceeded\b|^\W{0,4}access denied (?:to|for|on|:)|"
        r"^\W{0,4}(?:error: )?(?:the )?(?:[\w-]{1,16} )?(?:model|template|image|instance|volume|secret|environment|partition|project|bucket|queue|repository|"
        r"revision|tokenizer|plugin)(?: not found| (?:was |is )not found)(?:\W*$|[:!] ?[\w'\"/]|(?: in| at| for) \S)",
        f"{COPED}|{HOUSE}|download|\\bcache|\\busing\\b|\\bdefault|creat|build|pull|locally",
    ),
    # How many of them are gone.
    rule(
        "preempted",
        FATAL,
        "evicted|preempted|reclaimed",
        r"\b[1-9]\d{0,5} ?(?:/|of|out of) ?\d{1,6} (?:\w{1,12} )?(?:workers?|pods?|ranks?|nodes?|replicas?|instances?) (?:have been |has been |are |is |were |was )?"
        r"(?:evicted|preempted|reclaimed)\b",
        SURVIVED,
    ),
    # A process of a test's farm, as the farm calls it.
    rule("exception", FATAL, "node down: ", r"^\[gw\d{1,4}\] node down: "),
    # What was carried over is not what was sent.
    rule(
        "exception",
        FATAL,
        "differ|mismatch|match|corrupted on",
        r"\b(?:md5|sha\d{0,3}|crc\d{0,2}|hash|checksum)(?:es|s|sums?)?\b.{0,24}\b(?:differs?|mismatch|"
        r"do(?:es)? ?n.t match|do(?:es)? not match)\b|\bcorrupted on transfer\b",
        f"{COPED}|\\bno (?:mismatch|difference)",
    ),
    # R says whom it caught, a shell or a torn line what it left with.
    rule(
        "exception",
        FATAL,
        "exec format|did not match|unexpected eof|unexpected end of|signature not found|convergence not|"
        "not converged|internal error in|*** caught|exit code|failed with error|error(s)",
        r"\bexec format error\b|\bcomputed checksums? did not match\b|\bunexpected (?:EOF|end of (?:file|"
        r"archive|data|stream))\b|\bdirectory signature not found\b|\bconvergence (?:was |"
        r"has )?not (?:been )?(?:achieved|reached)\b|\b(?:SCF|run|calculation) (?:run )?(?:has |"
        r"did )?not converged?\b|\binternal error in (?:subroutine|routine|function|module)\b|"
        r"^\s{0,4}\*\*\* caught \w|(?-i:[a-z]Exit code: [1-9])|\b(?:request|query|call|command|operation|"
        r"ioctl)\b.{0,80}\bfailed with error\b|^\W{0,4}error\(?s\)? (?:running|executing|launching|"
        r"starting)\b",
        SURVIVED,
    ),
    # What must be there to go on and is not: an output, a package, a module that was to be built.
    rule(
        "exception",
        FATAL,
        "missing output|nothing provides|dependency problems|failed to|problems while|problems during|"
        "errors while|errors during",
        r"\bmissing output files?\b|\bmissing output file\(s\)|\bnothing provides \S|"
        r"\bdependency problems prevent\b|\b(?:module|package|wheel|driver|image|library|"
        r"kernel) \S{1,60} failed to [a-z]{3,12}\b|^\W{0,4}encountered (?:\w{2,16} )?(?:errors|problems|"
        r"exceptions) (?:while|during|when|in)\b",
        f"{SURVIVED}|{CALM}|\\boptional|\\breason:",
    ),
    # A severity in words, a signal as a number, an error with an exclamation mark.
    rule(
        "exception",
        FATAL,
        "critical error|error! |exception!|signal=|signal =|fatalerror|runtime error:|failed after|"
        "failed during|failed while",
        r"\bcritical error\b|\bruntime error:\s*$|^\W{0,4}failed (?:after|during|while)\b|^\W{0,4}error! \w|"
        r"\bexception!\s*$|\bsignal ?= ?(?:4|6|7|8|11)\b|(?-i:[A-Za-z]FatalError)\b",
        f"{COPED}|memory critical error",
    ),
    # The name of a failure as the value of a key.
    rule(
        "exception",
        FATAL,
        "failure|failed|error",
        r"\b(?:error)?_?code[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?-i:[A-Z][a-z]\w{2,40}(?:Failure|Failed|Error))\b",
        COPED,
    ),
    # How many errors there were.
    rule(
        "exception",
        FATAL,
        "errors detected|error detected|errors generated|error generated|errors occurred|errors found|error(s)",
        r"\b[1-9]\d{0,5} (?:\w{2,10} )?error(?:s|\(s\))? (?:detected in the compilation|generated\b|"
        r"occurr?ed\b|found\.)",
        f"{SURVIVED}|\\bcorrect",
    ),
    # A state of a scheduler in angle brackets, or behind the dots of a list of tests.
    rule(
        "exception",
        FATAL,
        "status <exit>|... |error|failed|unknown",
        r"^\S{1,80}\s+(?:\S{1,80}\s+)?\d{1,3}/\d{1,3}\s+(?-i:(?:Init:)?(?:\w{0,24}Error|\w{0,24}Failed|"
        r"\w{0,24}Unknown))\s+\d|\bStatus <EXIT>|\.{4,} ?(?:\[[^\]]{1,40}\] )?(?-i:FAILED|FAIL|ERROR|CRASHED|"
        r"TIMEOUT)\b",
        CALM,
    ),
    # What an MPI library says when one of its processes leaves or breaks the rules.
    rule(
        "exception",
        FATAL,
        "local abort|function was called|will now|mpi_abort",
        r"\bMPI_ABORT was invoked\b|\bapplication called MPI_Abort\(|\blocal abort (?:before|after) MPI|\bfunction was called (?:before|after) MPI_\w{1,20} was invoked|"
        r"\b(?:job|program|run|process|application|simulation|training) will (?:now )?(?:abort|terminate|"
        r"exit|stop|be (?:aborted|terminated|killed))\b",
        COPED,
    ),
    # A library's own error: `[omni.physx.plugin] PhysX error: `.
    rule(
        "exception",
        FATAL,
        "error: ",
        r"(?:^|(?<=[\]|] ))(?-i:[A-Z][A-Za-z]{1,16}) (?:internal |fatal )?error: (?!nan|-?inf|none)[a-z\"'`]",
        f"{COPED}|\\b(?:mean|squared|absolute|relative|rms|train|training|test|val|validation|eval|total|max|"
        f"average|avg|prediction|absolute|import) error|squarederror|illegal to call",
    ),
    # A solver or a program that gives up at a limit of its own.
    rule(
        "exception",
        FATAL,
        "diverged|converging|terminated|exceeded|too many|not been completed|not completed|invalid|"
        "overflowed|already in use|collective abort|there were|init",
        r"^\W{0,4}(?:the )?(?:simulation|solution|solver|calculation|integration) (?:has )?diverged\b|"
        r"\b(?:not|n.t) converging\b.{0,20}\bstop|\b(?:simulation|calculation|analysis|integration) (?:is |"
        r"was |has been )?terminated\W*$|\bmaximum (?:number|amount) of .{2,40}\bexceeded\b|"
        r"\btoo many (?:attempts|errors|open files|restarts|failures)\b|\bhas not been completed\b|"
        r"\b\w{3,20}\(\): invalid (?:pointer|size|next)|\boverflowed its stack\b|\b(?:address|"
        r"port \d{1,5}(?: is)?) already in use\b|\bcaused collective abort\b|\bthere were (?:failed|failures|"
        r"errors)\b|\binit(?:i?ali[sz]ation)? error: ",
        f"{_REDUCIBLE}|too many errors|[=:] ?0\\b",
    ),
    # Who is not let in: a key, a licence, an answer of a server.
    rule(
        "exception",
        FATAL,
        "forbidden|unauthorized|api key|api-key|expired|invalid token|invalid credential|license|licence",
        r"(?-i:\b40[13]\b ?[-:]? ?(?:Forbidden|Unauthorized|FORBIDDEN|UNAUTHORIZED))|"
        r"\binvalid (?:api[- ]?key|token|credentials?|licen[cs]e)\b(?! [\"'<])|\b(?:licen[cs]e|token|"
        r"credentials?|certificate) (?:has |have |is |are )?expired\b",
        f"{COPED}|{HOUSE}",
    ),
)

# Behind every other rule: one strong word that nothing on the line takes back.
LAST: tuple[Rule, ...] = (
    # What failed, said without that word, where a sentence ends or the reason begins.
    rule(
        "exception",
        FATAL,
        "succeed|successful|wrong|ended",
        rf"\b{FAILED}(?:\s*[!.:]*\s*$| ?[:;,] ?\S|[.!] [A-Z(]| \(| (?:with|due|because|after|while|when|during|on|in|at)\b)",
        f"{COPED}|{HOUSE}|{_PROSE}|\\bif\\b|\\bwhat\\b|\\b(?:images?|samples?|attacks?|answers?|episodes?)\\b",
    ),
    rule(
        "hang",
        FATAL,
        "timed out|too long|hung|in time|within|timeout|deadline",
        r"\b(?:[a-z]{2,8}\d{1,5}|process|task|job|thread|driver|kernel) (?:has |is )?hung\W*$|\btimed out\b|"
        r"\btook too long to\b|\bdid(?: not|n.t) (?:respond|answer|reply|finish|complete|start|return|arrive|come up|"
        r"become [a-z]{3,12}|[a-z]{4,12}) (?:in time|within)\b|\b(?:timeout|deadline|time limit) (?:has |was )?(?:expired|exceeded|elapsed|passed)\b|"
        r"\bexceeded (?:its|the|a) (?:[a-z]{2,12} )?(?:time-?out|deadline)\b",
        f"{COPED}|{HOUSE}|{_PROSE}|flight recorder|flush|timed out (?:while |when )?shut(?:ting)? ?down",
    ),
    rule(
        "exception",
        FATAL,
        "error |fail|problem|trouble|exception ",
        HEAD
        + r"(?:an? )?(?:error|failed|failure|problems?|trouble|exception) (?:(?:while|when|in|during) )?"
        r"(?!handling|report|logg|check|rat|train|dur|solv|pend)[a-z]{3,16}ing \S",
        f"{COPED}|{HOUSE}",
    ),
    rule(
        "exception",
        FATAL,
        "exception raised|exception was|does not exist|unable to|cannot|can not|can't|couldn't|could not|"
        "refused|denied",
        r"\bexception (?:was )?(?:raised|thrown) (?:from|in|by)\b|\bdoes not exist\b|"
        r"\bunable to [a-z]{3}|"
        r"\b(?:cannot|can not|can.t|could not|couldn.t) (?:be )?[a-z]{3}|\b(?:permission|access|connection|"
        r"request) (?:was )?(?:refused|denied)\b",
        f"{COPED}|{HOUSE}|{_PROSE}|most recent call|client socket|primary GPU|\\b(?:cannot|"
        f"can not) be (?:used|combined|mixed|undone|changed|reproduced|guaranteed)\\b",
        also=rf"[\d:=\[(/_<'\"`]|{SUBJECT}",
    ),
    # Who did not do what he was to do: he is named in a few words, where the message begins.
    rule(
        "exception",
        FATAL,
        "able to|manage to|failed to",
        HEAD + rf"(?:[\w.'\"`#:/()\[\]-]{{1,60}} ){{1,5}}?{CANNOT} [a-z]{{3}}",
        f"{COPED}|{HOUSE}|{_PROSE}|{_TALKS}",
        also=rf"[\d:=\[(/_<'\"`]|{SUBJECT}",
    ),
    # A word that stories use as well: only where the line looks like a log's.
    rule(
        "exception",
        FATAL,
        "died|are dead|is dead|crashed",
        r"\bdied\b|\b(?:is|are) dead\b(?! (?:simple|end|code))|(?<![\[\w])crashed\b",
        f"{COPED}|{HOUSE}|{_PROSE}|\\b(?:agent|player|enemy|car|vehicle|ego|survived|born)\\b|\\b(?:who|that|"
        f"and) died\\b|died (?:in|at|of|on|from) (?-i:(?:the )?[A-Z])|"
        f"(?-i:\\b[A-Z][a-z]{{1,20}} [A-Z][a-z]{{1,20}} died\\b)|['\"]died['\"]",
        also=r"[\d:=\[(/_<]",
    ),
)
