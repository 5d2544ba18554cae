"""Flags, exit codes, one module per command. Calls wiring and nothing else."""
