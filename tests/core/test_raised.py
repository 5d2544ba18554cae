"""Which exception is named, told by the order of the lines."""

from __future__ import annotations

import pytest

from gpu_tui.core.alarms import Alarm, CellAlarms
from gpu_tui.core.log_block import telling
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


DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
RAY = f"{TRACE}ray.exceptions.RayTaskError(ValueError): ray::Trainer.fit() (pid=9, ip=10.0.0.4)\n{FRAME}ValueError: bad shape\n"
SPAWNED = (
    f"{TRACE}torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the following error:\n"
    f"{TRACE}ValueError: bad shape\n"
)
CLOSES = "W0501 10:00:00.0 1 torch/multiprocessing/spawn.py:146] Terminating process 812 via signal SIGTERM\n"
JAVA = (
    'Exception in thread "main" java.lang.IllegalStateException: no such tensor\n\tat ai.djl.Main.main(Main.java:12)\n'
    "Caused by: java.io.FileNotFoundException: /data/x (No such file or directory)\n\t... 5 more\n"
)
JULIA = (
    "ERROR: LoadError: TaskFailedException\nStacktrace:\n  [1] wait\n    @ ./task.jl:345 [inlined]\n\n"
    "caused by: BoundsError: attempt to access 3-element Vector{Int64} at index [5]\nStacktrace:\n  [1] getindex\n"
)


def led(before: str, text: str) -> str:
    return "".join(f"{before}{line}\n" for line in text.splitlines())


def failure(text: str, *parts: str) -> Alarm:
    raised, alarms, reader, begin = Raised(), CellAlarms(), LogReader(), 0
    for part in parts or (text,):
        lines = reader.feed(part.encode())
        for place, line in telling(lines):
            for one in raised.read(line, begin + place, "a.log"):
                alarms.take(one, begin + place, "a.log", 0.0, live=True)
        begin += len(lines)
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
    ("text", "told"),
    [
        # The direct cause, however long the chain; without a direct cause the last exception.
        (f"{TRACE}KeyError: 'lr'{DIRECT}{TRACE}ConfigError: no lr\n", "KeyError: 'lr' -> ConfigError: no lr"),
        (f"{TRACE}KeyError: 'lr'{DIRECT}{TRACE}ConfigError: no lr{DIRECT}{TRACE}RuntimeError: cannot start\n", "KeyError: 'lr' -> RuntimeError: cannot start"),
        (f"{TRACE}KeyError: 'lr'{DIRECT}{TRACE}KeyError: 'lr'\n", "KeyError: 'lr'"),
        (f"{TRACE}KeyError: 'lr'{DURING}{TRACE}ConfigError: no lr\n", "ConfigError: no lr"),
        (f"{TRACE}{OOM}{DURING}{TRACE}AttributeError: 'NoneType' object has no attribute 'finish'\n", OOM),
        (f"{TRACE}pyarrow.lib.ArrowInvalid: not a number{DIRECT}{TRACE}RuntimeError: a subprocess died\n", "pyarrow.lib.ArrowInvalid: not a number -> RuntimeError: a subprocess died"),
        # Exceptions quoted by another program's exception.
        (RAY, "ValueError: bad shape"),
        (f"{RAY}{DIRECT}{TRACE}ray.train.TrainingFailedError: The run failed.\n", "ValueError: bad shape -> ray.train.TrainingFailedError: The run failed."),
        (f"{CLOSES}{SPAWNED}", "ValueError: bad shape"),
        (JAVA, "Caused by: java.io.FileNotFoundException: /data/x (No such file or directory)"),
        (JULIA, "caused by: BoundsError: attempt to access 3-element Vector{Int64} at index [5]"),
        # A parent that only waited for the failed child.
        (f"{TRACE}KeyError: 'lr'\n{TRACE}subprocess.CalledProcessError: Command '['python', 't.py']' returned non-zero exit status 1.\n", "KeyError: 'lr'"),
        (f"{TRACE}KeyError: 'lr'\n{LAUNCHER}", "KeyError: 'lr'"),
        # A logger's prefix is removed; the name of the worker stays.
        (led("ERROR | 2026-05-01 10:00:00 | ", f"{TRACE}KeyError: 'lr'"), "KeyError: 'lr'"),
        (led("2026-05-01 10:00:00,123 - train - ERROR - ", f"{TRACE}KeyError: 'lr'"), "KeyError: 'lr'"),
        (led("[2026-05-01 10:00:00,123][__main__][ERROR] - ", f"{TRACE}KeyError: 'lr'"), "KeyError: 'lr'"),
        (led("(Worker pid=7) ", f"{TRACE}KeyError: 'lr'"), "(Worker pid=7) KeyError: 'lr'"),
        (f"{TRACE}KeyError: 'lr'\n" + led("10:00:00 ERROR ", f"{TRACE}KeyError: 'lr'"), "KeyError: 'lr'"),
        # Notes, and messages of several lines.
        (f"{TRACE}ValueError: bad sample\nwhile reading shard 17\n", "ValueError: bad sample"),
        (f"{TRACE}RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: \"fc.weight\". \n", "RuntimeError: Error(s) in loading state_dict for Net:"),
        (f"{STEPS}{TRACE}{FRAME * 30}mylib.NoRoom: nothing left\n", "mylib.NoRoom: nothing left"),
    ],
)  # fmt: skip
def test_one_crash_is_one_finding_named_by_its_first_cause(text: str, told: str) -> None:
    for parts in (text.splitlines(keepends=True), [text]):  # as it is written, and all at once
        found = failure(text, *parts)
        assert (found.told, found.count) == (told, 1)


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
