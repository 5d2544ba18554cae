"""Reports each triage rule's support in the labelled rows: `cd tests && python -m judgement.report_rules --help`.

For each rule: the rows that it decides, how many of them rightly, and from how many independent repositories they come
(`owner/name` of a row's source; our own runs count as one).
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from judgement.report_lines import CARD, HOLDOUT, TUNED, UNSEEN, Row, rows_of, score

from gpu_tui.core.logs import Mark
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.triage.classify import BENIGN, classifier
from gpu_tui.parse.triage.envelope import PREFIX, message
from gpu_tui.parse.triage.ignored import without_ignored
from gpu_tui.parse.triage.rule import Rule, alternatives

_REPOSITORY = re.compile(r"https?://github\.com/([^/]+/[^/#@:]+)|([\w.-]+/[\w.-]+)[@#:]")


def repository(source: str) -> str:
    """`owner/name` of a row's source; without one, the first 40 characters of the source."""
    found = _REPOSITORY.match(source)
    return (found[1] or found[2]).lower() if found else source[:40]


@cache
def rows() -> tuple[Row, ...]:
    """Every labelled row except the held-out ones."""
    return tuple(row for path in (*TUNED, CARD) for row in rows_of(path))


def decisions(line: str) -> list[tuple[Mark, Rule | None]]:
    """For each segment of a line: its mark and the rule that decided."""
    judge, found = classifier(), []
    for segment in line.encode("utf-8", "surrogatepass").split(b"\r"):
        text = unescape(segment)[0]
        candidates = judge.rules.candidates(text.encode("utf-8", "replace").lower())
        decision = judge.decide(text, candidates)
        found.append((decision.mark or BENIGN, decision.rule))
    return found


@cache
def rows_by_rule() -> dict[str | None, list[tuple[Row, Mark]]]:
    """Rule id -> the rows in which the rule decides a segment, with its mark."""
    found: defaultdict[str | None, list[tuple[Row, Mark]]] = defaultdict(list)
    for row in rows():
        for mark, rule in decisions(row.line):
            found[rule.id if rule else None].append((row, mark))
    return dict(found)


def support(rule: Rule) -> set[str]:
    """The repositories of the rows that the rule decides as labelled (alarm or look-alike).

    A rule without literals decides only where another rule alarms. For it, the rows without alarm that it fits count.
    """
    if not rule.literals:
        return {
            repository(row.source)
            for row, texts in rows_without_alarm()
            if any(map(rule.fits, texts))
        }
    return {
        repository(row.source)
        for row, mark in rows_by_rule().get(rule.id, [])
        if row.alarm == mark.alarm and (not row.alarm or row.label == mark.label)
    }


@cache
def rows_without_alarm() -> tuple[tuple[Row, list[str]], ...]:
    """Each row without alarm, and its segments as the rules see them, with and without a logger's stamp."""
    calm = [(row, texts_of(row.line)) for row in rows() if not row.alarm]
    return tuple((row, [*texts, *filter(None, map(message, texts))]) for row, texts in calm)


def texts_of(line: str) -> list[str]:
    """The segments of a line as the rules see them: without the prefix and the ignored parts."""
    raw = line.encode("utf-8", "surrogatepass").split(b"\r")
    return [without_ignored(PREFIX.sub("", unescape(one)[0].rstrip())) for one in raw]


def table(file: str | None) -> Iterator[str]:
    """A line for each rule, then the totals. `file`: only rules of files whose name begins with it."""
    rules = classifier().rules.rules
    yield f"{'rule':34} {'chars':>6} {'rows':>5} {'right':>5} {'wrong':>5} {'label':>5} {'repos':>5} {'samples':>7}"
    for rule in rules:
        if file and not rule.file.startswith(file):
            continue
        seen = rows_by_rule().get(rule.id, [])
        right = sum(row.alarm == mark.alarm for row, mark in seen)
        labels = sum(row.label == mark.label for row, mark in seen)
        yield (
            f"{rule.id:34} {pattern_size(rule):6} {len(seen):5} {right:5} {len(seen) - right:5} {labels:5} "
            f"{len(support(rule)):5} {len(rule.matches):3}/{len(rule.rejects)}"
        )
    yield f"{len(rules)} rules, {sum(map(pattern_size, rules))} characters of pattern"


def written_patterns(rule: Rule) -> list[str]:
    """The rule's patterns as written in its file."""
    asked = (rule.pattern, *rule.unless, *((rule.also,) if rule.also else ()))
    return [one.written for one in asked]


def pattern_size(rule: Rule) -> int:
    """The number of characters in the rule's patterns, as written."""
    return sum(map(len, written_patterns(rule)))


def alternative_uses(name: str) -> Iterator[str]:
    """For each top-level alternative of a rule: the rows that it decides, their repositories, two examples."""
    rule = next(rule for rule in classifier().rules.rules if rule.id == name)
    seen = rows_by_rule().get(name, [])
    for part in alternatives(rule.pattern.expanded):
        asked = re.compile(part, re.IGNORECASE)
        hits = [(row, mark) for row, mark in seen if asked.search(row.line)]
        right = sum(row.alarm == mark.alarm for row, mark in hits)
        repos = {repository(row.source) for row, _ in hits}
        yield f"{right:4} right {len(hits) - right:3} wrong {len(repos):3} repos  {part}"
        for row, _ in hits[:2]:
            yield f"          {row.line[:160]!r}"


def wrong_alarms(silenced: bool) -> Iterator[str]:
    """By rule: the rows that wrongly alarm; with `silenced`, the alarms that a rule suppressed."""
    found = []
    for rule in classifier().rules.rules:
        for row, mark in rows_by_rule().get(rule.id, []):
            wrong = row.alarm != any(other.alarm for other, _ in decisions(row.line))
            if wrong and row.alarm == silenced and mark.alarm != silenced:
                found.append(
                    f"{rule.id:28} {row.label}: {row.line[:220]!r}  [{repository(row.source)}]"
                )
    yield from found
    yield f"{len(found)} rows"


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", help="only the rules of files whose name begins with FILE")
    parser.add_argument("--misses", metavar="LABEL", help="rows of LABEL that did not get it")
    parser.add_argument("--false", metavar="ID", help="rows that rule ID decides wrongly")
    parser.add_argument(
        "--false-alarms", action="store_true", help="rows that wrongly alarm, by rule"
    )
    parser.add_argument("--silenced", action="store_true", help="alarms that a rule suppressed")
    parser.add_argument(
        "--alternatives", metavar="ID", help="the rows that each alternative of rule ID fits"
    )
    parser.add_argument("--sums", action="store_true", help="only the totals")
    args = parser.parse_args()
    if args.misses:
        for row in rows():
            if row.label == args.misses:
                marks = decisions(row.line)
                if row.alarm != any(mark.alarm for mark, _ in marks) or not any(
                    mark.label == row.label for mark, _ in marks
                ):
                    got = ", ".join(
                        f"{mark.label}<{rule.id if rule else '-'}>" for mark, rule in marks[-3:]
                    )
                    print(
                        f"{'!' if row.alarm else ' '} {got}: {row.line[:220]!r}  [{repository(row.source)}]"
                    )
    elif args.false:
        for row, mark in rows_by_rule().get(args.false, []):
            if row.alarm != mark.alarm or row.label != mark.label:
                print(
                    f"{row.label}{'!' if row.alarm else ''} -> {mark.label}{'!' if mark.alarm else ''}: {row.line[:220]!r}  [{repository(row.source)}]"
                )
    elif args.false_alarms or args.silenced:
        print("\n".join(wrong_alarms(args.silenced)))
    elif args.alternatives:
        print("\n".join(alternative_uses(args.alternatives)))
    elif not args.sums:
        print("\n".join(table(args.file)))
    print(f"tuned on   {score(row for path in TUNED for row in rows_of(path))}")
    print(f"whole logs {score(rows_of(CARD))}")
    print(f"held out   {score(rows_of(HOLDOUT))}")
    print(f"unseen     {score(rows_of(UNSEEN))}")


if __name__ == "__main__":
    main()
