"""Walks through the folder of a collection: its patterns, and what they leave out, at a scan and at a search."""
