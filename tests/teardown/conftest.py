"""One rented box per test, connected."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from boxes import Sshd
from rented import RentedBox, Scene
from runpod_server import RunPodServer

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import Manifest
from gpu_tui.teardown import audit, gather
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.verify import Limits, Reader, load_all, reader
from gpu_tui.transport.ssh import SshTransport

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))  # a far line to a box

LOADED: dict[tuple[str, frozenset[str]], tuple[FileVerdict, ...]] = {}

RUN = asyncio.run


@pytest.fixture
def loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes under the same names are loaded once for all tests: importing torch takes longer
    than a whole ladder.
    """

    async def load(
        root: Path,
        manifest: Manifest,
        *,
        step: Callable[[FileVerdict], None] | None = None,
        allow: frozenset[str] = frozenset(),
    ) -> tuple[FileVerdict, ...]:
        key = (manifest.digest, allow)
        if key not in LOADED or local_tree(root).manifest != manifest:
            LOADED[key] = await load_all(root, manifest, step=step, allow=allow)
        return LOADED[key]

    monkeypatch.setattr(gather, "load_all", load)


@pytest.fixture(scope="module")
def reader_of_all() -> Iterator[tuple[asyncio.Runner, Reader]]:
    """A reader for all tests of a module, and the loop that it belongs to."""
    with asyncio.Runner() as runner:
        context = reader(sys.executable, Limits())
        yield runner, runner.run(context.__aenter__())
        runner.run(context.__aexit__(None, None, None))


@pytest.fixture
def one_reader(
    reader_of_all: tuple[asyncio.Runner, Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`gpu-tui verify` in this process reads by the same child each time: importing torch takes a second, and all
    else a tenth of it. With `own_reader` a test has the command as it is.
    """
    runner, child = reader_of_all
    monkeypatch.setattr(asyncio, "run", runner.run)
    monkeypatch.setattr(audit, "reader", lambda *_: nullcontext(child))


@pytest.fixture
def own_reader(one_reader: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command as it is, also in a module that uses `one_reader`."""
    monkeypatch.setattr(asyncio, "run", RUN)
    monkeypatch.setattr(audit, "reader", reader)


@pytest.fixture
async def scene(
    make_box: Callable[..., Sshd], tmp_path: Path, loaded_once: None
) -> AsyncIterator[Scene]:
    box = RentedBox(make_box())
    local = tmp_path / "here"
    instance = box.instance(local)
    async with RunPodServer() as server:
        connection = await SshTransport().connect(instance)
        try:
            yield Scene(box, local, ManualClock(), server, instance, connection, tmp_path / "state")
        finally:
            await connection.close()
