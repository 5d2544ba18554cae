"""Many boxes in one process, for the benchmarks: `python -m bench.farm DIRECTORY COUNT [LINES]`.

Each is an SSH server on a port of its own that plays recorded bytes of the real programs: what the
real sampler printed under a real shell, second by second, and the header of the real follower with a
numbered line each second behind it, or LINES a second. Only the nonce is exchanged. Prints the ports as
JSON when all
listen; at the end of stdin, how many unfinished logins any one of them ever had at once.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import asyncssh

NONCE = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
SHELL_CHECK = re.compile(r"echo shell-\$\(\((\d+) \+ 1\)\)")
RECORDED_NONCE = b"0123456789abcdef"
WHOLE_SECONDS = 0.05  # after its first bytes a program is there
QUEUE_LOG, CELL = "queue.log", "baseline"
QUEUE_HEAD = f"""=== Queue q.txt: 4 ablations, starting from 1 on box ===
[2026-01-01 00:00:00] [1/4] STARTING {CELL} (reconstruction, 20ep)
"""
FOLLOWER = re.compile("gpu_tui_follow")


class Records:
    """What was recorded: per second the sampler's bytes, and the follower's header."""

    def __init__(self, directory: Path, lines: float) -> None:
        self.lines = lines
        rows = json.loads((directory / "sampler.json").read_text())
        self.seconds = [row.encode("latin-1") for row in rows]
        self.header = (directory / "follower.bin").read_bytes()


class Server(asyncssh.SSHServer):
    """Counts the logins that are under way."""

    now = most = 0

    def __init__(self, records: Records) -> None:
        self._records = records

    def session_requested(self) -> Session:
        """One more channel."""
        return Session(self._records)

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """One more that has not logged in."""
        self._pending = True
        Server.now += 1
        Server.most = max(Server.most, Server.now)

    def auth_completed(self) -> None:
        """One fewer."""
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        """One fewer, if it never logged in."""
        self._settle()

    def begin_auth(self, username: str) -> bool:
        """A key is asked for, as on a real box."""
        return True

    def _settle(self) -> None:
        if self._pending:
            self._pending = False
            Server.now -= 1


class Session(asyncssh.SSHServerSession[bytes]):
    """One channel: takes the program and plays what it would print."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._program = b""
        self._playing: asyncio.Task[None] | None = None

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """The channel is there."""
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        """Only `sh -s`."""
        return True

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """A part of the program; what comes after a moment of silence are signs of life."""
        if self._playing is None:
            self._playing = asyncio.ensure_future(self._play())
        self._program += data

    def connection_lost(self, exc: Exception | None) -> None:
        """The client left."""
        if self._playing:
            self._playing.cancel()

    async def _play(self) -> None:
        await asyncio.sleep(WHOLE_SECONDS)
        program = self._program.decode()
        if check := SHELL_CHECK.search(program):
            self._channel.write(f"shell-{int(check[1]) + 1}\n".encode())
            self._channel.exit(0)
            return
        found = NONCE.search(program)
        nonce = found[0].encode() if found else b""
        if not FOLLOWER.search(program):
            number = 0
            while True:
                second = self._records.seconds[number % len(self._records.seconds)]
                self._channel.write(second.replace(RECORDED_NONCE, nonce))
                number += 1
                await asyncio.sleep(1)
        else:
            self._channel.write(self._records.header.replace(RECORDED_NONCE, nonce))
            if QUEUE_LOG in program:
                self._channel.write(QUEUE_HEAD.encode())
            await self._log(self._records.lines)

    async def _log(self, rate: float) -> None:
        """A numbered line `rate` times a second; many of them in one write."""
        number, beat = 0, max(0.1, 1 / rate) if rate else 3600.0
        while True:
            if rate:
                lines = ""
                for _ in range(max(1, round(rate * beat))):
                    number += 1
                    loss = 1 / number + 0.2
                    lines += f"Epoch 3/20 step {number}/5000 loss {loss:.4f} lr 3.0e-4 12.1 it/s\n"
                self._channel.write(lines.encode())
            await asyncio.sleep(beat)


async def main(directory: Path, count: int, lines: float = 1.0) -> None:
    """Serve until stdin ends."""
    records = Records(directory, lines)
    key = asyncssh.read_private_key(directory / "host_key")
    ports = []
    for _ in range(count):
        server = await asyncssh.create_server(
            lambda: Server(records),
            "127.0.0.1",
            0,
            server_host_keys=[key],
            authorized_client_keys=str(directory / "authorized_keys"),
            encoding=None,
            line_editor=False,
            backlog=64,
        )
        ports.append(server.get_port())
    print(json.dumps(ports), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(Server.most, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:])))
