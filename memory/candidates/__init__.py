"""Candidates and notes: what a person decides of them."""
