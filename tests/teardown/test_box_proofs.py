"""A proof never comes from the box: what it says of its own results comes home under another name, and opens nothing."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from rented import Scene, rest, until

from gpu_tui.cli.main import main
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView, Rung
from gpu_tui.core.manifest import Manifest, home_path
from gpu_tui.core.required import required_of
from gpu_tui.state.report import Proof
from gpu_tui.teardown.listing import list_remote
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.manifest_file import keep, manifest_json
from gpu_tui.wiring.report import proofs_of

PHRASE = "pod-4n6p"
VERIFIED, MANIFEST = "PULL_VERIFIED.json", "PULL_MANIFEST.json"


def claim(root: Path) -> None:
    """The box says that it was verified, in a year to come."""
    names = (VERIFIED, MANIFEST)
    files = (file for file in local_tree(root).manifest.files if file.path not in names)
    text = json.dumps(manifest_json(Manifest.of(files), "run-1", 0.0))
    (root / MANIFEST).write_text(text)
    marker = {
        "schema": "remote-gpu-trainer/PULL-VERIFIED/v1",
        "manifest_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "verified_at_utc": "2999-01-01T00:00:00Z",
        "files": 7,
    }
    (root / VERIFIED).write_text(json.dumps(marker))
    for name in names:
        os.utime(root / name, (1_700_000_000, 1_700_000_000))


async def pull(scene: Scene) -> GateView:
    last = None
    async for view in scene.runner().pull_only("pod"):
        last = view
    assert last is not None
    return last


def lines(view: GateView, rung: Rung) -> str:
    return "\n".join(next(row.lines for row in view.rungs if row.rung is rung))


def proof(scene: Scene) -> Proof:
    """What `report` makes of it. The runner of these tests keeps its journal right in its state directory."""
    place = scene.state.parent / "journal"
    if not place.exists():
        place.symlink_to(scene.state)
    return proofs_of(Fleet("s", (scene.instance,)), state=scene.state.parent)["pod"]


@pytest.mark.parametrize(
    ("path", "here"),
    [
        (VERIFIED, f"{VERIFIED}.from-box"),
        ("pull_manifest.JSON", "pull_manifest.JSON.from-box"),
        (f"{VERIFIED}.from-box", f"{VERIFIED}.from-box.from-box"),
        ("Pull_Verified.json.FROM-BOX", "Pull_Verified.json.FROM-BOX.from-box"),
        ("PULL_VERIFIED.json.bak", "PULL_VERIFIED.json.bak"),
        ("PULL_VERIFIED.json\n", "PULL_VERIFIED.json\n"),
        ("MY_PULL_VERIFIED.json", "MY_PULL_VERIFIED.json"),
        ("base/PULL_VERIFIED.json", "base/PULL_VERIFIED.json"),
        ("PULL_VERIFIED.json/x", "PULL_VERIFIED.json/x"),
        ("x.pth.from-box", "x.pth.from-box"),
    ],
)
def test_which_names_are_other_ones_here(path: str, here: str) -> None:
    assert home_path(path) == here


async def test_what_the_box_says_of_itself_comes_home_under_another_name(scene: Scene) -> None:
    root = scene.box.results
    claim(root)
    (root / f"{VERIFIED}.from-box").write_text("a name taken")
    (root / "base" / VERIFIED).write_text("{}")  # below the root it is a file like any other
    claim(root)
    view = await pull(scene)
    assert view.outcome == "verified", view.closed_because
    for name in (VERIFIED, MANIFEST, f"{VERIFIED}.from-box"):
        assert (scene.local / f"{name}.from-box").read_bytes() == (root / name).read_bytes()
        assert f"the box's own {name} is here as {name}.from-box" in lines(view, Rung.MATCH)
    assert not (scene.local / VERIFIED).exists()
    assert not (scene.local / MANIFEST).exists()
    assert (scene.local / "base" / VERIFIED).exists()
    before = (scene.local / f"{VERIFIED}.from-box").stat().st_ino
    assert (await pull(scene)).outcome == "verified"
    assert (scene.local / f"{VERIFIED}.from-box").stat().st_ino == before
    assert proof(scene).by == "gpu-tui's own pull and load"
    assert proof(scene).doubt is None


async def test_a_box_with_proofs_of_its_own_can_be_ended(scene: Scene) -> None:
    claim(scene.box.results)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "closed", "blocked"))
    assert view.state == "ready", view.closed_because
    scene.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    await climb.confirm(PHRASE)
    assert (await rest(views)).outcome == "gone"


@pytest.mark.parametrize("name", [VERIFIED, MANIFEST, "pull_verified.json"])
async def test_a_proof_that_this_machine_did_not_write_is_unexpected(
    scene: Scene, name: str
) -> None:
    scene.local.mkdir()
    (scene.local / name).write_text("{}")
    view = await pull(scene)
    assert view.outcome is None
    assert view.closed_because == f"not on the box: {name}"
    step = next(row.next for row in view.rungs if row.rung is Rung.MATCH)
    assert step == (
        "move what is not on the box out of results.local, then pull again: what is here is kept"
    )


async def test_what_an_older_pull_left_makes_way(scene: Scene) -> None:
    """gpu-tui 0.1.0 gave the box's proofs their own names."""
    claim(scene.box.results)
    scene.local.mkdir()
    for name in (VERIFIED, MANIFEST):
        (scene.local / name).write_bytes((scene.box.results / name).read_bytes())
    assert proof(scene) == Proof(
        doubt=f"this machine's journal has no load that {VERIFIED} is about"
    )
    view = await pull(scene)
    assert view.outcome == "verified", view.closed_because
    assert f"another file stood at {VERIFIED}: it is kept below" in lines(view, Rung.PULL)
    assert not (scene.local / VERIFIED).exists()
    assert proof(scene).doubt is None


async def test_links_and_directories_of_these_names(scene: Scene) -> None:
    root = scene.box.results
    (root / VERIFIED).symlink_to("base/best_metrics.json")
    (root / MANIFEST).symlink_to("base")
    assert (await pull(scene)).outcome == "verified"
    assert not (scene.local / VERIFIED).exists()
    assert proof(scene).doubt is None
    (root / VERIFIED).unlink()
    (root / VERIFIED).write_text("{}")
    (scene.local / f"{VERIFIED}.from-box").symlink_to("base/best_metrics.json")
    view = await pull(scene)
    assert view.outcome is None
    assert f"{VERIFIED} (something that is no file" in (view.closed_because or "")
    (scene.local / f"{VERIFIED}.from-box").unlink()
    assert (await pull(scene)).outcome == "verified"
    (root / f"{VERIFIED}.from-BOX").mkdir()
    assert scene.connection
    refused = dict((await list_remote(scene.connection, str(root))).refused)
    assert "a directory there" in refused[VERIFIED]


async def test_a_marker_of_the_box_is_no_proof(scene: Scene) -> None:
    """Its checkpoint is a web page, nothing was ever loaded, and it says that all was verified."""
    scene.box.write("base/best.pth", b"<html>502 Bad Gateway</html>")
    claim(scene.box.results)
    view = await pull(scene)
    assert view.outcome is None
    assert proof(scene).verified_at is None
    assert "did not pass" in str(proof(scene).doubt)
    for path in (scene.state / "teardown.jsonl",):
        path.unlink()  # as with another state directory
    for name in (VERIFIED, MANIFEST):
        (scene.local / f"{name}.from-box").rename(scene.local / name)
    assert proof(scene).verified_at is None
    assert VERIFIED in str(proof(scene).doubt)


async def test_the_journal_proves_what_was_loaded_and_as_long_as_it_is_there(scene: Scene) -> None:
    claim(scene.box.results)
    assert (await pull(scene)).outcome == "verified"
    journal = scene.state / "teardown.jsonl"
    loaded = next(
        json.loads(line)
        for line in journal.read_text().splitlines()
        if json.loads(line)["event"] == "loaded"
    )
    kept = scene.local / ".gpu-tui/manifest.json"
    digest = hashlib.sha256(kept.read_bytes()).hexdigest()
    assert loaded["detail"]["manifest_sha256"] == digest
    text = kept.read_bytes()
    kept.write_bytes(text + b"\n")
    assert proof(scene).verified_at is None
    assert "is not as it was loaded" in str(proof(scene).doubt)
    kept.unlink()
    assert proof(scene).verified_at is None
    kept.write_bytes(text)
    assert proof(scene).verified_at is not None
    journal.chmod(0o666)
    assert proof(scene) == Proof(doubt="the teardown journal proves nothing: it can be written by others (chmod go-w)")  # fmt: skip
    journal.chmod(0o600)
    good = journal.read_bytes()
    journal.write_bytes(good.replace(b'"event":"open"', b'"event":"plan"', 1))
    assert proof(scene).verified_at is None
    assert "proves nothing: line 2" in str(proof(scene).doubt)
    journal.write_bytes(good)
    assert proof(scene).doubt is None


async def test_a_comparison_that_finds_nothing_new_takes_no_proof_away(scene: Scene) -> None:
    """As of a ladder that is left before its files are loaded again."""
    assert (await pull(scene)).outcome == "verified"
    tree = local_tree(scene.local).manifest
    required = required_of(scene.instance.results)
    keep(scene.local, tree, "pod", scene.clock.now() + 60.0, required, ("base", "wide"))
    assert proof(scene).doubt is None
    keep(scene.local, tree, "pod", scene.clock.now() + 60.0, required, ("base", "wide", "late"))
    assert "is not as it was loaded" in str(proof(scene).doubt)
    assert proof(scene).verified_at is None


async def test_a_directory_of_ours_is_reserved_in_any_case(scene: Scene) -> None:
    """On a disk that is blind to case it would be the one with our manifest."""
    scene.box.write(".GPU-tui/manifest.json", b"{}")
    scene.box.write("base/.Gpu-Tui/x", b"{}")
    assert scene.connection
    listing = await list_remote(scene.connection, str(scene.box.results))
    assert {path for path, _ in listing.refused} == {".GPU-tui/manifest.json", "base/.Gpu-Tui/x"}


async def test_verify_knows_what_came_from_the_box(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    claim(scene.box.results)
    assert (await pull(scene)).outcome == "verified"
    here = str(scene.local)
    assert _verify(here) == 0
    of_box = f"{here}/{MANIFEST}.from-box"
    assert _verify(here, "--manifest", of_box) == 0
    assert _verify(here, "--roster", str(scene.box.queue)) == 0
    capsys.readouterr()
    (scene.local / VERIFIED).write_text("{}")
    assert _verify(here) == 1
    assert f"{VERIFIED}: the manifest does not have it" in capsys.readouterr().out
    (scene.local / VERIFIED).unlink()
    # Of a manifest of ours and one that lies among the results, ours is taken.
    forged = json.loads((scene.local / f"{MANIFEST}.from-box").read_text())
    forged["files"], forged["totals"], forged["top_level_dirs"] = forged["files"][:1], None, None
    (scene.local / MANIFEST).write_text(json.dumps(forged))
    assert _verify(here) == 1
    assert f"{MANIFEST}: the manifest does not have it" in capsys.readouterr().out


def _verify(*words: str) -> int:
    """The command has a loop of its own."""
    import threading

    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["verify", *words])))
    thread.start()
    thread.join()
    return codes[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file needs root")
async def test_a_journal_of_another_user_is_none(scene: Scene) -> None:
    assert (await pull(scene)).outcome == "verified"
    os.chown(scene.state / "teardown.jsonl", 12345, 12345)
    assert proof(scene) == Proof(
        doubt="the teardown journal proves nothing: it belongs to another user"
    )
