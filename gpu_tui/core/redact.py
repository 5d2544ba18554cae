"""What must not leave this machine in a recording or a report: keys, tokens and passwords, by their looks.

A table of shapes; the first group of a row, where it has one, stays. It is a net, not a proof: who
shares a recording shares the logs of his run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

HIDDEN = "[hidden]"

# Between a name and its value: a sign, or a blank (0x1f between two arguments is one); quotes may be escaped.
_QUOTE = r"(?:\\?[\"'`“”‘’「『]){0,2}"
_SIGN = rf"(?:{_QUOTE}\s{{0,16}}(?:=>|[=:：＝])\s{{0,16}}{_QUOTE})"
_THEN = rf"(?:{_SIGN}|\\?[\"']?(?:\s{{1,4}}|,\s{{0,4}})\\?[\"']?)"
# Sixteen characters or more, of which twelve in a row are letters with at least two digits, or padded base64: no
# word and no path has these.
_RANDOM = (
    r"(?!(?:~|\.{1,2})?/(?:home|root|users|data|mnt|tmp|etc|opt|usr|var|run|srv|workspace)\b)"
    r"(?=[\w+/%=.~-]{0,64}?(?<![A-Za-z0-9])(?=[A-Za-z0-9]{12})(?=[A-Za-z]{0,32}\d[A-Za-z]{0,32}\d)"
    r"(?=\d{0,32}[A-Za-z])|[A-Za-z0-9+/]{30,512}=)[\w+/%=.~-]{16,1024}"
)
_NOTHING = r"(?!<|\[hidden\]|none\b|null\b|true\b|false\b)"
_VALUE = r"(?:[^\s\"'`“”‘’「」『』,;，。；、\\]|\\(?![\"']))"
_SENTENCE = r"[a-z]{2,20} [a-z]{2,20}(?:[\s.,!]|$)"
_ASCII = r"[!#-&(-+\--:=-\[\]^_a-~]"  # a sentence in Chinese goes on after a value without a blank
# A number, a share, a time or a size, with its unit and to its end.
_NUMBER = (
    r"[-+~≈]?\d[\d.,:/%e+x×_TZ-]{0,40}"
    r"(?:[munµ]?s|sec|min|h|hz|fps|x|[kmgt]i?b?(?:/s)?|it/s|s/it|/s)?(?=[\s\"'`,;)\[\]}│|]|$)"
)
# The pass of a training, a filter or a test, and the words that `pass:` and the program passwd say of a state.
_OTHER_PASS = (
    "low high band all by one two single multi 1st 2nd 3rd first second third last next each per every this full"
    " final forward backward fwd bwd test tests train training eval validation warmup dry render compile data"
)
_STATES = (
    "complete(?:d|ly)?|complet\\w+|finish\\w*|fail\\w*|pass(?:ed|ing|word)|start\\w*|running|forward|backward"
    "|enabled|disabled|unknown|required|optional|skipp\\w+|success\\w*|default|nothing|pending|ignored|invalid"
    "|missing|(?:un)?changed|updated|compat|systemd|optimi[sz]\\w+"
    r"|tests?[_/.]\w*|step\w*|epoch\w*|tensor|encod\w*|decod\w*|prefill|train\w*|eval\w*"
)
_PASS = (
    rf"(?<![A-Za-z/.@])(?<!\d[_ -]){''.join(f'(?<!{name}[_ -])' for name in _OTHER_PASS.split())}"
    r"(?:(?:ssh|pg|db|my|sql|user|usr|sudo|root|admin|smtp|mail|ftp|redis|vnc|login|ldap|web|http|proxy|zip|key)_?)?"
    r"(?:pass|passwd|pwd|passcode)"
)
_COOKIE = r"[^\s\"';=]{1,128}=[^\s\"';]{1,4096}(?:;\s{0,2}[^\s\"';]{1,4096}){0,64}"
_CHINESE = "(?:密码|密碼|密钥|密鑰|秘钥|金鑰|口令|パスワード)"
# What is called a key and is none that opens anything; its value may look as if it were.
_NO_SECRET = (
    "public host cache hash sort primary foreign partition row object content dedup idempotency cell run job config"
    " data dataset image sample index state metric group lookup"
)

# Words in lower case. A shape is searched only in a text that holds one of its words.
_SHAPES = (
    # Tokens that name their maker by a prefix.
    (
        "hf_ api_org_ sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glsoat-"
        " rpa_ aiza xox xapp- nvapi- wandb_v1_ npm_ pypi-age ya29. gocspx- dckr_pat_ tskey- :aa r8_"
        " dapi gsk_ sg. sk_live_ sk_test_ rk_live_ rk_test_ _v1_ hvs. hvb. lsv2_ pcsk_ xai- pplx- shp"
        " pul- sntry atatt3 age-secret-key local- key- ms-",
        r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|sk-(?!learn\b|image\b)[A-Za-z0-9_-]{16,}"
        r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl(?:pat|dt|rt|cbt|ptt|soat)-[\w-]{16,}"
        r"|rpa_[A-Za-z0-9]{16,}|AIza[\w-]{30,}|xox[abeprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|nvapi-[\w-]{20,}"
        r"|wandb_v1_\w{20,}|npm_[A-Za-z0-9]{30,}|pypi-AgE[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"
        r"|dckr_pat_[\w-]{20,}|tskey-[a-z]{2,12}-[\w-]{16,}|\d{8,10}:AA[\w-]{33}|r8_[A-Za-z0-9]{20,}"
        r"|dapi(?=[a-z]{0,40}\d)[0-9a-z]{30,}(?:-\d)?|gsk_[A-Za-z0-9]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
        r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|do[opr]_v1_[0-9a-f]{40,}|hv[bs]\.[\w-]{20,}|lsv2_[a-z]{2}_\w{30,}"
        r"|pcsk_\w{30,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{32,}|tgp_v1_[\w-]{30,}|shp(?:at|ca|pa|ss)_[0-9a-f]{32}"
        r"|pul-[0-9a-f]{40}|sntry[su]_\w{20,}|ATATT3[\w=-]{50,}|AGE-SECRET-KEY-1[0-9A-Z]{50,}"
        r"|\b(?:local-[0-9a-f]{40}|key-[0-9a-f]{32}|ms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-]))",
    ),
    (
        "akia asia abia acca ltai akid ak- as-",
        r"\b(?-i:(?:A[KS]IA|ABIA|ACCA)[0-9A-Z]{16}|LTAI(?=[A-Za-z]{0,24}\d)[A-Za-z0-9]{16,26}"
        r"|AKID(?=[A-Za-z]{0,32}\d)[A-Za-z0-9]{32}|a[ks]-(?=[A-Za-z]{0,22}\d)(?=[a-z0-9]{0,22}[A-Z])[A-Za-z0-9]{22})\b",
    ),
    # Who knows such an address may write there.
    (
        "https://",
        r"(\bhttps://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook)/)[\w/-]{20,}",
    ),
    (
        "https://",
        r"(\bhttps://(?:qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key|oapi\.dingtalk\.com/robot/send\?access_token)=)"
        r"[\w-]{16,}",
    ),
    # Only at the start of a run of its letters: else a run of many starts costs the square of its length.
    ("eyj", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    ("bearer", r"(\bbearer\s+)[A-Za-z0-9+/=._~-]{8,}"),
    (
        "basic",
        r"(\bbasic\s{1,4})(?-i:(?=[A-Za-z]{0,256}(?:[\d+/=]|(?<=[a-z])[A-Z])))[A-Za-z0-9+/=._~-]{8,}",
    ),
    ("://", r"(://[^\s:/@]{0,64}:)[^\s/@]{1,256}(?=@)"),
    # NAME=value and --name value. `tokens=4096` and a bare number are what training logs say.
    (
        "key secret passw passphrase credential token",
        r"((?:(?:api|access|account)[_-]?key|secret|passw(?:or)?d(?<!/passwd)|passphrase|credential"
        r"|(?:auth|access|refresh|id|bot|api|session|csrf|xsrf|private|deploy|personal|bearer)_?token|(?<![a-z])token)s?"
        rf"(?:{_SIGN}(?={_VALUE}*[\d\W_])|[\"']?\s{{1,16}}[\"']?(?=\w)(?=[a-z]{{0,256}}(?:\d|[^\s\"',;a-z][a-z\d]))))"
        rf"(?![\d.]+\b){_NOTHING}(?!(?<=passwd: ){_SENTENCE}){_VALUE}{{8,}}",
    ),
    # What a password's name and a sign introduce is no number of a training, however short.
    (
        "passw passphrase",
        rf"((?<!/)(?:passw(?:or)?d|passphrase)(?<!passwd){_SIGN}){_NOTHING}{_VALUE}{{4,}}",
    ),
    # A pass may be one of a training: here a number is one, and so is a sentence.
    (
        "pass pwd",
        rf"({_PASS}{_SIGN}){_NOTHING}(?!{_NUMBER})(?!(?:{_STATES})\b)(?![/~]|\.{{1,2}}/|\$[\w{{(])"
        rf"(?!{_SENTENCE})[^\s\"'`“”‘’「」『』,;&，。；、\\]{{6,}}",
    ),
    (
        "密 秘钥 金鑰 口令 パスワード",
        rf"({_CHINESE}(?:[是为為]?{_SIGN}|\s{{0,4}}[是为為]\s{{0,4}}{_QUOTE})){_NOTHING}"
        rf"(?!SHA256:|MD5:|[~.]{{0,2}}/){_ASCII}{{4,}}",
    ),
    (
        "密 秘钥 金鑰 口令 パスワード",
        rf"({_CHINESE}\s{{1,4}}{_QUOTE}){_NOTHING}(?!SHA256:|MD5:)(?={_ASCII}{{0,64}}?\d)(?={_ASCII}{{0,64}}?[a-z]){_ASCII}{{6,}}",
    ),
    ("令牌", rf"(令牌{_SIGN}){_RANDOM}"),
    # What a browser or curl sends to be known again.
    ("cookie", rf"((?<![a-z])(?:set-)?cookies?2?{_SIGN}){_COOKIE}"),
    (
        "cookie",
        rf"((?<![a-z])(?:set-)?cookie{_SIGN})(?=[a-z]{{0,64}}\d)(?=\d{{0,64}}[a-z])[\w%.~+/-]{{8,}}",
    ),
    ("cookie", r"(\bcookies?\\?[\"']?\s{0,4}[:=]\s{0,4}\{)[^{}\n]{4,4096}"),
    (
        "sess csrf xsrf connect.sid",
        r"(\b(?:phpsessid|jsessionid|sessionid|sessid|csrftoken|xsrf-token|connect\.sid)=)"
        r"(?=[^\s\"';&]{0,64}\d)[^\s\"';&]{8,}",
    ),
    (
        "authorization",
        r"(\b(?:proxy-)?authorization\\?[\"']?\s{0,4}[:=：]\s{0,4}\\?[\"']?(?:[a-z0-9-]{2,32}\s)?)"
        r"(?!\[hidden\])(?=[^\s\"',;]{0,256}\d)[^\s\"',;]{8,}",
    ),
    # Files that hold them: .netrc, kaggle.json, docker's config.json.
    (
        "machine",
        r"(\bmachine\s{1,4}\S{1,255}\s{1,4}login\s{1,4}\S{1,128}\s{1,4}password\s{1,4})\S{1,256}",
    ),
    (
        "username",
        r'("username\\?":\s{0,4}\\?"[^"\\]{1,80}\\?",\s{0,4}\\?"key\\?":\s{0,4}\\?")[^"\\]{8,}',
    ),
    ("auth", r'("auth\\?":\s{0,4}\\?")(?=[A-Za-z0-9+/]{0,256}[\d=])[A-Za-z0-9+/]{12,}={0,2}'),
    # A pod's environment, as kubectl prints it; also inside of an annotation, where quotes are escaped.
    (
        "value",
        r'("name\\?":\s*\\?"[^"\\]{0,80}(?:key|token|secret|passw|credential|auth)[^"\\]{0,80}\\?",'
        r'\s*\\?"value\\?":\s*\\?")[^"\\]+',
    ),
    # Any other key by its name: `--wandb-key`, `OPENAI_KEY`. With a blank in the name a sign follows.
    (
        "key",
        rf"((?=[_-]key){''.join(f'(?<!{name})' for name in _NO_SECRET.split())}[_-]keys?{_THEN}){_RANDOM}",
    ),
    (
        "key",
        rf"(\b(?:secret|private|client|master|signing|storage|service|subscription|api|access|account)key{_THEN}){_RANDOM}",
    ),
    ("api", rf"(\bapi\skey\s{{1,4}}){_RANDOM}"),
    (
        "key token",
        rf"(\b(?:api|access|account|secret|auth|storage|private)\s(?:key|token){_SIGN})"
        r"(?!https?:)(?=[^\s\"',;]{0,256}\d)[^\s\"',;]{8,}",
    ),
    # The forty digits that wandb once had for a key, said to its login or asked for by it.
    (
        "wandb",
        r"(\bwandb\b.{0,48}?(?:login|key|token)(?:\W{1,4}(?:-{1,2}\w{1,16}[\s=]{1,2}|key=[\"']?){0,3}"
        r"|[^\n:]{0,80}(?:enter|quit)[^\n:]{0,8}:\s{0,4}))[0-9a-f]{40}(?![0-9a-f])",
    ),
    # What programs take for a password without a name beside it.
    (
        "mysql mariadb",
        r"(\bm(?:ysql(?:dump|admin|import|check|sh)?|ariadb(?:-\w{1,12})?)"
        r"(?:\s{1,4}[^\s|;&]{1,128}){0,12}?\s{1,4}(?-i:-p)(?!rint0?\b|rune\b)[\"']?)[^\s\"'|;&]{1,256}",
    ),
    (
        "sshpass",
        r"(\bsshpass(?:\s{1,4}-[^\s|;&]{1,64}){0,3}?\s{1,4}(?-i:-p)\s{0,4}[\"']?)[^\s\"']{1,256}",
    ),
    (
        "curl",
        r"(\bcurl(?:\s{1,4}[^\s|;&]{1,160}){0,12}?\s{1,4}(?:-u|--(?:proxy-)?user)[\s=]{0,4}[\"']?"
        r"(?!https?:)[^\s:\"'/]{1,64}:)[^\s\"']{1,256}",
    ),
    (
        "curl",
        rf"(\bcurl(?:\s{{1,4}}[^\s|;&]{{1,160}}){{0,12}}?\s{{1,4}}(?:-b|--cookie)[\s=]{{1,4}}[\"']?){_COOKIE}",
    ),
    (
        "redis-cli",
        r"(\bredis-cli(?:\s{1,4}[^\s|;&]{1,128}){0,12}?\s{1,4}(?:-a|--pass)[\s=]{1,4}[\"']?)[^\s\"'|;&]{1,256}",
    ),
    # A link that was signed: who has it needs no key.
    (
        "x-",
        r"(\bX-(?:Amz|Goog|Oss|Cos|Tos|Obs)-(?:Signature|Credential|Security-Token)(?:=|%3D))[^\s&\"'<>\\]{8,}",
    ),
    ("sig", rf"(\b(?<![.-])sig(?:nature)?=){_RANDOM}"),
    # A private key: its first line, and lines of nothing but base64 that are no digest.
    ("private key", r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*"),
    ("", r"^(?![0-9a-fA-F]+$)(?=\S*[A-Z])(?=\S*[a-z])[A-Za-z0-9+/]{64,76}={0,2}$"),
)
_SECRET = tuple((frozenset(needs.split()), shape) for needs, shape in _SHAPES)
_NEEDS = tuple({need for needs, _ in _SECRET for need in needs})


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    """Compiled with the first text that needs it: all of them would hold up the first paint."""
    return re.compile(shape, re.IGNORECASE | re.MULTILINE)


SHORT = 6  # characters: a known word that is shorter may be a part of any other
SHORTEST = 4  # and of these none is looked for: it would say more where it is hidden
LONGEST = 2_048  # characters of a secret that is found where a text is cut


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` without what looks like a secret, and without the `known` ones."""
    for secret in sorted(known, key=len, reverse=True):  # a short one may be a part of a longer one
        text = _without(text, secret)
    for shape in _worth(text):
        text = shape.sub(
            lambda found: (found[1] or "") + HIDDEN if found.re.groups else HIDDEN, text
        )
    return text


def _worth(text: str) -> list[re.Pattern[str]]:
    """The shapes of which one of the words that they need is in the text."""
    low = text.lower()
    there = {need for need in _NEEDS if need in low}
    return [
        _compiled(shape) for needs, shape in _SECRET if not needs or not there.isdisjoint(needs)
    ]


def seam(text: str, known: Iterable[str], at: int) -> int:
    """The last place up to `at` where `text` may be cut in two, each of them redacted by itself.

    Behind `at` there are LONGEST characters more, or the end. 0 where one secret lies over all of it.
    """
    begin = max(0, at - 2 * LONGEST)
    near = text[begin : at + LONGEST]
    spans = [found.span() for shape in _worth(near) for found in shape.finditer(near)]
    for secret in known:
        if len(secret) >= SHORTEST:
            spans += [found.span() for found in re.finditer(re.escape(secret), near)]
    for first, last in sorted(spans, reverse=True):
        if begin + first < at < begin + last:
            at = begin + first
    return at


def _without(text: str, secret: str) -> str:
    """Without a known one; also without what a cut left of it at the beginning and the end of the text."""
    if len(secret) < SHORT:
        word = rf"(?<!\w){re.escape(secret)}(?!\w)"
        return re.sub(word, HIDDEN, text) if len(secret) >= SHORTEST else text
    text = text.replace(secret, HIDDEN)
    sizes = range(len(secret) - 1, SHORT - 1, -1)
    if text[:SHORT] in secret:
        size = next((size for size in sizes if text.startswith(secret[-size:])), 0)
        text = HIDDEN + text[size:] if size else text
    if text[-SHORT:] in secret:
        size = next((size for size in sizes if text.endswith(secret[:size])), 0)
        text = text[: len(text) - size] + HIDDEN if size else text
    return text
