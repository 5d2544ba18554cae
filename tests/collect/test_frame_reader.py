"""Frames out of chunks: however they are cut, whatever stands between them, in bounded memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.collect.sampler import MAX_LINE, MAX_SECTION, FrameReader, plan
from gpu_tui.core.fleet import Instance, QueueFiles, SshAccess

GROUPS = {group.name: group for group in plan(Instance("b", SshAccess("h")))}
BOX = GROUPS["box"]


def line(text: str) -> bytes:
    return f"\n@{BOX.nonce} {text}\n".encode()


def frame(beat: int, metric: str, **sections: bytes) -> bytes:
    parts = [line(f"begin {beat} {metric}")]
    for name, body in sections.items():
        parts.append(line(f"open {name}"))
        parts += [b">" + text + b"\n" for text in body.split(b"\n")]
        parts.append(line("close 0"))
    return b"".join([*parts, line(f"end {beat}")])


STREAM = (
    b"Welcome to GPU Cloud!\nno newline at the end of the message of the day"
    + frame(0, "memory", memory=b"v2.current 5\nv2.max max")
    + b"a line that a shell's own start files print\n"
    + frame(0, "cpu", cpu=b"\x00\xff binary\r")
    + frame(0, "unheardof", x=b"y")
    + frame(1, "memory", memory=b"")
)


def test_frames_and_noise():
    frames = FrameReader(BOX).feed(STREAM)
    assert [(f.beat, f.metric) for f in frames] == [(0, "memory"), (0, "cpu"), (1, "memory")]
    assert frames[0].sections["memory"].body == b"v2.current 5\nv2.max max\n"
    assert frames[1].sections["cpu"].body == b"\x00\xff binary\r\n"


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_cut_gives_the_same_frames(cuts):
    reader = FrameReader(BOX)
    edges = [0, *sorted(cuts), len(STREAM)]
    frames = []
    for start, end in pairwise(edges):
        frames += reader.feed(STREAM[start:end])
    assert frames == FrameReader(BOX).feed(STREAM)


@given(st.lists(st.binary(max_size=60) | st.sampled_from(STREAM.split(b"\n")), max_size=40))
def test_any_lines_are_survived_and_the_next_frame_is_read(lines):
    reader = FrameReader(BOX)
    for part in lines:
        reader.feed(part + b"\n")
    last = reader.feed(frame(7, "host", host=b"date 1"))
    assert [(f.beat, f.sections["host"].body) for f in last] == [(7, b"date 1\n")]


def test_another_start_or_another_group_is_noise():
    other = {g.name: g for g in plan(Instance("b", SshAccess("h")))}["box"]
    assert other.nonce != BOX.nonce
    assert FrameReader(other).feed(STREAM) == []


def test_an_overlong_line_is_dropped_and_told():
    reader = FrameReader(BOX)
    start = line("begin 0 memory") + line("open memory")
    assert reader.feed(start + b">" + b"x" * (MAX_LINE * 3)) == []
    assert len(reader._line) <= MAX_LINE
    (got,) = reader.feed(b"\n>kept\n" + line("close 0") + line("end 0"))
    assert got.sections["memory"].truncated
    assert got.sections["memory"].body == b"kept\n"


def test_an_endless_section_is_cut_and_told():
    reader = FrameReader(BOX)
    reader.feed(line("begin 0 memory") + line("open memory"))
    for _ in range(3 * MAX_SECTION // 10_000):
        reader.feed(b">" + b"x" * 9_998 + b"\n")
    (got,) = reader.feed(line("close 0") + line("end 0"))
    assert got.sections["memory"].truncated
    assert len(got.sections["memory"].body) <= MAX_SECTION


def test_a_plan_asks_only_for_what_is_there_to_ask():
    assert set(GROUPS) == {"gpu", "box", "disk"}
    with_queue = plan(Instance("b", SshAccess("h"), queue=QueueFiles("/q.txt")))
    assert {group.name for group in with_queue} == {"gpu", "box", "disk", "files"}


def test_a_slow_poll_slows_every_beat_and_a_fast_one_only_the_cheap_ones():
    slow = {g.name: g for g in plan(Instance("b", SshAccess("h"), poll=30.0))}
    assert {group.period for group in slow.values()} == {30.0}
    quick = {g.name: g for g in plan(Instance("b", SshAccess("h"), poll=0.5))}
    beats = {p.metric: g.beat_of(p) for g in quick.values() for p in g.probes}
    assert beats["memory"] == 0.5
    assert beats["gpus"] == 2.0
    assert beats["mounts"] == 5.0
