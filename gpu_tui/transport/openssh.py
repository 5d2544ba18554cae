"""A connection by the user's own ssh program, for what asyncssh lacks (security keys, PKCS11, ...).

One `ssh -M` per box is the connection; each program runs in one more `ssh` that shares it. All of them
read their stdin from us: whatever becomes of us, they end. Its socket lies in a private directory.
It asks nobody anything, and takes no host key that known_hosts lacks.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import asyncssh

from gpu_tui.core.fleet import SshAccess
from gpu_tui.parse.lines import clean
from gpu_tui.start_process import start_process
from gpu_tui.transport.access import Route, openssh_missing
from gpu_tui.transport.asyncssh_private import sftp_over
from gpu_tui.transport.base import (
    SPARE_LINES,
    ChannelRefused,
    Completed,
    ConnectTimeout,
    FileAccess,
    LinkError,
    LinkLost,
    NoShell,
    new_nonce,
    shell_command,
    to_send,
    without_shell,
)
from gpu_tui.transport.channels import closing, guarded
from gpu_tui.transport.files import SftpFiles
from gpu_tui.transport.openssh_session import Session
from gpu_tui.transport.openssh_words import (
    Said,
    config_text,
    failure,
    master_words,
    session_words,
)

CONNECT_SECONDS = 30.0  # per host on the way: a security key waits for a touch
PREFIX = "gpu-tui-"
SESSIONS = 9  # one of sshd's ten is the connection's own
STREAMS = SESSIONS - 2  # one place stays free for programs that end, one for files
PLACE_SECONDS = 5.0
CLOSE_SECONDS = 2.0
END_SECONDS = 0.5  # for an ssh that was told to end


async def connect(access: SshAccess, chain: Sequence[Route], why: str) -> OpenSshConnection:
    """Log in. `chain` are the hosts on the way, the box last. Raises a LinkError."""
    program = shutil.which("ssh")
    if program is None:
        raise openssh_missing(access.host, why)
    directory = await asyncio.to_thread(_directory, access, chain)
    made = OpenSshConnection(program, directory, chain, why)
    try:
        await made.open(access)
    except BaseException:
        await made.close()
        raise
    return made


def _directory(access: SshAccess, chain: Sequence[Route]) -> Path:
    """A directory that only we can enter, short enough for a socket's name."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = runtime if runtime and len(runtime) < 40 and os.access(runtime, os.W_OK) else None
    base = base or tempfile.gettempdir()
    for left in Path(base).glob(f"{PREFIX}*"):  # by a process that was killed
        pid = left.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
    os.mkfifo(path / "log", 0o600)
    (path / "config").write_text(config_text(access, chain), "utf-8", "surrogateescape")
    return path


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class OpenSshConnection:
    """One live box behind an ssh program. `via` says why it is not a connection of our own."""

    def __init__(self, program: str, directory: Path, chain: Sequence[Route], why: str) -> None:
        self.host_key = ""
        self.via = f"ssh(1): {why}"
        self.peer = chain[-1].numbers  # ssh does not tell where it went
        self.login = chain[-1].user
        self.nonce = new_nonce()
        self._shell = shell_command(self.nonce)
        self._program = program
        self._directory = directory
        self._socket = str(directory / "s")
        self._chain = chain
        self._log, self._way = Said(), Said()
        self._said = ""  # by the box, in place of an answer
        self._master: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closed_by_us = False
        self._places = asyncio.Semaphore(SESSIONS)
        self._streams = asyncio.Semaphore(STREAMS)
        self._asking = asyncio.Lock()

    async def open(self, access: SshAccess) -> None:
        """Start the connection and prove that a shell answers on it."""
        config, log = (str(self._directory / name) for name in ("config", "log"))
        reader, ours = await _reader_of(log)
        try:
            words = master_words(access, config, self._socket, log, self._shell)
            self._master = await self._spawn(words)
        except BaseException:  # nobody else would close it
            os.close(ours)
            raise
        assert self._master.stderr is not None
        self._tasks = [
            asyncio.create_task(_listen(reader, self._log)),
            asyncio.create_task(_listen(self._master.stderr, self._way)),
            asyncio.create_task(self._watch(self._master, ours)),
        ]
        route, limit = self._chain[-1], CONNECT_SECONDS * len(self._chain)
        number = secrets.randbelow(10**12)
        try:
            async with asyncio.timeout(limit):
                answered = await self._echo(
                    f"{SPARE_LINES}echo shell-$(({number} + 1)); exec cat\n", f"shell-{number + 1}"
                )
        except TimeoutError:
            if self._log.passed:
                raise NoShell(
                    f"{route.user}@{route.host} lets us in, but no sh answers within {limit:.0f} s",
                    next=f"see what it says: {route.command}",
                ) from None
            touch = "touch the security key when it blinks" if self._awaits_touch() else None
            *hops, _ = self._chain
            at = self._chain[min(self._way.passed, len(hops))]
            error = ConnectTimeout(
                f"{at.where} does not let ssh in within {limit:.0f} s",
                next=touch or f"by hand: {route.command}",
            )
            if at in hops:
                error.met_at(at.named, at.where)
            raise error from None
        if not answered:
            await self._ended()
            if self._log.passed:
                raise self._no_shell(route)
            raise failure(self._log, self._way, self._chain)
        self.host_key = self._log.host_key

    def _no_shell(self, route: Route) -> LinkError:
        """Logged in, and something else than a sh ran; what it said last is quoted."""
        code = self._master.returncode if self._master else None
        said = clean((self._said or "".join(self._way.lines[-1:]))[:120])
        return without_shell(f"{route.user}@{route.host}", said, code, route.command)

    async def _spawn(self, words: Sequence[str]) -> Process:
        """In a session of its own: ssh finds no terminal to ask on, and no Ctrl-C reaches it."""
        environment = {**os.environ, "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
        environment.pop("DISPLAY", None)
        return await start_process(
            self._program, *words, stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env=environment, start_new_session=True,
        )  # fmt: skip

    async def _watch(self, master: Process, log: int) -> None:
        try:
            await master.wait()
        finally:
            os.close(log)  # then the log ends too
        if not self._lost.done():
            self._lost.set_result(None)

    async def _ended(self) -> None:
        """All that it has to say is said."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*map(asyncio.shield, self._tasks))

    def _awaits_touch(self) -> bool:
        return any("user presence" in line for line in (*self._log.lines, *self._way.lines))

    # --- programs -----------------------------------------------------------------------------

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a program to its end. TimeoutError after `limit` seconds; output past the cap is cut."""
        kept = bytearray()
        async with (
            asyncio.timeout(limit),
            self._session(self._shell, guarded(program)) as session,
            closing(session.chunks()) as chunks,
        ):
            async for chunk in chunks:
                kept += chunk[: max(0, stdout_cap - len(kept))]
            return Completed(bytes(kept), bytes(session.stderr), await session.exit())

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a program for as long as the block lasts; its stdin stays open until then."""
        async with (
            _place(self._streams),
            self._session(self._shell, program) as session,
            closing(session.chunks()) as chunks,
        ):
            yield chunks

    @asynccontextmanager
    async def files(self) -> AsyncIterator[FileAccess]:
        """SFTP through one more session."""
        async with (
            self._session("sftp", "", subsystem=True) as session,
            AsyncExitStack() as stack,
        ):
            try:
                client = await stack.enter_async_context(sftp_over(session.process))
            except (asyncssh.Error, OSError, EOFError):
                raise await session.refusal() from None
            yield SftpFiles(client)

    @asynccontextmanager
    async def _session(
        self, what: str, program: str, *, subsystem: bool = False
    ) -> AsyncIterator[Session]:
        """One more ssh over the connection. Ending it closes the channel, which ends the program."""
        async with _place(self._places):
            if self._lost.done():
                raise LinkLost("the connection was lost")
            words = session_words(self._socket, what, subsystem=subsystem)
            session = Session(await self._spawn(words), self._lost)
            try:
                session.write(b"" if subsystem else to_send(program))
                yield session
            finally:
                await session.end()

    # --- life ---------------------------------------------------------------------------------

    async def _echo(self, sent: str, expected: str) -> bool:
        """Write a line and wait for its answer; False where the output ends first."""
        master = self._master
        assert master is not None
        assert master.stdin is not None
        assert master.stdout is not None
        with suppress(OSError):
            master.stdin.write(sent.encode())
        while line := await _line(master.stdout):
            if line.strip() == expected.encode():
                return True
            self._said = line[:1000].decode("utf-8", "replace").strip() or self._said
        return False

    async def round_trip(self) -> float:
        """Seconds that a line takes to the `cat` that waits on the box, and back."""
        clock = asyncio.get_running_loop().time
        async with self._asking:
            began = clock()
            word = secrets.token_hex(8)
            if self._lost.done() or not await self._echo(f"{word}\n", word):
                raise LinkLost("the connection was lost")
            return clock() - began

    async def answers(self, within: float) -> bool:
        """Whether any sign of life comes within `within` seconds."""
        with suppress(TimeoutError, LinkError):
            async with asyncio.timeout(within):
                await self.round_trip()
                return True
        return False

    async def wait_closed(self) -> LinkError | None:
        """Wait until it is gone; the reason, or None after our own close."""
        await asyncio.shield(self._lost)
        if self._closed_by_us:
            return None
        await self._ended()
        last = self._log.lines[-1:] or ["closed by the box"]
        return LinkLost(f"the connection was lost: {clean(last[0])}")

    async def close(self) -> None:
        """End it and leave nothing behind; never hangs."""
        self._closed_by_us = True
        master = self._master
        if master is not None and master.returncode is None:
            # With its ProxyCommand, which an ssh that is not logged in yet would leave behind.
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(master.pid, number)
                with suppress(TimeoutError):
                    async with asyncio.timeout(END_SECONDS):
                        await master.wait()
        if not self._lost.done():
            self._lost.set_result(None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)


@asynccontextmanager
async def _place(places: asyncio.Semaphore) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(PLACE_SECONDS):
            await places.acquire()
    except TimeoutError:
        raise ChannelRefused(
            f"{STREAMS} programs run over this connection already", next="follow fewer logs"
        ) from None
    try:
        yield
    finally:
        places.release()


async def _reader_of(fifo: str) -> tuple[asyncio.StreamReader, int]:
    """Reads a named pipe until every writer is gone; the number of a write end of our own keeps it."""
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(fifo, os.O_WRONLY)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
    )
    return reader, writing


async def _listen(stream: asyncio.StreamReader, said: Said) -> None:
    while line := await _line(stream):
        said.add(line)


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line, b"" at the end; one that is too long is passed over."""
    while True:
        try:
            return await stream.readline()
        except ValueError:
            continue
