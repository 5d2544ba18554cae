"""Which control plane an instance has, and which accounts are asked: the tables from platform to code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TypeVar, cast

from gpu_tui.core.fleet import Fleet, Instance, ProviderAccess
from gpu_tui.core.profile import Profile
from gpu_tui.providers.api import is_local
from gpu_tui.providers.base import AccountReader, Means, Provider, ProviderError
from gpu_tui.providers.ledger import Ledger
from gpu_tui.providers.manual import Manual
from gpu_tui.providers.platform import Platform

T = TypeVar("T")
Maker = Callable[[Instance, Means], Provider]


class Table(Mapping[str, T]):
    """Platform -> class, given as `module.Class`. A module is imported when its platform is looked up."""

    def __init__(self, **places: str) -> None:
        self._places = places

    def __getitem__(self, id: str) -> T:
        module, name = self._places[id].split(".")
        return cast(T, getattr(import_module(f"gpu_tui.providers.{module}"), name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


# Platforms with an HTTPS API that lists a whole account.
PLATFORMS: Table[type[Platform]] = Table(
    autodl="autodl.AutoDL",
    paperspace="paperspace.Paperspace",
    runpod="runpod.RunPod",
    vastai="vastai.Vast",
    **{"lambda": "lambda_cloud.Lambda"},
)
SCHEDULERS: Table[Maker] = Table(kubernetes="kubernetes.Kubernetes", slurm="slurm.Slurm")
# Where the box or its scheduler is spoken to: no provider.id is needed.
BY_BOX: Table[Maker] = Table(
    autodl="autodl_box.AutoDLBox", featurize="featurize.Featurize", matpool="matpool.Matpool"
)


def provider_for(instance: Instance, profiles: Mapping[str, Profile], means: Means) -> Provider:
    """The provider of one instance; the console where there is no API or no id for it."""
    profile = profiles.get(instance.platform)
    make = BY_BOX.get(instance.platform)
    if instance.platform == "autodl" and PLATFORMS["autodl"].refuses(instance) is None:
        make = None  # a Pro instance has an API, and that one can be read back
    if make is None:
        make = _api(instance.platform)
        if make is None:
            return Manual(instance, profile, means.clock)
        if instance.provider.id is None:
            why = "no provider.id in the fleet file: the API is not asked"
            return Manual(instance, profile, means.clock, why)
    try:
        return make(instance, means)
    except ProviderError as error:
        return Manual(instance, profile, means.clock, str(error))


def _api(platform: str) -> Maker | None:
    if platform in PLATFORMS:
        from gpu_tui.providers.rented import Rented

        return partial(Rented, PLATFORMS[platform])
    return SCHEDULERS.get(platform)


def account_readers(
    fleet: Fleet, means: Means, also: Iterable[str] = ()
) -> tuple[AccountReader, ...]:
    """One reader per account of the fleet: one platform, one key, one address.

    An account is asked where its key is set. `also` names platforms that the fleet file has no instance
    of; their default key is used. Hosts that no fleet file describes are no list to compare with, and
    a fleet with a provider on loopback is a rehearsal: no real account is asked for it.
    """
    if fleet.source is None:
        return ()
    rehearsal = any(is_local(one.provider.base_url) for one in fleet.instances)
    made: dict[str, tuple[Platform, list[Instance]]] = {}
    wanted: list[tuple[str, Instance | None]] = [(one.platform, one) for one in fleet.instances]
    wanted += [(id, None) for id in also if id not in {one.platform for one in fleet.instances}]
    for id, instance in wanted:
        kind = PLATFORMS.get(id)
        if kind is None:
            continue
        try:
            platform = kind(means, instance.provider if instance else ProviderAccess())
        except ProviderError:
            continue  # the instance itself says why
        if rehearsal and not is_local(platform.api.base):
            continue
        if not means.env.get(platform.api.key_env, "").strip():
            continue
        other = "" if platform.api.base == kind.base_url else f"@{platform.api.base}"
        key = f"{id}:{platform.api.key_env}{other}"
        _, served = made.setdefault(key, (platform, []))
        if instance is not None and kind.refuses(instance) is None:
            served.append(instance)
    return tuple(
        Ledger(
            platform,
            key,
            tuple(one.name for one in served),
            means,
            [one.provider.id for one in served if one.provider.id],
        )
        for key, (platform, served) in made.items()
    )
