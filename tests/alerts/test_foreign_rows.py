"""Rows of the ledger that another version wrote, or nobody knows who: they stop nothing and are not passed on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from newsroom import T0, finding, view

from gpu_tui.alerts.ledger import WAITING, Ledger, Post
from gpu_tui.alerts.message import compose
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.news import news_of

FOREIGN = ("", "{", "[]", "7", "null", '"x"', "{}", '{"kind": 7}', "[" * 100_000, b"\xff\x00")


def write(path: Path, statement: str, *values: object) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(statement, values)
    db.close()


def wait(path: Path, body: object, tries: object = 0, made: object = T0) -> None:
    statement = "insert into outbox (channel, due, made, tries, body) values ('c', ?, ?, ?, ?)"
    write(path, statement, T0, made, tries, body)


@pytest.mark.parametrize("body", FOREIGN, ids=range(len(FOREIGN)))
def test_what_is_no_item_is_dropped_and_what_waits_beside_it_goes_out(
    tmp_path: Path, body: object
) -> None:
    ledger = Ledger(tmp_path / "l")
    wait(tmp_path / "l", body)
    assert ledger.take("c", T0) is None
    assert ledger.waiting("c") == 0
    wait(tmp_path / "l", body)
    ledger.put("c", [{"kind": "xid", "text": "79"}], now=T0, due=T0)
    batch = ledger.take("c", T0)
    assert batch is not None
    assert [item["kind"] for item in batch.items] == ["xid"]
    ledger.done(batch)
    assert ledger.waiting("c") == 0


def test_columns_of_another_kind_are_no_reason_to_fall(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    wait(tmp_path / "l", json.dumps({"kind": "xid"}), tries="often", made="lately")
    batch = ledger.take("c", T0)
    assert batch is not None
    assert (batch.tries, batch.made) == (0, T0)
    for kind in ("xid", "overflow", "first_look", "cell_finished"):
        assert compose("1", [{"kind": kind}] * 4, at=T0, held=False).title


def test_room_is_made_among_rows_of_another_kind(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    for body in FOREIGN:
        wait(tmp_path / "l", body)
    wait(tmp_path / "l", json.dumps({"kind": "overflow", "count": "many"}))
    ledger.put("c", [{"kind": "xid"}] * WAITING, now=T0, due=T0)
    assert ledger.waiting("c") == WAITING
    batch = ledger.take("c", T0)
    assert batch is not None
    assert batch.items[0]["kind"] == "overflow"


@pytest.mark.parametrize("column", ["told", "rank", "gone", "happened"])
def test_what_was_told_in_another_way_is_told_again(tmp_path: Path, column: str) -> None:
    ledger, seen = Ledger(tmp_path / "l"), view(findings=(finding("nan"),))
    members, ready = frozenset({"a"}), frozenset({"a", ""})
    ledger.sift([Post("c")], "s", (), ready, members, now=T0, since=T0)
    ledger.sift([Post("c")], "s", news_of(seen), ready, members, now=T0 + 1, since=T0)
    write(tmp_path / "l", f"update told set {column} = 'long ago'")
    found = ledger.sift([Post("c")], "s", news_of(seen), ready, members, now=T0 + 2, since=T0)
    assert [one.kind for one in found["c"].fresh] == ["nan"]


def open_ledger(path: Path) -> None:
    Ledger(path).close()


def open_history(path: Path) -> None:
    with SqliteHistory(path):
        pass


@pytest.mark.parametrize("open_file", [open_ledger, open_history])
def test_a_link_in_its_place_keeps_the_mode_of_what_it_leads_to(
    tmp_path: Path, open_file: Callable[[Path], None]
) -> None:
    target = tmp_path / "shared"
    target.touch()
    target.chmod(0o644)
    (tmp_path / "link").symlink_to(target)
    open_file(tmp_path / "link")
    assert target.stat().st_mode & 0o777 == 0o644
    open_file(tmp_path / "own")
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o600
