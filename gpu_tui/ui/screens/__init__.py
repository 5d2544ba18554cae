"""Modal and full screens over the cockpit."""
