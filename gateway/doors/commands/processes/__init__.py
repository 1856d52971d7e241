"""Commands that start a process that goes on, and what is needed to keep one open."""
