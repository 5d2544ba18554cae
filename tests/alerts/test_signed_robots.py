"""Robots that want a signature: the secret by the name of its variable, told to nobody, and the time of the sending."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from newsroom import T0
from receiver import Receiver, answer, receiver

from gpu_tui.alerts.channel import Undelivered
from gpu_tui.alerts.message import Message, compose, trial
from gpu_tui.alerts.ways import ways_out, webhook_of
from gpu_tui.alerts.webhook import WebhookChannel, WebhookRefused
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.redact import HIDDEN, redact
from gpu_tui.parse.config_file import ConfigError, parse_config
from gpu_tui.wiring.secret import secrets_held

SECRET = "this is secret"
AT = 1_599_360_473.0
# What `openssl dgst -sha256 -hmac` makes of the services' own examples of a time and a secret.
FEISHU = "/eYKrXQBzTjUZJ3s6NX16VxGbTwmK7AEs8/FnvC1CSw="
DINGTALK = "hXZTWifRGHclNuZSKxoXc//sh51SWfVfRIhcdeKs63I="


def message() -> Message:
    return compose("id-1", [trial(T0)], at=T0, held=False)


def channel(
    made: Receiver, name: str, secret: str | None = SECRET, at: float = AT
) -> WebhookChannel:
    return WebhookChannel(made.url, name, now=lambda: at, secret=secret)


async def test_feishu_finds_the_time_and_the_signature_in_the_body() -> None:
    with receiver() as made:
        made.answers.append(answer(200, b'{"code":0}'))
        await channel(made, "feishu").send(message())
        ((_, body),) = made.got
    said = json.loads(body)
    assert (said["timestamp"], said["sign"]) == ("1599360473", FEISHU)
    assert said["content"]["text"] == message().text


async def test_dingtalk_finds_them_in_the_query_beside_its_token() -> None:
    with receiver() as made:
        made.url += "?access_token=abc"
        made.answers.append(answer(200, b'{"errcode":0}'))
        await channel(made, "dingtalk").send(message())
    query = parse_qs(urlsplit(made.paths[0]).query)
    assert query == {"access_token": ["abc"], "timestamp": ["1599360473000"], "sign": [DINGTALK]}
    assert json.loads(made.got[0][1])["text"]["content"] == message().text


async def test_what_is_sent_again_is_signed_anew() -> None:
    """A message waits for up to a day, a signature is good for an hour."""
    times = iter((AT, AT + 7_200))
    with receiver() as made:
        made.answers += [answer(503), answer(200, b'{"code":0}')]
        way = WebhookChannel(made.url, "feishu", now=lambda: next(times), secret=SECRET)
        with pytest.raises(Undelivered):
            await way.send(message())
        await way.send(message())
    assert [json.loads(body)["timestamp"] for _, body in made.got] == ["1599360473", "1599367673"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("feishu", b'{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}'),
        ("dingtalk", b'{"errcode":310000,"errmsg":"sign not match, timestamp this is secret"}'),
    ],
)
async def test_a_refused_signature_is_told_without_what_it_was_made_of(
    name: str, said: bytes
) -> None:
    with receiver() as made:
        made.answers += [answer(200, said), answer(200, said)]
        with pytest.raises(Undelivered, match=r"sign .*timestamp") as caught:
            await channel(made, name).send(message())
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert "secret_env" not in str(caught.value)
        with pytest.raises(Undelivered, match=r"alerts\.webhook\.secret_env"):
            await channel(made, name, secret=None).send(message())


def test_the_secret_comes_from_the_environment_and_from_nowhere_else() -> None:
    alerts = parse_config(
        "alerts: {webhook: {url_env: HOOK, receiver: feishu, secret_env: HOOK_SECRET}}\n", "c"
    ).alerts
    env = {"HOOK": "https://open.feishu.cn/open-apis/bot/v2/hook/x"}
    with pytest.raises(WebhookRefused, match=r"\$HOOK_SECRET, which alerts.webhook.secret_env"):
        webhook_of(alerts, env, lambda: AT)
    assert len(ways_out(alerts, {**env, "HOOK_SECRET": f"{SECRET}\n"}, lambda: AT)) == 1


def test_a_receiver_that_knows_no_signature_is_refused_one() -> None:
    with pytest.raises(WebhookRefused, match="takes no signature"):
        WebhookChannel("https://hooks.slack.com/x", now=lambda: AT, secret=SECRET)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"secret_env: SEC{'0a' * 32}", "secret_env. is not the name"),
        ("secret_env: this is it", "secret_env. is not the name"),
        ("secret: SEC0a0a0a0a", "unknown key .secret. in .webhook."),
    ],
)
def test_a_secret_in_the_place_of_a_name_is_refused_and_not_quoted(row: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        parse_config(f"alerts: {{webhook: {{url_env: HOOK, {row}}}}}\n", "c")
    assert "0a0a" not in f"{caught.value}{caught.value.next}"
    assert "this is it" not in f"{caught.value}{caught.value.next}"


def test_no_recording_and_no_report_shows_the_webhook_or_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("alerts: {webhook: {url_env: HOOK, secret_env: HOOK_SECRET}}\n")
    monkeypatch.setenv("GPU_TUI_CONFIG", str(config))
    monkeypatch.setenv("HOOK", "https://open.feishu.cn/open-apis/bot/v2/hook/0f3c-77aa")
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    log = f"POST /open-apis/bot/v2/hook/0f3c-77aa signed {SECRET}"
    assert (
        redact(log, secrets_held(Fleet()))
        == f"POST /open-apis/bot/v2/hook/{HIDDEN} signed {HIDDEN}"
    )
