"""Programs of the box that hold a result file open for writing, as the real /proc shows them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Results
from gpu_tui.teardown.box import survey, work
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.fixture
async def link(box: Sshd) -> AsyncIterator[Connection]:
    connection = await SshTransport().connect(box.instance("box"))
    yield connection
    await connection.close()


@pytest.fixture
def results(box: Sshd) -> Path:
    root = box.home / "it's results"
    root.mkdir()
    (root / "last.pth").write_bytes(b"x")
    return root


@pytest.fixture
def holder(results: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A `sleep` that a shell gave this redirection."""
    with subprocess.Popen(
        ["sh", "-c", f"echo; exec sleep infinity {request.param}"],
        cwd=results,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        wait_for_exec(child.pid)
        yield child
        child.kill()


def wait_for_exec(pid: int) -> None:
    """Until the shell has become the `sleep`: its redirection is made then."""
    while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
        os.sched_yield()


@pytest.mark.parametrize(
    "holder", [">last.pth", ">>last.pth", "3<>last.pth", "2>new.log"], indirect=True
)
async def test_whoever_writes_a_result_is_work(
    box: Sshd, link: Connection, results: Path, holder: subprocess.Popen[bytes]
) -> None:
    """`>` of a shell, cp and rsync open a file for writing alone: `l-wx` in /proc."""
    seen = await survey(link, box.instance("box", results=Results(str(results))))
    assert [path for pid, path in seen.writers if pid == holder.pid] in (
        [str(results / "last.pth")],
        [str(results / "new.log")],
    )
    lines = work(seen, None, None)
    assert any(f"(pid {holder.pid})" in line for line in lines or ())


@pytest.mark.parametrize("holder", ["<last.pth", ">/dev/null"], indirect=True)
async def test_whoever_reads_a_result_or_writes_elsewhere_is_no_writer(
    box: Sshd, link: Connection, results: Path, holder: subprocess.Popen[bytes]
) -> None:
    seen = await survey(link, box.instance("box", results=Results(str(results))))
    assert holder.pid not in dict(seen.writers)
    lines = work(seen, None, None)
    assert not any(f"(pid {holder.pid})" in line for line in lines or ())
