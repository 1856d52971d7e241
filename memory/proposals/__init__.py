"""Proposals: how each door makes one, what it is checked against, and the candidate row in which it waits."""
