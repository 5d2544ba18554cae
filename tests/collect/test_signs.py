"""Which platform a box shows to be, read by the real sampler program under every shell."""

from __future__ import annotations

import pytest
from shell_box import SHELLS, ShellBox
from test_sampler import sampling

from gpu_tui.core.profile import Sign
from gpu_tui.core.sample import Absent, Reading


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(tmp_path) -> ShellBox:  # type: ignore[no-untyped-def]
    return ShellBox(tmp_path)


async def test_what_the_containers_first_process_and_its_disks_show(
    box: ShellBox, shell: str
) -> None:
    there = Sign("autodl", "file", str(box.file("data/it's here", "").parent))
    pod, odd = Sign("runpod", "env", "RUNPOD_POD_ID"), Sign("vastai", "env", "VAST_LABEL")
    others = (
        Sign("slurm", "file", str(box.root / "nowhere")),
        Sign("runpod", "env", "POD_ID"),  # only the end of a name
        Sign("matpool", "env", "EMPTY"),
        Sign("lambda", "env", "VALUE"),  # stands in a value
    )
    box.file("proc/1/environ", "HOME=/\0RUNPOD_POD_ID=abc\0EMPTY=\0A=VALUE=1\0VAST_LABEL=C.1\0")
    signs = (there, pod, odd, *others)
    async with sampling(box, shell, box.group(signs=signs)) as inbox:
        sample = (await inbox.all_of({"signs"}))["signs"].sample
    assert isinstance(sample, Reading)
    assert sample.value == (there, pod, odd)


async def test_a_box_that_shows_nothing(box: ShellBox, shell: str) -> None:
    signs = (Sign("runpod", "env", "RUNPOD_POD_ID"),)
    async with sampling(box, shell, box.group(signs=signs)) as inbox:
        sample = (await inbox.all_of({"signs"}))["signs"].sample
    assert isinstance(sample, Absent)


def test_nothing_is_asked_where_the_platform_is_named(box: ShellBox) -> None:
    assert "signs" not in {probe.metric for probe in box.group().probes}
