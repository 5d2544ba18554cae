"""`gpu-tui triage`: say of every line of a log what it is, and whether a person should look now."""

from __future__ import annotations

import argparse
import codecs
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpu_tui import user_rules
from gpu_tui.core.findings import Severity
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import counted, say, told

if TYPE_CHECKING:
    from gpu_tui.core.logs import LogLine, Progress
    from gpu_tui.state.traces import CellTrace

EXAMPLE = "gpu-tui triage --json runs/logs/no_aug.log"

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CHUNK = 262_144  # bytes read at once
SAMPLES, FULL = 64, 1_024  # reports of each chunk that are read for the course of the losses
FULL_CHUNKS = 16  # so many have as many as that
NUMBERS = re.compile(r"[0-9]+(?:[.,][0-9]+)*(?:e[-+]?[0-9]+)?")
QUIET = ("progress", "benign")  # labels that are no kind of finding
FIELDS = (
    "epochs", "step", "steps", "percent", "elapsed_seconds", "eta_seconds", "rate_per_second",
)  # fmt: skip
VALUES = ("loss", "val_loss", "lr")


class UnreadableLog(Exception):
    """The log cannot be read. `next` says what to do."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="a log, or - for stdin"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each line")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--rules", action="store_true", help="list the rules, in the order in which they are asked"
    )
    instead.add_argument(
        "--explain", nargs="?", const="-", metavar="LINE",
        help="show which rule decides a line, and which rules their unless excludes; - reads lines from stdin",
    )  # fmt: skip
    instead.add_argument(
        "--check", type=Path, metavar="FILE", help="run the samples of your own rule file"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 1 where any line is an alarm, else 0. Output follows input: a pipe may stay open."""
    if args.rules or args.explain is not None or args.check is not None:
        from gpu_tui.cli import triage_rules

        return triage_rules.run(args)
    from gpu_tui.core.log_block import telling
    from gpu_tui.state.traces import CellTrace

    for complaint in user_rules.complaints():
        print(f"gpu-tui: {plain(told(complaint), 400)}", file=sys.stderr)
    seen: Counter[tuple[str, Severity]] = Counter()
    number, loud, trace = 0, _Loud(), CellTrace()
    with _open(args.file) as source, closing(loud):  # also where a person has seen enough
        for lines in _batches(source):
            # People see what matters, so only that is read; a program gets every line.
            for place, line in enumerate(lines) if args.json else telling(lines):
                mark = line.mark
                seen[mark.label, mark.severity] += 1
                if args.json:
                    print(json.dumps(line_json(number + place + 1, line), allow_nan=False))
                    continue
                trace.take(line, 0.0, live=False)
                if mark.severity is not Severity.NONE:
                    loud.take(number + place + 1, line)
            number += len(lines)
            sys.stdout.flush()
    if not args.json:
        print(_summary(number, seen, trace))
    return int(any(severity.rank <= Severity.SERIOUS.rank for _, severity in seen))


class _Loud:
    """Prints what matters; of what comes again and again, but for its numbers, how often and up to where."""

    def __init__(self) -> None:
        self._like: tuple[str, Severity, str] | None = None
        self._again = self._first = self._last = 0

    def take(self, number: int, line: LogLine) -> None:
        """One line that is more than progress or nothing."""
        mark, text = line.mark, line.text.strip()
        like = mark.label, mark.severity, NUMBERS.sub("0", text)
        if like == self._like:
            self._first, self._last = self._first or number, number
            self._again += 1
            return
        self.close()
        self._like = like
        print(f"{number}: {say(mark.severity)} {mark.label}: {text}")

    def close(self) -> None:
        """What was held back of the last one."""
        if self._again:
            where = f"{self._first}-{self._last}" if self._again > 1 else str(self._last)
            print(f"{where}: {say('{number} more like it', number=self._again)}")
        self._like, self._again, self._first = None, 0, 0


def line_json(number: int, line: LogLine) -> dict[str, object]:
    """The object of one line, as the contract has it."""
    mark = line.mark
    return {
        "n": number,
        "kind": None if mark.label in QUIET else mark.label,
        "severity": mark.severity.value,
        "alarm": mark.alarm,
        "progress": None if line.progress is None else progress_json(line.progress),
    }


def progress_json(progress: Progress) -> dict[str, object]:
    """The numbers of one line. JSON has no NaN and no Inf: such a value is null, and the word stands
    beside it (`loss_text`, `metrics_text`).
    """
    exact = progress.epoch_exact
    found: dict[str, object] = {"epoch": progress.epoch if exact is None else exact}
    found |= {name: getattr(progress, name) for name in FIELDS}
    for name in VALUES:
        value = getattr(progress, name)
        found[name] = _finite(value)
        if value is not None and not math.isfinite(value):
            found[f"{name}_text"] = str(value)
    found["metrics"] = {name: _finite(value) for name, value in progress.metrics.items()}
    words = {name: str(v) for name, v in progress.metrics.items() if not math.isfinite(v)}
    if words:
        found["metrics_text"] = words
    return found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _open(name: str) -> BinaryIO:
    if name == "-":
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    try:
        return Path(name).open("rb", buffering=0)
    except OSError as error:
        from gpu_tui.parse.lines import clean

        raise UnreadableLog(
            f"cannot read {clean(name)}: {error.strerror}",
            "Name a log file, or - for standard input.",
        ) from error


def _batches(source: BinaryIO) -> Iterator[Sequence[LogLine]]:
    """The lines that each chunk finishes, as soon as the chunk is there."""
    from gpu_tui.parse.log_reader import LogReader

    reader = LogReader()
    chunk, chunks = source.read(CHUNK), 0
    as_utf8 = _from_utf16() if chunk.startswith(UTF16) else lambda raw: raw
    while chunk:
        samples = FULL if chunks < FULL_CHUNKS else SAMPLES
        yield reader.feed(as_utf8(chunk), samples, unfinished=False)
        chunk, chunks = source.read(CHUNK), chunks + 1
    yield reader.close()


def _from_utf16() -> Callable[[bytes], bytes]:
    """What PowerShell's `>` writes; read as it stands every line of it would be quiet."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    return lambda raw: decoder.decode(raw).encode("utf-8", "replace")


def _summary(lines: int, seen: Counter[tuple[str, Severity]], trace: CellTrace) -> str:
    """How many lines there were of each kind, and what no line says alone: how the losses stand at the end."""
    loud = sorted(
        (item for item in seen.items() if item[0][1] is not Severity.NONE),
        key=lambda item: (item[0][1].rank, -item[1]),
    )
    parts = [f"{count} {label} ({say(severity)})" for (label, severity), count in loud]
    spike, plateau = None if trace.diverged else trace.watch.spike, trace.watch.plateau
    parts += [told(state.told) for state in (spike, plateau) if state is not None]
    return f"{counted(lines, 'line')}: {', '.join(parts) or say('nothing to see')}"
