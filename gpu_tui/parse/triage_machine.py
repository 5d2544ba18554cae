"""Labels 1 to 5: what befell the machine, its memories and its disks. The first part of the table of causes."""

from __future__ import annotations

from gpu_tui.parse.triage_rule import (
    ADVICE,
    CALM,
    FATAL,
    NONE,
    SERIOUS,
    SURVIVED,
    WARN,
    XID,
    Rule,
    rule,
)

# What an end looks like, whatever it is about: the topic beside it then names the cause.
RAISED = (
    r"(?-i:[a-z]Error\b|[a-z]Exception\b|\bERROR\b|\bError\b|\bFATAL\b|\bFatal\b|\bfailed\b|\bFAILED\b|"
    r"\bfatal\b|\baborted\b)"
)
BESIDE = (
    r"ImportError|ModuleNotFoundError|CalledProcessError|ModelCheckpoint|\bpip\b|\bbuild|\binstall|\bmake\b|"
    r"\bcompil|\bEGL\b|\.h: No such|" + f"{SURVIVED}|{ADVICE}|{CALM}"
)

# Others count by that name too: a network card's revision, a lease, a call, a transaction. NVIDIA spells it `Xid`, or names the card beside it.
_OF_A_CARD = r"(?-i:\bXid\b)|\b(?:NVRM|nvidia\S{0,24}|GPUs?|CUDA|DCGM|NVML|NHC|gpud|health|node check|cards?|xid (?:errors?|events?))\b"
_OF_ANOTHER = r"\bno xid\b|\bXID [\da-f]{1,8}, IRQ\b"

MACHINE: tuple[Rule, ...] = (
    # --- 1 xid ---
    rule("xid", FATAL, "sxid", r"\bSXid \(PCI:[^)]{1,40}\): \d{4,6}, fatal"),
    rule("xid", SERIOUS, "sxid", r"\bSXid \(PCI:[^)]{1,40}\): \d{4,6}\b"),
    rule(
        "xid",
        SERIOUS,
        "xid",
        XID + r"(?:13|31|32|37|43|45|68|69|94|109)(?![\da-f])",
        _OF_ANOTHER,
        also=_OF_A_CARD,
    ),
    rule("xid", FATAL, "xid", XID + r"[1-9]\d{0,2}(?![\da-f])", _OF_ANOTHER, also=_OF_A_CARD),
    rule(
        "xid",
        FATAL,
        "xid",
        r"\bcritical xid (?:errors?|events?)\b(?! ?[:=] ?(?:0|none|no)\b)",
        r"\bif\b|\bno critical",
    ),
    # --- 2 hardware ---
    # What the machine corrected by itself, and a chip that slows down, are known; nobody has to act.
    rule(
        "hardware",
        WARN,
        "corrected|correctable|throttl|ce memory",
        r"\bseverity=correct|\bcorrected (?:hardware )?error|\bcorrectable error|\bCE memory (?:read|"
        r"scrub\w{0,4}|write)? ?error|\babove threshold, .{0,20}throttl|\bcorrected error\b",
        r"uncorrect|\b0 correct|:\s{0,3}0\s*$|:\s{0,3}N/A",
    ),
    rule(
        "hardware",
        FATAL,
        "device_lost|temperature|uncorrected (|sxid|critical temp|not responding|marked down|setting down|"
        "off the bus|nvrm: the|uncorrect|is lost|is_lost|device handle|ecc|rminit|rm_init|row remap|"
        "remapping|disappeared|gpu hang|probe routine|requires reset|unhealthy|gpu lost|lost gpu",
        r"\w{0,40}(?-i:DEVICE_LOST)\b|\bAER: uncorrected \(|\bSXid \(.{0,60}(?<!non-)\bfatal\b(?! ?[:=] ?0)|"
        r"\bGPU\b.{0,20}\btemperature\b.{0,30}\bexceed\w{0,3}\b.{0,30}\bshut|"
        r"\bcritical temperature\b.{0,30}\bshut|\b(?:slowdown|shutdown) temperature (?:exceeded|reached)|"
        r"\bnodes? \S{1,60} (?:marked|set|setting|is) (?:down|not responding)\b|"
        r"\bnodes? \S{1,60} not responding, setting down|fallen off (?:of )?the bus|"
        r"NVRM: The NVIDIA GPU [\da-f:.]{6,20}\s*$|\buncorrectable(?: ECC)?(?: errors?)?\s*[:=]\s*[1-9]|"
        r"\buncorrectable nvlink|GPU[ _]is[ _]lost|GPU \S+ (?:is |has been |was )?lost\b|(?-i:\bGPU-)\S+ (?:is|has been|was) lost\b|GPU lost\b|lost GPU\b|"
        r"unable to determine the device handle|\bgetting device handle for index\b.{0,12}unknown error"
        r"|uncorrect(?:able|ed) (?:volatile |aggregate )?ECC (?:error|fault|memory)|ECC (?:error|"
        r"fault)\b.{0,40}uncorrect|uncorrectable.{0,20}\bECC (?:error|fault)|\buncorrectable hardware error|"
        r"double[- ]bit ECC|ECC (?:error: )?double[- ]bit"
        r"|\bGPU HANG: ecode|\bGPU ?#?\d{0,3} (?:has )?disappeared\b|\bGPU ?#?\d{0,3} (?:is |"
        r"was )?not responding\b(?! \w)|rminitadapter failed|rm_init_adapter failed|"
        r"row remap\w{0,40}.{0,30}\bfail|remapping failure occurred\s*:\s*yes"
        r"|nvidia probe routine failed|GPU.{0,30}requires reset|(?:GPU|device|node)\b.{0,60}\b(?:un|"
        r"not )healthy|(?-i:\b(?:Gpu|GPU)\w{2,40}IsNotHealthy)",
        r"\btimeout, server\b|double[- ]bit ECC(?: errors?)?(?: count)?\s{0,40}[|:=]\s{0,8}(?:0\b|N/A)|"
        r"uncorr\w{0,40} ECC(?: errors?)?(?: count)?\s*[|:=]?\s*(?:0\b|N/A|none)|\bno (?:un|double)|"
        r"\bhealthy: true",
    ),
    rule(
        "hardware",
        FATAL,
        "health check|healthcheck|node check|nhc|gpu check",
        r"(?:health ?check|node check|\bnhc\b|gpu check).{0,60}\b(?:fail|error|critical|unhealthy)|"
        r"\bfail\w{0,40}.{0,30}(?:health ?check|node check|gpu check)",
        r"\bpass|retry|container|endpoint|\b(?:server|router|client|engine)\b|http|\b0 fail",
    ),
    rule(
        "hardware",
        FATAL,
        "hardware error|aer: |edac|memory error|bus error: severity|machine check|thermal|nvlink|ras |amdgpu|"
        "[drm|gpu recovery|heartbeats|gpu reset|notready|not ready|node failure|i/o error|err!|ext4-fs error|gsp",
        r"\[hardware error\]|\bAER: (?:device recovery failed|can't recover)|\bEDAC\b.{0,40}(?:\bUE\b|"
        r"uncorrect|handling mce)|bus error: severity=uncorrect|machine check (?:exception|events logged)|"
        r"\b(?:firmware|fw) (?:internal|fatal) error|\b(?:thermal|temperature|"
        r"overheat\w{0,40}).{0,30}shut(?:ting)? ?down"
        r"|nvlink.{0,40}\b(?:fatal|failed|failure|is down|inactive)|\bI/O error, dev |EXT4-fs error|"
        r"\bHW Exception by GPU\b|\breason ?: ?GPU hang\b|(?<!npm )\bERR!|(?-i:\bGSP\b).{0,30}(?:timeout|"
        r"hang|crash)|\bNodeNotReady\b|\bnode failure on\b|amdgpu.{0,60}(?:gpu reset (?:begin|failed)|"
        r"ring [\w.]{1,16} timeout|ras .{0,20}uncorrect|no-retry page fault|\] page fault|GPU hang|"
        r"VRAM is lost)|\[drm.{0,80}\*ERROR\*(?! Process information)|\bVRAM is lost\b|"
        r"\bGPU recovery (?:failed|disabled)|\bdetector has missed too many heartbeats",
        r"\bcorrected\b|\bCE memory|\bmodeset ownership\b|\bdev (?:loop|fd|sr|ram|zram)\d|\b(?:mgag200|ast|"
        r"cirrus|qxl|bochs|vmwgfx|hyperv_drm|virtio_gpu) ",
    ),
    rule(
        "hardware",
        FATAL,
        "nvrm:",
        r"\bNVRM: .{0,120}\b(?:cannot|failed|fails|failure|timed out|timeout|fatal|invalid context|"
        r"critical error|no nvidia gpu)\b",
        r"API mismatch|^\s*\d+ +NVRM|persistence|\(non-fatal\)",
    ),
    # A driver of another maker that resets a card: a ring or an engine that hangs, a firmware that is silent.
    rule(
        "hardware",
        FATAL,
        "reset|respond|timedout job|gpu hang|device_hung|device_removed|critical error by",
        r"\bamdgpu\b.{0,60}\b(?:reset (?:failed|via MES failed)|failed to (?:respond|reset|halt|unmap|"
        r"suspend|resume)\b)|\b(?:xe|i915) [\da-f:.]{6,20}: .{0,60}\b(?:engine reset|timed ?out job|"
        r"reset failed|GT reset|failed to reset)|\b(?:after|due to|because of) (?:an? )?GPU hang\b|"
        r"(?-i:\bDEVICE_(?:HUNG|REMOVED)\b)",
        ADVICE,
    ),
    # A pool that misses one of its disks or nodes, a device that is gone.
    rule(
        "hardware",
        SERIOUS,
        "nvidia |tesla |quadro |rom is corrupt|degraded|faulted|unavail|devices ha|zio pool|notready|"
        "device is lost|device was lost|device lost",
        r"^\s*state: ?(?-i:DEGRADED|FAULTED|UNAVAIL|SUSPENDED)\b|^\s+\S{1,80}\s+(?-i:DEGRADED|FAULTED|"
        r"UNAVAIL)(?:\s+\d|\s*$)|\bone or more devices (?:has|have|are|is|could)\b|"
        r"\bzio pool=.{1,120}\berror=[1-9]|^\S{1,80}\s{2,}(?-i:NotReady)\b|\bInfoROM (?:is )?corrupt|"
        r"\bdevice (?:(?:is|was|has been) lost\b|lost\W*$)|^\|\s{1,4}\d{1,3}\s{1,4}(?:NVIDIA|Tesla|"
        r"Quadro)\b.{2,30}\b(?:On|Off)\s{1,3}\| [\dA-F]{8}:[\dA-F:.]{7} (?:On|Off) \|\s{2,24}[1-9]\d{0,8} \|",
    ),
    # A disk that is there no more has no blocks.
    rule(
        "hardware",
        FATAL,
        "capacity change",
        r"\bdetected capacity change from [1-9]\d{0,18} to 0\s*$",
    ),
    # A disk, a filesystem or a network card that the kernel gives up.
    rule(
        "hardware",
        FATAL,
        "uncorrected error|context corrupt|i/o error|hc died|journal|read-only|ext4|xfs|btrfs|nvme|"
        "medium error|smart|md/raid|ata|mlx5|unrecovered",
        r"\bI/O error\b.{0,40}\b(?:dev|sector|lba|logical block|writing|reading|sct)\b|"
        r"\blba\b.{0,40}\bI/O error|aborting journal|remounting filesystem read-only|\b(?:EXT4-fs|XFS|"
        r"BTRFS)\b.{0,40}\b(?:error|failed|corrupt\w{0,6}|shut ?down)\b"
        r"|\bnvme\w{0,8}\b.{0,30}(?:controller is down|after probe failure|device not ready|"
        r"I/O .{0,20}timeout|reset .{0,10}fail)|\bxhci_hcd .{0,40}\bHC died|critical medium error|(?:medium|"
        r"unrecovered read) error|md/raid.{0,40}\bfail|\bata\d[\d.]{0,4}: (?:failed command|exception emask)|"
        r"\bmlx5_core\b.{0,60}(?:compromised|fatal|health poll failed|fw error)|\bSMART\b.{0,30}\b(?:failed|"
        r"failure)\b|^\W{0,4}(?:uncorrected error|processor context corrupt)\W*$",
        r"\b0 errors?|ENOSPC|no space left|\bdev (?:loop|fd|sr|ram|zram)\d|\bbytes of corrupted metadata\b|re-?mounted|"
        r"journal checksum|optional",
    ),
    rule(
        "hardware",
        NONE,
        "nvrm:|nvidia-bug-report",
        r"nvrm: (?:a )?GPU (?:at PCI|board serial|crash dump|[\d:.]+: )|nvrm: .{0,20}nvidia-bug-report|"
        r"please run nvidia-bug-report",
    ),
    # --- 3 gpu_oom ---
    rule(
        "gpu_oom",
        WARN,
        "memory|oom",
        r"out[ _]of[ _]memory|\bOOM\b|ran out of memory|OutOfMemoryError\b",
        r"ray\.exceptions|killed process",
        also=SURVIVED,
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory|alloc|cudasuccess|exhausted|oom|reserved in total|rmm failure|gib is|out_of_resources|buffer|"
        "vram|cache|execution failed",
        r"CUDA execution failed with error(?: code:?)? 2\b|CUDA out of memory\. Tried|tried to allocate [\d.]+ ?[KMGT]i?B\b|OutOfMemoryErr|"
        r"ErrorOutOf(?:Device)?Memory\b|_OUT_OF_(?:DEVICE_MEMORY|(?<!CL_OUT_OF_)RESOURCES)|(?:GPU|VRAM|device|"
        r"NPU) memory (?:is |was )?(?:exhausted|insufficient|allocation (?:failed|error))|"
        r"fail(?:ed)? to allocate memory\b|memory object allocation failure|"
        r"failed to allocate (?:a )?(?:memory|buffer|(?!CPU |host )\w{1,12} buffer|compute)\b|(?:unable|"
        r"failed) to (?:allocate|create) (?:\w{1,12} )?(?:CUDA|ROCm|GPU|Metal|Vulkan|kv)\w{0,4} ?(?:buffer|"
        r"cache)|unable to allocate \w{1,12} buffer|would exceed allowed memory|"
        r"^\W{0,4}allocation on device\b|(?<=: |! )allocation on device\b|"
        r"free memory on device .{0,60}less than desired|ran out of (?:GPU|VRAM|CUDA|device)|(?:insufficient|"
        r"not enough) (?:free )?(?:GPU|CUDA|device|video|VRAM)(?: memory)?\b(?! driver)|cuda\.memory\.OutOfMemoryError"
        r"|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|"
        r"cudaErrorMemoryAllocation|cuda(?:Malloc|HostAlloc)\w{0,40} failed|== ?cudaSuccess \(2 vs\. 0\)"
        r"|RESOURCE[ _]EXHAUSTED:(?!.{0,20}/).{0,80}(?:memory|allocat|oom|hbm)|"
        r"ResourceExhaustedError(?!.{0,24}[/\\])|resource exhausted: out\b|OOM when allocating|(?:CUDA|HIP|"
        r"MPS|XPU|NPU|GPU) (?:error: |backend |runtime error.{0,12}: )?out of memory"
        r"|(?:CUDA|HIP)\b.{0,40}\bfailure '?(?:2|out of memory)|bad_alloc.{0,40}CUDA|GiB total capacity;|"
        r"GiB is (?:free|allocated by PyTorch)|GiB (?:reserved in total|already allocated)|"
        r"\.cuh?(?:[(:]| line |: )\s?\d{1,6}\)?\W{1,4}(?:CUDA error: )?(?:CUDA )?out of memory\W{0,3}(?:$|\\n)|thrust::system.{0,120}out of memory|parallel_for failed: out of memory|RMM failure|(?-i:[a-z]Error|"
        r"(?<!LLVM )ERROR|Error): (?:cuda: )?out of memory\b(?! ?:? kill)|out of memory allocating [\d,]{4,20} bytes|"
        r"memory in use\. Of the allocated"
        r"|allocator \(\w{0,20}gpu\w{0,12}\) ran out of memory|ran out of memory trying to allocate|"
        r"out of memory error on GPU|no available memory for the cache blocks|"
        r"failed to alloc\w{0,40} .{0,40}(?:on|from) (?:device|gpu)"
        r"|ran out of memory in memory space (?:hbm|vmem)|hbm.{0,30}exceeded|\bOutOfMemory: |"
        r"\bCudaNdarray\w{0,20}: allocation failed|\bout of memory to allocate \d+ bytes \(total|"
        r"\bout of GPU and shared host memory|HIPOutOfMemory|NVML_ERROR_MEMORY|"
        r"CL_MEM_OBJECT_ALLOCATION_FAILURE|\bcu(?:da)?Mem\w{0,30}\(\):? out of memory|"
        r"out of memory in cu\w{3,40}|out of (?:GPU|CUDA|device) memory|\bOutOfMemory\)|\b(?:onednn|dnnl|"
        r"metal|mps|vulkan|opencl|sycl|level[- ]zero|xpu|npu|mlu|hpu)\b.{0,60}(?:out of|insufficient) memory|"
        r"tokens that can be stored in KV cache|not have enough (?:GPU|video|VRAM|device) ?memory|"
        r"(?-i:\bGpu\w{2,20}) failed to allocate|\[TRT\].{0,80}\bOutOfMemory\b|"
        r"\bcuMem\w{0,20} failed: out of memory|n(?:venc|vdec|vcodec)\b.{0,80}out of memory|"
        r"failed to allocate (?:GPU|device) |failed to allocate request for|INSUFFICIENT_MEMORY",
        r"ray\.exceptions|RayOutOfMemory|java\.lang|cv::|killed process|low on memory|container killed|bytes\. error code 12|"
        + r"to avoid CUDA out of memory|\bmay cause \W|\bhandler\s*$|(?:container|executor) killed|"
        r"disk quota|\bscheduling\b|FailedScheduling|\bnodes? are available|cpu_buffer|\bif you\b|"
        r"\battempts? to (?:catch|avoid|handle)\b|\bmay potentially\b",
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory|oom",
        r"(?:CUDA|GPU|device|HIP|VRAM|cuda).{0,60}\bout[ _]of[ _]memory|out of memory.{0,60}\b(?:GPU|device|"
        r"CUDA|VRAM)\b|\b(?:CUDA|GPU) OOM\b(?!s)|\bgot an OOM\b|OutOfMemoryError"
        r"|\bout of memory\. (?:tried|requested)",
        ADVICE
        + r"|container killed|cv::|low on memory|ray\.exceptions|RayOutOfMemory|java\.lang|\battempts? to (?:catch|avoid|"
        r"handle)\b|kill(?:ed)? process|cgroup|--\w|oom[-_]?kill|oom_score|"
        r"\bsrun: error: \S{1,120}: tasks? [\d,-]{1,200}: ",  # the name of a node may be gpu12
    ),
    rule(
        "gpu_oom",
        FATAL,
        "alloc|reserve",
        r"\b(?:fail(?:ed|ure)? to|unable to|cannot|can.t|could ?n.t|could not) (?:alloc\w{0,6}|"
        r"reserve)\b.{0,60}\b(?:GPU|CUDA|HIP|VRAM|HBM|XPU|NPU|KV cache|device memory|on device)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\bpinned\\b|\\bhost\\b|cpu_buffer|\\bnodes? are available|\\bunhealthy devices\\b|no space left",
    ),
    # Other makers' cards, by the words of their runtimes.
    rule(
        "gpu_oom",
        FATAL,
        "memory|pt_devmem",
        r"\bMemory not enough\. Device\(|\bout of HBM memory\b|\bPT_DEVMEM\b.{0,40}\ballocation failed|"
        r"(?-i:\[(?:ERROR|CRITICAL)\] DEVICE\(\d).{0,240}\b(?:m?alloc\w{0,6} (?:\w{1,12} )?failed|out of memory|memory not enough)\b",
        SURVIVED,
    ),
    # --- 4 host_oom ---
    # A guess at causes is none: what is sure is that the worker is gone.
    rule(
        "exception",
        FATAL,
        "worker|possible reasons",
        r"\bWorker exit type: |worker died or was killed while executing|"
        r"\bpossible reasons include\b.{0,20}\bSIGKILL",
    ),
    rule(
        "host_oom",
        FATAL,
        "memory|oom|bad_alloc|bus error|ram|allocate|memlimit|killed process|exceeded mem|exceeded v",
        r"out of memory: kill|\bexceeded (?:v?mem|memory|virtual memory) (?:usage )?(?:hard |soft )?limit|"
        r"oom[-_ ]kill|OOMKilled|oom_reaper|\bOOM event\b|\bcontainer oom\b|memory cgroup out of memory|"
        r"exceeded (?:job |step |its |the )?memory limit|memory limit exceeded|exceed(?:ed|"
        r"ing) .{0,24}\bmemory limit|exceeding memory limits?|container killed (?:due to|"
        r"by \w{1,12} for exceeding) .{0,24}memory"
        r"|killed by signal(?:ed)?: (?:Killed|Bus error)|(?<![A-Za-z])(?:_?Array)?MemoryError\b|"
        r"cannot allocate memory|std::bad_alloc|(?:^\W{0,24}|Error: |exception: )bad allocation\b|"
        r"DefaultCPUAllocator|(?:notebook|session|kernel).{0,60}\b(?:memory|RAM)\b"
        r".{0,60}(?:restart|crash)|crashed .{0,40}using all available RAM|"
        r"tried to allocate more memory than is available|insufficient shared memory|out of shared memory|"
        r"task \d+: out of memory"
        r"|ray\.exceptions\.OutOfMemoryError|RayOutOfMemoryError|paging file is too small|"
        r"java\.lang\.OutOfMemoryError|\bSystem\.OutOfMemoryException\b|\bcannot allocate vector of size\b|unable to allocate [\d.]+ ?[KMGT]i?B|state=OUT_OF_ME|"
        r"\bOUT_OF_ME(?:MORY|\+)|TERM_MEMLIMIT|invoked oom-killer|no killable processes|result 'oom-kill'"
        r"|job killed: (?:p?v?mem)|killed due to memory|unable to mmap(?!.{0,160}invalid argument)|"
        r"low on memory|low on resource: memory|killed process \d+.{0,60}(?:total-vm|anon-rss)|"
        r"exceeded (?:its|the) memory|out of host memory|requires more system memory|"
        r"memory pressure.{0,30}kill|out of memory$|^out of memory",
        ADVICE
        + r"|continuing anyway|\bmlock\b|\bpinned memory\b|\bignored\s*$|oom[-_]kill(?:_disable|ed=?0)|"
        r"\boom[-_]kill\w{0,40}[\"']?\s*[:=]?\s*(?:0\b|false)",
    ),
    # Windows' page file, in whatever language.
    rule(
        "host_oom",
        FATAL,
        "[winerror|页面文件|memory resources|system resources exist",
        r"\[WinError (?:8|14|1450|1455)\]|页面文件太小|\bnot enough memory resources are available\b|\binsufficient system resources exist\b",
        "如果",
    ),
    rule(
        "host_oom",
        FATAL,
        "excessive memory|gone over memory|the allowed|the available|the maximum|oomd|perhaps out of|enomem|"
        "kernel appears|memory budget|fork: |shared memory object|shared memory segment|shm.|posix_fallocate|"
        "/dev/shm/|enforce fail at alloc|memory limit|container exceeded|low memory|badness|oom_score|"
        "by yarn|insufficient memory|cpu_buffer|cpu buffer|due to memory|cv::outofmemory",
        r"\b(?:killed|held|removed|aborted|terminated)\b.{0,60}\bexcessive memory\b|\bgone over (?:the |"
        r"its )?memory limit\b|\bexceed(?:s|ed) the (?:allowed|available|maximum) (?:RAM|memory)\b|"
        r"\bperhaps out of memory\?|\bfailed to allocate CPU buffer|\bENOMEM\b|\bkernel (?:for \S{1,60} )?appears to have died|\bmalloc failed\b|"
        r"\boomd\b.{0,20}\bkilled\b|\bexceeded \d+% memory budget|"
        r"^(?:\S{1,40}: )?fork: (?:retry: )?(?:resource temporarily|cannot alloc)|"
        r"(?:\b(?:shared memory(?: object| segment)?|shm\.\w{1,3}:\d|shm_open|posix_fallocate)\b|/dev/shm/)"
        r".{0,120}\bno space|\bno space left on device\b.{0,8}/dev/shm/|"
        r"\bfailed to extend /dev/shm/|\[enforce fail at alloc_cpu|\bmemory limit (?:was )?exceeded\b|"
        r"\bcontainer exceeded .{0,20}memory|\bkilled /\S{1,300} due to memory|\blow memory! at or below|"
        r"\bto process \d+.{0,60}\b(?:badness|oom_score)\b|container killed (?:due to|"
        r"by \w{1,12} for exceeding) .{0,24}memory|\binsufficient memory (?:\(|for )|"
        r"cpu_buffer\w{0,40}: failed to alloc|\bcv::OutOfMemoryError",
    ),
    rule(
        "host_oom",
        FATAL,
        "bus error|killed by signal|shared memory",
        r"killed by signal: (?:Killed|Bus error)|unexpected bus error encountered in worker|"
        r"might be caused by insufficient shared memory",
    ),
    rule(
        "gpu_oom",
        FATAL,
        "memory",
        r"\b(?:out of|not enough|insufficient|ran out of|exhausted|lack of) (?:\w{1,12} )?memory\b|"
        r"\bmemory (?:is |was )?exhausted",
        BESIDE + r"|\bkill|cgroup|\bhost\b|\bCPU\b|\bRAM\b|\bjava\b|ray\.|\bmalloc\b",
        also=RAISED,
    ),
    # --- 5 disk_full, inode ---
    rule(
        "inode",
        FATAL,
        "inode",
        r"\b(?:no (?:more )?(?:free )?|out of |run out of |low on resource: )inodes?\b|inodes? (?:are )?(?:exhausted|full|"
        r"limit (?:reached|exceeded))|inode\w{0,12}[^%\n]{0,30}\b(?:9[5-9]|100)(?:\.\d+)?\s?%|(?:9[5-9]|"
        r"100)(?:\.\d+)?\s?% (?:of )?inodes\b|inode quota exceeded",
        ADVICE,
    ),
    rule(
        "disk_full",
        FATAL,
        "no space|% full|quota|enospc|inline_container|streamwriter|file write failed|iostream|"
        "unexpected pos|ephemeral|disk|system full|: i/o error|errno 28|errno 122|evict|not enough space|insufficient space",
        r"\bwrite\(\): fd \d+ failed|failed to write to .{0,20}file ?system|\bwrote only \d+ of \d+ bytes|"
        r"\b(?:echo|printf): I/O error$|\bshort write\b|\bwrote \d+ \w{1,10} instead of \d+|\b\d{2,18} requested and \d{1,18} written\b|"
        r"\bwrite error \((?:file ?system|disk) full\?\)|no space(?: is)? left|disk quota exceeded|(?<!rate )(?<!\bGCE )(?<!\bGPU )(?<!CPU )(?<!\bregional )quota (?:is |has been )?exceeded(?! for (?:resource|quota|metric|vCPU|CPU|GPU|instance))|\bENOSPC\b|"
        r"enforce fail at inline_container(?!.{0,60}StreamReader)|PytorchStreamWriter|file write failed|"
        r"basic_ios::clear: iostream error|iostream error|unexpected pos \d+ vs"
        r"|low on resource: ephemeral|ephemeral[- ]storage.{0,60}exceed|exceeds?.{0,40}ephemeral|"
        r"ephemeral local storage usage exceeds|not enough (?:free )?(?:disk )?space(?! in (?:the|a|its) (?:\w{1,12}'?s? )?(?:buffer|memory|pool|stack|heap))|"
        r"insufficient (?:free )?(?:disk )?space|disk (?:is |space is )?(?:nearly |almost )?full(?! of\b)|errno (?:28|"
        r"122)\b"
        r"|(?:run|ran|running) out of disk|out of disk ?space|\blow disk space: \d|is over 9\d(?:\.\d+)?% full|(?<!No)DiskPressure|"
        r"evicted.{0,40}(?:storage|disk)",
        ADVICE + r"|DiskPressure\s+False|api quota",
    ),
    rule(
        "disk_full",
        SERIOUS,
        "checkpoint|ckpt|weights|state_dict|snapshot|disk space",
        r"\b(?:could not|cannot|failed to|unable to) (?:save|write) .{0,60}\bdisk space\b|"
        r"\b(?:fail(?:ed|ure|s)?|unable|could ?n.t|could not|cannot|can.t|error|exception)\b.{0,24}\b(?:sav|"
        r"writ|stor|dump|serializ)\w{0,6}\b.{0,40}(?:checkpoint|ckpt|weights|state_dict|snapshot)|"
        r"(?:checkpoint|ckpt) (?:save|saving|write|writing) (?:has )?failed|\b(?:writing|saving) (?:checkpoint|ckpt)\b.{0,30}\bfailed\b",
        SURVIVED + r"|\b(?:is|are) not (?:json )?serializable|" + ADVICE,
    ),
    rule(
        "disk_full",
        SERIOUS,
        "disk|volume|filesystem|partition|storage|mount|space|% full|% used",
        r"(?:\s|^)/[\w./-]{1,80} (?:(?:is|at) (?:9[0-9]|100)(?:\.\d+)?\s?%|(?:9[0-9]|100)(?:\.\d+)?\s?% (?:used|full)\b)|\b(?:disk|volume|filesystem|"
        r"file system|partition|storage|mount(?:ed)?|disk space)\b[^%\n|]{0,60}?\b(?:9[0-9]|"
        r"100)(?:\.\d+)?\s?%(?!\||\d| (?:free|available|left|idle))|(?:9[0-9]|100)(?:\.\d+)?\s?% (?:full|"
        r"used)\b.{0,40}(?:\bdisk|\bvolume|\s/)"
        r"|\bonly [\d.]+ ?[KMG]i?B (?:left|free|remaining|available).{0,30}(?:disk|volume|/)|\b(?:disk|"
        r"volume|storage)\b.{0,30}\bonly [\d.]+ ?[KMG]i?B (?:left|free|remaining|available)",
        r"\b(?:gpu|ram|memory|cpu)\b|it/s|B/s|download|read-only|\bro\b|" + ADVICE,
    ),
    rule(
        "disk_full",
        FATAL,
        "full|space|storage|exhausted",
        r"\b(?:disk|volume|file ?system|partition|drive|scratch|storage|overlay|tmpfs)\b[^.%\n]{0,24}\b(?:is|"
        r"was|has become|ran) (?:now |completely |almost |nearly )?(?:full(?! of)|exhausted|out of space)\b|"
        r"\b(?:ran|run|running) out of (?:disk |storage |local |free )space\b|\b(?:not|n.t) (?:enough|"
        r"sufficient) (?:(?:free |disk |storage ){1,2}(?:space|room)|(?:free )?(?:disk|"
        r"storage))\b(?! memory)|\bno free (?:disk )?space\b",
        f"{ADVICE}|{CALM}|\\baddress space|\\bmemory\\b|\\bsearch space",
    ),
)
