"""Recognises what launchers, log collectors and loggers print before a message.

`PREFIX` is removed from every line, because it has no meaning for the rules. A logger's stamp stays, because some rules
match it; `error_message_start` and `message` skip it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TIME = r"\d\d:\d\d:\d\d[\d.,]{0,10}(?:Z|[+-]\d\d:?\d\d)?"
_DAY = r"(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d?[-/.]\d\d?(?:[-/.]\d{2,4})?|\d\d/[A-Z][a-z]{2}/\d{4})"
_FILE = r"[\w./-]{1,80}\.(?:py|cc|cpp|go|rs|cu):\d{1,5}"
_DAEMON = (
    r"(?!kernel|systemd|sshd|cron|CRON)[\w./-]{1,40}\[\d{1,8}\]: "  # except daemons that rules name
)

# Launcher or collector -> pattern of its prefix.
LAUNCHERS = {
    "torchrun": r"\[(?:default|rank)\d{1,5}\]:? ?",
    "srun --label": r"\[?\d{1,5}\]?: ",
    "mpirun --tag-output": r"\[\d{1,4},[\w:,-]{1,40}\]<std(?:err|out)>: ?",
    "ray": r"\([\w .#=-]{0,60}pid=\d+[^)]{0,40}\) ?",
    "docker compose": r"[\w.-]{1,40}[_-]\d{1,4} +\| |[\w.-]{1,40} +\| (?=ERROR|INFO|Traceback| |\[rank)",
    "kubectl logs --prefix": r"\[?pod/[\w./-]{1,120}\]? ",
    "container runtime": rf"\d{{4}}-\d\d-\d\dT{_TIME} (?:std(?:err|out) [FP] )?",
    "vLLM": rf"(?:INFO|ERROR) \d\d-\d\d {_TIME} \[?{_FILE}\] (?=\s|Traceback|$)",
    "TorchServe": rf"(?:{_DAY}[ T]{_TIME} )?\[\w{{4,5}} ?\] \S{{1,80}}-std(?:err|out) \S{{1,80}} - ",
    "logging.basicConfig": r"(?:INFO|DEBUG):[A-Za-z_][\w.]{0,60}:(?=[A-Za-z\[])",
}
# Part of a logger's stamp -> its pattern. Levels are added by `_any_of`.
STAMPS = {
    "time": rf"\[?(?:{_DAY}[ T,]{{1,2}})?{_TIME}(?: UTC)?\]?(?: ?[-|:])?(?: |(?<=\])(?=\[))",
    "ctime": rf"\[?[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} [ \d]\d {_TIME} \d{{4}}\]? ?",
    "syslog": rf"[A-Z][a-z]{{2}} [ \d]\d {_TIME} [\w.-]{{1,60}} {_DAEMON}",
    "glog": rf"\[?[EF]\d{{3,4}} {_TIME} +(?:\d{{1,18}} )?{_FILE}\] ",
    "rank, node or task": r"(?i:[\[(]?(?:rank|node|task|worker|gpu|host|process)[ _#-]?\d{1,5}[\])]?[:>]? )|[a-z][\w-]{0,40}\d(?= {3,}\S)",
    "stream": r"\[?(?:stderr|stdout|err|out)\]?(?: ?[:|])? ",
    "name in brackets": r"\[(?![^\]]{0,24}\b(?:%LEVEL)\b)[A-Za-z_][\w .:/#@=-]{0,60}\](?: [-:])?:? ?",
    "name": r"(?!(?:%LEVEL)\b)[a-z_][\w.]{1,60}(?: [-|] |(?<=\.\w\w\w): )",
    "source location": rf"[\[({{| ]?(?:{_FILE}|[\w.]{{1,40}}:[\w<>]{{1,40}}:\d{{1,5}})[\])}}]?(?: ?[:-])? ",
}
_ERROR_LEVELS = "ERROR|CRITICAL|FATAL|E"
_LOWER_LEVELS = "INFO|DEBUG|WARN(?:ING)?|NOTICE|TRACE|I|D|W"
# A JSON record up to its message, unless its level is below error.
_JSON = (
    r'\{(?!.{0,400}"(?:level|levelname|severity|lvl)" ?: ?"(?i:info|debug|warn|trace|notice))'
    r'(?:"[\w.@-]{1,24}" ?: ?(?:"[^"\\]{0,80}"|[-\w.]{1,24}), ?){0,12}?"(?:log|msg|message|error|err)" ?: ?"'
)


def _any_of(parts: Iterable[str], levels: str) -> re.Pattern[str]:
    """A pattern for any sequence of these prefixes and levels."""
    level = (
        rf"(?:{levels}):[A-Za-z_][\w.]{{0,60}}:|[\[(| -]?(?:{levels})(?=\W)[\])]?(?: {{0,9}}[-:|>]{{1,2}})?(?: +|$)|"
        rf"(?i:\[(?:{levels})\]:? ?|(?:{levels})(?:: | [-|>] ))"
    )
    joined = "|".join((*parts, level)).replace("%LEVEL", f"{_ERROR_LEVELS}|{_LOWER_LEVELS}")
    return re.compile(rf"^(?>(?:{joined})*)")


PREFIX = re.compile(f"^(?:{'|'.join(LAUNCHERS.values())})+")
_ERROR_LEVEL = re.compile(
    rf"{_any_of(STAMPS.values(), _ERROR_LEVELS).pattern}(?!(?:{_LOWER_LEVELS})\b)"
)
_ANY_LEVEL = _any_of((*STAMPS.values(), *LAUNCHERS.values()), f"{_ERROR_LEVELS}|{_LOWER_LEVELS}")
_RECORD = re.compile(_JSON)


def error_message_start(text: str) -> int:
    """The index of the message in a record of level error or without a level; 0 if there is no prefix or the level is lower."""
    return _after(_ERROR_LEVEL, text)


def message(text: str) -> str:
    """The message of a record of any level; empty if the text has no prefix."""
    begin = _after(_ANY_LEVEL, text)
    return text[begin:] if begin else ""


def _after(stamps: re.Pattern[str], text: str) -> int:
    found = stamps.match(text)
    end = found.end() if found else 0
    if record := _RECORD.match(text, end):
        end = record.end()
    return end if end < len(text) else 0
