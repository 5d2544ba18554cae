"""How the services that people use want to be told: a table of shapes. Pure.

Sources: the "incoming webhook" pages of Slack, Discord, Feishu/Lark, DingTalk and WeCom, and ntfy's "publish" page.
Feishu, DingTalk and WeCom answer 200 also when they refuse: the code in the answer says so, and whether only
too many came at once (each of them takes some 20 to 100 messages a minute). Those of their robots that want a
signature take it with a time of the last hour: a message is signed when it is sent, not when it is made.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from gpu_tui.alerts.message import Message
from gpu_tui.core.plain import plain

DISCORD_MOST = 2_000  # characters of one message
NTFY_MOST = 4_000  # bytes; longer ones become an attachment
WECOM_MOST = 2_048  # bytes; longer ones are refused
CUT = "…"
BUSY = -1
WORDS = ("errmsg", "msg", "StatusMessage")  # of an answer: why it was refused
NTFY_PRIORITY = {"fatal": "5", "serious": "4"}
JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Receiver:
    """One service. `hosts` are the ends of its host names; `refusals` the keys of a code that is 0 when all is well.

    `passing` are the codes of a refusal after which a later attempt may succeed. `sign` makes of URL, body, secret
    and the time (epoch seconds) the URL and the body that are signed; None = the service knows no signature.
    """

    build: Callable[[Message], tuple[bytes, Mapping[str, str]]]
    hosts: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    passing: frozenset[int] = frozenset()
    sign: Callable[[str, bytes, str, float], tuple[str, bytes]] | None = None


def _json(value: object) -> tuple[bytes, Mapping[str, str]]:
    body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return body, {"Content-Type": JSON_TYPE}


def _slack(message: Message) -> tuple[bytes, Mapping[str, str]]:
    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _json({"text": text})


def _discord(message: Message) -> tuple[bytes, Mapping[str, str]]:
    # No text of a box may call a whole channel.
    text = message.text
    text = text if len(text) <= DISCORD_MOST else text[: DISCORD_MOST - 1] + CUT
    return _json({"content": text, "allowed_mentions": {"parse": []}})


def _feishu(message: Message) -> tuple[bytes, Mapping[str, str]]:
    text = message.text.replace("<", "＜")  # <at user_id="all"> would call everybody
    return _json({"msg_type": "text", "content": {"text": text}})


def _dingtalk(message: Message) -> tuple[bytes, Mapping[str, str]]:
    return _json({"msgtype": "text", "text": {"content": message.text}})


def _feishu_signed(url: str, body: bytes, secret: str, now: float) -> tuple[str, bytes]:
    """In the body. The text to sign is the key, and nothing is signed with it: so their page has it."""
    stamp = f"{now:.0f}"
    sign = base64.b64encode(hmac.digest(f"{stamp}\n{secret}".encode(), b"", "sha256")).decode()
    return url, _json({"timestamp": stamp, "sign": sign, **json.loads(body)})[0]


def _dingtalk_signed(url: str, body: bytes, secret: str, now: float) -> tuple[str, bytes]:
    """In the query, and in milliseconds."""
    stamp = f"{now * 1000:.0f}"
    mac = hmac.digest(secret.encode(), f"{stamp}\n{secret}".encode(), "sha256")
    more = urlencode({"timestamp": stamp, "sign": base64.b64encode(mac).decode()})
    parts = urlsplit(url)
    query = f"{parts.query}&{more}" if parts.query else more
    return parts._replace(query=query).geturl(), body


def _wecom(message: Message) -> tuple[bytes, Mapping[str, str]]:
    text = _cut(message.text, WECOM_MOST).decode()
    return _json({"msgtype": "text", "text": {"content": text}})


def _cut(text: str, most: int) -> bytes:
    """At most so many bytes, no character in two, and a mark where something is left out."""
    whole, mark = text.encode(), CUT.encode()
    if len(whole) <= most:
        return whole
    return whole[: most - len(mark)].decode("utf-8", "ignore").encode() + mark


def _ntfy(message: Message) -> tuple[bytes, Mapping[str, str]]:
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Title": "gpu-tui",
        "Priority": NTFY_PRIORITY.get(message.severity, "3"),
    }
    return _cut(message.text, NTFY_MOST), headers


RECEIVERS: Mapping[str, Receiver] = {
    "json": Receiver(lambda message: _json(message.json())),
    "slack": Receiver(_slack, ("hooks.slack.com",)),
    "discord": Receiver(_discord, ("discord.com", "discordapp.com")),
    "feishu": Receiver(
        _feishu,
        ("open.feishu.cn", "open.larksuite.com"),
        ("code", "StatusCode"),
        frozenset({11232}),
        _feishu_signed,
    ),
    "dingtalk": Receiver(
        _dingtalk,
        ("oapi.dingtalk.com",),
        ("errcode",),
        frozenset({BUSY, 130101}),
        _dingtalk_signed,
    ),
    "wecom": Receiver(_wecom, ("qyapi.weixin.qq.com",), ("errcode",), frozenset({BUSY, 45009})),
    "ntfy": Receiver(_ntfy, ("ntfy.sh",)),
}


UNSURE = "answered without"  # begins the error after which the message may still have arrived


def receiver_for(host: str, named: str | None) -> Receiver:
    """The receiver that the user named, else the one of that host, else plain JSON."""
    if named is not None:
        return RECEIVERS[named]
    host = host.lower().rstrip(".")
    for one in RECEIVERS.values():
        if any(host == known or host.endswith("." + known) for known in one.hosts):
            return one
    return RECEIVERS["json"]


def refused(receiver: Receiver, answer: bytes) -> tuple[str, bool] | None:
    """Why a 200 is no success, and whether a later attempt may be one; None where it is one.

    One that names no code is not from the service's own door: a login page of the network, a gateway. That
    is not tried again, for it may have arrived.
    """
    if not receiver.refusals:
        return None
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        said = None
    row = said if isinstance(said, dict) else {}
    codes = [(key, str(row[key])) for key in receiver.refusals if row.get(key) is not None]
    if not codes:
        return f"{UNSURE} {receiver.refusals[0]}: whether it arrived is not known", False
    for key, code in codes:
        if code != "0":
            words = next((row[name] for name in WORDS if isinstance(row.get(name), str)), "")
            why = f"{key} {plain(code, 20)}" + (f" ({plain(words, 120)})" if words else "")
            return f"refused it: {why}", code in map(str, receiver.passing)
    return None
