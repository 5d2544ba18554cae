"""A watched fleet as a file: every event and every byte with its time, and the way back."""
