"""What a results directory on a real box may hold: each name comes home, or is refused by its name."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from rented import Scene

from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.teardown import hashing
from gpu_tui.teardown import listing as listing_module
from gpu_tui.teardown.inventory import Hashed, own_claim, remote_manifest
from gpu_tui.teardown.listing import Listing, list_remote
from gpu_tui.teardown.local import hash_file, local_tree
from gpu_tui.teardown.manifest_file import (
    OWN_NAME,
    ManifestUnreadable,
    manifest_json,
    parse_manifest,
)
from gpu_tui.teardown.pull import pull_files
from gpu_tui.transport.base import RemoteFileError

GOOD = [
    *("-rf", "--help", "-", "a b", " lead", "trail ", "a'b", 'a"b', "$(id)", "`id`", "${HOME}"),
    *("a;b", "a|b", "a&b", "a>b", "*", "?", "[a]", "{a,b}", "!x", "#x", "%s", "%n", "~", "~root"),
    *("CON", "nul.txt", "a:b", "a=b", "=", "...", ".hidden", "权重.pth", "naïve", "x" * 240),
    *("🙂", "0", "if=x", "skip=1", "a\u00a0b".replace("\u00a0", "_")),
]
CONTROL = [b"a\nb", b"a\rb", b"a\tb", b"a\x1b[2Jb", b"a\x07b", b"a\x7fb", b"back\\slash", b"\n"]
INVISIBLE = ["a\u202eb", "a\u200bb", "a\u2066b", "a\ufeffb", "a\u00a0b", "a\u0085b"]
NOT_UTF8 = [b"\xff", b"caf\xe9.pth", b"\xc3\x28", b"\xed\xa0\x80"]


async def test_every_name_comes_home_or_is_refused_by_name(scene: Scene) -> None:
    assert scene.connection
    root = scene.box.results
    for name in GOOD:
        scene.box.write(f"odd/{name}", name.encode())
    bad: set[bytes] = set()
    for raw in [*CONTROL, *NOT_UTF8, *(name.encode() for name in INVISIBLE)]:
        target = root / "odd" / os.fsdecode(raw)
        target.write_bytes(b"x")
        bad.add(b"odd/" + raw)
    deep = root.joinpath(*["d" * 200] * 5)
    deep.mkdir(parents=True)
    (deep / ("f" * 250)).write_bytes(b"x")
    bad.add(os.fsencode((deep / ("f" * 250)).relative_to(root)))
    (root / ".gpu-tui").mkdir()
    (root / ".gpu-tui/x").write_bytes(b"x")
    (root / "Case.pth").write_bytes(b"x")
    (root / "case.pth").write_bytes(b"y")
    (root / "\u00e9.pth").write_bytes(b"composed")
    (root / "e\u0301.pth").write_bytes(b"decomposed")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(root)
        listener.bind("socket")
        os.chdir(here)
    for name, target in {
        "absolute.pt": str(root / "base/best.pth"),
        "relative.pt": "base/best.pth",
        "chain.pt": "relative.pt",
        "latest-run": "base",
        "far.pt": "/etc/hostname",
        "zero.pt": "/dev/zero",
        "up": "..",
        "self": ".",
        "broken.pt": "nowhere",
        "loop": "loop",
        "to-pipe": "pipe",
        "to-refused": "odd/a\tb",
    }.items():
        (root / name).symlink_to(target)
    bad |= {b".gpu-tui/x", b"case.pth", "\u00e9.pth".encode(), b"pipe", b"socket"}
    bad |= {b"far.pt", b"zero.pt", b"up", b"self", b"broken.pt", b"loop", b"to-pipe", b"to-refused"}

    listing = await list_remote(scene.connection, str(root))
    refused = {os.fsencode(path) for path, _ in listing.refused}
    assert refused == bad
    assert all(why for _, why in listing.refused)
    manifest, failed = await remote_manifest(scene.connection, listing)
    assert failed == ()
    assert {f"odd/{name}" for name in GOOD} <= {file.path for file in manifest.files}
    assert manifest == Manifest.of(
        FileEntry(path, *hash_file(root / path)) for path, _ in listing.files
    )
    pulled = await pull_files(scene.connection, str(root), manifest, scene.local)
    assert pulled.failed == ()
    assert local_tree(scene.local).manifest == manifest
    assert local_tree(scene.local).odd == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("BASE.pth", "Base.pth"),
        ("BASE.pth", "base.pth"),
        ("Wide/LAST.pth", "wide/last.pth"),
        ("Wide/x/LAST.pth", "wide/X/last.pth"),
        ("E\u0301.pth", "\u00c9.pth"),
        ("E\u0301.pth", "\u00e9.pth"),
        ("STRASSE.pth", "Stra\u00dfe.pth"),
        ("\u039f\u0394\u039f\u03a3.pth", "\u03bf\u03b4\u03bf\u03c2.pth"),  # a final sigma
    ],
)
async def test_of_two_names_that_one_disk_takes_for_the_same_one_is_refused(
    scene: Scene, first: str, second: str
) -> None:
    """APFS and NTFS are blind to case: pulled there, the one file would take the other's place."""
    assert scene.connection
    for name in (first, second):
        scene.box.write(name, name.encode())
    listing = await list_remote(scene.connection, str(scene.box.results))
    ((path, why),) = listing.refused
    assert path in (first, second)
    assert "differs only in case" in why
    assert {first, second} - {name for name, _ in listing.files} == {path}


@pytest.mark.parametrize("name", ["Base-2.pth", "base/BEST", "BEST.pth", "wide/best.pth2"])
async def test_a_name_that_differs_otherwise_comes_home(scene: Scene, name: str) -> None:
    assert scene.connection
    scene.box.write(name, b"x")
    listing = await list_remote(scene.connection, str(scene.box.results))
    assert listing.refused == ()
    assert name in {path for path, _ in listing.files}


def test_what_would_be_lost_is_what_is_pulled_and_what_is_refused() -> None:
    found = Listing("/r", (("a", 3), ("b", 4)), (("odd", "a pipe"), ("far", "a link")))
    assert found.paths == ("a", "b", "odd", "far")
    assert found.sizes == (3, 4, None, None)
    assert found.bytes == 7
    assert (Listing("/r", ()).paths, Listing("/r", ()).bytes) == ((), 0)


@pytest.mark.parametrize(("most", "enough"), [(6, False), (7, False), (8, True)])
async def test_a_tree_of_too_many_names_is_not_listed_in_part(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, most: int, enough: bool
) -> None:
    """Five files and two directories: at the limit there may be more."""
    assert scene.connection
    monkeypatch.setattr(listing_module, "MAX_ENTRIES", most)
    if enough:
        assert len((await list_remote(scene.connection, str(scene.box.results))).files) == 5
        return
    with pytest.raises(RemoteFileError, match=f"more than {most} "):
        await list_remote(scene.connection, str(scene.box.results))


async def test_a_device_is_refused_by_name(scene: Scene) -> None:
    assert scene.connection
    try:
        os.mknod(scene.box.results / "null", 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device needs root")
    listing = await list_remote(scene.connection, str(scene.box.results))
    assert [path for path, _ in listing.refused] == ["null"]


def claim(root: Path, run: str = "run-1") -> dict[str, object]:
    body = manifest_json(local_tree(root).manifest, run, 0.0)
    (root / OWN_NAME).write_text(json.dumps(body))
    return body


async def contradictions(scene: Scene) -> dict[str, str]:
    assert scene.connection
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, failed = await remote_manifest(scene.connection, listing)
    assert failed == ()
    return dict(await own_claim(scene.connection, listing, manifest))


async def test_the_boxes_own_manifest_is_believed_only_where_it_is_right(scene: Scene) -> None:
    root = scene.box.results
    assert await contradictions(scene) == {}
    body = claim(root)
    (root / "PULL_VERIFIED.json").write_text("{}")
    (root / "base/half.tmp").write_text("under way")
    assert await contradictions(scene) == {}
    (root / "base/train.log").unlink()
    (root / "base/new.pth").write_bytes(b"later")
    best, wide = root / "base/best.pth", root / "wide/best.pth"
    best.write_bytes(best.read_bytes() + b"more")
    flipped = bytearray(wide.read_bytes())
    flipped[9] ^= 1
    wide.write_bytes(flipped)
    found = await contradictions(scene)
    assert set(found) == {"base/train.log", "base/new.pth", "base/best.pth", "wide/best.pth"}
    assert "not on the box" in found["base/train.log"]
    assert "does not list" in found["base/new.pth"]
    assert "bytes" in found["base/best.pth"]
    assert "SHA-256" in found["wide/best.pth"]
    body["schema"] = "other/v9"
    (root / OWN_NAME).write_text(json.dumps(body))
    assert set(await contradictions(scene)) == {OWN_NAME}


async def test_a_contradicted_manifest_blocks_the_ladder(scene: Scene) -> None:
    claim(scene.box.results)
    (scene.box.results / "base/train.log").unlink()
    last = None
    async for view in scene.runner().pull_only("pod"):
        last = view
    assert last is not None
    assert last.outcome is None
    assert "base/train.log" in (last.closed_because or "")
    assert not scene.local.exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"totals": {"files": 9, "bytes": 1}}, "counts"),
        ({"top_level_dirs": ["elsewhere"]}, "directories"),
        ({"top_level_dirs": "base"}, "directories"),
        ({"run_id": ""}, "run"),
        ({"files": []}, "no file"),
    ],
)
def test_a_manifest_that_contradicts_itself(change: dict[str, object], word: str) -> None:
    entries = [FileEntry("base/a", 3, "0" * 64), FileEntry("b", 4, "1" * 64)]
    body = manifest_json(Manifest.of(entries), "run", 0.0)
    assert parse_manifest(json.dumps(body).encode(), "x").manifest == Manifest.of(entries)
    with pytest.raises(ManifestUnreadable, match=word):
        parse_manifest(json.dumps({**body, **change}).encode(), "x")


async def test_a_file_that_changes_while_it_is_hashed_is_refused_by_name(scene: Scene) -> None:
    assert scene.connection
    listing = await list_remote(scene.connection, str(scene.box.results))
    target = scene.box.results / "base/train.log"
    touched = []

    def heard(count: int, file: str | None = None, *, moved: bool = True) -> None:
        if not touched:  # the first hash is there, the last look is not
            touched.append(target.write_bytes(b"another line of it"[: target.stat().st_size]))

    hashed = Hashed()
    _, failed = await remote_manifest(scene.connection, listing, heard, hashed)
    assert failed == (("base/train.log", "it changed while it was hashed"),)


@pytest.mark.parametrize("lie", ["exit 0", "echo nonsense", f"echo {'0' * 64}"])
async def test_a_hash_program_that_lies_is_not_taken(scene: Scene, lie: str) -> None:
    assert scene.connection
    scene.box.sshd.program("openssl", f"#!/bin/sh\n{lie}\n")
    scene.box.sshd.program("python3", f"#!/bin/sh\n{lie}\n")
    (scene.box.results / "base/big.bin").write_bytes(os.urandom(5 << 20))
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, failed = await remote_manifest(scene.connection, listing)
    assert failed == ()
    assert manifest == local_tree(scene.box.results).manifest


async def test_a_big_file_tells_how_far_it_is(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from outside, at the place up to which the hash program has read."""
    assert scene.connection
    monkeypatch.setattr(hashing, "BIG", 1 << 20)
    monkeypatch.setattr(hashing, "SMALL", 1 << 20)
    scratch = scene.box.sshd.home / "scratch"
    scene.box.sshd.program(
        "openssl",
        f"#!/bin/sh\nhead -c 2097152 >{scratch}\n"
        f"[ $(wc -c <{scratch}) -lt 2097152 ] || {{ sleep 1.5; cat >>{scratch}; }}\n"
        f"sha256sum <{scratch}\n",
    )
    scene.box.write("base/big.bin", os.urandom(5 << 20))
    told: list[int] = []

    def heard(count: int, file: str | None = None, *, moved: bool = True) -> None:
        if file == "base/big.bin":
            told.append(count)

    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, failed = await remote_manifest(scene.connection, listing, heard)
    assert failed == ()
    assert manifest == local_tree(scene.box.results).manifest
    assert len(told) > 1
    assert told[0] == 2 << 20
    assert sum(told) == 5 << 20
