"""Ends told as one plain sentence: who is gone, what is not there, what may not be, where it failed.

These rows name no program either. They ask for the whole form of the sentence, from its head or to its end, for
its words alone mean nothing.
"""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED, STAMP
from gpu_tui.parse.triage_grammar import HEAD
from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SURVIVED, Rule, rule

WHO = (
    r"(?:process(?:es)?|workers?|ranks?|nodes?|hosts?|trainers?|controller|master|scheduler|daemon|agent|actor|"
    r"raylet|job|server|engine|peer|container|child|parent|learner|launcher|coordinator|executor|replica|tracker|"
    r"simulator|environment|producer|consumer|loader|subprocess|thread)"
)
_WHOM = rf"(?:[\w.-]{{1,20}} )?{WHO}(?: (?:with )?(?:pid |id |#)?[\w.:/-]{{1,40}})?"
_STEP = (
    r"(?:epoch|step|iter(?:ation)?|batch|stage|phase|fold|trial|episode \d|layer|line|block|round|seed|task|cell|node|"
    r"rank|gpu|device|validation|evaluation|training|forward|backward|preprocessing|setup|initiali[sz]ation|startup|"
    r"loading|compilation|init)"
)
_THING = (
    r"(?:data ?sets?|models?(?: type| name)?|architectures?|arch|backbones?|optimi[sz]ers?|schedulers?|loss(?: function)?|"
    r"tasks?|env(?:ironment)?s?|devices?|modes?|formats?|tokenizers?|templates?|strateg(?:y|ies)|backends?|options?|"
    r"arguments?|commands?|keys?|layers?|types?|metrics?|splits?|columns?|fields?|parameters?|configs?|plugins?|"
    r"activations?|methods?|algorithms?|samplers?|kernels?|dtypes?|checkpoints?|extensions?|file types?)"
)
_PIECES = r"(?:images?|samples?|files?|examples?|records?|labels?|videos?|clips?|sequences?|shards?|rows?|documents?|annotations?|frames?|data|inputs?)"
_END = r"(?=\W{0,3}$|[.,;:!)] | (?:with|due|because|after|while|unexpectedly|before|since|at \d|on (?:rank|node|host|gpu))\b)"
# Words of a search that goes on, or of what was left out on purpose.
_UNNEEDED = (
    r"\bscann|\bcache|\b(?:removed|filtered|dropped|excluded)\b|background|up to date|fresh|\balready\b|\bdone\b|"
    r"\b(?:new|extra|left|more|other|additional|further)\b"
)
_SPANS = r"\d+ ?(?:s|secs?|seconds|min|minutes|ms|h|hours)\b"

PLAIN_CAUSES: tuple[Rule, ...] = (
    # Memory that something does not fit into.
    rule(
        "gpu_oom",
        FATAL,
        "fit",
        r"\b(?:does|do|did|will|would) ?(?:not|n.t) fit (?:in|into|on|onto) (?:the |a |one |your |this |single )*"
        r"(?:GPUs?|device|card|VRAM|(?:GPU|device|video) memory)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "host_oom",
        FATAL,
        "not enough|insufficient|requested memory|memory limit",
        r"\b(?:not enough|insufficient) (?:free |available )?(?:RAM|(?:system|host|main|CPU|physical) memory)\b|"
        r"\bexceed(?:s|ed|ing)? (?:its |the |your )?(?:requested |allowed |job )?memory\b.{0,24}\bkill",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "hang",
        FATAL,
        "took longer|taking longer|exceeded",
        rf"\b(?:took|taking) (?:longer|more) than {_SPANS}.{{0,40}}\b(?:abort|kill|exit|terminat|giving up)|"
        rf"\bno (?:progress|output|activity|heartbeat)\b.{{0,24}}{_SPANS}.{{0,24}}\b(?:abort|kill|exit|terminat)",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # What a check of the card's runtime found. A card without memory is known before.
    rule(
        "cuda_error",
        FATAL,
        "check failed",
        r"\bcheck failed: .{0,60}\b(?:cudaSuccess|(?:CUDNN|CUBLAS|CUFFT)_STATUS_SUCCESS|hipSuccess|num_(?:cuda_devices|gpus?|devices) > 0)\b",
        "out of memory|\\(2 vs",
    ),
    # A driver that is older than what needs it, or is not there.
    rule(
        "cuda_error",
        FATAL,
        "driver",
        r"^\W{0,4}(?:error: )?insufficient (?:CUDA |NVIDIA |GPU )?driver(?: version)?\W*$|\b(?:NVIDIA|CUDA|GPU|installed|display) driver (?:is |version is )?too old\b|"
        r"\b(?:NVIDIA|CUDA|GPU) (?:kernel )?driver (?:is |was )?not (?:found|loaded|installed|running)\b|^\W{0,4}driver (?:is )?not loaded\W*$",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule("host_oom", FATAL, "memout", r"\bmemout\b(?! ?[=:] ?0)"),
    # By the file that a check stands in.
    rule(
        "cuda_error",
        FATAL,
        "status error|assert",
        r"\b(?:CUDA|cuDNN|cuBLAS) status error\b|\bassert(?:ion)? (?:.{1,80} )?failed\b.{0,120}/(?:cuda|cudnn|hip)/[\w./-]{1,80}\.(?:cpp|cc|cu|h)\b",
    ),
)

PLAIN_STOPS: tuple[Rule, ...] = (
    rule(
        "preempted",
        FATAL,
        "hour limit|hours limit|run time|runtime of|session expired|execution time",
        r"\b(?:notebook|session|run|job|kernel|commit|task|instance)\b.{0,24}\b(?:exceeded|reached|hit) (?:the |its |"
        r"your )?(?:maximum )?(?:of )?\d{1,3}[- ]?h(?:ours?)?\b|\bmaximum (?:run ?time|execution time|run duration)\b"
        rf".{{0,24}}\b(?:exceeded|reached|elapsed)\b|\b(?:session|lease|reservation) (?:has )?expired after {_SPANS}",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # A signal as a library of logging writes one, a person at the keyboard, a bar that the shell wrote behind.
    rule(
        "killed",
        FATAL,
        "sig|ctrl|killed|terminated|hangup",
        r"\bSIG(?:TERM|INT|HUP|KILL|QUIT) \(@0x|\b(?:user|someone|operator) (?:pressed|hit|sent|typed) (?:\^C|ctrl ?[-+] ?c)\b|"
        r"\b(?:because of|due to|on|by) (?:a )?(?:\^C|ctrl ?[-+] ?c)\b\W*$|\d[\])]?(?-i:Killed|Terminated|Hangup)\s*$",
        f"{ADVICE}|\\bpress\\b",
    ),
)

PLAIN: tuple[Rule, ...] = (
    # An error that was met, told without a colon: `Error detected while`, `Error, job 3 is gone`, `Error! It broke`.
    rule(
        "exception",
        FATAL,
        "error",
        STAMP
        + r"(?:an? |the )?(?-i:Error|ERROR|error)(?:s? (?:was |were )?(?:detected|found|raised|thrown|caught|reported|"
        r"encountered|happened|hit) (?:while|during|when|at|by|on|after|before)\b|[,!] [A-Za-z`'\"])",
        f"{COPED}|error[,!] [\\w ]{{1,24}}[:=] ?[-\\d]",
    ),
    # Somebody who is there no more.
    rule(
        "exception",
        FATAL,
        "no longer|vanished|gone|died|disappeared|went away|went down|not alive|dead",
        rf"^\W{{0,4}}(?:[\w./-]{{1,40}}: )?(?:error\W{{1,3}})?(?:the |one or more |some |a |an |our )?{_WHOM} "
        r"(?:(?:is|are|has|have|was|were) )?(?:no longer (?:exists?|alive|running|responding|respond|available|reachable|"
        r"connected|registered)|vanished|gone(?: away)?|died|disappeared|went (?:away|down)|not alive|dead)\b"
        + _END,
        f"{COPED}|\\bif\\b|\\bwhen\\b|\\breward|\\bepisode",
    ),
    rule(
        "exception",
        FATAL,
        "no longer",
        r"(?-i:Error): .{0,60}\bno longer (?:alive|running|exists?|available|reachable|connected)\b",
        f"{SURVIVED}|{CALM}",
    ),
    rule(
        "exception",
        FATAL,
        "did not|didn't|something",
        r"^\W{0,4}(?:the |your |this )?(?:[\w-]{1,16} )?(?:run|job|training|simulation|script|program|command|task|"
        r"process|evaluation|export|conversion|upload|download|build|workflow|pipeline|experiment|trial|sweep|step|stage|deployment|"
        r"installation|launch|flow)(?: \S{1,24})? (?:did not|didn.t) (?:finish|complete|"
        r"succeed|start|converge|terminate normally|exit cleanly)\b(?! yet)|\bsomething (?:bad|terrible|unexpected|strange) happened\b(?!\?)",
        COPED,
    ),
    # Who has left, where the sentence does not say how.
    rule(
        "exception",
        FATAL,
        "has exited",
        r"^\W{0,4}(?:the )?(?:[\w-]{1,20} )?(?:process|server|engine|worker|daemon|launcher|trainer|container|scheduler) has (?:exited|quit)"
        r"(?:\W*$|[.;!] [A-Z]| before\b)",
        COPED,
    ),
    # Where it failed.
    rule(
        "exception",
        FATAL,
        "failed |failure ",
        HEAD
        + r"(?:execution |training |run |job )?(?:failed|failure) (?:at|in|on|while|during|after|before|when) (?:the )?(?:"
        + _STEP
        + r"\b|[a-z]{3,16}ing [a-z`'\"])|"
        + HEAD
        + r"failed (?:bind|listen|accept|connect|open|read|write|send|recv|receive|mount|init|load|fetch|lookup|handshake|allocation) "
        r"(?:on|to|of|from|at|for|with) \S",
        f"{COPED}|[:=] ?0(?![\\d.])",
    ),
    # Who failed, raised or is in a state of failure, where the sentence says no more.
    rule(
        "exception",
        FATAL,
        "raised an|threw an|reported an|error state|failed state|hit an|got an|encountered an",
        rf"\b{_WHOM} (?:has )?(?:raised|threw|hit|got|encountered|reported) an? (?:\w{{1,20}} )?(?:exception|error)\b|"
        r"\b(?:pod|container|job|task|node|worker|run|service|unit) \S{1,40} (?:is |went |now |entered )?(?:in |into )?(?:an? |"
        r"the )?(?:error|failed|crashed|unhealthy) state\b",
        f"{COPED}|handl",
    ),
    rule(
        "exception",
        FATAL,
        "state|status|phase",
        r"\b(?:status|state|phase) (?:is|was|became|changed to) (?-i:Error|ERROR|Failed|FAILED|Crashed|CRASHED|Dead|DEAD)\b|"
        r"\b(?:entered|reached|moved to|into|to) (?:the )?(?:state|phase|status) \W?(?:terminated|failed|error|dead|crashed)\b",
        COPED,
        also=r"\b(?:pod|container|job|task|node|worker|run|service|instance|workflow|trial|experiment)\b",
    ),
    # An exception that somebody met in a step of the training, at whatever level he tells of it; a limit of warnings.
    rule(
        "exception",
        FATAL,
        "exception |too many",
        r"\bexception (?:(?:has |was )?(?:happened|occurr?ed|raised|caught|thrown) )?(?:in|during|inside|within) (?:the )?(?:[\w.]{0,24}"
        r"(?:training|validation|test)_?(?:step|loop|epoch)|forward|backward|fit|train(?:ing)? (?:step|loop|epoch|thread|process))\b|"
        r"^\W{0,4}too many (?:[\w-]{1,16} )?warnings \(\d",
        f"{SURVIVED}|exception handl|\\bno exception|\\bexceptions\\b",
    ),
    # Somebody tells of an error as of a warning, and of what he does for it: he ends the whole.
    rule(
        "exception",
        FATAL,
        "exception|error|failure|crash",
        r"[,;.] {1,2}(?:so )?(?:now )?(?:stopping|aborting|terminating|halting|ending|cancell?ing|quitting) ",
        r"early.stopping|improve|converge|toleran|target|below|above|patience|\bif\b|\brate\b|threshold|\b(?:mean|validation|reconstruction|"
        r"test|train\w*|squared|absolute|relative|bellman|residual) error|\b(?:no|0|zero) (?:exceptions?|errors?|failures?)",
        also=r"\b(?:exceptions?|errors?|failures?|crash)\b[^,;]{0,80}[,;.] {1,2}(?:so )?(?:now )?\w+ing (?:(?:the |all |this |remaining )?(?:\w{1,16} )?(?:runs?|"
        r"training|search|sweep|jobs?|experiment|study|trials?|HPO|tuning|pipeline|evaluation|optimi[sz]ation|fit|early)\b){1,2}",
    ),
    # A whole that did not succeed, and one that works no more.
    rule(
        "exception",
        FATAL,
        "successful|crashed|stopped working|stopped:|halted:|aborted:",
        r"\b(?:training|run|job|task|build|execution|termination|evaluation|export|conversion|login|installation|fine-?tuning) "
        r"(?:was |is |has been )?(?:not successful|unsuccessful)\b|\bstopped working\W{0,3}$|^\W{0,4}(?:[\w-]{1,16} ){0,2}?(?:eval|inference|"
        r"generation|rollouts?|sampling|validation|fine-?tuning|pretraining|preprocessing|export) (?:has |just )?crashed\b|"
        r"^\W{0,4}(?:execution|evaluation|simulation|program|script|pipeline|optimi[sz]ation) (?:stopped|halted|aborted): (?!max|early)",
        COPED,
    ),
    # Who gave back what he should not, or nothing.
    rule(
        "exception",
        FATAL,
        "did not|didn't",
        r"^\W{0,4}(?:[\w ./-]{1,40}: )?(?:the |your )?[\w.]{2,60}(?:\(\))?(?: function| method| model| client| server| worker| notebook| \d{1,6})? "
        r"(?:did not|didn.t) (?:return|produce|yield|provide|define|implement|write|create|send|receive|output|generate|save) "
        r"(?:an?|any|the|its|valid|enough|all)\b",
        f"{COPED}|\\byet\\b|\\bI\\b|\\b(?:best|better|improve\\w{{0,4}}|answers?|questions?|prompts?|dry run)\\b",
    ),
    # The state that somebody ended in, told calmly in brackets behind the sentence.
    rule(
        "exception",
        FATAL,
        "failed|error|crashed|dead|aborted",
        r"\b(?:job|run|task|trial|step|experiment|workflow|pipeline|worker)\b.{0,40}\((?:status|state|result|phase)[:=] ?"
        r"(?-i:FAILED(?:_[A-Z]{2,20}){0,4}|[Ff]ailed|ERROR|CRASHED|DEAD|ABORTED)\)",
        SURVIVED,
    ),
    # What left with a number, and says no more than that.
    rule(
        "exception",
        FATAL,
        "returned|exited|ended|quit|finished|stopped|failed|terminated|exit",
        r"(?:^|[\s'\"`)\]])(?:process|command|subprocess|program|script|child|job|task|it|run|python|launcher|worker|trainer|"
        r"executable|shell|\S{1,60}\.(?:py|sh))[\"'`]?(?: \S{1,40})? (?:has |was )?(?:(?:returned|exited|quit|failed)(?: with)?|"
        r"(?:ended|finished|stopped|terminated) with)(?: an?)?(?: exit| return| error)?(?: code| status| rc| value)?"
        r"(?: of)?[: =(]{1,3}-?[1-9]\d{0,9}\)?\W{0,3}$|^\W{0,4}\[?(?:exit(?:ed)?|return) (?:code|status) ?(?:is|was|of|=|:)? ?"
        r"[1-9]\d{0,2}\]?\W{0,2}$|\bexit (?:code|status) of .{1,120}\b(?:was|is):? ?[1-9]\d{0,2}\b",
        f"{SURVIVED}|{ADVICE}",
    ),
    # From one state to another; a script that another one could not take the place of.
    rule(
        "exception",
        FATAL,
        "fail|error|crash|exec: |source: |.: ",
        r"(?-i:\b(?:[Rr]unning|RUNNING|[Pp]ending|PENDING|[Ss]tarting|STARTING) ?(?:to|->|=>|\u2192) ?(?:Failed|FAILED|failed|Error|ERROR|Crashed|CRASHED)\b)|"
        r"^\S{1,80}: line \d{1,6}: (?:exec|source|\.): .{1,120}: (?:invalid option|(?:file )?not found|no such file or directory)\s*$",
        f"{ADVICE}|\\b(?:if|when|whenever|upon)\\b|\\bon (?:running|pending|starting)\\b",
    ),
    # A shell's own list of jobs, and what git hears from the other side.
    rule(
        "exception",
        FATAL,
        "abort|fault|error|illegal|trace|floating|remote:",
        r"^\[\d{1,3}\] {1,4}[+-]? {1,6}(?:\d{1,8} )?(?:abort|segmentation fault|bus error|illegal hardware|floating point|"
        r"trace trap|exit [1-9]|done\([1-9])|^remote: .{0,80}\b(?:not found|denied|invalid|error:|declined|exceeds|failed)",
        "deprecat|warning",
    ),
    # Data that is not there: a path stands behind.
    rule(
        "exception",
        FATAL,
        "found|match|avail",
        rf"^\W{{0,4}}(?:[\w./-]{{1,40}}: )?(?:found (?:no|0|zero) (?:[\w.*-]{{1,20}} ){{0,3}}?{_PIECES}|(?:no|0|zero) (?:[\w.*-]{{1,20}} )"
        rf"{{0,3}}?{_PIECES} (?:were |was |are |could be )?(?:found|matched|match(?:ing)?|available)) ?(?:in|at|under|for|from|matching|inside)? ?"
        r"(?:the |directory |folder |path )*[:\"'`]{0,2}(?:[/~*.]|[A-Za-z]:\\)\S",
        f"{SURVIVED}|{CALM}|{ADVICE}|{_UNNEEDED}",
    ),
    rule(
        "exception",
        FATAL,
        "contain|has no|has 0|has zero|have no|have 0|nothing to",
        rf"\b(?:data ?set|data|split|loader|folder|directory|train\w* set)\b.{{0,40}}\b(?:contains?|has|have) (?:no|0|zero) "
        rf"(?:usable |valid |train\w* )?{_PIECES}\b|\bnothing to (?:train|evaluate|run)\b(?: on)?\b",
        f"{SURVIVED}|{CALM}|{ADVICE}|{_UNNEEDED}",
    ),
    # A thing by a name that nobody knows.
    rule(
        "exception",
        FATAL,
        "unknown|unrecogni|unsupported|no such|undefined|nonexistent|not found|not recogni|not registered|unexpected",
        rf"^\W{{0,4}}(?:[\w./-]{{1,40}}: )?(?:unknown|unrecogni[sz]ed|unsupported|no such|undefined|nonexistent) (?:[\w-]{{1,20}} )?"
        rf"{_THING}(?: name| type)?\W{{1,3}}[\w./@+-]{{1,80}}['\"`)]{{0,2}}[.!]?\s*$|"
        rf"^\W{{0,4}}(?:the )?{_THING} ['\"`][^'\"`]{{1,80}}['\"`] (?:is |was |does |could )?(?:not (?:found|exist|registered|supported|"
        r"recogni[sz]ed|be found|defined|available|implemented)|unknown|unsupported|missing|invalid)\b",
        f"{COPED}|\\bdefault|download|generat|creat|\\bcache|\\busing\\b|\\btoken\\b|initiali[sz]ed|random",
    ),
    # An option, a value or a file of configuration that may not be.
    rule(
        "exception",
        FATAL,
        "expected|missing|validation|invalid|bad |must be|must have|yaml|json|toml",
        r"^\W{0,4}(?:[\w./-]{1,40}: )?(?:argument|option|flag) -{1,2}[\w/, -]{1,60}: (?:expected|invalid|not allowed|ignored explicit)|"
        r"^\W{0,4}(?:[\w./-]{1,40}: )?(?:missing|invalid) (?:required |value for |mandatory )(?:option|argument|parameter|key|field|config\w*|"
        r"environment variable|setting|input|flag|-{2}|['\"`])[\w\s'\"`.:=-]{0,80}|"
        r"^\W{0,4}(?:the )?(?:config\w*|yaml|json|toml|schema|hydra|settings?)(?: file)? (?:validation )?(?:failed|error|is invalid|is malformed|"
        r"is not valid|could not be parsed)(?=[:!.,]|\s*$| (?:in|at|on) )|"
        r"^\W{0,4}(?:bad|invalid|illegal) (?:config\w*|value|setting|input|data|shape|batch size|hyper-?parameters?)(?:: | ?= ?)[\w'\"`].{0,80}",
        f"{COPED}|skip|\\bdefault",
    ),
    # Sizes that do not go together, with their numbers; an index beyond the end.
    rule(
        "exception",
        FATAL,
        "divisible|multiple of|must match|does not match|do not match|out of bounds|out of range|must be equal",
        r"\b\d{1,9}\)(?: \w{1,16}){0,3} (?:must be (?:divisible by|a multiple of|equal to)|is not a multiple of|must match|"
        r"(?:does not|doesn.t|do not|don.t) match) .{0,80}\d|^\W{0,4}(?:target|label|index|token|class|indices|value|id)s?\b"
        r".{0,40}\b(?:is |are )?out of (?:bounds|range)\b(?! ?[:=] ?0| samples)",
        f"{COPED}|clipp|clamp|\\bif\\b|resiz|padd|interpolat|\\bversion|compatible",
    ),
    # A place that holds nothing or is not there.
    rule(
        "exception",
        FATAL,
        "is empty|not found|is missing|not exist",
        r"^\W{0,4}(?:[\w.-]{1,40}: )?(?:the |input |data |train\w* |output |config )*(?:folder|directory|path|file)(?: [\"'`]?[/~.]?[\w./~-]{1,160}"
        r"[\"'`]?)? (?:is empty|not found|is missing|(?:does not|doesn.t) exist)(?:: ?[/~.\"'`]\S{1,160})?[.!]?\s*$",
        f"{COPED}|creat|download|generat|\\bcache",
    ),
    # An error by its number, or by the short word for it.
    rule(
        "exception",
        FATAL,
        "error code|error #|err: |error ",
        r"^\W{0,4}(?:[\w./-]{1,40}: )?(?:error|exit) (?:(?:code|status|number|no\.?)\W{1,2}(?:0x[0-9a-f]{2,8}|[1-9]\d{0,9})\W{0,2}$|"
        r"#?[1-9]\d{0,9}: (?!nan|[-+]?\d)[A-Za-z])|^\W{0,4}error code:? ?(?:0x)?[1-9a-f][0-9a-f]{0,9}\b|^\W{0,6}(?-i:ERR|Err):? [a-z]",
        f"{COPED}|\\brate\\b",
    ),
    # A state and nothing else, a test that failed, how many of them did.
    rule(
        "exception",
        FATAL,
        "fail|failed|errors",
        r"^[^\w\s]{0,40} {0,4}(?-i:FAIL|FAILED|Failed|CRASHED|ERRORED)\W{0,40}$|^\s{0,4}\[ {0,2}(?-i:FAILED|FAIL) {0,2}\] \S|"
        r"\b[1-9]\d{0,5} failed(?:, \d{1,6} (?:passed|skipped|errors?|warnings?|xfailed)){1,4}\b",
    ),
    # What was caught elsewhere, and is thrown again here.
    rule(
        "exception",
        FATAL,
        "caught ",
        r"\bcaught (?-i:(?:[a-z_]\w{0,40}\.){0,4}[A-Z]\w{1,40}(?:Error|Exception)) in ",
        f"{SURVIVED}|{CALM}",
    ),
    # A level of NVIDIA's trainer; the system's words for an error, alone on their line.
    rule("exception", FATAL, "[nemo e", r"^(?-i:\[NeMo E \d{4}-).{10,60}\] \S", COPED),
    rule(
        "exception",
        FATAL,
        "stale|input/output|transport|read-only|too many open|resource temp|bad file|exec format",
        r"^\W{0,3}(?:stale file handle|input/output error|transport endpoint is not connected|read-only file system|"
        r"too many open files|resource temporarily unavailable|bad file descriptor|exec format error)\W{0,3}$",
    ),
    # Whoever left before he was ready; a stop that gives its reason before it.
    rule(
        "exception",
        FATAL,
        "ready|stopping|stopped",
        rf"\b{WHO}\b.{{0,24}}\b(?:exited|died|crashed|stopped|terminated|failed) before (?:it |being |becoming |was |reaching |it was )*"
        r"(?:ready|started|healthy|initiali[sz]ed|up)\b|\b(?:too (?:large|small|high|low|many|big)|unstable|exploded|diverged|"
        r"inconsistent|corrupted|out of (?:range|bounds|sync))\W{1,3}(?:stopping|stopped|exiting|aborting|giving up|terminating)\b",
        f"{SURVIVED}|early|patience|improv|\\bwarn",
    ),
    # Who is not let in.
    rule(
        "exception",
        FATAL,
        "repository not found|gated repo|is restricted|api key|license|licence|pull access",
        r"^\W{0,4}repository not found for url\b|\btrying to access a gated repo\b|\baccess to (?:model|dataset|repo\w{0,7}) \S{1,120} is "
        r"restricted\b|\b(?:api[- ]key|licen[cs]e(?: server| file| key)?) (?:is |was )?(?:invalid|not found|missing|not responding|"
        r"unreachable|not valid|rejected|revoked)\b|\bpull access denied\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)
