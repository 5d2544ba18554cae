"""The life of a link on bad lines: how soon a loss is noticed, how soon it is back, how often it knocks.

`cd tests && python -m bench.links` (two minutes). Real sshd, behind a relay that resets, falls silent,
or carries 64 kbit/s over a round trip of 300 ms. Seconds, unless the name says otherwise.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from statistics import median

from boxes import Sshd
from faults.heard import Heard, live, lost, read, watched
from faults.wire import Wire, behind

from gpu_tui.wiring import SystemClock

FAR, NARROW = 0.15, 8000.0  # one way in seconds, bytes per second: 300 ms, 64 kbit/s
FLAP_SECONDS = 70.0
RESETS = 5


def now() -> float:
    """The loop's time."""
    return asyncio.get_running_loop().time()


async def back_after_reset(box: Sshd) -> dict[str, float]:
    """A real RST, five times: until it is said, and from the due attempt until bytes flow again."""
    noticed, again = [], []
    clock = SystemClock()
    async with Wire(box.port) as wire, watched(behind(box, wire), clock=clock) as (_, heard):
        at = await heard.after(0, read)
        for _ in range(RESETS):
            began = now()
            wire.reset()
            at = await heard.after(at, lost)
            noticed.append(heard.at[at] - began)
            due = heard.at[at] + (heard.links()[-1].retry_at or 0.0) - clock.now()
            at = await heard.after(await heard.after(at, live), read)
            again.append(heard.at[at] - due)
            # The next loss shall be a lone one again.
            await asyncio.sleep(11)
    return {
        "reset noticed": round(median(noticed), 3),
        "streaming again after the due attempt": round(median(again), 2),
    }


async def black_hole(box: Sshd) -> dict[str, float]:
    """Silence, with the keepalive as it is; then the line is back, and the next attempt comes."""
    clock = SystemClock()
    async with Wire(box.port) as wire, watched(behind(box, wire), clock=clock) as (_, heard):
        at = await heard.after(0, read)
        began = now()
        wire.hold()
        at = await heard.after(at, lost)
        noticed = heard.at[at] - began
        due = now() + max(0.0, (heard.links()[-1].retry_at or 0.0) - clock.now())
        wire.release()
        at = await heard.after(await heard.after(at, live), read)
        again = heard.at[at] - due
    return {
        "black hole noticed": round(noticed, 1),
        "streaming again after a black hole": round(again, 2),
    }


async def flapping(box: Sshd) -> dict[str, float]:
    """Every connection dies as soon as it is up: the connections in the busiest minute."""
    async with Wire(box.port) as wire, watched(behind(box, wire)) as (_, heard):
        try:
            async with asyncio.timeout(FLAP_SECONDS):
                await _flap(wire, heard)
        except TimeoutError:
            pass
        busiest = max(
            sum(first <= other < first + 60.0 for other in wire.accepted) for first in wire.accepted
        )
    return {"connects in the busiest minute of flapping": busiest}


async def _flap(wire: Wire, heard: Heard) -> None:
    at = 0
    while True:
        at = await heard.after(at, live, FLAP_SECONDS) + 1
        wire.reset()


async def far_and_narrow(box: Sshd) -> dict[str, float]:
    """From the first packet, and from the login, until the first reading."""
    async with (
        Wire(box.port, delay=FAR, rate=NARROW) as wire,
        watched(behind(box, wire)) as (_, heard),
    ):
        up = await heard.after(0, live)
        first = await heard.after(0, read)
        await heard.after(first + 30, read)
        return {
            "first reading after the first packet, 300 ms 64 kbit/s": round(
                heard.at[first] - wire.accepted[0], 2
            ),
            "first reading after connect, 300 ms 64 kbit/s": round(
                heard.at[first] - heard.at[up], 2
            ),
            "connects on the slow line": len(wire.accepted),
        }


async def round_trips(box: Sshd) -> dict[str, float]:
    """How many round trips pass before the first reading: what a second of delay makes of it."""
    seconds = []
    for delay in (0.0, 0.25):
        async with (
            Wire(box.port, delay=delay) as wire,
            watched(behind(box, wire)) as (_, heard),
        ):
            first = await heard.after(0, read)
            seconds.append(heard.at[first] - wire.accepted[0])
    return {"round trips to the first reading": round((seconds[1] - seconds[0]) / 0.5, 1)}


def measure() -> dict[str, float]:
    """All of it, one after another on one box."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as directory:
        box = Sshd(Path(directory) / "box").start()
        try:
            for part in (far_and_narrow, round_trips, back_after_reset, black_hole, flapping):
                found |= asyncio.run(part(box))
        finally:
            box.close()
    return found


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
