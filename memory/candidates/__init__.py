"""Candidates and notes: the decisions of a person about them."""
