"""Tasks of a step that srun reports as ended, and the reports of the others. Lines as Slurm 22.05.8 printed them."""

from __future__ import annotations

import pytest
from test_alarms import TRACE, only, steps, told

from gpu_tui.core.findings import Severity
from gpu_tui.core.task_exits import TaskExits

BOOM = "RuntimeError: shape mismatch\n"


def epochs(first: int, last: int, label: str = "") -> str:
    return "".join(f"{label}Epoch {n}/60 loss: 2.{n}\n" for n in range(first, last))


def ended(words: str = "Exited with exit code 1", tasks: str = "task 1") -> str:
    return f"srun: error: vm: {tasks}: {words}\n"


DEATHS = (
    "Exited with exit code 1",
    "Killed",
    "Terminated",
    "Segmentation fault",
    "Out Of Memory",
    "Aborted (core dumped)",
)


@pytest.mark.parametrize("words", DEATHS)
@pytest.mark.parametrize("live", [True, False])
def test_the_reports_of_other_tasks_take_no_death_back(words: str, *, live: bool) -> None:
    alarms = told(epochs(1, 2) + TRACE + BOOM + ended(words) + epochs(1, 40), live=live)
    failure = alarms.failure()
    assert failure is not None
    assert (failure.severity, failure.past, failure.anew) == (Severity.FATAL, False, False)
    assert not any(alarm.anew for alarm in alarms.shown())


def test_srun_reports_the_end_before_the_task_says_why() -> None:
    """Its own words and those of its tasks come by two ways."""
    alarm = only(told(epochs(1, 2) + ended() + epochs(2, 3) + TRACE + BOOM, live=False))
    assert (alarm.text, alarm.severity) == (BOOM.strip(), Severity.FATAL)


def test_the_cause_of_an_end_is_the_task_that_failed_first() -> None:
    """The log of a script that prints the exit of `srun --kill-on-bad-exit`."""
    text = (
        ended()
        + "srun: launch/slurm: _step_signal: Terminating StepId=2.0\n"
        + ended("Terminated", "task 0")
        + "srun: Force Terminated StepId=2.0\nFAILED 143\n"
    )
    failure = told(text, live=False).failure()
    assert failure is not None
    assert (failure.kind, failure.text) == ("crashed", ended().strip())


@pytest.mark.parametrize("label", ["", "0: "])
def test_the_first_epoch_of_another_task_is_no_new_run(label: str) -> None:
    """It is between the exception and srun's report, as it does where stdout is not buffered by line."""
    one = "1: " if label else ""
    trace = "".join(f"{one}{line}\n" for line in (TRACE + BOOM).splitlines())
    text = epochs(1, 2, one) + trace + epochs(1, 2, label) + ended() + epochs(2, 18, label)
    alarm = only(told(text, live=False))
    assert (alarm.severity, alarm.past, alarm.anew) == (Severity.FATAL, False, False)
    assert "shape mismatch" in alarm.text


def test_a_task_of_its_own_log_is_not_taken_back_by_the_log_of_another() -> None:
    alarms = told(
        ("1.log", epochs(1, 3) + TRACE + BOOM), ("b.out", ended()), ("0.log", epochs(1, 40))
    )
    failure = alarms.failure()
    assert failure is not None
    assert (failure.text, failure.past) == (BOOM.strip(), False)


def test_the_label_of_a_line_says_how_many_tasks_there_are() -> None:
    labelled = "1: Epoch 1/60 loss: 2.3\n0: Epoch 1/60 loss: 2.3\n"
    alarms = told(labelled + ended(tasks="task 0") + epochs(2, 30, "1: "))
    assert alarms.failure() is not None


@pytest.mark.parametrize(
    "death",
    [
        ended(tasks="task 0"),
        ended(tasks="tasks 0-1"),
        ended() + ended(tasks="task 0"),
        # --kill-on-bad-exit
        ended()
        + "srun: launch/slurm: _step_signal: Terminating StepId=2.0\n"
        + ended("Terminated", "task 0")
        + "srun: Force Terminated StepId=2.0\n",
    ],
)
def test_a_step_that_is_started_again_after_all_its_tasks_ended_is_past(death: str) -> None:
    text = steps(1, 9) + TRACE + BOOM + death + steps(9, 40)
    alarms = told(text, live=False)
    assert alarms.failure() is None
    assert alarms.exited is None
    assert {alarm.severity for alarm in alarms.shown()} == {Severity.WARN}


def test_a_run_that_begins_again_from_its_first_epoch_is_another_one() -> None:
    alarms = told(epochs(1, 20) + TRACE + BOOM + ended() + epochs(1, 30), live=False)
    assert alarms.failure() is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOOM + ended(tasks="task 0"), True),
        (ended("Segmentation fault"), True),
        (ended("Terminated"), False),  # it was ended from outside
        # A helper that ends with the script.
        (
            "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.\n"
            "slurmstepd-vm: error: *** STEP 11.1 ON vm CANCELLED AT 2026-11-28T14:52:51 ***\n"
            + ended("Killed", "task 0"),
            False,
        ),
        (BOOM, False),
        (epochs(1, 9), False),
    ],
)
def test_srun_is_quoted_where_a_task_failed_by_itself(text: str, *, said: bool) -> None:
    assert (told(text).exited is not None) is said


@pytest.mark.parametrize(
    "tasks",
    ["9" * 30, "0-999999999999", "1-" * 40, "-", "0-999999,", "5-2", ",".join(["0-9999"] * 30)],
)
def test_any_number_of_tasks_is_bounded(tasks: str) -> None:
    exits = TaskExits()
    exits.read_line(ended(tasks=f"tasks {tasks}"))
    exits.read_line("srun: error: n[1-3]: tasks 0,3: Exited with exit code 1")
    assert exits.partial in (True, False)
    assert len(exits._gone) <= 5_000


@pytest.mark.parametrize("node", ["vm", "gpu12", "dgx-cuda01"])
@pytest.mark.parametrize("tasks", ["task 5", "tasks 0,2-3"])
def test_memory_that_srun_misses_is_the_hosts_whatever_its_node_is_called(
    node: str, tasks: str
) -> None:
    assert only(told(f"srun: error: {node}: {tasks}: Out Of Memory\n")).kind == "host_oom"


TORCHRUN = (
    "E1128 15:02:11.123456 4711 torch/distributed/elastic/multiprocessing/api.py:869] "
    "failed (exitcode: 1) local_rank: 1 (pid: 4712) of binary: /usr/bin/python3\n"
)


def test_the_first_epoch_of_another_rank_of_torchrun_is_no_new_run() -> None:
    crash = epochs(1, 2) + "[rank1]: RuntimeError: shape mismatch\n"
    failure = told(crash + epochs(1, 2) + TORCHRUN, live=False).failure()
    assert failure is not None
    assert (failure.text, failure.anew) == ("[rank1]: RuntimeError: shape mismatch", False)
    # It ended all ranks and started them again.
    assert told(crash + TORCHRUN + epochs(1, 9), live=False).failure() is None
