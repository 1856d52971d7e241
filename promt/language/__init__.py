"""Languages: one file of words each, and what reads them."""
