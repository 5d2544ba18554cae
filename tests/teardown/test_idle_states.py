"""Which rows of a process table may be work: by their state, their parent and the cards they hold."""

from __future__ import annotations

import pytest

from gpu_tui.core.readings import Process
from gpu_tui.teardown.box import HIDDEN, UNSEEN, Survey
from gpu_tui.teardown.idle import WATCHERS, Image, fits, program_of, watches, working
from gpu_tui.teardown.own import Own

TRAIN = ("python", "train.py")


def row(pid: int, *argv: str, ppid: int = 1, state: str = "S", name: str = "") -> Process:
    return Process(
        pid, ppid, name or (argv[0].rsplit("/", 1)[-1].rstrip(":") if argv else "x"), argv, state
    )


@pytest.mark.parametrize("state", ["R", "S", "D", "T", "t", "I", "?"])
def test_whatever_is_not_dead_works(state: str) -> None:
    """A trainer that is stopped, or waits for a disk, goes on with what it holds in memory."""
    assert working([row(7, *TRAIN, state=state)])


@pytest.mark.parametrize("state", ["Z", "X"])
def test_what_is_dead_does_not(state: str) -> None:
    assert working([row(7, *TRAIN, state=state)]) == ()


def test_ones_own_look_is_no_work() -> None:
    table = [row(7, "sh", "-c", "x", ppid=6), row(8, "find", ".", ppid=7), row(9, *TRAIN)]
    assert [one.pid for one in working(table, own=frozenset({7, 8}))] == [9]


@pytest.mark.parametrize(
    ("table", "works"),
    [
        ([row(2, name="kthreadd"), row(9, ppid=2, name="kworker/0:1")], []),
        ([row(2, name="kthreadd"), row(9, ppid=3, name="kworker/0:1")], [9]),
        # a program may empty its own command line, and be called as it likes
        ([row(2, "python", name="kthreadd"), row(9, ppid=2, name="kworker/0:1")], [2, 9]),
        ([row(9, ppid=2, name="kworker/0:1")], [9]),
        ([row(9, ppid=1, name="train")], [9]),
    ],
)
def test_a_row_without_words_is_work_unless_the_kernel_made_it(
    table: list[Process], works: list[int]
) -> None:
    assert [one.pid for one in working(table)] == works


@pytest.mark.parametrize(
    ("argv", "works"),
    [
        (("sshd:", "root@pts/0"), True),
        (("python", "-m", "jupyter"), True),
        (("bash",), True),
        (("nvidia-smi", "dmon"), False),
        (("nvidia-persistenced",), False),
    ],
)
def test_who_holds_a_card_works_unless_it_is_known_to_look_at_it(
    argv: tuple[str, ...], works: bool
) -> None:
    assert bool(working([row(7, *argv)], on_gpu=frozenset({7}))) is works
    assert not working([row(7, *argv)])


@pytest.mark.parametrize(
    ("argv", "it_is"),
    [
        (("sh", "-c", f"{WATCHERS[0]}x"), True),
        (("python3", "-u", "-c", WATCHERS[1]), True),
        (("sh", "-c", f"echo; {WATCHERS[0]}"), False),
        (("sh", "-x", WATCHERS[0]), False),
        (("sh", "-s", "x"), False),
        ((WATCHERS[0],), False),
        ((), False),
    ],
)
def test_a_gpu_tui_says_so_at_the_start_of_its_program(argv: tuple[str, ...], it_is: bool) -> None:
    assert watches(row(7, *argv)) is it_is


@pytest.mark.parametrize(
    ("argv", "name", "program"),
    [
        (("sshd: root@pts/0",), "sshd", "sshd"),
        (("/usr/sbin/sshd:", "x"), "sshd", "sshd"),
        (("-bash",), "bash", "bash"),
        (("/opt/a: b/python", "train.py"), "python", "a"),
        ((), "kworker", "kworker"),
    ],
)
def test_a_program_is_what_its_title_says_first(
    argv: tuple[str, ...], name: str, program: str
) -> None:
    assert program_of(row(7, *argv, name=name)) == program


@pytest.mark.parametrize(
    ("name", "path", "same"),
    [
        ("sshd", None, True),
        ("sshd", "/usr/sbin/sshd", True),
        ("sshd", "/usr/sbin/sshd (deleted)", True),
        ("train", None, False),
        ("sshd", "/root/train", False),
        ("train", "/usr/sbin/sshd", False),
    ],
)
def test_a_title_must_be_what_the_kernel_says_by_both_its_names(
    name: str, path: str | None, same: bool
) -> None:
    image = None if path is None else Image(path=path)
    assert fits(row(7, "sshd: root@notty", name=name), image) is same


@pytest.mark.parametrize(
    ("hidden", "processes", "own", "why"),
    [
        (False, (), False, None),
        (True, (), False, HIDDEN),
        (True, None, True, HIDDEN),
        (False, (), True, UNSEEN),
        (False, None, True, None),  # no table at all is said elsewhere
    ],
)
def test_a_table_that_is_not_whole_says_why(
    monkeypatch: pytest.MonkeyPatch,
    hidden: bool,
    processes: tuple[Process, ...] | None,
    own: bool,
    why: str | None,
) -> None:
    monkeypatch.setattr(Survey, "own", Own(unseen=own))
    assert Survey(None, processes, None, (), (), hidden=hidden).unseen == why


def test_of_a_table_of_this_machine_the_look_itself_is_ours() -> None:
    table = (
        row(20, "sshd: root@notty", ppid=10),
        row(30, "sh", "-s", ppid=20),
        row(31, "find", ppid=30),
    )
    mine = Survey(None, table, None, (), (), asked_by=(30, 20)).own
    assert (mine.pids >= {30, 31}, mine.unseen) == (True, False)
    assert Survey(None, table, None, (), (), asked_by=(40, 20)).own.unseen
    assert Survey(None, table, None, (), ()).own == Own()
