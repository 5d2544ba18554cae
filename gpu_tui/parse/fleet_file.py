"""The fleet file's text to a Fleet, checked to the last key. Pure: `base` and `home` are passed in.

Every error names file, line and column, the words that are wrong, and what to write instead. Paths on
the box default to what the platform's profile exports.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpu_tui.core.fleet import (
    HERE,
    Fleet,
    Instance,
    Money,
    QueueFiles,
    Results,
    Roots,
    SshAccess,
)
from gpu_tui.core.profile import FALLBACK_PLATFORM, Profile, all_signs, scheduler_of
from gpu_tui.parse.artifacts import parse_artifacts
from gpu_tui.parse.box_paths import BoxPaths
from gpu_tui.parse.fields import Fields, choice_of, text_of
from gpu_tui.parse.host import AddressError, parse_host
from gpu_tui.parse.provider_access import parse_provider
from gpu_tui.parse.scheduler import parse_scheduler
from gpu_tui.parse.yaml_strict import FleetError, Node, did_you_mean, load
from gpu_tui.places import expand_home

CLUSTER_PLATFORM = "kubernetes"  # of an instance that has no box
FASTEST_POLL, SLOWEST_POLL = 0.2, 3_600.0
SHORTEST_STALL = 10.0
LONGEST_NAME = 255

_TOP = ("sweep", "defaults", "instances")
INSTANCE_KEYS = (
    "name",
    "host",
    "platform",
    "price_per_hour",
    "queue",
    "logs",
    "results",
    "mounts",
    "provider",
    "ssh",
    "scheduler",
    "tags",
    "read_only",
    "poll",
    "stall_after",
    "roots",
    "same_box",
)
ROOTS = ("cgroup", "proc", "sys", "dev")
QUEUE_KEYS = ("file", "log", "memory", "status", "status_command", "commands")
_OWN = ("name", "host", "same_box")  # keys that cannot be a default
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", re.ASCII)
_PRICE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?([A-Z]{3})", re.ASCII)


def parse_fleet(text: str, path: Path, profiles: Mapping[str, Profile], home: Path) -> Fleet:
    """The fleet in `text`, which came from `path`; `~` in local paths is `home`. Raises FleetError."""
    root = load(text, str(path), raises=FleetError)
    top = Fields(root, "the fleet file", _TOP)
    defaults = _Layer.of_defaults(top)
    base = path.absolute().parent

    def read(node: Node) -> Instance:
        return _Reader(_Layer(node, defaults), profiles, base, home).instance()

    if "instances" not in top:
        raise root.error(
            "the fleet file names no instances", 'Add "instances:" and one "- name:" each.'
        )
    instances = top.items("instances", read)
    nodes = top.values["instances"].value
    by_name = {instance.name: instance for instance in instances}
    seen: dict[tuple[str, ...], int] = {}
    for instance, node in zip(instances, nodes if isinstance(nodes, tuple) else (), strict=True):
        fields = Fields(node, "an instance", INSTANCE_KEYS)
        place = fields.place("name")
        if instance.same_box is not None:
            _check_same_box(instance, by_name, fields.place("same_box"))
        for key, what, hint in _unique(instance):
            if key in seen:
                raise place.error(f"two instances {what} (the first in line {seen[key]})", hint)
            seen[key] = place.line
    if not instances:
        raise top.place("instances").error(
            "the list of instances is empty", "Add one, or run: gpu-tui init"
        )
    return Fleet(top.maybe_text("sweep"), instances, str(path))


def _unique(instance: Instance) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What no two instances may share, as (key, words, what to do): else one stands for the other."""
    name = instance.name
    yield ("name", name), f'are called "{name}"', "Names are unique: rename one."
    if (id := instance.provider.id) is not None:
        what = f'have the provider.id "{id}"'
        yield ("id", instance.platform, id), what, "Copy each one's own id from the console."
    if (local := instance.results.local) is not None:
        what = f'have the results.local "{local}"'
        yield ("local", local), what, "Give each a directory of its own, or leave it out."


def _check_same_box(instance: Instance, named: Mapping[str, Instance], place: Node) -> None:
    """`same_box` names another box of the file, and that one is no alias itself."""
    word = instance.same_box or ""
    other = named.get(word)
    if other is None:
        others = [name for name in named if name != instance.name]
        hint = did_you_mean(word, others) or "Name another instance of this file."
        raise place.error(f'"same_box": no instance is called "{word}"', hint)
    if other is instance:
        raise place.error(f'"same_box": "{word}" is this instance itself', "Name the other one.")
    if other.here:
        raise place.error(f'"same_box": "{word}" has no box', "Name an instance with a host.")
    if other.same_box is not None:
        hint = (
            f'Keep the one at "{instance.name}" and take the one at "{word}" out.'
            if other.same_box == instance.name
            else f'Write "same_box: {other.same_box}" here, too.'
        )
        raise place.error(f'"same_box": "{word}" names "{other.same_box}" itself', hint)


class _Layer:
    """One instance's fields over the defaults; mappings are merged key by key."""

    def __init__(self, node: Node, defaults: Mapping[str, Node]) -> None:
        own = Fields(node, "an instance", INSTANCE_KEYS)
        merged = {**defaults, **own.values}
        for key, fallback in defaults.items():
            mine = own.values.get(key)
            if mine is not None and isinstance(mine.value, Mapping):
                merged[key] = _merge(fallback, mine)
        place = Node(merged, node.file, node.line, node.column, "", node.keys, node.raises)
        self.fields = Fields(place, "an instance", INSTANCE_KEYS)
        self.own = own

    @staticmethod
    def of_defaults(top: Fields) -> Mapping[str, Node]:
        if "defaults" not in top:
            return {}
        known = [key for key in INSTANCE_KEYS if key not in _OWN]
        return Fields(top.values["defaults"], "defaults", known).values


def _merge(under: Node, over: Node) -> Node:
    if not isinstance(under.value, Mapping) or not isinstance(over.value, Mapping):
        return over
    value = {**under.value, **over.value}
    keys = {**under.keys, **over.keys}
    return Node(value, over.file, over.line, over.column, "", keys, over.raises)


class _Reader:
    """Reads one instance."""

    def __init__(
        self, layer: _Layer, profiles: Mapping[str, Profile], base: Path, home: Path
    ) -> None:
        self.home = home
        self.fields = layer.fields
        self.own = layer.own
        self.profiles = profiles
        self.base = base

    def instance(self) -> Instance:
        fields = self.fields
        name = fields.text("name")
        if not _NAME.fullmatch(name):
            # What an input method commits at once looks like a paste, and no paste confirms a teardown.
            hint = (
                'Use at most 64 of A-Z, a-z, 0-9, "_", and behind the first "." and "-": it is typed key '
                "by key before a teardown. Words of any script may stand in its tags."
            )
            raise fields.place("name").error(f"{fields.place('name').shown} cannot be a name", hint)
        has_host = "host" in fields
        node = fields.values["scheduler"] if "scheduler" in fields else None
        scheduler, scope = parse_scheduler(node, has_host=has_host)
        local = scope.kubectl == "local" and not has_host
        profile = self._profile(CLUSTER_PLATFORM if local else FALLBACK_PLATFORM)
        paths = BoxPaths(profile)
        results = self._group("results", ("remote", "local", "artifacts", "cells"))
        queue = self._group("queue", QUEUE_KEYS)
        files = _queue(queue)
        if scheduler is None and not files.names_runs:
            scheduler = scheduler_of(profile)
        unnamed = "platform" not in fields and scheduler is None
        roots = self._group("roots", ROOTS)
        return Instance(
            name=name,
            ssh=self._here() if local else self._ssh(),
            platform=profile.id,
            price=self._price(),
            queue=files,
            logs=None if local else self._logs() or paths.logs,
            results=Results(
                _remote(results, "remote") or paths.results,
                self._local(results, "local") or str(self.base / "results" / name),
                parse_artifacts(results, "artifacts") if results else (),
                _cells(results, queue),
            ),
            mounts=() if local else self._mounts(paths),
            provider=parse_provider(fields.values.get("provider"), profile),
            roots=Roots(*(_remote(roots, key) or getattr(Roots(), key) for key in ROOTS)),
            tags=fields.texts("tags"),
            read_only=fields.maybe_flag("read_only") or False,
            poll=self._within("poll", FASTEST_POLL, SLOWEST_POLL, 1.0, "s"),
            stall_after=self._within("stall_after", SHORTEST_STALL, 30 * 86_400.0, 900.0, "m"),
            scheduler=scheduler,
            scheduler_scope=scope,
            signs=all_signs(self.profiles) if unnamed else (),
            same_box=fields.maybe_text("same_box"),
        )

    def _group(self, key: str, known: tuple[str, ...]) -> Fields | None:
        """The mapping under `key`, or None where there is none."""
        return Fields(self.fields.values[key], f'"{key}"', known) if key in self.fields else None

    def _profile(self, usual: str) -> Profile:
        if "platform" not in self.fields:
            return self.profiles.get(usual) or self.profiles[FALLBACK_PLATFORM]
        word = self.fields.text("platform")
        if word not in self.profiles:
            aliases = {
                alias: name for name in self.profiles for alias in (name, name.replace("-", ""))
            }
            hint = did_you_mean(word.lower(), aliases)
            hint = hint or f"There are: {', '.join(sorted(self.profiles))}."
            raise self.fields.place("platform").error(f'no platform is called "{word}"', hint)
        return self.profiles[word]

    def _ssh(self) -> SshAccess:
        node = self.fields.node_of("host")
        try:
            address = parse_host(text_of(node, "host"))
        except AddressError as error:
            raise node.error(error.text, error.next) from None
        ssh = self._group("ssh", ("known_hosts", "identity", "jump", "config", "transport"))
        jump = ssh.maybe_text("jump") if ssh else None
        for hop in jump.split(",") if jump and ssh else ():
            try:
                parse_host(hop.strip())
            except AddressError as error:
                assert ssh is not None
                raise ssh.place("jump").error(error.text, error.next) from None
        return SshAccess(
            host=address.host,
            user=address.user,
            port=address.port,
            known_hosts=self._local(ssh, "known_hosts"),
            identity=self._local(ssh, "identity"),
            jump=jump,
            config=self._local(ssh, "config"),
            transport=choice_of(ssh.node_of("transport"), "transport", ("direct", "openssh"))
            if ssh and ssh.maybe_text("transport")
            else None,
        )

    def _here(self) -> SshAccess:
        """No box: what only a box can have must not be asked for; defaults for boxes do not concern it."""
        for key in ("ssh", "roots", "logs", "mounts", "same_box"):
            if key in self.own:
                raise self.own.place(key).error(
                    f'"{key}" is about a box, and this instance has no host',
                    'Remove it, or add "host: ...".',
                )
        return HERE

    def _price(self) -> Money | None:
        if "price_per_hour" not in self.fields:
            return None
        node = self.fields.values["price_per_hour"]
        match = _PRICE.fullmatch(node.value) if isinstance(node.value, str) else None
        if match is None:
            hint = f'Write amount and currency, like "{_digits(node.written)} CNY".'
            raise node.error(f"{node.shown} is not a price", hint)
        return Money(float(match.group(1)), match.group(2))

    def _mounts(self, paths: BoxPaths) -> tuple[str, ...]:
        if "mounts" not in self.fields:
            return paths.mounts
        return self.fields.items("mounts", lambda node: _remote_path(node, "mounts"))

    def _logs(self) -> str | None:
        if "logs" not in self.fields:
            return None
        path = _remote_path(self.fields.values["logs"], "logs")
        if "{cell}" not in path or path.replace("{cell}", "").count("{"):
            raise self.fields.values["logs"].error(
                '"logs" must hold {cell} where the name of the cell stands, and no other braces',
                'Write it like "/root/runs/logs/{cell}.log".',
            )
        return path

    def _within(self, key: str, least: float, most: float, default: float, unit: str) -> float:
        value = self.fields.maybe_duration(key, unit)
        if value is None:
            return default
        if not least <= value <= most:
            hint = f"Between {least:g}s and {most:g}s."
            raise self.fields.place(key).error(
                f'"{key}" cannot be {self.fields.place(key).shown}', hint
            )
        return value

    def _local(self, row: Fields | None, key: str) -> str | None:
        """A path on this machine: `~` is home, a relative path starts at the fleet file."""
        text = row.maybe_text(key) if row else None
        return None if text is None else os.path.normpath(self.base / expand_home(text, self.home))


def _queue(row: Fields | None) -> QueueFiles:
    """Who tells what runs: at most one of a queue file, a feed and a list of commands."""
    if row is None:
        return QueueFiles()
    told = [key for key in ("file", "status", "status_command", "commands") if key in row]
    if len(told) > 1:
        raise row.place(told[1]).error(
            f'"queue" names both {told[0]} and {told[1]}', "Keep the one that tells what runs."
        )
    command = row.texts("status_command")
    if "status_command" in row and not command:
        raise row.place("status_command").error(
            "the command is empty", "Write it as a list: [python3, /root/q/status.py]"
        )
    return QueueFiles(
        file=_remote(row, "file"),
        log=_remote(row, "log"),
        memory=_remote(row, "memory"),
        status=_remote(row, "status"),
        status_command=command,
        commands=_remote(row, "commands"),
    )


def _cells(row: Fields | None, queue: Fields | None) -> tuple[str, ...]:
    """The cells that must leave a directory each; one list of them and not two."""
    if row is None or "cells" not in row:
        return ()
    if queue is not None and "file" in queue:
        raise row.place("cells").error(
            "the cells are named twice, by queue.file and by results.cells", "Keep the one."
        )
    names = row.items("cells", _cell)
    if not names:
        raise row.place("cells").error("the list of cells is empty", "Name each one's directory.")
    return tuple(dict.fromkeys(names))


def _cell(node: Node) -> str:
    name = text_of(node, "cells")
    if "/" in name or name.startswith(".") or len(name) > LONGEST_NAME:
        raise node.error(
            f"{node.shown} cannot be a cell", "Write the name of its directory in results.remote."
        )
    return name


def _remote(row: Fields | None, key: str) -> str | None:
    return _remote_path(row.values[key], key) if row and key in row else None


def _remote_path(node: Node, key: str) -> str:
    path = text_of(node, key)
    if not path.startswith(("/", "~/")) or ".." in path.split("/"):
        hint = 'Paths on the box begin with "/" or "~/" and hold no "..".'
        raise node.error(f'"{key}": {node.shown} is not a whole path on the box', hint)
    return path


def _digits(text: str) -> str:
    found = re.search(r"[0-9]+(?:\.[0-9]+)?", text)
    return found.group(0) if found else "2.08"
