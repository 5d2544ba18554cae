"""What an API may answer instead of what was agreed: nothing crashes, nothing is guessed, nobody else is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from autodl_server import ROW as AUTODL_ROW
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lambda_server import ROW as LAMBDA_ROW
from paperspace_server import ROW as PAPERSPACE_ROW
from platforms import SEATS, Desk, already_off
from runpod_server import POD
from vast_server import ROW as VAST_ROW

from gpu_tui.core import gate as rules
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, ProviderAccess, SshAccess
from gpu_tui.core.gate import StopPermit
from gpu_tui.providers.api import Api, Reply
from gpu_tui.providers.base import AnswerKind, BadAnswer, Means
from gpu_tui.providers.featurize import FeaturizeApi
from gpu_tui.providers.fields import MOST_ROWS
from gpu_tui.providers.platform import Platform
from gpu_tui.providers.rented import Rented

KEY = "canary-key-0123456789"
ROWS: dict[str, dict[str, Any]] = {
    "runpod": POD,
    "vastai": VAST_ROW,
    "lambda": LAMBDA_ROW,
    "paperspace": PAPERSPACE_ROW,
    "autodl": AUTODL_ROW,
}

RAW: tuple[tuple[int, bytes], ...] = (
    *((200, body) for body in (
        b"", b" ", b"\x00", b"\xff\xfe{}", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"null", b"true",
        b"7", b"-0", b"1e400", b"NaN", b"Infinity", b'"x"', b'"\\ud800"', b"[]", b"[[]]", b"{}", b"{",
        b'{"', b'{"data":', b"}", b"[1,2", b"'x'", b"{'id': 1}", b'{"id": 1,}', b"// x\n{}", b"<html>",
        b"<?xml version='1.0'?>", b"OK", b"undefined", b"\x1b[2J\x1b]52;c;eA==\x07", b"[" * 5_000,
        b'{"a":' * 5_000, b"9" * 5_000, b'{"id": "' + b"x" * 70_000 + b'"}', b'{"id": null}',
        b'{"data": null}', b'{"data": []}', b'{"data": {}}', b'{"data": {"list": null}}', b'{"pods": null}',
        b'{"pods": {}}', b'{"pods": [null]}', b'{"pods": [[]]}', b'{"instances": {}}', b'{"instances": []}',
        b'{"instances": [7]}', b'{"items": {}}', b'{"items": [], "hasMore": "no"}', b'{"items": [null]}',
        b'{"success": "true"}', b'{"success": 1}', b'{"success": null}', b'{"code": null}', b'{"code": 0}',
        b'{"code": "success"}', b'{"code": {"Success": true}}', b'{"status": "0"}', b'{"status": false}',
        b'{"error": "x"}', b'{"error": {"code": null}}', b'{"id": 1, "id": 2}', b'{"__proto__": {}}',
    )),
    *((status, b'{"detail": "no"}') for status in (
        201, 202, 203, 206, 226, 300, 301, 302, 304, 307, 308, 400, 401, 402, 403, 405, 406, 408, 409, 410,
        413, 418, 421, 422, 423, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 520, 599,
    )),
    *((status, b"\xff<html>\x1b[31m") for status in (201, 204, 400, 403, 404, 409, 422, 500, 503)),
    (404, b""), (404, b"null"), (404, b'{"error": []}'), (200, json.dumps({"key": KEY}).encode()),
)  # fmt: skip
OTHER_VALUES: tuple[object, ...] = (
    None, [], {}, "", "x", "another-1", -1, 0, 1.5, True, float("nan"), 10**40, ["a"], {"a": 1}, "\x1b[2J",
)  # fmt: skip


@dataclass
class Wire:
    """Answers every request with the same thing, and remembers what was asked."""

    status: int
    body: bytes
    asked: list[tuple[str, str, object]] = field(default_factory=list)

    async def send(
        self,
        api: Api,
        env: Mapping[str, str],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        still: Callable[[], None],
    ) -> Reply:
        still()
        self.asked.append((method, path, body))
        return Reply(self.status, self.body.replace(KEY.encode(), b"***"))

    @property
    def destructive(self) -> list[tuple[str, str, object]]:
        """What would have changed something."""
        asking = ("/graphql", "/pro/list", "/wallet/balance")
        return [one for one in self.asked if one[0] != "GET" and not one[1].endswith(asking)]


@pytest.fixture(params=sorted(SEATS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _on(wire: Wire, patch: pytest.MonkeyPatch) -> None:
    async def send(self: Api, env: Mapping[str, str], method: str, path: str, **more: Any) -> Reply:
        return await wire.send(self, env, method, path, **more)

    patch.setattr(Api, "send", send)


def _rented(name: str) -> tuple[Rented, StopPermit]:
    seat = SEATS[name]
    clock = ManualClock()

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    access = ProviderAccess(seat.id, seat.variant, "KEY")
    instance = Instance("box", SshAccess("h"), seat.platform.id, provider=access)
    rented = Rented(seat.platform, instance, Means({"KEY": KEY}, clock, sleep=sleep))
    permit = StopPermit("box", seat.id, seat.destroy, "destroy", "e", 1e9, token=rules._MINT)
    return rented, permit


async def _tried(name: str, wire: Wire) -> None:
    """Read it, unseen and seen, and try to end it: the promises of every adapter."""
    rented, permit = _rented(name)
    where = (name, wire.status, wire.body[:80])
    for _ in range(2):
        state = await rented.read(SEATS[name].id)
        assert state.state in ("unknown", "running", "stopped"), where  # never gone
        assert (state.state == "unknown") is (state.error is not None), where
        assert state.error is None or state.error.isprintable(), where
        assert KEY not in repr(state), where
        rented.remember(SEATS[name].id)
    assert wire.destructive == [], where
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Platform, "_off_then", already_off)
        answer = await rented.stop(permit)
    assert answer.text.isprintable(), where
    assert KEY not in repr(answer), where
    assert len(wire.destructive) == 1, where  # once, whatever was answered
    _, path, body = wire.destructive[0]
    assert SEATS[name].id in path + json.dumps(body), where  # and about nobody else
    call = SEATS[name].platform.calls[SEATS[name].destroy]
    if answer.kind is AnswerKind.ACCEPTED:
        assert wire.status in call.accepted, where
    if wire.status >= 500 or wire.status == 404:
        assert answer.kind is AnswerKind.UNKNOWN, where


@pytest.mark.parametrize("name", ["autodl", "paperspace"])
async def test_nothing_is_destroyed_that_no_answer_says_is_off(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, body in RAW:
        wire = Wire(status, body)
        _on(wire, monkeypatch)
        rented, permit = _rented(name)
        answer = await rented.stop(permit)
        assert answer.kind is AnswerKind.REFUSED, (status, body)
        paths = [path + json.dumps(sent) for _, path, sent in wire.destructive]
        assert all("stop" in path or "power_off" in path for path in paths), (status, body)


def test_there_are_enough_of_them() -> None:
    assert len(set(RAW)) == len(RAW) >= 110


async def test_no_body_crashes_an_adapter_or_ends_anything_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, body in RAW:
        wire = Wire(status, body)
        _on(wire, monkeypatch)
        await _tried(name, wire)


def _shapes(name: str) -> Iterator[object]:
    """The true answer with one field of its row in another shape, in every wrapping a platform has."""
    row = ROWS[name]
    for key in row:
        for value in OTHER_VALUES:
            broken = {**row, key: value}
            yield from (broken, {"instances": broken}, {"data": broken})
            yield {"code": "Success", "data": {"list": [broken], "max_page": 1}}


async def test_a_row_with_any_field_broken_is_another_row_or_unknown(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = SEATS[name]
    id_field = "uuid" if name == "autodl" else "id"
    for shape in _shapes(name):
        wire = Wire(200, json.dumps(shape).encode())
        _on(wire, monkeypatch)
        rented, _ = _rented(name)
        rented.remember(seat.id)
        state = await rented.read(seat.id)
        assert state.state in ("unknown", "running", "stopped", "gone"), shape
        text = json.dumps(shape)
        if f'"{id_field}": {json.dumps(ROWS[name][id_field])}' not in text:
            assert state.state in ("unknown", "gone"), shape  # never another one's state
        if state.state == "gone":
            # A whole list without it, or a machine that says when it was deleted.
            assert name in ("autodl", "paperspace"), shape
        assert wire.destructive == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["id", "RUNNING", "running", "Success", "active", "ready", "4242"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "uuid", "data", "list", "instances", "pods", "items", "status", "state",
                         "code", "success", "max_page", "hasMore", "next_token", "error"]), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@given(status=st.sampled_from([200, 200, 200, 204, 404, 409, 500]), body=JSON)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("seat", sorted(SEATS))
async def test_random_json_crashes_nothing(seat: str, status: int, body: object) -> None:
    wire = Wire(status, json.dumps(body).encode())
    with pytest.MonkeyPatch.context() as patch:
        _on(wire, patch)
        rented, permit = _rented(seat)
        state = await rented.read(SEATS[seat].id)
        assert state.state != "gone"
        patch.setattr(Platform, "_off_then", already_off)
        await rented.stop(permit)
    assert len(wire.destructive) == 1


async def test_featurizes_one_call_takes_every_body_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, body in RAW:
        wire = Wire(status, body)
        _on(wire, monkeypatch)
        api = FeaturizeApi(Means({"FEATURIZE_API_TOKEN": KEY}, ManualClock()))
        permit = StopPermit("box", "vm-1", "实例归还", "destroy", "e", 1e9, token=rules._MINT)
        answer = await api.call(permit, "vm-1")
        assert answer.kind is not AnswerKind.ACCEPTED, (status, body)
        assert KEY not in repr(answer)
        assert wire.asked == [("POST", "/bus/api/v1/virtual_machine/vm-1/release", {})]


async def test_a_body_that_repeats_the_key_does_so_for_nobody(name: str) -> None:
    """Over real HTTP: what leaves the one caller of the APIs has no key in it."""
    seat = SEATS[name]
    async with seat.server() as server:
        desk = Desk(seat, server, key=KEY)
        server.key = "another"  # each of them complains, and a mean one repeats what it was told
        reply = server.reply

        def mean(request: Any) -> Any:
            said = reply(request)
            sent = request.headers.get("authorization", "").encode()
            return type(said)(400, b'{"detail": "' + sent + b'", "msg": "' + sent + b'"}')

        server.reply = mean
        state = await desk.rented().read(seat.id)
        answer = await desk.rented().stop(desk.permit())
        account = await desk.ledger().read()
        assert state.error
        assert KEY not in repr((state, answer, account))
        assert "***" in answer.text


def _page(name: str, rows: list[dict[str, Any]]) -> object:
    """A page of the platform's list that, where it has pages, is not the last one."""
    last = str(rows[-1]["id"])
    return {
        "runpod": {"pods": rows},
        "lambda": {"data": rows},
        "vastai": {"instances": rows, "next_token": last},
        "paperspace": {"items": rows, "hasMore": True, "nextPage": last},
        "autodl": {"code": "Success", "data": {"list": rows, "max_page": 90, "result_total": 9}},
    }[name]


@pytest.mark.parametrize("size", [MOST_ROWS + 1, MOST_ROWS // 2 + 1])
async def test_a_list_without_an_end_is_refused_before_it_is_long(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousands of instances that nobody named held up the screen for seconds."""
    asked: list[str] = []

    async def send(self: Api, env: Mapping[str, str], method: str, path: str, **more: Any) -> Reply:
        asked.append(path)
        first = len(asked) * size
        rows = [{**ROWS[name], "id": str(n), "uuid": str(n)} for n in range(first, first + size)]
        return Reply(200, json.dumps(_page(name, rows)).encode())

    async def at_once(seconds: float) -> None:
        """Waits for nothing."""

    monkeypatch.setattr(Api, "send", send)
    means = Means({"KEY": KEY}, ManualClock(), sleep=at_once)
    platform = SEATS[name].platform(means, ProviderAccess(key_env="KEY"))
    paged = name not in ("runpod", "lambda")
    if size <= MOST_ROWS and not paged:
        assert len(await platform.listing()) == size
        return
    with pytest.raises(BadAnswer, match=f"more than {MOST_ROWS} rows"):
        await platform.listing()
    assert len(asked) == (2 if paged and size <= MOST_ROWS else 1)
