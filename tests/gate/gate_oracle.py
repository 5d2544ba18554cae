"""What must be true at the moment of a call, judged by the world alone and never by what the gate remembers."""

from __future__ import annotations

from gate_world import CELLS, World

ILL = ("exit 1", "exit 2", "no end line")  # the log says that it came to no end


def wrongs(world: World) -> list[str]:
    """Why a call at this very moment is a crime; empty where it is right."""
    found = _machine(world) + _person(world)
    if not world.verb.park:
        found += _data(world)
    return found


def _machine(world: World) -> list[str]:
    found = []
    if world.read_only:
        found.append("read-only")
    if world.planned != (world.identity, world.basis, world.provider):
        found.append("not the machine, the plan or the state that was planned")
    if world.provider not in ("running", "stopped"):
        found.append("the provider says nothing, or that it is gone")
    if world.elsewhere:
        found.append("another pod")
    if world.unresolved:
        found.append("an earlier call may still have its effect")
    if set(world.logins or ()) - set(world.met or ()):
        found.append("somebody logged in since")
    if world.logins is None and world.met is not None:
        found.append("nobody knows any more who is logged in")
    accepted = world.given_up or set()
    if world.running is None:
        found.append("nobody knows what runs")
    elif [one for one in world.running if one not in accepted] and not world.verb.park:
        found.append("work is running")
    unseen = {card for card, _ in world.cards} - world.excepted
    if unseen - {line.split()[0] for line in accepted} and not world.verb.park:
        found.append("a card works for somebody whom nobody thought of")
    return found


def _person(world: World) -> list[str]:
    found = []
    if world.armed_at is None or world.typed_at is None:
        return ["nobody typed anything"]
    if not world.armed_at + 3 <= world.typed_at < world.armed_at + 600:
        found.append("typed too early, or under old evidence")
    if world.boot - world.typed_at > 600 + 25:
        found.append("the confirmation is old")
    if world.looked_at is None or not 0 <= world.boot - world.looked_at < 2:
        found.append("the last look at the box is old")
    if world.asleep > 30 or abs(world.drift) > 60:
        found.append("the clock of this machine jumped, or it slept")
    if set(world.seconds) != world.acknowledged:
        found.append("something beside it was not acknowledged")
    return found


def _data(world: World) -> list[str]:
    lost = {path for path in world.box if not _safe(world, path)}
    if world.given_up is not None:
        return [f"lost without a word: {path}" for path in sorted(lost - world.given_up)]
    found = [f"not safe here: {path}" for path in sorted(lost)]
    if not world.box:
        found.append("nothing was there to save")
    if world.busy is None or world.busy:
        found.append("a result is being written")
    names = world.cells.names if world.cells else ("?",)
    if strange := _strange(world) - world.excepted:
        found.append(f"nobody accepted: {sorted(strange)}")
    ill = {name for name, state in (world.cells or CELLS).unfinished if state in ILL}
    may_lack = ill & world.excepted
    if any(f"{name}/best.pth" not in world.box for name in names if name not in may_lack):
        found.append("a cell is missing")
    if set(world.local) - set(world.box):
        found.append("more is here than there: something vanished")
    if world.loaded_by != world.verifier:
        found.append("loaded by another reader")
    return found


def _strange(world: World) -> set[str]:
    """What is not as the queue and the earlier looks promised, by its name."""
    cells = world.cells or CELLS
    there = {path.split("/")[0] for path in world.box if "/" in path} | set(world.hollow)
    odd = {name for name, _ in cells.unfinished} or ({"queue"} if not cells.closed else set())
    odd |= {name for name, _ in world.older}
    return odd | (there - set(cells.names)) | (set(world.before) - there - set(cells.names))


def _safe(world: World, path: str) -> bool:
    """The bytes are here, and they load, or a person allowed in words how they did."""
    text = world.local.get(path)
    if text is None or text != world.box[path]:
        return False
    kind, _, rest = text.partition(" ")
    if path.endswith(".log"):
        return True
    if path.endswith(".pth") and not world.torch:
        return kind == "ok" and world.trusts_box
    return kind == "ok" or (kind == "needs" and rest.split(" ")[0] in world.allowed)
