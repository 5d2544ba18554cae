"""The hand-over of a view, and the command against a box that runs a real queue."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.core.account import Listed
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, Money, QueueFiles, Results, SshAccess
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.mask import Mask
from gpu_tui.core.sample import Reading, Track
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.places import own_command
from gpu_tui.resources import load_profiles
from gpu_tui.state.report import Proof, handover
from gpu_tui.state.runner_kept import Runner
from gpu_tui.state.views import FleetView
from gpu_tui.teardown.journal import Journal
from gpu_tui.wiring.report import proofs_of
from screenshots.builders import NOW
from screenshots.scenes import sweep


def text_of(view: FleetView, proofs: dict[str, Proof] | None = None, **mask: object) -> str:
    return handover(view, proofs or {}, Mask(**mask), version="1", fleet="/root/f.yaml")  # type: ignore[arg-type]


def one(cells: tuple[Cell, ...], **instance: object) -> FleetView:
    """A fleet of one box with this queue."""
    seen = sweep().view(NOW)
    first = seen.instances[0]
    described = Instance("box-1", SshAccess("gpu.example.org", "me"), **instance)  # type: ignore[arg-type]
    made = replace(
        first, instance=described, queue=Queue(cells, total=len(cells)), findings=(), tracks={}
    )
    return replace(seen, instances=(made,), findings=(), clocks=(), accounts=(), unlisted=())


def cell(
    index: int, state: CellState, name: str | None = None, finished: float | None = None
) -> Cell:
    return Cell(name or f"c{index}", index, "t", state, finished_at=finished)


CELLS = (
    cell(1, CellState.FINISHED, finished=NOW - 50),
    cell(2, CellState.FAILED),
    cell(3, CellState.PENDING),
)
FILES = QueueFiles("/root/q/my queue.txt", "/root/logs/q1.log")


def test_it_says_everything_the_next_person_needs() -> None:
    text = text_of(sweep().view(NOW))
    for heading in (
        "First command",
        "What runs where",
        "Deadlines",
        "Money",
        "What nobody watches now",
    ):
        assert f"\n## {heading}\n" in text
    for instance in sweep().view(NOW).instances:
        assert f"\n## {instance.name}\n" in text.replace("\\", "")
    assert "gpu-tui check --fleet ~/f.yaml" in text
    assert "gpu-tui looks only while it runs" in text
    assert max(map(len, text.splitlines())) < 1_500


def test_a_box_that_nobody_named_stands_before_everything_else() -> None:
    evidence = "you are paying for this one: RunPod: old_box, running, 0.69 USD/h"
    bill = Finding("unlisted_instance", Severity.FATAL, "runpod:old_box", evidence, "api:runpod",
                   "end it", NOW, NOW)  # fmt: skip
    stray = Listed("runpod", "x1", "old_box", "running", Money(0.69, "USD"))
    bare = Listed("runpod", "x2", "new_box", "running")
    text = text_of(replace(one(CELLS), findings=(bill,), unlisted=(stray, bare)))
    head, rest = text.split("## First command")
    assert "- **fatal: you are paying for this one: RunPod: old\\_box" in head
    assert "$0.69/h" in rest.split("## Money")[1].split("\n")[2]
    assert "no price known of: runpod:new" in rest.replace("\\", "")


RUNNER = Runner(("bash", "my night.sh", "../q/my queue.txt", "1", "--fast"), "/root/work dir")
WAIT = "tmux -L resume wait-for -S done"


def resumed(runner: Runner | None, way: str) -> str:
    """The command of a queue whose platform advises to detach by `way`."""
    view = one(CELLS, queue=FILES)
    profile = replace(load_profiles()["autodl"], facts={"detach_primitive": way})
    box = replace(view.instances[0], runner=runner, profile=profile)
    text = text_of(replace(view, instances=(box,)))
    lines = text.partition("**Resume:**")[2].splitlines()
    return lines[lines.index("```sh") + 1]


@pytest.mark.parametrize("way", ["tmux", "nohup", "kaggle-commit"])
def test_the_resume_command_starts_the_runner_that_was_seen(tmp_path: Path, way: str) -> None:
    for name in ("logs", "work dir", "q"):
        (tmp_path / name).mkdir()
    script = tmp_path / "work dir" / "my night.sh"
    script.write_text(f'printf "%s\\n" "$@"\n{WAIT}\n')
    command = resumed(RUNNER, way)
    assert ("nohup" in command) is (way == "nohup")
    if way == "tmux":
        command = command.replace("tmux ", "tmux -L resume -f /dev/null ", 1)
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TMUX_TMPDIR": str(tmp_path)}
    subprocess.run(
        ["tmux", "-L", "resume", "-f", "/dev/null", "new-session", "-d", "sleep 600"],
        env=env,
        check=True,
    )
    try:
        words = f"{command}\ntmux -L resume wait-for done\nwait"
        subprocess.run(["sh", "-c", words], env=env, check=True, timeout=60)
    finally:
        subprocess.run(["tmux", "-L", "resume", "kill-server"], env=env, check=True)
    said = (tmp_path / "logs/q1.log").read_text().splitlines()
    assert said == ["../q/my queue.txt", "2", "--fast"]


def test_the_resume_command_of_each_platform_detaches_as_its_profile_says() -> None:
    for name, profile in load_profiles().items():
        command = resumed(RUNNER, str(profile.facts["detach_primitive"]))
        starts = {"slurm": "sbatch ", "kubernetes": "cd ", "colab-kaggle": "cd "}.get(name, "tmux ")
        assert command.startswith(starts), (name, command)
        assert "nohup" not in command


def test_an_unknown_runner_is_a_placeholder() -> None:
    view = one(CELLS, queue=FILES)
    box = replace(view.instances[0], runner=None)
    text = text_of(replace(view, instances=(box,)))
    assert "bash SCRIPT ~/'\"'\"'q/my queue.txt'\"'\"' 2 " in text
    assert "`SCRIPT` is a placeholder" in text
    assert "run_queue.sh" not in text


def test_a_queue_at_work_is_not_to_be_started_again() -> None:
    text = text_of(one((cell(1, CellState.FINISHED), cell(2, CellState.RUNNING)), queue=FILES))
    assert "start nothing beside it. Only if it dies" in text
    unread = text_of(one((), queue=FILES))
    assert "the queue was not read" in unread
    assert "nohup" not in unread.replace("`nohup`", "")


def test_jobs_say_what_restarts_them() -> None:
    view = one((cell(1, CellState.FAILED, "train"),))
    job = Job("17_5", "train", CellState.FAILED, "NODE_FAIL", "node gone")
    track = Track(good=Reading(JobTable("Slurm", (job,)), NOW))
    box = replace(view.instances[0], tracks={"slurm": track})
    text = text_of(replace(view, instances=(box,)))
    assert "scontrol requeue ID" in text
    assert "`17_5` train (NODE\\_FAIL: node gone)" in text


def test_a_list_of_jobs_that_is_old_tells_of_the_past() -> None:
    view = one((cell(1, CellState.RUNNING, "train"),))
    job = Job("17", "train", CellState.RUNNING, "RUNNING")
    for age, told in ((5.0, False), (600.0, True)):
        reading = Reading(JobTable("Slurm", (job,)), NOW - age, 20.0)
        box = replace(view.instances[0], tracks={"slurm": Track(reading, reading)})
        text = text_of(replace(view, instances=(box,)))
        assert ("when it last answered" in text) is told


def test_a_queue_that_ended_before_its_last_lines_goes_on_at_them() -> None:
    late = replace(cell(3, CellState.SKIPPED), never_run=True)
    text = text_of(one((*(cell(n, CellState.FINISHED) for n in (1, 2)), late), queue=FILES))
    assert "my queue.txt'\"'\"' 3 </dev/null" in text
    assert "Skipped by the start index" not in text
    assert "nothing is left" not in text


def test_hosts_homes_and_secrets_stay_at_home() -> None:
    view = one(CELLS, queue=FILES)
    box = replace(
        view.instances[0],
        because=("[x](http://evil) <b> at gpu.example.org token=abcd1234efgh\x1b[2J",),
    )
    view = replace(view, instances=(box,))
    hidden = text_of(view, hosts=("gpu.example.org",), secrets=("s3cret!",))
    assert "gpu.example.org" not in hidden
    assert "/root" not in hidden
    assert "abcd1234" not in hidden
    assert "\x1b" not in hidden
    assert "<b>" not in hidden
    assert "](http" not in hidden.replace("\\]", "")
    assert "me@gpu.example.org" in text_of(view, show_hosts=True)


@pytest.mark.parametrize(
    ("proof", "word"),
    [
        (Proof(), "**not verified**"),
        (Proof(doubt="the marker cannot be read"), "**not verified** (the marker cannot be read)"),
        (Proof(NOW - 10, "a pull", 4), "by a pull, 4 files"),
        (Proof(NOW - 90, "a pull", 4), "**but 1 cell ended after it: c1**"),
    ],
)
def test_verified_is_only_what_was_and_still_is(proof: Proof, word: str) -> None:
    assert word in text_of(one(CELLS, queue=FILES), {"box-1": proof})


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (cell(1, CellState.RUNNING), "**but these may still write: c1**"),
        (cell(1, CellState.FINISHED), "**but nothing tells when these ended: c1**"),
    ],
)
def test_a_proof_covers_nothing_that_may_have_come_after_it(row: Cell, word: str) -> None:
    text = text_of(one((row,), queue=FILES), {"box-1": Proof(NOW - 10, "a pull", 1)})
    assert word in text


# --- the proofs of this machine -------------------------------------------------------------------


def marker(local: Path, **changes: object) -> None:
    local.mkdir(exist_ok=True)
    manifest = b'{"schema": "remote-gpu-trainer/PULL/v1"}'
    (local / "PULL_MANIFEST.json").write_bytes(manifest)
    said = {
        "schema": "remote-gpu-trainer/PULL-VERIFIED/v1",
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        "verified_at_utc": "2026-03-04T10:00:00Z",
        "files": 6,
        **changes,
    }
    (local / "PULL_VERIFIED.json").write_text(json.dumps(said))


def proof(tmp_path: Path) -> Proof:
    results = Results("/r", str(tmp_path / "results"))
    fleet = Fleet("s", (Instance("a", SshAccess("a"), results=results),))
    return proofs_of(fleet, state=tmp_path)["a"]


def test_a_marker_proves_nothing_that_the_journal_does_not(tmp_path: Path) -> None:
    local = tmp_path / "results"
    assert proof(tmp_path) == Proof()
    marker(local)
    found = proof(tmp_path)
    assert found.verified_at is None
    assert found.doubt == "this machine's journal has no load that PULL_VERIFIED.json is about"
    (tmp_path / "journal").mkdir()
    journal = Journal(tmp_path / "journal", ManualClock(NOW), "me@here")
    journal.write("a", "matched", digest="0" * 64)
    assert proof(tmp_path).verified_at is None
    journal.write("a", "loaded", files=3, bad=[])
    marker(local, verified_at_utc="2999-01-01T00:00:00Z")
    assert (proof(tmp_path).verified_at, proof(tmp_path).files) == (int(NOW), 3)
    journal.write("a", "loaded", files=3, bad=[], refused="no checkpoint is among the results")
    assert proof(tmp_path).verified_at is None


def test_the_journal_counts_as_far_as_it_passed(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    journal = Journal(tmp_path / "journal", ManualClock(NOW), "me@here")
    journal.write("a", "loaded", files=3, bad=[])
    journal.write("b", "loaded", files=9, bad=[])
    assert proof(tmp_path).verified_at == int(NOW)
    assert proof(tmp_path).files == 3
    assert "nothing lies in" in str(proof(tmp_path).doubt)
    (tmp_path / "results" / "x").mkdir(parents=True)
    assert proof(tmp_path).doubt is None
    journal.write("a", "loaded", files=3, bad=["x.pth"])
    found = proof(tmp_path)
    assert found.verified_at is None
    assert "did not pass" in str(found.doubt)
    assert str(found.last).startswith("loaded at")


# --- the command ----------------------------------------------------------------------------------


async def run_report(fleet: Path, state: Path, *words: str) -> tuple[int, str, str]:
    import os
    import sys

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gpu_tui", "report", "--fleet", fleet.name, *words, cwd=fleet.parent,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_command_writes_new_files_only(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "instances: [{name: dead, host: 'ssh://root@127.0.0.1:9', platform: generic-ssh}]\n"
    )
    out = tmp_path / "out"
    code, said, err = await run_report(fleet, tmp_path, "--out", str(out))
    assert (code, err) == (0, "")
    text, picture = (Path(line) for line in said.splitlines())
    assert (text.suffix, picture.suffix) == (".md", ".svg")
    for file in (text, picture):
        assert file.stat().st_mode & 0o077 == 0
        assert "127.0.0.1" not in file.read_text()
    assert "dead" in picture.read_text()
    assert "not reached" in text.read_text()
    # Cron and the next person stand in other directories.
    assert f" check --alert --fleet {fleet} >/dev/null" in text.read_text()


def test_an_older_file_is_never_written_over(tmp_path: Path) -> None:
    from gpu_tui.cli.report import _write
    from gpu_tui.settings import FleetError

    (tmp_path / "a.md").write_text("old")
    with pytest.raises(FleetError, match="not written over") as caught:
        _write(tmp_path, {"a.md": "new"})
    assert "--out" in (caught.value.next or "")
    assert (tmp_path / "a.md").read_text() == "old"


def test_a_fleet_file_whose_path_is_no_text_is_written_as_it_is(tmp_path: Path) -> None:
    from gpu_tui.cli.report import _write

    _write(tmp_path, {"b.md": os.fsdecode(b"--fleet f-\xff.yaml")})
    assert (tmp_path / "b.md").read_bytes() == b"--fleet f-\xff.yaml"


def test_the_line_for_cron_names_the_program_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cron's PATH has no ~/.local/bin and no venv, and a % ends its line."""
    program = tmp_path / "50% done" / "gpu-tui"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(program), "report"])
    text = handover(
        one(CELLS), {}, Mask(), version="1", fleet="/root/f.yaml", program=own_command()
    )  # fmt: skip
    (line,) = [line for line in text.splitlines() if line.startswith("*/10")]
    there = str(program).replace("%", r"\%")
    assert line == f"*/10 * * * * '{there}' check --alert --fleet ~/f.yaml >/dev/null"
    monkeypatch.setattr("sys.argv", ["/x/gpu_tui/__main__.py"])
    monkeypatch.setenv("PATH", "")
    assert own_command() == (sys.executable, "-m", "gpu_tui")
