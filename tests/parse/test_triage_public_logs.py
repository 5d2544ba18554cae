"""What the logs that public repositories keep taught: ends that stayed silent, and what only sounds like one.

`tests/judgement/SOURCES.md` says how they were read. Names and places are replaced.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = [
    ("exception", "KekulizeException: Can't kekulize mol.  Unkekulized atoms: 2 3 4"),
    ("exception", "zsh:1: 2.0 not found"),
    ("exception", ": not found"),  # what is left of `run.sh: 2: \\r: not found`: the line ends of Windows
    ("exception", "Jupyter command `jupyter-notebook` not found."),
    ("exception", "Error code from Jupyter: 1"),
    ("exception", "/content/data.zip: Scheme missing."),
    ("exception", "SyntaxError    : host='https://example.org',"),  # two ranks in one line
    ("exception", 'SyntaxError  File "train.py", line 203'),
    ("exception", "You cannot perform fine-tuning on quantized models. Please attach adapters."),
    ("exception", "Permission denied, ask the project owner to grant you access"),
    ("ckpt_corrupt", "Missing LSTM pretrained weights at /content/a/b. Run the first step."),
    ("exception", "KERNRTSP R01-M0-N1-C:J09-U11 RAS KERNEL FATAL rts panic! - stopping execution"),
    ("exception", "ServerFileSystem: An ServerFileSystem domain panic has occurred on storage442"),
    ("hardware", "51338 node-3 node psu 1106496000 1 psu failure\\ ambient=28"),
    # the words of a record whose level says nothing
    ("exception", "INFO:root:Encountered exception when loading checkpoint 'autoencoder'"),
    ("gpu_oom", "INFO:train:[rank 0] RuntimeError: CUDA out of memory."),
    ("exception", "DEBUG:__main__:Training failed"),
    # what a layer did not expect ends in `instead`, and is no way out
    ("exception", "- ERROR - Training failed with error: expected input[4, 3, 64, 64] to have 4 channels, but got 3 channels instead"),
    ("exception", "RuntimeError: Expected 4-dimensional input, but got 3-dimensional input instead"),
    ("exception", "Training failed: expected 2D input, got 1D array instead"),
    # beside what is quiet below
    ("nan", "   12      loss: nan"),
    ("gpu_oom", "   12 RuntimeError: CUDA out of memory."),
    ("exception", "    3      train.py failed with exit code 1"),
    ("killed", "Response: 500 Internal error, the job was killed by signal 9"),
    ("gpu_oom", r"Output: b'Traceback\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n'"),
    ("gpu_oom", "[Mon Mar 03 10:00:00 2031] [ERROR] RuntimeError: CUDA out of memory."),
    ("gpu_oom", "[Mon Mar 03 10:00:00 2031] [error] CUDA out of memory. Tried to allocate 2.00 GiB"),
    ("nan", "\u274c Fixed loss scale: training diverged with NaN loss"),
    ("exception", "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 245760"),
    ("exception", "bash: /usr/bin/nvidia-smi: Permission denied"),
]  # fmt: skip
CALM = [
    "[10:28:41] Can't kekulize mol.  Unkekulized atoms: 2 3 4",
    "key 404 not found in cache",
    "Missing weights for layer fc: will train from scratch",
    "Missing weights at /a/b: downloading",
    "Error code from server: 0",
    "INFO:root:Training started",
    "INFO:root:loss: 0.25",
    "INFO:werkzeug:127.0.0.1 GET /error 200",
    "wandb: Terminating and syncing runs. Press ctrl-c to kill.",  # an agent's every end
    "Warning: Ignoring non-zero exit code.",
    "Command 'polars-bio' failed 4/4 runs - excluding from results",
    "1. \u2705 Fixed shape mismatch error: mat1 and mat2 shapes cannot be multiplied",
    "Checking for commands with failures (non-zero exit codes)...",
    r"Response: Sure! A script that opens it:\n\n```bash\nif ! nc $1 $2; then echo connection refused; exit 1; fi",
    "box:2912:2912 [0] graph/xml.cc:634 NCCL WARN No NVML device handle. Skipping nvlink detection.",
    "nice: cannot set niceness: Permission denied",
    "psu failures: 0",
    "1895 Can't Hardly Wait (1998) Comedy|Drama|Romance",
    "1243 Rosencrantz and Guildenstern Are Dead (1990) Comedy|Drama",
    "E1221 02:07:21.091000 1929 torch/_inductor/select_algorithm.py:2100] [7/0] Runtime error during autotuning: ",
    "E1221 02:07:21.091000 1929 torch/_inductor/select_algorithm.py:2100] [7/0] No valid triton configs. OutOfResources: shared memory",
    # ways out
    "error loading model with flash attention, using eager instead",
    "Failed to load the fused kernel; the slow path is used instead",
    "Failed to load the fused kernel but using the slow one instead",
    "Failed to initialize: no GPU found using CPU instead",
    # services of other machines
    "[Sun Dec 04 04:47:44 2005] [error] mod_jk child workerEnv in error state 6",
    "[Sun Dec 04 05:15:09 2005] [error] [client 192.0.2.4] Directory index forbidden by rule: /var/www/html/",
    "[10.30 17:16:10] QQ.exe - example.org:80 error : Could not connect through proxy proxy.example.org:5070",
    "2016-09-28 04:30:31, Info                  CBS    SQM: Failed to start standard sample upload. [HRESULT = 0x80004005 - E_FAIL]",
    "Jul  6 08:32:45 book netbiosd[36551]: Unable to start NetBIOS name service:",
]  # fmt: skip
SOURCE_LINES = [  # with their numbers, as notebooks show them
    '   1052         "Cannot find data file. "',
    "   1373     f\"Unable to load weights from pytorch checkpoint file for '{name}' \"",
    "--> 310         try:    # restore state no matter what (e.g., KeyboardInterrupt)",
    "    310         try: # restore state no matter what (e.g., KeyboardInterrupt)",
    "   3624 except TypeError:",
    "---> 575 except FileNotFoundError:",
    '----> 5 raise RuntimeError("CUDA out of memory")',
]


@pytest.mark.parametrize(("label", "line"), ENDS)
def test_an_end_alarms(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", CALM)
def test_what_only_sounds_like_one_stays_quiet(line: str) -> None:
    assert not triage(line).alarm


@pytest.mark.parametrize("line", SOURCE_LINES)
def test_a_numbered_source_line_is_a_frame(line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == ("traceback", False)
