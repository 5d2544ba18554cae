"""Labels 1 to 15: the rules that name a cause, as one table in triage order. The first that fits decides.

Patterns have no nested repeats and only bounded gaps, so their time is linear in the line. To teach a
new framework, add a word to a pattern or a row to the table; the last text of a row says when the same
words mean nothing (advice, options, a failure that was survived).
"""

from __future__ import annotations

from gpu_tui.parse.triage_daemons import DAEMON_CAUSES, DAEMON_QUIET, DAEMON_STOPS
from gpu_tui.parse.triage_machine import BESIDE, MACHINE, RAISED
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
    Rule,
    rule,
)
from gpu_tui.parse.triage_runs import RUN_CAUSES, RUN_STOPS

CAUSES: tuple[Rule, ...] = (
    *DAEMON_QUIET,
    *MACHINE,
    *DAEMON_CAUSES,
    *RUN_CAUSES,
    # --- 6 hang ---
    rule(
        "hang",
        FATAL,
        "timeout|time-out|timed out|timing out|hangs|unresponsive|stopped responding|not respond|heartbeats|notify register|waiting for|stuck|watchdog|heartbeat|process down|blocked for|lockup|stall|hung_task|starved|timeout signal|missing ranks|remainder of ranks|hung|deadlock|no progress",
        r"\bkthread starved for \d|\breceived a timeout signal from\b|\bstream sync(?:hronize)? timeout|\binternal task times out|\btime-?out\b\W{1,3}(?:ending|exiting|abort\w{0,3}|giving up|killing|terminat\w{2,3}|quitting)\b|\b(?:GPU|device) ?#?\d{1,3} (?:hangs|hung|is hung|stopped responding|is not responding|is unresponsive)\b|\b(?:rank|worker|node|replica|host) \S{1,20} (?:has |did )?not (?:responded|respond|responding)\b(?! to SIG)|\bNCCL time-?out\b(?! ?[=:]| set| to|_)|\bwatchdog timeout(?: \(|!|\.|$| (?:occurred|triggered|detected|fired|expired))|\bcould ?n.t get a response\b.{0,40}\bseconds|\btime-?out waiting for (?:all )?(?:other )?(?:ranks?|workers?|processes|nodes|clients|peers)\b|\b(?:training|job|run|process) (?:has |is |have )?stalled\b|seconds waiting for clients|\b(?:no|lack of|missed|missing|lost) heartbeats?\b(?! of its)|\bheartbeat (?:was )?(?:not received|lost|missed|expired|timed out|timeout)|\bwait execution of the notify register times out|collective operation timeout|(?:failure|timeout\)?) (?:is |was )?detected by watchdog|ran for \d+ milliseconds before timing out|timeout at NCCL work|watchdog.{0,40}\b(?:got stuck|timed out|expired|fired|hung|no progress|terminated with)|watchdog\b.{0,60}\bterminating|watchdog hang|no heartbeat of its watchdog|without making progress in monitoring"
        r"|Error: DEADLINE_EXCEEDED: Deadline exceeded|heartbeat ?monitor.{0,60}(?:timed|stuck|timeout)|taking the entire process down|operations have failed or timed out|monitoredBarrier|dataloader timed out|blocked for more than \d+ seconds|\bsoft ?lockup\b|hard lockup(?! detector)|\bhung_task: blocked|\bworkqueue lockup"
        r"|self-detected stall|detected stalls? on|may be stuck|^missing ranks|stalled (?:ranks|tensors?|ops)|waiting for remainder of ranks|(?:a|due to) collective timeout|collective.{0,30}timed out|timed out waiting \d+ ?ms for (?:recv|send)|timed out initializing process group"
        r"|wait timeout after \d+ ?ms|termination timeout for|barrier.{0,40}timed out|timed out.{0,40}barrier|no progress (?:in|for|since) \d+|\b(?:job|rank|process|worker|training|run|node) (?:\S+ )?(?:is |has |appears? )?(?:hung|stuck|deadlocked)\b"
        r"|deadlock detected|\bstuck for \d+ ?s|received a dump signal|observed (?:flight recorder )?dump signal",
        r"can (?:potentially |also )?(?:cause|hang|lead)|(?:might|could|may) (?:hang|cause)|to avoid hang|coordination_service|options:.{0,200}timeout\(ms\)|if .{0,40}\bhang|retrying|terminated with exception: (?:\[[^\]]{1,40}\] )?(?:CUDA|NCCL) error",
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
        "nccl warn|net/ib|net/ofi|c10d|socket|ifname",
        r"NCCL WARN.{0,20}(?:lib wrapper not|NET/IB : (?:No device|Unable to open|No IB)|Failed to open libib|.{0,40}(?:not found|plugin|libibverbs)|Missing|Could not (?:enable|find a path)|.{0,40}\bACS\b|.{0,30}iommu|.{0,24}\bGot async event ?: (?:client rereg|port active|[\w_ ]{2,12} change\b|communication established|last WQE|path migrated|send queue drained))|errno: 97\b|\[W[^\]]{0,60}\bsocket\.cpp:\d{1,5}\] \[c10d\]|\bibv_open_device\b.{0,24}\bfailed|hostname of the client socket cannot be retrieved"
        r"|NET/(?:IB|Socket|OFI).{0,30}\b(?:skipp|not found|No device)|\bNET/OFI (?:aws-ofi-nccl initiali[sz]ation failed|Only EFA)",
    ),
    # By name, then what the library always advises.
    rule(
        "nccl",
        FATAL,
        "nccl",
        r"^\W{0,4}(?:\[?rank ?\d{1,5}\]?: )?(?-i:nccl(?:System|Internal|Remote|UnhandledCuda|InvalidUsage)Error): ",
    ),
    rule(
        "nccl",
        FATAL,
        "nccl|distbackend|gloo|client socket|server socket|rendezvous|tcpstore|recvvalue|sendbytes|distnetwork|diststore|ucx|ibv_|deadline_exceeded|startconnect|pollconnect|warn call to|horovod|mpi_abort|remote peer|remote process|coordination|lost peer|lost connection to rank|lost communication|peer|store",
        r"\b(?:H|N|R|Bi?)CCL[_ ]error\b|\bh?ccl\w{4,40} failed|\boneCCL: .{0,120}\bexception|\bgot completion (?:with error|from peer \S{1,60} with (?:error|status=[1-9]))|\bpeer closed connection\b|\b(?:ib port \S{1,30} (?:went|is) down|mlx5_\d{1,3}: link (?:is )?down)|\bMPICH ERROR\b|\bORTE was unable\b|\bNCCL error|retrieving ncclUniqueId|\bduplicate GPU detected\b|\bdistributed service detected fatal errors|Error: Socket Timeout$|nccl(?:System|UnhandledCuda|Internal|Remote|Timeout)?Error\b|ncclInvalid(?:Usage|Argument)|DistBackendError|NCCL communicator (?:was|encountered)|communicator.{0,20}\baborted|unhandled (?:system|cuda) error|NCCL WARN|WARN Call to \w{1,20} failed|NCCL failure|NCCL INFO.{0,60}(?:Connection (?:refused|reset|timed)|Call to)"
        r"|gloo/\S+:\d+\]|connect\(\) timed out\. original timeout|client socket has (?:timed out|failed)|server socket has failed|Rendezvous\w{0,40}(?:Error|Timeout)|rendezvous.{0,40}\b(?:failed|timed out)|TCPStore.{0,60}(?:fail|broken|reset|closed|timed)|(?:recvValue|sendBytes|recvBytes|recvVector) failed|Dist(?:Network|Store)Error|UCX +ERROR|ibv_\w{1,40} failed"
        r"|transport retry count exceeded|\bPMIX ERROR\b|HorovodInternalError|DEADLINE_EXCEEDED: connect|socket(?:Start|Poll)Connect|Horovod has been shut ?down|MPI_ABORT|connection closed by remote peer|tried to connect with a different incarnation|\bhccl\w{3,40}, error code|lost communication with (?:a remote|its daemon)|exception hit in NCCL work\b|remote process exited|coordination (?:service|agent).{0,80}\b(?:error|unavailable|fail|timed|disconnect)|lost (?:peer|connection to (?:rank|peer|worker))|connection (?:closed|reset) by peer \[|peer.{0,30}\b(?:disconnected|unreachable|died)|failed to (?:recv|connect to|receive).{0,40}\b(?:rank|peer|store)\b|\[c10d\].{0,60}(?:fail|reset|closed|timed out)",
        r"process group has NOT been destroyed|failed to shut ?down the rendezvous|retrying|will retry|"
        + ADVICE,
    ),
    rule(
        "nccl",
        FATAL,
        "nccl|gloo|process group|process_group|allreduce|all_reduce|allgather|all_gather|rendezvous",
        r"\b(?:nccl|gloo)\b|init_process_group|\bprocess group\b|\ball_?(?:reduce|gather)\b|\brendezvous\b",
        BESIDE
        + r"|\bunexpected keyword|\bgot an\b|\bsupports?\b|(?:Attribute|Type|Name|Value|Key|NotImplemented)Error|Misconfig|\b(?:required?s?|must|already|twice)\b|\b(?:only|not|n.t|never) (?:yet |been |currently |a )?(?:supported|implemented|created|initiali[sz]ed|defined|enabled|set|available)\b",
        also=RAISED,
    ),
    # --- 8 cuda_error ---
    rule(
        "cuda_error",
        FATAL,
        "cuda|cudnn|cublas|invalid device|nvml|nvidia|hip|hsa_|rocm|rocblas|metal|ascend|acl|npu|ee9|ez9|ei9|eh9|sync|gpu node|no supported devices|level-zero|pi_error|gpuassert|cutlass|ggml|nvcc|launch failed|engine to execute|curand|api mismatch|kernel image|device-side|illegal memory|launch failure|misaligned|no devices were|thread: [|cufft|cusparse|miopen|cuinit|forward compat",
        r"\bCuError\(|\binvalid context in cu\w{2,40}\(|could not insert \W?nvidia|\bCUDA kernel errors detected|\bCUDA init\w{0,12} fail\w{1,4}\b|^no (?:GPU |CUDA )?devices? found\W*$|\bGPU ?#?\d{1,3}: unknown error|\bCUDA call error code\b|\bNVRTC error\b|\b(?:no GPUs?|no CUDA device|no device|GPU) (?:was |were )?(?:found|detected)\W{1,3}(?:exiting|aborting|quitting|stopping)|failed to get device handle\b|\bMIOpen error\b|the inner error is reported as above|\bCNRT_RET_ERR\w{1,40}|\bMLU (?:unknown |queue )?error\b|\bMUSA error\b|\bCNCL error\b|(?-i:\bE[1-9]\d{4}: (?!.{0,40}memory))|(?<!dlerror: )libcuda\.so\S{0,4}: cannot open|\bno CUDA runtime is found\b(?!, using)|\b(?:GPU|CUDA) (?:device )?(?:is )?(?:not available|not found|unavailable)\b.{0,12}\b(?:exit|abort|quit|stop)|\bCUDA driver (?:initiali[sz]ation failed|error)|thrust::system::system_error|(?-i:\bcuda[A-Z]\w{2,30}\(?\)?).{0,30}\bfailed\b|could not (?:locate|load)(?: library| symbol)? \S{0,40}cud(?:nn|art)|\bCUDA (?:context|stream|device|kernel|event|graph|API)\b.{0,24}\berror\b|kernel\b.{0,20}\bfail(?:ed|s)? to launch|\bCUDA call failed|(?-i:\bcu[A-Z]\w{2,30}) failed\b|illegal address in CUDA|\bsynStatus ?= ?[1-9]|synapse error|CUDA (?:runtime )?error(?!s)|(?-i:CUDA_ERROR_(?!OUT_OF)[A-Z]\w{1,40})|device-side assert|illegal memory access|illegal instruction was encountered|misaligned address|(?:unspecified )?launch failure|no kernel image|cublas runtime error|error from cudaGetDeviceCount|cuda\.is_available\(\) (?:returned|is) False: abort|no CUDA-capable device|no CUDA GPUs are available|no devices were found"
        r"|found no NVIDIA driver|NVRM: No NVIDIA (?:graphics adapter|GPU|devices?)(?: was)? (?:found|probed)|NVIDIA driver on your system is too old|NVRM: API mismatch|GPUassert: |\bfind an engine to execute this computation|\bTHCudaCheck FAIL\b(?!.{0,160}out of memory)|\bcuDNN version incompatib|\bcuSolver internal error|\bPTX JIT compilation\b|\bUNKNOWN_CUDA_ERROR\b|\bCUDA exception\b|\bthe launch timed out and was terminated|cutlass error|CUTLASS_CHECK|CUDA backend failed|\bGGML_ASSERT\b.{0,60}cuda|\[CUDA\] (?!info|using|version)|invalid device (?:pointer|ordinal|function)|\b(?:[a-z]?gemm|[a-z]?gemv|blas|cublas|cudnn|kernel)\w{0,12} launch failed|failure to initialize cublas|\bcu(?:rand|blas|dnn|sparse|solver|fft) error\b|CURAND_STATUS_(?!SUCCESS)\w{1,40}|cuda ?driver error|CUDA driver version is insufficient|communicate with the NVIDIA driver|driver/library version mismatch|failed to initialize NVML|forward compatibility was attempted|failed call to cuInit"
        r"|CUDNN_STATUS_(?!SUCCESS)\w{1,40}|cuDNN error|CUBLAS_STATUS_(?!SUCCESS)\w{1,40}|CUFFT_(?!SUCCESS)[A-Z_]+|cuFFT error|CUSPARSE_STATUS_(?!SUCCESS)\w{1,40}|CUSOLVER_STATUS_(?!SUCCESS)\w{1,40}|cudaError(?!_t|String)\w{0,40}|Cuda(?: kernel)? fail\w{1,40}|HIP error|hipError\w{0,40}|MIOpen(?:\(HIP\))?: ?error|miopenStatus(?!Success)\w{1,40}"
        r"|block: \[\d+,\d+,\d+\], thread: \[|torch not compiled with CUDA|CUDA unknown error|unable to find a valid cuDNN|\bDNN library (?:is not found|initiali[sz]ation failed)|cannot create (?:cu(?:blas|dnn|rand|solver)) |could not (?:create cudnn handle|load library libcu)|cuda is not available|deserialize object on a CUDA device|CUDA initialization:|triton.{0,30}CUDA: error|triton error \[|no supported devices found|\bthere is no (?:gpu )?devices?\b.{0,20}\b(?:can be|available|usable)|\bpossibly no GPU devices|\b(?:kernel )?module is NOT loaded\b|\brt\w{4,40} execute failed|\bPhysX Internal CUDA error|(?-i:\bduring cuda[A-Z]\w{2,40}\b)|HSA_STATUS_ERROR\w{0,40}|memory access fault by GPU|rocblas_status_(?!success)\w{1,30}|rocBLAS error|PI_ERROR_DEVICE\w{0,30}|\bacl(?:rt)?\w{0,40} (?:failed|error)|ACL (?:stream synchronize )?(?:failed|error)|command buffer execution failed|nvidia-container-cli: \w{1,20} error|could not select device driver|cudnn failed to initialize|\bCuDNN library: .{0,80}\bsource was compiled with\b|\binsufficient driver version\b|failed to initialize the NVIDIA|\binitialize the NVIDIA GPU\b|nvmlinit\w{0,10} failed|NPU (?:function )?error|\baclrt\w{0,40}\(.{0,80}failed|\bascend\b.{0,40}\b(?:failed|error code)|(?:sync_?stream|stream synchronize|synchronize ?stream|sync ?device)\w{0,20} (?:execute )?(?:failed|timeout)|(?-i:(?:^|: )E[A-Z]\d{4}: (?!.{0,40}memory))|device synchronize failed",
        r"^\W{0,4}search for\b|\bprolog\b|internal error :(?! PhysX Internal CUDA)|errors might be asynchronously|TORCH_USE_CUDA_DSA|register (?:cu|factory)|CUDA_LAUNCH_BLOCKING=|\bfalling back|cuda is not available.{0,60}\b(?:using|cpu|disabling)|"
        + r"not available, defaulting|\bdisabled\.?\s*$",
    ),
    rule(
        "cuda_error",
        FATAL,
        "cuda|cudnn|cublas|hip|rocm|nvml",
        r"\b(?:CUDA|cuDNN|cuBLAS|HIP|ROCm|NVML)\b.{0,40}\b(?:error|failed|failure|fault|exception|invalid|illegal|not initiali[sz]ed|launch|unavailable)\b",
        BESIDE,
        also=RAISED,
    ),
    # A check of a status, and a library of the GPU that could not do its work.
    rule(
        "cuda_error",
        FATAL,
        "cudasuccess|fft|blas|dnn|solver|sparse|gpu|critical error by|api failed|during kernel execution|error code|vkresult|module 'nvidia|capable device|nrt::|nrt_|neuron|open kernel modules|devices|device index",
        r"\bmemory (?:critical error|access fault) by (?:GPU|agent)\b|\bGPU memory access fault\b|\bno (?:\w{2,12} )?capable devices? found\b|\bNrt::\w{2,20} failed\b|\bnrt_\w{2,30} status=[1-9]|\bunable to determine Neuron\b|(?:^|\] |: )(?:failed to|unable to|could not|cannot) (?:initiali[sz]e|open|acquire|find) (?:the |any )?(?:GPU |NPU |TPU |HPU |CUDA )?devices?(?:,| index|\W*$)|\bVkResult ?[=:] ?-[1-9]|\b(?:unable|failed) to load the kernel module 'nvidia|\brequires use of the NVIDIA open kernel\b|\bPTX was compiled with an unsupported\b|\bGPU crash (?:has |was |is )?(?:occurred|detected)|\bacl api failed\b|\bthrown during kernel execution\b|\binvalid error code \(\d{1,4}\)|== ?cudaSuccess \(\d{1,4} vs\. 0\)|\bfailed to (?:create|init\w{0,9}|execute|set) (?:an? |the )?(?:cu|hip|roc)(?:fft|blas|dnn|sparse|solver)\b|\b(?:cu|hip|roc)(?:fft|blas|sparse|solver) (?:plan |handle )?(?:creation|execution|init\w{0,12}) failed\b|\bGPU[- ](?:function|kernel|operation) (?:has )?failed\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
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
        "streamreader|central directory|load key|unpickl|pickle|unexpected eof|state_dict|size mismatch|safetensor|deserializing|weights only|ran out of input|badzip|not a zip|truncated|checkpointexception|bad magic|loaded state dict|loading model|load model|load the|load weights|weight file|layer count|found in checkpoint|unable to open|unable to synchronously|magic number|dataloss|sstable",
        r"\bCheckpointException:|\(bad magic\)|\b(?:checkpoint|ckpt) shard .{0,20}\b(?:is )?(?:missing|corrupt\w{0,3}|not found)|\bcheckpoint was saved with a different\b|\bno metadata found for checkpoint|\b(?:md5|sha\d{0,3}|checksum|hash|crc)\w{0,4} (?:mismatch|does not match|error|fail\w{0,4})\b.{0,40}\b(?:checkpoint|ckpt|weights|model|\.pth?|\.safetensors)\b|PytorchStreamReader|storage has wrong size|\bsize mismatch between saved|failed finding central directory|invalid load key|UnpicklingError|pickle data was truncated|unexpected EOF(?:, expected|\. )|error\(s\) in loading state_dict|size mismatch for [\w.]{1,80}|(?:missing|unexpected) key\(s\) in state_dict|SafetensorError|error while deserializing header"
        r"|weights only load failed|ran out of input|BadZipFile|file is not a zip file|truncated file|unable to (?:synchronously )?open (?:file|object) \(|invalid magic number|DataLossError|\] Data loss: |not an sstable|too short to be an sstable|loaded state dict (?:contains a parameter group|has a different number)|unable to load weights from|error loading model\b|(?:failed|unable) to load (?:the )?(?:\w{1,12} )?model\b|trying to load a weight file containing|layer count mismatch when loading|not found in checkpoint\b|\bgguf_init_from_file: (?:failed|invalid)",
        r"\.(?:jpe?g|png|tif)\b",
    ),
    rule(
        "ckpt_corrupt",
        SERIOUS,
        "checkpoint|ckpt|resum|snapshot|weights|restor|corrupt",
        r"(?:checkpoint|ckpt|snapshot|weights|\.pth?\b|\.safetensors)\b.{0,60}\b(?:corrupt\w{0,40}|truncated|damaged|unreadable|is incomplete)|corrupt(?:ed)? (?:checkpoint|ckpt|snapshot|file .{0,60}\.(?:pt|pth|ckpt|safetensors)\b)"
        r"|(?:fail(?:ed|ure|s)?|unable|could ?n.t|could not|cannot|can.t|\berror)\b.{0,24}\b(?:load\w{0,40}|read(?!iness|y)\w{0,40}|restor\w{0,40}|resum\w{0,40}|deserializ\w{0,40})\b.{0,60}\b(?:checkpoint|ckpt|snapshot|state|weights|training state)|(?:failed|unable|could not) to resume|resum(?!able)\w{1,40}.{0,40}\b(?:failed|skipped)"
        r"|=> no checkpoint found at|checkpoint.{0,40}\b(?:load(?:ing)? failed|failed to load|could not be loaded|does not exist|not found)\b.{0,60}(?:scratch|skipp|start)",
        r"\bimages?\b|jpe?g|\bsamples?\b|\blabels?\b|\b0 corrupt|optimizer state.{0,20}not found|pretrained",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "checkpoint|state_dict|state dict|safetensors|.ckpt|.pth",
        r"\b(?:checkpoints?|state[_ ]dict|safetensors)\b|\.(?:ckpt|pth|safetensors)\b",
        BESIDE
        + r"|NotImplemented|\brequires?\b|\b(?:not|n.t|only) (?:yet |currently |been )?(?:support\w{0,3}|implemented)\b|\blimited to\b|\bactivation|\bsav(?:e|ing)\b|\bwrit|No such file|FileNotFound|\bdownload|\bgradient|arguments?\b",
        also=r"(?-i:Error|ERROR|failed|Failed|FATAL)\b.{0,120}\b(?:load|read|restor|resum|deserial|corrupt|invalid|mismatch|missing|unexpected|incompatible|incomplete)|\b(?:load|read|restor|resum|deserial|corrupt|invalid|mismatch|missing|unexpected|incompatible|incomplete)\w{0,8}\b.{0,120}\bfailed\b",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "checkpoint|ckpt|state_dict|state dict|weights|snapshot",
        r"\b(?:checkpoints?|ckpt|state[_ ]dict|(?:model|pretrained|saved) weights|snapshot)\b.{0,60}\b(?:mismatch\w{0,3}|do(?:es)? ?n.t match|do(?:es)? not match|incompatible|corrupt\w{0,3}|unreadable|invalid|malformed)\b|\b(?:mismatch\w{0,3}|incompatible|corrupt\w{0,3}|malformed)\b.{0,40}\b(?:checkpoint|ckpt|state[_ ]dict)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\bwarn|\\b0 corrupt|exactly|\\bargument|\\bpath\\b|gradient.checkpoint|activation.checkpoint|checkpointing",
    ),
    # --- 10 preempted ---
    *RUN_STOPS,
    *DAEMON_STOPS,
    rule(
        "preempted",
        FATAL,
        "timeout exceeded|job was held|job was removed|job was suspended|cancelled|canceled|evicted|wallclock|wall clock|deleted at|requeue|requeing|requeuing|terminating |timed-out|timed out|timeout|node_fail|time limit|preempt|step aborted|job termination|spot|walltime|runlimit|run time limit|revoked|force terminated|reclaim|interruption|maximum runtime|deadline",
        r"\bwill be preempted\b|^(?:\s*\"?reason\"?:)?\s+\"?(?:Evicted|Preempt\w{1,8}|NodeShutdown|NodeLost|TerminationByKubelet)\"?,?\s*$|\bWarning\s+(?:Evicted|Preempt\w{1,8}|NodeShutdown)\s|^scancel: terminating job|\b(?:run|job|task) cancell?ed by (?:the )?scheduler|\boutbid\b|\bjob was (?:held|removed|suspended)\b|\b(?:notebook|session|job|run|kernel|cell|step)\b.{0,12}\btime-?out exceeded\b|\bjob (?:was )?evicted\b|\bjob was aborted by the user\b|\bimminent node shutdown|\b(?:allocation|lease|reservation) (?:has )?expired\b|\bhit its timeout of\b|\btimed out waiting for job step\b|\breceived a cancellation signal|\bthe operation was cancel|\*\*\* (?:JOB|STEP)\b.{0,80}\bCANCELLED|^\S{1,60}\s+(?:\S{1,80}\s+)?\d{1,3}/\d{1,3}\s+(?:Evicted|Preempt\w{1,8})\s|\bhost EC2 \(instance [\w-]{1,40}\) terminated|CANCELLED AT|due to (?:time limit|wall ?clock)|due to preemption|due to node fail|job step aborted|^srun: (?:[\w/]{1,24}: ){0,2}terminating |^.{0,12}job has timed out|not requeued because|^\s{0,4}\d{3,12}(?:[._+]\w{1,12})?\s.{0,120}\b(?:TIMEOUT|CANCELLED\+?|PREEMPTED|NODE_FAIL)\s.{0,60}\d:\d|this job is preempted|eviction_manager.{0,80}\bevicted\b|handling auto-requeue signal|requeu?ing job \d|forcing job termination|(?:been|was|is|were|being|got) preempted|^preempted|: preempted\b|\bpreempted (?:by|at|on) |job allocation \d+ has been revoked|preemption (?:notice|signal|event|detected|warning)"
        r"|spot (?:instance )?(?:interruption|termination|reclaim|preempt)|interruption notice|walltime .{0,20}exceeded|exceeded.{0,20}\bwall ?(?:time|clock)|TERM_(?!MEM|SWAP|EXTERNAL|UNKNOWN)\w{0,16}(?:LIMIT|ADMIN|OWNER|PREEMPT)\b|run time limit|job deleted at request of|(?:time limit|maximum runtime|wall ?(?:time|clock))\b.{0,20}\b(?:exceeded|reached|hit)|(?:reached|exceeded|hit) (?:the |its )?(?:time limit|maximum runtime)"
        r"|\bforce terminated\b|\blame workers found\b|\b(?:job|task|step)\b.{0,40}\b(?:was|been|is) cancell?ed|job cancell?ed|will be (?:terminated|reclaimed) in \d|DeadlineExceeded|\bstate=(?:TIMEOUT|PREEMPTED|CANCELLED)|JobState=(?:TIMEOUT|PREEMPTED|CANCELLED)",
        r"\bchecking for\b|\bif idle\b|rpc error|context deadline|sequence group|preempt\w{0,40}\s*[:=]\s*(?:0|false|no)\b|\bif (?:the |your |this )?\w{0,40} ?preempt|preemptible|\b0 preempt|asyncio|gRPC|grpc|"
        + r"--time|supports? preemption",
    ),
    # A limit, a person, or a rented box without funds: Chinese for "balance too low" and "was shut down".
    rule(
        "preempted",
        FATAL,
        "exceeding|cancelled by|余额不足|已关机|已停止|已释放",
        r"\bexceeding (?:the )?(?:wall ?(?:time|clock)|time limit)|\bCANCELLED by \d{1,9}|余额不足|(?:实例|机器|主机|容器)已(?:关机|停止|释放)",
        ADVICE,
    ),
    # --- 11 killed ---
    rule(
        "exception",
        FATAL,
        "killed by signal|on signal|to signal|with signal|received signal|caught ",
        r"\*\*\* process received signal \*\*\*|killed by signal: (?:Seg|Abort|Illegal|Floating)|(?:killed|terminated) by signal:? ?(?:4|6|7|8|11)\b|program terminated with signal (?:SIG(?:FPE|SEGV|ILL|ABRT|BUS)|(?:4|6|7|8|11)\b)|(?:exited on|due to) signal (?:4|6|7|8|11)\b|received signal (?:SIG(?:FPE|SEGV|ILL|ABRT|BUS)|(?:4|6|7|8|11)\b)|caught (?:fatal )?signal:? (?:4|6|7|8|11)\b",
    ),
    rule(
        "killed",
        FATAL,
        "for an unknown reason|by the external system|all the procs|terminating instance|user requested|shutdown signal|\u5df2\u6740\u6b7b|\u5df2\u7ec8\u6b62|killed|terminated|hangup|interrupt|kill pod|abort|by user|by the user|signal|running tasks|exit_status",
        r"^[*_>#\s]{0,6}(?-i:"
        + KILLS
        + r")[*_.!:\s]*(?:\(?\d*\)?|python.*)$|(?<=[\]%|}>s\\/-])\s*(?-i:"
        + KILLS
        + r")\s*$|(?:\bstderr|\[\d{1,9}\]): (?-i:"
        + KILLS
        + r")\s*$|line \d+:\s{1,8}\d+ (?-i:"
        + KILLS
        + r")\b|^(?:\S+: )?\d+ (?-i:"
        + KILLS
        + r")\s|\bzsh: (?:killed|terminated|hangup)|^\[\d+\]\s?[+-]?\s+(?:[+-] )?(?:\d+\s+)?(?:killed|terminated|hangup)\b|tasks? [\d,-]{1,60}: (?:Killed|Terminated)"
        r"|killed by signal|terminated by signal|\bterminated for an unknown reason\b|\bterminated by the (?:external |operating )?system\b|(?:process|worker|job|trainer|rank|container|subprocess)\b.{0,40}\b(?:was |been |is |got )?killed\b|^interrupted\b|(?:interrupted|aborted|cancell?ed|stopped|terminated|killed) by (?:the )?user\b|\b(?:training|learning|run|job|execution|optimi[sz]ation|simulation) (?:was |has been )?interrupted\b|\buser (?:has )?(?:abort(?:ed)?|interrupt(?:ed)?)\b|keyboard ?interrupt|\bstop signal received\b|\(killed\)|\(terminated\)|^killed by|need to kill pod|\bterminate all the procs|\bterminating instance\b|\buser requested (?:a )?(?:shutdown|stop|abort|cancel)|received a shutdown signal|received the (?:term|int|hup) signal|\bkilling running tasks\b|exit_status=2[5-7]\d\b|signal: killed|process exited, code=killed|session terminated, (?:killing|terminating) shell|^Aborted!$|command terminated(?! with exit code [1-9]\d{0,1}\s*$)|(?:^|\s)\u5df2(?:\u6740\u6b7b|\u7ec8\u6b62)(?:\s|$)",
        r"\bkilled[\"']?\s*[:=]\s*(?:0|false)|\bexcept\b|will be killed|\bepisode\b|normally|\bif\b|\btyp\w{1,6}cally\b|task job report|keep_?alive|using the force",
    ),
    rule(
        "killed",
        FATAL,
        "interruptexception|terminated|signal|sig|exitcode|exit code|exit_status|exit_code|exit=|return code|subprocess|exit status|^ct|^c |ctrl|exited with",
        r"received (?:a )?(?:signal(?! (?:with|of) )|death signal|SIG(?:TERM|INT|KILL|HUP|QUIT|USR1|USR2))|received \d+ death signal|death signal|died of signal|via signal SIG|SignalException|got signal:? ?\w{1,40}|\bNegsignal\.SIG|(?:closing|sending|caught|got|terminated (?:by|with)|exit(?:ed|ing)? (?:on|due to|by)|killed (?:by|with)|stopped by|interrupted by|died with|on|due to) (?:the )?(?:signal )?<?(?:signals\.)?SIG(?:TERM|INT|KILL|HUP|QUIT)|closing signal SIG|\bsending process \d+ closing sig"
        r"|signal (?:9|15|1|2)\b|signal \((?:9|15|1|2)(?:\.\d)?\)|\bInterruptException\b|^\W{0,4}worker \d{1,5} terminated\.?\s*$|signal \d+ \(SIG\w{1,40}\)|terminated with signal SIG|exit[ _]?(?:code|status)\s*[:=\[]?\s*-\d{1,4}\b|exit[ _]?(?:code|status)?[\"']?\s*[:=(]{0,2}\s*(?:137|143|130|247|-9|-15)\b|return code = -\d+|exited with (?:exit )?(?:code|status) (?:137|143|130)|\bexit (?:code|status) of .{1,120}\b(?:was|is):? (?:137|143|130)\b|killing subprocess|(?:killing|terminating) process:? <|killing (?:worker|process|child|rank)|^\^C|ctrl ?[-+] ?c (?:detected|pressed|received)|SIG(?:TERM|KILL) received|(?<!xargs )(?<!\+ )kill -9(?! \S{1,12} (?:to|and|in)\b)",
        r"\bregister|\bhandler (?:installed|set|for)|install|will be sent|--signal|using the force|signal handling is|\bSIG\w{3,4} when\b|^signal \d|\brequeue on\b|\bhint:|\bSIG(?:HUP|USR[12])\b.{0,16}\b(?:ignoring|triggering|re-?load|re-?read|re-?open|reconfigur)|\btyp\w{1,6}cally\b|death_signal\(|^\W{0,4}(?:DEBUG|VERBOSE|TRACE)\b|press ctrl|ctrl\+c to|use ctrl",
    ),
    # --- 12 nan ---
    rule(
        "nan",
        WARN,
        "nan",
        r"NaN or Inf found in input tensor|\bnans?\b.{0,60}\breplac(?:ed|ing)\b|nan, inf or huge value|\bsimulation\b.{0,40}\bnan\b|\bnan\b.{0,40}\bsimulat",
        r"[a-z](?:Error|Exception): ",
    ),
    rule(
        "nan",
        SERIOUS,
        "nan|diverged|divergence|finite|invalid|probability tensor",
        r"(?<![a-z])(?:[a-z]{1,20}_){0,4}"
        + LOSS
        + NAN
        + r"|\bgrad(?:ient)?s?\b.{0,40}\binvalid\b|\bnan (?:or|and) inf (?:loss|grad)|Error: nans? in\b|\bnans? in (?:the )?(?:forward|backward|loss|grad\w{0,40}|weights?|logits|activations?|parameters)\b|\bnan/inf (?:was |were )?(?:detected|found|encountered)|\binvalid value \(nan\)|\bnan[ -](?:loss|losses|grad\w{0,40}|cost)(?!\w{0,8}[\"\x27]?\s?[:=]\s{0,4}0)|NanLossDuring|\bnan in summary histogram|\breturned nan\b|\binf (?:or|and|/) ?nan values? in (?:the )?grad|\bpotential energy is -?nan|\b(?:loss|parameter|gradient|energy|energies)\b.{0,40}\bis not finite|tensor\(\[{1,3}nan, {1,3}nan|returned nan values|\bnans? (?:or infs? |/ ?infs? |and infs? )?(?:was |were |is |values? )?(?:detected|found|encountered|occurred|appear\w{0,40})|(?:detected|found|finding|encountered|got|contains?|has|have) (?:a |an |some )?(?:nan|nans)\b.{0,60}\b(?:loss|grad\w{0,40}|param\w{0,40}|weights?|model|output|logits|activation\w{0,40}|layer|forward|backward)"
        r"|\bnan\b\W{1,3}(?:stop|abort|exit|terminat|halt|quit)|\b(?:loss|grad\w{0,40}|params?|parameters|weights?|logits|activations?|network outputs?|model outputs?)\b.{0,40}\b(?:is|are|became|becomes|turned|went|contains?|has|have) (?:\w{1,40} ){0,2}(?:nans?|non-?finite|not finite|infinite or nan)|(?:training|model|loss|run)\b.{0,20}\b(?:has )?diverged(?! ?[:=]| from\b)|divergence detected|non-?finite (?:loss|grad\w{0,40}|norm)|(?:loss|gradient\w{0,40}|norm)\b.{0,60}\bnon-?finite|invalid loss, terminating"
        r"|(?-i:[a-z]Loss)[\"']?\s{0,4}[:=]\s{0,4}-?nan\b|\bloss {0,12}: {0,12}-?nan\b|\bloss\b.{0,30}[:=] ?\([^)]{0,30}\bnan\b|\btensor had nan values|\bloss\w{0,8}\b.{0,20}\b(?:n a n|inf or nan)\b|-?nan, -?nan avg|\bloss: nan(?-i:[A-Z])|satisfy the constraint .{1,80} found invalid values|probability tensor contains|^\s{0,20}tensor\(\[{0,2}nan.{0,80}grad_fn|\btrain\w{0,12}[-_](?:smoothl1|cross-?entropy|l1|l2|mse|mae|rmse|logloss|nll|error)\w{0,12}[\"']?\s{0,3}[:=]\s{0,3}-?nan\b|^\s*\d+/\d+\s+[\d.]+G(?:\s+[\d.]+){0,6}\s+nan\b|\[\d{1,9}/\d{1,9} [\d:]{4,12}<[\d:]{4,12},? -?nan\b",
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
        + r"|found_inf[\"']?\s*[:=]\s*(?:[1-9]|true)|found infs?\b|\binf(?:s|inite|init\w{1,4})?\b.{0,40}\bskipp|overflow.{0,40}\bskipp|skipp\w{1,40} step.{0,40}\b(?:inf|overflow|scale)",
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
    rule("traceback", FATAL, "traceback", r"traceback \(most recent call last\)|^traceback:\s*$"),
)
