"""Labels 1 to 15: the rules that name a cause, as one table in triage order. The first that fits decides.

Patterns have no nested repeats and only bounded gaps, so their time is linear in the line. To teach a
new framework, add a word to a pattern or a row to the table; the last text of a row says when the same
words mean nothing (advice, options, a failure that was survived).
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import (
    ADVICE,
    CALM,
    FATAL,
    INF,
    KILLS,
    LOSS,
    NAN,
    NONE,
    SERIOUS,
    START_VALUE,
    SURVIVED,
    WARN,
    XID,
    Rule,
    rule,
)

# What an end looks like, whatever it is about: the topic beside it then names the cause.
_RAISED = r"(?-i:[a-z]Error\b|[a-z]Exception\b|\bERROR\b|\bError\b|\bFATAL\b|\bFatal\b|\bfailed\b|\bFAILED\b|\bfatal\b|\baborted\b)"
_ASIDE = (
    r"ImportError|ModuleNotFoundError|CalledProcessError|ModelCheckpoint|\bpip\b|\bbuild|\binstall|\bmake\b|\bcompil|\bEGL\b|\.h: No such|"
    + f"{SURVIVED}|{ADVICE}|{CALM}"
)

CAUSES: tuple[Rule, ...] = (
    # --- 1 xid ---
    rule("xid", SERIOUS, "xid", XID + r"(?:13|31|32|37|43|45|68|69|94|109)(?!\d)"),
    rule("xid", FATAL, "xid", XID + r"[1-9]\d{0,2}(?!\d)", r"\bno xid\b"),
    # --- 2 hardware ---
    # What the machine corrected by itself, and a chip that slows down, are known; nobody has to act.
    rule(
        "hardware",
        WARN,
        "corrected|correctable|throttl|ce memory",
        r"\bseverity=correct|\bcorrected (?:hardware )?error|\bcorrectable error|\bCE memory (?:read|scrub\w{0,4}|write)? ?error|\babove threshold, .{0,20}throttl|\bcorrected error\b",
        r"uncorrect|\b0 correct|:\s{0,3}0\s*$|:\s{0,3}N/A",
    ),
    rule(
        "hardware",
        FATAL,
        "device_lost|temperature|uncorrected (|sxid|critical temp|not responding|marked down|setting down|off the bus|nvrm: the|uncorrect|is lost|is_lost|device handle|ecc|rminit|rm_init|row remap|remapping|probe routine|requires reset|unhealthy|gpu lost|lost gpu",
        r"\w{0,40}(?-i:DEVICE_LOST)\b|\bAER: uncorrected \(|\bSXid \(.{0,60}\bfatal\b(?! ?[:=] ?0)|\bGPU\b.{0,20}\btemperature\b.{0,30}\bexceed\w{0,3}\b.{0,30}\bshut|\bcritical temperature\b.{0,30}\bshut|\b(?:slowdown|shutdown) temperature (?:exceeded|reached)|\bnodes? \S{1,60} (?:marked|set|setting|is) (?:down|not responding)\b|\bnodes? \S{1,60} not responding, setting down|fallen off (?:of )?the bus|NVRM: The NVIDIA GPU [\da-f:.]{6,20}\s*$|\buncorrectable(?: ECC)?(?: errors?)?\s*[:=]\s*[1-9]|\buncorrectable nvlink|GPU[ _]is[ _]lost|GPU \S+ (?:is )?lost\b|GPU lost\b|lost GPU\b|unable to determine the device handle"
        r"|uncorrect(?:able|ed) (?:volatile |aggregate )?ECC (?:error|fault|memory)|ECC (?:error|fault)\b.{0,40}uncorrect|uncorrectable.{0,20}\bECC (?:error|fault)|double[- ]bit ECC|ECC double[- ]bit"
        r"|rminitadapter failed|rm_init_adapter failed|row remap\w{0,40}.{0,30}\bfail|remapping failure occurred\s*:\s*yes"
        r"|nvidia probe routine failed|GPU.{0,30}requires reset|(?:GPU|device|node)\b.{0,60}\b(?:un|not )healthy|(?-i:\b(?:Gpu|GPU)\w{2,40}IsNotHealthy)",
        r"double[- ]bit ECC(?: errors?)?(?: count)?\s{0,8}[|:=]\s{0,8}0\b|uncorr\w{0,40} ECC(?: errors?)?(?: count)?\s*[|:=]?\s*(?:0\b|N/A|none)|\bno (?:un|double)|\bhealthy: true",
    ),
    rule(
        "hardware",
        FATAL,
        "health check|healthcheck|node check|nhc|gpu check",
        r"(?:health ?check|node check|\bnhc\b|gpu check).{0,60}\b(?:fail|error|critical|unhealthy)|\bfail\w{0,40}.{0,30}(?:health ?check|node check|gpu check)",
        r"\bpass|retry|container|endpoint|\bserver\b|http|\b0 fail",
    ),
    rule(
        "hardware",
        FATAL,
        "hardware error|aer: |edac|memory error|bus error: severity|machine check|thermal|nvlink|ras |amdgpu|[drm|gpu recovery|heartbeats|gpu reset|notready|not ready|node failure|i/o error|err!|ext4-fs error|gsp",
        r"\[hardware error\]|\bAER: (?:device recovery failed|can't recover)|\bEDAC\b.{0,40}(?:\bUE\b|uncorrect|handling mce)|bus error: severity=uncorrect|machine check (?:exception|events logged)|\b(?:firmware|fw) (?:internal|fatal) error|\b(?:thermal|temperature|overheat\w{0,40}).{0,30}shut(?:ting)? ?down"
        r"|nvlink.{0,40}\b(?:fatal|failed|failure|is down|inactive)|\bI/O error, dev |EXT4-fs error|\bHW Exception by GPU\b|\breason ?: ?GPU hang\b|(?<!npm )\bERR!|(?-i:\bGSP\b).{0,30}(?:timeout|hang|crash)|\bNodeNotReady\b|\bnode failure on\b|amdgpu.{0,60}(?:gpu reset (?:begin|failed)|ring [\w.]{1,16} timeout|ras .{0,20}uncorrect|no-retry page fault|\] page fault|GPU hang|VRAM is lost)|\[drm.{0,80}\*ERROR\*|\bGPU recovery (?:failed|disabled)|\bdetector has missed too many heartbeats",
        r"\bcorrected\b|\bCE memory",
    ),
    rule(
        "hardware",
        FATAL,
        "nvrm:",
        r"\bNVRM: .{0,120}\b(?:cannot|failed|fails|failure|timed out|timeout|fatal)\b",
        r"API mismatch|^\s*\d+ +NVRM|persistence",
    ),
    # A disk, a filesystem or a network card that the kernel gives up.
    rule(
        "hardware",
        FATAL,
        "i/o error|hc died|journal|read-only|ext4|xfs|btrfs|nvme|medium error|smart|md/raid|ata|mlx5|unrecovered",
        r"\bI/O error\b.{0,40}\b(?:dev|sector|lba|logical block|writing|reading|sct)\b|\blba\b.{0,40}\bI/O error|aborting journal|remounting filesystem read-only|\b(?:EXT4-fs|XFS|BTRFS)\b.{0,40}\b(?:error|failed|corrupt\w{0,6}|shut ?down)\b"
        r"|\bnvme\w{0,8}\b.{0,30}(?:controller is down|after probe failure|device not ready|I/O .{0,20}timeout|reset .{0,10}fail)|\bxhci_hcd .{0,40}\bHC died|critical medium error|(?:medium|unrecovered read) error|md/raid.{0,40}\bfail|\bata\d[\d.]{0,4}: (?:failed command|exception emask)|\bmlx5_core\b.{0,60}(?:compromised|fatal|health poll failed|fw error)|\bSMART\b.{0,30}\b(?:failed|failure)\b",
        r"\b0 errors?\b|re-?mounted|journal checksum|optional",
    ),
    rule(
        "hardware",
        NONE,
        "nvrm:|nvidia-bug-report",
        r"nvrm: (?:a )?GPU (?:at PCI|board serial|crash dump|[\d:.]+: )|nvrm: .{0,20}nvidia-bug-report|please run nvidia-bug-report",
    ),
    # --- 3 gpu_oom ---
    rule(
        "gpu_oom",
        WARN,
        "memory|oom",
        r"out[ _]of[ _]memory|\bOOM\b|ran out of memory",
        r"ray\.exceptions|killed process",
        also=SURVIVED,
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory|alloc|exhausted|oom|reserved in total|rmm failure|gib is|out_of_resources|buffer|vram|cache",
        r"CUDA out of memory\. Tried|tried to allocate [\d.]+ ?[KMGT]i?B\b|OutOfMemoryErr|hipErrorOutOfMemory|ErrorOutOfDeviceMemory|_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)|(?:GPU|VRAM|device|NPU) memory (?:is |was )?(?:exhausted|insufficient|allocation (?:failed|error))|failed to allocate memory\b|memory object allocation failure|failed to allocate (?:a )?(?:memory|buffer|\w{1,12} buffer|compute)\b|(?:unable|failed) to (?:allocate|create) (?:\w{1,12} )?(?:CUDA|ROCm|GPU|Metal|Vulkan|kv)\w{0,4} ?(?:buffer|cache)|unable to allocate \w{1,12} buffer|would exceed allowed memory|^\W{0,4}allocation on device\b|(?<=: )allocation on device\b|free memory on device .{0,60}less than desired|ran out of (?:GPU|VRAM|CUDA|device)|(?:insufficient|not enough) (?:free )?(?:GPU|CUDA|device|video|VRAM)(?: memory)?\b|cuda\.memory\.OutOfMemoryError"
        r"|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|cudaErrorMemoryAllocation|cuda(?:Malloc|HostAlloc)\w{0,40} failed"
        r"|RESOURCE[ _]EXHAUSTED:(?!.{0,20}/).{0,80}(?:memory|allocat|oom|hbm)|ResourceExhaustedError(?!.{0,24}[/\\])|resource exhausted: out\b|OOM when allocating|(?:CUDA|HIP|MPS|XPU|NPU|GPU) (?:error: |backend |runtime error.{0,12}: )?out of memory"
        r"|(?:CUDA|HIP)\b.{0,40}\bfailure '?(?:2|out of memory)|bad_alloc.{0,40}CUDA|GiB total capacity;|GiB is (?:free|allocated by PyTorch)|GiB (?:reserved in total|already allocated)|thrust::system.{0,120}out of memory|parallel_for failed: out of memory|RMM failure|(?-i:[a-z]Error|ERROR|Error): (?:cuda: )?out of memory\b(?! ?:? kill)|out of memory allocating [\d,]{4,20} bytes|memory in use\. Of the allocated"
        r"|allocator \(\w{0,20}gpu\w{0,12}\) ran out of memory|ran out of memory trying to allocate|out of memory error on GPU|no available memory for the cache blocks|failed to alloc\w{0,40} .{0,40}(?:on|from) (?:device|gpu)"
        r"|ran out of memory in memory space (?:hbm|vmem)|hbm.{0,30}exceeded|\bOutOfMemory: |HIPOutOfMemory|NVML_ERROR_MEMORY|CL_MEM_OBJECT_ALLOCATION_FAILURE|\bcu(?:da)?Mem\w{0,30}\(\):? out of memory|out of memory in cu\w{3,40}|out of (?:GPU|CUDA|device) memory|\bOutOfMemory\)|\b(?:onednn|dnnl|metal|mps|vulkan|opencl|sycl|level[- ]zero|xpu|npu|mlu|hpu)\b.{0,60}(?:out of|insufficient) memory|tokens that can be stored in KV cache|not have enough (?:GPU|video|VRAM|device) ?memory|(?-i:\bGpu\w{2,20}) failed to allocate|\[TRT\].{0,80}\bOutOfMemory\b|\bcuMem\w{0,20} failed: out of memory|n(?:venc|vdec|vcodec)\b.{0,80}out of memory|failed to allocate (?:GPU|device) |failed to allocate request for|INSUFFICIENT_MEMORY",
        r"ray\.exceptions|RayOutOfMemory|java\.lang|killed process|container killed|bytes\. error code 12|"
        + r"to avoid CUDA out of memory|\bmay cause \W|\bhandler\s*$|(?:container|executor) killed|disk quota|\bscheduling\b|FailedScheduling|\bnodes? are available|cpu_buffer|\bif you\b|\battempts? to (?:catch|avoid|handle)\b|\bmay potentially\b",
    ),
    # Chinese for "GPU memory is not enough" and "overflowed"; below, the same for main memory and for a disk.
    rule(
        "gpu_oom",
        FATAL,
        "\u663e\u5b58\u4e0d\u8db3|\u663e\u5b58\u6ea2\u51fa",
        "\u663e\u5b58\u4e0d\u8db3|\u663e\u5b58\u6ea2\u51fa",
        ADVICE,
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory|oom",
        r"(?:CUDA|GPU|device|HIP|VRAM|cuda).{0,60}\bout[ _]of[ _]memory|out of memory.{0,60}\b(?:GPU|device|CUDA|VRAM)\b|\b(?:CUDA|GPU) OOM\b(?!s)|\bgot an OOM\b|OutOfMemoryError"
        r"|\bout of memory\. (?:tried|requested)",
        ADVICE
        + r"|container killed|ray\.exceptions|RayOutOfMemory|java\.lang|\battempts? to (?:catch|avoid|handle)\b|kill(?:ed)? process|cgroup|--\w|oom[-_]?kill|oom_score",
    ),
    # --- 4 host_oom ---
    # A guess at causes is none: what is sure is that the worker is gone.
    rule(
        "exception",
        FATAL,
        "worker|possible reasons",
        r"\bWorker exit type: |worker died or was killed while executing|\bpossible reasons include\b.{0,20}\bSIGKILL",
    ),
    rule(
        "host_oom",
        FATAL,
        "\u65e0\u6cd5\u5206\u914d\u5185\u5b58|\u5185\u5b58\u4e0d\u8db3",
        "\u65e0\u6cd5\u5206\u914d\u5185\u5b58|\u5185\u5b58\u4e0d\u8db3",
        ADVICE,
    ),
    rule(
        "host_oom",
        FATAL,
        "memory|oom|bad_alloc|bus error|ram|allocate|memlimit|killed process",
        r"out of memory: kill|oom[-_ ]kill|OOMKilled|oom_reaper|\bOOM event\b|memory cgroup out of memory|exceeded (?:job |step |its |the )?memory limit|memory limit exceeded|exceed(?:ed|ing) .{0,24}\bmemory limit|exceeding memory limits?|container killed (?:due to|by \w{1,12} for exceeding) .{0,24}memory"
        r"|killed by signal: (?:Killed|Bus error)|(?<![A-Za-z])(?:_?Array)?MemoryError\b|cannot allocate memory|std::bad_alloc|(?:^\W{0,24}|Error: |exception: )bad allocation\b|DefaultCPUAllocator|(?:notebook|session|kernel).{0,60}\b(?:memory|RAM)\b"
        r".{0,60}(?:restart|crash)|crashed .{0,40}using all available RAM|tried to allocate more memory than is available|insufficient shared memory|out of shared memory|task \d+: out of memory"
        r"|ray\.exceptions\.OutOfMemoryError|RayOutOfMemoryError|paging file is too small|java\.lang\.OutOfMemoryError|unable to allocate [\d.]+ ?[KMGT]i?B|state=OUT_OF_ME|\bOUT_OF_ME(?:MORY|\+)|TERM_MEMLIMIT|invoked oom-killer|no killable processes|result 'oom-kill'"
        r"|job killed: (?:p?v?mem)|killed due to memory|unable to mmap|low on memory|low on resource: memory|killed process \d+.{0,60}(?:total-vm|anon-rss)|exceeded (?:its|the) memory|out of host memory|requires more system memory|memory pressure.{0,30}kill|out of memory$|^out of memory",
        ADVICE
        + r"|continuing anyway|\bmlock\b|\bpinned memory\b|\bignored\s*$|oom[-_]kill(?:_disable|ed=?0)|\boom[-_]kill\w{0,40}[\"']?\s*[:=]?\s*(?:0\b|false)",
    ),
    rule(
        "host_oom",
        FATAL,
        "oomd|perhaps out of|enomem|kernel appears|memory budget|fork: |shared memory object|enforce fail at alloc|memory limit|container exceeded|low memory|badness|by yarn|insufficient memory|cpu_buffer|due to memory",
        r"\bperhaps out of memory\?|\bENOMEM\b|\bkernel appears to have died|\boomd\b.{0,20}\bkilled\b|\bexceeded \d+% memory budget|^(?:\S{1,40}: )?fork: (?:retry: )?(?:resource temporarily|cannot alloc)|\bunable to open shared memory object\b.{0,80}\bno space|\[enforce fail at alloc_cpu|\bmemory limit (?:was )?exceeded\b|\bcontainer exceeded .{0,20}memory|\bkilled /\S{1,300} due to memory|\blow memory! at or below|\bto process \d+.{0,60}\bbadness\b|container killed (?:due to|by \w{1,12} for exceeding) .{0,24}memory|\binsufficient memory \(|cpu_buffer\w{0,40}: failed to alloc",
    ),
    rule(
        "host_oom",
        FATAL,
        "bus error|killed by signal|shared memory",
        r"killed by signal: (?:Killed|Bus error)|unexpected bus error encountered in worker|might be caused by insufficient shared memory",
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory",
        r"\b(?:out of|not enough|insufficient|ran out of|exhausted|lack of) (?:\w{1,12} )?memory\b|\bmemory (?:is |was )?exhausted",
        _ASIDE + r"|\bkill|cgroup|\bhost\b|\bCPU\b|\bRAM\b|\bjava\b|ray\.",
        also=_RAISED,
    ),
    # --- 5 disk_full, inode ---
    rule(
        "inode",
        FATAL,
        "inode",
        r"\b(?:no (?:more )?(?:free )?|out of |run out of )inodes?\b|inodes? (?:are )?(?:exhausted|full|limit (?:reached|exceeded))|inode\w{0,12}[^%\n]{0,30}\b(?:9[5-9]|100)(?:\.\d+)?\s?%|(?:9[5-9]|100)(?:\.\d+)?\s?% (?:of )?inodes\b|inode quota exceeded",
        ADVICE,
    ),
    rule(
        "disk_full",
        FATAL,
        "\u8bbe\u5907\u4e0a\u6ca1\u6709\u7a7a\u95f4",
        "\u8bbe\u5907\u4e0a\u6ca1\u6709\u7a7a\u95f4",
        ADVICE,
    ),
    rule(
        "disk_full",
        FATAL,
        "no space|% full|quota|enospc|inline_container|streamwriter|file write failed|iostream|unexpected pos|ephemeral|disk|errno 28|errno 122|evict|not enough space|insufficient space",
        r"\bwrite\(\): fd \d+ failed|failed to write to .{0,20}file ?system|\bwrote only \d+ of \d+ bytes|\bshort write\b|\b\d{2,18} requested and \d{1,18} written\b|no space(?: is)? left|disk quota exceeded|(?<!rate )quota exceeded|\bENOSPC\b|enforce fail at inline_container|PytorchStreamWriter|file write failed|basic_ios::clear: iostream error|iostream error|unexpected pos \d+ vs"
        r"|low on resource: ephemeral|ephemeral[- ]storage.{0,60}exceed|exceeds?.{0,40}ephemeral|ephemeral local storage usage exceeds|not enough (?:free )?(?:disk )?space|insufficient (?:free )?(?:disk )?space|disk (?:is |space is )?(?:nearly |almost )?full|errno (?:28|122)\b"
        r"|(?:run|ran|running) out of disk|out of disk space|is over 9\d(?:\.\d+)?% full|DiskPressure|evicted.{0,40}(?:storage|disk)",
        ADVICE + r"|DiskPressure\s+False|api quota",
    ),
    rule(
        "disk_full",
        SERIOUS,
        "checkpoint|ckpt|weights|state_dict|snapshot",
        r"\b(?:fail(?:ed|ure|s)?|unable|could ?n.t|could not|cannot|can.t|error|exception)\b.{0,24}\b(?:sav|writ|stor|dump|serializ)\w{0,6}\b.{0,40}(?:checkpoint|ckpt|weights|state_dict|snapshot)|(?:checkpoint|ckpt) (?:save|saving|write|writing) (?:has )?failed",
        SURVIVED + r"|\b(?:is|are) not (?:json )?serializable|" + ADVICE,
    ),
    rule(
        "disk_full",
        SERIOUS,
        "disk|volume|filesystem|partition|storage|mount|space|% full|% used",
        r"(?:\s|^)/[\w./-]{1,80} (?:is|at) (?:9[0-9]|100)(?:\.\d+)?\s?%|\b(?:disk|volume|filesystem|file system|partition|storage|mount(?:ed)?|disk space)\b[^%\n|]{0,60}?\b(?:9[0-9]|100)(?:\.\d+)?\s?%(?!\||\d| (?:free|available|left|idle))|(?:9[0-9]|100)(?:\.\d+)?\s?% (?:full|used)\b.{0,40}\b(?:disk|volume|/)"
        r"|\bonly [\d.]+ ?[KMG]i?B (?:left|free|remaining|available).{0,30}(?:disk|volume|/)|\b(?:disk|volume|storage)\b.{0,30}\bonly [\d.]+ ?[KMG]i?B (?:left|free|remaining|available)",
        r"\b(?:gpu|ram|memory|cpu)\b|it/s|B/s|download|read-only|\bro\b|" + ADVICE,
    ),
    # --- 6 hang ---
    rule(
        "hang",
        FATAL,
        "timeout|time-out|timed out|timing out|hangs|unresponsive|stopped responding|not respond|heartbeats|notify register|waiting for|stuck|watchdog|heartbeat|process down|blocked for|lockup|stall|missing ranks|remainder of ranks|hung|deadlock|no progress",
        r"\bstream sync(?:hronize)? timeout|\binternal task times out|\btime-?out\b\W{1,3}(?:ending|exiting|abort\w{0,3}|giving up|killing|terminat\w{2,3}|quitting)\b|\b(?:GPU|device) ?#?\d{1,3} (?:hangs|hung|is hung|stopped responding|is not responding|is unresponsive)\b|\b(?:rank|worker|node|replica|host) \S{1,20} (?:has |did )?not (?:responded|respond|responding)\b(?! to SIG)|\bNCCL time-?out\b(?! ?[=:]| set| to|_)|\bwatchdog timeout(?: \(|!|\.|$| (?:occurred|triggered|detected|fired|expired))|\bcould ?n.t get a response\b.{0,40}\bseconds|\btime-?out waiting for (?:all )?(?:other )?(?:ranks?|workers?|processes|nodes|clients|peers)\b|\b(?:training|job|run|process) (?:has |is |have )?stalled\b|seconds waiting for clients|\b(?:no|lack of|missed|missing|lost) heartbeats?\b(?! of its)|\bheartbeat (?:was )?(?:not received|lost|missed|expired|timed out|timeout)|\bwait execution of the notify register times out|collective operation timeout|(?:failure|timeout\)?) (?:is |was )?detected by watchdog|ran for \d+ milliseconds before timing out|timeout at NCCL work|watchdog.{0,40}\b(?:got stuck|timed out|expired|fired|hung|no progress|terminated with)|watchdog\b.{0,60}\bterminating|watchdog hang|no heartbeat of its watchdog|without making progress in monitoring"
        r"|Error: DEADLINE_EXCEEDED: Deadline exceeded|heartbeat ?monitor.{0,60}(?:timed|stuck|timeout)|taking the entire process down|operations have failed or timed out|monitoredBarrier|dataloader timed out|blocked for more than \d+ seconds|soft lockup|hard lockup"
        r"|self-detected stall|detected stalls? on|may be stuck|^missing ranks|stalled (?:ranks|tensors?|ops)|waiting for remainder of ranks|(?:a|due to) collective timeout|collective.{0,30}timed out|timed out waiting \d+ ?ms for (?:recv|send)|timed out initializing process group"
        r"|wait timeout after \d+ ?ms|termination timeout for|barrier.{0,40}timed out|timed out.{0,40}barrier|no progress (?:in|for|since) \d+|\b(?:job|rank|process|worker|training|run|node) (?:\S+ )?(?:is |has |appears? )?(?:hung|stuck|deadlocked)\b"
        r"|deadlock detected|\bstuck for \d+ ?s|received a dump signal|observed (?:flight recorder )?dump signal",
        r"can (?:potentially |also )?(?:cause|hang|lead)|(?:might|could|may) (?:hang|cause)|to avoid hang|coordination_service|options:.{0,200}timeout\(ms\)|if .{0,40}\bhang|retrying",
    ),
    # --- 7 nccl ---
    rule(
        "benign",
        NONE,
        "nccl ",
        r"\bNCCL INFO\b(?!.{0,60}(?:Connection (?:refused|reset|timed)|Call to))",
    ),
    rule(
        "nccl",
        WARN,
        "nccl warn|net/ib|c10d|socket|ifname",
        r"NCCL WARN.{0,20}(?:NET/IB : (?:No device|Unable to open|No IB)|Failed to open libib|.{0,40}(?:not found|plugin|libibverbs)|Missing|Could not (?:enable|find)|.{0,40}\bACS\b|.{0,30}iommu)|errno: 97\b|hostname of the client socket cannot be retrieved"
        r"|NET/(?:IB|Socket|OFI).{0,30}\b(?:skipp|not found|No device)",
    ),
    rule(
        "nccl",
        FATAL,
        "nccl|distbackend|gloo|client socket|server socket|rendezvous|tcpstore|recvvalue|sendbytes|distnetwork|diststore|ucx|ibv_|deadline_exceeded|startconnect|pollconnect|warn call to|horovod|mpi_abort|remote peer|remote process|coordination|lost peer|lost connection to rank|lost communication|peer|store",
        r"\b(?:H|N|R|Bi?)CCL[_ ]error\b|\bh?ccl\w{4,40} failed|\boneCCL: .{0,120}\bexception|\bgot completion with error|\bpeer closed connection\b|\b(?:ib port \S{1,30} (?:went|is) down|mlx5_\d{1,3}: link (?:is )?down)|\bMPICH ERROR\b|\bORTE was unable\b|\bNCCL error|retrieving ncclUniqueId|Error: Socket Timeout$|nccl(?:System|UnhandledCuda|Internal|Remote|Timeout)?Error\b|ncclInvalid(?:Usage|Argument)|DistBackendError|NCCL communicator (?:was|encountered)|communicator.{0,20}\baborted|unhandled (?:system|cuda) error|NCCL WARN|WARN Call to \w{1,20} failed|NCCL failure|NCCL INFO.{0,60}(?:Connection (?:refused|reset|timed)|Call to)"
        r"|gloo/\S+:\d+\]|connect\(\) timed out\. original timeout|client socket has (?:timed out|failed)|server socket has failed|Rendezvous\w{0,40}(?:Error|Timeout)|rendezvous.{0,40}\b(?:failed|timed out)|TCPStore.{0,60}(?:fail|broken|reset|closed|timed)|(?:recvValue|sendBytes|recvBytes|recvVector) failed|Dist(?:Network|Store)Error|UCX +ERROR|ibv_\w{1,40} failed"
        r"|transport retry count exceeded|\bPMIX ERROR\b|HorovodInternalError|DEADLINE_EXCEEDED: connect|socket(?:Start|Poll)Connect|Horovod has been shut ?down|MPI_ABORT|connection closed by remote peer|tried to connect with a different incarnation|\bhccl\w{3,40}, error code|lost communication with a remote|remote process exited|coordination (?:service|agent).{0,80}\b(?:error|unavailable|fail|timed|disconnect)|lost (?:peer|connection to (?:rank|peer|worker))|connection (?:closed|reset) by peer \[|peer.{0,30}\b(?:disconnected|unreachable|died)|failed to (?:recv|connect to|receive).{0,40}\b(?:rank|peer|store)\b|\[c10d\].{0,60}(?:fail|reset|closed|timed out)",
        r"process group has NOT been destroyed|failed to shut ?down the rendezvous|retrying|will retry|"
        + ADVICE,
    ),
    rule(
        "nccl",
        FATAL,
        "nccl|gloo|process group|process_group|allreduce|all_reduce|allgather|all_gather|rendezvous",
        r"\b(?:nccl|gloo)\b|init_process_group|\bprocess group\b|\ball_?(?:reduce|gather)\b|\brendezvous\b",
        _ASIDE
        + r"|\bunexpected keyword|\bgot an\b|\bsupports?\b|AttributeError|TypeError|NameError",
        also=_RAISED,
    ),
    # --- 8 cuda_error ---
    rule(
        "cuda_error",
        FATAL,
        "cuda|cudnn|cublas|invalid device|nvml|nvidia|hip|hsa_|rocm|rocblas|metal|ascend|acl|npu|ee9|ez9|ei9|eh9|sync|gpu node|no supported devices|level-zero|pi_error|gpuassert|cutlass|ggml|nvcc|launch failed|curand|api mismatch|kernel image|device-side|illegal memory|launch failure|misaligned|no devices were|thread: [|cufft|cusparse|miopen|cuinit|forward compat",
        r"\bCuError\(|\bCUDA kernel errors detected|\bGPU ?#?\d{1,3}: unknown error|\bNVRTC error\b|\b(?:no GPUs?|no CUDA device|no device|GPU) (?:was |were )?(?:found|detected)\W{1,3}(?:exiting|aborting|quitting|stopping)|failed to get device handle\b|\bMIOpen error\b|the inner error is reported as above|\bCNRT_RET_ERR\w{1,40}|\bMLU (?:unknown |queue )?error\b|\bMUSA error\b|\bCNCL error\b|(?-i:\bE[1-9]\d{4}: (?!.{0,40}memory))|(?<!dlerror: )libcuda\.so\S{0,4}: cannot open|\bno CUDA runtime is found\b|\b(?:GPU|CUDA) (?:device )?(?:is )?(?:not available|not found|unavailable)\b.{0,12}\b(?:exit|abort|quit|stop)|\bCUDA driver (?:initiali[sz]ation failed|error)|thrust::system::system_error|(?-i:\bcuda[A-Z]\w{2,30}\(?\)?).{0,30}\bfailed\b|could not (?:locate|load)(?: library| symbol)? \S{0,40}cud(?:nn|art)|\bCUDA (?:context|stream|device|kernel|event|graph|API)\b.{0,24}\berror\b|kernel\b.{0,20}\bfail(?:ed|s)? to launch|\bCUDA call failed|(?-i:\bcu[A-Z]\w{2,30}) failed\b|illegal address in CUDA|\bsynStatus ?= ?[1-9]|synapse error|CUDA (?:runtime )?error(?!s)|(?-i:CUDA_ERROR_(?!OUT_OF)[A-Z]\w{1,40})|device-side assert|illegal memory access|illegal instruction was encountered|misaligned address|(?:unspecified )?launch failure|no kernel image|cublas runtime error|error from cudaGetDeviceCount|cuda\.is_available\(\) (?:returned|is) False: abort|no CUDA-capable device|no CUDA GPUs are available|no devices were found"
        r"|found no NVIDIA driver|NVIDIA driver on your system is too old|NVRM: API mismatch|GPUassert: |cutlass error|CUTLASS_CHECK|CUDA backend failed|\bGGML_ASSERT\b.{0,60}cuda|\[CUDA\] (?!info|using|version)|invalid device (?:pointer|ordinal|function)|\b(?:[a-z]?gemm|[a-z]?gemv|blas|cublas|cudnn|kernel)\w{0,12} launch failed|failure to initialize cublas|nvcc fatal|\bcu(?:rand|blas|dnn|sparse|solver|fft) error\b|CURAND_STATUS_(?!SUCCESS)\w{1,40}|cuda ?driver error|CUDA driver version is insufficient|communicate with the NVIDIA driver|driver/library version mismatch|failed to initialize NVML|forward compatibility was attempted|failed call to cuInit"
        r"|CUDNN_STATUS_(?!SUCCESS)\w{1,40}|cuDNN error|CUBLAS_STATUS_(?!SUCCESS)\w{1,40}|CUFFT_(?!SUCCESS)[A-Z_]+|cuFFT error|CUSPARSE_STATUS_(?!SUCCESS)\w{1,40}|CUSOLVER_STATUS_(?!SUCCESS)\w{1,40}|cudaError(?!_t|String)\w{0,40}|Cuda(?: kernel)? fail\w{1,40}|HIP error|hipError\w{0,40}|MIOpen(?:\(HIP\))?: ?error|miopenStatus(?!Success)\w{1,40}"
        r"|block: \[\d+,\d+,\d+\], thread: \[|torch not compiled with CUDA|CUDA unknown error|unable to find a valid cuDNN|\bDNN library is not found|cannot create (?:cu(?:blas|dnn|rand|solver)) |could not (?:create cudnn handle|load library libcu)|cuda is not available|deserialize object on a CUDA device|CUDA initialization:|triton.{0,30}CUDA: error|triton error \[|no supported devices found|\bthere is no (?:gpu )?devices?\b.{0,20}\b(?:can be|available|usable)|\bpossibly no GPU devices|\b(?:kernel )?module is NOT loaded\b|\brt\w{4,40} execute failed|\bPhysX Internal CUDA error|(?-i:\bduring cuda[A-Z]\w{2,40}\b)|HSA_STATUS_ERROR\w{0,40}|memory access fault by GPU|rocblas_status_(?!success)\w{1,30}|rocBLAS error|PI_ERROR_DEVICE\w{0,30}|\bacl(?:rt)?\w{0,40} (?:failed|error)|ACL (?:stream synchronize )?(?:failed|error)|command buffer execution failed|nvidia-container-cli: \w{1,20} error|could not select device driver|cudnn failed to initialize|\bCuDNN library: .{0,80}\bsource was compiled with\b|\binsufficient driver version\b|failed to initialize the NVIDIA|\binitialize the NVIDIA GPU\b|nvmlinit\w{0,10} failed|NPU (?:function )?error|\baclrt\w{0,40}\(.{0,80}failed|\bascend\b.{0,40}\b(?:failed|error code)|(?:sync_?stream|stream synchronize|synchronize ?stream|sync ?device)\w{0,20} (?:execute )?(?:failed|timeout)|(?-i:(?:^|: )E[A-Z]\d{4}: (?!.{0,40}memory))|device synchronize failed",
        r"^\W{0,4}search for\b|internal error :(?! PhysX Internal CUDA)|errors might be asynchronously|TORCH_USE_CUDA_DSA|register (?:cu|factory)|CUDA_LAUNCH_BLOCKING=|\bfalling back|cuda is not available.{0,60}\b(?:using|cpu|disabling)|"
        + r"not available, defaulting|\bdisabled\.?\s*$",
    ),
    rule(
        "cuda_error",
        FATAL,
        "cuda|cudnn|cublas|hip|rocm|nvml",
        r"\b(?:CUDA|cuDNN|cuBLAS|HIP|ROCm|NVML)\b.{0,40}\b(?:error|failed|failure|fault|exception|invalid|illegal|not initiali[sz]ed|launch|unavailable)\b",
        _ASIDE,
        also=_RAISED,
    ),
    # --- 9 ckpt_corrupt ---
    rule(
        "ckpt_corrupt",
        WARN,
        "loading parameter|source state_dict|not match exactly|incompatiblekeys",
        r"_IncompatibleKeys\(missing_keys=\[[^\]]|skip\w{0,40} loading parameter|keys? in source state_dict|loaded state dict do not match exactly",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "streamreader|central directory|load key|unpickl|pickle|unexpected eof|state_dict|size mismatch|safetensor|deserializing|weights only|ran out of input|badzip|not a zip|truncated|loaded state dict|loading model|load model|load the|load weights|weight file|layer count|found in checkpoint|unable to open|unable to synchronously|magic number|dataloss|sstable",
        r"\b(?:checkpoint|ckpt) shard .{0,20}\b(?:is )?(?:missing|corrupt\w{0,3}|not found)|\bcheckpoint was saved with a different\b|\bno metadata found for checkpoint|\b(?:md5|sha\d{0,3}|checksum|hash|crc)\w{0,4} (?:mismatch|does not match|error|fail\w{0,4})\b.{0,40}\b(?:checkpoint|ckpt|weights|model|\.pth?|\.safetensors)\b|PytorchStreamReader|storage has wrong size|\bsize mismatch between saved|failed finding central directory|invalid load key|UnpicklingError|pickle data was truncated|unexpected EOF(?:, expected|\. The file)|error\(s\) in loading state_dict|size mismatch for [\w.]{1,80}|(?:missing|unexpected) key\(s\) in state_dict|SafetensorError|error while deserializing header"
        r"|weights only load failed|ran out of input|BadZipFile|file is not a zip file|truncated file|unable to (?:synchronously )?open (?:file|object) \(|invalid magic number|DataLossError|\] Data loss: |not an sstable|too short to be an sstable|loaded state dict (?:contains a parameter group|has a different number)|unable to load weights from|error loading model\b|(?:failed|unable) to load (?:the )?(?:\w{1,12} )?model\b|trying to load a weight file containing|layer count mismatch when loading|not found in checkpoint\b|\bgguf_init_from_file: (?:failed|invalid)",
        r"\.(?:jpe?g|png|tif)\b",
    ),
    rule(
        "ckpt_corrupt",
        SERIOUS,
        "checkpoint|ckpt|resum|snapshot|weights|restor|corrupt",
        r"(?:checkpoint|ckpt|snapshot|weights|\.pth?\b|\.safetensors)\b.{0,60}\b(?:corrupt\w{0,40}|truncated|damaged|unreadable|is incomplete)|corrupt(?:ed)? (?:checkpoint|ckpt|snapshot|file .{0,60}\.(?:pt|pth|ckpt|safetensors)\b)"
        r"|(?:fail(?:ed|ure|s)?|unable|could ?n.t|could not|cannot|can.t|error)\b.{0,24}\b(?:load\w{0,40}|read\w{0,40}|restor\w{0,40}|resum\w{0,40}|deserializ\w{0,40})\b.{0,60}\b(?:checkpoint|ckpt|snapshot|state|weights|training state)|(?:failed|unable|could not) to resume|resum\w{1,40}.{0,40}\b(?:failed|skipped)"
        r"|=> no checkpoint found at|checkpoint.{0,40}\b(?:load(?:ing)? failed|failed to load|could not be loaded|does not exist|not found)\b.{0,60}(?:scratch|skipp|start)",
        r"\bimages?\b|jpe?g|\bsamples?\b|\blabels?\b|\b0 corrupt|optimizer state.{0,20}not found|pretrained",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "checkpoint|state_dict|state dict|safetensors|.ckpt|.pth",
        r"\b(?:checkpoints?|state[_ ]dict|safetensors)\b|\.(?:ckpt|pth|safetensors)\b",
        _ASIDE
        + r"|\bsav(?:e|ing)\b|\bwrit|No such file|FileNotFound|\bdownload|\bgradient|arguments?\b",
        also=r"(?-i:Error|ERROR|failed|Failed|FATAL)\b.{0,120}\b(?:load|read|restor|resum|deserial|corrupt|invalid|mismatch|missing|unexpected|incompatible|incomplete)|\b(?:load|read|restor|resum|deserial|corrupt|invalid|mismatch|missing|unexpected|incompatible|incomplete)\w{0,8}\b.{0,120}\bfailed\b",
    ),
    # --- 10 preempted ---
    rule(
        "preempted",
        FATAL,
        "cancelled|canceled|evicted|wallclock|wall clock|deleted at|requeue|requeing|requeuing|terminating |timed-out|timed out|timeout|node_fail|time limit|preempt|step aborted|job termination|spot|walltime|runlimit|run time limit|revoked|force terminated|reclaim|interruption|maximum runtime|deadline",
        r"\bwill be preempted\b|^(?:\s*\"?reason\"?:)?\s+\"?(?:Evicted|Preempt\w{1,8}|NodeShutdown|NodeLost|TerminationByKubelet)\"?,?\s*$|\bWarning\s+(?:Evicted|Preempt\w{1,8}|NodeShutdown)\s|^scancel: terminating job|\b(?:run|job|task) cancell?ed by (?:the )?scheduler|\boutbid\b|\bjob (?:was )?evicted\b|\bjob was aborted by the user\b|\bimminent node shutdown|\b(?:allocation|lease|reservation) (?:has )?expired\b|\bhit its timeout of\b|\btimed out waiting for job step\b|\breceived a cancellation signal|\bthe operation was cancel|\*\*\* (?:JOB|STEP)\b.{0,80}\bCANCELLED|^\S{1,60}\s+(?:\S{1,80}\s+)?\d{1,3}/\d{1,3}\s+(?:Evicted|Preempt\w{1,8})\s|\bhost EC2 \(instance [\w-]{1,40}\) terminated|CANCELLED AT|due to time limit|due to preemption|due to node fail|job step aborted|^srun: terminating |^.{0,12}job has timed out|not requeued because|^\s{0,4}\d{3,12}(?:[._+]\w{1,12})?\s.{0,120}\b(?:TIMEOUT|CANCELLED\+?|PREEMPTED|NODE_FAIL)\s.{0,60}\d:\d|this job is preempted|eviction_manager.{0,80}\bevicted\b|handling auto-requeue signal|requeu?ing job \d|forcing job termination|(?:been|was|is|were|being|got) preempted|^preempted|: preempted\b|\bpreempted (?:by|at|on) |job allocation \d+ has been revoked|preemption (?:notice|signal|event|detected|warning)"
        r"|spot (?:instance )?(?:interruption|termination|reclaim|preempt)|interruption notice|walltime .{0,20}exceeded|exceeded.{0,20}\bwall ?(?:time|clock)|TERM_(?!MEM|SWAP|EXTERNAL|UNKNOWN)\w{3,16}(?:LIMIT|ADMIN|OWNER|PREEMPT)\b|run time limit|job deleted at request of|(?:time limit|maximum runtime|wall ?(?:time|clock))\b.{0,20}\b(?:exceeded|reached|hit)|(?:reached|exceeded|hit) (?:the |its )?(?:time limit|maximum runtime)"
        r"|\bforce terminated\b|\blame workers found\b|\b(?:job|task|step)\b.{0,40}\b(?:was|been|is) cancell?ed|job cancell?ed|will be (?:terminated|reclaimed) in \d|DeadlineExceeded|\bstate=(?:TIMEOUT|PREEMPTED|CANCELLED)|JobState=(?:TIMEOUT|PREEMPTED|CANCELLED)",
        r"\bif idle\b|rpc error|context deadline|sequence group|preempt\w{0,40}\s*[:=]\s*(?:0|false|no)\b|\bif (?:the |your |this )?\w{0,40} ?preempt|preemptible|\b0 preempt|asyncio|gRPC|grpc|"
        + r"--time|supports? preemption",
    ),
    # --- 11 killed ---
    rule(
        "exception",
        FATAL,
        "killed by signal|on signal|with signal|received signal|caught ",
        r"killed by signal: (?:Seg|Abort|Illegal|Floating)|(?:killed|terminated) by signal:? ?(?:4|6|7|8|11)\b|program terminated with signal (?:SIG(?:FPE|SEGV|ILL|ABRT|BUS)|(?:4|6|7|8|11)\b)|exited on signal (?:4|6|7|8|11)\b|received signal (?:SIG(?:FPE|SEGV|ILL|ABRT|BUS)|(?:4|6|7|8|11)\b)|caught (?:fatal )?signal:? (?:4|6|7|8|11)\b",
    ),
    rule(
        "killed",
        FATAL,
        "all the procs|terminating instance|user requested|shutdown signal|\u5df2\u6740\u6b7b|\u5df2\u7ec8\u6b62|killed|terminated|hangup|interrupt|kill pod|abort|by user|by the user|signal|running tasks|exit_status",
        r"^[*_>#\s]{0,6}(?-i:"
        + KILLS
        + r")[*_.!\s]*(?:\(?\d*\)?|python.*)$|(?<=[\]%|}>s\\/-])\s*(?-i:"
        + KILLS
        + r")\s*$|line \d+:\s{1,8}\d+ (?-i:"
        + KILLS
        + r")\b|^(?:\S+: )?\d+ (?-i:"
        + KILLS
        + r")\s|\bzsh: (?:killed|terminated|hangup)|^\[\d+\]\s?[+-]?\s+(?:[+-] )?(?:\d+\s+)?(?:killed|terminated|hangup)\b|tasks? [\d,-]{1,60}: (?:Killed|Terminated)"
        r"|killed by signal|terminated by signal|(?:process|worker|job|trainer|rank|container|subprocess)\b.{0,40}\b(?:was |been |is |got )?killed\b|^interrupted\b|(?:interrupted|aborted|cancell?ed|stopped|terminated|killed) by (?:the )?user\b|\buser (?:has )?(?:abort(?:ed)?|interrupt(?:ed)?)\b|keyboard ?interrupt|\bstop signal received\b|\(killed\)|\(terminated\)|^killed by|need to kill pod|\bterminate all the procs|\bterminating instance\b|\buser requested (?:a )?(?:shutdown|stop|abort|cancel)|received a shutdown signal|received the (?:term|int|hup) signal|\bkilling running tasks\b|exit_status=2[5-7]\d\b|signal: killed|process exited, code=killed|session terminated, (?:killing|terminating) shell|^Aborted!$|command terminated|(?:^|\s)\u5df2(?:\u6740\u6b7b|\u7ec8\u6b62)(?:\s|$)",
        r"\bkilled[\"']?\s*[:=]\s*(?:0|false)|\bexcept\b|will be killed|\bepisode\b|normally|\bif\b|\btyp\w{1,6}cally\b|task job report|keep_?alive",
    ),
    rule(
        "killed",
        FATAL,
        "signal|sig|exitcode|exit code|exit_status|exit_code|exit=|return code|subprocess|exit status|^ct|^c |ctrl|exited with",
        r"received (?:a )?(?:signal|death signal|SIG(?:TERM|INT|KILL|HUP|QUIT|USR1|USR2))|received \d+ death signal|death signal|died of signal|via signal SIG|SignalException|got signal:? ?\w{1,40}|(?:closing|sending|caught|got|terminated (?:by|with)|exit(?:ed|ing)? (?:on|due to|by)|killed (?:by|with)|stopped by|interrupted by|died with|on|due to) (?:the )?(?:signal )?<?(?:signals\.)?SIG(?:TERM|INT|KILL|HUP|QUIT)|closing signal SIG|\bsending process \d+ closing sig"
        r"|signal (?:9|15|1|2)\b|signal \d+ \(SIG\w{1,40}\)|terminated with signal SIG|exit[ _]?(?:code|status)\s*[:=\[]?\s*-\d{1,4}\b|exit[ _]?(?:code|status)?[\"']?\s*[:=(]{0,2}\s*(?:137|143|130|247|-9|-15)\b|return code = -\d+|exited with (?:exit )?(?:code|status) (?:137|143|130)|\bexit (?:code|status) of .{1,120}\b(?:was|is):? (?:137|143|130)\b|killing subprocess|(?:killing|terminating) process:? <|killing (?:worker|process|child|rank)|^\^C|ctrl ?[-+] ?c (?:detected|pressed|received)|SIG(?:TERM|KILL) received|(?<!xargs )(?<!\+ )kill -9",
        r"\bregister|\bhandler (?:installed|set|for)|install|will be sent|--signal|signal handling is|\bSIG\w{3,4} when\b|^signal \d|\brequeue on\b|\bhint:|\btyp\w{1,6}cally\b|death_signal\(|^\W{0,4}(?:DEBUG|VERBOSE|TRACE)\b|press ctrl|ctrl\+c to|use ctrl",
    ),
    # --- 12 nan ---
    rule(
        "nan",
        WARN,
        "nan",
        r"NaN or Inf found in input tensor|nan, inf or huge value|\bsimulation\b.{0,40}\bnan\b|\bnan\b.{0,40}\bsimulat",
        r"[a-z](?:Error|Exception): ",
    ),
    rule(
        "nan",
        SERIOUS,
        "nan|diverged|divergence|finite|invalid|probability tensor",
        r"(?<![a-z])(?:[a-z]{1,20}_){0,4}"
        + LOSS
        + NAN
        + r"|\bgrad\w{0,40}\b.{0,40}\binvalid\b|\bnan[ -](?:loss|losses|grad\w{0,40}|cost)(?!\w{0,8}[\"\x27]?\s?[:=]\s{0,4}0)|NanLossDuring|\breturned nan\b|\binf (?:or|and|/) ?nan values? in (?:the )?grad|\bpotential energy is -?nan|\b(?:loss|parameter|gradient|energy|energies)\b.{0,40}\bis not finite|tensor\(\[{1,3}nan, {1,3}nan|returned nan values|\bnans? (?:or infs? |/ ?infs? |and infs? )?(?:was |were |is |values? )?(?:detected|found|encountered|occurred|appear\w{0,40})|(?:detected|found|encountered|got|contains?|has|have) (?:a |an |some )?(?:nan|nans)\b.{0,60}\b(?:loss|grad\w{0,40}|param\w{0,40}|weights?|model|output|logits|activation\w{0,40}|layer|forward|backward)"
        r"|\bnan\b\W{1,3}(?:stop|abort|exit|terminat|halt|quit)|\b(?:loss|grad\w{0,40}|params?|parameters|weights?|logits|activations?|network outputs?|model outputs?)\b.{0,40}\b(?:is|are|became|becomes|turned|went|contains?|has|have) (?:\w{1,40} ){0,2}(?:nans?|non-?finite|not finite|infinite or nan)|(?:training|model|loss|run)\b.{0,20}\b(?:has )?diverged|divergence detected|non-?finite (?:loss|grad\w{0,40}|norm)|(?:loss|gradient\w{0,40}|norm)\b.{0,60}\bnon-?finite|invalid loss, terminating"
        r"|(?-i:[a-z]Loss)[\"']?\s{0,4}[:=]\s{0,4}-?nan\b|\bloss {0,12}: {0,12}-?nan\b|\bloss\b.{0,30}[:=] ?\([^)]{0,30}\bnan\b|\btensor had nan values|\bloss\w{0,8}\b.{0,20}\b(?:n a n|inf or nan)\b|-?nan, -?nan avg|\bloss: nan(?-i:[A-Z])|satisfy the constraint .{1,80} found invalid values|probability tensor contains|^\s{0,20}tensor\(\[{0,2}nan.{0,80}grad_fn|\btrain\w{0,12}[-_](?:smoothl1|cross-?entropy|l1|l2|mse|mae|rmse|logloss|nll|error)\w{0,12}[\"']?\s{0,3}[:=]\s{0,3}-?nan\b|^\s*\d+/\d+\s+[\d.]+G(?:\s+[\d.]+){0,6}\s+nan\b",
        r"(?:isnan|nan_to_num|nanmean|allow_nan|check_nan|skip_?nan|nan_?check|terminateonnan|detect_nan|nan_policy)|\binput (?:\w{1,40} )?contains nan|\bif\b.{0,30}nan\b.*:$|np\.nan|float\(|math\.nan|missing=nan|dataframe|column|(?:Future|Deprecation)Warning:|\b(?:may|might|could|can) (?:also )?(?:lead|cause|result|produce|become|yield)\b|\bavoid\w{0,3} (?:the )?nan",
    ),
    rule(
        "nan",
        WARN,
        "nan",
        r"[\w)\]%@][\"']?\s{0,2}[:=]\s{0,6}[\[(\"']{0,2}"
        + NAN
        + r"|\b(?:acc\w{0,40}|auc|f1|map|ap|iou|miou|reward|mean|std|score|psnr|ssim|recall|precision|kl|entropy|rew_mean|len_mean)\b\s{0,4}\|?\s{0,8}"
        + NAN
        + r"|\|\s{0,20}nan\s{0,20}\|",
        r"(?:missing|fill_value|na_values?|default|nan_policy|constant_values|value|mask_value)[\"']?\s*[:=]|np\.nan|float\(|math\.nan|namespace\(|def |dtype",
    ),
    # --- 13 inf ---
    rule(
        "inf",
        SERIOUS,
        "inf",
        r"(?<![a-z])(?!"
        + START_VALUE
        + r"[a-z]{0,4}[_ ])(?:(?!"
        + START_VALUE
        + r"_)[a-z]{1,16}_){0,3}loss(?:es)?[\w/]{0,24}[\"']?\s{0,4}(?:is|was|became|=|:|->|\|)?\s{0,8}[\[(\"'=]{0,3}(?:tensor\()?"
        + INF
        + r"|\binf[ -]loss|returned inf|\binfs? (?:was |were |values? )?(?:detected|found|encountered) in|(?:detected|found) infs?\b.{0,60}\b(?:loss|param\w{0,40}|weights?|model|output|logits|activation\w{0,40}|layer|forward)|(?:loss|logits|activations?|weights?|output)\b.{0,24}\b(?:contains?|has|have|is) (?:\w{1,40} )?(?:infs?\b|infinite)",
        r"\b0/\d+ \[|\bimproved from|\b"
        + START_VALUE
        + r"[_ ](?:\w{1,40}[_ ]){0,2}loss|isinf|float\(|np\.inf|math\.inf|\b(?:step|iter|iteration)[ :=]{1,3}0\b",
    ),
    # --- 14 overflow ---
    rule(
        "overflow",
        FATAL,
        "loss scale|loss is probably|scale is|due to overflow",
        r"\bloss scale reached (?:the )?minimum\b|\bdue to overflow\b.{0,12}\b(?:exiting|abort)|\bgrad[_ ]scale is (?:too )?small\b|loss[_ ]scale (?:to|:) ?\d[\d.]*e-(?:0?[6-9]|[1-9]\d{1,3})\b|minimum loss scale reached|loss scale already at minimum|your loss is probably exploding",
    ),
    rule(
        "overflow",
        SERIOUS,
        "loss scale",
        r"attempted loss scale: ([\d.e+]+), (?:but hysteresis is \d+\. )?reducing to \1(?![\d.])|reducing loss scale to 0(?:\.0+)?\s*$",
    ),
    rule(
        "overflow",
        WARN,
        "overflow|loss scale|loss scaler|norm|found_inf|found inf|skipping step",
        r"\bOVERFLOW!|\bgrad(?:ient)?s? overflow|overflow detected|(?:reducing|lowering|decreasing|halving) (?:the )?loss[ _]scal|setting loss[ _]scal|loss[ _]scal\w{0,40}.{0,60}\b(?:reduc|decreas|lower|halv)|grad\w{0,40}[_ ]?norm\w{0,40}[\"']?\s{0,3}[:=]?\s{0,6}[\"']?(?:tensor\()?"
        + INF
        + r"|\bgnorm[ =:]{1,3}"
        + INF
        + r"|found_inf[\"']?\s*[:=]\s*(?:[1-9]|true)|found inf|\binf\w{0,40}\b.{0,40}\bskipp|overflow.{0,40}\bskipp|skipp\w{1,40} step.{0,40}\b(?:inf|overflow|scale)",
        r"max_grad_norm|max_norm|clip_grad_norm|overflow(?:ed)? encountered|stack overflow|stackoverflow",
    ),
    # --- 13, quiet part: an infinite metric ---
    rule(
        "inf",
        WARN,
        "inf",
        r"(?<![\w])(?!"
        + START_VALUE
        + r")[a-z][\w/@.]{0,40}[\"']?\s{0,2}[:=]\s{0,6}[\"']?"
        + INF
        + r"|\b(?:ppl|perplexity|psnr|snr|score|reward)\s{1,8}"
        + INF,
        r"(?:_|\b|\.)"
        + START_VALUE
        + r"(?:_\w{1,40})?[\"']?\s*[:=]\s*[\"']?[-+]?inf|(?:best|min|max|lowest|highest|init\w{0,4}) [\w ]{1,20}[:=]\s{0,3}[-+]?inf|\b0/\d{1,12} \[|np\.inf|float\(|math\.inf|namespace\(|config\(|space|improved from",
    ),
    # --- 15 traceback ---
    rule("traceback", FATAL, "traceback", r"traceback \(most recent call last\)"),
)
