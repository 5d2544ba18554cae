"""Findings for scripts, lists and configs that were changed under a run, and harmless states without one."""

from __future__ import annotations

import re

import pytest

from gpu_tui.core.readings import Process
from gpu_tui.core.script_change import changed_scripts
from gpu_tui.core.shells import Held, Shell, Stamp, script_of
from gpu_tui.core.speech import Catalogue, speak, told
from gpu_tui.language import speak_in

CHINESE = re.compile("[\u4e00-\u9fff]")
NOW = 10_000.0
BEGAN = NOW - 500.0
BEFORE, AFTER = BEGAN - 60.0, BEGAN + 60.0
OLD, NEW = (1, 10), (1, 11)


def said(shell: Shell, command: str = "bash night.sh", run: str = "python train.py a") -> list[str]:
    """The evidence of each finding about a shell that has run for 500 s, and whose child trains."""
    rows = (
        Process(5, 1, "bash", tuple(command.split()), "S", 500.0),
        Process(9, 5, "python", tuple(run.split()), "S", 400.0),
    )
    found = list(changed_scripts((shell,), rows, {9}, (), NOW))
    assert {(one.kind, one.severity) for one in found} <= {("script_changed", "warn")}
    speak_in("zh")
    try:
        assert all(
            CHINESE.search(told(text or "")) for one in found for text in (one.evidence, one.remedy)
        )
    finally:
        speak(Catalogue())
    return [one.evidence for one in found]


def script(mtime: float, size: int = 90, pos: int = 40, **more: object) -> Held:
    return Held(255, "/q/night.sh", pos, Stamp(OLD, size, mtime), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "pos", "words"),
    [
        (90, 40, "it reads on at byte 40 of the new 90"),
        (30, 40, "the new text ends at 30, so nothing more of it runs"),
        (40, 40, "it has read all 40 bytes already, so the change has no effect"),
    ],
)
def test_an_edit_in_place_is_a_finding(size: int, pos: int, words: str) -> None:
    shell = Shell(5, "/q", (script(AFTER, size, pos),), named={"night.sh": Stamp(OLD, size, AFTER)})
    (one,) = said(shell)
    assert one.startswith("night.sh was changed in place under its running shell (PID 5): ")
    assert words in one


@pytest.mark.parametrize(
    "command",
    ["bash night.sh", "/bin/sh /q/night.sh a", "bash -x -- night.sh", "busybox ash night.sh"],
)
def test_a_replaced_script_is_a_finding(command: str) -> None:
    word = script_of(command.split()) or "/q/night.sh"
    there = {word: Stamp(NEW, 90, AFTER), "/q/night.sh": Stamp(NEW, 90, AFTER)}
    (one,) = said(Shell(5, "/q", (script(BEFORE, deleted=True),), named=there), command)
    assert (
        one
        == "night.sh was replaced under its running shell (PID 5), which goes on with the old text"
    )
    # An editor that keeps the old text under another name.
    kept = Held(255, "/q/night.sh~", 40, Stamp(OLD, 90, BEFORE))
    assert len(said(Shell(5, "/q", (kept,), named={"night.sh": Stamp(NEW, 90, AFTER)}))) == 1


@pytest.mark.parametrize(
    "shell",
    [
        Shell(5, "/q", (script(BEFORE),), named={"night.sh": Stamp(OLD, 90, BEFORE)}),
        Shell(5, "/q", (script(BEGAN + 1),)),  # saved and started within one second
        Shell(5, "/q", (script(NOW + 9_000),)),  # the clock of a file server
        Shell(5, "/q", (script(BEFORE, deleted=True),)),  # removed, and nothing has its name
        # The script went into a directory that has a night.sh of its own.
        Shell(5, "/p", (script(BEFORE),), named={"night.sh": Stamp(NEW, 90, BEFORE)}),
        Shell(5, "/q", (Held(255, "/q/night.sh", 40, None),)),
        Shell(5, "/q"),
        Shell(6, "/q", (script(AFTER),)),  # no shell above what trains
        Shell(5, "/q", (script(BEFORE),), named={"conf/a.yaml": Stamp(NEW, 9, AFTER, AFTER)}),
    ],
)
def test_harmless_states_of_a_script_are_no_finding(shell: Shell) -> None:
    assert said(shell) == []


def queue(mtime: float, size: int, pos: int, before: str | None, **more: object) -> Shell:
    held = Held(0, "/q/queue.txt", pos, Stamp(OLD, size, mtime), before=before, **more)  # type: ignore[arg-type]
    return Shell(5, "/q", (held,))


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        (queue(AFTER, 90, 40, "x.yaml\nconf/a"), "it (PID 5): it reads on at byte 40, the middle of a line"),
        (queue(AFTER, 30, 40, ""), "the file ends at 30, so no line is run any more"),
        (queue(AFTER, 90, 40, "a t\nother t\n"), 'after "other t", which is not what runs now'),
    ],
)  # fmt: skip
def test_a_list_that_was_written_again(shell: Shell, words: str) -> None:
    (one,) = said(shell, "bash", "python train.py --config conf/a.yaml")
    assert words in one


def test_a_list_that_was_replaced() -> None:
    held = Held(0, "/q/queue.txt", 4, Stamp(OLD, 90, BEFORE), deleted=True, before="a t\n")
    (one,) = said(Shell(5, "/q", (held,), named={"/q/queue.txt": Stamp(NEW, 99, AFTER)}))
    assert one.endswith("goes on with the old lines, and new ones are not run")
    assert said(Shell(5, "/q", (held,))) == []  # a list that its script removed while it reads it


@pytest.mark.parametrize(
    "shell",
    [
        queue(AFTER, 90, 40, "x t\nconf/a.yaml t 3\n"),  # whole lines were appended
        queue(AFTER, 90, 40, "x t\na\n"),
        queue(AFTER, 90, 0, None),  # nothing was read of it yet
        queue(AFTER, 90, 40, None),
        queue(BEFORE, 90, 40, "x.yaml\nconf/a"),
    ],
)
def test_appended_lines_are_no_finding(shell: Shell) -> None:
    assert said(shell, "bash", "python train.py --config conf/a.yaml") == []


@pytest.mark.parametrize(
    ("born", "mtime", "found"),
    [
        (BEFORE, NOW - 100, True),
        (BEFORE, NOW - 390, False),  # the program wrote it again at its start
        (NOW - 100, NOW - 100, False),  # replaced by rename, or by git checkout
        (None, NOW - 100, False),  # nothing tells whether it was replaced
        (BEFORE, BEFORE, False),
    ],
)
def test_a_config_that_its_trainer_has_read(born: float | None, mtime: float, found: bool) -> None:
    rows = (Process(9, 1, "python", ("python", "train.py", "--config=conf/a.yaml"), "S", 400.0),)
    stamp = Stamp(OLD, 9, mtime, born)
    shells = (
        Shell(
            9, None, named={"conf/a.yaml": stamp, "conf/b.yaml": Stamp(NEW, 9, NOW - 100, BEFORE)}
        ),
    )
    said = [one.evidence for one in changed_scripts(shells, rows, {9}, (), NOW)]
    assert [text.partition(":")[0] for text in said] == [
        "a.yaml was changed in place after PID 9 had read it"
    ] * found


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("bash night.sh q", "night.sh"),
        ("/bin/sh ./night.sh", "./night.sh"),
        ("bash -eux -o pipefail night.sh", "night.sh"),
        ("bash --norc -- -odd.sh", "-odd.sh"),
        ("bash -c sleep", None),
        ("bash -lc sleep", None),
        ("bash -s arg", None),
        ("-bash", None),
    ],
)
def test_script_of_a_command_line(command: str, word: str | None) -> None:
    assert script_of(command.split()) == word
