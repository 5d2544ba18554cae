"""Small files that runs leave, read by the real sampler program under every shell."""

from __future__ import annotations

import os

import pytest
from shell_box import SHELLS, ShellBox
from test_sampler import sampling

from gpu_tui.collect.probe_files import NAMES_MOST
from gpu_tui.collect.probe_results import FILES_READ, MONITOR, monitor_file
from gpu_tui.core.fleet import QueueFiles, Results
from gpu_tui.core.readings import FileTable, MemoryLog, Scores
from gpu_tui.core.sample import Absent, Failure, Reading

MANY = 11_000  # paths of 200 bytes: two megabytes of arguments are too many
HEADER = "timestamp\tcgroup_gb\tgpu_util_pct"


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(tmp_path) -> ShellBox:  # type: ignore[no-untyped-def]
    return ShellBox(tmp_path)


async def test_metrics_artifacts_and_a_memory_monitor(box: ShellBox, shell: str) -> None:
    box.file("home/final/a b/best_metrics.json", '{"epoch": 3, "psnr": 31.5}')
    box.file("home/final/a b/best.pth", "x")
    box.file("home/checkpoints/c/best_metrics.json", '{"psnr": 30}\n')
    box.file(f"home/runs/logs/{MONITOR}", f"{HEADER}\n1767261600\t2\t50\n1767261605\t2\t5")
    async with sampling(box, shell, box.group()) as inbox:
        got = await inbox.all_of({"scores", "past", "files"})
    scores, past, files = (got[name].sample for name in ("scores", "past", "files"))
    assert isinstance(scores, Reading)
    assert scores.value == Scores({"a b": {"psnr": 31.5}, "c": {"psnr": 30.0}})
    assert isinstance(past, Reading)
    assert isinstance(past.value, MemoryLog)
    assert [(point.at, point.gpu) for point in past.value.points] == [(1767261600.0, 0.5)]
    assert isinstance(files, Reading)
    assert isinstance(files.value, FileTable)
    assert "~/final/a b/best.pth" in files.value.found


NEWEST = {
    "plain": "plain/latest.pth",
    "half": "half/epoch_2.pt.tmp",
    "folder": "folder/ckpts/whatever",
    "a b": "a b/weights/last [1].pt",
    "shards": "shards/checkpoint-500/model-00001-of-00002.safetensors",
    "steps": "steps/global_step20",
    "lightning": "lightning/lightning_logs/version_0/checkpoints/last.ckpt",
    "board": "board/events.out.tfevents.1795000000.n1.7.0",
    "runs": "runs/runs/Nov28_10-00-00_n1/events.out.tfevents.1795000000.n1.7.0",
    "csv": "csv/lightning_logs/version_0/metrics.csv",
    "yolo": "yolo/results.csv",
}
OLDER = (
    *("board/epoch_1.pth", "yolo/weights/last.pt"),
    *("plain/epoch_1.pth", "half/epoch_1.pt", "folder/first.ckpt", "a b/weights/first.pt"),
    *(
        "shards/checkpoint-60/model.safetensors",
        "steps/global_step10/mp_rank_00.pt",
        "bare/log.txt",
    ),
)
LATER = ("plain/gpu.csv", "plain/wandb/run.wandb", "bare/train.log", "loose.pth")


async def test_the_newest_checkpoint_of_each_directory_by_whatever_name(
    box: ShellBox, shell: str
) -> None:
    stamped = [*((path, 1000) for path in OLDER), *((path, 2000) for path in NEWEST.values())]
    for path, stamp in (*stamped, *((path, 3000) for path in LATER)):
        if path != NEWEST["steps"]:
            os.utime(box.file(f"home/final/{path}", "x"), (stamp, stamp))
    (box.home / "final/steps/global_step20").mkdir()
    for folder, stamp in {"shards/checkpoint-60": 500, "shards/checkpoint-500": 600}.items():
        os.utime(box.home / "final" / folder, (stamp, stamp))
    os.utime(box.home / "final/steps/global_step10", (500, 500))
    os.utime(box.home / "final/lightning/lightning_logs/version_0/checkpoints", (500, 500))
    async with sampling(box, shell, box.group()) as inbox:
        sample = (await inbox.all_of({"files"}))["files"].sample
    assert isinstance(sample, Reading)
    assert isinstance(sample.value, FileTable)
    found = {cell: stat.path for cell, stat in sample.value.signs.items()}
    assert found == {cell: f"{box.home}/final/{path}" for cell, path in NEWEST.items()}


async def test_so_many_checkpoints_are_weighed_and_no_more(box: ShellBox) -> None:
    for number in range(NAMES_MOST + 1):
        box.file(f"home/final/a/{number}.pth", "")
    box.file("home/final/b/latest.pth", "")
    async with sampling(box, "dash", box.group()) as inbox:
        sample = (await inbox.all_of({"files"}))["files"].sample
    assert isinstance(sample, Reading)
    assert isinstance(sample.value, FileTable)
    assert set(sample.value.signs) == {"a"}


async def test_a_box_without_them(box: ShellBox, shell: str) -> None:
    async with sampling(box, shell, box.group()) as inbox:
        got = await inbox.all_of({"scores", "past"})
    assert isinstance(got["past"].sample, Absent)
    assert isinstance(got["scores"].sample, Reading)
    assert got["scores"].sample.value == Scores()


async def test_more_files_than_one_program_takes_are_not_taken_for_none(
    box: ShellBox, shell: str
) -> None:
    for number in range(MANY):
        box.file(f"home/final/{number:0120}/best.pth", "")
    box.file("home/final/a/best_metrics.json", "{}")
    async with sampling(box, shell, box.group()) as inbox:
        sample = (await inbox.all_of({"files"}))["files"].sample
    assert isinstance(sample, Reading)
    assert isinstance(sample.value, FileTable)
    assert sample.value.unseen == {"~/final/{cell}/best.pth": MANY}
    assert "~/final/a/best_metrics.json" in sample.value.found


async def test_more_logs_than_can_be_looked_at_are_counted(box: ShellBox) -> None:
    for number in range(MANY):
        box.file(f"home/runs/logs/{number:0120}.log", "")
    async with sampling(box, "dash", box.group()) as inbox:
        sample = (await inbox.all_of({"files"}))["files"].sample
    assert isinstance(sample, Failure)
    assert sample.why == f"~/runs/logs/{{cell}}.log names {MANY} files: more than can be looked at"


async def test_the_sealed_layout(box: ShellBox) -> None:
    box.file("home/p/export/a-20260103/best.pth", "x")
    box.file("home/p/export/a-20260103/test/clean/metrics.json", '{"acc": 0.5}')
    box.file("home/p/export/.partial/b/best.pth", "x")
    box.file("home/p/quarantine/c/latest.pth", "x")
    box.file("home/p/active/d/latest.pth", "x")
    async with sampling(box, "dash", box.group(results=Results("~/p/export"))) as inbox:
        got = await inbox.all_of({"scores", "files"})
    assert got["scores"].sample.value == Scores({"a-20260103": {"clean.acc": 0.5}})  # type: ignore[union-attr]
    found = got["files"].sample.value.found  # type: ignore[union-attr]
    assert {path for path in found if path.startswith("~/p/")} == {
        "~/p/export/a-20260103/best.pth",
        "~/p/export/.partial/b",
        "~/p/quarantine/c",
        "~/p/active/d/latest.pth",
    }


async def test_more_files_than_are_read_are_counted(box: ShellBox) -> None:
    for n in range(FILES_READ + 20):
        box.file(f"home/final/c{n:03}/best_metrics.json", f'{{"psnr": {n}}}')
    async with sampling(box, "dash", box.group(logs=None)) as inbox:
        scores = (await inbox.metric("scores")).sample
    assert len(scores.value.by_run) == FILES_READ  # type: ignore[union-attr]
    assert scores.value.dropped == 20  # type: ignore[union-attr]


def test_where_the_monitor_writes(box: ShellBox) -> None:
    assert monitor_file(box.instance()) == f"~/runs/logs/{MONITOR}"
    assert monitor_file(box.instance(queue=QueueFiles(memory="/m/x.tsv"))) == "/m/x.tsv"
    assert monitor_file(box.instance(logs=None)) is None
    assert monitor_file(box.instance(logs="/runs/{cell}/log.txt")) is None
