"""Workspaces and threads, and conversations that come from elsewhere."""
