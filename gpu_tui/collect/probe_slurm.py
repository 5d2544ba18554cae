"""Asking Slurm from its login node: the queue at every look, a job's details once, the accounts seldom.

A controller is shared by everybody on the cluster, so it is asked as a person would: `squeue` for one
user on a slow beat; `scontrol` for a job, or once for a whole array, only when it began, ended or came to wait for
something else; `sacct` every few minutes, of no more days than fit; `sinfo` as seldom, where a job runs or waits for
nodes. Nothing is changed by any of it.
"""

from __future__ import annotations

import secrets
import shlex
from dataclasses import replace

from gpu_tui.collect.frames import MAX_SECTION
from gpu_tui.collect.probe import NOTHING, NoValue, Section, Sections, Target
from gpu_tui.collect.slurm_nodes import nodes_of, questions
from gpu_tui.collect.slurm_row import LIMIT
from gpu_tui.core.fleet import Since
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.plain import plain
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.nvidia_smi import NOT_FOUND, TIMED_OUT
from gpu_tui.parse.slurm import (
    ACCOUNT_FIELDS,
    MORE_FIELDS,
    QUEUE_FORMAT,
    TOO_MUCH,
    Accounts,
    job_table,
    parse_accounts,
    parse_marked,
    parse_queue,
)
from gpu_tui.parse.slurm_nodes import with_nodes
from gpu_tui.parse.slurm_words import PLACES

ACCOUNT_BEATS = 8  # and this many of them from one question to the accounts to the next
DETAILS_LIMIT = 5
# One call gives the records of a job, or of all tasks of an array. A quick controller is asked about all that changed,
# a busy one about as many as it answers in these seconds; the others come first in the next look.
DETAILS_SECONDS = 6
DETAILS_ROUND = 100  # calls in one look
DETAILS_KEPT = 800  # jobs and tasks: those that run, the newest that ended, those that wait
UNIT_BYTES = (
    400_000  # of one array's records; of a larger one only those of tasks that run are sent,
)
UNIT_ROWS = 300  # and no more than these

_SNIPPET = r"""
    PATH=$PATH:{places} SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0
    export PATH SLURM_TIME_FORMAT SLURM_BITSTR_LEN
    unset SLURM_CLUSTERS SQUEUE_FORMAT SQUEUE_STATES SQUEUE_USERS SQUEUE_PARTITION SACCT_FORMAT
    user={user}
    [ -n "$user" ] || user=$(id -un)
    open about; tell mark {mark}; tell user "$user"; tell uid "$(id -u "$user" 2>/dev/null)"; close 0
    ask queue {limit:.0f} squeue -h -u "$user" -t all -o '{mark}|{queue_format}'
    queue=$code
{nodes}
    changed=
    if [ "$queue" = 0 ]; then
        keys=$(printf '%s\n' "$kept" | sed -n \
            -e 's/^{mark}|\([0-9]*[_+]*[0-9]*\)[^|]*|PENDING|\([^|]*|\)\{{3\}}\([0-9A-Za-z_]*\)[^|]*|.*/2 \1:PENDING:\3/p' \
            -e '/^{mark}|[^|]*|PENDING|/d' \
            -e 's/^{mark}|\([0-9_+]*\)|\(RUNNING\)|\([0-9]*\)|.*/0 \1:\2:\3/p' -e t \
            -e 's/^{mark}|\([0-9_+]*\)|\([A-Z_]*\)|\([0-9A-Za-z/]*\)|.*/1 \1:\2:\3/p' |
            sort -k1,1n -k2,2nr | head -n {most} | sed -e 's/^[012] //')
        arrays= units= details= later= asked=0 began=$(date +%s)
        for key in $keys; do
            unit=${{key%%[_+:]*}}
            eval "now=\$now_$unit now_$unit=\"\$now_$unit \$key\""
            if [ -n "$now" ]; then arrays="$arrays $unit"; else units="$units $unit"; fi
        done
        # By turns the newest, and the next of all from another one on at each start: a controller that answers only
        # a few calls would give every check the same records.
        others= mixed= size=0
        for unit in $units; do others="$others$unit " size=$((size + 1)); done
        size=$((size ? {turn} % size : 0))
        while [ "$size" -gt 0 ]; do others="${{others#* }}${{others%% *}} " size=$((size - 1)); done
        for unit in $units; do mixed="$mixed $unit ${{others%% *}}" others=${{others#* }}; done
        for unit in $late $arrays $mixed; do # a unit that is in the list twice is asked about once
            eval "now=\$now_$unit was=\$was_$unit now_$unit="
            [ -n "$now" ] || continue
            if [ "$was" = "$now" ]; then :
            elif [ "$asked" -ge {round} ] || [ "$(($(date +%s) - began))" -ge {seconds} ]; then
                later="$later $unit"
            else
                asked=$((asked + 1)) changed=1
                capture {details_limit} scontrol -o show job "$unit"
                case $code$now$newline$out in
                    "0 $unit:"*"$newline"*"$newline"*) # a name with a line end in it: JSON has it escaped
                        kept=$out
                        capture {details_limit} scontrol --json show job "$unit"
                        [ "$code" = 0 ] || out=$kept code=0 ;;
                esac
                [ "${{#out}}" -le {unit_bytes} ] ||
                    out=$(printf '%s\n' "$out" | grep ' JobState=RUNNING ' | head -n {unit_rows})
                case $code in
                    0) eval "was_$unit=\$now about_$unit=\$out" ;;
                    124 | 137 | 143) asked={round} later="$later $unit" ;;
                    *) eval "was_$unit=\$now about_$unit=" ;;
                esac
            fi
            eval "was=\$was_$unit told=\$about_$unit"
            [ "$((${{#details}} + ${{#told}}))" -le {most_bytes} ] || told={too_much}
            [ -z "$was" ] || details="$details{mark} $unit$newline$told$newline"
        done
        late=$later
        for unit in $about_all; do
            case "$units " in *" $unit "*) ;; *) unset "was_$unit" "about_$unit"; changed=1 ;; esac
        done
        about_all=$units
    fi
    if [ "$n" = 0 ] || [ -n "$changed" ]; then out=$details; show details 0; else same details; fi
    if turn {beats}; then
        : "${{window:={window}}}" "${{columns:={more_fields},{account_fields}}}"
        while :; do
            capture {limit:.0f} sacct -P -D -u "$user" -S "$window" --delimiter='{mark}' -o "$columns"
            [ "${{#out}}" -le {most_bytes} ] || out= code={too_many}
            case $code/$columns/$out in
                1/StdOut,*'nvalid field'*) columns=${{columns#StdOut,StdErr,}} ;; # this sacct is older
                1/SubmitLine,*'nvalid field'*) columns=${{columns#SubmitLine,}} ;;
                1/WorkDir,*'nvalid field'*) columns={account_fields} ;;
                {too_many}/*SubmitLine,*) columns=${{columns#*SubmitLine,}} ;;
                *) break ;;
            esac
        done
        if [ "$code" = {too_many} ]; then
            case $window in now-1day | now-2hours) window=now-2hours ;; *) window=now-1day ;; esac
        fi
        show accounts "$code"
    else
        same accounts
    fi
{ask_nodes}
"""
turn = secrets.randbelow  # which of the single jobs comes second
TOO_MANY = 74  # our own: the accounts told more than can be read


def snippet(target: Target) -> str:
    """The sh text for a login node of Slurm."""
    instance = target.instance
    # A new mark for every start of the program: nobody's job name can hold it.
    mark = f"@{secrets.token_hex(8)}"
    return _SNIPPET.format(
        places=PLACES,
        user=shlex.quote(instance.scheduler_scope.user or ""),
        mark=mark,
        limit=LIMIT,
        queue_format=QUEUE_FORMAT,
        account_fields=ACCOUNT_FIELDS,
        more_fields=",".join(MORE_FIELDS),
        most=DETAILS_KEPT,
        turn=turn(DETAILS_KEPT),
        round=DETAILS_ROUND,
        seconds=DETAILS_SECONDS,
        unit_bytes=UNIT_BYTES,
        unit_rows=UNIT_ROWS,
        too_much=TOO_MUCH,
        details_limit=DETAILS_LIMIT,
        beats=ACCOUNT_BEATS,
        most_bytes=MAX_SECTION - 65_536,
        too_many=TOO_MANY,
        window=_window(instance.scheduler_scope.since),
        **questions(mark, ACCOUNT_BEATS, LIMIT),
    )


def _window(since: Since | None) -> str:
    """The start for sacct; sh computes it from the box's clock where the fleet file has a date."""
    if since is None:
        return "now-3days"
    if since.at is None:
        return f"now-{since.ago or 0.0:.0f}"
    return f"now-$(($(date +%s) - {since.at:.0f}))"


def read_jobs(_: Target, sections: Sections) -> JobTable | NoValue:
    """The jobs of one look; why there is no list, where there is none."""
    about = dict(
        line.split(" ", 1) for line in _text(sections, "about").splitlines() if " " in line
    )
    mark = about.get("mark")
    queue = sections.get("queue", NOTHING)
    said = _text(sections, "queue")
    if queue.exit in NOT_FOUND:
        return NoValue("there is no squeue on this box: is it the login node?")
    if queue.exit in TIMED_OUT:
        return NoValue("squeue does not return: the controller does not answer", FailureKind.HUNG)
    if queue.exit or not mark:
        return NoValue(_complaint(said, queue), FailureKind.UNREACHABLE)
    # squeue 22.05 says "squeue: error: Invalid user: NAME" and ends with 0.
    if "error: Invalid user: " in said and mark not in said:
        name = plain(about.get("user", ""), 40)
        return NoValue(f"squeue knows no user {name}: correct scheduler.user in the fleet file")
    accounts, why = _accounts(sections, mark)
    details, unknown = parse_marked(_text(sections, "details"), mark)
    listed, own = parse_queue(said, mark), about.get("uid") or None
    table = job_table(listed, details, accounts, why, unknown, about.get("user"), own)
    table = replace(table, complete=not queue.truncated)
    return with_nodes(table, nodes_of(sections, mark))


def _accounts(sections: Sections, mark: str) -> tuple[Accounts | None, str | None]:
    """The records of sacct, or why there are none."""
    section = sections.get("accounts", NOTHING)
    lost = "a job that left the queue is known only from earlier checks"
    if section.exit == 0:
        return parse_accounts(_text(sections, "accounts"), mark), None
    if section.exit == TOO_MANY:
        return None, f"the accounts list too many jobs to read: {lost}"
    if section.exit in TIMED_OUT:
        return None, f"sacct does not return: {lost}"
    return None, f"no accounts are kept here (sacct ended with {section.exit}): {lost}"


def _complaint(said: str, queue: Section) -> str:
    """Squeue's own words, the line that says most."""
    lines = [plain(line, 120) for line in said.splitlines() if line.strip()]
    told = next((line for line in lines if "error" in line.lower()), "".join(lines[:1]))
    if "contact slurm controller" in told:
        return f"the controller does not answer ({told})"
    return f"squeue ended with {queue.exit}" + (f": {told}" if told else "")


def _text(sections: Sections, name: str) -> str:
    return sections.get(name, NOTHING).body.decode("utf-8", "replace")
