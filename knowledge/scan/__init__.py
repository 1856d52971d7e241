"""The scan of a collection: the comparison of a folder with its rows, and the watch that leads to one."""
