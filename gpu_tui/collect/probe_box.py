"""The rows of the lane "box": small files of the kernel, asked at each beat without starting a program (`box/vitals.sh`)."""

from __future__ import annotations

from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Sections, Target
from gpu_tui.core import metrics
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.box_host import parse_host
from gpu_tui.parse.cgroup import parse_cpu, parse_memory


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
    Probe(metrics.MEMORY.name, "box", 0.0, 1.0, lambda _: "ask_memory", _memory),
    Probe(metrics.CPU.name, "box", 0.0, 1.0, lambda _: "ask_cpu", _cpu),
    Probe(metrics.HOST.name, "box", 15.0, 1.0, lambda _: "ask_host", _host),
)
