"""Rows of durable memory, and the only place where its statements are run."""
