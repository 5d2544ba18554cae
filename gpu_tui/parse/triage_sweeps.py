"""How launchers of sweeps, simulators and pools of workers tell of an end: who failed and where to read it, who is gone."""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import COPED
from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SERIOUS, SURVIVED, WARN, Rule, rule

_ARM = r"(?:runs?|jobs?|tasks?|trials?|cells?|arms?|seeds?|stages?|experiments?|configs?)"
# A state of one that failed, and those that stand beside it where states are counted.
_BAD_STATE = r"(?:ERROR|ERRORED|FAILED|CRASHED)"
_STATE = r"(?:RUNNING|PENDING|PAUSED|QUEUED|TERMINATED|COMPLETED|SUCCEEDED|FINISHED|DONE|KILLED|ERROR|ERRORED|FAILED|CRASHED)"
_LEFT = r"(?:disappeared|vanished|left the (?:cluster|group|job|pool)|is gone|went away)"

SWEEP_CAUSES: tuple[Rule, ...] = (
    # The memory of a card, by its other names.
    rule(
        "gpu_oom",
        FATAL,
        "memory on|memory in|vram|hbm|gpu memory|device memory",
        r"\bnot enough (?:free )?memory (?:on|in) (?:the )?(?:device|GPU|card|VRAM)\b|\b(?:VRAM|HBM|GPU memory|"
        r"device memory) (?:is |was )?(?:exhausted|insufficient|full)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # A monitor of memory says whom it killed.
    rule(
        "host_oom",
        FATAL,
        "killed this|killed the",
        r"\bkilled (?:this|the) (?:worker|task|actor|process|job|container|replica)s?\b",
        f"{SURVIVED}|{CALM}|\\bto free\\b|\\bGPU memory\\b|^\\W{{0,4}}if\\b",
        also=r"\b(?:memory|RAM)\b",
    ),
    rule(
        "cuda_error",
        FATAL,
        "adapter",
        r"\bno (?:suitable |compatible )?(?:GPU |graphics |wgpu )?adapters? (?:was |were )?(?:found|available)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "host_oom",
        FATAL,
        "ran out of",
        r"\b(?:instance|machine|vm|box|host|notebook|session|container|pod) (?:has )?(?:ran|run) out of (?:memory|RAM)\b",
        f"{SURVIVED}|{ADVICE}",
    ),
    rule(
        "cuda_error",
        FATAL,
        "opencl|cl::error|(): cl_",
        r"\bOpenCL (?:error|failure)\b:? ?\(?-?[1-9]|\bcl::Error\b|(?-i:\bcl[A-Z]\w{3,40}\(\): CL_"
        r"(?!SUCCESS|DEVICE_NOT_FOUND|MEM_OBJECT|OUT_OF_HOST)[A-Z])|(?-i:\bOpenCL CL_(?!SUCCESS|MEM_OBJECT)[A-Z_]{3,40} error\b)",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)

SWEEP_LOST: tuple[Rule, ...] = (
    # A second copy of a daemon finds the first one's file; a way of transfer that keeps the owners it may not set.
    rule(
        "warning",
        WARN,
        "pid file|pidfile|rsync: ",
        r"\b(?:lock|create|write|open|read|remove|unlink) (?:the )?(?:PID ?file)\b|"
        r"^rsync: (?:\[\w{1,12}\] )?(?:chgrp|chown|chmod|failed to set \w{1,16}).{1,300}\bnot permitted\b",
    ),
    # A library that a program tries to open, and one that it does without; a volume that a kubelet mounts again and again.
    rule(
        "warning",
        WARN,
        "dlopen|native library|failedmount|failedattach",
        r"^Failed to load \S{1,120}\.so[\d.]{0,12}: dlopen\b|^Could not load \S{1,40} native library\b|^\s*(?:Warning|\S{1,6} +Warning) +Failed(?:Mount|AttachVolume) ",
    ),
    rule(
        "nan",
        SERIOUS,
        "resulted in",
        r"\bresulted in (?:an? )?NaNs?\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "network",
        FATAL,
        "your connection|your internet connection|your network connection",
        r"\b(?:fail\w{0,4}|error|cannot|can.t|couldn.t|unable)\b.{0,300}\bcheck your (?:internet |network )?connection\b",
        f"{SURVIVED}|{CALM}",
    ),
    # All of those who worked: whoever waits for them waits long.
    rule(
        "exception",
        FATAL,
        "all ",
        rf"\ball (?:of )?(?:the )?(?:\d{{1,5}} )?(?:workers|nodes|ranks|replicas|actors|executors|servers|engines|{_ARM}) "
        r"(?:are |were |have )?(?:dead|failed|died|crashed|gone|unhealthy)\b",
        f"{ADVICE}|\\bretr|\\bbut\\b|\\b(?:not|until|unless|when|once)\\b",
    ),
    rule(
        "network",
        FATAL,
        "connection to",
        r"\bconnection to (?:the )?(?:[a-z]{3,16} ){1,3}(?:was |has been |is )?lost\b",
        f"{SURVIVED}|{CALM}|\\b(?:client|user|browser)\\b",
    ),
)

SWEEP_ENDS: tuple[Rule, ...] = (
    # A scheduler that passes on, at its own level, how its task ended: nothing stands before the exception's name.
    rule(
        "exception",
        FATAL,
        "error: |exception: ",
        r"(?-i:\bINFO\b\]?\W{1,4}(?:\S{1,40}:\d{1,5}\]? )?(?:[a-z_]\w{0,40}\.){0,5}[A-Z]\w{2,40}(?:Error|Exception)): [\w\"'`(\[<]",
        f"{SURVIVED}|{ADVICE}",
    ),
    # An arm that failed, and where to read of it, at whatever level it is told.
    rule(
        "exception",
        FATAL,
        "fail",
        rf"\b{_ARM}\b.{{1,200}}?\bfail(?:ed|ure|s)?,? (?:see|check|refer to|look at)\b",
        f"{SURVIVED}|{ADVICE}",
    ),
    rule(
        "exception",
        FATAL,
        "failed|fail|crashed",
        rf"^\W{{0,4}}(?-i:FAILED|FAIL|CRASHED)[\]:]? {_ARM}\b[ =#:]{{1,3}}\S",
        f"{SURVIVED}|[:=] ?(?:0\\s*$|none|\\[\\])",
    ),
    # A count of states, and a row of a table of trials: its name, its state.
    rule(
        "exception",
        FATAL,
        "error|failed|crashed",
        rf"[(:|{{] ?(?-i:(?:\d{{1,6}} {_STATE}[,|] ?){{0,6}}[1-9]\d{{0,5}} {_BAD_STATE}\b)(?=[),|]| \||\s*$)|"
        rf"(?-i:\b{_BAD_STATE}[:=] ?[1-9]\d{{0,5}}\b.{{0,60}}\b{_STATE}[:=] ?\d|\b{_STATE}[:=] ?\d.{{0,60}}\b{_BAD_STATE}[:=] ?[1-9])|"
        rf"^\s{{0,4}}[|\u2502] ?(?=[^\s|\u2502]{{0,80}}\d)[\w.-]{{4,80}}\s{{1,60}}(?:[|\u2502]\s{{0,4}})?(?-i:{_BAD_STATE})\s{{0,40}}(?:[|\u2502\d]|$)",
        SURVIVED,
    ),
    # A row of a list of runs: when it was made, and its state.
    rule(
        "exception",
        FATAL,
        "failed|crashed",
        r"^\S{4,40} {2,40}(?:\S{2,40} {2,20})?(?:\d\d:\d\d [AP]M|[A-Z][a-z]{2} \d\d?, \d{4}) {1,12}(?-i:Failed|Crashed)\s*$",
    ),
    rule(
        "exception",
        SERIOUS,
        "exception during|exception in",
        r"\bexception (?:during|in) (?:the )?(?:train|fit)\w{0,4}\b[^:]{0,24}: \S",
        f"{SURVIVED}|{ADVICE}|exception handling",
    ),
    # Rust's own last words; what a server says of the worker that was to load its model.
    rule("exception", FATAL, "panicked at", r"\bthread '[^']{0,60}' (?:\(\d{1,9}\) )?panicked at "),
    rule(
        "exception",
        FATAL,
        "error: ",
        r"\berror: (?:the )?(?:worker|process|server|engine|backend)s? (?:has |have )?(?:died|crashed|exited)\b",
        f"{SURVIVED}|{ADVICE}",
    ),
    # A library by its name, and its error.
    rule(
        "exception",
        FATAL,
        " error: ",
        r"^\W{0,4}(?!(?:mean|test|train|valid|val|eval|avg|std|max|min|total|rms|bit|word|char|import)\b)(?-i:[a-z][a-z0-9]{2,16}) "
        r"error: (?-i:[A-Z][a-z])",
        COPED,
    ),
    # A check of Google's libraries: the file, its line and what did not hold.
    rule(
        "exception",
        FATAL,
        ".cc(|.cpp(|.cu(|.h(",
        r"^\S{1,60}\.(?:cc|cpp|cxx|cu|h)\(\d{1,5}\) \[(?:!|\(|\w[\w:.>()-]{0,80}(?:\(\)| (?:==|!=|<=|>=|<|>) ))",
    ),
    # A part that cannot be used any more, a count and nothing else.
    rule(
        "exception",
        FATAL,
        "no longer",
        r"\b(?:object|handle|pipeline|context|communicator|process group|engine|session|pointer|stream)s? (?:is|are) "
        r"no longer (?:valid|usable|alive|available)\b",
        COPED,
    ),
    rule("exception", FATAL, "failure", r"^\W{0,6}[1-9]\d{0,4} failures?\W*$"),
    # Somebody who was there.
    rule(
        "exception",
        FATAL,
        "disappeared|vanished|left the|is gone|went away|lost worker|lost node|lost host",
        rf"^\W{{0,4}}(?:the )?(?:worker|node|rank|host|replica|peer|agent|executor|server) \S{{1,24}} (?:has )?{_LEFT}|"
        rf"^\W{{0,4}}lost (?:worker|node|host|rank|peer) \S{{1,24}}\W*$",
        f"{COPED}",
    ),
    rule(
        "exception",
        FATAL,
        "terminated|environment|already in use",
        r"\b(?:was|were) (?:unexpectedly|abruptly|abnormally) terminated\b|\bterminated (?:abruptly|unexpectedly|"
        r"abnormally)\b|\b(?:environment|simulator|emulator)s? (?:has |have )?crashed\b|\bTPU is already in use by\b",
        f"{SURVIVED}|{CALM}|\\bif\\b",
    ),
    # A library of linear algebra that was called wrongly.
    rule(
        "exception",
        FATAL,
        "illegal value",
        r"\bon entry to \w{3,10}\b.{0,40}\bhad an illegal value\b",
    ),
    # A calculation that left the realm of numbers.
    rule(
        "exception",
        FATAL,
        "simulation",
        r"\bsimulation (?:has )?(?:become|became|becomes|went|turned) (?:numerically )?unstable\b|\bsimulation "
        r"(?:has )?(?:exploded|blown up|blew up)\b",
        f"{SURVIVED}|\\bif\\b|\\bmay\\b",
    ),
)
