"""What batches 70 and 72 showed of libraries and tools with a form of their own, and who looks like them. All are made up.

A row is the label that alarms, or `-` for a line that must not, and the line.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

CLASSES = r"""
# a place in a kernel's source, and CUDA's words
cuda_error|/build/src/predictor/gpu_predictor.cu(322): unspecified launch failure
cuda_error|/build/src/tree/updater_gpu_hist.cu: 279: invalid argument
cuda_error|kernels/scan.cuh:41: an illegal memory access was encountered
cuda_error|gather.cu line 33: invalid configuration argument
cuda_error|reduce.cu(7): CUDA error: invalid device ordinal
gpu_oom|../common/device_helpers.cuh(456): out of memory
gpu_oom|pool.cu:33: CUDA out of memory
-|scan.cu(33): warning #177-D: variable "n" was declared but never referenced
-|nvcc warning : scan.cu(33): out of memory check is unused
-|scan.cu:33: note: candidate function
# PhysX and the simulators around it
cuda_error|/build/source/gpunarrowphase/src/PxgNarrowphaseCore.cpp (9908) : internal error : GPU compressContactStage1 fail to launch kernel stage 1!!
cuda_error|/build/source/gpucommon/include/PxgCudaUtils.h (60) : internal error : SynchronizeStreams cuStreamWaitEvent failed
cuda_error|/build/source/gpusolver/src/PxgTGSCudaSolverCore.cpp (1784) : internal error : memcpy failed fail!
cuda_error|2031-05-04 10:16:56 [58,167ms] [Error] [omni.physx.plugin] PhysX error: GPU convexCore_Kernel fail to launch!!
-|/build/source/gpucommon/src/PxgHeapMemory.cpp (59) : info : pool grown to 64 MB
-|[omni.physx.plugin] PhysX error: PxRigidActor::setPose(): it is illegal to call this method
-|, FILE /build/physx/source/gpunarrowphase/src/PxgNarrowphaseCore.cpp, LINE 1367
# a part of CUDA that the loader does not find
cuda_error|Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9, libcudnn_cnn.so}
cuda_error|Invalid handle. Cannot load symbol cudnnGetConvolutionForwardAlgorithm
cuda_error|Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!
cuda_error|RuntimeError: Library libcublas.so.12 is not found or cannot be loaded
cuda_error|cuDNN isn't found FWD algo for convolution.
-|2031-08-10 15:31:03.374934: W tensorflow/core/dso_loader.cc:64] Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file
-|WARNING: could not load libnvinfer.so.8, TensorRT is off
-|Successfully loaded libcublas.so.12
-|Unable to load libcufft, falling back to pocketfft
# what begins anew because nothing could be taken up
ckpt_corrupt|Restore failed, training new model!
ckpt_corrupt|Resuming from ckpt/last failed: starting from scratch
ckpt_corrupt|Checkpoint loading failed. Initializing new weights
-|No checkpoint given, training new model
-|Loading of the cached dataset failed, building a new one
# a level F without a date; a status of a compiler
exception|F external/xla/xla/service/gpu/gemm_fusion_autotuner.cc:1099] Non-OK-status: executable.status()
exception|F20310801 07:29:11.701185  2256 coordinator.cc:42] Invalid tracker path: root://graph/
exception|[F 311101 10:11:12 serve.py:12] no port left
exception|Status: INTERNAL: ptxas exited with non-zero error code 139, output:
exception| - Failure occurred when compiling fusion gemm_fusion_dot.610 with config '{block_m:128}'
-|I external/xla/xla/service/service.cc:168] XLA service 0x56 initialized for platform CUDA
-|Status: OK
-|F1 score: 0.91
# told at another level, or behind other words
exception|W1120 09:43:20.043 2075 init.cc:226] Warning: PaddlePaddle catches a failure signal, it may not work properly
exception|[INFO|2031-04-07 15:46:30] cli:143 >> Initializing 2 distributed tasks at: 127.0.0.1:52379 failed to create process.
exception|Shader not supported by your hardware!
exception| 10s... FAIL natural-gradient-test
-|Running graph-test ... 0s... SUCCESS graph-test
-|bfloat16 is not supported by your GPU, falling back to float16!
-|The handler catches a signal and saves a checkpoint
# package managers, archives, stores
exception|  x No solution found when resolving dependencies:
exception|  Caused by: Because wheel was not found in the package registry and you require wheel, we can conclude that the requirements are unsatisfiable.
exception|  ╰─▶ Because there is no version of torch==9.9 and your project depends on torch==9.9, we can conclude that your project's requirements are unsatisfiable.
exception|appears to be corrupted. The path 'lib/libgfortran.so.3'
exception|The following packages are incompatible
exception|Because no versions of torch match >2.0,<3.0, version solving failed.
exception| unable to make backup link of './usr/lib/x86_64-linux-gnu/libcuda.so.410.79' before installing new version: Invalid cross-device link
exception|<Code>PublicAccessNotPermitted</Code>
exception|gzip: data.gz: not in gzip format
exception|batch response: This repository is over its data quota. Account responsible for LFS bandwidth should purchase more data packs to restore access.
-|The cached index appears to be corrupted. Rebuilding it
-|rm: cannot remove 'x': Operation not permitted
-|  2. x solution found
-|<Code></Code>
# tools of CUDA and libraries that end the program
exception|ptxas error   : Entry function 'k' uses too much shared data (0x12000 bytes, 0xc000 max)
exception|ptxas /tmp/x.ptx, line 12; error   : Feature '.bf16' requires .target sm_80 or higher
exception|gmake[2]: *** [CMakeFiles/solver.dir/build.make:63: CMakeFiles/solver.dir/src/deep/deeper/solver_of_everything_cuda.cu.o] Error 1
exception|Terminating: fork() called from a process already using GNU OpenMP, this is unsafe.
exception|*** buffer overflow detected ***: terminated
exception|_queue.Empty
host_oom|LLVM ERROR: out of memory
-|ptxas info    : Used 255 registers, 696 bytes cmem[0]
-|NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0
# the last words of other languages' machines
exception|** (RuntimeError) boom happened
exception|    ** (Nx.Defn.CompileError) cannot take the gradient of a loop
exception|** (EXIT from #PID<0.98.0>) shell process exited with reason: an exception was raised:
exception|** (exit) exited in: GenServer.call(#PID<0.212.0>, :run, 5000)
exception|Kernel pid terminated (application_controller) ("{application_start_failure,nx}")
exception|Runtime terminating during boot ({undef,[{exla,start,[]}]})
exception|luajit: train.lua:33: attempt to index a nil value
exception|train.rb:3:in `step': undefined method `size' for nil (NoMethodError)
exception|core.exception.RangeError@app.d(4): Range violation
exception|[!] Invalid Network. Please ensure the network was created correctly
gpu_oom|/root/torch/install/bin/luajit: out of memory at /tmp/cutorch/lib/THC/generic/THCStorage.cu:66
gpu_oom|cuda execution failed with error 2
cuda_error|cuda execution failed with error 700
cuda_error|ERROR: unknown error in /opt/relion/src/ml_optimiser_mpi.cpp at line 126 (error-code 999)
-|** (note) the exit code is 0
-|lua: loading model.lua:12 layers
-|app/models/a.rb:3: warning: method redefined (Again)
-|/usr/lib/ruby/irb.rb:3:in `block in <main>'
-|[!] Missing translations will be shown in English
# what a shell cannot do, and Windows' own texts
exception|The term 'accelerate' is not recognized as the name of a cmdlet, function, script file, or operable program. Check the spelling
exception|zsh: abort      python train.py
exception|zsh: no matches found: unsloth[colab]
exception|fish: Job 1, './train' terminated by signal SIGSEGV (Address boundary error)
killed|fish: Job 1, './train' terminated by signal SIGKILL (Forced quit)
exception|bash: /usr/bin/python: Argument list too long
exception|The system cannot find the path specified.
exception|else was unexpected at this time.
exception|Access is denied.
exception|Error code: Wsl/Service/CreateInstance/E_FAIL
exception|Error (RNNLM): invalid vocabulary
exception|ggml_new_object: not enough space in the context's memory pool (needed 100, available 50)
-|INFO: Access is denied. Trying again in 5 s
-|The learning rate was unexpected at this time of training
-|Error (train): 0.0123
-|fish: Job 1, './train' has ended
# numbers
nan|LOG (nnet3-train[5.5]:PrintTotalStats()) Overall average objective function for 'output' is -nan over 1024 frames.
-|LOG (nnet3-train[5.5]:PrintTotalStats()) Overall average objective function for 'output' is -0.12 over 1024 frames.
nan|Unexpected result nan on rank 3 at iteration #12 invocation #1 (message='loss')
nan|loss too large, stop training
-|Unexpected result in nanoseconds: 12
# what is changed or tried no more, and goes on
-|Can't use GPU pipeline with CPU Physics. Changing pipeline to 'CPU'.
-|INFO:mlagents_envs:Environment timed out shutting down. Killing...
-|Failed to get NVIDIA driver version (NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.). Continuing
"""
ROWS = [tuple(row.split("|", 1)) for row in CLASSES.strip("\n").split("\n") if row[:2] != "# "]


@pytest.mark.parametrize(("label", "line"), ROWS, ids=[row[1][:60] for row in ROWS])
def test_a_library_is_understood_in_its_own_form(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label if mark.alarm else "-") == label, mark
