"""The sampler through a real sshd: every metric arrives, and nothing of it outlives the connection."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench.onbox import SHELLS, left_after_kills
from shell_box import NVIDIA_SMI, Inbox, gone

from gpu_tui.collect.sampler import plan, sample_group
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import QueueFiles
from gpu_tui.core.sample import Absent, Reading
from gpu_tui.transport.ssh import SshTransport


def processes_of(home: Path) -> list[int]:
    """Every process that was started for a login of this box."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if f"HOME={home}".encode() in words:
            found.append(int(entry.name))
    return found


async def test_every_metric_over_one_channel(box):  # type: ignore[no-untyped-def]
    box.program("nvidia-smi", NVIDIA_SMI)
    (box.home / "queue.txt").write_text("configs/no_aug.yaml reconstruction 5\n")
    (box.home / ".bashrc").write_text("echo welcome to this noisy box\n")
    instance = box.instance(queue=QueueFiles("~/queue.txt"), mounts=("/",))
    (group,) = plan(instance)
    inbox = Inbox()
    transport = SshTransport()
    connection = await transport.connect(instance)
    task = asyncio.create_task(sample_group(connection, instance, group, inbox, ManualClock()))
    got = await inbox.all_of({probe.metric for probe in group.probes})
    none_here = {"task-spooler", "pueue"}  # what runs jobs here, if anything does
    assert all(
        isinstance(event.sample, Reading)
        or (name in none_here and isinstance(event.sample, Absent))
        for name, event in got.items()
    ), got
    assert got["roster"].sample.value.cells[0].name == "no_aug"

    started = processes_of(box.home)
    assert len(started) >= len({probe.lane for probe in group.probes})
    await connection.close()
    await transport.close()
    await gone(*started)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(params=["fish", "tcsh"])
def login(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """A user of this machine with that login shell, and a home."""
    shell = shutil.which(request.param)
    if shell is None or os.geteuid() != 0 or shutil.which("useradd") is None:
        pytest.skip(f"needs root, useradd and {request.param}")
    name = f"gpu-tui-{request.param}"
    with tempfile.TemporaryDirectory(prefix=name) as directory:
        home = Path(directory)
        home.chmod(0o755)
        subprocess.run(["useradd", "-M", "-d", home, "-s", shell, "-p", "*", name], check=True)
        try:
            shutil.chown(home, name)
            yield name, home
        finally:
            subprocess.run(["userdel", "-f", name], check=True, stderr=subprocess.DEVNULL)


async def test_every_metric_whatever_the_login_shell(login, make_box):  # type: ignore[no-untyped-def]
    """As sshd starts it: the shell of the password file, with start files that say something."""
    user, home = login
    (home / "nvidia-smi").write_text(NVIDIA_SMI)
    (home / "nvidia-smi").chmod(0o755)
    (home / "queue.txt").write_text("configs/no_aug.yaml reconstruction 5\n")
    (home / ".config" / "fish").mkdir(parents=True)
    for name in (".config/fish/config.fish", ".tcshrc"):
        (home / name).write_text("echo welcome to this noisy box\n")
    box = make_box(
        extra=f"Match User {user}\nAuthorizedKeysFile {home}/keys\n"
        f'SetEnv "PATH={home}:/usr/sbin:/usr/bin:/sbin:/bin"\n'
    )
    shutil.copy(box.directory / "etc" / "authorized_keys", home / "keys")
    instance = box.instance(
        ssh=replace(box.ssh_access, user=user), queue=QueueFiles("~/queue.txt"), mounts=("/",)
    )
    (group,) = plan(instance)
    inbox = Inbox()
    transport = SshTransport()
    connection = await transport.connect(instance)
    task = asyncio.create_task(sample_group(connection, instance, group, inbox, ManualClock()))
    got = await inbox.all_of({probe.metric for probe in group.probes})
    none_here = {"task-spooler", "pueue"}  # what runs jobs here, if anything does
    assert all(
        isinstance(event.sample, Reading)
        or (name in none_here and isinstance(event.sample, Absent))
        for name, event in got.items()
    ), got
    started = processes_of(home)
    assert started
    await connection.close()
    await transport.close()
    await gone(*started)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.nightly
@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_nothing_is_left_on_the_box_of_clients_that_were_killed(shell: str) -> None:
    """By SIGKILL, each while it samples and follows a log."""
    times = 50 if os.environ.get("GPU_TUI_NIGHTLY") else 2
    assert left_after_kills(shell, times) == 0
