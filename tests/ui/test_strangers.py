"""A box that bills and that nobody named is on the first screen, above all rows, at every size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpu_tui.core.findings import Finding, Severity
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.findings import strangers
from screenshots.builders import NOW
from screenshots.scenes import sweep

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


def bill(name: str, severity: Severity = Severity.FATAL) -> Finding:
    text = f"you are paying for this one: RunPod: {name}\x1b[2J, running, 0.69 USD/h"
    return Finding("unlisted_instance", severity, f"runpod:{name}", text, "api", "end it", NOW, NOW)


@pytest.mark.parametrize("size", [(80, 24), (160, 45), (50, 15)])
async def test_who_bills_and_is_in_no_file_stands_on_the_first_screen(
    size: tuple[int, int], cockpit: Make, text_of: Read
) -> None:
    store = sweep()
    app = cockpit(store)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "you are paying" not in text_of(app)
        found = (bill("old"), *store.fleet.findings)
        store.become(replace(store.fleet, findings=found))
        app._tick()
        await pilot.pause()
        lines = text_of(app).splitlines()
        place = next(n for n, text in enumerate(lines) if "you are paying for this one" in text)
        assert place <= 2
        if size == (80, 24):
            assert all(one.name in text_of(app) for one in store.fleet.instances)
        assert "\x1b[2J" not in "".join(lines)
        store.become(replace(store.fleet, findings=found[1:]))  # acknowledged, or ended
        app._tick()
        await pilot.pause()
        assert "you are paying" not in text_of(app)


def test_many_leave_room_for_the_fleet_and_a_free_one_is_not_loud() -> None:
    view = sweep().view(NOW)
    many = tuple(bill(f"b{n}") for n in range(9))
    rows = strangers(replace(view, findings=many), 40)
    assert [row.cell_len <= 40 for row in rows] == [True] * 3
    assert rows[-1].plain.strip() == "and 7 more (f)"
    assert strangers(replace(view, findings=(bill("free", Severity.WARN),)), 80) == []
    ours = replace(bill("x"), instance=view.instances[0].name)
    assert strangers(replace(view, findings=(ours,)), 80) == []
