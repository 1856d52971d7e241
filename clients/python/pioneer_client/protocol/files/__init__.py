"""The public language of files of the user: collections, and what is found in them."""
