"""Questions on a plain terminal: a real one, made of two ends."""

from __future__ import annotations

import asyncio
import os
import pty
import sys
import termios
from collections.abc import Iterator

import pytest

from gpu_tui.core.prompts import Prompt, Prompts
from gpu_tui.transport.tty import TtyPrompter

ASKED = Prompts(
    "box", "me@host", "what the server asks", (Prompt("Password:"), Prompt("Code:", echo=True))
)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


def echoes(fd: int) -> bool:
    return bool(termios.tcgetattr(fd)[3] & termios.ECHO)


async def shown(person: int, last: str) -> str:
    """What the terminal shows, up to a word."""
    loop = asyncio.get_running_loop()
    text = ""
    while last not in text:
        came: asyncio.Future[None] = loop.create_future()
        loop.add_reader(person, lambda came=came: came.done() or came.set_result(None))
        await came
        loop.remove_reader(person)
        text += os.read(person, 4096).decode()
    return text


async def test_a_secret_is_not_shown_and_a_code_is(terminal: tuple[int, int]) -> None:
    person, program = terminal
    prompter = TtyPrompter(program, lambda text: os.write(program, text.encode()))
    asking = asyncio.create_task(prompter.ask(ASKED))
    before = await shown(person, "Password:")
    assert "box: me@host asks for what the server asks" in before
    assert prompter.asking
    assert not echoes(program)
    os.write(person, b"geheim\n")
    between = await shown(person, "Code:")
    assert echoes(program)
    os.write(person, b"123\n")
    assert await asking == ("geheim", "123")
    assert "geheim" not in before + between
    assert not prompter.asking


async def test_the_end_of_input_cancels_and_giving_up_restores_the_terminal(
    terminal: tuple[int, int],
) -> None:
    person, program = terminal
    prompter = TtyPrompter(program, lambda text: os.write(program, text.encode()))
    asking = asyncio.create_task(prompter.ask(ASKED))
    await shown(person, "Password:")
    os.write(person, b"\x04")
    assert await asking is None
    asking = asyncio.create_task(prompter.ask(ASKED))
    await shown(person, "Password:")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert echoes(program)


def test_where_there_is_no_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert TtyPrompter.here() is None
    monkeypatch.setattr(sys, "stdin", None)
    assert TtyPrompter.here() is None
