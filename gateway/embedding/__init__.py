"""Embedding models: which are on the disk, which is in use, and the spaces of their vectors."""
