"""Labels 16 to 19: lost connections, every other abnormal end, warnings, and reports without numbers."""

from __future__ import annotations

from gpu_tui.parse.triage_below import BELOW_ENDS
from gpu_tui.parse.triage_brief import BRIEF, BRIEF_LOST
from gpu_tui.parse.triage_chinese import CHINESE_ENDS
from gpu_tui.parse.triage_daemons import DAEMON_ENDS
from gpu_tui.parse.triage_drivers import DRIVER_ENDS
from gpu_tui.parse.triage_evidence import EVIDENCE
from gpu_tui.parse.triage_grammar import FAILED, GRAMMAR
from gpu_tui.parse.triage_hosts import HOST_ENDS, HOST_LOST
from gpu_tui.parse.triage_libraries import LIBRARY_ENDS
from gpu_tui.parse.triage_network import NETWORK, NETWORK_NEEDS
from gpu_tui.parse.triage_plain import PLAIN
from gpu_tui.parse.triage_reasons import REASONS
from gpu_tui.parse.triage_rule import (
    ADVICE,
    CALM,
    FATAL,
    MEASURE,
    NONE,
    SURVIVED,
    WAITED,
    WARN,
    Rule,
    rule,
)
from gpu_tui.parse.triage_runs import RUN_ENDS, RUN_LOST
from gpu_tui.parse.triage_samples import SAMPLES
from gpu_tui.parse.triage_sweeps import SWEEP_ENDS, SWEEP_LOST
from gpu_tui.parse.triage_told import LAST, TOLD
from gpu_tui.parse.triage_tongues import TONGUE_ENDS
from gpu_tui.parse.triage_turns import TURNS

_SERVICE = (
    r"(?-i:\bW\d{4} \d\d:\d\d:)|^.{0,60}?(?-i:\b(?:INFO|DEBUG)\b)|\bwandb:|comet|neptune|mlflow|tensorboard|clearml|\bW&B\b|swanlab|"
    r"\bwarn(?:ing)?\b|offline|telemetry|" + SURVIVED
)
_WARNED = r"\bwarn(?:ing)?s?\b|Warning\b|exception ignored in|\boptional\b|" + SURVIVED

ENDS: tuple[Rule, ...] = (
    *SAMPLES,
    *HOST_LOST,
    *RUN_LOST,
    *SWEEP_LOST,
    *BRIEF_LOST,
    *BELOW_ENDS,
    *DRIVER_ENDS,
    *DAEMON_ENDS,
    # Daemons of the house speak of their own guests, not of the job.
    rule(
        "benign",
        NONE,
        "sshd[|sshd(|sendmail[|postfix|ntpd[|crond|cron[|klogind[|ftpd[|xinetd[|avahi-daemon|logrotate|"
        "networkmanager|polkitd|dbus-daemon|pulseaudio|gnome-shell|modemmanager|wpa_supplicant|bluetoothd|"
        "chronyd|multipathd|irqbalance|snapd[|thermald|firewalld|gsd-|gdm-|packagekitd|tracker-|colord|"
        "wireplumber|spice-vdagent|gamemoded|networkd-dispatcher|dbus-broker|blueman|packagekit[|fluidsynth|"
        "openrazer|gdm|nautilus[|sunshine[|livepatch|fwupd[|nscd|nslcd|lldp|dnsmasq[|rsyslogd|keyboard-setup|"
        "rpc.|dhclient[|dhcpcd|systemd-|cupsd|winbindd|rtkit|udisksd|upowerd|accounts-daemon|lightdm|xrdp|"
        "corosync|pacemaker|keepalived|snmpd|zabbix_|telegraf|collectd|node_exporter|puppet-agent|"
        "chef-client|salt-minion|auditd|augenrules|apt-helper|whoopsie|autofs|automount|wicd|pipewire|sssd",
        r"(?:^|[\s@])(?:sshd|sendmail|postfix/\w{1,20}|ntpd|crond?|klogind|x?inetd|ftpd|avahi-daemon|"
        r"logrotate|NetworkManager|polkitd|dbus-daemon|pulseaudio|gnome-shell|ModemManager|wpa_supplicant|"
        r"bluetoothd|chronyd|multipathd|irqbalance|snapd|thermald|firewalld|gsd-[a-z-]{2,24}|"
        r"gdm-[a-z-]{2,24}|packagekitd|tracker-[a-z-]{2,24}|colord|wireplumber|spice-vdagent\w?|gamemoded|"
        r"networkd-dispatcher|dbus-broker-launch|blueman\S{0,20}|PackageKit|fluidsynth|openrazer-daemon|"
        r"gdm\d|nautilus|sunshine|canonical-livepatch\S{0,40}|fwupd|nscd|nslcd|lldp\w{1,4}|dnsmasq|rsyslogd|"
        r"keyboard-setup\.sh|rpc\.\w{3,8}|dhclient|dhcpcd|systemd-(?:udevd|resolved|timesyncd|networkd|"
        r"remount-fs|sysctl|modules-load|tmpfiles|journald|fsck|cryptsetup)|cupsd|winbindd|rtkit-daemon|"
        r"udisksd|upowerd|accounts-daemon|lightdm|xrdp\w{0,8}|corosync|pacemaker\w{0,2}(?:-\w{3,12})?|"
        r"keepalived|snmpd|zabbix_\w{3,8}|telegraf|collectd|node_exporter|puppet-agent|chef-client|"
        r"salt-minion|auditd|augenrules|apt-helper|whoopsie|autofs|automount|wicd|pipewire\w{0,8}|"
        r"sssd\w{0,8})(?:\(\w{1,20}\))?(?:\[\d{1,9}\])?: ",
    ),
    # An access log quotes the answer that somebody got; the server lives.
    rule(
        "warning",
        WARN,
        "http/1|http/2",
        r"\"(?:GET|POST|PUT|HEAD|PATCH|DELETE|"
        r"OPTIONS) [^\"]{1,300} HTTP/[\d.]{1,3}\"\s{0,3}[-:]?\s{0,3}[1-5]\d\d\b",
    ),
    # A desktop, its sound and its pictures, and what a kernel says of parts that no job needs.
    rule(
        "warning",
        WARN,
        "gtk-|gdk-|qxcb|qt.|qstandard|libgl|libegl|mesa|alsa lib|xlib|glib|init server|acpi|"
        "verification failed|failed to assign|no space|snd_|bluetooth|iwlwifi|firmware bug|descriptor|"
        "unmet condition|platform eisa|be reserved|usbhid|tpm|ipmi_|edac |apei|mgag200|hpilo|for cache data|"
        "firmware load for|failed to find module|i2c|smbus",
        r"^\W{0,3}(?:\S{1,40}: )?(?:Gtk-|Gdk-|QXcb|qt\.|QStandardPaths|libGL |libEGL |MESA|ALSA lib|Xlib|"
        r"GLib-|Unable to init server)|\bACPI (?:BIOS )?(?:Error|Warning|Exception)|\bACPI: |"
        r"\bmodule verification failed\b|\bBAR \d{1,2}: (?:failed to assign|no space)|\bsnd_\w{2,20} |"
        r"\bBluetooth: |\biwlwifi |\[Firmware Bug\]|\busb \d[\d.-]{0,8}: (?:device|unable|cannot)|"
        r"\bskipped because of an unmet condition\b|\bcould not be reserved\b|\busbhid \d|\bplatform eisa\b|"
        r"\bacpi PNP\w{3,8}:|\btpm(?:_\w{2,8}| tpm\d)\b|\bipmi_\w{2,8}\b|"
        r"\bEDAC \w{3,12}: Failed to register\b|\bAPEI: |\bmgag200 |\bhpilo |\bAsking for cache data failed|"
        r"\bfirmware load for (?!amdgpu|nvidia)\w|\bFailed to find module\b|\bi2c\b.{0,40}\b(?:timed? ?out|"
        r"fail)|\w_smbus ",
    ),
    # --- 16 network ---
    rule(
        "network",
        FATAL,
        "closed by|client_loop|ssh:|packet_write|kex_|not responding|read from remote|connection to",
        r"client_loop: send disconnect|^(?:shared )?connection to \S+ (?:port \d+ )?(?:closed(?!\.\s*$)|lost|"
        r"timed out)|closed by remote host|packet_write_wait|kex_exchange|ssh: (?:connect to|"
        r"could not resolve)|timeout, server \S+ not responding|read from remote host",
    ),
    rule(
        "network",
        WARN,
        NETWORK_NEEDS,
        NETWORK,
        r"^(?:\w{1,60}\.){0,6}\w{0,60}(?:Error|Exception|Timeout): (?!.{0,300}(?:retrying|retry in))",
        also=_SERVICE,
    ),
    rule(
        "exception",
        FATAL,
        "wandb",
        r"wandb:.{0,20}ERROR.{0,30}\b(?:initialization has timed out|api_key not configured|"
        r"permission denied|failed to (?:init|start)|abnormal program exit)|"
        r"^(?:\[\S{1,12}\]:? )?wandb\.(?:sdk\.\w{1,20}\.)?errors?\.[\w.]{1,40}\b: ",
    ),
    rule(
        "network",
        WARN,
        "wandb",
        r"wandb:.{0,16}ERROR.{0,16}(?:error uploading|dropped streaming file chunk|<response \[[45]\d\d\]>)|wandb:.{0,40}(?:network error|retry loop|error while calling|api key.{0,20}timed|filestream|"
        r"upload.{0,20}fail|timed out|unable to reach)",
    ),
    rule(
        "network",
        FATAL,
        NETWORK_NEEDS,
        NETWORK,
        r"\bmax_retries\b|rate_limit|(?<!\S)--\w{1,40}|(?:readiness|startup) probe failed|"
        r"connection closed by localrank|\[preauth\]|audit: rate|\bconnections? (?:to|from|with|of|by) (?:the )?"
        r"(?:client|user|browser|viewer)\b|^INFO:? {1,8}connection (?:closed|open)|"
        + ADVICE.replace(r"|\bnote:", ""),
    ),
    # --- 18 before 17: an end that something survived is only a warning ---
    rule(
        "warning",
        WARN,
        "grappler/|_algorithm_picker|buffer_comparator|slow_operation|cuda_timer|git repository|"
        "error caught was|dependency resolver|which is incompatible|x server|display",
        r"\bcore/grappler/|/(?:conv|gemm\w{0,8})_algorithm_picker\.|/buffer_comparator\.|"
        r"/slow_operation_alarm\.|/cuda_timer\.|(?<!fatal: )not a git repository|not a git repository \(|error caught was:|"
        r"pip.s dependency resolver|which is incompatible\.?\s*$|no local display",
    ),
    rule(
        "warning",
        WARN,
        "exception ignored|uninitialized|error in atexit",
        r"exception ignored in|\[?exception ignored",
    ),
    rule(
        "warning",
        WARN,
        "warning",
        r"^\S*\.py:\d+: \w{0,40}Warning|^\s{0,8}(?:\S+:\s*)?\w{0,40}(?:User|Future|Deprecation|Runtime|"
        r"Syntax|Import|Resource|Pending\w{1,40})Warning\b|^\s{0,8}(?:\S+:\s*)?(?-i:[A-Z]\w{0,40}Warning: )|\.py:\d+: \w{0,40}Warning:",
    ),
    rule(
        "warning",
        WARN,
        "error|exception|fail",
        r"(?:Error|Exception)\b|\bfail(?:ed|ure|s)?\b",
        r"^(?:\w{1,60}\.){0,6}(?:[A-Z]\w{0,60}(?:Error|Exception)|Exception): |core dumped|exit|CrashLoopBackOff",
        also=SURVIVED,
    ),
    # --- 17 exception ---
    rule(
        "exception",
        FATAL,
        "error|exception|exit|failure|interrupt|fault|iteration",
        r"(?:^\.?|[\s>\]|│:(])(?-i:(?:[A-Za-z_]\w{0,40}\.){0,6}(?:[A-Z]\w{0,40}(?:Error|Exception|Failure|"
        r"Fault)|SystemExit|StopIteration|Exception|(?:Base)?ExceptionGroup|Failed))(?:\([\w.]{1,60}\)| \(see above for traceback\))?(?:: \S|"
        r": {2,4}[A-Za-z`'(\[<]|:?\s*$)",
        r"\.py:\d+: \w{0,40}Warning|Warning:|0 errors|\bOn(?:Failure|Error)\b|exception ignored|"
        r"mean(?:Squared|Absolute)|\bWarning:|^\s*\"|^\s*(?:- |\* )|" + f"{MEASURE}|{CALM}",
    ),
    # The name of an exception where the line begins: whatever level its message quotes.
    rule(
        "exception",
        FATAL,
        "error:|exception: ",
        r"^(?-i:(?:[a-z_]\w{0,40}\.){0,6}(?:Value|Runtime|Type|Key|Assertion|OS|Attribute|Index|Import|"
        r"Name)Error): ?(?-i:[A-Za-z_'\"`(\[<])",
        r"exception ignored",
    ),
    rule(
        "exception",
        FATAL,
        "error|exception|successfully|exc.|session|empty|full|fail|abort|halting|unstable|prematurely|"
        "cmiabort|runner|ggml|fatal|lincs|assertion|inconsistency|training|resource|exited|termination|"
        "halted|panic|runtime|backoff|back-off|verification|publickey|libc++abi|database is|e: |critical|"
        "died|dead|crash|unexpectedly|start|launch|spawn|initiali|create|build stopped|: f ",
        r"^.{0,60}?(?-i:\bCRITICAL\b)(?: |:|\]|\|)|(?-i:[A-Z]\w{0,40}(?:Error|"
        r"Exception))\([\"'][^)]{0,200}(?:died|dead|fail|crash|abort|fatal)|\b(?:Pip subprocess error|"
        r"internal error) ?:|\bOutOfResources\b|out of resource: |process exited, code=(?:dumped|"
        r"exited, status=[1-9])|failed with result '|\bsession crashed\b|^(?:\w{1,40}\.){1,5}error: \S|"
        r"(?-i:^(?:\w{1,40}\.){0,5}(?:exceptions?|errors?|exc)\.(?:\w{1,40}\.){0,3}[A-Z]\w{1,60}(?:: |\s*$)|"
        r"^(?:queue\.)?(?:Empty|Full): ?$)|\bdid not run successfully|^\W{0,4}encountered error while|"
        r"\.\.\. error\s*$|\bmodel failed to load\b|\berror (?:compiling|building|launching|starting)\b|"
        r"(?-i:(?:to|status:?|state:?|->|→|=) \W?F(?:AILED|ailed)\b)|\bcompilation (?:terminated|failed)|"
        r"^=\s+BAD TERMINATION|^rsync error: |^\s*\"?reason\"?:\s+\"?(?:ContainerCannotRun|"
        r"\w{0,20}ContainerError|CreateContainer\w{0,20}|StartError|Error|InvalidImageName)\"?,?\s*$|"
        r"\bcould not override '|^halting (?:parallel )?program|software inconsistency error|"
        r"inconsistency in user input|Called CmiAbort|simulation has become unstable|exiting prematurely|"
        r"^ASSERTION_FAILED|^ERROR \([\w.-]{1,60}\[[\d.~+\w-]{1,20}\]:|core - Exception:|ERROR ~ |"
        r"error executing process|terminated with an error exit status|\btrial .{0,40}\berrored\b|"
        r"error processing event|trial task failed|runner process (?:has terminated|no longer running)|"
        r"GGML_ASSERT|\b(?:TM|TRT)\]\[(?:FATAL|E)\b|too many LINCS warnings|error occurred in MPI_|"
        r"MPI_ERRORS_ARE_FATAL|abort before MPI|(?<![^:\] ])\*\*\* Aborted at \d|\bABORT!!!|(?-i:^(?:ERRO|"
        r"FATA)\[\d{4}\])|\bfailed to (?:re)?start \S{1,60}\.service\b|training (?:was|has been|"
        r"is) (?:stopped|aborted) (?:at|after|due|because)|^Execution halted|\bpanicked at\b|^panic: |"
        r"CMake Error|error response from daemon|OCI runtime \w{1,12} failed|"
        r"back-?off (?:\d\S{1,8} )?restarting failed|BackoffLimitExceeded|"
        r"reached the specified backoff limit|^E: |host key verification failed|"
        r"permission denied \(publickey|exited: .{1,60}; not expected|libc\+\+abi: terminating|"
        r"database is locked|\.\.\.(?:working\.\.\.)? ?failed\s*$"
        r"|(?:worker(?:proc)?|engine(?:core)?|\bprocess|\bproc|\bserver|scheduler|actor|node|container|rank|"
        r"executor|daemon|kernel|trainer|loop|subprocess|replica|instance|child|core|thread|"
        r"client)s?\b.{0,40}\b(?:has |have |is |was |are )?(?:already )?(?:died|dead|crashed|"
        r"hit an exception|exited unexpectedly|terminated unexpectedly|stopped unexpectedly|"
        r"encountered an? (?:fatal |unrecoverable )?(?:error|exception)|fail(?:ed|s) to (?:start|launch|"
        r"initiali[sz]e|spawn)|launch(?:ed)? failed|start(?:up)? failed)\b"
        r"|\b(?:could ?n.t|could not|cannot|unable to|failed to) (?:start|launch|spawn|invoke|initiali[sz]e|"
        r"create) (?:the )?(?:\w{1,20} ){0,3}(?:container|job|worker|process|engine|server|plugin|kernel|"
        r"training|application|step|task)\b|\b(?:launch|application launch) failed\b"
        r"|^(?:unhandled |uncaught |an? |the )?(?:unexpected )?exception (?:in thread|during|while|occurred|"
        r"caught)|\b(?:exception|error) occurred (?:during|while) .{0,40}\b(?:run|training|study|job)\b|"
        r"\b(?:exception|error) (?:occurred )?(?:during|while|in) (?:the )?(?:training|evaluation|validation|"
        r"main|execution|running|fit)\b"
        r"|^\W{0,4}(?:\w{1,20}: )?(?:an? |some )?(?:error|exception)s? (?:occurr?ed|happened) (?:in|while|"
        r"during)\b|^there was an error (?:running|while|during)\b|\bfailed\. \(see above for error\)|"
        r"(?-i:\b(?:ERROR|FATAL|CRITICAL)\b).{0,120}\b(?:aborting|giving up|shutting down|terminating)\b|"
        r"^abort(?:ing)?: |^something went wrong (?:during|while|in)\b|\b(?:training|run|job) (?:stopped|"
        r"ended|terminated|exited) unexpectedly"
        r"|\b(?:unhandled|uncaught) (?:\w{1,30} )?(?:exception|error|rejection)\b|(?-i:(?:Error|"
        r"Exception)[A-Z]\w{1,40}(?:Error|Exception)\b)|^FAILED: |build stopped: subcommand failed|"
        r"(?-i:\d: F [a-z]\w{1,40}/)",
        CALM
        + r"|\binternal error : 0|tpu_driver|dead\. restarting|\binitiali[sz]e backend|backend '|in ASGI application|"
        + SURVIVED,
    ),
    rule(
        "exception",
        FATAL,
        "segmentation|segfault|general protection|handle kernel|core dumped|aborted|bus error|"
        "illegal instruction|floating point exception|free()|corrupt|malloc|terminate called|what()|fatal|"
        "check fail|assertion|assert|panic|stack smashing|sigsegv|sigabrt",
        r"segmentation fault|\bsegfault\b|general protection|unable to handle kernel|core dumped|"
        r"^\s*Aborted\b(?! (?:\d{1,6} )?requests?\b)|: Aborted\b(?! (?:\d{1,6} )?requests?\b)|\bBus error\b|"
        r"illegal instruction|floating point exception|double free|free\(\): invalid|corrupted (?:size|"
        r"double|unsorted|heap)|malloc\(\): |(?<!tc)malloc: |terminate called|^\s*what\(\): |"
        r"line \d{1,5}:\s{1,8}\d{1,9} (?-i:Aborted|Bus error|Illegal instruction|Floating point exception|"
        r"Trace/breakpoint trap|Bad system call|File size limit exceeded)(?:\s|$)|fatal python error|fatal error|^FATAL\b|\[FATAL\]|check fail(?:ed|ure)|"
        r"\bassertion .{0,200}\bfailed|kernel panic|stack smashing|SIG(?:SEGV|ABRT|BUS|FPE|ILL)\b",
        r"register|handler|trapping|while uploading|\?\s*$",
    ),
    rule(
        "exception",
        FATAL,
        "exit|finish|returned non-zero|exitcode|return code|error |program failed|code|rc=|rc:|rc =",
        r"\bexit(?!\d)(?:(?:ed|ing)?(?: with)?|s with)(?: an?)?(?: error)?(?: exit)?(?: code| status|"
        r" value)?[\"\']?\s?[:=(]{0,2}\s{0,6}(?:[1-9]\d{0,19}\b(?!\.\d|%)|-(?:1|\d{6,12})\b|0xc\d{7})|"
        r"\bterminated with (?:exit )?(?:code|status) -?[1-9]|non-?zero exit|non-?zero (?:error |return )?(?:code|status|value)|"
        r"failed with (?:exit |error |return )?(?:code|rc|status|ret|errno)\b(?:[:=]|: )? ?-?[1-9]|\bexit_(?:status|"
        r"code)[\"']?[\s:=]{1,12}[1-9]\d{0,9}\b|\bended \((?:exit )?(?:code|status) [1-9]|\b(?:finished|quit|ended|stopped|died|completed|terminated) with (?:an? )?(?:error |exit |return )?(?:code|status)[:=]? ?(?!20\d)-?[1-9]\d{0,2}\b|\bfinish(?:ed)? status ?= ?[1-9]|"
        r"(?:^\W{0,3}|\b(?:exit\w{0,4}|finish\w{0,3}|done|end\w{0,3}|return\w{0,3}|fail\w{0,3}|with|stopp\w{0,3}|"
        r"completed?|\.(?:py|sh))[\s:,(]{1,3})(?-i:rc) ?[=:] ?-?[1-9]\d{0,2}\b(?!\.\d)|\breturn code:? -[1-9]\d{0,9}\b|\bexitcode\s*[:=]?\s*[1-9]\d{0,3}\b|return(?:ed)? code ?(?:=|:|"
        r"is)? ?[1-9]|\*\*\* \[.{0,400}\] Error \d|wandb:.{0,12}program failed",
        r"\battempt 1 failed\b|early exit|exit_?layer|exit in \d|exiting in|exit after \d|"
        + ADVICE,
    ),
    rule(
        "exception",
        FATAL,
        "command not found|is a directory|not a directory|read-only file|input/output|stale file|"
        "run as root|resource busy|transport endpoint|no such file|can't open|permission denied|arguments|error: |"
        "no module named|invalid choice|not recognized|cannot execute|cannot access|unbound variable|"
        "syntax error|bad substitution",
        r"\bhas detected an attempt to run as root|command not found|(?:bash|sh|can.t open file|cannot (?:access|open|stat|execute)|python\d?|"
        r"line \d+)\b.{0,160}(?:no such file|permission denied|errno 2)|^\S{1,60}: error: |"
        r"^[\w./-]{1,60}: .{1,160}: (?:no such file or directory|permission denied|is a directory|"
        r"not a directory|read-only file system|input/output error|stale file handle|device or resource busy|"
        r"transport endpoint is not connected)\s*$|error: (?:unrecognized|the following|argument)|"
        r"the following arguments are required|unrecognized arguments|(?:python[\d.]{0,6}|"
        r"(?<!import )error): no module named|invalid choice: |cannot execute|unbound variable|syntax error|"
        r"^ERROR: ",
        r"\bpy-?spy\b|XDG_RUNTIME_DIR|file exists|^(?:rm|mv|ls|grep|find|chmod|chown|du|df|"
        r"(?:/usr)?/sbin/ldconfig\S{0,8}): |^error: ?[-+\d.e]+%?(?:[\s,;]|$)|^debug\d: |\bwarn|ignored|"
        r"\bprinting\b|\btry using\b|munge|\bpyxis:\s{2,}(?:To|Parallel|Creating|\[INFO)|in ASGI application|"
        + f"{WAITED}|{CALM}",
    ),
    rule(
        "exception",
        FATAL,
        "fail|errored|crash|blocked|abort|succeed|successful|wrong|ended|went down|unexpectedly|abnormally|terminated with the following|executing job with|during processing|"
        "but 1 process returned",
        r"^[\w/-]{1,80}\.[\w./-]{1,160} FAILED$|\bworker\.status\.FAILED\b|"
        r"terminated with the following error|^error executing job with overrides|"
        r"exception during processing|process returned$|\b(?:job|rank|run|trial|task|cell|worker|training|"
        r"experiment|sweep|stage|actor|node|process|container|pod|child|setup|arm|main|script|program|"
        r"command|build|pipeline|launcher|simulation|installation|compilation|finetun\w{1,4}|"
        r"pretrain\w{0,4})\b(?:[ #:\[(]{1,3}[\w./\-]{1,60}\]?\)?:?){0,2} (?:has |have |is |was |"
        rf": ?)?(?:FAILED|failed|errored|crashed|aborted|BLOCKED|{FAILED}|(?:went down|(?:terminated|stopped|exited) (?:abnormally|unexpectedly))(?!.{{0,24}}\bre(?:spawn|start)))\b(?!-)|"
        r"cell\(s\) FAILED|"
        r"DURABLE SYNC (?:FAILED|BLOCKED)|PROFILE SETUP FAILED|\bstate=FAILED|(?-i:(?:changed|"
        r"changed from \w{1,12}) to \W?F(?:AILED|ailed)\b)|"
        r"^\s{0,4}\d{3,12}(?:[._+][\w+.]{1,12})?\s.{0,120}(?-i:\bFAILED)\b(?:\s|$)|(?:CrashLoopBackOff|"
        r"ErrImagePull|ImagePullBackOff)|\b[1-9]\d{0,5} (?:failed|crashed|errored) (?:runs|jobs|trials|tasks|"
        r"workers|cells|ranks|nodes)\b|\bkilling (?:the )?sweep\b|\bfailed: (?:job|rank|run|trial)|"
        r"\bERROR\b.{0,30}\bRun \S+ errored",
        r"failed[\"']?\s*[:=]\s*0|sanity|reschedul|failedschedul|" + ADVICE,
    ),
    rule(
        "exception",
        FATAL,
        "error|fatal|critical|unavailable|not found",
        r"^\W{0,3}(?:FATAL|CRITICAL|ERROR)\b\s?[:\]]|PY interpreter is unavailable|"
        r"PROJECT_REPO_DIR not found|\bfatal {0,4}:|^error:",
        r"wandb|git command|when parsing line|upload_url|illegal to call|^error: ?[-+\d.e]+%?(?:[\s,;]|$)|"
        r"unable to register|in ASGI application|XDG_RUNTIME_DIR|" + _WARNED,
    ),
    *HOST_ENDS,
    *EVIDENCE,
    *TONGUE_ENDS,
    *LIBRARY_ENDS,
    *CHINESE_ENDS,
    *TOLD,
    *REASONS,
    *RUN_ENDS,
    *SWEEP_ENDS,
    *PLAIN,
    *TURNS,
    *BRIEF,
    *GRAMMAR[:-1],
    *LAST,
    GRAMMAR[-1],
    # --- 18 warning ---
    rule(
        "warning",
        WARN,
        "warn|not used|deprecat|fallback|forked|corrupt|falling back|skip|ignor|retry|not supported|"
        "unsupported|"
        "[w1|[w0|[w |could not|unable to|failed|cannot|error|missing|not found|not initialized|exception|"
        "will be removed|no longer",
        r"\bwarn(?:ing|ings)?\b|\[WARN|Warning\b|deprecat|just got forked|corrupt (?:JPEG|EXIF|image)|"
        r"\bfall(?:ing|s)? ?back|\bskipping\b|\bskipped\b(?!\s*[:=]|_)|⚠|(?-i:\bI?gnoring\b)|\bretrying\b|"
        r"(?:not|un)[- ]?supported|^\[W\d*\b|^\[?W\d{4}\b|\] W\d{4}\b|: W \w|(?-i:\b(?:Could(?:n.t| not)|"
        r"Unable to|Failed to|Cannot|FAILED to|failed to load)\b)|\[ERROR\]|(?-i:\bERROR\b)|: E \w|^E\d{4} |"
        r"(?:not used|not initialized) (?:when|from)|newly initialized|\b(?:file|module|package) not found|"
        r"will be removed in|no longer supported",
        r"warning[s]?\s*[:=]\s*(?:0|none|false)\b|no warnings|warnings? ?= ?|skip_?\w{0,40}\s*[:=]|^\s*\"",
    ),
    # --- 19 progress without numbers of its own ---
    rule(
        "progress",
        NONE,
        "improve|loss decreased|loss increased|average precision|average recall|epoch|validat|shards|evaluat|"
        "early stopping|earlystopping|patience|timesteps|step",
        r"did not improve|improved from|\bimproved by [0-9.]|\bloss (?:decreased|increased) \(|"
        r"Average (?:Precision|Recall) +\(A|EarlyStopping counter|epoch \d+ (?:started|finished|done|"
        r"complete|took)|end of epoch|validation (?:started|finished|done)|\bsaving (?:model|checkpoint|"
        r"state)\b.{0,60}\b(?:step|epoch|iter)",
    ),
)
