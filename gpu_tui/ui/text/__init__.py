"""Readings to styled text, pure: the only place with human units."""
