"""The scan of a collection: patterns, kinds, and the comparison of a folder with its rows."""
