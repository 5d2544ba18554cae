"""What hangs on an instance: from the account where it can be read, from the profile where it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gpu_tui.core.account import Stored
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, Money, ProviderAccess, SshAccess
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.providers.base import Means, NoAnswer, Provider
from gpu_tui.providers.manual import Manual
from gpu_tui.providers.registry import provider_for
from gpu_tui.providers.rented import Rented
from gpu_tui.resources import load_profiles
from gpu_tui.teardown.beside import second_resources

PROFILES = load_profiles()


@dataclass
class Account:
    """Stands for the platform behind a Rented: only its two lists are asked."""

    rows: tuple[Stored, ...] = ()
    error: str | None = None
    asked: list[str] = field(default_factory=list)

    async def listing(self) -> tuple[()]:
        self.asked.append("listing")
        return ()

    async def stored(self) -> tuple[Stored, ...]:
        self.asked.append("stored")
        if self.error:
            raise NoAnswer(self.error)
        return self.rows


def _rented(platform: str, account: Account) -> Provider:
    instance = Instance("box", SshAccess("h"), platform, provider=ProviderAccess("4242"))
    provider = provider_for(instance, PROFILES, Means({}, ManualClock()))
    assert isinstance(provider, Rented)
    provider._platform = account  # type: ignore[assignment]
    return provider


def _verb(profile: Profile, key: str) -> Verb:
    return next(row for row in profile.teardown if row.key == key)


async def _found(platform: str, key: str, account: Account) -> list[tuple[str, str, str]]:
    profile = PROFILES[platform]
    verb = _verb(profile, key)
    rows = await second_resources(
        _rented(platform, account), "4242", verb, profile.tiers_under(verb, None)
    )
    return [(row.kind, row.id, row.fate) for row in rows]


@pytest.mark.parametrize(
    ("platform", "key", "row", "found"),
    [
        ("runpod", "terminate:http", ("network volume", ("4242",)), "bills-on"),
        ("runpod", "terminate:http", ("network volume", ("other",)), None),
        ("runpod", "stop:http", ("network volume", ("4242", "x")), "bills-on"),
        ("lambda", "terminate:http", ("file system", ("4242",)), "bills-on"),
        ("lambda", "terminate:http", ("file system", None), "bills-on"),
        ("vastai", "destroy:http", ("volume", ("4242",)), "bills-on"),
        ("paperspace", "destroy:http", ("snapshot", ("4242",)), "dies"),
        ("paperspace", "destroy:http", ("static address", ("4242",)), "bills-on"),
        ("paperspace", "destroy:http", ("static address", ()), None),
        ("paperspace", "destroy:http", ("shared drive", None), "bills-on"),
        ("paperspace", "shut-down:http", ("static address", ("4242",)), None),  # a park
    ],
)
async def test_what_the_account_lists_of_this_instance(
    platform: str, key: str, row: tuple[str, tuple[str, ...] | None], found: str | None
) -> None:
    kind, users = row
    stored = Stored(platform, kind, "r-1", price=Money(0.01, "USD"), users=users)
    rows = await _found(platform, key, Account((stored,)))
    assert rows == ([(kind, "r-1", found)] if found else [])


@pytest.mark.parametrize(
    ("platform", "key", "tiers"),
    [
        ("runpod", "terminate:http", ["network-volume"]),
        ("lambda", "terminate:http", ["nfs"]),
        ("vastai", "destroy:http", ["volume"]),
        ("vastai", "stop:http", ["container", "volume"]),  # its own disk bills for ever
    ],
)
async def test_an_account_that_cannot_be_read_leaves_the_profiles_rows_unknown(
    platform: str, key: str, tiers: list[str]
) -> None:
    rows = await _found(platform, key, Account(error="no answer within 30 s"))
    assert rows == [("storage", tier, "unknown") for tier in tiers]


@pytest.mark.parametrize(
    ("platform", "key", "rows"),
    [
        ("gpushare", "释放:console", {"hy-netdisk", "hy-nas", "personal-oss"}),
        ("lanrui", "停止:console", {"datadisk"}),
        ("lanrui", "销毁数据盘:console", set()),
        ("kubernetes", "delete-pvc:console", {"pvc"}),
        ("kubernetes", "delete:cli", {"pvc"}),
        ("autodl", "释放:console", set()),
        ("slurm", "scancel:ssh", set()),
    ],
)
async def test_where_nothing_lists_them_the_profile_does(
    platform: str, key: str, rows: set[str]
) -> None:
    profile = PROFILES[platform]
    verb = _verb(profile, key)
    manual = Manual(Instance("box", SshAccess("h"), platform), profile, ManualClock())
    found = await second_resources(manual, None, verb, profile.tiers_under(verb, None))
    assert {row.id for row in found} == rows
    fates = {row.id: row.fate for row in found}
    assert all(fates[id] == ("dies" if id in verb.deletes else "bills-on") for id in rows)


async def test_of_many_each_is_for_itself() -> None:
    many = tuple(Stored("runpod", "network volume", f"v{i}", users=("4242",)) for i in range(99))
    profile = PROFILES["runpod"]
    verb = _verb(profile, "terminate:http")
    rows = await second_resources(_rented("runpod", Account(many)), "4242", verb, profile.storage)
    assert len({row.key for row in rows}) == 99
