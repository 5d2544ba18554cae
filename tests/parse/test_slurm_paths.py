"""The files that Slurm writes. The patterns and the names were printed and made by a 22.05.8."""

from __future__ import annotations

import pytest
from test_slurm import accounts_text, record

from gpu_tui.core.jobs import Job
from gpu_tui.parse.slurm import (
    ACCOUNT_FIELDS,
    MORE_FIELDS,
    job_table,
    parse_accounts,
    parse_details,
    parse_marked,
    parse_queue,
)
from gpu_tui.parse.slurm_job import Step
from gpu_tui.parse.slurm_paths import LOGS_MOST, NODES_MOST, Names, batch_path, hosts, step_paths

ALL = "%A.%a.%j.%J.%N.%n.%s.%t.%u.%x.%%.%5j.%3t.%b.out"
ARRAY = Names("26", "26", "4", "pa", "root", "vm", "/w")
ALONE = Names("25", None, None, "p t", "root", "vm", "/w")
D, MARK = "@d", "@5f1c"
COLUMNS = ",".join([*MORE_FIELDS, ACCOUNT_FIELDS])


@pytest.mark.parametrize(
    ("pattern", "names", "path"),
    [
        (f"/w/b.{ALL}", ALONE, "/w/b.25.4294967294.25.25.vm.0.batch.0.root.p t.%.00025.000.%b.out"),
        (f"/w/b.{ALL}", ARRAY, "/w/b.26.4.26.26.vm.0.batch.0.root.pa.%.00026.000.%b.out"),
        ("/w/x.%N.o", Names("1", nodes="n[07-12]"), "/w/x.n07.o"),
        ("/w/x.%N.o", Names("1", nodes="n1.site.org,n2"), "/w/x.n1.o"),
        ("/w/x.%N.o", Names("1"), None),  # the node is not known yet
        ("/w/x.%u.o", Names("1"), None),
        ("/w/plain.o", Names(None), "/w/plain.o"),
        ("/w/%99j.o", Names("7"), "/w/0000000007.o"),
        (r"/w/esc\%j.o", ALONE, "/w/esc%j.o"),
        ("o/%j", ALONE, "/w/o/25"),
        ("o/%j", Names("7"), None),
        ("/dev/null", ALONE, None),
        ("/w/%x", Names("1", name="a/../../etc\n"), None),
        ("", ALONE, None),
        (None, ALONE, None),
    ],
)
def test_the_log_of_a_batch_script(pattern: str | None, names: Names, path: str | None) -> None:
    assert batch_path(pattern or None, names) == path


def step(line: str, tasks: int | None = 1, id: str = "0", node: str = "vm") -> Step:
    return Step(id, "x", "RUNNING", tasks=tasks, node=node, submit_line=line)


@pytest.mark.parametrize(
    ("line", "tasks", "paths"),
    [
        ("srun -o step-%j-%t.log ./a", 2, ["/w/step-25-0.log", "/w/step-25-1.log"]),
        (
            f"srun -J st -o s.{ALL} a",
            2,
            [
                "/w/s.25.4294967294.25.25.0.vm.0.0.0.root.p t.%.00025.000.%b.out",
                "/w/s.25.4294967294.25.25.0.vm.0.0.1.root.p t.%.00025.001.%b.out",
            ],
        ),
        ("srun --output=l-%j.out -e err-%s.%t.err a", 1, ["/w/l-25.out", "/w/err-0.0.err"]),
        ("srun --error /e/%j.err a -o b", None, ["/e/25.err"]),
        ("srun -D /w/pat -o rel-%j-%2t.out a", 2, ["/w/pat/rel-25-00.out", "/w/pat/rel-25-01.out"]),
        ("srun --chdir=pat -o ../up.out a", 1, ["/w/up.out"]),
        ("srun -n1 -o logs dir/s-%j.log bash -c x", 1, ["/w/logs dir/s-25.log", "/w/logs"]),
        ("srun -o my logs dir/a.log ./a", 1, ["/w/my logs dir/a.log", "/w/my"]),
        ("srun -o a.log ./run 100%", 1, ["/w/a.log"]),
        ("srun -o plain ./a", 1, ["/w/plain"]),
        ("srun -o all a", 1, []),
        ("srun -o none a", 1, []),
        ("srun -o 0 a", 1, []),
        ("srun -o /dev/null a", 1, []),
        ("srun -o /proc/self/mem a", 1, []),
        ("srun ./a -o x.log", 1, []),
        ("srun", 1, []),
        ("", 1, []),
    ],
)
def test_the_logs_of_a_step(line: str, tasks: int | None, paths: list[str]) -> None:
    assert list(step_paths([step(line, tasks)], ALONE)) == paths


def test_a_step_on_several_nodes_may_write_on_each() -> None:
    line = "srun -o %N.out ./a"
    assert step_paths([step(line, 4, node="n[1-2]")], ALONE) == ("/w/n1.out", "/w/n2.out")
    line = "srun -o %N-%n-%t.out ./a"
    assert step_paths([step(line, 4, node="n[1-2]")], ALONE) == (
        *("/w/n1-0-0.out", "/w/n1-0-1.out", "/w/n2-1-2.out", "/w/n2-1-3.out"),
    )


def test_any_number_of_logs_is_bounded() -> None:
    many = [step("srun -o %t.%s.out ./a", 10_000, str(n)) for n in range(500)]
    paths = step_paths(many, ALONE)
    assert len(paths) == LOGS_MOST
    assert paths[0] == "/w/0.499.out"
    assert list(hosts("n[1-99999999]"))[-1] == f"n{NODES_MOST}"
    assert len(list(hosts("n[1-9]," * 900))) == NODES_MOST
    assert list(hosts("n[x-y],(null)")) == []
    assert list(hosts("gpu[03,7-")) == ["gpu03", "gpu7"]
    assert list(hosts("n[1-2]-ib,m")) == ["n1-ib", "n2-ib", "m"]


ROW = f"{MARK}|{{id}}|RUNNING|100|900|90|None|gpu|n[3-4]|(null)|train\n"


def job_of(record: str, *booked: dict[str, str], id: str = "1") -> Job:
    """One job by all three lists; by its accounts alone where there is no record."""
    lines = ["|".join(row.get(name, "") for name in COLUMNS.split(",")) for row in booked]
    told = parse_accounts(accounts_text(lines, COLUMNS), D)
    queue = parse_queue(ROW.format(id=id), MARK) if record else []
    (job,) = job_table(queue, parse_details(record), told, user="me").jobs
    return job


BOOKED = {
    "JobID": "1",
    "JobIDRaw": "1",
    "Start": "100",
    "WorkDir": "/w",
    "State": "COMPLETED",
    "End": "200",
}
OF_STEP = {
    "JobID": "1.0",
    "Start": "101",
    "NTasks": "2",
    "State": "COMPLETED",
    "SubmitLine": "srun -o step-%j-%t.log ./a",
}


def test_the_node_of_a_job_is_filled_into_the_name_of_its_log() -> None:
    job = job_of(record(out="/l/%N.1.out", err="/l/%N.1.out"))
    assert (job.stdout, job.stderr, job.logs) == ("/l/n3.1.out", "/l/n3.1.out", ())


def test_a_task_of_an_array_is_named_by_its_own_number() -> None:
    text = record(id="27", array="ArrayJobId=26 ArrayTaskId=4 ", out="/l/%5j.out")
    booked = BOOKED | {"JobID": "26_4", "JobIDRaw": "27"}
    job = job_of(text, booked, OF_STEP | {"JobID": "26_4.0"}, id="26_4")
    assert job.stdout == "/l/00027.out"
    assert job.logs == ("/w/step-27-0.log", "/w/step-27-1.log")


@pytest.mark.parametrize(
    ("more", "stdout", "logs"),
    [
        # 24.05 says the pattern.
        ({"StdOut": "/l/%x-%j.out"}, "/l/train-1.out", ()),
        # An older one what was asked of sbatch. The script may name another file: this one need not exist.
        ({"SubmitLine": "sbatch --parsable -o o/%x.%j a.sh -o b"}, None, ("/w/o/train.1",)),
        ({"SubmitLine": "sbatch a.sh"}, None, ("/w/slurm-1.out",)),
        ({"SubmitLine": "sbatch -oo.out --error=e.out a.sh"}, None, ("/w/o.out", "/w/e.out")),
        ({"SubmitLine": "sbatch -o %u.out a.sh"}, None, ("/w/me.out",)),
        ({"SubmitLine": "salloc -o x"}, None, ()),
        ({}, None, ()),
    ],
)
def test_a_job_that_the_controller_forgot_has_its_log_by_the_accounts(
    more: dict[str, str], stdout: str | None, logs: tuple[str, ...]
) -> None:
    job = job_of("", BOOKED | {"JobName": "train", "NodeList": "n3"} | more, OF_STEP)
    assert job.stdout == stdout
    assert job.logs == (*logs, "/w/step-1-0.log", "/w/step-1-1.log")


def test_the_script_of_a_heterogeneous_job_writes_on_its_first_part() -> None:
    """22.05 shows a StdOut of every part; only the first is written."""
    booked = [BOOKED | {"JobID": f"6+{part}", "JobIDRaw": f"{6 + part}"} for part in (0, 1)]
    of_steps = [OF_STEP | {"JobID": f"6+{part}.0"} for part in (0, 1)]
    lines = [
        "|".join(row.get(name, "") for name in COLUMNS.split(",")) for row in booked + of_steps
    ]
    told = parse_accounts(accounts_text(lines, COLUMNS), D)
    records = [
        record(id=f"{6 + part}", array=f"HetJobId=6 HetJobOffset={part} ", out=f"/l/{6 + part}.out")
        for part in (0, 1)
    ]
    queue = parse_queue(ROW.format(id="6+0") + ROW.format(id="6+1"), MARK)
    details, _ = parse_marked(f"{MARK} 6\n" + "".join(records), MARK)
    first, second = job_table(queue, details, told).jobs
    assert (first.stdout, second.stdout) == ("/l/6.out", None)
    assert second.logs == ("/w/step-7-0.log", "/w/step-7-1.log")
