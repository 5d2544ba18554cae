"""A box that is reached by another program says so."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.ui.text.vitals import vitals
from screenshots.scenes import healthy


def test_what_reaches_a_box_is_shown_where_it_is_not_ourselves() -> None:
    [view, *_] = healthy().view(0.0).instances
    plain = "\n".join(row.plain for row in vitals(view, 80, 60))
    assert "via" not in plain
    view = replace(view, link=replace(view.link, via="ssh(1): PKCS11Provider"))
    assert "via ssh(1): PKCS11Provider" in "\n".join(row.plain for row in vitals(view, 80, 60))
