"""Deleted threads, redacted tool events, and places that hold a forgotten memory's words."""
