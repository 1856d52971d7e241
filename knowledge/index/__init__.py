"""The index: files become pieces, which come into it and leave it."""
