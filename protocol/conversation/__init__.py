"""The public language of conversation: workspaces, threads, turns, items, artifacts, and a turn's manifest."""
