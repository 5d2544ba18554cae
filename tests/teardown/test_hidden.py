"""A box whose kernel hides other people's processes: who works there is not known, and nothing opens."""

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
from rented import Scene, until

from gpu_tui.core.fleet import Instance, Roots, SshAccess
from gpu_tui.core.ladder import Rung
from gpu_tui.teardown.box import HIDDEN, survey, work
from gpu_tui.transport.base import Completed

ROOT, NOBODY = "0", "65534"


class As:
    """The box's sh as another user."""

    def __init__(self, user: str, groups: str = "", keep: str = "+all", shell: str = "sh") -> None:
        self._words = ["setpriv", "--reuid", user, "--regid", user, "--inh-caps", "-all"]
        self._words += ["--groups", groups] if groups else ["--clear-groups"]
        self._words += ["--bounding-set", keep, *shell.split(), "-s"]

    async def run(self, program: str, *, limit: float, stdout_cap: int = 0) -> Completed:
        done = await asyncio.to_thread(
            subprocess.run,
            self._words,
            input=program.encode(),
            capture_output=True,
            timeout=limit,
            cwd="/",
        )
        return Completed(done.stdout, done.stderr, done.returncode)


def hides(proc: Path, option: str) -> None:
    subprocess.run(["mount", "-t", "proc", "-o", option, "proc", str(proc)], check=True)


@pytest.fixture
def proc() -> Iterator[Path]:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("mounting /proc anew needs root and setpriv")
    with tempfile.TemporaryDirectory(
        prefix="proc-"
    ) as room:  # not pytest's, which only root enters
        os.chmod(room, 0o755)
        place = Path(room) / "proc"
        place.mkdir()
        try:
            hides(place, "hidepid=0")
        except subprocess.CalledProcessError:
            pytest.skip("/proc cannot be mounted anew here")
        yield place
        while place.is_mount():
            subprocess.run(["umount", str(place)], check=True)


def box(proc: Path) -> Instance:
    return replace(Instance("pod", SshAccess("nowhere")), roots=Roots(proc=str(proc)))


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox ash"])
@pytest.mark.parametrize("level", ["1", "2"])
async def test_a_partial_table_is_no_table(proc: Path, level: str, shell: str) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"there is no {shell} here")
    hides(proc, f"hidepid={level}")
    seen = await survey(As(NOBODY, shell=shell), box(proc))  # type: ignore[arg-type]
    assert seen.processes is not None  # those of its own
    assert seen.hidden
    assert work(seen, None, None) is None


async def test_who_sees_everybody_in_spite_of_it_knows(proc: Path) -> None:
    hides(proc, "hidepid=2,gid=4711")
    seen = await survey(As(NOBODY, groups="4711"), box(proc))  # type: ignore[arg-type]
    assert not seen.hidden
    assert {1, os.getpid()} <= {process.pid for process in seen.processes or ()}
    assert (await survey(As(NOBODY), box(proc))).hidden  # type: ignore[arg-type]


async def test_root_is_believed_where_it_sees_the_first_process(proc: Path) -> None:
    hides(proc, "hidepid=2")
    seen = await survey(As(ROOT), box(proc))  # type: ignore[arg-type]
    assert seen.hidden == (1 not in {process.pid for process in seen.processes or ()})


async def test_root_without_its_powers_is_one_of_the_others(proc: Path) -> None:
    hides(proc, "hidepid=2")
    bare = As(ROOT, keep="-sys_ptrace")
    assert (await survey(bare, box(proc))).hidden  # type: ignore[arg-type]


async def test_a_proc_that_hides_nothing_is_believed(proc: Path) -> None:
    hides(proc, "hidepid=0")
    assert not (await survey(As(NOBODY), box(proc))).hidden  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", ["terminate", "stop"])
async def test_the_rung_says_so_and_stays_shut(
    scene: Scene, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = survey

    async def hidden(*args: object) -> object:
        return replace(await real(*args), hidden=True)  # type: ignore[arg-type]

    monkeypatch.setattr("gpu_tui.teardown.gather.survey", hidden)
    climb = scene.runner().open("pod", verb)
    view, views = await until(climb, lambda view: view.state in ("blocked", "closed", "ready"))
    await views.aclose()
    assert view.state == "blocked"
    rung = next(row for row in view.rungs if row.rung is Rung.QUIESCE)
    assert any(HIDDEN[:60] in line for line in rung.lines), rung
