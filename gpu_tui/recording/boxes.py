"""The boxes of a recording as scripted boxes: its bytes once more through everything above the transport."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field

from gpu_tui.recording.tape import TapeReader
from gpu_tui.transport.replay import Box, Played

# Each start of a program has a random word in it, which its output repeats.
_NONCE = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")


@dataclass(slots=True)
class _Channel:
    program: str
    chunks: list[bytes] = field(default_factory=list)
    closed: bool = False


def boxes_of(tape: TapeReader) -> dict[str, Box]:
    """Instance name -> a box that answers each recorded program as it did then, in the same order.

    A program that was never recorded ends at once with exit 1.
    """
    channels: dict[int, _Channel] = {}
    by_box: dict[str, dict[str, deque[_Channel]]] = {
        instance.name: defaultdict(deque) for instance in tape.fleet.instances
    }
    for record in tape.records():
        match record.body:
            case {"open": int(number), "instance": str(name), "program": str(program)}:
                channel = channels[number] = _Channel(program)
                by_box.setdefault(name, defaultdict(deque))[_masked(program)].append(channel)
            case {"bytes": int(number), "text": str(text)} if number in channels:
                channels[number].chunks.append(text.encode("latin-1"))
            case {"close": int(number)} if number in channels:
                channels[number].closed = True
            case _:
                pass
    return {name: Box(_Answers(programs)) for name, programs in by_box.items()}


class _Answers:
    def __init__(self, programs: dict[str, deque[_Channel]]) -> None:
        self._programs = programs

    def __call__(self, program: str) -> Played:
        waiting = self._programs.get(_masked(program))
        if not waiting:
            return Played(exit=1)
        channel = waiting.popleft()
        old, new = _NONCE.search(channel.program), _NONCE.search(program)
        chunks = channel.chunks
        if old and new:
            chunks = [chunk.replace(old[0].encode(), new[0].encode()) for chunk in chunks]
        return Played(tuple(chunks), exit=None)


def _masked(program: str) -> str:
    return _NONCE.sub("#", program)
