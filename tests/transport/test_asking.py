"""Logins that need a person: real sshd for keys, a real in-process server for what needs PAM elsewhere."""

# ruff: noqa: ASYNC221, ASYNC240 - a test may block between two steps of its own

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from boxes import Sshd, make_key

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.core.prompts import Prompts
from gpu_tui.transport import patience
from gpu_tui.transport.base import AuthRejected, LinkError
from gpu_tui.transport.key_file import public_half, read_key_file
from gpu_tui.transport.ssh import SshTransport

MakeBox = Callable[..., Sshd]
Answer = tuple[str, ...] | None


class Person:
    """Answers in turn and remembers what was asked; holds its tongue until `speak` is set."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Prompts] = []
        self.open = 0
        self.most = 0
        self.seen = asyncio.Event()
        self.speak = asyncio.Event()
        self.speak.set()

    async def ask(self, prompts: Prompts) -> Answer:
        self.asked.append(prompts)
        self.open += 1
        self.most = max(self.most, self.open)
        self.seen.set()
        try:
            await self.speak.wait()
            return self.answers.pop(0)
        finally:
            self.open -= 1


@asynccontextmanager
async def asked_by(person: Person) -> AsyncIterator[SshTransport]:
    transport = SshTransport(person)
    try:
        yield transport
    finally:
        await transport.close()


async def enter(transport: SshTransport, instance: Instance) -> None:
    connection = await transport.connect(instance)
    assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    await connection.close()


def lock(path: Path, secret: str, *more: str) -> None:
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", secret, "-f", str(path), *more]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)


# --- keys ---


async def test_a_passphrase_is_asked_once_for_all_boxes_that_use_the_key(box: Sshd) -> None:
    lock(box.identity, "open sesame")
    person = Person(("open sesame",))
    async with asked_by(person) as transport:
        boxes = [box.instance(f"box-{number}") for number in range(4)]
        await asyncio.gather(*(enter(transport, one) for one in boxes))
        await enter(transport, boxes[0])
    assert len(person.asked) == 1
    asked = person.asked[0]
    assert str(box.identity) in asked.title
    assert [field.echo for field in asked.fields] == [False]


async def test_a_key_without_its_pub_file_and_an_old_pem_file(box: Sshd) -> None:
    plain = read_key_file(str(box.identity)).public
    lock(box.identity, "abc-abc")
    Path(f"{box.identity}.pub").unlink()
    assert public_half(str(box.identity)) == plain
    person = Person(("abc-abc",))
    async with asked_by(person) as transport:
        await enter(transport, box.instance())
    rsa = box.directory / "rsa"
    words = [
        "ssh-keygen",
        "-q",
        "-t",
        "rsa",
        "-b",
        "2048",
        "-m",
        "PEM",
        "-N",
        "pem-pem",
        "-f",
        str(rsa),
    ]
    subprocess.run(words, check=True)
    keys = box.directory / "etc" / "authorized_keys"
    keys.write_text(Path(f"{rsa}.pub").read_text())
    Path(f"{rsa}.pub").unlink()
    person = Person(("pem-pem",))
    async with asked_by(person) as transport:
        access = replace(box.ssh_access, identity=str(rsa))
        await enter(transport, box.instance(ssh=access))


async def test_a_key_that_the_server_does_not_want_is_not_asked_for(
    box: Sshd, tmp_path: Path
) -> None:
    stranger = make_key(tmp_path / "stranger", "stranger")
    lock(stranger, "never-never")
    box.config.write_text(f"Host *\n IdentityFile {stranger}\n IdentityFile {box.identity}\n")
    person = Person()
    async with asked_by(person) as transport:
        await enter(transport, box.instance(ssh=replace(box.ssh_access, identity=None)))
    assert person.asked == []


@pytest.mark.parametrize("answer", [None, ("wrong",)])
async def test_after_a_no_or_a_wrong_answer_only_the_person_asks_again(
    box: Sshd, answer: Answer
) -> None:
    lock(box.identity, "right")
    person = Person(answer, ("right",))
    async with asked_by(person) as transport:
        for name in ("box", "box", "other"):
            with pytest.raises(AuthRejected) as caught:
                await transport.connect(box.instance(name))
            assert "press r" in str(caught.value.next)
            assert caught.value.needs_person
        assert len(person.asked) == 1
        transport.ask_again("box")
        await enter(transport, box.instance())
        assert len(person.asked) == 2
        await enter(transport, box.instance("other"))
    assert len(person.asked) == 2


async def test_a_certificate_of_an_encrypted_key_is_offered(
    make_box: MakeBox, tmp_path: Path
) -> None:
    authority = make_key(tmp_path / "ca", "ca")
    box = make_box(extra=f"TrustedUserCAKeys {authority}.pub\n")
    user = str(box.ssh_access.user)
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", user, f"{box.identity}.pub"],
        check=True,
    )
    (box.directory / "etc" / "authorized_keys").write_text("")
    lock(box.identity, "cert-cert")
    async with asked_by(Person(("cert-cert",))) as transport:
        await enter(transport, box.instance())
        await enter(transport, box.instance())


@pytest.mark.parametrize("locked", [False, True])
async def test_a_certificate_that_is_renewed_opens_the_door_again(
    make_box: MakeBox, tmp_path: Path, locked: bool
) -> None:
    """As with step or Vault, whose certificates live for hours; no passphrase is asked for again."""
    authority = make_key(tmp_path / "ca", "ca")
    box = make_box(extra=f"TrustedUserCAKeys {authority}.pub\n")
    (box.directory / "etc" / "authorized_keys").write_text("")
    words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n"]

    def sign(user: str) -> None:
        subprocess.run([*words, user, f"{box.identity}.pub"], check=True)

    sign(str(box.ssh_access.user))
    person = Person(("hourly",))
    if locked:
        lock(box.identity, "hourly")
    async with asked_by(person) as transport:
        await enter(transport, box.instance("a"))
        sign("somebody-else")  # as good as one whose time is over
        with pytest.raises(AuthRejected):
            await enter(transport, box.instance("b"))
        sign(str(box.ssh_access.user))
        await enter(transport, box.instance("c"))
    assert len(person.asked) == locked


async def test_no_limit_runs_while_a_person_types(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(box.identity, "slowly")
    loop = asyncio.get_running_loop()
    person = Person(("slowly",))
    person.speak.clear()
    now = loop.time
    leap = 0.0
    monkeypatch.setattr(loop, "time", lambda: now() + leap)

    async def attempt(transport: SshTransport) -> None:
        async with patience.limit(60):
            await enter(transport, box.instance())

    async with asked_by(person) as transport:
        entering = asyncio.create_task(attempt(transport))
        await person.seen.wait()
        leap = 3_600.0
        for _ in range(10):
            await asyncio.sleep(0)
        person.speak.set()
        await entering


async def test_a_limit_that_was_held_still_runs_out() -> None:
    answered = False

    async def login() -> None:
        nonlocal answered
        async with patience.limit(0.01):
            with patience.person_types(patience.mine()):
                await asyncio.sleep(0.03)
            answered = True
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await login()
    assert answered
    with patience.person_types(None):
        async with patience.limit(0.01):
            await asyncio.sleep(0.03)


# --- keyboard-interactive and passwords ---


class Doorman(asyncssh.SSHServer):
    """Asks a password, then a code; both in one round where `rounds` is 1."""

    rounds: Sequence[Sequence[tuple[str, bool]]] = ()
    wanted: Sequence[Sequence[str]] = ()
    password: str | None = None
    given: list[Sequence[str]]
    logins = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        type(self).logins += 1
        self.given = []

    def begin_auth(self, username: str) -> bool:
        return True

    def kbdint_auth_supported(self) -> bool:
        return bool(self.rounds)

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> object:
        return "Doorman\x1b]0;x\x07", "Look at your phone", "", list(self.rounds[0])

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> object:
        self.given.append(responses)
        at = len(self.given)
        if list(responses) != list(self.wanted[at - 1]):
            return False
        if at == len(self.rounds):
            return True
        return "", "", "", list(self.rounds[at])

    def password_auth_supported(self) -> bool:
        return self.password is not None

    def validate_password(self, username: str, password: str) -> bool:
        return password == self.password


async def shell(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """A real sh."""
    if process.command == "true":
        process.exit(0)
        return
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", "-s", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None

    async def feed() -> None:
        while data := await process.stdin.read(65_536):
            child.stdin.write(data)
        child.stdin.close()

    feeding = asyncio.create_task(feed())
    while data := await child.stdout.read(65_536):
        process.stdout.write(data)
    process.exit(await child.wait())
    feeding.cancel()


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Callable[..., object]]:
    servers: list[asyncssh.SSHAcceptor] = []
    host_key = make_key(tmp_path / "door_key", "door")

    async def make(**attributes: object) -> tuple[Instance, type[Doorman]]:
        kind = type("Doorman", (Doorman,), attributes)
        server = await asyncssh.create_server(
            kind, "127.0.0.1", 0, server_host_keys=[str(host_key)], process_factory=shell,
            encoding=None, login_timeout=60,
        )  # fmt: skip
        servers.append(server)
        port = server.get_port()
        known = tmp_path / f"known_{port}"
        words = Path(f"{host_key}.pub").read_text().split()[:2]
        known.write_text(f"[127.0.0.1]:{port} {' '.join(words)}\n")
        config = tmp_path / "empty"
        config.write_text("IdentityFile none\n")
        access = SshAccess("127.0.0.1", "root", port, str(known), config=str(config))
        return Instance("door", access), kind

    yield make
    for server in servers:
        server.close()
        await server.wait_closed()


ROUNDS = ([("Password: ", False)], [("Code \x1b[31m[red]: ", True)])
WANTED = (["hunter2"], ["123456"])


async def test_a_password_and_then_a_code(serve: Callable[..., object]) -> None:
    door, kind = await serve(rounds=ROUNDS, wanted=WANTED)  # type: ignore[misc]
    person = Person(("hunter2",), ("123456",))
    async with asked_by(person) as transport:
        await enter(transport, door)
    first, second = person.asked
    assert (first.instance, first.who, first.hop) == ("door", "root@127.0.0.1", None)
    assert first.note == "Doorman Look at your phone"
    assert [(field.text, field.echo) for field in first.fields] == [("Password:", False)]
    assert [(field.text, field.echo) for field in second.fields] == [("Code [red]:", True)]
    assert kind.logins == 1


async def test_two_questions_in_one_round(serve: Callable[..., object]) -> None:
    both = [("Password: ", False), ("Code: ", True)]
    door, _ = await serve(rounds=[both], wanted=[["hunter2", "42"]])  # type: ignore[misc]
    person = Person(("hunter2", "42"))
    async with asked_by(person) as transport:
        await enter(transport, door)
    assert len(person.asked) == 1


async def test_a_prompt_of_several_lines_keeps_them(serve: Callable[..., object]) -> None:
    text = "Enter a passcode or choose:\n\n 1. Push\r\n 2. Call\x1b[2J\n\nPasscode or option: "
    door, _ = await serve(rounds=[[(text, True)]], wanted=[["1"]])  # type: ignore[misc]
    person = Person(("1",))
    async with asked_by(person) as transport:
        await enter(transport, door)
    [field] = person.asked[0].fields
    assert field.text.split("\n") == [
        "Enter a passcode or choose:", "1. Push", "2. Call", "Passcode or option:",
    ]  # fmt: skip


async def test_a_plain_password(serve: Callable[..., object]) -> None:
    door, _ = await serve(password="pw")  # type: ignore[misc]
    person = Person(("pw",), ("pw",))
    async with asked_by(person) as transport:
        await enter(transport, door)
        await enter(transport, door)  # nothing was kept
    assert len(person.asked) == 2


@pytest.mark.parametrize("answers", [(None,), (("wrong",),), (("hunter2",), ("wrong",))])
async def test_a_wrong_answer_ends_the_login_and_is_not_followed_by_a_question(
    serve: Callable[..., object], answers: tuple[Answer, ...]
) -> None:
    door, _ = await serve(rounds=ROUNDS, wanted=WANTED, password="pw")  # type: ignore[misc]
    person = Person(*answers, ("hunter2",), ("123456",))
    async with asked_by(person) as transport:
        for _ in range(3):
            with pytest.raises(AuthRejected) as caught:
                await transport.connect(door)
            assert "press r" in str(caught.value.next)
            assert "hunter2" not in f"{caught.value} {caught.value.next}"
        assert len(person.asked) == len(answers)
        transport.ask_again("door")
        await enter(transport, door)


async def test_a_server_that_never_stops_asking_is_left(serve: Callable[..., object]) -> None:
    rounds, wanted = [[("More: ", True)]] * 50, [["x"]] * 50
    door, _ = await serve(rounds=rounds, wanted=wanted)  # type: ignore[misc]
    person = Person(*[("x",)] * 50)
    async with asked_by(person) as transport:
        with pytest.raises(AuthRejected, match="too much"):
            await transport.connect(door)
    assert len(person.asked) < 10


async def test_questions_of_several_boxes_come_one_at_a_time(serve: Callable[..., object]) -> None:
    door, _ = await serve(password="pw")  # type: ignore[misc]
    person = Person(*[("pw",)] * 3)
    async with asked_by(person) as transport:
        boxes = [replace(door, name=f"door-{number}") for number in range(3)]
        await asyncio.gather(*(enter(transport, one) for one in boxes))
    assert (len(person.asked), person.most) == (3, 1)


async def test_with_nobody_to_ask_it_says_what_to_do(serve: Callable[..., object]) -> None:
    door, _ = await serve(password="pw")  # type: ignore[misc]
    transport = SshTransport()
    with pytest.raises(AuthRejected, match="wants a password or a code, and nobody is here"):
        await transport.connect(door)
    await transport.close()


async def test_a_second_factor_that_nobody_can_give_is_no_refused_key(
    make_box: Callable[..., Sshd],
) -> None:
    both = "PasswordAuthentication yes\nAuthenticationMethods publickey,password\n"
    box = make_box(first=both)
    transport = SshTransport()
    with pytest.raises(AuthRejected, match="wants a password or a code beside the key"):
        await transport.connect(box.instance())
    (box.directory / "etc" / "authorized_keys").write_text("")
    with pytest.raises(AuthRejected, match="accepts none of our keys"):
        await transport.connect(box.instance())


async def test_a_refused_key_is_told_also_where_a_password_is_preferred(
    make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    box = make_box(first="PasswordAuthentication yes\n")
    (box.directory / "etc" / "authorized_keys").write_text("")
    config = tmp_path / "config"
    config.write_text("Host *\n PreferredAuthentications password,publickey\n")
    access = replace(box.ssh_access, config=str(config))
    with pytest.raises(AuthRejected, match="accepts none of our keys"):
        await SshTransport().connect(box.instance(ssh=access))


async def test_a_server_that_hangs_up_takes_its_question_away(
    serve: Callable[..., object],
) -> None:
    door, kind = await serve(password="pw")  # type: ignore[misc]
    peers: list[asyncssh.SSHServerConnection] = []
    kind.connection_made = lambda _, conn: peers.append(conn)
    person = Person(("pw",))
    person.speak.clear()
    async with asked_by(person) as transport:
        entering = asyncio.create_task(transport.connect(door))
        await person.seen.wait()
        assert person.open == 1
        peers[0].abort()
        with pytest.raises(LinkError):
            await entering
        assert person.open == 0


async def test_a_jump_host_asks_under_its_own_name(serve: Callable[..., object], box: Sshd) -> None:
    door, kind = await serve(password="pw")  # type: ignore[misc]
    kind.connection_requested = lambda *_: True
    config = Path(door.ssh.config)
    config.write_text(
        f"Host hop\n HostName 127.0.0.1\n Port {door.ssh.port}\n User gate\n IdentityFile none\n"
        f" UserKnownHostsFile {door.ssh.known_hosts}\n"
        f"Host *\n IdentityFile {box.identity}\n"
    )
    access = replace(box.ssh_access, config=str(config), jump="hop", identity=None)
    person = Person(("pw",))
    async with asked_by(person) as transport:
        await enter(transport, box.instance(ssh=access))
    assert (person.asked[0].hop, person.asked[0].who) == ("hop", "gate@127.0.0.1")
