"""Numbers, bars, charts, themes and pictures."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpu_tui.core import units
from gpu_tui.core.profile import Profile
from gpu_tui.core.speech import counted
from gpu_tui.report.svg import plain_svg
from gpu_tui.resources import load_profiles
from gpu_tui.ui.plot import TICKS, Curve, render_curves, render_plot, time_ticks
from gpu_tui.ui.text.area import SCALE, area
from gpu_tui.ui.text.card import verb_choices
from gpu_tui.ui.text.fleet import SETS, columns
from gpu_tui.ui.text.histories import place, unit
from gpu_tui.ui.text.marks import bar, fit, line, wrap
from gpu_tui.ui.text.survival import named
from gpu_tui.ui.theme import CockpitTheme
from screenshots.__main__ import main as draw
from screenshots.render import SHOTS, VIEWS, names_of, path_of, picture

GIB = 1024**3


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (units.percent(0.934), "93%"),
        (units.size(61 * GIB), "61.0 GiB"),
        (units.used_of(61 * GIB, 80 * GIB), "61.0 / 80.0 GiB"),
        (units.used_of(300 * 1024**2, 24 * GIB), "300.0 MiB / 24.0 GiB"),
        (units.used_of(None, 80 * GIB), "? / 80.0 GiB"),
        (counted(1, "line"), "1 line"),
        (counted(0, "line"), "0 lines"),
        (units.count(191000), "191k"),
        (units.count(1_200_000), "1.2M"),
        (units.age(59.9), "59s"),
        (units.age(3600), "1h"),
        (units.span(7500), "2h 05m"),
        (units.span(62), "1m 02s"),
        (units.span(119.9), "1m 59s"),
        (units.span(3599), "59m 59s"),
        (units.span(3599, fine=False), "59m"),
        (units.countdown(13 * 86400 + 4 * 3600 + 125), "13d 4h"),
        (units.countdown(15129), "4h 12m"),
        (units.countdown(6 * 3600 + 305), "6h 05m"),
        (units.countdown(3599.9), "59m 59s"),
        (units.countdown(605), "10m 05s"),
        (units.countdown(45), "45s"),
        (units.countdown(-7300), "2h ago"),
        (units.money(2.08, "CNY"), "¥2.08"),
        (units.money(1234.5, "USD"), "$1,234"),
        (units.money(3.1, "SEK"), "3.10 SEK"),
        (units.hertz(1_980_000_000), "1.98 GHz"),
        (units.number(math.nan), "NaN"),
        (units.number(-math.inf), "-Inf"),
        (units.number(0.00012), "1.2e-04"),
    ],
)
def test_units(got: str, expected: str) -> None:
    assert got == expected


@given(st.floats(0, 2), st.integers(1, 40))
def test_a_bar_is_as_wide_as_asked_and_shows_any_use(share: float, width: int) -> None:
    drawn = bar(share, width, "accent")
    assert drawn.cell_len == width
    assert ("━" in drawn.plain or "╸" in drawn.plain) is (share > 0)


@given(st.text(max_size=200), st.integers(8, 60))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    for row in wrap(text, width, "text", indent=2):
        assert row.cell_len <= max(width, 10)


def test_a_long_word_of_emoji_is_broken_where_it_no_longer_fits() -> None:
    for width in range(8, 30):
        rows = wrap("a❤️" * 20 + "👩💻" * 9 + "e\u0301" * 9, width, "text")
        assert all(row.cell_len <= width for row in rows)
        assert rows[0].plain.startswith("a❤️a❤️")


@given(st.integers(20, 200), st.sampled_from(["overview", "money", "place"]))
def test_columns_never_exceed_the_width(width: int, chosen: str) -> None:
    fitted = columns(width, SETS[chosen])
    used = 2 + sum(cells + 1 for _, cells in fitted)
    assert used <= max(width, 29)
    assert fitted[0][0].key == "name"


def test_a_long_name_takes_the_room_that_nothing_else_needs() -> None:
    long = "sweep-of-the-spring-a100-node-0042"
    short, whole = ({c.key: w for c, w in columns(190, names=[n])} for n in ("box", long))
    assert short["name"] == 18
    assert whole["name"] == len(long)
    assert sum(whole.values()) == sum(short.values())
    assert set(whole) == set(short)
    assert whole["cell"] >= 21


@pytest.mark.parametrize("profile", load_profiles().values(), ids=lambda profile: profile.id)
def test_no_two_ways_to_stop_the_meter_look_alike(profile: Profile) -> None:
    verbs = profile.teardown
    heads = [row.plain for row in verb_choices(verbs, 200, profile.storage)]
    assert len({verb.key for verb in verbs}) == len(set(heads)) == len(verbs)
    assert all(verb.label in head for verb, head in zip(verbs, heads, strict=True))
    for verb, head in zip(verbs, heads, strict=True):
        gone = [named(tier) for tier in profile.storage if tier.id in verb.deletes]
        assert not gone or "deletes " not in head or all(name in head for name in gone)


def test_fit_counts_cells_and_not_characters() -> None:
    assert fit(line("释放释放"), 5).plain == "释放…"
    assert fit(line("ab"), 4, right=True).plain == "  ab"


@given(
    st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), max_size=300),
    st.integers(0, 120),
    st.integers(0, 12),
)
def test_a_history_several_lines_high_fills_its_place_or_is_left_out(
    values: list[float | None], width: int, height: int
) -> None:
    rows = area(values, width, height, "history")
    known = [value for value in values if value is not None and math.isfinite(value)]
    assert bool(rows) is (bool(known) and width > SCALE + 1 and height >= 2)
    assert len(rows) in (0, height)
    assert all(row.cell_len == width for row in rows)


def test_a_history_falls_from_its_highest_to_its_lowest_and_shows_what_is_no_number() -> None:
    rows = [row.plain for row in area([2.0, 1.5, 1.0, math.nan], SCALE + 1 + 4, 2, "history")]
    assert rows == [f"{units.number(2.0):>8} █▁  ", f"{units.number(1.0):>8} ██▁·"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), max_size=40))
def test_no_series_breaks_the_chart(values: list[float | None]) -> None:
    series = [(1000.0 + n, value) for n, value in enumerate(values)]
    assert render_plot(series, 60, 12).plain


@pytest.mark.parametrize("value", [1e18, -1e18, 1e30])
def test_what_is_far_beyond_the_frame_is_drawn_at_its_edge(value: float) -> None:
    """A box may say that it uses any multiple of its limit; each dot of the way there would be walked."""
    series = [(1000.0, 0.5), (1001.0, value), (1002.0, 0.5)]
    shown = render_plot(series, 60, 12, top=1.0).plain
    assert (
        shown
        == render_plot([(at, min(1.0, max(0.0, v))) for at, v in series], 60, 12, top=1.0).plain
    )


def test_a_chart_has_axes_and_breaks_at_gaps() -> None:
    series = [(float(n), None if 40 < n < 60 else 0.5) for n in range(100)]
    text = render_plot(series, 80, 12, top=1.0).plain
    assert "now" in text
    longest = max(text.splitlines(), key=lambda row: sum(char in "▀▄█" for char in row))
    drawn = longest.rstrip()
    assert " " * 8 in drawn[10:]  # the gap


def test_the_axis_speaks_human_units() -> None:
    series = [(float(n), 33.5e9 + n * 1e7) for n in range(100)]
    assert "31.2 GiB" in render_plot(series, 80, 12, unit=units.size).plain
    flat = render_plot([(0.0, 0.5), (9.0, 0.5)], 80, 12, top=1.0, unit=units.percent).plain
    assert "100%" in flat
    assert "50%" in flat


@pytest.mark.parametrize(
    "low", [1e-12, 1e-7, 1e-4, 1e-3, 0.5, 2.3456, 9.9999, 123.4, 123_456.0, -1e-4]
)
@pytest.mark.parametrize("part", [2.0, 1e-2, 1e-4])
def test_all_labels_of_a_vertical_axis_differ(low: float, part: float) -> None:
    values = [low * (1 + part * n / 9) for n in range(10)]
    plain = render_plot([(10.0 * n, value) for n, value in enumerate(values)], 60, 16).plain
    curves = render_curves([Curve([*enumerate(values)], "accent")], 60, 16).plain
    for chart in (plain, curves):
        marks = [row.partition("┤")[0].strip() for row in chart.splitlines() if "┤" in row]
        assert len({*marks}) == len(marks) == 5
        assert all(len(mark) <= 12 for mark in marks)
        drawn = [float(mark) for mark in marks]
        assert drawn == sorted(drawn, reverse=True)


def test_labels_that_differ_are_not_lengthened() -> None:
    chart = render_plot([(10.0 * n, 1e-4 * (1 - n / 50)) for n in range(50)], 50, 8).plain
    marks = [row.partition("┤")[0].strip() for row in chart.splitlines() if "┤" in row]
    assert marks == ["1.0e-04", "5.1e-05", "2.0e-06"]
    zero = render_plot([(10.0 * n, 1e-12 * n) for n in range(20)], 50, 8).plain
    assert [row.partition("┤")[0].strip() for row in zero.splitlines() if "┤" in row][-1] == "0"


def test_the_histories_that_matter_most_come_first() -> None:
    names = ["bytes:~/w", "memory", "loss:a", "gpu_memory", "inodes:/", "gpu", "other"]
    ordered = ["gpu", "gpu_memory", "memory", "loss:a", "bytes:~/w", "inodes:/", "other"]
    assert sorted(names, key=place) == ordered
    assert unit("bytes:/")(1024**3) == "1.0 GiB"
    assert unit("gpu")(0.5) == "50%"


def test_plotext_is_loaded_with_the_first_chart_only() -> None:
    program = "import sys, gpu_tui.ui.app; print('plotext' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


# --- themes -----------------------------------------------------------------------------------


def test_no_colour_is_written_in_python_or_layout() -> None:
    room = Path(__file__).parents[2] / "gpu_tui" / "ui"
    for path in [*room.rglob("*.py"), *room.rglob("*.tcss")]:
        words = path.read_text("utf-8").replace("#id", "").split()
        for word in words:
            hexed = word.strip("\"';,:(){}")
            is_hex = len(hexed) in (4, 7) and hexed[0] == "#"
            assert not (is_hex and all(c in "0123456789abcdefABCDEF" for c in hexed[1:])), path


# --- pictures ---------------------------------------------------------------------------------


async def test_a_picture_shows_its_scene(themes: tuple[CockpitTheme, ...]) -> None:
    svg = await picture(SHOTS["cockpit-80x24"], themes)
    assert "autodl-1" in svg
    assert "&#160;" not in svg
    assert "@font-face" not in svg


def test_spaces_survive_converters() -> None:
    assert plain_svg('<text x="1">a&#160;b</text>') == '<text xml:space="preserve" x="1">a b</text>'


def test_the_command_renders_what_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw(["teardown", "--out", str(tmp_path)]) == 0
    assert "autodl-1-3f9c" in (tmp_path / "80x24" / "teardown.svg").read_text("utf-8")
    assert str(tmp_path / "160x45" / "teardown.svg") in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        draw(["nothing", "--out", str(tmp_path)])
    assert "There are: cockpit, clocks" in capsys.readouterr().err


def test_a_size_is_a_name_too_and_has_its_folder() -> None:
    small = names_of("60x20")
    assert len(small) == len(VIEWS)
    assert {path_of(name).parent for name in small} == {Path("60x20")}
    assert path_of("cockpit-blue-orange") == Path("cockpit-blue-orange.svg")
    assert len({path_of(name) for name in SHOTS}) == len(SHOTS)


def test_one_ground_is_one_rectangle() -> None:
    def rect(fill: str, x: float, y: float, width: float) -> str:
        return f'<rect fill="{fill}" x="{x}" y="{y}" width="{width}" height="24.65" shape-rendering="crispEdges"/>'

    svg = rect("#1", 0, 1.5, 12.2) + rect("#1", 12.2, 1.5, 61) + rect("#2", 73.2, 1.5, 12.2)
    svg += rect("#2", 0, 25.9, 12.2) + rect("#2", 24.4, 25.9, 12.2)
    assert re.findall(r'fill="(..)" x="([^"]*)" y="[^"]*" width="([^"]*)"', plain_svg(svg)) == [
        ("#1", "0", "73.2"), ("#2", "73.2", "12.2"), ("#2", "0", "12.2"), ("#2", "24.4", "12.2"),
    ]  # fmt: skip


@example(1800.0)
@given(st.floats(1.0, 400 * 86_400.0))
def test_a_time_axis_is_marked_at_whole_steps_of_a_clock(span: float) -> None:
    ticks = time_ticks(span)
    assert 1 <= len(ticks) <= TICKS
    assert all(-span <= tick < 0 for tick in ticks)
    assert all(tick % ticks[-1] == 0 for tick in ticks)


def test_a_quarter_of_an_hour_is_marked_every_few_minutes() -> None:
    assert [units.age(-tick) for tick in time_ticks(900.0)] == ["15m", "10m", "5m"]
    assert [units.age(-tick) for tick in time_ticks(3_500.0)] == ["50m", "40m", "30m", "20m", "10m"]
