"""Search and reading: pieces are found, verified on the disk, and shown with their addresses."""
