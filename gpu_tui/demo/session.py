"""One exec or shell request of a login, answered by a real /bin/sh in the box's own environment.

stdin, stdout and stderr travel as bytes. When the client closes the channel or goes away, everything
the request started ends with it: nothing outlives a session of the demo.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios

import asyncssh

from gpu_tui.demo.box import Box

BLOCK = 65_536
SHELL = "/bin/sh"


async def serve_request(box: Box, process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Run what the client asked for until it ends or the channel closes."""
    argv = [SHELL, "-c", process.command] if process.command else [SHELL, "-l"]
    if process.term_type is None:
        code = await _with_pipes(box, argv, process)
    else:
        code = await _with_terminal(box, argv, process)
    if not process.is_closing():
        process.exit(code if code >= 0 else 128 - code)


async def _with_pipes(box: Box, argv: list[str], process: asyncssh.SSHServerProcess[bytes]) -> int:
    child = await asyncio.create_subprocess_exec(
        *argv,
        cwd=box.home,
        env=box.environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdin
    assert child.stdout
    assert child.stderr
    inward = asyncio.create_task(_feed(process, child.stdin))
    outward = asyncio.gather(
        _drain(child.stdout, process.stdout), _drain(child.stderr, process.stderr)
    )
    try:
        await _ended_or_closed(child, process)
        end_session(child.pid)
        await outward
        return await child.wait()
    finally:
        end_session(child.pid)
        inward.cancel()
        outward.cancel()
        await asyncio.gather(inward, outward, return_exceptions=True)
        await child.wait()


async def _with_terminal(
    box: Box, argv: list[str], process: asyncssh.SSHServerProcess[bytes]
) -> int:
    ours, theirs = pty.openpty()
    _resize(theirs, process.term_size)
    try:
        child = await asyncio.create_subprocess_exec(
            *argv,
            cwd=box.home,
            env={**box.environment(), "TERM": process.term_type or "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
    finally:
        os.close(theirs)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", 0)
    )
    outward = asyncio.create_task(_drain(reader, process.stdout))
    inward = asyncio.create_task(_type(process, ours))
    try:
        await _ended_or_closed(child, process)
        end_session(child.pid)
        await outward
        return await child.wait()
    finally:
        end_session(child.pid)
        inward.cancel()
        outward.cancel()
        await asyncio.gather(inward, outward, return_exceptions=True)
        transport.close()
        await child.wait()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _resize(fd: int, size: tuple[int, int, int, int]) -> None:
    columns, rows, width, height = size
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, width, height))


async def _ended_or_closed(
    child: asyncio.subprocess.Process, process: asyncssh.SSHServerProcess[bytes]
) -> None:
    ended = asyncio.create_task(child.wait())
    closed = asyncio.create_task(process.wait_closed())
    try:
        await asyncio.wait((ended, closed), return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended.cancel()
        closed.cancel()


async def _feed(process: asyncssh.SSHServerProcess[bytes], target: asyncio.StreamWriter) -> None:
    """Carry the client's bytes to the program; the client's EOF closes its stdin."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while not process.stdin.at_eof():
            try:
                data = await process.stdin.read(BLOCK)
            except (asyncssh.SignalReceived, asyncssh.BreakReceived):
                continue  # as a root login's sshd, which delivers no signal
            target.write(data)
            await target.drain()
    target.close()


async def _type(process: asyncssh.SSHServerProcess[bytes], terminal: int) -> None:
    """Carry keystrokes and window sizes to a pseudo-terminal."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while not process.stdin.at_eof():
            try:
                data = await process.stdin.read(BLOCK)
            except asyncssh.TerminalSizeChanged as change:
                _resize(terminal, change.term_size)
                continue
            except (asyncssh.SignalReceived, asyncssh.BreakReceived):
                continue
            os.write(terminal, data)


async def _drain(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):
        while data := await source.read(BLOCK):
            target.write(data)
            await target.drain()


def end_session(session: int) -> None:
    """Kill every process of a session, also those that made a process group of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)
    for pid in _members(session):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _members(session: int) -> list[int]:
    """Pids of a session where /proc lists them; elsewhere the process group alone has to do.

    The kernel is asked, not read: at the end of a demo this is done for a hundred sessions at once.
    """
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if name.isdigit() and os.getsid(int(name)) == session:
                    found.append(int(name))
    return found
