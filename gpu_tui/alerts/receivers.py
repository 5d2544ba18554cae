"""How the services that people use want to be told: a table of shapes. Pure.

Sources: the "incoming webhook" pages of Slack, Discord, Feishu/Lark, DingTalk and WeCom, and ntfy's "publish" page.
Feishu, DingTalk and WeCom answer 200 also when they refuse: the code in the answer says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_tui.alerts.message import Message

DISCORD_MOST = 2_000  # characters of one message
NTFY_MOST = 4_000  # bytes; longer ones become an attachment
NTFY_PRIORITY = {"fatal": "5", "serious": "4"}
JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Receiver:
    """One service. `hosts` are the ends of its host names; `refusals` the keys of a code that is 0 when all is well."""

    build: Callable[[Message], tuple[bytes, Mapping[str, str]]]
    hosts: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


def _json(value: object) -> tuple[bytes, Mapping[str, str]]:
    body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return body, {"Content-Type": JSON_TYPE}


def _slack(message: Message) -> tuple[bytes, Mapping[str, str]]:
    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _json({"text": text})


def _discord(message: Message) -> tuple[bytes, Mapping[str, str]]:
    # No text of a box may call a whole channel.
    return _json({"content": message.text[:DISCORD_MOST], "allowed_mentions": {"parse": []}})


def _feishu(message: Message) -> tuple[bytes, Mapping[str, str]]:
    text = message.text.replace("<", "＜")  # <at user_id="all"> would call everybody
    return _json({"msg_type": "text", "content": {"text": text}})


def _msgtype(message: Message) -> tuple[bytes, Mapping[str, str]]:
    return _json({"msgtype": "text", "text": {"content": message.text}})


def _ntfy(message: Message) -> tuple[bytes, Mapping[str, str]]:
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Title": "gpu-tui",
        "Priority": NTFY_PRIORITY.get(message.severity, "3"),
    }
    return message.text.encode()[:NTFY_MOST], headers


RECEIVERS: Mapping[str, Receiver] = {
    "json": Receiver(lambda message: _json(message.json())),
    "slack": Receiver(_slack, ("hooks.slack.com",)),
    "discord": Receiver(_discord, ("discord.com", "discordapp.com")),
    "feishu": Receiver(_feishu, ("open.feishu.cn", "open.larksuite.com"), ("code", "StatusCode")),
    "dingtalk": Receiver(_msgtype, ("oapi.dingtalk.com",), ("errcode",)),
    "wecom": Receiver(_msgtype, ("qyapi.weixin.qq.com",), ("errcode",)),
    "ntfy": Receiver(_ntfy, ("ntfy.sh",)),
}


def receiver_for(host: str, named: str | None) -> Receiver:
    """The receiver that the user named, else the one of that host, else plain JSON."""
    if named is not None:
        return RECEIVERS[named]
    host = host.lower().rstrip(".")
    for one in RECEIVERS.values():
        if any(host == known or host.endswith("." + known) for known in one.hosts):
            return one
    return RECEIVERS["json"]


def refused(receiver: Receiver, answer: bytes) -> str | None:
    """Why a 200 is no success, or None where it is one."""
    if not receiver.refusals:
        return None
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    for key in receiver.refusals:
        code = said.get(key, 0)
        if isinstance(code, int) and code != 0:
            return f"{key} {code}"
    return None
