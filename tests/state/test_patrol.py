"""The patrol's lines: three to five per instance whatever is known, and the first one says why."""

from __future__ import annotations

import itertools
from dataclasses import replace

from gpu_tui.core.account import Account
from gpu_tui.core.events import LinkChanged
from gpu_tui.core.facts import Evidence
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    Money,
    ProviderState,
    QueueFiles,
    SshAccess,
)
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.mask import Mask
from gpu_tui.core.readings import NOT_REPORTED, Mount
from gpu_tui.core.sample import Reading, Track
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict, judge
from gpu_tui.state.contract import check_json
from gpu_tui.state.patrol import Tick, changes, patrol_lines, patrol_report, since_json, tick_of
from gpu_tui.state.report import handover
from gpu_tui.state.store import Store
from gpu_tui.state.views import Cost, FleetView, InstanceView
from gpu_tui.ui.text.fleet import _cell as fleet_cell
from screenshots.builders import NOW
from screenshots.scenes import sweep

T0 = 1_795_000_000.0


def empty(*names: str) -> FleetView:
    fleet = Fleet("s", tuple(Instance(name, SshAccess(name)) for name in names or ("a",)))
    return Store(fleet, {}).view(T0)


def finding(severity: Severity, evidence: str = "x" * 5_000) -> Finding:
    return Finding("gpu_oom", severity, "a", evidence, "log:x:1", "less", T0, T0, cell="c")


def worlds(view: InstanceView) -> list[InstanceView]:
    """Every combination of what may be known of one instance."""
    answered = {"gpus": Track(good=Reading(object(), T0 - 5))}
    cells = tuple(
        Cell(f"cell-{n}" * 30, n, "t", CellState.RUNNING, epoch=1, loss=1.0) for n in range(3)
    )
    return [
        replace(view, link=link, queue=queue, findings=found, cost=cost, tracks=tracks)
        for link, queue, found, cost, tracks in itertools.product(
            [
                LinkState("live"),
                LinkState("connecting"),
                LinkState("off"),
                LinkState("refused", 0.0, "no\x1b[2Jport", "look\nthere"),
            ],
            [Queue(), Queue(cells, total=3)],
            [(), (finding(Severity.WARN),), (finding(Severity.FATAL),) * 9],
            [Cost(), Cost(2.5, "USD", 3.0)],
            [{}, answered],
        )
        if not (link.live and tracks)  # a live box's vitals are other tables
    ]


def test_three_to_five_lines_of_plain_text_whatever_is_known() -> None:
    counts = set()
    for view in [*worlds(empty()["a"]), *sweep().view(NOW).instances]:
        lines = patrol_lines(view, NOW)
        counts.add(len(lines))
        assert all(
            line.isprintable() and len(line) <= (241, 1_001)[n >= 2] for n, line in enumerate(lines)
        )
        assert lines[0].startswith(f"{view.name}: {view.verdict} (")
        assert all(line.startswith("  ") for line in lines[1:])
    assert counts == {3, 4, 5}


def test_the_command_that_mends_a_link_is_told_whole() -> None:
    command = (
        "ssh -o UserKnownHostsFile=/home/me/.config/gpu-tui/known_hosts -p 12345 root@203.0.113.5"
    )
    why = "the host key of 203.0.113.5 is unknown: it shows ssh-ed25519 SHA256:" + "x" * 43
    link = LinkState(
        "host-key", error=why, next="compare the fingerprint, then by hand: " + command
    )
    lines = patrol_lines(replace(empty()["a"], link=link), NOW)
    assert any(line.endswith(command) for line in lines)


def test_the_first_line_names_who_escalates_and_why() -> None:
    first = patrol_report(sweep().view(NOW), {})[0]
    assert first.startswith("escalate: ")
    seen = empty("a", "b")
    well = tuple(replace(one, verdict=Verdict.RUNNING) for one in seen.instances)
    assert patrol_report(replace(seen, instances=well), {})[0] == "healthy: 2 running"
    kept = Store(Fleet("s", (Instance("a", SshAccess("a")),)), {})
    kept.apply(LinkChanged("a", T0, LinkState("refused", T0, "port closed")))
    assert patrol_report(kept.view(T0), {})[0] == "escalate: a unreachable"


def test_the_first_check_is_a_baseline_and_the_next_says_what_changed() -> None:
    queue = Queue(
        (Cell("a1", 1, "t", CellState.FINISHED), Cell("a2", 2, "t", CellState.RUNNING, epoch=7)),
        total=2,
    )
    tracks = {"gpus": Track(good=Reading(object(), T0 - 1))}
    view = replace(empty()["a"], tracks=tracks, queue=queue)
    assert patrol_lines(view, T0)[1].endswith("; first check: a baseline")
    assert since_json(view, None) is None
    last = Tick(T0 - 600, 0, 0, "a2", 4)
    assert patrol_lines(view, T0, last)[1].endswith("; since 10 min ago: +1 done, +3 epochs")
    told = since_json(view, last)
    assert told is not None
    assert (told["done"], told["epoch"], told["oom_kill"]) == (1, 4, None)
    away = replace(view, tracks={})
    assert "since" not in patrol_lines(away, T0, last)[1]
    assert patrol_lines(away, T0, last)[0].endswith("last read 10 min ago]")  # not: never
    assert patrol_lines(away, T0)[0].endswith("not read]")
    assert "queue: not read" in patrol_lines(replace(away, queue=Queue()), T0)[1]  # not: none known
    # A queue that could not be read this time has not lost its cells.
    unread = replace(view, queue=Queue(), instance=replace(view.instance, queue=QueueFiles("/q")))
    assert "since" not in patrol_lines(unread, T0, last)[1]


def test_changes_in_words() -> None:
    last = Tick(T0, 1, 0, "a", 3, 2)
    assert changes(last, replace(last, at=T0 + 9)) == "nothing changed"
    assert changes(last, Tick(T0, 2, 1, "b", 1, 3)) == "+1 done, +1 failed, now at b, +1 OOM kills"
    assert changes(last, Tick(T0, 1, 0, None, None, None)) == "nothing runs any more"
    assert changes(last, Tick(T0, 0, 1, "a", 1)) == "begun anew"
    # What is in doubt since has not run anew.
    assert changes(last, replace(last, done=0, suspicious=1)) == "+1 suspicious"


def test_a_row_that_left_a_list_does_not_lower_the_ends_since() -> None:
    tracks = {"gpus": Track(good=Reading(object(), T0 - 1))}

    def tick(**states: CellState) -> Tick:
        cells = tuple(Cell(name, 1, "t", state, job=name) for name, state in states.items())
        made = tick_of(replace(empty()["a"], tracks=tracks, queue=Queue(cells)))
        assert made is not None
        return made

    over, bad, doubt, runs = (
        CellState.FINISHED, CellState.FAILED, CellState.SUSPICIOUS, CellState.RUNNING,
    )  # fmt: skip
    last = tick(a=over, b=over, c=bad, d=doubt, e=runs, f=runs)
    assert changes(last, tick(e=runs, f=runs)) == "nothing changed"
    # One ended while three others left: the sums alone say that fewer are done.
    assert changes(last, tick(e=over, f=runs)) == "+1 done, now at f"
    assert changes(last, tick(a=doubt, b=over, c=bad, d=doubt, e=runs, f=bad)) == (
        "+1 failed, +1 suspicious"
    )
    # One job that was put back into the queue is no queue that began anew.
    again = tick(a=runs, b=over, c=bad, d=doubt, e=runs, f=over)
    assert changes(last, again) == "+1 done, now at a"
    view = replace(empty()["a"], tracks=tracks, queue=Queue((Cell("f", 1, "t", over, job="f"),)))
    told = since_json(view, last)
    assert told is not None
    assert [told[name] for name in ("done", "failed", "suspicious")] == [1, 0, 0]
    # A queue whose cells run again has begun anew; a tick of 0.1.0 has sums alone.
    queued = tuple(Cell(name, 1, "t", over) for name in "ab")
    before = tick_of(replace(view, queue=Queue(queued)))
    now = tick_of(replace(view, queue=Queue((replace(queued[0], state=runs), queued[1]))))
    assert before is not None
    assert now is not None
    assert changes(before, now) == "begun anew, now at a"
    assert changes(replace(before, rows={}), now) == "begun anew, now at a"
    old = since_json(view, Tick(T0 - 600, 8, 11, suspicious=1))
    assert old is not None
    assert [old[name] for name in ("done", "failed", "suspicious")] == [0, 0, 0]


def test_a_scheduler_that_was_not_read_keeps_the_last_tick() -> None:
    box = replace(empty()["a"], instance=Instance("a", SshAccess("a"), scheduler="slurm"))
    tracks = {"gpus": Track(good=Reading(object(), T0 - 1))}
    assert tick_of(replace(box, tracks=tracks)) is None
    listed = {**tracks, "slurm": Track(good=Reading(JobTable("Slurm"), T0 - 1))}
    assert tick_of(replace(box, tracks=listed)) is not None


def test_done_are_those_that_ended_well_wherever_they_are_counted() -> None:
    states = (CellState.FINISHED, CellState.SYNC_FAILED, CellState.SUSPICIOUS, CellState.FAILED)
    cells = tuple(Cell(f"c{n}", n, "t", state) for n, state in enumerate(states, 1))
    queue = Queue(cells, total=4, claimed_done=True)
    tracks = {"gpus": Track(good=Reading(object(), T0 - 1))}
    view = replace(empty()["a"], tracks=tracks, queue=queue)
    counts = "1/4 done, 1 failed, 1 sync failed, 1 suspicious"
    assert patrol_lines(view, T0)[1].startswith(f"  queue: {counts}")
    assert fleet_cell(view, 60).plain == counts
    assert fleet_cell(view, 20).plain == "1/4, 3 bad"
    fleet = replace(empty(), instances=(view,))
    written = handover(fleet, {}, Mask(), version="1", fleet=None)
    assert f"cells by their logs: {counts} · ended, 0 open" in written
    assert f"| {counts} · ended |" in written
    told = check_json(replace(fleet, instances=(replace(view, tracks={}),)))["instances"][0][
        "queue"
    ]
    assert [told[name] for name in ("done", "failed", "sync_failed", "suspicious")] == [1] * 4
    evidence = Evidence(link="live", queue=queue)
    assert judge(evidence).because[0].endswith("; 1 of 4 cells failed; 1 sync failed; 1 suspicious")


def test_what_is_about_no_instance_stands_first() -> None:
    money = Account(
        "runpod:KEY", "runpod", T0, balance=Money(4.0, "USD"), spend_per_hour=Money(2.0, "USD"),
        spend_at_least=True,
    )  # fmt: skip
    silent = Account("autodl:KEY", "autodl", error="no API key: set $KEY")
    bill = replace(
        finding(Severity.FATAL, "you are paying for this one: RunPod: old\x1bbox"),
        kind="unlisted_instance", instance="runpod:oldbox",
    )  # fmt: skip
    seen = replace(empty(), accounts=(money, silent), findings=(bill,))
    lines = patrol_report(seen, {})
    assert lines[0].startswith("escalate: runpod:oldbox")
    assert lines[1] == (
        "! fatal unlisted instance runpod:oldbox: you are paying for this one: RunPod: old\ufffdbox"
    )
    assert lines[2].startswith("a: ")
    assert lines[-2:] == [
        "account runpod:KEY: balance $4.00, lasts at most 2 h",
        "account autodl:KEY: balance not known (no API key: set $KEY)",
    ]
    many = tuple(replace(bill, instance=f"runpod:{n}") for n in range(200))
    assert len(patrol_report(replace(seen, findings=many), {})) < 40


def test_inodes_that_were_refused_are_unknown_and_those_that_do_not_exist_are_absent() -> None:
    denied = {"bytes_total": "df: /: Permission denied", "inodes_total": "df: /: Permission denied"}
    for why, sign in ((denied, "?"), ({"inodes_total": NOT_REPORTED}, "–")):
        refused = Mount("/", None, None, None, None, None, why=why)
        tracks = {"mounts": Track(good=Reading((refused,), T0))}
        view = replace(empty()["a"], link=LinkState("live"), tracks=tracks)
        assert f"/ bytes ? inodes {sign}" in "\n".join(patrol_lines(view, T0))


def test_what_is_spent_is_a_bound_rounded_down_where_nobody_says_since_when_it_bills() -> None:
    for spent, told in ((0.004, "? so far"), (0.129, "≥¥0.12 so far"), (None, "¥2.08/h")):
        view = replace(empty()["a"], cost=Cost(2.08, "CNY", spent))
        assert told in "\n".join(patrol_lines(view, T0))
        assert "0.00" not in "\n".join(patrol_lines(view, T0))
    billed = ProviderState("running", started_at=T0 - 60)
    view = replace(empty()["a"], cost=Cost(2.08, "CNY", 0.129), provider=billed)
    assert ", ¥0.13 so far" in "\n".join(patrol_lines(view, T0))
