"""Accounts over real HTTP: whom is asked, how often, and what the fleet then says of each instance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
from local_api import Said
from runpod_cloud import ID, POD, RunPodCloud

from gpu_tui.collect.provider_watch import ProviderWatch, watch_account
from gpu_tui.core.account import Account
from gpu_tui.core.account_rules import provider_state
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import AccountRead, Event, LinkChanged
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, ProviderAccess, SshAccess
from gpu_tui.providers.base import Means
from gpu_tui.providers.registry import account_readers, provider_for
from gpu_tui.resources import load_profiles
from gpu_tui.state.contract import check_json, fleet_verdict
from gpu_tui.state.history import History, NoHistory
from gpu_tui.state.paid import COUNTER, remembered
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView

ENV = {"KEY": "test-key", "RUNPOD_API_KEY": "test-key", "VAST_API_KEY": "v"}


def box(name: str, id: str | None, url: str | None, host: str = "h", **more: object) -> Instance:
    access = ProviderAccess(id, key_env="KEY", base_url=url)
    return Instance(name, SshAccess(host), "runpod", provider=access, **more)  # type: ignore[arg-type]


@dataclass
class Bench:
    """A store that is fed by a real watch of a server."""

    server: RunPodCloud
    fleet: Fleet
    history: History = field(default_factory=NoHistory)
    clock: ManualClock = field(default_factory=lambda: ManualClock(1_795_300_000.0))
    heard: int = 0

    def __post_init__(self) -> None:
        self.store = Store(self.fleet, {}, self.history)
        self.readers = account_readers(self.fleet, Means(ENV, self.clock))

    async def read(self) -> FleetView:
        """One listing of every account."""
        for reader in self.readers:
            self.store.apply(AccountRead(self.clock.now(), await reader.read()))
        return self.store.view(self.clock.now())


@pytest.fixture
async def server() -> AsyncIterator[RunPodCloud]:
    async with RunPodCloud() as running:
        running.volumes = []
        running.account["clientBalance"] = 1000.0
        yield running


def fleet(*instances: Instance) -> Fleet:
    return Fleet("s", instances, "fleet.yaml")


def told(view: FleetView, kind: str) -> list[tuple[str, Severity, str]]:
    return [(f.instance, f.severity, f.evidence) for f in view.findings if f.kind == kind]


async def test_one_list_serves_all_instances(server: RunPodCloud) -> None:
    server.pods = {f"p{n}": {**POD, "id": f"p{n}"} for n in range(5)}
    bench = Bench(server, fleet(*(box(f"b{n}", f"p{n}", server.url) for n in range(5))))
    view = await bench.read()
    assert [one.provider.state for one in view.instances] == ["running"] * 5
    assert [one.cost.basis for one in view.instances] == ["api"] * 5
    assert server.lines("GET").count("GET /v2/pods") == 1
    assert view.unlisted == ()


async def test_a_box_that_nobody_named_is_the_loudest_finding(server: RunPodCloud) -> None:
    server.pods["stray"] = {**POD, "id": "stray", "name": "old-notebook\x1b[2J"}
    bench = Bench(server, fleet(box("b", ID, server.url)))
    view = await bench.read()
    ((name, severity, text),) = told(view, "unlisted_instance")
    assert view.findings[0].kind == "unlisted_instance"
    assert severity is Severity.FATAL
    assert text.startswith("you are paying for this one")
    assert "$0.44/h" in text
    assert text.isprintable()
    assert name.startswith("runpod:old-notebook")
    made = check_json(view)
    assert [one["about"] for one in made["findings"]] == [name]  # type: ignore[index, attr-defined]
    assert [one["id"] for one in made["unlisted"]] == ["stray"]  # type: ignore[index, attr-defined]
    assert fleet_verdict(view) == "escalate"


async def test_a_box_that_was_just_made_gets_a_moment(server: RunPodCloud) -> None:
    bench = Bench(server, fleet(box("b", ID, server.url)))
    await bench.read()
    server.pods["new"] = {**POD, "id": "new", "startedAt": None, "createdAt": None}
    bench.clock.advance(60)
    assert (await bench.read()).unlisted == ()
    bench.clock.advance(60)
    assert (await bench.read()).unlisted == ()
    bench.clock.advance(60)
    assert [one.id for one in (await bench.read()).unlisted] == ["new"]


async def test_an_id_that_is_missing_is_found_by_the_address(server: RunPodCloud) -> None:
    direct = replace(box("b", None, server.url), ssh=SshAccess("192.0.2.3", port=34446))
    view = await Bench(server, fleet(direct)).read()
    ((name, severity, text),) = told(view, "unlisted_instance")
    assert (name, severity) == ("b", Severity.WARN)
    assert f"provider.id: {ID}" in text
    assert view.unlisted == ()


async def test_an_alias_may_be_the_one_so_nobody_is_accused(server: RunPodCloud) -> None:
    view = await Bench(server, fleet(box("by-alias", None, server.url))).read()
    ((_, severity, text),) = told(view, "unlisted_instance")
    assert severity is Severity.SERIOUS
    assert f"if it is by-alias, write provider.id: {ID}" in text


async def test_what_the_provider_no_longer_has_says_so_also_to_the_next_run(
    server: RunPodCloud,
) -> None:
    history = NoHistory()
    first = Bench(server, fleet(box("b", ID, server.url)), history)
    await first.read()
    server.pods.clear()
    view = await Bench(server, first.fleet, history).read()
    assert view["b"].provider.state == "gone"
    assert view["b"].verdict == "off"
    ((_, severity, text),) = told(view, "unlisted_instance")
    assert severity is Severity.WARN
    assert "no longer has" in text


async def test_what_was_never_seen_is_a_wrong_id(server: RunPodCloud) -> None:
    view = await Bench(server, fleet(box("b", "typo", server.url))).read()
    assert view["b"].provider.state == "unknown"
    assert "check provider.id" in (view["b"].provider.error or "")
    assert [one.id for one in view.unlisted] == [ID]


async def test_trouble_keeps_what_was_known(server: RunPodCloud) -> None:
    server.pods["stray"] = {**POD, "id": "stray"}
    bench = Bench(server, fleet(box("b", ID, server.url)))
    await bench.read()
    server.next = [Said(503)]
    view = await bench.read()
    assert (view["b"].provider.state, bool(view["b"].provider.error)) == ("running", True)
    assert [one.id for one in view.unlisted] == ["stray"]
    bench.clock.advance(700)
    server.next = [Said(503)]
    texts = [text for _, _, text in told(await bench.read(), "unlisted_instance")]
    assert any("is not known for" in text for text in texts)


async def test_a_box_that_answers_although_it_is_off(server: RunPodCloud) -> None:
    bench = Bench(server, fleet(box("b", ID, server.url)))
    server.pods[ID]["status"] = "EXITED"
    bench.store.apply(LinkChanged("b", bench.clock.now(), LinkState("live")))
    texts = [text for _, _, text in told(await bench.read(), "unlisted_instance")]
    assert any("yet the box answers" in text for text in texts)


@pytest.mark.parametrize(
    ("balance", "spend", "severity"),
    [
        (1000.0, 1.0, None),
        (25.0, 1.0, None),
        (23.9, 1.0, Severity.SERIOUS),
        (3.9, 1.0, Severity.FATAL),
        (0.0, 0.0, Severity.FATAL),
        (-2.0, 1.0, Severity.FATAL),
        (4.0, 0.01, Severity.WARN),  # below the 5 that the account warns at
        (4.0, 0.0, Severity.WARN),
        (6.0, 0.0, None),
    ],
)
async def test_how_long_the_money_lasts(
    server: RunPodCloud, balance: float, spend: float, severity: Severity | None
) -> None:
    server.account |= {"clientBalance": balance, "currentSpendPerHr": spend}
    server.pods[ID]["cost"] = spend
    view = await Bench(server, fleet(box("b", ID, server.url))).read()
    found = told(view, "low_balance")
    assert [one[1] for one in found] == ([] if severity is None else [severity])
    (made,) = check_json(view)["balance"]  # type: ignore[misc, attr-defined]
    assert (made["amount"], made["currency"]) == (balance, "USD")


async def test_what_no_instance_uses_goes_on_billing(server: RunPodCloud) -> None:
    server.volumes = [{"id": "nv1", "name": "ckpt", "size": 200, "type": "STANDARD"}]
    view = await Bench(server, fleet(box("b", ID, server.url))).read()
    ((name, severity, text),) = told(view, "idle_billing")
    assert (name, severity) == ("runpod:ckpt", Severity.WARN)
    assert "200 GB" in text
    assert "$0.019/h" in text


async def test_a_stopped_box_burns_what_its_disk_costs(server: RunPodCloud) -> None:
    from gpu_tui.ui.text.header import burn

    server.pods[ID] |= {"status": "EXITED", "cost": 0.0}
    server.pods["stray"] = {**POD, "id": "stray", "cost": 1.0}
    bench = Bench(server, fleet(box("b", ID, server.url)))
    view = await bench.read()
    assert view["b"].cost.per_hour == pytest.approx(73 * 0.20 / 730)
    assert burn(view)[0].startswith("$1.02/h")
    server.pods[ID]["mounts"] = None
    view = await bench.read()
    assert view["b"].cost.per_hour is None
    assert "+1?" in burn(view)[0]


async def test_what_is_stopped_eats_the_balance_although_the_provider_says_nothing_is_spent(
    server: RunPodCloud,
) -> None:
    server.account |= {"clientBalance": 0.1, "currentSpendPerHr": 0.0}
    server.pods[ID] |= {"status": "EXITED", "cost": 0.0}
    view = await Bench(server, fleet(box("b", ID, server.url))).read()
    (account,) = view.accounts
    assert account.runway == pytest.approx(0.1 / (73 * 0.20 / 730) * 3600)
    ((_, severity, text),) = told(view, "low_balance")
    assert (severity, "5 h at $0.020/h" in text) == (Severity.SERIOUS, True)
    server.account["currentSpendPerHr"] = 0.05  # it counts more than we see
    assert (await Bench(server, fleet(box("b", ID, server.url))).read()).accounts[
        0
    ].runway == pytest.approx(2 * 3600)


async def test_a_volume_that_a_new_pod_mounts_is_in_use_at_once(server: RunPodCloud) -> None:
    server.volumes = [{"id": "nv1", "name": "ckpt", "size": 200, "type": "STANDARD"}]
    bench = Bench(server, fleet(box("b", ID, server.url)))
    assert told(await bench.read(), "idle_billing")
    mounts = {"network": [{"volumeId": "nv1", "path": "/workspace"}]}
    server.pods["new"] = {**POD, "id": "new", "mounts": mounts}
    bench.clock.advance(60)
    assert not told(await bench.read(), "idle_billing")


async def test_an_account_that_is_asked_no_more_is_not_shown(server: RunPodCloud) -> None:
    bench = Bench(server, fleet(box("b", ID, server.url)))
    (account,) = (await bench.read()).accounts
    bench.store.apply(AccountRead(bench.clock.now(), Account(account.key, "runpod")))
    assert bench.store.view(bench.clock.now()).accounts == ()


async def test_a_price_that_changes_is_paid_by_its_hours(server: RunPodCloud) -> None:
    bench = Bench(server, fleet(box("b", ID, server.url)))
    bench.clock.wall = 1_795_176_120.0 + 3600  # an hour after its start
    assert (await bench.read())["b"].cost.spent == pytest.approx(0.44)
    bench.clock.advance(3600)
    server.pods[ID]["cost"] = 1.00
    await bench.read()
    bench.clock.advance(7200)
    cost = bench.store.view(bench.clock.now())["b"].cost
    assert cost.spent == pytest.approx(2 * 0.44 + 2 * 1.00)
    assert "price changed" in cost.why["spent"]


@pytest.mark.parametrize("end", ["gone", "stopped"])
async def test_what_a_box_had_cost_stays_in_the_sum_after_its_end(
    server: RunPodCloud, end: str
) -> None:
    """Also for the next run; and never more than until it was last seen running."""
    from gpu_tui.ui.text.header import burn

    history = NoHistory()
    bench = Bench(server, fleet(box("b", ID, server.url)), history)
    bench.clock.wall = 1_795_176_120.0 + 3600  # an hour after its start
    assert (await bench.read())["b"].spent_exact
    bench.clock.advance(8 * 3600)  # nobody looked
    if end == "gone":
        server.pods.clear()
    else:
        server.pods[ID] |= {"status": "EXITED", "cost": 0.0, "mounts": None}
    view = await bench.read()
    assert view["b"].provider.state == end
    assert view["b"].cost.spent == pytest.approx(0.44)
    assert burn(view)[1] == "≥$0.44"
    again = await Bench(server, bench.fleet, history, bench.clock).read()
    assert again["b"].cost == view["b"].cost
    other = await Bench(server, fleet(box("b", "another", server.url)), history).read()
    assert other["b"].cost.spent is None


async def test_what_an_earlier_run_had_cost_is_no_part_of_the_next(server: RunPodCloud) -> None:
    history = NoHistory()
    bench = Bench(server, fleet(box("b", ID, server.url)), history)
    bench.clock.wall = 1_795_176_120.0 + 3600
    before = {**server.pods[ID]}
    for pod in (before, {**before, "status": "EXITED"}, before):
        server.pods[ID] = pod
        view = await bench.read()
    assert (view["b"].cost.spent, view["b"].spent_exact) == (pytest.approx(0.44), True)
    assert remembered(history, bench.fleet["b"]) is None


async def test_a_box_that_is_gone_is_not_named_by_the_clocks_of_its_account(
    server: RunPodCloud,
) -> None:
    """The boxes that are left name them, else the account: money still runs out, and volumes with it."""
    server.account |= {"clientBalance": 2.0, "currentSpendPerHr": 1.0}
    server.pods = {id: {**POD, "id": id} for id in ("p1", "p2")}
    bench = Bench(server, fleet(box("one", "p1", server.url), box("two", "p2", server.url)))
    bench.store = Store(bench.fleet, load_profiles())

    def named(view: FleetView) -> set[str]:
        return {c.instance for c in view.clocks if c.ticks and c.anchor == "balance"}

    assert named(await bench.read()) == {"one", "two"}
    del server.pods["p1"]
    view = await bench.read()
    assert named(view) == {"two"}
    assert not [clock for clock in view["one"].clocks if clock.ticks]
    del server.pods["p2"]
    assert named(await bench.read()) == {"runpod:account"}


@pytest.mark.parametrize("row", ["", "{", "[1]", '["x",1,2,3]', '["x",NaN,"USD",1.0]'])
def test_a_damaged_record_of_what_was_paid_is_none(row: str) -> None:
    history = NoHistory()
    history.set_counter("b", COUNTER, row, 0.0)
    assert remembered(history, box("b", "x", None)) is None


# --- whom is asked ----------------------------------------------------------------------------


def keys(instances: Fleet, env: dict[str, str], also: tuple[str, ...] = ()) -> list[str]:
    return [reader.key for reader in account_readers(instances, Means(env, ManualClock()), also)]


def test_an_account_is_one_key_at_one_address() -> None:
    own = replace(box("c", "z", None), provider=ProviderAccess("z"))
    both = fleet(box("a", "x", None), box("b", "y", None), own)
    assert keys(both, ENV) == ["runpod:KEY", "runpod:RUNPOD_API_KEY"]
    assert keys(both, {"KEY": "k"}) == ["runpod:KEY"]
    assert keys(both, {}) == []
    (first, _) = account_readers(both, Means(ENV, ManualClock()))
    assert first.serves == ("a", "b")


def test_other_platforms_are_asked_only_where_the_config_names_them() -> None:
    one = fleet(box("a", "x", None))
    assert keys(one, ENV) == ["runpod:KEY"]
    assert keys(one, ENV, ("vastai", "lambda", "runpod")) == ["runpod:KEY", "vastai:VAST_API_KEY"]


def test_a_rehearsal_asks_no_real_account() -> None:
    demo = fleet(box("a", "x", "http://127.0.0.1:9"), Instance("v", SshAccess("h"), "vastai"))
    assert keys(demo, ENV, ("vastai", "lambda")) == ["runpod:KEY@http://127.0.0.1:9"]


def test_hosts_without_a_fleet_file_are_no_list_to_compare_with() -> None:
    assert keys(Fleet(None, (box("a", "x", None),), None), ENV) == []


def test_an_instance_that_the_api_does_not_know_is_not_served() -> None:
    ordinary = Instance("a", SshAccess("h"), "autodl", provider=ProviderAccess("x"))
    pro = replace(ordinary, name="b", provider=ProviderAccess("y", "pro"))
    (reader,) = account_readers(fleet(ordinary, pro), Means({"AUTODL_TOKEN": "t"}, ManualClock()))
    assert reader.serves == ("b",)


# --- the watch --------------------------------------------------------------------------------


@dataclass
class Heard:
    """A sink that wakes its test."""

    events: list[Event] = field(default_factory=list)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.woken.set()

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.events) < count:
                self.woken.clear()
                await self.woken.wait()


async def test_the_watch_follows_an_edited_fleet(server: RunPodCloud) -> None:
    clock, heard = ManualClock(), Heard()
    means = Means(ENV, clock)
    async with asyncio.TaskGroup() as tasks:
        watch = ProviderWatch(
            tasks,
            lambda instance: provider_for(instance, {}, means),
            lambda fleet: account_readers(fleet, means),
            heard,
            clock,
        )
        one = fleet(box("a", ID, server.url))
        watch.follow(one)
        key = f"runpod:KEY@{server.url}"
        assert watch.accounts == {key}
        await heard.wait(1)
        assert server.lines("GET").count("GET /v2/pods") == 1
        assert f"GET /v2/pods/{ID}" not in server.lines("GET")  # nobody is asked twice
        watch.follow(one)
        watch.follow(fleet(*one.instances, box("b", "y", server.url)))
        await heard.wait(2)
        assert server.lines("GET").count("GET /v2/pods") == 2
        watch.follow(fleet())
        assert watch.accounts == frozenset()
        last = heard.events[-1].account  # type: ignore[union-attr]
        assert (last.key, last.listed, last.complete) == (key, (), False)
        watch.close()


async def test_the_watch_leaves_an_api_alone_for_as_long_as_it_asks() -> None:
    pauses: list[float] = []
    asked = asyncio.Event()

    @dataclass
    class Slow:
        """An account whose API has had enough, then one that is well."""

        key: str = "runpod:KEY"
        serves: tuple[str, ...] = ()
        left: int = 1

        async def read(self) -> Account:
            self.left -= 1
            return Account(self.key, "runpod", wait=77.0 if self.left >= 0 else None)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            asked.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(watch_account(Slow(), Heard(), ManualClock(), 60.0, sleep))
    async with asyncio.timeout(60):
        await asked.wait()
    task.cancel()
    assert pauses == [77.0, 60.0]


def test_a_list_that_was_not_read_to_its_end_says_nothing_of_what_is_missing() -> None:
    instance = box("b", ID, None)
    account = Account("k", "runpod", "KEY", ("b",), complete=False)
    for known in (True, False):
        state = provider_state(account, instance, known=known)
        assert state is not None
        assert (state.state, bool(state.error)) == ("unknown", True)
    assert provider_state(replace(account, serves=()), instance, known=True) is None
    whole = provider_state(replace(account, complete=True), instance, known=True)
    assert whole is not None
    assert whole.state == "gone"
