"""Outputs for other people: what a hand-over consists of."""
