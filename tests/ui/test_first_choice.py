"""Which box is shown before anybody chose one: who needs a human and has something to show; a choice is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import LinkState
from gpu_tui.core.readings import Memory
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.board import SETTLE
from gpu_tui.ui.screens.cockpit import Cockpit
from screenshots.builders import NOW, SceneStore, finding, fleet, read, tracks
from screenshots.scene_edges import connecting

Make = Callable[..., CockpitApp]
LIVE, OFF, WAITS = LinkState("live", NOW), LinkState("off", NOW), LinkState("connecting", NOW)


def boxes(*links: LinkState) -> list[InstanceView]:
    """autodl-1 needs a human most, autodl-4 least."""
    return [
        replace(
            one,
            link=link,
            tracks=tracks(memory=read(Memory("cgroup2", 1, 2, None, 0))) if link.live else tracks(),
            verdict={"off": Verdict.OFF, "live": Verdict.RUNNING}.get(link.state, Verdict.CANNOT_TELL),
            findings=(finding("clock", Severity.SERIOUS, one.name, "it ends", "clock", ago=1),) * (4 - n),
        )
        for n, (one, link) in enumerate(zip(connecting().fleet.instances, links, strict=True))
    ]  # fmt: skip


async def shown(app: CockpitApp, pilot: Pilot[None], store: SceneStore, *links: LinkState) -> str:
    store.become(fleet(*boxes(*links)))
    app._tick()
    await pilot.pause()
    assert isinstance(app.screen, Cockpit)
    assert app.screen.selected is not None
    return app.screen.selected


async def test_a_stopped_box_does_not_fill_the_panes(cockpit: Make, clock: ManualClock) -> None:
    store = SceneStore(fleet(*boxes(WAITS, WAITS, WAITS, WAITS)))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert await shown(app, pilot, store, OFF, WAITS, LIVE, WAITS) == "autodl-3"
        # One that needs a human more has answered, and nobody has chosen yet.
        assert await shown(app, pilot, store, OFF, LIVE, LIVE, LIVE) == "autodl-2"
        # Everyone had a say, and the logs had their time: what is as serious moves nothing any more.
        clock.advance(SETTLE)
        assert await shown(app, pilot, store, OFF, LIVE, LIVE, LIVE) == "autodl-2"
        assert await shown(app, pilot, store, LIVE, LIVE, LIVE, LIVE) == "autodl-2"


@pytest.mark.parametrize(("key", "then"), [("", "autodl-4"), ("z", "autodl-2")])
async def test_who_touched_nothing_is_shown_what_became_worse(
    cockpit: Make, clock: ManualClock, key: str, then: str
) -> None:
    store = SceneStore(fleet(*boxes(OFF, LIVE, LIVE, LIVE)))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        clock.advance(SETTLE)
        assert await shown(app, pilot, store, OFF, LIVE, LIVE, LIVE) == "autodl-2"
        await pilot.press(*filter(None, [key]))
        *others, last = boxes(OFF, LIVE, LIVE, LIVE)
        gone = finding("crashed", Severity.FATAL, last.name, "it crashed", "crash", ago=1)
        store.become(fleet(*others, replace(last, findings=(gone,))))
        app._tick()
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert app.screen.selected == then


async def test_what_a_person_chose_stays(cockpit: Make) -> None:
    store = SceneStore(fleet(*boxes(WAITS, WAITS, WAITS, WAITS)))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("J", "J")
        assert await shown(app, pilot, store, OFF, LIVE, WAITS, LIVE) == "autodl-3"


async def test_who_opens_a_pane_keeps_what_is_in_it(cockpit: Make) -> None:
    store = SceneStore(fleet(*boxes(WAITS, WAITS, WAITS, WAITS)))
    app = cockpit(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert await shown(app, pilot, store, OFF, WAITS, LIVE, WAITS) == "autodl-3"
        await pilot.press("3")
        assert await shown(app, pilot, store, OFF, LIVE, LIVE, LIVE) == "autodl-3"
