"""Labels log lines and decides which are alarms, by rules in TOML files."""
