"""What lies below a trainer and gives way, by the words of its makers: the management of cards, fabrics, launchers, keys.

`BELOW_QUIET` and `BELOW_FIRST` stand before every cause, `BELOW_CAUSES` before those of drivers, `BELOW_STOPS` among
those of stops, `BELOW_ENDS` before the ends. Where a library says which of its calls failed, that names the cause better than its
word for failure, which every program has.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, NONE, SURVIVED, WARN, Rule, rule

_CALMED = f"{SURVIVED}|{ADVICE}|{CALM}"
# A path or a name of the library that puts memory of all cards into one heap.
_HEAP = r"(?:\bnvshmem\w{0,40}\b|/nvshmem\w{0,24}/|/modules/(?:transport|bootstrap)/)"
# The value of an enumeration that says that all is well: a check of it is quoted where it is not.
_WELL = (
    r"(?:(?:CUSOLVER|CUBLAS|CUSPARSE|CUDNN|CURAND|CUTENSOR|CUSPARSELT|NVJPEG|HIPBLAS|HIPSPARSE|HIPFFT|NPP)_STATUS_SUCCESS|"
    r"CUFFT_SUCCESS|NVRTC_SUCCESS|NVJITLINK_SUCCESS|CUDA_SUCCESS|cudaSuccess|hipSuccess|HSA_STATUS_SUCCESS|"
    r"(?:rocblas|rocsolver|rocsparse|miopen)_?status_?success|ACL_(?:SUCCESS|ERROR_NONE)|ZE_RESULT_SUCCESS)"
)

BELOW_QUIET: tuple[Rule, ...] = (
    # The levels of a logger that cuts them to four letters.
    rule(
        "benign",
        NONE,
        "debu[|trac[",
        r"^(?-i:DEBU|TRAC)\[\d{1,8}\] ",
    ),
    # Faster kernels and readers of pictures that a trainer does without; a folder of a job that becomes another.
    rule(
        "warning",
        WARN,
        "failed to import|failed to load|tmpdir",
        r"^(?:\S{1,200} )?(?:\w{0,40}Warning: )?(?:Failed to import|Failed to load) (?:the )?(?:Triton|flash[-_ ]?att\w{0,12}|xformers|sage_?att\w{0,12}|apex|"
        r"liger\w{0,8}|causal[-_]conv1d|(?:image|video|audio) Python) ?(?:kernels?|extensions?|ops|library)?\b|"
        r"^slurmstepd: error: (?:Unable to create|Setting) TMPDIR\b",
    ),
    # What to do about it: it stands beside the failure that it is about.
    rule("benign", NONE, "if munged is up", r"\bIf munged is up, restart with\b"),
    # A row of the card's state that says no.
    rule(
        "benign",
        NONE,
        "required|recommended|pending|occurred",
        r"^\s{2,24}[\w -]{0,30}(?:required|recommended|pending|occurred)\s{1,40}: No\s*$",
    ),
    # The fields of a fault that a card's driver prints below it, whatever they hold.
    rule(
        "benign",
        NONE,
        "walker_error|permission_faults|mapping_error|more_faults",
        r"(?-i:\b(?:MORE_FAULTS|WALKER_ERROR|PERMISSION_FAULTS|MAPPING_ERROR): 0x[\da-f]{1,8}\s*$)",
    ),
    # A list of errors that is full: what was lost is said elsewhere.
    rule("warning", WARN, "dropping error", r"\bis full, dropping error 0x"),
    rule("warning", WARN, "continue parsing", r": continue parsing (?:the )?remaining\b"),
)

# What the table of the machine would take for something else.
BELOW_FIRST: tuple[Rule, ...] = (
    # A field of what a firmware reports: the line that heads it has told the fault.
    rule(
        "benign",
        NONE,
        "[hardware error]: ",
        r"\[Hardware Error\]:\s{1,8}(?:(?:[a-z]\w{0,20}_[a-z]\w{0,20}|slot|command|version|node|card|module|rank|bank|device|row|column): |"
        r"(?:PROCESSOR|TSC|IPID|PPIN|APIC|MISC|SYND|ADDR|Bank \d{1,3}:? [A-Z]{2,8})\b|cache level: )",
    ),
    # A compiler of kernels and its linker, which has its name from what links nothing but code.
    rule(
        "exception",
        FATAL,
        "ptxas|nvlink|nvcc|cicc|fatbinary",
        r"^\W{0,8}(?:ptxas|nvlink|nvcc|cicc|fatbinary)\s{1,4}(?:error|fatal)\s{0,6}:",
    ),
)

BELOW_CAUSES: tuple[Rule, ...] = (
    # --- hardware: a card that its own management cannot ask, or gives up ---
    rule(
        "hardware",
        FATAL,
        "device handle|details on gpu|nvml|bad state",
        r"\b(?:unable|failed) to (?:determine|detect|get|obtain|retrieve) (?:the )?device handle for GPU|"
        r"\bfailed to get details on GPU\b|(?-i:\bnvmlDevice\w{3,60})\b.{0,24}\b(?:unknown error|GPU is lost|requires (?:restart|reset)|"
        r"fallen off|external power|timeout)|(?-i:\bNVMLError_(?:Unknown|GpuIsLost|ResetRequired|IrqIssue|InsufficientPower|Timeout))\b|"
        r"\bthe GPU (?:is likely|may be) in a bad state\b",
    ),
    # The kernel's own words for memory and a bus that gave way, and for a card with pages to be taken out.
    rule(
        "hardware",
        FATAL,
        "config space inaccessible|hardware memory corruption|kernel panic|page retirement|rebooted",
        r"\bchange power state from D3cold to D0\b.{0,24}\binaccessible\b|\bSIGBUS to \S{1,40} due to hardware memory corruption\b|"
        r"\bkernel panic - not syncing: .{0,40}\b(?:machine check|hardware error|NMI\b(?!.{0,40}lockup)|memory error|PCIe|AER)|"
        r"\b[1-9]\d{0,4} pending page retirements?\b|\bnode \S{1,60} (?:has )?(?:rebooted unexpectedly|unexpectedly rebooted)\b",
        ADVICE,
    ),
    rule(
        "hardware",
        FATAL,
        "synd 0x|bad device here|pci reads still",
        r"\bmlx\d_core .{0,80}\bsynd 0x0{0,8}[1-9a-f][\da-f]{0,7}: [a-z]|\bhandling bad device here\b|\bPCI reads still not working\b",
        CALM,
    ),
    # A node that is gone took what ran on it along; a kubelet that has no healthy card to give.
    rule(
        "hardware",
        FATAL,
        "marked dead|node that died|node it was running on|unhealthy devices",
        r"\bnode with \w{2,8} ID \S{1,80} has been marked dead\b|\ba node that died\b|\bnode it was running on (?:is dead|died|has died)\b|"
        r"\bcannot allocate unhealthy devices\b",
    ),
    # --- memory, of a card and of the machine ---
    rule(
        "gpu_oom",
        FATAL,
        "cuda_error_out_of|malloc device|nrt_tensor|tdrv:|allocation failed on",
        r"\bcall to cu\w{3,40} returned error 2\b|\bmalloc device memory failed\b|\bnrt_tensor_allocate status=4\b|"
        r"\bTDRV:\w{1,60} {1,60}Failed to alloc(?:ate)? [\d.]{1,12}|\ballocation failed on (?:HPU|NPU|XPU|TPU|MLU)\b",
    ),
    rule(
        "host_oom",
        FATAL,
        "out-of-memory|memory resource limit|panic_on_oom|deadlocked on memory|over cgroup|exceeded request_memory|h_vmem|s_vmem",
        r"\bran out-of-memory\b|\b(?:killed|terminated|evicted|died|exited)\b.{0,24}\bout-of-memory\b|"
        r"\bexceeded (?:an? |its |the )?memory resource limit\b|\bkernel panic - not syncing: (?:Out of memory|System is deadlocked on memory)|"
        r"\bgone over cgroup memory limit\b|\bmemory usage exceeded request_memory\b|\bexceeds job (?:hard|soft) limit \"[hs]_vmem\"",
        f"{SURVIVED}|{ADVICE}",
    ),
    # --- hang: who waited for a peer's words and gave up ---
    rule(
        "hang",
        FATAL,
        "deepep",
        r"\bDeepEP (?:error: timeout|timeout check failed|(?:dispatch|combine|internode|intranode)\b.{0,40}\btimeout\b)",
    ),
    rule(
        "hang",
        FATAL,
        "reason=[",
        r"\bexecute failed, reason=\[[\w ]{0,24}\bsync\w{0,8} time-?out\b",
    ),
    # --- nccl: fabrics, and launchers that lost what they started ---
    rule(
        "nccl",
        FATAL,
        "nvshmem|/modules/",
        _HEAP
        + r".{0,200}?(?:\bnon-zero status: ?-?[1-9]|: NULL value\b|\bunable to (?:initiali[sz]e|create|connect)\b|\binitiali[sz]ation failed\b|"
        r"\bcalled before NVSHMEM init|\baborting\b|\bexiting\b)",
        f"{ADVICE}|memory|\\bskipping\\b|^\\W{{0,4}}WARN",
    ),
    rule(
        "nccl",
        FATAL,
        "fatal error in",
        r"\bfatal error in (?:P?MPIX?_|internal_I?)(?!Abort)\w{3,40}:",
    ),
    # What Open MPI says of one of its own calls, of two processes that do not meet, of its daemons.
    rule(
        "nccl",
        FATAL,
        "occurred in mpi_|mpi_err|abort before mpi|mpi_init|orte_error_log|prte_error_log|mpi processes|open mpi accepted|"
        "to complete a tcp connection|mpirun was unable|mpiexec was unable|prterun was unable",
        r"\berror occurred in P?MPI_(?!Abort)\w|\bMPI_ERRORS_ARE_FATAL\b|\bMPI_ERR_[A-Z]{2,20}: |\blocal abort before MPI_INIT\b|"
        r"\b(?:MPI_INIT|PMIX?_Init\w{0,8}) (?:has )?failed\b|\b[OP]RTE_ERROR_LOG: |\bMPI processes are unable to reach\b|"
        r"\bOpen MPI accepted a TCP connection from\b|^\W{0,4}a process or daemon was unable to complete a TCP connection|"
        r"\b(?:mpirun|mpiexec|prterun) was unable to reach\b",
    ),
    rule(
        "nccl",
        FATAL,
        "daemon|mpirun was unable|mpiexec was unable|prterun was unable",
        r"\b(?:ORTE|PRTE|PMIx) daemon has (?:unexpectedly )?failed\b|\b(?:ORTE|PRTE) was unable to (?:reliably )?(?:start|launch)\b|"
        r"^\W{0,4}A daemon(?: \(pid \d{1,9}\)| on node \S{1,80})? (?:died|failed to start|has died|exited)\b|"
        r"\b(?:mpirun|mpiexec|prterun) was unable to (?:launch|start|find|cleanly)\b",
    ),
    rule(
        "nccl",
        FATAL,
        "transport init error|link|ucx",
        r"\btransport init error\b|\[Create\]\[DestLink\]|^\s{0,12}\[[A-Z]\w{2,40}\]\[[A-Z]\w{2,40}\].{0,40}\blink\b.{0,24}\bfailed\b|"
        r"(?-i:\bUCX {1,4}FATAL\b)",
        f"{SURVIVED}|memory",
    ),
    # --- cuda_error: a call that is named, and a check that quotes what should have been ---
    rule(
        "cuda_error",
        FATAL,
        "returned error",
        r"\bcall to cu[A-Z]\w{2,40} returned error [1-9]",
        "out of memory",
    ),
    rule(
        "cuda_error",
        FATAL,
        "success|acl_error_none",
        rf"\bassertion\b.{{0,160}}?\b{_WELL}\b.{{0,80}}?\bfailed\b|\bcheck failed\b.{{0,120}}?\b{_WELL}\b",
        r"out of memory|\((?:2|12) vs",
    ),
    rule(
        "cuda_error",
        FATAL,
        "api failed|magma|.cu|devices available|rocblas_abort",
        r"\b(?:CUDA|(?:cu|hip|roc)(?:BLAS|DNN|FFT|SOLVER|SPARSE|SPARSELt|TENSOR|RAND)) API failed at line\b|\bMAGMA not initiali[sz]ed\b|"
        r"\berror in magma_\w{2,40}(?:\(\))?:|^\W{0,4}Error .{3,80}? at line \d{1,6} in file \S{1,200}\.cu\b|"
        r"\bonly 0 devices available\b|\brocblas_abort: ",
    ),
    rule(
        "cuda_error",
        FATAL,
        "num_devices",
        r"\bPJRT_Client_Create\b.{0,160}\berror condition !\(num_devices > 0\)",
    ),
    rule(
        "cuda_error",
        FATAL,
        "[func:",
        r"\b(?:error|fail(?:ed|ure)?|exception)\b.{0,200}\[FUNC:\w{1,60}\]\[FILE:",
        r"memory|time-?out|times out|lost heartbeat|" + CALM,
    ),
)

BELOW_STOPS: tuple[Rule, ...] = (
    # Who took the machine or the place back, by the name of the reason.
    rule(
        "preempted",
        FATAL,
        "no_capacity|evictionby|preemptionby|deletionby|terminationby|is disrupted|job killed: |hard limit|soft limit|reason|maxruntime|"
        "specified deadline|maximum session|job was aborted|resource limit|aborted by|killed by|terminated by|cancelled by",
        r"(?-i:\b(?:error code|reason)\W{1,3}INTERRUPTED_BY_NO_CAPACITY\b)|\bpod \S{1,120} is disrupted\b|"
        r"(?-i:\b(?:reason:?|True)\W{1,6}(?:EvictionByEvictionAPI|PreemptionBy(?:Kube)?Scheduler|DeletionByTaintManager|DeletionByPodGC|"
        r"TerminationByKubelet)\b)|\bPBS: job killed: (?:cput|ncpus|walltime|pcput|file|node \d)|"
        r"\bexceeds job (?:hard|soft) limit \"[hs]_(?:rt|cpu)\"|(?-i:^\s{0,12}Reason:\s{1,24}(?:Evicted|Preempted|Preempting|DeadlineExceeded)\b)|"
        r"(?-i:\bMaxRuntimeExceeded\b)|\bpod was active on the node longer than the specified deadline\b|"
        r"\bmaximum session (?:duration|time|length)\b.{0,40}\b(?:exceeded|reached|over)\b|"
        r"\bjob was aborted\b(?! by the user)|\bjob exceeded (?:some|a|the|its) resource limit|"
        r"\b(?:aborted|killed|terminated|cancelled) by (?:the )?(?:PBS|LSF|SGE|UGE|Torque|Slurm|Flux|Moab|HTCondor|OAR|Cobalt)\b"
        r"(?! (?:user|admin))",
        "\\bif\\b",
    ),
    rule(
        "killed",
        FATAL,
        "killed|terminated_by",
        r"\b[1-9]\d{0,5} total process(?:es)? killed\b|(?-i:\breason\W{1,3}(?:TERMINATED|ABORTED)_BY_USER\b)",
    ),
)

BELOW_ENDS: tuple[Rule, ...] = (
    # An error in the command line, in the box that Typer and rich-click draw.
    rule(
        "exception",
        FATAL,
        "no such option|no such command|missing option|missing argument|missing parameter|invalid value for|got unexpected extra",
        r"^[\u2502|] (?:No such (?:option|command)|Missing (?:option|argument|parameter)|Invalid value for|Got unexpected extra arguments?)\b",
    ),
    # A controller that nobody can find by its name.
    rule(
        "network",
        FATAL,
        "res_nsearch|srv lookup|nothing received from server",
        r"\bres_nsearch error: |\bDNS SRV lookup failed\b|\bmosh: Nothing received from server\b",
    ),
    # Keys that a scheduler does not take: nothing is sent to it, and no step begins.
    rule(
        "exception",
        FATAL,
        "munge|authentication",
        r"\bMunge (?:en|de)code failed: (?!.{0,160}\(retrying|(?:expired|rewound) credential)|\b(?:error: )authentication: \w|\bprotocol authentication error\b|"
        r"\bMunged communication error\b",
        CALM,
    ),
    # What a file of settings may not say.
    rule(
        "exception",
        FATAL,
        "config file item",
        r"\bconfig file item: \S{1,80} has an invalid value\b",
    ),
    # Told at the level of information, though nothing is left to run on.
    rule(
        "exception",
        FATAL,
        "was unsuccessful|lost all workers|no workers left|all workers",
        r"\bstep group \S{1,120} was unsuccessful: |(?:- |: |\] )(?:lost all workers|no workers left|all workers (?:died|failed|are (?:dead|gone|lost)))\b",
        ADVICE,
    ),
    rule(
        "exception",
        FATAL,
        "tpu system",
        r"(?-i:\bE\b).{0,80}\bTPU system has not been initiali[sz]ed\b",
    ),
)
