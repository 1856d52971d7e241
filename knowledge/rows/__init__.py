"""Rows of collections, files, pieces and changes: the only SQL of this house."""
