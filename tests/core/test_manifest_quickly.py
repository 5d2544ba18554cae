"""The comparison of two rosters says the same as its plain definition, however it is made quick."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.manifest import FileEntry, Manifest, compare
from gpu_tui.core.proof import misnamed

PATHS = st.text(alphabet="./a\n", max_size=6)
FILES = st.lists(st.builds(FileEntry, PATHS, st.integers(-1, 1), st.sampled_from(["a" * 64, "b"])))


@given(FILES, FILES, st.booleans())
def test_a_comparison_is_what_its_sets_say(
    left: list[FileEntry], right: list[FileEntry], same: bool
) -> None:
    there = Manifest.of(left)
    here = Manifest.of(left if same else right)
    mine, theirs = ({file.path: file for file in one.files} for one in (here, there))
    report = compare(there, here, ["a", "b"])
    both = mine.keys() & theirs.keys()
    assert report.differing == tuple(sorted(path for path in both if mine[path] != theirs[path]))
    assert report.matched == len(both) - len(report.differing)
    assert report.missing == tuple(sorted(theirs.keys() - both))
    assert report.unexpected == tuple(sorted(mine.keys() - both))
    roots = {path.split("/", 1)[0] for path in theirs}
    assert report.missing_cells == tuple(sorted({"a", "b"} - roots))


@given(FILES)
def test_a_row_that_no_honest_list_has_is_found(files: list[FileEntry]) -> None:
    paths = [file.path for file in files]
    wrong = {
        file.path or "a file without a name"
        for file in files
        if paths.count(file.path) > 1
        or file.sha256 != "a" * 64
        or file.bytes < 0
        or any(part in ("", ".", "..") for part in file.path.split("/"))
    }
    assert set(misnamed(Manifest.of(files))) == wrong
