"""Asking Slurm from its login node: the queue at every look, a job's details once, the accounts seldom.

A controller is shared by everybody on the cluster, so it is asked as a person would: `squeue` for one
user on a slow beat; `scontrol` for a job only when it began, ended or came to wait for something else, a few
at a time; `sacct` every few minutes, of no more days than fit; `sinfo` as seldom, where a job runs or waits for nodes.
Nothing is changed by any of it.
"""

from __future__ import annotations

import secrets
import shlex
from dataclasses import replace

from gpu_tui.collect.frames import MAX_SECTION
from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Section, Sections, Target
from gpu_tui.collect.slurm_nodes import nodes_of, questions
from gpu_tui.core import metrics
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.plain import plain
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.nvidia_smi import NOT_FOUND, TIMED_OUT
from gpu_tui.parse.slurm import (
    ACCOUNT_FIELDS,
    MORE_FIELDS,
    QUEUE_FORMAT,
    Accounts,
    job_table,
    parse_accounts,
    parse_marked,
    parse_queue,
)
from gpu_tui.parse.slurm_nodes import with_nodes
from gpu_tui.parse.slurm_words import PLACES

EVERY = 20.0  # seconds between two questions to the controller
ACCOUNT_BEATS = 8  # and this many of them from one question to the accounts to the next
LIMIT = 15.0  # squeue itself gives up on a dead controller after 9 s, and says so
DETAILS_LIMIT = 5
DETAILS_ROUND = 12  # jobs asked about one by one in one round
DETAILS_KEPT = 48  # jobs whose details are sent: those that run, the newest that ended, that wait

_SNIPPET = r"""
    PATH=$PATH:{places} SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0
    export PATH SLURM_TIME_FORMAT SLURM_BITSTR_LEN
    unset SLURM_CLUSTERS SQUEUE_FORMAT SQUEUE_STATES SQUEUE_USERS SQUEUE_PARTITION SACCT_FORMAT
    user={user}
    [ -n "$user" ] || user=$(id -un)
    open about; tell mark {mark}; tell user "$user"; close 0
    ask queue {limit:.0f} squeue -h -u "$user" -t all -o '{mark}|{queue_format}'
    queue=$code
{nodes}
    keys=
    [ "$queue" != 0 ] || keys=$(printf '%s\n' "$kept" | sed -n \
        -e 's/^{mark}|\([0-9_]*\)|PENDING|\([^|]*|\)\{{3\}}\([0-9A-Za-z_]*\)[^|]*|.*/2 \1:PENDING:\3/p' \
        -e '/^{mark}|[^|]*|PENDING|/d' \
        -e 's/^{mark}|\([0-9_]*\)|\(RUNNING\)|\([0-9]*\)|.*/0 \1:\2:\3/p' -e t \
        -e 's/^{mark}|\([0-9_]*\)|\([A-Z_]*\)|\([0-9A-Za-z/]*\)|.*/1 \1:\2:\3/p' |
        sort -k1,1n -k2,2nr | head -n {most} | sed -e 's/^[012] //')
    set -- $keys
    keys=" $*" asked=0 details= changed=
    for key in $keys; do
        id=${{key%%:*}}
        eval "was=\$was_$id"
        if [ "$was" != "$key" ] && [ "$asked" -lt {round} ]; then
            asked=$((asked + 1)) changed=1
            grab {details_limit} scontrol -o show job "$id"
            case $out in
                *"$newline"*) # a name with a line end in it: JSON says it better, where this Slurm has it
                    kept=$out
                    grab {details_limit} scontrol --json show job "$id"
                    [ "$code" = 0 ] || out=$kept code=0 ;;
            esac
            case $code in
                0) eval "was_$id=\$key about_$id=\$out" ;;
                124 | 137 | 143) asked={round} ;;
                *) eval "was_$id=\$key about_$id=" ;;
            esac
        fi
        eval "told=\$about_$id"
        details="$details{mark} $id$newline$told$newline"
    done
    for id in $asked_about; do
        case $keys in *" $id:"*) ;; *) unset "was_$id" "about_$id"; changed=1 ;; esac
    done
    asked_about=
    for key in $keys; do asked_about="$asked_about ${{key%%:*}}"; done
    if [ "$n" = 0 ] || [ -n "$changed" ]; then out=$details; show details 0; else same details; fi
    if turn {beats}; then
        : "${{window:=now-3days}}" "${{columns:={more_fields},{account_fields}}}"
        while :; do
            grab {limit:.0f} sacct -P -u "$user" -S "$window" --delimiter='{mark}' -o "$columns"
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
            case $window in now-3days) window=now-1day ;; *) window=now-2hours ;; esac
        fi
        show accounts "$code"
    else
        same accounts
    fi
{ask_nodes}
"""
TOO_MANY = 74  # our own: the accounts told more than can be read


def snippet(target: Target) -> str:
    """The sh text; empty where this instance is no login node of a Slurm."""
    instance = target.instance
    if instance.scheduler != "slurm":
        return ""
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
        round=DETAILS_ROUND,
        details_limit=DETAILS_LIMIT,
        beats=ACCOUNT_BEATS,
        most_bytes=MAX_SECTION - 65_536,
        too_many=TOO_MANY,
        **questions(mark, ACCOUNT_BEATS, LIMIT),
    )


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
    accounts, why = _accounts(sections, mark)
    details = parse_marked(_text(sections, "details"), mark)
    table = job_table(parse_queue(said, mark), details, accounts, why)
    table = replace(table, complete=not queue.truncated)
    return with_nodes(table, nodes_of(sections, mark))


def _accounts(sections: Sections, mark: str) -> tuple[Accounts | None, str | None]:
    """What sacct told, or why jobs that left the queue are not listed."""
    section = sections.get("accounts", NOTHING)
    lost = "a job that left the queue is known only if it was seen in it"
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


# squeue, sacct and one scontrol may each wait for a controller that is gone.
PROBE = Probe(metrics.SLURM.name, "slurm", EVERY, LIMIT, snippet, read_jobs, hangs=lambda _: 3)
