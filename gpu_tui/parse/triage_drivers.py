"""What the drivers of cards, networks and disks say of the part they drive, by the place where it is plugged in.

A driver begins each message with its name and the address of the part on the bus. What it says
failed is the part's, whatever the word. `DRIVER_QUIET` stands before every cause,
`DRIVER_CAUSES` behind those of daemons, `DRIVER_ENDS` before every end.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, NONE, SERIOUS, SURVIVED, WARN, Rule, rule

# Drivers of parts that a run hangs on: cards, their ports, disks, networks between nodes.
_NAMES = (
    r"(?:mlx\d_\w{2,8}|vfio-pci|pcieport|nvme|xe|i915|nouveau|megaraid_sas|mpt3sas\w{0,6}|hpsa|aacraid|"
    r"bnxt_\w{2,4}|ena|efa|irdma|hfi1|ice|i40e|ixgbe|tg3|qede?|be2net|nfp|ionic|bnx2x|"
    r"e1000e?|igbv?f?|igc|r81\d\d|atlantic)"
)
_DRIVER = rf"\b{_NAMES}"
_PLACE = r"(?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.\d"

DRIVER_QUIET: tuple[Rule, ...] = (
    # A guess, and what to do: it stands below the failure that it is about.
    rule(
        "benign",
        NONE,
        "cause|reason|solution|suggestion|remedy|workaround|recommend|corrective",
        r"^\W{0,12}(?:possible|probable|likely|potential) (?:causes?|reasons?|solutions?|fix(?:es)?)\W{0,3}"
        r"(?:\d\W{0,2})?:|^\W{0,12}(?:solutions?|suggestions?|suggested (?:action|fix)|remedy|workarounds?|"
        r"recommendations?|recommended actions?|corrective action)(?: \d)? ?: ",
        r"SIGKILL|\bOOM\b",
    ),
)

DRIVER_CAUSES: tuple[Rule, ...] = (
    rule(
        "hardware",
        FATAL,
        "hang|heartbeat|stuck on|reset",
        r"\bresetting (?:[a-z]{2,6}\d{1,2}|chip|engine|GPU|device|card)\b.{0,24}\b(?:hang|hung|stuck|"
        r"stopped heartbeat|timeout)\b|\bstuck on \w{1,12} ring\b|\bGPU recovery timed out\b",
        ADVICE,
    ),
    rule(
        "hardware",
        FATAL,
        "mlx|vfio-pci|pcieport|nvme|xe |i915|nouveau|megaraid|mpt3sas|hpsa|aacraid|bnxt|ena |efa |irdma|hfi1|"
        "ice |i40e|ixgbe|tg3|qed|be2net|nfp|ionic|bnx2x|e1000|igb|igc|r81|atlantic",
        _DRIVER
        + rf" {_PLACE}\b.{{0,160}}?\b(?:fail(?:ed|ure)|fatal(?! ?[:=] ?0)|giving up|unrecoverable|broken device|"
        rf"non-functional|(?:adapter|controller|firmware|device) (?:is )?(?:hung|dead|not responding|lost|"
        rf"inaccessible)|tx time(?:d )?out|transmit queue.{{0,12}}timed out|surprise (?:down|removal))\b|"
        + _DRIVER
        + rf": probe of {_PLACE} failed\b|\bprobe with driver "
        + _NAMES
        + r" failed\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\bfirmware\\b.{{0,24}}\\b(?:optional|load)|\\bnon-fatal|\\bcorrect|"
        f"\\bdebugfs\\b|\\bop_mod\\b|\\bPTP\\b|\\bLLDP\\b|\\bDDP\\b|\\bdevlink\\b|\\bVPD\\b|\\bSMART\\b|\\bI/O Cmd\\b|"
        f"\\bASPM\\b|\\bVBIOS\\b|\\bVBT\\b|\\bDMC\\b|\\bEDID\\b|\\bload firmware\\b|\\bidle channel\\b|\\bbridge window\\b|\\bwake\\s?up\\b|\\bsafe mode\\b|\\bBAR \\d|\\bmodule parameter\\b|\\bpower state\\b.{{0,40}}\\bunable",
    ),
    # A disk and its file system, by the words of the layers above the driver; a state of health.
    rule(
        "hardware",
        FATAL,
        "critical target|critical nexus|hostbyte|unhandled error|unhandled sense|flushing file|abort status|rectify|"
        "wedged|unmasked|down node|health|marking it lost|lost contact|error_sw_reset|heartbeat lost|is in reset|gpu hang (|mark-offline|offline: |nhc: ",
        r"\bcritical (?:target|nexus) error, dev(?!.{0,60}\bDISCARD\b)|\bFAILED Result: hostbyte=(?!DID_OK driverbyte=DRIVER_OK)|"
        r"\bsd [\d:]{7,16}: \[sd[a-z]{1,3}\] .{0,24}\bUnhandled (?:error|sense) code\b|"
        r"\bdetected IO errors while flushing file data\b|\bnvme\d{1,3}: Abort status: 0x[1-9]|"
        r"\bunmount the filesystem and rectify\b|\bdevice (?:is )?wedged\b|\bunmasked uncorrectable error\b|"
        r"(?-i:\bon DOWN node\b)|\bhealth(?: status)?\s{0,40}: ?(?-i:Alarm|Critical|Fault\w{0,3}|UnHealthy|Failed)\b|"
        r"\bmarking it LOST\b|\blost contact with job shell\b|\bmlx5_error_sw_reset\b|\bdevice \d{1,3} heartbeat lost\b|"
        r"\bhabanalabs .{0,24}\bdevice is in reset\b|\berror\b.{0,60}\bGPU hang \(|"
        r"\bnode-mark-offline:\s{1,4}Marking\b|^\s{0,8}NHC: [A-Z]\w",
        f"{ADVICE}|{CALM}|\\brecovered\\b",
    ),
    # A network card that sends no more, until it is set up anew.
    rule(
        "hardware",
        SERIOUS,
        "netdev watchdog|reset adapter|trigger reset|reset the device|watchdog time|tx timeout",
        r"\bNETDEV WATCHDOG: |"
        + _DRIVER
        + rf" {_PLACE}\b.{{0,160}}?(?:\breset adapter\b|\btrigger reset is on\b|\. reset the device\b|"
        r"\bwatchdog time(?:d )?out|\btx timeout\b(?! ?[:=]))",
        ADVICE,
    ),
    # A card that does not come back from a reset.
    rule(
        "hardware",
        FATAL,
        "waiting for",
        r"\b(?:timeout|timed out) (?:while )?waiting for (?:the )?(?:device|GPU|card|accelerator|NPU)\b(?! ?(?:plugin|"
        r"memory|query|mapper))",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    rule(
        "hardware",
        FATAL,
        "uncorrectable (",
        r"\bAER: (?:multiple )?uncorrect(?:ed|able) \(",
    ),
    # A card's own runtime: codes of an error in brackets, its management that does not answer.
    rule(
        "hardware",
        FATAL,
        "heartbeat|device_absent|device not found",
        r"\bdevice ?\[?\d{0,4}\]? lost heartbeat\b|\breason=lost heartbeat\b|\bDevice_Absent\b|"
        r"\(E[A-Z]\d{4}\): Device not found\b",
    ),
    rule(
        "cuda_error",
        FATAL,
        "[func:|dcmi|dsmi|drv api|): ",
        r"\bfail\w{0,4}\b.{0,200}\[FUNC:\w{1,60}\]|\b(?:dcmi|dsmi|hccn)\w{0,24} .{0,40}\bfail(?:ed|ure)\b|"
        r"\[(?:drv api|drv|devmm|tsdrv)\].{0,80}\bfail|\b[A-Z]\w{3,40}\(E[A-Z1-9]\d{4}\): ",
        r"memory|" + CALM,
    ),
    # An accelerator that stopped, as its runtime and the frameworks above it say.
    rule(
        "hardware",
        FATAL,
        "/dev/accel|error interrupt|physical location|tpu session|slice_failure",
        r"\bTPU session error\b|(?-i:\bSLICE_FAILURE_[A-Z_]{4,40}\b)|"
        r"\bFATAL ERROR\b.{0,12}\[/dev/accel|\berror interrupt! fatal: true|\[physical location: [^\]]{1,40}\].{0,60}\berror has occurred",
    ),
    rule(
        "cuda_error",
        FATAL,
        "kernel failed|ascend error message|device(|kernel(|driver(|runtime(|from device|nrt_|nrt status|tdrv:",
        r"(?-i:\bNRT_(?!SUCCESS)[A-Z_]{4,40}\b(?!=))|\bnrt status [1-9]|\bTDRV:\w{1,60} {1,4}(?:unable|failed|could not)\b|"
        r"\blaunch kernel failed\b|[a-z]Error: .{0,200}'Ascend Error Message|\bthe error from device\(|"
        r"(?-i:\[(?:ERROR|CRITICAL|EXCEPTION)\] (?:DEVICE|KERNEL|DRIVER|RUNTIME)\(\d)",
        r"memory|" + CALM,
    ),
    # The collectives of such cards, and what waits for an answer that does not come.
    rule(
        "hang",
        FATAL,
        "times out|hccl(",
        r"\b(?:socket|barrier|collective|all_?reduce|all_?gather|broadcast|handshake|heartbeat|queue|stream|event)\b[^.]{0,24}\btimes out\b|"
        r"(?-i:\[ERROR\] HCCL\(\d).{0,240}\b(?:timed out|time-?out)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\b(?:when|until|before|after|unless)\\b",
    ),
    rule("nccl", FATAL, "hccl(", r"(?-i:\[(?:ERROR|CRITICAL)\] HCCL\(\d)", f"{SURVIVED}|memory"),
    # A node that a scheduler has given up, and the job that went with it.
    rule(
        "hardware",
        FATAL,
        "node fail|node_fail|state=down|state=fail|not responding|node-fail|notready",
        r"\bdue to node failure\b|(?-i:[= ]NODE_FAIL\b(?! (?:state|jobs?)\b))|\bnode-failure\b|(?-i:\bState=(?:DOWN|FAIL)\b)|"
        r"(?-i:\b(?:phase|reason|condition|state): ?NotReady\b)|\s(?-i:down|fail)[*$~#]?\s.{1,200}\bNot responding\s*$",
        r"\bif\b|\bmail|\bobject \w{8,80} is lost\b",
    ),
)

DRIVER_ENDS: tuple[Rule, ...] = (
    # A knob of the kernel that could not be turned.
    rule(
        "warning",
        WARN,
        "/sys/|/proc/|sysctl: ",
        r"^sysctl: |^mount: /sys/|^/(?:sys|proc/sys)/\S{1,120} (?:could not|cannot)\b|"
        r"\b(?:writ\w{1,5}|setting|set|echo|open|enabl\w{1,3})\b[^\n]{0,60}[\"' ](?:/host)?/(?:sys|proc/sys)/\S",
        r"traceback|[a-z]Error: ",
    ),
    # What was left behind and could not be cleared away: nothing hangs on it.
    rule(
        "warning",
        WARN,
        "remov|delet|uninstall|unlink|clean|unmount|detach|deregister|purge",
        r"(?:^\s{0,8}|[\]:>)] |\t|- )(?:error: )?(?:could not|couldn.t|cannot|can.t|failed to|unable to|error) "
        r"(?:remov|delet|unlink|clean(?:ing)? ?up|umount|unmount|purg|tear(?:ing)? down|uninstall|unregister|deregister)",
        r"(?i:traceback)|[a-z]Error: |\bdevice (?:is )?busy\b.{0,40}\bfatal",
    ),
    # What the bus found and could not name, a firmware's answer to a question that it does not know.
    rule(
        "warning",
        WARN,
        "device of id|op_mod",
        r"\bcan.t find device of ID|\bmlx5_cmd_(?:check|out_err|exec)\b",
    ),
)
