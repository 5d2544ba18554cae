"""A run that dies between two looks of cron, or while no cockpit was open, is told of at the next one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpu_tui.core import metrics
from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Host, Memory
from gpu_tui.core.run_memory import GONE_FOR, LONGEST, remembered, sign
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.history import NoHistory
from gpu_tui.state.patrol import changes, patrol_lines, tick_of
from gpu_tui.state.runs_before import RUNS
from gpu_tui.state.store import Store

T0 = 1_795_000_000.0
BOX = Instance("a", SshAccess("a.example"))
RUN = Job(
    "41", "vit", CellState.RUNNING, "running", stdout="/r/vit.log", pids=(41, 1),
    started_at=T0 - 600, command="python train.py --key=hush",
)  # fmt: skip


def look(
    history: NoHistory,
    at: float,
    *runs: Job,
    box: Instance = BOX,
    key: str | None = None,
    store: Store | None = None,
) -> Store:
    """What one tick of cron sees of a box on which these run; or a cockpit that was open all the time."""
    store = store or Store(Fleet("s", (box,)), {}, history)
    store.apply(LinkChanged("a", at, LinkState("live", host_key=key)))
    table = Reading(JobTable("nohup", runs), at)
    store.apply(Sampled("a", at, metrics.DETACHED.name, table))
    store.apply(Sampled("a", at + 1, metrics.PROCESSES.name, Reading((), at + 1)))
    return store


def heard(store: Store, at: float, text: str) -> None:
    """Its log is read from its end."""
    source = LogSource("/r/vit.log", "vit")
    store.apply(LogOpened("a", at, source, 7, 0, 0, resumed=False))
    store.apply(LogArrived("a", at, source, LogReader().feed(text.encode()), backfill=True))


def cells(store: Store, at: float) -> dict[str, Cell]:
    return {cell.name: cell for cell in store.view(at)["a"].queue.cells}


def kinds(store: Store, at: float) -> list[tuple[str, str | None]]:
    return [(found.kind, found.cell) for found in store.view(at)["a"].findings]


def test_a_run_that_died_between_two_looks_is_a_finding_at_the_next_and_a_day_long() -> None:
    history = NoHistory()
    look(history, T0, RUN)
    for after in (600.0, 1_200.0, GONE_FOR - 60):
        store = look(history, T0 + after)
        heard(store, T0 + after + 1, "Epoch 3/20 loss 0.3\n")
        cell = cells(store, T0 + after + 2)["vit"]
        assert (cell.state, cell.duration_seconds) == (CellState.CANNOT_TELL, None)
        assert ("crashed", "vit") in kinds(store, T0 + after + 2)
    assert cells(look(history, T0 + GONE_FOR + 60), T0 + GONE_FOR + 62) == {}


def vitals(store: Store, at: float, *, uptime: float = 9_000.0, kills: int = 0) -> Store:
    """When the box says that it began, and how often its kernel killed."""
    host, cgroup = Host(at, uptime, "boot-1"), Memory("cgroup2", 1, 2, oom_kill=kills)
    for metric, value in ((metrics.HOST, host), (metrics.MEMORY, cgroup)):
        store.apply(Sampled("a", at, metric.name, Reading(value, at)))
    return store


@pytest.mark.parametrize(
    ("uptime", "kills", "said"),
    [
        (9_000.0, 0, ("idle", None, "suspicious_end")),  # nobody knows how far it was to go
        (9_000.0, 1, ("crashed", "oom-kill", "host_oom")),
        (500.0, 0, ("crashed", "reboot", "crashed")),
        (700.0, 0, ("idle", None, "suspicious_end")),  # it was seen at work since then
        (599.0, 0, ("idle", None, "suspicious_end")),  # as soon as the box was up
    ],
)
def test_what_took_a_run_between_two_looks_is_told_and_told_again(
    uptime: float, kills: int, said: tuple[str, str | None, str]
) -> None:
    history = NoHistory()
    vitals(look(history, T0, RUN), T0)
    for after in (600.0, 900.0):
        store = look(history, T0 + after)
        heard(store, T0 + after + 1, "step 3 loss 0.3\n")
        vitals(store, T0 + after, uptime=uptime + after - 600.0, kills=kills)
        view = store.view(T0 + after + 2)["a"]
        assert (view.verdict, view.cause, view.findings[0].kind) == said


def test_a_reboot_or_a_kill_after_a_run_was_missed_is_not_what_took_it() -> None:
    history = NoHistory()
    vitals(look(history, T0, RUN), T0)
    vitals(look(history, T0 + 600), T0 + 600)
    store = vitals(look(history, T0 + 1_200), T0 + 1_200, uptime=300.0, kills=1)
    heard(store, T0 + 1_201, "step 3 loss 0.3\n")
    assert store.view(T0 + 1_202)["a"].verdict == "idle"


def test_what_its_log_says_of_its_end_is_told_and_no_alarm_is_raised_before_it_was_read() -> None:
    history = NoHistory()
    look(history, T0, RUN)
    store = look(history, T0 + 600)
    assert ("suspicious_end", "vit") not in kinds(store, T0 + 602)
    heard(store, T0 + 602, "Epoch 3/20 loss 0.3\nTraining finished\n")
    assert cells(store, T0 + 603)["vit"].state is CellState.FINISHED
    store = look(history, T0 + 1_200)
    heard(store, T0 + 1_201, "Traceback (most recent call last):\nRuntimeError: boom\n")
    assert cells(store, T0 + 1_202)["vit"].state is CellState.FAILED


def test_who_still_runs_or_runs_again_is_not_gone() -> None:
    history = NoHistory()
    look(history, T0, RUN)
    assert cells(look(history, T0 + 600, RUN), T0 + 602)["vit"].why is None
    again = replace(RUN, id="77", pids=(77, 1))
    cell = cells(look(history, T0 + 1_200, again), T0 + 1_202)["vit"]
    assert cell.state is CellState.RUNNING
    assert "started again, 1 time" in (cell.why or "")


def test_a_run_that_is_gone_is_no_place_of_the_queue() -> None:
    history = NoHistory()
    other = replace(RUN, id="51", name="gan", pids=(51, 1), stdout="/r/gan.log")
    store = look(history, T0, other, RUN)
    before = tick_of(store.view(T0 + 2)["a"])
    assert before is not None
    assert before.cell == "gan"
    assert any(", at gan" in text for text in patrol_lines(store.view(T0 + 2)["a"], T0 + 2))
    store = look(history, T0 + 600, RUN)
    view = store.view(T0 + 602)["a"]
    now = tick_of(view)
    assert now is not None
    assert now.cell == "vit"
    store = look(history, T0 + 1_200)
    view = store.view(T0 + 1_202)["a"]
    assert not any(", at " in text for text in patrol_lines(view, T0 + 1_202))
    last = tick_of(view)
    assert last is not None
    assert "nothing runs any more" in changes(now, last)


@pytest.mark.parametrize(
    ("box", "after"),
    [(Instance("a", SshAccess("b.example")), 600.0), (BOX, LONGEST + 1), (BOX, -5.0)],
)
def test_of_another_box_or_of_long_ago_nothing_is_said(box: Instance, after: float) -> None:
    history = NoHistory()
    look(history, T0, RUN)
    assert cells(look(history, T0 + after, box=box), T0 + after + 20) == {}


RENTED = replace(BOX, provider=replace(BOX.provider, id="pod-7"))


@pytest.mark.parametrize(
    ("box", "key", "told"),
    [
        (BOX, "SHA256:a", True),
        (BOX, None, True),  # nobody knows who this is
        (BOX, "SHA256:b", False),
        (RENTED, "SHA256:b", True),  # the same one, started anew: that is what ended its runs
    ],
)
def test_a_machine_made_anew_at_the_same_address_is_told_no_runs_of_the_one_before(
    box: Instance, key: str | None, *, told: bool
) -> None:
    history = NoHistory()
    look(history, T0, RUN, box=box, key="SHA256:a")
    assert ("vit" in cells(look(history, T0 + 600, box=box, key=key), T0 + 620)) is told
    assert ("vit" in cells(look(history, T0 + 900, box=box, key=key), T0 + 920)) is told


def test_whoever_watches_while_a_machine_is_made_anew_is_told_what_ended_with_it() -> None:
    history = NoHistory()
    store = look(history, T0, RUN, key="SHA256:a")
    store.apply(LinkChanged("a", T0 + 300, LinkState("unreachable")))
    assert "vit" in cells(look(history, T0 + 600, key="SHA256:b", store=store), T0 + 620)
    assert "vit" in cells(look(history, T0 + 900, key="SHA256:b"), T0 + 920)


def test_a_list_that_cannot_be_read_forgets_nobody() -> None:
    history = NoHistory()
    look(history, T0, RUN)
    store = Store(Fleet("s", (BOX,)), {}, history)
    store.apply(
        Sampled("a", T0 + 60, metrics.DETACHED.name, Failure(FailureKind.HUNG, "x", T0 + 60))
    )
    assert "vit" in cells(look(history, T0 + 600), T0 + 620)


def test_an_absence_is_an_answer() -> None:
    history = NoHistory()
    pane = replace(RUN, id="%1", stdout=None)
    store = Store(Fleet("s", (BOX,)), {}, history)
    program = Sampled("a", T0, metrics.TMUX.name, Reading(JobTable("tmux", (pane,)), T0))
    store.apply(program)
    store = Store(Fleet("s", (BOX,)), {}, history)
    store.apply(LinkChanged("a", T0 + 60, LinkState("live")))
    store.apply(Sampled("a", T0 + 60, metrics.TMUX.name, Absent("no tmux session", T0 + 60)))
    assert "vit" in cells(store, T0 + 62)


def test_no_command_is_written_down_and_nothing_is_where_nobody_runs() -> None:
    history = NoHistory()
    look(history, T0)
    assert history.counter("a", RUNS + "nohup") is None
    look(history, T0, RUN)
    text = history.counter("a", RUNS + "nohup") or ""
    assert "hush" not in text
    assert sign(sign(RUN.command)) == json.loads(text)["live"][0]["command"]


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "[]", "{}", "[" * 9_000, '{"box": "b", "at": true}',
        '{"box": "b", "at": 1, "live": {}, "gone": [7, {}, {"id": "1", "name": 3}, {"id": "1", "name": "a"}]}',
        '{"box": "b", "at": 1, "live": [{"id": "1", "name": "a", "pids": ["x", {}, true], "started": "y"}]}',
    ],
)  # fmt: skip
def test_an_odd_text_names_nobody_and_raises_nothing(text: str) -> None:
    memory = remembered(text, "b")
    assert memory is None or all(job.pids == () for job in (*memory.live, *memory.gone))


def test_the_logs_of_those_who_were_there_are_known_to_whoever_reads_logs() -> None:
    history = NoHistory()
    store = look(history, T0, RUN)
    assert [job.stdout for job in store.runs_before(BOX)["nohup"].jobs] == ["/r/vit.log"]


def test_who_runs_as_before_is_written_down_as_before() -> None:
    """A program's start is reckoned from its age, a little otherwise at each look."""
    texts = []
    for late in (0.0, 0.37):
        history = NoHistory()
        look(history, T0, replace(RUN, started_at=T0 - 600 + late))
        texts.append(history.counter("a", RUNS + "nohup"))
    assert texts[0] is not None
    assert texts[0] == texts[1]


def test_a_log_that_was_only_opened_has_not_been_heard() -> None:
    history = NoHistory()
    look(history, T0, RUN)
    store = look(history, T0 + 600)
    store.apply(LogOpened("a", T0 + 602, LogSource("/r/vit.log", "vit"), 7, 0, 0, resumed=False))
    assert kinds(store, T0 + 603) == []
    heard(store, T0 + 604, "RuntimeError: boom\n")
    assert kinds(store, T0 + 605) != []


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("step 959/400 loss 0.3", (None, None, 959, None)),
        ("Epoch 959/400 loss 0.3", (959, None, None, None)),
        ("Epoch 400/400 loss 0.3", (400, 400, None, None)),
    ],
)
def test_a_run_past_its_total_has_no_total_and_did_not_come_to_its_end(
    text: str, counted: tuple[int | None, ...]
) -> None:
    history = NoHistory()
    store = look(history, T0, RUN)
    heard(store, T0 + 1, f"{text}\n")
    cell = cells(store, T0 + 2)["vit"]
    assert (cell.epoch, cell.epochs, cell.step, cell.steps) == counted
    assert cell.share == (1.0 if counted[1] else None)
    store = look(history, T0 + 600, store=store)
    ended = cells(store, T0 + 620)["vit"]
    assert ended.state is (CellState.FINISHED if counted[1] else CellState.CANNOT_TELL)
