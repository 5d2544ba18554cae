"""Frames out of chunks: however they are cut, whatever stands between them, in bounded memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.collect.frames import MAX_FRAME, MAX_LINE, MAX_SECTION, FrameReader
from gpu_tui.collect.sampler import plan
from gpu_tui.core.fleet import Instance, QueueFiles, SshAccess

(BOX,) = plan(Instance("b", SshAccess("h")))
METRICS = [probe.metric for probe in BOX.probes]


def line(mark: int, text: str) -> bytes:
    return f"\n@{BOX.nonce} {mark} {text}\n".encode()


def frame(beat: int, metric: str, **sections: bytes) -> bytes:
    mark = METRICS.index(metric) if metric in METRICS else 77
    parts = [line(mark, f"begin {beat}")]
    for name, body in sections.items():
        parts.append(line(mark, f"open {name}"))
        parts += [b">%d %s\n" % (mark, text) for text in body.split(b"\n")]
        parts.append(line(mark, "close 0"))
    return b"".join([*parts, line(mark, f"end {beat}")])


STREAM = (
    b"Welcome to GPU Cloud!\nno newline at the end of the message of the day"
    + frame(0, "memory", memory=b"v2.current 5\nv2.max max")
    + b"a line that a shell's own start files print\n"
    + frame(0, "cpu", cpu=b"\x00\xff binary\r")
    + frame(0, "unheardof", x=b"y")
    + frame(1, "memory", memory=b"")
)


def test_a_step_is_known_until_the_frame_that_it_leads_to():
    reader = FrameReader("n", ["cpu", "mounts"])
    assert reader.feed(b"@n 1 step\n") == []
    assert reader.steps == set()  # no frame of it has begun
    assert reader.feed(b"@n 1 begin 0\n@n 1 step\n@n 0 begin 0\n@n 0 end 0\n") != []
    assert reader.steps == {"mounts"}
    assert reader.feed(b"@n 1 step\n@n 1 end 0\n") != []
    assert reader.steps == set()
    assert reader.feed(b"@n 1 begin 1\n@n 1 step\n@n 1 end 1\n@n 1 begin 2\n@n 1 step\n") != []
    assert reader.steps == {"mounts"}


def test_frames_and_noise():
    frames = BOX.reader().feed(STREAM)
    assert [(f.beat, f.metric) for f in frames] == [(0, "memory"), (0, "cpu"), (1, "memory")]
    assert frames[0].sections["memory"].body == b"v2.current 5\nv2.max max\n"
    assert frames[1].sections["cpu"].body == b"\x00\xff binary\r\n"


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_cut_gives_the_same_frames(cuts):
    reader = BOX.reader()
    edges = [0, *sorted(cuts), len(STREAM)]
    frames = []
    for start, end in pairwise(edges):
        frames += reader.feed(STREAM[start:end])
    assert frames == BOX.reader().feed(STREAM)


@given(st.lists(st.binary(max_size=60) | st.sampled_from(STREAM.split(b"\n")), max_size=40))
def test_any_lines_are_survived_and_the_next_frame_is_read(lines):
    reader = BOX.reader()
    for part in lines:
        reader.feed(part + b"\n")
    last = reader.feed(frame(7, "host", host=b"date 1"))
    assert [(f.beat, f.sections["host"].body) for f in last] == [(7, b"date 1\n")]


@given(st.randoms(use_true_random=False))
def test_lines_of_several_probes_may_come_in_any_order_between_each_other(dice):
    """Each probe's own lines keep theirs; a long line comes in parts."""
    bodies = {metric: f"{metric} 1\n{metric} 2\n".encode() * 3 for metric in METRICS}
    queues = []
    for mark, metric in enumerate(METRICS):
        own = [line(mark, "begin 4"), line(mark, "open x")]
        for text in bodies[metric].splitlines():
            own += [b"+%d %s\n" % (mark, text[:3]), b">%d %s\n" % (mark, text[3:])]
        queues.append([*own, line(mark, "close 0"), line(mark, "end 4")])
    mixed = b""
    while left := [queue for queue in queues if queue]:
        mixed += dice.choice(left).pop(0)
    frames = BOX.reader().feed(mixed)
    assert {f.metric: f.sections["x"].body for f in frames} == bodies


def test_what_the_box_left_out_is_told():
    got = BOX.reader().feed(
        line(0, "begin 1")
        + line(0, "open x")
        + line(0, "cut")
        + line(0, "close 0")
        + line(0, "end 1")
    )
    assert got[0].sections["x"].truncated


def test_a_section_may_be_as_it_was():
    reader = BOX.reader()
    reader.feed(frame(0, "memory", memory=b"v2.current 5", limits=b"v2.max 9"))
    again = line(0, "begin 1") + line(0, "same limits") + line(0, "end 1")
    for _ in range(2):  # also what was only repeated
        (got,) = reader.feed(again)
        assert got.sections.keys() == {"limits"}
        assert got.sections["limits"].body == b"v2.max 9\n"
    (other,) = reader.feed(again.replace(b" 0 ", b" 1 "))
    assert other.sections["limits"].truncated  # nobody knows how it was
    assert len(reader._last) == 2


def test_a_program_without_a_clock_says_so():
    reader = BOX.reader()
    reader.feed(b"\n@another 0 beat\n" + line(0, "begin 0") + b">0 beat\n" + line(0, "end 0"))
    assert not reader.wants_beats
    reader.feed(line(0, "beat"))
    assert reader.wants_beats


def test_another_start_is_noise():
    (other,) = plan(Instance("b", SshAccess("h")))
    assert other.nonce != BOX.nonce
    assert other.reader().feed(STREAM) == []


def test_an_overlong_line_is_dropped_and_told():
    reader = BOX.reader()
    start = line(0, "begin 0") + line(0, "open memory")
    assert reader.feed(start + b">0 " + b"x" * (MAX_LINE * 3)) == []
    assert len(reader._line) <= MAX_LINE
    (got,) = reader.feed(b"\n>0 kept\n" + line(0, "close 0") + line(0, "end 0"))
    assert got.sections["memory"].truncated
    assert got.sections["memory"].body == b"kept\n"


def test_an_endless_section_is_cut_and_told():
    reader = BOX.reader()
    reader.feed(line(0, "begin 0") + line(0, "open memory"))
    for _ in range(3 * MAX_SECTION // 10_000):
        reader.feed(b">0 " + b"x" * 9_998 + b"\n")
    (got,) = reader.feed(line(0, "close 0") + line(0, "end 0"))
    assert got.sections["memory"].truncated
    assert len(got.sections["memory"].body) <= MAX_SECTION


def test_endless_sections_are_cut_and_told():
    reader = BOX.reader()
    reader.feed(line(0, "begin 0"))
    for number in range(10):
        reader.feed(line(0, f"open s{number}"))
        reader.feed((b">0 " + b"x" * 60_000 + b"\n") * 16)
        reader.feed(line(0, "close 0"))
    (got,) = reader.feed(line(0, "end 0"))
    assert [section.truncated for section in got.sections.values()] == [False] * 4 + [True] * 6
    assert sum(len(section.body) for section in got.sections.values()) <= MAX_FRAME


def test_a_long_line_that_never_ends_is_bounded():
    reader = BOX.reader()
    reader.feed(line(0, "begin 0") + line(0, "open memory"))
    for _ in range(3 * MAX_SECTION // 10_000):
        reader.feed(b"+0 " + b"x" * 10_000 + b"\n")
    (got,) = reader.feed(b">0 end\n" + line(0, "close 0") + line(0, "end 0"))
    assert got.sections["memory"].truncated
    assert len(got.sections["memory"].body) <= MAX_SECTION


def test_a_plan_asks_only_for_what_is_there_to_ask():
    vitals = {"gpus", "memory", "cpu", "host", "processes", "mounts"}
    runners = {"task-spooler", "pueue", "shells"}
    assert set(METRICS) == vitals | runners | {"files", "tmux", "nohup", "left"}
    (with_queue,) = plan(Instance("b", SshAccess("h"), queue=QueueFiles("/q.txt")))
    assert {p.metric for p in with_queue.probes} == vitals | runners | {"roster", "files"}
    (cluster,) = plan(Instance("b", SshAccess("h"), scheduler="slurm"))
    assert {p.metric for p in cluster.probes} == vitals | {"files", "slurm"}


def test_a_slow_poll_slows_every_beat_and_a_fast_one_only_the_cheap_ones():
    (slow,) = plan(Instance("b", SshAccess("h"), poll=30.0))
    assert {slow.beat_of(probe) for probe in slow.probes} == {30.0}
    (quick,) = plan(Instance("b", SshAccess("h"), poll=0.5))
    beats = {p.metric: quick.beat_of(p) for p in quick.probes}
    assert beats["memory"] == 0.5
    assert beats["gpus"] == 2.0
    assert beats["mounts"] == 20.0
