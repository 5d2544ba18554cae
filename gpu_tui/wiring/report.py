"""What this machine keeps of each instance's results: the pull marker, and the teardown journal."""

from __future__ import annotations

import hashlib
import json
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
from gpu_tui.wiring.secret import secrets_held

MARKER = "PULL_VERIFIED.json"
MANIFEST = "PULL_MANIFEST.json"
MARKER_SCHEMA = "remote-gpu-trainer/PULL-VERIFIED/v1"
MARKER_CAP = 65_536
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
    records = read_journal(directory / "journal" / FILE_NAME).records
    return {
        instance.name: _proof(instance, [r for r in records if r.instance == instance.name])
        for instance in fleet.instances
    }


def _proof(instance: Instance, records: list[Record]) -> Proof:
    # A ladder that was only opened since takes nothing back of what was done.
    told = next(
        (r for r in reversed(records) if r.event in ACTED), records[-1] if records else None
    )
    last = f"{told.event} at {told.at}" if told else None
    loaded = next((r for r in reversed(records) if r.event == "loaded"), None)
    marked = _marker(Path(instance.results.local)) if instance.results.local else None
    if loaded is not None:
        bad = loaded.detail.get("bad")
        files = loaded.detail.get("files")
        count = files if isinstance(files, int) else None
        if bad or loaded.detail.get("refused"):
            return Proof(doubt=f"the last pull did not pass, at {loaded.at}", last=last)
        gone = None if _holds_files(instance) else "nothing lies in that directory now"
        mine = Proof(_epoch(loaded.at), "gpu-tui's own pull and load", count, gone, last)
        if marked is None or (mine.verified_at or 0.0) >= (marked.verified_at or 0.0):
            return mine
    if marked is not None:
        return Proof(marked.verified_at, marked.by, marked.files, marked.doubt, last)
    return Proof(last=last)


def _holds_files(instance: Instance) -> bool:
    """Whether anything is where this instance's results come home to."""
    local = instance.results.local
    try:
        return local is not None and any(Path(local).iterdir())
    except OSError:
        return False


def _marker(local: Path) -> Proof | None:
    """The marker that a verified pull leaves; one that belongs to another manifest proves nothing."""
    try:
        with (local / MARKER).open("rb") as file:
            said = json.loads(file.read(MARKER_CAP))
        if said["schema"] != MARKER_SCHEMA:
            return Proof(doubt=f"{MARKER} is of another schema")
        at, files = _epoch(said["verified_at_utc"]), said["files"]
        wanted = said["manifest_sha256"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Proof(doubt=f"{MARKER} cannot be read")
    try:
        with (local / MANIFEST).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return Proof(doubt=f"{MARKER} is there, its {MANIFEST} is not")
    if found != wanted:
        return Proof(doubt=f"{MARKER} was written for another {MANIFEST}")
    return Proof(at, MARKER, files if isinstance(files, int) else None)


def _epoch(text: str) -> float:
    """RFC 3339 with a zone. ValueError for anything else."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(text)
    return at.timestamp()
