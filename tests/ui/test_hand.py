"""Keys of one's own, earlier filters, the clipboard, the help that answers, the way to a log line."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.settings import ConfigError, load_config
from gpu_tui.ui import toasts
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.clipboard import CAP, harmless, sequence, to_file
from gpu_tui.ui.keymap import KeymapError, keymap_of
from gpu_tui.ui.keys import KEYS
from gpu_tui.ui.panes.log import LogPane
from gpu_tui.ui.panes.pane import FilterBar
from gpu_tui.ui.recall import LONGEST, MOST, Recall, Walk
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.wiring.hand import hand_of

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


# --- keys of one's own ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ({"cockpit.findings": "X"}, {"cockpit.findings": "X"}),
        ({"cockpit.findings": "?", "cockpit.help": "H"}, {"cockpit.findings": "question_mark", "cockpit.help": "H"}),
        ({"cockpit.zoom": "ctrl+z, Z"}, {"cockpit.zoom": "ctrl+z,Z"}),
        ({"replay.skip.-30": ","}, {"replay.skip.-30": "comma"}),
        ({"chart.series.1": "u", "chart.series.-1": "i"}, {"chart.series.1": "u", "chart.series.-1": "i"}),
    ],
)  # fmt: skip
def test_keys_are_taken_as_a_person_writes_them(
    wanted: dict[str, str], taken: dict[str, str]
) -> None:
    assert keymap_of(wanted) == taken


@pytest.mark.parametrize(
    ("wanted", "text", "next"),
    [
        ({"cockpit.finding": "F"}, 'no action is called "cockpit.finding"', "cockpit.findings"),
        ({"cockpit.zoom": "ctrl+b"}, "tmux", "capital"),
        ({"cockpit.zoom": "ctrl+a"}, "screen", "capital"),
        ({"cockpit.zoom": "f5"}, "function key", "letter"),
        ({"cockpit.zoom": "ctrl-x"}, "is not a key", "ctrl+x"),
        ({"cockpit.zoom": ""}, "is not a key", "ctrl+x"),
        ({"cockpit.findings": "F"}, "is already replay.next_finding", "another key"),
        ({"cockpit.zoom": "f"}, "is already cockpit.findings", "another key"),
        ({"log.pause": "t"}, "is already cockpit.teardown", "another key"),
        ({"cockpit.zoom": "j"}, "is already list.cursor_down", "another key"),
        ({"findings.acknowledge": "q"}, "is already overlay.close", "another key"),
    ],
)
def test_a_key_that_cannot_be_is_refused_with_a_way_out(
    wanted: dict[str, str], text: str, next: str
) -> None:
    with pytest.raises(KeymapError) as caught:
        keymap_of(wanted)
    assert text in caught.value.text
    assert next in caught.value.next


def test_two_keys_may_change_places() -> None:
    assert keymap_of({"cockpit.zoom": "f", "cockpit.findings": "z"})


def test_the_keys_as_they_are_can_all_be_written_down() -> None:
    assert len(keymap_of({key.id: key.key for key in KEYS})) == len({key.id for key in KEYS})


def test_a_wrong_key_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("theme: night\nkeys:\n  cockpit.zoom: ctrl+b\n")
    env = {"GPU_TUI_CONFIG": str(path), "XDG_STATE_HOME": str(tmp_path)}
    with pytest.raises(ConfigError) as caught:
        hand_of(load_config(env), env)
    assert str(caught.value).startswith(f"{path}:3:3: ")


async def test_footers_and_help_write_the_keys_that_are_pressed(
    cockpit: Make, text_of: Read
) -> None:
    app = cockpit(
        keymap=keymap_of(
            {"cockpit.help": "!", "cockpit.shell": "ctrl+o", "overlay.close": "X,escape"}
        )
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "! help" in text_of(app)
        await pilot.press("exclamation_mark")
        await pilot.pause()
        assert "X esc close" in text_of(app)
        await pilot.press("X")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)


# --- the help that answers ------------------------------------------------------------------------


async def test_the_help_is_searched_by_what_a_key_does(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("question_mark", "slash", *"meter")
        await pilot.pause()
        text = text_of(app)
        assert "Verify, then stop the meter" in text
        assert "Go to the next pane" not in text
        await pilot.press(*"zzz")
        await pilot.pause()
        assert "no key does 'meterzzz'" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "Go to the next pane" in text_of(app)
        await pilot.press("G")
        await pilot.pause()
        assert "acts outside gpu-tui" in text_of(app)
        await pilot.press("escape")
        assert isinstance(app.screen, Cockpit)


# --- earlier filters ------------------------------------------------------------------------------


def test_filters_are_kept_once_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "filters.json"
    recall = Recall(path)
    assert not recall.add("  ")
    assert not recall.add("x" * (LONGEST + 1))
    for number in range(MOST + 5):
        assert recall.add(f"cell-{number}")
    assert recall.add("cell-50")
    assert not recall.add("cell-50")
    recall.save()
    again = Recall(path).kept
    assert len(again) == MOST
    assert again[-2:] == (f"cell-{MOST + 4}", "cell-50")
    assert again.count("cell-50") == 1


@pytest.mark.parametrize("broken", [b"", b"{", b"[1, null]", b"\xff\xfe", b'{"a": 1}'])
def test_a_broken_file_of_filters_is_an_empty_one(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "filters.json"
    path.write_bytes(broken)
    assert Recall(path).kept == ()


def test_a_walk_goes_back_and_forth_to_what_was_being_typed() -> None:
    recall = Recall()
    for text in ("nan", "!benign"):
        recall.add(text)
    walk = Walk(recall, "dra")
    assert [walk.step(by) for by in (-1, -1, -1, 1, 1, 1)] == [
        "!benign", "nan", "nan", "!benign", "dra", "dra",
    ]  # fmt: skip


async def test_up_brings_back_an_earlier_filter_of_another_pane(
    cockpit: Make, tmp_path: Path
) -> None:
    path = tmp_path / "filters.json"
    app = cockpit(recall=Recall(path))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"autodl", "enter", "escape")
        await app.workers.wait_for_complete()
        await pilot.press("5", "slash", "up")
        await pilot.pause()
        assert isinstance(app.focused, FilterBar)
        assert app.focused.value == "autodl"
        await pilot.press("down")
        assert app.focused.value == ""
    assert Recall(path).kept == ("autodl",)


# --- the clipboard --------------------------------------------------------------------------------

EVIL = "ls\x1b]52;c;ZXZpbA==\x07\x9b5n\x00\r\u202e; rm -rf x\n\tnext"


def test_what_is_copied_is_text_and_nothing_else() -> None:
    clean = harmless(EVIL)
    assert clean.startswith("ls\ufffd]52;c;ZXZpbA==\ufffd\ufffd5n\ufffd\ufffd\ufffd; rm")
    assert clean.endswith("\n\tnext")


@pytest.mark.parametrize("env", [{"TERM": "xterm"}, {"TMUX": "x"}, {"STY": "x"}])
def test_the_text_reaches_the_terminal_that_a_person_sits_at(env: dict[str, str]) -> None:
    text = "path/to/日本語 " * 40
    code = sequence(text, env)
    assert code is not None
    if "STY" in env:
        pieces = code.split("\x1b\\")
        assert all(piece.startswith("\x1bP") and len(piece) <= 80 for piece in pieces[:-1])
        code = "".join(piece.removeprefix("\x1bP") for piece in pieces)
    if "TMUX" in env:
        code, wrapped = code.split("\x1bPtmux;")
        assert wrapped == "\x1b" + code + "\x1b\\"
    body = code.removeprefix("\x1b]52;c;").removesuffix("\x07")
    assert base64.b64decode(body, validate=True).decode() == text


def test_what_is_too_long_or_reaches_no_clipboard_goes_to_a_file(tmp_path: Path) -> None:
    assert sequence("x" * CAP, {"TERM": "xterm"}) is not None
    assert sequence("x" * (CAP + 1), {"TERM": "xterm"}) is None
    assert sequence("x", {"TERM": "linux"}) is None
    path = to_file("first, and longer", tmp_path / "state")
    assert to_file("second", tmp_path / "state") == path
    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "copied.txt").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic"):
        to_file("x", tmp_path)
    assert not (tmp_path / "target").exists()


async def test_a_long_copy_says_where_it_is(cockpit: Make, tmp_path: Path) -> None:
    app = cockpit(scratch=tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.copy_to_clipboard("y" * (CAP + 1))
        await pilot.pause()
        said = [note.message for note in app._notifications]
        assert said == [f"too long for the clipboard: it is in {tmp_path / 'copied.txt'}"]


async def test_where_a_copy_went_is_the_last_word(
    cockpit: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "linux")
    app = cockpit(scratch=tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("5", "y")
        await pilot.pause()
        said = [note.message for note in app._notifications]
        assert said == [
            f"this terminal takes nothing for the clipboard: it is in {tmp_path / 'copied.txt'}"
        ]
        (tmp_path / "copied.txt").unlink()
        (tmp_path / "copied.txt").mkdir()
        await pilot.press("y")
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["not copied: Is a directory"]


# --- the way to a log line ------------------------------------------------------------------------


async def test_e_opens_the_log_of_the_selected_instances_worst_finding(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("1", "e")
        await pilot.pause()
        assert app.screen.query_one("#log").has_focus_within
        worst = app.screen.moment.selected.findings[0]
        assert worst.source.startswith("log:")


async def test_e_on_a_finding_of_the_card_goes_there_too(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("f", "e")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen.query_one("#log").has_focus_within


async def test_what_a_queues_log_tells_of_a_cell_opens_its_last_word_of_it(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        board, fleet = app.screen, app.screen.moment.fleet
        view = fleet["autodl-1"]
        source = view.logs[0].source
        buffer = app._store.log("autodl-1", source)
        texts = " ".join(buffer.text(number) for number in range(buffer.first, buffer.end))
        cell = re.findall(r"(?<= )[a-z]{4,}(?= )", texts)[0]
        named = [
            number for number in range(buffer.first, buffer.end)
            if re.search(rf"\b{cell}\b", buffer.text(number))
        ]  # fmt: skip
        told = replace(view.findings[0], cell=cell, source=f"log:{source.path}")
        app._store.become(replace(fleet, findings=(told,)))
        app._tick()
        board._go_to(told.id)
        await pilot.pause()
        logs = board.query_one(LogPane)
        assert logs.source() == source
        assert logs.view.current == named[-1]


async def test_a_finding_of_a_log_that_is_followed_no_more_says_so(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(160, 46), notifications=True) as pilot:
        await pilot.pause()
        board, fleet = app.screen, app.screen.moment.fleet
        told = replace(
            fleet["autodl-1"].findings[0], cell=None, source="log:/gone/\x1b[2Jrun.log:7"
        )
        app._store.become(replace(fleet, findings=(told,)))
        app._tick()
        board._go_to(told.id)
        await pilot.pause()
        said = [note.message for note in app._notifications]
        assert "/gone/\ufffd[2Jrun.log is not followed any more" in said


# --- toasts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (100, 30)])
async def test_no_toast_stands_over_the_cause_and_the_remedy(
    cockpit: Make, size: tuple[int, int]
) -> None:
    app = cockpit()
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("f")
        await pilot.pause()
        app.notify("a cell finished: its log says so, after 41 s, with a loss of 0.06 at the end")
        await pilot.pause(0.5)
        toast = app.screen.query_one("Toast").region
        assert toast.area
        assert not toast.overlaps(app.screen.query_one("#finding-detail").region)


async def test_a_finding_is_copied_whole(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("f", "y")
        await pilot.pause()
        found = app._store.view(0).findings[0]
        lines = app.clipboard.splitlines()
        assert lines[0].startswith(f"{found.kind.replace('_', ' ')} on {found.instance}")
        assert f"evidence: {found.evidence}" in lines
        assert any(line.startswith("do: ") for line in lines)
        assert [note.message for note in app._notifications] == ["the finding is copied"]


async def test_a_toast_has_the_room_that_there_is_now(
    cockpit: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, now = cockpit(), 0
    monkeypatch.setattr(toasts, "monotonic", lambda: now)
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen ten"
    async with app.run_test(size=(24, 20), notifications=True) as pilot:
        app.notify(words, timeout=60)
        await pilot.pause()
        for width, whole, left in ((24, False, 60), (120, True, 40), (24, False, 30)):
            now += 10
            await pilot.resize_terminal(width, 20)
            while not any(
                (words if whole else "twelv…") in str(toast.render())
                for toast in app.screen.query("Toast")
            ):
                await pilot.pause()
            (note,) = app._notifications
            assert (note.message == words) is whole
            assert note.timeout == left  # what stands does not begin again
