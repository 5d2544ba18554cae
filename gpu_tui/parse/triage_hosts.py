"""What stands around a run on a rented box: a scheduler's tables, a cluster's validation, builds, tests, trackers.

`HOST_CAUSES` stands behind the causes that drivers name, `HOST_STOPS` among those of stops, `HOST_LOST` before
every end, `HOST_ENDS` before the grammar of failures in general.
"""

from __future__ import annotations

from gpu_tui.parse.triage_evidence import ABORT_LEVEL, ERROR_LEVEL
from gpu_tui.parse.triage_rule import (
    ADVICE,
    CALM,
    FATAL,
    NONE,
    SERIOUS,
    SURVIVED,
    WARN,
    Rule,
    rule,
)

# A row of `sinfo -R`: the reason, who set it, when, for which nodes.
_DRAINED = r"\s{1,24}(?:root|slurm)\s{1,24}\d{4}-\d\d-\d\dT[\d:]{8}\s{1,8}\S{1,200}\s*$"
_UNABLE = r"\b(?:could not|couldn.t|cannot|can.t|failed to|unable to)"
_COLLECTIVE = (
    r"(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|collective)"
)

# A row of `kubectl get pods`, and the reason of its `describe`, up to what the node had too little of.
_NO_ROOM = r"(?:^\s{0,4}\S{1,120}\s+(?:\S{1,80}\s+)?\d{1,3}/\d{1,3}\s+|^\s{0,24}[\"']?(?:Status|Reason)[\"']?:\s+[\"']?|\bWarning\s+)OutOf"

HOST_CAUSES: tuple[Rule, ...] = (
    # A pod whose node has no room for it.
    rule("host_oom", FATAL, "outofmemory", _NO_ROOM + r"(?-i:[Mm]emory)(?=[\s\"',]|$)"),
    rule("disk_full", FATAL, "outofephemeral", _NO_ROOM + r"ephemeral-storage(?=[\s\"',]|$)"),
    rule(
        "hardware",
        FATAL,
        "/dev/|pmu has|not responding|rebooted|realmemory|real_memory|gres/|nhc|ecc|health|xid|gpu| down|inconsistency",
        r"^\S{1,40}\s{1,12}up\s{1,12}\S{3,20}\s{1,12}\d{1,5}\s{1,8}(?:down|fail)[*$~#]{0,2}\s{1,8}\S|"
        r"\bUNEXPECTED INCONSISTENCY\b|^\W{0,4}/dev/(?:nvme|sd)\w{1,12}\W{1,4}(?:failed|failing)\b|\bPMU has halted\b|^\s{0,8}(?:Not responding|Node unexpectedly rebooted|Low Real_?Memory|gres/\S{1,40} count .{2,40}|"
        r"NHC: .{2,80}|[\w :.-]{0,40}\b(?:ECC|Xid|health|GPU)\b[\w :.-]{0,40}?)" + _DRAINED,
    ),
    rule(
        "hardware",
        FATAL,
        "gpu",
        r"\bGPU ?#?\d{1,3}\b.{0,12}\bfailed (?:the |its )?[\w ]{0,20}(?:test|diag\w{0,8}|check)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # More memory than a scheduler granted.
    rule(
        "host_oom",
        FATAL,
        "more memory than|largest process|biggest process",
        r"\b(?:us(?:ed|ing)|consum(?:ed|ing)|took|needed) more memory than (?:it )?(?:was )?(?:requested|allowed|allocated|granted|"
        r"its|the limit)\b|\bkilling (?:the )?(?:largest|biggest) process\b",
        ADVICE,
    ),
    rule(
        "disk_full",
        FATAL,
        "quota",
        r"\bquota (?:on|for|of) /\S{1,120} (?:is |was |has been )?(?:exceeded|reached|used up)\b|"
        r"\b(?:user|disk|storage|scratch|home|project) quota\b.{0,30}\b(?:exceeded|used up)\b",
        f"{SURVIVED}|{ADVICE}|\\bAPI\\b|\\bGPU",
    ),
    # Who or what did not come on in the time that it had.
    rule(
        "hang",
        FATAL,
        "did not|didn't|no output|no activity|no response|no log|took too long",
        r"\b(?:environment|env|simulator|server|worker|engine|process|rank|client)\b.{0,24}\btook too long to (?:respond|reply|answer|connect|start)\b|"
        r"\b(?:step|iteration|batch|epoch|rank|worker|job|run|barrier|collective)\b.{0,24}\b(?:did not|didn.t) (?:finish|complete|end|"
        r"progress|advance|return) (?:with)?in \d|\bno (?:output|activity|log lines?|response) (?:for|in|since) \d{2,6} ?(?:s|secs?|"
        r"seconds|m|mins?|minutes|h|hours)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "nccl",
        FATAL,
        "connect to",
        _UNABLE + r" connect to (?:the )?(?:master|rendezvous|coordinator|store|rank ?\d|c10d)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "cuda_error",
        FATAL,
        "initiali|create",
        _UNABLE
        + r" (?:initiali[sz]e|create) (?:the |a )?(?:cuDNN|cuBLAS|cuFFT|cuSOLVER|cuSPARSE|CUDA|HIP|ROCm)\b(?! plugin)",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\bbackend",
    ),
    rule(
        "cuda_error",
        FATAL,
        "kernel module",
        r"\b(?:unable|failed) to (?:load|insert|build|find) the (?:\w{2,12} )?kernel module '?nvidia",
    ),
    rule(
        "nccl",
        FATAL,
        "connection ",
        rf"\bconnection (?:reset|refused|closed|lost|aborted)\b.{{0,40}}\b(?:during|in|while|inside) (?:the |an? )?{_COLLECTIVE}",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)

HOST_STOPS: tuple[Rule, ...] = (
    rule(
        "ckpt_corrupt",
        SERIOUS,
        "resume from|safetensors|invalid checkpoint|invalid ckpt",
        _UNABLE
        + r" resume from \S|\bsafetensors?\b.{0,24}\b(?:header|metadata|file)\b.{0,24}\b(?:too (?:large|small|short)|invalid|"
        r"incomplete|malformed)\b|\binvalid (?:checkpoint|ckpt)\b(?! (?:path|argument|option|name|dir|interval))",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # A cloud that takes its machine back, a scheduler that takes its place back.
    rule(
        "preempted",
        FATAL,
        "scheduled for|spot |preemptible|evicting|requeued|reservation|lease|allocation",
        r"\b(?:vm|instance|node|pod|machine|box|host)\b.{0,24}\bscheduled for (?:termination|preemption|eviction|deletion|shutdown)\b|"
        r"\b(?:spot|preemptible) (?:capacity|nodes?|vms?|instances?|machines?|pods?|requests?)\b.{0,24}\b(?:was|were|is|been|got) (?:being )?"
        r"(?:reclaimed|terminated|evicted|interrupted|revoked|taken|lost|shut down|stopped|drained)\b|"
        r"\bevicting (?:the |all )?(?:jobs?|pods?|workloads?|containers?)\b|"
        r"\b(?:job|run|task|pod) \S{1,40} (?:was |is )?re-?queued (?:after|due to|because of|following) (?:a |an )?(?:preemption|eviction|node)\b|"
        r"\b(?:reservation|lease|allocation) (?:has |is |was )?(?:ended|expired|over)\b.{0,60}\b(?:stopp|terminat|kill|releas|shut)\w{0,4}",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\b0 ",
    ),
    # A cluster's controller, at whatever level, of all that ran on a node.
    rule(
        "preempted",
        FATAL,
        "evict|all pods",
        r"\bevicting pods? on node\b|\badding pods to evict\b|\bDeletingAllPods\b|\bdeleting all pods from node\b",
    ),
    rule("killed", FATAL, "pressed", r"\buser (?:has )?pressed ctrl"),
)

HOST_LOST: tuple[Rule, ...] = (
    # What stderr holds is an error to a collector of logs, a bar and the columns of a table too.
    rule(
        "progress",
        NONE,
        "error|critical| err |[e]",
        rf"^.{{0,100}}?(?:{ERROR_LEVEL}|{ABORT_LEVEL}).{{0,200}}?(?:\d%\|[^|]{{0,200}}\| ?[\d.]{{1,12}}\w?/[\d.]{{1,12}}\w? \[[^\]]{{4,240}}\]|"
        r"\s\d{1,12}/\d{1,12} \[[=>.]{5,60}\](?: - [\w ]{1,40}: [\d.:e+-]{1,16}s?){0,12}|\d (?:it|examples) \[\d[\d:]{3,8}, [^\]]{4,240}\]|\d\d:\d\d:\d\d[\d.,Z]{0,12}(?:\s{2,60}[\w@.:/%-]{1,20}){5,20})"
        r"(?:[\s\"'}]|\\[nr]){0,8}$",
        r"(?-i:[a-z](?:Error|Exception)\b)|\b(?:nan|inf)\b|\b(?:fail|abort|kill|crash|lost|den[iy]|refus|corrupt|missing|invalid|cannot|could not|unable|out of)",
    ),
    # An open connection that the other side let go of, a monitor that is gone while there are others: both are taken up again.
    rule(
        "network",
        WARN,
        "con state open|hunting for",
        r"\blibceph: \w{3,12} .{1,80}\((?-i:con state OPEN)\)|\blibceph: mon\d.{1,80}\bhunting for new mon\b",
    ),
    # One beat of a heart that nobody heard: the next one follows.
    rule(
        "network",
        WARN,
        "heartbeat",
        r"\bfailed to (?:communicate|talk|connect|sync) (?:with|to) (?:the )?(?:scheduler|server|tracker|coordinator|master|head)\b.{0,16}\b(?:during|in) (?:the |a )?heartbeat\b|"
        r"\bheartbeat to (?:the )?scheduler failed\b",
        r"\babort|\bexit|\bgiving up|\bgave up|\bshut",
    ),
    # Who only shows what others write is gone; the others are not.
    rule(
        "warning",
        WARN,
        "monitor|dashboard",
        r"\bthe (?:log monitor|monitor|dashboard)(?: on node \S{1,80})? failed with the following error:",
    ),
    # A registry that gives no more today.
    rule(
        "exception",
        FATAL,
        "toomanyrequests",
        r"\btoomanyrequests: ",
        f"{SURVIVED}|\\(\\d/\\d\\)",
    ),
    # Nobody answered, however often he was asked.
    rule(
        "network",
        FATAL,
        "reachable",
        r"\b(?:not reachable|unreachable) after (?:\d{1,5}|multiple|several|many|all|repeated) (?:\w{1,12} )?(?:retries|attempts|tries|pings|seconds)\b|"
        r"\bat \S{1,80}:\d{1,5} is (?:not reachable|unreachable)\W*$",
        f"{ADVICE}|{CALM}",
    ),
    # What a kubelet does not know yet, in its first minutes.
    rule(
        "warning",
        WARN,
        "unable to find data",
        r"\bunable to find data (?:for container|in memory cache)\b",
    ),
    # Parts that a machine starts without: the firmware of a radio, the log of a card's own processor.
    rule(
        "warning",
        WARN,
        "firmware load for",
        r"\bfirmware load for \S{0,80}(?:gsp_log|regulatory|iwlwifi|rtl\d|rtl_|brcm|ibt-|/qca|ath\d|_dmc|tigon|e100)",
    ),
    # A name that a server would write down and could not find; a tracker's own thread, at the end of a run.
    rule(
        "network",
        WARN,
        "name lookup failed|wandb.sdk.|debug|connect to the hub",
        r"^couldn.t connect to the hub: |^.{0,40}(?-i:\bDEBUG\b).{0,120}\bssh: connect to\b|\bname lookup failed for \S|(?-i:\bwandb\.sdk\.(?:\w{1,40}\.){1,4}\w{0,40}(?:Closed|Abandoned|Timeout|Mailbox)\w{0,24})",
    ),
)

HOST_ENDS: tuple[Rule, ...] = (
    rule(
        "exception",
        FATAL,
        "outof",
        _NO_ROOM + r"(?-i:cpu|pods|[a-z][\w.-]{2,60}/[\w.-]{2,60})(?=[\s\"',]|$)",
    ),
    rule(
        "exception",
        FATAL,
        "prolog|epilog|kill task failed|batch job complete|duplicate|launch",
        r"^\s{0,8}(?:Prolog error|Epilog error|Kill task failed|batch job complete failure|Duplicate jobid|"
        r"launch fail\w{0,3})" + _DRAINED,
    ),
    # Why a scheduler holds a job that it could not start.
    rule(
        "exception",
        FATAL,
        "reason=",
        r"(?-i:\bReason=(?:launch_failed\w{0,24}|JobLaunchFailure|NonZeroExitCode|BootFail|BadConstraints|"
        r"DependencyNeverSatisfied|Invalid(?:Account|QOS)|JobHoldMaxRequeue|SystemFailure)\b)",
    ),
    # What must be given, and is not; who is not let in; an image that nobody has.
    rule(
        "exception",
        FATAL,
        "required|is invalid|is expired|is revoked|is missing|is rejected|manifest|rejected",
        r"\brequired (?:environment variable|argument|option|setting|field|key|file|parameter|input)s? \S{1,80} (?:is|are|was|were) "
        r"(?:not set|missing|not found|empty|not given|unset)\b|\b(?:token|api key|key|credentials?|password|licen[cs]e) (?:is|are|was|were) "
        r"(?:invalid|expired|revoked|missing|rejected)\b|\bmanifest for \S{1,160} not found\b|\bno matching manifest for \S|"
        r"\bjob (?:\S{1,40} )?(?:was |is )?rejected\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\boptional",
    ),
    # A session or a task that ended, at whatever level it is told, and a status that counts failures.
    rule(
        "exception",
        FATAL,
        "session aborted|died|in state |failed because|failed: |succeeded /|errno",
        r"\bSession aborted -- Cause: \S|\bkernel [\da-f-]{8,40} died\b|\b(?:job|run|task|trial|step|pod)\b[^\s:]{0,60}: failed because\b|"
        r"\b(?:job|run|task|trial|step|pod) [\w.-]{1,60} (?:ended|finished|is now|went) in(?:to)? state .?(?:error|failed|crashed)\b|"
        r"^\s{2,16}Failed:\s{1,12}[1-9]\d{0,5}\s*$|\bSucceeded / [1-9]\d{0,5} Failed\b|^\W{0,2}errno:? ?\(?[1-9]\d{0,2}\)? [A-Z]",
        SURVIVED,
    ),
    # A package that cannot be had, and what it would have needed.
    rule(
        "exception",
        FATAL,
        "unmet dependencies|but it is not|but it cannot|is to be installed",
        r"\bhave unmet dependencies\b|\b(?:Pre-?)?Depends: .{1,200}\bbut (?:it (?:is not (?:going to be installed|installable|"
        r"installed)|cannot be installed)|\S{1,60} is to be installed)\b",
        ADVICE,
    ),
    # What a cluster does not accept, told at whatever level.
    rule(
        "exception",
        FATAL,
        "is invalid: ",
        r"\bis invalid: [\w.\[\]\"-]{2,120}: (?:Required value|Invalid value|Forbidden|Unsupported value|"
        r"Duplicate value|Not found|Too long|Internal error)\b",
    ),
    # A tracker that says of the run itself that it failed; a build that a tool gave up; tests that were cut short.
    rule(
        "exception",
        FATAL,
        "=== run|returned an error|failed (|!!! |enough resources|libmamba",
        r"^\W{0,2}(?:critical|error) {1,8}libmamba\b|\b(?:zone|region|location) \S{1,120} does not have enough resources\b|=== Run \(ID '\S{1,60}'\) failed ===|\b(?:backend|build|compiler|server|hook|script|command|tool|kernel|plugin|"
        r"subprocess|driver|API) returned an error\b(?! code (?:0\b|page))|\bfailed \((?:exit|code|status)?\s*$|"
        r"^!{3,120} (?:stopping after [1-9]\d{0,4} failures?|Interrupted: .{1,80}|KeyboardInterrupt|_pytest\.\S{1,60}) !",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)
