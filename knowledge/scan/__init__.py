"""Which files a collection holds: patterns, kinds, and the comparison of a folder with its rows."""
