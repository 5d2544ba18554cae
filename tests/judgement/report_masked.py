"""How well triage judges lines of programs that nobody knows: `cd tests && python -m judgement.report_masked [--misses N]`.

Nothing new is labelled for it: the rows that the rules were tuned on are judged again, changed so that the
failure is still told and by nothing but the sentence. Each way to change them is a view:

* `names`: names of programs, functions, devices and files are replaced by words that nobody has written yet, of the same
  length, the same case, the same punctuation and the same grammatical ending. What lines of several programs have in
  common stays, and so do the words of failure, the endings of exceptions and every digit;
* `nouns`: the same, but only what lines of many programs have in common stays;
* `said`: the failure is said by another turn of phrase (`could not` for `failed to`), each turn a row of its own;
* `said, names`: both;
* `tagged`: the line stands behind what the logger of an unknown program writes before it, levels left out.

A row that alarms as it is and not when it is changed shows a rule that leans on a word. Some must: an Xid is one by its
name. An innocent row that alarms when it is changed was quiet for its name only. Shares say how much is held by
structure, not how often triage is right.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b

from judgement.report_lines import SHOWN, TUNED, Row, Score, judge, rows_of

NAMES, NOUNS = 6, 25  # programs: a word that lines of so many have in common stays
SHORTEST = 3  # letters of a name

_TAGS = (
    "2026-01-02 03:04:05,678 [zolap] ",
    "zolap[1234]: ",
    "[03:04:05] zolap.mufo | ",
    "03:04:05.678 | zolap:mufo:77 - ",
    "zolap.mufo.Pagu: ",
    "[zolap] [mufo] ",
    "[2026-01-02 03:04:05] (mufo.py:12): ",
    "[mufo 3/8] ",
)
_TURNS = (
    (
        r"[Ff]ailed to (?=[a-z]{3})",
        ("could not ", "was unable to ", "is not able to ", "did not manage to "),
    ),
    (
        r"(?:[Cc]ould not|[Cc]ouldn't|[Cc]annot|[Cc]an't) (?=(?!be\b)[a-z]{3})",
        ("failed to ", "was not able to "),
    ),
    (r"[Uu]nable to (?=[a-z]{3})", ("failed to ", "could not ")),
    (
        r"(?:has |have )?(?:died|crashed)\b",
        ("has died", "terminated abnormally", "is dead", "stopped unexpectedly", "went down"),
    ),
    (
        r"(?:was |were |is |are )?not found\b",
        ("could not be found", "does not exist", "is missing"),
    ),
    (r"(?:does not|doesn't|do not) exist\b", ("could not be found", "is missing")),
    (r"mismatch\b", ("does not match",)),
    (r"(?:does not|do not|did not) match\b", ("differs from", "is inconsistent with")),
    (
        r"(?:[Aa]bort|[Ee]xit)ing\b",
        ("exiting", "terminating", "stopping", "bailing out", "giving up"),
    ),
    (
        r"(?<!has )timed out\b",
        ("exceeded its timeout", "did not respond in time", "timeout expired"),
    ),
    (
        r"(?:has |have )?failed(?=[\s.:!,]*$|[.:!,;] )",
        ("has failed", "did not succeed", "was unsuccessful", "went wrong", "ended in failure"),
    ),
    (r"not (?:supported|available)\b", ("unsupported", "unavailable")),
    (r"invalid (?=[a-z])", ("illegal ", "malformed ", "bad ")),
    (r"exited with\b", ("terminated with", "returned", "finished with", "quit with")),
    (
        r"(?:[Aa]n )?[Ee]rror occurr?ed (?=while|during|when|in)",
        ("ran into an error ", "got an error ", "failed "),
    ),
    (r"[Ee]rror (?=(?:while |when |in )?[a-z]{3,12}ing )", ("failure ", "problem ", "failed ")),
    (r"lost (?=con|com)", ("dropped ", "has lost ")),
)

_WORD = re.compile(r"[A-Za-z]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of a word written in camel case
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_FAILURE = re.compile(
    r"(?:fail|error|exception|abort|terminat|die[ds]?$|dead|death|dying|kill|lost$|lose|losing|crash|corrupt|invalid|illegal|"
    r"unable|cannot|could|would|miss|miscon|mismatch|unknown|unrecogni|unsupported|unexpected|unavailable|unreachable|unhealthy|undefined|"
    r"refus|den(?:y|ied)|reject|exceed|insufficient|incompatible|violat|broken?|wrong|bad$|timeout|timed|"
    r"time$|hang|hung|stuck|stall|stopp?|exit|quit|ended|ending|gone|vanish|disappear|disconnect|unresponsive|"
    r"evict|preempt|reclaim|cancel|interrupt|revok|expir|fatal|critical|severe|panic|emerg|warn|info$|debug|notice|trace|"
    r"retry|retri|skip|ignor|fallback|fall|diverg|explo[ds]|unstable|nan$|inf$|infinite|overflow|underflow|"
    r"oom$|memory|full$|space|quota|exhaust|out$|enough|no[tr]?$|never|without|empty|nothing|none$|null|zero|"
    r"unrecover|irrecover|recover|resum|restart|giving|gave|give|bail|halt|shut|down$|cease|collaps|lock|leak|"
    r"assert|segfault|segment|signal|fault|traceback|problem|trouble|issue|malform|unreadable|truncat|"
    r"incomplete|inconsistent|unresolved|unhandled|uncaught|unsuccess|succe|went$|manage|dropp|bail|complet|finish|longer|already|exist|"
    r"occur|happen|encounter|detect|caught|catch|rais(?:e|ing)|thr[oe]wn?$|forc(?:e|ing)|prevent|receiv|fork|unmet|imminent|"
    r"prematur|(?:un|ab)normal|unsafe|damag|must|should|expect|instead|because|since|while|during|after|before|until|through$|"
    r"except$|becau|immediate|unexpected|appear|seem|some(?:thing|body|one)|possib|automatic|erro?$|crit$|ftl$|wrn$|sig[a-z]{3,4}$|"
    r"continu|proceed|disabl|enabl|default|optional|replac|stale|busy|resource|permission|forbid|authori[sz]|credential|quick|protection|pipe$|known$|closed|file$|files$|work)"
)
_GRAMMAR = re.compile(r"(?<=[a-zA-Z]{3})(?:ing|ed|ly|[ai]ble|tion|ment|e?s|er|or)$")
_CONSONANTS, _VOWELS = (
    "bdfgklmprtvz",
    "aou",
)  # no `e`, `i`, `n`, `s`: neither an ending nor a word comes of them


_SHAPES = (  # of the sentence that tells the failure, the first that fits
    ("an exception: Error:", r"(?:Error|Exception|Exit|Interrupt)\b"),
    ("at the level of an end", r"\b(?:FATAL|CRITICAL|PANIC)\b|\[F\b"),
    (
        "at the level of an error",
        r"\b(?:ERROR|E\d{4}|SEVERE|ERRO)\b|\[E\b|: E |level=error|^error\b|: error:",
    ),
    ("at a calm level", r"\b(?:INFO|WARN|WARNING|DEBUG|NOTICE)\b|\[[WI]\d* |^[WI]\d{4}"),
    (
        "failed, could not, unable to do",
        r"(?i)\b(?:failed to|failure to|could not|couldn't|cannot|can't|(?:un|not )able to|manage to)\b",
    ),
    ("failed, went wrong", r"(?i)\bfail|went wrong|unsuccessful|did not succeed"),
    (
        "died, exited, aborted, killed",
        r"(?i)\b(?:died|dead|gone|lost|crash|exit|abort|terminat|kill|stopp|quit)",
    ),
    (
        "not found, missing, invalid",
        r"(?i)\b(?:not|no|missing|invalid|illegal|unknown|unsupported|mismatch|does not|expected)\b",
    ),
    ("error", r"(?i)\b(?:error|exception|fault)"),
    ("timed out", r"(?i)time-?d? ?out"),
    ("other", ""),
)


@dataclass(slots=True)
class View:
    """One way to change the rows, and what came of it."""

    score: Score = field(default_factory=Score)
    quiet: list[tuple[Row, str]] = field(default_factory=list)  # alarm as they are, and not so
    loud: list[tuple[Row, str]] = field(default_factory=list)  # the other way round

    def add(self, row: Row, line: str) -> None:
        """Judge one changed row."""
        mark, before = judge(line), judge(row.line)
        self.score.add(row, mark)
        if before.alarm == row.alarm != mark.alarm:
            (self.quiet if row.alarm else self.loud).append((row, line))


def views(every: int = 1) -> dict[str, View]:
    """All rows, or one of so many, changed in all ways."""
    found = {name: View() for name in ("names", "nouns", "said", "said, names", "tagged")}
    rows = [row for path in TUNED for row in rows_of(path)][::every]
    for number, row in enumerate(rows):
        found["tagged"].add(row, _TAGS[number % len(_TAGS)] + row.line)
        found["names"].add(row, masked(row.line))
        found["nouns"].add(row, masked(row.line, NOUNS))
        for line in said_otherwise(row.line):
            found["said"].add(row, line)
            found["said, names"].add(row, masked(line))
    return found


def said_otherwise(line: str) -> Iterator[str]:
    """The line with its first failure said by other turns of phrase."""
    for pattern, turns in _TURNS:
        if match := re.search(rf"(?<![\w/-]){pattern}", line):
            for turn in turns:
                other = turn[0].upper() + turn[1:] if match[0][0].isupper() else turn
                if other != match[0]:
                    yield line[: match.start()] + other + line[match.end() :]


def masked(line: str, least: int = NAMES) -> str:
    """The line with invented words for what lines of fewer than so many programs have in common."""
    kept, at = [], 0
    change = _changer(least)
    for match in _ESCAPE.finditer(line):
        kept += [_WORD.sub(change, line[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*kept, _WORD.sub(change, line[at:])])


@cache
def _common(least: int) -> frozenset[str]:
    seen: dict[str, set[str]] = {}
    for path in TUNED:
        for row in rows_of(path):
            for match in _WORD.finditer(row.line):
                for word in (match[0], *_PART.findall(match[0])):
                    seen.setdefault(word.lower(), set()).add(row.framework)
    return frozenset(word for word, programs in seen.items() if len(programs) >= least)


@cache
def _changer(least: int) -> Callable[[re.Match[str]], str]:
    common = _common(least)

    def special(word: str) -> bool:
        low = word.lower()
        known = low in common or low.removesuffix("s") in common
        return len(word) >= SHORTEST and not known and not _FAILURE.match(low)

    def change(match: re.Match[str]) -> str:
        word = match[0]
        if not special(word):
            return word
        return _PART.sub(lambda part: _invented(part[0]) if special(part[0]) else part[0], word)

    return change


@cache
def _invented(word: str) -> str:
    """As long, with capitals at the same places and the same grammatical ending; the same for the same letters."""
    ending = _GRAMMAR.search(word)
    stem = word[: ending.start()] if ending else word
    dice = blake2b(stem.lower().encode(), digest_size=32).digest()
    letters = []
    for at, old in enumerate(stem):
        kind = _VOWELS if (at + dice[-1]) % 2 else _CONSONANTS
        letter = kind[dice[at % 32] % len(kind)]
        letters.append(letter.upper() if old.isupper() else letter)
    return "".join(letters) + word[len(stem) :]


def shape(line: str) -> str:
    """How a failure is told."""
    return next(name for name, pattern in _SHAPES if re.search(pattern, line))


def report(shown: int) -> Iterator[str]:
    """The whole report, line by line."""
    found = views()
    for name, view in found.items():
        yield f"{name:12}  {view.score}"
    for name, view in found.items():
        for why, rows in (("no alarm any more", view.quiet), ("alarm now", view.loud)):
            yield f"\n{name}: {why} {len(rows)}"
            for text, count in Counter(shape(row.line) for row, _ in rows).most_common():
                yield f"  {count:5}  {text}"
            for row, line in rows[:shown]:
                yield f"         {row.label}: {line.strip()[:SHOWN]!r}"


if __name__ == "__main__":
    at = sys.argv.index("--misses") + 1 if "--misses" in sys.argv else None
    print("\n".join(report(int(sys.argv[at]) if at else 0)))
