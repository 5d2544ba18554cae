"""Names the files that Slurm writes: the log of a batch script, and those of steps with `srun -o`.

scontrol leaves most of a pattern as it is: 22.05 expands %A %a %j %u %x of StdOut, and neither %N %n %t %s %J %% nor
widths (%3t). Source: slurm.schedmd.com/srun.html, "IO Redirection"; values of a batch script as 22.05.8 sets them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from posixpath import join, normpath

from gpu_tui.core.jobs import Job
from gpu_tui.core.logs import may_follow
from gpu_tui.parse.slurm_hostlist import expand_hostlist
from gpu_tui.parse.slurm_job import Detail, Listed, Step
from gpu_tui.parse.slurm_steps import OWN, parse_srun

LOGS_MOST = 12  # logs of the steps of one job
NODES_MOST = 1_000
STEPS_MOST = 4  # the newest steps with logs of their own
SUFFIXES = (".log", ".out", ".err", ".txt")
WORDS_MOST = 4
_SYMBOL = re.compile(r"%(\d{0,2})([%AaJjNnstux])")
_WIDEST = 10
NUMBERS = "AaJjnt"  # these are padded with zeros; a width of others is ignored
NO_VAL = "4294967294"  # Slurm's own word for "not set": %a outside an array, or of an array's tasks that wait
NO_FILES = frozenset(
    {"all", "none"}
)  # values of -o that name no file; nor does a number, which is a task


@dataclass(frozen=True, slots=True)
class Names:
    """The values of the symbols in a pattern; None: not known. `job` is the number of the task of an array too.

    `array` and `task` are None for a job outside of an array; `nodes` as squeue prints them: `n[1-3]`.
    """

    job: str | None
    array: str | None = None
    task: str | None = None
    name: str | None = None
    user: str | None = None
    nodes: str | None = None
    workdir: str | None = None


def with_logs(
    job: Job, detail: Detail | None, row: Listed | None, steps: Sequence[Step], user: str | None
) -> Job:
    """The job with the paths of its logs. `row`: its record in the accounts; `user`: the login whose jobs are listed.

    Where the controller no longer has the job, the accounts have the name of its log or its submit line.
    """
    array, _, task = job.id.partition("_")
    raw = (detail and detail.raw) or (row and row.raw)
    names = Names(
        raw or (job.id if job.id.isdigit() else None),
        array if task else None,
        task or None,
        detail.name if detail else row.name if row else None,
        (detail.user if detail else None) or user,
        job.node,
        row.workdir if row else None,
    )
    if job.id.partition("+")[2] not in ("", "0"):  # the script runs on the first part of the job
        return replace(job, stdout=None, stderr=None, logs=step_paths(steps, names))
    if detail is not None:
        out, err = batch_path(job.stdout, names), batch_path(job.stderr, names)
        return replace(job, stdout=out, stderr=err, logs=step_paths(steps, names))
    if row is None:
        return job
    if row.stdout is not None:
        out, err = batch_path(row.stdout, names), batch_path(row.stderr, names)
        return replace(job, stdout=out, stderr=err, logs=step_paths(steps, names))
    return replace(job, logs=(*_submitted(row, names), *step_paths(steps, names)))


def _submitted(row: Listed, names: Names) -> Iterator[str]:
    """The logs that the options of sbatch name. `#SBATCH` lines of the script may name others."""
    if row.submit_line is None or not row.submit_line.startswith("sbatch"):
        return
    options = parse_srun(row.submit_line).options
    usual = "slurm-%j.out" if names.array is None else "slurm-%A_%a.out"
    for pattern in (
        options.get("o") or options.get("output") or usual,
        options.get("e") or options.get("error"),
    ):
        if (path := batch_path(pattern, names)) is not None:
            yield path


def batch_path(pattern: str | None, names: Names) -> str | None:
    """The log of the batch script: task 0 on the first node. None if it is no file, or if a symbol is not known."""
    node = next(hosts(names.nodes), None)
    return _file(pattern, names, {"s": "batch", "t": "0", "n": "0", "J": names.job, "N": node})


def step_paths(steps: Iterable[Step], names: Names) -> tuple[str, ...]:
    """The logs that steps may write by `srun -o` and `-e`, the newest step first. Not every one of them exists: which
    task runs on which node is a guess.
    """
    own = [step for step in steps if step.id not in OWN and step.submit_line]
    newest = (path for step in reversed(own[-STEPS_MOST:]) for path in _of_step(step, names))
    return tuple(islice(dict.fromkeys(newest), LOGS_MOST))


def hosts(nodes: str | None) -> Iterator[str]:
    """The short names of `n1,m[1-3,05]`, at most NODES_MOST."""
    for host in expand_hostlist(nodes or "", NODES_MOST):
        yield host.partition(".")[0]


def _of_step(step: Step, names: Names) -> Iterator[str]:
    srun = parse_srun(step.submit_line or "")
    options = srun.options
    chdir = options.get("D") or options.get("chdir")
    nodes = list(hosts(step.node or names.nodes))
    for option in (("o", "output"), ("e", "error")):
        pattern = next((options[name] for name in option if options.get(name)), None)
        if pattern is None or pattern in NO_FILES or pattern.isdigit():
            continue
        is_last = options[next(reversed(options))] == pattern
        longer = _with_spaces(pattern, srun.command) if is_last else None
        for one in filter(None, (longer, pattern)):
            whole = one if chdir is None else join(chdir, one)
            yield from _of_tasks(whole, step, names, nodes)


def _of_tasks(pattern: str, step: Step, names: Names, nodes: Sequence[str]) -> Iterator[str]:
    """One path per task, or per node where the pattern names only nodes. Tasks fill one node after another."""
    symbols = {symbol for _, symbol in _SYMBOL.findall(pattern)}
    tasks = step.tasks or 1
    places: Sequence[str | None] = nodes or [None]
    if "t" in symbols:
        pairs = [(task, task * len(places) // tasks) for task in range(min(tasks, LOGS_MOST))]
    elif symbols & {"N", "n"}:
        pairs = [(0, at) for at in range(min(len(places), LOGS_MOST))]
    else:
        pairs = [(0, 0)]
    for task, at in pairs:
        values = {
            "s": step.id,
            "t": str(task),
            "n": str(at),
            "N": places[at],
            "J": f"{names.job}.{step.id}" if names.job else None,
        }
        if (path := _file(pattern, names, values)) is not None:
            yield path


def _with_spaces(pattern: str, words: Sequence[str]) -> str | None:
    """The whole of a pattern that may be cut at its first space: `srun -o logs dir/%j.log ./a`. None: it is whole."""
    if "%" in pattern or pattern.endswith(SUFFIXES):
        return None
    for at, word in enumerate(words[:WORDS_MOST]):
        if "%" in word or word.endswith(SUFFIXES):
            return " ".join([pattern, *words[: at + 1]])
    return None


def _file(pattern: str | None, names: Names, values: Mapping[str, str | None]) -> str | None:
    if pattern is None:
        return None
    known = {
        **values,
        "%": "%",
        "j": names.job,
        "A": names.array or names.job,
        "a": names.task or NO_VAL,
        "x": names.name,
        "u": names.user,
    }
    if "\\" in pattern:  # then no symbol counts
        path = pattern.replace("\\", "")
    else:
        if any(known[symbol] is None for _, symbol in _SYMBOL.findall(pattern)):
            return None
        path = _SYMBOL.sub(lambda found: _padded(found, known), pattern)
    if not path.startswith(("/", "~/")):
        if names.workdir is None:
            return None
        path = join(names.workdir, path)
    path = normpath(path)
    return path if may_follow(path) else None


def _padded(found: re.Match[str], known: dict[str, str | None]) -> str:
    width, symbol = found.groups()
    value = known[symbol] or ""
    return value.zfill(min(int(width), _WIDEST)) if width and symbol in NUMBERS else value
