"""What is known now: the only mutable fleet state. Events in, frozen views out."""
