"""Rows of the index kernel, and the only place where its statements are run: the graph of all houses."""
