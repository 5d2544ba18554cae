"""The main loop: the box's small files at each beat, and everything else sent off when it is due."""

import os
import select
import time

from gpu_tui.collect.on_box.cards import Cards
from gpu_tui.collect.on_box.files import SmallFiles
from gpu_tui.collect.on_box.frames import Frames, leave
from gpu_tui.collect.on_box.lane import Lane
from gpu_tui.collect.on_box.table import ProcessTable
from gpu_tui.collect.on_box.threads import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Variables of the prelude that sh hands on.
PLACES = (
    "proc",
    "sys",
    "dev",
    "levels",
    "top",
    "cpu2",
    "cpu1",
    "acct1",
    "memory",
    "cpu",
    "hostname",
    "machine",
)


def run(plan: "Mapping[str, Any]") -> None:
    """The program, from its start to its end. What is in the plan: `program_python.write_python`."""
    if not hasattr(os, "posix_spawnp"):  # it came with python 3.8
        leave(1)
    os.close(9)  # so who started us sees that we live
    guarded(_sample, plan)


def _sample(plan: "Mapping[str, Any]") -> None:
    sampler, nonce = os.environ.pop("GPU_TUI_SAMPLER"), plan["nonce"].encode()
    places = {name: os.environ.pop(name, "") for name in PLACES}
    lanes: list[Lane | Cards] = [
        Lane(name, every, limit, sampler) for name, every, limit in plan["lanes"]
    ]
    files = [SmallFiles(mark, beats, parts, places) for mark, beats, parts in plan["files"]]
    tables = [ProcessTable(nonce, places["proc"], *words) for words in plan["tables"]]
    roots = places["proc"], places["sys"], places["dev"]
    cards = [Cards(nonce, roots, *words) for words in plan["cards"]]
    lanes += cards
    frames, beat = Frames(nonce), 0
    while True:
        for lane in lanes:
            lane.beat(beat)
        for probe in files:
            probe.answer(frames, beat)
        frames.flush()
        for table in tables:
            table.beat(beat, lanes)
        beat += 1
        _rest(plan["tick"], cards)


def _rest(seconds: float, cards: "Sequence[Cards]") -> None:
    """Wait. The client's stdin is our lifeline: at its end, however it came, all of us go."""
    ends = time.monotonic() + seconds
    while True:
        listening = {card.fd: card for card in cards if card.fd >= 0}
        ready = select.select([0, *listening], [], [], max(0, ends - time.monotonic()))[0]
        if not ready:
            return
        if 0 in ready and not os.read(0, 4096):
            leave(0)
        for fd in listening.keys() & ready:
            listening[fd].proceed()
