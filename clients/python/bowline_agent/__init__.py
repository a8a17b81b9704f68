"""A client of bowline."""
