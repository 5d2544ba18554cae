"""Text of a box to core values. Pure: bytes or str in, values out, never I/O."""
