"""The home folder: configuration, keys, owners, and the workspace that a folder belongs to."""
