"""Scheduled maintenance over a home: when a pass runs, how a run goes on, and how it is undone."""
