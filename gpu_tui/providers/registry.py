"""Which control plane an instance has: the one table from platform to provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.profile import Profile
from gpu_tui.providers.autodl import AutoDL
from gpu_tui.providers.base import AccountReader, Means, Provider, ProviderError
from gpu_tui.providers.manual import Manual
from gpu_tui.providers.runpod import RunPod

APIS: dict[str, Callable[[Instance, Means], Provider]] = {
    "autodl": AutoDL,
    "runpod": RunPod,
}


def provider_for(instance: Instance, profiles: Mapping[str, Profile], means: Means) -> Provider:
    """The provider of one instance; the console where there is no API or no id for it."""
    profile = profiles.get(instance.platform)
    make = APIS.get(instance.platform)
    if make is None:
        return Manual(instance, profile, means.clock)
    if instance.provider.id is None:
        return Manual(
            instance, profile, means.clock, "no provider.id in the fleet file: the API is not asked"
        )
    try:
        return make(instance, means)
    except ProviderError as error:
        return Manual(instance, profile, means.clock, str(error))


def account_readers(fleet: Fleet, means: Means) -> tuple[AccountReader, ...]:
    """One reader per account that the fleet's instances belong to and whose key is set."""
    return ()
