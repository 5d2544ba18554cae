"""The table of what `redact` must hide, and of what it must leave alone."""

from __future__ import annotations

import random
import string

import pytest

from gpu_tui.core.redact import HIDDEN, redact

R = random.Random(7)


def made(size: int, signs: str = string.ascii_letters + string.digits) -> str:
    """A value with letters and digits in it, as services make them."""
    return "a7" + "".join(R.choice(signs) for _ in range(size - 4)) + "Z9"


HEX = "".join(R.choice("0123456789abcdef") for _ in range(64))
LOWER = string.ascii_lowercase + string.digits

# A text with `{}` in the place of the secret, and the secret.
HIDE = [
    # by the prefix of a service
    ("replicate token {} set", "r8_" + made(37)),
    ("https://adb-1.azuredatabricks.net {}", "dapi" + HEX[:32]),
    ("login with {}", "hf_" + made(34)),
    ("Incorrect API key provided: {}.", "sk-proj-" + made(48)),
    ("anthropic: {}", "sk-ant-api03-" + made(40)),
    ("slack {}", "xoxb-123456789012-" + made(24)),
    ("remote: {} is not valid", "glpat-" + made(20)),
    ("aws {}", "AKIA" + made(16).upper()),
    ("aws sts {}", "ASIA" + made(16).upper()),
    ("clone with {}", "ghp_" + made(36)),
    ("clone with {}", "ghs_" + made(36)),
    ("clone with {}", "github_pat_" + made(22) + "_" + made(59)),
    ("//registry.npmjs.org/:{}", "npm_" + made(36)),
    ("maps {}", "AIza" + made(35)),
    ("ngc {}", "nvapi-" + made(64)),
    ("wandb {}", "wandb_v1_" + made(60)),
    ("wandb: server key {}", "local-" + HEX[:40]),
    ("run_{}.yaml", "hf_" + made(34)),
    ("mailgun {}", "key-" + HEX[:32]),
    ("groq {}", "gsk_" + made(52)),
    ("sendgrid {}", "SG." + made(22) + "." + made(43)),
    ("stripe {}", "sk_live_" + made(24)),
    ("droplet {}", "dop_v1_" + HEX),
    ("vault {}", "hvs." + made(28)),
    ("langsmith {}", "lsv2_pt_" + HEX[:32] + "_" + HEX[:10]),
    ("modal {}", "ak-" + made(22)),
    ("runpod {}", "rpa_" + made(40)),
    ("pinecone {}", "pcsk_" + made(60)),
    ("hook https://open.feishu.cn/open-apis/bot/v2/hook/{}", "0f1e2d3c-1a2b-3c4d-5e6f-7a8b9c0d1e2f"),
    ("hook https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={}", "0f1e2d3c-1a2b-3c4d-5e6f-7a8b9c0d1e2f"),
    # by its name, in Chinese
    ("密码：{}", "hunter2x"),
    ("登录密码: {} 请妥善保管", "Abc123456"),
    ("密钥：{}，请保存", "q9WmZ2xx81"),
    ("口令={}", "letmein99"),
    ("您的密码是{}。", "hunter2x"),
    ('"密码": "{}"', "hunter2x"),
    ("密碼：「{}」", "hunter2x"),
    ("root 密码 {}", "hT7kq2Lm"),
    # by its name
    ("SSH_PASS='{}'", "hunter2"),
    ('export DB_PASS="{}"', "qwerty"),
    ('{{"user": "me", "pass": "{}"}}', "letmein"),
    (r"{{\"pass\":\"{}\"}}", "letmein"),
    ("pass: {}", "hunter2"),
    ("passwd={} --lr 1", "s3cr3t"),
    ("Server=x;UID=sa;PWD={};", "Ab3!xyz9"),
    ("SSHPASS={} sshpass -e ssh box", "hunter2"),
    ("?user=me&pass={}&x=1", "letmein"),
    ("password：{}", "hunter2"),
    ("api_key＝{}", "a1b2c3d4e5"),
    ("machine api.wandb.ai login user password {}", HEX[:40]),
    ("machine github.com login me password {}", "hunter"),
    ('{{"username":"me","key":"{}"}}', HEX[:32]),
    ('"auths": {{"nvcr.io": {{"auth": "{}"}}}}', "JG9hdXRodG9rZW46YWJjZGVm"),
    ("accessToken: '{}'", "a1b2c3d4e5f6"),
    ("secretKey={}", made(32)),
    ("Authorization: {}", "a1b2c3d4e5f6a7"),
    ("X-Api-Key: {}", "a1b2c3d4e5f6"),
    ("wandb: ERROR api key {} is invalid", made(40)),
    ("redis-cli -h h -a {} ping", "hunter2"),
    # cookies
    ("Cookie: session={}", "abc123"),
    ("Set-Cookie: sid={}; Path=/; HttpOnly", "abc123def"),
    ("'Cookie': 'a=1; token_v2={}'", "v02%3Auser"),
    ("cookies={{'session': '{}'}}", "abc123"),
    ("curl -b 'session={}' https://x", "abc123"),
    ("curl --cookie sid={} https://x", "abc123"),
    ("GET / PHPSESSID={} ok", made(26, LOWER)),
]  # fmt: skip

STAY = [
    # numbers and words of a training
    "pass@1: 0.31",
    "pass@10=0.7342 maj@8=0.6120",
    "compass: north",
    "bypass: enabled",
    "forward pass: 12.345 ms",
    "backward pass: finished in 0.31 s",
    "pass: 123456",
    "pass=12/20 fail=0",
    "pass: 0.314159",
    "first pass: complete",
    "pass: 1,234,567 samples",
    "low_pass: butterworth",
    "pass_rate=0.984375 pass_threshold: 0.950000",
    "tests: 120 pass, 3 fail; pass: True",
    "PWD=/workspace/runs/2026-11-28 OLDPWD=/root/project",
    "pwd: /home/user/project",
    "cat: /etc/passwd: Permission denied",
    "passwd: password updated successfully",
    "passwords are not logged; passwordless: enabled",
    "passthrough=pci-0000:01:00.0",
    "encompass: everything; trespass: forbidden",
    # hashes and names
    f"commit {HEX[:40]}",
    f"HEAD is now at {HEX[:7]} fix the loader",
    f"best.pth sha256:{HEX}",
    f"{HEX}  best.pth",
    f"md5 {HEX[:32]} model.safetensors",
    "run 550e8400-e29b-41d4-a716-446655440000 finished",
    f"task-{HEX[:32]} queued",
    "skip-connection-block-12-of-48-resnet152",
    "task-0123456789abcdef-worker-7 started",
    "mask-rcnn-resnet50-fpn-3x-coco-2017",
    "disk-0a1b2c3d4e5f6a7b8c9d0e1f attached",
    "sk-learn-1.5.2-random-forest-baseline",
    "risk-adjusted-return-20261128-0123456789",
    "whisk_0123456789abcdef0123456789",
    "Asia/Shanghai asiapacificsoutheast1 region",
    "hf_hub_download hf_transfer HF_HUB_ENABLE_HF_TRANSFER=1",
    "npm_config_registry=https://registry.example/npm/mirror",
    "r8_quantized model, r8_g8_b8 image",
    "dapi: data API 2.0 of the loader",
    "local-rank-0 local-0123 node",
    "key-value store; key-frame 120; key-point-detection-17-joints",
    "sgd.momentum=0.9 SG.conv1.weight",
    "ghp: 3 gho: 4 github_patch applied",
    "checkpoint-0123456789 epoch=12-step=3456.ckpt",
    # tokens and keys that open nothing
    "tokens=4096 tokens/s: 123456.7 max_new_tokens: 128",
    "eos_token: <|endoftext|> pad_token=None",
    "token: 151643 bos_token_id=151643",
    "primary_key: id cache_key: model.layers.12.mlp",
    f"cache_key: {HEX[:40]}",
    f"cache_key-{HEX[:32]}",
    "Missing key(s) in state_dict: 'model.layers.12.mlp.0123456789ab'",
    "keyboard: us key: Enter keys: 12",
    "secret_weapon layer; secret: <none>",
    "Authorization: granted; authorization: required",
    # cookies and Chinese that say nothing
    "cookies: 12 cookie: none",
    "cookie jar: <RequestsCookieJar[]>; cookie_path=/tmp/jar",
    "Set-Cookie: disabled; Cookie: enabled",
    "密码错误，请重试",
    "密码：未设置",
    "密钥交换失败: timeout",
    "口令不正确；密码学课程第 12 讲",
    "令牌数: 4096，令牌: 151643",
    "ED25519 key SHA256:aB3dE5gH7jK9mN1pQ3sTuVwXyZ0123456789abcdefg 密钥指纹",
    # places
    "https://huggingface.co/org/model/resolve/main/model-00001-of-00002.safetensors",
    "ssh://root@203.0.113.7:22022 s3://bucket/runs/2026/checkpoint_0123456789.pt",
    "session=20261128 session_id: 42 sid=7",
]


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(HIDE) >= 60
    assert len(STAY) >= 60


FORMS = {
    "alone": "{}",
    "in a line": "2026-11-28 10:00:00 INFO [rank0] {} (step 12)",
    "in a table": "│ {} │",
    "of a process": "python\x1ftrain.py\x1f{}\x1f--lr\x1f1e-3",
    "with colour": "[red]{}[/]",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("text", "secret"), HIDE)
def test_it_is_hidden(text: str, secret: str, form: str) -> None:
    found = redact(FORMS[form].format(text.format(secret)))
    assert secret not in found, found
    assert HIDDEN in found
    assert redact(found) == found  # what is hidden is not hidden again, and nothing more


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", STAY)
def test_it_stays(text: str, form: str) -> None:
    line = FORMS[form].format(text)
    assert redact(line) == line


QUOTES = ("{}", "'{}'", '"{}"', r"\"{}\"", "“{}”", "`{}`")
SIGNS = ("=", ": ", ":", " = ", "：", "＝", '": "', "': '", r"\":\"", "=>")


@pytest.mark.parametrize(
    "name", ["password", "passwd", "SSH_PASS", "pass", "pwd", "api_key", "密码", "口令", "密钥"]
)
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("quotes", QUOTES)
def test_a_name_a_sign_and_a_value_in_any_form(name: str, sign: str, quotes: str) -> None:
    assert "hunter2x9" not in redact(f"{name}{sign}{quotes.format('hunter2x9')} then")


UNITS = [
    *("pass", "pass:", "pass: ", "pass=a", "_pass=", "pwd=/", "passwd: a ", "密码", "密码：", "密码 ", "密码:a"),
    *("Cookie: ", "Cookie: a=", "cookie=a=b;", "cookies={", "; a=b", "curl -b ", "curl -b a=b;", "sk-", "SG.a", "r8_", "dapi0"),
    *("login a password ", "login ", '"auth": "', '"username":"', "Authorization: ", "api key ", "token", "token=", "secretKey="),
    *("a-", "-a", "a.", "aA1", "0", "a" * 70 + " ", "=", ":", '"', "\\", "'", " ", "\t", "\x1f", "{", "http://", "://a:", "@"),
    *("eyJ", "AKIA", "local-", "key-0", "hook/", "redis-cli -", "redis-cli -a ", "curl ", "curl -", "accessToken", "：", "是"),
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=repr)
@pytest.mark.parametrize("end", ["", "!9z"])
def test_no_shape_backtracks_over_a_hostile_line(unit: str, end: str) -> None:
    """Squared, it would take minutes."""
    redact(unit * (65_536 // len(unit)) + end)
