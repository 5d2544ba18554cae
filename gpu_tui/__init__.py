"""gpu-tui: a terminal cockpit for people who babysit long GPU jobs on rented boxes."""

__version__ = "0.1.0"
