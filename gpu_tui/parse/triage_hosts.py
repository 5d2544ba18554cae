"""What stands around a run on a rented box: a scheduler's tables, a cluster's validation, builds, tests, trackers.

`HOST_CAUSES` stands behind the causes that drivers name, `HOST_LOST` before every end, `HOST_ENDS` before the
grammar of failures in general.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SURVIVED, WARN, Rule, rule

# A row of `sinfo -R`: the reason, who set it, when, for which nodes.
_DRAINED = r"\s{1,24}(?:root|slurm)\s{1,24}\d{4}-\d\d-\d\dT[\d:]{8}\s{1,8}\S{1,200}\s*$"
_COLLECTIVE = (
    r"(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|collective)"
)

HOST_CAUSES: tuple[Rule, ...] = (
    rule(
        "hardware",
        FATAL,
        "not responding|rebooted|realmemory|real_memory|gres/|nhc|ecc|health|xid|gpu| down|inconsistency",
        r"^\S{1,40}\s{1,12}up\s{1,12}\S{3,20}\s{1,12}\d{1,5}\s{1,8}(?:down|fail)[*$~#]{0,2}\s{1,8}\S|"
        r"\bUNEXPECTED INCONSISTENCY\b|^\s{0,8}(?:Not responding|Node unexpectedly rebooted|Low Real_?Memory|gres/\S{1,40} count .{2,40}|"
        r"NHC: .{2,80}|[\w :.-]{0,40}\b(?:ECC|Xid|health|GPU)\b[\w :.-]{0,40}?)" + _DRAINED,
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

HOST_LOST: tuple[Rule, ...] = (
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
        "name lookup failed|wandb.sdk.",
        r"\bname lookup failed for \S|(?-i:\bwandb\.sdk\.(?:\w{1,40}\.){1,4}\w{0,40}(?:Closed|Abandoned|Timeout|Mailbox)\w{0,24})",
    ),
)

HOST_ENDS: tuple[Rule, ...] = (
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
        "=== run|returned an error|failed (|!!! |enough resources",
        r"\b(?:zone|region|location) \S{1,120} does not have enough resources\b|=== Run \(ID '\S{1,60}'\) failed ===|\b(?:backend|build|compiler|server|hook|script|command|tool|kernel|plugin|"
        r"subprocess|driver|API) returned an error\b(?! code (?:0\b|page))|\bfailed \((?:exit|code|status)?\s*$|"
        r"^!{3,120} (?:stopping after [1-9]\d{0,4} failures?|Interrupted: .{1,80}|KeyboardInterrupt|_pytest\.\S{1,60}) !",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
)
