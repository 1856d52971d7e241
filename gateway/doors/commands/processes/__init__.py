"""Commands that start a long-lived process, and those for its token and its service unit."""
