"""What counts as new, and that two programs never tell the same thing."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

from newsroom import T0, cell, finding, view

from gpu_tui.alerts.ledger import WAITING, Ledger, Post
from gpu_tui.alerts.once import GONE, HAPPENED, Sifted
from gpu_tui.core.findings import Severity
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.metrics import SLURM
from gpu_tui.core.sample import Reading, Track
from gpu_tui.core.sweep import CellState
from gpu_tui.state.news import (
    CELL_FINISHED,
    SHOWN_KEPT,
    SWEEP_FINISHED,
    News,
    ScreenNews,
    Shown,
    news_of,
)
from gpu_tui.state.views import FleetView

READY = frozenset({"a", ""})


def sift(
    ledger: Ledger, seen: FleetView, now: float, ready: frozenset[str] = READY, since: float = T0
) -> Sifted:
    members = frozenset(one.name for one in seen.instances)
    posts = [Post("c")]
    return ledger.sift(posts, "s", news_of(seen), ready, members, now=now, since=since)["c"]


def kinds(news: tuple[News, ...]) -> list[str]:
    return [one.kind for one in news]


def test_the_first_look_tells_nothing_and_what_comes_later_is_told_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    first = sift(ledger, view(findings=(finding("nan"),)), T0)
    assert (kinds(first.first), first.fresh) == (["nan"], ())
    both = view(findings=(finding("nan"), finding("xid")))
    assert kinds(sift(ledger, both, T0 + 2).fresh) == ["xid"]
    assert sift(ledger, both, T0 + 4).fresh == ()
    ledger.close()
    again = Ledger(tmp_path / "l")  # the next start of gpu-tui
    assert sift(again, both, T0 + 9, since=T0 + 8).fresh == ()
    more = view(findings=(finding("nan"), finding("xid"), finding("crashed")))
    assert kinds(sift(again, more, T0 + 10).fresh) == ["crashed"]


def test_gone_for_a_moment_is_not_gone(tmp_path: Path) -> None:
    ledger, there, away = Ledger(tmp_path / "l"), view(findings=(finding("nan"),)), view()
    sift(ledger, away, T0)
    assert kinds(sift(ledger, there, T0 + 1).fresh) == ["nan"]
    sift(ledger, away, T0 + 2)
    assert sift(ledger, there, T0 + 1 + GONE).fresh == ()
    sift(ledger, away, T0 + 10_000)
    assert kinds(sift(ledger, there, T0 + 10_000 + GONE).fresh) == ["nan"]


def test_an_instance_that_is_not_known_now_changes_nothing(tmp_path: Path) -> None:
    ledger, there = Ledger(tmp_path / "l"), view(findings=(finding("nan"),))
    sift(ledger, view(), T0)
    sift(ledger, there, T0 + 1)
    sift(ledger, view(), T0 + 2, ready=frozenset())  # the link is away: nothing has gone
    assert sift(ledger, there, T0 + 2 + 2 * GONE).fresh == ()


def test_what_gets_worse_is_told_again_and_what_gets_better_is_not(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    sift(ledger, view(), T0)
    for at, severity, told in (
        (1, Severity.WARN, ["clock"]),
        (2, Severity.SERIOUS, ["clock"]),
        (3, Severity.WARN, []),
        (4, Severity.SERIOUS, []),
        (5, Severity.FATAL, ["clock"]),
    ):
        seen = view(findings=(finding("clock", severity),))
        assert kinds(sift(ledger, seen, T0 + at).fresh) == told


def test_a_cell_that_ran_again_is_news_and_a_box_that_changes_its_zone_is_not(
    tmp_path: Path,
) -> None:
    ledger, left = Ledger(tmp_path / "l"), cell("z", CellState.RUNNING)
    sift(ledger, view(cells=(cell("x", CellState.RUNNING), left)), T0)
    for finished_at, told in (
        (T0, [CELL_FINISHED]),
        (T0 + 3_600, []),
        (T0 + HAPPENED + 1, [CELL_FINISHED]),
    ):
        seen = view(cells=(cell("x", finished_at=finished_at), left))
        assert kinds(sift(ledger, seen, T0 + 1).fresh) == told


def test_a_sweep_has_finished_when_every_cell_of_every_queue_has_ended(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    running = view(cells=(cell("x"), cell("y", CellState.RUNNING)))
    sift(ledger, running, T0)
    ended = view(cells=(cell("x"), cell("y", CellState.FAILED)))
    (told,) = sift(ledger, ended, T0 + 1).fresh
    assert (told.kind, told.text) == (
        SWEEP_FINISHED,
        "every cell has ended: 1 of 2 finished, 1 ended in another way",
    )


def test_a_sweep_of_which_a_queue_was_never_read_has_not_finished() -> None:
    seen = view(cells=(cell("x"),), names=("a", "b"))
    unread = seen.instances[1]
    queue = replace(unread.instance.queue, file="/q.txt")
    unread = replace(unread, instance=replace(unread.instance, queue=queue))
    assert SWEEP_FINISHED not in kinds(
        news_of(replace(seen, instances=(seen.instances[0], unread)))
    )


def test_a_sweep_with_cells_that_nobody_named_has_not_finished() -> None:
    """Between two cells of a queue whose file nobody read, all that is known has ended."""
    seen = view(cells=(cell("x"),))
    box = seen.instances[0]
    for total, done, told in ((10, False, False), (10, True, True), (1, False, True)):
        queue = replace(box.queue, total=total, claimed_done=done)
        found = news_of(replace(seen, instances=(replace(box, queue=queue),)))
        assert (SWEEP_FINISHED in kinds(found)) is told
        assert f"(queue: 1/{total} done" in found[0].text


def test_a_cluster_that_was_not_asked_yet_holds_the_end_back() -> None:
    seen = view(cells=(cell("x"),), names=("a", "login"))
    box, login = seen.instances
    login = replace(login, instance=replace(login.instance, scheduler="slurm"))
    unread = replace(seen, instances=(box, login))
    assert SWEEP_FINISHED not in kinds(news_of(unread))
    table = Reading(JobTable("Slurm"), T0)
    login = replace(login, tracks={SLURM.name: Track(table, table)})
    assert SWEEP_FINISHED in kinds(news_of(replace(seen, instances=(box, login))))


def test_what_is_about_no_instance_of_the_file_is_told_by_name(tmp_path: Path) -> None:
    """A stranger on the bill appears long after the first look: it is news, not part of a first look."""
    ledger = Ledger(tmp_path / "l")
    sift(ledger, view(), T0)
    bill = view(findings=(finding("unlisted_instance", instance="runpod:x1"),))
    assert kinds(sift(ledger, bill, T0 + 1).fresh) == ["unlisted_instance"]


def test_another_sweep_with_the_same_cells_is_another_story(tmp_path: Path) -> None:
    ledger, seen = Ledger(tmp_path / "l"), view(cells=(cell("x"),))
    members = frozenset({"a"})
    ledger.sift([Post("c")], "one", (), READY, members, now=T0, since=T0)
    ledger.sift([Post("c")], "two", (), READY, members, now=T0, since=T0)
    for sweep in ("one", "two"):
        told = ledger.sift([Post("c")], sweep, news_of(seen), READY, members, now=T0 + 1, since=T0)
        assert CELL_FINISHED in kinds(told["c"].fresh)


def test_of_many_programs_exactly_one_tells_and_the_others_know(tmp_path: Path) -> None:
    ledgers = [Ledger(tmp_path / "l") for _ in range(8)]
    sift(ledgers[0], view(), T0)
    seen = view(findings=tuple(finding("nan", cell=str(n)) for n in range(50)))
    found: list[Sifted] = []
    start = threading.Barrier(8)

    def act(ledger: Ledger) -> None:
        start.wait()
        found.append(sift(ledger, seen, T0 + 5))

    threads = [threading.Thread(target=act, args=(one,)) for one in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(one.fresh) for one in found) == [0] * 7 + [50]
    assert sorted(len(one.told) for one in found) == [0] + [50] * 7


def test_a_file_that_cannot_be_written_any_more_loses_nothing_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path / "l")
    sift(ledger, view(), T0)
    sift(ledger, view(findings=(finding("nan"),)), T0 + 1)
    other = sqlite3.connect(tmp_path / "l", isolation_level=None)
    other.execute("begin exclusive")  # a neighbour that never lets go
    seen = view(findings=(finding("nan"), finding("xid")))
    ledger._db.execute("pragma busy_timeout=10")
    assert kinds(sift(ledger, seen, T0 + 2).fresh) == ["xid"]
    assert ledger.trouble
    ledger.put("c", [{"kind": "xid"}], now=T0, due=T0)
    batch = ledger.take("c", T0)
    assert batch is not None
    assert batch.items == ({"kind": "xid"},)


def test_a_state_directory_that_is_no_place_for_a_file(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "no" / "such" / "directory")
    assert ledger.trouble
    sift(ledger, view(), T0)
    assert kinds(sift(ledger, view(findings=(finding("xid"),)), T0 + 1).fresh) == ["xid"]


def test_a_message_stays_the_same_until_it_arrived_and_is_with_one_program_at_a_time(
    tmp_path: Path,
) -> None:
    one, other = Ledger(tmp_path / "l"), Ledger(tmp_path / "l")
    one.put("c", [{"kind": "x", "n": 1}, {"kind": "x", "n": 2}], now=T0, due=T0)
    one.put("c", [{"kind": "x", "n": 9}], now=T0, due=T0 + 500)
    first = one.take("c", T0)
    assert first is not None
    assert first.items == ({"kind": "x", "n": 1}, {"kind": "x", "n": 2})
    assert other.take("c", T0) is None
    one.again(first, T0 + 5)
    other.put("c", [{"kind": "x", "n": 3}], now=T0 + 1, due=T0 + 1)
    fresh = other.take("c", T0 + 1)
    assert fresh is not None
    assert fresh.items == ({"kind": "x", "n": 3},)
    retried = other.take("c", T0 + 5)
    assert retried is not None
    assert (retried.id, retried.items, retried.tries) == (first.id, first.items, 1)
    # Whoever died while sending: its lease runs out.
    assert one.take("c", T0 + 6) is None
    taken_over = one.take("c", T0 + 400)
    assert taken_over is not None
    assert taken_over.id in (first.id, fresh.id)
    for batch in (retried, fresh):
        one.done(batch)
    assert one.waiting("c") == 1
    held = one.take("c", T0 + 500)
    assert held is not None
    assert held.items == ({"kind": "x", "n": 9},)


def test_what_waits_is_bounded_and_the_dropped_are_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    for block in range(4):
        ledger.put("c", [{"kind": "k", "n": block * 200 + n} for n in range(200)], now=T0, due=T0)
    assert ledger.waiting("c") == WAITING
    numbers, dropped = [], 0
    while (batch := ledger.take("c", T0)) is not None:
        for item in batch.items:
            if item["kind"] == "overflow":
                dropped += int(str(item["count"]))
            else:
                numbers.append(item["n"])
        ledger.done(batch)
    assert numbers == list(range(dropped, 800))
    assert dropped == 800 - WAITING + 1


def test_what_a_screen_has_shown_is_kept_while_it_is_news_and_of_the_rest_so_many() -> None:
    shown = Shown()
    shown.add(["stays"], ["stays"])
    for n in range(3 * SHOWN_KEPT):  # weeks of a sweep of jobs: each is news for a while
        shown.add([f"job {n}"], {"stays", f"job {n}"})
    assert len(shown) <= SHOWN_KEPT + 2
    assert ("stays" in shown, "job 0" in shown) == (True, False)
    assert f"job {3 * SHOWN_KEPT - SHOWN_KEPT // 2}" in shown  # gone a while ago


def test_a_screen_alone_shows_what_comes_and_goes_once() -> None:
    screen, away, there = ScreenNews(), view(), view(findings=(finding("nan"),))
    seen = [len(screen.take(one)) for one in (away, there, away, there)]
    assert seen == [0, 1, 0, 0]


def test_a_reported_crash_is_not_reported_again_under_a_more_precise_kind(tmp_path: Path) -> None:
    for words in (
        ("traceback", "crashed", "gpu_oom"),
        ("crashed", "host_oom"),
        ("suspicious_end", "traceback", "crashed"),
    ):
        ledger, screen = Ledger(tmp_path / words[-1]), ScreenNews()
        sift(ledger, view(), T0)
        screen.take(view())
        told = []
        for at, kind in enumerate(words):
            seen = view(findings=(finding(kind, cell="x"),))
            told += kinds(sift(ledger, seen, T0 + 1 + at).fresh)
            told += [one.kind for bulletin in screen.take(seen) for one in bulletin.news]
        again = view(findings=(finding(words[-1], cell="x"),))
        told += kinds(sift(ledger, again, T0 + 9, since=T0 + 8).fresh)
        assert told == [words[0], words[0]]
        ledger.close()


def test_an_exit_code_and_the_log_that_explains_it_are_one_alarm(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    sift(ledger, view(), T0)
    told = []
    for at, severity in enumerate((Severity.SERIOUS, Severity.FATAL, Severity.SERIOUS)):
        seen = view(findings=(finding("crashed", severity, cell="x"),))
        told += kinds(sift(ledger, seen, T0 + 1 + at).fresh)
    assert told == ["crashed"]


def test_another_crash_or_one_without_an_alarm_before_is_reported(tmp_path: Path) -> None:
    bare, oom = finding("crashed", cell="x"), finding("gpu_oom", cell="x")
    for name, looks, told in (
        ("restarted", (view(findings=(bare,)), view(), view(findings=(oom,))), ["crashed", "gpu_oom"]),
        ("both", (view(findings=(bare,)), view(findings=(bare, oom))), ["crashed", "gpu_oom"]),
        ("other", (view(findings=(bare,)), view(findings=(finding("gpu_oom", cell="y"),))), ["crashed", "gpu_oom"]),
        ("back", (view(findings=(oom,)), view(findings=(bare,))), ["gpu_oom", "crashed"]),
        (
            "warned",
            (view(findings=(finding("suspicious_end", Severity.WARN, cell="x"),)), view(findings=(bare,))),
            ["suspicious_end", "crashed"],
        ),
        ("box", (view(findings=(finding("crashed"),)), view(findings=(finding("gpu_oom"),))), ["crashed", "gpu_oom"]),
    ):  # fmt: skip
        ledger = Ledger(tmp_path / name)
        sift(ledger, view(), T0)
        fresh = [kinds(sift(ledger, seen, T0 + 1 + at).fresh) for at, seen in enumerate(looks)]
        assert [kind for each in fresh for kind in each] == told, name
        ledger.close()


def test_durations_under_an_hour_show_seconds(tmp_path: Path) -> None:
    for seconds, words in (
        (45.0, "45 s"),
        (90.0, "1 min 30 s"),
        (125.0, "2 min 05 s"),
        (7_500.0, "2 h 05 min"),
    ):
        done = replace(cell("x"), duration_seconds=seconds)
        (news,) = (one for one in news_of(view(cells=(done, cell("y", CellState.RUNNING)))))
        assert news.text.startswith(f"its log says finished after {words} ("), news.text
