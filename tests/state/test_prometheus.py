"""The metrics text, judged by Prometheus' own parser: names, units, escapes, and what is left out."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpu_tui.core import metrics
from gpu_tui.core.account import Account, Listed
from gpu_tui.core.fleet import LinkState, Money
from gpu_tui.core.readings import Gpu, GpuTable
from gpu_tui.core.sample import Failure, FailureKind, Reading, Track
from gpu_tui.core.sweep import CellState
from gpu_tui.state.prometheus import FAMILIES, exposition
from gpu_tui.state.views import FleetView, InstanceView
from screenshots.builders import NOW
from screenshots.scenes import sweep

Samples = dict[str, list[tuple[dict[str, str], float]]]


def parsed(view: FleetView) -> Samples:
    found: Samples = defaultdict(list)
    for family in text_string_to_metric_families(exposition(view, "1.2.3")):
        assert family.documentation
        for sample in family.samples:
            found[sample.name.removeprefix("gpu_tui_")].append((sample.labels, sample.value))
    return found


def scene() -> FleetView:
    return sweep().view(NOW)


def only(view: InstanceView) -> FleetView:
    return replace(scene(), instances=(view,), findings=(), clocks=())


def test_every_family_has_base_units_and_no_sample_comes_twice() -> None:
    text = exposition(scene(), "1.2.3")
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
    for name, (kind, _) in FAMILIES.items():
        assert name.endswith("_total") == (kind == "counter")
        assert not {"ms", "mb", "gb", "mib", "gib", "percent", "mhz", "hours"} & set(
            name.split("_")
        )
    assert parsed(scene()).keys() <= FAMILIES.keys()


def test_every_instance_has_one_verdict_and_says_whether_it_is_up() -> None:
    found = parsed(scene())
    names = {view.name for view in scene().instances}
    assert {labels["instance"] for labels, _ in found["instance_up"]} == names
    for name in names:
        held = [
            labels["verdict"]
            for labels, value in found["instance_verdict"]
            if labels["instance"] == name and value == 1
        ]
        assert held == [scene()[name].verdict.value]


def test_what_is_stale_or_unknown_has_no_sample_and_what_is_zero_has() -> None:
    base = next(view for view in scene().instances if view.link.live)
    gpu = Gpu(0, "H100", "GPU-1", utilization=0.0, memory_used=None, memory_total=1 << 30)
    fresh = Track().follow(Reading(GpuTable((gpu,)), NOW, 2.0))
    view = replace(base, tracks={metrics.GPUS.name: fresh}, taken_at=NOW)
    found = parsed(only(view))
    assert [value for _, value in found["gpu_utilization_ratio"]] == [0.0]
    assert "gpu_memory_used_bytes" not in found
    assert "memory_used_bytes" not in found

    stale = parsed(only(replace(view, taken_at=NOW + 600)))
    assert "gpu_utilization_ratio" not in stale
    hung = fresh.follow(Failure(FailureKind.HUNG, "it hangs", NOW + 1))
    assert "gpu_utilization_ratio" not in parsed(
        only(replace(view, tracks={metrics.GPUS.name: hung}, taken_at=NOW + 600))
    )
    lost = replace(view, link=LinkState("unreachable"))
    assert parsed(only(lost))["instance_up"][0][1] == 0
    assert "gpu_utilization_ratio" not in parsed(only(lost))


@pytest.mark.parametrize("name", ['a"b\\c', "x\ny{}", "名字\u202e", "e" * 5_000])
def test_a_cell_with_a_hostile_name_stays_one_label(name: str) -> None:
    base = next(view for view in scene().instances if view.queue.running)
    running = next(cell for cell in base.queue.cells if cell.state is CellState.RUNNING)
    cell = replace(running, name=name, loss=math.nan)
    view = replace(base, queue=replace(base.queue, cells=(cell, replace(cell, index=2))))
    ((labels, value),) = parsed(only(view))["cell_loss"]
    assert math.isnan(value)
    assert labels["cell"].isprintable()
    assert len(labels["cell"]) <= 121


def test_a_queue_counts_its_cells_by_state() -> None:
    view = next(view for view in scene().instances if view.queue.cells)
    found = parsed(only(view))
    assert sum(value for _, value in found["queue_cells"]) == len(view.queue.cells)
    assert "queue_cells" not in parsed(only(replace(view, queue=replace(view.queue, cells=()))))


def test_accounts_tell_their_money_and_their_strangers() -> None:
    stranger = Listed("runpod", "7h9k", "forgotten", "running", Money(2.0, "USD"))
    account = Account(
        "runpod:RUNPOD_API_KEY",
        "runpod",
        read_at=NOW,
        listed=(stranger,),
        complete=True,
        balance=Money(-3.5, "USD"),
    )
    view = replace(scene(), accounts=(account,), unlisted=(stranger,))
    found = parsed(view)
    assert found["account_balance"] == [({"account": account.key, "currency": "USD"}, -3.5)]
    assert found["account_unlisted_instances"][0][1] == 1
    assert "account_spend_per_hour" not in found
    torn = replace(view, accounts=(replace(account, complete=False),))
    assert "account_unlisted_instances" not in parsed(torn)
