"""What a person sees of a command: lines, tables, hints, and the exit code."""
