"""Where a cell's artifact lies, in both layouts."""

from __future__ import annotations

import pytest

from gpu_tui.core.artifact import Found, Layout, layout_of
from gpu_tui.core.fleet import Instance, Results, SshAccess


def instance(remote: str | None, logs: str | None = None) -> Instance:
    return Instance("box", SshAccess("box"), logs=logs, results=Results(remote))


COPIED = instance("/fs/final_ckpts/", "/data/runs/logs/{cell}.log")
SEALED = instance("/proj/export")
NONE = "there is no best.pth in /fs/final_ckpts/a"


def find(box: Instance, name: str, *paths: str) -> Found | None:
    return layout_of(box).look(set(paths)).find(name)


def test_nothing_is_known_without_a_results_directory() -> None:
    assert find(instance(None), "a", "/x/a/best.pth") is None


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ((), Found(False, NONE)),
        (("/fs/final_ckpts/a/best.pth",), Found(True, run="a")),
        (
            ("/fs/final_ckpts/ab/best.pth", "/fs/final_ckpts/a/best_metrics.json"),
            Found(False, NONE),
        ),
        (
            ("/data/checkpoints/a/best.pth",),
            Found(False, "best.pth is only in /data/checkpoints/a"),
        ),
        (("/data/checkpoints/a/best.pth", "/fs/final_ckpts/a/best.pth"), Found(True, run="a")),
    ],
)
def test_checkpoints_and_their_durable_copy(paths: tuple[str, ...], found: Found) -> None:
    assert find(COPIED, "a", *paths) == found


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ((), Found(False, "no run of it in /proj/export")),
        (("/proj/export/a/best.pth",), Found(True, run="a")),
        (("/proj/export/a-20260103T101500Z/best.pth",), Found(True, run="a-20260103T101500Z")),
        (("/proj/export/.partial/a",), Found(False, "its export is not complete: /proj/export/.partial/a")),
        (("/proj/active/a/latest.pth", "/proj/active/a/train.csv"), Found(False, "it was never sealed: /proj/active/a")),
        (("/proj/quarantine/a_20260103",), Found(False, "it was put into quarantine: /proj/quarantine/a_20260103")),
        (("/proj/export/a/run.json",), Found(False, "its export holds no best.pth: /proj/export/a")),
        (("/proj/export/a-2/best.pth", "/proj/export/ab/best.pth"), Found(False, "no run of it in /proj/export")),
        (("/proj/export/a-12345678/best.pth",), Found(False, "no run of it in /proj/export")),
        (("/proj/quarantine/a", "/proj/export/a.20260103/best.pth"), Found(True, run="a.20260103")),
    ],
)  # fmt: skip
def test_only_what_was_renamed_into_export_is_complete(
    paths: tuple[str, ...], found: Found
) -> None:
    assert find(SEALED, "a", *paths) == found


def test_of_several_runs_of_a_cell_the_newest_counts() -> None:
    old, new = (f"/proj/export/a-2026010{n}T000000Z/best.pth" for n in (1, 2))
    assert find(SEALED, "a", old, new) == Found(True, run="a-20260102T000000Z")


def test_what_is_asked_for() -> None:
    assert layout_of(COPIED).patterns() == (
        "/fs/final_ckpts/{cell}/best.pth",
        "/fs/final_ckpts/{cell}/best_metrics.json",
        "/data/checkpoints/{cell}/best.pth",
        "/data/checkpoints/{cell}/latest.pth",
    )
    assert layout_of(COPIED).metrics_files() == (
        "/fs/final_ckpts/{cell}/best_metrics.json",
        "/data/checkpoints/{cell}/best_metrics.json",
    )
    assert "/proj/export/.partial/{cell}" in layout_of(SEALED).patterns()
    assert layout_of(SEALED).metrics_files() == ("/proj/export/{cell}/test/{cell}/metrics.json",)
    same = instance("/data/checkpoints", "/data/runs/logs/{cell}.log")
    assert layout_of(same) == Layout("/data/checkpoints")
    assert Layout().patterns() == ()


def test_the_export_of_a_whole_disk_is_one_too() -> None:
    box = instance("/export")
    assert find(box, "a", "/export/a-20260103/best.pth") == Found(True, run="a-20260103")
    assert find(box, "a", "/active/a/latest.pth") == Found(False, "it was never sealed: /active/a")
    assert "/export/{cell}/best.pth" in layout_of(box).patterns()
    assert layout_of(box).metrics_files() == ("/export/{cell}/test/{cell}/metrics.json",)
