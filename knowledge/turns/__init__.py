"""Files in a turn: the tools of a model, recall before it answers, and the permission for both."""
