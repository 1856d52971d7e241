"""The views of the inspect page: each calls methods, and returns the template that shows the answers."""
