"""A verb that ends only what stands beside an instance never claims that its meter stops."""

from __future__ import annotations

from gpu_tui.resources import load_profiles


def test_no_verb_that_leaves_the_instance_claims_that_its_meter_stops() -> None:
    found = set()
    for profile in load_profiles().values():
        for verb in profile.teardown:
            own = [tier for tier in profile.storage if tier.survives_destroy is False]
            left = [tier for tier in own if verb.concerns(tier) and tier.id not in verb.deletes]
            if verb.effect == "destroy" and own and len(left) == len(own):
                found.add((profile.id, verb.verb))
                assert verb.meter != "stops", (profile.id, verb.verb)
    assert ("runpod", "delete-network-volume") in found
