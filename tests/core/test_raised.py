"""Which exception is named, told by the order of the lines."""

from __future__ import annotations

import pytest

from gpu_tui.core.alarms import Alarm, CellAlarms
from gpu_tui.core.raised import Raised
from gpu_tui.parse.log_reader import LogReader

HEAD = "Traceback (most recent call last):\n"
FRAME = '  File "/r/train.py", line 12, in <module>\n    main()\n'
TRACE = HEAD + FRAME
LAUNCHER = (
    "E0401 10:00:00.0 140000 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: 1) local_rank: 0 "
    f"(pid: 4242) of binary: /usr/bin/python\n{TRACE}"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
)
STEPS = "".join(f"step {n}/1000 loss 0.5\n" for n in range(20))
PLAIN = "reading the data\n"
WORKER = f"{TRACE}RuntimeError: Caught FileNotFoundError in DataLoader worker process 0.\nOriginal {TRACE}"
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/r/a.py", line 1, in <module>
  |     main()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/r/a.py", line 1, in f
    |     x()
    | ValueError: bad
    +------------------------------------
"""


def failure(text: str) -> Alarm:
    raised, alarms, number = Raised(), CellAlarms(), 0
    for line in LogReader().feed(text.encode()):
        for one in raised.read(line, number, "a.log"):
            alarms.take(one, number, "a.log", 0.0, live=True)
        number += not line.open
    (alarm,) = (one for one in alarms.shown(ended=True) if one.label != "traceback")
    return alarm


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"Error executing job with overrides: ['a=1']\n{TRACE}a.errors.KeyError: lr\n", "a.errors.KeyError: lr"),
        (f"2024-04-01 10:00:00.000 | ERROR    | __main__:<module>:3 - boom\n{TRACE}\nZeroDivisionError: by 0\n", "ZeroDivisionError: by 0"),
        (f"ERROR:root:boom\n{TRACE}ZeroDivisionError: by 0\n", "ZeroDivisionError: by 0"),
        (f"{WORKER}FileNotFoundError: No such file: '/data/x.jpg'\n", "FileNotFoundError: No such file: '/data/x.jpg'"),
        (f"{WORKER}mylib.data.BadSample: 17 is torn\n", "mylib.data.BadSample: 17 is torn"),
        (GROUP, "ValueError: bad"),
        (GROUP.replace("ValueError: bad", "ExceptionGroup: inner (2 sub-exceptions)\n    +-+---------------- 1 ----------------\n      | Traceback (most recent call last):\n      | KeyError: 'k'"), "KeyError: 'k'"),
        # What a launcher says of a worker that failed is an echo, also where others went on for a moment.
        (f"{TRACE}IndexError: first\n{LAUNCHER}", "IndexError: first"),
        (f"{TRACE}IndexError: first\nstep 7/1000 loss 0.5\n{LAUNCHER}", "IndexError: first"),
        (f"{TRACE}IndexError: first\nERROR:root:one of the workers is lost\n{TRACE}RuntimeError: lost\n", "IndexError: first"),
        # A second failure that is not announced, and one that is, behind one that the run survived.
        (f"{TRACE}IndexError: first\n{TRACE}ValueError: second\n", "IndexError: first"),
        (f"{TRACE}IndexError: first\n{STEPS}ERROR:root:boom\n{TRACE}ValueError: second\n", "ValueError: second"),
        # Somebody else's line far above is no announcement.
        (f"ERROR:root:no such host\n{PLAIN * 5}{TRACE}ValueError: second\n", "ERROR:root:no such host"),
    ],
)  # fmt: skip
def test_the_exception_to_mend_is_named(text: str, told: str) -> None:
    assert failure(text).text == told


@pytest.mark.parametrize(
    "text", [GROUP, f"{WORKER}OSError: x\n", f"ERROR:root:boom\n{TRACE}ZeroDivisionError: by 0\n"]
)
def test_what_is_passed_on_counts_once(text: str) -> None:
    assert failure(text).count == 1


def test_another_log_and_a_log_that_began_anew_announce_nothing() -> None:
    raised, reader = Raised(), LogReader()
    (announced,) = reader.feed(b"ERROR:root:boom\n")
    (head,) = reader.feed(HEAD.encode())
    assert [*raised.read(announced, 0, "a.log")] == [announced]
    assert [*raised.read(head, 1, "b.log")] == [head]
    raised.forget("a.log")
    assert [*raised.read(head, 1, "a.log")] == [head]
