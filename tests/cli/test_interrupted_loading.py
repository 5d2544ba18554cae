"""An interrupt while classes are made ends a command as any other interrupt does."""

from __future__ import annotations

import pytest

from gpu_tui.cli import main


class Interrupted:
    """Its owner cannot be made: Python 3.11 turns any exception of a `__set_name__` into a RuntimeError."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_in_a_class_body_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(name: str) -> main.Command:
        type("Owner", (), {"part": Interrupted()})
        raise AssertionError(name)

    monkeypatch.setattr(main, "command", load)
    assert main.main(["check"]) == main.INTERRUPTED
    assert capsys.readouterr().err == ""
