"""Every crafted file gets exactly its verdict, runs nothing, and hurts nobody but its own reader."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import zoo

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.proof import proves
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.verify import load_all

GROWTH = 64 << 20  # bytes that this process may grow by while others read gigabytes of claims


@dataclass(frozen=True)
class Visit:
    """What came of the whole zoo."""

    where: Path
    verdicts: dict[str, FileVerdict]
    how: str
    grown: int


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    where = tmp_path_factory.mktemp("zoo")
    words = [sys.executable, "-W", "ignore", zoo.__file__, str(where)]
    subprocess.run(words, check=True)
    manifest = local_tree(where).manifest
    how: list[str] = []
    before = _resident()
    verdicts = asyncio.run(load_all(where, manifest, told=how.append))
    grown = _resident() - before
    return Visit(where, {verdict.path: verdict for verdict in verdicts}, how[0], grown)


@pytest.mark.parametrize("path", zoo.ZOO)
def test_each_animal_gets_its_verdict(visit: Visit, path: str) -> None:
    load, words = zoo.ZOO[path]
    verdict = visit.verdicts[path]
    said = "; ".join((verdict.detail, *verdict.warnings))
    assert (verdict.load, said) == (load, said)
    assert words in said
    assert said.isprintable()
    assert "weights_only" not in said  # nobody is told to switch the protection off


def test_the_zoo_is_whole_and_nothing_in_it_was_run(visit: Visit) -> None:
    assert visit.verdicts.keys() == zoo.ZOO.keys()
    assert len(zoo.ZOO) > 100
    assert not (visit.where / "owned").exists()


def test_this_process_did_not_grow(visit: Visit) -> None:
    assert visit.grown < GROWTH


def test_what_is_refused_or_failed_proves_nothing(visit: Visit) -> None:
    for path, verdict in visit.verdicts.items():
        if verdict.load in ("refused", "failed"):
            assert not proves(verdict), path


def test_nobody_may_allow_what_runs_programs(visit: Visit) -> None:
    offered = {path: v.needs for path, v in visit.verdicts.items() if v.needs}
    assert offered == {
        "module.pt": offered["module.pt"],
        "whole/best.pth": offered["module.pt"],  # in vain: no dict of weights comes of it
        "dataclass.pt": ("__main__.Config",),
    }
    assert "torch.nn.modules.linear.Linear" in offered["module.pt"]


def test_the_evidence_says_what_read_it(visit: Visit) -> None:
    assert visit.how.startswith("torch 2.")
    assert "network" in visit.how


async def test_an_allowed_name_is_a_hull_and_runs_nothing(visit: Visit) -> None:
    manifest = local_tree(visit.where).manifest
    chosen = [
        f
        for f in manifest.files
        if f.path in ("dataclass.pt", "module.pt", "rce-eval.pt", "whole/best.pth")
    ]
    names = frozenset(
        (*visit.verdicts["module.pt"].needs, "__main__.Config", "builtins.eval", "posix.system")
    )
    verdicts = await load_all(visit.where, type(manifest).of(chosen), allow=names)
    assert {v.path: v.load for v in verdicts} == {
        "dataclass.pt": "ok",
        "module.pt": "ok",
        "whole/best.pth": "failed",
        "rce-eval.pt": "failed",  # the call came to nothing, and no weight is in it
    }
    assert not (visit.where / "owned").exists()
