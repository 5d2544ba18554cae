"""The card of a platform: every width, the verb that is chosen, and the words of the consoles."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import pytest
from rich.cells import cell_len

from gpu_tui.core.profile import Profile
from gpu_tui.resources import profile_files, profiles_dir, read_profile
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.profile import ProfileScreen
from gpu_tui.ui.text.card import card
from gpu_tui.ui.text.survival import choices, find_choice
from gpu_tui.ui.text.table import table

PROFILES = {name: read_profile(file) for name, file in profile_files(profiles_dir()).items()}
EACH = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
TODAY = date(2026, 11, 21)


def words(profile: Profile, verb: str, width: int = 100, variant: str | None = None) -> list[str]:
    """The card down to the clocks, for one verb."""
    chosen = find_choice(profile, verb)
    assert chosen is not None
    lines = [one.plain for one in card(profile, width, chosen, variant=variant, today=TODAY)]
    return lines[: lines.index("Danger clocks")]


@EACH
@pytest.mark.parametrize("width", [40, 76, 156])
def test_no_line_is_wider_than_the_screen(profile: Profile, width: int) -> None:
    for chosen in range(len(choices(profile))):
        for one in card(profile, width, chosen, today=TODAY):
            assert cell_len(one.plain) <= width, one.plain


@pytest.mark.parametrize(
    ("name", "verb", "width"),
    [("gpushare", "关机", 78), ("autodl", "关机", 156), ("paperspace", "destroy", 78)],
)
def test_the_card_is_the_golden_one(
    name: str, verb: str, width: int, golden: Callable[[str, str], None]
) -> None:
    golden(f"card-{name}", "\n".join(words(PROFILES[name], verb, width)))


@EACH
def test_every_tier_has_its_fate_under_every_verb(profile: Profile) -> None:
    for choice in choices(profile):
        text = words(profile, choice.verb.key, 160)
        head = next(line for line in text if line.startswith("tier"))
        at = head.index("after")
        for tier in profile.tiers_under(choice.verb, None):
            row = next(line for line in text if line.startswith((tier.label or tier.id)[:20]))
            gone = row[_cell(row, _width(head, at)) :].startswith("✗ deleted")
            assert gone == (tier.id in choice.verb.deletes), row


def _width(text: str, index: int) -> int:
    return cell_len(text[:index])


def _cell(text: str, cells: int) -> int:
    """The index of the character that begins at a cell."""
    return next(n for n in range(len(text) + 1) if cell_len(text[:n]) >= cells)


def test_a_park_says_what_comes_later() -> None:
    text = " ".join(" ".join(words(PROFILES["autodl"], "关机", variant="container")).split())
    assert "data disk /root/autodl-tmp ✓ kept deleted 15 days later;" in text
    assert "the meter stops partly · can be undone · via SSH, in the console" in text
    assert "7 days" not in text


def test_the_same_word_is_no_park_elsewhere() -> None:
    text = " ".join(" ".join(words(PROFILES["gpushare"], "关机")).split())
    assert "temporary disk /hy-tmp ✗ deleted" in text
    assert "cannot be undone" in text


def test_an_unconfirmed_verb_says_so() -> None:
    assert "unconfirmed" in " ".join(words(PROFILES["lanrui"], "停止"))
    assert "unconfirmed" not in " ".join(words(PROFILES["runpod"], "terminate")[2:])


def test_a_later_loss_that_nobody_confirmed_says_so() -> None:
    text = " ".join(" ".join(words(PROFILES["runpod"], "stop")).split())
    assert "deleted 30 days later (unconfirmed); bills: 0.20 USD/GB/month" in text


def test_another_variants_verbs_and_clocks_are_left_out() -> None:
    profile = PROFILES["colab-kaggle"]
    text = "\n".join(one.plain for one in card(profile, 100, variant="kaggle-commit"))
    facts = text[: text.index("Traps")]
    assert "kaggle-session-9h" in facts
    assert "stop-session" in facts
    assert not re.search("colab-max|disconnect-and-delete|/content", facts)


def test_old_facts_are_marked() -> None:
    text = [one.plain for one in card(PROFILES["runpod"], 100, today=date(2027, 6, 1))]
    assert any("older than six months" in line for line in text)
    assert any("needs a fresh look" in line for line in text)


def test_chinese_takes_two_cells_in_a_table() -> None:
    row = (("恒源云恒源云", "text"), ("x", "text"))
    lines = table(("a", "b"), [row, (("ab", "text"), ("y", "text"))], (8, 8))
    assert [one.plain for one in lines[2:]] == ["恒源云恒  x", "源云", "ab        y"]


@pytest.mark.parametrize("word", ["2", "释放", "释放:console", "release (destroy)"])
def test_a_verb_is_found_by_any_of_its_names(word: str) -> None:
    assert find_choice(PROFILES["autodl"], word) == 1
    assert find_choice(PROFILES["autodl"], "3") is None


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_arrows_and_digits_choose_the_verb(
    cockpit: Callable[..., CockpitApp], size: tuple[int, int]
) -> None:
    app = cockpit()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("p")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, ProfileScreen)

        def fate() -> str:
            return next(one.plain for one in screen.rows.lines if one.plain.startswith("data disk"))

        assert "✓ kept" in fate()
        await pilot.press("right")
        await pilot.pause()
        assert "✗ deleted" in fate()
        await pilot.press("1")
        await pilot.pause()
        assert "✓ kept" in fate()
        await pilot.press("left")  # around the end
        await pilot.pause()
        assert "✗ deleted" in fate()
        await pilot.press("9")  # there is no ninth
        await pilot.pause()
        assert "✗ deleted" in fate()
        await pilot.press("escape")
        assert not isinstance(app.screen, ProfileScreen)
