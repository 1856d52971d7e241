"""Rows of durable memory: the only place where its statements are run."""
