"""When an instance was looked at long enough for a first word about it."""

from __future__ import annotations

from gpu_tui.core.metrics import (
    CPU,
    FILES,
    GPUS,
    HOST,
    KUBERNETES,
    MEMORY,
    MOUNTS,
    PROCESSES,
    ROSTER,
)
from gpu_tui.state.views import InstanceView

_WANTED = (GPUS, MEMORY, CPU, MOUNTS, HOST, PROCESSES, FILES)


def settled(view: InstanceView) -> bool:
    """True once everything that can be known of an instance at first sight is in."""
    if view.provider.state in ("stopped", "gone"):
        return True
    if view.link.state == "connecting":
        return False
    if not view.link.live:
        asked = view.provider.read_at is not None or view.provider.error is not None
        return asked or not view.instance.provider.id
    wanted = [metric.name for metric in _WANTED]
    if view.instance.here:  # no box: nothing else is sampled
        wanted = [HOST.name]
    if view.instance.scheduler == "kubernetes":
        wanted.append(KUBERNETES.name)
    queue = view.instance.queue
    if queue.file:
        wanted.append(ROSTER.name)
    answered = all(view.tracks.get(name) is not None for name in wanted)
    opened = {log.source.path for log in view.logs}
    return answered and not view.settling and (queue.log is None or queue.log in opened)
