"""The report's picture: no secret is in it, in whatever pieces it was drawn."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from rich.text import Text

from gpu_tui.core import metrics
from gpu_tui.core.mask import Mask, masked
from gpu_tui.core.redact import HIDDEN
from gpu_tui.core.sample import Failure, FailureKind, Track
from gpu_tui.report.picture import masked_svg, masked_view
from gpu_tui.report.svg import plain_svg
from gpu_tui.resources import themes_dir
from gpu_tui.state.views import FleetView
from gpu_tui.ui.picture import draw_cockpit
from gpu_tui.ui.theme_file import load_themes
from screenshots.builders import NOW, PROFILES
from screenshots.scenes import SCENES, sweep

TOKEN = "hf_" + "aB3dE5gH7jK9mN1p" * 2
MASK = Mask(("very-known-word",), ("box.example",), "/home/me")


def svg_of(*lines: Text, width: int = 100) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    for line in lines:
        console.print(line, overflow="crop", no_wrap=True)
    return plain_svg(console.export_svg(title="x"))


def rows(svg: str) -> list[str]:
    """The text of each row, its pieces side by side."""
    found: dict[str, list[str]] = {}
    for y, text in re.findall(r'<text [^>]*? y="([\d.]+)" textLength[^>]*>([^<]*)<', svg):
        found.setdefault(y, []).append(html.unescape(text))
    return ["".join(texts).rstrip("\n ") for texts in found.values()]


def styled(text: str, *cuts: int) -> Text:
    """The text in another style from each of these places on."""
    line = Text(text)
    for number, at in enumerate(cuts):
        line.stylize(f"bold rgb({number * 40},{255 - number * 40},9)", at)
    return line


@pytest.mark.parametrize("cut", range(1, len(TOKEN), 4))
def test_a_secret_split_by_styles_is_hidden(cut: int) -> None:
    before = "│ token is "
    svg = masked_svg(
        svg_of(styled(f"{before}{TOKEN} │ 损失 0.5 │", len(before) + cut, len(before) + cut + 2)),
        MASK,
    )
    (row,) = rows(svg)
    assert HIDDEN in row
    for at in range(len(TOKEN) - 4):
        assert TOKEN[at : at + 4] not in svg
    assert row.endswith("│ 损失 0.5 │")
    assert row.startswith(before)


def test_a_name_in_one_style_and_its_value_in_another() -> None:
    for text, secret in (
        ("password: hunter2x9 then", "hunter2x9"),
        ("密码：hunter2x9", "hunter2x9"),
        ("SSH_PASS='hunter2x9'", "hunter2x9"),
        ("very-known-word", "known"),
        ("at box.example:22 <b>&", "box.example"),
    ):
        cuts = [text.index(secret), text.index(secret) + 3]
        (row,) = rows(masked_svg(svg_of(styled(text, *cuts)), MASK))
        assert secret not in row
        assert secret[3:] not in row


def test_a_picture_without_secrets_stays_as_it_is() -> None:
    svg = svg_of(styled('│ 损失 0.5 <&" ▂▃▅ │ step 3/9', 3, 9, 14), Text("pass@1: 0.31"))
    assert masked_svg(svg, MASK) == svg


def test_what_replaces_a_text_is_as_wide() -> None:
    """The panes beside it stay in their columns."""
    line = styled(f"│ 甲 {TOKEN} 乙 │ next │", 9, 20)
    before, after = svg_of(line), masked_svg(svg_of(line), MASK)
    place = re.compile(r'x="([\d.]+)"[^>]*? textLength="([\d.]+)"')
    assert place.findall(before) == place.findall(after)


CANARIES = [f"CANARY{number}x9aB3dE5gH7jK9" for number in range(6)]


def hostile(view: FleetView) -> FleetView:
    """What a box and a provider say holds secrets, also such as a pane cuts or wraps."""
    one, *others = view.instances
    words = [f"{name}={secret}" for name, secret in zip(
        ("NVML: token", "df: password", "secret", "SSH_PASS", "/mnt/api_key", "cell-token"),
        CANARIES, strict=True,
    )]  # fmt: skip
    cell = replace(one.queue.cells[0], name=words[5])
    tracks = dict(one.tracks)
    for metric, why in ((metrics.GPUS, words[0]), (metrics.MOUNTS, words[1])):
        tracks[metric.name] = Track(Failure(FailureKind.GARBAGE, f"{why} failed", NOW), None)
    return replace(
        view,
        instances=(
            replace(
                one,
                tracks=tracks,
                because=(words[2],),
                provider=replace(one.provider, error=words[3]),
                full_in={words[4]: 60.0},
                queue=replace(one.queue, cells=(cell, *one.queue.cells[1:])),
            ),
            *others,
        ),
    )


@pytest.mark.parametrize("size", [(160, 40), (80, 24), (200, 60)])
async def test_no_text_of_a_box_leaves_with_a_secret(size: tuple[int, int]) -> None:
    view = hostile(sweep().view(NOW))
    themes = load_themes(themes_dir())
    svg = masked_svg(await draw_cockpit(masked_view(view, MASK), PROFILES, themes, size), MASK)
    whole = "".join(rows(svg))
    assert "autodl-1" in whole
    for secret in CANARIES:
        for at in range(len(secret) - 8):
            assert secret[at : at + 8] not in whole


@pytest.mark.parametrize("scene", SCENES)
def test_every_view_can_be_masked(scene: str) -> None:
    view = SCENES[scene]().view(NOW)
    assert masked(view, lambda text: text) == view
    hidden = masked_view(view, MASK)
    assert [one.name for one in hidden.instances] == [one.name for one in view.instances]
