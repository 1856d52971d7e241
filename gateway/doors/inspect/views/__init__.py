"""The views of the inspect page: each asks methods and says which template shows the answers."""
