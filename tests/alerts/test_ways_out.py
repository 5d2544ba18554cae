"""The command and the webhook against real ones: that fail, hang, refuse and talk back."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import sys
import traceback
from pathlib import Path

import pytest
from newsroom import T0, finding, view
from receiver import answer, hang, receiver, reset

from gpu_tui.alerts.channel import Undelivered
from gpu_tui.alerts.command import CommandChannel
from gpu_tui.alerts.message import Message, compose, first_look, item_of
from gpu_tui.alerts.receivers import RECEIVERS, receiver_for, refused
from gpu_tui.alerts.webhook import TOTAL_LIMIT, WebhookChannel, WebhookRefused
from gpu_tui.core.findings import Severity
from gpu_tui.parse.config_file import RECEIVER_NAMES
from gpu_tui.state.news import News, news_of


def news(kind: str = "nan", severity: Severity = Severity.FATAL, **more: object) -> News:
    fields = {
        "text": "loss is nan",
        "remedy": "lower lr",
        "cell": "no_aug",
        "instance": "a",
        **more,
    }
    return News(key=kind, kind=kind, severity=severity, at=T0, **fields)  # type: ignore[arg-type]


def message(*told: News, held: bool = False) -> Message:
    return compose("id-1", [item_of(one, "s") for one in told or (news(),)], at=T0, held=held)


LOST = ": whether it arrived is not known"


# --- what is said -------------------------------------------------------------------------------


def test_one_alert_is_its_own_title() -> None:
    made = message()
    assert made.text == "gpu-tui s: FATAL a · no_aug: nan: loss is nan\n→ lower lr"
    assert (made.kind, made.severity) == ("nan", "fatal")


def test_many_alerts_are_one_message_worst_first_merged_and_capped() -> None:
    told = [news("cell_finished", Severity.NONE, cell=f"c{n}") for n in range(7)]
    told += [news("nan", cell="x", count=2), news("nan", cell="x", count=5)]
    made = message(*told)
    assert made.title == "gpu-tui s: 8 alerts"
    assert made.lines == (
        "FATAL a · x: nan (×5): loss is nan",
        "a: 7 cells finished by their logs: c0, c1, c2, c3, c4 and 2 more",
    )
    flood = message(*(news(cell=f"c{n}") for n in range(40)), held=True)
    assert flood.title == "gpu-tui s: 40 alerts from the quiet hours"
    assert flood.lines[-1] == "and 28 more: gpu-tui check"
    assert len(flood.items) == 40


def test_two_mounts_two_clocks_and_two_sweeps_are_not_one_thing() -> None:
    full = [
        news("disk_full", cell=None, part=path, text=f"{path} is full") for path in ("/a", "/b")
    ]
    stages = [
        news_of(view(findings=(finding("clock", part=part, evidence=part),)))[0]
        for part in ("wipe@50%", "wipe@10%", "rental@1h")
    ]
    made = message(*full, *stages)
    assert made.lines == (
        "FATAL a: disk full: /a is full",
        "FATAL a: disk full: /b is full",
        "FATAL a: clock: wipe@10%",  # the later word about one clock stands for both
        "FATAL a: clock: rental@1h",
    )
    both = compose("i", [item_of(news(), sweep) for sweep in ("one", "two")], at=T0, held=False)
    assert both.title == "gpu-tui one, two: 2 alerts"


def test_nothing_of_a_box_steers_a_terminal_or_leaks_a_secret() -> None:
    evil = (
        "\x1b]52;c;x\x07\n\u202e api_key=abcd1234efgh5678 hf_abcdefghijklmnopqrstuv " + "x" * 10_000
    )
    made = compose(
        "i", [item_of(news(text=evil, instance="a\x1b[2J"), "s", ["x" * 60])], at=T0, held=False
    )
    words = json.dumps(made.json(), ensure_ascii=False)
    assert made.title.isprintable()
    assert "hf_abc" not in words
    assert "abcd1234" not in words
    assert len(made.title) < 500


def test_the_first_look_is_one_item_and_only_where_something_is_bad() -> None:
    told = [news(), news("stalled", Severity.SERIOUS), news("cell_finished", Severity.NONE)]
    item = first_look(told, "s", T0)
    assert item is not None
    assert "1 fatal and 1 serious" in str(item["text"])
    assert "ended before it: 1" in str(item["text"])
    assert compose("i", [item], at=T0, held=False).title.startswith(
        "gpu-tui s: 1 fatal and 1 serious"
    )
    assert first_look(told[2:], "s", T0) is None


# --- a command ----------------------------------------------------------------------------------


async def test_a_command_gets_the_message_by_stdin_and_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = (
        "import json,os,sys; e={k:v for k,v in os.environ.items() if k.startswith('GPU_TUI_')};"
        f"json.dump([json.load(sys.stdin), e, sys.argv[1]], open({str(out)!r}, 'w'))"
    )
    await CommandChannel([sys.executable, "-c", program, "$HOME; rm -rf x"], os.environ).send(
        message()
    )
    body, env, argument = json.loads(out.read_text())
    assert body == message().json()
    assert env["GPU_TUI_EVENT"] == "nan"
    assert env["GPU_TUI_EVENT_ID"] == "id-1"
    assert env["GPU_TUI_EVENT_SEVERITY"] == "fatal"
    assert env["GPU_TUI_EVENT_CELL"] == "no_aug"
    assert argument == "$HOME; rm -rf x"  # no shell has seen it


async def test_a_command_that_reads_nothing_and_says_no_end_of_things() -> None:
    big = message(*(news(cell=f"c{n}", text="x" * 300) for n in range(900)))
    await CommandChannel(["sh", "-c", "yes | head -c 3000000"], os.environ).send(big)


@pytest.mark.parametrize(
    ("argv", "words", "retry"),
    [
        (
            ["sh", "-c", "echo 'no \033[2Jroute'; exit 3"],
            "sh failed (exit 3): no \ufffd[2Jroute",
            True,
        ),
        (["sh", "-c", "kill -9 $$"], "sh failed (signal 9)", True),
        (["/no/such/program"], "/no/such/program cannot be run: No such file or directory", False),
    ],
)
async def test_a_command_that_fails_is_told(argv: list[str], words: str, retry: bool) -> None:
    with pytest.raises(Undelivered) as caught:
        await CommandChannel(argv, os.environ).send(message())
    assert (str(caught.value), caught.value.retry) == (words, retry)


async def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {mark}.new; mv {mark}.new {mark}; trap '' TERM; wait"
    with pytest.raises(Undelivered, match=r"did not end in 2 s"):
        await CommandChannel(["sh", "-c", script], os.environ, limit=2.0).send(message())
    assert _ended(int(mark.read_text()))


@pytest.mark.parametrize("code", [0, 3])
async def test_a_command_is_judged_by_its_own_end_not_by_what_it_left_running(
    tmp_path: Path, code: int
) -> None:
    mark = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {mark}; echo heard; exit {code}"
    sending = CommandChannel(["sh", "-c", script], os.environ, limit=2.0).send(message())
    if code == 0:
        await sending
    else:
        with pytest.raises(Undelivered, match=r"sh failed \(exit 3\): heard"):
            await sending
    assert _ended(int(mark.read_text()))


def _ended(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)


# --- a webhook ----------------------------------------------------------------------------------


async def test_a_webhook_gets_one_post_with_an_id() -> None:
    with receiver() as made:
        await WebhookChannel(made.url, now=lambda: T0).send(message())
        ((headers, body),) = made.got
    assert headers["idempotency-key"] == "id-1"
    assert headers["content-type"].startswith("application/json")
    assert json.loads(body) == message().json()


async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", "socks5h://127.0.0.1:1080")
    with pytest.raises(Undelivered, match=r"cannot be reached \(the proxy that") as caught:
        await WebhookChannel("https://hooks.invalid/x", now=lambda: T0).send(message())
    assert caught.value.retry


@pytest.mark.parametrize(
    ("given", "words", "retry", "after"),
    [
        (answer(500), "answered 500", True, None),
        (answer(503, Retry_After="7"), "answered 503", True, 7.0),
        (answer(429, Retry_After="999999"), "answered 429", True, 3_600.0),
        (answer(429, Retry_After="nan"), "answered 429", True, None),
        (answer(404), "refused it with 404", False, None),
        (answer(302, Location="http://127.0.0.1:9/"), "redirects are not followed", False, None),
        (reset, "cannot be reached", True, None),
    ],
)
async def test_a_webhook_that_fails_says_whether_to_try_again(
    given: object, words: str, retry: bool, after: float | None
) -> None:
    with receiver() as made:
        made.answers.append(given)  # type: ignore[arg-type]
        with pytest.raises(Undelivered, match=words) as caught:
            await WebhookChannel(made.url, now=lambda: T0).send(message())
    assert (caught.value.retry, caught.value.after) == (retry, after)
    assert "secret-part" not in "".join(traceback.format_exception(caught.value))


async def test_a_webhook_that_hangs_or_is_not_there() -> None:
    with receiver() as made:
        made.answers.append(hang(made))
        with pytest.raises(Undelivered, match=r"did not answer in 0\.3 s"):
            await WebhookChannel(made.url, limit=0.3, now=lambda: T0).send(message())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(Undelivered, match="cannot be reached") as caught:
            await WebhookChannel(
                f"http://127.0.0.1:{free.getsockname()[1]}/s", now=lambda: T0
            ).send(message())
    assert caught.value.retry


async def test_a_receiver_that_talks_for_ever_after_its_200_is_not_waited_for() -> None:
    with receiver() as made:

        def endless(handler) -> None:  # type: ignore[no-untyped-def]
            handler.send_response(200)
            handler.end_headers()
            while not made.stop.wait(0.01):
                handler.wfile.write(b"x" * 1_000)

        made.answers.append(endless)
        async with asyncio.timeout(TOTAL_LIMIT - 1):
            await WebhookChannel(made.url, now=lambda: T0).send(message())


@pytest.mark.parametrize(
    "url", ["http://example.com/x", "ftp://a/b", "https://", "https://a b/c", "https://[::1", "x"]
)
def test_a_url_that_would_tell_everybody_is_refused(url: str) -> None:
    with pytest.raises(WebhookRefused, match="URL") as caught:
        WebhookChannel(url, now=lambda: T0)
    assert "https://HOST/PATH" in caught.value.next


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("hooks.slack.com", "slack"),
        ("discord.com", "discord"),
        ("open.feishu.cn", "feishu"),
        ("oapi.dingtalk.com", "dingtalk"),
        ("qyapi.weixin.qq.com", "wecom"),
        ("ntfy.sh", "ntfy"),
        ("evil-ntfy.sh", "json"),
        ("example.com", "json"),
    ],
)
def test_the_receiver_is_known_by_its_host(host: str, name: str) -> None:
    assert receiver_for(host, None) is RECEIVERS[name]
    assert receiver_for(host, "slack") is RECEIVERS["slack"]
    assert tuple(RECEIVERS) == RECEIVER_NAMES


def test_every_receiver_shows_the_text_where_it_looks_for_it() -> None:
    told = message(news(text="<!channel> <at user_id='all'> @everyone"))

    def body(name: str) -> dict[str, object]:
        made: dict[str, object] = json.loads(RECEIVERS[name].build(told)[0])
        return made

    assert str(body("slack")["text"]).startswith("gpu-tui s: FATAL a")
    assert "<!channel>" not in str(body("slack")["text"])
    assert body("discord")["allowed_mentions"] == {"parse": []}
    assert body("feishu")["msg_type"] == "text"
    assert "<at" not in body("feishu")["content"]["text"]  # type: ignore[index]
    for name in ("dingtalk", "wecom"):
        assert body(name)["msgtype"] == "text"
        assert body(name)["text"]["content"] == told.text  # type: ignore[index]
    plain, headers = RECEIVERS["ntfy"].build(told)
    assert (plain.decode(), headers["Priority"]) == (told.text, "5")


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("wecom", 2_043, 2_048), ("ntfy", 3_995, 4_000), ("discord", 6_000 - 600, 6_000)],
)
def test_a_long_text_is_cut_between_two_characters_and_says_so(
    name: str, least: int, most: int
) -> None:
    told = message(*(news(cell=f"c{n}", text="显存不足" * 60) for n in range(12)))
    assert len(told.text.encode()) > most
    body = RECEIVERS[name].build(told)[0]
    made = {"content": body.decode()} if name == "ntfy" else json.loads(body)
    text = (made.get("text") or made)["content"]
    assert text.endswith("…")
    assert told.text.startswith(text[:-1])
    assert least < len(text.encode()) <= most
    assert len(text) <= 2_000
    assert "…" not in RECEIVERS[name].build(message())[0].decode()


async def test_a_receiver_to_which_too_many_came_gets_it_later() -> None:
    with receiver() as made:
        made.answers.append(answer(200, b'{"errcode":45009,"errmsg":"api freq out of limit"}'))
        with pytest.raises(Undelivered, match="errcode 45009") as caught:
            await WebhookChannel(made.url, "wecom", now=lambda: T0).send(message())
    assert caught.value.retry


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        (
            "feishu",
            b'{"code":19001,"msg":"param\\ninvalid"}',
            ("refused it: code 19001 (param\ufffdinvalid)", False),
        ),
        ("feishu", b'{"code":11232}', ("refused it: code 11232", True)),
        ("dingtalk", b'{"errcode":"130101"}', ("refused it: errcode 130101", True)),
        ("wecom", b'{"errcode":45009,"errmsg":4}', ("refused it: errcode 45009", True)),
        (
            "wecom",
            b'{"errcode":-1,"errmsg":"system error"}',
            ("refused it: errcode -1 (system error)", True),
        ),
        ("feishu", b'{"StatusCode":0,"StatusMessage":"success","code":0}', None),
        ("feishu", b'{"StatusCode":0}', None),
        ("dingtalk", b'{"errcode":"0"}', None),
        (
            "dingtalk",
            b'{"errcode":310000,"errmsg":"keywords not in content"}',
            ("refused it: errcode 310000 (keywords not in content)", False),
        ),
        ("wecom", b'{"errcode":0,"errmsg":"ok"}', None),
        ("wecom", b"<html>please log in</html>", (f"answered without errcode{LOST}", False)),
        ("wecom", b"[" * 100_000, (f"answered without errcode{LOST}", False)),
        ("feishu", b'{"ok":true}', (f"answered without code{LOST}", False)),
        ("dingtalk", b"", (f"answered without errcode{LOST}", False)),
        ("slack", b"no_text", None),
    ],
)
def test_a_refusal_in_a_200_is_seen(name: str, said: bytes, why: tuple[str, bool] | None) -> None:
    assert refused(RECEIVERS[name], said) == why


async def test_a_refusal_in_a_200_is_not_delivered() -> None:
    with receiver() as made:
        made.answers.append(answer(200, b'{"code":9499,"msg":"none: secret-part of hook"}'))
        with pytest.raises(Undelivered, match=r"code 9499 \(none: \*\*\* of hook\)$") as caught:
            await WebhookChannel(made.url, "feishu", now=lambda: T0).send(message())
    assert not caught.value.retry


def test_the_finding_of_a_view_becomes_its_item() -> None:
    (one,) = news_of(view(findings=(finding("xid", cell="c"),)))
    item = item_of(one, "s")
    assert (item["kind"], item["cell"], item["severity"]) == ("xid", "c", "fatal")
