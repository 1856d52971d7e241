"""Rows of workspaces, threads, turns, items, files, hook runs and injected lines: the only SQL of this house."""
