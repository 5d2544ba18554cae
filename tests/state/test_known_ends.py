"""An end that was seen stays, with its finding and its numbers, until a new start of the cell is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from judgement.scene import QUEUE_LOG, ROOT, Scene, gpu
from judgement.verdict_scenarios import A, running
from judgement.verdict_scenarios import ended as ended_line

from gpu_tui.core import metrics
from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened, Sampled
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.logs import CELL_TAILS, LogSource
from gpu_tui.core.mask import Mask
from gpu_tui.core.readings import FileStat, FileTable, Host, Process
from gpu_tui.core.run_memory import GONE_FOR
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.vanished import GONE_KEPT
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.contract import check_json
from gpu_tui.state.history import NoHistory
from gpu_tui.state.patrol import changes, tick_of
from gpu_tui.state.report import handover
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView

T0 = 1_795_000_000.0
BOX = Instance("a", SshAccess("a.example"))
RUNS = "Epoch 3/20 loss 0.9\n"
WELL = "Epoch 19/20 loss 0.4\nEpoch 20/20 loss 0.31 val_acc 0.88\n"
DIED = (
    "Epoch 3/20 loss 0.9\nTraceback (most recent call last):\n"
    '  File "train.py", line 9, in <module>\n    main()\n'
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)


def job(pid: int, name: str, **more: object) -> Job:
    made = Job(
        str(pid), name, CellState.RUNNING, "running", started_at=T0 - 600, stdout=f"/r/{name}.log",
        pids=(pid, 1), command=f"python train.py {name}",
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


@dataclass
class Box:
    """A box with detached programs, and a gpu-tui that watches it. `texts`: the contents of each log."""

    instance: Instance = BOX
    history: NoHistory = field(default_factory=NoHistory)
    texts: dict[str, str] = field(default_factory=dict)
    key: str | None = None
    at: float = T0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start gpu-tui: a cockpit, or one tick of cron's `check`."""
        self.store = Store(Fleet("s", (self.instance,)), {}, self.history)
        self.store.apply(LinkChanged("a", self.at, LinkState("live", host_key=self.key)))

    def look(
        self, *runs: Job, read: Sequence[str] = (), files: dict[str, float] | None = None
    ) -> InstanceView:
        """One round of the probes; the logs in `read` are read from their beginning."""
        self.at += 30.0
        at = self.at
        self.say(metrics.HOST.name, Host(at, 90_000.0, "boot-1"))
        self.say(metrics.GPUS.name, gpu(0.0))
        if files is not None:
            found = {path: FileStat(path, 1, 900, mtime) for path, mtime in files.items()}
            self.say(metrics.FILES.name, FileTable(found))
        self.say(metrics.DETACHED.name, JobTable("nohup", runs))
        for name in read:
            self.read(name)
        self.at += 1.0
        self.say(metrics.PROCESSES.name, ())
        self.at += 20.0
        return self.view()

    def say(self, metric: str, value: object) -> None:
        self.store.apply(Sampled("a", self.at, metric, Reading(value, self.at, 60.0)))

    def read(self, name: str, text: str | None = None) -> None:
        source = LogSource(f"/r/{name}.log", name)
        self.store.apply(LogOpened("a", self.at, source, 7, 0, 0, resumed=False))
        bytes_ = (self.texts[name] if text is None else text).encode()
        lines = LogReader().feed(bytes_)
        self.store.apply(LogArrived("a", self.at, source, lines, True, len(bytes_)))

    def view(self) -> InstanceView:
        return self.store.view(self.at)["a"]

    def report(self) -> str:
        return handover(self.store.view(self.at), {}, Mask(), version="1", fleet=None)


def cells(view: InstanceView) -> dict[str, Cell]:
    return {cell.name: cell for cell in view.queue.cells}


def shown(view: InstanceView) -> tuple[object, ...]:
    """The parts of the view that a person sees of the two cells that ended."""
    rows = cells(view)
    found = [
        (f.kind, f.cell, f.severity, f.id) for f in view.findings if f.cell in ("well", "died")
    ]
    two = [(rows[n].state, rows[n].why, rows[n].epoch, str(rows[n].loss)) for n in ("well", "died")]
    return (two, sorted(found))


def ended(box: Box) -> InstanceView:
    """Two programs run and end: one well, the other with CUDA out of memory."""
    box.texts |= {"well": WELL, "died": DIED}
    box.look(job(41, "well"), job(42, "died"))
    view = box.look(read=("well", "died"))
    assert [cells(view)[name].state for name in ("well", "died")] == ["finished", "failed"]
    assert ("gpu_oom", "died", Severity.FATAL) in [
        (f.kind, f.cell, f.severity) for f in view.findings
    ]
    return view


def twenty_others(box: Box, *, cron: bool, read: int = CELL_TAILS) -> InstanceView:
    """Twenty programs come and go; only the newest logs are read."""
    view = box.view()
    for number in range(20):
        name = f"other{number}"
        box.texts[name] = f"Epoch 5/5 loss 0.{number}\n"
        if cron:
            box.start()
        box.look(job(100 + number, name))
        if cron:
            box.start()
        newest = [f"other{n}" for n in range(number, -1, -1)][:read]
        view = box.look(read=newest if cron else (name,))
    return view


@pytest.mark.parametrize("cron", [True, False])
def test_an_end_outlives_twenty_other_programs(cron: bool) -> None:
    box = Box()
    before = ended(box)
    after = twenty_others(box, cron=cron)
    assert shown(after) == shown(before)
    first, last = tick_of(before), tick_of(after)
    assert first is not None
    assert last is not None
    assert "+20 done" in changes(first, last)
    assert "failed" not in changes(first, last)


def test_an_end_outlives_a_restart_before_any_log_is_read() -> None:
    box = Box()
    before = ended(box)
    said, told = check_json(box.store.view(box.at)), box.report()
    box.start()
    after = box.look()
    assert shown(after) == shown(before)
    assert (after.verdict, after.cause, after.because[0]) == (
        before.verdict,
        before.cause,
        before.because[0],
    )
    now = check_json(box.store.view(box.at))
    assert now["verdict"] == said["verdict"]
    for one in (said, now):
        (lab,) = one["instances"]  # type: ignore[misc]
        assert [(c["name"], c["state"]) for c in lab["queue"]["cells"]] == [
            ("well", "finished"),
            ("died", "failed"),
        ]
    for text in (told, box.report()):
        assert "gpu oom" in text.replace("_", " ")
        assert "cannot tell" not in text.replace("-", " ")


def test_reading_only_the_last_lines_again_changes_no_end() -> None:
    box = Box()
    before = ended(box)
    box.start()
    box.look()
    box.texts |= {"well": "saved model.pt\n", "died": "Epoch 20/20 loss 0.1\n"}
    assert shown(box.look(read=("well", "died"))) == shown(before)


def test_a_known_end_outlives_a_day_and_an_unknown_one_does_not() -> None:
    box = Box()
    box.look(job(41, "well"), job(43, "quiet"))
    box.texts |= {"well": WELL, "quiet": "Epoch 3/20 loss 0.3\n"}
    box.look(read=("well", "quiet"))
    box.at += GONE_FOR
    box.start()
    assert {name: cell.state for name, cell in cells(box.look()).items()} == {
        "well": CellState.FINISHED
    }


def again(box: Box) -> InstanceView:
    return box.look(job(77, "died"))


def written_again(box: Box) -> InstanceView:
    box.look(files={"/r/well.log": T0, "/r/died.log": T0})
    box.texts["died"] = "Epoch 1/20 loss 2.1\n"
    return box.look(read=("died",), files={"/r/well.log": T0, "/r/died.log": box.at})


def truncated(box: Box) -> InstanceView:
    box.read("died", "")
    return box.look()


@pytest.mark.parametrize("start", [again, written_again, truncated])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_new_start_removes_the_end_and_its_finding(
    start: Callable[[Box], InstanceView], restarted: bool
) -> None:
    box = Box()
    ended(box)
    box.look(files={"/r/well.log": T0, "/r/died.log": T0})
    if restarted:
        box.start()
        box.look(files={"/r/well.log": T0, "/r/died.log": T0})
    if start is truncated and restarted:
        box.read("died")
    view = start(box)
    assert cells(view)["well"].state is CellState.FINISHED
    assert cells(view)["died"].state is not CellState.FAILED
    assert "gpu_oom" not in [f.kind for f in view.findings]


def test_a_good_end_of_a_second_start_replaces_the_first_end() -> None:
    box = Box()
    ended(box)
    box.texts["died"] = WELL
    box.look(job(77, "died"))
    view = box.look(read=("died",))
    box.start()
    for seen in (view, box.look()):
        assert cells(seen)["died"].state is CellState.FINISHED
        assert [f.kind for f in seen.findings if f.cell == "died"] == []


def test_an_unseen_start_is_detected_by_its_log() -> None:
    box = Box()
    ended(box)
    box.start()
    box.texts["died"] += "Epoch 1/20 loss 2.0\n" + WELL + "Training completed.\n"
    view = box.look(read=("well", "died"))
    assert cells(view)["died"].state is CellState.FINISHED


def test_two_rows_with_one_name_do_not_share_an_end() -> None:
    s = Scene()
    running(s)
    s.roster = "a.yaml task 20\na.yaml task 20\n"
    s.touch(f"{ROOT}/out/a/best.pth")
    s.write(QUEUE_LOG, ended_line(s, "a", 0))
    s.look()
    s.write(QUEUE_LOG, f"[{s.stamp()}] [2/2] STARTING a (task, 20ep)\n")
    s.watch(30, lambda s, _: s.touch(A))
    assert [cell.state for cell in s.view().queue.cells] == ["finished", "running"]


def test_the_history_is_written_where_an_end_changed_and_not_at_every_look() -> None:
    box = Box()
    ended(box)
    written: list[str] = []
    keep = box.history.set_counter

    def count(instance: str, name: str, value: str, at: float) -> None:
        written.append(name)
        keep(instance, name, value, at)

    box.history.set_counter = count  # type: ignore[method-assign]
    for _ in range(5):
        box.look()
        box.view()
    assert written.count("ends") == 0


def test_the_finding_of_a_cell_that_is_not_listed_any_more_ends() -> None:
    box = Box(instance=replace(BOX, logs="/r/{cell}.log"))
    box.texts |= {"well": WELL, "died": DIED}
    both = {"/r/well.log": T0, "/r/died.log": T0}
    view = box.look(read=("well", "died"), files=both)
    assert [(f.kind, f.cell) for f in view.findings if f.cell] == [("gpu_oom", "died")]
    box.start()
    assert [f.cell for f in box.look(files=both).findings if f.cell] == ["died"]
    assert [f.cell for f in box.look(files={"/r/well.log": T0}).findings if f.cell] == []


def test_a_nan_loss_at_the_end_is_reported_after_a_restart_too() -> None:
    box = Box()
    box.texts |= {"well": WELL, "died": "".join(f"Epoch {n}/20 loss nan\n" for n in range(15, 21))}
    box.look(job(41, "well"), job(42, "died"))
    before = box.look(read=("well", "died"))
    assert cells(before)["died"].state is CellState.SUSPICIOUS
    assert ("nan", "died") in [(f.kind, f.cell) for f in before.findings]
    box.start()
    assert shown(box.look()) == shown(before)


def test_more_lines_of_the_same_log_may_turn_a_bad_end_into_a_good_one() -> None:
    box = Box()
    ended(box)
    source = LogSource("/r/died.log", "died")
    text = "".join(f"Epoch {n}/20 loss 0.3\n" for n in range(4, 21)) + "Training completed.\n"
    box.store.apply(LogArrived("a", box.at, source, LogReader().feed(text.encode())))
    view = box.look()
    assert cells(view)["died"].state is CellState.FINISHED
    assert Severity.FATAL not in [f.severity for f in view.findings]


def test_of_too_many_vanished_runs_those_with_an_end_are_kept() -> None:
    box = Box()
    before = ended(box)
    for first in range(1_000, 1_000 + 3 * GONE_KEPT, GONE_KEPT // 2):
        box.look(
            *(job(pid, f"p{pid}", command=None) for pid in range(first, first + GONE_KEPT // 2))
        )
    assert shown(box.look()) == shown(before)
    box.start()
    assert shown(box.look()) == shown(before)


def test_another_machine_at_the_same_address_has_no_known_ends() -> None:
    box = Box(key="SHA256:one")
    ended(box)
    box.key = "SHA256:two"
    box.start()
    assert cells(box.look()) == {}
    assert box.view().findings == ()


@pytest.mark.parametrize(
    "text", ["", "[", "[[]]", "null", '[["x",null],[{"cell":1}]]', "[" * 5_000, '[["@a.example: ",null],[{}]]']
)  # fmt: skip
def test_any_text_in_the_history_is_tolerated(text: str) -> None:
    box = Box()
    ended(box)
    box.history.set_counter("a", "ends", text, box.at)
    box.start()
    assert set(cells(box.look())) == {"well", "died"}


TRAINS = Process(41, 1, "python", ("python", "train.py", "a"), "R")


@pytest.mark.parametrize("at_its_end", [False, True])
def test_an_end_judged_before_the_queue_file_was_read_is_not_kept(at_its_end: bool) -> None:
    """`while read … < q.txt`: only the cells' names in the queue file show which process is the run."""
    history = NoHistory()
    for _ in range(2):  # a tick of cron, and the next one
        s = Scene(history=history, processes=(TRAINS,))
        s.link("live")
        s.write(QUEUE_LOG, f"[{s.stamp(90)}] [1/2] STARTING a (task, 20ep)\n", history=True, ago=90)
        s.write(A, "Epoch 20/20 loss 0.3\n" if at_its_end else RUNS, history=True)
        s.look()
        s.view()
        s.roster = "a.yaml task 20\nb.yaml task 20\n"
        s.look()
        (row, _) = s.view().queue.cells
        assert (row.state, row.why) == (CellState.RUNNING, None)


def test_an_absence_is_no_end_once_a_process_of_the_run_is_there() -> None:
    s = Scene(roster="a.yaml task 20\nb.yaml task 20\n")
    s.link("live")
    s.write(QUEUE_LOG, f"[{s.stamp(90)}] [1/2] STARTING a (task, 20ep)\n", history=True, ago=90)
    s.write(A, RUNS, history=True, ago=60)
    s.look()
    assert s.view().queue.cells[0].state is CellState.FAILED
    s.processes = (TRAINS,)
    s.watch(10)
    assert s.view().queue.cells[0].state is CellState.RUNNING


def test_an_absence_gives_way_to_the_log_that_came_to_its_end() -> None:
    """The process table arrives before the log: for a moment only the absence of a process shows the cell's state."""
    s = Scene(roster="a.yaml task 20\nb.yaml task 20\n")
    s.link("live")
    s.write(QUEUE_LOG, f"[{s.stamp(90)}] [1/2] STARTING a (task, 20ep)\n", history=True, ago=90)
    s.touch(f"{ROOT}/out/a/best.pth", ago=60)
    s.look()
    assert s.view().queue.cells[0].state is CellState.FAILED
    s.write(A, "Epoch 20/20 loss 0.3\n", history=True, ago=60)
    s.look()
    row = s.view().queue.cells[0]
    assert (row.state, row.why) == (
        CellState.FINISHED,
        "finished by its log; its runner was gone, so no exit code",
    )


@pytest.mark.parametrize("lives", [True, False])
def test_a_log_has_no_writer_only_once_the_programs_that_write_were_listed(lives: bool) -> None:
    """On a first look the logs are read before the list of programs arrives. `run.py` is no name of a trainer."""
    box = Box(replace(BOX, logs="/r/{cell}.log"), texts={"x": RUNS})
    box.say(metrics.HOST.name, Host(box.at, 90_000.0, "boot-1"))
    box.say(metrics.GPUS.name, gpu(0.0))
    box.say(
        metrics.FILES.name,
        FileTable({"/r/x.log": FileStat("/r/x.log", 7, len(RUNS), box.at - 40)}),
    )
    box.read("x")
    box.at += 1.0
    box.say(metrics.PROCESSES.name, (Process(41, 1, "python", ("python", "run.py"), "S"),))
    view = box.view()
    assert (view.findings, cells(view)["x"].finding) == ((), None)
    box.at += 1.0
    box.say(metrics.DETACHED.name, JobTable("nohup", (job(41, "x"),) if lives else ()))
    kinds = [one.kind for one in box.view().findings]
    assert kinds == ([] if lives else ["suspicious_end"])


def test_a_run_that_ended_between_two_ticks_ended_when_it_wrote_last() -> None:
    history = NoHistory()
    evening = Box(history=history, texts={"well": WELL})
    evening.look(job(11, "well"))
    morning = Box(history=history, texts={"well": WELL}, at=T0 + 30_000)
    view = morning.look(read=("well",), files={"/r/well.log": T0 + 9_000})
    (row,) = view.queue.cells
    assert (row.state, row.finished_at) == (CellState.FINISHED, T0 + 9_000)


def test_the_date_of_a_log_is_no_stamp_of_the_queue() -> None:
    """A queue whose log has another format: the cells' own logs give their ends."""
    s = Scene(roster="a.yaml task 20\nb.yaml task 20\n")
    s.link("live")
    s.write(QUEUE_LOG, ">>> running a\n<<< done a\n", history=True, ago=30)
    s.write(A, DIED, history=True, ago=60)
    s.touch(f"{ROOT}/q.txt", ago=900)
    s.look()
    view = s.view()
    assert view.queue.cells[0].state is CellState.FAILED
    (found,) = [one for one in view.findings if one.cell == "a"]
    assert found.first_basis == "log-date"
