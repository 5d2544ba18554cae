"""The screen. The only room that knows textual, rich and plotext."""
