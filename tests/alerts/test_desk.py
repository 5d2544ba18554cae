"""The desk as a whole: a view in, and what reaches the screen and a real receiver."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from newsroom import T0, cell, finding, view
from receiver import Receiver, answer, receiver, reset

from gpu_tui.alerts.desk import SETTLE_SECONDS, Desk
from gpu_tui.alerts.ledger import Ledger
from gpu_tui.alerts.webhook import WebhookChannel
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Severity
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.config_file import Alerts
from gpu_tui.state.views import FleetView

DEFAULTS = Alerts()
NIGHT = (23 * 60, 7 * 60)


@dataclass
class Office:
    """One gpu-tui: its desk, its clock, what it noted."""

    desk: Desk
    clock: ManualClock
    ledger: Ledger
    notes: list[str] = field(default_factory=list)

    async def look(self, seen: FleetView, seconds: float = 2.0) -> None:
        self.clock.advance(seconds)
        await self.desk.look(replace(seen, taken_at=self.clock.now()))

    async def deliver(self) -> None:
        await self.desk.deliver(10.0)

    def toasts(self) -> list[tuple[list[str], bool]]:
        told = self.desk.take(view())
        return [([news.kind for news in one.news], one.loud) for one in told]


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
async def office(tmp_path: Path, hook: Receiver) -> AsyncIterator[object]:
    opened: list[Ledger] = []

    def make(alerts: Alerts = DEFAULTS, at: float = T0, **more: Any) -> Office:
        ledger = Ledger(tmp_path / "ledger")
        opened.append(ledger)
        clock, notes = ManualClock(wall=at), []  # type: ignore[var-annotated]
        desk = Desk(
            alerts, ledger, clock, [WebhookChannel(hook.url, limit=5.0, now=clock.now)], note=notes.append, zone=UTC,
            **{"first_wait": 0.0, **more},
        )  # fmt: skip
        return Office(desk, clock, ledger, notes)

    yield make
    for ledger in opened:
        ledger.close()


def texts(hook: Receiver) -> list[list[str]]:
    return [[item["kind"] for item in json.loads(body)["items"]] for _, body in hook.got]


async def test_a_key_that_an_edited_fleet_file_names_leaves_in_no_message(
    office, hook: Receiver
) -> None:  # type: ignore[no-untyped-def]
    held = ["the-old-one"]
    one = office(secrets=lambda: held)
    await one.look(view())
    held[:] = ["the-new-one"]
    await one.look(view(findings=(finding("nan", evidence="with the-new-one and the-old-one"),)))
    await one.deliver()
    (_, body), *_ = hook.got
    assert b"the-new-one" not in body
    assert b"the-old-one" in body


async def test_a_fatal_finding_is_told_once_by_whoever_sees_it_first(
    office, hook: Receiver
) -> None:  # type: ignore[no-untyped-def]
    cockpit, cron = office(), office()
    await cockpit.look(view())
    bad = view(findings=(finding("nan"), finding("stalled", Severity.SERIOUS)))
    await cron.look(bad)
    await cockpit.look(bad, 4.0)
    for one in (cockpit, cron, cockpit):
        await one.deliver()
    assert texts(hook) == [
        ["nan"]
    ]  # a serious one leaves the screen only where the settings say so
    assert cockpit.toasts() == [
        (["nan", "stalled"], True)
    ]  # told by cron: the screen shows it all the same
    await cockpit.look(bad)
    assert cockpit.toasts() == []
    restarted = office(at=T0 + 100)
    await restarted.look(bad)
    await restarted.deliver()
    assert (restarted.toasts(), texts(hook)) == ([], [["nan"]])


async def test_what_happened_while_nobody_looked_is_told_at_the_next_start(
    office, hook: Receiver
) -> None:  # type: ignore[no-untyped-def]
    await office().look(view(cells=(cell("x", CellState.RUNNING),)))
    later = office(at=T0 + 50_000)
    await later.look(view(findings=(finding("nan"),), cells=(cell("x"),)))
    await later.deliver()
    assert later.toasts() == [(["nan", "cell_finished", "sweep_finished"], True)]
    assert texts(hook) == [["nan", "cell_finished", "sweep_finished"]]


async def test_the_first_look_is_one_summary_and_no_toast(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    made = office()
    there = view(findings=(finding("nan"), finding("xid")), cells=(cell("x"), cell("y")))
    await made.look(there)
    await made.look(there)
    await made.deliver()
    assert made.toasts() == []
    ((_, body),) = hook.got
    (item,) = json.loads(body)["items"]
    assert (item["kind"], item["severity"], item["count"]) == ("first_look", "fatal", 2)


async def test_an_instance_that_connects_is_not_judged_yet(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    made = office()
    await made.look(view())
    half = view(findings=(finding("nan"),), connecting=("a",))
    await made.look(half)
    assert made.toasts() == []
    await made.look(view(findings=(finding("nan"),)))
    assert made.toasts() == [(["nan"], True)]


async def test_a_box_that_connects_for_ever_holds_back_no_word_of_the_account(
    office, hook: Receiver
) -> None:  # type: ignore[no-untyped-def]
    made = office()
    asking = {"names": ("a", "b"), "connecting": ("a",)}
    await made.look(view(**asking))
    await made.look(view(**asking), SETTLE_SECONDS + 1)
    bill = finding("unlisted_instance", instance="runpod:x1")
    await made.look(view(findings=(bill,), **asking))
    await made.deliver()
    assert texts(hook) == [["unlisted_instance"]]


async def test_a_receiver_that_fails_gets_the_same_message_again(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    hook.answers += [answer(500), reset, answer(429, Retry_After="120"), answer(502)]
    made = office()
    await made.look(view())
    await made.look(view(findings=(finding("nan"),)))
    courier = made.desk._couriers[0]
    assert await courier.step() == 5.0
    assert await courier.step() is None  # not before it is due
    made.clock.advance(5.0)
    assert await courier.step() == 15.0
    made.clock.advance(15.0)
    assert await courier.step() == 120.0  # as long as the receiver asks for
    made.clock.advance(60.0)
    assert await courier.step() is None
    made.clock.advance(60.0)
    assert await courier.step() == 300.0
    # The next start of gpu-tui goes on with it.
    second = office(at=made.clock.now() + 300.0)
    await second.deliver()
    assert texts(hook) == [["nan"]] * 5
    assert len({headers["idempotency-key"] for headers, _ in hook.got}) == 1
    assert [note.split(":")[0] for note in made.notes] == ["an alert did not go out"]  # said once
    assert made.ledger.waiting("webhook") == 0


async def test_trouble_is_said_when_it_begins_and_when_it_is_over(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    hook.answers.append(answer(500))
    made = office()
    await made.look(view())
    await made.look(view(findings=(finding("nan"),)))
    await made.desk._couriers[0].step()
    made.clock.advance(5.0)
    await made.deliver()
    assert made.notes == [
        "an alert did not go out: the webhook at 127.0.0.1 answered 500; it is tried again",
        "alerts by webhook arrive again",
    ]


async def test_a_refusal_is_final_and_a_day_is_enough(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    hook.answers += [answer(413), answer(500), answer(500)]
    made = office()
    await made.look(view())
    await made.look(view(findings=(finding("nan"),)))
    await made.deliver()
    assert "413; 1 not delivered" in made.notes[0]
    await made.look(view(findings=(finding("xid"),)))
    await made.desk._couriers[0].step()
    made.clock.advance(86_400.0)
    await made.deliver()
    assert "500; 1 not delivered" in made.notes[-1]
    assert made.ledger.waiting("webhook") == 0


async def test_quiet_hours_hold_back_all_but_the_fatal_and_end_with_one_digest(
    office, hook: Receiver
) -> None:  # type: ignore[no-untyped-def]
    late = T0 - T0 % 86_400 + 23 * 3_600 + 1_800
    made = office(Alerts(severity="serious", quiet=NIGHT), at=late)
    await made.look(view())
    found = [finding("stalled", Severity.SERIOUS)]
    await made.look(view(findings=tuple(found)))
    found.append(finding("nan"))
    await made.look(view(findings=tuple(found)))
    found.append(finding("hang", Severity.SERIOUS))
    await made.look(view(findings=tuple(found), cells=(cell("x"), cell("y", CellState.RUNNING))))
    await made.deliver()
    assert texts(hook) == [["nan"]]
    assert [loud for _, loud in made.toasts()] == [False, True, False]
    await made.look(view(findings=tuple(found)), 8 * 3_600)
    await made.deliver()
    assert texts(hook)[1:] == [["stalled", "hang", "cell_finished"]]
    assert "from the quiet hours" in json.loads(hook.got[1][1])["title"]
    assert made.toasts() == [(["stalled", "hang", "cell_finished"], True)]


@pytest.mark.parametrize(("lets", "goes"), [("fatal", True), ("nothing", False)])
async def test_a_fatal_first_look_in_quiet_hours_goes_out_as_any_fatal_news(
    office, hook: Receiver, lets: str, goes: bool
) -> None:  # type: ignore[no-untyped-def]
    late = T0 - T0 % 86_400 + 23 * 3_600 + 1_800
    made = office(Alerts(quiet=NIGHT, quiet_lets=lets), at=late)
    await made.look(view(findings=(finding("nan"),)))
    await made.deliver()
    assert texts(hook) == ([["first_look"]] if goes else [])


async def test_who_leaves_in_the_middle_of_a_look_loses_no_alert(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    made = office()
    await made.look(view())
    sifting, go = asyncio.Event(), threading.Event()
    loop, sift = asyncio.get_running_loop(), made.ledger.sift

    def slow(*words: object, **more: object) -> object:
        found = sift(*words, **more)
        loop.call_soon_threadsafe(sifting.set)
        go.wait(60)
        return found

    made.ledger.sift = slow
    look = asyncio.create_task(made.look(view(findings=(finding("nan"),))))
    await sifting.wait()
    look.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await look
    await office(at=T0 + 100).deliver()  # the next gpu-tui
    assert texts(hook) == [["nan"]]


async def test_quiet_hours_may_hold_back_everything(office, hook: Receiver) -> None:  # type: ignore[no-untyped-def]
    late = T0 - T0 % 86_400 + 23 * 3_600 + 1_800
    made = office(Alerts(quiet=NIGHT, quiet_lets="nothing"), at=late)
    await made.look(view())
    await made.look(view(findings=(finding("nan"),)))
    await made.deliver()
    assert (hook.got, made.toasts()) == ([], [(["nan"], False)])
    # Held over a restart: cron's patrol in the morning delivers it.
    morning = office(at=late + 8 * 3_600)
    await morning.deliver()
    assert texts(hook) == [["nan"]]


@pytest.mark.parametrize(
    ("alerts", "goes"),
    [
        (Alerts(), ["nan", "clock", "cell_finished"]),
        (Alerts(severity="serious"), ["nan", "hang", "clock", "cell_finished"]),
        (Alerts(kinds=("clock",)), ["clock"]),
        (Alerts(instances=("b*",)), []),
        (Alerts(instances=("b*", "a")), ["nan", "clock", "cell_finished"]),
    ],
)
async def test_the_settings_choose_what_goes_out(
    office, hook: Receiver, alerts: Alerts, goes: list[str]
) -> None:  # type: ignore[no-untyped-def]
    made = office(alerts)
    await made.look(view())
    found = (finding("nan"), finding("hang", Severity.SERIOUS), finding("clock", Severity.WARN))
    await made.look(view(findings=found, cells=(cell("x"), cell("y", CellState.RUNNING))))
    await made.deliver()
    assert texts(hook) == ([goes] if goes else [])


async def test_the_beat_delivers_and_a_hanging_receiver_does_not_stop_it(
    office, hook: Receiver
) -> None:  # type: ignore[no-untyped-def]
    hook.answers.append(lambda handler: hook.stop.wait())  # type: ignore[arg-type, return-value]
    made = office(beat=0.01)
    looks = [view(), view(findings=(finding("nan"),)), view(findings=(finding("xid"),))]
    seen = asyncio.Event()

    def look() -> FleetView | None:
        if len(looks) == 1:
            seen.set()
        made.clock.advance(2.0)
        return replace(looks.pop(0), taken_at=made.clock.now()) if looks else None

    running = asyncio.create_task(made.desk.run(look))
    async with asyncio.timeout(60):
        await asyncio.to_thread(hook.arrived.wait)
        await seen.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert texts(hook)[0] == ["nan"]
