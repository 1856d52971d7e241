"""How a file becomes pieces, and how they come into the index and leave it."""
