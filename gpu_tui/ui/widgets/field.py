"""One line to type into."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input


class Field(Input):
    """An input of one line and a fixed place: what is typed moves nothing else.

    textual arranges the whole screen anew when the virtual size of a widget changes, here with each letter.
    """

    CONTEXT: ClassVar[str] = ""  # of the key table: what the footer says while one types
    HANDS_ON: ClassVar[bool] = True  # what was typed behind its end goes where the focus went

    virtual_size = Reactive(Size(0, 0))

    async def on_key(self, event: events.Key) -> None:
        """Take a key of editing in its turn: textual takes letters here, and those only once they went all the way up.

        A key that was sent here before the one that left it was taken belongs to whatever has the focus now: a
        terminal hands over what was typed over a slow line in one piece.
        """
        if self.HANDS_ON and self.screen.focused is not self:
            event.stop()
            event.prevent_default()
            await self.app.on_event(events.Key(event.key, event.character))
            return
        bound = self.screen.active_bindings.get(event.key)
        if bound is not None and bound.node is self and bound.enabled:
            event.stop()
            event.prevent_default()
            await self.app.run_action(bound.binding.action, self)
