"""Ends told in a clause: what somebody ended in or before, whom he lost, what must be there."""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED
from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SURVIVED, Rule, rule

# A hyphen where most write none names no option, handler or test of the thing.
_NAMED = r"--\w|-(?:killer|handler|check|test|score|safe|guard)|\b(?:handler|protection|policy|detection|threshold)\b"
_SPAN = r"\d+ ?(?:s|secs?|seconds|min|minutes|h|hours)\b"

BRIEF_CAUSES: tuple[Rule, ...] = (
    # Written with hyphens.
    rule(
        "host_oom",
        FATAL,
        "out-of-memory",
        r"\bkill(?:ed|ing)\b.{0,24}\bout-of-memory\b|\bout-of-memory\b.{0,24}\bkill(?:ed|ing)\b|\b(?:host|system|main|CPU) out-of-memory\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|{_NAMED}",
    ),
    rule(
        "gpu_oom",
        FATAL,
        "out-of-memory",
        r"\b(?:CUDA|GPU|VRAM|HIP|device|NPU|XPU)\b.{0,24}\bout-of-memory\b|\bout-of-memory\b.{0,24}\b(?:CUDA|GPU|VRAM|HIP|device|NPU|XPU)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|{_NAMED}",
    ),
    # As it happens: who or what runs out of memory, or of space; who does not come on.
    rule(
        "host_oom",
        FATAL,
        "out of memory",
        r"\b(?:node|host|machine|system|box) \S{0,24} ?(?:runs|ran|is running) out of memory\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\b(?:if|when|before|until)\\b|\\b(?:CUDA|GPU|VRAM)",
    ),
    rule(
        "disk_full",
        FATAL,
        "out of ",
        r"\b(?:disk|volume|partition|filesystem|file system|scratch|drive) (?:\S{1,24} )?(?:runs|ran|is running|has run) out of (?:disk )?(?:space|storage)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\b(?:if|when|before|until)\\b",
    ),
    rule(
        "hang",
        FATAL,
        "timed-out|timeout|time-out|hangs|does not|doesn't",
        r"\b(?:barrier|collective|all_?reduce|all_?gather|broadcast|rendezvous) time-?out(?:: (?:waiting|rank|worker|no)\b|!)|"
        r"\b(?:barrier|collective|all_?reduce|all_?gather|broadcast|heartbeat|rank ?\d{1,5}) (?:\S{1,24} )?(?:has |was )?timed-out\b|"
        r"\b(?:rank|worker|node|gpu|replica) ?#?\d{1,5} (?:hangs\b|(?:does not|doesn.t) (?:respond|answer|reply)\b)",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\b(?:if|when|until|before|unless)\\b",
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory",
        r"\b(?:CUDA|GPU|video) memory (?:is |was |has been )?(?:exhausted|full|used up)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "host_oom",
        FATAL,
        "out of|killed",
        r"\bout of (?:system|host|main|physical) memory\b|\bkilled\b.{0,24}\bused? .{0,24}\b(?:RAM|memory)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "hang",
        FATAL,
        "waiting",
        rf"\bwaiting (?:for )?{_SPAN}.{{0,12}}[,;.] (?:aborting|giving up|exiting|killing|terminating|quitting)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)

BRIEF_LOST: tuple[Rule, ...] = (
    rule(
        "network",
        FATAL,
        "timed-out",
        r"\b(?:connection|request|download|upload|read|socket|ssh) (?:to \S{1,80} )?(?:has |was )?timed-out\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "network",
        FATAL,
        "connection|session",
        r"\b(?:SSH|VPN|TCP|database|websocket|remote) (?:connection|session) (?:was |has been |got )?(?:dropped|lost|broken|interrupted|reset)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)

BRIEF: tuple[Rule, ...] = (
    # What docker's own command says before it asks its daemon.
    rule(
        "exception",
        FATAL,
        "docker: ",
        r"^docker: (?:invalid|unknown|unrecognized|conflicting|no such|open /|'[^']{1,40}' is not|\"docker \w{2,16}\" requires)",
    ),
    # What it ended in, before what, for whose sake.
    rule(
        "exception",
        FATAL,
        "ended|finished|stopped|exited|quit|died|terminated|aborted|cancelled|halted|completed",
        r"\b(?:ended|finished|terminated|stopped|exited|completed) in (?:an? )?(?:error|failure|exception|crash)\b|"
        r"\b(?:exited|quit|ended|stopped|died|terminated) before (?:all|it|its|the|every|any|being|completing|finishing|reaching)\b|"
        r"\b(?:stopped|ended|aborted|terminated|cancelled|halted) (?:because|since) .{1,60}\b(?:raised an|threw an|failed|crashed|died)\b",
        f"{COPED}|\\bearly\\b|\\bepisode|\\bplayer|\\bpatient",
    ),
    # What came up or went down unexpectedly, and how many of them failed.
    rule(
        "exception",
        FATAL,
        "unexpectedly|unexpected |errored|crashed",
        r"\b(?:re-?started|rebooted|exited|stopped|quit|shut down|ended) unexpectedly\b|\bunexpected (?:reboot|restart|shutdown|exit|termination) of\b|"
        r"\b[1-9]\d{0,5} (?:\w{1,12} )?(?:trials?|jobs?|runs?|tasks?|workers?|ranks?|nodes?|steps|stages|processes) (?:have |has )?(?:errored|crashed)\b",
        COPED,
    ),
    # Nobody is left.
    rule(
        "exception",
        FATAL,
        "lost|left|alive|remain|too many",
        r"\blost (?:contact with )?(?:all|every) (?:of )?(?:its |the )?(?:workers?|ranks?|nodes?|peers?|agents?|executors?)\b|^\W{0,4}no (?:more |healthy |live |"
        r"running )?(?:workers?|ranks?|nodes?|executors?|replicas?|agents?) (?:are |is )?(?:left|alive|remaining|remain)\b|"
        r"\btoo many (?:consecutive|repeated|recent|worker) (?:failures|errors|restarts|retries|crashes)\b",
        COPED,
    ),
    # What must be there, and sizes that do not go together. The bare words of an exception are those of one that was caught.
    rule(
        "exception",
        FATAL,
        "required|mismatch|has no|outside",
        r"\bis required but (?:is |was )?(?:missing|absent|empty|not (?:set|given|found|provided|installed))\b|^\W{0,4}(?:shape|size|dimension|dtype|length) "
        r"mismatch: |\bhas no (?:column|field|key|split|member) (?:named |called )?['\"]\w|^\W{0,4}(?:label|target|index|token|class|value|id)s? \S{1,24} (?:is|are) "
        r"outside (?:of )?(?:the )?(?:valid |allowed )?range\b",
        f"{COPED}|clip|clamp|\\bskip",
    ),
    # The keys that a state has too many or too few.
    rule(
        "ckpt_corrupt",
        FATAL,
        "state_dict|state dict",
        r"\bstate[_ ]dict (?:has|contains|with) (?:unexpected|missing|extra|unknown) keys?\W{1,4}\w",
        f"{SURVIVED}|{ADVICE}|{CALM}|strict=false",
    ),
    # What a shell did not find, also in a script with the line ends of Windows; a word that is no address.
    rule(
        "exception",
        FATAL,
        "not found|scheme missing",
        r"^(?:zsh|bash|sh|dash|ksh):(?: line)? ?\d{1,5}: \S{1,80} not found\s*$|^: (?:command )?not found\s*$|"
        r"\bcommand [`'\"\u2018][\w./-]{1,80}['`\"\u2019] (?:was )?not found\b|^\S{1,200}: Scheme missing\.?\s*$",
        COPED,
    ),
    # Ends of several ranks that ran into each other: the exception's name and no sentence of its own.
    rule(
        "exception",
        FATAL,
        "error",
        r"^(?-i:[A-Z]\w{1,40}Error)(?: {2,}File \"| {1,8}: (?:raise |\w{1,40}=))",
    ),
    # What nobody may do with this model or this project.
    rule(
        "exception",
        FATAL,
        "you c|permission denied, ask|error code from",
        r"^You (?:cannot|can.t) (?:perform|train|fine-?tune|load|quantize) .{1,200}\. Please \w|"
        r"^Permission denied, ask the \w{1,20} owner\b|\berror code from \w{1,30}: [1-9]\d{0,4}\s*$",
        SURVIVED,
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "missing ",
        r"^(?:error: )?missing (?:[\w.-]{1,30} ){0,3}(?:weights|checkpoints?|ckpt) (?:at|in|for|under) \S*/\S",
        f"{SURVIVED}|{CALM}|from scratch|download",
    ),
    # What a large machine's own service says of a node: its kernel, its power.
    rule(
        "hardware",
        FATAL,
        "psu failure",
        r"\bpsu failure\b",
        f"{SURVIVED}|{CALM}|\\bno psu\\b|failures?\\s?[:=] ?0\\b",
    ),
    rule(
        "exception",
        FATAL,
        "panic|kernel terminated|interrupt",
        r"\brts panic\b|\bkernel terminated for reason\b|\bRAS KERNEL FATAL data (?:TLB error|storage) interrupt\b|"
        r"\bdomain panic has occurred\b",
    ),
)
