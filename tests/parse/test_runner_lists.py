"""The lists of other runners: every shape of their versions, and whatever a stranger makes of them."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.job_names import name_of_command
from gpu_tui.core.jobs import JOBS_KEPT
from gpu_tui.core.last_command import stands_behind
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.command_list import parse_commands
from gpu_tui.parse.detached import parse_detached, parse_outputs
from gpu_tui.parse.feed import FeedError, parse_feed
from gpu_tui.parse.instants import epoch_of
from gpu_tui.parse.left_over import parse_left_over
from gpu_tui.parse.pueue import parse_pueue
from gpu_tui.parse.spooler import parse_spooler
from gpu_tui.parse.tmux import parse_tmux

SPOOLER = b"""\
ID   State      Output               E-Level  Times(r/u/s)   Command [run=1/2]
0    running    /tmp/ts-out.FwYcKD                           sleep 100
4    queued     (file)                                       [later]python t.py
1    finished   /tmp/ts-out.vNwi92   3        0.00/0.00/0.00 [mylabel]sh -c echo hi; exit 3
3    finished   /tmp/ts-out.ZORKRn   -1       61.20m/3.00/1.00 sh -c kill -9 $$
"""
WITH_GPUS = b"""\
ID   State      Output               E-Level  Time   GPUs  Command [run=1/1]
0    running    /tmp/ts-out.A                        1     python train.py --name x
1    finished   /tmp/ts-out.B        0        12.10s 2     python train.py --name y
2    allocating (file)                               1     python train.py --name z
"""


def test_task_spooler_as_it_prints() -> None:
    table = parse_spooler(SPOOLER)
    assert table is not None
    assert table.complete
    assert [(job.id, job.name, job.state, job.exit_code) for job in table.jobs] == [
        ("0", "sleep", CellState.RUNNING, None),
        ("4", "later", CellState.PENDING, None),
        ("1", "mylabel", CellState.FAILED, 3),
        ("3", "sh", CellState.FAILED, None),
    ]
    assert table.jobs[3].why == "a signal ended it"
    assert [job.took for job in table.jobs] == [None, None, 0.0, 61.2 * 60]
    assert table.jobs[1].stdout is None


def test_the_build_that_hands_out_gpus() -> None:
    table = parse_spooler(WITH_GPUS)
    assert table is not None
    assert [(job.name, job.state) for job in table.jobs] == [
        ("x", CellState.RUNNING),
        ("y", CellState.FINISHED),
        ("z", CellState.PENDING),
    ]
    assert [job.took for job in table.jobs] == [None, 12.1, None]


def test_the_other_ts_is_no_spooler() -> None:
    assert parse_spooler(b"Nov 21 10:00:00 hello\n") is None
    odd = parse_spooler(SPOOLER + b"what is this\n")
    assert odd is not None
    assert not odd.complete
    assert "1 lines" in (odd.why or "")


def pueue(**task: object) -> tuple[str, CellState, int | None, str | None]:
    table = parse_pueue(json.dumps({"tasks": {"3": {"command": "python a.py", **task}}}).encode())
    assert table is not None
    (job,) = table.jobs
    return job.name, job.state, job.exit_code, job.why


@pytest.mark.parametrize(
    ("status", "state", "code"),
    [
        ("Queued", CellState.PENDING, None),
        ("Running", CellState.RUNNING, None),
        ({"Stashed": {"enqueue_at": None}}, CellState.PENDING, None),
        ({"Done": "Success"}, CellState.FINISHED, 0),
        ({"Done": {"Failed": 137}}, CellState.FAILED, 137),
        ({"Done": "Killed"}, CellState.FAILED, None),
        ({"Done": {"result": "Success", "start": 1, "end": 2}}, CellState.FINISHED, 0),
        ({"Done": {"result": {"Failed": 1}}}, CellState.FAILED, 1),
        ({"Paused": {}}, CellState.RUNNING, None),
        ("SomethingNew", CellState.CANNOT_TELL, None),
        (None, CellState.CANNOT_TELL, None),
        (7, CellState.CANNOT_TELL, None),
    ],
)
def test_every_status_of_pueue(status: object, state: CellState, code: int | None) -> None:
    name, got, exit_code, _ = pueue(status=status)
    assert (name, got, exit_code) == ("a", state, code)


def test_a_number_beyond_all_numbers_is_none() -> None:
    huge = "9" * 400
    text = f'{{"jobs": [{{"name": "a", "state": "running", "loss": {huge}}}]}}'
    (job,) = parse_feed(text.encode()).jobs
    assert job.loss is None
    assert epoch_of(int(huge)) is None


def test_a_feed_says_what_is_wrong_with_which_job() -> None:
    rows = [
        {"name": "a", "state": "running", "loss": "nan", "started_at": "2026-03-04T10:00:00Z"},
        {"name": "b"},
        {"name": "c", "state": "running", "started_at": "2026-03-04 10:00"},
        {"name": "d", "state": "dreaming"},
        {"name": "a", "state": "done", "epochs": 4},
    ]
    table = parse_feed(json.dumps(rows).encode())
    assert [(job.name, job.state) for job in table.jobs] == [
        ("a·1", CellState.RUNNING),
        ("d", CellState.CANNOT_TELL),
        ("a·5", CellState.FINISHED),
    ]
    assert table.jobs[0].loss != table.jobs[0].loss
    assert table.jobs[0].started_at == 1_772_618_400.0
    assert "job 2: b has no state" in (table.why or "")
    assert "neither epoch seconds nor a time with its zone" in (table.why or "")
    for text in (b"", b"{", b'{"jobs": 3}', b"\xff\xfe", b"[" * 100_000):
        with pytest.raises(FeedError):
            parse_feed(text)


def test_more_jobs_than_are_kept_are_counted() -> None:
    rows = [{"name": f"j{n}", "state": "queued"} for n in range(JOBS_KEPT + 7)]
    table = parse_feed(json.dumps(rows).encode())
    assert (len(table.jobs), table.dropped, table.complete) == (JOBS_KEPT, 7, False)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --config configs/no_aug.yaml --seed 3", "no_aug"),
        ("python train.py --exp-name big_lr --config a.yaml", "big_lr"),
        ("torchrun --nproc_per_node 8 src/pretrain.py", "pretrain"),
        ("python -m axolotl.cli.train x", "axolotl.cli.train"),
        ("./run", "run"),
        ("", "job"),
    ],
)
def test_a_job_is_called_as_a_person_would(command: str, name: str) -> None:
    assert name_of_command(command) == name


def test_ranks_of_one_program_are_one_job() -> None:
    outputs = b"".join(
        b"'/proc/%d/fd/1' -> '/root/out/vit.log'\n" % pid for pid in (10, 11, 12, 20, 31)
    )
    outputs += b"'/proc/30/fd/1' -> '/var/log/jupyter.log'\n'/proc/x/fd/1' -> '/y'\n"
    stat = b"10 (torchrun) S 1 100\n11 (python) S 10 110\n12 (python) S 10 110\n20 (tee) S 1 5\n30 (python) S 1 5\n31 (python) S 1 5\n"
    lists = {
        10: "torchrun\x1ftrain.py",
        11: "python\x1f-u\x1ftrain.py",
        12: "python\x1f-u\x1ftrain.py",
        20: "tee\x1fx",
        30: "python\x1f/usr/bin/jupyter-lab",
        31: "python\x1f-m\x1fgpu_tui\x1fcheck",
    }
    cmdline = "".join(f"==> /proc/{pid}/cmdline <==\n{words}\n" for pid, words in lists.items())
    table = parse_detached(outputs, stat, cmdline.encode(), 50.0, 1_000.0)
    (job,) = table.jobs
    assert (job.id, job.name, job.stdout) == ("10", "vit", "/root/out/vit.log")
    assert job.started_at == 951.0


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        (
            r"'/root/'$'\350\256\255\347\273\203'' 1.log'",
            "/root/训练 1.log",
        ),  # GNU's where the locale is C
        (r"'/root/it'\''s'$'\n\t''x.log'", "/root/it's\n\tx.log"),
        ('"/root/it\'s.log"', "/root/it's.log"),
        ("'/root/训练.log'", "/root/训练.log"),
        ("'/root/it's.log'", "/root/it's.log"),  # busybox
        ("‘/root/a.log’", "/root/a.log"),  # an old one
        ("/root/a.log", "/root/a.log"),
    ],
)
def test_a_name_is_read_as_stat_quotes_it(printed: str, name: str) -> None:
    assert parse_outputs(f"'/proc/9/fd/1' -> {printed}\n".encode()) == {9: name}


def test_a_nohup_out_in_a_folder_with_a_chinese_name_is_somebodys() -> None:
    writers = rb"'/proc/12/fd/1' -> '/root/'$'\345\256\236\351\252\214''/nohup.out'"
    left = "999000 /root/实验/nohup.out\n".encode()
    assert parse_left_over(left, writers, 1_000_000.0).jobs == ()


def test_what_ended_lately_and_nobody_writes_is_left_over() -> None:
    left = b"""\
999000 /root/exp/nohup.out
998000 /root/nohup.out
999500 /root/live/nohup.out
900000 /root/old/nohup.out
1999000 /root/ahead/nohup.out
999000 /root/exp/other.log
x /root/exp/nohup.out
"""
    writers = b"'/proc/12/fd/1' -> '/root/live/nohup.out'\n"
    jobs = parse_left_over(left, writers, 1_000_000.0).jobs
    assert [(job.name, job.stdout, job.finished_at) for job in jobs] == [
        ("root/nohup.out", "/root/nohup.out", 998_000.0),
        ("exp/nohup.out", "/root/exp/nohup.out", 999_000.0),
    ]
    assert {job.state for job in jobs} == {CellState.CANNOT_TELL}
    assert parse_left_over(left, writers, None).jobs == ()
    many = b"".join(b"999%03d /r/%d/nohup.out\n" % (n, n) for n in range(900))
    table = parse_left_over(many, b"", 1_000_000.0)
    assert (table.jobs[-1].stdout, len(table.jobs) + table.dropped) == ("/r/899/nohup.out", 900)


@pytest.mark.parametrize(
    ("value", "epoch"),
    [
        (12, 12.0), (1.5, 1.5), (True, None), (-1, None), (1e20, None), (float("nan"), None), ("12", None),
        ("2026-03-04T11:00:00+01:00", 1_772_618_400.0), ("2026-03-04T10:00:00.123456789Z", 1_772_618_400.123456),
        ("2026-03-04T10:00:00", None), (None, None), ([], None),
    ],
)  # fmt: skip
def test_a_moment_needs_a_zone(value: object, epoch: float | None) -> None:
    assert epoch_of(value) == epoch


@pytest.mark.parametrize(
    ("status", "by", "fate", "told"),
    [
        ("7", "", "", (CellState.FAILED, 7, None)),
        ("0", "", "2304", (CellState.FINISHED, 0, None)),  # tmux knows: what is a zombie now is another program
        ("", "9", "", (CellState.FAILED, 137, 9)),
        ("", "", "9", (CellState.FAILED, 137, 9)),
        ("", "", "139", (CellState.FAILED, 139, 11)),  # SIGSEGV, and its core was dumped
        ("", "", "1792", (CellState.FAILED, 7, None)),
        ("", "", "0", (CellState.CANNOT_TELL, None, None)),  # exit 0, or who asks may not know
        ("", "", "", (CellState.CANNOT_TELL, None, None)),
        ("", "", "-9", (CellState.CANNOT_TELL, None, None)),
    ],
)  # fmt: skip
def test_how_a_pane_ended(
    status: str, by: str, fate: str, told: tuple[CellState, int | None, int | None]
) -> None:
    line = f"%1:70:1:{status}:{by}:1700000000:lr:python:python train.py"
    (job,) = parse_tmux(line.encode(), f"7 256\n70 {fate}\n".encode()).jobs
    assert (job.state, job.exit_code, job.signal) == told


@pytest.mark.parametrize(
    ("command", "behind"),
    [
        ("python train.py 2>&1 | tee log.txt", "tee"), ('"python train.py |& tee -a log"', "tee"),
        ("sh -c 'python train.py; echo done'", "echo"), ("python train.py || true", "true"),
        ("python train.py; exec bash", "bash"), ("python train.py; $SHELL -l", "$SHELL"), ("python train.py; read", "read"),
        ("cd x; bash train.sh", None), ("python prep.py; exec bash -c 'python train.py'", None),
        ("python train.py | ts | tee log;", "tee"), ("python train.py; date;", "date"),
        ("python train.py && echo done", None), ("python train.py --tags 'a|b'", None),
        ("set -o pipefail; python train.py | tee log", None), ("set -e; python train.py; echo done", None),
        ("python train.py | tee log; exit ${PIPESTATUS[0]}", None), ("cd x; python train.py", None),
        ("python a.py; python b.py", None), ("python train.py > log 2>&1", None), ("", None), (";", None), ("|", None),
    ],
)  # fmt: skip
def test_whose_exit_code_is_told(command: str, behind: str | None) -> None:
    assert stands_behind(command) == behind


def test_an_exit_code_of_tee_proves_no_end_of_a_training() -> None:
    piped = "python train.py 2>&1 | tee log"
    spooler = parse_spooler(
        f"ID   State      Output               E-Level  Times(r/u/s)   Command [run=0/1]\n"
        f"1    finished   /tmp/ts-out.a        0        6.00/5.0/1.0   sh -c {piped}\n".encode()
    )
    pueue = parse_pueue(
        json.dumps(
            {"tasks": {"1": {"command": piped, "status": {"Done": {"result": "Success"}}}}}
        ).encode()
    )
    tmux = parse_tmux(f'%1:70:1:0::1700000000:lr:tee:"{piped}"'.encode())
    for table in (spooler, pueue, tmux):
        assert table is not None
        (job,) = table.jobs
        assert (job.state, job.exit_code) == (CellState.CANNOT_TELL, 0)
        assert job.why == "exit 0 is what tee ended with, behind its program"


@given(st.binary(max_size=400))
def test_nothing_that_a_box_prints_raises(text: bytes) -> None:
    for read in (parse_spooler, parse_pueue, parse_tmux):
        read(text)
    parse_spooler(SPOOLER + text)
    parse_tmux(b"%1:70:1:::17:lr:python:python", b"70 " + text)
    parse_detached(text, text, text, 1.0, None)
    parse_left_over(text, text, 1.0)
    parse_commands(text.decode("utf-8", "replace"))
    with suppress(FeedError):
        parse_feed(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)
KEYS = (
    "name",
    "state",
    "status",
    "label",
    "command",
    "start",
    "epoch",
    "loss",
    "metrics",
    "log",
    "id",
)


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON), max_size=4))
def test_no_json_raises(rows: list[dict[str, object]]) -> None:
    parse_pueue(json.dumps({"tasks": {str(at): row for at, row in enumerate(rows)}}).encode())
    table = parse_feed(json.dumps(rows).encode())
    assert all(job.name.isprintable() for job in table.jobs)


def test_a_key_before_a_command_is_not_its_name() -> None:
    assert name_of_command("WANDB_API_KEY=0123456789abcdef LR=3 ./bin/run_vit 5") == "run_vit"
    assert name_of_command("WANDB_API_KEY=0123456789abcdef") == "job"


def test_a_file_cannot_steer_a_terminal_by_its_name() -> None:
    outputs = b"'/proc/10/fd/1' -> '/root/a\x1b[2Jb.txt'\n"
    cmdline = b"==> /proc/10/cmdline <==\npython\x1ftrain.py\n"
    (job,) = parse_detached(outputs, b"10 (python) S 1 100\n", cmdline, 50.0, 1_000.0).jobs
    assert job.name.isprintable()
