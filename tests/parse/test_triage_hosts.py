"""What stands around a run on a rented box: settings, samples of data, volumes, JSON, tables. All lines are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

SETTINGS = [
    "retry_on: TimeoutError",
    "retry-on = 'TimeoutError'",
    "  retry_on_exceptions: [ConnectionResetError, TimeoutError]",
    "exceptions_to_retry:     ConnectionError",
    "expected_exception = ValueError",
    "except_types: OSError",
    "handled_errors: HTTPError",
    "ignore_errors: KeyError",
    "raise_on: FloatingPointError",
    "skip_errors: !!python/name:builtins.ValueError",
    "retry_exceptions=[<class 'widget.exceptions.ActorDiedError'>]",
    "expected_errors = [TimeoutError, ConnectionResetError]  # they pass",
    "  - requests.exceptions.ConnectionError",
    "  - ConnectionError",
]
NO_SETTINGS = [
    ("exception", "Unexpected RuntimeError"),
    ("exception", "Unhandled exception: ValueError"),
    ("exception", "ValueError: retry_on must be a list"),
    ("exception", "node3: AssertionError"),
    ("exception", "worker-1: RuntimeError: shapes differ"),
    ("exception", "exception: KeyError: 'x'"),
    ("network", "ConnectionError"),
]
SAMPLES = [
    "Failed to load image: /data/train/0001.jpg",
    "Error loading image /data/img_0007.jpeg: truncated file",
    "ERROR:root:Failed to load image /data/coco/000123.jpg",
    "Could not read image /data/000.png",
    "failed to decode video clip_33.mp4",
    "Unable to load audio sample /data/a.flac",
    "unable to decode sample 00042",
    "error decoding sample 17",
    'Cannot load image "/home/u/x.jpg"',
    "could not load mask /data/mask_3.png",
    "failed to download image 3812 (404)",
    "img 000042.jpg could not be opened",
]
NO_SAMPLES = [
    ("exception", "PIL.UnidentifiedImageError: cannot identify image file '/data/3.jpg'"),
    ("exception", "FileNotFoundError: [Errno 2] No such file or directory: '/data/3.jpg'"),
    ("exception", "RuntimeError: Error loading image /data/3.jpg"),
    (
        "exception",
        "F0210 20:59:21.4 4184 data.cpp:13] Check failed: img.data Could not load /images/0253.jpg",
    ),
    ("exception", "Could not open /data/train.json"),
    ("exception", "Failed to load dataset"),
    ("ckpt_corrupt", "failed to load checkpoint last.pth"),
    ("exception", "OSError: [Errno 5] Input/output error: '/data/7.png'"),
]
VOLUMES = [
    ("disk_full", "2031-01-02 03:04:05,123 INFO /dev/sda1   916G  916G     0 100% /"),
    ("disk_full", "[2031-01-02 03:04:05] /dev/sda1   916G  910G   6G 100% /"),
    (
        "disk_full",
        "Nov 12 03:04:05 box7 check-disk[812]: /dev/nvme0n1p1   1.8T  1.8T     0 100% /scratch",
    ),
    ("inode", "Nov 12 03:04:05 box7 check-disk[812]: /dev/sda1   6553600 6553600       0  100% /"),
    ("disk_full", "store/var_log             21M   21M     0 100% /var/log"),
    (
        "disk_full",
        "tank        2.75T   2.74T  0.01T        -         -     77%     99%  1.00x    ONLINE  -",
    ),
    (
        "hardware",
        "tank        2.75G   514K  2.75G        -         -     1%     0%  1.00x    DEGRADED  -",
    ),
    ("hardware", "Nov 12 03:04:05 box7 pools[812]: tank 2.7T 1T 1.7T - - 1% 37% 1.00x FAULTED -"),
    ("hardware", "Nov 12 03:04:05 box7 pools[812]:         sdb       FAULTED      3     0     0"),
]
QUIET_VOLUMES = [
    "Nov 12 03:04:05 box7 check-disk[812]: /dev/nvme0n1p1   1.8T  0.8T     1.0T 45% /scratch",
    "2031-01-02 03:04:05,123 INFO /dev/loop3   64M  64M     0 100% /snap/core20/1",
    "tank   2.75G   514K  2.75G        -         -     1%     0%  1.00x    ONLINE  -",
    "NAME         SIZE  ALLOC   FREE  CKPOINT  EXPANDSZ   FRAG    CAP  DEDUP    HEALTH  ALTROOT",
    "copied 12 of 12 files, 100% /data/train",
]
JSON = [
    ("gpu_oom", '{"level":"error","message":"CUDA out of memory. Tried to allocate 2.00 GiB"}'),
    (
        "disk_full",
        '{"level":"error","ts":"2031-01-02T03:04:05Z","msg":"write /ckpt/7.pt: no space left on device"}',
    ),
    (
        "exception",
        '{"log":"ValueError: bad shape\\n","stream":"stderr","time":"2031-01-02T03:04:05Z"}',
    ),
    ("exception", '{"code":3,"message":"could not open manifest"}'),
    (
        "ckpt_corrupt",
        '{"severity":"ERROR","message":"failed to load checkpoint /ckpt/last.pt: unexpected EOF"}',
    ),
    (
        "preempted",
        '{"level":"warn","message":"Instance is going to be interrupted in 2 minutes. Exiting..."}',
    ),
]
QUIET_JSON = [
    '{"level":"info","msg":"could not open cache, building it"}',
    '{"level":"warn","msg":"failed to upload metrics, will retry"}',
    '{"level":"debug","msg":"connection refused","retry":true}',
    '{"error":null,"status":"ok"}',
    '{"errors":[],"failed":0}',
    '{"status":"running","error":""}',
]
ASKED = [  # what was asked, and what a package, a driver or a library answered
    ("exception", "Unable to determine the number of GPUs"),
    (
        "cuda_error",
        "2031-11-23 00:15:20.5 ERROR [76:76] Cannot initialize: Error: Failed to initialize NVML [DcgmHost.cpp:3] [DcgmHostEngineHandler::Init]",
    ),
    (
        "cuda_error",
        "ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most often when another driver prevents it.",
    ),
    ("exception", "The following packages have unmet dependencies:"),
    ("exception", " libfoo-11 : Depends: libbar (>= 495) but it is not going to be installed or"),
    ("exception", " cuda : Depends: cuda-12 (>= 12.4) but 12.3 is to be installed"),
    ("network", "> Error! request to https://x/y failed, reason: socket hang up"),
]
ASKED_IN_VAIN = [
    "-> Unable to determine if Secure Boot is enabled: No such file or directory",
    "Could not detect whether the driver supports peer access",
    'time="2031-07-16T06:42:40.5Z" level=error msg="Failed to read guest console logs" name=shim',
    'E0416 20:07:09.8 40706 remote_runtime.go:278] ContainerStatus "937e" from runtime service failed: rpc error: code = Unknown desc = Error: No such container: 937e',
    "2031-11-23 00:15:20.5 ERROR [76:76] Cannot watch field group 7 [DcgmFieldGroup.cpp:3] [DcgmFieldGroup::Watch]",
    "Depends: libc6 (>= 2.4), libstdc++6",
]
AROUND = [
    ("exception", "Prolog error         slurm     2031-05-17T01:05:47 box1"),
    ("hardware", "Not responding       root      2031-05-17T01:05:47 box[1-4]"),
    ("hardware", "NHC: check_fs_mount: /data not mounted   root  2031-05-17T01:05:47 box1"),
    ("hardware", "gpu*         up   infinite      1  down* box07"),
    ("exception", "   JobState=PENDING Reason=launch_failed_requeued_held Dependency=(null)"),
    (
        "exception",
        'time="2031-06-29T17:28:23Z" level=info msg="Pod \\"w-0\\" is invalid: spec.containers[0].image: Required value"',
    ),
    ("exception", "!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!"),
    ("exception", "!!!!!!!!!!!!! Interrupted: 2 errors during collection !!!!!!!!!!!!!"),
    ("exception", "  ├─▶ The build backend returned an error"),
    ("exception", "2031/11/20 23:11:54 ERROR mlflow.cli: === Run (ID '19e7') failed ==="),
    ("exception", "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"),
    (
        "network",
        "rsync error: error in rsync protocol data stream (code 12) at io.c(629) [sender=3.1.3]",
    ),
    (
        "exception",
        "rsync error: error starting client-server protocol (code 5) at main.c(1863) [Receiver=3.2.7]",
    ),
    ("nccl", "connection reset by peer during allreduce"),
    ("hang", "all_gather timeout exceeded (600000 ms)"),
    ("hang", "heartbeat from worker 3 missed for 300 s"),
]
NO_ALARM = [
    "update firmware      root      2031-05-17T01:05:47 box1",
    "gpu*         up   infinite      2  drain box[07-08]",
    "   JobState=PENDING Reason=Resources Dependency=(null)",
    "nvidia 0000:01:00.0: Direct firmware load for nvidia/610.5/gsp_log_ga10x.bin failed, error -2",
    "NVRM: RmFetchGspRmImages: Failed to load gsp_log_*.bin, no logs will be printed (non-fatal)",
    "2031/06/01 14:40:51 [17274] name lookup failed for 10.0.0.7: Name or service not known",
    "W 11-11 22:15:15 instance_utils.py:112] Failed to create 'new-2' in us-a: quota 'SSD' exceeded.",
    "D 11-11 22:15:15 provisioner.py:150] Failed to provision 'new-2' (us-central1-a).",
    '2031-01-23 02:08:36.029 raise ReadError("unexpected end of data")',
]


@pytest.mark.parametrize(
    "line", [*SETTINGS, *SAMPLES, *QUIET_VOLUMES, *QUIET_JSON, *ASKED_IN_VAIN, *NO_ALARM]
)
def test_no_alarm(line: str) -> None:
    assert not triage(line).alarm


@pytest.mark.parametrize(
    ("label", "line"), [*NO_SETTINGS, *NO_SAMPLES, *VOLUMES, *JSON, *ASKED, *AROUND]
)
def test_alarm_and_its_label(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)
