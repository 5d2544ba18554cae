"""How launchers, trainers and notebooks tell of a run's end in words of their own, and what only sounds like one.

`RUN_CAUSES` and `RUN_STOPS` stand among the rules that name a cause, `RUN_LOST` before
the network's words, `RUN_ENDS` before the grammar of failures in general.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import (
    ADVICE,
    CALM,
    FATAL,
    MEASURE,
    NONE,
    SERIOUS,
    SURVIVED,
    WARN,
    Rule,
    rule,
)

_PARTS = r"(?:ranks?|workers?|process(?:es)?|nodes?|hosts?|replicas?|participants?|members?|peers?)"
_LEVEL = r"(?-i:\b(?:ERROR|FATAL|CRITICAL)\b|[a-z](?:Error|Exception)\b)|\b(?:error|fatal):"

RUN_CAUSES: tuple[Rule, ...] = (
    # What says itself that it means nothing.
    rule(
        "benign",
        NONE,
        "please ignore|safely ignore|safe to ignore|safely be ignored|is expected|expected behavior",
        r"\b(?:please|safely|safe to|can be|can safely be) ignored?\b|\bthis is (?:the )?(?:normal|"
        r"expected)\b|\bexpected behaviou?r\b|\bthis is expected\b",
        _LEVEL,
    ),
    # Who speaks of him or her tells a story: a model's output, a text of the data.
    rule(
        "benign",
        NONE,
        "she |his |her |him ",
        r"\b(?:she|his|her|him)\b",
        r"(?-i:[A-Z]{4})|[=|{}\[\]]|error|\S:\S",
    ),
    # A model that thinks aloud, as trainers that learn from answers print it.
    rule(
        "benign",
        NONE,
        "<think>|since |therefore|thus|hence|so |wait, |hmm|let me|let's|answer|:**",
        r"^\W{0,6}(?:\d{1,2}[.)] )?\W{0,4}(?-i:<think>|Since [\w' ]{3}|Therefore\b|Thus,|Hence,|So,? (?:the|we|it|there|\d{1,4} [a-z])|Wait, |Hmm\b|"
        r"Let me\b|Let's\b|(?:Final |The )?[Aa]nswer\b|[A-Z][a-z][^*:]{2,60}:\*\*)",
        r"(?-i:[A-Z]{4})|[|{}\[\]]|(?-i:[a-z]Error\b)|error:|\S:[^\s*]|(?-i:\b(?:CUDA|GPU|NaN)\b)",
    ),
    # A stderr that a collector calls an error, with nothing in it.
    rule(
        "benign",
        NONE,
        "error",
        r"^(?-i:ERROR) [\dTZ:.+ -]{12,80}(?:\{\}|[|+][-+=| ]{0,200}|\|(?: [\w ]{1,30} \|){2,8})\s*$",
    ),
    # One bad picture or molecule of many, a box that was drawn too slowly: data, not the run.
    rule(
        "benign",
        NONE,
        "libpng|libjpeg|nms time|smiles parse|kekulize",
        r"\blib(?:png|jpeg)(?:-turbo)? error:|\bNMS time limit\b|\bSMILES Parse Error\b|(?<!exception: )\bcan.t kekulize mol\b",
    ),
    # A faster way between the nodes that is not there: the library takes another. What could not be looked up for a
    # report of the environment, a limit of the shell that stays as it is, a clock in brackets.
    rule(
        "benign",
        NONE,
        "lsb_release|lspci|dmidecode|prctl(pr_|sharp|hcol|relevant network|_is_a_lwp|btl_openib|gdrcopy|"
        "active ports|devices list|could not collect|cannot modify limit|wall clock|shmem: mmap|memory btl",
        r"\b(?:ba)?sh: (?:line )?\d{1,5}: (?:lsb_release|lspci|dmidecode): (?:command )?not found|"
        r"^error in cpuinfo: prctl\(PR_|\bsharp_(?:am|create_job|init|coll)\b|\bmca_coll_hcoll_\w{1,30}|"
        r"\bunable to find any relevant network interfaces\b|\b_is_a_lwp: |\bbtl_openib_component\.c:|"
        r"\bgdrcopy open failed\b|\bno active ports detected\b|\bfailed to get IB devices list\b|"
        r"\bshmem: mmap: an error occurred while determining\b|\bunable to create shared memory BTL\b|"
        r"[:\]] could not collect\s*$|\bulimit: .{1,40}: cannot modify limit|\[Wall Clock [\d.]{1,16}s\](?!.{0,300}\b(?:nan|infinity)\b)",
    ),
    # --- hardware: a card that was there, and is no more ---
    rule(
        "hardware",
        FATAL,
        "gpu|device",
        r"\bGPU ?#?\d{1,3}\b.{0,12}\b(?:is |are )?(?:no longer|not) (?:visible|present|accessible|reachable|"
        r"responding)\b|\bexpected \d{1,5} GPUs?\b.{0,12}\b(?:found|got|only|but|saw|detected)\b.{0,8}\d",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\btimeout, server\\b",
    ),
    rule(
        "hardware",
        FATAL,
        "the bus|the pci|nvlink error|dbe |double-bit|double bit|reset required|reset is required",
        r"\b(?:fell off|dropped off|removed from|vanished from|disappeared from|gone from) the (?:PCI\w? ?)?bus\b|\bNVLink (?:fatal )?error\b(?!s? ?[:=] ?0| count)|\b(?:DBE|"
        r"double[- ]bit error)s? (?:was |were )?(?:detected|found)\b|\bGPU (?:reset|"
        r"reboot) (?:is )?required\b(?! ?[:=])",
        f"{SURVIVED}|{ADVICE}|\\b(?:no|0) ",
    ),
    # --- gpu_oom: by its letters, said of a rank, a card or a step ---
    rule(
        "gpu_oom",
        FATAL,
        "oom|vram",
        r"(?-i:\bOOM\b) (?:on|in|at|during) (?:rank|GPU|device|worker|step|iter\w*|epoch|backward|forward|"
        r"optimi[sz]ation|training|validation)\b|\b(?:rank|GPU|device|worker) ?\d{1,4}:? (?:hit |is |went |"
        r"got )?(?-i:OOM)\b|\bVRAM (?:is |was |has been )?exhausted\b",
        f"{SURVIVED}|{ADVICE}",
    ),
    # Where the allocator, or who quotes it, gives it another name.
    rule(
        "gpu_oom",
        FATAL,
        "outofmemoryerror|bad_alloc|resource allocation|calloc|kv cache",
        r"\bRayTaskError\(OutOfMemoryError\)|\bthrust::system::detail::bad_alloc\b|"
        r"\bcublas\b.{0,24}\bresource allocation failed\b|\bfailed to CUDA (?:calloc|malloc)\b|"
        r"\blarger than the available KV cache memory\b",
    ),
    # --- host_oom: the shared memory of a box is main memory ---
    rule(
        "host_oom",
        FATAL,
        "memory allocation of|malloc of size|memoryerror",
        r"\bmemory allocation of \d+ bytes failed\b|\bmalloc of size \d+ failed\b|(?-i:\bArrowMemoryError\b)",
        f"{SURVIVED}|{ADVICE}",
    ),
    rule(
        "host_oom",
        FATAL,
        "/dev/shm|</torch_|shared memory|shm_open",
        r"\bno space left on device\b.{0,20}/dev/shm|/dev/shm\b.{0,60}\b(?:no space left|is full|exhausted|"
        r"too small)\b|\bunable to (?:write to file|open shared memory object|"
        r"allocate shared memory)\b.{0,24}</torch_|\bshared memory (?:is |was )?(?:full|exhausted)\b",
        ADVICE,
    ),
    rule(
        "host_oom",
        FATAL,
        "out of ram|memory exhausted|killed|memory limit|memory budget|memory usage",
        r"\bmemory (?:limit|budget|cap)\b.{0,12}\b(?:reached|hit|exceeded)\b.{0,24}\b(?:kill|terminat|abort)|"
        r"\bmemory (?:usage|use|consumption)\b.{0,40}\bexceed\w{0,3}\b.{0,40}\b(?:kill|terminat|abort)|\bout of RAM\b|\b(?:host|system|main|CPU) memory (?:is |was |has been )?exhausted\b|"
        r"\bkilled\b.{0,12}\bout of memory\b",
        f"{SURVIVED}|{ADVICE}",
    ),
    # --- hang ---
    rule(
        "hang",
        FATAL,
        "stuck|hung|hanging|deadlock|did not|didn't|not responding|no output|timed out|timeout waiting|stalled|frozen|watchdog|has not|have not",
        rf"\b{_PARTS}\b.{{0,24}}\b(?:appears?|seems?) to (?:be|have) (?:stuck|hung|hanging|deadlocked)|"
        rf"\b{_PARTS}\b.{{0,24}}\b(?:did not|didn.t|has not|have not|never) (?:reach|reached|join|joined|"
        rf"arrive|arrived|report|reported|check(?:ed)? in|enter|entered)\b.{{0,60}}\b(?:within|in|after|for|"
        rf"before)\b|\bno (?:output|response|activity|message|log) (?:from|of) .{{0,40}}\b(?:for|in|within|"
        rf"after) \d+ ?(?:s|sec|seconds|min|minutes|ms|h)\b"
        rf"|\btime(?:d |-?)out (?:after \S{{1,12}} )?(?:while )?waiting (?:for|on) (?:\S{{1,20}} ){{0,3}}{_PARTS}\b|"
        rf"\bwatchdog\b.{{0,24}}\btime-?out of \d|^\W{{0,4}}(?:training |run |job |process )?(?:is )?stuck (?:at|in|"
        rf"on)\b.{{0,40}}\bfor \d+ ?(?:s|sec|seconds|min|minutes|h)\b|\b(?:environment|env|simulator|server|engine|"
        rf"backend|client|device)s?\b.{{0,20}}\b(?:did not|didn.t|has not|have not) (?:respond|answer|reply)(?:ed)?\b"
        rf".{{0,20}}\b(?:within|in|after|for) \d|"
        rf"\b(?:training|job|run|process|loop|pipeline|dataloader) (?:appears?|seems?) (?:to be |"
        rf"to have )?(?:stalled|stuck|hung|frozen|hanging|deadlocked)\b|\bdeadlock (?:was |is )?(?:suspected|"
        rf"found|occurred)\b|\bcollective mismatch\b|\bqueue (?:get|put) timed out\b|\bno (?:batch|data|item|"
        rf"update|step)\b.{{0,24}}\b(?:received|seen|produced|finished)\b.{{0,24}}\b(?:for|in|"
        rf"within) \d+ ?(?:s|sec|seconds|min|minutes|h)\b|\bwatchdog\b.{{0,80}}\bkilling (?:the )?(?:job|run|"
        rf"process|training|worker|server)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # --- nccl: a way that is not there, another one is taken ---
    rule(
        "nccl",
        WARN,
        "errno: 22|collnet|sharp coll",
        r"\(errno: 22 - |\bcannot initialize CollNet\b|\bSHARP coll init\b",
    ),
    rule(
        "nccl",
        FATAL,
        "gloo::|nccl|incarnation",
        r"throwing an instance of '(?:gloo|nccl|c10d)::|\bexpects a different (?:device )?incarnation\b",
    ),
    rule(
        "nccl",
        FATAL,
        "rank|hccl|rccl|xccl|oneccl|closed the connection|process group",
        r"^\W{0,4}lost (?:rank|peer) \S{1,24}\W*$|\b(?:peer|rank) ?\S{1,24} (?:has )?closed the connection\b|\b(?:failed|unable|could not|"
        r"cannot) (?:to )?(?:join|form|create|init\w{0,8}) (?:the |a )?process group\b|"
        r"\brank ?\d{1,5}\b.{0,24}\b(?:broken pipe|connection (?:reset|refused|closed|lost|"
        r"aborted))\b.{0,40}\brank\b|\b(?:hccl|rccl|xccl|oneccl|bkcl)\b.{0,40}\b(?:failed|failure|broken|"
        r"aborted|unreachable)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # --- cuda_error ---
    rule(
        "cuda_error",
        FATAL,
        "are available|is available",
        r"\bno (?:HIP|ROCm|XPU|NPU|MUSA|MLU|MPS|Metal) (?:GPUs?|devices?) (?:are|is) available\b",
        f"{SURVIVED}|{CALM}",
    ),
)

RUN_STOPS: tuple[Rule, ...] = (
    rule(
        "ckpt_corrupt",
        FATAL,
        "load",
        r"\b(?:could not|cannot|can.t|failed to|unable to) load (?:\w{1,12} )?model:? \S{1,200}\.(?:gguf|"
        r"ggml|bin|safetensors|pth?|ckpt)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # --- ckpt_corrupt: it cannot be read; a resume that was asked for and did not happen ---
    rule(
        "ckpt_corrupt",
        SERIOUS,
        "checkpoint|ckpt|resum|snapshot|bad magic",
        r"\bbad magic (?:number|header|bytes?)\b|\b(?:checkpoint|ckpt|snapshot)\b.{0,80}\b(?:could not|"
        r"cannot|can.t|couldn.t) be (?:read|loaded|opened|restored|parsed|deserialized)\b|"
        r"\bresum\w{1,4} (?:was |is )?(?:requested|asked|set|enabled|on)\b.{0,12}\bbut\b.{0,24}\b(?:no|not|"
        r"missing)\b"
        r"|\b(?:checkpoint|ckpt|resum\w{1,4})\b.{0,60}\b(?:mismatch|corrupt\w{0,3}|failed|invalid|unreadable|"
        r"incompatible)\b.{0,40}\b(?:train\w{0,3}|start\w{0,3}) from (?:scratch|step 0|zero)\b",
        f"{ADVICE}|pretrained",
    ),
    # --- preempted ---
    rule(
        "preempted",
        FATAL,
        "preempted",
        r"\b(?:node|host|instance|worker|vm|machine|job|run|pod) \S{1,60} preempted\W*$",
        f"{SURVIVED}|\\bif\\b",
    ),
    rule(
        "preempted",
        FATAL,
        "will be|session|was stopped because|was shut down because|was terminated because",
        r"\b(?:notebook|session|runtime|kernel|workspace|studio|instance|machine|pod|job) was (?:automatically )?"
        r"(?:stopped|shut down|terminated) because\b.{0,40}\b(?:limit|quota|time|hours?)\b|"
        r"\bsession (?:has |was )?(?:expired|ended|timed out|closed)\b.{0,24}\b(?:limit|quota|usage)\b|"
        r"\b(?:instance|vm|node|machine|host|pod|box)\b.{0,30}\b(?:will|is going to|"
        r"is about to) be (?:reclaimed|preempted|evicted|revoked|deallocated|interrupted)\b",
        f"{SURVIVED}|{ADVICE}|\\bwhen\\b|\\bidle\\b",
    ),
    # --- killed ---
    rule("killed", FATAL, "killing job", r"^[\w.-]{1,30}: killing job\b"),
    rule("killed", FATAL, "termination signal", r"termination signal\W{1,3}is detected by"),
    rule("killed", FATAL, "exit code", r"\bexit codes?\b.{0,40}\bSIG(?:KILL|TERM|INT|HUP)\b"),
    rule(
        "killed",
        FATAL,
        "signal|interrupt|terminate batch job|ctrl|forcibly terminated|terminated by",
        r"^\W{0,4}(?:training|run|evaluation|sweep|job|execution|process|experiment) (?:was |has been |is |"
        r"got )?interrupted\b\W*(?:$|by (?!(?:an? )?(?:\w{1,16} )?(?:exception|error|failure|crash))|at |after |due )"
        r"|\b(?:caught|received|got|handling) (?:an? |the )?(?:interrupt|termination|terminate|kill|shutdown|"
        r"stop|abort) (?:signal|request)\b|\b(?:received|got|caught|"
        r"on) (?:a )?ctrl ?[-+]? ?c\b(?! to\b)|\bforcibly terminated\b|\bterminated by (?:the |"
        r"an? )?(?:operator|administrator|admin)\b|^terminate batch job \(y/n\)"
        r"|\b(?:process|worker|job|shard|server|container|command)\b.{0,24}\b(?:was|were|been|"
        r"got) (?:signaled|signalled|interrupted|stopped)\b.{0,30}\bsignal:? ?(?:9|15|1|2|3)\b",
        CALM,
    ),
)

RUN_LOST: tuple[Rule, ...] = (
    # A warning of Python's own machinery quotes what it expected.
    rule("warning", WARN, "<frozen", r"^<frozen [\w.]{1,40}>:\d{1,6}: \w{0,40}Warning: "),
    # It was tried again, and that was the last time; a call that nobody repeats.
    rule(
        "network",
        FATAL,
        "attempts failed|retries failed|tries failed|socket closed|tunnel|link to|connection|stream",
        r"^\W{0,4}(?:the |ssh )?(?:tunnel|link|connection|stream|session) (?:to|with|from) \S{1,80} (?:broke|was broken|dropped|was dropped|went down|died|is gone|"
        r"was interrupted|was torn down)\b(?!, re)|\ball (?:\d{1,4} |of the )?(?:retry |re-?)?(?:attempts|tries|retries) (?:have |has )?failed\b|"
        r"^\W{0,4}(?:\(?\d\W{1,3})?Unavailable: Socket closed\b",
    ),
)

RUN_ENDS: tuple[Rule, ...] = (
    rule(
        "exception",
        FATAL,
        "dumped core|must be installed for",
        r"\bdumped core\b|\bmust be installed for \S{1,40} to work\b",
        f"{ADVICE}|{CALM}",
    ),
    # The first line of a traceback whose own first letters were torn off.
    rule("traceback", FATAL, "ceback (most", r"\b[a-z]{0,3}ceback \(most recent call last\)"),
    # What a program says that it cannot be, and why; how it leaves.
    rule(
        "exception",
        FATAL,
        "invalid because|impossible because|on error|due to error|after error",
        r"\bis (?:invalid|not valid|impossible|illegal) because\b|^\W{0,4}(?:quitting|exiting|stopping|"
        r"aborting|stopped|terminated|exited) \(?(?:on|due to|after|because of) (?:an? )?errors?\b",
        f"{SURVIVED}|{CALM}",
    ),
    # What was asked for and cannot be had: cards, a division without a rest, data, an option.
    rule(
        "exception",
        FATAL,
        "gpu|device|divisible|data|specify|provide",
        r"\brequested \d{1,5} (?:GPUs?|devices?|nodes?|workers?)\b.{0,12}\bbut only \d|\bnot enough (?:GPUs?|"
        r"devices|nodes)\b\W{0,3}(?:need|require|available|$)|\bexceeds (?:the )?(?:number of )?(?:available|"
        r"visible) (?:GPUs|devices)\b|\bis not divisible by\b|^\W{0,4}(?:no|0) (?:train\w{0,3}|valid\w{0,5}|"
        r"input) (?:data|samples|images|files|examples) (?:were |was )?(?:found|available)\b|"
        r"^\W{0,4}(?:\w{1,20}: )?you must (?:specify|provide|set|pass) \S"
        r"|\b(?:data ?set|train_dataset|dataloader) is empty\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\bwarn",
    ),
    # Who raised it, and a stop that gives its reason.
    rule(
        "exception",
        FATAL,
        "raised an|stopped:|halted:|aborted:|did not complete",
        r"\b(?:callback|hook|plugin|worker|task|thread|handler|function|stage|"
        r"step)\b.{0,40}\braised an? (?:\w{1,20} )?(?:exception|error)\b|^\W{0,4}(?:training|run|job|"
        r"experiment) (?:stopped|halted|aborted): |\b(?:stage|job|task|step|run|phase|pipeline|"
        r"transfer) (?:\S{1,16} )?did not complete\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|early|patience|converg|\\bmax|criteri|target|reached|complete[ds]|best|user",
    ),
    # A state behind an arrow, and a failure with its code in brackets.
    rule(
        "exception",
        FATAL,
        "crashed|errored|died|failed (",
        r"(?:->|=>|→) (?:crashed|errored|died|failed|aborted)\b|\bfailed \((?:exit |return |error )?(?:code|"
        r"rc|status|signal):? ?-?[1-9]|\b(?:process|subprocess|worker|thread|child)(?:es|s|ren)? (?:has |"
        r"have )?(?:abruptly|suddenly|unexpectedly|silently) (?:died|exited|ended|terminated|stopped|"
        r"crashed)\b",
        f"{SURVIVED}|{CALM}",
    ),
    # A terminal's own words for a connection that is gone.
    rule("network", FATAL, "socket close", r"^\W{0,2}connection clos(?:ing|ed)\W{1,3}socket close"),
    # A shell without the command; a server without its model, at whatever level it says so.
    rule(
        "exception",
        FATAL,
        "not found|failed to load '",
        r"^[\w./-]{1,60}: (?:line )?\d{1,6}: .{0,80}: not found\s*$|\] \"failed to load '[\w.-]{1,60}'",
    ),
    # Several writers in one line: the name of the exception stands twice, or behind its message.
    rule(
        "exception",
        FATAL,
        "error",
        r"(?-i:(?P<name>[A-Z]\w{2,30}Error)(?P=name)|(?:^|[:.'\")]\s?)[A-Z]\w{2,30}Error(?=[A-Z`'][a-z`']))|"
        r"(?-i:[a-z'\")\]][A-Z]\w{2,30}Error:?\s*$)",
        f"{SURVIVED}|{CALM}|{MEASURE}|\\bimport\\b|\\bexcept\\b|\\braise\\b",
    ),
    rule(
        "exception",
        FATAL,
        "is not defined|object has no attribute|referenced before|has no attribute",
        r"^\W{0,3}(?:name '\w{1,40}' is not defined|'\w{1,40}' object has no attribute '\w{1,40}'|"
        r"local variable '\w{1,40}' referenced before assignment)",
    ),
    # An exception as Python writes its value, at the head of a line.
    rule(
        "exception",
        FATAL,
        "error(|exception(",
        r"^(?-i:(?:[a-z_]\w{0,40}\.){0,5}[A-Z]\w{1,40}(?:Error|Exception))\([\"'f\[(]",
        f"{SURVIVED}|{CALM}|^\\w{{1,40}}\\([\"']\\)",
    ),
    # A count of failures that is not zero.
    rule(
        "exception",
        FATAL,
        "number of",
        r"\bnumber of (?:errored|failed|crashed|dead) (?:trials?|jobs?|runs?|tasks?|workers?|nodes?|cells?|"
        r"actors?): ?[1-9]",
    ),
    # What was to come up again, and did not.
    rule(
        "exception",
        FATAL,
        "restart|respawn|come back|resume",
        r"\bfail(?:ed|s|ure)? to (?:re-?start|respawn|come back|resume|relaunch)\b|\b(?:cannot|could not|"
        r"couldn.t|can.t|unable to) (?:be )?(?:re-?start|respawn|relaunch)(?:ed)?\b",
        f"{ADVICE}|{CALM}",
    ),
    rule("exception", FATAL, "omp: error", r"^OMP: Error #\d{1,3}: "),
    # What the C library finds broken in a heap.
    rule("exception", FATAL, "(): ", r"\b(?:munmap_chunk|realloc|calloc|memalign)\(\): [a-z]"),
    # A notebook's kernel or session that is gone with all it held.
    rule(
        "exception",
        SERIOUS,
        "kernel|execute_request",
        r"\bkernel [0-9a-f-]{8,40} restarted\b|^\W{0,4}(?:kernel restarting|dead kernel)\W*$|"
        r"\bcancell?ed future for execute_request\b",
    ),
    # Windows' own status of a crash, wherever the line was wrapped.
    rule(
        "exception",
        FATAL,
        "status|code",
        r"\b(?:status|code):? ?(?:322122\d{4}|322545\d{4}|-107374\d{4})\b",
    ),
)
