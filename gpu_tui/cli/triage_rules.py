"""`gpu-tui triage --rules`, `--explain` and `--check`: list the rules, explain a decision, run a file's samples."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_tui import user_rules
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import counted, headed, listed, say, told
from gpu_tui.parse.lines import clean, unescape
from gpu_tui.parse.triage.classify import Classifier, classifier, triage
from gpu_tui.parse.triage.envelope import PREFIX, error_message_start, message
from gpu_tui.parse.triage.ignored import without_ignored
from gpu_tui.parse.triage.rule import Rule
from gpu_tui.parse.triage.rule_file import RuleError
from gpu_tui.parse.triage.rule_set import RuleSet

MAX_ERROR_LENGTH = 400  # characters
MAX_VETOED = 5  # vetoed rules shown for one line


def run(args: argparse.Namespace) -> int:
    """Exit 0. `--explain` exits 1 for an alarm; `--check` 1 if a sample fails, 2 if the file cannot be read."""
    if args.check is not None:
        return _check(args.check)
    loaded = user_rules.load()
    for complaint in loaded.complaints:
        print(f"gpu-tui: {plain(told(complaint), MAX_ERROR_LENGTH)}", file=sys.stderr)
    if args.rules:
        print("\n".join(_rows(loaded.rules.rules, as_json=args.json)))
        return 0
    alarm = False
    for line in _lines_to_explain(args.explain):
        alarm |= _explain(line)
    return int(alarm)


def _rows(rules: tuple[Rule, ...], *, as_json: bool) -> Iterator[str]:
    if as_json:
        yield json.dumps([
            {
                "id": rule.id, "label": rule.label, "severity": rule.severity.value, "file": rule.file,
                "literals": [*rule.literals], "matches": len(rule.matches), "rejects": len(rule.rejects),
            }
            for rule in rules
        ])  # fmt: skip
        return
    width = max(len(rule.id) for rule in rules)
    for rule in rules:
        yield f"{rule.id:{width}}  {rule.label:12}  {say(rule.severity):8}  {clean(rule.file)}:{rule.line}"


def _lines_to_explain(given: str) -> Iterator[str]:
    if given != "-":
        yield given
        return
    for raw in sys.stdin.buffer:
        yield raw.decode("utf-8", "replace").rstrip("\r\n")


def _explain(line: str) -> bool:
    """Print which rule decides each segment of the line; True if one is an alarm."""
    alarm = False
    for segment in line.split("\r"):
        text = unescape(segment.encode("utf-8", "surrogateescape"))[0]
        if not text.strip():
            continue
        judge = classifier()
        text = judge.shortened(text)
        candidates = judge.rules.candidates(text.encode("utf-8", "replace").lower())
        decision = judge.decide(text, candidates)
        mark = triage(text)
        alarm |= mark.alarm
        alarm_word = say("an alarm") if mark.alarm else say("no alarm")
        print(f"{mark.label} ({say(mark.severity)}, {alarm_word}): {clean(text)}")
        decider = decision.rule
        by = (
            say("decided by {rule}", rule=_location(decider)) if decider else say("no rule decides")
        )
        print(f"  {by}")
        cut = _read_as(text, decider)
        if cut != text.rstrip():
            print(f"  {say('read as: {text}', text=clean(cut))}")
        asked = [judge.rules.rules[order] for order in candidates]
        if decider in asked:
            asked = asked[: asked.index(decider)]
        elif decider and (other := next((rule for rule in asked if rule.fits(cut)), None)):
            print(f"  {say('instead of {rule}', rule=_location(other))}")
        vetoed = [(rule, veto) for rule in asked if (veto := rule.veto(cut)) is not None]
        for rule, veto in vetoed[:MAX_VETOED]:
            vetoed_by = say(
                "not {rule}: its unless matches {pattern}", rule=_location(rule), pattern=veto
            )
            print(f"  {vetoed_by}")
    return alarm


def _read_as(text: str, decider: Rule | None) -> str:
    """The text that the deciding rule was asked about: the message alone if the rule does not fit the whole line."""
    body = PREFIX.sub("", text.rstrip())
    cut = without_ignored(body)
    begin = error_message_start(body) if decider and not decider.fits(cut) else 0
    return without_ignored(PREFIX.sub("", body[begin:])) if begin else cut


def _location(rule: Rule) -> str:
    return f"{rule.id} ({clean(rule.file)}:{rule.line})"


def _check(path: Path) -> int:
    complaints: list[str] = []
    try:
        read = user_rules.read_rules(path, complaints, complaints)
    except RuleError as error:
        print(f"gpu-tui: {plain(told(str(error), own=True), MAX_ERROR_LENGTH)}", file=sys.stderr)
        return 2
    for complaint in complaints:
        print(f"gpu-tui: {plain(told(complaint), MAX_ERROR_LENGTH)}", file=sys.stderr)
    failed = samples = 0
    for rule in read.rules:
        for sample, wanted in (
            *((s, True) for s in rule.matches),
            *((s, False) for s in rule.rejects),
        ):
            samples += 1
            if _fits(rule, sample.line) is not wanted:
                failed += 1
                why = (
                    say("does not fit a line of its matches")
                    if wanted
                    else say("fits a line of its rejects")
                )
                where = f"{clean(str(path))}:{rule.line}"
                print(f"{where}: {headed(f'{rule.id} {why}', clean(sample.line))}")
    counts = counted(len(read.rules), "rule"), counted(samples, "sample")
    print(listed([*counts, say("{failed} failed", failed=failed)]))
    return int(bool(failed or complaints))


def _fits(rule: Rule, line: str) -> bool:
    """True if the rule, without any other, decides a segment of the line; a rule without literals only has to fit."""
    judge = Classifier(RuleSet([rule], weak_file=""))
    for segment in line.split("\r"):
        text = judge.shortened(unescape(segment.encode("utf-8", "surrogateescape"))[0])
        candidates = judge.rules.candidates(text.encode("utf-8", "replace").lower())
        if judge.decide(text, candidates).rule is not None:
            return True
        if not rule.literals:
            cut = without_ignored(PREFIX.sub("", text.rstrip()))
            if rule.fits(cut) or rule.fits(message(cut)):
                return True
    return False
