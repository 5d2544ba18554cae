"""`gpu-tui doctor`: can everything that the cockpit needs be had from here, box by box?"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.cli.fleet_args import add_fleet_arguments, fleet_of, look, seconds
from gpu_tui.cli.streams import only_one
from gpu_tui.cli.trouble import words_of
from gpu_tui.core import units
from gpu_tui.core.levels import SKEW, Level, level, share
from gpu_tui.core.plain import plain
from gpu_tui.core.remedies import remedy
from gpu_tui.core.sample import Absent
from gpu_tui.core.speech import say, told
from gpu_tui.new_file import write_new
from gpu_tui.settings import must_not_act

if TYPE_CHECKING:
    from gpu_tui.core.fleet import Fleet
    from gpu_tui.core.jobs import JobTable
    from gpu_tui.core.mount_state import MountFault
    from gpu_tui.core.profile import Sign
    from gpu_tui.core.readings import GpuTable, Host, Memory, Mount
    from gpu_tui.core.sample import Track
    from gpu_tui.core.ssh_route import SshRoute
    from gpu_tui.core.sweep import Roster
    from gpu_tui.state.views import FleetView, InstanceView

EXAMPLE = "gpu-tui doctor --bundle; gpu-tui doctor my-box --route"

STDOUT = "-"
LEAST_FREE = 10 * 1024**3  # bytes: below it a pull of a few checkpoints will not fit
NAMES = {"clock": "the box's clock"}  # of checks, where a person needs more than a program
READERS = {  # that a verify needs beside torch, each by the files that it is for
    "safetensors": ".safetensors",
    "h5py": ".h5, .hdf5 and .keras",
    "msgpack": ".msgpack",
}
MARKS = {
    "ok": "ok  ",
    "note": "note",
    "warn": "warn",
    "fail": "FAIL",
    "unknown": "?   ",
}  # four cells


class Unbundled(Exception):
    """A place for a file that nobody asked for."""

    next = "Add --bundle, or leave out --out."

    def __init__(self) -> None:
        super().__init__("--out says where --bundle writes, and --bundle is not there")


@dataclass(frozen=True, slots=True)
class Item:
    """One check. `instance` is None for what is about this machine; `status` ok, warn, fail, unknown, or note:
    nothing to mend, and perhaps not what one expects.
    """

    instance: str | None
    check: str
    status: str
    detail: str
    next: str | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_fleet_arguments(parser)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="check these hosts, no fleet file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument(
        "--route",
        action="store_true",
        help="only show how each host would be reached; no connection is opened",
    )
    alone.add_argument(
        "--bundle",
        action="store_true",
        help="write a scrubbed text for the report of a bug; nothing is sent",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="where --bundle writes it: a new file, - for stdout"
    )
    parser.add_argument(
        "--limit", type=seconds, default=30.0, metavar="SECONDS", help="give up on a box after this"
    )


def run(args: argparse.Namespace) -> int:
    """Exit 0 where all is well, 1 where anything is not, 2 where it cannot be told at all."""
    from gpu_tui import wiring

    if args.out is not None and not args.bundle:
        raise Unbundled
    only_one(args.json, args.bundle and args.out == STDOUT)
    fleet = fleet_of(args)
    if args.route:
        return show_routes(fleet, as_json=args.json)
    settings = [settings_item(wrong) for wrong in wiring.misfits(os.environ)]
    view = look(fleet, args.limit)
    items = [
        *settings,
        *machine_items(fleet),
        *(item for box in view.instances for item in box_items(box)),
    ]
    if args.bundle:
        _bundle(fleet, view, items, args.out)
    if args.json:
        body = {"version": 1, "items": [asdict(item) for item in items]}
        print(json.dumps(body, ensure_ascii=False))
    elif not args.bundle:
        _print(items)
    return exit_code(items, view)


def show_routes(fleet: Fleet, *, as_json: bool) -> int:
    """Print the route to each host; a LinkError where ssh refuses its configuration."""
    from gpu_tui.wiring.routes import alone_sentence, read_alone, routes_of

    ssh_routes: list[SshRoute] = routes_of(fleet)
    if as_json:
        body = {"version": 1, "routes": [asdict(ssh_route) for ssh_route in ssh_routes]}
        print(json.dumps(body, ensure_ascii=False))
        return 0
    for ssh_route in ssh_routes:
        print(plain(ssh_route.host))
        rows = [
            (say("address"), str(ssh_route)),
            *((say("jump host"), f"{jump.host}: {jump}") for jump in ssh_route.jumps),
            ("ProxyCommand", ssh_route.proxy_command),
            *((say("key"), file) for file in ssh_route.identity_files),
            (say("resolved by"), ssh_route.source),
        ]
        for label, text in rows:
            if text is not None:
                print(f"  {label}: {plain(text)}")
    for file in read_alone(fleet):
        print(plain(told(alone_sentence(file))))
    return 0


def _bundle(fleet: Fleet, view: FleetView, items: list[Item], out: str | None) -> None:
    """A new file in the directory that one stands in, unless one is named."""
    from gpu_tui.wiring.support import bundle_of

    lines = (
        f"{item.status}: {item.instance or 'this machine'}: {item.check}: {item.detail}"
        for item in items
    )
    text = bundle_of(fleet, view, lines)
    if out == STDOUT:
        print(text, end="")
        return
    stamp = datetime.fromtimestamp(view.taken_at, UTC).strftime("%Y%m%dT%H%M%SZ")
    path = Path(out or f"gpu-tui-bundle-{stamp}.md")
    write_new(path, text.encode("utf-8", "replace"), mode=0o600)
    print(path)
    print(say("Nothing was sent. Read it through before you hand it on."), file=sys.stderr)


def exit_code(items: list[Item], view: FleetView) -> int:
    """0 ok, 1 findings, 2 when not one box could be reached."""
    if not any(box.link.live for box in view.instances):
        return 2
    return 0 if all(item.status in ("ok", "note") for item in items) else 1


def settings_item(wrong: Exception) -> Item:
    """Something that the cockpit refuses of the user's settings."""
    text, step = words_of(wrong)
    file, line = getattr(wrong, "file", None), getattr(wrong, "line", None)
    place = ":".join(str(part) for part in (file, line) if part is not None)
    return Item(None, "settings", "fail", f"{text} ({place})" if place else text, step)


def machine_items(fleet: Fleet) -> Iterator[Item]:
    """What is about this machine: what loads checkpoints, and room for the results."""
    version = _installed("torch")
    install = f"{Path(sys.executable).name} -m pip install 'gpu-tui[verify]'"
    yield Item(
        None,
        "torch",
        "ok" if version else "warn",
        f"torch {version}" if version else "torch is not installed: checkpoints cannot be loaded",
        None if version else install,
    )
    for reader, files in READERS.items():
        if _installed(reader) is None:
            said = f"{reader} is not installed: {files} cannot be loaded"
            yield Item(None, reader, "warn", said, install)
    if must_not_act(os.environ):
        said = "GPU_TUI_READONLY is set: nothing can be stopped from here, and no flag lifts it"
        yield Item(None, "read-only", "ok", said)
    yield from config_items(fleet)
    disks: dict[int, list[Path]] = {}
    for place in sorted({box.results.local for box in fleet.instances if box.results.local}):
        disks.setdefault(_standing(Path(place)).stat().st_dev, []).append(Path(place))
    for places in disks.values():
        for shut in places:
            if not os.access(_standing(shut), os.W_OK | os.X_OK):
                hint = "Set results.local to a directory of yours."
                yield Item(None, "local disk", "fail", f"{shut} cannot be written", hint)
        free = shutil.disk_usage(_standing(places[0])).free
        enough = free >= LEAST_FREE
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield Item(
            None,
            "local disk",
            "ok" if enough else "warn",
            f"{units.size(free)} free for {places[0]}{more}",
            None if enough else "Make room, or set results.local to another disk.",
        )


def config_items(fleet: Fleet) -> Iterator[Item]:
    """Which ssh config is read without the system's."""
    from gpu_tui.wiring.routes import alone_sentence, read_alone

    for file in read_alone(fleet):
        yield Item(None, "ssh config", "note", alone_sentence(file))


def _standing(place: Path) -> Path:
    """The nearest folder above that is there already, as far as this user may look."""
    return next(path for path in (place, *place.parents) if os.path.exists(path))


def box_items(box: InstanceView) -> Iterator[Item]:
    """What is about one box, in the order in which things can fail."""
    from gpu_tui.core.metrics import GPUS, HOST, KUBERNETES, MEMORY, MOUNTS, ROSTER, SIGNS
    from gpu_tui.state.views import signs_of

    name, link = box.name, box.link
    if box.instance.here:
        yield _cluster_item(box, box.track(KUBERNETES))
        return
    if not link.live:
        where = f" at {link.hop}" if link.hop else ""
        check = "host key" if link.state == "host-key" else "ssh"
        detail = link.error or f"no connection ({link.state}){where}"
        yield Item(name, check, "fail", detail, link.next or f"Try: ssh {box.instance.ssh.host}")
        return
    took = f" in {link.latency * 1000:.0f} ms" if link.latency is not None else ""
    via = f" via {link.via}" if link.via else ""
    yield Item(name, "ssh", "ok", f"connected{took}{via}")
    if link.host_key:
        yield Item(name, "host key", "ok", link.host_key)
    yield _shell_item(name, box.track(HOST))
    yield from _platform_items(name, signs_of(box.track(SIGNS).value, box.track(GPUS).value))
    yield _gpu_item(name, box.track(GPUS))
    yield _memory_item(name, box.track(MEMORY))
    yield from _mount_items(name, box.track(MOUNTS), box.instance.mounts, box.mount_faults)
    yield _skew_item(box, box.track(HOST))
    if box.instance.queue.file:
        yield _roster_item(name, box.track(ROSTER), box.instance.queue.file)
    if box.instance.scheduler == "kubernetes":
        yield _cluster_item(box, box.track(KUBERNETES))


def _cluster_item(box: InstanceView, track: Track[JobTable]) -> Item:
    """What kubectl says of the namespace."""
    link, scope = box.link, box.instance.scheduler_scope
    where = f"{scope.context or 'current context'}, namespace {scope.namespace or 'of the context'}"
    if box.instance.here and not link.live:
        hint = link.next or "Try the same kubectl by hand."
        return Item(box.name, "kubectl", "fail", link.error or link.state, hint)
    if track.value is None:
        return Item(box.name, "kubectl", "unknown", track.why or "not read")
    if track.value.why:
        hint = "Ask for a role with get, list and watch on jobs, pods and pods/log."
        return Item(box.name, "kubectl", "warn", track.value.why, hint)
    return Item(box.name, "kubectl", "ok", f"{len(track.value.jobs)} jobs and pods in {where}")


def _shell_item(name: str, track: Track[Host]) -> Item:
    if track.value is not None:
        return Item(name, "sh", "ok", "a POSIX sh answers")
    hint = "The login shell must let `exec /bin/sh -s` through."
    return Item(name, "sh", "unknown", track.why or "no answer", hint)


def _platform_items(box: str, signs: Sequence[Sign]) -> Iterator[Item]:
    """What it shows to be, where nobody named a platform."""
    for name in dict.fromkeys(sign.platform for sign in signs):
        shown = next(sign.name for sign in signs if sign.platform == name)
        hint = f"Write platform: {name}: its clocks, disks and way to stop count only then."
        yield Item(box, "platform", "warn", f"it looks like {name}: it has {shown}", hint)


def _gpu_item(name: str, track: Track[GpuTable]) -> Item:
    table = track.value
    if table is None:
        status = "warn" if isinstance(track.latest, Absent) else "unknown"
        return Item(name, "nvidia-smi", status, track.why or "not read")
    if table.error is not None and table.error.kind == "other-maker":
        hint = "Only NVIDIA's cards are read. A teardown asks you to accept what is not known of the others."
        return Item(name, "gpu", "warn", table.error.text, hint)
    if table.error is not None and table.error.kind == "no-nvidia-smi" and not table.unread:
        hint = "A box without a card needs none. Where there should be one, its image lacks the driver."
        return Item(name, "nvidia-smi", "note", table.error.text, hint)
    if table.error is not None:
        hint = "Run nvidia-smi on the box; a missing driver there is the provider's to fix."
        return Item(name, "nvidia-smi", "fail", f"{table.error.kind}: {table.error.text}", hint)
    cards = ", ".join(sorted({gpu.name for gpu in table.gpus}))
    if table.notes:
        return Item(name, "nvidia-smi", "note", f"{len(table.gpus)} × {cards}; {table.notes[0]}")
    return Item(name, "nvidia-smi", "ok", f"{len(table.gpus)} × {cards}" if cards else "no card")


def _memory_item(name: str, track: Track[Memory]) -> Item:
    memory = track.value
    if memory is None:
        return Item(name, "cgroup", "unknown", track.why or "not read")
    if memory.source == "host":
        hint = "Memory shown is the whole host's; an OOM kill of the job cannot be seen."
        return Item(name, "cgroup", "warn", "no memory cgroup is visible", hint)
    limit = f"limit {units.size(memory.limit)}" if memory.limit else "no limit"
    return Item(name, "cgroup", "ok", f"{memory.source}, {limit}")


PLATFORMS = "Its platform may have such a disk."


def _mount_items(
    name: str,
    track: Track[tuple[Mount, ...]],
    named: tuple[str, ...],
    faults: Mapping[str, MountFault],
) -> Iterator[Item]:
    from gpu_tui.core.readings import NO_PATH
    from gpu_tui.parse.df import is_missing

    if track.value is None:
        yield Item(name, "mounts", "unknown", track.why or "not read")
        return
    for mount in track.value:
        fault = faults.get(mount.path)
        if fault is not None and not is_missing(mount):
            yield Item(name, mount.path, "fail", fault.text, remedy("mount_bad"))
            continue
        if is_missing(mount):
            own = mount.path in named
            named_by = "Check mounts in the fleet file." if own else PLATFORMS
            yield Item(name, mount.path, "fail" if own else "note", NO_PATH, named_by)
            continue
        for axis, used, total in (
            ("bytes", *mount.counts("bytes")),
            ("inodes", mount.inodes_used, mount.inodes_total),
        ):
            part = share(used, total)
            if part is None:
                why = mount.why.get(f"{axis}_total") or mount.why.get(f"{axis}_used") or "no number"
                status = "ok" if axis == "inodes" and mount.lacks(axis) else "unknown"
                yield Item(name, f"{axis} of {mount.path}", status, why)
                continue
            status = {Level.ACT: "fail", Level.WATCH: "warn"}.get(level(axis, part), "ok")
            hint = (
                None if status == "ok" else "Prune scratch and caches before the next checkpoint."
            )
            yield Item(name, f"{axis} of {mount.path}", status, f"{part:.0%} used", hint)


def _skew_item(box: InstanceView, host: Track[Host]) -> Item:
    skew, good = box.clock_skew, host.good
    if skew is None and good is not None:
        late = units.words(good.taken_at - box.link.since)
        said = f"the box's time came up to {late} late: whether its clock is off is not known"
        return Item(box.name, "clock", "unknown", said, "Ask again when the line is quicker.")
    if skew is None:
        return Item(box.name, "clock", "unknown", "the box's time was not read")
    if abs(skew) < SKEW:
        return Item(box.name, "clock", "ok", f"{skew:+.1f} s from this machine's")
    hint = "Ages are computed by the box's own clock; stamps in its logs are off by this much."
    return Item(box.name, "clock", "warn", f"{skew:+.0f} s from this machine's", hint)


def _roster_item(name: str, track: Track[Roster], file: str) -> Item:
    if track.value is not None:
        return Item(name, "queue", "ok", f"{len(track.value.cells)} cells in {file}")
    hint = "Check queue.file in the fleet file."
    status = "fail" if isinstance(track.latest, Absent) else "unknown"
    return Item(name, "queue", status, track.why or f"{file} was not read", hint)


def _installed(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _print(items: list[Item]) -> None:
    shown: str | None = ""
    for item in items:
        if item.instance != shown:
            shown = item.instance
            print(shown or say("this machine"))
        print(
            f"  {say(MARKS[item.status])}  {told(NAMES.get(item.check, item.check), own=True)}: {plain(told(item.detail, own=True))}"
        )
        if item.next and item.status != "ok":
            print(f"        {plain(told(item.next, own=True))}")
