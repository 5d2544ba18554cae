"""A cockpit over a scene with one ladder that is ready, in a real terminal; says at the end what was asked of it."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC
from pathlib import Path

from gpu_tui.resources import themes_dir
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.theme_file import load_themes
from gpu_tui.wiring import SystemClock
from screenshots.builders import AUTODL, PROFILES
from screenshots.fake_teardown import ScriptedLadder, ScriptedTeardown
from screenshots.scenes import ladder_ready, sweep


def main(said: Path) -> None:
    clock = SystemClock()
    ladder = ScriptedLadder([ladder_ready(expires_at=clock.boot() + 600)])
    app = CockpitApp(
        sweep(), clock, control=None, teardown=ScriptedTeardown(AUTODL.teardown, ladder),
        profiles=PROFILES, themes=load_themes(themes_dir()), theme="night", zone=UTC,
    )  # fmt: skip
    asyncio.run(app.run_async())
    said.write_text(repr(ladder.asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
