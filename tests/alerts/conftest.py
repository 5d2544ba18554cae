"""Every file of the ledger that a test opened is closed at its end: Python 3.13 warns of those that are not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connect = sqlite3.connect
    with ExitStack() as opened:

        def noted(*args: Any, **words: Any) -> sqlite3.Connection:
            return opened.enter_context(closing(connect(*args, **words)))

        monkeypatch.setattr(sqlite3, "connect", noted)
        yield
