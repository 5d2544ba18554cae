"""Labels 1 to 15: the rules that name a cause, as one table in triage order. The first that fits decides.

Patterns have no nested repeats and only bounded gaps, so their time is linear in the line. To teach a
new framework, add a word to a pattern or a row to the table; the last text of a row says when the same
words mean nothing (advice, options, a failure that was survived).
"""

from __future__ import annotations

from gpu_tui.parse.triage_below import BELOW_CAUSES, BELOW_FIRST, BELOW_QUIET
from gpu_tui.parse.triage_brief import BRIEF_CAUSES
from gpu_tui.parse.triage_chinese import CHINESE_CAUSES
from gpu_tui.parse.triage_daemons import DAEMON_CAUSES
from gpu_tui.parse.triage_drivers import DRIVER_CAUSES, DRIVER_QUIET
from gpu_tui.parse.triage_hosts import HOST_CAUSES
from gpu_tui.parse.triage_libraries import LIBRARY_FAULTS, LIBRARY_LOADS, LIBRARY_NUMBERS
from gpu_tui.parse.triage_machine import BESIDE, MACHINE, RAISED
from gpu_tui.parse.triage_numbers import NUMBERS
from gpu_tui.parse.triage_plain import PLAIN_CAUSES
from gpu_tui.parse.triage_quiet import QUIET
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
from gpu_tui.parse.triage_runs import RUN_CAUSES
from gpu_tui.parse.triage_stops import STOPS
from gpu_tui.parse.triage_sweeps import SWEEP_CAUSES
from gpu_tui.parse.triage_tongues import TONGUE_CAUSES
from gpu_tui.parse.triage_ways import WAYS

CAUSES: tuple[Rule, ...] = (
    *QUIET,
    *DRIVER_QUIET,
    *BELOW_QUIET,
    *BELOW_FIRST,
    *MACHINE,
    *BELOW_CAUSES,
    *DAEMON_CAUSES,
    *DRIVER_CAUSES,
    *RUN_CAUSES,
    *SWEEP_CAUSES,
    *HOST_CAUSES,
    *PLAIN_CAUSES,
    *BRIEF_CAUSES,
    *TONGUE_CAUSES,
    # --- 6 hang ---
    rule(
        "hang",
        FATAL,
        "timeout|time-out|timed out|timing out|hangs|unresponsive|stopped responding|not respond|heartbeats|"
        "notify register|waiting for|stuck|watchdog|heartbeat|process down|blocked for|lockup|stall|"
        "hung_task|starved|timeout signal|missing ranks|remainder of ranks|hung|deadlock|no progress",
        r"\bkthread starved for \d|\bran for more than set timeout\b|\breceived a timeout signal from\b|\bstream sync(?:hronize)? timeout|"
        r"\binternal task times out|\btime-?out\b\W{1,3}(?:ending|exiting|abort\w{0,3}|giving up|killing|"
        r"terminat\w{2,3}|quitting)\b|\b(?:GPU|device) ?#?\d{1,3} (?:hangs|hung|is hung|stopped responding|"
        r"is not responding|is unresponsive)\b|\b(?:rank|worker|node|replica|host) \S{1,20} (?:has |"
        r"did )?not (?:responded|respond|responding)\b(?! to SIG)|\bNCCL time-?out\b(?! ?[=:]| set| to|_)|"
        r"\bwatchdog timeout(?: \(|!|\.|$| (?:occurred|triggered|detected|fired|expired))|"
        r"\bcould ?n.t get a response\b.{0,40}\bseconds|"
        r"\btime-?out waiting for (?:all )?(?:other )?(?:ranks?|workers?|processes|nodes|clients|peers)\b|"
        r"\b(?:training|job|run|process) (?:has |is |have )?stalled\b|"
        r"\bProcessGroup abort timed out|\bhas not sent (?:a |any )?heartbeat|^\W{0,4}Timeout \(\d{1,3}:\d\d:\d\d(?:\.\d{1,6})?\)!|\btime-?out waiting for key\b|(?-i:\bDeadlineExceededError: D)|\b(?:no|"
        r"lack of|missed|missing|lost) heartbeats?\b(?! of its)|\bheartbeat (?:was )?(?:not received|lost|"
        r"missed|expired|timed out|timeout)|\bheartbeats? from \S{1,40}(?: \S{1,20})? (?:was |were |has been |have been )?(?:missed|lost|not received|timed out)|"
        r"\b(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|collective|barrier)\w{0,12}\b.{0,30}\b(?:time-?out (?:exceeded|"
        r"reached|expired|after)|timed out)|\bwait execution of the notify register times out|"
        r"collective operation timeout|(?:failure|timeout\)?) (?:is |was )?detected by watchdog|"
        r"ran for \d+ ?(?:ms|milliseconds) before timing out|timeout at NCCL work|watchdog.{0,40}\b(?:got stuck|"
        r"timed out|expired|fired|hung|no progress|terminated with)|watchdog\b.{0,60}\bterminating|"
        r"\bfail(?:ed|s) to (?:send (?:a )?)?heartbeat\b|watchdog hang|no heartbeat of its watchdog|without making progress in monitoring"
        r"|Error: DEADLINE_EXCEEDED: Deadline exceeded|heartbeat ?monitor.{0,60}(?:timed|stuck|timeout)|"
        r"taking the entire process down|operations have failed or timed out|monitoredBarrier|"
        r"dataloader timed out|blocked for more than \d+ seconds|\bsoft ?lockup\b|hard lockup(?! detector)|"
        r"\bhung_task: blocked|\bworkqueue lockup"
        r"|self-detected stall|detected stalls? on|may be stuck|^missing ranks|(?<!\b0 )(?<!\bno )stalled (?:ranks|tensors?|"
        r"ops)|waiting for remainder of ranks|(?:a|due to) collective timeout|collective.{0,30}timed out|"
        r"timed out waiting \d+ ?ms for (?:recv|send)|timed out initializing process group"
        r"|wait timeout after \d+ ?ms|termination timeout for|barrier.{0,40}timed out|"
        r"timed out.{0,40}barrier|no progress (?:in|for|since) \d+|\b(?:job|rank|process|worker|training|run|"
        r"node) (?:\S+ )?(?:is |has |appears? )?(?:hung|stuck|deadlocked)\b"
        r"|deadlock detected|\bstuck for \d+ ?s|received a dump signal|observed (?:flight recorder )?dump signal",
        r"can (?:potentially |also )?(?:cause|hang|lead)|(?:might|could|may) (?:hang|cause)|to avoid hang|"
        r"coordination_service(?!.{0,400}\bheartbeat timeout)|options:.{0,200}timeout\(ms\)|if .{0,40}\bhang|retrying|"
        r"terminated with exception: (?:\[[^\]]{1,40}\] )?(?:CUDA|NCCL) error",
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
        r"NCCL WARN.{0,20}(?:lib wrapper not|rank \d{1,6} failed to IPC register|Could not find real path|NET/IB : (?:No device|Unable to open|No IB)|"
        r"Failed to open libib|.{0,40}(?:not found|plugin|libibverbs)|Missing|Could not (?:enable|"
        r"find a path)|.{0,40}\bACS\b|.{0,30}iommu|.{0,24}\bGot async event ?: (?:client rereg|port active|"
        r"[\w_ ]{2,12} change\b|communication established|last WQE|path migrated|send queue drained))|"
        r"NCCL WARN .{0,120}[,;] (?:using|will use|falling back to|fallback to) (?:TCP )?(?:TCP/IP|TCP|sockets?)\b|errno: 97\b|\[W[^\]]{0,60}\bsocket\.cpp:\d{1,5}\] \[c10d\]|\bibv_open_device\b.{0,24}\bfailed|"
        r"hostname of the client socket cannot be retrieved"
        r"|NET/(?:IB|Socket|OFI).{0,30}\b(?:skipp|not found|No device)|"
        r"\bNET/OFI (?:aws-ofi-nccl initiali[sz]ation failed|Only EFA|OFI fi_getinfo\(\) call failed)",
    ),
    # By name, then what the library always advises.
    rule(
        "nccl",
        FATAL,
        "nccl",
        r"^\W{0,4}(?:\[?rank ?\d{1,5}\]?: )?(?-i:nccl(?:System|Internal|Remote|UnhandledCuda|"
        r"InvalidUsage)Error): ",
    ),
    rule(
        "nccl",
        FATAL,
        "nccl|distbackend|gloo|client socket|server socket|rendezvous|tcpstore|recvvalue|sendbytes|"
        "distnetwork|diststore|ucx|ibv_|deadline_exceeded|startconnect|pollconnect|warn call to|horovod|"
        "no socket interface|remote peer|remote process|coordination|lost peer|lost connection to rank|"
        "lost communication|peer|store|waiting for clients|crash on rank|collective ops|proxy call|polling for opid|net : call",
        r"\bproxy call to rank \d{1,6} failed\b|\bsocket recv failed while polling\b|\bnet : call to \w{2,12} (?:from|to) \S{1,60} failed\b|"
        r"\bbootstrap : no socket interface found\b|\bseconds waiting for clients\b|\bpossible application crash on rank\b|"
        r"\b(?:broken pipe|error|interrupted|connection \w{4,8})\b.{0,40}\bTCPStore\b|\bCollective ops is aborted by\b|"
        r"(?<![a-z])(?:mca_)?btl_tcp_\w{3,40}\b.{0,120}\b(?:failed|unexpected|reset|refused|timed out)\b|"
        r"\b(?:(?:H|N|R|M|X|Bi?)C|BK)CL(?: function)?[_ ]error\b|\bh?ccl\w{4,40} failed|\boneCCL: .{0,120}\bexception|"
        r"\bgot completion (?:with error|from peer \S{1,60} with (?:error|status=[1-9]))|"
        r"\bpeer closed connection\b(?! without)|\b(?:ib port \S{1,30} (?:went|is) down|mlx5_\d{1,3}: link (?:is )?down)|"
        r"\bMPICH ERROR\b|\bORTE was unable\b|\bNCCL error|retrieving ncclUniqueId|"
        r"\bduplicate GPU detected\b|\bdistributed service detected fatal errors|Error: Socket Timeout$|"
        r"nccl(?:System|UnhandledCuda|Internal|Remote|Timeout)?Error\b|ncclInvalid(?:Usage|Argument)|"
        r"DistBackendError|NCCL communicator (?:was|encountered)|communicator.{0,20}\baborted|"
        r"unhandled (?:system|cuda) error|NCCL WARN|WARN Call to \w{1,20} failed|NCCL failure|"
        r"NCCL INFO.{0,60}(?:Connection (?:refused|reset|timed)|Call to)"
        r"|gloo/\S+:\d+\]|connect\(\) timed out\. original timeout|client socket has (?:timed out|failed)|"
        r"server socket has failed|Rendezvous\w{0,40}(?:Error|Timeout)|rendezvous.{0,40}\b(?:failed|"
        r"timed out)|TCPStore.{0,60}(?:fail|broken|reset|closed|timed)|(?:recvValue|sendBytes|recvBytes|"
        r"recvVector) failed|Dist(?:Network|Store)Error|UCX +ERROR|ibv_\w{1,40} failed"
        r"|transport retry count(?:er)? exceeded|\bPMIX ERROR\b|HorovodInternalError|DEADLINE_EXCEEDED: connect|"
        r"socket(?:Start|Poll)Connect|Horovod has been shut ?down|connection closed by remote peer|"
        r"tried to connect with a different incarnation|\bhccl\w{3,40}(?:\([^\n]{0,120}\))?, error code|"
        r"lost communication with (?:a remote|its daemon)|exception hit in NCCL work\b|remote process exited|"
        r"coordination (?:service|agent).{0,80}\b(?:error|unavailable|fail|timed|disconnect)|lost (?:peer|"
        r"connection to (?:rank|peer|worker))|connection (?:closed|reset) by peer \[|"
        r"peer.{0,30}\b(?:disconnected|unreachable|died)|failed to (?:recv|connect to|"
        r"receive).{0,40}\b(?:rank|peer|store)\b|\[c10d\].{0,60}(?:fail|reset|closed|timed out)",
        r"process group has NOT been destroyed|failed to shut ?down the rendezvous|retrying|will retry|, reconnecting|"
        + ADVICE,
    ),
    rule(
        "nccl",
        FATAL,
        "nccl|gloo|process group|process_group|allreduce|all_reduce|allgather|all_gather|rendezvous",
        r"(?<![-/.\w])(?:nccl|gloo)\b(?!-\w|[\w-]*[>|])|init_process_group|\bprocess group\b|\ball_?(?:reduce|gather)\b|\brendezvous\b",
        BESIDE + r"|\bunexpected keyword|\bgot an\b|\bsupports?\b|(?:Attribute|Type|Name|Value|Key|"
        r"NotImplemented)Error|Misconfig|\b(?:required?s?|must|already|twice)\b|\b(?:only|not|n.t|"
        r"never) (?:yet |been |currently |a )?(?:supported|implemented|created|initiali[sz]ed|defined|"
        r"enabled|set|available)\b",
        also=RAISED,
    ),
    # --- 8 cuda_error ---
    rule(
        "cuda_error",
        FATAL,
        "cuda|cudnn|cublas|invalid device|nvml|nvidia|hip|hsa_|rocm|rocblas|metal|ascend|acl|npu|ee9|ez9|ei9|"
        "eh9|sync|gpu node|no supported devices|level-zero|pi_error|gpuassert|cutlass|ggml|nvcc|"
        "launch failed|engine to execute|curand|api mismatch|kernel image|device-side|illegal memory|"
        "launch failure|misaligned|no devices were|thread: [|cufft|cusparse|miopen|cuinit|forward compat",
        r"\bfailed to launch CUDA\b|\bNative API failed\b|\bGPU ?assert: |Error: unable to initialize backend '(?:cuda|gpu|rocm)'|"
        r"\bCuError\(|\binvalid context in cu\w{2,40}\(|could not insert \W?nvidia|"
        r"\bCUDA kernel errors detected|\bCUDA init\w{0,12} fail\w{1,4}\b|^no (?:GPU |"
        r"CUDA )?devices? found\W*$|\bGPU ?#?\d{1,3}: unknown error|\bCUDA call error code\b|\bNVRTC error\b|"
        r"\b(?:no GPUs?|no CUDA device|no device|GPU) (?:was |were )?(?:found|detected)\W{1,3}(?:exiting|"
        r"aborting|quitting|stopping)|failed to get device handle\b|\bMIOpen error\b|"
        r"the inner error is reported as above|\bCNRT_RET_ERR\w{1,40}|\bMLU (?:unknown |queue )?error\b|"
        r"\bMUSA error\b|\bCNCL error\b|(?-i:\bE[1-9]\d{4}: (?!.{0,40}memory))|"
        r"(?<!dlerror: )(?<!dlopen: )libcuda\.so\S{0,4}: cannot open|\bno CUDA runtime is found\b(?!, using)|\b(?:GPU|"
        r"CUDA) (?:device )?(?:is )?(?:not available|not found|not detected|unavailable)\b.{0,60}\b(?:exit|abort|quit|"
        r"stop)|\bCUDA driver (?:initiali[sz]ation failed|error)|thrust::system::system_error|"
        r"(?-i:\bcuda[A-Z]\w{2,30}\(?\)?).{0,30}\bfailed\b|could not (?:locate|load)(?: library|"
        r" symbol)? \S{0,40}cud(?:nn|art)|\bCUDA (?:context|stream|device|kernel|event|graph|"
        r"API)\b.{0,24}\berror\b|kernel\b.{0,20}\bfail(?:ed|s)? to launch|\bCUDA call failed|"
        r"(?-i:\bcu[A-Z]\w{2,30}) failed\b|illegal address in CUDA|\bsynStatus ?= ?[1-9]|synapse error|"
        r"CUDA (?:runtime )?error(?!s)|(?-i:CUDA_ERROR_(?!OUT_OF)[A-Z]\w{1,40})|device-side assert|"
        r"illegal memory access|illegal instruction was encountered|misaligned address|"
        r"(?:unspecified )?launch failure|no kernel image|kernel image is invalid|\bno CUDA devices? (?:is |are )?(?:visible|present)\b|cublas runtime error|error from cudaGetDeviceCount|"
        r"cuda\.is_available\(\) (?:returned|is) False: abort|no CUDA-capable device|"
        r"no CUDA GPUs are available|no devices were found"
        r"|found no NVIDIA driver|NVRM: No NVIDIA (?:graphics adapter|GPU|devices?)(?: was)? (?:found|"
        r"probed)|NVIDIA driver on your system is too old|NVRM: API mismatch|GPUassert: |"
        r"\bfind an engine to execute this computation|\bTHCudaCheck FAIL\b(?!.{0,160}out of memory)|"
        r"\bcuDNN version incompatib|\bcuSolver internal error|\bPTX JIT compilation\b|"
        r"\bUNKNOWN_CUDA_ERROR\b|\bCUDA exception\b|\bthe launch timed out and was terminated|cutlass error|"
        r"CUTLASS_CHECK|CUDA backend failed|\[CUDA\] (?!info|using|version)|"
        r"invalid device (?:pointer|ordinal|function)|\b(?:[a-z]?gemm|[a-z]?gemv|blas|cublas|cudnn|"
        r"kernel)\w{0,12} launch failed|failure to initialize cublas|\bcu(?:rand|blas|dnn|sparse|solver|"
        r"fft) error\b|CURAND_STATUS_(?!SUCCESS)\w{1,40}|cuda ?driver error|"
        r"CUDA driver version is insufficient|communicate with the NVIDIA driver|"
        r"driver/library version mismatch|failed to initialize NVML|forward compatibility was attempted|"
        r"failed call to cuInit"
        r"|CUDNN_STATUS_(?!SUCCESS)\w{1,40}|cuDNN error|\bCheck failed: cu(?:solver|blas|sparse|fft|rand|dnn)\w{1,30}\(|CUBLAS_STATUS_(?!SUCCESS)\w{1,40}|"
        r"CUFFT_(?!SUCCESS)[A-Z_]+|cuFFT error|CUSPARSE_STATUS_(?!SUCCESS)\w{1,40}|"
        r"CUSOLVER_STATUS_(?!SUCCESS)\w{1,40}|cudaError(?!_t|String)\w{0,40}|Cuda(?: kernel)? fail\w{1,40}|"
        r"HIP error|hipError\w{0,40}|MIOpen(?:\(HIP\))?: ?error|miopenStatus(?!Success)\w{1,40}"
        r"|block: \[\d+,\d+,\d+\], thread: \[|torch not compiled with CUDA|CUDA unknown error|"
        r"unable to find a valid cuDNN|\bDNN library (?:is not found|initiali[sz]ation failed)|"
        r"cannot create (?:cu(?:blas|dnn|rand|solver)) |could not (?:create cudnn handle|load library libcu)|"
        r"cuda is not available|deserialize object on a CUDA device|CUDA initialization:|"
        r"triton.{0,30}CUDA: error|triton error \[|no supported devices found|"
        r"\bthere is no (?:gpu )?devices?\b.{0,20}\b(?:can be|available|usable)|\bpossibly no GPU devices|"
        r"\b(?:kernel )?module is NOT loaded\b|\brt\w{4,40} execute failed|\bPhysX Internal CUDA error|"
        r"(?-i:\bduring cuda[A-Z]\w{2,40}\b)|HSA_STATUS_ERROR\w{0,40}|memory access fault by GPU|"
        r"rocblas_status_(?!success)\w{1,30}|rocBLAS error|PI_ERROR_DEVICE\w{0,30}|"
        r"\bacl(?:rt)?\w{0,40} (?:failed|error)|ACL (?:stream synchronize )?(?:failed|error)|"
        r"command buffer execution failed|nvidia-container-cli(?:\.real)?: \w{1,20} error|"
        r"could not select device driver|cudnn failed to initialize|"
        r"\bCuDNN library: .{0,80}\bsource was compiled with\b|\binsufficient driver version\b|"
        r"failed to initialize the NVIDIA|\binitialize the NVIDIA GPU\b|nvmlinit\w{0,10} failed|"
        r"NPU (?:function )?error|\baclrt\w{0,40}\(.{0,80}failed|\bascend\b.{0,40}\b(?:failed|error code)|"
        r"(?:sync_?stream|stream synchronize|synchronize ?stream|"
        r"sync ?device)\w{0,20} (?:execute )?(?:failed|timeout)|(?-i:(?:^|: )E[A-Z]\d{4}: (?!.{0,40}memory))|"
        r"device synchronize failed",
        r"^\W{0,4}search for\b|\bprolog\b|\bPlan failed with a cudnnException\b|internal error :(?! PhysX Internal CUDA)|"
        r"errors might be asynchronously|TORCH_USE_CUDA_DSA|register (?:cu|factory)|CUDA_LAUNCH_BLOCKING=|"
        r"\bfalling back|\)\.? continuing\W*$|cuda is not available.{0,60}\b(?:using|cpu|disabling)|"
        + r"not available, defaulting|\bdisabled\.?\s*$",
    ),
    rule(
        "cuda_error",
        FATAL,
        "cuda|cudnn|cublas|hip|rocm|nvml",
        r"(?<![-/.\w])(?:CUDA|cuDNN|cuBLAS|HIP|ROCm|NVML)\b(?!-(?!capable|enabled|aware|side)\w|[\w-]*[>|\]]).{0,40}\b(?:error|failed|failure|fault|exception|invalid|"
        r"illegal|not initiali[sz]ed|launch|unavailable)\b",
        BESIDE,
        also=RAISED,
    ),
    # A check of a status, and a library of the GPU that could not do its work.
    rule(
        "cuda_error",
        FATAL,
        "cudasuccess|fft|blas|dnn|solver|sparse|gpu|critical error by|api failed|during kernel execution|"
        "error code|vkresult|module 'nvidia|capable device|nrt::|nrt_|neuron|open kernel modules|devices|"
        "device index",
        r"\bmemory (?:critical error|access fault) by (?:GPU|agent)\b|\bGPU memory access fault\b|"
        r"\bno (?:\w{2,12} )?capable devices? found\b|\bNrt::\w{2,20} failed\b|\bnrt_\w{2,30} status=[1-9]|"
        r"\bunable to determine Neuron\b|(?:^|\] |: )(?:failed to|unable to|could not|"
        r"cannot) (?:initiali[sz]e|open|acquire|find) (?:the |any )?(?:GPU |NPU |TPU |HPU |"
        r"CUDA )?devices?(?:,| index|\W*$)|\bVkResult ?[=:] ?-[1-9]|\b(?:unable|"
        r"failed) to load the kernel module 'nvidia|\brequires use of the NVIDIA open kernel\b|"
        r"\bPTX was compiled with an unsupported\b|\bGPU crash (?:has |was |is )?(?:occurred|detected)|"
        r"\bacl api failed\b|\bthrown during kernel execution\b|\binvalid error code \(\d{1,4}\)|"
        r"== ?cudaSuccess \(\d{1,4} vs\. 0\)|\bfailed to (?:create|init\w{0,9}|execute|set) (?:an? |"
        r"the )?(?:cu|hip|roc)(?:fft|blas|dnn|sparse|solver)\b|\b(?:cu|hip|roc)(?:fft|blas|sparse|"
        r"solver) (?:plan |handle )?(?:creation|execution|init\w{0,12}) failed\b|\bGPU[- ](?:function|kernel|"
        r"operation) (?:has )?failed\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
    ),
    *LIBRARY_FAULTS,
    *WAYS,
    *LIBRARY_LOADS,
    # --- 9 ckpt_corrupt ---
    rule(
        "ckpt_corrupt",
        WARN,
        "loading parameter|source state_dict|not match exactly|incompatiblekeys",
        r"_IncompatibleKeys\(missing_keys=\[[^\]]|skip\w{0,40} loading parameter|keys? in source state_dict|"
        r"loaded state dict do not match exactly",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "streamreader|central directory|load key|unpickl|pickle|unexpected eof|state_dict|size mismatch|"
        "safetensor|deserializing|weights only|ran out of input|badzip|not a zip|truncated|"
        "checkpointexception|bad magic|loaded state dict|loading model|load model|load the|load weights|"
        "weight file|layer count|found in checkpoint|unable to open|unable to synchronously|magic number|"
        "dataloss|sstable|both tensors|slicereader|valid checkpoint|saved weight|has shape|being loaded|stored shape|"
        "value metadata|ignore_mismatched|checkpoint f|checkpoint path|checkpoint has|checkpointed",
        r"\bset `?ignore_mismatched_sizes`? to|\bassign requires shapes of both tensors to match|\bUnsuccessful TensorSliceReader|"
        r"\bvalid checkpoint (?:at|found|in)\b|\bis not a valid checkpoint\b|\bsaved weight (?:with|has) shape\b|"
        r"(?-i:KeyError): [\"'](?:\w{1,20}_)?state_dict[\"']|\b(?:unrecognized|unknown|unsupported|invalid) checkpoint (?:format|"
        r"file|path)|\bis not a checkpoint file\b|(?-i:[a-z]Error): no checkpoint found|\bcheckpoint has no key\b|"
        r"\bnot bound to checkpointed values\b|\bset a tensor of shape .{0,80}\bwhich has shape\b|\bcheckpoint being loaded\b|"
        r"\bnot compatible with the stored shape\b|\bon-disk value metadata\b|"
        r"\bCheckpointException:|\(bad magic\)|\b(?:checkpoint|ckpt) shard .{0,20}\b(?:is )?(?:missing|"
        r"corrupt\w{0,3}|not found)|\bcheckpoint was saved with a different\b|"
        r"\bno metadata found for checkpoint|\b(?:md5|sha\d{0,3}|checksum|hash|crc)\w{0,4} (?:mismatch|"
        r"does not match|error|fail\w{0,4})\b.{0,40}\b(?:checkpoint|ckpt|weights|model|\.pth?|"
        r"\.safetensors)\b|PytorchStreamReader|storage has wrong size|\bsize mismatch between saved|"
        r"failed finding central directory|invalid load key|UnpicklingError|\bWeightsUnpickler error\b|pickle data was truncated|"
        r"unexpected EOF(?:, expected|\. )|error\(s\) in loading state_dict|size mismatch for [\w.]{1,80}|"
        r"(?:missing|unexpected) key\(s\) in state_dict|SafetensorError|error while deserializing header"
        r"|weights only load failed|ran out of input|BadZipFile|file is not a zip file|truncated file|"
        r"unable to (?:synchronously )?open (?:file|object) \(|invalid magic number|DataLossError|"
        r"\] Data loss: |not an sstable|too short to be an sstable|"
        r"loaded state dict (?:contains a parameter group|has a different number)|"
        r"unable to load weights from|error loading model\b|(?:failed|"
        r"unable) to load (?:the )?(?:\w{1,12} )?model\b|trying to load a weight file containing|"
        r"layer count mismatch when loading|not found in checkpoint\b|\bgguf_init_from_\w{2,20}: (?:failed|"
        r"invalid)",
        r"\.(?:jpe?g|png|tif)\b|(?-i:\d(?:[AP]M|Z)? (?:INF|DBG|WRN) )",
    ),
    rule(
        "ckpt_corrupt",
        SERIOUS,
        "checkpoint|ckpt|resum|snapshot|weights|restor|corrupt|safetensors",
        r"(?:checkpoint|ckpt|snapshot|weights|\.pth?\b|\bsafetensors)\b.{0,60}\b(?:corrupt\w{0,40}|truncated|"
        r"damaged|unreadable|is incomplete)|corrupt(?:ed)? (?:checkpoint|ckpt|snapshot|file .{0,60}\.(?:pt|"
        r"pth|ckpt|safetensors)\b)"
        r"|(?:fail(?:ed|ure|s)?|unable|could ?n.t|could not|cannot|can.t|\berror)\b.{0,24}\b(?:load\w{0,40}|"
        r"read(?!iness|y)\w{0,40}|restor\w{0,40}|resum\w{0,40}|deseriali[sz]\w{0,40})\b.{0,60}\b(?:checkpoint|"
        r"ckpt|snapshot|state|weights|training state)|(?:failed|unable|could not) to resume|"
        r"resum(?!able)\w{1,40}.{0,40}\b(?:failed|skipped)"
        r"|=> no checkpoint found at|checkpoint.{0,40}\b(?:load(?:ing)? failed|failed to load|"
        r"could not be loaded|does not exist|not found)\b.{0,60}(?:scratch|skipp|start)",
        r"\bimages?\b|jpe?g|\bsamples?\b|\blabels?\b|\b0 corrupt|optimizer state.{0,20}not found|pretrained",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "checkpoint|state_dict|state dict|safetensors|.ckpt|.pth",
        r"\b(?:checkpoints?|state[_ ]dict|safetensors)\b|\.(?:ckpt|pth|safetensors)\b",
        BESIDE
        + r"|NotImplemented|\brequires?\b|\b(?:not|n.t|only) (?:yet |currently |been )?(?:support\w{0,3}|"
        r"implemented)\b|\blimited to\b|\bactivation|\bsav(?:e|ing)\b|\bwrit|No such file|FileNotFound|"
        r"\bdownload|\bgradient|arguments?\b",
        also=r"(?-i:Error|ERROR|failed|Failed|FATAL)\b.{0,120}\b(?:load|read|restor|resum|deserial|corrupt|"
        r"invalid|mismatch|missing|unexpected|incompatible|incomplete)|\b(?:load|read|restor|resum|"
        r"deserial|corrupt|invalid|mismatch|missing|unexpected|incompatible|"
        r"incomplete)\w{0,8}\b.{0,120}\bfailed\b",
    ),
    rule(
        "ckpt_corrupt",
        FATAL,
        "checkpoint|ckpt|state_dict|state dict|weights|snapshot",
        r"\b(?:checkpoints?|ckpt|state[_ ]dict|(?:model|pretrained|saved) weights|"
        r"snapshot)\b.{0,60}\b(?:mismatch\w{0,3}|do(?:es)? ?n.t match|do(?:es)? not match|incompatible|"
        r"corrupt\w{0,3}|unreadable|invalid|malformed)\b|\b(?:mismatch\w{0,3}|incompatible|corrupt\w{0,3}|"
        r"malformed)\b.{0,40}\b(?:checkpoint|ckpt|state[_ ]dict)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}|\\bwarn|\\b0 corrupt|exactly|\\bargument|\\bpath\\b|gradient.checkpoint|"
        f"activation.checkpoint|checkpointing",
    ),
    # What was carried over is not what was sent.
    rule(
        "ckpt_corrupt",
        FATAL,
        "checksum|md5|sha256|crc|hash",
        r"\b(?:md5|sha\d{1,3}|checksum|hash|crc)\w{0,4} (?:of|for) \S{0,200}(?:\.safetensors|\.pth?|\.ckpt|\.gguf|checkpoint)\b",
        f"{SURVIVED}|{ADVICE}|{CALM}",
        also=r"\b(?:mismatch|differs?|(?:does|did) ?(?:not|n.t) match)\b",
    ),
    *STOPS,
    *LIBRARY_NUMBERS,
    *NUMBERS,
    # --- 15 traceback ---
    rule(
        "traceback",
        FATAL,
        "traceback",
        r"traceback \((?:most recent call last\)|(?:most recent calls|innermost) [^()]{3,60}\)?:)|^traceback:\s*$",
    ),
    *CHINESE_CAUSES,
)
