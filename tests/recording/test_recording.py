"""A recording gives back what was seen, hides what is secret, and survives being cut."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import pytest
from boxes import Sshd

from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core import metrics
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogArrived, LogCame, Noted, Sampled
from gpu_tui.core.fleet import Fleet, Instance, ProviderAccess, QueueFiles, SshAccess
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import Memory, Process
from gpu_tui.core.redact import HIDDEN, redact
from gpu_tui.core.sample import Reading
from gpu_tui.parse.command_list import parse_commands
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.recording.boxes import boxes_of
from gpu_tui.recording.codec import TYPES, CodecError, decode, encode
from gpu_tui.recording.player import Player, place_of
from gpu_tui.recording.scout import tell
from gpu_tui.recording.tape import TapeError, TapeReader, TapeWriter
from gpu_tui.state.store import Store
from gpu_tui.transport.record import RecordedConnection, RecordingTransport
from gpu_tui.transport.replay import ReplayTransport
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.wiring import SystemClock

TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"
HEX = "89abcdef" * 5
BASE64 = "/b9+aZ3dE7x" * 7 + "Q=="
ENV_SECRET = "not-shaped-like-anything"
LOG = f"""\
=== Queue q.txt: 2 ablations, starting from 1 on box ===
[2026-01-01 00:00:00] [1/2] STARTING baseline (reconstruction, 20ep)
login with {TOKEN} and {ENV_SECRET}
Epoch 3/20 step 7/50 loss: nan
"""


class Watched:
    """A sink with a condition that can be awaited."""

    def __init__(self, *sinks: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._sinks = sinks
        self._came = asyncio.Event()

    def __call__(self, event: Event) -> None:
        if not isinstance(event, LogCame):  # a LogArrived tells it again
            self.events.append(event)
        for sink in self._sinks:
            sink(event)
        self._came.set()

    async def until(self, *wanted: Callable[[Event], bool]) -> None:
        """Return when each of the conditions has held for some event."""
        async with asyncio.timeout(60):
            while not all(any(map(one, self.events)) for one in wanted):
                self._came.clear()
                await self._came.wait()


def has_text(text: str) -> Callable[[Event], bool]:
    return lambda event: (
        isinstance(event, LogArrived) and any(text in line.text for line in event.lines)
    )


def has_reading(metric: str) -> Callable[[Event], bool]:
    return lambda event: (
        isinstance(event, Sampled) and event.metric == metric and isinstance(event.sample, Reading)
    )


async def watch(
    fleet: Fleet, transport: SshTransport | ReplayTransport, path: Path | None
) -> tuple[Watched, Store]:
    """Watch until the log and the memory are in."""
    store = Store(fleet, {})
    clock = SystemClock()
    tape = TapeWriter(path, fleet, clock, secrets=[ENV_SECRET]) if path else None
    watched = Watched(store.apply, *([tape.event] if tape else []))
    taped = RecordingTransport(transport, tape) if tape else transport
    running = asyncio.create_task(Supervisor(fleet, taped, watched, clock).run())
    try:
        await watched.until(has_text("loss: nan"), has_reading(metrics.MEMORY.name))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        if tape:
            tape.close()
    return watched, store


@pytest.fixture
async def recorded(box: Sshd, tmp_path: Path) -> tuple[Fleet, Watched, Path]:
    """A session with a real box, and its tape."""
    (box.home / "q.log").write_text(LOG)
    instance = box.instance(queue=QueueFiles(None, "~/q.log"))
    fleet = Fleet("sweep", (replace(instance, provider=ProviderAccess(id="i-1")),))
    path = tmp_path / "one.tape"
    transport = SshTransport()
    watched, _ = await watch(fleet, transport, path)
    await transport.close()
    return fleet, watched, path


def value_of(event: Event) -> object:
    assert isinstance(event, Sampled)
    assert isinstance(event.sample, Reading)
    return event.sample.value


def lines_of(events: list[Event]) -> list[str]:
    return [
        line.text
        for event in events
        if isinstance(event, LogArrived)
        for line in event.lines
        if not line.open
    ]


async def test_a_tape_gives_back_every_event_in_order_but_no_secret(
    recorded: tuple[Fleet, Watched, Path],
) -> None:
    fleet, watched, path = recorded
    tape = TapeReader(path)
    assert tape.fleet == fleet
    back = [event for record in tape.records() if (event := record.event)]

    def clean(text: str) -> str:
        return redact(text, [ENV_SECRET])

    # Compared as written, for a NaN equals nothing.
    assert [encode(event) for event in back] == [encode(event, clean) for event in watched.events]
    assert [type(event) for event in back] == [type(event) for event in watched.events]
    raw = gzip.decompress(path.read_bytes()).decode()
    assert TOKEN not in raw
    assert ENV_SECRET not in raw
    assert raw.count(HIDDEN) >= 4  # each of both, in the event and in the bytes
    assert path.stat().st_mode & 0o077 == 0


async def test_the_bytes_of_a_tape_tell_the_same_through_todays_parsers(
    recorded: tuple[Fleet, Watched, Path],
) -> None:
    fleet, watched, path = recorded
    again, _ = await watch(fleet, ReplayTransport(boxes_of(TapeReader(path))), None)
    assert lines_of(again.events) == [redact(t, [ENV_SECRET]) for t in lines_of(watched.events)]
    first = next(e for e in watched.events if has_reading(metrics.MEMORY.name)(e))
    second = next(e for e in again.events if has_reading(metrics.MEMORY.name)(e))
    assert value_of(first) == value_of(second)


def test_a_cut_tape_plays_up_to_the_cut(tmp_path: Path) -> None:
    path, fleet = made_tape(tmp_path, 400)
    whole = path.read_bytes()
    total = len(list(TapeReader(path).records()))
    rng = random.Random(5)
    lengths = sorted(rng.sample(range(200, len(whole)), 40))
    counts = []
    for length in lengths:
        path.write_bytes(whole[:length])
        try:
            tape = TapeReader(path)
        except TapeError:
            counts.append(-1)  # not even the first line is there
            continue
        assert tape.fleet == fleet
        counts.append(len(list(tape.records())))
    assert counts == sorted(counts)
    assert counts[-1] > total * 0.8


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json\n",
        '{"gpu-tui recording": 2, "at": 1, "fleet": {"Fleet": {}}}\n',
        '{"gpu-tui recording": 1, "at": 1, "fleet": {"Popen": {"args": "x"}}}\n',
        '{"gpu-tui recording": 1, "at": "soon", "fleet": {"Fleet": {}}}\n',
    ],
)
def test_what_is_no_tape_is_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.tape"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(TapeError) as refused:
        TapeReader(path)
    assert str(path) in str(refused.value)
    assert refused.value.next


def test_plain_text_is_no_tape(tmp_path: Path) -> None:
    path = tmp_path / "x.tape"
    path.write_text("hello")
    with pytest.raises(TapeError):
        TapeReader(path)


def test_only_values_of_core_can_be_read_back() -> None:
    for hostile in ({"Popen": {"args": "id"}}, {"a": 1, "b": 2}, {"Severity": "huge"}, {"Gpu": 3}):
        with pytest.raises(CodecError):
            decode(hostile)
    assert decode(encode({"Popen": {"x": float("inf")}})) == {"Popen": {"x": float("inf")}}


def _parts(hint: Any, found: set[type]) -> set[type]:
    """The dataclasses and enums that a value of this type is made of."""
    for word in get_args(hint):
        _parts(word, found)
    if isinstance(hint, type) and hint not in found:
        if issubclass(hint, Enum):
            found.add(hint)
        elif is_dataclass(hint):
            found.add(hint)
            for inner in get_type_hints(hint).values():
                _parts(inner, found)
    return found


def test_whatever_can_happen_can_be_recorded() -> None:
    happens = _parts(Event, set())
    for hint in get_type_hints(metrics).values():
        _parts(hint, happens)
    assert len(happens) > 50
    assert {kind.__name__ for kind in happens - {metrics.Metric}} <= TYPES.keys()


async def test_the_commands_of_a_plain_list_are_recorded(tmp_path: Path) -> None:
    reading = Reading(parse_commands("python a.py\npython b.py\n"), 5.0, 1.0)
    event = Sampled("box", 5.0, metrics.COMMANDS.name, reading)
    with TapeWriter(tmp_path / "x.tape", Fleet(), ManualClock()) as tape:
        tape.event(event)
    assert [record.event for record in TapeReader(tmp_path / "x.tape").records()] == [event]


def test_a_record_that_cannot_be_written_is_told_and_hangs_nobody(tmp_path: Path) -> None:
    tape = TapeWriter(tmp_path / "x.tape", Fleet(), ManualClock())
    tape.event(cast(Event, object()))
    with pytest.raises(TapeError, match=r"ends early: a object cannot be recorded"):
        tape.close()


def test_a_key_that_an_edited_fleet_file_names_is_hidden_from_then_on(tmp_path: Path) -> None:
    with TapeWriter(tmp_path / "x.tape", Fleet(), ManualClock(), secrets=["the-old-one"]) as tape:
        tape.fleet(Fleet("edited"), ["the-new-one"])
        tape.event(Noted(None, 1.0, "the-old-one, the-new-one, and no other one"))
    *_, last = TapeReader(tmp_path / "x.tape").records()
    assert last.event == Noted(None, 1.0, f"{HIDDEN}, {HIDDEN}, and no other one")


def test_a_recording_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "x.tape"
    path.write_text("mine")
    with pytest.raises(TapeError):
        TapeWriter(path, Fleet(), ManualClock())
    assert path.read_text() == "mine"


def test_a_full_disk_ends_the_recording_with_a_sentence(tmp_path: Path) -> None:
    program = f"""
import random, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
from pathlib import Path
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Noted
from gpu_tui.core.fleet import Fleet
from gpu_tui.recording.tape import TapeError, TapeWriter
tape = TapeWriter(Path({str(tmp_path / "x.tape")!r}), Fleet(), ManualClock())
for n in range(3000):
    tape.event(Noted(None, float(n), str(random.random())))
try:
    tape.close()
except TapeError as error:
    print(error, "->", error.next)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ends early" in done.stdout
    assert len(list(TapeReader(tmp_path / "x.tape").records())) > 10


# --- the player -----------------------------------------------------------------------------------

BOX = Instance("one", SshAccess("one.example"))
SOURCE = LogSource("/q.log")


def made_tape(directory: Path, seconds: int) -> tuple[Path, Fleet]:
    """A tape with a memory reading and a log line each second, and a NaN two thirds through."""
    path, fleet, clock = directory / "made.tape", Fleet("made", (BOX,)), ManualClock()
    reader = LogReader()
    with TapeWriter(path, fleet, clock) as tape:
        for second in range(seconds):
            now = clock.now()
            memory = Reading(Memory("cgroup2", second, 10**9), now)
            tape.event(Sampled("one", now, metrics.MEMORY.name, memory))
            loss = "nan" if second == seconds * 2 // 3 else f"{1 / (second + 1):.4f}"
            line = f"Epoch 1/2 step {second}/{seconds} loss: {loss}\n"
            tape.event(LogArrived("one", now, SOURCE, tuple(reader.feed(line.encode()))))
            clock.advance(1)
    return path, fleet


class Show:
    """A player on a hand-moved clock whose task can be waited for."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock()
        self.player = Player(path, {}, self.clock)
        self.player.paused = True
        self._task = asyncio.ensure_future(self.player.run())

    async def settled(self) -> tuple[int | None, int]:
        """After the task has caught up: the memory used and the lines known."""
        for _ in range(10_000):
            await asyncio.sleep(0)
            if self.player.settled:
                break
        assert self.player.settled
        view = self.player.view(self.player.now())["one"]
        good = view.track(metrics.MEMORY).good
        memory = good.value if good else None
        log = self.player.log("one", SOURCE)
        return (memory.used if memory else None), (log.end if log else 0)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_seeking_both_ways_shows_what_playing_would(tmp_path: Path) -> None:
    path, _ = made_tape(tmp_path, 300)
    show = Show(path)
    position = 0
    rng = random.Random(3)
    for _ in range(60):
        step = rng.choice((-100, -30, -1, 1, 30, 100))
        show.player.skip(step)
        position = max(0, min(299, position + step))
        assert await show.settled() == (position, position + 1)
    await show.close()


async def test_speed_and_pause_move_the_clock(tmp_path: Path) -> None:
    path, _ = made_tape(tmp_path, 300)
    show = Show(path)
    start = show.player.now()
    show.clock.advance(50)
    assert show.player.now() == start
    assert show.player.badge() == "replay ‖"
    show.player.play()
    for _ in range(3):
        show.player.faster(1)
    assert show.player.badge() == "replay ×10"
    show.clock.advance(7)
    show.player.play()
    assert await show.settled() == (70, 71)
    assert show.player.now() - start == pytest.approx(70)
    show.player.skip(1e9)
    assert await show.settled() == (299, 300)
    assert show.player.badge() == "replay end"
    await show.close()


async def test_the_next_finding_is_where_it_stops(tmp_path: Path) -> None:
    path, _ = made_tape(tmp_path, 300)
    show = Show(path)
    assert not show.player.view(show.player.now()).findings
    show.player.next_finding()
    memory, _ = await show.settled()
    found = show.player.view(show.player.now()).findings
    assert [one.kind for one in found] == ["nan"]
    assert memory in (200, 201)
    assert show.player.badge() == "replay ‖"
    await show.close()


async def test_findings_are_gone_through_both_ways_and_a_seen_one_is_passed(tmp_path: Path) -> None:
    path, _ = made_tape(tmp_path, 300)
    show = Show(path)
    show.player.next_finding()
    await show.settled()
    (mark,) = show.player.head().marks
    assert mark.t == pytest.approx(200, abs=1.5)
    assert show.player.position == mark.t
    show.player.seek("end")
    assert (await show.settled())[0] == 299
    show.player.finding_before()
    await show.settled()
    assert show.player.position == mark.t
    assert not show.player.head().without
    show.player.finding_before()  # there is none before that one
    assert await show.settled() == (0, 1)
    assert show.player.head().without
    show.player.acknowledge(next(iter(mark.ids)))
    show.player.next_finding()
    assert (await show.settled())[0] == 299
    assert show.player.head().without
    show.player.skip(-1)
    assert not show.player.head().without
    await show.close()


async def test_what_was_kept_on_the_way_is_what_playing_from_the_start_shows(
    tmp_path: Path,
) -> None:
    path, _ = made_tape(tmp_path, 1_300)
    show = Show(path)
    show.player.seek("end")
    assert await show.settled() == (1_299, 1_300)
    tape = TapeReader(path)
    for place in (1_200, 3, 1_001):
        show.player.seek(f"{place}s")
        assert await show.settled() == (place, place + 1)
        fresh = Store(tape.fleet, {})
        for record in tape.records():
            if record.t > place:
                break
            tell(fresh, tape, record)
        now = tape.began + place
        assert repr(show.player.view(now)) == repr(fresh.view(now))  # a NaN equals nothing
    assert show.player._scout.before(1_200) is not None
    await show.close()


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("12:30", 750), ("1:05:00", 3_900), ("90s", 90), ("10m", 600), ("+30s", 130), ("-1:00", 40),
        ("50%", 2_000), ("start", 0), ("end", 4_000), ("1h5m", 3_900),
    ],
)  # fmt: skip
def test_a_place_is_taken_as_people_write_it(text: str, there: float) -> None:
    assert place_of(text, 100.0, 4_000.0) == there


@pytest.mark.parametrize("text", ["", "90", "tomorrow", "-", "1:2:3:4", "٣m", "nan%"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        place_of(text, 0.0, 10.0)


@pytest.mark.parametrize("how", ["cut", "flipped", "not JSON"])
async def test_a_damaged_tape_plays_as_far_as_it_goes_and_says_so(tmp_path: Path, how: str) -> None:
    path, _ = made_tape(tmp_path, 600)
    whole = path.read_bytes()
    if how == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "flipped":
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes(64) + whole[middle + 64 :])
    else:
        lines = gzip.decompress(whole).splitlines(keepends=True)
        lines[500] = b"}{\n"
        path.write_bytes(gzip.compress(b"".join(lines)))
    show = Show(path)
    show.player.seek("end")
    memory, lines_known = await show.settled()
    assert memory is not None
    assert memory > 100
    assert lines_known > 100
    assert show.player.head().damage
    assert "not whole" in show.player.view(show.player.now()).notes[-1]
    await show.close()


async def test_a_record_that_is_not_understood_is_told_and_the_rest_plays(tmp_path: Path) -> None:
    path, _ = made_tape(tmp_path, 5)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    lines.insert(4, json.dumps({"t": 1.5, "event": {"Future": {"x": 1}}}).encode())
    path.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    show = Show(path)
    show.player.skip(99)
    assert await show.settled() == (4, 5)
    assert "not understood" in show.player.view(show.player.now()).notes[-1]
    await show.close()


# --- what is hidden -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"token {TOKEN} ok", f"token {HIDDEN} ok"),
        ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", f"WANDB_API_KEY={HIDDEN}"),
        ("git clone https://me:s3cr3t@host/x.git", f"git clone https://me:{HIDDEN}@host/x.git"),
        ("Authorization: Bearer abc.def-123456", f"Authorization: Bearer {HIDDEN}"),
        ("--password hunter2hunter2 --lr 1", f"--password {HIDDEN} --lr 1"),
        ('"api_key": "a1b2c3d4e5f6"', f'"api_key": "{HIDDEN}"'),
        ("password=hunter", f"password={HIDDEN}"),
        ("sshpass: password: abc4", f"sshpass: password: {HIDDEN}"),
        ("NGC nvapi-" + "a-B_4" * 8, f"NGC {HIDDEN}"),
        (
            "https://hooks.slack.com/services/" + "T0/B0/" + "x" * 24,
            f"https://hooks.slack.com/services/{HIDDEN}",
        ),
        (
            f"python\x1ft.py\x1f--wandb-key\x1f{HEX}\x1f--lr",
            f"python\x1ft.py\x1f--wandb-key\x1f{HIDDEN}\x1f--lr",
        ),
        (f"('--wandb-key', '{HEX}')", f"('--wandb-key', '{HIDDEN}')"),
        ("OPENAI_KEY=abcd1234efgh5678ijkl x", f"OPENAI_KEY={HIDDEN} x"),
        (f"AZURE_STORAGE_KEY={BASE64}", f"AZURE_STORAGE_KEY={HIDDEN}"),
        (
            f"AccountName=x;AccountKey={BASE64};Suffix=y",
            f"AccountName=x;AccountKey={HIDDEN};Suffix=y",
        ),
        (f"{{'wandb_key': '{HEX}'}}", f"{{'wandb_key': '{HIDDEN}'}}"),
        (rf"{{\"wandb_key\": \"{HEX}\"}}", rf"{{\"wandb_key\": \"{HIDDEN}\"}}"),
        (f"--api-key {HEX}", f"--api-key {HIDDEN}"),
        (f"wandb: Paste an API key: {HEX}", f"wandb: Paste an API key: {HIDDEN}"),
        (
            f"wandb: Paste an API key from your profile and hit enter: {HEX}",
            f"wandb: Paste an API key from your profile and hit enter: {HIDDEN}",
        ),
        (f"wandb login --relogin {HEX}", f"wandb login --relogin {HIDDEN}"),
        (f"wandb.login(key='{HEX}')", f"wandb.login(key='{HIDDEN}')"),
        ("mysql -pMyPw1 db", f"mysql -p{HIDDEN} db"),
        (
            "/usr/bin/mysqldump\x1f-u\x1froot\x1f-pMyPw1\x1fdb",
            f"/usr/bin/mysqldump\x1f-u\x1froot\x1f-p{HIDDEN}\x1fdb",
        ),
        ("mariadb -h h -P 3306 -p'MyPw1' db", f"mariadb -h h -P 3306 -p'{HIDDEN}' db"),
        ("sshpass -p PW ssh box", f"sshpass -p {HIDDEN} ssh box"),
        ("curl -s -u user:pw https://x", f"curl -s -u user:{HIDDEN} https://x"),
        ("curl\x1f--user\x1fuser:pw\x1fx", f"curl\x1f--user\x1fuser:{HIDDEN}\x1fx"),
        ("redis://:pw@host:6379/0", f"redis://:{HIDDEN}@host:6379/0"),
        ("b?X-Amz-Signature=" + "0123abcd" * 8 + "&x=1", f"b?X-Amz-Signature={HIDDEN}&x=1"),
        ("b?X-Goog-Credential=me%40p.iam%2F2026&x=1", f"b?X-Goog-Credential={HIDDEN}"),
        ("?sv=2022&sig=aB3%2FdE5gH7jK9mN1pQ3sTuVwXyZ01%3D&se=1", f"?sv=2022&sig={HIDDEN}&se=1"),
        ("b?Signature=aB3dE5gH7jK9mN1pQ3sT%2Bxx&Expires=1", f"b?Signature={HIDDEN}&Expires=1"),
        ('"name": "HF_TOKEN",\n  "value": "ab"', f'"name": "HF_TOKEN",\n  "value": "{HIDDEN}"'),
        (
            r"{\"name\":\"WANDB_API_KEY\",\"value\":\"ab\"}",
            rf"{{\"name\":\"WANDB_API_KEY\",\"value\":\"{HIDDEN}\"}}",
        ),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, hidden: str) -> None:
    assert redact(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 3/20 tokens=4096 tokens/s: 123456.7 loss 0.25",
        "num_tokens: 512000000",
        "eos_token: <|endoftext|>  pad_token=None",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "secret_weapon layer norm; passwordless login works; password: <none>; passphrase = None",
        "https://huggingface.co/org/model:main",
        "keys: 12, tokens: 4096, 1234.5678 token/s, token/s 1234.5678",
        "Missing key(s) in state_dict: 'model.layers.12.mlp.0123456789ab'",
        "KeyError: 'model.layers.0.self_attn.0123456789ab'",
        "monkey=0123456789abcdef0123 key=model.layer4.0123456789ab",
        "primary_key: id  sort_key=eval/accuracy_top1_mean_2026 --sort-key validation/accuracy_5",
        "num_key_value_heads: 8, past_key_values: 12, key_padding_mask=tensor(0)",
        "query_key_value.weight 4096x1024abcd1212; state_key=model.decoder.layers.0.fc1",
        "ED25519 key SHA256:aB3dE5gH7jK9mN1pQ3sTuVwXyZ0123456789abcdefg",
        "host_key: aB3dE5gH7jK9mN1pQ3sTuVwXyZ0123456789abcdefg",
        "ssh_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
        "--ssh-key /home/u/.ssh/id_ed25519_20240101abcd",
        f"commit {HEX}; cache_key: {HEX}; checked out {HEX}",
        f"wandb: run login went on at commit {HEX}; git commit hash: {HEX}",
        "wandb: You can find your API key in your browser here: https://wandb.ai/authorize",
        "API key: https://wandb.ai/authorize/2; api key configuration-file1 not found",
        "mysql -u root -p db; mysql -h h -P3306 --protocol=tcp db; find /var/lib/mysql -print0",
        "curl -u https://x; curl -H 'A: b' https://h:8080/x; docker run --user 1000:1000",
        "signature=forward(x, labels=None) sig=0.05 sig=3.1 tcp://:29500/x",
    ],
)
def test_what_a_log_says_anyway_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("size", [1, 700, 30_000, 200_000])
@pytest.mark.parametrize(
    ("secret", "hidden"),
    [
        (ENV_SECRET, HIDDEN),
        (TOKEN, HIDDEN),
        ("api_key=a1b2c3d4e5f6", f"api_key={HIDDEN}"),
        (f"--wandb-key\x1f{HEX}", f"--wandb-key\x1f{HIDDEN}"),
        ("mysql -u me -pMyPw1", f"mysql -u me -p{HIDDEN}"),
        ("curl -s -u me:pw", f"curl -s -u me:{HIDDEN}"),
        ("redis://:pw@host", f"redis://:{HIDDEN}@host"),
        (f"wandb login {HEX}", f"wandb login {HIDDEN}"),
    ],
    ids=["known", "by its looks", "named", "argument", "mysql", "curl", "no user", "wandb"],
)
async def test_no_secret_is_cut_in_two_with_an_endless_line(
    tmp_path: Path, secret: str, hidden: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part by itself would look like nothing."""
    monkeypatch.setattr("gpu_tui.transport.record.HELD", 10_000)
    line = b"".join(
        b"%07d %s " % (at, secret.encode()) for at in range(600 if size == 1 else 6_000)
    )

    class Endless:
        host_key = None

        @asynccontextmanager
        async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
            async def chunks() -> AsyncIterator[bytes]:
                for at in range(0, len(line), size):
                    yield line[at : at + size]

            yield chunks()

    path = tmp_path / "endless.tape"
    with TapeWriter(path, Fleet("s", ()), SystemClock(), secrets=[ENV_SECRET]) as tape:
        async with RecordedConnection(cast(Any, Endless()), "box", tape).stream("tail") as chunks:
            async for _ in chunks:
                pass
    said = [record.body["text"] for record in TapeReader(path).records() if "bytes" in record.body]
    assert size > 20_000 or len(said) > 1
    assert "".join(said) == line.decode().replace(secret, hidden)


def test_a_password_is_known_by_the_argument_before_it(tmp_path: Path) -> None:
    """Each word by itself looks like nothing."""
    words = ("python", "t.py", "--wandb-key", HEX, "--password", "hunter2hunter2", "--lr", "1", "")
    clean = ("python", "t.py", "--wandb-key", HIDDEN, "--password", HIDDEN, "--lr", "1", "")
    row = Process(7, 1, "python", words, "R")
    event = Sampled("box", 5.0, metrics.PROCESSES.name, Reading((row, replace(row, argv=())), 5.0))
    commands = Sampled(
        "box", 5.0, metrics.COMMANDS.name, Reading(parse_commands(" ".join(words)), 5.0)
    )
    with TapeWriter(tmp_path / "x.tape", Fleet(), ManualClock()) as tape:
        tape.event(event)
        tape.event(commands)
    first, second = TapeReader(tmp_path / "x.tape").records()
    back = value_of(cast(Event, first.event))
    assert back == (replace(row, argv=clean), replace(row, argv=()))
    assert HEX not in repr(second.event)
    assert "hunter2" not in repr(second.event)


def test_a_known_secret_is_found_in_the_pieces_of_a_long_line() -> None:
    """Whoever cut it repeats a part of it: what stands at the end of one piece is whole in the next."""
    for at in range(6, len(ENV_SECRET)):
        assert redact(f"so {ENV_SECRET[:at]}", [ENV_SECRET]) == f"so {HIDDEN}"
        assert redact(f"{ENV_SECRET[-at:]} then", [ENV_SECRET]) == f"{HIDDEN} then"


def test_a_short_known_word_is_hidden_where_it_stands_alone() -> None:
    assert redact("with pa55, not pa555 or xpa55", ["pa55"]) == f"with {HIDDEN}, not pa555 or xpa55"
    assert redact("abc", ["abc"]) == "abc"


@pytest.mark.parametrize(
    "known", [("abcd", "abcd-EFGHIJ-KLMN"), ("zz-tokens", "tokens-very-hush-hush")]
)
def test_a_known_word_does_not_break_a_longer_one_of_which_it_is_a_part(
    known: tuple[str, str],
) -> None:
    for words in (known, known[::-1]):
        assert redact(f"{known[1]} then", words) == f"{HIDDEN} then"


def test_what_comes_faster_than_it_is_packed_is_bounded_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_tui.recording.tape.WAITING_BYTES", 500_000)
    path = tmp_path / "flood.tape"
    line = b"step 7 loss=0.25\n" * 10_000
    with TapeWriter(path, Fleet("s", ()), SystemClock()) as tape:
        channel = tape.opened("box", "cat")
        for _ in range(40):
            tape.said(channel, line)
            assert tape._taken - tape._done < 800_000
    records = [record.body for record in TapeReader(path).records()]
    lost = sum(body.get("lost", 0) for body in records)
    assert lost > 0
    assert lost + sum("bytes" in body for body in records) == 40


def test_a_recording_is_never_open_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # not even for the moment before a chmod
    path = tmp_path / "own.tape"
    before = os.umask(0o022)
    try:
        TapeWriter(path, Fleet("s", ()), SystemClock()).close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "unit",
    [
        *("eyJ-", "eyJabcdefgh-", "token ", "://a:", "://:", "sk-", '"name":"key', "-----BEGIN "),
        *("_key=", "_key=a1", "-key,", "_key: aaaaaaaaaaaa", "_key=%2", "api key: a", "wandb "),
        *(
            "wandb key: ",
            "wandb login --a ",
            "wandb.login(",
            "mysql ",
            "mysql -",
            "curl ",
            "curl -u ",
        ),
        *("sshpass -", "sig=", "sig=a", "X-Amz-Signature="),
    ],
)
def test_no_line_is_slow_to_look_through_for_secrets(unit: str) -> None:
    """Squared, it would take minutes."""
    text = unit * (200_000 // len(unit))
    assert redact(text) == redact(redact(text))


def event_of(kind: str, **values: object) -> dict[str, object]:
    return {"t": 1.0, "event": {kind: {"instance": "box", "at": 1e9, **values}}}


def memory_of(used: int) -> dict[str, object]:
    value = {"Memory": {"source": "cgroup2", "used": used, "limit": 1, "peak": None, "oom_kill": 0}}
    return {"Reading": {"value": value, "taken_at": 1e9}}


READING = {"Reading": {"value": 5, "taken_at": 1e9}}
LATE = {"Reading": {"value": {"Host": {"box_time": 1.0}}, "taken_at": 1e300}}
ALARM = {
    "Mark": {"label": "of-a-later-version", "severity": {"Severity": "serious"}, "alarm": True}
}
LOG_OF = {"LogSource": {"path": "/l"}}


@pytest.mark.parametrize(
    "record",
    [
        event_of("LogArrived", source=LOG_OF, lines=7),
        event_of("LogArrived", source=LOG_OF, lines=[{"LogLine": {"text": "x", "mark": ALARM}}]),
        event_of("LogArrived", source=5, lines=[]),
        event_of("LinkChanged", link=5),
        event_of("LinkChanged", link={"LinkState": {"state": "live", "since": 1e300}}),
        event_of("Sampled", metric="memory", sample=READING),
        event_of("Sampled", metric="host", sample=LATE),
        event_of("Sampled", metric=["memory"], sample=READING),
        event_of("ProviderRead", state={"ProviderState": {"started_at": "now"}}),
        event_of("Sampled", metric="memory", sample=memory_of(10**400)),
        event_of("LogArrived", source=LOG_OF, lines=[{"LogLine": {"text": "x", "size": 2**63}}]),
        event_of("LogArrived", source=LOG_OF, lines=[{"LogLine": {"text": "x", "size": -1}}]),
        {"t": 1.0, "event": [1, 2]},
        {"t": 1.0, "event": None},
        {"t": 1.0, "fleet": "x"},
        {"t": 1.0, "event": {"Fleet": {}}},
    ],
)
async def test_a_record_of_another_shape_is_told_and_passed_over(
    record: dict[str, object], tmp_path: Path
) -> None:
    """A recording may come from anybody; what it says must not end the cockpit."""
    player = Player(written(tmp_path, record, event_of("Noted", text="the next")), {}, Instant())
    player.skip(2.0)
    await player._reach(2.0)
    first, *_, last = player.view(player.now()).notes
    assert "not understood" in first
    assert last == "the next"


@pytest.mark.parametrize(
    "record",
    [
        b"[" * 200_000,
        b'{"gpu-tui recording":1,"at":Infinity,"fleet":{"Fleet":{}}}',
        b'{"gpu-tui recording":1,"at":1e300,"fleet":{"Fleet":{}}}',
        b'{"gpu-tui recording":1,"at":1,"fleet":{"Fleet":{"instances":5}}}',
        b'{"gpu-tui recording":1,"at":1,"fleet":{"Fleet":{"instances":[{"Instance":{"name":1}}]}}}',
    ],
)
def test_a_head_of_another_shape_is_refused_in_a_sentence(record: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile.tape"
    path.write_bytes(gzip.compress(record + b"\n"))
    with pytest.raises(TapeError):
        TapeReader(path)


def test_times_that_no_clock_shows_do_not_count(tmp_path: Path) -> None:
    ends = (b"Infinity", b"NaN", b"1e300", b"9" * 400, b"-5", b"true")
    lines = b"".join(b'{"t":%s,"lost":1}\n' % end for end in ends)
    path = written(tmp_path, {"t": 3.0, "lost": 1})
    path.write_bytes(path.read_bytes() + gzip.compress(lines))
    assert TapeReader(path).length() == 3.0


class Instant:
    """A clock that stands."""

    def now(self) -> float:
        return 1e9

    def boot(self) -> float:
        return 0.0


def written(tmp_path: Path, *records: dict[str, object]) -> Path:
    """A recording of one box with these records."""
    fleet = encode(Fleet("s", (Instance("box", SshAccess("box")),)))
    head = {"gpu-tui recording": 1, "at": 1e9, "fleet": fleet}
    path = tmp_path / "made.tape"
    text = "".join(json.dumps(record) + "\n" for record in (head, *records))
    path.write_bytes(gzip.compress(text.encode()))
    return path
