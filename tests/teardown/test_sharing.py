"""Two entries or two connections that are one box, a box that is this machine, and what a box says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

import pytest

from gpu_tui.core.fleet import Instance, ProviderAccess, ProviderState, Results, SshAccess
from gpu_tui.core.readings import Process
from gpu_tui.teardown.box import SURVEY_PARTS, BoxError, Survey, read_text, shell_path, survey, work
from gpu_tui.teardown.whose import (
    MOST,
    apart,
    claims,
    elsewhere,
    is_here,
    one_end,
    same_machine,
    sharing,
)
from gpu_tui.transport.base import Completed, Connection, LinkLost

ONE = Instance("one", SshAccess("h", 22, "me"), "runpod", provider=ProviderAccess("p-1"))
NAMELESS = replace(ONE, provider=ProviderAccess())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (ONE, replace(ONE, name="two"), True),
        (ONE, replace(ONE, name="two", ssh=SshAccess("elsewhere")), True),  # by its id
        (ONE, replace(NAMELESS, name="two"), True),  # by the place
        (ONE, ONE, False),  # an entry is not another name of itself
        (ONE, replace(NAMELESS, name="two", ssh=SshAccess("elsewhere", 22)), False),
        # two boxes behind two ports of one address, or behind two jumps
        (ONE, replace(NAMELESS, name="two", ssh=SshAccess("h", 2222)), False),
        (ONE, replace(NAMELESS, name="two", ssh=replace(ONE.ssh, jump="j")), False),
        # one id at two platforms, and no id at all
        (ONE, replace(ONE, name="two", platform="vastai", ssh=SshAccess("elsewhere")), False),
        (NAMELESS, replace(NAMELESS, name="two", ssh=SshAccess("elsewhere")), False),
    ],
)
def test_which_entries_are_one_box(one: Instance, other: Instance, same: bool) -> None:
    assert sharing(one, (one, other)) == (("two",) if same else ())


@dataclass
class End:
    """As much of a connection as tells where it ends; `said` is what its sh prints."""

    peer: tuple[str, int] | None = ("192.0.2.3", 22)
    host_key: str = "SHA256:x"
    login: str | None = "root"
    said: str = ""

    async def run(self, program: str, **limits: Any) -> Completed:
        mark = re.search(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])", program)
        assert mark is not None
        return Completed(self.said.replace("MARK", mark[0]).encode(), b"", 0)


def link(end: object) -> Connection:
    return cast("Connection", end)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (End(), End(), True),
        (End(), None, False),
        (End(), End(peer=("192.0.2.4", 22)), False),
        (End(), End(peer=("192.0.2.3", 23)), False),
        (End(), End(host_key="SHA256:y"), False),
        (End(), End(login="other"), False),
        # what neither tells is not alike
        (End(peer=None), End(peer=None), False),
        (End(host_key=""), End(host_key=""), False),
        (End(login=None), End(login=None), False),
    ],
)
def test_which_connections_lead_to_one_login(one: End, other: End | None, same: bool) -> None:
    assert one_end(link(one), link(other) if other else None) is same


MACHINE = f"MARK\n{'0f3a9c1e-1111-4222-8333-444455556666'}\n4711 pid:[4026531836]\n"


class Lost(End):
    async def run(self, program: str, **limits: Any) -> Completed:
        raise LinkLost("the connection was lost")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (End(said=MACHINE), End(said=MACHINE), True),
        (End(said=MACHINE), None, False),
        (End(said=MACHINE), End(said=MACHINE, host_key="SHA256:y"), False),
        (End(said=MACHINE, host_key=""), End(said=MACHINE, host_key=""), False),
        # another boot, another first process, another container
        (End(said=MACHINE), End(said=MACHINE.replace("0f3a", "0f3b")), False),
        (End(said=MACHINE), End(said=MACHINE.replace("4711", "4712")), False),
        (End(said=MACHINE), End(said=MACHINE.replace("836]", "837]")), False),
        # where one of them cannot be read nothing is claimed
        (End(), End(), False),
        (End(said=MACHINE), End(), False),
        (End(said=MACHINE), Lost(), False),
    ],
)
async def test_which_connections_reach_one_box(one: End, other: End | None, same: bool) -> None:
    two = replace(ONE, name="two", ssh=SshAccess("elsewhere"))
    ends = [(two, link(other) if other else None)]
    assert await same_machine(link(one), ONE, ends) == (("two",) if same else ())


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (Results("/r"), Results("/r"), None),
        (Results("/r"), Results("/s"), "keeps its results in /s"),
        (Results("/r"), Results(None), "keeps its results in"),
        (Results("~/r"), Results("~/r"), "may be another home"),
        (Results("/r"), Results("/r", artifacts=("other.pt",)), "its cells leave other files"),
    ],
)
def test_what_one_ladder_does_not_bring_home(one: Results, other: Results, why: str | None) -> None:
    found = apart(replace(ONE, results=one), replace(ONE, name="two", results=other))
    assert found is None if why is None else why in (found or "")


def test_a_box_of_another_boot_or_of_none_is_not_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = "0f3a9c1e-1111-4222-8333-444455556666"
    monkeypatch.setattr(Path, "read_text", lambda self, *_: f"{own}\n")
    assert is_here(own)
    assert not is_here(own[:-1] + "7")
    assert not is_here(None)
    assert not is_here("")


def test_where_no_boot_is_told_a_box_is_not_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", none)
    assert not is_here("0f3a9c1e-1111-4222-8333-444455556666")


@pytest.mark.parametrize(
    ("said", "ids", "addresses"),
    [
        ("MARK id p-1\nMARK ip 10.0.2.3\n", {"p-1"}, {"10.0.2.3"}),
        # a login shell's greeting, or a variable with a newline in it, has not our mark
        ("id p-2\nx id p-2\nMARKx id p-2\n", set(), set()),
        ("MARK id p-1; rm -rf /\nMARK id \nMARK id p-1 p-2\n", set(), set()),
        (f"MARK id {'x' * 65}\n", set(), set()),
        ("MARK id C.77\n", {"77"}, set()),
        ("MARK ip 10.0.2.3.4\nMARK ip host\nMARK ip 127.0.0.1\n", set(), set()),
    ],
)
async def test_what_a_box_does_not_say_plainly_is_not_said(
    said: str, ids: set[str], addresses: set[str]
) -> None:
    found = await claims(link(End(said=said)), ONE)
    assert found.ids == ids
    assert found.addresses == {ip_address(text) for text in addresses}


async def test_a_box_of_endless_addresses_is_heard_for_a_while() -> None:
    said = "".join(f"MARK ip 10.0.{n // 256}.{n % 256}\n" for n in range(4 * MOST))
    assert len((await claims(link(End(said=said)), ONE)).addresses) == MOST


@pytest.mark.parametrize(
    ("platform", "said", "same"),
    [
        ("runpod", "MARK id p-2\n", False),
        ("runpod", "MARK id p-1\n", True),
        (
            "runpod",
            "",
            True,
        ),  # nothing says that it is another one, and nothing is called by its id
        ("generic-ssh", "MARK id p-2\n", True),  # nothing there says an id
    ],
)
async def test_a_box_that_says_another_id_is_another_one_although_no_api_tells(
    platform: str, said: str, same: bool
) -> None:
    instance = replace(ONE, platform=platform)
    why = await elsewhere(link(End(said=said)), instance, ProviderState("running"))
    assert (why is None) is same


# --- one look at it ---

BOOT = "0f3a9c1e-1111-4222-8333-444455556666"
LOOK = [f"{BOOT}\n", "7 6\n", "known\n", "1\tinit\t1 (init) S 0 0\n", "/r\n", "", "/proc/1/fd:\n"]


def look(**parts: str) -> str:
    """What the survey's program prints, with some of its parts changed (`p0` … `p6`)."""
    rows = list(LOOK)
    for name, text in parts.items():
        rows[int(name[1:])] = text
    rows[4:4] = [""] * (SURVEY_PARTS - len(LOOK))  # of each process's program, where that is asked
    return "@MARK\n".join([*rows, "end\n"])


async def _survey(said: str, instance: Instance = ONE) -> Survey:
    return await survey(link(End(said=said)), instance)


async def test_a_look_says_what_it_saw() -> None:
    seen = await _survey(look())
    assert (seen.boot_id, seen.root, seen.busy, seen.asked_by) == (BOOT, "/r", (), (7, 6))
    identity = seen.identity(ONE, link(End()))
    assert (identity.provider_id, identity.host_key, identity.boot_id) == ("p-1", "SHA256:x", BOOT)
    assert seen.identity(ONE, link(End(host_key=""))).host_key is None


@pytest.mark.parametrize(
    "said",
    [
        "",
        look().replace("end\n", ""),
        look().replace("end\n", "en"),
        look(p5="a@MARK\nb"),  # a name with our mark in it would move every part by one
        look()[:40],
    ],
)
async def test_a_look_that_did_not_come_to_its_end_is_none(said: str) -> None:
    with pytest.raises(BoxError, match="to its end"):
        await _survey(said)


@dataclass
class Heard(End):
    """What is asked of it, program by program."""

    asked: list[str] = field(default_factory=list)

    async def run(self, program: str, **limits: Any) -> Completed:
        self.asked.append(program)
        return await super().run(program, **limits)


async def test_what_parts_one_look_parts_no_other() -> None:
    """A mark that is known before can be put into a file name or a command line."""
    end = Heard(said=look())
    for _ in range(3):
        await survey(link(end), ONE)
    assert len(set(end.asked)) == 3


async def test_a_look_asks_for_each_path_by_one_word() -> None:
    end = Heard(said=look())
    roots = replace(ONE.roots, proc="/a proc; id")
    await survey(link(end), replace(ONE, roots=roots, results=Results("~/my runs; id", "/l")))
    assert "proc='/a proc; id'; root=\"$HOME\"/'my runs; id'\n" in end.asked[0]


@pytest.mark.parametrize("boot", ["", "x", "a" * 65, "0f3a9c1e\x1b[2J-1111", f"{BOOT}\n{BOOT}"])
async def test_a_boot_id_that_is_none_is_not_known(boot: str) -> None:
    assert (await _survey(look(p0=boot))).boot_id is None


@pytest.mark.parametrize("root", ["", "r", "/r\n/etc", "~/r"])
async def test_a_results_directory_is_one_absolute_path(root: str) -> None:
    assert (await _survey(look(p4=root))).root is None


@pytest.mark.parametrize(
    ("asked", "hidden", "by"),
    [
        ("7 6\n", False, (7, 6)),
        ("7 6 hidden\n", True, (7, 6)),
        ("", True, None),
        ("7\n", True, None),
        ("7 6 5\n", True, None),
    ],
)
async def test_what_is_not_said_of_the_table_counts_as_hidden(
    asked: str, hidden: bool, by: tuple[int, int] | None
) -> None:
    seen = await _survey(look(p1=asked))
    assert (seen.hidden, seen.asked_by) == (hidden, by)


async def test_in_another_table_our_own_shell_is_not_looked_for() -> None:
    other = replace(ONE, roots=replace(ONE.roots, proc="/host/proc"))
    assert (await _survey(look(), other)).asked_by is None


async def test_files_that_are_being_written_are_named_or_not_known() -> None:
    assert (await _survey(look(p5="a\nb\n"))).busy == ("a", "b")
    assert (await _survey(look(p5="a\n/\n"))).busy is None


def _row(pid: int, *argv: str, state: str = "S") -> Process:
    return Process(pid, 1, argv[0], argv, state)


@pytest.mark.parametrize(
    ("rows", "writers", "lines"),
    [
        ((), (), ()),
        # the writer ended, is dead, or is of another machine: what it writes is being written all the same
        ((), ((9, "/r/x"),), ("pid 9 writes /r/x",)),
        ((_row(9, "cp", state="Z"),), ((9, "/r/x"),), ("pid 9 writes /r/x",)),
        # what would be idle by its name is work where it writes results
        ((_row(9, "tail", "-f", "x"),), ((9, "/r/x"), (9, "/r/y")), ("tail -f x (pid 9)",)),
        # the shell of a queue, whose init script may be anything
        ((_row(1, "bash", "run.sh", "/q/queue.txt"),), (), ("bash run.sh /q/queue.txt (pid 1)",)),
        ((_row(1, "bash", "run.sh"),), (), ()),
    ],
)
def test_what_writes_and_what_runs_the_queue_is_work(
    rows: tuple[Process, ...], writers: tuple[tuple[int, str], ...], lines: tuple[str, ...]
) -> None:
    seen = Survey(BOOT, (_row(5, "sshd"), *rows), "/r", (), writers)
    assert work(seen, "/q/queue.txt", None) == lines


@pytest.mark.parametrize(
    ("said", "text"), [("a bMARK", b"a b"), ("MARK", b""), ("a b", None), ("a MARK b", None)]
)
async def test_a_text_that_did_not_come_to_its_end_is_none(said: str, text: bytes | None) -> None:
    assert await read_text(link(End(said=said)), "/q") == text


async def test_a_text_is_asked_for_by_one_word() -> None:
    end = Heard()
    await read_text(link(end), "/a b; rm -rf /")
    assert end.asked[0].count("'/a b; rm -rf /'") == 2
    assert shell_path("~/$(id)") == "\"$HOME\"/'$(id)'"
