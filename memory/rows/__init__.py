"""Rows of durable memory: records, notes, changes, terms of records."""
