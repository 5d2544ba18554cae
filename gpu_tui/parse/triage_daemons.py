"""What speaks of a run from outside: drivers, kernels, schedulers, service managers, tools of transfer.

`DAEMON_CAUSES` stands behind the rules of the machine, `DAEMON_STOPS` behind those of stops and
`DAEMON_ENDS` before the ends. Such programs tell of an end by a state, a count or a status, rarely by a
sentence. What they say beside the jobs is in `triage_quiet`.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import (
    ADVICE,
    CALM,
    FATAL,
    SERIOUS,
    SURVIVED,
    WARN,
    Rule,
    rule,
)

_CARD = (
    r"(?:\b(?:amdgpu|kfd|i915|habanalabs|nouveau)\b[^\n]{0,30}: |\bhabanalabs \w{1,16}: |"
    r"\bnvidia-nvswitch\d{1,3}: )"
)

DAEMON_CAUSES: tuple[Rule, ...] = (
    # --- hardware: what the driver of a card or of a switch says failed is the card's ---
    rule(
        "hardware",
        FATAL,
        "amdgpu|kfd|i915|habanalabs|nouveau|nvswitch",
        _CARD
        + r".{0,120}?\b(?:fail(?:ed|ure)|fatal(?! ?[:=] ?0)|aborted|(?<!REG_WAIT )time(?:d )? ?out|"
        r"going to reset device|hard[- ]reset)\b",
        f"{ADVICE}|{CALM}|\\bnon-fatal|soft recover|\\bfirmware\\b.{{0,20}}\\boptional|\\bcorrectable|"
        f"psp gfx command|\\bVBIOS\\b|\\bVBT\\b|\\bDMC firmware\\b|\\bE?DID\\b|\\bvblank\\b|\\bflip|\\bHDMI\\b|"
        f"\\be?DP(?:-\\d)?\\b|\\bbacklight\\b|\\baudio\\b|\\bnouveau\\b.{{0,60}}\\bload firmware|\\bfirmware load for (?!amdgpu|nvidia|nouveau)|\\bout of memory",
    ),
    # A state of a table of health, and a count of what cannot be corrected.
    rule(
        "hardware",
        FATAL,
        "fail|nvswitch|blacklist|dbe |uncorrect|nvlink|retirements|remap|pending  |pages pending",
        r"^\|[^|]{1,80}\|\s{0,3}(?-i:Fail(?:ed|ure)?)(?:\b.{0,30}\bGPUs?\b|\s{0,3}-\s|\s{1,60}\|)|"
        r"\bNVSwitch fatal error\b|\bpending page blacklist\s{0,24}: ?yes\b|\boverall health: ?failure\b|"
        r"\bDBEs? (?:volatile |aggregate )?(?:ECC )?(?:errors? )?(?:has |have )?(?:been )?occurred\b|"
        r"\bdetected [1-9]\d{0,8} DBE\b|\buncorrectable memory errors?\b(?!\W{0,3}0)|"
        r"\bnvlink\b.{0,16}\b(?:link )?\d{0,3} ?is (?:currently )?down\b|"
        r"\bmore than \d{1,4} page retirements\b|\brow remapp\w{2,3} (?:has )?failed\b|"
        r"\brow remapper pending ?: ?yes\b|^\s{4,16}pending\s{4,40}: yes\s*$|\bretired pages pending\s{0,24}: ?yes\b",
        f"{ADVICE}|{CALM}",
    ),
    # A slot, a disk or a port that the kernel sees no more.
    rule(
        "hardware",
        FATAL,
        "unreadable|critical warning|frozen state|hardware fault|kubeletnotready|nodestatusunknown|pciehp|"
        "offline device|did_|recovery action|recovery flow|uncorrected|containment event|unrecoverable state|"
        "fence wait|failure and has been|vdev_state|osds) down|infiniband |bad device|lower than configured|"
        "probably locked|likely needs|memory failure|marked dead|marked as dead",
        r"\b[1-9]\d{0,8} (?:currently unreadable|offline uncorrectable)\b|\bcritical warning \(0x(?!00)|"
        r"\bfrozen state error detected\b|\bdue to (?:a )?hardware fault\b|^\s{0,8}Ready\s{1,40}(?:False|"
        r"Unknown)\s.{0,160}\b(?:KubeletNotReady|NodeStatusUnknown)\b|"
        r"\bpciehp: slot\([\w-]{1,16}\): (?:link down|card not present)|\brejecting I/O to (?:offline|"
        r"dead) device\b|\bhostbyte=DID_(?:BAD_TARGET|NO_CONNECT|ERROR|TIME_OUT)\b|"
        r"\brecovery action for .{1,60}: failed\b|\bhealth recovery flow aborted\b|"
        r"\bAER: (?:multiple )?uncorrected \(|\bDPC: containment event\b|\b(?:might|"
        r"may) be in (?:an? )?unrecoverable state\b|\bfence wait loop timeout\b|"
        r"\bI/O failure and has been suspended\b|\bvdev_state=(?:DEGRADED|FAULTED|UNAVAIL|REMOVED)\b|"
        r"\([1-9]\d{0,4} osds\) down\b|\binfiniband \w{2,16}: failed to\b|"
        r"\bmlx5_health\w{0,24}:.{0,40}\bhandling bad device\b|"
        r"\bgres/gpu count reported lower than configured\b|"
        r"\bMemory failure: 0x[\da-f]{1,16}: .{0,60}\b(?:hardware poisoned|killing|unmap failed)|"
        r"\bnode has (?:been|beem) marked (?:as )?dead\b|\bGPU is probably locked\b|"
        r"\bGPU likely needs to be reset\b",
        r"\b(?:recovered|recovery succeeded)\b",
    ),
    # A scheduler that takes a node out of service, or a job off a dead one.
    rule(
        "hardware",
        FATAL,
        "node",
        r"\bnodes? \S{1,60} state set to (?:DOWN|DRAIN|FAIL)\w{0,3}\b|\bon failed node\b|"
        r"\bdue to failure of node\b|\berror: Nodes? \S{1,60} not responding\b|\bmissing from batch node\b|"
        r"\bhas low real_?memory size\b|\bPLEG is not healthy\b",
        r"\bstate set to down_?\w{0,12} by user\b",
    ),
    # A sensor, a port or a test of the card, by the state that it is in now.
    rule(
        "hardware",
        FATAL,
        "faulty|asserted|proc'd|active to down|is offline|osds down|disk failure|temperature|uncorrectable vol",
        r"\bGPUs? ?#?\d{1,3}: FAULTY\b|\|.{0,60}\b(?:failure detected|"
        r"uncorrectable \w{2,8})\b.{0,24}\| Asserted\b|\bproc'd: .{1,160}\berrors: [1-9]|"
        r"\bchanged from ACTIVE to DOWN\b|\b(?:storage|metadata) target \S{1,24} is OFFLINE\b|"
        r"\b[1-9]\d{0,4} osds? down\b|\bdisk failure[. ]|\bCRITICAL: GPU\b.{0,24}\btemperature\b|"
        r"\b[1-9]\d{0,8} uncorrectable (?:volatile|aggregate) errors?\b",
        ADVICE,
    ),
    # --- host_oom: told of by a kubelet, a container's runtime, a scheduler; shared memory is main memory ---
    rule(
        "host_oom",
        FATAL,
        "oom|page allocation|available ram|memorypressure|result of limit",
        r"^\s{0,8}MemoryPressure\s{1,40}True\b|\bsystem ?OOM encountered\b|\bTaskOOM event\b|\b(?:JobId|"
        r"StepId|job|step|task)[= ]\S{1,24} OOM failure\b|: page allocation failure: order:\d|"
        r"\bcrashed after using all available RAM\b|\bkilled as a result of limit of\b",
    ),
    # --- disk_full: the system's own words at the end of a line, whatever is advised before them; a quota ---
    rule(
        "disk_full",
        FATAL,
        "no space left|exceed|over your|limit reached|over limit|over quota|full osd|exceeded hard|"
        "exceeded soft|free space",
        r": no space left on device\W*$|\bquotas?\b.{0,60}\bover limit\b|\b(?:directory|disk|volume|scratch|"
        r"home)\b.{0,24}\bover quota\b|\b[1-9]\d{0,4} full osds?\b|\bexceed\w{0,3} your .{0,24}\bquota\b|"
        r"\bover your (?:hard |soft |disk )?(?:quota|limit)\b|\b(?:block|file) limit reached\b|"
        r"\bexceeded (?:hard|soft) (?:block |file |disk )?limit\b|\bn.t have enough free space in\b",
    ),
    # --- hang: what a service manager ends because it took too long ---
    rule(
        "hang",
        FATAL,
        "timed out. ",
        r"\b(?:operation|state '[\w-]{1,24}') timed out\. (?:terminating|killing|aborting)\b",
    ),
    # --- nccl: a part of a library of collectives, by its name; its test's own verdict ---
    rule(
        "nccl",
        WARN,
        "accept failed",
        r"\[(?:proxy )?service(?: thread)?\w{0,4}\] accept failed\b",
    ),
    rule(
        "nccl",
        FATAL,
        "btl_|mtl_|oob_|pml_|osc_|psm|hfi units|test failure|out of bounds values|hydu_sock|ib_mlx|efa_rdm|net/ofi|"
        "tcp connection|ofi poll",
        r"\b(?:btl|mtl|oob)_[a-z]{2,12}\w{0,40}(?:\.c)?\b.{0,120}\b(?:failed|unexpected process|"
        r"connection reset|timed out|broken pipe|unreachable)\b|\bno hfi units (?:are )?available\b|"
        r"\b(?:pml|osc|btl|mtl)_\w{2,24}\.c:\d{1,5}\s{0,4}(?:Fatal|Error)\b|\bPSM2? (?:can.t|could not|cannot|unable to) open\b|"
        r": Test failure \w{1,40}\.cu:\d|\bout of bounds values ?: [1-9]|"
        r"\bib_mlx5_log\.c:\d{1,4}\s+(?:Remote|Local|Receiver|Bad|Unknown|Memory)\b|"
        r"\bNET/OFI\b.{0,120}\b(?:completed with error|ERROR:|could ?n.t|failed)\b|\befa_rdm_\w{2,24}error\b|"
        r"\bunable to complete a TCP connection\b|\bOFI poll failed\b",
        f"{ADVICE}|\\bbtl_openib_component|\\bINFO\\b|initiali[sz]ation failed|fi_getinfo",
    ),
    # --- cuda_error: the device nodes of a card; what a test of the runtime returns ---
    rule(
        "cuda_error",
        FATAL,
        "/dev/kfd|/dev/nvidia|/dev/dri|/dev/accel|/dev/davinci|querying nvidia|cudagetdevicecount|"
        "capable devices are|result = fail|========= ",
        r"\b(?:unable|failed|cannot|could not|permission denied|no such)\b.{0,40}/dev/(?:kfd|nvidia\w{0,12}|"
        r"dri/\w{1,16}|accel\w{0,8}|davinci\w{0,8})\b|/dev/(?:kfd|nvidia\w{0,12}|dri/\w{1,16}|accel\w{0,8}|"
        r"davinci\w{0,8})\b.{0,40}\b(?:permission denied|no such|failed)\b|\berror on querying NVIDIA\b|"
        r"\bcudaGetDeviceCount returned [1-9]|\bCUDA-capable devices? (?:are|is) busy\b|^result = fail\b|"
        r"^=========\s{1,8}(?:invalid __|program hit cuda|misaligned|out-of-range)",
        f"{ADVICE}|{CALM}",
    ),
)

DAEMON_STOPS: tuple[Rule, ...] = (
    # --- preempted: a cloud gives notice ---
    rule(
        "preempted",
        SERIOUS,
        'rebalance|spot_itn|spot itn|"action"|instances.preempted|eventtype|specified deadline',
        r"\brebalance recommendation received\b|(?-i:\bSPOT_ITN\b|\bSpot ITN received\b)|"
        r"^\W{0,3}action\W{1,4}(?:terminate|stop|hibernate)\W{1,5}time\W|\bcompute\.instances\.preempted\b|"
        r"\beventtype\W{1,4}(?:preempt|terminate)\b|\bactive longer than specified deadline\b",
    ),
    # --- preempted: a scheduler's own word for a job that it ended ---
    rule(
        "preempted",
        FATAL,
        "normal |to accommodate|balance|credit|out of funds|going down for|will reboot|job killed: |being terminated|"
        "not ending with signals|time limit exhausted|requeued to reclaim|revoked|slurm job_id|"
        "request_kill_job|state: |deletion pod|taintmanager",
        r"^\s{0,8}Normal\s{1,8}(?-i:Evicted|Preempted)\w{0,40}\s|\bpreempted to accommodate\b|"
        r"\bdue to (?-i:JOB NOT ENDING WITH SIGNALS)|\btime limit exhausted for\b|\b(?:instance|pod|box|"
        r"machine|server|job|vm)\b.{0,40}\b(?:stopped|terminated|paused|shut down|"
        r"deleted)\b.{0,40}\b(?:balance|credits?|funds)\b|\bthe system (?:is going down for|will reboot)\b|"
        r"\bjob killed: (?:cput|walltime)\b|^job <\d{1,12}> is being terminated|"
        r"\bhas been requeued to reclaim\b|\bjob \d{1,12} has been revoked\b|"
        r"\bslurm job_id=.{1,200}\b(?-i:TIMEOUT|CANCELLED|PREEMPTED)\b|"
        r"^_?\W{0,4}\S{0,32}\s?_slurm_rpc_kill_job: |\bREQUEST_KILL_JOB\b|^\s{0,8}state: (?-i:TIMEOUT|"
        r"CANCELLED|PREEMPTED)\b|\bmarking for deletion pod\b",
    ),
    # --- killed: the signal that ended it stands as a status ---
    rule(
        "killed",
        FATAL,
        "died through|parent appears to have exited|task exit notification|powering down|is rebooting|wtermsig|exited (|"
        "exit code: |killed signal|by pbs server|sending signal|sending ctrl|srun: interrupt|"
        "signal termination|liveness probe|killing '|signal 15|shutdown requested|by request of|via signal|"
        "code=killed|status:",
        r"\bdied through signal (?:KILL|TERM|INT|HUP)\b|\bparent appears to have exited, shutting down\b|"
        r"\btask exit notification\b.{0,60}\(status=0x000(?:9|f|2)\)|\bsystem is (?:powering down|rebooting|"
        r"halting)\b|\bWTERMSIG (?:1|2|9|15)\b|\bexited \((?:137|143|130)\)|^=\s{1,6}EXIT CODE: (?:2|9|"
        r"15)\s*$|: fatal error: killed signal\b|^aborted by \w{2,12} server\b|\bsending signal (?:TERM|KILL|"
        r"INT|HUP) to command\b|\bsending ctrl-c to\b|^srun: interrupt\b|\bsignal termination: ?(?:9|15|2)\b|"
        r"\bfailed liveness probe\b|\bkilling '[\w.-]{1,60}' \(\d{1,9}\) with SIG|^\W{0,4}signal (?:2|"
        r"15) received\b|\bshutdown requested by user\b|^killed process \d{1,9} by request of\b|"
        r"\bdied \(code=killed, status=(?:9|15|2)/|\bvia signal \[SIG(?:INT|TERM|KILL)\]|"
        r"\bREQUEST_COMPLETE_BATCH_SCRIPT, .{0,20}\bstatus:(?:2|9|15)\b",
    ),
)

# The last of two to ten.
_LAST_TRY = "|".join(rf"{n} ?(?:/|of) ?{n}" for n in range(2, 11))

DAEMON_ENDS: tuple[Rule, ...] = (
    # A session lives though one of its tunnels could not be dug.
    rule(
        "warning",
        WARN,
        "mux_client|bind [|fwd_listener|forwarding|different slurm.conf|message_task_exit",
        r"^mux_client_\w{3,30}: |^bind \[.{1,60}\]:\d{1,5}: address already in use|"
        r"\bchannel_setup_fwd_listener|^could not request local forwarding|"
        r"\bappears to have a different slurm\.conf\b|\bfailed to send MESSAGE_TASK_EXIT\b",
    ),
    # A file system of a cluster calls an error what it did not cope with, by another name.
    rule(
        "network",
        WARN,
        "lustre: |lnet: ",
        r"\b(?-i:Lustre|LNet|LNetError): .{1,160}\b(?:timed out|failed due to network|was lost|slow reply|"
        r"timed out tx|time(?:d )?out)\b",
    ),
    # A kernel tries many parts at its start and does without; what ends a run it tells by a few words.
    rule(
        "warning",
        WARN,
        "kernel: |fail|error|can't|cannot|unable|invalid|conflict",
        r"^(?:(?:\w{3} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT\S{8,30}) \S{1,80} kernel: "
        r"(?:\[ {0,6}\d{1,8}\.\d{3,6}\] )?|\[ {0,6}\d{1,8}\.\d{6}\] (?=[\w /-]{1,24}(?: [\da-f:.]{7,12})?: )).{0,160}\b(?:fail\w{0,4}|"
        r"error|can.t|cannot|unable|invalid|conflict)\b",
        r"segfault|panic|\bBUG\b|oops|general protection|\btraps?\b|call trace|NVRM|nvidia|nvlink|killed|"
        r"kill |dumped|ceph|\bnfs|mount|lustre|mlx5|infiniband|\bib_|audit|hung|\bstall|I/O|disk|amdgpu|i915|"
        r"\bGPU\b|\[drm|\bsd \d|\bsector\b|uncorrect|XFS|EXT4|BTRFS|JBD2|nvme|\bconn error\b",
    ),
    # The client of a tunnel whose far end nobody serves; apt's own letter for a warning.
    rule(
        "warning",
        WARN,
        "open failed|gpg error|w: |n: download|n: skipping|n: see apt|n: ignoring|n: repository|n: unable|n: updating",
        r"^channel \d{1,5}: open failed: |^(?-i:W: [A-Z][a-z]{2,20} |W: GPG )|"
        r"^(?-i:N: (?:Download is|Skipping acquire|See apt|Ignoring file|Repository '|Unable to|Updating from))",
    ),
    # The first try of a file; a limit of rates that is set or unset.
    rule(
        "network",
        WARN,
        "error while downloading from|rate limiting ",
        r"(?:^|[|B] {2,80})error while downloading from |\brate limiting (?:is )?(?:enabled|disabled)\b|"
        r"\bdisabled rate limiting\b",
    ),
    # A file system's server, a pod or a host that a client lost.
    rule(
        "network",
        FATAL,
        "request canceled|conn error|iscsi_err|secs expired|server disconnected|client.timeout|reconnect|reading a body|dial tcp|i/o timeout|"
        "unable to contact slurm|localentrynotfound|handshake|couldnt_|osd|connection failure|slurm_|"
        "lustreerror|lost connection to|received disconnect|stdio forwarding|commlib|transfer failed",
        r"\bdetected conn error \(\d|\bISCSI_ERR_[A-Z]|\bping timeout of \d{1,4} secs expired\b|"
        r"\b[a-z]{2,16}server disconnected\b|\brequest canceled while waiting for connection\b|\bClient\.Timeout exceeded\b|"
        r"\breconnection failed\b|\bfailed to reconnect\b|\bcan ?not reconnect, |\breading a body from connection\b|"
        r"\bdial tcp\b.{0,200}\b(?:timeout|refused|no route|unreachable|reset|no such host)\b|"
        r": i/o timeout\W*$|\bunable to contact slurm controller\b|\bLocalEntryNotFoundError: |\b(?:TLS|"
        r"SSL)(?:/TLS)? handshake (?:failure|failed|timeout|error)\b|(?-i:\bCURLE_COULDNT_[A-Z_]{4,24}\b)|"
        r"\blibceph: (?:osd|mon|mds)\d{1,5} .{1,60}\bsocket (?:closed|error)\b|"
        r"\bcommunication connection failure\b|"
        r"\bslurm_\w{3,30}(?:\([^)]{1,60}\))?: .{0,60}\bfailed: (?:socket|connection|communication)\b|"
        r"\bLustreError: .{1,160}(?:\bfailed: rc = -1(?:07|10|13)\b|\bwas evicted by\b)|"
        r"^(?:error: )?lost connection to (?:pod|server|host)\b|^received disconnect from\b|"
        r"^stdio forwarding failed\b|\bcommlib error: |\btransfer failed after \d{1,4} retries",
        f"{SURVIVED}|{CALM}|\\bprobe failed|\\bcon state OPEN\\b",
    ),
    # Fatal, whatever it advises beside.
    rule(
        "exception",
        FATAL,
        "fatal: ",
        r"^(?:[\w.-]{1,40}(?:\[\d{1,9}\])?: )?fatal: [A-Za-z]",
        r"git repository|\bno names found|resolve|connect|hung up|early eof|network|timed out|"
        r"unable to access|HTTP|disconnect|index-pack|broken pipe|\bignored\b|\bpermissions\b.{0,40}\bwarn",
    ),
    # The last of the tries that it counted.
    rule(
        "exception",
        FATAL,
        "attempt",
        rf"\battempt (?:{_LAST_TRY})\b.{{0,24}}\bfail",
    ),
    # A status that is not zero, a subject that names the end.
    rule(
        "exception",
        FATAL,
        "(err):|err |unauthorized: |mount(2)|rejected by|restarting kernel|exited immediately|"
        "reconnection failed|last error was|task exit notification|oops: |wexitstatus|return value|"
        "exit status|subject: |signal  |awaiting response|curl: (22)|curl: (23)",
        r"\bunauthorized: authentication required\b|\bmount\(2\) system call failed\b|"
        r"\bfork rejected by pids controller\b|\bexception (?:re)?starting kernel\b|"
        r"\braylet exited immediately because\b|^\(ERR\):error occurred|^[\da-f]{6}\|ERR\s{0,3}\||"
        r"\bwith \d{1,7} errors?: last error was\b|\btask exit notification\b.{0,60}\(status=0x(?!0000\))|"
        r"\bOops: [\da-f]{4}\b|\bWEXITSTATUS [1-9]|\(return value [1-9]|"
        r"^\s{0,4}exit status\s{1,12}[=:] ?[1-9]|^\s{0,4}signal\s{1,12}= (?-i:[A-Z]{3,5})\b|"
        r"^subject: .{0,300}(?-i:\b(?:Exited|Failed|FAILED|Aborted|Killed))\s*$|"
        r"\bawaiting response\.\.\. 4\d\d\b|^curl: \(2[23]\)",
    ),
    # A container's event names what failed at its head.
    rule(
        "exception",
        FATAL,
        "warning",
        r"\bwarning\s{1,8}(?-i:Failed|FailedCreate\w{0,12}|FailedAttachVolume|UnexpectedAdmissionError|"
        r"InspectFailed|BackoffLimitExceeded|FailedStart\w{0,8})\s",
        r"\bprobe failed|\bwill retry\b",
    ),
    # A row of a spooler: who finished with a level of errors that is not zero.
    rule(
        "exception",
        FATAL,
        "finished ",
        r"^\d{1,6}\s{1,8}finished\s{1,8}\S{1,120}\s{1,12}(?:[1-9]\d{0,2}|-1)\s{1,12}\d[\d.]{0,12}(?:m|h|d|/|\s)",
    ),
    # A launcher of MPI names the line of its source only where it fails; a frame of MPICH's own stack of errors.
    rule(
        "exception",
        FATAL,
        "[mpiexec@|[proxy|mpi",
        r"^\[(?:mpiexec|proxy[:\d]{0,12})@[\w.-]{1,80}\] \w{3,60} \([\w./]{3,100}:\d{1,5}\): |"
        r"^P?MPI\w{0,60}\(\d{1,5}\)\.{0,80}: .{0,200}\b(?:failed|failure|error|aborted|invalid|unable)\b",
        r"\bdebug\b",
    ),
    # A compiler that builds nothing; a state and a message as JSON has them.
    rule(
        "exception",
        FATAL,
        '-- broken|not able to|"status|"state|"message|"msg|"reason',
        r"^-- .{1,300} -- broken\s*$|^\s{0,8}is not able to [a-z]{3,20} |"
        r"^\s{0,24}\"(?:status|state)\": ?\"(?:error|failed|failure)\",?\s*$|"
        r"^\s{0,24}\"(?:message|msg|reason|error)\": ?\"(?:failed to|unable to|could not|cannot) [a-z]{3}",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # An answer of a store of objects, by its number or its name.
    rule(
        "exception",
        FATAL,
        " error|fail: |failed",
        r"\b(?:client|server|service|unknown) error \((?-i:[A-Z])\w{2,40}\) (?:has )?occurred\b|"
        r"\berror:? 4(?!29)\d\d \((?-i:[A-Z])[\w ]{2,40}\)|^FAIL: [\w./-]{3,120}\s*$|"
        r"^[\w./-]{3,120}::\S{1,160} (?-i:FAILED|ERROR)\b|^={2,} (?:.{0,20} )?[1-9]\d{0,5} (?:failed|errors?)\b.{0,80}={2,}$",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    # Who is turned away: by a queue, a server, a terminal.
    rule(
        "exception",
        FATAL,
        "job not submitted|would exceed|requested shell|slurm_|data quota|invalid username|"
        "no solution found|please try again|host identification|private key file|is required|"
        "duplicate session|nested with care|running as root|trap invalid|null pointer|too many users|prolog|"
        "mpi_err_|epilog|process manager error|hyd",
        r"\bjob not submitted\b|^qsub: would exceed\b|"
        r"^failed [a-z][\w ]{3,60} because:|^slurm_\w{1,40} error: |\bover its data quota\b|"
        r"\binvalid username or (?:password|token)\b|^\W{0,6}no solution found\b|"
        r"^permission denied, please try again|\bremote host identification has changed\b|"
        r"\bunprotected private key file\b|^sudo: .{1,40} is required\b|^duplicate session: |"
        r"^sessions should be nested with care\b|\brunning as root is not recommended\. use --allow-root\b|"
        r"\b(?:pro|epi)log\b.{0,24}\bfail\w{0,4}\b|\bMPI_ERR_[A-Z]{2,20}: |\bprocess manager error\b|"
        r"\bHYD\w{0,5}_\w{2,40} .{0,120}\b(?:error|failed)\b|\btrap invalid opcode\b|"
        r"\bBUG: kernel NULL pointer\b|^too many users have viewed\b",
    ),
    # What was to be rented or read, and cannot: a place without machines, a stream that ends too soon.
    rule(
        "exception",
        FATAL,
        "exhausted|capacity|exceeded|errorcode=|bad crc|no longer available|currently unavailable|"
        "following error|exec: line|wrong fs type|bad frame in|unexpected end|unexpected eof|fatal|"
        "[firing|qsub: |qdel: |qalter: |qstat: |is not found",
        r"(?-i:\b[A-Z_]{4,40}_(?:EXHAUSTED|STOCKOUT)\b)|(?-i:\bInsufficient\w{0,20}Capacity\w{0,5}\b)|"
        r"\bdo not have sufficient .{1,60}\bcapacity\b|\bquota '[\w-]{1,80}' (?:exceeded|exhausted)\b|\berrorCode=[1-9]|"
        r"\bbad CRC\b|\b(?:machine|instance|offer|host)\b.{0,24}\b(?:no longer available|"
        r"currently unavailable)\b|\bhas detected the following error\b|"
        r": exec: line \d{1,5}: .{1,80}: not found$|: wrong fs type\b|: bad frame in \w{4,30}:|"
        r": unexpected (?:end of (?:input|file|archive|data)|EOF)\b|^[a-z]\w{2,15} fatal\s{1,4}: [^\d\s]|"
        r"^\[FIRING:[1-9]|^q(?:sub|del|alter|stat): (?!warning|waiting|job \S{1,40} (?:ready|"
        r"completed))[a-z]|^job <\d{1,12}> is not found",
        f"{ADVICE}|{CALM}|\\bretrying: ",
    ),
    rule("exception", FATAL, "kernelrestarter", r"KernelRestarter: restart failed"),
)
