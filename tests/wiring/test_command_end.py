"""A command ends without formatting its result, without garbage collections and without warnings."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Coroutine

import pytest

from gpu_tui.wiring.process import run


class Result:
    """Counts how often it is formatted."""

    shown = 0

    def __repr__(self) -> str:
        self.shown += 1
        return ""


async def _made() -> Result:
    return Result()


def test_a_result_is_not_formatted() -> None:
    assert run(_made()).shown == 0


def test_a_command_that_was_interrupted_before_it_began_leaves_no_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(main: Coroutine[object, object, None]) -> None:
        main.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)
    work = _made()
    with pytest.raises(KeyboardInterrupt):
        run(work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


def test_the_interpreter_looks_through_no_object_while_it_exits() -> None:
    code = (
        "import atexit, gc; atexit.register(lambda: print(len(gc.get_objects())));"
        "from gpu_tui.cli.main import main; main(['--version'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout.splitlines()[-1]) < 100
