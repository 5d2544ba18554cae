"""Two rosters compared: empty never matches, and every difference is named."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.manifest import FileEntry, Manifest, compare

FILES = st.dictionaries(
    st.text("abc/", min_size=1, max_size=4), st.tuples(st.integers(0, 9), st.text("0f", max_size=2))
)


def manifest(rows: dict[str, tuple[int, str]]) -> Manifest:
    return Manifest.of(FileEntry(path, size, sha) for path, (size, sha) in rows.items())


@given(FILES, FILES)
def test_ok_means_equal_and_not_empty(
    there: dict[str, tuple[int, str]], here: dict[str, tuple[int, str]]
) -> None:
    report = compare(manifest(there), manifest(here))
    assert report.ok == (there == here and bool(there))
    assert (manifest(there).digest == manifest(here).digest) == (there == here)


def test_a_cell_without_files_is_missing() -> None:
    same = manifest({"a/best.pth": (1, "f")})
    report = compare(same, same, cells=["a", "b"])
    assert report.missing_cells == ("b",)
    assert not report.ok
