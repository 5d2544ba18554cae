"""Control APIs of the platforms, one per file. A stop takes a StopPermit and nothing else."""
