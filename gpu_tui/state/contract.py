"""Views as the JSON that `check --json` prints. Keys and units are the published contract.

`null` means unknown or absent, never zero, and `why` says which. A NaN or Inf has no JSON number:
it becomes null and the text stands beside it in `why`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpu_tui.core import metrics
from gpu_tui.core.account import Account, Listed
from gpu_tui.core.campaign import MORE
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.findings import Finding, Severity, in_order
from gpu_tui.core.metrics import Metric
from gpu_tui.core.mount_state import shown, state_of
from gpu_tui.core.readings import Gpu, GpuTable, Memory, Mount
from gpu_tui.core.sample import Track
from gpu_tui.core.speech import counted, say
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import ESCALATES, Verdict
from gpu_tui.state.headline import ends_unsaid
from gpu_tui.state.views import FleetView, InstanceView

Json = dict[str, object]
VERSION = 1


def fleet_verdict(view: FleetView) -> str:
    """healthy, escalate or cannot-tell: the worst instance wins."""
    verdicts = {instance.verdict for instance in view.instances}
    alarms = any(finding.severity.rank <= Severity.SERIOUS.rank for finding in view.findings)
    if verdicts & ESCALATES or alarms:
        return "escalate"
    if not verdicts or Verdict.CANNOT_TELL in verdicts or ends_unsaid(view):
        return "cannot-tell"
    return "healthy"


def check_json(view: FleetView) -> Json:
    """The whole object of `check --json`."""
    return {
        "version": VERSION,
        "sweep": view.sweep,
        "taken_at": rfc3339(view.taken_at),
        "verdict": fleet_verdict(view),
        "instances": [instance_json(instance) for instance in view.instances],
        "clocks": [clock_json(clock) for clock in view.clocks],
        "findings": [{"about": one.instance, **finding_json(one)} for one in in_order(view.beside)],
        "unlisted": [unlisted_json(listed) for listed in view.unlisted],
        "balance": [balance_json(account) for account in view.accounts] or None,
    }


def instance_json(view: InstanceView) -> Json:
    """One instance."""
    gpus = view.track(metrics.GPUS)
    return {
        "name": view.name,
        "platform": view.instance.platform,
        "link": view.link.state,
        "link_error": view.link.error,
        "link_next": view.link.next,
        "hop": view.link.hop,
        "via": view.link.via,
        "verdict": view.verdict.value,
        "provider": {
            "state": view.provider.state,
            "read_at": rfc3339(view.provider.read_at),
            "error": view.provider.error,
        },
        "because": list(view.because),
        "cause": view.cause.value if view.cause else None,
        "latency_seconds": view.link.latency,
        "clock_skew_seconds": _rounded(view.clock_skew, 1),
        "uptime_seconds": view.uptime,
        "gpus": [_gpu(gpu, gpus.value) for gpu in (gpus.value.gpus if gpus.value else ())],
        "gpu_error": _gpu_error(gpus),
        "gpu_notes": list(gpus.value.notes) if gpus.value else [],
        "memory": _memory(view),
        "cpu": _cpu(view),
        "mounts": [_mount(mount, view) for mount in view.track(metrics.MOUNTS).value or ()],
        "queue": _queue(view.queue, view),
        "findings": [finding_json(finding) for finding in in_order(view.findings)],
        "cost": {
            "per_hour": view.cost.per_hour,
            "currency": view.cost.currency,
            "spent": _rounded(view.cost.spent, 4),
            "since": rfc3339(view.cost.since),
            "basis": view.cost.basis,
            "why": dict(view.cost.why),
        },
        "taken_at": rfc3339(view.last_contact),
        "why": _why(view),
    }


def finding_json(finding: Finding) -> Json:
    """One finding."""
    return {
        "id": finding.id,
        "kind": finding.kind,
        "severity": finding.severity.value,
        "cell": finding.cell,
        "count": finding.count,
        "first_seen": rfc3339(finding.first_seen),
        "first_seen_basis": finding.first_basis,
        "last_seen": rfc3339(finding.last_seen),
        "last_seen_basis": finding.last_basis,
        "evidence": finding.evidence,
        "source": finding.source,
        "remedy": finding.remedy,
    }


def unlisted_json(listed: Listed) -> Json:
    """One instance that a provider bills and no fleet file names."""
    return {
        "platform": listed.platform,
        "id": listed.id,
        "name": listed.name,
        "state": listed.state,
        "price_per_hour": listed.price.amount if listed.price else None,
        "currency": listed.price.currency if listed.price else None,
        "started_at": rfc3339(listed.started_at),
        "ends_at": rfc3339(listed.ends_at),
    }


def balance_json(account: Account) -> Json:
    """One account that was asked. With `spend_at_least` the runway is the longest that it can be."""
    spend = account.spend_per_hour
    return {
        "account": account.key,
        "platform": account.platform,
        "amount": account.balance.amount if account.balance else None,
        "currency": account.balance.currency if account.balance else None,
        "spend_per_hour": _rounded(spend.amount, 4) if spend else None,
        "spend_currency": spend.currency if spend else None,
        "spend_at_least": account.spend_at_least,
        "runway_seconds": _rounded(account.runway, 0),
        "read_at": rfc3339(account.read_at),
        "error": account.error,
        "why": dict(account.why),
    }


def clock_json(clock: DangerClock) -> Json:
    """One danger clock."""
    return {
        "id": clock.id,
        "instance": clock.instance,
        "state": clock.state,
        "starts": clock.starts,
        "started_at": rfc3339(clock.started_at),
        "started_basis": clock.started_basis,
        "fires_at": rfc3339(clock.fires_at),
        "earliest_fires_at": rfc3339(clock.earliest_fires_at),
        "latest_fires_at": rfc3339(clock.latest_fires_at),
        "bound": clock.bound,
        "stage": clock.stage,
        "subject": clock.subject,
        "note": clock.note,
        "why": clock.why,
        "loses": clock.loses,
        "bills": clock.bills,
        "severity": clock.severity,
        "avoid": clock.avoid,
        "source": clock.source,
        "verified": clock.verified,
        "confidence": clock.confidence,
        "stale_fact": clock.stale_fact,
    }


def _why(view: InstanceView) -> Mapping[str, str]:
    """Why a whole group has no value."""
    named: tuple[Metric[object], ...] = tuple(
        metrics.Metric(metric.name)
        for metric in (
            metrics.GPUS,
            metrics.MEMORY,
            metrics.CPU,
            metrics.MOUNTS,
            metrics.HOST,
            metrics.PROCESSES,
            metrics.ROSTER,
            metrics.FILES,
        )
    )
    reasons = {metric.name: view.track(metric).why for metric in named}
    return {name: why for name, why in reasons.items() if why is not None}


def _gpu(gpu: Gpu, table: GpuTable | None) -> Json:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "uuid": gpu.uuid,
        "utilization": gpu.utilization,
        "memory_used": gpu.memory_used,
        "memory_total": gpu.memory_total,
        "temperature": gpu.temperature,
        "power": gpu.power,
        "power_limit": gpu.power_limit,
        "sm_clock_hz": gpu.sm_clock_hz,
        "throttle": list(gpu.throttle),
        "mig": gpu.mig,
        "processes": [
            {"pid": process.pid, "name": process.name, "memory_used": process.memory_used}
            for process in gpu.processes
        ],
        "processes_hidden": bool(table and table.processes_hidden),
        "why": dict(gpu.why),
    }


def _gpu_error(track: Track[GpuTable]) -> Json | None:
    error = track.value.error if track.value else None
    return {"kind": error.kind, "text": error.text} if error else None


def _memory(view: InstanceView) -> Json | None:
    memory: Memory | None = view.track(metrics.MEMORY).value
    if memory is None:
        return None
    return {
        "source": memory.source,
        "used": memory.used,
        "limit": memory.limit,
        "peak": memory.peak,
        "oom_kill": memory.oom_kill,
        "level": memory.level,
        "needed": memory.needed,
        "host_available": memory.host_room,
        "host_total": memory.host_total,
        "why": dict(memory.why),
    }


def _cpu(view: InstanceView) -> Json | None:
    if view.track(metrics.CPU).value is None:
        return None
    cpu = view.cpu
    return {
        "quota_cores": cpu.quota_cores,
        "used_cores": _rounded(cpu.used_cores, 3),
        "host_load1": cpu.host_load1,
        "throttled_share": _rounded(cpu.throttled_share, 4),
    }


def _mount(mount: Mount, view: InstanceView) -> Json:
    fault = view.mount_faults.get(mount.path)
    mount = shown(mount, fault)
    return {
        "path": mount.path,
        "fstype": mount.fstype,
        "bytes_used": mount.bytes_used,
        "bytes_total": mount.bytes_total,
        "bytes_available": mount.bytes_available,
        "inodes_used": mount.inodes_used,
        "inodes_total": mount.inodes_total,
        "full_in_seconds": _rounded(view.full_in.get(mount.path), 0),
        "mounted_at": mount.place,
        "read_only": mount.read_only,
        "state": state_of(mount, fault),
        "why": dict(mount.why),
    }


def _queue(queue: Queue, view: InstanceView) -> Json | None:
    if view.instance.queue.file is None and not queue.cells and not queue.not_counted:
        return None
    return {
        "file": queue.file,
        "log": queue.log,
        "total": queue.total,
        "more": queue.more,
        "done": queue.count(CellState.FINISHED),
        "failed": queue.count(CellState.FAILED),
        "sync_failed": queue.count(CellState.SYNC_FAILED),
        "suspicious": queue.count(CellState.SUSPICIOUS),
        "eta_seconds": _rounded(queue.eta_seconds, 0),
        "remembered_from": rfc3339(view.queue_read),
        "unread_logs": queue.unread_logs,
        "not_counted": dict(queue.not_counted),
        "notes": [*queue.doubts, *queue.notes],
        "cells": [_cell(cell) for cell in queue.cells],
        "why": {"total": MORE} if queue.more else {},
    }


def logs_not_read(queue: Queue) -> str | None:
    """`12 older logs not read`, `9 of 15 running logs not read (9 not yet), 20 logs of ended jobs not read`; None if every
    log of a cell is read.
    """
    number = queue.unread_ends
    ends = say("{number} logs of ended jobs not read", number=number) if number else None
    if number == 1:
        ends = say("1 log of an ended job not read")
    return ", ".join(filter(None, (_of_running_not_read(queue), ends))) or None


def _of_running_not_read(queue: Queue) -> str | None:
    if not queue.unread_logs:
        return None
    if queue.unread_why:
        why = ", ".join(f"{number} {say(word)}" for word, number in queue.unread_why.items())
        running = max(queue.unread_logs, queue.count(CellState.RUNNING))
        return say(
            "{number} of {running} running logs not read ({why})",
            number=queue.unread_logs, running=running, why=why,
        )  # fmt: skip
    return say("{logs} not read", logs=counted(queue.unread_logs, "older log"))


def jobs_not_counted(queue: Queue) -> str | None:
    """`not counted: 2 interactive, 14 outside the filter`; None if every listed job is a cell."""
    if not queue.not_counted:
        return None
    jobs = ", ".join(f"{number} {say(why)}" for why, number in queue.not_counted.items())
    return say("not counted: {jobs}", jobs=jobs)


def _cell(cell: Cell) -> Json:
    why = {"state": cell.why} if cell.why else {}
    if cell.loss is not None and not math.isfinite(cell.loss):
        why["loss"] = str(cell.loss)
    return {
        "name": cell.name,
        "index": cell.index,
        "task": cell.task,
        "state": cell.state.value,
        "epoch": cell.epoch,
        "epochs": cell.epochs,
        "step": cell.step,
        "steps": cell.steps,
        "loss": _finite(cell.loss),
        "metrics": {name: _finite(value) for name, value in cell.metrics.items()},
        "exit_code": cell.exit_code,
        "started_at": rfc3339(cell.started_at),
        "finished_at": rfc3339(cell.finished_at),
        "duration_seconds": _rounded(cell.duration_seconds, 0),
        "eta_seconds": _rounded(cell.eta_seconds, 0),
        "eta_range_seconds": None
        if cell.eta_range is None
        else [_rounded(bound, 0) for bound in cell.eta_range],
        "artifact": cell.artifact,
        **asked_json(cell),
        "why": why,
    }


def asked_json(cell: Cell) -> Json:
    """The scheduler's fields: all null for a cell that no scheduler runs. `age_seconds`: since it was submitted."""
    return {
        "status": cell.status,
        "reason": cell.reason,
        "node": cell.node,
        "node_state": cell.node_state,
        "restarts": cell.restarts,
        "gpus": cell.gpus,
        "submitted_at": rfc3339(cell.submitted_at),
        "expected_start_at": rfc3339(cell.expected_at),
        "ends_by": rfc3339(cell.ends_by),
        "limit_seconds": _rounded(cell.limit_seconds, 0),
        "age_seconds": _rounded(cell.age_seconds, 0),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
