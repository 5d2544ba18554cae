"""A fleet in Prometheus' text format, version 0.0.4: for a scrape, or for a textfile collector.

Names carry base units as Prometheus' conventions say. What is not known now has no sample at all: a stale
reading, an unknown one and an absent one are left out, and `gpu_tui_instance_last_contact_timestamp_seconds`
says how old the newest is. Every text of a box (a card's name, a cell) is a label value, freed of secrets, escaped and cut.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpu_tui.core import metrics
from gpu_tui.core.fleet import Money
from gpu_tui.core.mount_state import shown
from gpu_tui.core.plain import plain
from gpu_tui.core.sample import Freshness
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import FleetView, InstanceView, T

LABEL_WIDTH = 120
CELLS_SHOWN = 50  # of one instance: series of their own only for cells that run

# name -> (type, help). The order here is the order of the text.
FAMILIES: Mapping[str, tuple[str, str]] = {
    "build_info": ("gauge", "The version of gpu-tui, as a label."),
    "fleet_taken_at_timestamp_seconds": ("gauge", "When this text was made."),
    "instance_info": ("gauge", "One instance of the fleet file, with its platform and sweep."),
    "instance_up": ("gauge", "1 while the instance is connected over SSH, else 0."),
    "instance_verdict": ("gauge", "1 for the verdict that holds now, 0 for the others."),
    "instance_last_contact_timestamp_seconds": ("gauge", "When a probe last answered."),
    "instance_uptime_seconds": ("gauge", "Time since the box was booted."),
    "instance_clock_skew_seconds": ("gauge", "The box's clock minus ours."),
    "link_latency_seconds": ("gauge", "A round trip to the box."),
    "gpu_utilization_ratio": ("gauge", "Share of time in which a kernel ran, 0-1."),
    "gpu_memory_used_bytes": ("gauge", "Memory of a card in use."),
    "gpu_memory_size_bytes": ("gauge", "Memory of a card."),
    "gpu_temperature_celsius": ("gauge", "Temperature of a card."),
    "gpu_power_watts": ("gauge", "Power drawn by a card."),
    "gpu_power_limit_watts": ("gauge", "Power limit of a card."),
    "gpu_sm_clock_hertz": ("gauge", "Clock of a card's multiprocessors."),
    "gpu_throttled": ("gauge", "1 for each reason for which a card is slowed down."),
    "gpu_error": ("gauge", "1 while nvidia-smi gives an error of this kind."),
    "memory_used_bytes": ("gauge", "Main memory in use, by the cgroup that bounds the job."),
    "memory_limit_bytes": ("gauge", "Limit of that cgroup; no sample where there is none."),
    "memory_oom_kills_total": ("counter", "Processes that the cgroup's OOM killer ended."),
    "cpu_used_cores": ("gauge", "Cores that the job uses."),
    "cpu_quota_cores": ("gauge", "Cores that the job may use."),
    "mount_used_bytes": ("gauge", "Bytes in use on a mount."),
    "mount_size_bytes": ("gauge", "Bytes of a mount."),
    "mount_available_bytes": ("gauge", "Bytes that a user may still write on a mount."),
    "mount_bad": ("gauge", "1 while the runs cannot use a mount, by state."),
    "mount_used_inodes": ("gauge", "Inodes in use on a mount."),
    "mount_size_inodes": ("gauge", "Inodes of a mount; no sample where it has no count."),
    "mount_full_in_seconds": ("gauge", "Time until a mount is full at the present rate."),
    "queue_cells": ("gauge", "Cells of an instance's queue, by state."),
    "queue_eta_seconds": ("gauge", "Time until the queue ends, as far as it can be told."),
    "cell_progress_ratio": ("gauge", "How far a running cell has come, 0-1."),
    "cell_loss": ("gauge", "The last loss of a running cell; NaN and Inf stay what they are."),
    "cell_eta_seconds": ("gauge", "Time until a running cell ends."),
    "findings": ("gauge", "Findings that stand now, by kind and severity."),
    "clock_fires_timestamp_seconds": (
        "gauge",
        'When a danger clock fires; with bound="earliest" not before this.',
    ),
    "clock_fired": ("gauge", "1 for a danger clock that has fired."),
    "cost_per_hour": ("gauge", "What an instance costs per hour, in the currency of the label."),
    "cost_spent": ("gauge", "What an instance has cost so far, in the currency of the label."),
    "account_balance": ("gauge", "Balance of a provider's account."),
    "account_spend_per_hour": ("gauge", "What the whole account spends per hour."),
    "account_read_timestamp_seconds": ("gauge", "When the account was last listed."),
    "account_unlisted_instances": ("gauge", "Instances that bill and are in no fleet file."),
}
PREFIX = "gpu_tui_"
Labels = Mapping[str, str]


@dataclass(slots=True)
class _Samples:
    """All samples by family; one name with one set of labels comes once."""

    hide: Callable[[str], str]
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = field(default_factory=dict)

    def add(self, family: str, value: float | None, /, **labels: str | None) -> None:
        """Keep one sample; None is none. The first of two with the same labels stays."""
        if value is None:
            return
        key = tuple(
            (label, plain(self.hide(text), LABEL_WIDTH))
            for label, text in labels.items()
            if text is not None
        )
        self.found.setdefault(family, {}).setdefault(key, float(value))


def exposition(view: FleetView, version: str, hide: Callable[[str], str] = str) -> str:
    """The whole text, with a newline at its end. `hide` frees a label of secrets."""
    samples = _Samples(hide)
    samples.add("build_info", 1, version=version)
    samples.add("fleet_taken_at_timestamp_seconds", view.taken_at)
    for instance in view.instances:
        _instance(samples, instance, view.sweep)
    _findings(samples, view)
    _clocks(samples, view)
    _accounts(samples, view)
    return "".join(_text(samples))


def _text(samples: _Samples) -> Iterator[str]:
    for name, (kind, text) in FAMILIES.items():
        if rows := samples.found.get(name):
            full = PREFIX + name
            yield f"# HELP {full} {text}\n# TYPE {full} {kind}\n"
            for labels, value in rows.items():
                yield f"{full}{_labels(labels)} {_number(value)}\n"


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    parts = [f'{name}="{_escaped(text)}"' for name, text in labels]
    return "{" + ",".join(parts) + "}" if parts else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")


def _fresh(view: InstanceView, metric: metrics.Metric[T]) -> T | None:
    """A value that may be believed now."""
    return view.track(metric).value if view.freshness(metric) is Freshness.FRESH else None


def _instance(samples: _Samples, view: InstanceView, sweep: str | None) -> None:
    name = view.name
    samples.add("instance_info", 1, instance=name, platform=view.instance.platform, sweep=sweep)
    samples.add("instance_up", view.link.live, instance=name)
    for verdict in Verdict:
        samples.add(
            "instance_verdict", verdict is view.verdict, instance=name, verdict=verdict.value
        )
    samples.add("instance_last_contact_timestamp_seconds", view.last_contact, instance=name)
    if view.link.live:
        samples.add("instance_uptime_seconds", view.uptime, instance=name)
        samples.add("instance_clock_skew_seconds", view.clock_skew, instance=name)
        samples.add("link_latency_seconds", view.link.latency, instance=name)
    _gpus(samples, view)
    _memory(samples, view)
    _mounts(samples, view)
    _queue(samples, view)
    cost = view.cost
    samples.add("cost_per_hour", cost.per_hour, instance=name, currency=cost.currency)
    samples.add("cost_spent", cost.spent, instance=name, currency=cost.currency)


def _gpus(samples: _Samples, view: InstanceView) -> None:
    table = _fresh(view, metrics.GPUS)
    if table is None:
        return
    if table.error is not None:
        samples.add("gpu_error", 1, instance=view.name, kind=table.error.kind)
    for gpu in table.gpus:
        labels = {"instance": view.name, "gpu": str(gpu.index), "uuid": gpu.uuid, "name": gpu.name}
        for family, value in (
            ("gpu_utilization_ratio", gpu.utilization),
            ("gpu_memory_used_bytes", gpu.memory_used),
            ("gpu_memory_size_bytes", gpu.memory_total),
            ("gpu_temperature_celsius", gpu.temperature),
            ("gpu_power_watts", gpu.power),
            ("gpu_power_limit_watts", gpu.power_limit),
            ("gpu_sm_clock_hertz", gpu.sm_clock_hz),
        ):
            samples.add(family, value, **labels)
        for reason in gpu.throttle:
            samples.add("gpu_throttled", 1, **labels, reason=reason)


def _memory(samples: _Samples, view: InstanceView) -> None:
    memory = _fresh(view, metrics.MEMORY)
    if memory is not None:
        labels = {"instance": view.name, "source": memory.source}
        samples.add("memory_used_bytes", memory.used, **labels)
        samples.add("memory_limit_bytes", memory.limit, **labels)
        samples.add("memory_oom_kills_total", memory.oom_kill, **labels)
    if _fresh(view, metrics.CPU) is not None:
        samples.add("cpu_used_cores", view.cpu.used_cores, instance=view.name)
        samples.add("cpu_quota_cores", view.cpu.quota_cores, instance=view.name)


def _mounts(samples: _Samples, view: InstanceView) -> None:
    for read in _fresh(view, metrics.MOUNTS) or ():
        fault = view.mount_faults.get(read.path)
        mount = shown(read, fault)
        labels = {"instance": view.name, "mountpoint": mount.path}
        samples.add("mount_used_bytes", mount.bytes_used, **labels)
        samples.add("mount_size_bytes", mount.bytes_total, **labels)
        samples.add("mount_available_bytes", mount.bytes_available, **labels)
        if fault is not None:
            samples.add("mount_bad", 1, **labels, state=fault.state)
        samples.add("mount_used_inodes", mount.inodes_used, **labels)
        samples.add("mount_size_inodes", mount.inodes_total, **labels)
        samples.add("mount_full_in_seconds", view.full_in.get(mount.path), **labels)


def _queue(samples: _Samples, view: InstanceView) -> None:
    """Counts only of a queue that was read; a queue nobody has seen is not one of zero cells."""
    if not view.queue.cells:
        return
    counted = Counter(cell.state for cell in view.queue.cells)
    for state in CellState:
        samples.add("queue_cells", counted[state], instance=view.name, state=state.value)
    if not view.link.live:
        return
    samples.add("queue_eta_seconds", view.queue.eta_seconds, instance=view.name)
    running = [cell for cell in view.queue.cells if cell.state is CellState.RUNNING]
    for cell in running[:CELLS_SHOWN]:
        _cell(samples, view.name, cell)


def _cell(samples: _Samples, instance: str, cell: Cell) -> None:
    labels = {"instance": instance, "cell": cell.name}
    samples.add("cell_progress_ratio", cell.share, **labels)
    samples.add("cell_loss", cell.loss, **labels)
    samples.add("cell_eta_seconds", cell.eta_seconds, **labels)


def _findings(samples: _Samples, view: FleetView) -> None:
    counted = Counter((f.instance, f.kind, f.severity.value) for f in view.findings)
    for (instance, kind, severity), number in counted.items():
        samples.add("findings", number, instance=instance, kind=kind, severity=severity)


def _clocks(samples: _Samples, view: FleetView) -> None:
    for clock in view.clocks:
        labels = {"instance": clock.instance, "clock": clock.key, "severity": clock.severity}
        deadline, bound = clock.deadline, clock.bound
        samples.add("clock_fires_timestamp_seconds", deadline, **labels, bound=bound)
        if clock.state == "fired":
            samples.add("clock_fired", 1, **labels)


def _accounts(samples: _Samples, view: FleetView) -> None:
    for account in view.accounts:
        _money(samples, "account_balance", account.balance, account.key)
        _money(samples, "account_spend_per_hour", account.spend_per_hour, account.key)
        samples.add("account_read_timestamp_seconds", account.read_at, account=account.key)
        if account.complete:
            strangers = [one for one in view.unlisted if one in account.listed]
            samples.add("account_unlisted_instances", len(strangers), account=account.key)


def _money(samples: _Samples, family: str, money: Money | None, account: str) -> None:
    if money is not None:
        samples.add(family, money.amount, account=account, currency=money.currency)
