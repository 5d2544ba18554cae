"""Slurm's own lists as jobs: `squeue`, `scontrol -o show job` and, where the site keeps accounts, `sacct`.

All of it is text that other people may shape: a job's name may hold anything, line ends too. So
squeue's rows begin with a mark that nobody can guess, sacct's fields are parted by it, and of
scontrol's free-form rows only fields behind the name are taken. Times are epoch seconds
(SLURM_TIME_FORMAT=%s): no zone is ever guessed. Formats: slurm.schedmd.com, measured on 22.05.8.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from gpu_tui.core.jobs import JOBS_KEPT, NO_STEP_RUNS, Job, JobTable
from gpu_tui.core.left_queue import NOT_QUEUED
from gpu_tui.core.log_cells import NOT_YET
from gpu_tui.core.logs import may_follow
from gpu_tui.core.number import whole
from gpu_tui.core.plain import plain
from gpu_tui.core.scheduler_end import WORDS, End
from gpu_tui.core.sweep import CellState
from gpu_tui.parse import slurm_words as words
from gpu_tui.parse.slurm_job import Detail, Listed, Step
from gpu_tui.parse.slurm_json import parse_json
from gpu_tui.parse.slurm_paths import NO_VAL, with_logs
from gpu_tui.parse.slurm_steps import OWN, Failed, failed_steps, unresolved

SOURCE = "Slurm"
NO_RECORD = "its log is not known: scontrol shows no record of it"
NO_ROOM = "its log is not known: scontrol printed more records than are read"
TOO_MUCH = "too-much"  # instead of records: there was no room for them
NOTHING: Mapping[str, str] = {}
NAME_MOST = 60
TASKS_MOST = 1_000  # rows of one waiting array, which are one line on screen; the rest is counted
STEPS_MOST = 100  # of one job: the newest ones, and before them those that failed
LOGS_OF_ENDED = 100  # ended jobs whose steps' logs are listed; fewer are read
LINE_MOST = 4_096  # characters of a submit line
# squeue -o, without the mark before it. What a user can shape freely, the name, is the last field.
QUEUE_FORMAT = "%i|%T|%S|%e|%V|%r|%P|%N|%E|%l|%D|%b|%j"
# sacct -o; the last field never holds a line end. MORE_FIELDS go before these. An older sacct refuses the whole list
# for one unknown field: StdOut and StdErr are of 24.05, SubmitLine of 21.08.
ACCOUNT_FIELDS = "JobID,JobName,ExitCode,Submit,Start,End,Partition,NodeList,NTasks,State"
MORE_FIELDS = ("StdOut,StdErr", "SubmitLine", "WorkDir,JobIDRaw")
_ID = re.compile(r"(\d{1,10})(?:_(\d{1,10})|_\[([^\]|]{1,100000})\]|\+\d{1,4})?\Z")
_ID_END = re.compile(r"[_+]")
_STEP = re.compile(r"(\d{1,10}(?:_\d{1,10}|\+\d{1,4})?)\.(\w{1,20}(?:\+\d{1,4})?)\Z")
_COUNT = re.compile(r"[\d.,-]{1,20}[KMG]?\Z")
_LIMIT = re.compile(r"(?:(\d{1,5})-)?(?:(\d{1,4}):)?(\d{1,6}):(\d{2})")
_GPUS = re.compile(r"(?:gres[:/])?gpu(?::(?!\d+\Z)[^:=]{1,60})?(?:[:=](\d{1,5}))?(?:\(.{0,60}\))?")
_FIELD = re.compile(
    r" (JobState|Restarts|BatchFlag|ExitCode|SubmitTime|EndTime|PreemptTime|SuspendTime)=(\S+)"
)
_HEAD = re.compile(
    r"JobId=(\d{1,10}) (?:ArrayJobId=(\d{1,10}) )?(?:ArrayTaskId=(\S+) )?"
    r"(?:HetJobId=(\d{1,10}) HetJobOffset=(\d{1,4}) )?"
)


@dataclass(frozen=True, slots=True)
class Accounts:
    """Jobs of sacct, which may have left the queue, and the steps of each: the newest STEPS_MOST, and those before them
    that failed, in sacct's order.
    """

    rows: tuple[Listed, ...] = ()
    steps: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)  # by job id


# --- the three lists ---------------------------------------------------------------------------


def parse_queue(text: str, mark: str) -> list[Listed]:
    """The rows of `squeue -h -o MARK|QUEUE_FORMAT`; a row that is not one is passed over."""
    rows = []
    for chunk in text.split(f"{mark}|")[1:]:
        parts = chunk.rstrip("\n").split("|", 12)
        if len(parts) < 13 or not _COUNT.match(parts[10]):  # printed without limit, nodes and GPUs
            parts = [*parts[:9], "", "", "", "|".join(parts[9:])] if len(parts) > 9 else []
        if parts and (packed := _ID.match(parts[0])):
            id, word, start, end, submit, why, partition, node, dependency = parts[:9]
            limit, nodes, each, name = parts[9:]
            rows.append(
                Listed(
                    id,
                    plain(word, 40),
                    name,
                    reason=plain(why, 80),
                    dependency=plain(dependency, 80),
                    started_at=_time(start),
                    ends_at=_time(end),
                    submitted_at=_time(submit),
                    partition=_word(partition),
                    node=_word(node),
                    limit=time_limit(limit),
                    gpus=gpus_asked(each, nodes),
                    at_once=whole((packed[3] or "").partition("%")[2], 6),
                )
            )
    return rows


def time_limit(text: str) -> float | None:
    """Seconds of `1-00:00:00`, `3:00:00` or `10:00`, which squeue and sacct print; None for UNLIMITED and the like."""
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def gpus_asked(each: str, nodes: str) -> int | None:
    """How many GPUs a job requests, by those of each node (`gres:gpu:a100:4`, `gres/gpu:4`) and the number of nodes.

    None where that is not known: squeue does not list GPUs that were requested per job or per task.
    """
    found = [int(match[1] or 1) for part in each.split(",") if (match := _GPUS.fullmatch(part))]
    count = whole(nodes, 6)
    return sum(found) * count if found and count else None


def parse_accounts(text: str, mark: str) -> Accounts:
    """The rows of `sacct -P --delimiter=MARK -o ...,State`. The header names the columns; text before it is ignored.

    A requeued job has a record for each attempt (`-D`): the newest counts, and only its steps.
    """
    head, _, told = text.partition(f"{mark}State\n")
    names = head.rpartition("\n")[2].split(mark)
    count = len(names)
    parts = told.split(mark)
    rows: dict[str, Listed] = {}
    steps: dict[str, list[Step]] = {}
    older = ""  # the job whose present record is of an earlier attempt than its record before
    first = parts[0]
    for at in range(1, len(parts) - count + 1, count):
        state, _, following = parts[at + count - 1].partition("\n")
        row = dict(zip(names, [first, *parts[at : at + count - 1]], strict=True))
        first = following
        id = row.get("JobID", "").strip()
        word, _, by = state.strip().partition(" by ")
        word = plain(word.strip().rstrip("+"), 40)
        if step := _STEP.match(id):
            if step[1] != older:
                steps.setdefault(step[1], []).append(_step(step[2], word, by, row))
        elif _ID.match(id):
            new, old = _account(id, word, by, row), rows.pop(id, None)
            older = id if old is not None and _submitted(new) < _submitted(old) else ""
            if old is not None and not older:
                steps.pop(id, None)
                new = replace(new, before=old.word)
            rows[id] = new if not older or old is None else replace(old, before=old.before or word)
    return Accounts(tuple(rows.values()), {id: _newest(of) for id, of in steps.items()})


def _newest(steps: list[Step]) -> tuple[Step, ...]:
    old = steps[:-STEPS_MOST]
    kept = {step.id for step in unresolved(old)} | OWN
    return (*(step for step in old if step.id in kept), *steps[-STEPS_MOST:])


def _submitted(row: Listed) -> float:
    return row.submitted_at or 0.0


def _account(id: str, word: str, by: str, row: Mapping[str, str]) -> Listed:
    code, signal = _exit(row.get("ExitCode", ""))
    return Listed(
        id,
        word,
        row.get("JobName", ""),
        submitted_at=_time(row.get("Submit", "")),
        started_at=_time(row.get("Start", "")),
        ends_at=_time(row.get("End", "")),
        partition=_word(row.get("Partition", "")),
        node=_word(row.get("NodeList", "")),
        exit_code=code,
        signal=signal,
        by=plain(by, 40) or None,
        raw=row.get("JobIDRaw", "").strip() or None,
        workdir=row.get("WorkDir") or None,
        submit_line=row.get("SubmitLine", "")[:LINE_MOST] or None,
        stdout=row.get("StdOut") or None,
        stderr=row.get("StdErr") or None,
    )


def _step(id: str, word: str, by: str, row: Mapping[str, str]) -> Step:
    code, signal = _exit(row.get("ExitCode", ""))
    return Step(
        id,
        plain(row.get("JobName", "").strip(), NAME_MOST),
        word.upper(),
        exit_code=code,
        signal=signal,
        started_at=_time(row.get("Start", "")),
        ends_at=_time(row.get("End", "")),
        by=plain(by, 40) or None,
        tasks=whole(row.get("NTasks", ""), 9),
        node=_word(row.get("NodeList", "")),
        submit_line=row.get("SubmitLine", "")[:LINE_MOST] or None,
    )


def parse_details(text: str) -> list[Detail]:
    """The records of `scontrol -o show job ID`, one line each unless a name breaks it."""
    return [
        detail
        for record in re.split(r"^(?=JobId=\d)", text, flags=re.MULTILINE)
        if (detail := _detail(record)) is not None
    ]


def parse_marked(text: str, mark: str) -> tuple[list[Detail], Mapping[str, str]]:
    """The records after each `MARK ID`, as text or as JSON, and by ID why a job of it may have no record.

    ID is a job or an array. A record of another job does not count. Neither do two records of one job: a job's name
    has forged one of them.
    """
    found: list[Detail] = []
    unknown: dict[str, str] = {}
    for chunk in text.split(f"{mark} ")[1:]:
        id, _, records = chunk.partition("\n")
        single = _detail(records)
        if records.lstrip().startswith("{"):
            parsed = parse_json(records)
        elif single is not None and single.id == id and single.part is None:
            parsed = [single]  # its name may hold what looks like a second record
        else:
            parsed = [replace(one, id=one.part or one.id) for one in parse_details(records)]
        count = Counter(one.id for one in parsed if _ID_END.split(one.id)[0] == id)
        found += [one for one in parsed if count[one.id] == 1]
        unknown[id] = NO_ROOM if records.strip() == TOO_MUCH else NO_RECORD
    return found, unknown


def _detail(record: str) -> Detail | None:
    head = _HEAD.match(record)
    # A name may hold anything, `JobState=` too: what Slurm says itself stands behind the last UserId.
    _, found, told = record.rpartition(" UserId=")
    if head is None or not found:
        return None
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(told):
        fields.setdefault(name, value)
    code, signal = _exit(fields.get("ExitCode", ""))
    user = re.match(r"([^\s()]{1,128})\((\d{1,10})\) ", told)
    return Detail(
        id=head[1] if head[2] is None else f"{head[2]}_{head[3]}",
        part=None if head[4] is None else f"{head[4]}+{head[5]}",
        word=plain(fields.get("JobState", ""), 40),
        name=record[head.end() :].partition("JobName=")[2].partition(" UserId=")[0],
        raw=head[1],
        exit_code=code,
        signal=signal,
        restarts=whole(fields.get("Restarts", ""), 6),
        batch={"0": False, "1": True}.get(fields.get("BatchFlag", "")),
        submitted=plain(fields["SubmitTime"], 40) if "SubmitTime" in fields else None,
        ends_at=_time(fields.get("EndTime", "")),
        resumed_at=_time(fields.get("SuspendTime", "")),
        user=plain(user[1], 128) if user else None,
        uid=user[2] if user else None,
        preempted_at=_time(fields.get("PreemptTime", "")),
        stdout=_path(told, "StdOut", "Power|TresPerNode|MailUser|CpusPerTres|MemPerTres"),
        stderr=_path(told, "StdErr", "StdIn"),
    )


def _path(record: str, name: str, next: str) -> str | None:
    """A path of a record: behind the last `Name=`, for comments may stand before it; None for no file."""
    tail = record.rpartition(f" {name}=")[2]
    path = re.split(rf" (?:{next})=", tail, maxsplit=1)[0].strip()
    return path if may_follow(path) else None


# --- jobs --------------------------------------------------------------------------------------


def job_table(
    listed: Iterable[Listed],
    details: Iterable[Detail] = (),
    accounts: Accounts | None = None,
    why: str | None = None,
    unknown: Mapping[str, str] = NOTHING,
    user: str | None = None,
    own: str | None = None,
) -> JobTable:
    """One table of all three lists, in the order of the jobs' numbers. Of more than JOBS_KEPT jobs the live and the newest
    are kept. `unknown`: by id of a job or an array, why its details are not known; `user`: the login whose jobs are
    listed, and `own` its numeric id.
    """
    known = {detail.id: detail for detail in details}
    found = accounts or Accounts()
    rows, beyond = _queue_jobs(listed, known, found.steps, unknown, own)
    for row in found.rows:
        steps = found.steps.get(row.id, ())
        if (old := rows.get(row.id)) is not None:
            rows[row.id] = _with_account(old, row, known.get(row.id), steps, own)
        elif "[" not in row.id:
            rows[row.id] = _from_accounts(row, steps, own)
    for id in _interactive(rows, known, found):
        rows[id] = replace(rows[id], interactive=True)
    jobs = sorted(_jobs_with_logs(rows, known, found, user), key=lambda job: _order(job.id))
    newest = sorted(jobs, key=lambda job: (job.live, _order(job.id)), reverse=True)
    kept = {job.id for job in newest[:JOBS_KEPT]}
    return JobTable(
        SOURCE,
        tuple(job for job in jobs if job.id in kept),
        dropped=beyond + len(jobs) - len(kept),
        why=why,
        recorded=accounts is not None,
    )


def _queue_jobs(
    listed: Iterable[Listed],
    known: Mapping[str, Detail],
    steps: Mapping[str, Sequence[Step]],
    unknown: Mapping[str, str],
    own: str | None,
) -> tuple[dict[str, Job], int]:
    """The jobs of squeue by id, and how many tasks of arrays are left out."""
    # scontrol has one record for all tasks of an array that wait: `17_[4-9]`.
    parts = ((id.partition("_"), detail) for id, detail in known.items())
    arrays = {id: detail for (id, _, task), detail in parts if task and not task.isdigit()}
    rows: dict[str, Job] = {}
    left_out = 0
    for row in chain.from_iterable(map(_tasks, listed)):
        if row is None:
            left_out += 1
            continue
        job = job_of(row, known.get(row.id), steps.get(row.id, ()), own)
        if job.live and row.id not in known:
            job = replace(job, unread=unknown.get(_ID_END.split(row.id)[0], NOT_YET))
        if not job.started_at:
            job = replace(job, will_write=_will_write(row.id, known, arrays))
        rows[row.id] = job
    return rows, left_out


def _with_account(
    old: Job, row: Listed, detail: Detail | None, steps: Sequence[Step], own: str | None
) -> Job:
    """A job of squeue with its record in the accounts. A record of an earlier attempt only says how that ended."""
    if not (words.meaning(row.word).over and words.meaning(old.word).over):
        return replace(old, ended_by=old.ended_by or WORDS.get(row.before or row.word))
    if detail is not None and row.exit_code is not None:
        detail = replace(detail, exit_code=row.exit_code, signal=row.signal)
    job = job_of(row, detail, steps, own)
    return replace(job, stdout=old.stdout, stderr=old.stderr, restarts=old.restarts)


def _jobs_with_logs(
    rows: Mapping[str, Job], known: Mapping[str, Detail], accounts: Accounts, user: str | None
) -> Iterator[Job]:
    """The jobs with the paths of their logs; those of steps only for jobs that run and the LOGS_OF_ENDED that ended last."""
    booked = {row.id: row for row in accounts.rows}
    with_steps = accounts.steps.keys() & rows.keys()
    ended = sorted(with_steps, key=lambda id: rows[id].finished_at or 0.0)
    newest = set(ended[-LOGS_OF_ENDED:])
    for id, job in rows.items():
        if job.started_at is None and job.stdout is None:
            yield job
            continue
        steps = accounts.steps.get(id, ()) if job.live or id in newest else ()
        yield with_logs(job, known.get(id), booked.get(id), steps, user)


def _will_write(
    id: str, known: Mapping[str, Detail], arrays: Mapping[str, Detail]
) -> tuple[str, ...]:
    """The logs of a job that waits. The record of an array has one path for all tasks that wait."""
    array, _, task = id.partition("_")
    own, whole = known.get(id), arrays.get(array) if task else None
    if (detail := own or whole) is None:
        return ()
    paths = dict.fromkeys(path for path in (detail.stdout, detail.stderr) if path is not None)
    named = [path for path in paths if "%" not in path and (own is not None or NO_VAL in path)]
    return tuple(path.replace(NO_VAL, task or NO_VAL) for path in named)


def _interactive(ids: Iterable[str], known: Mapping[str, Detail], accounts: Accounts) -> list[str]:
    """The jobs of srun or salloc without a batch script. Sources: BatchFlag, the submit line, and the steps, where the
    accounts keep steps.
    """
    lines = {row.id: row.submit_line for row in accounts.rows}
    keeps_steps = any(step.id == "batch" for steps in accounts.steps.values() for step in steps)

    def is_interactive(id: str) -> bool:
        if (detail := known.get(id)) is not None and detail.batch is not None:
            return not detail.batch
        program = (lines.get(id) or "").partition(" ")[0].rpartition("/")[2]
        if program:
            return program in ("srun", "salloc")
        steps = {step.id for step in accounts.steps.get(id, ())}
        return keeps_steps and bool(steps) and "batch" not in steps

    return [id for id in ids if is_interactive(id)]


def job_of(
    row: Listed,
    detail: Detail | None = None,
    steps: Sequence[Step] = (),
    own: str | None = None,
) -> Job:
    """One row as a job. `steps`: those that the accounts have of it; `own`: the numeric id of its user."""
    word = row.word.upper()
    means = words.meaning(word)
    state, finding = means.state, means.finding
    code = row.exit_code if detail is None else detail.exit_code
    signal = row.signal if detail is None else detail.signal
    says = [means.says] if means.says else []
    begun = means.over or state is CellState.RUNNING or word in words.HALTED
    if state is CellState.PENDING and (waits := words.reason(row.reason)):
        says = [waits, *says]
        if row.reason == "Dependency" and row.dependency:
            says[0] = f"{waits} ({row.dependency})"
        if row.reason in words.NEVER:
            state, finding = CellState.SKIPPED, "missing_cell"
        elif words.spelled(row.reason) in words.FAULTS:
            finding = "missing_cell"
    end = WORDS.get(word)
    unstarted = _never_began(row, signal) if means.over else None
    if unstarted is not None:
        state, says = unstarted
        finding, begun, code, signal = "missing_cell", False, None, None
    elif word == "CANCELLED" and row.by is not None:
        own = detail.uid if detail and detail.uid else own
        says.append(_cancelled_by(row.by, own))
        if own not in (None, row.by):
            end = End.REMOVED
            state, finding = (
                (CellState.FAILED, "crashed") if row.placed else (state, "missing_cell")
            )
    elif detail and word != "PREEMPTED" and _made_room(row, detail):
        end = End.PREEMPTED
        says.append((words.STATES["PREEMPTED"].says or "") if means.over else words.MAKES_ROOM)
        finding = "preempted" if state is CellState.FAILED else finding
    if state is CellState.FAILED and (finding is None or word == "FAILED") and unstarted is None:
        says.append(_end(code, signal))
    if state in (CellState.FINISHED, CellState.FAILED, CellState.RUNNING) and unstarted is None:
        began = row.started_at or 0.0  # the steps of an earlier start may still be listed
        now = [step for step in steps if (step.started_at or began) >= began]
        state, finding = _by_steps(state, finding, says, failed_steps(now))
    restarts = detail.restarts if detail else None
    if restarts:
        says.append(f"restarted {restarts} time{'s' if restarts > 1 else ''}")
    return Job(
        id=row.id,
        # The id first: names are cut at their end, and two jobs may have the same one.
        name=f"{row.id}·{plain(row.name.strip(), NAME_MOST) or 'job'}",
        state=state,
        word=word,
        why="; ".join(text for text in says if text) or None,
        task=row.partition,
        submitted_at=row.submitted_at,
        started_at=row.started_at if begun else None,
        resumed_at=detail.resumed_at if detail and state is CellState.RUNNING else None,
        finished_at=row.ends_at if means.over else None,
        ends_by=row.ends_at if state is CellState.RUNNING else None,
        # 0:0 stands beside an end that nobody waited for, too: only of a completed job it is an exit of 0.
        exit_code=code if means.over and (code or means.state is CellState.FINISHED) else None,
        signal=(signal or None) if means.over else None,
        restarts=restarts,
        node=row.node,
        stdout=detail.stdout if detail and (begun or restarts) else None,
        stderr=detail.stderr if detail and (begun or restarts) else None,
        finding=finding,
        reason=words.code(row.reason) if means.state is CellState.PENDING else None,
        limit=row.limit,
        gpus=row.gpus,
        expected_at=row.started_at if state is CellState.PENDING and not begun else None,
        at_once=row.at_once,
        steps_read=any(step.id == "batch" and step.ends_at is not None for step in steps),
        preempted=state is CellState.FAILED and end is End.PREEMPTED,
        ended_by=end,
    )


def _by_steps(
    state: CellState, finding: str | None, says: list[str], failed: Failed | None
) -> tuple[CellState, str | None]:
    """The state and the finding of a job with a failed step; `says` is extended. The end of a job that failed by
    itself is known, unless the step ran out of memory.
    """
    if failed is None or (state is CellState.FAILED and failed.finding != "host_oom"):
        return state, finding
    if state is CellState.FINISHED:
        says.append(f"{failed.says}, and the script went on to exit 0")
        return CellState.SUSPICIOUS, failed.finding or None
    if state is CellState.RUNNING:
        says.append(f"{failed.says}, and {'the script goes on' if failed.runs else NO_STEP_RUNS}")
        return state, finding if failed.by_user else failed.finding or "crashed"
    says.append(failed.says)
    return state, failed.finding


def _never_began(row: Listed, signal: int | None) -> tuple[CellState, list[str]] | None:
    """The state and words of a job that ended before its script ran; None if it ran, or if that is not known."""
    word = row.word.upper()
    lasted = row.lasted
    if word not in ("DEADLINE", "FAILED") or lasted is None:
        return None
    if not row.placed and lasted == 0:
        if word == "DEADLINE":
            return CellState.SKIPPED, ["its deadline passed before it could start"]
        because = f" ({row.reason})" if words.reason(row.reason) else ""
        return CellState.SKIPPED, [words.REFUSED + because]
    # A script that a signal killed at once has this reason, too (22.05): then the exit code has the signal.
    no_launch = (signal == words.NO_LAUNCH_SIGNAL and lasted <= words.LAUNCH_SECONDS) or (
        row.reason == words.NO_LAUNCH and signal == 0 and lasted == 0
    )
    if word == "FAILED" and no_launch:
        return CellState.FAILED, [words.NOT_STARTED]
    return None


def _cancelled_by(by: str, own: str | None) -> str:
    who = f"by user {by}{' (root)' if by == '0' else ''}"
    if own is None:
        return who
    return f"{who}, its own" if by == own else f"{who}, not by its own user"


def _made_room(row: Listed, detail: Detail) -> bool:
    """Whether Slurm preempted the job. It may end in any state then: its program may catch the signal."""
    at, over = detail.preempted_at, row.ends_at
    return at is not None and over is not None and over >= at


def _from_accounts(row: Listed, steps: Sequence[Step], own: str | None) -> Job:
    """A job that the queue does not have. If the accounts list it as live, its end is not known."""
    job = job_of(row, None, steps, own)
    if words.meaning(row.word).over:
        ran = row.stdout is None and job.started_at is not None
        return replace(job, unread=NO_RECORD if ran else None)
    why = f"the accounts say {job.word}, {NOT_QUEUED}"
    return replace(job, state=CellState.CANNOT_TELL, why=why, ends_by=None)


def _end(code: int | None, signal: int | None) -> str:
    if signal:
        more = " (the memory limit, or scancel -s KILL: its stderr says which)"
        return f"ended by signal {signal}{more if signal == 9 else ''}"
    return "" if code is None else f"exit {code}"


def _tasks(row: Listed) -> Iterator[Listed | None]:
    """The row itself; of a waiting array each task as a row, None for each of those beyond TASKS_MOST."""
    match = _ID.match(row.id)
    packed = match[3] if match else None
    if match is None or packed is None:
        yield row
        return
    for count, task in enumerate(task_ids(packed)):
        yield replace(row, id=f"{match[1]}_{task}") if count < TASKS_MOST else None


def task_ids(packed: str) -> Iterator[int]:
    """The task numbers of `3-9%2` or `1,4-10:3`; what is cut off or not of that shape is passed over."""
    left = JOBS_KEPT
    for part in packed.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d{1,8})(?:-(\d{1,8})(?::(\d{1,8}))?)?", part.strip())
        if match is None:
            continue
        first = int(match[1])
        for task in range(first, int(match[2] or first) + 1, max(1, int(match[3] or 1))):
            if left <= 0:
                return
            left -= 1
            yield task


def _order(id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]{1,18}", id))


def _exit(text: str) -> tuple[int | None, int | None]:
    """`3:0` is exit 3, `0:9` is ended by signal 9."""
    match = re.fullmatch(r"(\d{1,4}):(\d{1,3})", text.strip())
    return (int(match[1]), int(match[2])) if match else (None, None)


def _time(text: str) -> float | None:
    """Epoch seconds; what is written in any other way has a zone that nobody told."""
    text = text.strip()
    return float(text) if text.isascii() and text.isdigit() and 0 < len(text) < 12 else None


def _word(text: str) -> str | None:
    text = plain(text.strip(), 60)
    return None if text in ("", "N/A", "(null)", "None assigned") else text
