"""The key for a shell leads into the pod of the selected row, by the user's own kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import pty
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from kube_objects import ended, pod
from kube_server import KubeServer

from gpu_tui.core.events import LinkChanged, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import KUBERNETES
from gpu_tui.core.sample import Reading
from gpu_tui.parse.kubectl import shell
from gpu_tui.parse.kubernetes import parse_jobs
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring.hand import OwnPrograms

NOW = 1_795_170_000.0


def view_of(instance: Instance) -> InstanceView:
    store = Store(Fleet(None, (instance,)), {})
    items = [pod("a"), pod("b"), pod("over", phase="Succeeded", state=ended(0))]
    table = parse_jobs(json.dumps({"items": items}).encode(), NOW).table
    store.apply(LinkChanged("lab", NOW, LinkState("live", NOW)))
    store.apply(Sampled("lab", NOW, KUBERNETES.name, Reading(table, NOW, 10.0)))
    source = LogSource("pod/a", "a")
    store.apply(LogOpened("lab", NOW, source, 1, 0, 0, resumed=False, title="a/main · attempt 2"))
    return store.view(NOW)["lab"]


def test_a_shell_in_the_pod_of_a_row(
    namespace: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubectl").write_text("")
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    view = view_of(namespace)
    shells = OwnPrograms(lambda _: view)
    assert shells.command("lab", "b") == (
        str(tmp_path / "kubectl"),
        *("--context=lab", "--namespace=default", "exec", "--stdin", "--tty", "pod/b"),
        *("--container=main", "--", "sh"),
    )
    assert shells.command("lab", "over") is None  # its pod runs no more
    assert shells.command("lab") is not None  # the row that runs
    view = view_of(replace(namespace, read_only=True))
    assert shells.command("lab", "b") is None
    monkeypatch.setenv("PATH", "")
    assert OwnPrograms(lambda _: view_of(namespace)).command("lab", "b") is None


def test_a_log_names_its_pod_container_and_attempt(namespace: Instance) -> None:
    assert [log.title for log in view_of(namespace).logs] == ["a/main · attempt 2"]


async def test_a_shell_in_a_pod_takes_what_is_typed(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p"))
    cluster.with_shell.add(("p", "main"))
    argv = shell(namespace.scheduler_scope, "p", "main")
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, b"echo sum-$((40+2))\rexit 3\r")
    async with asyncio.timeout(20):
        code = await process.wait()
    shown = b""
    with suppress(OSError):  # EIO: its other end is closed
        while data := os.read(ours, 65_536):
            shown += data
    os.close(ours)
    assert b"sum-42" in shown
    assert code == 3
    (request,) = [one for one in cluster.requests if one.path.endswith("/exec")]
    assert (request.words, request.query["tty"], request.query["stdin"]) == (
        ("sh",),
        "true",
        "true",
    )
