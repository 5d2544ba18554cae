"""Pull, match, load, and the runner that climbs the ladder as the gate says."""
