"""One line to type into."""

from __future__ import annotations

from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input


class Field(Input):
    """An input of one line and a fixed place: what is typed moves nothing else.

    textual arranges the whole screen anew when the virtual size of a widget changes, here with each letter.
    """

    virtual_size = Reactive(Size(0, 0))
