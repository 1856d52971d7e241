"""Files in a turn: the tools of a model, recall before it answers, and what of both a turn may have."""
