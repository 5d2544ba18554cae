"""This machine's records of each instance's results: the journal, and the manifest of the last pull.

A file among the results is no proof: the box may have written it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from gpu_tui import settings
from gpu_tui.core.fleet import Fleet, Instance
from gpu_tui.core.mask import Mask
from gpu_tui.parse.host import HostAddress, parse_host
from gpu_tui.state.report import Proof
from gpu_tui.state.views import FleetView
from gpu_tui.teardown.journal import FILE_NAME, Record, read_journal
from gpu_tui.teardown.local import hash_file
from gpu_tui.teardown.manifest_file import KEPT, MARKER_NAME
from gpu_tui.wiring.secret import secrets_held

ACTED = frozenset(
    {"intent", "call", "answer", "read-back", "confirmed-gone", "still-there", "unknown", "stated"}
)


def mask_of(fleet: Fleet, view: FleetView, *, show_hosts: bool) -> Mask:
    """What must not stand in a report of this fleet."""
    hosts = set()
    for instance in view.instances:
        if instance.instance.ssh.host != instance.name:
            hosts.add(instance.instance.ssh.host)
        hosts |= {hop.host for hop in hops_of(instance.instance)}
        if instance.provider.address:
            hosts.add(instance.provider.address[0])
    home = str(settings.user_home(os.environ))
    return Mask(tuple(secrets_held(fleet)), tuple(hosts), home, show_hosts)


def hops_of(instance: Instance) -> tuple[HostAddress, ...]:
    """The jump hosts that the fleet file names on the way to this box."""
    jump = instance.ssh.jump or "none"
    return tuple(map(parse_host, map(str.strip, jump.split(",")))) if jump != "none" else ()


def proofs_of(fleet: Fleet, *, state: Path | None = None) -> Mapping[str, Proof]:
    """The proof of each instance, from files of this machine alone."""
    directory = state or settings.state_dir(os.environ)
    try:
        found = read_journal(directory / "journal" / FILE_NAME, own=True)
        damage = found.damage
    except OSError as error:
        damage = error.strerror or type(error).__name__
    if damage:
        nothing = Proof(doubt=f"the teardown journal proves nothing: {damage}")
        return {instance.name: nothing for instance in fleet.instances}
    return {
        instance.name: _proof(instance, [r for r in found.records if r.instance == instance.name])
        for instance in fleet.instances
    }


def _proof(instance: Instance, records: list[Record]) -> Proof:
    # A ladder that was only opened since takes nothing back of what was done.
    told = next(
        (r for r in reversed(records) if r.event in ACTED), records[-1] if records else None
    )
    last = f"{told.event} at {told.at}" if told else None
    loaded = next((r for r in reversed(records) if r.event == "loaded"), None)
    local = Path(instance.results.local) if instance.results.local else None
    if loaded is None:
        marked = local is not None and os.path.lexists(local / MARKER_NAME)
        doubt = (
            f"this machine's journal has no load that {MARKER_NAME} is about" if marked else None
        )
        return Proof(doubt=doubt, last=last)
    bad, files = loaded.detail.get("bad"), loaded.detail.get("files")
    if bad or loaded.detail.get("refused"):
        return Proof(doubt=f"the last pull did not pass, at {loaded.at}", last=last)
    gone = None if _holds_files(local) else "nothing lies in that directory now"
    wanted = loaded.detail.get("manifest_sha256")  # gpu-tui 0.1.0 wrote none
    if wanted is not None and gone is None and wanted != _kept(local):
        return Proof(doubt=f"that directory is not as it was loaded at {loaded.at}", last=last)
    count = files if isinstance(files, int) else None
    return Proof(_epoch(loaded.at), "gpu-tui's own pull and load", count, gone, last)


def _holds_files(local: Path | None) -> bool:
    """Whether anything is where this instance's results come home to."""
    try:
        return local is not None and any(local.iterdir())
    except OSError:
        return False


def _kept(local: Path | None) -> str | None:
    """SHA-256 of the manifest of the last pull there; None where there is none."""
    try:
        return None if local is None else hash_file(local / KEPT)[1]
    except OSError:
        return None


def _epoch(text: str) -> float:
    """RFC 3339 with a zone. ValueError for anything else."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(text)
    return at.timestamp()
