"""What must hold for every platform: the same promises, over real HTTP, for each of them."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator

import pytest
from local_api import Said
from platforms import SEATS, Desk, already_off

from gpu_tui import web
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, ProviderAccess, SshAccess
from gpu_tui.core.gate import GateShut
from gpu_tui.core.profile import Verb
from gpu_tui.parse.config_file import ACCOUNTS, ConfigError, parse_config
from gpu_tui.providers import api
from gpu_tui.providers.base import AnswerKind, Means, ProviderError
from gpu_tui.providers.fields import number
from gpu_tui.providers.platform import Platform
from gpu_tui.providers.registry import PLATFORMS
from gpu_tui.resources import load_profiles


@pytest.fixture(params=sorted(SEATS))
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    seat = SEATS[request.param]
    async with seat.server() as server:
        yield Desk(seat, server)


async def test_what_runs_is_read_and_no_secret_is_kept(desk: Desk) -> None:
    state = await desk.rented().read(desk.seat.id)
    account = await desk.ledger().read()
    assert (state.state, state.error) == ("running", None)
    assert [one.id for one in account.listed] == [desk.seat.id]
    assert account.complete
    assert account.listed[0].seen(state.read_at) == state
    assert "canary" not in repr(state) + repr(account)


async def test_a_destroy_is_one_call_and_gone_is_what_the_next_read_says(desk: Desk) -> None:
    desk.seat.ready(desk.server)
    rented = desk.rented()
    await rented.read(desk.seat.id)
    answer = await rented.stop(desk.permit())
    assert answer.kind is AnswerKind.ACCEPTED
    assert desk.calls == [desk.seat.call]
    assert (await rented.read(desk.seat.id)).state == "gone"


async def test_not_found_at_first_is_a_wrong_id_and_no_end(desk: Desk) -> None:
    other = desk.seat.id[:-1] + ("0" if desk.seat.id[-1] != "0" else "1")
    state = await desk.rented().read(other)
    assert state.state == "unknown"
    assert "ever seen" in (state.error or "")


NOTHING = {"error": {"code": "global/object-does-not-exist"}}  # as every platform would say it


async def test_a_server_that_finds_nothing_at_all_proves_no_end(desk: Desk) -> None:
    rented = desk.rented()
    await rented.read(desk.seat.id)
    desk.server.next = [Said(404, NOTHING)] * 2
    assert (await rented.read(desk.seat.id)).state == "unknown"


async def test_what_is_still_listed_is_not_gone(desk: Desk) -> None:
    rented = desk.rented()
    await rented.read(desk.seat.id)
    desk.server.next = [Said(404, NOTHING)]
    assert (await rented.read(desk.seat.id)).state in ("running", "unknown")


async def test_a_permit_for_another_instance_sends_nothing(desk: Desk) -> None:
    platform = desk.seat.platform(desk.means, desk.access())
    with pytest.raises(GateShut):
        await platform.call(desk.permit(), f"{desk.seat.id}0")
    assert desk.server.requests == []


async def test_a_key_that_the_api_repeats_is_not_told_on(desk: Desk) -> None:
    desk.server.next = [Said(400, {"message": f"bad key {desk.key}"})]
    answer = await desk.rented().stop(desk.permit())
    assert "bad key ***" in answer.text


def test_a_number_of_any_length_is_a_number_or_none() -> None:
    row = {"x": json.loads("9" * 4000), "y": math.nan, "z": -math.inf}
    assert [number(row, name, signed=True) for name in row] == [None, None, None]


async def test_a_call_without_an_answer_is_unknown_and_never_repeated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "_off_then", already_off)
    desk.server.next = [Said(0)]
    answer = await desk.rented().stop(desk.permit())
    assert answer.kind is AnswerKind.UNKNOWN
    assert desk.calls == [desk.seat.call]


MEANINGS = {
    **dict.fromkeys((400, 401, 403, 409, 410, 429), AnswerKind.REFUSED),
    # Who stands before an API (a proxy, a CDN) says these, and not whether the API had it.
    **dict.fromkeys((302, 404, 408, 460, 499, 500, *range(502, 505)), AnswerKind.UNKNOWN),
    **dict.fromkeys(range(520, 527), AnswerKind.UNKNOWN),
}


async def test_what_no_success_means(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Platform, "_off_then", already_off)
    for status, kind in MEANINGS.items():
        desk.server.next = [Said(status, {"message": "no\x1b[2J"})]
        answer = await desk.rented().stop(desk.permit())
        assert answer.kind is kind, status
        assert answer.text.isprintable()
    assert desk.calls == [desk.seat.call] * len(MEANINGS)


async def test_a_success_of_another_shape_is_no_success(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "_off_then", already_off)
    desk.server.next = [Said(200, "fine")]
    answer = await desk.rented().stop(desk.permit())
    assert answer.kind is AnswerKind.UNKNOWN


async def test_a_key_that_is_not_taken(desk: Desk) -> None:
    desk.key = "another"
    for status in (401, 403):
        desk.server.next = [Said(status, {})]
        account = await desk.ledger().read()
        assert "KEY" in (account.error or "")
        assert "another" not in repr(account)
        assert not account.complete


async def test_a_real_refusal_of_the_key(desk: Desk) -> None:
    desk.key = "another"
    state = await desk.rented().read(desk.seat.id)
    assert state.state == "unknown"
    assert state.error
    assert "another" not in state.error


async def test_a_redirect_does_not_get_the_key(desk: Desk) -> None:
    async with desk.seat.server() as elsewhere:
        desk.server.next = [Said(302, None, {"Location": f"{elsewhere.url}/x"})]
        assert (await desk.ledger().read()).error
        assert elsewhere.requests == []


async def test_too_many_is_asked_again_after_the_time_it_names(desk: Desk) -> None:
    desk.server.next = [
        Said(429, {}, {"Retry-After": "3"}),
        Said(429, {}, {"RateLimit-Reset": "5"}),
    ]
    state = await desk.rented().read(desk.seat.id)
    assert state.state == "running"
    assert [pause for pause in desk.pauses if pause >= 3] == [3.0, 5.0]


async def test_too_many_for_ever_backs_off_further_each_time(desk: Desk) -> None:
    ledger = desk.ledger()
    waits = []
    for _ in range(6):
        desk.server.next = [Said(429, {})] * 3
        account = await ledger.read()
        assert "slow down" in (account.error or "")
        waits.append(account.wait)
    assert waits == [60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    desk.server.next = [Said(429, {}, {"Retry-After": "77"})]
    assert (await ledger.read()).wait == 77.0
    assert (await ledger.read()).error is None
    desk.server.next = [Said(429, {})] * 3
    assert (await ledger.read()).wait == 60.0


BAD = (
    [],
    {},
    None,
    "x",
    7,
    {"data": None},
    {"data": 3},
    {"pods": {}},
    {"instances": 3},
    {"items": "x"},
)


async def test_a_list_of_another_shape_is_no_list(desk: Desk) -> None:
    for body in BAD:
        desk.server.next = [Said(200, body)]
        account = await desk.ledger().read()
        assert account.error, body
        assert account.error.isprintable()
        assert (account.complete, account.listed) == (False, ())


async def test_an_id_that_is_none_reaches_no_url(desk: Desk) -> None:
    for id in ("../x", "a/b", "", "a b", "x" * 65, "é", "a\r\nX: y"):
        assert (await desk.rented().read(id)).state == "unknown", id
    assert desk.server.requests == []


async def test_a_permit_is_redeemed_before_a_byte_is_sent(desk: Desk) -> None:
    desk.seat.ready(desk.server)
    rented, used = desk.rented(), desk.permit()
    await rented.stop(used)
    late = desk.permit()
    desk.clock.advance(2_000.0)
    for permit in (used, late):
        with pytest.raises(GateShut):
            await rented.stop(permit)
    assert len(desk.calls) == 1


async def test_another_verb_than_the_platforms_own_sends_nothing(desk: Desk) -> None:
    answer = await desk.rented().stop(desk.permit("power-cycle"))
    assert answer.kind is AnswerKind.REFUSED
    assert desk.server.requests == []


def test_the_times_that_are_agreed() -> None:
    assert (web.CONNECT_LIMIT, api.TOTAL_LIMIT) == (5.0, 30.0)


@pytest.mark.parametrize("id", sorted(PLATFORMS))
def test_the_base_url_may_be_overridden_but_never_in_clear(id: str) -> None:
    platform, name = PLATFORMS[id], f"GPU_TUI_{id.upper()}_BASE_URL"
    assert platform(Means({}, ManualClock())).api.base == platform.base_url
    local = platform(Means({name: "http://127.0.0.1:9/"}, ManualClock()))
    assert local.api.base == "http://127.0.0.1:9"
    with pytest.raises(ProviderError, match="in clear"):
        platform(Means({name: "http://example.org"}, ManualClock()))
    for url in ("https://[::1", "https://host:99999"):
        with pytest.raises(ProviderError, match="not a web address"):
            platform(Means({name: url}, ManualClock()))


@pytest.mark.parametrize("id", sorted(PLATFORMS))
def test_the_code_says_what_the_profile_says(id: str) -> None:
    platform, profile = PLATFORMS[id], load_profiles()[id]
    status = profile.facts["status"]
    assert isinstance(status, dict)
    assert status["key_env"] == platform.key_env
    assert str(status["base_url"]).startswith(platform.base_url)
    by_http = {verb.verb for verb in profile.teardown if verb.via == "http"}
    assert set(platform.calls) <= by_http
    destroys = {verb.verb for verb in profile.teardown if verb.effect == "destroy"}
    parks = {verb.verb for verb in profile.teardown if verb.park}
    assert {verb for verb, call in platform.calls.items() if call.keeps} == parks & by_http
    api = platform(Means({}, ManualClock()))
    for verb in platform.calls:
        assert api.offers(Verb(verb, verb, (), "stops", True, "http")) == (verb in parks)
    assert set(platform.calls) & destroys, "no call ends the bill"


def test_the_accounts_that_a_config_may_name_are_those_that_can_be_listed() -> None:
    assert sorted(ACCOUNTS) == sorted(PLATFORMS)
    assert parse_config("accounts: [vastai, lambda]", "config.yaml").accounts == (
        "vastai",
        "lambda",
    )
    with pytest.raises(ConfigError, match="nobody can list"):
        parse_config("accounts: [featurize]", "config.yaml")


async def test_a_key_that_is_none_is_not_sent(desk: Desk) -> None:
    for key, why in (
        ("", "set $KEY"),
        ("   ", "set $KEY"),
        ("a\nb", "$KEY holds"),
        ("é", "$KEY holds"),
    ):
        desk.key = key
        assert why in ((await desk.rented().read(desk.seat.id)).error or "")
        assert (await desk.rented().stop(desk.permit())).kind is AnswerKind.REFUSED
    assert desk.server.requests == []


def test_an_ordinary_autodl_instance_has_no_api() -> None:
    instance = Instance("box", SshAccess("h"), "autodl", provider=ProviderAccess("x"))
    assert "pro" in (PLATFORMS["autodl"].refuses(instance) or "")
