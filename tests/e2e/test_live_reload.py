"""Edits of the fleet file are picked up while it is watched; a broken one changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from boxes import Sshd
from test_check_real_box import write_fleet

from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet
from gpu_tui.state.views import FleetView
from gpu_tui.wiring import Room, Tap, open_fleet


async def seen(room: Room, tap: Tap, condition: Callable[[FleetView], bool]) -> FleetView:
    """The first view for which `condition` holds."""
    async with asyncio.timeout(60):
        while not condition(view := room.store.view(room.clock.now())):
            await tap.next(1.0)
    return view


async def test_a_fleet_file_is_read_again(box: Sshd, tmp_path: Path) -> None:
    path = write_fleet(tmp_path, box)
    good = path.read_text()
    fleet = load_fleet(path, load_profiles())
    async with open_fleet(fleet, state=tmp_path / "state", reload_from=path) as (room, tap):
        await seen(room, tap, lambda view: view["lab-1"].link.live)
        kept = room.supervisor.connection("lab-1")

        path.write_text(good.replace("instances:", "instances: ["))
        told = "the last good fleet stays"
        view = await seen(room, tap, lambda view: any(told in note for note in view.notes))
        assert view["lab-1"].link.live

        write_fleet(tmp_path, box, {"name": "second", "host": "ssh://root@127.0.0.1:9"})
        view = await seen(room, tap, lambda view: len(view.instances) == 2)
        await seen(room, tap, lambda view: view["second"].link.state == "refused")
        assert room.supervisor.connection("lab-1") is kept

        path.write_text(good.replace("lab-1", "renamed"))
        await seen(
            room,
            tap,
            lambda view: (
                [i.name for i in view.instances] == ["renamed"] and view["renamed"].link.live
            ),
        )
        assert room.supervisor.connection("lab-1") is None
