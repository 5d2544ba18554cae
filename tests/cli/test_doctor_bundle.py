"""`gpu-tui doctor --bundle`: what helps whoever mends it, and nothing that names or opens anything."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.cli.main import main
from gpu_tui.core.events import LinkChanged, ProviderRead, Sampled
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    Money,
    ProviderAccess,
    ProviderState,
    QueueFiles,
    SshAccess,
)
from gpu_tui.core.metrics import GPUS, MEMORY
from gpu_tui.core.sample import Failure, FailureKind
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.wiring.support import bundle_of

NOW = 1_763_700_000.0
BOX = Instance(
    "alice-h100",
    SshAccess("gpu7.lab.example.org", "alicew", 2222, jump="hop.lab.example.org"),
    "runpod",
    price=Money(777.125, "USD"),
    queue=QueueFiles("/home/alicew/q.txt"),
    provider=ProviderAccess(id="pod7h9k2m4n6p", key_env="MY_POD_KEY"),
    tags=("grant-4711",),
)
SAID = (  # in every place where a box, an API or this machine is quoted
    "alice-h100 as alicew at gpu7.lab.example.org:2222 by hop.lab.example.org and node3.other.example.net, 10.1.2.3, "
    "[2001:db8::7]:22: /home/alicew/.ssh/id, pod7h9k2m4n6p, grant-4711, wide_lr3e4, paper-sweep, "
    "token=hf_abcdefghijklmnopqrstuvwx, pod-canary-key, Bearer abcdef0123456789, env-canary-1, "
    "https://open.feishu.cn/hook/hook-canary-2, SHA256:" + "b" * 43
)
CANARIES = (
    *("alice", "lab.example", "other.example", "10.1.2.3", "2001:db8", "pod7h9", "4711", "wide_lr"),
    *("paper-sweep", "hf_abc", "canary", "abcdef0123", "b" * 43, "777.1", "2222"),
)


def seen() -> FleetView:
    fleet = Fleet("paper-sweep", (BOX,), None)
    store = Store(fleet, {})
    link = LinkState("auth", NOW, error=f"refused: {SAID}", host_key="SHA256:" + "b" * 43, via=SAID)
    store.apply(LinkChanged(BOX.name, NOW, link))
    for metric in (GPUS, MEMORY):
        store.apply(Sampled(BOX.name, NOW, metric.name, Failure(FailureKind.HUNG, SAID, NOW)))
    store.apply(ProviderRead(BOX.name, NOW, ProviderState(error=f"no answer: {SAID}")))
    view = store.view(NOW)
    cells = (Cell("wide_lr3e4", 1, "t", CellState.RUNNING),)
    boxes = (replace(view.instances[0], queue=Queue(cells, total=1)),)
    return replace(
        view, instances=boxes, notes=(f"a note: {SAID}", *SAID.split(", "))
    )  # each also where no line is cut


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    config = tmp_path / "config.yaml"
    config.write_text("theme: day\nalerts: {webhook: {url_env: HOOK}, severity: warn}\n")
    monkeypatch.setenv("GPU_TUI_CONFIG", str(config))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOOK", "https://open.feishu.cn/hook/hook-canary-2")
    monkeypatch.setenv("MY_POD_KEY", "pod-canary-key")
    monkeypatch.setenv("OTHER_TOKEN", "env-canary-1")
    return bundle_of(Fleet("paper-sweep", (BOX,), None), seen(), [f"fail: alice-h100: ssh: {SAID}"])


@pytest.mark.parametrize("canary", CANARIES)
def test_nothing_that_names_or_opens_anything_is_in_it(bundle: str, canary: str) -> None:
    assert canary not in bundle


@pytest.mark.parametrize("host", ["alice-h100", "gpu7"])
def test_who_is_on_the_way_is_not_in_it(host: str) -> None:
    """Also where the box is called as its host is, and where a jump host is one word of several."""
    box = replace(BOX, ssh=SshAccess(host, jump="ssh://carol@gate7:2223, gate8"))
    store = Store(Fleet(None, (box,), None), {})
    said = "gate7: carol@gate7:2223 refused; gate8: no answer from 2001:db8::5 or ('fe80::1', 22)"
    store.apply(LinkChanged(box.name, NOW, LinkState("refused", NOW, error=said)))
    bundle = bundle_of(Fleet(None, (box,), None), store.view(NOW), [])
    for canary in ("gate7", "carol", "2223", "gate8", "2001", "db8", "fe80"):
        assert canary not in bundle, canary


def test_no_jump_host_is_no_name() -> None:
    """`jump: none` turns off what an ssh config says."""
    box = replace(BOX, ssh=replace(BOX.ssh, jump="none"))
    fleet = Fleet(None, (box,), None)
    assert "- cells: none" in bundle_of(fleet, Store(fleet, {}).view(NOW), [])


def test_what_helps_is_in_it(bundle: str) -> None:
    for line in (
        "- theme: day",
        "- ways out of alerts: webhook (receiver by its host)",
        "- alerts, beside the usual: severity",
        "## box-1, runpod",
        "- set in the fleet file: price, queue, provider, tags, ssh.user, ssh.port, ssh.jump",
        "- cells: 1 running",
        "- link: auth: refused: box-1 as [user] at [host]",
        "- fail: box-1: ssh: box-1 as",
        f"- {GPUS.name}: unknown: box-1 as",
        "- journal: 0 records",
    ):
        assert line in bundle, line
    assert "Nothing was sent anywhere" in bundle


def test_it_is_a_new_file_that_only_its_owner_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fleet.yaml").write_text("instances: [{name: box, host: 'ssh://a@127.0.0.1:9'}]\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    os.umask(os.umask(0o022))
    assert (
        main(["doctor", "--bundle", "--limit", "5"]) == 2
    )  # what the audit found is its exit code
    said = capsys.readouterr()
    (path,) = tmp_path.glob("gpu-tui-bundle-*.md")
    assert said.out == f"{path.name}\n"
    assert "Nothing was sent" in said.err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "## box-1, generic-ssh" in path.read_text()
    assert "127.0.0.1" not in path.read_text()
    assert main(["doctor", "--bundle", "--limit", "5", "--out", str(path)]) == 2
    assert "File exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--out", "x"], "--bundle is not there"),
        (["--bundle", "--out", "-", "--json"], "two texts at once"),
    ],
)
def test_what_does_not_go_together_is_told_before_a_box_is_asked(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "box", *words]) == 2
    assert why in capsys.readouterr().err
