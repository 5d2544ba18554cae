"""Labels 10 and 11: who ended the job from outside, a scheduler or a signal."""

from __future__ import annotations

from gpu_tui.parse.triage_below import BELOW_STOPS
from gpu_tui.parse.triage_daemons import DAEMON_STOPS
from gpu_tui.parse.triage_hosts import HOST_STOPS
from gpu_tui.parse.triage_plain import PLAIN_STOPS
from gpu_tui.parse.triage_rule import (
    ADVICE,
    FATAL,
    KILLS,
    Rule,
    rule,
)
from gpu_tui.parse.triage_runs import RUN_STOPS
from gpu_tui.parse.triage_tongues import TONGUE_STOPS
from gpu_tui.parse.triage_turns import TURNS_STOPS

_RENTED = (
    r"(?:instances?|pods?|machine|vm|workspace|notebook|runtime|session|kernel|container|gpus?)"
)
_TAKEN = (
    r"(?:terminat(?:ed|ing)|stopp(?:ed|ing)|disconnected|shut ?down|shutting down|culled|recycled|"
    r"released|suspend(?:ed|ing)|paused|deleted|reclaimed)"
)

STOPS: tuple[Rule, ...] = (
    # --- 10 preempted ---
    *BELOW_STOPS,
    *HOST_STOPS,
    *RUN_STOPS,
    *DAEMON_STOPS,
    *PLAIN_STOPS,
    *TURNS_STOPS,
    rule(
        "preempted",
        FATAL,
        "timeout exceeded|job was held|job was removed|job was suspended|cancelled|canceled|evicted|"
        "wallclock|wall clock|deleted at|requeue|requeing|requeuing|terminating |timed-out|timed out|timeout|"
        "time limit|preempt|step aborted|job termination|spot|walltime|runlimit|run time limit|"
        "revoked|h_rt|force terminated|reclaim|interruption|maximum runtime|deadline",
        r"\bwill be preempted\b|^(?:\s*\"?reason\"?:)?\s+\"?(?:Evicted|Preempt\w{1,8}|NodeShutdown|NodeLost|"
        r"TerminationByKubelet)\"?,?\s*$|\bWarning\s+(?:Evicted|Preempt\w{1,8}|NodeShutdown)\s|"
        r"^scancel: terminating job|\b(?:run|job|task) cancell?ed by (?:the )?scheduler|\boutbid\b|"
        r"\bjob was (?:held|removed|suspended)\b|\b(?:notebook|session|job|run|kernel|cell|"
        r"step)\b.{0,12}\btime-?out exceeded\b|\bjob (?:was )?evicted\b|\bjob was aborted by the user\b|"
        r"\bimminent node shutdown|\b(?:allocation|lease|reservation) (?:has )?expired\b|"
        r"\bhit its timeout of\b|\btimed out waiting for job step\b|\breceived a cancellation signal|"
        r"\bthe operation was cancel|\*\*\* (?:JOB|STEP)\b.{0,80}\bCANCELLED|"
        r"^\S{1,60}\s+(?:\S{1,80}\s+)?\d{1,3}/\d{1,3}\s+(?:Evicted|Preempt\w{1,8})\s|"
        r"\bhost EC2 \(instance [\w-]{1,40}\) terminated|CANCELLED AT|due to (?:time limit|wall ?clock)|"
        r"due to preemption|job step aborted|^srun: (?:[\w/]{1,24}: ){0,2}terminating |"
        r"^.{0,12}job has timed out|not requeued because|"
        r"^\s{0,4}\d{3,12}(?:[._+]\w{1,12})?\s.{0,120}\b(?:TIMEOUT|CANCELLED\+?|PREEMPTED)"
        r"\s.{0,60}\d:\d|this job is preempted|eviction_manager.{0,80}\bevicted\b|"
        r"handling auto-requeue signal|requeu?ing job \d|forcing job termination|(?:been|was|is|were|being|"
        r"got) preempted|\b(?:job|instance|vm|run) preempted\b|\bbecause of preemption|\bexceeded (?:hard |soft )?h_rt\b|^preempted|: preempted\b|\bpreempted (?:by|at|on) |"
        r"job allocation \d+ has been revoked|preemption (?:notice|signal|event|detected|warning)"
        r"|spot (?:instance )?(?:interruption|termination|reclaim|preempt)|(?:interruption|"
        r"(?:instance|vm|node|machine) (?:termination|shutdown|eviction)) notice|^evicting pod \S{1,60}/\S|"
        r"\b(?:termination|preemption|eviction) (?:is )?imminent\b|\bimminent (?:termination|preemption|eviction)\b|"
        r"walltime .{0,20}exceeded|exceeded.{0,20}\bwall[- ]?(?:time|clock)|TERM_(?!MEM|SWAP|EXTERNAL|"
        r"UNKNOWN)\w{0,16}(?:LIMIT|ADMIN|OWNER|PREEMPT)\b|run time limit|job deleted at request of|"
        r"(?:time limit|maximum runtime|wall ?(?:time|clock))\b.{0,20}\b(?:exceeded|reached|hit)|(?:reached|"
        r"exceeded|hit) (?:the |its )?(?:time limit|maximum runtime)"
        r"|\bforce terminated\b|\blame workers found\b|\b(?:job|task|step)\b.{0,40}\b(?:was|been|"
        r"is) cancell?ed|job cancell?ed|will be (?:terminated|reclaimed|interrupted|stopped|shut down|preempted|evicted) (?:for [a-z]{4,16} )?in \d|DeadlineExceeded(?!Error)|"
        r"\bstate=(?:TIMEOUT|PREEMPTED|CANCELLED)|JobState=(?:TIMEOUT|PREEMPTED|CANCELLED)",
        r"\bchecking for\b|\bskipp(?:ing|ed)\b|\bmoving on\b|\bif idle\b|rpc error|context deadline|sequence group|"
        r"preempt\w{0,40}\s*[:=]\s*(?:0|false|no)\b|\bif (?:the |your |this )?\w{0,40} ?preempt|preemptible|"
        r"\b0 preempt|asyncio|gRPC|grpc|" + r"--time|supports? preemption",
    ),
    # A limit, or a person.
    rule(
        "preempted",
        FATAL,
        "exceeding|cancelled by",
        r"\bexceeding (?:the )?(?:wall ?(?:time|clock)|time limit)|\bCANCELLED by \d{1,9}",
        ADVICE,
    ),
    # What a rented box, or a notebook on one, is stopped for: nobody used it, or nobody paid.
    rule(
        "preempted",
        FATAL,
        "inactivity|idle|culling kernel|usage limit|balance|credit|longer than",
        rf"\b{_RENTED}\b.{{0,40}}\b{_TAKEN}\b.{{0,30}}\b(?:inactivity|idle|usage limits?|longer than \d{{1,4}}|"
        r"(?:insufficient|negative|low|zero|no) (?:account )?(?:balance|funds|credits?))\b|\bculling kernel\b|"
        rf"\b(?:balance|credits?)\b.{{0,30}}\b(?:negative|exhausted|depleted|used up)\b.{{0,30}}\b{_TAKEN}\b|"
        r"\bcannot (?:currently )?connect to a gpu due to usage limits\b",
        ADVICE
        + r"|\bif\b|\bwhen\b|\bunless\b|\bwill be\b|\bcan be\b|\bconnections?\b|\bto avoid\b",
    ),
    # The same with a hyphen, and by the name of its exception.
    rule(
        "preempted",
        FATAL,
        "pre-empt|preemptionerror",
        r"\b(?:got|was|were|been|is|being) pre-empted\b|\bpre-emption (?:warning|notice|signal|event|detected)|\bPreemptionError: ",
        f"{ADVICE}|\\bif\\b|\\bwhen\\b|\\b(?:0|no|none|nothing|nobody|never)\\b",
    ),
    # A limit of a hosted notebook, or of a job.
    rule(
        "preempted",
        FATAL,
        "exceeded",
        r"\b(?:notebook|session|job|run|kernel|submission|script|task|experiment|instance)\b.{0,24}\bexceeded (?:the |its |your |a )?"
        r"(?:maximum |max |total )?(?:allowed |permitted |maximum |max )(?:run ?time|running time|duration|execution time|session length|time)\b",
        f"{ADVICE}|\\bif\\b|\\bwhen\\b",
    ),
    # Who owns the machine took it back.
    rule(
        "preempted",
        FATAL,
        "by the |by aws|by gcp|by azure|by google|by runpod|by vast",
        r"\b(?:terminated|stopped|shut down|deleted|reclaimed|revoked|taken) by (?:the )?(?:provider|cloud|platform|hypervisor|AWS|GCP|Azure|Google|RunPod|Vast)\b",
        ADVICE,
        also=r"\b(?:instance|vm|node|pod|box|machine|host|notebook|server)\b.{0,60}\b(?:was|has been|is being|got) \w",
    ),
    # --- 11 killed ---
    # A shell's short word behind the name of a program.
    rule(
        "killed",
        FATAL,
        ": killed",
        r"^(?![\w./-]{0,40}(?:enemy|agent|player))[\w./-]{1,40}: killed\W{0,2}$",
    ),
    rule(
        "exception",
        FATAL,
        "killed by signal|on signal|to signal|with signal|received signal|caught ",
        r"\*\*\* process received signal \*\*\*|killed by signal: (?:Seg|Abort|Illegal|Floating)|(?:killed|"
        r"terminated) by signal:? ?(?:4|6|7|8|11)\b|program terminated with signal (?:SIG(?:FPE|SEGV|ILL|"
        r"ABRT|BUS)|(?:4|6|7|8|11)\b)|(?:exited on|due to) signal (?:4|6|7|8|11)\b|"
        r"received signal (?:SIG(?:FPE|SEGV|ILL|ABRT|BUS)|(?:4|6|7|8|11)\b)|caught (?:fatal )?signal:? (?:4|"
        r"6|7|8|11)\b",
    ),
    rule(
        "killed",
        FATAL,
        "for an unknown reason|power key|by the external system|all the procs|terminating instance|user requested|"
        "shutdown signal|killed|terminated|hangup|interrupt|kill pod|"
        "abort|by user|by the user|signal|running tasks|exit_status",
        r"^[*_>#\s]{0,6}(?-i:"
        + KILLS
        + r")[*_.!:\s]*(?:\(?\d*\)?|python.*)$|(?<=[\]%|}>s\\/-])\s*(?-i:"
        + KILLS
        + r")\s*$|\"(?:log|msg|message)\" ?: ?\"(?-i:"
        + KILLS
        + r")(?:\\[rn])*\"|(?:\bstderr|\[\d{1,9}\]): (?-i:"
        + KILLS
        + r")\s*$|line \d+:\s{1,8}\d+ (?-i:"
        + KILLS
        + r"|Quit)\b|^(?:\S+: )?\d+ (?-i:"
        + KILLS
        + r")\s|\bzsh: (?:killed|terminated|hangup)|^\[\d+\]\s?[+-]?\s+(?:[+-] )?(?:\d+\s+)?(?:killed|"
        r"terminated|hangup)\b|tasks? [\d,-]{1,60}: (?:Killed|Terminated)"
        r"|killed by signal|terminated by signal(?! \W?(?:SIG(?:SEGV|ABRT|BUS|FPE|ILL|TRAP|SYS)|[45678]\b|11\b))|\bterminated for an unknown reason\b|"
        r"\bterminated by the (?:external |operating )?system\b|(?:process|worker|job|trainer|rank|container|"
        r"subprocess)\b.{0,40}\b(?:was |been |is |got )?killed\b|^interrupted\b|(?:interrupted|aborted|"
        r"cancell?ed|stopped|terminated|killed) by (?:the )?user\b|\b(?:training|learning|run|job|execution|"
        r"optimi[sz]ation|simulation) (?:was |has been )?interrupted\b(?! by (?:an? )?(?:\w{1,16} )?(?:exception|error|failure|crash))|\buser (?:has )?(?:abort(?:ed)?|"
        r"interrupt(?:ed)?)\b|keyboard ?interrupt|\bstop signal received\b|\(killed\)|\(terminated\)|"
        r"^killed by|need to kill pod|\bterminate all the procs|\bterminating instance\b|"
        r"\buser requested (?:a )?(?:shutdown|stop|abort|cancel)|received a shutdown signal|"
        r"received the (?:term|int|hup) signal|\bkilling running tasks\b|exit_status=2[5-7]\d\b|"
        r"signal: killed|\bPower key pressed\b|process exited, code=killed|session terminated, (?:killing|terminating) shell|"
        r"^Aborted!$|command terminated(?! with exit code (?!130|137|143)[1-9]\d{0,2}\s*$)",
        r"\bkilled[\"']?\s*[:=]\s*(?:0|false)|\bexcept\b|\b(?:completed?|finished|idle)\b.{0,40}\bterminating instance|(?:will|not|n.t) be killed|\bnot killed|\bepisode\b|normally|\bif\b|"
        r"\btyp\w{1,6}cally\b|task job report|keep_?alive|using the force",
    ),
    # The same as it happens.
    rule(
        "killed",
        FATAL,
        "receives|gets|catches",
        r"\b(?:process|worker|trainer|job|rank|task|program|script|agent|child|engine|server) (?:\S{1,24} )?(?:receives|gets|catches) "
        r"(?:an? |the )?(?:signal )?SIG(?:TERM|INT|KILL|HUP|QUIT)\b",
        f"{ADVICE}|\\b(?:if|when|whenever|once|until|after|before|unless|def)\\b",
    ),
    rule(
        "killed",
        FATAL,
        "rc=|rc:|killing|interruptexception|terminated|signal|sig|exitcode|exit code|exit_status|exit_code|exit=|return code|"
        "subprocess|exit status|^ct|^c |ctrl|exited with",
        r"received (?:a )?(?:signal(?! (?:with|of) )|death signal|SIG(?:TERM|INT|KILL|HUP|QUIT|USR1|USR2))|"
        r"received \d+ death signal|death signal|died of signal|via signal SIG|SignalException|"
        r"got signal:? ?\w{1,40}|\bNegsignal\.SIG|(?:closing|sending|caught|got|terminated (?:by|with)|"
        r"exit(?:ed|ing)? (?:on|due to|by)|killed (?:by|with)|stopped by|interrupted by|died with|after|on|"
        r"due to) (?:the )?(?:signal )?<?(?:signals\.)?SIG(?:TERM|INT|KILL|HUP|QUIT)|closing signal SIG|"
        r"\bsending process \d+ closing sig"
        r"|signal (?:9|15|1|2)\b|signal \((?:9|15|1|2)(?:\.\d)?\)|\bInterruptException\b|"
        r"^\W{0,4}worker \d{1,5} terminated\.?\s*$|signal \d+ \(SIG\w{1,40}\)|terminated with signal SIG|"
        r"exit[ _]?(?:code|status)\s*[:=\[]?\s*-(?!1\b)\d{1,4}\b|exit[ _]?(?:code|"
        r"status)?[\"']?\s*[:=(]{0,2}\s*(?:137|143|130|247|-9|-15)\b|return code = -\d+|\b(?-i:rc) ?[=:] ?(?:137|143|130|-9|-15)\b|"
        r"exited with (?:exit )?(?:code|status) (?:137|143|130|-9|-15|-2)\b|\bnon-?zero (?:exit )?(?:code|status):? (?:137|143|130)\b|"
        r"\binternal compiler error: Killed\b|\bsignal: (?:9|15|2|1)\b|(?-i:\bSIGTERMException\b)|\*\*\* \[[^\]]{1,80}\] Error (?:137|143|130)\b|\bexit (?:code|status) of .{1,120}\b(?:was|"
        r"is):? (?:137|143|130)\b|killing subprocess|(?:killing|terminating) process:? <|killing (?:(?:all|the|other|remaining|\d{1,5}) ){0,3}(?:worker|"
        r"process|child|rank)|\bSIG(?:TERM|INT|KILL|HUP) (?:was )?(?:caught|detected|trapped)\b|^\^C(?! to )|ctrl ?[-+] ?c (?:detected|pressed|received)|SIG(?:TERM|KILL|INT|HUP|QUIT) received|"
        r"(?<!xargs )(?<!\+ )kill -9(?! \S{1,12} (?:to|and|in)\b)",
        r"\bregister|\bhandler (?:installed|set|for)|install|\b(?:en|dis)abled\b|will be sent|--signal|using the force|"
        r"signal handling is|\bSIG\w{3,4} when\b|^signal \d|\brequeue on\b|\bhint:|\bSIG(?:HUP|"
        r"USR[12])\b.{0,16}\b(?:ignoring|triggering|re-?load|re-?read|re-?open|reconfigur)|"
        r"\btyp\w{1,6}cally\b|death_signal\(|^\W{0,4}(?:DEBUG|VERBOSE|TRACE)\b|\[DEBUG\]|press ctrl|ctrl\+c to|use ctrl",
    ),
    *TONGUE_STOPS,
)
