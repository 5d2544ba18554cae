"""The names of the layouts: which pane gets the room."""

from __future__ import annotations

LAYOUTS = ("balanced", "log-first", "queue-first", "vitals-first")
