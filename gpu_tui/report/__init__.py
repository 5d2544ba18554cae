"""Outputs for other people: the parts of a hand-over."""
