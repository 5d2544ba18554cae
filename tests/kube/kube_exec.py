"""`kubectl exec` for the test server: the WebSocket of RFC 6455 and the channels of v5.channel.k8s.io.

The first byte of each message is its channel: 0 stdin, 1 stdout, 2 stderr, 3 the Status at the end, 4 the size of a
terminal, 255 a channel that the client closes. Source: k8s.io/apimachinery/pkg/util/remotecommand and KEP-4006.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress

STDIN, STDOUT, STDERR, STATUS, CLOSED = 0, 1, 2, 3, 255
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

# The output and the exit code of a program of an image; None where the image has no such program.
Answer = tuple[str, int] | None
Image = Callable[[Sequence[str]], Answer]


async def shake_hands(key: str, offered: str, writer: asyncio.StreamWriter) -> None:
    """Switch the connection to the newest protocol that the client offers."""
    asked = {word.strip() for word in offered.split(",")}
    protocol = next(word for word in PROTOCOLS if word in asked)
    accept = base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()
    writer.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n".encode()
    )
    await writer.drain()


async def answer(writer: asyncio.StreamWriter, words: Sequence[str], found: Answer) -> None:
    """Send what a program printed and how it ended, or that there is no such program."""
    if found is None:
        await _end(writer, _missing(words[0]))
        return
    text, code = found
    await _send(writer, STDOUT, text.encode())
    await _end(writer, _status(code))


async def run(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: Sequence[str]
) -> None:
    """Run a program of this machine with the stdin that the client sends."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    typed = asyncio.create_task(_type(reader, writer, process.stdin))
    try:
        await asyncio.gather(
            _pump(process.stdout, writer, STDOUT), _pump(process.stderr, writer, STDERR)
        )
        await _end(writer, _status(await process.wait()))
    finally:
        typed.cancel()
        with suppress(ProcessLookupError):
            process.kill()


async def _pump(source: asyncio.StreamReader, writer: asyncio.StreamWriter, channel: int) -> None:
    while data := await source.read(32_768):
        await _send(writer, channel, data)


async def _type(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stdin: asyncio.StreamWriter
) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while (message := await _read(reader, writer)) is not None:
            channel, data = message[0], message[1:]
            if channel == STDIN:
                # Without a terminal of its own here, the line discipline is missing: Enter is a CR.
                stdin.write(data.replace(b"\r", b"\n"))
                await stdin.drain()
            elif channel == CLOSED and data == bytes([STDIN]):
                stdin.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
    """The next message; None at the end."""
    while True:
        first, second = await reader.readexactly(2)
        size = second & 0x7F
        if size > 125:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8))
        mask = await reader.readexactly(4)
        masked = await reader.readexactly(size)
        data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked))
        kind = first & 0x0F
        if kind == _CLOSE:
            return None
        if kind == _PING:
            await _frame(writer, _PONG, data)
        elif kind != _PONG and data:
            return data


async def _send(writer: asyncio.StreamWriter, channel: int, data: bytes) -> None:
    await _frame(writer, _BINARY, bytes([channel]) + data)


async def _frame(writer: asyncio.StreamWriter, kind: int, data: bytes) -> None:
    size = len(data)
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2)
    if size > 65_535:
        length = b"\x7f" + size.to_bytes(8)
    writer.write(bytes([0x80 | kind]) + length + data)
    await writer.drain()


async def _end(writer: asyncio.StreamWriter, status: dict) -> None:
    await _send(writer, STATUS, json.dumps({"metadata": {}, **status}).encode())
    await _frame(writer, _CLOSE, (1000).to_bytes(2))


def _status(code: int) -> dict:
    if code == 0:
        return {"status": "Success"}
    return {
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _missing(program: str) -> dict:
    """The answer of a kubelet with containerd and runc, as a server of version 1.30 passes it on."""
    why = (
        "error executing command in container: failed to exec in container: failed to start exec "
        '"0e1d": OCI runtime exec failed: exec failed: unable to start container process: exec: '
        f'"{program}": executable file not found in $PATH: unknown'
    )
    message = f"Internal error occurred: {why}"
    details = {"causes": [{"message": why}]}
    return {"status": "Failure", "message": message, "reason": "InternalError", "details": details}
