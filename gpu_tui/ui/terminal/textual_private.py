"""The only module that touches private parts of textual.

Each of them may be gone or different in another version: then textual behaves as its documentation says, at a cost that
the hook's own docstring names, and one line of the log says which part it was.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import textual
from textual.app import App, ReturnType
from textual.color import Color
from textual.screen import Screen, ScreenResultType

FRAMES_A_SECOND = 250
GONE = (ImportError, AttributeError, TypeError)  # what a missing or different part raises
LOG = logging.getLogger(__name__)
_reported: set[str] = set()


def _report(part: str, error: object) -> None:
    """Log once that a private part is missing or different."""
    if part not in _reported:
        _reported.add(part)
        LOG.warning("textual %s: without %s (%s)", textual.__version__, part, error)


def tune() -> None:
    """Change two parts of textual for all apps of this process."""
    for part, change in (
        ("frames that begin at once", _begin_frames_at_once),
        ("freeing the lines of closed screens", _free_closed_screens),
    ):
        try:
            change()
        except GONE as error:
            _report(part, error)


def _begin_frames_at_once() -> None:
    """Otherwise a key waits for the next 1/60 s. Nothing here is animated, so this adds no frames."""
    module = import_module("textual.screen")
    if not isinstance(module.UPDATE_PERIOD, float):
        raise TypeError(module.UPDATE_PERIOD)
    vars(module)["UPDATE_PERIOD"] = 1 / FRAMES_A_SECOND


def _free_closed_screens() -> None:
    """Otherwise memory grows by some 100 MB: the key of this `lru_cache` holds a widget's whole cache of lines."""
    owner = import_module("textual._styles_cache").StylesCache
    colours = owner.get_inner_outer.__wrapped__
    if not isinstance(colours, partial):  # not done yet
        colours = partial(colours, None)  # it makes no use of `self`
        colours(Color(0, 0, 0), Color(0, 0, 0))
        owner.get_inner_outer = staticmethod(lru_cache(1024)(colours))


def key_parser() -> Any:
    """Textual's parser, by its `feed` and `tick`; None where keys have to be read by textual's own loop.

    That wakes ten times a second, and never ends where the terminal has gone.
    """
    try:
        parser = import_module("textual._xterm_parser").XTermParser()
        return parser if parser.feed and parser.tick else None
    except GONE as error:
        _report("a thread that sleeps until a key comes", error)
        return None


def whole_frame(app: App[Any]) -> Iterable[object]:
    """What the screen shows now, as `FrameHook.write_frame` takes it. Only the recording of the README asks for it."""
    update = app.screen._compositor.render_full_update()
    return update.__rich_console__(app.console, app.console.options)


class WholeFirstFrame(Screen[ScreenResultType]):
    """A screen whose first frame waits for its content; otherwise it shows empty widgets first."""

    def begin_frame(self) -> bool:
        """Whether to paint now."""
        return True

    def _compositor_refresh(self, *args: Any) -> None:
        if self.begin_frame():
            super()._compositor_refresh(*args)


class FrameHook(App[ReturnType]):
    """An app that may write its frames itself; otherwise textual does: ten times the bytes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._own_frames = True
        for owner, name, part in (
            (App, "_display", "output of changed cells only"),
            (Screen, "_compositor_refresh", "a first frame with its content"),
            (self, "_batch_count", "frames held back in a batch"),
        ):
            if not hasattr(owner, name):
                _report(part, f"no {name}")

    def write_frame(self, update: Iterable[object]) -> bool:
        """Write a frame: moves of the cursor and the text that goes there. False leaves that to textual."""
        return False

    def _display(self, *args: Any) -> None:
        """Called with a screen and what to paint, or None."""
        written, update = False, args[-1]
        if self._own_frames and update is not None and self._is_drawing():
            try:
                console = self.console
                written = self.write_frame(update.__rich_console__(console, console.options))
            except Exception as error:
                self._own_frames = False
                _report("output of changed cells only", repr(error))
        if written:
            self.post_display_hook()
        else:
            super()._display(*args)

    def _is_drawing(self) -> bool:
        return self.is_running and not getattr(self, "_batch_count", 0)
