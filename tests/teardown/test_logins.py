"""Who else is on the box: by `who`, by the table, or not known."""

from __future__ import annotations

import pytest
from rented import RELEASE, TERMINATE, Scene, rest, until

from gpu_tui.core.fleet import Roots
from gpu_tui.core.readings import Process
from gpu_tui.teardown.box import survey
from gpu_tui.teardown.logins import logins

GNU = """known
ann      pts/0        2026-11-21 23:00 (192.0.2.7)
bob      tty1         Nov 21 23:00
"""
BUSYBOX = """known
USER\t\tTTY\t\tIDLE\tTIME\t\t HOST
root            pts/3           00:01   Nov 21 10:00:00  192.0.2.7
"""


def _sshd(*lines: str) -> list[Process]:
    return [Process(n, 1, "sshd", (line,), "S") for n, line in enumerate(lines, 10)]


@pytest.mark.parametrize(
    ("told", "table", "found"),
    [
        (GNU, [], ("ann on pts/0 (192.0.2.7)", "bob on tty1")),
        (BUSYBOX, [], ("root on pts/3",)),
        ("known", [], ()),
        ("", [], None),
        ("who: not found", [], None),
        ("", _sshd("sshd: root@notty", "sshd: ann@pts/1", "sshd-session: bob@pts/2"),
         ("ann on pts/1", "bob on pts/2")),
        (GNU, _sshd("sshd: ann@pts/0"), ("ann on pts/0 (192.0.2.7)", "bob on tty1")),
        ("known\nev\x1b[2Jil pts/9 10:00 (\u202ehost)", [], ("ev\ufffd[2Jil on pts/9 (\ufffdhost)",)),
    ],
)  # fmt: skip
def test_what_is_told_and_what_shows_itself(
    told: str, table: list[Process], found: tuple[str, ...] | None
) -> None:
    assert logins(told, table) == found


async def test_the_box_is_asked(scene: Scene) -> None:
    """On the real table: `who` as it is here, with or without a record."""
    assert scene.connection
    scene.set(roots=Roots())
    scene.box.sshd.program("who", "#!/bin/sh\necho 'ann pts/44 2026-11-21 23:00 (192.0.2.7)'\n")
    seen = await survey(scene.connection, scene.instance)
    assert seen.logins
    assert "ann on pts/44 (192.0.2.7)" in seen.logins


async def test_who_logs_in_after_the_plan_shuts_the_gate(scene: Scene) -> None:
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "ready")
    assert TERMINATE.verb == view.verb != RELEASE.verb
    scene.clock.advance(3.0)
    scene.box.process(77, ["sshd: bob@pts/5"])
    await climb.confirm(view.phrase)
    last = await rest(views)
    assert last.closed_because == "logged in since the plan: bob on pts/5"
    assert scene.server.calls == []
