"""What a box has cost where no API tells since when it bills: never more than it can have cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_deadlines import BOX, DAY, HOUR, NOW, Bench

from gpu_tui.core.fleet import Fleet, Money, ProviderAccess
from gpu_tui.core.readings import Process
from gpu_tui.state.history import History, SqliteHistory
from gpu_tui.state.store import Store


class Priced(Bench):
    """Two a hour, as its fleet file says."""

    def __init__(self, history: History | None = None, *, now: float = NOW) -> None:
        super().__init__(history, now=now)
        box = replace(BOX, provider=ProviderAccess(), price=Money(2.0, "CNY"))
        self.store = Store(Fleet(None, (box,)), {}, self.history)

    def up(self, hours: float) -> None:
        self.sample("processes", (Process(1, 0, "init", ("init",), "S", hours * HOUR),))

    def spent(self) -> float | None:
        return self.view().cost.spent


def test_days_in_which_it_was_off_cost_no_hours(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with SqliteHistory(path) as history:
        first = Priced(history)
        first.link()
        first.up(1)
        first.now += HOUR
        assert first.spent() == pytest.approx(2.0)
    with SqliteHistory(path) as history:
        again = Priced(history, now=NOW + 4 * DAY)  # it was switched on half an hour ago
        again.link()
        again.up(0.5)
        assert again.spent() == pytest.approx(1.0)


def test_what_it_cost_before_the_first_look_stays_unknown() -> None:
    bench = Priced()
    bench.link()
    bench.up(400)
    bench.now += HOUR
    assert bench.spent() == pytest.approx(2.0)


def test_while_it_does_not_answer_nobody_knows_whether_it_bills() -> None:
    bench = Priced()
    bench.link()
    bench.up(1)
    bench.now += HOUR
    bench.up(2)
    bench.link("refused")
    bench.now += 2 * DAY
    assert bench.spent() == pytest.approx(2.0, abs=0.02)
    assert bench.view().cost.per_hour == 2.0
    bench.link()
    assert bench.spent() == pytest.approx(98.0)  # it was on all the time: nothing says otherwise
    bench.up(50)
    assert bench.spent() == pytest.approx(98.0)
    bench.up(0.25)
    assert bench.spent() == pytest.approx(0.5)


def test_what_an_api_calls_running_bills_while_we_cannot_reach_it() -> None:
    bench = Priced()
    bench.link()
    bench.up(1)
    bench.link("refused")
    bench.now += 2 * HOUR
    bench.api("running")
    assert bench.spent() == pytest.approx(4.0)


def test_what_a_person_says_is_stopped_burns_nothing_that_is_known() -> None:
    bench = Priced()
    bench.link()
    bench.up(1)
    bench.now += HOUR
    bench.up(2)
    bench.link("refused")
    bench.history.set_anchor("box", "stopped_at", bench.now, "manual")
    bench.now += DAY
    cost = bench.view().cost
    assert (cost.per_hour, cost.spent) == (None, pytest.approx(2.0))
    assert (
        cost.why["per_hour"] == "it is stopped: what its storage costs is not known, and not zero"
    )
    bench.link()
    bench.up(0.1)  # it was switched on again
    assert bench.view().cost.per_hour == 2.0
