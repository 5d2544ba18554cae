"""Ends that no other rule knows by its words: the level of a line, the shape of an exception, a verb of failure.

These rows come behind every rule that names a cause. They ask for two things at once, a word that says
how bad it is and a subject that matters, and take nothing that was survived, retried or only advised.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SURVIVED, Rule, rule

# A clock, a bracket with one, or the name of a program, before what the line has to say.
STAMP = r"^\W{0,4}(?:\d[\d\-/:., TZ+]{3,34}[\])|]?[\s|:\-]{0,4})?(?:[\w./-]{1,60}(?: \d{1,8})?: )?"
ERROR_LEVEL = (
    r"(?-i:\b(?:ERROR|SEVERE)\b(?![_.\w]))|\[(?:error|err|e)\]|\blevel=\"?error|"
    r"\"level(?:name)?\": ?\"error\"|\(EE\)|(?-i:\d(?:[AP]M|Z)? ERR )"
)
ABORT_LEVEL = (
    r"(?-i:\b(?:FATAL|CRITICAL|PANIC|EMERG|ALERT)\b[\s:|\])>-])|\[(?:fatal|critical|crit|panic|"
    r"emerg|f)\]|\blevel=\"?(?:fatal|panic|critical)|(?-i:\d(?:[AP]M|Z)? (?:FTL|PNC) )"
)
SUBJECT = (
    r"\b(?:job|process|rank|worker|node|gpus?|device|checkpoint|training|launch\w{0,3}|kernel|command|script|"
    r"container|engine"
    r"|import|task|run|trial|experiment|server|pod|driver|program|application|executor|scheduler|actor|"
    r"replica|stage|step"
    r"|model|backend|session|runtime|build|compil\w{1,8}|module|pipeline|instance|cluster|rule|workflow|main|"
    r"trainer|solver|simulation)s?\b"
)
# Services that only watch a run, and parts that a run lives without.
ASIDE = (
    r"\b(?:wandb|neptune|comet\w{0,4}|mlflow|clearml|trains|swanlab|tensorboard|telemetry|metrics?|dashboard|"
    r"plot\w{0,4}"
    r"|thumbnail|notif\w{1,10}|favicon|summary[-_ ]?writer|dump_input|usage stats|probe|munge|pyxis|"
    r"illegal to call|log ?level|py-?spy|send signal|episodes?|load failed\.\.\.|when parsing line|"
    r"disconnect|upload_url|atexit|unregister"
    r"|systemd-[a-z-]{3,30}|cancel\w{0,4}|corrected|factory|asgi|so_reuseport|dead\. restarting|restarting|"
    r"microcode|trapping|git command|git commit|performing test|FailedScheduling|state file|QStandardPaths|"
    r"cni config|load cni|displaying widget|xdg_runtime_dir|fontconfig|slf4j|find image|dubious ownership|(?:read|fetch|retrieve|tail|stream|collect)\w{0,3} (?:\w{1,16} ){0,3}logs?|NoneType: None|process information)\b"
)
# What the program does without, or does in place of what it could not do; what a person may do, and need not.
WITHOUT = (
    r"\b(?:determine|detect|check|verify|tell|know) (?:if|whether)\b|\bwill not be (?:computed|available|used|applied|logged|shown|enabled|supported|recorded|counted|"
    r"reported|displayed|tracked)\b|\b(?:was|were|is|are) used instead\b|\bwill (?:create|assume|"
    r"be (?:created|used|assumed|updated))\b|\bassum(?:e|ed|ing)\b"
    r"|\bswitching to\b|\bchanging (?:\w{1,16} ){1,2}to\b|\blooking for (?:a )?new\b|\bre-?download|\bsleep(?:ing)? for\b|\bgoing to (?:sleep|"
    r"the next)\b|\b(?:not )?recommended\b|, you can \w|[.;,!] (?:so )?(?:returning|leaving|keeping|dropping|"
    r"treating|unmerging|resizing|applying|starting from (?!scratch))\b|, switch to\b|(?:failed to|could not|"
    r"cannot|able to|manage to) import [\w.-]{1,40}\W*$|\b(?:cannot|can.t|couldn.t|could not|unable to|failed to) (?:log|"
    r"estimate|guarantee|preview|display|plot|visualize|hash|be hashed)\b|"
    r"\b(?:set|change|pin|raise|lower|adjust|increase) (?:the )?(?:\w{1,12} ){0,2}(?:affinity|priority|nice\w{0,4}|ulimit|governor|clocks?|persistence|"
    r"power limit|memlock|oom_score\w{0,4})\b|"
    r"\b(?:optional (?:tool|binary|program)|runtime binary)\b|\bno more (?:nodes|edges|batches|items|records|elements|examples|samples|rows)\b|"
    r"\bso (?:the )?(?:\w{1,20} ){1,3}(?:is|are) (?:changed|adjusted|padded|resized|truncated|reset)\b"
)
COPED = f"{SURVIVED}|{ADVICE}|{CALM}|{ASIDE}|{WITHOUT}|\\bwarn(?:ing)?s?\\b(?! messages)"

EVIDENCE: tuple[Rule, ...] = (
    # Torn, or told by who stood beside it: a watchdog's last words, a shell's job, the audit log, git.
    rule(
        "hang",
        FATAL,
        "data inconsistency",
        r"to avoid data inconsistency, (?:we are taking the|the entire process)",
    ),
    rule(
        "killed",
        FATAL,
        "killed|terminated|hangup|cancellation",
        r"\[\d{1,3}\] {1,6}[+-]? {0,6}\d{2,9} (?:killed|terminated|hangup)\b|^\^Ccancellation requested",
    ),
    rule(
        "network",
        FATAL,
        "fetch-pack|index-pack",
        r"fetch-pack: unexpected disconnect|^fatal: .{0,20}(?:early eof|index-pack failed)",
    ),
    rule(
        "exception",
        FATAL,
        "invalid pointer|anom_abend|(failed |(unix time)",
        r"\*\*\* Aborted at \d{9,11} \(unix time\)|attempt to free invalid pointer|\bANOM_ABEND\b.{0,300}\bsig=[1-9]|"
        r"\bprocess to finish\W{1,5}\(failed [1-9]",
    ),
    # Exceptions whose name does not end in Error.
    rule(
        "exception",
        FATAL,
        "notmet|interrupt|abort|expired|exceeded|unavailable|notfound|timeout|killed|panic|rendezvous|failed|"
        "died|exist|exhausted|denied|refused|rejected|cancelled|exit",
        r"(?:^|[\s>\]|:(])(?-i:(?:[A-Za-z_]\w{0,40}\.){0,6}_?[A-Z]\w{0,40}(?:Interrupt|Abort|Aborted|Expired|"
        r"Exceeded|Unavailable|NotFound|Timeout|Killed|Panic|Rendezvous|Died|NotExist|NotMet|Exhausted|"
        r"Denied|Refused|Rejected|Cancelled|[a-z]Failed))(?:: (?!-?[\d.]{1,12}\W*$)\S|:?\s*$)|^KilledWorker: ",
        COPED,
    ),
    # The head of a line as Google's loggers print it: `E0102 03:04:05.6 7 file.cc:8] `.
    rule(
        "exception",
        FATAL,
        ".cc:|.cpp|.go:|.cu:|.h:",
        r"(?-i:\bF(?:20\d\d)?\d{4} [\d:.]{8,18}\s+\d+ [\w./-]{1,120}\.(?:cc|cpp|cu|go|h):\d+\])",
        "stack trace",
    ),
    # Loggers of Go leave with the line that they call so, whatever it is about.
    rule(
        "exception",
        FATAL,
        "fatal|panic",
        r"^.{0,80}?(?:\blevel=\"?(?:fatal|panic)\"? .{0,60}?\bmsg=|\"level\" ?: ?\"(?:fatal|panic)\",.{0,80}?\"(?:msg|message)\")",
    ),
    rule(
        "exception",
        FATAL,
        "fatal|critical|panic|emerg|alert|[f]| ftl | pnc ",
        rf"^.{{0,100}}?(?:{ABORT_LEVEL})",
        COPED,
    ),
    rule(
        "exception",
        FATAL,
        "error",
        STAMP
        + r"(?-i:Error|ERROR|error)(?:: \S| (?:in|for|while|during|when|occurred|[a-z]{3,16}ing)\b)",
        COPED
        + r"|error: ?[-\d.]+(?:[\s,;%]|$)|^\W{0,4}error handl|\berror (?:in|on|at|for|after|by) [\w %]{1,24}[:=]? ?-?\d[\d.]*%?(?:[\s,;]|$)",
    ),
    rule(
        "exception",
        FATAL,
        "error|severe|level=|[e]|(ee)| err ",
        rf"^.{{0,100}}?(?:{ERROR_LEVEL})",
        COPED
        + r"|\] +(?:[a-z_][\w.]{0,40} = [\w.]{1,60}\(|(?:return|raise|with|await|yield) \w|(?:self|"
        r"super\(\))\.\w|File \S)|:\s*$|(?-i:ERROR)\]?[^A-Za-z]{0,40}(?:\[[\w./-]{1,60}:\d{1,6}\])?\W*$|"
        r"[:\]-] +[{}\[\]]\s*$|[:\]-] +\"\w{1,40}\" ?: |error rate|^\s*\"|(?:ERROR|"
        r"Error)\]?(?: \(\w{1,24}\))?\s+(?:\d\)| -) |info_?dump\b|\bis successfully\b|\bbacktrace \(|"
        r"-\[ ?cut here|-{8,}\s*$",
    ),
    rule(
        "exception",
        FATAL,
        "failed",
        r"(?<![/\\])(?-i:\b(?:failed|FAILED)\b)(?:[.!:;,)\]]|\s*$| (?:with|due|because|at|after|on|in|while|during|"
        r"when|for|and|reason|-?\d{1,6}\s*$))",
        COPED
        + r"|\b(?:0|no|zero) fail|failed[\"']?\s?[:=]\s?[\d\[({]|failed[_ ](?:count|jobs|runs|samples)|"
        r"\bimages?\b|\b(?:samples?|problems?|questions?|prompts?)\b|\bHumanEval\b|\|\s*failed\b|"
        r"first observed|\bnvrm\b|\bcheckout failed|^\s*[-*\d.]+ |\bcause|\bOP_REQUIRES|\bPASS|\bpassed\b|"
        r"\[!\] load failed",
    ),
    rule(
        "exception",
        FATAL,
        "cannot|can't|could not|couldn't|unable to",
        STAMP
        + r"(?:Cannot|Can't|Could not|Couldn't|Unable to) (?:register|determine|detect|set ?up|bind|"
        r"listen) (?!factory)\w|(?:^\W{0,4}(?:[\w.-]{2,24}: )?|[\])>:] )(?:Cannot|Can't|Could not|Couldn't|"
        r"Unable to) (?:open|initiali[sz]e|find|read|access|allocate|connect|start|create|write|import|"
        r"locate|run|execute|launch|mount|acquire|attach|bind|fork|fuse|parse|resolve|submit|"
        r"schedule) .{0,60}?\b(?:files?|director\w{1,3}|folder|path|model|checkpoint|config\w{0,9}|device|"
        r"gpus?|server|socket|address|port|process|thread|memory|dataset|data|input|output|module|points|"
        r"job|node|database|container|image:|volume|context|display|EGL|engine|renderer|session|runtime|"
        r"backend|scene|environment|worker|job)\b",
        COPED
        + r"|\boptional|\blib\w{1,20}\.so|plugin|extension|font|backend '|temporary cache|dynamic|"
        r"file exists|^(?:rm|mv|ls|mkdir|grep|find|chmod|du): |hostfile|proceed|default|\busing\b",
    ),
    # A plain sentence about something that matters.
    rule(
        "exception",
        FATAL,
        "fail",
        r"^\W{0,4}(?:[\w./\[\]:-]{1,40}:? ){0,4}?(?-i:(?:F|f)ailed (?:to (?:execute|run|build|compile|import|"
        r"launch|start|submit|create|load|open|allocate|initiali[sz]e|init|spawn|parse|connect|mount|pull|"
        r"acquire|get|query|read|resolve|install|schedule))\b)",
        COPED + r"|\boptional|\blib\w{1,20}\.so|plugin|extension",
        also=SUBJECT,
    ),
    rule(
        "exception",
        FATAL,
        "fail",
        rf"{SUBJECT}[^.]{{0,50}}?(?-i:\b(?:failed|FAILED|FAIL|failure)\b)(?! (?:modes?|rates?|cases?|detect|"
        rf"predict|analys|toleran|recover|handl|domain))|^\w{{1,30}}: FAIL\b|\bfailed (?:run )?(?:completed|"
        rf"after) (?:in )?\d",
        COPED
        + r"|\b(?:0|no|zero) fail|fail\w{0,4} \w{1,12}[:=] ?0\b|fail(?:ed|ures?)[\"']?\s?[:=]\s?\d|"
        r"failed[_ ](?:count|jobs|runs|samples)|\bimages?\b|\b(?:samples?|problems?|questions?|prompts?)\b|"
        r"\|\s*failed\b|first observed failure|could not|cannot|unable|\bnvrm\b|\bcheckout failed|"
        r"^\s*[-*\d.]+ |\bcause",
    ),
    rule(
        "exception",
        FATAL,
        "complete|successful|unrecoverable|cannot continue|unable to continue|cannot proceed|giving up|"
        "aborting|terminated|exiting|error has|unexpected error|aborted|signal|assert|stopped",
        r"\bdid (?:not|n.t) (?:complete|finish|exit|terminate|end|start) (?:successfully|cleanly|normally|"
        r"properly)|\bunrecoverable (?:error|failure)|\b(?:cannot|can.t|unable to|could not) (?:continue|"
        r"proceed|recover)\b|\bgiving up\b|^\W{0,4}(?:[\w.]{1,30}: )?aborting\b|\b(?:an )?(?:unexpected|"
        r"unknown|fatal|internal|unhandled|unrecoverable|irrecoverable) error (?:has )?(?:occurr?ed|happened|"
        r"caught|encountered)|\ban (?:unexpected )?(?:error|exception) (?:has )?occurr?ed\b"
        r"|\b(?:terminated|aborted|exited|stopped|ended|quit) (?:with|due to|because of|by|on|abnormally|"
        r"prematurely|unexpectedly|after) (?:an? |the )?(?:\w{1,20} )?(?:error|exception|signal|fail\w{0,4}|"
        r"crash|abort|assert\w{0,4})\b|\b(?:terminated|aborted|exited|stopped|ended|completed|"
        r"finished) (?:abnormally|prematurely|unexpectedly|unsuccessfully)|\bexiting (?:due to|because of|"
        r"with|after) (?:an? |the )?(?:\w{1,20} )?(?:error|exception|failure)",
        COPED,
    ),
    rule(
        "exception",
        FATAL,
        "floating|aborted|assert|stack overflow|access violation|illegal hardware|stack trace|signal|trap|"
        "trace/breakpoint|unhandled|bad address|double free|invalid pointer|undefined symbol|"
        "could not get lock|could not register|stale file|transport endpoint|input/output error|"
        "symbol lookup|undefined reference|glibc|dll load|cannot open shared|not recognized as|"
        "cannot find -l|no rule to make|unable to locate package|could not find a version|"
        "no matching distribution|stackoverflow|caused by",
        r"\bcould not get lock\b|: (?:stale file handle|transport endpoint is not connected|"
        r"input/output error)\s*$|\bfloating[- ]point exception\b|(?:^|: )Aborted (?:from|at|in)\b|"
        r"\bAssert(?:ion)?\b[^\n]{0,120}\b(?:failed|failure|violated)\b|\bstack overflow\b|"
        r"\baccess violation\b|\billegal hardware instruction|\bsignal \(?(?:4|6|7|8|11)\b|"
        r"\bcaught (?:fatal )?signal|\btrace/breakpoint trap|\b(?:symbol lookup error|undefined reference to|"
        r"undefined symbol)\b|version `?GLIBC\w{0,6}_[\d.]+'? not found|DLL load failed|"
        r": cannot open shared object file: no such|is not recognized as (?:an internal or external|(?:the|a) name of a cmdlet)|"
        r"cannot find -l\w|no rule to make target|\bexecutable file not found in\b|\bFIO-[FS]-\d|"
        r"\bread past end of file\b|unable to locate package|could not find a version that satisfies|"
        r"no matching distribution found|\bunhandled (?:exception|rejection|signal|promise)",
        COPED,
    ),
    rule(
        "exception",
        FATAL,
        "on an|error in|error using|fatal state|failed state|not expected|not recoverable|creation failed|"
        "been caught|thread error|terminated badly|"
        "[errno|exited abnormally|configuring incomplete|: not found|invalid option|been rejected|"
        "fatal error has|forrtl|exited or|_failed|_failure|_aborted|_crashed|_with_error|goroutine|"
        "pure virtual|usage error|qsub|sbatch|bsub|error from server|manifest unknown|not enough slots|srun:|"
        "condor_submit|back-off pulling|client error|license ch|license val|cannot find|error is fatal|"
        "at line|error termination|internal problem|internal error|abort trap|library not loaded|error[e|"
        "npm e|there was a crash|failed to|crashed|error: |segmentation violation|fatal exception|exiting now",
        r"\bcalled `\w{1,20}::(?:unwrap|expect)|^(?:#> ?)?Error (?:in|using) \S|:\s{0,4}Error using \S|"
        r"\bentered (?:FATAL|failed) state|\bexit status [1-9]\d{0,2}; not expected|\bnot recoverable\b|"
        r"\benvironment creation failed|\bterminated badly\b|\[Errno \d{1,3}\]|\bexited abnormally\b|"
        r"\bconfiguring incomplete\b|^(?:\S{1,20}/)?(?:ba|da|z|k)?sh: (?:line )?\d+: \S{1,60}: not found|"
        r"^(?:\S{1,40}: )?invalid option --|\bhas been rejected$|^# A fatal error has been detected|"
        r"\bfatal error has been detected|\bforrtl: (?:severe|error)\b|\bexited or unhealthy\b|"
        r"(?-i:\b(?:[A-Z]{2,16}_){1,4}(?:FAILED|FAILURE|ABORTED|CRASHED|WITH_ERROR)\b)(?!\W{0,2}[=:]|_)|"
        r"^goroutine \d+ \[running\]|\bpure virtual method called|^usage error\b|^(?:qsub|sbatch|bsub|srun|"
        r"salloc|condor_submit): (?!\w{0,12}warn)(?=\w).{0,60}\b(?:unauthorized|exceeds|no such|"
        r"not submitted|denied|fail\w{0,3}|invalid|rejected|unknown|error)|\bback-off pulling image|"
        r"\bunauthorized for url|\b(?:401|403|404) client error|\blicense (?:checkout|check|"
        r"validation) failed|\bcannot find (?:the )?config\w{0,10}(?: file)?\b|\berror is fatal\b|"
        r"^\s{0,4}(?:ERROR )?STOP [1-9]\d{0,2}\s*$|^at line \d+ of file \S{1,120}\.f\d{0,2}\b|"
        r"^error termination\b|\bencountered an internal (?:problem|error) and|\babort trap: \d|"
        r"\blibrary not loaded:|^error\[E\d{4}\]|^npm (?:ERR!|error) code|\bthere was a crash\b|"
        r"^\W{0,4}(?!WARN(?:ING)?\b)[\w .:/\[\]()-]{1,60}? failed to (?:start|launch|boot|come up|initiali[sz]e)\b|"
        r"\b(?:renderer|kernel|simulator|solver|driver|session|client|task|app|application|program|script|"
        r"run|job|gpu|miner|daemon|service) (?:has |have )?(?:just )?crashed\b|"
        r"^.{0,60}?[\]|>)] {0,3}(?-i:Error: [\"'A-Za-z])|\bsegmentation violation\b|\bfatal exception\b|"
        r"\bthread error detected|^error from server\b|\bmanifest unknown\b|\bnot enough slots\b|"
        r"\berror has been caught in function|\bexiting now$",
        f"{ADVICE}|{ASIDE}|\\bignor(?:ed|ing)\\b",
    ),
)
