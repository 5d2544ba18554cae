"""A log that is asked for again and again is one log: no line is lost, and none comes twice."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from gpu_tui.parse.kube_log import StampedLog

# Ticks between two lines; two streams of one container may be a little out of step.
LINES = st.lists(
    st.tuples(st.integers(-1, 3), st.text("ab \r", max_size=6)), min_size=1, max_size=12
)


def stamp(tick: int) -> str:
    """A quarter of a second each: several lines have one second, and many one stamp."""
    fraction = f".{tick % 4 * 25:02d}".rstrip("0").rstrip(".")
    return f"2026-11-20T10:00:{tick // 4:02d}{fraction}Z"


@given(
    steps=LINES,
    cuts=st.lists(st.integers(0, 400), max_size=4),
    chunk=st.integers(1, 50),
)
@example(steps=[(2, ""), (0, "a"), (1, "")], cuts=[73], chunk=1)  # a stamp, and nothing of its line
def test_any_cut_and_any_drop(steps: list[tuple[int, str]], cuts: list[int], chunk: int) -> None:
    tick, log = 8, []
    for step, words in steps:
        tick = max(tick + step, tick // 4 * 4)  # out of step, but in one second
        log.append((stamp(tick), words))
    whole = b"".join(f"{at} {words}\n".encode() for at, words in log)
    place, taken = StampedLog(), b""
    for cut in [*cuts, len(whole)]:
        place.again()
        since = (place.since or "")[:19]  # the API counts whole seconds
        answer = b"".join(f"{at} {words}\n".encode() for at, words in log if at[:19] >= since)
        missed = len(whole) - len(answer)
        answer = answer[: max(0, cut - missed)]  # the connection goes here
        for begin, end in pairwise([*range(0, len(answer), chunk), len(answer)]):
            taken += place.feed(answer[begin:end])
    assert taken == b"".join(f"{words}\n".encode() for _, words in log)
    assert not place.gap


@given(steps=LINES, read=st.integers(0, 12), kept=st.integers(0, 12))
def test_a_rotation_doubles_nothing_and_a_loss_shows(
    steps: list[tuple[int, str]], read: int, kept: int
) -> None:
    """The new file holds the last `kept` lines; the `read` first ones were taken before."""
    tick, log = 8, []
    for number, (step, _) in enumerate(steps):
        tick += max(1, step)  # each line has a stamp of its own
        log.append((stamp(tick), f"line {number}"))
    read, kept = min(read, len(log)), min(kept, len(log))
    place = StampedLog()
    taken = place.feed(b"".join(f"{at} {words}\n".encode() for at, words in log[:read]))
    place.again()
    since = (place.since or "")[:19]
    new = log[len(log) - kept :]
    taken += place.feed(
        b"".join(f"{at} {words}\n".encode() for at, words in new if at[:19] >= since)
    )
    numbers = [int(words.split()[1]) for words in taken.decode().splitlines()]
    assert numbers == sorted({*range(read), *range(len(log) - kept, len(log))})
    lost = read < len(log) - kept < len(log)
    assert place.gap or not lost or not read


def test_a_runtime_that_stamps_nothing_is_taken_as_it_comes() -> None:
    place = StampedLog()
    assert place.feed(b"plain words without a stamp at all, and longer than one\nx\n") == (
        b"plain words without a stamp at all, and longer than one\nx\n"
    )
    assert place.since is None


def test_a_line_whose_rest_is_gone_is_ended() -> None:
    place = StampedLog()
    assert place.feed(b"2026-11-20T10:00:00Z half a li") == b"half a li"
    place.again()
    assert place.feed(b"2026-11-20T10:09:00Z later\n") == b"\nlater\n"


def test_zones_and_fractions_are_compared_as_times() -> None:
    place = StampedLog()
    place.feed(b"2026-11-20T10:00:00.5+08:00 a\n2026-11-20T10:00:00.123456789+08:00 b\n")
    place.again()
    again = place.feed(b"2026-11-20T10:00:00.5+08:00 a\n2026-11-20T10:00:00.6+08:00 c\n")
    assert again.endswith(b"c\n")


def test_a_line_out_of_step_is_taken_once() -> None:
    place = StampedLog()
    first = b"2026-11-20T10:00:00.2Z out\n2026-11-20T10:00:00.1Z err\n"
    assert place.feed(first) == b"out\nerr\n"
    place.again()
    assert place.feed(first + b"2026-11-20T10:00:00.2Z next\n") == b"next\n"
