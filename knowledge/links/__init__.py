"""Links between files: those that a text holds, the files that they lead to, and folders that are entities; pure."""
