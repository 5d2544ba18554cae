"""The first start: a screen before there is a fleet, and one real look at each host that is taken."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui import settings
from gpu_tui.core.metrics import GPUS, SIGNS
from gpu_tui.core.profile import FALLBACK_PLATFORM, LOGIN_NODE, Profile
from gpu_tui.core.speech import counted, say
from gpu_tui.state.settled import settled
from gpu_tui.state.views import InstanceView, signs_of
from gpu_tui.wiring.fleet import open_fleet
from gpu_tui.wiring.looks import looks_of
from gpu_tui.wiring.process import run

if TYPE_CHECKING:  # `check` and `triage` must not pay for the screen
    from gpu_tui.ui.first_run import Candidate, Picked, Seen

LIMIT = 12.0  # seconds for one look


def run_first(
    candidates: Sequence[Candidate], profiles: Mapping[str, Profile], file: str
) -> Picked | None:
    """Ask a person what to watch. None where they left; a signal that ended it ends the program with its code."""
    from gpu_tui.ui.first_run import FirstRun, platforms_first

    config = settings.load_config(os.environ)
    looks = looks_of(config, os.environ)
    app = FirstRun(
        candidates,
        platforms_first(profiles),
        look_at,
        file=file,
        themes=looks["themes"],
        theme=looks["theme"],
        filters=looks["filters"],
    )
    picked = run(app.run_async())
    if app.return_code:
        raise SystemExit(app.return_code)
    return picked


async def look_at(host: str, platform: str) -> Seen:
    """Log in as the cockpit would, ask once, and say what came of it. Nothing is asked of the person."""
    guessed = None if platform == FALLBACK_PLATFORM else platform
    fleet = settings.fleet_of_hosts([host], guessed)
    with tempfile.TemporaryDirectory(prefix="gpu-tui-") as scratch:
        async with open_fleet(fleet, read_only=True, state=Path(scratch)) as (room, tap):
            ends = room.clock.boot() + LIMIT
            while True:
                view = room.store.view(room.clock.now()).instances[0]
                left = ends - room.clock.boot()
                if left <= 0 or settled(view):
                    return seen_of(view)
                await tap.next(left)


def seen_of(view: InstanceView) -> Seen:
    """One look in a few words, and a sentence."""
    from gpu_tui.ui.first_run import Seen
    from gpu_tui.ui.text.gpus import GPU_ERRORS

    link, host = view.link, view.instance.ssh.host
    if not link.live:
        why = link.error or f"{host} did not answer in {LIMIT:.0f} s"
        told = f"{_big(why)}. {_big(link.next or f'try: ssh {host}')}."
        return Seen("level-act", f"✗ {say(link.state)}", told)
    took = f", {link.latency * 1000:.0f} ms" if link.latency is not None else ""
    platform, shown = _shown(view)
    table = view.track(GPUS).value
    if table is not None and table.gpus:
        names = sorted({gpu.name for gpu in table.gpus})
        words = f"✓ {len(table.gpus)} × {' + '.join(names)}{took}"
        cards = counted(len(table.gpus), "card")
        told = say("{host} answers and has {cards}.", host=host, cards=cards)
        return Seen("level-ok", words, f"{told}{shown}", platform)
    if platform == LOGIN_NODE:  # a login node needs none
        words = say("✓ answers, a login node of Slurm")
        told = say("{host} answers; the cards are on the nodes behind it.", host=host)
        return Seen("level-ok", f"{words}{took}", f"{told}{shown}", platform)
    kind = table.error.kind if table is not None and table.error is not None else ""
    reason = say(GPU_ERRORS.get(kind, "nvidia-smi has not answered yet"))
    words = say("▲ answers, {reason}", reason=reason)
    told = say("{host} answers; it shows no card: {reason}.", host=host, reason=reason)
    return Seen("level-watch", f"{words}{took}", f"{told}{shown}", platform)


def _shown(view: InstanceView) -> tuple[str | None, str]:
    """The platform that the box shows, if it is one, and a sentence of how."""
    signs = signs_of(view.track(SIGNS).value, view.track(GPUS).value)
    if len({sign.platform for sign in signs}) != 1:
        return None, ""
    one = signs[0]
    return one.platform, " " + say(
        "It looks like {platform}: it has {sign}.", platform=one.platform, sign=one.name
    )


def _big(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
