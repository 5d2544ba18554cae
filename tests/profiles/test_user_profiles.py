"""A file in the user's own directory adds a platform or stands before a bundled one; a broken one breaks nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tui.cli.main import main
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.resources import library, load_profiles, profiles_dir, read_profile
from gpu_tui.settings import load_fleet
from gpu_tui.wiring.fleet import open_fleet

ROOT = Path(__file__).parents[2]
AUTODL = (profiles_dir() / "autodl.md").read_text(encoding="utf-8")
FRESH = ["--today", "2026-11-21"]
BROKEN = AUTODL.replace("meter: partly", "meter: half", 1)
BROKEN_LINE = BROKEN[: BROKEN.index("meter: half")].count("\n") + 1


def renamed(id: str, title: str) -> str:
    """AutoDL's profile as that of another platform, with clocks of its own."""
    text = AUTODL.replace("platform: autodl", f"platform: {id}", 1)
    text = text.replace("  en: AutoDL", f"  en: {title}", 1)
    return text.replace("- id: autodl-", f"- id: {id}-")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for profiles of a user who has nothing else configured."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "config/gpu-tui/profiles"
    folder.mkdir(parents=True)
    return folder


def test_one_file_is_a_platform(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "nimbus.md").write_text(renamed("nimbus", "Nimbus"), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["profiles", "show", "nimbus", *FRESH]) == 0
    assert "Nimbus" in capsys.readouterr().out
    assert main(["profiles", "list", *FRESH]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("nimbus"))
    assert str(own / "nimbus.md") in row
    (elsewhere / "fleet.yaml").write_text(
        "instances:\n  - {name: box, host: box.example, platform: nimbus, provider: {variant: pro}}\n"
    )
    profiles = load_profiles()
    fleet = load_fleet(elsewhere / "fleet.yaml", profiles)
    assert fleet["box"].platform == "nimbus"
    assert "/root/autodl-fs" in fleet["box"].mounts
    assert profiles["nimbus"].path == str(own / "nimbus.md")


def test_the_ten_lines_of_the_contributors_page_work(own: Path, tmp_path: Path) -> None:
    """The recipe as it is printed, but for the editor, the cockpit and the move into the checkout."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = page[page.index("## Recipe: add a platform") :]
    block = recipe[recipe.index("```sh\n") + 6 :]
    lines = block[: block.index("```")].splitlines()
    assert len(lines) <= 10
    by_hand = re.compile(r"\$EDITOR|gpu-tui +#|mv ")
    script = "\n".join(line for line in lines if not by_hand.match(line))
    tools, home = tmp_path / "bin", tmp_path / "home"
    tools.mkdir()
    (home / "work").mkdir(parents=True)
    (home / "work/profiles").symlink_to(profiles_dir())
    (tools / "gpu-tui").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpu_tui "$@"\n')
    (tools / "gpu-tui").chmod(0o755)
    env = {"HOME": str(home), "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "80"}
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=home / "work", env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "nimbus  ok" in done.stdout
    assert "after manual" in done.stdout
    profile = read_profile(home / ".config/gpu-tui/profiles/nimbus.md")
    fleet = load_fleet(home / "work/fleet.yaml", {"nimbus": profile})
    assert fleet["box"].platform == "nimbus"


def test_a_file_of_the_same_name_stands_before_the_bundled_one(own: Path) -> None:
    (own / "runpod.md").write_text(renamed("runpod", "My RunPod"), encoding="utf-8")
    shelf = library()
    assert shelf.profiles["runpod"].title == "My RunPod"
    assert shelf.profiles["autodl"].path == str(profiles_dir() / "autodl.md")
    assert shelf.refused == ()


def test_a_broken_file_keeps_the_bundled_profile_and_says_so(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "autodl.md").write_text(BROKEN, encoding="utf-8")
    shelf = library()
    assert shelf.profiles["autodl"].path == str(profiles_dir() / "autodl.md")
    (complaint,) = shelf.complaints
    assert complaint.startswith(f"{own / 'autodl.md'}:{BROKEN_LINE}:")
    assert "the bundled profile is used" in complaint
    assert main(["profiles", "list", *FRESH]) == 1
    rows = [row for row in capsys.readouterr().out.splitlines() if row.startswith("autodl")]
    assert len(rows) == 2
    assert str(profiles_dir() / "autodl.md") in rows[0]
    assert f"{own / 'autodl.md'}:{BROKEN_LINE}:" in rows[1]
    # The card is the one that is in use; that another file is wrong is told beside it.
    assert main(["profiles", "show", "autodl", *FRESH]) == 1
    shown = capsys.readouterr()
    assert "What survives" in shown.out
    assert f"autodl.md:{BROKEN_LINE}:" in shown.err


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"---\n", b"x" * 200_000], ids=len)
def test_nothing_that_stands_there_stops_the_program(own: Path, raw: bytes) -> None:
    (own / "new.md").write_bytes(raw)
    (own / "folder.md").mkdir()
    (own / "gone.md").symlink_to(own / "nowhere")
    shelf = library()
    assert "new" not in shelf.profiles
    assert sorted(Path(error.file or "").stem for error in shelf.refused) == [
        "folder", "gone", "new",
    ]  # fmt: skip
    assert all("not used" in complaint for complaint in shelf.complaints)


def test_a_broken_platform_is_not_shown_but_explained(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "nimbus.md").write_text(BROKEN.replace("platform: autodl", "platform: nimbus", 1))
    assert main(["profiles", "show", "nimbus", *FRESH]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"nimbus.md:{BROKEN_LINE}:" in shown.err
    assert "One of: stops, partly, continues." in shown.err


async def test_the_cockpit_is_told(own: Path, tmp_path: Path) -> None:
    (own / "autodl.md").write_text(BROKEN, encoding="utf-8")
    path = tmp_path / "fleet.yaml"
    path.write_text('instances:\n  - {name: box, host: "ssh://127.0.0.1:1", platform: autodl}\n')
    fleet = load_fleet(path, load_profiles())
    async with open_fleet(fleet, read_only=True, state=tmp_path / "state") as (room, _):
        notes = room.store.view(room.clock.now()).notes
        assert any(f"autodl.md:{BROKEN_LINE}:" in note for note in notes)
        assert isinstance(room.profiles["autodl"], Profile)


def test_a_clock_of_another_platform_is_refused(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = AUTODL.replace("platform: autodl", "platform: copied", 1)
    (own / "copied.md").write_text(copied, encoding="utf-8")
    assert main(["profiles", "check", *FRESH]) == 1
    out = capsys.readouterr().out
    line = copied[: copied.index('verified: "2026-06"', copied.index("id: autodl-release-15d"))]
    assert f"{own / 'copied.md'}:{line.count(chr(10)) + 1}: " in out
    assert "already one of autodl" in out


STAYS = r"(survives_stop: )(false|unknown)"
KEEPS = "effect: stop\n    deletes: []\n    meter: partly\n    reversible: true"


@pytest.mark.parametrize(
    ("platform", "edits", "park"),
    [
        ("autodl", (), True),  # what the bundled profile calls a park as well
        ("autodl", (("via: ssh\n    applies_to: [container, tidal]", "via: ssh"),), False),
        ("gpushare", ((STAYS, r"\1true"), (r"effect: stop\n.*\n.*\n.*", KEEPS)), False),
        ("runpod", ((STAYS, r"\1true"), (r"effect: stop\n.*\n.*\n.*", KEEPS)), False),
        ("vastai", ((r"effect: stop\n.*\n.*\n.*", KEEPS),), False),
    ],
)
def test_a_profile_of_ones_own_makes_no_park_of_what_is_none(
    own: Path, platform: str, edits: tuple[tuple[str, str], ...], park: bool
) -> None:
    """A park is carried out without pulling anything: the stricter of the two files counts."""
    text = (profiles_dir() / f"{platform}.md").read_text(encoding="utf-8")
    for pattern, new in edits:
        pattern = pattern if pattern is STAYS or ".*" in pattern else re.escape(pattern)
        text, count = re.subn(pattern, new, text)
        assert count
    (own / f"{platform}.md").write_text(text, encoding="utf-8")
    alone = _stop(read_profile(own / f"{platform}.md"))
    assert alone.park
    row = _stop(load_profiles()[platform])
    assert (row.park, row.label) == (park, alone.label)


def _stop(profile: Profile) -> Verb:
    return next(verb for verb in profile.teardown if verb.effect == "stop")
