"""Each channel has its own record: an alert that one program cannot send stays due for another, and is sent once."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from newsroom import T0, cell, finding, view
from receiver import Receiver, answer, receiver

from gpu_tui.alerts.channel import Channel, Unusable
from gpu_tui.alerts.command import CommandChannel
from gpu_tui.alerts.courier import HOLD
from gpu_tui.alerts.desk import Desk
from gpu_tui.alerts.ledger import WAITING, Ledger, Post
from gpu_tui.alerts.once import GONE, Sifted
from gpu_tui.alerts.standing import ELSEWHERE, FAILING
from gpu_tui.alerts.ways import ways_out
from gpu_tui.core.alert_channel import AlertChannel
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import ChannelsSeen
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.config_file import Alerts, WebhookAddress
from gpu_tui.state.news import news_of
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

HOOK = Alerts(webhook=WebhookAddress(url_env="MY_HOOK"))
NAN, LOST = finding("nan"), finding("xid")
SERIOUS = finding("hang", Severity.SERIOUS)


@dataclass
class Program:
    """A gpu-tui with an environment of its own: a cockpit, or (`screen` False) cron's check."""

    desk: Desk
    clock: ManualClock
    ledger: Ledger
    notes: list[str] = field(default_factory=list)
    channels: list[tuple[AlertChannel, ...]] = field(default_factory=list)

    async def look(self, *found: Any, seconds: float = 2.0) -> None:
        """Look at a fleet with these findings, as a beat does."""
        self.clock.advance(seconds)
        seen = view(findings=found)
        await self.look_at(replace(seen, taken_at=self.clock.now()))

    async def look_at(self, seen: FleetView) -> None:
        await self.desk.look_at_channels()
        await self.desk.look(seen)

    async def deliver(self) -> None:
        await self.desk.deliver(10.0)

    @property
    def found(self) -> list[tuple[str, str]]:
        """The findings of its fleet about channels: severity and evidence."""
        store = Store(Fleet(None, ()), {})
        store.apply(ChannelsSeen(0.0, self.channels[-1] if self.channels else ()))
        return [(str(one.severity), one.evidence) for one in store.view(T0).findings]


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Any]:
    opened: list[Ledger] = []

    def make(
        url: str | None = None, alerts: Alerts = HOOK, at: float = T0, *,
        screen: bool = True, path: str = "ledger", channels: Sequence[Channel] | None = None,
    ) -> Program:  # fmt: skip
        ledger = Ledger(tmp_path / path)
        opened.append(ledger)
        clock = ManualClock(wall=at)
        env = {"PATH": os.environ["PATH"], **({"MY_HOOK": url} if url else {})}
        ways = ways_out(alerts, env, clock.now) if channels is None else channels
        notes: list[str] = []
        states: list[tuple[AlertChannel, ...]] = []
        desk = Desk(
            alerts, ledger, clock, ways, note=notes.append, zone=UTC, first_wait=0.0,
            screen=screen, heed=states.append,
        )  # fmt: skip
        return Program(desk, clock, ledger, notes, states)

    yield make
    for ledger in opened:
        ledger.close()


def arrived(hook: Receiver) -> list[str]:
    return [item["kind"] for _, body in hook.got for item in json.loads(body)["items"]]


# --- which programs send what -------------------------------------------------------------------


async def test_alerts_of_a_cockpit_without_the_variable_are_sent_once_by_cron(
    program: Any, hook: Receiver
) -> None:
    cockpit, cron = program(), program(hook.url, screen=False)
    await cockpit.look()
    await cockpit.look(NAN)
    await cockpit.deliver()
    toasts = [one.kind for told in cockpit.desk.take(view()) for one in told.news]
    assert (toasts, hook.got) == (["nan"], [])
    for _ in range(2):
        await cron.look(NAN, seconds=4.0)
        await cron.deliver()
        await cockpit.look(NAN)
        await cockpit.deliver()
    assert arrived(hook) == ["nan"]


async def test_alerts_that_ended_before_cron_ran_are_sent_too(program: Any, hook: Receiver) -> None:
    cockpit = program()
    await cockpit.look()
    await cockpit.look(NAN)
    await cockpit.look()
    cron = program(hook.url, at=T0 + 600, screen=False)
    await cron.look()
    await cron.deliver()
    assert arrived(hook) == ["nan"]


@pytest.mark.parametrize("later", [LOST, SERIOUS])
async def test_a_cockpit_without_channels_does_not_suppress_later_alerts(
    later: Any, program: Any, hook: Receiver
) -> None:
    """The cockpit has shown every toast, and its settings name no channel or a higher severity."""
    old = program(alerts=Alerts())
    await old.look()
    await old.look(NAN)
    cron = program(hook.url, replace(HOOK, severity="serious"), T0 + 60, screen=False)
    await cron.look(NAN)
    await cron.deliver()
    assert arrived(hook) == ["first_look"]  # by this channel
    await old.look(NAN, later)
    await cron.look(NAN, later)
    await cron.deliver()
    await cron.look(NAN, later)
    await cron.deliver()
    assert arrived(hook)[1:] == [later.kind]


async def test_narrower_settings_do_not_make_wider_ones_send_again(
    program: Any, hook: Receiver
) -> None:
    cockpit = program(hook.url)
    cron = program(hook.url, replace(HOOK, severity="serious"), screen=False)
    for one in (cockpit, cron):
        await one.look()
    for _ in range(3):
        await cron.look(SERIOUS, seconds=2 * GONE)
        await cron.deliver()
        for _ in range(3):
            await cockpit.look(SERIOUS, seconds=GONE)
            await cockpit.deliver()
    assert arrived(hook) == ["hang"]


async def test_of_two_cockpits_the_one_that_can_send_sends_for_both(
    program: Any, hook: Receiver
) -> None:
    poor, rich = program(), program(hook.url)
    for one in (poor, rich):
        await one.look()
    await poor.look(NAN)
    await rich.look(NAN, LOST)
    await poor.look(NAN, LOST)
    for one in (poor, rich, poor, rich):
        await one.deliver()
    assert sorted(arrived(hook)) == ["nan", "xid"]


@pytest.mark.parametrize("env", ["", "set"])
async def test_alerts_that_a_cockpit_delivered_are_not_sent_by_cron(
    env: str, program: Any, hook: Receiver
) -> None:
    cockpit, cron = program(hook.url), program(hook.url if env else None, screen=False)
    await cockpit.look()
    await cockpit.look(NAN)
    await cockpit.deliver()
    await cron.look(NAN, seconds=20.0)
    await cron.deliver()
    assert arrived(hook) == ["nan"]


async def test_each_channel_gets_an_alert_that_another_channel_had(
    program: Any, hook: Receiver, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    both = Alerts(command=("sh", "-c", f"cat >> {heard}"), webhook=HOOK.webhook)
    cockpit = program(alerts=both)  # its webhook has no URL
    await cockpit.look()
    await cockpit.look(NAN)
    await cockpit.deliver()
    cron = program(hook.url, both, T0 + 60, screen=False)
    await cron.look(NAN)
    await cron.deliver()
    (line,) = heard.read_text().splitlines()
    assert ([item["kind"] for item in json.loads(line)["items"]], arrived(hook)) == (["nan"], ["nan"])  # fmt: skip


async def test_quiet_hours_of_a_cockpit_that_cannot_send_end_in_one_digest_by_cron(
    program: Any, hook: Receiver
) -> None:
    late = T0 - T0 % 86_400 + 23 * 3_600 + 1_800
    quiet = replace(HOOK, quiet=(23 * 60, 7 * 60), quiet_lets="nothing")
    cockpit = program(None, quiet, late)
    await cockpit.look()
    await cockpit.look(NAN)
    await cockpit.look(NAN, LOST)
    night = program(hook.url, quiet, late + 600, screen=False)
    await night.look(NAN, LOST)
    await night.deliver()
    assert hook.got == []
    morning = program(hook.url, quiet, late + 8 * 3_600, screen=False)
    await morning.look(NAN, LOST)
    await morning.deliver()
    assert (len(hook.got), arrived(hook)) == (1, ["nan", "xid"])


# --- channels that cannot be used ----------------------------------------------------------------


async def test_a_missing_command_gets_the_due_alerts_once_it_exists(
    program: Any, tmp_path: Path
) -> None:
    heard, script = tmp_path / "heard", tmp_path / "tell"
    made = program(alerts=Alerts(command=(str(script),)))
    await made.look()
    await made.look(NAN)
    await made.deliver()
    assert made.found == [
        ("serious", f"{script} cannot be run: there is no such command here; not sent so far: 1")
    ]  # fmt: skip
    script.write_text(f"#!/bin/sh\ncat >> {heard}\n")
    await made.look(NAN)
    assert "it is not executable" in made.found[0][1]
    assert not heard.exists()
    script.chmod(0o700)
    await made.look(NAN)
    await made.deliver()
    assert (made.found, heard.read_text().count('"nan"')) == ([], 2)  # the message, and its item


@pytest.mark.parametrize(
    "body", ["#!/no/such/interpreter\n", "#!/usr/bin/env no-such-python-9\n", "\x7fELF nonsense"]
)
async def test_an_alert_stays_due_if_its_command_cannot_start(
    body: str, program: Any, tmp_path: Path
) -> None:
    script = tmp_path / "tell"
    script.write_text(body)
    script.chmod(0o700)
    made = program(alerts=Alerts(command=(str(script),)))
    await made.look()
    await made.look(NAN)
    await made.deliver()
    await made.look(NAN)
    assert made.ledger.waiting("command") == 1
    ((severity, words),) = made.found
    assert (severity, words.endswith("not sent so far: 1")) == ("serious", True)


@pytest.mark.parametrize("status", [401, 403, 404, 410, 302])
async def test_an_alert_that_a_wrong_url_refuses_stays_due_for_the_right_url(
    status: int, program: Any, hook: Receiver
) -> None:
    hook.answers.append(answer(status))
    revoked, right = program(hook.url), program(hook.url, screen=False)
    await revoked.look()
    await revoked.look(NAN)
    await revoked.deliver()
    await revoked.deliver()  # it does not try this channel for a while
    assert len(hook.got) == 1
    await revoked.look(NAN)
    ((severity, words),) = revoked.found
    assert severity == "serious"
    assert f"refused it with {status}" in words
    await right.look(NAN, seconds=4.0)
    assert right.found == revoked.found  # all programs report the refusal that one met
    await right.deliver()
    await revoked.look(NAN)
    assert (arrived(hook), revoked.found) == (["nan", "nan"], [])
    assert len({headers["idempotency-key"] for headers, _ in hook.got}) == 1
    revoked.clock.advance(HOLD)
    await revoked.deliver()
    assert len(hook.got) == 2


async def test_an_unreachable_receiver_is_a_finding_until_a_message_arrives(
    program: Any, hook: Receiver
) -> None:
    hook.answers += [answer(500)] * 2
    made = program(hook.url)
    await made.look()
    await made.look(NAN)
    for seconds in (0.0, FAILING):
        made.clock.advance(seconds)
        await made.desk._couriers[0].step()
    await made.look(NAN)
    assert made.found[0][1].startswith("the webhook at 127.0.0.1 answered 500")
    made.clock.advance(900.0)
    await made.deliver()
    await made.look(NAN)
    assert (made.found, arrived(hook)) == ([], ["nan"] * 3)


async def test_a_short_outage_of_the_receiver_is_no_finding(program: Any, hook: Receiver) -> None:
    hook.answers.append(answer(500))
    made = program(hook.url)
    await made.look()
    await made.look(NAN)
    await made.desk._couriers[0].step()
    await made.look(NAN)
    assert made.found == []


async def test_a_set_variable_or_an_unconfigured_channel_is_no_finding(
    program: Any, hook: Receiver
) -> None:
    for made in (program(hook.url), program(alerts=Alerts())):
        await made.look(NAN)
        assert made.found == []


async def test_a_missing_variable_is_serious_and_only_a_warning_while_cron_can_send(
    program: Any, hook: Receiver
) -> None:
    cockpit, cron = program(), program(hook.url, screen=False)
    await cockpit.look()
    ((severity, words),) = cockpit.found
    assert (severity, "$MY_HOOK, which alerts.webhook.url_env names, is not set" in words) == (
        "serious", True,
    )  # fmt: skip
    await cron.look(seconds=60.0)
    await cockpit.look(seconds=60.0)
    ((severity, words),) = cockpit.found
    assert (severity, "another gpu-tui of yours sends by it" in words) == ("warn", True)
    await cockpit.look(seconds=ELSEWHERE)
    assert cockpit.found[0][0] == "serious"


async def test_an_unusable_channel_is_reported_by_the_others_and_not_by_itself(
    program: Any, hook: Receiver, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    alerts = Alerts(
        command=("sh", "-c", f"cat >> {heard}"), webhook=HOOK.webhook, severity="serious"
    )
    cockpit = program(alerts=alerts)
    await cockpit.look()
    store = Store(Fleet("s", ()), {})
    store.apply(ChannelsSeen(T0, cockpit.channels[-1]))
    await cockpit.look_at(store.view(cockpit.clock.now()))
    await cockpit.deliver()
    assert '"kind": "alert_channel"' in heard.read_text()
    assert cockpit.ledger.waiting("webhook") == 0


async def test_the_outbox_of_a_channel_that_is_never_usable_is_bounded(
    program: Any, hook: Receiver
) -> None:
    cockpit = program()
    await cockpit.look()
    for block in range(4):
        found = [finding("nan", cell=f"{block}-{n}") for n in range(200)]
        await cockpit.look(*found)
    assert cockpit.ledger.waiting("webhook") == WAITING
    cron = program(hook.url, at=T0 + 60, screen=False)
    while cron.ledger.waiting("webhook"):
        await cron.desk._couriers[0].step()
    kinds = arrived(hook)
    assert (kinds.count("overflow"), kinds.count("nan")) == (1, WAITING - 1)


# --- the file, the clock ----------------------------------------------------------------------------


@pytest.mark.parametrize("back", [3_600.0, 400 * 86_400.0])
async def test_a_clock_that_is_set_back_delays_nothing(
    back: float, program: Any, hook: Receiver
) -> None:
    cockpit = program()
    await cockpit.look()
    await cockpit.look(NAN)
    hook.answers.append(answer(500))
    tried = program(hook.url, screen=False, at=T0 + 5)
    await tried.desk._couriers[0].step()
    cron = program(hook.url, at=T0 - back, screen=False)
    for _ in range(3):
        await cron.look(NAN, seconds=5.0)  # the wait after one failure
        await cron.deliver()
    assert arrived(hook) == ["nan", "nan"]


async def test_held_alerts_keep_their_wait_when_the_clock_is_set_back(
    program: Any, hook: Receiver
) -> None:
    made = program(hook.url)
    made.ledger.put("webhook", [{"kind": "nan"}], now=T0, due=T0 + 500)
    for at, sent in ((T0 - 9_000, 0), (T0 - 9_000 + 499, 0), (T0 - 9_000 + 501, 1)):
        made.clock.wall = at
        await made.deliver()
        assert len(hook.got) == sent


def test_news_is_recorded_and_queued_in_one_transaction(tmp_path: Path) -> None:
    """A program killed between the two would lose the alert."""
    ledger, seen = Ledger(tmp_path / "l"), view(findings=(NAN,))
    ready, members = frozenset({"a", ""}), frozenset({"a"})

    def killed(found: Sifted) -> Any:
        raise KeyboardInterrupt

    ledger.sift([Post("c")], "s", (), ready, members, now=T0, since=T0)
    with pytest.raises(KeyboardInterrupt):
        ledger.sift([Post("c", items=killed)], "s", news_of(seen), ready, members, now=T0, since=T0)
    other = Ledger(tmp_path / "l")
    found = other.sift([Post("c")], "s", news_of(seen), ready, members, now=T0, since=T0)
    assert [one.kind for one in found["c"].fresh] == ["nan"]


async def test_a_file_that_is_full_loses_no_alert_of_any_channel(
    program: Any, hook: Receiver
) -> None:
    made = program(hook.url)
    await made.look()
    made.ledger._db.execute("pragma max_page_count=1")  # "database or disk is full"
    many = [finding("nan", cell=str(n), evidence="x" * 300) for n in range(100)]
    for _ in range(2):
        await made.look(*many)
        await made.deliver()
    assert arrived(hook) == ["nan"] * 100
    assert made.ledger.trouble
    cron = program(hook.url, at=T0 + 60, screen=False)  # not in its file: sent twice, never lost
    await cron.look(*many)
    await cron.deliver()
    assert arrived(hook) == ["nan"] * 200


async def test_records_of_a_running_0_1_0_count(
    program: Any, hook: Receiver, tmp_path: Path
) -> None:
    cron = program(hook.url, screen=False)
    await cron.look()
    old = sqlite3.connect(tmp_path / "ledger", isolation_level=None)
    key = news_of(view(findings=(NAN,)))[0].key
    old.execute("insert or replace into looked values ('s', 'a', ?)", (T0,))
    old.execute("insert or replace into news values ('s', ?, 'a', ?, 0, null, null)", (key, T0))
    await cron.look(NAN, LOST)
    await cron.deliver()
    assert arrived(hook) == ["xid"]


async def test_a_cell_that_finished_reaches_each_channel_once(program: Any, hook: Receiver) -> None:
    cockpit, cron = program(), program(hook.url, screen=False, at=T0 + 30)
    running, left = cell("x", CellState.RUNNING), cell("y", CellState.RUNNING)
    for cells in ((running, left), (cell("x", finished_at=T0), left)):
        await cockpit.look_at(view(T0 + 2, cells=cells))
    for _ in range(2):
        await cron.look_at(view(T0 + 40, cells=(cell("x", finished_at=T0), left)))
        await cron.deliver()
    assert arrived(hook) == ["cell_finished"]


async def test_a_missing_program_is_known_before_anything_is_sent() -> None:
    for argv in (["no-such-program-9"], ["./no/such"], ["/"], ["/etc/passwd"]):
        with pytest.raises(Unusable):
            CommandChannel(argv, os.environ).ready()
    for argv in (["sh"], [sys.executable]):
        CommandChannel(argv, os.environ).ready()
