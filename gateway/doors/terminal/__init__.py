"""The output of a command: lines, tables, hints, and the exit code."""
