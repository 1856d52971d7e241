"""Artifacts: files that messages carry, kept by content and read page by page."""
