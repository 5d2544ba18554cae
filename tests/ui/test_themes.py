"""Five themes, each readable at every colour depth, on every ground that its text stands on."""

from __future__ import annotations

from pathlib import Path

import pytest
from palettes import LINUX, XTERM, contrast, worst
from rich.color import Color
from rich.style import Style

from gpu_tui.ui.depth import Depth, depth_of, drawn, nearest
from gpu_tui.ui.theme import DANGER, DRAWN, CockpitTheme, ThemeError, named
from gpu_tui.ui.theme_file import load_theme, load_themes

THEMES = Path(__file__).parents[2] / "themes"
NAMES = ["amber", "blue-orange", "contrast", "night", "day"]
EVERY = [(name, depth) for name in NAMES for depth in Depth]


def theme_of(name: str, depth: Depth) -> CockpitTheme:
    return load_theme(THEMES / f"{name}.yaml").at(depth)


def grounds(theme: CockpitTheme) -> dict[str, Color]:
    """What text of any meaning may stand on: a cursor that brings its own ink shows no other."""
    found = {name: theme.base[name] for name in ("background", "surface", "panel")}
    for name in ("cursor", "cursor-away"):
        style = theme.styles[name]
        if style.color is None and style.bgcolor is not None:
            found[name] = style.bgcolor
    return found


def test_there_are_five_themes_and_each_file_is_called_as_its_theme() -> None:
    themes = load_themes(THEMES)
    assert [theme.name for theme in themes] == NAMES
    assert [theme.path.stem for theme in themes if theme.path] == NAMES
    assert all(theme.about for theme in themes)


@pytest.mark.parametrize(("name", "depth"), EVERY)
def test_all_text_is_readable(name: str, depth: Depth) -> None:
    theme = theme_of(name, depth)
    poor = []
    for meaning, style in theme.styles.items():
        if meaning in DRAWN and not (style.color and style.bgcolor):
            continue
        least = 4.5 if meaning in DANGER else 3.0
        ink = style.color or theme.base["foreground"]
        papers = {"its own": style.bgcolor} if style.bgcolor else grounds(theme)
        for ground, paper in papers.items():
            found = worst(style, ink, paper, depth)
            if found < least:
                poor.append(f"{meaning} on {ground}: {found:.1f}:1, wants {least}:1")
    assert poor == []


@pytest.mark.parametrize("depth", Depth)
def test_high_contrast_is_high(depth: Depth) -> None:
    theme = theme_of("contrast", depth)
    for meaning in ("text", "muted", "strong", "stale", "absent"):
        ink = theme.styles[meaning].color or theme.base["foreground"]
        assert worst(theme.styles[meaning], ink, theme.base["background"], depth) >= 7


@pytest.mark.parametrize("name", NAMES)
def test_sixteen_colours_use_nothing_that_the_linux_console_draws_otherwise(name: str) -> None:
    """Its kernel draws italic text green and underlined text cyan, and has eight backgrounds."""
    for meaning, style in theme_of(name, Depth.FEW).styles.items():
        assert not style.italic, meaning
        assert not style.underline, meaning
        if style.bgcolor is not None:
            number = style.bgcolor.downgrade(_standard()).number
            assert number is not None, meaning
            assert number < 8, meaning


def _standard():  # type: ignore[no-untyped-def]
    from gpu_tui.ui.depth import SYSTEMS

    return SYSTEMS[Depth.FEW]


@pytest.mark.parametrize(("name", "depth"), EVERY)
def test_the_edge_of_what_ends_a_box_is_seen(name: str, depth: Depth) -> None:
    theme = theme_of(name, depth)
    edge = Color.parse(theme.textual.variables["danger-edge"])
    if depth is not Depth.NONE:
        assert worst(Style(), drawn(edge, depth), theme.base["background"], depth) > 3


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_yet_wears_no_badge(name: str) -> None:
    """While a fleet is being reached every cell of it is unknown."""
    for depth in (Depth.FULL, Depth.MANY, Depth.FEW):
        assert theme_of(name, depth).styles["unknown"].bgcolor is None


@pytest.mark.parametrize("name", NAMES)
def test_levels_differ_from_each_other_at_every_depth(name: str) -> None:
    for depth in (Depth.FULL, Depth.MANY, Depth.FEW):
        theme = theme_of(name, depth)
        styles = [theme.styles[level] for level in ("level-ok", "level-watch", "level-act")]
        assert len(set(styles)) == 3, depth


@pytest.mark.parametrize("name", NAMES)
def test_the_cursor_is_seen(name: str) -> None:
    for depth in (Depth.FULL, Depth.MANY, Depth.FEW):
        theme = theme_of(name, depth)
        for meaning in ("cursor", "cursor-away"):
            paper = theme.styles[meaning].bgcolor
            assert paper is not None
            assert worst(Style(), paper, theme.base["background"], depth) > 1.05, (depth, meaning)


def test_no_colour_at_all_leaves_attributes_alone() -> None:
    theme = theme_of("night", Depth.NONE)
    assert all(style.color is None and style.bgcolor is None for style in theme.styles.values())
    assert theme.styles["cursor"].reverse
    assert theme.styles["danger-badge"].reverse
    assert theme.styles["level-act"].bold


def test_the_palettes_are_those_of_the_terminals() -> None:
    assert contrast(XTERM[0], XTERM[15]) == pytest.approx(21)
    assert contrast(LINUX[1], LINUX[7]) == pytest.approx(3.34, abs=0.01)
    assert nearest(Color.parse("#1a2430").get_truecolor()).hex == "#262626"


@pytest.mark.parametrize(
    ("env", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, Depth.FULL),
        ({"TERM": "screen-256color"}, Depth.MANY),
        ({"TERM": "tmux-256color", "COLORTERM": ""}, Depth.MANY),
        ({"TERM": "xterm-kitty"}, Depth.MANY),
        ({"TERM": "alacritty"}, Depth.MANY),
        ({"TERM": "foot-extra"}, Depth.MANY),
        ({"TERM": "linux"}, Depth.FEW),
        ({"TERM": "xterm"}, Depth.FEW),
        ({"TERM": "vt220"}, Depth.NONE),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit", "NO_COLOR": ""}, Depth.NONE),
        ({"TERM": "linux", "TEXTUAL_COLOR_SYSTEM": "truecolor"}, Depth.FULL),
    ],
)
def test_the_depth_is_read_from_the_environment(env: dict[str, str], depth: Depth) -> None:
    assert depth_of(env) is depth


# --- files ------------------------------------------------------------------------------------


def bundled() -> dict[str, CockpitTheme]:
    return {theme.name: theme for theme in load_themes(THEMES)}


def test_a_copied_file_stands_before_the_bundled_one(tmp_path: Path) -> None:
    text = (THEMES / "night.yaml").read_text("utf-8").replace("#cfd9e4", "#ffffff")
    (tmp_path / "night.yaml").write_text(text, "utf-8")
    themes = {theme.name: theme for theme in load_themes(THEMES, tmp_path)}
    assert len(themes) == 5
    assert themes["night"].styles["text"] == Style.parse("#ffffff")
    assert themes["night"].path == tmp_path / "night.yaml"


def test_a_file_may_change_one_colour_of_another_theme(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: day\nmeanings:\n  accent: '#aa0000'\n", "utf-8")
    mine = {theme.name: theme for theme in load_themes(THEMES, tmp_path)}["mine"]
    assert not mine.dark
    assert mine.styles["accent"] == Style.parse("#aa0000")
    assert mine.styles["text"] == bundled()["day"].styles["text"]
    assert mine.at(Depth.FEW).styles["danger"] == bundled()["day"].at(Depth.FEW).styles["danger"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", ":1: ", "empty"),
        ("just words", ":1: ", "names with values"),
        ("name: x\ndark: }\n", ":2: ", "not YAML"),
        ("extends: nigth\n", ":1: ", "extends 'nigth'"),
        ("extends: night\nmeanings:\n  stael: '#ffffff'\n", ":3: ", "no 'stael'"),
        ("extends: night\nmeanings:\n  text: blurple\n", ":3: ", "'blurple' is no colour"),
        ("extends: night\nmeanings:\n  text: red\n  text: red\n", ":4: ", "stands here twice"),
        ("extends: night\nansi:\n  meaning: {}\n", ":3: ", "no 'meaning'"),
        ("name: x\ndark: maybe\n", "", "no colour for background"),
        ("extends: night\ndark: maybe\n", ":2: ", "true or false"),
    ],
)
def test_a_broken_file_is_told_with_its_line(
    text: str, place: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ThemeError) as told:
        load_theme(path, bundled())
    assert str(told.value).startswith(f"{path}{place}")
    assert words in str(told.value)
    assert told.value.next


def test_a_wrong_name_says_which_ones_there_are() -> None:
    themes = load_themes(THEMES)
    assert named(themes, None, "").name == "night"
    with pytest.raises(ThemeError, match="'nihgt'") as told:
        named(themes, "nihgt", "--theme")
    assert "Did you mean night?" in str(told.value.next)


@pytest.mark.parametrize("name", NAMES)
def test_without_colours_a_layout_file_inverts_what_has_a_ground_of_its_own(name: str) -> None:
    plain = theme_of(name, Depth.NONE).textual
    for meaning in ("badge", "danger-badge", "brand"):
        assert plain.variables[meaning] == plain.background
        assert plain.variables[f"{meaning}-background"] == plain.foreground
    assert plain.variables["text-colour"] == plain.foreground
