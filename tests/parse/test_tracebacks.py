"""Lines of tracebacks that alarm, in any chunking and with any prefix."""

from __future__ import annotations

import pytest

from gpu_tui.core.log_block import telling
from gpu_tui.core.logs import LogLine
from gpu_tui.parse.log_reader import LogReader

HEAD = "Traceback (most recent call last):\n"
OOM = 'raise RuntimeError("CUDA out of memory")'
STEPS = "".join(f"step {n}/1000 loss 0.5\n" for n in range(40))
STAMPED = (
    "ERROR | 2026-05-01 10:00:0{} | ",
    "2026-05-01 10:00:0{},123 - ERROR - ",
    "[2026-05-01 10:00:0{},123][__main__][ERROR] - ",
    "2026-05-01 10:00:0{}.123 | ERROR    | train:fit:9 - ",
    "ERROR:root:",
    "10:00:0{} [ERROR] ",
    "2026/05/01 10:00:0{} ERROR train.py:12 ",
)
LED = (
    "",
    "[rank3]: ",
    "[default1]:",
    "(Worker pid=812, ip=10.0.0.4) ",
    "(EngineCore_0 pid=77) ERROR 05-01 10:00:0{} [core.py:700] ",
    "0: ",
    "trainer-1  | ",
    "2026-05-01T10:00:0{}.123456789Z stderr F ",
    "May 01 10:00:0{} box train[812]: ",
    *STAMPED,
)


def frame(source: str, at: int = 3) -> str:
    return f'  File "/w/train.py", line {at}, in fit\n    {source}\n'


def led(before: str, text: str, *, strip: bool = False) -> str:
    """The text with a logger's or launcher's prefix; `{}` in it is a second that changes from line to line."""
    lines = [line.strip() if strip else line for line in text.splitlines()]
    return "".join(f"{before.format(n % 10)}{line}\n" for n, line in enumerate(lines))


def read(text: str, size: int | None = None) -> list[LogLine]:
    """The whole lines, fed `size` bytes at a time; None: line by line."""
    raw, reader = text.encode(), LogReader()
    if size is None:
        parts = raw.splitlines(keepends=True)
    else:
        parts = [raw[at : at + size] for at in range(0, len(raw), size)]
    return [line for part in parts for line in reader.feed(part) if not line.open]


def alarms(text: str, size: int | None = None) -> list[str]:
    return [line.text for line in read(text, size) if line.mark.alarm]


def ends(text: str) -> tuple[int, str]:
    """The number of alarming lines, and the last of them."""
    found = alarms(text)
    return len(found), found[-1]


@pytest.mark.parametrize("before", LED)
@pytest.mark.parametrize("strip", [False, True])
def test_only_the_head_and_the_exception_of_a_traceback_alarm(before: str, strip: bool) -> None:
    if strip and before not in STAMPED:
        return
    sources = (
        OOM,
        "fail('NCCL error in: a.cc:7')",
        "log('loss is nan, aborting')",
        f"{OOM} from e",
    )
    text = HEAD + "".join(map(frame, sources)) + "mylib.errors.NoRoom: nothing left\n"
    found = alarms(led(before, text, strip=strip))
    assert len(found) == 2, found
    assert found[-1].endswith("mylib.errors.NoRoom: nothing left")


def test_chunk_sizes_and_floods_change_no_mark() -> None:
    text = STEPS + led(STAMPED[0], HEAD + frame(OOM) * 30 + "NoRoom: nothing left\n") + STEPS
    expected = [(line.text, line.mark) for line in read(text)]
    for size in (7, 1_000, len(text)):
        assert [(line.text, line.mark) for line in read(text, size) if line.text] == expected
    (whole,) = (LogReader().feed(text.encode()),)
    assert [line.text for _, line in telling(whole) if line.mark.alarm] == alarms(text)
    reader = LogReader()
    block = reader.whole(text.encode())
    assert block is not None
    judged = reader.judge(block)
    assert [line.text for line in judged if line.mark.alarm] == alarms(text)


def test_ranks_that_are_mixed_line_by_line_are_read_each_by_itself() -> None:
    lines = (HEAD + frame(OOM) + "NoRoom: nothing left").splitlines()
    mixed = "".join(f"[rank{rank}]: {line}\n" for line in lines for rank in range(8))
    assert len(alarms(mixed)) == 16
    behind = "".join(f"[rank{rank}]: {line}\n" for rank in range(8) for line in lines[rank % 2 :])
    assert not any("CUDA" in text for text in alarms(behind))


BOX = f"""╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /w/train.py:14 in <module>                                                   │
│   13         fit()                                                           │
│ ❱ 14         {OOM}                        │
│ ╭────────────────── locals ──────────────────╮                               │
│ │  err = RuntimeError('CUDA out of memory')  │                               │
│ │ loss = nan                                 │                               │
│ ╰────────────────────────────────────────────╯                               │
╰──────────────────────────────────────────────────────────────────────────────╯
"""
ASCII = BOX.translate(str.maketrans("╭╮╰╯│─❱", "++++|->"))


@pytest.mark.parametrize("before", ["", "[rank1]: ", STAMPED[3]])
@pytest.mark.parametrize("box", [BOX, ASCII])
def test_text_in_a_box_of_rich_raises_no_alarm(box: str, before: str) -> None:
    count, last = ends(STEPS + led(before, f"{box}NoRoom: nothing left\n"))
    assert (count, last.endswith("NoRoom: nothing left")) == (2, True)


@pytest.mark.parametrize(
    "raised",
    [
        "mylib.core.Oops: it broke", "Boom: shard 7", "TrainingStopped", "queue.Empty", "zlib.error: Error -3",
        "KeyError: 17", "AssertionError", "SyntaxError: '(' was never closed", "mylib.Refused(KeyError): lr",
        "pyarrow.lib.ArrowInvalid: Could not convert 'x'", "UserWarning: turned into an error",
    ],
)  # fmt: skip
def test_the_last_line_is_the_exception_whatever_its_name(raised: str) -> None:
    assert ends(HEAD + frame(OOM) + f"{raised}\n") == (2, raised)
    assert ends(STEPS + HEAD + frame("f(\n") + "    ^^^^^\n\n" + f"{raised}\n") == (2, raised)


def test_only_the_first_line_of_a_multi_line_record_has_a_stamp() -> None:
    text = f"2026-05-01 10:00:00,123 - ERROR - {HEAD}{frame(OOM)}NoRoom: nothing left\n"
    assert ends(text) == (2, "NoRoom: nothing left")
    bar = f"Epoch 3:  40%|####  | 40/100 [00:10<00:15,  4.0it/s]{HEAD}{frame(OOM)}NoRoom\n"
    assert ends(bar) == (2, "NoRoom")


@pytest.mark.parametrize("first", ["", *STAMPED[:3]])
def test_the_copy_that_a_logger_writes_is_no_second_failure(first: str) -> None:
    text = HEAD + frame(OOM) + "ValueError: bad lr\n"
    second = STAMPED[3] if not first else ""
    twice = led(first, text) + led(second, text)
    assert len(alarms(twice)) == 2
    other = led(first, text) + led(second, text.replace("bad lr", "bad batch"))
    assert alarms(other)[-1].endswith("bad batch")
    later = led(first, text) + STEPS + led(second, text)
    assert len(alarms(later)) == 4


@pytest.mark.parametrize(
    "line",
    [
        "2026-01-24 23:13:51,972 - ERROR - return _run_code(code, main_globals, None,",
        "2026-01-24 23:13:51,972 - train.loop - ERROR - await self.step(batch)",
        "2026-01-24 23:13:51 [ERROR] raise RuntimeError('CUDA out of memory')",
    ],
)
def test_a_line_of_source_is_known_alone_where_its_statement_shows(line: str) -> None:
    (mark,) = (one.mark for one in read(f"{line}\n"))
    assert (mark.label, mark.alarm) == ("traceback", False)
    (told,) = (
        one.mark for one in read("2026-01-24 23:13:51,972 - ERROR - return code (1) of the job\n")
    )
    assert told.label != "traceback"


# --- innocent twins ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"Exception ignored in: <function Loader.__del__ at 0x7f>\n{HEAD}{frame('self._shutdown()')}AssertionError: can only test a child\n",
        f"--- Logging error ---\n{HEAD}{frame('msg = self.format(record)')}TypeError: not all arguments converted\n"
        f"Call stack:\n{frame('main()')}Message: 'loss'\nArguments: (3,)\n",
        f">>> fit(None)\n{HEAD}    ...\nValueError: no data\n",
        f"Stack (most recent call last):\n{frame('main()')}Epoch: 3\nNote: this is where it is\n",
        f"{frame('main()')}Done: all is well\n",
    ],
)
def test_survived_and_quoted_tracebacks_raise_no_alarm(text: str) -> None:
    assert alarms(STEPS + text + STEPS) == []


def test_an_alarm_after_a_frame_without_a_traceback_stays() -> None:
    assert (
        ends(frame("main()") + "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")[0]
        == 1
    )
    far = HEAD + frame("main()") + STEPS + "    ERROR: the loader died\n"
    assert ends(far)[0] == 2
    assert alarms(HEAD + frame("exit()") + "SystemExit: 0\n") == [HEAD.strip()]
