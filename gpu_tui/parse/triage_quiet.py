"""What a machine says beside its jobs: trouble of a desktop, a boot, a service. It stands before every cause."""

from __future__ import annotations

from gpu_tui.parse.triage_rule import NONE, WARN, Rule, rule
from gpu_tui.parse.triage_shapes import PLAN

QUIET: tuple[Rule, ...] = (
    # A desktop's own services watch windows and signatures, not the job; a stranger at the door never had one.
    rule(
        "benign",
        NONE,
        "gdm-x-session|gnome-session|"
        ".desktop[|xdg-desktop|appindicators|.scope: |(ee)|(ww)|gdbus.error|can't monitor|taskgated|"
        "windowserver|sandboxd|com.apple.|coreaudiod|spindump|error domain=ns|]: -[|usereventagent|[preauth]|"
        "secd[|scim[|tcim[|netbiosd|wirelessproxd|configd|spotlightnethelper|quicklook| cbs |.exe",
        r"\bgdm-x-session\[\d{1,9}\]: |\bgnome-session(?:-binary)?\[\d{1,9}\]: |\.desktop\[\d{1,9}\]: |"
        r"\bxdg-desktop-[a-z]{2,12}\[\d{1,9}\]: |\bubuntu-appindicators@|\bapp-gnome-\S{1,120}\.scope: |"
        r"^\[ {0,8}\d{1,8}\.\d{3}\] \((?:EE|WW)\) (?!.{0,60}\b(?:initialize the NVIDIA GPU|fallen))|"
        r"\bGDBus\.Error:org\.gtk\b|\bcan.t monitor \w{4,40} count\b|\s(?:taskgated|WindowServer|sandboxd|"
        r"com\.apple\.[\w.]{1,60}|coreaudiod|spindump|UserEventAgent|secd|SCIM|TCIM|netbiosd|wirelessproxd|configd|"
        r"SpotlightNetHelper|QuickLook\w{1,20})\[\d{1,9}\]|^\d{4}-\d\d-\d\d [\d:]{8}, (?:Info|Error|Warning) {1,20}CBS |"
        r"^\[[\d. :]{8,24}\] \S{1,60}\.exe(?: \*64)? - \S{1,120}:\d{1,5} error : Could not connect|"
        r"^\w{3} [ \d]\d [\d:]{8} \S{1,80} [\w.]{1,40}\[\d{1,9}\]: (?:.{0,200}\bError Domain=NS|-\[)|"
        r"\bsshd\[\d{1,9}\]: .{1,160}\[preauth\]",
    ),
    # An estimate that a compiler finds too high and goes on with.
    rule(
        "benign",
        NONE,
        "exceeds the base limit",
        r"\bgpu_hlo_schedule\.cc:\d{1,5}\] .{0,120}\bexceeds the base limit\b",
    ),
    # A command that a person gave, an end that a container's service asked for twice, a session's own manager.
    rule(
        "benign",
        NONE,
        "command=|using the force|user@|"
        "snapd[|modeset ownership|nvidia setup failed|gdm-|io.elementary|system76-power|pop-|mgag200 |pam_|"
        "sudo: |condition check resulted|mcelog|dcgm|: process (|pre-start|.scope: killing|ieee80211|"
        "cfg80211|powernow|pm: |cxi service|postfini|tcsetattr|x11 forwarding|xauth:|manpath: |mesg: |"
        "find name for |to set times|export metrics|invoke-rc.d|dpkg-preconfigure|to connect to bus|"
        "io.containerd|level=error|summary_sys|cadvisor|nameserver limit|failed once|pleg has yet|owner ref|"
        "kubelet.go|readiness probe for|from runtime service|code = notfound|backfill|zero bytes|under-allocated|find_node_record|"
        "cpu_frequency|getpwnam|]: notice: |"
        "]:  notice: |already exists",
        r"\bsudo(?:\[\d{1,9}\])?: .{1,200}\bCOMMAND=|\busing the force\b|"
        r"\buser@\d{1,9}\.service: killing process\b|\bmodeset ownership\b|"
        r"\bNVIDIA setup failed: no NVIDIA devices\b|\bgdm-[\w-]{3,24}\]\[\d|\bio\.elementary\.\w{1,20}\[\d|"
        r"\b(?:system76-power|pop-[a-z-]{4,24})\[\d{1,9}\]: |\bmgag200 [\da-f]{4}:|\bsnapd\[\d{1,9}\]: |"
        r"^invoke-rc\.d: |\bpam_\w{2,16}\(|\bsudo: .{0,60}\bunable to resolve host\b|"
        r"\bCondition check resulted in\b|\bmcelog: ERROR: .{1,80}\bdoes not support\b|"
        r"\bERROR \[\d{1,9}:\d{1,9}\] (?!.{0,200}NVML).{1,300}\bDcgm[A-Z]\w{2,40}|\binit: [\w-]{1,40} (?:pre-start|"
        r"post-start|pre-stop|post-stop|main) process \(\d{1,9}\) terminated\b|"
        r"\bsession-c\d{1,6}\.scope: Killing\b|\b(?:ieee80211|cfg80211)\w{0,16}: |\bpowernow-k8: |"
        r"^\W{0,4}(?:\[[ \d.]{6,16}\] )?PM: (?!.{0,60}\b(?:nvidia|amdgpu))|\bdestroy CXI Service\b|"
        r"\bswitch_g_job_postfini\b|^tcsetattr: |^dpkg-preconfigure: |^X11 forwarding\b|\bxauth: |^manpath: |"
        r"^mesg: |\bcannot find name for (?:group|user) ID\b|\bfailed to set times on\b|"
        r"\bExport metrics to agent failed\b|\bfailed to connect to bus: |\bplugin\b.{0,6}\bio\.containerd|"
        r"\blevel=error msg=\"(?:stream copy error|copy shim log|attach failed|"
        r"Handler for \w{3,6} .{1,200}\bNo such (?:container|image|exec))|\b(?:summary_sys_containers|"
        r"cadvisor_stats_provider)\.go:|\bNameserver limits\b|\bgarbage collection failed once\b|"
        r"\bpleg has yet to be successful\b|\btrying to set owner ref\b|"
        r"\bkubelet\.go:\d{1,5}\] (?:\"?Error getting node.{0,40})?node \"[\w.-]{1,120}\" not found|"
        r"\bReadiness probe for .{1,200}\bfailed \(failure\)|"
        r"\bcode = NotFound desc = .{0,60}\bfind container\b|\bfrom runtime service failed: .{0,80}\bNo such container\b|\bbackfill: |\bZero Bytes were transmitted\b|"
        r"\bis under-allocated \(|\b_find_node_record\b|\bjob_update_cpu_frequency\b|"
        r"\bgetpwnam_r\(\) failed: Success\b|\w\[\d{1,9}\]: {1,3}notice: |\bthe (?:system )?(?:user|"
        r"group) \S{1,40} already exists\b",
    ),
    # What a kernel says within its first minutes of parts that it sets up: no run goes on yet, and no card, disk or panic speaks.
    rule(
        "benign",
        NONE,
        "[   ",
        r"\[ {3,4}\d{1,2}\.\d{3,6}\](?:\[ {1,6}T\d{1,7}\])? ",
        r"\b(?:NVRM|nvidia\w{0,8}|GPUs?|i915|xe|amdgpu|radeon|kfd|habanalabs|mlx\d\w{0,8}|infiniband|nvme\w{0,8}|"
        r"EXT\d-fs|XFS|BTRFS|md/raid\w{0,4}|ata\d|I/O error|medium error|panic|Oops|BUG|soft lockup|"
        r"hard LOCKUP(?! detector)|hung|stall\w{0,3}|segfault|out of memory|oom\w{0,6}|machine check|mce|"
        r"hardware error|UE|uncorrect\w{0,6}|AER|protection fault|blocked for more|traps|Xid|fallen|poisoned|"
        r"call trace|RIP|killed process|temperature|no space|Lustre\w{0,5})\b|\.service\b",
    ),
    # What a scheduler's daemon tells its own debugger, a tool that may not read the firmware.
    rule(
        "benign",
        NONE,
        "debug|/dev/mem",
        r"^(?:\[\d{4}-\d\d-\d\dT[\d:.]{8,12}\] (?:\[[\w.+]{1,24}\] )?debug\d?|debug[123]): |\b(?:cannot|"
        r"can.t) open /dev/mem\b|^/dev/mem: ",
    ),
    # What a house sees to by itself, each day: its updates, its greeting, its logs.
    rule(
        "benign",
        NONE,
        ".service|fwupd|unattended|message of the day|signal 15|sigterm|xid",
        r"\b(?:apt-daily[\w-]{0,12}|apt-news|esm-cache|fwupd[\w-]{0,12}|motd-news|update-motd|logrotate|"
        r"man-db|snapd[\w.-]{0,24}|user(?:-runtime-dir)?@\d{1,9}|systemd-(?!coredump|oomd)[a-z-]{3,32}|"
        r"unattended-upgrades|update-notifier[\w-]{0,12}|packagekit|NetworkManager[\w-]{0,24}|ua-\w{3,12}|"
        r"e2scrub\w{0,12}|fstrim|plocate[\w-]{0,12}|mlocate[\w-]{0,12}|dnf-makecache|dnf-automatic|"
        r"phpsessionclean|cups[\w-]{0,12}|bluetooth|ModemManager|avahi-daemon|gdm|accounts-daemon|whoopsie|"
        r"apport[\w-]{0,16}|kerneloops|rsyslog|smartmontools|smartd|openipmi|snap\.[\w.-]{3,80}|"
        r"org\.gnome\.[\w.@-]{3,60}|gnome-[\w-]{3,60}|fluidsynth|openrazer-daemon|pop-upgrade[\w-]{0,12}|"
        r"mcelog|motdgen|rasdaemon|plymouth[\w-]{0,20}|ipmi\w{0,8}|kdump[\w-]{0,12}|iscsid?|lvm2-[\w-]{3,20}|"
        r"mdmonitor|lm[-_]sensors|keyboard-setup|console-setup|grub-[\w-]{3,24}|cloud-init-hotplugd|"
        r"ubuntu-advantage|postfix|exim4|sendmail|lxd-agent[\w-]{0,12}|multipathd|anacron|geoclue|colord|"
        r"tracker-[\w-]{2,24})\.(?:service|timer|socket|path): (?!.{0,80}\bOOM)|"
        r"^(?:.{0,80}: )?Failed to start (?:Refresh fwupd|Message of the Day|Daily apt|Rotate log|"
        r"Discard unused|Daily man-db|Cleanup of Temporary)"
        r"|\b(?:systemd-(?:journald|networkd|resolved|timesyncd|logind|udevd)|sshd|rsyslogd|ntpd|chronyd|"
        r"dhclient|dnsmasq|avahi-daemon|NetworkManager|cron|dbus-daemon)\[\d{1,9}\]: .{0,60}\b(?:SIGTERM|"
        r"signal 15)\b|\bignor\w{2,3}\b.{0,30}\bXIDs?\b",
    ),
    # A setting that names the exceptions to catch, to expect or to try again for, or one name of such a list.
    rule(
        "benign",
        NONE,
        "error|exception|timeout|interrupt",
        rf"^\W{{0,16}}(?!un){PLAN}"
        r"[\w.-]{0,40}[\"']?\s{0,40}[:=]\s{0,8}(?:!!python/name:)?"
        r"(?:[\[({\"',\s]{0,6}(?:<class ')?(?-i:(?:[a-z_]\w{0,40}\.){0,6}[A-Z]\w{0,40}(?:Error|Exception|Timeout|"
        r"Interrupt|Reset|Refused))(?:'>)?){1,12}[\])}\"',;\s]{0,6}(?:#.{0,200})?$|"
        r"^\s{0,24}- (?-i:(?:[a-z_]\w{0,40}\.){0,6}[A-Z]\w{0,40}(?:Error|Exception|Timeout))\s*$",
    ),
    # What a manual says of a state: nobody is in it.
    rule(
        "benign",
        NONE,
        "completed|cancelled|failed|timeout|out_of_memory|node_fail|preempted|boot_fail|deadline|held|revoked",
        r"^\s{0,8}(?:[•*–-]|\d{1,2}[.)]) (?-i:COMPLETED|CANCELLED|FAILED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL|PREEMPTED|BOOT_FAIL|"
        r"DEADLINE|HELD|REVOKED)(?: \([^)]{1,120}\))?:? (?:[-–] )?(?:the|an?|(?:jobs?|tasks?|nodes?) (?:was|were|is|are|has|have)|when|if|indicates|as)\b",
    ),
    # Which states of a node a pod bears, and for how long: no node is in one.
    rule(
        "benign",
        NONE,
        "tolerations|execute|schedule|kubernetes.io/",
        r"^\s{0,8}Tolerations:\s|^\s{0,60}[\w./=-]{3,160}(?-i::(?:NoExecute|NoSchedule|PreferNoSchedule))(?: op=\w{3,12}(?: for \d{1,8}s)?| for \d{1,8}s)\s*$|"
        r"\bkey[\"']?: ?[\"']?node\.kubernetes\.io/[\w-]{3,60}[\"']?(?:,?\s*$|, ?[\"']?(?:operator|effect|value|tolerationSeconds)\b)",
    ),
    # What Java is to do when it is out of memory.
    rule(
        "benign",
        NONE,
        "onoutofmemoryerror",
        r"-XX:\+\w{1,20}OnOutOfMemoryError\b",
        r"java\.lang\.OutOf",
    ),
    # Servers of a house, by their own names: no run hangs on them. An event that a policy names.
    rule(
        "benign",
        NONE,
        "ah0|ah1|[pid |[error] |neutron|nova|cinder|keystone|glance|octavia|event: |podfailed|taskfailed|jobfailed|podevicted",
        r"(?-i:^\[\w{3} \w{3} [ \d]\d [\d:.]{8,15} \d{4}\] \[error\] (?:mod_|jk2?_|\[client ))|(?:^|\] |: )AH[01]\d{4}: |^\[\w{2,16}:(?:notice|info|debug|warn|error)\] \[pid \d|"
        r"(?-i:\b(?:ERROR|WARNING|CRITICAL) (?:neutron|nova|cinder|keystone|glance|octavia)\w{0,12}\.[\w.]{2,80} \[)|"
        r"^\s{0,24}(?:- )?(?-i:event: [A-Z]\w{2,30})\s*$|^\s{1,24}- (?-i:(?:Pod|Task|Job)(?:Failed|Evicted))\s*$",
    ),
    # What a scheduler's daemon notes about orders and states of its own.
    rule(
        "benign",
        NONE,
        "mark-online|denied: |ticket order|order package|checkpoint file",
        r"\bnode-mark-online: |\|[EW]\|(?:denied: |unable to find job )|\bincomplete \w{3,12} (?:data |state )?checkpoint file\b",
    ),
    # A port that is taken, where another one is tried.
    rule("benign", NONE, "trying another", r"\balready in use, trying another\b"),
    # What a configuration tries and does without.
    rule(
        "benign",
        NONE,
        "-- performing|-- could|-- looking|-- check|-- try",
        r"^-- (?:Performing|Could NOT|Looking for|Check|Try)(?!.{1,300} -- broken\s*$)",
    ),
    # A row of a queue gives the reason why a job waits.
    rule("benign", NONE, " pd ", r"^\s{0,20}[\d_]{3,16}\S{0,24}\s.{1,120}\s(?-i:PD)\s.{1,60}\("),
    # A daemon that tells, at the level of an error, what it sets or uses.
    rule(
        "benign",
        NONE,
        "error: ",
        r"\berror: (?:\w{1,40}: )?(?:Setting|Using) [\w/]{1,60} (?:to|for) [\w/]{1,60}\s*$|"
        r"\berror: common_file_write_content: |\bconfiguration differs from hardware\b",
    ),
    # A source's own manual, a command with its reason behind it, a feature that is off, an attempt that the end made good.
    rule(
        "benign",
        NONE,
        "@throws|@raises|@exception|locale: cannot|oom-killer: |oom killer|expected)|negative test|completed successfully after|"
        "after normal shutdown|: import |kill -",
        r"^\s{0,8}(?:\*|//|#)?\s{0,4}@(?:throws|raises|exception)\s|^locale: Cannot set LC_|"
        r"\boom[- ]killer(?::| is)? (?:disabled|off|enabled|on)\b|\((?:as |this is |this was )?expected\)\W*$|"
        r"^\W{0,4}negative test\b|\bcompleted successfully after \d{1,4} failed attempt|"
        r"\bafter normal shutdown, ignor|^\s{0,8}try: import \w{1,40} except\b|^\s{0,8}kill -\w{1,8} \d{1,9}\s{1,8}#",
    ),
    # A loss or a metric is named, whose class ends as that of an exception does; a test that was left out.
    rule(
        "benign",
        NONE,
        "squarederror|absoluteerror|percentageerror|logarithmicerror|tweedieerror|: skipped",
        r"^\W{0,12}[\w .-]{1,60}[:=]\s{0,4}[\"'<]?[\w.]{0,60}(?:Squared|Absolute|Percentage|Logarithmic|"
        r"Tweedie)Error\b[\"'>(),]{0,4}\s*$|^[\w ./:-]{1,120}\b(?:tests?|suite|case)\b[\w ./:-]{0,60}: skipped\W*$",
    ),
    # What would tell more of a failure, and is not there: the failure itself is told elsewhere.
    rule(
        "benign",
        NONE,
        "trace of|traceback of|dump|logs of|log of|logs for",
        r"\b(?:stack ?trace|back ?trace|traceback|core dump|crash report|logs?) (?:of|for|from) (?:the )?(?:failed|failing|crashed|dead|killed) .{1,60}\b"
        r"(?:not (?:be )?(?:found|fetched|available|shown|read)|unavailable|is missing)\b|\bfailed to write core dump\b",
    ),
    # A limit that a step met once and was not ended for.
    rule("warning", WARN, "at some point", r"\bexceeded step memory limit at some point\b"),
    # An exit that a program saw and passed over.
    rule("warning", WARN, "ignoring non", r"\bignoring (?:the |a )?non-?zero (?:exit|return)\b"),
    # A compiler tries which of its kernels are the fastest: what does not fit is left out. A priority that stays as it is,
    # a link that is looked for without the driver.
    rule(
        "warning",
        WARN,
        "select_algorithm|set niceness|nvlink detection",
        r"\bselect_algorithm\.py:\d{1,5}\]|\bnice: cannot set niceness\b|\bskipping nvlink detection\b",
    ),
)
