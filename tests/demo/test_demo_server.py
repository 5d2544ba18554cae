from __future__ import annotations

import asyncio
from pathlib import Path

import asyncssh
import pytest
from demo_boxes import Boxes, until

UP = ("vega", "rigel", "lyra", "altair", "deneb", "polaris")


async def test_every_box_has_a_home_a_path_and_a_host_key_of_its_own(boxes: Boxes) -> None:
    keys, homes, paths = set(), set(), set()
    for name in UP:
        async with boxes.login(name) as connection:
            key = connection.get_server_host_key()
            assert key is not None
            keys.add(key.get_fingerprint())
            said = await connection.run("pwd; echo $HOME; echo ${PATH%%:*}", check=True)
            where, home, path = str(said.stdout).split()
            assert where == home
            homes.add(home)
            paths.add(path)
    assert len(keys) == len(homes) == len(paths) == len(UP)


async def test_a_program_on_stdin_runs_in_a_real_shell_and_its_exit_comes_back(
    boxes: Boxes,
) -> None:
    program = b"printf '\\377\\000x'; echo oops >&2; exit 7\n"
    async with boxes.login("vega") as connection:
        done = await connection.run("exec /bin/sh -s", input=program, encoding=None)
    assert (done.stdout, done.stderr, done.exit_status) == (b"\xff\x00x", b"oops\n", 7)


async def test_a_flood_arrives_whole(boxes: Boxes) -> None:
    async with boxes.login("vega") as connection:
        done = await connection.run("head -c 3000000 /dev/zero", encoding=None)
    assert len(done.stdout or b"") == 3_000_000


async def test_the_end_of_stdin_reaches_the_program(boxes: Boxes) -> None:
    async with boxes.login("vega") as connection:
        process = await connection.create_process("cat; echo over")
        process.stdin.write("hello\n")
        process.stdin.write_eof()
        assert await process.stdout.read() == "hello\nover\n"


@pytest.mark.parametrize("cut", ["channel", "connection"])
async def test_nothing_that_a_session_started_outlives_it(boxes: Boxes, cut: str) -> None:
    async with boxes.login("lyra") as connection:
        process = await connection.create_process(
            "sleep 961 & echo $!; timeout 900 sleep 962 & echo $!; wait"
        )
        pids = [int(await process.stdout.readline()) for _ in range(2)]
        assert all(map(running, pids))
        if cut == "channel":
            process.close()
        else:
            connection.abort()
        await until(lambda: not any(map(running, pids)))


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_login_with_a_terminal_gets_one(boxes: Boxes) -> None:
    async with boxes.login("vega") as connection:
        process = await connection.create_process(
            "tty; stty size; read word; echo got:$word", term_type="xterm", term_size=(100, 33)
        )
        process.stdin.write("yes\r")
        said = await process.stdout.read()
    assert "/dev/" in said
    assert "33 100" in said
    assert "got:yes" in said


async def test_files_are_read_from_home_and_never_changed(boxes: Boxes) -> None:
    async with boxes.login("polaris") as connection, connection.start_sftp_client() as files:
        home = await files.realpath(".")
        assert home == str(boxes.home("polaris").resolve())
        names = set(await files.listdir("workspace/final_ckpts"))
        assert names >= {"seed_1", "seed_2", ".", ".."}
        assert ".." in await files.listdir(".")
        async with files.open(f"{home}/workspace/q/queue_1.txt", "rb") as file:
            assert b"configs/seed_1.yaml reconstruction 3" in await file.read()
        for name in ("/etc/passwd", "../../lyra/home/nfs", f"{home}/../state/mounts.tsv"):
            with pytest.raises(asyncssh.SFTPNoSuchFile):
                await files.stat(name)
        for change in (
            files.open("new", "wb"),
            files.mkdir("new"),
            files.remove("workspace/q/queue_1.txt"),
            files.rename("workspace/q", "q"),
            files.symlink("/etc/passwd", "leak"),
            files.chmod("workspace", 0o777),
        ):
            with pytest.raises(asyncssh.SFTPPermissionDenied):
                await change


async def test_a_link_that_leads_out_of_the_box_is_not_followed(boxes: Boxes) -> None:
    await boxes.ask("lyra", "ln -sf /etc/passwd leak; ln -sfn /etc leaks")
    async with boxes.login("lyra") as connection, connection.start_sftp_client() as files:
        for name in ("leak", "leaks/passwd"):
            with pytest.raises(asyncssh.SFTPNoSuchFile):
                async with files.open(name, "rb"):
                    pass


async def test_another_key_another_user_and_a_password_are_refused(
    boxes: Boxes, tmp_path: Path
) -> None:
    user, host, port = boxes.address("vega")
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    known = boxes.rows["vega"]["ssh"]["known_hosts"]
    own = boxes.rows["vega"]["ssh"]["identity"]
    for name, keys in ((user, [stranger]), ("nobody", [own])):
        with pytest.raises(asyncssh.PermissionDenied):
            await asyncssh.connect(
                host, port, username=name, client_keys=keys, known_hosts=known,
                password="x", config=None, agent_path=None,
            )  # fmt: skip


async def test_the_parked_box_refuses_connections(boxes: Boxes) -> None:
    _, host, port = boxes.address("mira")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, port)
