"""Keeps in the history which disks of a box were mounted at earlier looks, because `check` sees a box once per run."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gpu_tui.core.fleet import Instance
from gpu_tui.core.mount_state import SeenMount
from gpu_tui.core.readings import Mount
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.runs_before import box_of

MOUNTS = "mounts"  # name of the counter in the history
KEPT = 7 * 86400.0  # seconds: a disk last seen longer ago was removed on purpose
MOST = 32
LONGEST = 1024  # characters of a path


class MountsBefore:
    """Notes which mounts were filesystems of their own, and whether they were writable."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._seen: dict[str, tuple[SeenMount, float]] = {}
        self._written_at: float | None = None
        self._machine: str | None = None
        self._read = False

    def look(self, mounts: tuple[Mount, ...], host_key: str | None, at: float) -> None:
        """Take one reading, as of `at`. Another host key means another machine."""
        if not self._read or host_key != self._machine:
            self._read, self._machine = True, host_key
            self._seen, self._written_at = self._recalled(host_key, at), None
        new = False
        for mount in mounts:
            own = mount.place is not None and mount.place.rstrip("/") == mount.path.rstrip("/")
            if not own or mount.trouble or len(mount.path) > LONGEST or mount.place == "/":
                continue
            before = self._seen.get(mount.path)
            writable = not mount.read_only or (before is not None and before[0].writable)
            seen = SeenMount(mount.fstype, writable)
            new = new or before is None or before[0] != seen
            if before is not None or len(self._seen) < MOST:
                self._seen[mount.path] = seen, at
        if not self._seen:
            return
        last = self._written_at
        if new or last is None or not 0 <= at - last < CONTACT_EVERY:
            self._written_at = at
            rows = {p: [s.fstype, s.writable, t] for p, (s, t) in self._seen.items()}
            text = json.dumps([self._box, host_key, rows])
            self._history.set_counter(self._name, MOUNTS, text, at)

    def read(self, now: float) -> Mapping[str, SeenMount]:
        """By path, the mounts of this machine that were seen lately."""
        return {path: seen for path, (seen, at) in self._seen.items() if now - at <= KEPT}

    def _recalled(self, host_key: str | None, now: float) -> dict[str, tuple[SeenMount, float]]:
        try:
            box, key, rows = json.loads(self._history.counter(self._name, MOUNTS) or "")
            if box != self._box or (key and host_key and key != host_key):
                return {}
            return {
                path: (SeenMount(fstype, bool(writable)), float(at))
                for path, (fstype, writable, at) in rows.items()
                if now - float(at) <= KEPT
            }
        except (ValueError, TypeError, AttributeError):
            return {}
