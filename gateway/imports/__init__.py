"""Conversations of other programs: read, taken apart, given to a gateway."""
