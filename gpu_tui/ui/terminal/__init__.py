"""The terminal itself: its driver, the cells it shows, and the parts of textual that are private."""
