"""The cockpit, `check`, `clocks`, the report, the time line and alerts write one state's times and amounts alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpu_tui.alerts.message import item_of
from gpu_tui.cli.clocks import clock_lines
from gpu_tui.core import units
from gpu_tui.core.account import Account
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Money
from gpu_tui.core.mask import Mask
from gpu_tui.core.speech import told
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.language import speak_in
from gpu_tui.state.contract import check_json
from gpu_tui.state.news import CELL_FINISHED, SWEEP_FINISHED, news_of
from gpu_tui.state.patrol import patrol_lines, patrol_report
from gpu_tui.state.report import handover
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.deadlines import clock_lines as pane_lines
from gpu_tui.ui.text.deadlines import rows_of
from gpu_tui.ui.text.fleet import _clock, _price, _spent
from gpu_tui.ui.text.header import burn
from gpu_tui.ui.text.sweep import took_of
from gpu_tui.ui.text.timeline import event_row
from screenshots.builders import NOW, finding, fleet
from screenshots.scene_ablation import ablation

TIMES = [(45, "45s", "45 s"), (125, "2m 05s", "2 min"), (7_500, "2h 05m", "2 h 05 min"),
         (7_200.9, "2h", "2 h"), (100_000, "1d 3h", "1 day 3 h"), (15 * 86400, "15d", "15 days")]  # fmt: skip
AMOUNTS = [
    (0.0, "¥0.00"),
    (0.004, "¥0.004"),
    (0.0001, "<¥0.001"),
    (2.08, "¥2.08"),
    (1234.5, "¥1,234"),
]


@pytest.fixture(params=["en", "zh"])
def spoken(request: pytest.FixtureRequest) -> Iterator[str]:
    speak_in(request.param)
    yield request.param
    speak_in("en")


def world(seconds: float = 7_500, amount: float = 2.08) -> FleetView:
    """One box with one finished cell, a clock, a price, a bill and an account."""
    view = ablation().fleet["autodl-2"]
    at = NOW + seconds
    clock = DangerClock(
        "stop", view.name, "running", "running", NOW, "api", at, at, None, None, "warn", "Pull.",
        "profile", "2026-06", "high", False, after=seconds,
    )  # fmt: skip
    done = Cell("c1", 1, None, CellState.FINISHED, logged=True, duration_seconds=seconds)
    state = replace(view.provider, started_at=NOW - 9_000, state="running")
    view = replace(
        view, clocks=(clock,), queue=Queue((done,), total=1), findings=(), provider=state,
        cost=replace(view.cost, per_hour=amount, currency="CNY", spent=amount),
    )  # fmt: skip
    money = Money(amount, "CNY")
    account = Account("autodl", "KEY", balance=money, spend_per_hour=money, read_at=NOW)
    return replace(fleet(view), accounts=(account,))


@pytest.mark.parametrize(("seconds", "column", "sentence"), TIMES)
def test_a_deadline_reads_the_same_everywhere(
    seconds: float, column: str, sentence: str, spoken: str
) -> None:
    seen = world(seconds=seconds)
    (view,) = seen.instances
    sentence = units.spoken(seconds) if spoken == "zh" else sentence
    assert _clock(view, 30)[0] in (f"▲{column}", f"△{column}", column)
    (row,) = rows_of(view.clocks)
    assert pane_lines(row, NOW, 100)[0].plain.split("▌")[0].strip(" ▲△") == column
    for text in (
        "\n".join(patrol_lines(view, NOW)),
        "\n".join(clock_lines(view.clocks, NOW)),
        handover(seen, {}, Mask(), version="1", fleet=None),
    ):
        assert re.search(rf"(?<![0-9] ){re.escape(sentence)}(?! ?[0-9])", text)


@pytest.mark.parametrize(("seconds", "column", "_"), TIMES)
def test_how_long_a_cell_took_reads_the_same_everywhere(
    seconds: float, column: str, _: str
) -> None:
    seen = world(seconds=seconds)
    (view,) = seen.instances
    (news,) = [one for one in news_of(seen) if one.kind == CELL_FINISHED]
    assert took_of(view.queue.cells[0]).plain == column
    assert f" after {units.words(seconds, fine=True)}" in news.text
    assert item_of(news, None)["text"] == news.text


@pytest.mark.parametrize(("seconds", "_", "sentence"), TIMES)
def test_a_finding_has_its_time_in_the_same_words_everywhere(
    seconds: float, _: str, sentence: str, spoken: str
) -> None:
    sentence = units.spoken(seconds) if spoken == "zh" else sentence
    evidence = f"alive, but nothing moved for {units.words(seconds)}"
    seen = world()
    found = finding("stalled", Severity.SERIOUS, seen.instances[0].name, evidence, "verdict")
    view = replace(seen.instances[0], findings=(found,))
    for text in (
        event_row(found, NOW, 240, None).plain,
        "\n".join(patrol_lines(view, NOW)),
        handover(fleet(view), {}, Mask(), version="1", fleet=None),
    ):
        assert told(evidence) in text
        assert re.search(rf"(?<![0-9] ){re.escape(sentence)}(?! ?[0-9])", text)


@pytest.mark.parametrize(("amount", "words"), AMOUNTS)
def test_an_amount_reads_the_same_everywhere(amount: float, words: str, spoken: str) -> None:
    seen = world(amount=amount)
    (view,) = seen.instances
    assert (_price(view, 9)[0], _spent(view, 9)[0]) == (words, words)
    assert burn(seen) == ((f"{words}/h", words))
    check = "\n".join(patrol_report(seen, {}))
    assert check.count(words) == 3  # by the hour, so far, and left on the account
    report = handover(seen, {}, Mask(), version="1", fleet=None)
    assert report.count(words) >= (5 if amount else 3)
    sweep = " ".join(one.text for one in news_of(seen) if one.kind == SWEEP_FINISHED)
    assert (f"still billing {words}/h" in sweep) is (amount > 0)
    cost = check_json(seen)["instances"][0]["cost"]  # type: ignore[index]
    assert (cost["per_hour"], cost["spent"]) == (amount, amount), "programs get numbers"
