"""Ground floor: values and rules. No asyncio, no I/O, and nothing here reads a clock."""
