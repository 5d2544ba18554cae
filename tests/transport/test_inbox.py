"""The inbox cuts as bytes do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.transport.inbox import Inbox


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 50), st.integers(0, 30))))
def test_it_cuts_as_bytes_do(steps: list[tuple[bytes, int, int]]) -> None:
    plain, inbox = b"", Inbox()
    for more, size, mac in steps:
        plain += more
        inbox += more
        assert len(inbox) == len(plain)
        assert bool(inbox) is bool(plain)
        if len(plain) < size:
            continue
        middle = max(0, size - mac)
        assert inbox[:middle] == plain[:middle]
        assert inbox[middle:size] == plain[middle:size]
        plain, inbox = plain[size:], inbox[size:]
    assert inbox[: len(plain)] == plain
