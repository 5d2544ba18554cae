"""Packets that vanish, in the kernel: a box in a network namespace of its own, and a real cut.

The relay of the other tests still acknowledges; here nothing answers at all.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import SYSTEM_PATH, Sshd
from faults.heard import live, lost, read, watched

from gpu_tui.core.fleet import Instance
from gpu_tui.transport import ssh

NAME = f"gt{os.getpid()}"
OURS, ITS = "198.18.77.1", "198.18.77.2"


def sh(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


class Island:
    """An sshd in its own network namespace, at the far end of a veth pair."""

    def __init__(self, directory: Path) -> None:
        self.made = Sshd(directory)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Lay the link and listen on port 22 there."""
        sh("ip", "netns", "add", NAME)
        sh("ip", "link", "add", NAME, "type", "veth", "peer", "name", "gtfar", "netns", NAME)
        sh("ip", "addr", "add", f"{OURS}/30", "dev", NAME)
        sh("ip", "link", "set", NAME, "up")
        sh("ip", "-n", NAME, "addr", "add", f"{ITS}/30", "dev", "gtfar")
        sh("ip", "-n", NAME, "link", "set", "gtfar", "up")
        etc = self.made.directory / "etc"
        (etc / "sshd_config").write_text(
            f"ListenAddress {ITS}:22\nHostKey {self.made.host_key}\nPidFile none\n"
            f"AuthorizedKeysFile {etc / 'authorized_keys'}\nStrictModes no\nUsePAM no\n"
            f'UseDNS no\nSetEnv "HOME={self.made.home}" "PATH={SYSTEM_PATH}"\n'
        )
        words = ["ip", "netns", "exec", NAME, shutil.which("sshd", path=SYSTEM_PATH) or "sshd"]
        log = ["-D", "-f", str(etc / "sshd_config"), "-E", str(etc / "sshd.log")]
        self._process = subprocess.Popen([*words, *log], stdin=subprocess.DEVNULL)
        kind, key = Path(f"{self.made.host_key}.pub").read_text().split()[:2]
        self.made.known_hosts.write_text(f"{ITS} {kind} {key}\n")

    def instance(self) -> Instance:
        """How to reach it."""
        return Instance("box", replace(self.made.ssh_access, host=ITS, port=22))

    def vanish(self) -> None:
        """From now on every packet is dropped on its way, both ways."""
        rules = f"add chain inet {NAME} %s {{ type filter hook %s priority 0; }}\n"
        rules += f'add rule inet {NAME} %s %s "{NAME}" drop\n'
        text = f"add table inet {NAME}\n"
        for hook, word in (("input", "iifname"), ("output", "oifname")):
            text += rules % (hook, hook, hook, word)
        subprocess.run(["nft", "-f", "-"], input=text, text=True, check=True, capture_output=True)

    def come_back(self) -> None:
        """Packets pass again."""
        sh("nft", "delete", "table", "inet", NAME)

    def unplug(self) -> None:
        """The link is down: we have no route."""
        sh("ip", "link", "set", NAME, "down")

    def plug(self) -> None:
        """The link is up."""
        sh("ip", "link", "set", NAME, "up")

    def stop(self) -> None:
        """Take all of it away."""
        subprocess.run(["nft", "delete", "table", "inet", NAME], check=False, capture_output=True)
        if self._process is not None:
            found = subprocess.run(["ip", "netns", "pids", NAME], capture_output=True, check=False)
            for pid in found.stdout.split():
                with suppress(ProcessLookupError):  # it may have ended by itself
                    os.kill(int(pid), 9)
            self._process.wait(60)
        subprocess.run(["ip", "link", "del", NAME], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", NAME], check=False, capture_output=True)


@pytest.fixture
def island(tmp_path: Path) -> Iterator[Island]:
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("nft")):
        pytest.skip("needs root, iproute2 and nftables")
    made = Island(tmp_path / "box")
    try:
        made.start()
    except subprocess.CalledProcessError as error:
        made.stop()
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    yield made
    made.stop()


async def cut(island: Island) -> float:
    """Seconds from the first dropped packet until the loss is said; then it comes back."""
    loop = asyncio.get_running_loop()
    async with watched(island.instance(), longest_wait=1.0) as (_, heard):
        first = await heard.after(0, read)
        assert first > 0
        began = loop.time()
        island.vanish()
        gone = await heard.after(first, lost)
        island.come_back()
        await heard.after(await heard.after(gone, live), read)
        return heard.at[gone] - began


async def test_vanished_packets_are_a_lost_link_and_it_comes_back(
    island: Island, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "KEEPALIVE_SECONDS", 0.3)
    await cut(island)


async def test_a_link_that_is_pulled_out_comes_back_when_plugged_in(
    island: Island, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "KEEPALIVE_SECONDS", 0.3)
    async with watched(island.instance(), longest_wait=1.0) as (boxes, heard):
        first = await heard.after(0, read)
        island.unplug()
        gone = await heard.after(first, lost)
        island.plug()
        boxes.reconnect("box")
        await heard.after(await heard.after(gone, live), read)


@pytest.mark.nightly
@pytest.mark.skipif(not os.environ.get("GPU_TUI_NIGHTLY"), reason="waits 20 s: GPU_TUI_NIGHTLY=1")
async def test_a_black_hole_is_noticed_within_twenty_seconds(island: Island) -> None:
    assert await cut(island) <= 20.0
