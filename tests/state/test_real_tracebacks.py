"""Real crash output of Python and rich gives one finding, named by the exception and by no line of source."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_tui.core.log_block import telling
from gpu_tui.core.logs import LogSource
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.book import Book

# Each raises in a different way, from a line of source that names another failure.
SCRIPTS = {
    "plain": ('fail("CUDA out of memory")', "ValueError: CUDA is fine"),
    "chained": (
        """
        try:
            fail("NCCL error in: a.cc:7")
        except ValueError as error:
            raise RuntimeError("could not start") from error
        """,
        "ValueError: CUDA is fine -> RuntimeError: could not start",
    ),
    "handled": (
        """
        try:
            fail("CUDA out of memory")
        except ValueError:
            {}["lr"]  # CUDA out of memory
        """,
        "KeyError: 'lr'",
    ),
    "noted": (
        """
        try:
            fail("CUDA out of memory")
        except ValueError as error:
            error.add_note("while reading shard 17\\nof 20")
            raise
        """,
        "ValueError: CUDA is fine",
    ),
    "grouped": (
        """
        try:
            fail("CUDA out of memory")
        except ValueError as error:
            raise ExceptionGroup("two failed", [error, KeyError("lr")])
        """,
        "ValueError: CUDA is fine",
    ),
    "own": ("raise type('NoRoom', (Exception,), {})('CUDA is fine')", "NoRoom: CUDA is fine"),
    "bare": ("assert 'CUDA out of memory' == 0", "AssertionError"),
    "syntax": ("exec('raise RuntimeError(\\'CUDA out of memory\\'')", "SyntaxError: '(' was never closed"),
    "deep": ("def again(): return again()\nagain()", "RecursionError: maximum recursion depth exceeded"),
    "child": (
        "import subprocess\nsubprocess.run([sys.executable, __file__, 'plain'], check=True)",
        "ValueError: CUDA is fine",
    ),
    "logged": (
        """
        import logging, traceback
        logging.basicConfig(format="%(asctime)s - %(name)s - %(levelname)s - %(message)s")
        try:
            fail("CUDA out of memory")
        except ValueError:
            for line in traceback.format_exc().splitlines():
                logging.error(line)
            raise
        """,
        "ValueError: CUDA is fine",
    ),
    "rich": (
        """
        import rich.traceback
        rich.traceback.install(show_locals=True, width=90)
        hint = RuntimeError("CUDA out of memory")
        fail("CUDA out of memory")
        """,
        "ValueError: CUDA is fine",
    ),
    "pool": (
        """
        from concurrent.futures import ThreadPoolExecutor
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(1) as pool:
            pool.map(fail, ["CUDA out of memory"])
        """,
        "ValueError: CUDA is fine",
    ),
}  # fmt: skip
FAIL = 'import sys\n\n\ndef fail(text):\n    if text: raise ValueError("CUDA is fine")  # RuntimeError("CUDA out of memory")\n'
STEPS = 'print(*(f"step {n}/1000 loss 0.5" for n in range(9)), sep="\\n", flush=True)\n'


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """Returns a function that runs a script by name and returns its output."""
    path = tmp_path_factory.mktemp("crash") / "train.py"
    parts = [FAIL + STEPS + "which = sys.argv[1]\n"]
    for name, (source, _) in SCRIPTS.items():
        body = textwrap.indent(textwrap.dedent(source).strip(), "    ")
        parts.append(f"if which == {name!r}:\n{body}\n")
    path.write_text("".join(parts))

    def run(name: str) -> bytes:
        done = subprocess.run(
            [sys.executable, path, name],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, cwd=path.parent,
            env={"PYTHONIOENCODING": "utf-8", "COLUMNS": "90"}, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout
        return done.stdout

    return run


def book(data: bytes, parts: list[bytes]) -> Book:
    made, reader, begin = Book("box"), LogReader(), 0
    for part in parts or [data]:
        lines = reader.feed(part)
        for place, line in telling(lines):
            made.log_line(line, begin + place, LogSource("/w/a.log", "a"), "a", 0.0)
        begin += sum(not line.open for line in lines)
    return made


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_raised_exception_is_the_finding(crash: Callable[[str], bytes], name: str) -> None:
    said = crash(name)
    for parts in ([said], said.splitlines(keepends=True)):
        made = book(said, parts)
        (found,) = made.findings()
        assert (found.kind, found.evidence, found.count) == ("crashed", SCRIPTS[name][1], 1), said
        failure = made.failure("a", ended=True)
        assert failure is not None
        assert failure.told == SCRIPTS[name][1]
    assert Path(found.source.removeprefix("log:").rpartition(":")[0]) == Path("/w/a.log")
