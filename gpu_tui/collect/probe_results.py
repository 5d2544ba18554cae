"""What runs left on the box in small files: metrics of finished cells, and a memory monitor's history.

Rows for the catalogue in `probes`.
"""

from __future__ import annotations

from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Sections, Target
from gpu_tui.collect.shell import quote_path, quote_pattern
from gpu_tui.core import metrics
from gpu_tui.core.artifact import CELL, layout_of
from gpu_tui.core.fleet import Instance
from gpu_tui.core.number import whole
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.mem_monitor import parse_mem_monitor
from gpu_tui.parse.nvidia_smi import NOT_FOUND, TIMED_OUT
from gpu_tui.parse.scores import FILE_BYTES, parse_scores

LIMIT = 4.0
SCORES_EVERY = 60.0
FILES_READ = 300  # metrics files; of more, the last by name
HISTORY_EVERY = 3_600.0  # only what was written before we came is of use
HISTORY_BYTES = 131_072
MONITOR = "mem_monitor.tsv"


def _scores_snippet(target: Target) -> str:
    files = layout_of(target.instance).metrics_files()
    if not files:
        return ""
    words = " ".join(quote_pattern(pattern) for pattern in files)
    return f"""
    [ "$n" -gt 0 ] || scored=
    open home; tell home "$HOME"; close 0
    set -- {words}
    open count; tell files "$#"; close 0
    [ $# -le {FILES_READ} ] || shift $(($# - {FILES_READ}))
    errors=2
    capture {LIMIT:.0f} head -c {FILE_BYTES} -- /dev/null "$@"
    errors=1
    if [ -n "$scored" ] && [ "$out" = "$scored" ]; then
        same scores
    else
        scored=$out
        show scores "$code"
    fi
"""


def _scores(target: Target, sections: Sections) -> object:
    section = sections.get("scores", NOTHING)
    if section.exit in TIMED_OUT:
        return NoValue(
            "reading metrics files does not return: a mount may be dead", FailureKind.HUNG
        )
    if section.exit in NOT_FOUND:
        return NoValue("the box has no `head` program")
    home = _word(sections, "home")
    count = _word(sections, "count")
    dropped = max(0, (whole(count) or 0) - FILES_READ)
    return parse_scores(
        section.body, layout_of(target.instance).metrics_files(), home or None, dropped
    )


def _word(sections: Sections, name: str) -> str:
    """The text of a section of one line, without its key."""
    text = sections.get(name, NOTHING).body.decode("utf-8", "replace").strip("\n")
    return text.partition(" ")[2]


def monitor_file(instance: Instance) -> str | None:
    """The memory monitor's file: as the fleet file names it, else beside the cells' logs."""
    if instance.queue.memory:
        return instance.queue.memory
    if instance.logs is None or CELL in instance.logs.rpartition("/")[0]:
        return None
    return instance.logs.rpartition("/")[0] + f"/{MONITOR}"


def _history_snippet(target: Target) -> str:
    file = monitor_file(target.instance)
    if file is None:
        return ""
    word = quote_path(file)
    return f"""
    if [ -f {word} ] && [ -r {word} ]; then
        ask head {LIMIT:.0f} head -c 1024 -- {word}
        ask tail {LIMIT:.0f} tail -c {HISTORY_BYTES} -- {word}
    fi
"""


def _history(target: Target, sections: Sections) -> object:
    file = monitor_file(target.instance) or ""
    if "tail" not in sections:
        return NoValue(f"no memory monitor writes {file}")
    head, tail = sections.get("head", NOTHING), sections["tail"]
    if tail.exit:
        return NoValue(f"reading {file} ended with {tail.exit}", FailureKind.GARBAGE)
    # The shell takes line ends off the end: whether the last line is whole is not known.
    whole, _, _ = tail.body.rstrip(b"\n").rpartition(b"\n")
    return parse_mem_monitor(file, head.body, whole + b"\n")


RESULTS: tuple[Probe, ...] = (
    Probe(metrics.SCORES.name, "files", SCORES_EVERY, LIMIT, _scores_snippet, _scores),
    Probe(metrics.PAST.name, "files", HISTORY_EVERY, LIMIT, _history_snippet, _history),
)
