"""What is installed works from anywhere: the wheel carries profiles, themes and triage rules, the checkout has its own."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import gpu_tui
from gpu_tui import resources
from gpu_tui.parse.triage.rule_set import bundled

ROOT = Path(gpu_tui.__file__).resolve().parents[1]


def run(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without a network."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*build, "--no-index", "--disable-pip-version-check", "--wheel-dir", out, ROOT, cwd=out)
    return next(out.glob("gpu_tui-*.whl"))


def test_the_wheel_holds_what_the_checkout_has(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("profiles", "themes"):
        for file in (ROOT / folder).iterdir():
            assert f"gpu_tui/_bundled/{folder}/{file.name}" in names
    kinds = ("*.py", "*.md", "*.yaml", "*.toml")
    code = {
        str(file.relative_to(ROOT)) for kind in kinds for file in (ROOT / "gpu_tui").rglob(kind)
    }
    assert code <= names
    assert any(name.startswith("gpu_tui/parse/triage/rules/") for name in code)
    assert "gpu_tui/py.typed" in names
    assert not [name for name in names if "tests" in name or "__pycache__" in name]


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with gpu_tui from the wheel and the dependencies of this environment."""
    home = tmp_path_factory.mktemp("python") / "fresh"
    venv.create(home, with_pip=False)
    site = next(home.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (site / "lent.pth").write_text("\n".join(lent) + "\n")
    return home


def test_a_fresh_environment_finds_its_profiles(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config/gpu-tui/profiles"
    own.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    site = next(fresh.glob("lib/python*/site-packages"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    python = fresh / "bin/python"
    code = "import gpu_tui.resources as r; print(r.profiles_dir()); print(*r.load_profiles())"
    folder, names = run(python, "-c", code, cwd=elsewhere).splitlines()
    assert Path(folder) == site / "gpu_tui/_bundled/profiles"
    assert set(names.split()) == set(resources.profile_files())
    bare = (ROOT / "profiles/generic-ssh.md").read_text(encoding="utf-8")
    mine = bare.replace("platform: generic-ssh", "platform: mine").replace("id: gen-", "id: mine-")
    (own / "mine.md").write_text(mine, encoding="utf-8")
    listed = run(python, "-m", "gpu_tui", "profiles", "--today", "2026-11-21", cwd=elsewhere)
    assert str(site / "gpu_tui/_bundled/profiles/autodl.md") in listed
    assert str(own / "mine.md") in listed


def test_wheel_installs_the_triage_rules(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    command = [fresh / "bin/python", "-m", "gpu_tui", "triage"]
    listed = json.loads(run(*command, "--rules", "--json", cwd=tmp_path))
    assert [row["id"] for row in listed] == [rule.id for rule in bundled().rules]
    (tmp_path / "a.log").write_text("step 1\ntorch.OutOfMemoryError: CUDA out of memory.\n")
    judged = [*command, "--json", "a.log"]
    done = subprocess.run(judged, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1, done.stderr
    kinds = [json.loads(row)["kind"] for row in done.stdout.splitlines()]
    assert kinds == [None, "gpu_oom"]


def test_the_checkout_finds_its_profiles_from_anywhere(tmp_path: Path) -> None:
    code = "import gpu_tui.resources as r; print(r.profiles_dir()); print(r.themes_dir())"
    profiles, themes = run(sys.executable, "-c", code, cwd=tmp_path).splitlines()
    assert (Path(profiles), Path(themes)) == (ROOT / "profiles", ROOT / "themes")


def test_missing_resources_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "gpu_tui")
    with pytest.raises(resources.ResourceError) as caught:
        resources.profiles_dir()
    assert "Install gpu-tui again" in caught.value.next
    (tmp_path / "profiles").mkdir()
    assert resources.profiles_dir() == tmp_path / "profiles"
    (tmp_path / "gpu_tui/_bundled/profiles").mkdir(parents=True)
    assert resources.profiles_dir() == tmp_path / "gpu_tui/_bundled/profiles"
