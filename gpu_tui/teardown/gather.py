"""Collects the evidence that the gate asks for, one method per rung. It decides nothing.

Everything comes from the box, the provider or the disk at the moment of asking; nothing that the
screen showed earlier is passed on as evidence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpu_tui.core.clock import Clock
from gpu_tui.core.evidence import (
    Cards,
    Cells,
    FileVerdict,
    Inventory,
    Listed,
    Loaded,
    Matched,
    Plan,
    Pulled,
    Quiet,
    Recheck,
    SecondResource,
    at_work,
    basis_of,
    stamps_of,
)
from gpu_tui.core.fleet import Instance, Money, ProviderState
from gpu_tui.core.gate import HERE
from gpu_tui.core.manifest import Manifest, home_path
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Profile, Tier, Verb, placed
from gpu_tui.core.proof import holds_weights, some, weighed
from gpu_tui.core.required import required_of
from gpu_tui.core.sweep import Roster
from gpu_tui.core.transfer import Meter, Transfer
from gpu_tui.providers.base import Provider, SeenFromInside, WorksElsewhere, state_of
from gpu_tui.state.views import InstanceView
from gpu_tui.teardown.beside import second_resources
from gpu_tui.teardown.box import BoxError, NotConnected, Survey, survey, work
from gpu_tui.teardown.box_load import load_on_box
from gpu_tui.teardown.cards import unseen_cards
from gpu_tui.teardown.chosen import Chosen, choose
from gpu_tui.teardown.hashing import one_file, stamps
from gpu_tui.teardown.inventory import Hashed, own_claim, remote_manifest
from gpu_tui.teardown.last_look import last_look
from gpu_tui.teardown.listing import Listing, list_remote
from gpu_tui.teardown.local import directories, local_stamps, local_tree
from gpu_tui.teardown.manifest_file import keep
from gpu_tui.teardown.mounts import abroad, in_memory, local_without_ctime, names_of
from gpu_tui.teardown.older import older
from gpu_tui.teardown.outside import coverage
from gpu_tui.teardown.pull import pull_files
from gpu_tui.teardown.roster import joined, read_cells, read_roster
from gpu_tui.teardown.touched import Sides, touched_since
from gpu_tui.teardown.verifier import verifier
from gpu_tui.teardown.verify import load_all
from gpu_tui.teardown.whose import apart, elsewhere, is_here, one_end, same_machine, sharing
from gpu_tui.transport.base import Connection

Share = Callable[[Transfer], None]  # told of progress


@dataclass(slots=True)
class Gather:
    """The eyes of one climb. The connection is the one it began with; another one is another box."""

    name: str
    view: Callable[[str], InstanceView]
    connection: Callable[[str], Connection | None]
    provider: Provider
    profile: Profile | None
    clock: Clock
    read_only: Callable[[], bool]
    share: Share
    hashed: Hashed = field(default_factory=Hashed)  # outlives a climb that was cut short
    fleet: Callable[[], Iterable[Instance]] = tuple
    only: tuple[str, ...] = ()  # the cells of a pull that is about these alone
    _link: Connection | None = None
    _listing: Listing | None = field(default=None, repr=False)
    _chosen: Chosen | None = None
    _others: tuple[tuple[str, str], ...] = ()
    _verb: Verb | None = None
    _compared: Sides | None = field(default=None, repr=False)
    _named: tuple[str, ...] | None = None  # the cells that the roster names without a doubt

    @property
    def instance(self) -> Instance:
        """The instance as the fleet file describes it now."""
        return self._seen_now().instance

    async def plan(self, verb: Verb, unresolved: str | None) -> Plan:
        """Rung 1: which machine, what the verb does there, what the queue planned."""
        view = self._seen_now()
        instance = view.instance
        self._verb = verb
        seen = await self._survey()
        console = not self.provider.offers(verb)
        state = await self._state()
        roster = await self._roster()
        cost = view.cost
        price = instance.price
        if cost.per_hour is not None:
            price = Money(cost.per_hour, cost.currency or "")
        return Plan(
            instance=self.name,
            verb=verb,
            identity=seen.identity(instance, self.link()),
            provider=state.state,
            provider_error=state.error,
            console=console,
            read_only=self.read_only(),
            results=seen.root if instance.results.local else None,
            cells=await self._cells(roster),
            tiers=placed(self._tiers(verb, console=console), instance.mounts),
            price=price or state.price,
            unresolved=unresolved,
            elsewhere=await self._elsewhere(state, seen.boot_id),
            seconds=await self._seconds(verb),
            basis=self._basis(),
            ends_at=state.ends_at,
            logins=self._logins(seen),
            price_after=state.parked if verb.effect == "stop" else None,
            lacks=state.lacks,
        )

    async def quiet(self) -> Quiet:
        """Rung 2: what works there now."""
        seen = await self._survey()
        running = self._work(seen, await self._roster(), await self._away())
        why = seen.unseen if running is None else None
        return Quiet(running, seen.busy, why, await self._cards(seen))

    async def inventory(self) -> Inventory:
        """Rung 3: every result file, hashed on the box."""
        seen = await self._survey()
        listing = await self._list(seen)
        identity = seen.identity(self.instance, self.link())
        known = await asyncio.to_thread(self.hashed.of, (identity, listing.root))
        meter = self._meter(listing.bytes)
        manifest, failed = await remote_manifest(self.link(), listing, meter, known)
        claim = await own_claim(self.link(), listing, manifest)
        looked = await stamps(self.link(), listing.root)
        cells = await self._cells(await self._roster())
        if self._chosen is not None:
            cells = self._chosen.cells(cells)
        self._named = cells.names if cells and not cells.doubtful else None
        return Inventory(
            manifest=manifest,
            identity=identity,
            cells=cells,
            refused=listing.refused + failed + claim,
            coverage=await coverage(self.link(), listing.root, self.instance.mounts, looked),
            directories=listing.directories,
            left=listing.left,
            older=older(cells, looked) if cells else (),
            only=self.only,
            others=self._others,
        )

    async def pulled(self, manifest: Manifest) -> Pulled:
        """Rung 4: everything of the manifest under its own name here. What is the box's own file, seen
        from here as well, is no copy, and before a destruction none is one on another machine's disk:
        nothing is written then.
        """
        listing = self._known_listing()
        names = names_of(self.instance, self.link())
        why = await asyncio.to_thread(abroad, self.local, names, any_host=self._verb is not None)
        if why is not None:
            return Pulled(0, 0, ((f"into {self.local}", why),))
        there = await stamps(self.link(), listing.root)
        here = await asyncio.to_thread(local_stamps, self.local)
        mine = {path: here.get(str(self.local / path), ()) for path in there}
        if same := sorted(path for path in there if one_file(there[path], mine[path])):
            why = "here it is the box's own file and no copy: name another results.local"
            return Pulled(0, 0, tuple((path, why) for path in same))
        meter = self._meter(manifest.total_bytes)
        whole = self._chosen is None
        return await pull_files(self.link(), listing.root, manifest, self.local, meter, whole=whole)

    async def matched(self, manifest: Manifest) -> Matched:
        """Rung 5: both sides again: what is here from scratch, on the box whatever was touched since."""
        listing = await self._list(await self._survey())
        meter = self._meter(listing.bytes + manifest.total_bytes)
        there = await stamps(self.link(), listing.root)
        here = await asyncio.to_thread(local_stamps, self.local)
        remote, failed = await remote_manifest(self.link(), listing, meter, self.hashed)
        tree = await asyncio.to_thread(local_tree, self.local, _from_thread(meter))
        chosen, local, odd_here = self._chosen, tree.manifest, tree.odd
        tops = await asyncio.to_thread(directories, self.local)
        if chosen is not None:
            local = await asyncio.to_thread(chosen.manifest, local)
            odd_here = tuple(filter(chosen.has, odd_here))
            tops = frozenset(filter(chosen.has, tops))
        if failed or listing.refused or odd_here:
            odd = [*(path for path, _ in (*failed, *listing.refused)), *odd_here]
            raise BoxError(f"cannot be compared: {odd[0]}")
        kept = ""
        if chosen is None:  # some cells are not what `gpu-tui verify` holds the whole against
            required = required_of(self.instance.results)
            kept = await asyncio.to_thread(
                keep, self.local, local, self.name, self.clock.now(), required, self._named
            )
        self._compared = there, here
        stamped = await asyncio.to_thread(stamps_of, there, here)
        memory = await asyncio.to_thread(in_memory, self.local)
        here_now = tuple(sorted(tops))
        return Matched(remote, local, stamped, here_now, listing.left, memory, kept)

    async def loaded(
        self, manifest: Manifest, allowed: frozenset[str] = frozenset(), *, on_box: bool = False
    ) -> Loaded:
        """Rung 6: every checkpoint opened in a child process.

        `allowed` and `on_box` are what a person allowed by hand: names in a pickle, and the box's own
        torch for what nothing here can read.
        """
        meter = self._meter(manifest.total_bytes)
        here = manifest.at_home
        sizes = {file.path: file.bytes for file in here.files}

        def judged(verdict: FileVerdict) -> None:
            meter(sizes.get(verdict.path, 0), verdict.path)

        loads = await load_all(self.local, here, step=judged, allow=allowed)
        there = {home_path(path): path for path in manifest.renamed}
        loads = tuple(replace(one, path=there.get(one.path, one.path)) for one in loads)
        verdicts = weighed(loads, required_of(self.instance.results))
        if on_box:
            verdicts = await self._loaded_there(manifest, verdicts)
        return Loaded(verdicts, await asyncio.to_thread(verifier))

    async def _loaded_there(
        self, manifest: Manifest, verdicts: tuple[FileVerdict, ...]
    ) -> tuple[FileVerdict, ...]:
        """The box's word on the checkpoints that nothing here could read."""
        unread = {v.path for v in verdicts if v.load == "skipped" and holds_weights(v)}
        rest = Manifest.of(file for file in manifest.files if file.path in unread)
        root = self._known_listing().root
        there = {one.path: one for one in await load_on_box(self.link(), root, rest)}
        return tuple(there.get(v.path, v) if v.path in unread else v for v in verdicts)

    async def listed(self) -> Listed:
        """What an abandonment would lose: every path on the box now."""
        seen = await self._survey()
        listing = await self._list(seen)
        roster = await self._roster()
        return Listed(
            paths=listing.paths + listing.left.paths,
            identity=seen.identity(self.instance, self.link()),
            running=at_work(self._work(seen, roster, await self._away()), await self._cards(seen)),
            sizes=listing.sizes + (None,) * len(listing.left.paths),
        )

    async def recheck(self, wanted: Manifest | None) -> Recheck:
        """Everything again after the confirmation: first whatever takes long, last the one program after which
        the box is not asked again (`last_look`), between two looks at the files here.

        `wanted`: the files whose hashes must be read again on both sides, None for a park.
        """
        began = self.clock.boot()
        root = remote = local = paths = cells = None
        touched: list[str] = []
        stamped = ""
        since: tuple[str, ...] = ()
        without: tuple[tuple[str, str], ...] = ()
        seen = await self._survey()
        if wanted is not None:
            root = self._root(seen)
            there = await stamps(self.link(), root)
            listing = await self._list(seen)
            here = await asyncio.to_thread(local_stamps, self.local)
            without = await asyncio.to_thread(local_without_ctime, self.local)
            safe = {file.path for file in wanted.files}
            chosen = tuple(row for row in listing.files if row[0] in safe)
            subset = Listing(listing.root, chosen)
            (remote, _), tree = await asyncio.gather(
                remote_manifest(self.link(), subset),
                asyncio.to_thread(local_tree, self.local),
            )
            local = tree.manifest if not tree.odd else None
        # The account may take half a minute to answer, nvidia-smi ten seconds.
        state = await self._state()
        moved = await self._elsewhere(state)
        seconds = await self._seconds(self._verb) if self._verb else ()
        roster = await self._roster()
        cells = await self._cells(roster) if wanted is not None else None
        cards = await self._cards(await self._survey())
        away = await self._away()
        reader = await asyncio.to_thread(verifier)
        ready = await asyncio.to_thread(local_stamps, self.local) if wanted is not None else {}
        last = await last_look(self.link(), self.instance, root, self.clock.boot)
        if wanted is not None and last.stamps is not None:
            again = await asyncio.to_thread(local_stamps, self.local)
            # Hashing takes minutes: files that were hashed first may have changed, and others may be new.
            now = last.stamps
            paths = tuple({*listing.paths, *(now.keys() - there.keys())})
            touched = [path for path in safe if path not in now or there.get(path) != now[path]]
            if touched:
                remote = None
            if not here == ready == again:
                local = None
            stamped = await asyncio.to_thread(stamps_of, now, again)
            since = await asyncio.to_thread(touched_since, self._compared, (now, again), self.local)
        seen = last.survey
        return Recheck(
            began_at=began,
            read_at=last.read_at,
            read_only=self.read_only(),
            identity=seen.identity(self.instance, self.link()),
            provider=state.state,
            running=self._work(seen, roster, away),
            busy=seen.busy,
            elsewhere=moved,
            cells=cells,
            paths=paths,
            remote=remote,
            local=local,
            seconds=seconds,
            basis=self._basis(),
            stamps=stamped,
            verifier=reader,
            logins=self._logins(seen),
            touched=tuple(sorted(touched)),
            moved=since,
            cards=cards,
            changing=last.changing,
            without_ctime=(*last.without_ctime, *((f"{at}{HERE}", kind) for at, kind in without)),
        )

    # --- parts ---

    @property
    def local(self) -> Path:
        """Where the results come to lie; BoxError where the fleet file does not say."""
        path = self.instance.results.local
        if path is None:
            raise BoxError("results.local is not named in the fleet file")
        return Path(path).expanduser()

    def link(self) -> Connection:
        """The connection this climb began with; BoxError once it is gone or another one took its place."""
        now = self.connection(self.name)
        if now is None:
            raise NotConnected("there is no connection to the box")
        if self._link is None:
            self._link = now
        if now is not self._link:
            raise BoxError(
                "the connection was lost and came back: what was seen proves nothing now"
            )
        return now

    def changed(self) -> str | None:
        """Why the fleet as watched no longer fits this climb, or None. Asks nobody."""
        try:
            self.link()
            read_only = self.instance.read_only or self.read_only()
        except BoxError as error:
            return str(error)
        return "read-only was set" if read_only else None

    def _seen_now(self) -> InstanceView:
        try:
            return self.view(self.name)
        except KeyError:
            raise BoxError("it is no longer in the fleet file") from None

    def _known_listing(self) -> Listing:
        if self._listing is None:
            raise BoxError("nothing was listed yet")
        return self._listing

    async def _survey(self) -> Survey:
        return await survey(self.link(), self.instance)

    async def _list(self, seen: Survey) -> Listing:
        listing = await list_remote(self.link(), self._root(seen))
        if self.only:
            cells = await self._cells(await self._roster())
            required = required_of(self.instance.results)
            self._chosen = choose(self.only, listing, cells, required)
            self._others = self._chosen.others(listing)
            listing = self._chosen.listing(listing)
        self._listing = listing
        return listing

    def _root(self, seen: Survey) -> str:
        if seen.root is None:
            raise BoxError(f"{self.instance.results.remote or 'results.remote'} is not on the box")
        return seen.root

    async def _roster(self) -> Roster | None:
        return await read_roster(self.link(), self.instance)

    async def _away(self) -> tuple[str, ...] | None:
        """The work of the cluster that the box leads to; None where it cannot be read."""
        id = self.instance.provider.id
        if id is None or not isinstance(self.provider, WorksElsewhere):
            return None
        return await self.provider.at_work(id)

    def _work(
        self, seen: Survey, roster: Roster | None, away: tuple[str, ...] | None
    ) -> tuple[str, ...] | None:
        """The work on the box, or of its cluster (`away`) with whatever writes results on the box."""
        id = self.instance.provider.id
        if id is None or not isinstance(self.provider, WorksElsewhere):
            return work(seen, self.instance.queue.file, roster)
        if away is None or seen.processes is None:
            return None
        return away + tuple(f"pid {pid} writes {plain(path, 60)}" for pid, path in seen.writers)

    async def _cards(self, seen: Survey) -> Cards:
        """The cards that work for somebody unseen. A cluster's login node is no place of our work."""
        if isinstance(self.provider, WorksElsewhere):
            return ()
        return await unseen_cards(self.link(), seen, self.instance.roots)

    def _logins(self, seen: Survey) -> tuple[str, ...] | None:
        """Who else has a terminal there. A cluster's login node is everybody's, and no box of ours."""
        return () if isinstance(self.provider, WorksElsewhere) else seen.logins

    async def _cells(self, roster: Roster | None) -> Cells | None:
        """The cells as the box has them now, those of its other entries with them. What the screen showed of
        a queue is no evidence.
        """
        found: list[Cells] = []
        for one in (self.instance, *self._aliases()):
            if one.name != self.name:
                if apart(self.instance, one) or not one.names_cells:
                    continue
                roster = await read_roster(self.link(), one)
            elif not one.names_cells:
                continue
            if roster is None:
                return None
            found.append(await read_cells(self.link(), one, roster))
        return joined(found)

    def _tiers(self, verb: Verb, *, console: bool = False) -> tuple[Tier, ...]:
        """The disks that `verb` is about. Where nobody says of which variant the box is, and no API does either,
        a park must keep the disks of all of them.
        """
        if self.profile is None:
            return ()
        variant = self.instance.provider.variant
        if console and verb.park and variant is None:
            return self.profile.storage
        return self.profile.tiers_under(verb, variant)

    def _basis(self) -> str:
        """What the fleet file and the profile say of this teardown now."""
        instance, verb, profile = self.instance, self._verb, self.profile
        rows = profile.teardown if profile else ()
        row = next((row for row in rows if row == verb), None)
        tiers = self._tiers(verb) if verb else ()
        return basis_of(instance, row, tiers)

    async def _seconds(self, verb: Verb) -> tuple[SecondResource, ...]:
        """What hangs on the instance beside it, as its account says now."""
        id = self.instance.provider.id
        return await second_resources(self.provider, id, verb, self._tiers(verb))

    async def _state(self) -> ProviderState:
        return await state_of(self.provider, self.instance.provider.id)

    async def _elsewhere(self, state: ProviderState, boot_id: str | None = None) -> str | None:
        """Why the box behind our connection is not what the provider would end. A job's id is no box's."""
        inside = isinstance(self.provider, SeenFromInside)
        if isinstance(self.provider, WorksElsewhere):
            return None
        if self._verb is not None and not self._verb.park:
            if others := await self._other_names():
                return (
                    f"it is also {some(others)} in the fleet file, whose results would go with it: "
                    f"{self.name} and {others[0]} are one box. Correct the host of the wrong one, or write "
                    f"same_box: {self.name} at {others[0]} (gpu-tui help fleet), then open this again"
                )
            if why := next(filter(None, (apart(self.instance, o) for o in self._aliases())), None):
                return why
            if await asyncio.to_thread(is_here, boot_id):
                return (
                    "the box and this machine are one (the same boot id), and what is pulled here may go "
                    "with it: run gpu-tui on another machine"
                )
        by_id = self.provider.reads and not inside
        return await elsewhere(self.link(), self.instance, state, by_id=by_id)

    async def _other_names(self) -> tuple[str, ...]:
        """Other entries that are this box and are not declared so: as the file says, and as they are reached now."""
        said = {one.name for one in (self.instance, *self._aliases())}
        rest = [(one, self.connection(one.name)) for one in self.fleet() if one.name not in said]
        reached = (one.name for one, end in rest if one_end(self.link(), end))
        shared = sharing(self.instance, (one for one, _ in rest))
        same = await same_machine(self.link(), self.instance, rest)
        return tuple(dict.fromkeys((*shared, *reached, *same)))

    def _aliases(self) -> list[Instance]:
        """The other entries of which the fleet file says that they are this box."""
        mine = self.instance
        return [one for one in self.fleet() if one.name != self.name and one.said_to_be(mine)]

    def _meter(self, total: int) -> Meter:
        return Meter(total, self.clock.boot, self.share)


def _from_thread(meter: Meter) -> Callable[[int], None]:
    """Told in a thread, counted on the loop."""
    loop = asyncio.get_running_loop()

    def step(count: int) -> None:
        loop.call_soon_threadsafe(meter, count)

    return step
