"""The TSV of a memory monitor on the box."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.readings import MemoryPoint
from gpu_tui.parse.mem_monitor import GIB, LEGEND, POINTS_KEPT, parse_mem_monitor

HEADER = "\t".join(LEGEND)
T0 = 1767261600.0  # 2026-01-01 10:00:00 as if UTC


def row(second: int, memory: str = "12.5", gpu: str = "97") -> str:
    minutes, seconds = divmod(second, 60)
    return (
        f"2026-01-01 10:{minutes:02}:{seconds:02}\t{memory}\t310.5\t41\t8.1\t60\t300\t9\t11.2\t50\t0.3"
        f"\t{gpu}\t65000"
    )


def read(*lines: str, end: str = "\n", head: str | None = None) -> tuple[MemoryPoint, ...]:
    text = "\n".join(lines) + end
    return parse_mem_monitor("/m.tsv", (head or text)[:1024].encode(), text.encode()).points


def test_rows_become_points() -> None:
    log = parse_mem_monitor("/m.tsv", HEADER.encode(), f"{HEADER}\n{row(0)}\n{row(5)}\n".encode())
    assert log.points == (
        MemoryPoint(T0, round(12.5 * GIB), 0.97),
        MemoryPoint(T0 + 5, round(12.5 * GIB), 0.97),
    )
    assert (log.path, log.zoned) == ("/m.tsv", False)


def test_any_order_of_columns_and_a_header_that_changes() -> None:
    points = read(
        "gpu_util_pct\ttimestamp\tcgroup_gb",
        "50\t2026-01-01T10:00:00\t2",
        "timestamp\tcgroup_gb",
        "2026-01-01T10:00:05\t3",
    )
    assert points == (MemoryPoint(T0, 2 * GIB, 0.5), MemoryPoint(T0 + 5, 3 * GIB, None))


def test_columns_of_one_name_are_no_shorter_rows() -> None:
    header = "timestamp\t\t\tcgroup_gb"
    assert read(header, "2026-01-01T10:00:00\t1\t2") == ()
    assert read(header, "2026-01-01T10:00:00\t1\t2\t3") == (MemoryPoint(T0, 3 * GIB, None),)


def test_epoch_seconds_and_zones_are_told_apart_from_wall_time() -> None:
    def log(word: str) -> tuple[float, bool]:
        text = f"timestamp\tcgroup_gb\n{word}\t1\n".encode()
        read = parse_mem_monitor("/m.tsv", text, text)
        return read.points[0].at, read.zoned

    assert log("1767261600.5") == (T0 + 0.5, True)
    assert log("2026-01-01T18:00:00+08:00") == (T0, True)
    assert log("2026/01/01 10:00:00") == (T0, False)


def test_a_torn_end_a_torn_beginning_and_rows_without_numbers_are_left_out() -> None:
    assert len(read(HEADER, row(0), row(5), end="")) == 1
    assert len(read(row(0)[30:], row(5), row(10), head=HEADER + "\n" + "x" * 9)) == 2
    assert read(HEADER, row(0, "N/A", "[N/A]"), "x\ty", "", "\0\0") == ()
    assert read(HEADER, row(0, "-1", "250")) == (MemoryPoint(T0, None, None),)
    assert len(read(row(0), row(5))) == 2  # without any header: the columns are the known ones
    assert len(read(f"\ufeff{HEADER}\r", row(0) + "\r")) == 1


def test_a_clock_that_was_set_back_begins_anew() -> None:
    assert [point.at for point in read(HEADER, row(600), row(605), row(0), row(5))] == [T0, T0 + 5]


def test_many_rows_are_thinned_and_the_newest_stays() -> None:
    points = read(HEADER, *(row(n) for n in range(2_000)))
    assert len(points) <= POINTS_KEPT
    assert points[-1].at == T0 + 1_999
    assert points == tuple(sorted(points, key=lambda point: point.at))


@settings(deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=40))
def test_no_bytes_break_it(data: bytes, head: bytes) -> None:
    parse_mem_monitor("/m.tsv", head, data)
    parse_mem_monitor("/m.tsv", HEADER.encode(), f"{HEADER}\n{row(0)}\t".encode() + data)
