"""The sh program that asks Slurm, against clients of a release of our choice."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell_box import ShellBox
from test_runners import asked

from gpu_tui.core import metrics
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.sample import Absent, Failure, Reading

# The accounts of one job, in whatever columns are asked for. REFUSED is a pattern of `case`.
SACCT = r"""#!/bin/sh
echo call >>"$HOME/calls"
while [ "$1" != -o ]; do
    case $1 in --delimiter=*) mark=${1#*=} ;; esac
    shift
done
case $2 in REFUSED)
    echo 'sacct: error: Invalid field requested: "x"' >&2
    exit 1 ;;
esac
row=
for name in $(echo "$2" | tr , ' '); do
    case $name in
        JobID) row="$row${row:+$mark}7" ;;
        State) row="$row${mark}FAILED" ;;
        ExitCode) row="$row${mark}3:0" ;;
        *) row="$row${row:+$mark}x" ;;
    esac
done
echo "$2" | sed "s/,/$mark/g"
echo "$row"
"""


@pytest.mark.parametrize(
    ("refused", "calls"), [("none", 1), ("*StdOut*", 2), ("*SubmitLine*", 3), ("*WorkDir*", 4)]
)
async def test_an_older_sacct_is_asked_for_fewer_columns(
    tmp_path: Path, refused: str, calls: int
) -> None:
    box = ShellBox(tmp_path)
    box.program("squeue", "#!/bin/sh\n")
    box.program("sacct", SACCT.replace("REFUSED", refused))
    async with asked(box, "dash", scheduler="slurm") as inbox:
        event = await inbox.metric(metrics.SLURM.name)
    assert isinstance(event.sample, Reading), event.sample
    table = event.sample.value
    assert isinstance(table, JobTable)
    assert [(job.id, job.exit_code) for job in table.jobs] == [("7", 3)], table
    assert len((box.home / "calls").read_text().splitlines()) == calls


@pytest.mark.parametrize("known", [False, True])
async def test_a_mistyped_user_is_no_cluster_without_jobs(tmp_path: Path, *, known: bool) -> None:
    box = ShellBox(tmp_path)
    said = "" if known else "echo 'squeue: error: Invalid user: bobb' >&2; echo >&2\n"
    box.program("squeue", f"#!/bin/sh\n{said}")
    box.program("sacct", "#!/bin/sh\nexit 1\n")
    async with asked(box, "dash", scheduler="slurm") as inbox:
        sample = (await inbox.metric(metrics.SLURM.name)).sample
    if known:
        assert isinstance(sample, Reading)
    else:
        assert isinstance(sample, Absent | Failure)
        assert "squeue knows no user" in sample.why
