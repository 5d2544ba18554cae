"""How launchers, trainers and notebooks tell of a run's end in words of their own, and what only sounds like one.

`RUN_CAUSES` and `RUN_STOPS` stand among the rules that name a cause, `RUN_ENDS` before the grammar of failures in general.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, NONE, SERIOUS, SURVIVED, Rule, rule

_PARTS = r"(?:ranks?|workers?|process(?:es)?|nodes?|hosts?|replicas?|participants?|members?|peers?)"
_LEVEL = r"(?-i:\b(?:ERROR|FATAL|CRITICAL)\b|[a-z](?:Error|Exception)\b)|\b(?:error|fatal):"

RUN_CAUSES: tuple[Rule, ...] = (
    # What says itself that it means nothing.
    rule(
        "benign",
        NONE,
        "please ignore|safely ignore|safe to ignore|safely be ignored|is expected|expected behavior",
        r"\b(?:please|safely|safe to|can be|can safely be) ignored?\b|\bthis is (?:the )?(?:normal|expected)\b|\bexpected behaviou?r\b|\bthis is expected\b",
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
    # A stderr that a collector calls an error, with nothing in it.
    rule(
        "benign",
        NONE,
        "error",
        r"^(?-i:ERROR) [\dTZ:.+ -]{12,80}(?:\{\}|[|+][-+=| ]{0,200}|\|(?: [\w ]{1,30} \|){2,8})\s*$",
    ),
    # One bad picture of many, a box that was drawn too slowly: data, not the run.
    rule(
        "benign",
        NONE,
        "libpng|libjpeg|nms time",
        r"\blib(?:png|jpeg)(?:-turbo)? (?:error|warning):|\bNMS time limit\b",
    ),
    # --- host_oom: the shared memory of a box is main memory ---
    rule(
        "host_oom",
        FATAL,
        "/dev/shm|</torch_|shared memory|shm_open",
        r"\bno space left on device\b.{0,20}/dev/shm|/dev/shm\b.{0,60}\b(?:no space left|is full|exhausted|too small)\b|\bunable to (?:write to file|open shared memory object|allocate shared memory)\b.{0,12}</torch_|\bshared memory (?:is |was )?(?:full|exhausted)\b",
        ADVICE,
    ),
    # --- hang ---
    rule(
        "hang",
        FATAL,
        "stuck|hung|hanging|deadlock|did not|didn't|not responding|no output",
        rf"\b{_PARTS}\b.{{0,24}}\b(?:appears?|seems?) to (?:be|have) (?:stuck|hung|hanging|deadlocked)|\b{_PARTS}\b.{{0,24}}\b(?:did not|didn.t|has not|have not|never) (?:reach|reached|join|joined|arrive|arrived|report|reported|check(?:ed)? in|enter|entered)\b.{{0,60}}\b(?:within|in|after|for|before)\b|\bno (?:output|response|activity|message|log) (?:from|of) .{{0,40}}\bfor \d+ ?(?:s|sec|seconds|min|minutes|ms|h)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # --- nccl ---
    rule("nccl", FATAL, "gloo::|nccl", r"throwing an instance of '(?:gloo|nccl|c10d)::"),
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
    # --- preempted ---
    rule(
        "preempted",
        FATAL,
        "preempted",
        r"\b(?:node|host|instance|worker|vm|machine|job|run|pod) \S{1,60} preempted\W*$",
        f"{SURVIVED}|\\bif\\b",
    ),
    # --- killed ---
    rule(
        "killed",
        FATAL,
        "signal|interrupt|terminating and sync",
        r"^\W{0,4}(?:training|run|evaluation|sweep|job|execution|process|experiment) (?:was |has been |is |got )?interrupted\b\W*(?:$|by |at |after |due )"
        r"|\b(?:caught|received|got|handling) (?:an? |the )?(?:interrupt|termination|terminate|kill|shutdown|stop|abort) (?:signal|request)\b|\bwandb: terminating and syncing runs\b"
        r"|\b(?:process|worker|job|shard|server|container|command)\b.{0,24}\b(?:was|were|been|got) (?:signaled|signalled|interrupted|stopped)\b.{0,30}\bsignal:? ?(?:9|15|1|2|3)\b",
        CALM,
    ),
)

RUN_ENDS: tuple[Rule, ...] = (
    # Several writers in one line: the name of the exception stands twice, or behind its message.
    rule(
        "exception",
        FATAL,
        "error",
        r"(?-i:(?P<name>[A-Z]\w{2,30}Error)(?P=name)|(?:^|[:.'\")]\s?)[A-Z]\w{2,30}Error(?=[A-Z`'][a-z`']))|(?-i:[a-z'\")\]][A-Z]\w{2,30}Error:?\s*$)",
        f"{SURVIVED}|{CALM}|\\bimport\\b|\\bexcept\\b|\\braise\\b",
    ),
    rule(
        "exception",
        FATAL,
        "is not defined|object has no attribute|referenced before|has no attribute",
        r"^\W{0,3}(?:name '\w{1,40}' is not defined|'\w{1,40}' object has no attribute '\w{1,40}'|local variable '\w{1,40}' referenced before assignment)",
    ),
    # A count of failures that is not zero.
    rule(
        "exception",
        FATAL,
        "number of",
        r"\bnumber of (?:errored|failed|crashed|dead) (?:trials?|jobs?|runs?|tasks?|workers?|nodes?|cells?|actors?): ?[1-9]",
    ),
    # What was to come up again, and did not.
    rule(
        "exception",
        FATAL,
        "restart|respawn|come back|resume",
        r"\bfail(?:ed|s|ure)? to (?:re-?start|respawn|come back|resume|relaunch)\b|\b(?:cannot|could not|couldn.t|can.t|unable to) (?:be )?(?:re-?start|respawn|relaunch)(?:ed)?\b",
        f"{ADVICE}|{CALM}",
    ),
    # What the C library finds broken in a heap.
    rule("exception", FATAL, "(): ", r"\b(?:munmap_chunk|realloc|calloc|memalign)\(\): [a-z]"),
    # A notebook's kernel or session that is gone with all it held.
    rule(
        "exception",
        SERIOUS,
        "kernel|execute_request",
        r"\bkernel [0-9a-f-]{20,40} restarted\b|^\W{0,4}(?:kernel restarting|dead kernel)\W*$|\bcancell?ed future for execute_request\b",
    ),
    # Windows' own status of a crash, wherever the line was wrapped.
    rule(
        "exception",
        FATAL,
        "status|code",
        r"\b(?:status|code):? ?(?:322122\d{4}|322545\d{4}|-107374\d{4})\b",
    ),
)
