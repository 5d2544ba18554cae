"""The row of an instance whose teardown has no proven end."""

from __future__ import annotations

import pytest

from gpu_tui.core.ending import OpenEnd
from gpu_tui.core.events import LinkChanged, TeardownEnd
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.state.store import Store
from gpu_tui.ui.text.fleet import columns, row

NOW = 1_763_700_000.0


@pytest.mark.parametrize(
    ("outcome", "words"), [("unknown", "✗ end unknown"), ("still-there", "✗ still there")]
)
@pytest.mark.parametrize("link", ["live", "unreachable", "connecting"])
@pytest.mark.parametrize("width", [80, 160])
def test_it_is_said_in_the_row_until_it_is_over(
    outcome: str, words: str, link: str, width: int
) -> None:
    store = Store(Fleet(None, (Instance("pod", SshAccess("h"), "runpod"),)), {})
    store.apply(LinkChanged("pod", NOW, LinkState(link)))
    end = OpenEnd("pod", NOW - 60, 4, "terminate", "destroy", outcome, provider_id="p-1")
    store.apply(TeardownEnd("pod", NOW, end))
    drawn = row(store.view(NOW)["pod"], columns(width))
    assert words in drawn.plain
    at = drawn.plain.index(words)
    styles = {str(span.style) for span in drawn.spans if span.start <= at < span.end}
    assert "severity-fatal" in styles
    store.apply(TeardownEnd("pod", NOW, None))
    assert words not in row(store.view(NOW)["pod"], columns(width)).plain
