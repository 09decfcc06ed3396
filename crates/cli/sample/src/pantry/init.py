"""Knows what is on the shelves, what runs out, and what to buy."""
