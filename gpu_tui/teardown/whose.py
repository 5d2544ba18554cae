"""Whether the box at the other end of our connection is the provider's instance that would be ended.

In this order: the id that the platform puts into every box of it; the address and port that our own
connection reached; for a machine behind a private network, the addresses that the box has itself and the
provider lists for it. What none of them shows stays shut, and so does an instance that its provider calls
stopped while the box answers. A box that lies about all of it is out of scope.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.plain import plain
from gpu_tui.core.required import required_of
from gpu_tui.parse.box_host import parse_machine
from gpu_tui.transport.base import Connection, LinkError, login_of, peer_of

LIMIT = 15.0  # seconds
NAME_LIMIT = 3.0
SAME_LIMIT = 10.0
MOST = 64  # addresses of one box that are looked at
# The variables in which a platform tells a box its own id, of the first process: a login may lack them.
# https://docs.runpod.io/pods/templates/environment-variables, https://docs.vast.ai/instances/docker-environment
OWN_ID: dict[str, tuple[str, ...]] = {
    "featurize": ("FEATURIZE_INSTANCE_ID",),
    "runpod": ("RUNPOD_POD_ID",),
    "vastai": ("CONTAINER_ID", "VAST_CONTAINERLABEL"),
}
_ID = re.compile(r"(?:C\.)?([A-Za-z0-9_-]{1,64})")  # vast.ai's label is C.<id>

Ip = IPv4Address | IPv6Address
Place = tuple[Ip, int]
Ends = Sequence[tuple[Instance, Connection | None]]  # other entries, and what leads to them now


@dataclass(frozen=True, slots=True)
class Claims:
    """What the box says of itself: its ids at the platform, the addresses of its interfaces."""

    ids: frozenset[str] = frozenset()
    addresses: frozenset[Ip] = frozenset()


async def elsewhere(
    connection: Connection, instance: Instance, state: ProviderState, *, by_id: bool = False
) -> str | None:
    """Why the provider's id belongs to another box than the one we look at, or None.

    `by_id`: a control API ends whatever has that id, so something must show that it is this box.
    LinkError and TimeoutError pass.
    """
    id = instance.provider.id
    places = _places(state)
    if id is None or not (by_id or places or state.inner or instance.platform in OWN_ID):
        return None  # the id is no box's, or nobody tells anything that could be compared
    if by_id and state.state in ("stopped", "ended"):
        return (
            f"the provider says that {plain(id, 64)} is {state.state}, and this box answers: "
            "correct host or provider.id, or look at the console"
        )
    said = await claims(connection, instance)
    known = await _numbers(places)
    peer = _place(peer_of(connection))
    return judge(id, said, peer, known, state.inner, bool(places), by_id=by_id)


def sharing(instance: Instance, fleet: Iterable[Instance]) -> tuple[str, ...]:
    """The other names of the fleet file that are the same box: by its id, or by where ssh reaches it."""
    id, ssh = instance.provider.id, instance.ssh
    return tuple(
        other.name
        for other in fleet
        if other.name != instance.name
        and (
            (id is not None and (other.platform, other.provider.id) == (instance.platform, id))
            or (other.ssh.host, other.ssh.port, other.ssh.jump) == (ssh.host, ssh.port, ssh.jump)
        )
    )


def one_end(one: Connection, other: Connection | None) -> bool:
    """Both lead to one login of one sshd, whatever they are called: a proxy tells its boxes apart by the login."""
    ends = [
        (peer_of(each), each.host_key or None, login_of(each))
        for each in (one, other)
        if each is not None
    ]
    return len(ends) == 2 and ends[0] == ends[1] and None not in ends[0]


async def same_machine(one: Connection, entry: Instance, others: Ends) -> tuple[str, ...]:
    """The names of the other entries that reach this very box now: the same host key, boot, first process and
    PID namespace. Where one of them cannot be read nothing is claimed.

    Containers of one image on one host have the first two in common, and are not one box.
    """
    near = [
        (other, end) for other, end in others if end is not None and end.host_key == one.host_key
    ]
    if not near or not one.host_key:
        return ()
    mine = await _machine(one, entry)

    async def alike(other: Instance, end: Connection) -> bool:
        try:
            return mine is not None and await _machine(end, other) == mine
        except (LinkError, TimeoutError):
            return False  # it does not answer, and so it says nothing

    found = await asyncio.gather(*(alike(other, end) for other, end in near))
    return tuple(other.name for (other, _), same in zip(near, found, strict=True) if same)


async def _machine(connection: Connection, instance: Instance) -> tuple[str, str] | None:
    """Boot id, and the start of PID 1 with its namespace; None where the box does not say one of them."""
    mark = secrets.token_hex(8)
    program = _MACHINE.format(mark=mark, proc=shlex.quote(instance.roots.proc))
    done = await connection.run(program, limit=SAME_LIMIT, stdout_cap=65_536)
    _, _, after = done.stdout.decode("ascii", "replace").partition(f"{mark}\n")
    boot_id, machine, *_ = (*after.split("\n"), "", "")
    known = re.fullmatch(r"[0-9A-Fa-f-]{8,64}", boot_id)
    first = parse_machine(machine)
    return (boot_id, first) if known and first else None


def apart(instance: Instance, other: Instance) -> str | None:
    """Why a ladder of one entry does not bring home what the other has on the same box, or None."""
    name, paths = other.name, (other.results.remote, other.queue.file, other.queue.log)
    if any(path and path.startswith("~") for path in paths):
        return f"{name} is the same box, and ~ may be another home there: write its paths from / on"
    if other.results.remote != instance.results.remote:
        return (
            f"{name} is the same box and keeps its results in {plain(str(paths[0]), 100)}: name one "
            "results.remote that holds both, or pull those and take that entry out"
        )
    if required_of(other.results) != required_of(instance.results):
        return f"{name} is the same box, and its cells leave other files: name one results.artifacts for both"
    return None


def is_here(boot_id: str | None) -> bool:
    """True where a box of this boot is this machine, or a container of it: its disks go with ours. Blocks."""
    try:
        own = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return False  # not Linux: the box is
    return boot_id == own


def judge(
    id: str,
    said: Claims,
    peer: Place | None,
    known: frozenset[Place],
    inner: Iterable[str],
    told: bool,
    *,
    by_id: bool = False,
) -> str | None:
    """Why this is another box. `told`: the provider names an address, `known` are those as numbers.

    `by_id`: where nothing can be compared, that is a reason as well.
    """
    if said.ids == {id}:
        return None
    others = plain(", ".join(sorted(said.ids)), 80)
    if said.ids and id not in said.ids:
        return f"the box says that it is {others}, provider.id is {plain(id, 64)}: correct it"
    private = {ip for text in inner if (ip := _ip(text)) is not None}
    if not told and not private:
        if said.ids:
            return (
                f"the box gives itself several ids ({others}), and the provider names no address that "
                "shows which is true: end it at the provider's console"
            )
        if not by_id:
            return None
        return (
            f"nothing shows that this box is {plain(id, 64)}: the provider names no address of it, "
            "and the box does not say its own id. End it at the provider's console"
        )
    if peer is not None and (peer in known or peer[0] in private):
        return None
    if private & said.addresses:
        return None
    where = ", ".join(sorted(f"{ip}:{port}" for ip, port in known)) or "an address not known here"
    if peer is None:
        return (
            f"the provider's instance is at {where}, and nothing shows that the box behind the jump "
            "is that one: name its address as host"
        )
    return (
        f"the provider's instance is at {where}, the box we looked at is at {peer[0]}:{peer[1]}: "
        "correct host or provider.id"
    )


async def claims(connection: Connection, instance: Instance) -> Claims:
    """Ask the box. What it does not say plainly is not said."""
    mark = secrets.token_hex(8)
    names = " ".join(OWN_ID.get(instance.platform, ()))
    program = _PROGRAM.format(mark=mark, proc=shlex.quote(instance.roots.proc), names=names)
    done = await connection.run(program, limit=LIMIT, stdout_cap=65_536)
    ids, addresses = set[str](), set[Ip]()
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        head, _, rest = line.partition(" ")
        kind, _, value = rest.partition(" ")
        if head != mark:
            continue
        if kind == "id" and (match := _ID.fullmatch(value)):
            ids.add(match[1])
        elif kind == "ip" and (ip := _ip(value)) is not None and len(addresses) < MOST:
            addresses.add(ip)
    return Claims(frozenset(ids), frozenset(ip for ip in addresses if not ip.is_loopback))


def _places(state: ProviderState) -> tuple[tuple[str, int], ...]:
    return state.addresses or ((state.address,) if state.address else ())


async def _numbers(places: Iterable[tuple[str, int]]) -> frozenset[Place]:
    """The places as numbers; a name is looked up, one that is not found is left out."""
    found = set[Place]()
    for host, port in places:
        if (ip := _ip(host)) is not None:
            found.add((ip, port))
            continue
        try:
            async with asyncio.timeout(NAME_LIMIT):
                rows = await asyncio.get_running_loop().getaddrinfo(
                    host, port, type=socket.SOCK_STREAM
                )
        except (OSError, TimeoutError, UnicodeError):
            continue
        found |= {(ip, port) for row in rows if (ip := _ip(str(row[4][0]))) is not None}
    return frozenset(found)


def _place(peer: tuple[str, int] | None) -> Place | None:
    ip = _ip(peer[0]) if peer else None
    return None if ip is None or peer is None else (ip, peer[1])


def _ip(text: str) -> Ip | None:
    try:
        ip = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


_PROGRAM = """
proc={proc}
for v in {names}; do
  x=$(tr '\\000' '\\n' 2>/dev/null <"$proc/1/environ" | sed -n "s/^$v=//p" | head -n 1)
  [ -n "$x" ] || x=$(env | sed -n "s/^$v=//p" | head -n 1)
  [ -n "$x" ] && printf '{mark} id %s\\n' "$x"
done
for a in $(hostname -I 2>/dev/null || awk '/32 host/ {{print f}} {{f=$2}}' /proc/net/fib_trie 2>/dev/null); do
  printf '{mark} ip %s\\n' "$a"
done
"""

_MACHINE = """
proc={proc}
printf '%s\\n' {mark}
cat "$proc/sys/kernel/random/boot_id" || echo
s=; read -r s <"$proc/1/stat"; set -- ${{s##*") "}}
printf '%s %s\\n' "${{20}}" "$(readlink "$proc/self/ns/pid")"
"""
