"""Ask on a beat, follow streams, emit events. Does not know the store or the screen."""
