"""Rows of messages, chunks, partitions, vectors and searches: the only SQL of this house."""
