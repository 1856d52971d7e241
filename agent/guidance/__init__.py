"""What steers a turn beside memory: instruction files of its folder, and the definition of its agent. Never indexed."""
