"""The index: files are read and cut into pieces, which are stored, get vectors, and are removed."""
