"""Our own looking at a box is no work there, and nothing passes for it: real servers, real process tables."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from container import SERVERS, STARTS, USER, Container
from rented import RentedBox, Scene, until
from runpod_server import RunPodServer

from gpu_tui.collect.follow import follow
from gpu_tui.collect.sampler import plan, sample_group
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogOpened, Sampled
from gpu_tui.core.fleet import Instance, Roots
from gpu_tui.core.ladder import GateView, Rung
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Process
from gpu_tui.teardown.box import Survey, survey, work
from gpu_tui.teardown.idle import Image
from gpu_tui.teardown.own import UNSEEN, Own, own_processes
from gpu_tui.transport.base import Connection, nonce_of
from gpu_tui.transport.ssh import SshTransport

Make = Callable[..., Container]
OLD = "gpu-tui-0123456789abcdef"
# Says that it is there, and waits for its end. `title` (as setproctitle does): its words and its name are another's.
TRAINER = """
import ctypes, os, signal, sys
title = os.environ.get("TITLE", "").encode()
if title:
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, title, min(len(title), end - start - 1))
    ctypes.CDLL(None).prctl(15, title.split(b":")[0][:15], 0, 0, 0)
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def contain() -> Iterator[Make]:
    """Starts boxes in namespaces of their own; pytest's directories let only their owner in."""
    made: list[Container] = []
    with tempfile.TemporaryDirectory(prefix="gpu-tui-box-") as room:
        os.chmod(room, 0o755)

        def make(**options: str) -> Container:
            box = Container(Path(room) / f"box-{len(made)}", **options)
            made.append(box)
            box.start()
            box.program("nvidia-smi", "#!/bin/sh\necho No devices were found\nexit 6\n")
            (box.home / "train.log").write_text("epoch 1 loss 0.3\n")
            return box

        yield make
        for box in made:
            box.close()


@asynccontextmanager
async def watching(connection: Connection, instance: Instance, *logs: str) -> AsyncIterator[None]:
    """The sampler and a follower of each log, once all of them have answered."""
    waited = {"processes", *logs}
    all_there, clock = asyncio.Event(), ManualClock()

    def hear(event: Event) -> None:
        if isinstance(event, Sampled):
            waited.discard(event.metric)
        elif isinstance(event, LogOpened):
            waited.discard(event.source.path)
        if not waited:
            all_there.set()

    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(sample_group(connection, instance, plan(instance)[0], hear, clock))
        ]
        for path in logs:
            source = LogSource(path)
            one = follow(connection, instance, source, hear, clock, TailMemory())
            running.append(tasks.create_task(one))
        await all_there.wait()
        try:
            yield
        finally:
            for task in running:
                task.cancel()


@pytest.mark.parametrize("user", ["root", USER])
@pytest.mark.parametrize("start", list(STARTS))
@pytest.mark.parametrize("server", SERVERS)
async def test_our_own_programs_are_no_work(
    contain: Make, server: str, start: str, user: str
) -> None:
    """With sshd as PID 1, below an init, and started for each connection; two connections where sshd allows
    two channels on each.
    """
    box = contain(server=server, start=start, user=user)
    instance = box.instance()
    connection = await SshTransport().connect(instance)
    try:
        async with watching(connection, instance, "~/train.log", "~/train.log"):
            seen = await survey(connection, instance)
            nonce = nonce_of(connection)
            table = seen.processes or ()
            assert any(p.argv[-1:] == (nonce,) and "follow" in p.argv for p in table), table
            assert work(seen, None, None) == ()
            # The same look by somebody who does not know the nonce, and from another session.
            other = await SshTransport().connect(instance)
            try:
                seen = await survey(other, instance)
            finally:
                await other.close()
            lines = work(seen, None, None) or ()
            assert any("another gpu-tui watches this box" in line for line in lines)
            assert len(lines) >= 3, lines
    finally:
        await connection.close()


async def test_the_ladder_opens_where_sshd_is_the_first_process(
    contain: Make, tmp_path: Path, loaded_once: None
) -> None:
    """The whole way up, with the sampler and a follower at work on the same connection; and not beside a
    trainer that calls itself a session of sshd.
    """
    rented = RentedBox(contain())
    assert isinstance(rented.sshd, Container)
    instance = rented.instance(tmp_path / "here", roots=Roots())
    (rented.sshd.home / "train.py").write_text(TRAINER)
    connection = await SshTransport().connect(instance)
    try:
        async with (
            RunPodServer() as server,
            watching(connection, instance, "~/train.log"),
        ):
            clock, state = ManualClock(), tmp_path / "state"
            scene = Scene(rented, tmp_path / "here", clock, server, instance, connection, state)
            view = await _climbed(scene)
            assert view.state == "ready", view
            argv = ["sshd: root@notty", str(rented.sshd.home / "train.py")]
            with started(rented.sshd, argv):
                view = await _climbed(scene)
            assert view.state == "blocked"
            (rung,) = (one for one in view.rungs if one.rung is Rung.QUIESCE)
            assert any("its program is python" in line for line in rung.lines), rung
    finally:
        await connection.close()


async def _climbed(scene: Scene) -> GateView:
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    return view


WORKS = {
    "gpu-tui's text": ["python3", "{trainer}", "-c", "sampler=$GPU_TUI_SAMPLER role=$GPU_TUI_ROLE"],
    "gpu-tui's name": ["gpu-tui", "{trainer}"],
    "an old nonce": ["sh", "{trainer}", "-s", OLD],
    "our nonce": ["python3", "{trainer}", "-s", "{nonce}"],
    "our nonce as a shell's": ["sh", "{trainer}", "-s", "{nonce}"],
    "a session": ["sshd: root@notty", "{trainer}"],
    "a session with a terminal": ["sshd: root@pts/0", "{trainer}"],
    "a session of 9.8": ["sshd-session: root@notty", "{trainer}"],
    "a listener": ["sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "{trainer}"],
    "dropbear": ["/usr/sbin/dropbear", "{trainer}"],
    "a login shell": ["-bash", "{trainer}"],
    "tmux": ["tmux", "{trainer}"],
    "systemd": ["/lib/systemd/systemd", "{trainer}"],
    "a journal": ["/lib/systemd/systemd-journald", "{trainer}"],
    "a sleeper": ["sleep", "{trainer}"],
}


@pytest.mark.parametrize("whole", [False, True], ids=["argv", "setproctitle"])
async def test_a_trainer_is_work_whatever_it_calls_itself(contain: Make, whole: bool) -> None:
    box = contain()
    instance = box.instance()
    connection = await SshTransport().connect(instance)
    trainer = box.home / "train.py"
    trainer.write_text(TRAINER)
    missed = []
    try:
        async with watching(connection, instance):
            for name, words in WORKS.items():
                fill = {"trainer": trainer, "nonce": nonce_of(connection)}
                argv = [word.format(**fill) for word in words]
                title = " ".join(word for word in argv if word != str(trainer)) if whole else ""
                with started(box, argv, title):
                    seen = await survey(connection, instance)
                lines = work(seen, None, None) or ()
                if len(lines) != 1:
                    missed.append((name, lines))
    finally:
        await connection.close()
    assert not missed


async def test_what_a_login_starts_below_our_shell_is_work(contain: Make) -> None:
    """A profile that starts a trainer has our sh as its parent: bash reads it before it becomes that."""
    box = contain()
    instance = box.instance()
    (box.home / "train.py").write_text(TRAINER)
    start = f"{sys.executable} ~/train.py >~/ready.$$ 2>/dev/null </dev/null &"
    (box.home / ".bashrc").write_text(f"mkfifo ~/ready.$$; {start} read -r _ <~/ready.$$\n")
    connection = await SshTransport().connect(instance)
    try:
        seen = await survey(connection, instance)
        assert seen.asked_by
        (trainer,) = (
            one
            for one in seen.processes or ()
            if one.ppid == seen.asked_by[0] and str(box.home / "train.py") in one.argv
        )
        lines = work(seen, None, None) or ()
        assert any(line.endswith(f"(pid {trainer.pid})") for line in lines), lines
    finally:
        await connection.close()


NONCE = "gpu-tui-00000000000000aa"
LISTENER = "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups"
SH, SECOND = f"/bin/sh -s {NONCE}", f'bash --norc -c eval\x1f"$gpu_tui_follow" follow {NONCE}'


def _rows(*lines: str) -> list[Process]:
    """`pid ppid comm title`, where \\x1f in the title stands for a blank within a word."""
    rows = []
    for line in lines:
        pid, ppid, comm, title = line.split(" ", 3)
        titled = title.startswith(("sshd:", "sshd-session:"))
        words = (title,) if titled else tuple(w.replace("\x1f", " ") for w in title.split(" "))
        rows.append(Process(int(pid), int(ppid), comm, words, "S"))
    return rows


def _own(*lines: str, images: Mapping[int, Image] | None = None) -> Own:
    """The look is by pid 30, below 21."""
    return own_processes(_rows(*lines), (30, 21), NONCE, images or {})


TOPS = {
    "root": (
        f"10 1 sshd {LISTENER}", "21 10 sshd sshd: root@notty", f"30 21 sh {SH}", "31 30 awk awk x"
    ),
    "root, sshd is PID 1": (
        f"1 0 sshd {LISTENER}", "21 1 sshd sshd: root@notty", f"30 21 sh {SH}", "31 30 awk awk x"
    ),
    "its listener has no title": (
        "1 0 sshd /usr/sbin/sshd -D", "21 1 sshd sshd: root@pts/0,notty", f"30 21 sh {SH}", "31 30 awk awk x"
    ),
    "another user, 9.8": (
        f"1 0 sshd {LISTENER}", "20 1 sshd-session sshd-session: ann@lab [priv]",
        "21 20 sshd-session sshd-session: ann@lab@notty", f"30 21 sh {SH}", "31 30 awk awk x",
    ),
    "sshd -i": ("21 1 sshd sshd: root@notty", f"30 21 sh {SH}", "31 30 awk awk x"),
    "sshd -i for another user": (
        "20 7 sshd sshd: ann [priv]", "21 20 sshd sshd: ann@notty", f"30 21 sh {SH}", "31 30 awk awk x"
    ),
    "the listener has ended": ("1 0 tini tini", "21 1 sshd sshd: root@notty", f"30 21 sh {SH}", "31 30 awk awk x"),
    "sshd -i within another's session": (
        f"10 1 sshd {LISTENER}", "15 10 sshd sshd: bob@notty", "16 15 train train",
        "21 15 sshd sshd: root@notty", f"30 21 sh {SH}", "31 30 awk awk x",
    ),
    "dropbear": (
        "1 0 dropbear dropbear -F", "21 1 dropbear dropbear -F -2 7", f"30 21 sh {SH}", "31 30 awk awk x"
    ),
    "dropbear -i": ("21 1 dropbear dropbear -i", f"30 21 sh {SH}", "31 30 awk awk x"),
}  # fmt: skip
BEYOND = (
    "40 1 train ./train",
    "50 10 sshd sshd: root@pts/0",
    "51 50 train ./train",
    "60 1 sshd sshd: ann@pts/1",
    "61 60 python3 python3 fit.py",
)


@pytest.mark.parametrize("lines", TOPS.values(), ids=TOPS.keys())
def test_our_session_is_what_the_server_started_for_us(lines: tuple[str, ...]) -> None:
    found = _own(*lines, *BEYOND, images={30: Image(0, "/usr/bin/dash")})
    pids = {one.pid for one in _rows(*lines)}
    assert found.pids == pids - {1, 10, 15, 16}
    assert not found.doubtful
    assert not found.unseen


OTHERS = {
    "another session of this login": ("50 1 sshd sshd: root@notty", "51 50 sh", True),
    "a session that ended": ("50 1 tini tini", "51 50 sh", False),
    "a session of another login": ("50 1 sshd sshd: ann@notty", "51 50 sh", False),
    "a process that calls itself one": ("50 1 python3 sshd: root@notty", "51 50 sh", False),
    "below init": ("50 1 tini tini", "51 1 sh", False),
}


@pytest.mark.parametrize(("server", "row", "ours"), OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("words", [SH, SECOND])
def test_the_nonce_counts_below_a_session_of_the_same_login(
    server: str, row: str, ours: bool, words: str
) -> None:
    below = ("52 51 tail tail -f x", "53 52 cat cat")
    lines = (f"1 0 sshd {LISTENER}", "21 1 sshd sshd: root@notty", f"30 21 sh {SH}")
    found = _own(*lines, server, f"{row} {words}", *below)
    assert found.pids == {21, 30} | ({51, 52, 53} if ours else set())


@pytest.mark.parametrize(("uid", "parent", "ours"), [(0, 1, True), (4711, 1, False), (0, 9, False)])
def test_a_login_of_dropbear_is_its_listener_and_the_user(
    uid: int, parent: int, ours: bool
) -> None:
    """It gives its processes no titles."""
    lines = ("1 0 dropbear dropbear -F", "21 1 dropbear dropbear -F -2 7", f"30 21 sh {SH}")
    other = ("9 8 dropbear dropbear -p 2222", f"50 {parent} dropbear dropbear -F -2 8")
    images = {30: Image(0, "/usr/bin/dash"), 51: Image(uid, "/usr/bin/dash")}
    found = _own(*lines, *other, f"51 50 sh {SH}", "52 51 cat cat", images=images)
    assert found.pids == {21, 30} | ({51, 52} if ours else set())


@pytest.mark.parametrize(
    "words",
    [
        f"./train -s {NONCE}",
        f"python3 train.py {NONCE}",
        f"bash run.sh {NONCE}",
        f"sh -c ./train {NONCE}",
        "sh -s gpu-tui-00000000000000ab",  # another connection's
    ],
)
def test_the_nonce_alone_proves_nothing(words: str) -> None:
    lines = (f"1 0 sshd {LISTENER}", "21 1 sshd sshd: root@notty", f"30 21 sh {SH}")
    comm = words.split(" ")[0].split("/")[-1]
    found = _own(*lines, "50 1 sshd sshd: root@notty", f"51 50 {comm} {words}")
    assert found.pids == {21, 30}


UNREADABLE = {
    "no server": ("21 1 teleport teleport start", f"30 21 sh {SH}"),
    "the listener itself": (
        f"21 1 sshd {LISTENER}", "50 21 sshd sshd: root@pts/0", "51 50 train ./train", f"30 21 sh {SH}"
    ),
    "a listener without a title": (
        "21 1 sshd /usr/sbin/sshd -D", "50 21 sshd sshd: root@pts/0", "51 50 train ./train", f"30 21 sh {SH}"
    ),
    "a forged title": ("21 1 python3 sshd: root@notty", f"30 21 sh {SH}", "51 21 train ./train"),
    "untitled, below an init": ("21 1 sshd /usr/sbin/sshd -D", f"30 21 sh {SH}"),
    "a dropbear that serves several": (
        "21 1 dropbear dropbear -F", "50 21 dropbear dropbear -F -2 7", "51 50 train ./train", f"30 21 sh {SH}"
    ),
    "not shown": (f"30 21 sh {SH}",),
}  # fmt: skip


@pytest.mark.parametrize("lines", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_where_no_session_can_be_read_only_the_look_itself_is_ours(lines: tuple[str, ...]) -> None:
    """The gate stays shut by our own sampler, and says why."""
    follower = (f"80 21 bash {SECOND}", "81 80 tail tail -F x")
    table = tuple(_rows(*lines, *follower, "31 30 awk awk x"))
    seen = Survey("boot", table, None, (), (), asked_by=(30, 21), nonce=NONCE)
    assert seen.own.pids == {30, 31}
    assert seen.own.doubtful == {80, 81}
    told = work(seen, None, None) or ()
    assert any(
        line.startswith("may be this gpu-tui's own, but the parent of its shell is no session of")
        and line.endswith("(pid 80)")
        for line in told
    )


@pytest.mark.parametrize("lines", [(), ("30 22 sh sh",), ("30 21 train ./train",)])
async def test_a_table_without_the_look_is_no_table(lines: tuple[str, ...]) -> None:
    table = tuple(_rows("1 0 sshd sshd", *lines))
    seen = Survey("boot", table, None, (), (), asked_by=(30, 21), nonce=NONCE)
    assert work(seen, None, None) is None
    assert seen.unseen == UNSEEN


@contextmanager
def started(box: Container, argv: list[str], title: str = "") -> Iterator[None]:
    """A trainer on the box, started by no session; it has said that it is there."""
    name, *rest = map(shlex.quote, argv)
    program = f"exec -a {name} {sys.executable} {' '.join(rest)}"
    # By a false name a Python does not find its own library.
    environment = [f"TITLE={title}", f"PYTHONHOME={sys.base_prefix}"]
    process = box.spawn("env", *environment, "bash", "-c", program)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
