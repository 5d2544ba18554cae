"""What stands around a training: collectors of logs, clusters, clients, shells, and who looks like them. All lines are made up.

A row is the label that alarms, or `-` for a line that must not, and the line.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

CLASSES = r"""
# a bar behind a level of trouble and a clock
-|ERROR 2031-07-14T19:22:17.408226      22/99     2.57G   0.01861   0.01544   0.06881    0.1029        24       832:  58%|▌| 1088/1860 [04:29<03:16,  3.93it/s]
-|2031-07-14 19:22:17,408 ERROR  12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it]
-|[2031-07-14 19:22:17] [ERROR] Epoch 3:  12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it, loss=0.31]
-|2031-07-14T19:22:17.408Z ERROR Downloading shards: 100%|██████████| 3/3 [00:12<00:00,  4.11s/it]
-|2031-07-14 19:22:17 [error] 22/99 [=====>........................] - ETA: 3s - loss: 0.3121 - acc: 0.5121
-|{"level":"ERROR","time":"2031-07-14T19:22:17Z","message":" 12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it]"}
-|level=error msg=" 58%|█████▊    | 58/100 [00:29<00:21,  1.96it/s]"
-|ERROR:root: 58%|█████▊    | 58/100 [00:29<00:21,  1.96it/s]
-|ERROR 2031-07-14T19:22:17.408226 Generating train split: 1200 examples [00:01, 802.11 examples/s]
exception|2031-07-14 19:22:17,408 ERROR loader failed:  12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it]
exception|2031-07-14 19:22:17,408 ERROR  12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it]ValueError: bad widget
exception| 12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it]2031-07-14 19:22:17,408 ERROR the widget is gone
nan|2031-07-14 19:22:17,408 ERROR  12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it, loss=nan]
exception|2031-07-14 19:22:17,408 ERROR could not read shard 12/100 [of 3]
-|ERROR 2031-07-14T19:22:17.408226     Epoch   gpu_mem       box       obj       cls     total   targets  img_size
-|ERROR 2031-07-14T19:22:17.408226                  all        929       9001      0.512      0.401      0.388      0.201
-|ERROR 2031-07-14T19:22:17.408226      22/99     2.57G   0.01861   0.01544   0.06881    0.1029        24       832
exception|ERROR 2031-07-14T19:22:17.408226 no such column in the table
exception|ERROR 2031-07-14T19:22:17.408226 job    id    state    FAILED    exit    1
exception|ERROR: step 3 of the plan was rejected by the server
-|2031-01-02 10:00:00,123 ERROR Training: 100%|██████████| 12/12 [00:03<00:00,  3.91it/s]
-|[2031-01-02 10:00:00] ERROR: Map: 100%|██████████| 1200/1200 [00:03<00:00, 391.2 examples/s]
-|E0714 19:22:17.408226 1233 tqdm.py:12]  58%|█████▊    | 58/100 [00:29<00:21,  1.96it/s]
-|ERROR	2031-01-02 10:00:00 -0700	master-replica-0	 58%|█████▊    | 58/100 [00:29<00:21,  1.96it/s]
-|2031-01-02T10:00:00Z [error]   3/12 [======>.......................] - ETA: 0s - loss: 0.5112
exception|2031-01-02 10:00:00,123 ERROR assertion on row 3 of 10
gpu_oom|2031-01-02 10:00:00,123 ERROR  58%|█████▊    | 58/100 [00:29<00:21,  1.96it/s]torch.OutOfMemoryError: CUDA out of memory.
# a number that is no Xid: of a network card, a lease, a call, a transaction
-|[    1.511244] r8169 0000:04:00.0 eth0: RTL8168h/8111h, 00:e0:4c:68:00:51, XID 541, IRQ 127
-|kernel: r8169 0000:02:00.0 eth0: RTL8125A, 2c:f0:5d:00:11:22, XID 609, IRQ 98
-|[12.1] r8168 0000:03:00.0 enp3s0: RTL8111, XID 54100880, IRQ 31
-|dhclient[811]: XMT: Request on enp3s0, XID 94
-|oplog: commit of xid 745 took 3 ms
-|LOG:  automatic vacuum of table "db.public.t": oldest xid 731, new 745
-|rpc_call: xid 45 proc 3 done
-|INFO: Got ping response, xid: 79
xid|NVRM: Xid (PCI:0000:04:00): 79, pid=1, GPU has fallen off the bus.
xid|health check: XID 94 on GPU 3
xid|Found XID errors: 48
xid|nvidia-smi says xid 79 on card 3
xid|rank 3 died, Xid 79 in the kernel's log
xid|Node gpu-7 drained: Xid 63
xid|GPU 2: xid=31
xid|XID 79 on card 2
xid|Xid 31 seen
-|X11: XID 94 of the window is gone
-|nfs: server call xid 79 done
-|kernel: tg3 0000:03:00.0 eth0: transaction XID 94 done
-|zookeeper: Reading reply session id: 0x10, packet:: clientPath:null xid: 79 replyHeader
-|postgres LOG:  process 41 still waiting for ShareLock on transaction, xid 745
xid|kernel: nvidia-smi: Xid 62 on 0000:3b:00.0
xid|Xid 119 GSP timeout
xid|node check: XID 95 found
# what a pod bears of a node's state
-|                 node.kubernetes.io/unreachable:NoExecute op=Exists for 300s
-|                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
-|Tolerations:     node.kubernetes.io/unreachable:NoExecute for 300s
-|Tolerations:                 node.kubernetes.io/disk-pressure:NoSchedule op=Exists
-|                             node.kubernetes.io/memory-pressure:NoSchedule op=Exists
-|                 nvidia.com/gpu:NoSchedule op=Exists
-|    - key: node.kubernetes.io/unreachable
-|      "key": "node.kubernetes.io/unreachable",
-|  - effect: NoExecute
network|node gpu-7 is unreachable
network|Taints:             node.kubernetes.io/unreachable:NoExecute
-|Node-Selectors:  nvidia.com/gpu.present=true
-|Tolerations:      nvidia.com/gpu=present:NoSchedule
-|                  node.kubernetes.io/pid-pressure:NoSchedule op=Exists
-|  tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
-|        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
# who comes back by himself
-|libceph: osd12 (1)10.2.0.7:6801 socket closed (con state OPEN)
-|[3684115.208814] libceph: mon0 (1)10.2.0.2:6789 socket closed (con state OPEN)
-|[3684115.208814] libceph: osd12 (1)10.2.0.7:6801 socket error on write (con state OPEN)
-|libceph: mon1 (1)10.2.0.3:6789 session lost, hunting for new mon
network|libceph: mon0 (1)10.2.0.2:6789 socket closed (con state CONNECTING)
network|libceph: osd3 10.0.0.9:6801 socket closed (con state V1_BANNER)
-|distributed.worker - ERROR - Failed to communicate with scheduler during heartbeat.
-|2031-03-21 09:12:40,338 - distributed.worker - ERROR - failed to talk to the scheduler during heartbeat: timed out
-|distributed.worker - WARNING - Heartbeat to scheduler failed
exception|distributed.worker - ERROR - Worker stream died during communication: tcp://10.0.0.4:43516
-|2031-12-09 03:10:41,802	WARNING worker.py:1839 -- The log monitor on node gpu7 failed with the following error:
-|WARNING worker.py:1114 -- The dashboard on node gpu7 failed with the following error:
-|(autoscaler) The monitor failed with the following error:
exception|The worker on node gpu7 failed with the following error:
exception|The job failed with the following error:
-|wandb: ERROR Error uploading "config.yaml": CommError, <Response [403]>
-|Syncing: https://wandb.ai/t/p/runs/1 ... wandb: ERROR Error uploading "output.log": CommError, HTTP 403: <?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>
-|wandb: ERROR Dropped streaming file chunk (see wandb/debug-internal.log)
-|wandb: ERROR  (<Response [502]>)
-|COMET ERROR: Failed to upload file 'a.png', response status 500
-|swanlab: Error uploading media: timeout
-|clearml.storage - ERROR - Exception encountered while uploading: 503
exception|wandb: ERROR Run 1f3a errored: CommError('no')
exception|wandb.errors.CommError: It appears that you do not have permission to access the requested resource.
exception|<?xml version='1.0' encoding='UTF-8'?><Error><Code>AccessDenied</Code><Message>Access denied.</Message></Error>
-|ceph: mds0 reconnect start
-|ceph: mds0 caps stale
-|libceph: osd4 up
-|libceph: osd4 weight 0x10000 (in)
-|libceph: osd3 (1)10.0.0.9:6801 socket closed (con state OPEN), reconnecting
-|distributed.worker - ERROR - Failed to communicate with scheduler during heartbeat. Traceback follows
-|wandb: ERROR Error uploading "media/img.png": CommError, Run deleted
-|wandb: WARNING Fatal error while uploading data. Some run data will not be synced
-|neptune ERROR: Error uploading file x.png
-|mlflow: ERROR could not upload artifact
# a connection that the other side ended
network|  error: Remote end closed connection without response
network|http.client.RemoteDisconnected: Remote end closed connection without response
network| 41  812M   41  340M    0     0  2102k      0  0:06:35  0:02:45  0:03:50     0* transfer closed with 4951 bytes remaining to read
network|pycurl.error: (18, 'transfer closed with 77 bytes remaining to read')
network|curl: (18) transfer closed with outstanding read data remaining
network|error: RPC 失败。curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8)
network|错误：RPC 失败。curl 56 GnuTLS recv error (-9): Error decoding the received TLS packet.
network|erreur : RPC échoué ; curl 18 transfer closed with outstanding read data remaining
network|curl: (92) HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)
network|thread 'main' panicked: reqwest::Error { kind: Request, source: TimedOut }
network|Error: hyper::Error(Connect, ConnectError("dns error"))
network|OSError: reqwest::Error { kind: Connect, url: "x" }
-|Warning: Problem : transfer closed with 12 bytes remaining to read. Will retry in 1 seconds. 3 retries left.
-|WARN Reqwest(reqwest::Error { kind: Request, source: hyper::Error(IncompleteMessage) }). Retrying...
-|use hyper::Error;
-|WARNING: Retrying (Retry(total=4)) after connection broken by 'RemoteDisconnected('Remote end closed connection without response')'
-| 41  812M   41  340M    0     0  2102k      0  0:06:35  0:02:45  0:03:50 2210k
exception|Error response from daemon: toomanyrequests: You have reached your pull rate limit.
exception|ERROR: failed to solve: busybox: 429 Too Many Requests - toomanyrequests: You have reached your pull rate limit.
exception|Failed to pull image "x": rpc error: code = Unknown desc = toomanyrequests: You have reached your pull rate limit.
-|toomanyrequests: You have reached your pull rate limit. retrying in 5 seconds
-|  0  192M    0 3011k    0     0  10221      0  5:29:58  0:05:01  5:24:57     0* Connection #0 to host x left intact
network|100  192M   50 3011k    0     0  10221      0  5:29:58  0:05:01  5:24:57     0* Recv failure: Connection reset by peer
network|curl: (56) Recv failure: Connection reset by peer
exception|curl: (22) The requested URL returned error: 404
-|fn get() -> Result<(), hyper::Error> {
-|use reqwest::Error;
network|ERROR: Remote end closed connection without response
network|fetch failed: Remote end closed connection without response
network|error: RPC fehlgeschlagen; curl 56 Recv failure
network|RuntimeError: Data processing error: CAS service error : ReqwestMiddleware Error: reqwest::Error { kind: Request, url: "x" }
network|hyper::Error(Io, Os { code: 104, kind: ConnectionReset })
exception|toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating
-|Warning: toomanyrequests: falling back to mirror
# a shell tells of a child's end, whose command it does not print
exception|./train.sh: line 7: 20188 Aborted
exception|run.sh: line 12:   314 Bus error
exception|run.sh: line 12:   314 Illegal instruction
exception|run.sh: line 12:   314 Floating point exception
exception|run.sh: line 12: 77314 Segmentation fault
exception|run.sh: line 12: 77314 Trace/breakpoint trap
killed|run.sh: line 12: 77314 Killed
-|run.sh: line 12: 77314 Done
-|see run.sh: line 12: Aborted requests are counted
killed|run.sh: line 12: 77314 Quit
killed|run.sh: line 12: 77314 Hangup
exception|run.sh: line 12: 77314 File size limit exceeded
preempted|run.sh: line 12: 77314 CPU time limit exceeded
exception|run.sh: line 12: 77314 Bad system call
killed|run.sh: line 12: 77314 User defined signal 1
-|run.sh: line 12: 77314 Stopped
exception|/tmp/x/slurm_script: line 8: 99120 Aborted
exception|/opt/run.sh: line 8: 99120 Illegal instruction
killed|/opt/run.sh: line 8: 99120 Terminated
# why something is ending
exception|Engine run is terminating due to exception: 3
exception|run is terminating due to exception: 'label'                                       [00:00<?]
exception|The trainer is stopping due to an error in the loader
exception|worker is shutting down because of an unhandled exception
-|run is terminating due to max_epochs
-|training is stopping due to early stopping
-|solver is stopping due to error below tolerance
-|retrying: the session is ending due to an exception
exception|Training is aborting due to an error
exception|the engine was shutting down because of a crash
-|is shutting down because of inactivity settings
-|Trials are stopping due to error rate threshold
exception|Current run is terminating due to exception: CUDA?
exception|Process terminating due to exception KeyError from core
exception|Terminating due to exception of type 'int' - what(): 3
exception|loader-3 execution terminating due to exception
exception|The sweep is terminating due to errors in 3 trials
-|The connection is terminating due to inactivity
-|Stopping due to patience of 3, best error 0.2
-|trial stopped early, pruning: stopping due to error above threshold
-|early termination is stopping due to error plateau tolerance
# the value of an exception is None
exception|11:14:52  KeyError: None
exception|KeyError: None
exception|[rank0]: ValueError: None
exception|AssertionError: False
exception|2031-05-11 09:12:44 RuntimeError: None
-|last_error: None
-|error: None
-|LastError: None
-|{'error': None, 'KeyError': None}
-|KeyErrors: 0
exception|KeyError: False
exception|(pid=41) TypeError: None
-|Error: None
-|status ok, ServerError: None
-|errors: None
# a program of Google's that ends, wherever its source lay
cuda_error|2031-09-17 14:10:22.614560: F C:\tf\core\gpu_event_mgr.cc:206] Unexpected Event status: 1
cuda_error|F tensorflow/core/common_runtime/gpu/gpu_event_mgr.cc:221] Unexpected Event status: 1
cuda_error|2031-09-17 14:10:22: I D:\tf\core\gpu_event_mgr.cc:206] Unexpected Event status: 700
exception|2031-09-17 14:10:22.614560: F T:\src\github\acme\core\framework\tensor.cc:793] Check that the widget is there
exception|F T:\src\acme\widget.cc:12] no widget
exception|2031-09-17 14:10:22.614560: E T:\src\acme\widget.cc:12] could not open the widget
-|2031-09-17 14:10:22.614560: W T:\src\acme\widget.cc:12] no widget
-|2031-09-17 14:10:22.614560: I T:\src\acme\widget.cc:12] Event status: 1
-|Unexpected Event status: 0
exception|F D:\a\_work\core\session.cc:44] widget not registered
exception|2031-01-01 10:00:00.1: F C:/tf/core/session.cc:44] widget not registered
-|2031-01-01 10:00:00.1: I C:\tf\core\session.cc:44] widget registered
-|F D:\data is the drive of the data
# other heads of a traceback
traceback|Traceback (most recent calls WITHOUT Sacred internals):
traceback|2031-05-11 09:12:44 Traceback (most recent calls without library frames):
traceback|Traceback (innermost last):
-|Thread 0x00007f (most recent call first):
-|grep 'Traceback (most recent' train.log
-|print("Traceback (most recent calls WITHOUT Sacred internals):")
-|if "Traceback (most recent call last)" in text:
traceback|Traceback (most recent calls WITHOUT pytest internals):
# who calls its own line fatal ends with it
exception|time="2031-01-06T10:44:31Z" level=fatal msg="Failed to watch metrics: Error watching fields"
exception|time="2031-01-06T10:44:31Z" level=panic msg="no dashboard to serve"
exception|{"level":"fatal","ts":1893.1,"msg":"could not start the metrics server"}
exception|ts=2031-01-06T10:44:31Z level=fatal msg="bind of the probe" err="in use"
-|ffmpeg -loglevel fatal -i in.mp4
-|log.level=fatal
-|--log-level=fatal
-|levels: level=debug, level=fatal
-|time="2031-01-06T10:44:31Z" level=info msg="log level=fatal is set"
-|zap config: {"level":"fatal","encoding":"json"}
exception|{"level":"panic","message":"no route table"}
exception|time=2031-01-06T10:44:31Z level=FATAL msg="cannot load thumbnails"
exception|level=fatal msg="listen tcp :8080: bind: address already in use"
exception|time="2031-01-01T10:00:00Z" level=fatal msg="telemetry failed"
network|time="2031-01-01T10:00:00Z" level=fatal msg="dial tcp 10.0.0.1:443: connect: connection refused"
-|time="2031-01-01T10:00:00Z" level=error msg="telemetry dropped"
# a program guesses why it could not write
disk_full|"model/schema.sql" E514: Write error (file system full?)
disk_full|unzip: write error (disk full?).  Continue? (y/n/^C)
disk_full|E514: write error (file system full?)
disk_full|data/part-3.bin:  write error (disk full?).
-|is the file system full? ask df
disk_full|E514: Write error (file system full?)
# a pod that found no room on its node
host_oom|trainer-7c1e-x2x1   0/1     OutOfmemory   0             1s
host_oom|jobs   trainer-7c1e-x2x1   0/1     OutOfMemory   0     3m12s
host_oom|worker-0   0/1     OOMKilled   2 (12s ago)     40s
host_oom|    Reason:       OutOfmemory
host_oom|  Warning  OutOfmemory  5s    kubelet  Node didn't have enough resource: memory, requested: 98784247808, used: 1, capacity: 2
disk_full|worker-0   0/1     OutOfephemeral-storage   0     40s
exception|worker-0   0/1     OutOfcpu   0     40s
exception|worker-0   0/2     OutOfnvidia.com/gpu   0     40s
exception|  Warning  OutOfnvidia.com/gpu  5s    kubelet  Node didn't have enough resource: nvidia.com/gpu, requested: 8, used: 8, capacity: 8
preempted|worker-0   0/1     Evicted   0     40s
exception|worker-0   0/1     CrashLoopBackOff   12 (31s ago)     40m
-|worker-0   1/1     Running   0     40s
-|worker-0   0/1     Completed   0     40s
-|worker-0   0/1     ContainerCreating   0     4s
-|NAME   READY   STATUS   RESTARTS   AGE
-|outofmemory-test-0   1/1     Running   0     40s
host_oom|  "reason": "OutOfmemory",
exception|  "reason": "OutOfcpu",
exception|  reason: OutOfnvidia.com/gpu
exception|5s          Warning   OutOfpods           pod/worker-0   Node didn't have enough resource: pods, requested: 1
-|  reason: OutOfOrder
-|worker-0   0/1     OutOfSync   0     40s
-|argocd-app   OutOfSync   Healthy
host_oom|gpu-job-7c1e   0/1   Init:OOMKilled   0   31s
host_oom|worker-0   0/1     OutOfmemory   0     40s   <none>   gpu-7   <none>   <none>
exception|  Reason:  OutOfnvidia.com/gpu
-|Reason:  OutOfService maintenance
# what of the card could not be had
cuda_error|2031-02-12 14:22:51 [9,914ms] [Error] [acme.plugin] Failed to get primary context of requested CUDA device 0
cuda_error|[Error] could not create a CUDA context
cuda_error|ERROR: unable to set the CUDA device 3
cuda_error|Failed to retain primary CUDA context for device 1
cuda_error|[acme] Failed to create CUDA stream
-|[Warning] [acme.plugin] Failed to get primary context of requested CUDA device 0
-|Failed to create CUDA context, falling back to CPU
-|INFO: failed to get CUDA device properties, using defaults
-|Get the primary context of the requested CUDA device
cuda_error|Could not acquire the primary CUDA context
-|will try to get the CUDA device later
-|Unable to set CUDA device affinity, ignoring
cuda_error|[ERROR] Unable to create CUDA event
cuda_error|Cannot acquire CUDA context for device 3
cuda_error|RuntimeError: failed to set CUDA device: 3
-|[Warn] Failed to get CUDA device name
"""
ROWS = [tuple(row.split("|", 1)) for row in CLASSES.strip("\n").split("\n") if row[:2] != "# "]


@pytest.mark.parametrize(("label", "line"), ROWS, ids=[row[1][:60] for row in ROWS])
def test_who_stands_around_is_understood(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label if mark.alarm else "-") == label, mark
