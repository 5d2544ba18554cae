"""The project's own texts keep in step with the code, and speak of nothing but the project."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import gpu_tui
from gpu_tui.cli.main import COMMANDS
from gpu_tui.ui.keys import keys_markdown

ROOT = Path(gpu_tui.__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def files() -> list[Path]:
    """Every text file that git keeps."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_the_readmes_keys_are_the_cockpits() -> None:
    between = re.search(r"<!-- keys -->\n(.*?)<!-- /keys -->", README, re.DOTALL)
    assert between is not None
    assert between.group(1).strip() == keys_markdown().strip()


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 100
    for target in re.findall(r"\]\(([^)#]+)\)|<img[^>]* src=\"([^\"]+)\"", README):
        path = target[0] or target[1]
        assert path.startswith("https://") or (ROOT / path).exists(), path


def test_every_command_that_the_readme_names_is_one() -> None:
    for name in re.findall(r"gpu-tui ([a-z]+)", README):
        assert name in COMMANDS, name


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"]
)
def test_every_path_in_backticks_is_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:gpu_tui|profiles|themes|tests)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path


def test_no_file_is_left_half_done_or_speaks_of_one_machine() -> None:
    words = [str(Path.home()) + "/", "TO" + "DO", "FIX" + "ME"]
    if Path.home() == Path("/root"):
        words.pop(0)  # that is the home of every rented box, and so of our examples
    listed = files()
    assert len(listed) > 50 or not (ROOT / ".git").exists()
    for file in listed:
        text = file.read_bytes().decode("utf-8", "replace")
        found = [word for word in words if word in text]
        assert not found, f"{file.relative_to(ROOT)}: {found}"


def test_every_make_target_is_explained() -> None:
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.findall(r"^\.PHONY: (.*)$", make, re.MULTILINE)[0].split())
    explained = set(re.findall(r"^([a-z-]+):.*## ", make, re.MULTILINE))
    assert phony == explained


def test_whoever_is_longer_at_night_is_called_at_night() -> None:
    """`make nightly` runs marked tests alone: a soak without the mark never has its full length."""
    longer = {f for f in files() if f.suffix == ".py" and "GPU_TUI_NIGHTLY" in f.read_text("utf-8")}
    longer.discard(Path(__file__))
    assert len(longer) > 10
    assert not [f.name for f in longer if "mark.nightly" not in f.read_text("utf-8")]
