"""Telling people who do not look: which news goes out, once, to whom, and that it arrived."""
