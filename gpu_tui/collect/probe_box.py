"""The rows of the lane "box": small files of the kernel, asked at each beat without starting a program.

What they read stands here once, as data: sh reads it as the text that `snippet` makes of it, python
(`on_box`) as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Sections, Target
from gpu_tui.collect.shell import terse
from gpu_tui.core import metrics
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.box_host import parse_host
from gpu_tui.parse.cgroup import parse_cpu, parse_memory

# What changes seldom, or is costly to ask for (the kernel adds memory.stat up over all processors), is
# asked for every few seconds, and so is the load, which the kernel itself counts every five. oom_kill is
# not: when it rose is evidence.
SELDOM_BEATS, LIMIT_BEATS = 5, 15


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one file below a root (a variable of the prelude), or only the first called `name`.

    Without a `file` it is one line: what the variable `root` says, or the clock.
    """

    key: str
    root: str = ""
    file: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A section, read every so many `beats`. If there is a `kind`, that shell variable selects which `lines` are read.

    Lines whose root is `LEVEL` are read for each cgroup in the shell variable `levels`, numbered from ours outwards.
    """

    section: str
    beats: int
    kind: str
    lines: Mapping[str, tuple[Lines, ...]]  # by kind


LEVEL = "level"
MEMORY = (
    Part(
        "memory",
        1,
        "memory",
        {
            "v2": (
                Lines("v2.current", LEVEL, "memory.current"),
                Lines("v2.events", LEVEL, "memory.events", "oom_kill"),
            ),
            "v1": (
                Lines("v1.usage", LEVEL, "memory.usage_in_bytes"),
                Lines("v1.oom", LEVEL, "memory.oom_control", "oom_kill"),
            ),
            "host": (
                Lines("meminfo", "proc", "meminfo", "MemTotal:"),
                Lines("meminfo", "proc", "meminfo", "MemAvailable:"),
                Lines("vmstat", "proc", "vmstat", "oom_kill"),
            ),
        },
    ),
    Part(
        "seldom",
        SELDOM_BEATS,
        "memory",
        {
            "v2": (
                Lines("v2.peak", LEVEL, "memory.peak"),
                Lines("v2.stat", LEVEL, "memory.stat", "inactive_file"),
                Lines("v2.stat", LEVEL, "memory.stat", "active_file"),
            ),
            "v1": (
                Lines("v1.peak", LEVEL, "memory.max_usage_in_bytes"),
                Lines("v1.stat", LEVEL, "memory.stat", "total_inactive_file"),
                Lines("v1.stat", LEVEL, "memory.stat", "total_active_file"),
            ),
        },
    ),
    Part(
        "machine",
        SELDOM_BEATS,
        "",
        {
            "": tuple(
                Lines("meminfo", "proc", "meminfo", name)
                for name in ("MemTotal:", "MemAvailable:", "SwapTotal:", "SwapFree:", "Hugetlb:")
            )
        },
    ),
    Part(
        "limits",
        LIMIT_BEATS,
        "memory",
        {
            "v2": (
                Lines("v2.name", LEVEL),
                Lines("v2.max", LEVEL, "memory.max"),
                Lines("v2.high", LEVEL, "memory.high"),
            ),
            "v1": (
                Lines("v1.name", LEVEL),
                Lines("v1.limit", LEVEL, "memory.limit_in_bytes"),
            ),
        },
    ),
)
CPU = (
    Part(
        "cpu",
        1,
        "cpu",
        {
            "v2": (Lines("v2.stat", "cpu2", "cpu.stat"),),
            "v1": (
                Lines("v1.stat", "cpu1", "cpu.stat"),
                Lines("v1.usage", "acct1", "cpuacct.usage"),
            ),
        },
    ),
    Part("seldom", SELDOM_BEATS, "", {"": (Lines("loadavg", "proc", "loadavg"),)}),
    Part(
        "limits",
        LIMIT_BEATS,
        "",
        {
            "": (
                Lines("v2.max", "cpu2", "cpu.max"),
                Lines("v1.quota", "cpu1", "cpu.cfs_quota_us"),
                Lines("v1.period", "cpu1", "cpu.cfs_period_us"),
            )
        },
    ),
)
HOST = (
    Part(
        "host",
        1,
        "",
        {
            "": (
                Lines("date"),
                Lines("uptime", "proc", "uptime"),
                Lines("boot_id", "proc", "sys/kernel/random/boot_id"),
                Lines("hostname", "hostname"),
                Lines("machine", "machine"),
            )
        },
    ),
)
READ_FROM = {metrics.MEMORY.name: MEMORY, metrics.CPU.name: CPU, metrics.HOST.name: HOST}


EACH_LEVEL = """
        IFS=$newline at=0
        set -f
        for level in $levels; do
            unset IFS
            name=${level#"$top"}
            tell level "$at"
            at=$((at + 1))
"""
NEXT_LEVEL = """
        done
        set +f
        unset IFS
"""


def snippet(parts: tuple[Part, ...]) -> str:
    """The sh text that reads them."""
    return terse("".join(map(_section, parts)))


def _section(part: Part) -> str:
    if part.kind:
        cases = "".join(
            f"            {kind})\n{_words(lines, 16)}                ;;\n"
            for kind, lines in part.lines.items()
        )
        body = f"        case ${part.kind} in\n{cases}        esac\n"
    else:
        body = _words(part.lines[""], 8)
    text = f"        open {part.section}\n{body}        close 0\n"
    if part.beats == 1:
        return f"\n{text}"
    return (
        f"\n    if turn {part.beats}; then\n{text}    else\n        same {part.section}\n    fi\n"
    )


def _words(lines: tuple[Lines, ...], indent: int) -> str:
    text = "".join(f"{' ' * indent}{_line(line)}\n" for line in lines)
    if not (lines and lines[0].root == LEVEL):
        return text
    return f"{EACH_LEVEL}{text}{NEXT_LEVEL}"


def _line(line: Lines) -> str:
    if line.root == LEVEL and not line.file:
        return f'tell {line.key} "${{name:-/}}"'
    if line.file:
        return f'lines {line.key} "${line.root}/{line.file}" {line.name}'.rstrip()
    return f'tell {line.key} "${line.root}"' if line.root else "now"


def _joined(sections: Sections) -> bytes:
    return b"".join(section.body for section in sections.values())


def _memory(_: Target, sections: Sections) -> object:
    value = parse_memory(_joined(sections))
    return value or NoValue("neither a cgroup nor /proc/meminfo can be read on this box")


def _cpu(_: Target, sections: Sections) -> object:
    value = parse_cpu(_joined(sections))
    return value or NoValue("neither a cgroup nor /proc/loadavg can be read on this box")


def _host(_: Target, sections: Sections) -> object:
    value = parse_host(sections.get("host", NOTHING).body)
    return value or NoValue("the box's `date` gave no time", FailureKind.GARBAGE)


BOX: tuple[Probe, ...] = (
    Probe(metrics.MEMORY.name, "box", 0.0, 1.0, lambda _: snippet(MEMORY), _memory),
    Probe(metrics.CPU.name, "box", 0.0, 1.0, lambda _: snippet(CPU), _cpu),
    Probe(metrics.HOST.name, "box", 15.0, 1.0, lambda _: snippet(HOST), _host),
)
