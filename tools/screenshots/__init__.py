"""Draws the pictures and the recording of the README from scenes."""
