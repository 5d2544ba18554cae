"""A real one-node Slurm for tests: slurmctld and slurmd in the foreground, in a directory of their own.

It needs no systemd, no munge daemon, no cgroup and no free port of a fixed number, and it runs as whoever
runs the tests: auth/none believes every user, which is why it listens on loopback only.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from ports import Port

DAEMON_PATH = "/usr/sbin:/usr/local/sbin:/usr/bin"
CONF = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldAddr=127.0.0.1
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
MpiDefault=none
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0,requeue_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
KillWait=2
MinJobAge=300
InactiveLimit=0
OverTimeLimit=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=gpu Nodes={host} Default=YES MaxTime=1-00:00:00 PriorityTier=10 PreemptMode=off
PartitionName=spot Nodes={host} MaxTime=1-00:00:00 PriorityTier=1 PreemptMode=requeue GraceTime=1
"""


class NoSlurm(RuntimeError):
    """This machine cannot run a Slurm; the text says why."""


def program(name: str) -> str:
    """Where a program is; NoSlurm where it is not."""
    found = shutil.which(name) or shutil.which(name, path=DAEMON_PATH)
    if found is None:
        raise NoSlurm(f"no {name} here: apt-get install slurm-wlm slurmdbd mariadb-server")
    return found


class Slurm:
    """One cluster of one node. `env` is what a client needs to reach it."""

    def __init__(self, root: Path, conf: str = CONF) -> None:
        self.root = root
        self.host = socket.gethostname().split(".")[0]
        self._ports: list[Port] = []
        for part in ("state", "spool"):
            (root / part).mkdir(parents=True, exist_ok=True)
        self.conf = root / "slurm.conf"
        self.conf.write_text(
            conf.format(
                host=self.host,
                user=getpass.getuser(),
                root=root,
                ctld_port=self._port(),
                slurmd_port=self._port(),
            )
        )
        self.env = {"SLURM_CONF": str(self.conf)}
        self._daemons: list[subprocess.Popen[bytes]] = []

    def _port(self) -> int:
        """One more port that is ours until the end."""
        self._ports.append(Port())
        return self._ports[-1].number

    def start(self) -> Slurm:
        """Start both daemons and wait until the node takes jobs. NoSlurm where it never does."""
        self.start_controller()
        self._spawn("slurmd", "-D", "-N", self.host)
        self._until("sinfo", "-h", "-o", "%T", says="idle")
        return self

    def start_controller(self) -> None:
        """Start the controller alone, and wait for it."""
        self._spawn("slurmctld", "-D")
        self._until("scontrol", "ping", says="is UP")

    def kill_node(self) -> None:
        """The node's daemon dies without a word."""
        daemon = self._daemons.pop()
        daemon.kill()
        daemon.wait(60)

    def stop_controller(self) -> None:
        """The controller goes; its jobs stay."""
        self._end(self._daemons.pop(0))

    def run(self, *words: str, check: bool = True, cwd: Path | None = None) -> str:
        """A client's stdout. AssertionError where it does not end with 0 and `check`."""
        done = subprocess.run(
            words,
            env={**os.environ, **self.env},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def submit(self, script: str, *options: str, name: str = "job", cwd: Path | None = None) -> str:
        """sbatch a sh script; the job's id."""
        file = self.root / f"{len(list(self.root.glob('*.sh')))}.sh"
        file.write_text(f"#!/bin/sh\n{script}\n")
        words = ("sbatch", "--parsable", "-J", name, *options, str(file))
        return self.run(*words, cwd=cwd or self.root)

    def cancel_all(self) -> None:
        """End every job, and wait until none holds the node."""
        words = ("scancel", "--user", getpass.getuser())
        self.run(*words, "--signal=KILL", "--full", check=False)
        self.run(*words, check=False)
        for _ in range(50):
            if not self.run("squeue", "-h", "-o", "%i", check=False):
                break
            pause()

    def stop(self) -> None:
        """End every job, then the daemons, then the programs that a dead daemon left."""
        self.cancel_all()
        for daemon in reversed(self._daemons):
            self._end(daemon)
        self._daemons.clear()
        self._reap()
        for port in self._ports:
            port.close()

    def _reap(self) -> None:
        """Kill the processes of our jobs, known by their environment, and the stepd above each."""
        mark = f"SLURM_CONF={self.conf}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError):  # it may have ended by itself
                if mark not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                above = Path("/proc", str(parent), "cmdline").read_bytes()
                os.kill(int(entry.name), signal.SIGKILL)
                if above.startswith(b"slurmstepd"):
                    os.kill(parent, signal.SIGKILL)

    def _spawn(self, name: str, *words: str) -> None:
        with (self.root / f"{name}.out").open("ab") as out:
            daemon = subprocess.Popen(
                [program(name), "-f", str(self.conf), *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        if name == "slurmctld":
            self._daemons.insert(0, daemon)
        else:
            self._daemons.append(daemon)

    def _until(self, *words: str, says: str) -> None:
        """Ask until the answer has it: the daemons' own readiness."""
        answer = ""
        for _ in range(200):
            if any(daemon.poll() is not None for daemon in self._daemons):
                break
            answer = self.run(*words, check=False)
            if says in answer:
                return
            pause()
        logs = "".join(
            file.read_text(errors="replace")[-800:] for file in sorted(self.root.glob("*.log"))
        )
        raise NoSlurm(f"Slurm did not come up ({answer!r}): {logs}")

    def _end(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()
        try:
            daemon.wait(5)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait(60)


def pause() -> None:
    """A tenth of a second between two questions to a daemon that starts; it can announce nothing."""
    subprocess.run(["sleep", "0.1"], check=True)


def started(cluster: Slurm) -> Iterator[Slurm]:
    """That cluster running, or a skip; GPU_TUI_SLURM=required turns the skip into a failure."""
    try:
        cluster.start()
    except NoSlurm as error:
        cluster.stop()
        if os.environ.get("GPU_TUI_SLURM") == "required":
            raise
        pytest.skip(str(error))
    try:
        yield cluster
    finally:
        cluster.stop()
