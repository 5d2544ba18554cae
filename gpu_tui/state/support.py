"""What goes with a report of a bug: how this gpu-tui was set up and what it could read. Pure; in English, for whoever mends it.

No name, no address, no log line and no number of a training stands in it: instances are counted, of settings and of
findings their kinds are told. What is quoted (why something could not be read) passes `Scrub`, a net like every other:
who hands the text on has read it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.fleet import Instance
from gpu_tui.core.mask import HOST, Mask
from gpu_tui.core.plain import plain
from gpu_tui.state.views import FleetView, InstanceView

WIDTH = 300  # characters of one line
USER = "[user]"
_NAME = re.compile(r"(?<![\w./-])(?:[a-z0-9_-]+\.){2,}[a-z]{2,24}(?![\w.-])", re.IGNORECASE)
_KEY = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?")
_COMMON = frozenset(
    {"root", "ubuntu", "user", "admin", "ec2-user"}
)  # which tell nothing of anybody

HEAD = """\
# gpu-tui support bundle

In here: versions, how this terminal and the settings are, what `gpu-tui doctor` found, and of each instance which
readings came or why not. Instances are counted instead of named. Not in here: keys, tokens and passwords; names of
hosts, users, instances, cells and sweeps; addresses and ids; log lines, metrics, prices, and what any file holds.

Nothing was sent anywhere. Read it through before you hand it on: paths and error texts were scrubbed by their looks."""


@dataclass(frozen=True, slots=True)
class Scrub:
    """`names` are instance names, which become box-1, box-2; `users` logins of boxes and of this machine."""

    mask: Mask
    names: Sequence[str] = ()
    users: Sequence[str] = ()

    def __call__(self, text: str) -> str:
        """One line without what names anybody."""
        said = {name: f"box-{at}" for at, name in enumerate(self.names, 1)}
        said |= {user: USER for user in self.users if len(user) >= 3 and user not in _COMMON}
        for word in sorted(said, key=len, reverse=True):
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said[word], text)
        text = _KEY.sub("SHA256:[hidden]", self.mask(text))
        return plain(_NAME.sub(HOST, text), WIDTH)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is about this machine: each a name and its word, ready to be read."""

    versions: Mapping[str, str] = field(default_factory=dict)
    terminal: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)


def bundle(
    view: FleetView, around: Surroundings, audit: Iterable[str], scrub: Scrub, accounts: int
) -> str:
    """The whole text. `audit` are the doctor's lines."""
    parts = [
        ("Versions", _pairs(around.versions)),
        ("Terminal and environment", _pairs(around.terminal)),
        ("Settings", _pairs(around.settings)),
        ("Kept on this machine", _pairs(around.kept)),
        ("What doctor says", [f"- {line}" for line in audit]),
        ("The fleet", [*_fleet(view), f"- accounts that are read: {accounts}"]),
        *(
            (f"box-{at}, {one.instance.platform}", [*_box(one)])
            for at, one in enumerate(view.instances, 1)
        ),
        ("Notes", [f"- {note}" for note in view.notes] or ["- none"]),
    ]
    body = "\n\n".join("\n".join((f"## {title}", "", *map(scrub, lines))) for title, lines in parts)
    return f"{HEAD}\n\nMade {rfc3339(view.taken_at)}.\n\n{body}\n"


def _pairs(rows: Mapping[str, str]) -> list[str]:
    return [f"- {name}: {value}" for name, value in rows.items()]


def _fleet(view: FleetView) -> Iterator[str]:
    yield f"- instances: {len(view.instances)}, beside them unlisted: {len(view.unlisted)}"
    beside = Counter(f"{one.kind} ({one.severity.value})" for one in view.beside)
    yield f"- findings about no instance: {_counted(beside)}"
    ticking = Counter(clock.key for clock in view.clocks if clock.ticks)
    yield f"- clocks that tick: {_counted(ticking)}"


def _box(one: InstanceView) -> Iterator[str]:
    link = one.link
    yield f"- set in the fleet file: {', '.join(_set(one.instance)) or 'host alone'}"
    yield f"- link: {link.state}{f': {link.error}' if link.error else ''}"
    if link.via:
        yield f"- reached by: {link.via}"
    yield f"- verdict: {one.verdict.value}"
    provider = one.provider
    yield f"- provider: {provider.state}{f', {provider.error}' if provider.error else ''}"
    cells = Counter(cell.state.value for cell in one.queue.cells)
    yield f"- cells: {_counted(cells)}"
    found = Counter(f"{one.kind} ({one.severity.value})" for one in one.findings)
    yield f"- findings: {_counted(found)}"
    yield f"- logs followed: {len(one.logs)}, {sum(log.end for log in one.logs)} lines so far"
    yield from (f"- a log is not read: {log.error}" for log in one.logs if log.error)
    for name, track in sorted(one.tracks.items()):
        why = f": {track.why}" if track.why else ""
        yield f"- {name}: {track.freshness(one.taken_at, live=link.live).value}{why}"


def _set(box: Instance) -> Iterator[str]:
    """The keys of the fleet file that this instance does not leave at their defaults, without their values."""
    bare = Instance(box.name, box.ssh, box.platform)
    for name in Instance.__dataclass_fields__:
        if name not in ("name", "ssh", "platform", "signs"):
            told = getattr(box, name)
            if told != getattr(bare, name):
                yield name
    yield from (f"ssh.{name}" for name in ("user", "port", "identity", "known_hosts", "jump", "config", "transport") if getattr(box.ssh, name) is not None)  # fmt: skip


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())) or "none"
