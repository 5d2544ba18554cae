"""What a launcher, a collector or a clock put around a line, and means nothing: the line inside is the one to judge.

`triage_shapes.PREFIX` is taken off every line. What stands here is known to some rules (a daemon by its stamp),
so that it is taken off only where no rule answered to the whole line.
"""

from __future__ import annotations

import re

# What a logger of any program calls itself. A level is none of it: where it is calm, that is the line's.
_LEVEL = r"(?i:[^\]|:]{0,24}\b(?:info|debug|warn|warning|notice|trace|verbose|error|err|fatal|critical|hint|tip|note|[idwvnef])\b)"
_NAMED = (  # the form is looked at first, which is cheap
    rf"\[(?!{_LEVEL})[A-Za-z_][\w .:/#@=-]{{0,40}}\](?::? |(?=\[))|\((?=[\w.]{{1,40}}\.py:)(?!{_LEVEL})[\w.]{{1,40}}:\d{{1,5}}\):? |"
    rf"(?=[\w./-]{{1,40}}\[\d)(?!{_LEVEL}|kernel|systemd|sshd|cron|CRON)[\w./-]{{1,40}}\[\d{{1,8}}\]: |"
    rf"(?=[a-z_]\w{{0,30}}\.\w)(?!{_LEVEL})(?![\w.]{{0,160}}(?:Error|Exception|Exit|Interrupt|Warning): )[a-z_]\w{{0,30}}(?:\.\w{{1,30}}){{1,4}}: |"
    rf"\| [\w.]{{1,40}}:\w{{1,40}}:\d{{1,5}} - |(?=[a-z_][\w.]{{1,40}} [-|] )(?!{_LEVEL})[a-z_][\w.]{{1,40}} [-|] "
)
_STAMPS = (  # each is taken for one thing only: none is read a second way
    r"(?>(?:(?:\[\d{4}-\d\d-\d\d [\d:.,]{8,18}\]|\d{4}[-/]\d\d[-/]\d\d[ T][\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)?)"
    r"(?:(?: [-|])?:? |(?<=\])(?=\[))|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? |\[?(?:std(?:err|out)|STD(?:ERR|OUT))\]?(?: ?[:|])? |"
    r"(?:\d\d[-/.]\d\d(?:[-/.]\d{4})?|\d{4}\.\d\d\.\d\d) [\d:.,]{8,15} |"
    r"\[(?:\d\d[-/.]\d\d(?:[-/.]\d{4})?|\d{4}\.\d\d\.\d\d|\d\d/[A-Z][a-z]{2}/\d{4}) [\d:.,]{8,15}\] |"
    r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}(?: |(?=\[))|\[\d{1,4},[\w:,-]{1,40}\]<std(?:err|out)>:|"
    r"\[\d{1,8}(?:/\d{1,8})?\] |\((?:rank )?\d{1,5}\) |(?:task|rank|worker|process) ?#?\d{1,5}: |"
    r"(?:worker|node|gpu|host|rank|box|trainer)[\w.-]{0,40}> |(?:err|out|ERR|OUT) ?[:|] |[\w.-]{1,40}[_-]\w{1,12} {1,24}\| |"
    r" {0,3}\d{1,4}: |\[?pod/[\w./-]{1,120}\]? |(?:worker|node|gpu|host|rank|box|trainer)[\w.-]{0,40}: |"
    r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} [\w.-]{1,60} (?!kernel|systemd|sshd|cron|CRON)[\w./-]{1,40}\[\d{1,8}\]: |"
    rf"{_NAMED})*)"
)
_BAR = r"(?:.{0,300}\d(?:it/s|s/it|B/s|steps?/s|examples/s)[^\[\]]{0,120}\](?=[^\s,\]|]))?"
# A line of JSON up to what its message says. One that is told calmly is left as it stands.
_JSON = (
    r"(?:\{(?!.{0,400}\"(?:level|levelname|severity|lvl)\" ?: ?\"(?:[Ii]nfo|INFO|[Dd]ebug|DEBUG|[Ww]arn|WARN|[Tt]race|TRACE|[Nn]otice|NOTICE))"
    r"(?:\"[\w.@-]{1,24}\" ?: ?(?:\"[^\"\\]{0,80}\"|[-\d.e]{1,24}|true|false|null), ?){0,12}?"
    r"\"(?:log|msg|message|error|err|exception|exc_info|text)\" ?: ?\"(?=[^\"]))?"
)
AROUND = re.compile(f"^{_STAMPS}{_BAR}{_STAMPS}{_JSON}(?![IWDV] [a-z])")


def inside(text: str) -> int:
    """Where the line inside begins; 0 where nothing stands around it."""
    found = AROUND.match(text)
    return found.end() if found and found.end() < len(text) else 0
