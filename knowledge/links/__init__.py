"""Links between files: how they are found in a text, what they lead to, which folders have a name; pure."""
