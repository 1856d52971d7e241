"""Conversation search: find, rank, gate, show."""
