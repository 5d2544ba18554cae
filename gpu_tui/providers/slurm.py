"""One Slurm job, through the login node's own scontrol, sacct and scancel.

`provider.id` is the job's id: `17`, or `17_3` for one task of an array. scancel answers 0 in silence, also
for a job that never was: only the job's state, read again, proves its end. It is sent once.
Measured with Slurm 22.05.8; slurm.schedmd.com/scancel.html.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Verb
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.slurm import parse_details
from gpu_tui.parse.slurm_job import Detail
from gpu_tui.parse.slurm_words import HALTED, PLACES, meaning
from gpu_tui.providers.base import Answer, AnswerKind, Means, NoAnswer, ProviderError

CANCEL = "scancel"
READ_LIMIT = 20.0  # seconds; a client gives up on a dead controller after about 9
CALL_LIMIT = 30.0
JOB_ID = re.compile(r"[1-9]\d{0,9}(_\d{1,10})?")
# The words of a scancel that did nothing. Whatever else goes wrong, it may have had its effect.
REFUSALS = ("Invalid job id", "Access/permission denied", "Invalid user id", "already completed")
# Slurm's programs as the user's own shell would find them, with times that have no zone, and the same
# cluster as the table of jobs: on another one the id is another job's.
_FIND = (
    f"PATH=$PATH:{PLACES} SLURM_TIME_FORMAT=%s; export PATH SLURM_TIME_FORMAT; "
    'unset SLURM_CLUSTERS; exec "$@"'
)
# scancel for the run of the job that was looked at and no other, in one program: from the last look at the box
# until the call nothing else is asked there.
CHANGED = 97  # its exit code where nothing was cancelled
_CANCEL = (
    'record=$(scontrol -o show job "$1" | head -n 1); for field in "$2" "$3" "$4"; do case " $record " in '
    '*" $field "*) ;; *) printf "%s\\n" "$record"; exit 97 ;; esac; done; exec scancel "$1"'
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What makes a job the same job: an id is used again, and a requeue begins another run of it."""

    name: str
    submitted: str | None
    restarts: int | None


class Slurm:
    """One job's control plane. `running`: it is in the queue, waiting too; `gone`: it has ended."""

    reads = True

    def __init__(self, instance: Instance, means: Means) -> None:
        """ProviderError where the id is no job's, or there is no box to ask."""
        self._id = instance.provider.id
        self._clock = means.clock
        self._user = instance.scheduler_scope.user
        self._known: set[str] = set()
        self._first: _Seen | None = None
        if self._id is None or not JOB_ID.fullmatch(self._id):
            raise ProviderError(
                f"{plain(self._id or 'nothing', 40)} is no job id",
                next="Write provider.id as squeue shows it: 17, or 17_3 for one task of an array.",
            )
        if means.on_box is None:
            raise ProviderError("there is no login node to ask")
        self._on_box = means.on_box

    def offers(self, verb: Verb) -> bool:
        """Scancel of this one job."""
        return verb.verb == CANCEL and verb.via == "ssh" and not verb.park

    def remember(self, id: str) -> None:
        """This job existed once."""
        self._known.add(id)

    async def read(self, id: str) -> ProviderState:
        """The job now. A job that left the controller's memory is gone only if it was seen before."""
        try:
            records = await self._records(id)
            if not records:
                return await self._left(id)
            self._same(records)
        except ProviderError as error:
            return ProviderState(error=str(error))
        self._known.add(id)
        over = all(meaning(record.word).over for record in records)
        unknown = [record.word for record in records if not _told(record)]
        if unknown:
            return ProviderState(error=f"the job is in a state not known here: {unknown[0]}")
        first = records[0]
        ends = first.ends_at if len(records) == 1 and first.word == "RUNNING" else None
        return ProviderState(
            state="gone"
            if over
            else "running",  # what ended does not go on; a requeue runs it anew
            read_at=self._clock.now(),
            facts={
                "job": plain(first.name, 60),
                "status": ", ".join(dict.fromkeys(record.word for record in records)),
            },
            ends_at=ends,
        )

    async def at_work(self, id: str) -> tuple[str, ...] | None:
        """The job while it runs on its nodes, which the login node does not show; None where nobody says.

        Other people's processes on the login node are nobody's work here.
        """
        try:
            records = await self._records(id)
        except ProviderError:
            return None
        return tuple(
            f"job {record.id} {plain(record.name, 40)} is {record.word}"
            for record in records
            if record.word in HALTED
            or (
                not meaning(record.word).over
                and meaning(record.word).state is not CellState.PENDING
            )
        )

    async def stop(self, permit: StopPermit) -> Answer:
        """Send one scancel, if the id is still the job that was looked at. Never repeats."""
        permit.redeem(self._id, self._clock.boot())
        id, seen = self._id, self._first
        if permit.verb != CANCEL or id is None:
            return Answer(AnswerKind.REFUSED, f"nothing here carries out {permit.verb}")
        if seen is None or seen.submitted is None:
            return Answer(AnswerKind.REFUSED, "not sent: the job is not in the queue")
        same = (
            f"JobName={seen.name}",
            f"SubmitTime={seen.submitted}",
            f"Restarts={seen.restarts or 0}",
        )
        try:
            done = await self._run("sh", "-c", _CANCEL, "sh", id, *same, limit=CALL_LIMIT)
        except ProviderError as error:
            return Answer(AnswerKind.UNKNOWN, str(error))
        if done.exit == CHANGED:
            return Answer(AnswerKind.REFUSED, f"not sent: {self._another(done)}")
        if done.exit == 0:
            return Answer(AnswerKind.ACCEPTED, "scancel ended with 0, which proves nothing yet", 0)
        said = _said(done)
        refused = done.exit == 127 or any(word in said for word in REFUSALS)
        kind = AnswerKind.REFUSED if refused else AnswerKind.UNKNOWN
        return Answer(kind, f"scancel ended with {done.exit}: {said}", done.exit)

    # --- parts ---

    async def _records(self, id: str) -> list[Detail]:
        """The controller's records of this job; none where it does not know the id."""
        if not JOB_ID.fullmatch(id):
            raise ProviderError(f"{plain(id, 40)} is no job id")
        done = await self._run("scontrol", "-o", "show", "job", id, limit=READ_LIMIT)
        if done.exit != 0:
            said = _said(done)
            if "Invalid job id" in said or f"{id} not found" in said:  # a task that never began
                return []
            raise NoAnswer(f"scontrol ended with {done.exit}: {said}")
        records = [
            record
            for record in parse_details(done.stdout.decode("utf-8", "replace"))
            if id in (record.id, record.id.partition("_")[0])
        ]
        if not records:
            raise NoAnswer("scontrol answered, but not about this job")
        owner = records[0].user
        if self._user is not None and owner is not None and owner != self._user:
            raise ProviderError(f"job {id} belongs to {owner}, not to {plain(self._user, 40)}")
        return records

    def _another(self, done: Completed) -> str:
        """Why the record that was found before the cancel is not that of the run that was looked at."""
        records = parse_details(done.stdout.decode("utf-8", "replace"))
        if not records:
            return "the job is not in the queue"
        try:
            self._same(records, also_run=True)
        except ProviderError as error:
            return str(error)
        return "the controller's record of the job cannot be read"

    def _same(self, records: list[Detail], *, also_run: bool = False) -> None:
        """Raise where this is not the job that was seen first; with `also_run` not its same run."""
        now = _Seen(records[0].name, records[0].submitted, records[0].restarts)
        if self._first is None:
            self._first = now
        was = self._first
        requeued = (now.restarts or 0) > (was.restarts or 0)
        if now.name != was.name or (now.submitted != was.submitted and not requeued):
            raise ProviderError("the id now belongs to another job: correct provider.id")
        if also_run and replace(now, name=was.name) != was:
            raise ProviderError("the job was requeued since it was looked at: look again")

    async def _left(self, id: str) -> ProviderState:
        """The controller has forgotten it: the accounts may still know how it ended."""
        done = await self._run(
            *("sacct", "-n", "-P", "-X", "-j", id, "-o", "State"), limit=READ_LIMIT
        )
        lines = done.stdout.decode("utf-8", "replace").splitlines() if done.exit == 0 else []
        words = [line.split(" ")[0].rstrip("+") for line in lines if line.strip()]
        if words and all(meaning(word).over for word in words):
            facts = {"status": plain(words[0], 40)}
            return ProviderState("gone", read_at=self._clock.now(), facts=facts)
        if id in self._known:
            return ProviderState("gone", read_at=self._clock.now())
        return ProviderState(error="no such job was ever seen here: check provider.id")

    async def _run(self, *argv: str, limit: float) -> Completed:
        try:
            return await self._on_box(("sh", "-c", _FIND, "sh", *argv), limit=limit)
        except CommandFailed as error:
            raise NoAnswer(str(error), next=error.next) from None


def _told(record: Detail) -> bool:
    return meaning(record.word).known


def _said(done: Completed) -> str:
    text = (done.stderr or done.stdout).decode("utf-8", "replace")
    return plain(" ".join(text.split()), 160) or "not a word"
