"""A turn of the loop serves a few sockets, and the others do not wait for ever."""

from __future__ import annotations

import itertools
import select
import socket

import pytest

from gpu_tui.wiring.turns import FEW, new_loop

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="needs epoll")


def test_a_timer_is_served_between_sockets_that_are_always_ready() -> None:
    loop = new_loop()
    pairs = [socket.socketpair() for _ in range(5 * FEW)]
    served: list[int] = []
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(served))
        if len(turns) < 12:
            loop.call_soon(turn)
        else:
            loop.stop()

    try:
        for number, (here, there) in enumerate(pairs):
            there.send(b"never read")
            loop.add_reader(here, served.append, number)
        loop.call_soon(turn)
        loop.run_forever()
    finally:
        for here, _ in pairs:
            loop.remove_reader(here)
        loop.close()
        for pair in pairs:
            for end in pair:
                end.close()
    assert max(after - before for before, after in itertools.pairwise(turns)) <= FEW
    assert set(served[: 5 * FEW]) == set(range(5 * FEW))
