"""What drivers, kernels, schedulers and tools of transfer print of an end, and what they print while all is well."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = [
    ("xid", "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 36 LTSSM Fault Up"),
    ("xid", "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 PRIV error"),
    ("hardware", "pcieport 0000:64:02.0: AER: Multiple Uncorrected (Fatal) error received: 0000:65:00.0"),
    ("hardware", "pcieport 0000:64:02.0: pciehp: Slot(4): Card not present"),
    ("hardware", "sd 2:0:0:0: rejecting I/O to offline device"),
    ("hardware", "Memory failure: 0x123456: recovery action for dirty LRU page: Failed"),
    ("hardware", "| GPU Memory                | Fail - GPU: 3                                    |"),
    ("hardware", "GPU 2's NvLink link 3 is currently down Check DCGM and system logs for errors."),
    ("hardware", "    Row Remapper Pending: Yes"),
    ("hardware", "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init"),
    ("hardware", "habanalabs hl0: Going to reset device"),
    ("hardware", "[2024-11-02T03:11:45.120] Killing JobId=881231 on failed node gpu01"),
    ("host_oom", "Warning  SystemOOM  3m  kubelet  System OOM encountered, victim process: python3, pid: 2214"),
    ("host_oom", "python3: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL)"),
    ("host_oom", "[2024-11-02T03:11:45.120] _job_complete: JobId=881231 OOM failure"),
    ("host_oom", "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-4Yq2, error: No space left on device (28)"),
    ("hang", "systemd[1]: train.service: start operation timed out. Terminating."),
    ("nccl", "[gpu01][[31211,1],0][btl_tcp_frag.c:242:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: Connection reset by peer (104)"),
    ("nccl", "# Out of bounds values : 14 FAILED"),
    ("cuda_error", "Unable to open /dev/kfd read-write: Permission denied"),
    ("cuda_error", "cudaGetDeviceCount returned 35"),
    ("cuda_error", "========= Invalid __global__ write of size 4 bytes"),
    ("preempted", "slurmstepd: error: *** JOB 881231 STEPD TERMINATED ON gpu01 AT 2024-11-02T03:11:45 DUE TO JOB NOT ENDING WITH SIGNALS ***"),
    ("preempted", "Slurm Job_id=881231 Name=train Ended, Run time 02:00:12, TIMEOUT"),
    ("preempted", "[2024-11-02T03:11:45.120] Time limit exhausted for JobId=881231"),
    ("killed", "[2024-11-02T03:11:45.120] _job_complete: JobId=881231 WTERMSIG 15"),
    ("killed", '9f1b2c3d4e5f   foo/bar   "python train.py"   2 hours ago   Exited (137) 3 minutes ago   train'),
    ("killed", "=   EXIT CODE: 9"),
    ("killed", "g++: fatal error: Killed signal terminated program cc1plus"),
    ("network", "LustreError: 11-0: scratch-OST0003-osc-ffff88: operation ost_write to node 10.0.0.9@o2ib failed: rc = -107"),
    ("network", "error: lost connection to pod"),
    ("exception", "[2024-11-02T03:11:45.120] _job_complete: JobId=881231 WEXITSTATUS 1"),
    ("exception", "Subject: Job 88123: <train> in cluster <c1> Exited"),
    ("exception", "\t(1) Normal termination (return value 1)"),
    ("exception", "2024/11/02 03:11:45 ERROR : Attempt 3/3 failed with 2 errors and: object not found"),
    ("exception", 'Warning  Failed  3m  kubelet  Failed to pull image "foo/bar:1": rpc error: code = NotFound'),
    ("exception", "command terminated with exit code 1"),
    ("exception", "slurmctld: error: Unable to recover slurm state"),
    ("exception", "slurmctld: fatal: Incomplete job state save file, start with '-i' to ignore this. Warning: using -i will lose the data"),
    ("exception", "nvcc fatal   : Unsupported gpu architecture 'compute_90a'"),
    ("exception", "Request aborted by esub. Job not submitted."),
    ("hardware", "smartd[900]: Device: /dev/sda [SAT], 8 Currently unreadable (pending) sectors"),
    ("hardware", "  Ready            Unknown   Sat, 02 Nov 2024 03:11:45 +0000   NodeStatusUnknown        Kubelet stopped posting node status."),
    ("host_oom", "  MemoryPressure   True   Sat, 02 Nov 2024 03:11:45 +0000   KubeletHasInsufficientMemory   kubelet has insufficient memory available"),
    ("disk_full", "rsyslogd: file '/var/log/syslog'[7] write error - see https://www.rsyslog.com/errors/ for help OS error: No space left on device"),
    ("disk_full", "Your home directory is over quota"),
    ("preempted", "=>> PBS: job killed: cput 7210 exceeded limit 7200"),
    ("killed", "Exited with signal termination: 9."),
    ("killed", "Normal   Killing    3m  kubelet  Container train failed liveness probe, will be restarted"),
    ("network", "srun: error: slurm_receive_msgs: [[gpu01]:6818] failed: Socket timed out on send/recv operation"),
    ("exception", "RuntimeError: cannot compile kernel: invalid argument"),
    ("exception", "ZONE_RESOURCE_POOL_EXHAUSTED"),
    ("exception", "InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity in the zone you requested"),
    ("exception", "inflating: x.bin  bad CRC 1b2c3d4e  (should be 5f6a7b8c)"),
    ("exception", "qsub: Illegal attribute or resource value Resource_List.ngpus"),
    ("hardware", " 1a | 11/02/2024 | 03:11:45 | Power Supply #0x63 | Failure detected | Asserted"),
    ("hardware", "gpu-burn: GPU 3: FAULTY"),
    ("hardware", "beegfs-client: Storage target 301 is OFFLINE"),
    ("preempted", "Your instance gpu-1 has been stopped because your account balance is too low"),
    ("preempted", "The system will reboot at Sat 2024-11-02 03:20:00 UTC!"),
    ("killed", "Signal 15 received, shutting down..."),
    ("network", "libceph: osd3 10.0.0.9:6801 socket closed (con state OPEN)"),
    ("exception", "The requested machine type is currently unavailable"),
    ("exception", "mount: /data: wrong fs type, bad option, bad superblock on /dev/nvme1n1, missing codepage"),
]  # fmt: skip

QUIET = [
    "# Out of bounds values : 0 OK",
    "| GPU Memory                | Pass - All                                       |",
    "gpu01:2214:2301 [3] proxy.cc:1521 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable",
    "[W socket.cpp:697] [c10d] The client socket has failed to connect to [gpu01]:29500 (errno: 99 - Cannot assign requested address).",
    "Nov  2 03:11:45 mac taskgated[88]: no signature for pid=2214 (cannot make code: UNIX[No such process])",
    "Nov  2 03:11:45 mac WindowServer[102]: send_datagram_available_ping: pid 445 failed to act on a ping it dequeued before timing out.",
    "-- Performing Test HAVE_FOO - Failed",
    "-- Could NOT find CUDA (missing: CUDA_NVCC_EXECUTABLE)",
    "     881231  gpu  train  alice PD  0:00  1 (Nodes required for job are DOWN, DRAINED or reserved)",
    "slurmstepd: error: Setting TMPDIR to /tmp",
    "slurmd: error: Node configuration differs from hardware: CPUs=64:128(hw) Boards=1:1(hw)",
    "slurmd: Caught SIGHUP. Triggering reconfigure.",
    "channel 3: open failed: connect failed: Connection refused",
    "W: GPG error: http://archive.ubuntu.com foo InRelease: The following signatures couldn't be verified",
    "2024/11/02 03:11:45 ERROR : Attempt 1/3 failed with 2 errors and: object not found",
    "\t(1) Normal termination (return value 0)",
    "_job_complete: JobId=881231 WEXITSTATUS 0",
    "    Row Remapper Pending: No",
    "amdgpu 0000:03:00.0: amdgpu: ring sdma0: correctable error timeout cleared",
    "Subject: Job 88123: <train> in cluster <c1> Done",
    "Nov  2 03:11:45 gpu01 kernel: ucsi_acpi USBC000:00: PPM init failed (-110)",
    "Nov  2 03:11:45 gpu01 kernel: cfg80211: failed to load regulatory.db",
    "Nov  2 03:11:45 gpu01 sudo:    alice : TTY=pts/0 ; PWD=/x ; USER=root ; COMMAND=/usr/bin/kill -9 2214",
    "Nov  2 03:11:45 gpu01 systemd[1]: user@1000.service: Killing process 811 (systemd) with signal SIGKILL.",
    "Nov  2 03:11:45 gpu01 chronyd[700]: Can't synchronise: no selectable sources",
    "Jul  5 00:33:56 mac locationd[82]: PBRequester failed with Error Error Domain=NSURLErrorDomain Code=-1001",
    "Dec 10 11:03:53 gpu01 sshd[25457]: fatal: Write failed: Connection reset by peer [preauth]",
    "The port 8888 is already in use, trying another port.",
    "gpu-burn: GPU 3: OK",
    " 1a | 11/02/2024 | 03:11:45 | Power Supply #0x63 | Presence detected | Asserted",
    "Validation error : 0.2312",
    "qsub: waiting for job 88123.pbs01 to start",
    "qsub: job 88123.pbs01 ready",
    "  DiskPressure     False   Sat, 02 Nov 2024 03:11:45 +0000   KubeletHasNoDiskPressure     kubelet has no disk pressure",
]


@pytest.mark.parametrize(("label", "line"), ENDS)
def test_an_end_told_from_outside(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", QUIET)
def test_what_is_printed_while_all_is_well(line: str) -> None:
    assert not triage(line).alarm
