"""What every room's tests share."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from boxes import Sshd
from heeded import heed_signals
from hypothesis import settings
from left_behind import pytest_runtest_makereport, pytest_runtest_protocol  # noqa: F401
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

settings.register_profile(
    "untimed", deadline=None
)  # how long an example takes, the machine decides
settings.load_profile("untimed")


# Tests whose boxes show this machine's own processes: one's queue must not look like another's.
PROCESSES = "processes"
REAL_PROCESSES = (
    "tests/e2e/", "tests/faults/", "tests/slurm/",
    # A shell in the dead mount of the one would hang what the other asks of every shell.
    "tests/collect/test_dead_mounts.py", "tests/collect/test_shells_probe.py",
)  # fmt: skip

# Four minutes, three, and one each, most of it waiting.
LONGEST = (
    PROCESSES,
    "tests/collect/test_sampler.py",
    *(
        "tests/collect/test_follow.py",
        "tests/teardown/test_runner.py",
        "tests/ui/test_teardown_screen.py",
    ),
)


class OneWorkerPerFile(LoadScopeScheduling):
    """A file's tests stay in one worker, and so do all that see the machine's process table."""

    def _split_scope(self, nodeid: str) -> str:
        return PROCESSES if nodeid.startswith(REAL_PROCESSES) else nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        """What takes a worker longest is begun first, or the others would wait for it at the end."""
        for scope in LONGEST:
            if scope in self.workqueue:
                self.workqueue.move_to_end(scope, last=False)
                break
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """What `pytest -n` shares the tests out by."""
    return OneWorkerPerFile(config, log)


def pytest_collection_finish() -> None:
    """Thirteen thousand tests and all they import stay: the collector need not look through them ever again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _signals_as_from_a_terminal() -> None:
    """The programs that tests start end as those of a user, however the tests were started."""
    heed_signals()


@pytest.fixture(autouse=True, scope="session")
def plain_environment() -> Iterator[None]:
    """Colours, sizes, agents and fleets of the developer's own shell must not reach a test."""
    with pytest.MonkeyPatch.context() as patch:
        # Temporary directories are in memory on many machines, and no test but its own is about that.
        patch.setattr("gpu_tui.teardown.mounts.MEMORY", frozenset())
        for name in (
            "NO_COLOR",
            "TEXTUAL_THEME",
            "SSH_AUTH_SOCK",
            "GPU_TUI_FLEET",
            "GPU_TUI_READONLY",
            "COLUMNS",
            "LINES",
        ):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def make_box(tmp_path: Path) -> Iterator[Callable[..., Sshd]]:
    """Starts as many real sshd boxes as a test asks for and stops them all."""
    made: list[Sshd] = []

    def make(name: str = "box", **options: object) -> Sshd:
        sshd = Sshd(tmp_path / name, **options)  # type: ignore[arg-type]
        made.append(sshd)
        return sshd.start()

    yield make
    for sshd in made:
        sshd.close()


@pytest.fixture
def box(make_box: Callable[..., Sshd]) -> Sshd:
    """One running box."""
    return make_box()
