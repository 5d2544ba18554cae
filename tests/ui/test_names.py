"""Two boxes or cells that differ never look alike in a column that is too narrow for their names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rich.cells import cell_len

from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.resources import load_profiles
from gpu_tui.state.store import Store
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.names import cut_name

NODES = [f"sweep-a100-node-{number:04d}" for number in range(1, 301)]


@pytest.mark.parametrize(
    ("name", "others", "shown"),
    [
        ("autodl-1", NODES, "autodl-1"),
        ("a-very-long-name-alone", NODES, "a-very-long…"),
        ("sweep-a100-node-0042", NODES, "sweep-…-0042"),
        ("node-0001.cluster.example", ["node-0002.cluster.example"], "node-0001.c…"),
        (
            "prod-sweep-node01.cluster",
            ["prod-sweep-node01.cluster", "prod-sweep-node02.cluster"],
            "pr…1.cluster",
        ),
        ("消融实验学习率一号机", ["消融实验学习率一号机", "消融实验学习率二号机"], "消融…一号机"),
        (
            "prod-sweep-1-and-a-long-end",
            ["prod-sweep-1-and-a-long-end", "prod-sweep-2-and-a-long-end"],
            "pr…1-and-a-…",
        ),
    ],
)
def test_a_name_is_cut_where_it_does_not_differ(name: str, others: list[str], shown: str) -> None:
    assert cut_name(name, 12, others) == shown


@given(some.lists(some.text(max_size=30), unique=True, max_size=8), some.integers(1, 20))
def test_no_name_is_wider_than_its_column(names: list[str], width: int) -> None:
    assert all(cell_len(cut_name(name, width, names)) <= width for name in names)


def test_three_hundred_siblings_are_three_hundred_words() -> None:
    assert len({cut_name(name, 12, NODES) for name in NODES}) == len(NODES)


async def test_rows_of_siblings_differ(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    boxes = tuple(Instance(name, SshAccess("127.0.0.1")) for name in NODES[:5])
    app = cockpit(Store(Fleet("t", boxes), load_profiles()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert all(f"sweep-…-{name[-4:]}" in text_of(app) for name in NODES[:5])
